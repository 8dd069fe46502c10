//! Processes that want to be members.

use super::{Driver, Event};
use crate::clock::{now_us, random};
use crate::consensus::Proposal;
use crate::decided::Decision;
use crate::links::table::LinkId;
use fawn_kv::ids::ClusterId;
use fawn_kv::link::control::Enrolled;
use fawn_kv::link::{Control, was_removed};
use fawn_kv::manager::check_virtual_ids;
use fawn_kv::manager::roster::{Change, Enrolment};
use fawn_kv::status::Answer;
use fawn_ring::Secret;
use fawn_tls::Identity;
use std::collections::BTreeMap;

/// A member that was heard within this may live: no other directory gets its name.
const ALIVE_US: u64 = 5_000_000;

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
pub(super) struct Claim {
    since_us: u64,
    asked_us: u64,
}

/// By the name and the directory.
pub(super) type Claims = BTreeMap<(String, [u8; 16]), Claim>;

/// Why a process cannot be a member.
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

/// What a process of another cluster is told, and the manager's log.
pub(super) fn other_cluster(who: &str, theirs: ClusterId, ours: ClusterId) -> String {
    format!(
        "{who} belongs to cluster {theirs}, and this manager to cluster {ours}: check its --manager. If the \
        managers of {theirs} are lost, stop this one and recover them: see `fawn manager --help`"
    )
}

impl Driver {
    /// The member that was removed whose certificate this is, if it is one's.
    pub(super) fn struck_of(&self, identity: &Identity) -> Option<&str> {
        self.facts.struck.iter().map(String::as_str).find(|name| identity.is_member(name))
    }

    /// A newcomer asks.
    pub(super) fn newcomer(&mut self, newcomer: Newcomer) {
        if self.newcomers.len() < MOST_WAITING {
            self.newcomers.push(newcomer);
        }
        self.look_at_newcomers();
    }

    /// Newcomers are taken by whoever leads; while nobody does, they wait.
    pub(super) fn look_at_newcomers(&mut self) {
        // Whoever has gone asks again; nobody knows any more what its certificate said.
        self.newcomers.retain(|newcomer| self.table.has(newcomer.link));
        if self.newcomers.is_empty() {
            return;
        }
        if let Some(term) = self.led.filter(|_| self.facts.begun.is_some() && self.has_majority()) {
            for newcomer in std::mem::take(&mut self.newcomers) {
                self.enrol(term, newcomer);
            }
        } else if self.said.1.is_some_and(|leader| leader != self.me.id) {
            for Newcomer { link, .. } in std::mem::take(&mut self.newcomers) {
                self.table.say(link, &self.leads_control());
                self.table.say(link, &Control::Roster(self.facts.roster.clone()));
                self.table.close(link);
            }
        }
    }

    /// Says why, and nothing more.
    fn refuse(&mut self, link: LinkId, why: String) {
        self.table.say(link, &Control::Refused { why });
        self.table.close(link);
    }

    fn enrol(&mut self, term: u64, newcomer: Newcomer) {
        let Newcomer { link, who, cluster, secret } = newcomer;
        match self
            .may_enrol(link, &who, cluster, secret.as_ref())
            .map_err(Refusal::from)
            .and_then(|()| self.claim(&who))
        {
            Ok(()) => {}
            Err(Refusal::Final(why)) => {
                self.told.warn(&format!("{} is refused: {why}", who.name));
                return self.refuse(link, why);
            }
            Err(Refusal::NotYet(why)) => return self.put_off(link, why),
        }
        let mut decisions = Vec::new();
        if self.facts.secret.is_none() {
            let drawn = secret.map_or_else(|| random().map(Secret), Ok);
            match drawn {
                Ok(secret) => decisions.push(Decision::Secret(secret)),
                Err(error) => return self.refuse(link, error.to_string()),
            }
        }
        let name = who.name.clone();
        self.enrolled.insert(name.clone(), (who.directory, now_us()));
        let is_known = self.facts.roster.members.get(&name).is_some_and(|member| member.said == who);
        if is_known && decisions.is_empty() {
            return self.enrolled(link, &name);
        }
        decisions.push(Decision::Roster(Change::Enrol(who)));
        let (proposer, tasks) = (self.proposer.clone(), self.tasks.clone());
        tokio::spawn(async move {
            let undecided = proposer.propose(Proposal { term, decisions }).await.err();
            let event = match undecided {
                None => Event::Enrolled { link, name },
                Some(error) => Event::NotEnrolled {
                    link,
                    why: format!("the managers cannot decide on {name} now, which retries: {error}"),
                },
            };
            let _ = tasks.send(event);
        });
    }

