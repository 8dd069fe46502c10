//! The group of managers as this member sees it: who is in it, who leads, and who answers.

use super::seats::RECENT;
use crate::consensus::Group;
use crate::consensus::network::PeerContacts;
use crate::consensus::types::StoredMembership;
use fawn_kv::ids::ManagerId;
use fawn_kv::status::ManagerStatus;
use openraft::{BasicNode, RaftMetrics, ServerState};
use std::sync::Arc;
use std::time::Duration;

/// A leader that has heard no majority for so long answers nobody.
const MAJORITY: Duration = Duration::from_secs(3);

/// A majority that has not answered for so long is asked again.
const CHECK: Duration = Duration::from_secs(2);

/// A manager that has answered within this is the one that was greeted.
const GREETED: Duration = Duration::from_secs(1);

/// The group, and this member's place in it. Clones are the same.
#[derive(Clone)]
pub struct ManagerGroup {
    me: ManagerId,
    raft: Group,
    contacts: PeerContacts,
}

impl ManagerGroup {
    /// The group of the member `me`, which notes in `contacts` when others answer.
    pub fn new(me: ManagerId, raft: Group, contacts: PeerContacts) -> Self {
        Self { me, raft, contacts }
    }

    /// This member.
    pub fn me(&self) -> ManagerId {
        self.me
    }

    /// Consensus itself.
    pub fn raft(&self) -> &Group {
        &self.raft
    }

    /// What consensus reports at the moment.
    pub fn metrics(&self) -> RaftMetrics<u64, BasicNode> {
        self.raft.metrics().borrow().clone()
    }

    /// The term in which consensus says that this member leads, just now.
    pub fn leading_term(&self) -> Option<u64> {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow();
        (metrics.state == ServerState::Leader).then_some(metrics.current_term)
    }

    /// The term in which a majority says that this member leads, after this was asked, once it has applied what was decided
    /// before.
    pub async fn confirmed_term(&self) -> Option<u64> {
        // A leader's first entry is of its term, and what is to be applied goes up to there at least.
        let applied = tokio::time::timeout(CHECK, self.raft.ensure_linearizable()).await;
        applied.ok()?.ok()?.map(|id| id.leader_id.term)
    }

    /// Whether a majority has answered lately. A leader that was cut off believes that it leads, and knows nothing new.
    pub fn has_majority(&self) -> bool {
        let metrics = self.raft.metrics();
        let since_ms = metrics.borrow().millis_since_quorum_ack;
        since_ms.is_none_or(|ms| ms < MAJORITY.as_millis() as u64)
    }

    /// Who is in the group.
    pub fn membership(&self) -> Arc<StoredMembership> {
        self.raft.metrics().borrow().membership_config.clone()
    }

    /// Whether a member is this one, or has answered lately.
    pub fn is_heard(&self, id: u64) -> bool {
        id == self.me.0 || self.contacts.is_within(id, RECENT)
    }

    /// The newest versions that the other members speak as this one does; `None` for one that has not answered lately.
    pub fn versions(&self) -> Vec<Option<u8>> {
        let membership = self.membership();
        let others = membership.membership().nodes().map(|(id, _)| *id).filter(|id| *id != self.me.0);
        others.map(|id| self.contacts.version_of(id).filter(|_| self.contacts.is_within(id, GREETED))).collect()
    }

    /// Where a member is reached.
    pub fn address_of(&self, manager: ManagerId) -> Option<String> {
        let membership = self.membership();
        let address = membership.membership().get_node(&manager.0).map(|node| node.addr.clone());
        address.filter(|address| !address.is_empty())
    }

    /// All members, for operators.
    pub fn statuses(&self) -> Vec<ManagerStatus> {
        let metrics = self.metrics();
        let membership = metrics.membership_config.membership();
        // While the group changes, whoever is to vote counts once it does without the group that was before.
        let voters = |id: &u64| membership.get_joint_config().iter().all(|voters| voters.contains(id));
        let last = metrics.last_log_index.unwrap_or(0);
        let status = |(id, node): (&u64, &BasicNode)| {
            let has = metrics.replication.as_ref().and_then(|all| all.get(id).copied().flatten());
            let lag = match has {
                _ if *id == self.me.0 => Some(0),
                Some(has) if self.is_heard(*id) => Some(last.saturating_sub(has.index)),
                _ => None,
            };
            ManagerStatus { id: ManagerId(*id), address: node.addr.clone(), is_voter: voters(id), lag }
        };
        membership.nodes().map(status).collect()
    }
}
