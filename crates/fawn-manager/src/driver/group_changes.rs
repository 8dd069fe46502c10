//! Who is in the group of managers, and where the roster says that they are.

use super::group::ManagerGroup;
use crate::consensus::Group;
use crate::links::dial::Dialler;
use fawn_kv::ids::ManagerId;
use fawn_kv::link::Party;
use fawn_kv::manager::roster::Change;
use openraft::error::{ChangeMembershipError, ClientWriteError, RaftError};
use openraft::{BasicNode, ChangeMembers, Membership};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// A change of the group that takes longer was begun by a leader that is gone.
const CHANGE_US: u64 = 1_000_000;

/// Whoever is taken into the group has to have heard all that was decided within this.
const LEARN: Duration = Duration::from_mins(1);

/// Changes of the group that this leader makes by itself.
#[derive(Debug, Default)]
pub struct GroupChanges {
    /// Since when a change has been half done, as far as this leader has seen.
    half_done_us: Option<u64>,
    /// When this leader said last that it has moved.
    moved_us: Option<u64>,
}

impl GroupChanges {
    /// Goes on with what a leader that is gone has left half done.
    pub fn finish(&mut self, group: &ManagerGroup, now_us: u64) {
        let membership = group.membership();
        let left = left_undone(membership.membership(), |id| group.is_heard(id));
        let Some(left) = left else { return self.half_done_us = None };
        let since_us = *self.half_done_us.get_or_insert(now_us);
        if now_us >= since_us + CHANGE_US {
            self.half_done_us = Some(now_us);
            let raft = group.raft().clone();
            tokio::spawn(async move {
                match change(&raft, left).await {
                    Ok(()) => tracing::info!("an interrupted change of the group is complete"),
                    Err(why) => tracing::debug!("{why}"),
                }
            });
        }
    }

    /// A leader that is reached at another `address` than its group knows says so.
    pub fn announce_address(&mut self, group: &ManagerGroup, address: &str, now_us: u64) {
        let id = group.me().0;
        let membership = group.membership();
        let Some(was) = membership.membership().get_node(&id).filter(|node| node.addr != address) else { return };
        if self.moved_us.is_some_and(|at| now_us < at + CHANGE_US) {
            return;
        }
        self.moved_us = Some(now_us);
        let (raft, was, is) = (group.raft().clone(), was.addr.clone(), address.to_owned());
        tokio::spawn(async move {
            match change(&raft, moved_to(id, &is)).await {
                Ok(()) => tracing::info!(
                    "this manager moved from {was:?} to {is:?}: give nodes that know only the old address another \
                    --manager"
                ),
                Err(why) => tracing::debug!("{why}"),
            }
        });
    }
}

/// The changes after which the roster says where the voters of the group are. `known`: where it says that they are.
pub fn roster_changes(members: &Membership<u64, BasicNode>, known: &BTreeMap<ManagerId, String>) -> Vec<Change> {
    let voters: BTreeSet<u64> = members.voter_ids().collect();
    let mut changes = Vec::new();
    for (id, node) in members.nodes().filter(|(id, node)| voters.contains(id) && !node.addr.is_empty()) {
        let id = ManagerId(*id);
        if known.get(&id) != Some(&node.addr) {
            changes.push(Change::Manager { id, address: Some(node.addr.clone()) });
        }
    }
    let is_reached = |id: &u64| members.get_node(id).is_some_and(|node| !node.addr.is_empty());
    let gone = known.keys().filter(|id| !voters.contains(&id.0) || !is_reached(&id.0));
    changes.extend(gone.map(|id| Change::Manager { id: *id, address: None }));
    changes
}

