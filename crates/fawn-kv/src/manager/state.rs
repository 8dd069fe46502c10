//! What is decided, as a deterministic state machine: the same commands in the same order make the same state.

use super::settings::{Settings, check_virtual_ids};
use super::wedge_state::Wedges;
use crate::ids::{
    Attempt, Chain, ClusterId, Epoch, FrontId, FrontMember, Incarnation, Member, NodeId, Position, RangeId, Seq,
    WedgeEpoch, WedgeId,
};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use fawn_ring::{DomainId, Interval, Key, MachineId, Node as Place, VirtualId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a node is to the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// It has its places.
    Member,
    /// It is to leave, and serves until others have what it has.
    Draining,
    /// It was not heard of for long. When it comes back, it has its places again.
    Gone,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRegistration {
    /// Its life.
    pub incarnation: Incarnation,
    /// The start that it was given to.
    pub nonce: u64,
    /// The machine that it runs on.
    pub machine: MachineId,
    /// What fails together with the machine.
    pub domain: Option<DomainId>,
    /// Number of its places.
    pub virtual_ids: u32,
    /// What it is to the ring.
    pub standing: Standing,
}

impl NodeRegistration {
    /// Its places on the ring: a function of its name and their number.
    pub fn place(&self, node: NodeId) -> Place {
        let virtual_ids = VirtualId::all_of(&node.0.to_le_bytes(), self.virtual_ids);
        Place { id: node, machine: self.machine, domain: self.domain, virtual_ids }
    }
}

/// What becomes of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Into {
    /// It stays, with another chain.
    Itself,
    /// Two ranges, cut after this key.
    Split {
        /// The last key of the lower one.
        at: Key,
    },
    /// One range, together with the one after it.
    Merge {
        /// That range.
        upper: RangeId,
    },
    /// One range, together with the one before it, whose attempt this is a part of.
    MergedBy {
        /// That range.
        lower: RangeId,
    },
}

/// A store that becomes a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adopted {
    /// The node that has it.
    pub node: NodeId,
    /// The keys that it was made to hold.
    pub keys: Interval,
}

/// An entry of the managers' log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// A node has started: it gets the next incarnation, once a start.
    Register {
        /// The node.
        node: NodeId,
        /// Names the start.
        nonce: u64,
        /// The machine that it runs on.
        machine: MachineId,
        /// What fails together with the machine.
        domain: Option<DomainId>,
        /// Number of its places on the ring.
        virtual_ids: u32,
    },
    /// A node is to leave, is gone, or is to stay after all.
    Stand {
        /// The node.
        node: NodeId,
        /// The life that this is about; another has come back.
        incarnation: Incarnation,
        /// What it is to the ring from here on.
        standing: Standing,
    },
    /// The operator changes settings.
    Set(Settings),
    /// The first ranges are made, of the nodes that there are.
    Form,
    /// A node learns a range, or nobody does.
    Learner {
        /// The range.
        range: RangeId,
        /// The node.
        learner: Option<Member>,
    },
    /// An attempt to change a chain begins. It supersedes any before.
    Begin {
        /// The range.
        range: RangeId,
        /// Its number, higher than any before.
        attempt: Attempt,
        /// Whom the chain is to have, head first.
        target: Vec<Member>,
        /// Whose log all get; `None`: a range that begins.
        source: Option<Member>,
        /// What becomes of the range. Never [`Into::MergedBy`]: the lower one's attempt is both's.
        into: Into,
    },
    /// The attempt has come to its end: its chain is active.
    Activate {
        /// The range.
        range: RangeId,
        /// The attempt.
        attempt: Attempt,
        /// What becomes of the range.
        into: Into,
        /// The end of the log before.
        after: Position,
        /// Number of the first record.
        first: Seq,
    },
    /// A front-end has started: it gets the next incarnation, once a start.
    FrontRegister {
        /// The front-end.
        front: FrontId,
        /// Names this start.
        nonce: u64,
    },
    /// The wedge's owner is to own it no longer: from here on nobody grants it a lease on it.
    WedgeRelease {
        /// The wedge.
        wedge: WedgeId,
        /// The epoch that comes to its end.
        epoch: WedgeEpoch,
    },
    /// The wedge has another owner, in the next epoch. The lease of the one before is over.
    WedgeGrant {
        /// The wedge.
        wedge: WedgeId,
        /// The next epoch.
        epoch: WedgeEpoch,
        /// The owner.
        owner: FrontMember,
    },
    /// The cluster begins, and has this name for life.
    Found(ClusterId),
    /// The first ranges are made of what the stores of a plain directory hold.
    Adopt {
        /// Those stores, in the order of their keys, which do not overlap.
        ranges: Vec<Adopted>,
    },
    /// A node has stopped, and said so: its life is over, and the next one has yet to begin. Since version 4.
    End {
        /// The life.
        member: Member,
    },
}

