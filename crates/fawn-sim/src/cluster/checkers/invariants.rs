//! What must hold at every step.

use std::collections::{BTreeMap, BTreeSet};

use fawn_kv::chain::{Lease, Replica};
use fawn_kv::ids::{Ack, Chain, Consistency, Epoch, Member, NodeId, Position, RangeId, Rules, Seq};
use fawn_kv::node::Node;
use fawn_kv::range::entry::{Change, Entry, Version};
use fawn_kv::store::RangeStore;
use fawn_kv::timing::Timing;

/// A node, a key, and a value that it has committed.
type CommittedValue = (NodeId, Vec<u8>, Vec<u8>);

/// What was ever committed, and which chains were ever active.
#[derive(Debug, Default)]
pub struct Invariants {
    /// In a weak cluster, when a write may be acknowledged: there each node has a log of its own.
    weak: Option<Ack>,
    /// Sessions that a member of a chain remembers, at most.
    most_sessions: usize,
    /// The checksum of each committed record, and its epoch, by whose log it is in: node 0 stands for all members of a chain.
    committed: BTreeMap<(RangeId, NodeId, Seq), (u64, Epoch)>,
    /// The newest chain that each node was active in.
    active: BTreeMap<(NodeId, RangeId), Epoch>,
    /// What was committed of each key, by position; `None`: it was deleted.
    versions: BTreeMap<Vec<u8>, BTreeMap<Position, Option<Version>>>,
    /// Where each key was written that may not be committed yet: as its range comes to its end, it is unseen.
    written: BTreeMap<Vec<u8>, BTreeSet<Position>>,
    /// Up to where each log was looked at for that.
    noted: BTreeMap<(NodeId, RangeId), Position>,
    /// What each node has committed since this is watched.
    has: Option<BTreeSet<CommittedValue>>,
    chains: BTreeMap<(RangeId, Epoch), Chain>,
    /// The end of what was committed and then lost.
    lost: BTreeMap<RangeId, (Epoch, Seq)>,
    /// Records that may be lost; once a chain has begun without them, those that are.
    given_up: BTreeMap<RangeId, GivenUp>,
    /// How far each replica was looked at: its life, its epoch, what was committed.
    seen: BTreeMap<(NodeId, RangeId), (Member, Epoch, Seq)>,
    leases: BTreeMap<NodeId, Lease>,
    /// Chains that became active at a member.
    pub activations: u64,
    /// Fences that were committed.
    pub fences: u64,
}

/// Records that a chain went on without.
#[derive(Debug, Default)]
struct GivenUp {
    /// Their checksums, by their places.
    records: BTreeMap<Position, u64>,
    /// The chain that went on without them.
    by: Option<Chain>,
}

impl Invariants {
    /// Of a cluster with these rules and times.
    pub fn of(rules: Rules, timing: &Timing) -> Self {
        let weak = (rules.consistency == Consistency::Weak).then_some(rules.ack);
        // Two ranges that were merged have as many each.
        let most_sessions = 2 * (timing.sessions.sessions + timing.pending);
        Self { weak, most_sessions, ..Self::default() }
    }

    /// Writes may be acknowledged so from here on.
    pub fn may_acknowledge(&mut self, ack: Ack) {
        self.weak = self.weak.map(|before| if ack == Ack::Replicated { ack } else { before });
    }

    /// Whose log a node's is.
    fn log_of(&self, node: NodeId) -> NodeId {
        if self.weak.is_some() { node } else { NodeId(0) }
    }

    /// From here on, what nodes commit is remembered.
    pub fn watch(&mut self) {
        self.has.get_or_insert_default();
    }

    /// Whether a node has committed this value of a key since that is watched.
    pub fn has(&self, node: NodeId, key: &[u8], value: &[u8]) -> bool {
        self.has.as_ref().is_some_and(|has| has.contains(&(node, key.to_vec(), value.to_vec())))
    }

    /// What is known of the log of a weak cluster's node goes with the log; a restart keeps whatever was acknowledged as
    /// durable.
    fn look_at_own_log(&mut self, me: Member, range: RangeId, replica: &Replica) -> Result<(), String> {
        let all = (range, me.node, Seq(0))..=(range, me.node, Seq(u64::MAX));
        let Some((_, _, newest)) = self.committed.range(all.clone()).next_back().map(|(at, _)| *at) else {
            return Ok(());
        };
        let restarted = self.seen.get(&(me.node, range)).is_some_and(|(member, ..)| *member != me);
        if !replica.is_complete() || (restarted && self.weak == Some(Ack::Replicated)) {
            let gone: Vec<_> = self.committed.range(all).map(|(at, _)| *at).collect();
            self.committed.retain(|at, _| gone.binary_search(at).is_err());
        } else if restarted && newest > replica.last().seq {
            return Err(format!("{me:?} has {range:?} up to {:?}, but had committed {newest:?}", replica.last()));
        }
        Ok(())
    }

