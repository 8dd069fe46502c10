//! Processes that want to be members.

use super::admission::other_cluster;
use super::committed::CommittedState;
use super::group::ManagerGroup;
use super::leadership::Leadership;
use super::proposals::Proposer;
use super::seats::{ALIVE_US, Liveness, Seats};
use super::task_event::{TaskEvent, TaskSender};
use crate::clock::{now_us, random};
use crate::consensus::Proposal;
use crate::links::rate_limited_log::RateLimitedLog;
use crate::links::table::{LinkId, LinkTable};
use crate::replicated_state::{Decision, Facts};
use fawn_kv::ids::{ClusterId, Consistency};
use fawn_kv::link::control::Enrolled;
use fawn_kv::link::{Control, was_removed};
use fawn_kv::manager::check_virtual_ids;
use fawn_kv::manager::roster::{Change, Enrolment, NodeClass, Roster};
use fawn_kv::status::Answer;
use fawn_kv::wire::version::{ARCHIVES, OLDEST};
use fawn_ring::Secret;
use fawn_tls::Identity;
use std::collections::BTreeMap;

/// A member that is heard so long after another process has asked for its name lives. What comes sooner may have been on its
/// way when it stopped.
const PROOF_US: u64 = 1_500_000;

/// A process that waits for a name asks again within this.
const CLAIM_US: u64 = 5_000_000;

/// Processes that wait for a name, at most.
const MOST_CLAIMS: usize = 1024;

/// Newcomers that wait for somebody to lead, at most.
const MOST_WAITING: usize = 1024;

/// A process that asks for the name of a member which may live, with another directory: since when, and when it asked last.
#[derive(Clone, Copy, Debug)]
struct NameClaim {
    since_us: u64,
    asked_us: u64,
}

/// Why a process cannot be a member.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    /// It never will be as it is now.
    Final(String),
    /// It is to ask again: another process may have its name still.
    NotYet(String),
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self::Final(why)
    }
}

/// A process that asks to be a member, or to go on as one.
#[derive(Debug)]
pub struct Newcomer {
    /// Over which link.
    pub link: LinkId,
    /// What it says of itself.
    pub who: Enrolment,
    /// The cluster of its directory.
    pub cluster: Option<ClusterId>,
    /// Where the keys of its directory lie.
    pub secret: Option<Secret>,
}

/// What enrolment needs of the rest of this member.
pub struct EnrolmentContext<'a> {
    /// What is decided.
    pub committed: &'a CommittedState,
    /// Whether this member leads.
    pub leadership: &'a Leadership,
    /// The group of managers.
    pub group: &'a ManagerGroup,
    /// When seats were heard.
    pub seats: &'a Seats,
    /// The newcomers' links.
    pub table: &'a mut LinkTable,
    /// Has the group decide.
    pub proposer: &'a Proposer,
    /// Where it is reported that something is decided.
    pub tasks: &'a TaskSender,
    /// Refusals in the log.
    pub refusals: &'a RateLimitedLog,
}

impl EnrolmentContext<'_> {
    /// Says why, and nothing more.
    fn refuse(&mut self, link: LinkId, why: String) {
        self.table.say(link, &Control::Refused { why });
        self.table.close(link);
    }

    /// Says why not yet: the newcomer asks again, as it does after any answer but a refusal.
    fn put_off(&mut self, link: LinkId, why: String) {
        self.table.say(link, &Control::Answer { number: 0, answer: Answer::Refused(why) });
        self.table.close(link);
    }

    /// What a newcomer has waited for is not decided: it asks again, whoever leads by then. A refusal would be for good.
    pub fn retry(&mut self, link: LinkId, why: &str) {
        tracing::info!("{why}");
        self.table.say(link, &Control::Answer { number: 0, answer: Answer::Refused(why.to_owned()) });
        self.table.say(link, &self.leadership.control());
        self.table.close(link);
    }

    /// What a newcomer has waited for is decided.
    pub fn welcome(&mut self, link: LinkId, name: &str) {
        let facts = self.committed.facts();
        let member = facts.roster.members.get(name);
        let control = match (facts.genesis, &facts.secret, member) {
            (Some(genesis), Some(secret), Some(member)) => Control::Enrolled(Enrolled {
                cluster: genesis.cluster,
                secret: *secret,
                first: member.first,
                machine: member.machine,
                domain: member.domain,
                roster: facts.roster.clone(),
            }),
            // Another was quicker, or another leads.
            _ => return self.retry(link, &format!("the managers have not admitted {name}, which retries")),
        };
        self.table.say(link, &control);
    }
}

