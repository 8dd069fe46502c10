//! What must hold at every step.

use std::collections::BTreeMap;

use fawn_kv::chain::Lease;
use fawn_kv::entry::Change;
use fawn_kv::ids::{Chain, Epoch, Member, NodeId, RangeId, Seq};
use fawn_kv::node::Node;
use fawn_kv::store::RangeStore;

/// What was ever committed, and which chains were ever active.
#[derive(Debug, Default)]
pub struct Invariants {
    /// The checksum of each committed record, and its epoch.
    committed: BTreeMap<(RangeId, Seq), (u64, Epoch)>,
    chains: BTreeMap<(RangeId, Epoch), Chain>,
    /// The end of what was committed and then lost.
    lost: BTreeMap<RangeId, (Epoch, Seq)>,
    /// How far each replica was looked at: its life, its epoch, what was committed.
    seen: BTreeMap<(NodeId, RangeId), (Member, Epoch, Seq)>,
    leases: BTreeMap<NodeId, Lease>,
    /// Chains that became active at a member.
    pub activations: u64,
    /// Fences that were committed.
    pub fences: u64,
}

impl Invariants {
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
            let before = self.seen.insert((me.node, range), (me, epoch, committed));
            let before = before.filter(|(member, ..)| *member == me).unwrap_or((me, Epoch(0), Seq(0)));
            if before == (me, epoch, committed) {
                continue;
            }
            if let Some(chain) = replica.chain().filter(|chain| chain.epoch != before.1) {
                self.activations += 1;
                changed = true;
                self.became_active(me, range, chain)?;
                // A member may hear late of a chain that is over: then it lacks what others have committed since.
                let mut before = self.committed.range((range, Seq(0))..=(range, Seq(u64::MAX))).rev();
                let newest = before.find(|(_, (_, epoch))| *epoch < chain.epoch).map(|((_, seq), _)| *seq);
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
                let at = (range, entry.position.seq);
                let record = (checksum, entry.position.epoch);
                let is_new = !self.committed.contains_key(&at);
                self.fences += u64::from(is_new && matches!(entry.change, Change::Fence { .. }));
                if *self.committed.entry(at).or_insert(record) != record {
                    return Err(format!(
                        "{me:?} commits another record than was committed before: {entry:?} in {range:?}"
                    ));
                }
            }
        }
        Ok(changed)
    }

    /// What was committed of a range, and not synced, is lost. Its numbers are not given out again.
    pub fn forget(&mut self, range: RangeId) {
        let known = self.committed.range((range, Seq(0))..=(range, Seq(u64::MAX)));
        let highest = known.map(|((_, seq), (_, epoch))| (*epoch, *seq)).max().unwrap_or_default();
        self.lost.insert(range, highest);
        self.committed.retain(|(other, _), _| *other != range);
    }

    fn became_active(&mut self, me: Member, range: RangeId, chain: &Chain) -> Result<(), String> {
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