    /// Looks at a node after a step; whether its right to answer reads has changed.
    ///
    /// # Errors
    /// What does not hold.
    pub fn look<S: RangeStore>(&mut self, node: &Node<S>) -> Result<bool, String> {
        let Some(me) = node.member() else { return Ok(false) };
        let lease = node.lease();
        let mut changed = self.leases.insert(me.node, lease) != Some(lease);
        for (range, replica) in node.replicas() {
            let epoch = replica.chain().map_or(Epoch(0), |chain| chain.epoch);
            let committed = replica.committed().seq;
            if self.weak.is_some() {
                self.look_at_own_log(me, range, replica)?;
            }
            self.note_written(me.node, range, replica);
            let log = self.log_of(me.node);
            let before = self.seen.insert((me.node, range), (me, epoch, committed));
            if before.is_none_or(|(member, ..)| member != me) {
                self.had_nothing_given_up(me, range, replica)?;
            }
            let before = before.filter(|(member, ..)| *member == me).unwrap_or((me, Epoch(0), Seq(0)));
            if before == (me, epoch, committed) {
                continue;
            }
            let sessions = replica.meta().sessions.len();
            if self.weak.is_none() && sessions > self.most_sessions {
                return Err(format!("{me:?} remembers {sessions} sessions in {range:?}"));
            }
            if let Some(chain) = replica.chain().filter(|chain| chain.epoch != before.1) {
                self.activations += 1;
                changed = true;
                self.became_active(me, range, chain)?;
                // A member may hear late of a chain that is over: then it lacks what others have committed since.
                let mut before = self.committed.range((range, log, Seq(0))..=(range, log, Seq(u64::MAX))).rev();
                let newest = before.find(|(_, (_, epoch))| *epoch < chain.epoch).map(|((.., seq), _)| *seq);
                if newest > Some(replica.last().seq) {
                    return Err(format!(
                        "{me:?} is active in {epoch:?} of {range:?} up to {:?}, but {newest:?} was committed before",
                        replica.last()
                    ));
                }
            }
            for entry in replica.entries().filter(|entry| entry.position.seq <= committed).rev() {
                if entry.position.seq <= before.2 {
                    break;
                }
                let least = |chain: &Chain| usize::from(chain.rules.min_write_replicas) > chain.members.len();
                let chain = self.chains.get(&(range, entry.position.epoch));
                if entry.asked.is_some() && chain.is_some_and(least) {
                    return Err(format!("{me:?} commits a write in a chain that is too short: {chain:?}"));
                }
                let checksum = checksum(&postcard::to_allocvec(entry).expect("an entry can be encoded"));
                let (lost_in, lost) = self.lost.get(&range).copied().unwrap_or_default();
                if entry.asked.is_some() && entry.position.epoch > lost_in && entry.position.seq <= lost {
                    return Err(format!("{me:?} gives a number out again that was lost: {entry:?} in {range:?}"));
                }
                let at = (range, log, entry.position.seq);
                let record = (checksum, entry.position.epoch);
                let is_new = !self.committed.contains_key(&at);
                self.fences += u64::from(is_new && matches!(entry.change, Change::Fence { .. }));
                if *self.committed.entry(at).or_insert(record) != record {
                    return Err(format!(
                        "{me:?} commits another record than was committed before: {entry:?} in {range:?}"
                    ));
                }
                if is_new && self.weak.is_none() {
                    self.note_version(entry);
                }
                if let (Some(has), Change::Value(version)) = (&mut self.has, &entry.change) {
                    has.insert((me.node, entry.key.clone(), version.value.clone()));
                }
            }
        }
        Ok(changed)
    }

    fn note_version(&mut self, entry: &Entry) {
        let version = match &entry.change {
            Change::Value(version) => Some(version.clone()),
            Change::Delete => None,
            _ => return,
        };
        self.versions.entry(entry.key.clone()).or_default().insert(entry.position, version);
    }