/// Processes that wait to become members, and names that are contested.
#[derive(Debug, Default)]
pub struct Newcomers {
    waiting: Vec<Newcomer>,
    /// Who waits for the names of others, by the name and the directory.
    claims: BTreeMap<(String, [u8; 16]), NameClaim>,
    /// Whom this leader has enrolled lately, from which directory, and when.
    enrolled: BTreeMap<String, ([u8; 16], u64)>,
}

impl Newcomers {
    /// A newcomer asks.
    pub fn add(&mut self, newcomer: Newcomer) {
        if self.waiting.len() < MOST_WAITING {
            self.waiting.push(newcomer);
        }
    }

    /// A new leader has enrolled nobody.
    pub fn forget_enrolled(&mut self) {
        self.enrolled.clear();
    }

    /// Newcomers are taken by whoever leads; while nobody does, they wait.
    pub fn look(&mut self, mut context: EnrolmentContext<'_>) {
        // Whoever has gone asks again; nobody knows any more what its certificate said.
        self.waiting.retain(|newcomer| context.table.has(newcomer.link));
        if self.waiting.is_empty() {
            return;
        }
        let has_begun = context.committed.facts().genesis.is_some();
        if let Some(term) = context.leadership.term().filter(|_| has_begun && context.group.has_majority()) {
            for newcomer in std::mem::take(&mut self.waiting) {
                self.enrol(term, newcomer, &mut context);
            }
        } else if context.leadership.other_leader().is_some() {
            for Newcomer { link, .. } in std::mem::take(&mut self.waiting) {
                context.table.say(link, &context.leadership.control());
                let version = context.table.peer(link).map_or(OLDEST, |peer| peer.version);
                context.table.say(link, &Control::Roster(context.committed.facts().roster.spoken_in(version)));
                context.table.close(link);
            }
        }
    }

    fn enrol(&mut self, term: u64, newcomer: Newcomer, context: &mut EnrolmentContext<'_>) {
        let (link, facts, now_us) = (newcomer.link, context.committed.facts(), now_us());
        let identity = context.table.peer(link).and_then(|peer| peer.identity.as_ref());
        let led_us = context.leadership.since_us();
        let alive = Liveness { seats: context.seats, table: &*context.table, led_us, now_us };
        let admitted = check(&newcomer, identity, facts).map_err(Refusal::from);
        match admitted.and_then(|()| self.claim(&newcomer.who, &facts.roster, alive)) {
            Ok(()) => {}
            Err(Refusal::Final(why)) => {
                context.refusals.warn(&format!("{} is refused: {why}", newcomer.who.name));
                return context.refuse(link, why);
            }
            Err(Refusal::NotYet(why)) => return context.put_off(link, why),
        }
        let Newcomer { who, secret, .. } = newcomer;
        let mut decisions = Vec::new();
        if facts.secret.is_none() {
            let drawn = secret.map_or_else(|| random().map(Secret), Ok);
            match drawn {
                Ok(secret) => decisions.push(Decision::Secret(secret)),
                Err(error) => return context.refuse(link, error.to_string()),
            }
        }
        let name = who.name.clone();
        self.enrolled.insert(name.clone(), (who.directory, now_us));
        let is_known = facts.roster.members.get(&name).is_some_and(|member| member.said == who);
        if is_known && decisions.is_empty() {
            return context.welcome(link, &name);
        }
        decisions.push(Decision::Roster(Change::Enrol(who)));
        let (proposer, tasks) = (context.proposer.clone(), context.tasks.clone());
        tokio::spawn(async move {
            let undecided = proposer.propose(Proposal { term, decisions }).await.err();
            let event = match undecided {
                None => TaskEvent::Enrolled { link, name },
                Some(error) => TaskEvent::NotEnrolled {
                    link,
                    why: format!("the managers cannot decide on {name} now, which retries: {error}"),
                },
            };
            let _ = tasks.send(event);
        });
    }

