//! Who may say what. Whoever takes messages from a network knows from whom each comes, and takes none that this one may not
//! say: so that a client is no manager, a node answers for no other node, and answers go to those who asked.

use crate::ids::{Address, FrontId, NodeId, WedgeEpoch};
use crate::wire::Message;

impl Message {
    /// Whether `from` may say this.
    pub fn may_come_from(&self, from: Address) -> bool {
        let is_node = |node: NodeId| from == Address::Node(node);
        let is_front = |front: FrontId| from == Address::Front(front);
        let asks = |asker: Address| asker == from && matches!(from, Address::Client(_) | Address::Front(_));
        let owns = |wedge: WedgeEpoch| wedge == WedgeEpoch(0) || matches!(from, Address::Front(_));
        match self {
            Self::Request { asker, wedge, .. } | Self::Flush { asker, wedge, .. } => {
                asks(asker.address) && owns(*wedge)
            }
            // A member that cannot answer passes a get on as it is.
            Self::Get { asker, wedge, .. } => matches!(from, Address::Node(_)) || (asks(asker.address) && owns(*wedge)),
            Self::Ask { asker, forwarded, .. } => match from {
                Address::Client(_) => !forwarded && asker.address == from,
                Address::Front(_) => *forwarded,
                _ => false,
            },
            Self::AskMany { asker, .. } => asker.address == from && matches!(from, Address::Client(_)),
            Self::AskFlush { asker, wedge, .. } => {
                asks(asker.address) && wedge.is_some() == matches!(from, Address::Front(_))
            }
            Self::AskView { asker, .. } => asks(*asker),
            Self::Scan { asker, .. } => asks(asker.address),
            Self::Reply { .. } | Self::Relayed { .. } | Self::Probe { .. } | Self::Echo { .. } => {
                matches!(from, Address::Node(_) | Address::Front(_))
            }

            Self::Feed { .. }
            | Self::Have { .. }
            | Self::Barrier { .. }
            | Self::BarrierAt { .. }
            | Self::Ping
            | Self::Pong
            | Self::FenceHolds { .. } => matches!(from, Address::Node(_)),
            Self::Copy { learner: member, .. }
            | Self::CopyPart { from: member, .. }
            | Self::Scanned { from: member, .. }
            | Self::Fetch { learner: member, .. }
            | Self::Fetched { from: member, .. }
            | Self::Heartbeat { member, .. }
            | Self::Farewell { member, .. }
            | Self::Prepared { member, .. }
            | Self::Sealed { member, .. }
            | Self::Level { member, .. }
            | Self::NodeCutOff { member } => is_node(member.node),
            Self::Hello { node, .. } | Self::Offer { node, .. } => is_node(*node),

            Self::Fence { front, .. } => *front == from && matches!(from, Address::Front(_)),
            Self::FrontHello { front, .. } => is_front(*front),
            Self::FrontHeartbeat { member, .. } | Self::FrontFarewell { member } | Self::FrontCutOff { member } => {
                is_front(member.front)
            }

            Self::Welcome { .. }
            | Self::Superseded { .. }
            | Self::Lease { .. }
            | Self::OtherCluster { .. }
            | Self::Adopt { .. }
            | Self::Occupied { .. }
            | Self::Learn { .. }
            | Self::Prepare { .. }
            | Self::Seal { .. }
            | Self::Equalise { .. }
            | Self::Activate { .. }
            | Self::Drop { .. }
            | Self::View { .. }
            | Self::FrontWelcome { .. }
            | Self::FrontSuperseded { .. }
            | Self::FrontLease { .. } => from == Address::Manager,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Asker, Attempt, Incarnation, Member, RangeId, RequestId, WedgeId};

    const MANAGER: Address = Address::Manager;
    const NODE: Address = Address::Node(NodeId(3));
    const FRONT: Address = Address::Front(FrontId(3));
    const CLIENT: Address = Address::Client(3);

    fn speakers(message: &Message) -> Vec<Address> {
        [MANAGER, NODE, FRONT, CLIENT].into_iter().filter(|from| message.may_come_from(*from)).collect()
    }

    #[test]
    fn only_the_manager_gives_orders() {
        let order = Message::Prepare { incarnation: Incarnation(1), range: RangeId(1), attempt: Attempt(1) };
        assert_eq!(speakers(&order), [MANAGER]);
    }

    #[test]
    fn a_node_answers_for_itself_alone() {
        let level = |node| {
            let member = Member { node: NodeId(node), incarnation: Incarnation(1) };
            Message::Level { member, range: RangeId(1), attempt: Attempt(1) }
        };
        assert_eq!(speakers(&level(3)), [NODE]);
        assert_eq!(speakers(&level(4)), []);
    }

    #[test]
    fn whoever_is_no_member_asks_for_what_is_in_a_range_for_itself() {
        let scan = |address| Message::Scan {
            range: RangeId(1),
            id: RequestId { session: 0, number: 1 },
            asker: Asker { address, tag: 1 },
            keys: fawn_ring::Interval::ALL,
            least: crate::ids::Position::default(),
            sought: crate::scan::Sought::Records { after: crate::ids::Position::default() },
        };
        assert_eq!(speakers(&scan(CLIENT)), [CLIENT]);
        assert_eq!(speakers(&scan(FRONT)), [FRONT]);
        assert_eq!(speakers(&scan(Address::Client(4))), []);
        assert_eq!(speakers(&scan(NODE)), [], "members copy");
    }

    #[test]
    fn answers_go_to_those_who_asked() {
        let id = RequestId { session: 1, number: 1 };
        let flush = |address, wedge| {
            let asker = Asker { address, tag: 1 };
            Message::AskFlush { id, answered: None, asker, wedge, due: 0 }
        };
        assert_eq!(speakers(&flush(CLIENT, None)), [CLIENT]);
        assert_eq!(speakers(&flush(Address::Client(4), None)), []);
        assert_eq!(speakers(&flush(FRONT, Some(WedgeId(0)))), [FRONT]);
        assert_eq!(speakers(&flush(CLIENT, Some(WedgeId(0)))), [], "a client owns no wedge");
        assert_eq!(speakers(&Message::AskView { asker: NODE, known: 0 }), [], "a node is told of its own chains");
    }
}