/// An attempt under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Whom the chain is to have, head first.
    pub target: Vec<Member>,
    /// Whose log all get.
    pub source: Option<Member>,
    /// What becomes of the range.
    pub into: Into,
}

/// One range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The active chain.
    pub chain: Chain,
    /// The highest attempt.
    pub attempt: Attempt,
    /// It, if it is under way.
    pub pending: Option<Pending>,
    /// Who learns the range.
    pub learner: Option<Member>,
    /// The change of the map that brought the chain about.
    pub changed: u64,
    /// The ranges that it came of, while it has not changed since: those whose [`Over::ranges`] name it.
    pub came_of: Vec<RangeId>,
}

/// A range that is no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Over {
    /// The attempt that ended it.
    pub attempt: Attempt,
    /// What came of it and has not changed since: whoever comes back with the old range may be needed for these.
    pub ranges: Vec<RangeId>,
}

/// What is decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The cluster's name; `None` until it begins.
    pub cluster: Option<ClusterId>,
    /// The operator's settings.
    pub settings: Settings,
    /// The nodes.
    pub nodes: BTreeMap<NodeId, NodeRegistration>,
    /// The ranges: every key is in one.
    pub ranges: BTreeMap<RangeId, Range>,
    /// The ranges by their last keys.
    pub by_last: BTreeMap<Key, RangeId>,
    /// Ranges that were split or merged.
    pub over: BTreeMap<RangeId, Over>,
    /// Ranges with an attempt under way.
    pub under_way: BTreeSet<RangeId>,
    /// The ranges whose active chain a node is in, in whatever life.
    pub by_node: BTreeMap<NodeId, BTreeSet<RangeId>>,
    /// The ranges by their [`Range::changed`].
    pub by_change: BTreeSet<(u64, RangeId)>,
    /// Changes of the map so far.
    pub changes: u64,
    /// Ranges from this one on are still to come.
    pub next_range: RangeId,
    /// Numbers that may have been given to ranges by decisions that are lost: from each first one up to the second.
    pub lost_ranges: Vec<(RangeId, RangeId)>,
    /// The front-ends and what they own.
    pub wedges: Wedges,
    /// The ranges that nodes' plain stores became, whatever has become of these since.
    pub adopted: BTreeMap<NodeId, RangeId>,
}

/// What a command did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateChange {
    /// Ranges that are over.
    pub over: Vec<RangeId>,
    /// Ranges whose chain became active.
    pub active: Vec<RangeId>,
}

impl State {
    /// No nodes, and one range of all keys without a chain.
    pub fn new(settings: Settings) -> Self {
        let mut state = Self {
            cluster: None,
            settings,
            nodes: BTreeMap::new(),
            ranges: BTreeMap::new(),
            by_last: BTreeMap::new(),
            over: BTreeMap::new(),
            under_way: BTreeSet::new(),
            by_node: BTreeMap::new(),
            by_change: BTreeSet::new(),
            changes: 0,
            next_range: RangeId(1),
            lost_ranges: Vec::new(),
            wedges: Wedges::default(),
            adopted: BTreeMap::new(),
        };
        state.add_range(Chain::none(Interval::ALL), Vec::new());
        state
    }