    /// Whether a process may have its name: nobody else does, or whoever did is gone. A member whose disk was wiped, or a
    /// front-end that starts again, waits for that.
    fn claim(&mut self, who: &Enrolment, roster: &Roster, alive: Liveness<'_>) -> Result<(), Refusal> {
        let (name, now_us) = (&who.name, alive.now_us);
        let member = roster.members.get(name).filter(|member| member.said.directory != who.directory);
        let lately = self.enrolled.get(name).filter(|(directory, _)| *directory != who.directory);
        // One that was heard since then, and has hung up, is gone.
        let was_heard = |at_us| member.is_some_and(|member| alive.heard_us(member.seats()) > Some(at_us));
        let is_fresh = lately.is_some_and(|(_, at_us)| now_us < at_us + ALIVE_US && !was_heard(*at_us));
        if !is_fresh && !member.is_some_and(|member| alive.is_alive(member.seats())) {
            self.claims.remove(&(name.clone(), who.directory));
            return Ok(());
        }
        let heard_us = member.and_then(|member| alive.connected_heard_us(member.seats()));
        self.claims.retain(|_, claim| now_us < claim.asked_us + CLAIM_US);
        if self.claims.len() >= MOST_CLAIMS {
            return Err(Refusal::NotYet("too many processes wait to take over names".to_owned()));
        }
        let claim = self.claims.entry((name.clone(), who.directory));
        let claim = claim.or_insert(NameClaim { since_us: now_us, asked_us: now_us });
        claim.asked_us = now_us;
        if heard_us.is_some_and(|heard_us| heard_us > claim.since_us + PROOF_US) {
            return Err(Refusal::Final(format!(
                "{name} already runs, with another directory: give this process another --name, or stop that one"
            )));
        }
        Err(Refusal::NotYet(format!(
            "another process was {name} until now, with another directory: this one takes its place {} s after that \
            one's last message",
            ALIVE_US / 1_000_000
        )))
    }
}

/// Whether what a newcomer says of itself fits the cluster.
fn check(newcomer: &Newcomer, identity: Option<&Identity>, facts: &Facts) -> Result<(), String> {
    let Newcomer { who, cluster, secret, .. } = newcomer;
    let name = &who.name;
    let ours = facts.genesis.map(|genesis| genesis.cluster);
    if let Some((theirs, ours)) = cluster.zip(ours).filter(|(theirs, ours)| theirs != ours) {
        return Err(other_cluster(&format!("the directory of {name}"), theirs, ours));
    }
    if secret.is_some() && facts.secret.is_some() && *secret != facts.secret {
        return Err(format!(
            "the directory of {name} was made for another cluster, with another key order: dump it, and load \
            that into this cluster"
        ));
    }
    if identity.is_some_and(|identity| !identity.is_member(name)) {
        return Err(format!(
            "the certificate is not for {name}: create one with fawn certs, or give the process its own --name"
        ));
    }
    if facts.struck.contains(name) {
        return Err(was_removed(name));
    }
    // Its directory is of this cluster, and has a seat that only it may have.
    if cluster.is_some() && !facts.roster.members.contains_key(name) {
        let owner = facts.roster.members.iter().find(|(_, member)| member.said.directory == who.directory);
        if let Some((owner, _)) = owner {
            return Err(format!(
                "the directory of {name} belongs to the member {owner}: start this process with --name {owner}, \
                or with an empty --dir"
            ));
        }
        return Err(format!(
            "the directory of {name} belongs to a member that is no longer in this cluster: it was removed, or \
            the managers that knew it are lost (fawn manager recover). Start this process with another --name \
            and another --dir. Keep the old directory until no data are missing: it may have the only copy"
        ));
    }
    if who.node == NodeClass::Archive {
        check_archive(name, facts)?;
    }
    check_virtual_ids(who.virtual_ids).map_err(|error| error.to_string())?;
    facts.roster.check(who).map_err(|error| error.to_string())?;
    Ok(())
}