    fn note_written(&mut self, node: NodeId, range: RangeId, replica: &Replica) {
        let last = replica.last();
        let before = self.noted.insert((node, range), last).unwrap_or_default();
        if before == last || self.weak.is_some() {
            return;
        }
        for entry in replica.entries().rev().take_while(|entry| entry.position > before.min(replica.committed())) {
            if !entry.key.is_empty() {
                self.written.entry(entry.key.clone()).or_default().insert(entry.position);
            }
        }
    }

    /// Where a key was written, committed or not.
    pub fn written(&self, key: &[u8]) -> Option<&BTreeSet<Position>> {
        self.written.get(key)
    }

    /// What was committed of each key so far, by position.
    pub fn versions(&self) -> &BTreeMap<Vec<u8>, BTreeMap<Position, Option<Version>>> {
        &self.versions
    }

    /// What was committed of a range, and not synced, is lost. Its numbers are not given out again.
    pub fn forget(&mut self, range: RangeId) {
        let all = (range, NodeId(0), Seq(0))..=(range, NodeId(u64::MAX), Seq(u64::MAX));
        let highest = self.committed.range(all).map(|((.., seq), (_, epoch))| (*epoch, *seq)).max().unwrap_or_default();
        self.lost.insert(range, highest);
        let given_up = self.given_up.entry(range).or_default();
        if given_up.by.is_some() {
            *given_up = GivenUp::default();
        }
        self.committed.retain(|(other, _, seq), (checksum, epoch)| {
            if *other == range {
                given_up.records.insert(Position { epoch: *epoch, seq: *seq }, *checksum);
            }
            *other != range
        });
    }

    /// A member that comes back has none of what was lost: where everybody has to be waited for, nobody's log is longer than
    /// the one that the chain went on from.
    fn had_nothing_given_up(&self, me: Member, range: RangeId, replica: &Replica) -> Result<(), String> {
        let Some(GivenUp { records, by: Some(chain) }) = self.given_up.get(&range) else { return Ok(()) };
        // Of the chain that was active last, though all its records may be lost: no other's members are waited for.
        let before = self.chains.range((range, Epoch(0))..(range, chain.epoch)).next_back();
        if before.is_none_or(|(_, before)| !before.has_node(me.node) || replica.held() < Some(before.attempt)) {
            return Ok(());
        }
        let lost = |position: &Position| *position > chain.after && records.contains_key(position);
        let has = |entry: &&Entry| {
            let checksum = checksum(&postcard::to_allocvec(entry).expect("an entry can be encoded"));
            lost(&entry.position) && records[&entry.position] == checksum
        };
        if replica.entries().any(|entry| has(&entry)) || lost(&replica.committed()) {
            return Err(format!(
                "{me:?} comes back with what was given up in {range:?} as lost after {:?}",
                chain.after
            ));
        }
        Ok(())
    }

    /// Whether the record at a place was given up as lost: a chain went on without it.
    pub fn was_given_up(&self, range: RangeId, at: Position) -> bool {
        let Some(GivenUp { records, by: Some(chain) }) = self.given_up.get(&range) else { return false };
        at > chain.after && records.contains_key(&at)
    }

    fn became_active(&mut self, me: Member, range: RangeId, chain: &Chain) -> Result<(), String> {
        // A member that was away may become active in an earlier chain only now.
        let goes_on = self.lost.get(&range).is_some_and(|(epoch, _)| chain.epoch > *epoch);
        if let Some(given_up) = self.given_up.get_mut(&range).filter(|_| goes_on) {
            given_up.by.get_or_insert_with(|| chain.clone());
        }
        if let Some(before) = self.active.insert((me.node, range), chain.epoch).filter(|before| *before >= chain.epoch)
        {
            return Err(format!("{me:?} is active in {chain:?} of {range:?} after {before:?}"));
        }
        let known = self.chains.entry((range, chain.epoch)).or_insert_with(|| chain.clone());
        if known != chain {
            return Err(format!("{me:?} is active in {chain:?} of {range:?}, others in {known:?}"));
        }
        let distinct = chain
            .members
            .iter()
            .all(|member| chain.members.iter().filter(|other| other.node == member.node).count() == 1);
        if !distinct {
            return Err(format!("a node is twice in {chain:?} of {range:?}"));
        }
        Ok(())
    }

    /// Records that were committed.
    pub fn records(&self) -> u64 {
        self.committed.len() as u64
    }

    /// Chains that were active.
    pub fn chains(&self) -> u64 {
        self.chains.len() as u64
    }
}

/// FNV-1a.
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
