//! What is decided, as a deterministic state machine: the same commands in the same order make the same state.

use crate::ids::{Attempt, Chain, Incarnation, Member, NodeId, RangeId, Seq};
use crate::planted::{Bug, planted};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An entry of the managers' log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// A node has started: it gets the next incarnation, once a start.
    Register {
        /// The node.
        node: NodeId,
        /// Names the start.
        nonce: u64,
    },
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
        /// Its number, the next one.
        attempt: Attempt,
        /// Whom the chain is to have, head first.
        target: Vec<Member>,
        /// Whose log all get; `None`: a range that begins.
        source: Option<Member>,
    },
    /// The attempt has come to its end: its chain is active.
    Activate {
        /// The range.
        range: RangeId,
        /// The attempt.
        attempt: Attempt,
        /// Number of the first record.
        first: Seq,
    },
}

/// An attempt under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Whom the chain is to have, head first.
    pub target: Vec<Member>,
    /// Whose log all get.
    pub source: Option<Member>,
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
}

/// What is decided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The life of each node, and the start that it was given to.
    pub nodes: BTreeMap<NodeId, (Incarnation, u64)>,
    /// The ranges.
    pub ranges: BTreeMap<RangeId, Range>,
}

impl State {
    /// `count` ranges without chains.
    pub fn new(count: u32) -> Self {
        let range = Range { chain: Chain::none(), attempt: Attempt(0), pending: None, learner: None };
        Self { nodes: BTreeMap::new(), ranges: (0..count).map(|id| (RangeId(id), range.clone())).collect() }
    }

    /// Whether this is the node's life now.
    pub fn lives(&self, member: Member) -> bool {
        self.nodes.get(&member.node).is_some_and(|(incarnation, _)| *incarnation == member.incarnation)
    }

    /// Applies a command; whether it did anything. What no longer fits does nothing.
    pub fn apply(&mut self, command: &Command) -> bool {
        match command {
            Command::Register { node, nonce } => {
                let (incarnation, last) = self.nodes.get(node).copied().unwrap_or_default();
                if incarnation.0 > 0 && last == *nonce {
                    return false;
                }
                let keeps = planted(Bug::RestartKeepsIncarnation) && incarnation.0 > 0;
                self.nodes.insert(*node, (if keeps { incarnation } else { incarnation.next() }, *nonce));
                true
            }
            Command::Learner { range, learner } => {
                let Some(range) = self.ranges.get_mut(range) else { return false };
                // A member of the chain, in whatever life, may be the last that has its data.
                let fits = learner.is_none_or(|learner| !range.chain.has_node(learner.node));
                if fits {
                    range.learner = *learner;
                }
                fits
            }
            Command::Begin { range, attempt, target, source } => {
                let Some(range) = self.ranges.get_mut(range) else { return false };
                let chain = &range.chain;
                let from_chain = source.map_or(chain.epoch.0 == 0, |source| chain.has_node(source.node));
                let distinct =
                    (1..target.len()).all(|at| target[..at].iter().all(|other| other.node != target[at].node));
                let anyone = planted(Bug::LearnerAsSource) || planted(Bug::ReviveFromAnyone);
                if *attempt != range.attempt.next() || target.is_empty() || !(from_chain || anyone) || !distinct {
                    return false;
                }
                range.attempt = *attempt;
                range.pending = Some(Pending { target: target.clone(), source: *source });
                true
            }
            Command::Activate { range, attempt, first } => {
                let Some(range) = self.ranges.get_mut(range) else { return false };
                if *attempt != range.attempt {
                    return false;
                }
                let Some(Pending { target, .. }) = range.pending.take() else { return false };
                let epoch = range.chain.epoch.next();
                range.chain = Chain { epoch, attempt: *attempt, members: target, first: *first };
                range.learner = range.learner.filter(|learner| !range.chain.has_node(learner.node));
                true
            }
        }
    }
}