    /// Whether this is the node's life now.
    pub fn lives(&self, member: Member) -> bool {
        self.nodes.get(&member.node).is_some_and(|node| node.incarnation == member.incarnation)
    }

    /// The range after another, in key order.
    pub fn next_to(&self, range: RangeId) -> Option<RangeId> {
        let last = self.ranges.get(&range)?.chain.keys.high;
        self.by_last.range(last.successor()?..).next().map(|(_, range)| *range)
    }

    /// Whether the members of the range's chain are chains of their own.
    pub(super) fn is_weak(&self, id: RangeId) -> bool {
        self.ranges.get(&id).is_some_and(|range| range.chain.is_weak())
    }

    /// Whether no chain was ever active.
    pub fn is_unformed(&self) -> bool {
        self.ranges.len() == 1 && self.ranges.values().all(|range| range.chain.epoch.0 == 0 && range.pending.is_none())
    }

    pub(super) fn add_range(&mut self, chain: Chain, came_of: Vec<RangeId>) -> RangeId {
        let id = self.next_range;
        self.next_range = id.next();
        let attempt = chain.attempt;
        self.put(id, Range { chain, attempt, pending: None, learner: None, changed: self.changes, came_of });
        id
    }

    /// Puts a range where it is found.
    fn put(&mut self, id: RangeId, range: Range) {
        self.by_last.insert(range.chain.keys.high, id);
        self.by_change.insert((range.changed, id));
        for member in &range.chain.members {
            self.by_node.entry(member.node).or_default().insert(id);
        }
        self.ranges.insert(id, range);
    }

    fn remove_range(&mut self, id: RangeId) -> Option<Range> {
        let range = self.ranges.remove(&id)?;
        self.by_last.remove(&range.chain.keys.high);
        self.by_change.remove(&(range.changed, id));
        self.under_way.remove(&id);
        for member in &range.chain.members {
            if let Some(ranges) = self.by_node.get_mut(&member.node) {
                ranges.remove(&id);
            }
            if self.by_node.get(&member.node).is_some_and(BTreeSet::is_empty) {
                self.by_node.remove(&member.node);
            }
        }
        Some(range)
    }

    /// Applies a command: what it did, or `None` where it no longer fits and does nothing.
    pub fn apply(&mut self, command: &Command) -> Option<StateChange> {
        let did = |did: bool| did.then(StateChange::default);
        match command {
            Command::FrontRegister { front, nonce } => did(self.wedges.register(*front, *nonce)),
            Command::WedgeRelease { wedge, epoch } => did(self.wedges.release(*wedge, *epoch)),
            Command::WedgeGrant { wedge, epoch, owner } => did(self.wedges.grant(*wedge, *epoch, *owner)),
            Command::Register { node, nonce, machine, domain, virtual_ids } => {
                self.register(*node, *nonce, *machine, *domain, *virtual_ids)
            }
            Command::Stand { node, incarnation, standing } => {
                let node = self.nodes.get_mut(node).filter(|node| node.incarnation == *incarnation)?;
                node.standing = *standing;
                Some(StateChange::default())
            }
            Command::End { member } => {
                let node = self.nodes.get_mut(&member.node).filter(|node| node.incarnation == member.incarnation)?;
                // Nobody has this life, nor will anybody be given it: not even to a hello of the last one that comes late.
                (node.incarnation, node.nonce) = (node.incarnation.next(), !node.nonce);
                Some(StateChange::default())
            }
            Command::Set(settings) => {
                // Logs of a weak cluster's members have nothing in common. Nobody but who granted it knows how long a lease is.
                let kept = settings.rules.consistency == self.settings.rules.consistency || self.is_unformed();
                let fits = kept && settings.leases == self.settings.leases && settings.check().is_ok();
                fits.then(|| self.settings = *settings)?;
                Some(StateChange::default())
            }
            Command::Found(cluster) => {
                self.cluster.is_none().then(|| self.cluster = Some(*cluster))?;
                Some(StateChange::default())
            }
            Command::Form => self.form(),
            Command::Adopt { ranges } => self.adopt(ranges),
            Command::Learner { range, learner } => {
                let range = self.ranges.get_mut(range)?;
                // A member of the chain, in whatever life, may be the last that has its data.
                let fits = learner.is_none_or(|learner| !range.chain.has_node(learner.node));
                fits.then(|| range.learner = *learner)?;
                Some(StateChange::default())
            }
            Command::Begin { range, attempt, target, source, into } => {
                self.begin(*range, *attempt, target, *source, *into)
            }
            Command::Activate { range, attempt, into, after, first } => {
                self.activate(*range, *attempt, *into, *after, *first)
            }
        }
    }

