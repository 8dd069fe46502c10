//! Going on after decisions that were lost: those of managers who had a majority, and are gone for good with it.
//!
//! What the lost decisions were nobody knows. What they may have numbered is skipped, so that no number names two things:
//! lives, attempts, epochs, ranges, records, owners of wedges. All lives are over with that. So every node begins another, and
//! every chain goes on as after a power failure: from the longest log of those who were in it, once all of them are back.
//!
//! What the lost decisions did stays undone, and may be worse than that:
//!
//! * If a chain was changed so often that nobody is left in it of those who are known here, it goes on from what these had.
//!   What was acknowledged since is lost.
//! * If a range was cut or joined to another, its members have left it: it waits for ever. They keep what they have of the
//!   ranges that are not known here.
//! * Nodes and settings that were added have to be added again.

use super::state::{Pending, State};
use super::wedge_state::Wedges;
use crate::ids::{Ack, Attempt, Epoch, Incarnation, RangeId, Seq};

/// Of each number that a record may have been given, so many are skipped for one that is named.
const SEQS: u64 = 1 << 20;

/// Whether a chain that goes on waits for all who were in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Waits {
    /// For all: one that is missing may have what was acknowledged last.
    ForAll,
    /// For one: what the others have beyond it is lost.
    ForOne,
}

impl State {
    /// Goes on without decisions that are lost, of which there may have been so many.
    pub fn recovered(&mut self, lost: u32, waits: Waits) {
        for node in self.nodes.values_mut() {
            node.incarnation = Incarnation(node.incarnation.0.saturating_add(lost));
        }
        self.wedges.recovered(lost);
        let next = RangeId(self.next_range.0.saturating_add(lost));
        self.lost_ranges.push((self.next_range, next));
        self.next_range = next;
        // Whoever routes by the map may have heard of changes that are lost: to them everything is new.
        self.changes += u64::from(lost);
        self.by_change = self.ranges.keys().map(|range| (self.changes, *range)).collect();
        for (id, range) in &mut self.ranges {
            (range.changed, range.learner) = (self.changes, None);
            range.attempt = Attempt(range.attempt.0.saturating_add(lost));
            let chain = &mut range.chain;
            if chain.epoch.0 == 0 {
                continue;
            }
            chain.epoch = Epoch(chain.epoch.0.saturating_add(lost));
            chain.first = Seq(chain.first.0 + u64::from(lost) * SEQS);
            chain.rules.ack = match waits {
                // As if it had acknowledged what is in memory: then the longest log counts.
                Waits::ForAll => Ack::Replicated,
                Waits::ForOne => Ack::Durable,
            };
            // Until it has gone on, nobody is told to drop anything of it.
            let target = chain.members.clone();
            range.pending.get_or_insert(Pending { target, source: None, into: super::state::Into::Itself });
            self.under_way.insert(*id);
        }
    }

    /// Whether a number may have been given to a range by a decision that is lost.
    pub(super) fn may_be_lost(&self, range: RangeId) -> bool {
        self.lost_ranges.iter().any(|(from, to)| (from..to).contains(&&range))
    }
}

