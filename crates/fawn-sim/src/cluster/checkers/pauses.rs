//! For how long planned changes stop the writes of a range: from when the first member takes no more until every member of
//! the new chain is active, so that a write can come to its end.

use std::collections::{BTreeMap, BTreeSet};

use fawn_kv::ids::{Attempt, Epoch, NodeId, RangeId};
use fawn_kv::manager::{Command, Into};
use fawn_kv::node::Node;
use fawn_kv::store::RangeStore;
use fawn_kv::wire::Message;

/// A change that stopped writes, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// What the change was: of `members`, a `split` or a `merge`.
    pub kind: &'static str,
    /// All of it.
    pub whole_us: u64,
    /// From the first member that took no more until the manager knew that all had sealed.
    pub seal_us: u64,
    /// Until it knew that all logs were level.
    pub level_us: u64,
    /// Until the new chain was in the managers' log.
    pub log_us: u64,
    /// Until every member was active.
    pub active_us: u64,
}

/// The marks of one attempt.
#[derive(Debug, Default)]
struct Marks {
    kind: &'static str,
    /// Members of the new chain, in all the ranges that come of it.
    parts: usize,
    stopped_us: Option<u64>,
    sealed: BTreeSet<NodeId>,
    /// Members that have said that their log is durable: it is level, or about to be made so.
    level: BTreeSet<NodeId>,
    sealed_us: u64,
    level_us: u64,
    logged_us: u64,
    active: BTreeSet<(RangeId, NodeId)>,
    active_us: u64,
}

/// What is known of all attempts of a run.
#[derive(Debug, Default)]
pub struct PauseMeter {
    marks: BTreeMap<(RangeId, Attempt), Marks>,
    /// Ranges that came of others, and of which.
    parents: BTreeMap<RangeId, Vec<RangeId>>,
    active: BTreeMap<(NodeId, RangeId), Epoch>,
}

impl PauseMeter {
    /// A command has come to the managers' log.
    pub fn logged(&mut self, now_us: u64, command: &Command) {
        match command {
            Command::Begin { range, attempt, target, into, .. } => {
                let (kind, parts, upper) = match into {
                    Into::Split { .. } => ("split", 2, None),
                    Into::Merge { upper } => ("merge", 1, Some(*upper)),
                    Into::Itself | Into::MergedBy { .. } => ("members", 1, None),
                };
                for range in std::iter::once(*range).chain(upper) {
                    let marks = Marks { kind, parts: parts * target.len(), ..Marks::default() };
                    self.marks.entry((range, *attempt)).or_insert(marks);
                }
            }
            Command::Activate { range, attempt, into, .. } => {
                let upper = if let Into::Merge { upper } = into { Some(*upper) } else { None };
                for range in std::iter::once(*range).chain(upper) {
                    if let Some(marks) = self.marks.get_mut(&(range, *attempt)) {
                        marks.logged_us = now_us;
                    }
                }
            }
            _ => {}
        }
    }

    /// A message has come to whom it is for.
    pub fn delivered(&mut self, now_us: u64, message: &Message) {
        match message {
            Message::Sealed { member, range, attempt, synced, .. } => {
                if let Some(marks) = self.marks.get_mut(&(*range, *attempt)).filter(|marks| marks.logged_us == 0) {
                    if marks.sealed.insert(member.node) {
                        marks.sealed_us = now_us;
                    }
                    if *synced && marks.level.insert(member.node) {
                        marks.level_us = now_us;
                    }
                    marks.level_us = marks.level_us.max(marks.sealed_us);
                }
            }
            Message::Level { member, range, attempt } => {
                if let Some(marks) = self.marks.get_mut(&(*range, *attempt)).filter(|marks| marks.logged_us == 0)
                    && marks.level.insert(member.node)
                {
                    marks.level_us = now_us;
                }
            }
            Message::Activate { over, chains, .. } if !over.is_empty() => {
                self.parents.extend(chains.iter().map(|(range, _)| (*range, over.clone())));
            }
            _ => {}
        }
    }

    /// Looks at a node after a step.
    pub fn look<S: RangeStore>(&mut self, now_us: u64, node: &Node<S>) {
        let Some(me) = node.member() else { return };
        for (range, replica) in node.replicas() {
            let epoch = replica.chain().map(|chain| chain.epoch);
            let before = match epoch {
                Some(epoch) => self.active.insert((me.node, range), epoch),
                None => self.active.remove(&(me.node, range)),
            };
            if before.is_some() && epoch.is_none() {
                let newest = self.marks.range_mut((range, Attempt(0))..=(range, Attempt(u32::MAX))).next_back();
                newest.map(|(_, marks)| marks.stopped_us.get_or_insert(now_us));
            }
            if let Some(chain) = replica.chain().filter(|_| before != epoch) {
                let parents = self.parents.get(&range).into_iter().flatten();
                for from in std::iter::once(&range).chain(parents) {
                    if let Some(marks) = self.marks.get_mut(&(*from, chain.attempt)) {
                        marks.active.insert((range, me.node));
                        marks.active_us = now_us;
                    }
                }
            }
        }
    }

    /// The pauses, and the attempts that stopped writes and were begun again.
    pub fn pauses(&self) -> (Vec<Pause>, u64) {
        let (mut pauses, mut again) = (Vec::new(), 0);
        for marks in self.marks.values() {
            let Some(stopped_us) = marks.stopped_us else { continue };
            if marks.active.len() < marks.parts {
                again += 1;
                continue;
            }
            pauses.push(Pause {
                kind: marks.kind,
                whole_us: marks.active_us - stopped_us,
                seal_us: marks.sealed_us - stopped_us,
                level_us: marks.level_us - marks.sealed_us,
                log_us: marks.logged_us - marks.level_us,
                active_us: marks.active_us - marks.logged_us,
            });
        }
        (pauses, again)
    }
}