    fn register(
        &mut self,
        node: NodeId,
        nonce: u64,
        machine: MachineId,
        domain: Option<DomainId>,
        virtual_ids: u32,
    ) -> Option<StateChange> {
        let before = self.nodes.get(&node);
        if before.is_some_and(|before| before.nonce == nonce) || check_virtual_ids(virtual_ids).is_err() {
            return None;
        }
        let incarnation = match before {
            Some(before) if planted(Bug::RestartKeepsIncarnation) => before.incarnation,
            Some(before) => before.incarnation.next(),
            None => Incarnation(1),
        };
        let drains = before.is_some_and(|before| before.standing == Standing::Draining);
        let standing = if drains { Standing::Draining } else { Standing::Member };
        self.nodes.insert(node, NodeRegistration { incarnation, nonce, machine, domain, virtual_ids, standing });
        // A machine is in one domain, and has moved if one of its nodes says so.
        for other in self.nodes.values_mut().filter(|other| other.machine == machine) {
            other.domain = domain;
        }
        Some(StateChange::default())
    }

    /// Cuts the key space at the places of all nodes that are members, and at its top, so that no range wraps.
    fn form(&mut self) -> Option<StateChange> {
        if !self.is_unformed() || self.settings.check().is_err() {
            return None;
        }
        self.forget_unformed();
        let members = self.nodes.iter().filter(|(_, node)| node.standing == Standing::Member);
        let mut lasts: Vec<Key> =
            members.flat_map(|(id, node)| node.place(*id).virtual_ids).map(|place| place.0).collect();
        lasts.push(Key::MAX);
        lasts.sort_unstable();
        lasts.dedup();
        let mut low = Key::MIN;
        for high in lasts {
            self.add_range(Chain::none(Interval::new(low, high)), Vec::new());
            low = high.successor().unwrap_or(Key::MAX);
        }
        Some(StateChange::default())
    }

    /// Takes the range of all keys away that was there before the first.
    pub(super) fn forget_unformed(&mut self) {
        for id in self.ranges.keys().copied().collect::<Vec<_>>() {
            self.remove_range(id);
        }
    }

    fn begin(
        &mut self,
        id: RangeId,
        attempt: Attempt,
        target: &[Member],
        source: Option<Member>,
        into: Into,
    ) -> Option<StateChange> {
        let range = self.ranges.get(&id)?;
        let chain = &range.chain;
        let from_chain = source.map_or(chain.epoch.0 == 0, |source| chain.has_node(source.node));
        let distinct = (1..target.len()).all(|at| target[..at].iter().all(|other| other.node != target[at].node));
        let anyone = planted(Bug::LearnerAsSource) || planted(Bug::ReviveFromAnyone);
        if attempt <= range.attempt || target.is_empty() || !(from_chain || anyone) || !distinct {
            return None;
        }
        let pending = Pending { target: target.to_vec(), source, into };
        match into {
            Into::MergedBy { .. } => return None,
            Into::Itself => {}
            Into::Split { at } => {
                chain.keys.cut(&at)?;
            }
            Into::Merge { upper } => {
                let other = self.ranges.get(&upper)?;
                let quiet = range.pending.is_none() && other.pending.is_none() && other.learner.is_none();
                let fits = self.next_to(id) == Some(upper) && other.chain.members == chain.members;
                if !quiet || !fits || attempt <= other.attempt {
                    return None;
                }
                let other = self.ranges.get_mut(&upper)?;
                other.attempt = attempt;
                other.pending = Some(Pending { into: Into::MergedBy { lower: id }, ..pending.clone() });
                self.under_way.insert(upper);
            }
        }
        self.part(id);
        let range = self.ranges.get_mut(&id)?;
        range.attempt = attempt;
        range.pending = Some(pending);
        self.under_way.insert(id);
        Some(StateChange::default())
    }

