//! Whom a manager lets in, by what a caller says of itself and what its certificate says.

use crate::links::table::{is_outside, may_be};
use crate::replicated_state::Facts;
use fawn_kv::ids::{ClusterId, ManagerId};
use fawn_kv::link::{Greeting, NO_MEMBER, Party, was_removed};
use fawn_tls::Identity;

/// What a process of another cluster is told, and the manager's log.
pub fn other_cluster(who: &str, theirs: ClusterId, ours: ClusterId) -> String {
    format!(
        "{who} belongs to cluster {theirs}, and this manager to cluster {ours}: check its --manager. If the \
        managers of {theirs} are lost, stop this one and recover them: see `fawn manager --help`"
    )
}

/// Who a caller of the manager `me` is from here on. A client gets its number from `next_client`.
///
/// # Errors
/// Why it may not be, in a sentence.
pub fn admit(
    greeting: &Greeting,
    identity: Option<&Identity>,
    me: ManagerId,
    facts: &Facts,
    next_client: impl FnOnce() -> u32,
) -> Result<Party, String> {
    let from = greeting.from;
    if let Some(to) = greeting.to.filter(|to| *to != Party::Manager(me)) {
        return Err(format!("the call was for {to}, but this is manager {}: check its address", me.0));
    }
    let least = facts.version;
    if greeting.highest < least && !is_outside(from) {
        return Err(format!(
            "all processes of this cluster speak version {least}, and {from} speaks no version above {}: upgrade it",
            greeting.highest
        ));
    }
    let ours = facts.genesis.map(|genesis| genesis.cluster);
    if let (Some(ours), Some(theirs)) = (ours, greeting.cluster)
        && ours != theirs
    {
        return Err(other_cluster(&from.to_string(), theirs, ours));
    }
    if let Party::Seat(seat) = from
        && facts.roster.member_of(seat).is_none()
    {
        // No certificate is one of nobody's seat.
        return Err(if facts.roster.has_taken(seat) {
            NO_MEMBER.to_owned()
        } else {
            format!("{from} belongs to no member of this cluster that this manager knows")
        });
    }
    if !may_be(identity, from, facts) {
        if let Some(name) = identity.filter(|_| from == Party::Newcomer).and_then(|it| removed_name(facts, it)) {
            return Err(was_removed(name));
        }
        let shown = identity.map(Identity::to_string).unwrap_or_default();
        return Err(format!("the certificate of the other side is not for {from}, but for {shown}: see fawn certs"));
    }
    match from {
        Party::Client(_) => Ok(Party::Client(next_client())),
        other => Ok(other),
    }
}

/// The member that was removed whose certificate this is, if it is one's.
fn removed_name<'a>(facts: &'a Facts, identity: &Identity) -> Option<&'a str> {
    facts.struck.iter().map(String::as_str).find(|name| identity.is_member(name))
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use fawn_kv::ids::SeatId;
    use fawn_kv::link::Lane;
    use fawn_kv::link::control::MAGIC;
    use fawn_kv::wire::version::NEWEST;

    const ME: ManagerId = ManagerId(1);

    fn greeting(from: Party) -> Greeting {
        let (magic, lane) = (MAGIC, Lane::Chain);
        Greeting { magic, lowest: 3, highest: NEWEST, cluster: None, from, to: None, lane }
    }

    fn verdict(greeting: &Greeting, facts: &Facts) -> Result<Party, String> {
        admit(greeting, None, ME, facts, || 17)
    }

    #[test]
    fn a_client_gets_a_number_and_others_are_who_they_say() {
        let committed = testing::committed(&["a"]);
        let seat = Party::Seat(committed.member("a").unwrap().first);
        let admitted = |from| verdict(&greeting(from), committed.facts());
        assert_eq!(admitted(Party::Client(0)), Ok(Party::Client(17)));
        assert_eq!(admitted(Party::Operator), Ok(Party::Operator));
        assert_eq!(admitted(seat), Ok(seat));
        assert!(admitted(Party::Seat(SeatId(99))).unwrap_err().contains("no member of this cluster"));
    }

    #[test]
    fn callers_of_another_manager_or_of_another_cluster_are_refused() {
        let committed = testing::committed(&[]);
        let facts = committed.facts();
        let elsewhere = Greeting { to: Some(Party::Manager(ManagerId(2))), ..greeting(Party::Operator) };
        assert!(verdict(&elsewhere, facts).unwrap_err().contains("this is manager 1"));
        let other = Greeting { cluster: Some(ClusterId([9; 16])), ..greeting(Party::Newcomer) };
        assert!(verdict(&other, facts).unwrap_err().contains("belongs to cluster"));
        assert!(verdict(&other, &Facts::default()).is_ok(), "this manager has no cluster yet");
    }

    #[test]
    fn what_takes_part_has_to_speak_the_clusters_version_and_an_operator_has_not() {
        let facts = Facts { version: NEWEST, ..Facts::default() };
        let old = |from| Greeting { highest: NEWEST - 1, ..greeting(from) };
        assert!(verdict(&old(Party::Newcomer), &facts).unwrap_err().contains("upgrade it"));
        assert!(verdict(&old(Party::Operator), &facts).is_ok());
    }
}
