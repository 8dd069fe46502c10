//! What the leader of the managers hears of those who are no members: nodes of another cluster, lives that are over or never
//! began, front-ends that nobody knows. None of it may change what is decided, or be granted anything.

use fawn_check::random::Random;
use fawn_kv::ids::{Address, ClusterId, FrontId, FrontMember, Incarnation, Member, NodeId, RangeId, Rules};
use fawn_kv::manager::{Effects, Leases, Manager, Settings, State};
use fawn_kv::timing::Timing;
use fawn_kv::wire::Message;
use fawn_ring::MachineId;

use super::generate::generate;
use super::messages::{most_bytes_of_takers, pool, set_versions};
use super::target::{Input, Target};

const CLUSTER: ClusterId = ClusterId([1; 16]);
const NODE: NodeId = NodeId(1);
const FRONT: FrontId = FrontId(1);
/// The present life of both. There was another before.
const LIFE: Incarnation = Incarnation(2);

/// [`Manager::receive`], of those who are no members.
pub(super) struct Strangers;

impl Target for Strangers {
    fn name(&self) -> &'static str {
        "strangers"
    }

    fn valid(&self, random: &mut Random) -> Input {
        (0..random.within(1, 6)).map(|_| message(random).encode()).collect()
    }

    fn mend(&self, random: &mut Random, input: &mut Input) {
        set_versions(random, input);
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        most_bytes_of_takers(input)
    }

    fn execute(&self, input: &Input) -> bool {
        let (mut manager, mut now_us, mut decoded) = (formed(), 1_000_000, false);
        let before = manager.state().clone();
        for part in input {
            let Some(message) = Message::decode(part).ok().filter(|message| is_strange(message, &before)) else {
                continue;
            };
            decoded = true;
            now_us += 1000;
            let said = format!("{message:?}");
            let mut effects = Effects::default();
            manager.receive(now_us, message, &mut effects);
            assert!(effects.propose.is_empty() && effects.confirm.is_empty(), "{said} leads to {effects:?}");
            let harmless = |(_, message): &(Address, Message)| {
                use Message::{FrontSuperseded, Occupied, OtherCluster, Superseded, View};
                match message {
                    OtherCluster { cluster } => *cluster == Some(CLUSTER),
                    Superseded { incarnation } | FrontSuperseded { incarnation } => *incarnation < LIFE,
                    Occupied { cluster } => *cluster == CLUSTER,
                    View { .. } => true,
                    _ => false,
                }
            };
            assert!(effects.send.iter().all(harmless), "{said} leads to {effects:?}");
        }
        assert_eq!(*manager.state(), before, "strangers change nothing");
        still_serves(&mut manager, now_us);
        decoded
    }
}

/// Whether a message is not of a member as it lives now, nor of somebody who may become one.
fn is_strange(message: &Message, state: &State) -> bool {
    match message {
        Message::Hello { cluster, .. } => cluster.is_some_and(|cluster| cluster != CLUSTER),
        Message::Heartbeat { cluster, member, .. } => *cluster != CLUSTER || !state.lives(*member),
        Message::Sealed { member, .. } | Message::Level { member, .. } | Message::Prepared { member, .. } => {
            !state.lives(*member)
        }
        // Of whom nothing is known may become a member, with what it has; but not where there is something already.
        Message::Offer { .. } => state.adopted.is_empty() && !state.is_unformed(),
        Message::FrontHello { .. } => false,
        Message::FrontHeartbeat { member, .. } => !state.wedges.lives(*member),
        _ => true,
    }
}

/// A message of such: about what there is, or any at all.
fn message(random: &mut Random) -> Message {
    let pool = pool(random);
    let member = Member { node: NodeId(random.below(3)), incarnation: Incarnation(random.below(4) as u32) };
    let cluster = *random.pick(&[CLUSTER, ClusterId([2; 16])]);
    let mut message = generate::<Message>(random, &pool);
    match random.below(6) {
        0 => {
            let (node, nonce, machine) = (member.node, random.below(3), MachineId(random.below(3)));
            message = Message::Hello { cluster: Some(cluster), node, nonce, machine, domain: None, virtual_ids: 1 };
        }
        1 => {
            let (reports, silent) = (generate(random, &pool), vec![NODE]);
            message = Message::Heartbeat { cluster, member, nonce: 1, reports, silent };
        }
        2 => {
            let (range, attempt, last) =
                (RangeId(random.below(4) as u32), generate(random, &pool), generate(random, &pool));
            message = Message::Sealed {
                member,
                range,
                attempt,
                last,
                held: generate(random, &pool),
                synced: random.chance(1, 2),
            };
        }
        3 => {
            let (range, attempt) = (RangeId(random.below(4) as u32), generate(random, &pool));
            message = Message::Level { member, range, attempt };
        }
        4 => {
            let member = FrontMember { front: FrontId(random.below(3) as u32), incarnation: member.incarnation };
            message = Message::FrontHeartbeat { member, nonce: 1 };
        }
        _ => {}
    }
    message
}

/// A leader with a node and a front-end, each in its second life.
fn formed() -> Manager {
    let settings = Settings { replicas: 1, first_nodes: 1, rules: Rules::default(), leases: Leases::default() };
    let manager = Manager::new(Timing::default(), settings, CLUSTER);
    let mut manager = manager.expect("a cluster can go by these").with_wedges(2);
    manager.lead(0, true);
    for nonce in [1, 2] {
        let (node, machine) = (NODE, MachineId(1));
        hear(&mut manager, 0, Message::Hello { cluster: None, node, nonce, machine, domain: None, virtual_ids: 1 });
        hear(&mut manager, 0, Message::FrontHello { front: FRONT, nonce });
    }
    still_serves(&mut manager, 1);
    manager
}

/// Something comes, and is agreed on and confirmed at once; what is said.
fn hear(manager: &mut Manager, now_us: u64, message: Message) -> Vec<(Address, Message)> {
    let (mut effects, mut said) = (Effects::default(), Vec::new());
    manager.receive(now_us, message, &mut effects);
    while !effects.propose.is_empty() || !effects.confirm.is_empty() {
        let Effects { mut send, propose, confirm } = std::mem::take(&mut effects);
        said.append(&mut send);
        for command in &propose {
            manager.committed(now_us, command, &mut effects);
        }
        for question in confirm {
            manager.confirmed(now_us, question, &mut effects);
        }
    }
    said.append(&mut effects.send);
    said
}

/// The members have their leases.
fn still_serves(manager: &mut Manager, now_us: u64) {
    let (member, reports, silent) = (Member { node: NODE, incarnation: LIFE }, Vec::new(), Vec::new());
    let heartbeat = Message::Heartbeat { cluster: CLUSTER, member, nonce: 5, reports, silent };
    let said = hear(manager, now_us, heartbeat);
    assert!(said.iter().any(|(_, message)| matches!(message, Message::Lease { nonce: 5, .. })), "{said:?}");
    let member = FrontMember { front: FRONT, incarnation: LIFE };
    let said = hear(manager, now_us, Message::FrontHeartbeat { member, nonce: 5 });
    assert!(said.iter().any(|(_, message)| matches!(message, Message::FrontLease { nonce: 5, .. })), "{said:?}");
}