    fn may_enrol(
        &mut self,
        link: LinkId,
        who: &Enrolment,
        cluster: Option<ClusterId>,
        secret: Option<&Secret>,
    ) -> Result<(), String> {
        let name = &who.name;
        let ours = self.facts.begun.map(|begun| begun.cluster);
        if let Some((theirs, ours)) = cluster.zip(ours).filter(|(theirs, ours)| theirs != ours) {
            return Err(other_cluster(&format!("the directory of {name}"), theirs, ours));
        }
        if secret.is_some() && self.facts.secret.is_some() && secret != self.facts.secret.as_ref() {
            return Err(format!(
                "the directory of {name} was made for another cluster, with another key order: dump it, and load \
                that into this cluster"
            ));
        }
        let identity = self.table.peer(link).and_then(|peer| peer.identity.as_ref());
        if identity.is_some_and(|identity| !identity.is_member(name)) {
            return Err(format!(
                "the certificate is not for {name}: create one with fawn certs, or give the process its own --name"
            ));
        }
        if self.facts.struck.contains(name) {
            return Err(was_removed(name));
        }
        // Its directory is of this cluster, and has a seat that only it may have.
        if cluster.is_some() && !self.facts.roster.members.contains_key(name) {
            let owner = self.facts.roster.members.iter().find(|(_, member)| member.said.directory == who.directory);
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
        check_virtual_ids(who.virtual_ids).map_err(|error| error.to_string())?;
        self.facts.roster.check(who).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Whether a process may have its name: nobody else does, or whoever did is gone. A member whose disk was wiped, or a
    /// front-end that starts again, waits for that.
    fn claim(&mut self, who: &Enrolment) -> Result<(), Refusal> {
        let (name, now_us) = (&who.name, now_us());
        let member = self.facts.roster.members.get(name).filter(|member| member.said.directory != who.directory);
        let lately = self.enrolled.get(name).filter(|(directory, _)| *directory != who.directory);
        // One that was heard since then, and has hung up, is gone.
        let was_heard = |at_us| member.is_some_and(|member| self.heard_us(member.seats()) > Some(at_us));
        let is_fresh = lately.is_some_and(|(_, at_us)| now_us < at_us + ALIVE_US && !was_heard(*at_us));
        if !is_fresh && !member.is_some_and(|member| self.is_heard(member.seats())) {
            self.claims.remove(&(name.clone(), who.directory));
            return Ok(());
        }
        let heard_us =
            member.and_then(|member| self.heard_us(member.seats().filter(|seat| self.table.has_seat(*seat))));
        self.claims.retain(|_, claim| now_us < claim.asked_us + CLAIM_US);
        if self.claims.len() >= MOST_CLAIMS {
            return Err(Refusal::NotYet("too many processes wait to take over names".to_owned()));
        }
        let claim = self.claims.entry((name.clone(), who.directory));
        let claim = claim.or_insert(Claim { since_us: now_us, asked_us: now_us });
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

    /// Says why not yet: the newcomer asks again, as it does after any answer but a refusal.
    fn put_off(&mut self, link: LinkId, why: String) {
        self.table.say(link, &Control::Answer { number: 0, answer: Answer::Refused(why) });
        self.table.close(link);
    }

    /// When one of these seats was heard last.
    fn heard_us(&self, seats: impl Iterator<Item = fawn_kv::ids::SeatId>) -> Option<u64> {
        seats.filter_map(|seat| self.seats.get(&seat)?.heard_us).max()
    }

    /// Whether one of these seats was heard lately.
    pub(super) fn is_heard(&self, mut seats: impl Iterator<Item = fawn_kv::ids::SeatId>) -> bool {
        let now_us = now_us();
        seats.any(|seat| {
            let heard_us = self.seats.get(&seat).and_then(|seat| seat.heard_us);
            // A new leader has yet to hear whoever is connected.
            self.table.has_seat(seat) && now_us < heard_us.unwrap_or(self.led_us) + ALIVE_US
        })
    }

    /// What a newcomer has waited for is not decided: it asks again, whoever leads by then. A refusal would be for good.
    pub(super) fn not_enrolled(&mut self, link: LinkId, why: &str) {
        tracing::info!("{why}");
        self.table.say(link, &Control::Answer { number: 0, answer: Answer::Refused(why.to_owned()) });
        self.table.say(link, &self.leads_control());
        self.table.close(link);
    }

    /// What a newcomer has waited for is decided.
    pub(super) fn enrolled(&mut self, link: LinkId, name: &str) {
        let member = self.facts.roster.members.get(name);
        let control = match (self.facts.begun, &self.facts.secret, member) {
            (Some(begun), Some(secret), Some(member)) => Control::Enrolled(Enrolled {
                cluster: begun.cluster,
                secret: *secret,
                first: member.first,
                machine: member.machine,
                domain: member.domain,
                roster: self.facts.roster.clone(),
            }),
            // Another was quicker, or another leads.
            _ => return self.not_enrolled(link, &format!("the managers have not admitted {name}, which retries")),
        };
        self.table.say(link, &control);
    }
}