/// What is still to be done of a change of the group, if something is: the second step of the two that every change has; or the
/// removal of voters whose address another voter has, which is there. Such a one never comes back, and as long as it counts one
/// failure less can be borne.
fn left_undone(
    members: &Membership<u64, BasicNode>,
    is_there: impl Fn(u64) -> bool,
) -> Option<ChangeMembers<u64, BasicNode>> {
    if members.get_joint_config().len() > 1 {
        // Whoever is to vote by the log's end: others may be taken in before this comes to its turn.
        return Some(ChangeMembers::AddVoterIds(BTreeSet::new()));
    }
    let voters: BTreeSet<u64> = members.voter_ids().collect();
    let at = |id: &u64| members.get_node(id).map(|node| &node.addr).filter(|address| !address.is_empty());
    let taken: BTreeSet<_> = voters.iter().filter(|id| is_there(**id)).filter_map(at).collect();
    let is_replaced = |id: &u64| !is_there(*id) && at(id).is_some_and(|address| taken.contains(address));
    let replaced: BTreeSet<u64> = voters.iter().copied().filter(is_replaced).collect();
    (!replaced.is_empty()).then_some(ChangeMembers::RemoveVoters(replaced))
}

/// Changes who votes, in two steps of the log, and forgets whoever is no longer in the group. What is changed is said, and not
/// what comes of it: others may have been taken in since whoever asks has looked.
async fn change(group: &Group, change: ChangeMembers<u64, BasicNode>) -> Result<(), String> {
    let changed = group.change_membership(change, false).await;
    changed.map(drop).map_err(|error| format!("the group of managers cannot change now: {}", reason(&error)))
}

/// Why consensus does not change the group, for people: what it says itself are its own types.
fn reason(error: &RaftError<u64, ClientWriteError<u64, BasicNode>>) -> String {
    match error.api_error() {
        Some(ClientWriteError::ChangeMembershipError(ChangeMembershipError::InProgress(_))) => {
            "another change of the group is in progress".to_owned()
        }
        Some(ClientWriteError::ForwardToLeader(_)) => "this manager is no longer the leader".to_owned(),
        _ => error.to_string(),
    }
}

/// A member is reached elsewhere.
fn moved_to(id: u64, address: &str) -> ChangeMembers<u64, BasicNode> {
    ChangeMembers::SetNodes(BTreeMap::from([(id, BasicNode::new(address))]))
}

fn members(group: &Group) -> (BTreeSet<u64>, Vec<(u64, String)>) {
    let metrics = group.metrics();
    let metrics = metrics.borrow();
    let membership = metrics.membership_config.membership();
    let nodes = membership.nodes().map(|(id, node)| (*id, node.addr.clone())).collect();
    (membership.voter_ids().collect(), nodes)
}

/// Takes the manager at an address into the group, in place of one that had its address. It has to speak version `least`.
///
/// # Errors
/// Why it cannot be taken in, in a sentence.
pub async fn add(group: &Group, dialler: &Arc<Dialler>, address: &str, least: u8) -> Result<(), String> {
    let link = dialler.dial(address, None).await;
    let greeted = link.map_err(|error| format!("no manager answers at {address}: {error}"))?.greeted;
    if greeted.version < least {
        return Err(format!(
            "all processes of this cluster speak version {least}, and the manager at {address} does not: upgrade it"
        ));
    }
    let Party::Manager(ManagerId(id)) = greeted.from else {
        return Err(format!("{address} runs {}, not a manager", greeted.from));
    };
    let (voters, nodes) = members(group);
    if voters.contains(&id) && nodes.contains(&(id, address.to_owned())) {
        return Ok(());
    }
    if let Some((_, was)) = nodes.iter().find(|(other, at)| *other == id && at != address) {
        if !was.is_empty() && dialler.dial(was, Some(Party::Manager(ManagerId(id)))).await.is_ok() {
            return Err(format!(
                "the manager at {address} has the number {id}, and so has the one at {was}: start one of them with \
                an empty --dir"
            ));
        }
        tracing::info!("manager {id} moved from {was} to {address}");
        return change(group, moved_to(id, address)).await;
    }
    let learner = tokio::time::timeout(LEARN, group.add_learner(id, BasicNode::new(address), true)).await;
    let cannot = |error: &dyn std::fmt::Display| format!("{address} cannot catch up: {error}");
    let Ok(learner) = learner else {
        let _ = change(group, ChangeMembers::RemoveNodes(BTreeSet::from([id]))).await;
        return Err(cannot(&format!("it has not caught up within {} s", LEARN.as_secs())));
    };
    learner.map_err(|error| cannot(&reason(&error)))?;
    change(group, ChangeMembers::AddVoterIds(BTreeSet::from([id]))).await?;
    // One that comes back with nothing has another number, and takes the place of the one that it was. If that cannot be done now,
    // the leader does it later.
    let (voters, nodes) = members(group);
    let was = nodes.into_iter().filter(|(other, at)| *other != id && at == address && voters.contains(other));
    let was: BTreeSet<u64> = was.map(|(other, _)| other).collect();
    if !was.is_empty()
        && let Err(why) = change(group, ChangeMembers::RemoveVoters(was)).await
    {
        tracing::info!("{address} still has a voter that was replaced: {why}");
    }
    Ok(())
}