impl Wedges {
    fn recovered(&mut self, lost: u32) {
        for (incarnation, _) in self.fronts_mut() {
            *incarnation = Incarnation(incarnation.0.saturating_add(lost));
        }
        for wedge in self.wedges_mut() {
            wedge.epoch.0 += u64::from(lost);
            wedge.released = wedge.owner.is_some();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Address, ClusterId, Health, Member, NodeId, Position, Rules};
    use crate::manager::{Command, Effects, Into, Leases, Manager, Settings};
    use crate::timing::Timing;
    use crate::wire::{Message, Report};
    use fawn_ring::MachineId;

    const CLUSTER: ClusterId = ClusterId([1; 16]);
    const LOST: u32 = 1_000_000;
    const SECOND: u64 = 1_000_000;

    fn member(node: u64, incarnation: u32) -> Member {
        Member { node: NodeId(node), incarnation: Incarnation(incarnation) }
    }

    /// Two nodes, and every range has both.
    fn state() -> State {
        let (rules, leases) = (Rules::default(), Leases::default());
        let mut state = State::new(Settings { replicas: 2, first_nodes: 2, rules, leases });
        state.apply(&Command::Found(CLUSTER)).unwrap();
        for node in [1, 2] {
            let (node, machine) = (NodeId(node), MachineId(node));
            state.apply(&Command::Register { node, nonce: 1, machine, domain: None, virtual_ids: 1 }).unwrap();
        }
        state.apply(&Command::Form).unwrap();
        for range in state.ranges.keys().copied().collect::<Vec<_>>() {
            let (attempt, into, after) = (Attempt(1), Into::Itself, Position::default());
            let target = vec![member(1, 1), member(2, 1)];
            state.apply(&Command::Begin { range, attempt, target, source: None, into }).unwrap();
            state.apply(&Command::Activate { range, attempt, into, after, first: Seq(1) }).unwrap();
        }
        state
    }

    /// A manager that goes on from a state, and what it has said.
    struct Bench {
        manager: Manager,
        sent: Vec<(Address, Message)>,
        begun: Vec<(RangeId, Attempt, Option<Member>)>,
        nonce: u64,
    }

    impl Bench {
        fn new(waits: Waits) -> Self {
            let mut state = state();
            state.recovered(LOST, waits);
            let kept = State::decode(&state.encode()).unwrap();
            assert_eq!(kept, state);
            let mut manager = Manager::restored(Timing::default(), kept, CLUSTER);
            manager.lead(0, true);
            Self { manager, sent: Vec::new(), begun: Vec::new(), nonce: 100 }
        }

        fn work(&mut self, now_us: u64, step: impl FnOnce(&mut Manager, &mut Effects)) {
            let mut effects = Effects::default();
            step(&mut self.manager, &mut effects);
            while !effects.propose.is_empty() {
                let mut next = Effects::default();
                for command in &effects.propose {
                    if let Command::Begin { range, attempt, source, .. } = command {
                        self.begun.push((*range, *attempt, *source));
                    }
                    self.manager.committed(now_us, command, &mut next);
                }
                self.sent.append(&mut effects.send);
                effects = next;
            }
            self.sent.append(&mut effects.send);
        }

        fn hear(&mut self, now_us: u64, message: Message) {
            self.work(now_us, |manager, effects| manager.receive(now_us, message, effects));
        }

        /// A node that has everything of every range that it knew says so, up to this record.
        fn beat(&mut self, now_us: u64, member: Member, last: Position, also: Option<RangeId>) {
            let ranges = state().ranges.keys().copied().chain(also).collect::<Vec<_>>();
            let report = |range| {
                let (epoch, health) = (Epoch(0), Health::Sound);
                Report { range, last, held: Some(Attempt(1)), caught_up: false, epoch, health }
            };
            let (reports, silent) = (ranges.into_iter().map(report).collect(), Vec::new());
            self.nonce += 1;
            let nonce = self.nonce;
            self.hear(now_us, Message::Heartbeat { cluster: CLUSTER, member, nonce, reports, silent });
        }

        fn live(&mut self, node: u64) -> Member {
            let (node, machine) = (NodeId(node), MachineId(node));
            let (cluster, nonce) = (Some(CLUSTER), 50 + node.0);
            self.hear(0, Message::Hello { cluster, node, nonce, machine, domain: None, virtual_ids: 1 });
            Member { node, incarnation: self.manager.state().nodes[&node].incarnation }
        }

        fn run(&mut self, from_us: u64, to_us: u64, beats: &[(Member, Position)]) {
            for now_us in (from_us..to_us).step_by(100_000) {
                for (member, last) in beats {
                    self.beat(now_us, *member, *last, None);
                }
                self.work(now_us, |manager, effects| manager.tick(now_us, effects));
            }
        }
    }

    fn position(epoch: u32, seq: u64) -> Position {
        Position { epoch: Epoch(epoch), seq: Seq(seq) }
    }

    #[test]
    fn all_lives_are_over_and_the_next_have_numbers_that_nobody_had() {
        let mut bench = Bench::new(Waits::ForAll);
        // One whose life is known, and one whose life was decided and lost.
        for life in [1, 2, 30] {
            bench.beat(0, member(1, life), position(1, 5), None);
            let told = bench.sent.pop();
            let incarnation = Incarnation(life);
            assert_eq!(told, Some((Address::Node(NodeId(1)), Message::Superseded { incarnation })), "life {life}");
        }
        assert_eq!(bench.live(1).incarnation, Incarnation(1 + LOST + 1));
    }

    #[test]
    fn a_chain_goes_on_once_all_are_back_from_the_longest_log() {
        let mut bench = Bench::new(Waits::ForAll);
        let (one, two) = (bench.live(1), bench.live(2));
        bench.run(0, 10 * SECOND, &[(one, position(1, 9))]);
        assert_eq!(bench.begun, [], "the other may have more");
        bench.run(10 * SECOND, 12 * SECOND, &[(one, position(1, 9)), (two, position(3, 4))]);
        assert!(!bench.begun.is_empty());
        for (range, attempt, source) in bench.begun.clone() {
            assert!(attempt > Attempt(LOST), "{range:?}");
            assert_eq!(source, Some(two), "its epoch was decided, and lost");
        }
    }

    #[test]
    fn whoever_is_back_is_enough_where_the_operator_says_so() {
        let mut bench = Bench::new(Waits::ForOne);
        let one = bench.live(1);
        bench.run(0, 3 * SECOND, &[(one, position(1, 9))]);
        assert!(bench.begun.iter().any(|(_, _, source)| *source == Some(one)), "{:?}", bench.begun);
    }

    #[test]
    fn nobody_drops_what_a_lost_decision_may_have_made() {
        let mut bench = Bench::new(Waits::ForAll);
        let (one, third) = (bench.live(1), bench.live(3));
        let next = state().next_range;
        for now_us in (0..5 * SECOND).step_by(100_000) {
            bench.beat(now_us, one, position(1, 9), Some(next));
            bench.beat(now_us, third, position(1, 9), Some(next));
            bench.work(now_us, |manager, effects| manager.tick(now_us, effects));
        }
        let dropped = bench.sent.iter().filter(|(_, message)| matches!(message, Message::Drop { .. }));
        assert_eq!(dropped.count(), 0);
        assert!(bench.manager.state().next_range.0 > next.0 + LOST - 1);
    }

    #[test]
    fn wedges_get_owners_in_epochs_that_nobody_had() {
        let mut state = state();
        state.wedges = Wedges::new(2);
        let front = crate::ids::FrontId(1);
        state.apply(&Command::FrontRegister { front, nonce: 1 }).unwrap();
        let owner = crate::ids::FrontMember { front, incarnation: Incarnation(1) };
        let (wedge, epoch) = (crate::ids::WedgeId(0), crate::ids::WedgeEpoch(1));
        state.apply(&Command::WedgeGrant { wedge, epoch, owner }).unwrap();
        state.recovered(LOST, Waits::ForAll);
        let wedges = state.wedges.wedges();
        assert!(wedges[0].released && !wedges[1].released, "a wedge without an owner is free");
        assert!(wedges.iter().all(|wedge| wedge.epoch.0 >= u64::from(LOST)));
        assert!(!state.wedges.lives(owner));
    }
}
