//! What waits to be decided, how it is proposed, and questions whether this member leads still.
//!
//! One entry of the log is under way at a time; what is proposed meanwhile goes into the next one together. So a leader that
//! reaches no majority has one entry that nobody takes, however often its manager proposes the same again.

use super::group::ManagerGroup;
use super::task_event::{TaskEvent, TaskSender};
use crate::consensus::types::Types;
use crate::consensus::{Group, LogStore, Proposal};
use crate::replicated_state::Decision;
use crate::sealed;
use openraft::BasicNode;
use openraft::error::{ClientWriteError, RaftError};
use openraft::raft::ClientWriteResponse;

/// Decisions that wait, at most: what comes after them is proposed again.
const MOST_WAITING: usize = 4096;

/// Bytes of commands in one entry, about.
const MOST_BYTES: usize = 1 << 20;

/// What an entry takes beside the proposal, and what else consensus writes meanwhile.
const ROOM: u64 = 4096;

/// What comes of a proposal.
pub type ProposalResult = Result<ClientWriteResponse<Types>, RaftError<u64, ClientWriteError<u64, BasicNode>>>;

/// Has the group decide.
#[derive(Clone)]
pub struct Proposer {
    group: Group,
    store: LogStore,
}

impl Proposer {
    /// Of a member that keeps its log there.
    pub fn new(group: Group, store: LogStore) -> Self {
        Self { group, store }
    }

    /// Proposes, and waits until it is decided. Consensus says nothing while it waits for a full device, so that another member
    /// leads; one that is alone has nobody to do so, and waits before it asks: nodes keep their leases.
    ///
    /// # Errors
    /// This member does not lead, or stops.
    pub async fn propose(&self, proposal: Proposal) -> ProposalResult {
        let is_alone = {
            let metrics = self.group.metrics();
            let metrics = metrics.borrow();
            metrics.membership_config.nodes().count() == 1
        };
        if is_alone {
            self.store.wait_for_room(sealed::seal(&proposal).len() as u64 + ROOM).await;
        }
        self.group.client_write(proposal).await
    }

    /// Why this member cannot write its log just now, if it cannot.
    pub fn stalled(&self) -> Option<String> {
        self.store.stall().why()
    }
}

/// What waits to be decided.
#[derive(Debug, Default)]
pub struct Proposals {
    waiting: Vec<Decision>,
    under_way: Vec<Decision>,
}

impl Proposals {
    /// Something is to be decided, unless it is already about to.
    pub fn add(&mut self, decision: Decision) {
        let known = self.waiting.contains(&decision) || self.under_way.contains(&decision);
        if !known && self.waiting.len() < MOST_WAITING {
            self.waiting.push(decision);
        }
    }

    /// Begins the next entry in this term, if something waits and none is under way.
    pub fn begin(&mut self, term: u64, proposer: &Proposer, tasks: &TaskSender) {
        let Some(decisions) = self.next() else { return };
        let (proposer, tasks) = (proposer.clone(), tasks.clone());
        tokio::spawn(async move {
            if let Err(error) = proposer.propose(Proposal { term, decisions }).await {
                tracing::debug!("the proposal of term {term} was not decided: {error}");
            }
            let _ = tasks.send(TaskEvent::Wrote { term });
        });
    }

    /// What is to go into the next entry, if none is under way.
    fn next(&mut self) -> Option<Vec<Decision>> {
        if self.waiting.is_empty() || !self.under_way.is_empty() {
            return None;
        }
        let mut bytes = 0;
        let fit = self.waiting.iter().take_while(|decision| {
            let fits = bytes < MOST_BYTES;
            bytes += if let Decision::Command(command) = decision { command.len() } else { 0 };
            fits
        });
        let count = fit.count();
        self.under_way = self.waiting.drain(..count).collect();
        Some(self.under_way.clone())
    }

    /// What was under way is decided, or will not be.
    pub fn written(&mut self) {
        self.under_way.clear();
    }
}

/// Questions whether this member leads still.
#[derive(Debug, Default)]
pub struct Questions {
    waiting: Vec<u64>,
    under_way: bool,
}

impl Questions {
    /// More of them.
    pub fn add(&mut self, questions: Vec<u64>) {
        self.waiting.extend(questions);
    }

    /// Begins a round of heartbeats in this term that answers what waits, if something does and none is under way.
    pub fn begin(&mut self, term: u64, group: &ManagerGroup, tasks: &TaskSender) {
        let Some(questions) = self.next() else { return };
        let (group, tasks) = (group.clone(), tasks.clone());
        tokio::spawn(async move {
            let led = group.confirmed_term().await == Some(term);
            let _ = tasks.send(TaskEvent::Checked { term, questions, led });
        });
    }

    /// Those that a round of heartbeats is to answer which begins now, if none is under way.
    fn next(&mut self) -> Option<Vec<u64>> {
        if self.waiting.is_empty() || self.under_way {
            return None;
        }
        self.under_way = true;
        Some(std::mem::take(&mut self.waiting))
    }

    /// The round is over.
    pub fn checked(&mut self) {
        self.under_way = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_ring::Secret;

    #[test]
    fn what_is_proposed_again_and_again_is_in_one_entry() {
        let mut proposals = Proposals::default();
        for number in [1, 2, 1, 2] {
            proposals.add(Decision::Secret(Secret([number; 32])));
        }
        assert_eq!(proposals.next().unwrap().len(), 2);
        for number in [1, 2, 3, 3] {
            proposals.add(Decision::Secret(Secret([number; 32])));
        }
        assert_eq!(proposals.next(), None, "one is under way");
        proposals.written();
        assert_eq!(proposals.next(), Some(vec![Decision::Secret(Secret([3; 32]))]));
        proposals.written();
        for _ in 0..10_000 {
            proposals.add(Decision::Command(vec![0; 1000]));
        }
        assert_eq!(proposals.next().unwrap().len(), 1);
    }

    #[test]
    fn an_entry_is_not_too_long() {
        let mut proposals = Proposals::default();
        for number in 0..100u8 {
            proposals.add(Decision::Command(vec![number; MOST_BYTES / 8]));
        }
        assert_eq!(proposals.next().unwrap().len(), 8);
    }

    #[test]
    fn a_question_waits_for_a_round_that_begins_after_it() {
        let mut questions = Questions::default();
        questions.add(vec![1, 2]);
        assert_eq!(questions.next(), Some(vec![1, 2]));
        questions.add(vec![3]);
        assert_eq!(questions.next(), None);
        questions.checked();
        assert_eq!(questions.next(), Some(vec![3]));
    }
}