/// Takes a manager out of the group.
///
/// # Errors
/// Why it cannot be taken out, in a sentence.
pub async fn remove(group: &Group, ManagerId(id): ManagerId) -> Result<(), String> {
    let (voters, nodes) = members(group);
    if !voters.contains(&id) {
        let known: Vec<String> = nodes.iter().map(|(id, address)| format!("{id} at {address}")).collect();
        return Err(format!("there is no manager {id}: the managers are {}", known.join(", ")));
    }
    if voters.len() == 1 {
        return Err("it is the only manager: add another first".to_owned());
    }
    change(group, ChangeMembers::RemoveVoters(BTreeSet::from([id]))).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_the_group_is_not_changed_is_said_in_words() {
        let under_way = openraft::error::InProgress { committed: None, membership_log_id: None };
        let said = reason(&RaftError::APIError(ChangeMembershipError::from(under_way).into()));
        assert_eq!(said, "another change of the group is in progress");
        let elsewhere = openraft::error::ForwardToLeader::empty();
        assert_eq!(reason(&RaftError::APIError(elsewhere.into())), "this manager is no longer the leader");
    }

    fn members(configs: &[&[u64]], at: &[(u64, &str)]) -> Membership<u64, BasicNode> {
        let configs = configs.iter().map(|ids| ids.iter().copied().collect()).collect();
        Membership::new(configs, at.iter().map(|(id, at)| (*id, BasicNode::new(at))).collect::<BTreeMap<_, _>>())
    }

    #[test]
    fn the_roster_follows_the_voters_that_are_reached() {
        let group = members(&[&[1, 2, 3]], &[(1, "a"), (2, "b"), (3, ""), (4, "d")]);
        let known = [(1, "a"), (2, "old"), (3, "c"), (5, "e")];
        let known = known.map(|(id, at)| (ManagerId(id), at.to_owned())).into();
        let change =
            |id, address: Option<&str>| Change::Manager { id: ManagerId(id), address: address.map(str::to_owned) };
        assert_eq!(roster_changes(&group, &known), [change(2, Some("b")), change(3, None), change(5, None)]);
    }

    #[test]
    fn the_second_step_of_a_change_undoes_nothing_that_was_decided_meanwhile() {
        let between = members(&[&[1, 2], &[1, 2, 3]], &[(1, "a"), (2, "b"), (3, "c")]);
        assert_eq!(left_undone(&between, |_| true), Some(ChangeMembers::AddVoterIds(BTreeSet::new())));
    }

    #[test]
    fn voters_that_were_replaced_go_once_the_others_at_their_addresses_answer() {
        let at = [(1, "a"), (2, "b"), (3, "c"), (4, "b"), (5, "c"), (6, ""), (7, "")];
        let all = members(&[&[1, 2, 3, 4, 5, 6, 7]], &at);
        let gone = |there: &[u64]| match left_undone(&all, |id| there.contains(&id)) {
            Some(ChangeMembers::RemoveVoters(gone)) => gone.into_iter().collect(),
            other => vec![u64::from(other.is_some())],
        };
        assert_eq!(gone(&[1, 4, 5, 6]), [2, 3]);
        assert_eq!(gone(&[1, 4, 6]), [2], "whoever does not answer has taken no place");
        assert_eq!(gone(&[1, 2, 4, 6]), [0], "both answer, just now");
        assert_eq!(gone(&[1]), [0]);
    }
}
