//! Who is in the group of managers, and where the roster says that they are.

use super::{Driver, Event};
use crate::consensus::Group;
use crate::decided::Decision;
use crate::links::dial::Dialler;
use crate::links::table::LinkId;
use fawn_kv::link::{Control, ManagerId, Party};
use fawn_kv::roster::Change;
use fawn_kv::status::Answer;
use openraft::{BasicNode, ChangeMembers};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A change of the group that takes longer was begun by a leader that is gone.
const CHANGE_US: u64 = 1_000_000;

/// Whoever is taken into the group has to have heard all that was decided within this.
const LEARN: Duration = Duration::from_mins(1);

impl Driver {
    /// The roster is to say where the members of the group are.
    pub(super) fn align_roster(&mut self) {
        if !self.leads() || self.facts.begun.is_none() {
            return;
        }
        let members = self.group_members();
        let membership = members.membership();
        let voters: BTreeSet<u64> = membership.voter_ids().collect();
        let known = &self.facts.roster.managers;
        let mut changes = Vec::new();
        for (id, node) in membership.nodes().filter(|(id, node)| voters.contains(id) && !node.addr.is_empty()) {
            let id = ManagerId(*id);
            if known.get(&id) != Some(&node.addr) {
                changes.push(Change::Manager { id, address: Some(node.addr.clone()) });
            }
        }
        let gone = known.keys().filter(|id| !voters.contains(&id.0));
        changes.extend(gone.map(|id| Change::Manager { id: *id, address: None }));
        for change in changes {
            self.proposals.add(Decision::Roster(change));
        }
    }

    /// A change of the group has two steps. A leader that was gone between them leaves the second to the next.
    pub(super) fn finish_change(&mut self, now_us: u64) {
        let members = self.group_members();
        let voters = match &members.membership().get_joint_config()[..] {
            [_, .., voters] if self.leads() => voters.clone(),
            _ => return self.changes_since_us = None,
        };
        let since_us = *self.changes_since_us.get_or_insert(now_us);
        if now_us >= since_us + CHANGE_US {
            self.changes_since_us = Some(now_us);
            let group = self.group.clone();
            tokio::spawn(async move {
                match change(&group, ChangeMembers::ReplaceAllVoters(voters)).await {
                    Ok(()) => tracing::info!("a change of the group that was left half done is at its end"),
                    Err(why) => tracing::debug!("{why}"),
                }
            });
        }
    }

    /// Takes another manager into the group, in place of one that had its address.
    pub(super) fn add_manager(&self, link: LinkId, number: u64, address: String) {
        let (group, dialler, tasks) = (self.group.clone(), self.dialler.clone(), self.tasks.clone());
        let version = self.facts.version;
        tokio::spawn(async move {
            let answer = match add(&group, &dialler, &address, version).await {
                Ok(()) => Answer::Done,
                Err(why) => Answer::Refused(why),
            };
            let _ = tasks.send(Event::Say { link, control: Box::new(Control::Answer { number, answer }) });
        });
    }

    /// Takes a manager out of the group.
    pub(super) fn remove_manager(&self, link: LinkId, number: u64, id: ManagerId) {
        let (group, tasks) = (self.group.clone(), self.tasks.clone());
        tokio::spawn(async move {
            let answer = match remove(&group, id).await {
                Ok(()) => Answer::Done,
                Err(why) => Answer::Refused(why),
            };
            let _ = tasks.send(Event::Say { link, control: Box::new(Control::Answer { number, answer }) });
        });
    }
}

/// Changes who votes, in two steps of the log, and forgets whoever is no longer in the group. What is changed is said, and not
/// what comes of it: others may have been taken in since whoever asks has looked.
async fn change(group: &Group, change: ChangeMembers<u64, BasicNode>) -> Result<(), String> {
    let changed = group.change_membership(change, false).await;
    changed.map(drop).map_err(|error| format!("the group of managers cannot be changed now: {error}"))
}

fn members(group: &Group) -> (BTreeSet<u64>, Vec<(u64, String)>) {
    let metrics = group.metrics();
    let metrics = metrics.borrow();
    let membership = metrics.membership_config.membership();
    let nodes = membership.nodes().map(|(id, node)| (*id, node.addr.clone())).collect();
    (membership.voter_ids().collect(), nodes)
}

async fn add(group: &Group, dialler: &Arc<Dialler>, address: &str, least: u8) -> Result<(), String> {
    let link = dialler.dial(address, None).await;
    let greeted = link.map_err(|error| format!("no manager answers at {address}: {error}"))?.greeted;
    if greeted.version < least {
        return Err(format!(
            "everybody in this cluster speaks version {least}, and the manager at {address} does not: upgrade it"
        ));
    }
    let Party::Manager(ManagerId(id)) = greeted.from else {
        return Err(format!("at {address} is {}, and no manager", greeted.from));
    };
    let (voters, nodes) = members(group);
    if voters.contains(&id) && nodes.contains(&(id, address.to_owned())) {
        return Ok(());
    }
    if nodes.iter().any(|(other, at)| *other == id && at != address) {
        return Err(format!(
            "the manager at {address} has the number {id}, which another has: start it with an empty --dir"
        ));
    }
    let learner = tokio::time::timeout(LEARN, group.add_learner(id, BasicNode::new(address), true)).await;
    let cannot = |error: &dyn std::fmt::Display| format!("{address} cannot be brought up to date: {error}");
    let Ok(learner) = learner else {
        let _ = change(group, ChangeMembers::RemoveNodes(BTreeSet::from([id]))).await;
        return Err(cannot(&format!("it has not heard all within {} s", LEARN.as_secs())));
    };
    learner.map_err(|error| cannot(&error))?;
    change(group, ChangeMembers::AddVoterIds(BTreeSet::from([id]))).await?;
    // One that comes back with nothing has another number, and takes the place of the one that it was.
    let (voters, nodes) = members(group);
    let was = nodes.into_iter().filter(|(other, at)| *other != id && at == address && voters.contains(other));
    let was: BTreeSet<u64> = was.map(|(other, _)| other).collect();
    if was.is_empty() { Ok(()) } else { change(group, ChangeMembers::RemoveVoters(was)).await }
}

async fn remove(group: &Group, ManagerId(id): ManagerId) -> Result<(), String> {
    let (voters, nodes) = members(group);
    if !voters.contains(&id) {
        let known: Vec<String> = nodes.iter().map(|(id, address)| format!("{id} at {address}")).collect();
        return Err(format!("there is no manager {id}: there are {}", known.join(", ")));
    }
    if voters.len() == 1 {
        return Err("it is the only manager: add another first".to_owned());
    }
    change(group, ChangeMembers::RemoveVoters(BTreeSet::from([id]))).await
}