/// Whether the cluster takes archives.
fn check_archive(name: &str, facts: &Facts) -> Result<(), String> {
    if facts.genesis.is_some_and(|genesis| genesis.settings.rules.consistency == Consistency::Weak) {
        return Err(format!(
            "{name} cannot be an archive of a weak cluster, whose members do not have the same records: start it \
            without --class"
        ));
    }
    if facts.version < ARCHIVES {
        return Err(format!(
            "{name} cannot be an archive yet, as a member of this cluster runs an older release, or is away: upgrade and \
            start all members first (fawn status lists them)"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    const SECOND: u64 = 1_000_000;

    /// A cluster with the member `a`, which was heard at 10 s, and a process that wants its name with another directory.
    struct Contest {
        roster: Roster,
        seats: Seats,
        table: LinkTable,
        newcomers: Newcomers,
    }

    impl Contest {
        fn new() -> Self {
            let (roster, mut seats) = (testing::roster(&["a"]), Seats::default());
            seats.hear(roster.members["a"].first, 10 * SECOND);
            Self { roster, seats, table: LinkTable::default(), newcomers: Newcomers::default() }
        }

        fn connect(&mut self) {
            use crate::links::table::{LinkPeer, Outbox};
            let party = fawn_kv::link::Party::Seat(self.roster.members["a"].first);
            let (outbox, version) = (Outbox::default(), fawn_kv::wire::version::NEWEST);
            let peer = LinkPeer { party, version, outbox, identity: None, host: None, hears_roster: false };
            self.table.add(LinkId(1), peer);
        }

        fn claim(&mut self, now_us: u64) -> Result<(), Refusal> {
            let who = Enrolment { directory: [9; 16], ..testing::enrolment("a") };
            let alive = Liveness { seats: &self.seats, table: &self.table, led_us: 0, now_us };
            self.newcomers.claim(&who, &self.roster, alive)
        }
    }

    #[test]
    fn the_name_of_a_member_that_is_gone_is_anothers() {
        assert_eq!(Contest::new().claim(11 * SECOND), Ok(()), "it is not connected");
    }

    #[test]
    fn the_name_of_a_member_that_may_live_is_waited_for_and_of_one_that_lives_refused() {
        let mut contest = Contest::new();
        contest.connect();
        assert!(matches!(contest.claim(11 * SECOND), Err(Refusal::NotYet(_))));
        assert!(matches!(contest.claim(14 * SECOND), Err(Refusal::NotYet(_))));
        assert_eq!(contest.claim(15 * SECOND), Ok(()), "it was silent for 5 s");
        assert!(contest.newcomers.claims.is_empty());
        contest.seats.hear(contest.roster.members["a"].first, 16 * SECOND);
        assert!(matches!(contest.claim(16 * SECOND), Err(Refusal::NotYet(_))));
        contest.seats.hear(contest.roster.members["a"].first, 17 * SECOND + PROOF_US);
        assert!(matches!(contest.claim(18 * SECOND), Err(Refusal::Final(why)) if why.contains("already runs")));
    }

    #[test]
    fn a_name_that_was_just_given_to_another_directory_is_waited_for() {
        let mut contest = Contest::new();
        contest.newcomers.enrolled.insert("a".to_owned(), ([3; 16], 20 * SECOND));
        assert!(matches!(contest.claim(21 * SECOND), Err(Refusal::NotYet(_))));
        contest.newcomers.forget_enrolled();
        assert_eq!(contest.claim(21 * SECOND), Ok(()));
    }

    #[test]
    fn directories_of_other_clusters_and_names_that_were_removed_are_refused() {
        let mut facts = testing::committed(&["a"]).facts().clone();
        facts.secret = Some(Secret([1; 32]));
        let newcomer =
            |name: &str, cluster, secret| Newcomer { link: LinkId(1), who: testing::enrolment(name), cluster, secret };
        let ours = facts.genesis.map(|genesis| genesis.cluster);
        let refusal = |newcomer, facts: &Facts| check(&newcomer, None, facts).err().unwrap_or_default();
        assert_eq!(refusal(newcomer("a", ours, facts.secret), &facts), "");
        assert_eq!(refusal(newcomer("b", None, None), &facts), "");
        assert!(refusal(newcomer("b", Some(ClusterId([9; 16])), None), &facts).contains("belongs to cluster"));
        assert!(refusal(newcomer("b", None, Some(Secret([2; 32]))), &facts).contains("another key order"));
        assert!(refusal(newcomer("b", ours, facts.secret), &facts).contains("no longer in this cluster"));
        facts.struck.insert("b".to_owned());
        assert_eq!(refusal(newcomer("b", None, None), &facts), was_removed("b"));
    }
}