    /// Another attempt takes the place of one that may have been a merge: then the other range goes on by itself.
    fn part(&mut self, id: RangeId) {
        let partner = self.ranges.get(&id).and_then(|range| match range.pending.as_ref()?.into {
            Into::Merge { upper: partner } | Into::MergedBy { lower: partner } => Some(partner),
            Into::Itself | Into::Split { .. } => None,
        });
        if partner.is_some() {
            took(Path::MergeSuperseded);
        } else if matches!(
            self.ranges.get(&id).and_then(|range| range.pending.as_ref()),
            Some(Pending { into: Into::Split { .. }, .. })
        ) {
            took(Path::SplitSuperseded);
        }
        let partner = partner.and_then(|partner| self.ranges.get_mut(&partner)?.pending.as_mut());
        if let Some(pending) = partner {
            pending.into = Into::Itself;
        }
    }

    fn activate(
        &mut self,
        id: RangeId,
        attempt: Attempt,
        into: Into,
        after: Position,
        first: Seq,
    ) -> Option<StateChange> {
        let range = self.ranges.get(&id)?;
        let pending = range.pending.as_ref().filter(|pending| pending.into == into)?;
        if attempt != range.attempt || first <= after.seq {
            return None;
        }
        let chain = Chain {
            keys: range.chain.keys,
            epoch: range.chain.epoch.next(),
            attempt,
            members: pending.target.clone(),
            after,
            first,
            rules: self.settings.rules,
        };
        self.changes += 1;
        match into {
            Into::MergedBy { .. } => None,
            Into::Itself => {
                self.forget(id);
                let Range { learner, .. } = self.remove_range(id)?;
                let learner = learner.filter(|learner| !chain.has_node(learner.node));
                let (changed, came_of) = (self.changes, Vec::new());
                self.put(id, Range { chain, attempt, pending: None, learner, changed, came_of });
                Some(StateChange { over: Vec::new(), active: vec![id] })
            }
            Into::Split { at } => {
                let (lower, upper) = chain.keys.cut(&at)?;
                self.end(&[id]);
                let active: Vec<RangeId> =
                    [lower, upper].map(|keys| self.add_range(Chain { keys, ..chain.clone() }, vec![id])).to_vec();
                self.over.insert(id, Over { attempt, ranges: active.clone() });
                Some(StateChange { over: vec![id], active })
            }
            Into::Merge { upper } => {
                let other = self.ranges.get(&upper)?;
                let keys = Interval::new(chain.keys.low, other.chain.keys.high);
                let epoch: Epoch = chain.epoch.max(other.chain.epoch.next());
                self.end(&[id, upper]);
                let merged = self.add_range(Chain { keys, epoch, ..chain }, vec![id, upper]);
                for over in [id, upper] {
                    self.over.insert(over, Over { attempt, ranges: vec![merged] });
                }
                Some(StateChange { over: vec![id, upper], active: vec![merged] })
            }
        }
    }

    fn end(&mut self, ranges: &[RangeId]) {
        for range in ranges {
            self.forget(*range);
            self.remove_range(*range);
        }
    }

    /// The range has changed since it came of others, which nobody needs any more for it.
    fn forget(&mut self, id: RangeId) {
        let range = self.ranges.get_mut(&id);
        for parent in range.map(|range| std::mem::take(&mut range.came_of)).unwrap_or_default() {
            if let Some(over) = self.over.get_mut(&parent) {
                over.ranges.retain(|range| *range != id);
            }
            if self.over.get(&parent).is_some_and(|over| over.ranges.is_empty()) {
                self.over.remove(&parent);
            }
        }
    }
}
