//! How a group of managers comes together: one begins alone, and the others ask it to take them in.
//!
//! A member's number is drawn when its directory is made. So one that comes back with nothing is somebody else, who takes
//! the place of the one that it was: it has no vote that it could give twice.

use crate::consensus::Group;
use crate::consensus::log_store::StoredMember;
use crate::links::dial::{DIAL, Dialler};
use crate::operator::ask_at;
use crate::options::Options;
use fawn_kv::status::{Answer, Question};
use std::io;
use std::time::Duration;

/// Between two tries.
const AGAIN: Duration = Duration::from_millis(300);

/// Between two lines of the log that say what is waited for.
const TOLD: Duration = Duration::from_secs(10);

/// To be brought up to date may take a while.
const TAKEN: Duration = Duration::from_mins(1);

/// Whether this member is to begin the group: it is to join none, and is the first of its peers, all of whom say that they
/// know of none.
pub async fn is_to_begin(group: &Group, options: &Options, own: &str, dialler: &Dialler) -> bool {
    if !options.join.is_empty() || options.peers.iter().min().is_some_and(|first| first != own) {
        return false;
    }
    let mut told = None;
    loop {
        let mut silent = Vec::new();
        for peer in options.peers.iter().filter(|peer| *peer != own) {
            match dialler.dial(peer, None).await {
                Ok(link) if link.greeted.cluster.is_some() => return false,
                Ok(_) => {}
                Err(_) => silent.push(peer.as_str()),
            }
        }
        if silent.is_empty() {
            return true;
        }
        // One of them may have begun, and know this one by the address.
        if group.is_initialized().await.unwrap_or(true) {
            return false;
        }
        tell(
            &mut told,
            &format!("the group of managers begins once all managers are up: waiting for {}", silent.join(", ")),
        );
        tokio::time::sleep(AGAIN).await;
    }
}

/// Says something now and then.
fn tell(told: &mut Option<tokio::time::Instant>, what: &str) {
    if told.is_none_or(|at| at.elapsed() >= TOLD) {
        tracing::info!("{what}");
        *told = Some(tokio::time::Instant::now());
    }
}

/// Asks the others to take this member in, until they have.
pub async fn join(group: &Group, options: &Options, member: &StoredMember, dialler: &Dialler) {
    let others = options.join.iter().chain(&options.peers).filter(|address| **address != member.address);
    let others: Vec<String> = others.cloned().collect();
    let mut told = None;
    let mut hint: Option<String> = None;
    loop {
        let addresses: Vec<String> = hint.take().into_iter().chain(others.iter().cloned()).collect();
        for address in addresses {
            if is_voter(group, member.id) {
                return tracing::info!("this manager is in the group");
            }
            let question = Question::AddManager { address: member.address.clone() };
            let asked = tokio::time::timeout(TAKEN, ask_at(dialler, &address, &question)).await;
            match asked.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(Answer::Done) => return tracing::info!("this manager has joined the group of {address}"),
                Ok(Answer::NotLeader { leader }) => hint = leader.filter(|leader| *leader != address),
                Ok(Answer::Refused(why)) => {
                    tell(&mut told, &format!("{address} does not admit this manager yet: {why}"));
                }
                Ok(_) => tell(
                    &mut told,
                    &format!(
                        "{address} sent a reply of another kind than requested: run the \
                    same release on all managers"
                    ),
                ),
                Err(error) => tell(&mut told, &format!("cannot ask {address} to admit this manager: {error}")),
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// A member that is reached elsewhere than its group knows tells the others, until they know. Whoever leads moves itself.
pub async fn move_in(group: &Group, options: &Options, member: &StoredMember, dialler: &Dialler) {
    let mut told = None;
    let mut hint: Option<String> = None;
    while let Some((was, others)) = moved(group, member) {
        let addresses: Vec<String> = hint.take().into_iter().chain(others).chain(options.peers.clone()).collect();
        let mut why = "nobody leads".to_owned();
        for address in addresses.into_iter().filter(|address| *address != member.address) {
            let question = Question::AddManager { address: member.address.clone() };
            let asked = tokio::time::timeout(TAKEN, ask_at(dialler, &address, &question)).await;
            match asked.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(Answer::NotLeader { leader }) => hint = leader.filter(|leader| *leader != address),
                Ok(Answer::Refused(said)) => why = said,
                Ok(_) => {}
                Err(error) => why = error.to_string(),
            }
        }
        let is = &member.address;
        let what = format!(
            "this manager moved from {was} to {is}, and the others do not know it yet ({why}). If most of them have \
            moved, start them with --advertise and their old addresses, or see fawn manager recover --help"
        );
        tell(&mut told, &what);
        tokio::time::sleep(AGAIN).await;
    }
}

/// Where the group believes that a member is, if it is elsewhere, and where the others are.
fn moved(group: &Group, member: &StoredMember) -> Option<(String, Vec<String>)> {
    let metrics = group.metrics();
    let metrics = metrics.borrow();
    let membership = metrics.membership_config.membership();
    let was = membership.get_node(&member.id)?.addr.clone();
    let others = membership.nodes().filter(|(id, node)| **id != member.id && !node.addr.is_empty());
    let others: Vec<String> = others.map(|(_, node)| node.addr.clone()).collect();
    // One that is alone leads soon.
    (was != member.address && !others.is_empty()).then_some((was, others))
}

fn is_voter(group: &Group, id: u64) -> bool {
    let metrics = group.metrics();
    let metrics = metrics.borrow();
    metrics.membership_config.membership().voter_ids().any(|voter| voter == id)
}

/// A member that has been in a group says if it no longer is.
pub async fn look_whether_in(group: &Group, id: u64) {
    tokio::time::sleep(DIAL).await;
    if !is_voter(group, id) {
        tracing::warn!(
            "this manager is not in its group, as far as it knows: if it was removed, stop it; if it was just \
            added, wait"
        );
    }
}
