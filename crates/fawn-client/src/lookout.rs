//! Finding the manager that leads, and who is in the cluster: whom to call next, and what is to be said there.
//!
//! One connection is kept, to the manager that leads as far as is known: it alone answers who owns what. Any other, and any member,
//! says who the managers are. A leader that is not reached is called by way of another manager.

use crate::links::{LinkHandle, LinkId, Whom};
use fawn_kv::ids::{ClusterId, ManagerId};
use fawn_kv::link::{Control, Party, frame};
use fawn_kv::manager::roster::Roster;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Between two calls.
const REDIAL: Duration = Duration::from_millis(100);

/// What has not been told is asked for again.
const ASK: Duration = Duration::from_millis(200);

/// A manager that does not answer for so long, or knows of none that leads, is left for another.
const SILENT: Duration = Duration::from_secs(2);

/// Nothing is logged about a shorter time without a manager that leads.
const LEADERLESS: Duration = Duration::from_secs(3);

/// Between two lines in the log about that.
const REPEAT: Duration = Duration::from_mins(1);

/// A leader that was not reached is called by way of other managers for so long.
const UNREACHED: Duration = Duration::from_secs(10);

/// The connection that is kept.
#[derive(Debug)]
struct LookoutConnection {
    link: LinkHandle,
    /// Where it was called.
    address: String,
    /// It is to connect this client with the leader.
    is_way: bool,
    /// Who is at the other end; `None`: it has yet to say.
    party: Option<Party>,
    /// What it calls this client.
    me: u32,
    output: Vec<u8>,
    /// Since when it owes an answer.
    owes_since: Option<Instant>,
    /// Since when it has not been with the manager that leads.
    astray_since: Option<Instant>,
    /// When it was last asked for what has not been told.
    asked: Option<Instant>,
}

impl LookoutConnection {
    /// When it is left for another, if nothing comes of it.
    fn deadline(&self) -> Option<Instant> {
        let since = [self.owes_since, self.astray_since].into_iter().flatten().min()?;
        Some(since + SILENT)
    }
}

/// Who is looked out for.
#[derive(Debug)]
pub(crate) struct Lookout {
    /// Where the cluster was said to be.
    seeds: Vec<String>,
    /// Those tried so far.
    tried: usize,
    /// The leader's address, to be tried first; or that of another manager, and the leader that it is to connect this client with.
    hint: Option<(String, Option<ManagerId>)>,
    /// Where those are who were called and did not answer, and until when that counts.
    unreached: BTreeMap<String, Instant>,
    leader: Option<ManagerId>,
    kept: Option<LookoutConnection>,
    again: Instant,
    /// When the manager that leads was last connected.
    led: Instant,
    /// When the log has last said that it is not.
    told: Option<Instant>,
    pub(crate) roster: Roster,
}

impl Lookout {
    pub(crate) fn new(seeds: Vec<String>) -> Self {
        let (roster, now) = (Roster::default(), Instant::now());
        let (unreached, again, led) = (BTreeMap::new(), now, now);
        Self { seeds, tried: 0, hint: None, unreached, leader: None, kept: None, again, led, told: None, roster }
    }

    /// What the log is to say, if no manager that leads has been connected for long: once, and then once a minute.
    fn leaderless(&mut self, now: Instant) -> Option<String> {
        if self.kept.as_ref().is_some_and(|kept| kept.party.is_some() && kept.astray_since.is_none()) {
            (self.led, self.told) = (now, None);
            return None;
        }
        let time = now - self.led;
        if time < LEADERLESS || self.told.is_some_and(|told| now < told + REPEAT) {
            return None;
        }
        self.told = Some(now);
        Some(format!(
            "no manager that leads has answered for {} s (called at {}): what is known of the cluster goes on to be used; start the \
             managers there, or, if they have other addresses now, connect with these",
            time.as_secs(),
            self.called().join(", ")
        ))
    }

    /// Where the cluster is called.
    fn called(&self) -> Vec<String> {
        let managers = self.roster.managers.values();
        let others = self.seeds.iter().filter(|seed| !self.roster.managers.values().any(|known| known == *seed));
        managers.chain(others).cloned().collect()
    }

    /// Whether this is the connection that is kept.
    pub(crate) fn has(&self, id: LinkId) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.link.id == id)
    }

    /// When there is something to do next.
    pub(crate) fn due(&self) -> Instant {
        match &self.kept {
            None => self.again,
            Some(kept) => kept.deadline().unwrap_or_else(|| Instant::now() + SILENT),
        }
    }

    /// Whom to call, if it is time to; `call` does.
    pub(crate) fn look(&mut self, cluster: Option<ClusterId>, call: impl FnOnce(Whom) -> LinkHandle) {
        let now = Instant::now();
        if let Some(told) = self.leaderless(now) {
            tracing::warn!("{told}");
        }
        if self.kept.as_ref().and_then(LookoutConnection::deadline).is_some_and(|deadline| now >= deadline) {
            self.leave();
        }
        if self.kept.is_some() || now < self.again {
            return;
        }
        let all = self.called();
        self.unreached.retain(|_, until| now < *until);
        let turns = (0..all.len()).map(|turn| &all[(self.tried + turn) % all.len()]);
        let next = turns.clone().find(|address| !self.unreached.contains_key(*address)).or(turns.clone().next());
        let next = next.map(|address| (address.clone(), None));
        let Some((next, leader)) = self.hint.take().or(next) else { return };
        self.tried = self.tried.wrapping_add(1);
        self.again = now + REDIAL;
        let (member, address) = match next.split_once('=') {
            Some((member, address)) => (Some(member.to_owned()), address.to_owned()),
            None => (None, next),
        };
        let link = call(Whom { address: address.clone(), member, seat: None, leader, cluster });
        let (party, me, output, owes_since, astray_since, asked) = (None, 0, Vec::new(), None, None, None);
        let is_way = leader.is_some();
        self.kept =
            Some(LookoutConnection { link, address, is_way, party, me, output, owes_since, astray_since, asked });
    }

    /// The connection stands.
    pub(crate) fn up(&mut self, party: Party, you: Party) {
        let Some(kept) = &mut self.kept else { return };
        kept.party = Some(party);
        kept.me = if let Party::Client(me) = you { me } else { 0 };
        frame::put_control(&mut kept.output, &Control::AskRoster { known: self.roster.number });
        self.follow();
    }

    /// The connection is over, or is to be another.
    pub(crate) fn leave(&mut self) {
        if let Some(kept) = self.kept.take()
            && !kept.is_way
            && (kept.party.is_none() || kept.owes_since.is_some())
        {
            self.unreached.insert(kept.address, Instant::now() + UNREACHED);
        }
        self.leader = None;
    }

    /// Who leads.
    pub(crate) fn leads(&mut self, leader: Option<ManagerId>) {
        self.leader = leader;
        self.follow();
    }

    /// Who is in the cluster; whether that is news.
    pub(crate) fn heard(&mut self, roster: &Roster) -> bool {
        let is_news = roster.number > self.roster.number;
        if is_news {
            self.roster = roster.clone();
        }
        self.follow();
        is_news
    }

    /// Goes to the manager that leads, if another one is connected, or a member; or has the other one connect it.
    fn follow(&mut self) {
        let Some((party, here)) = self.kept.as_ref().and_then(|kept| Some((kept.party?, &kept.address))) else {
            return;
        };
        let is_unreached = |address: &String| self.unreached.contains_key(address);
        let mut managers = self.roster.managers.values();
        let to = match (party, self.leader) {
            (Party::Manager(id), Some(leader)) if id != leader => match self.roster.managers.get(&leader) {
                Some(address) if is_unreached(address) => Some((here.clone(), Some(leader))),
                address => address.map(|address| (address.clone(), None)),
            },
            (Party::Seat(_), _) => {
                let reached = managers.clone().find(|address| !is_unreached(address));
                reached.or(managers.next()).map(|address| (address.clone(), None))
            }
            _ => None,
        };
        if to.is_some() {
            self.hint = to;
            self.kept = None;
            self.leader = None;
        } else if let Some(kept) = &mut self.kept {
            let leads = matches!((party, self.leader), (Party::Manager(here), Some(leader)) if here == leader);
            // One that was cut off from the others, or is none of them any more, may never hear of one that leads.
            kept.astray_since = if leads { None } else { kept.astray_since.or_else(|| Some(Instant::now())) };
        }
    }

    /// Asks where keys lie, until that is told, and who there is if nobody is known.
    pub(crate) fn ask_for_the_rest(&mut self, has_secret: bool) {
        let now = Instant::now();
        let Some(kept) = &mut self.kept else { return };
        if kept.party.is_none() || kept.asked.is_some_and(|asked| now < asked + ASK) {
            return;
        }
        kept.asked = Some(now);
        frame::put_control(&mut kept.output, &Control::AskRoster { known: self.roster.number });
        if !has_secret {
            frame::put_control(&mut kept.output, &Control::AskSecret);
        }
    }

    /// Where a question for the manager that leads is put, and what that calls this client, if there is one.
    pub(crate) fn output(&mut self) -> Option<(&mut Vec<u8>, u32)> {
        let leader = self.leader;
        let kept = self.kept.as_mut()?;
        let leads = matches!((kept.party, leader), (Some(Party::Manager(here)), Some(leader)) if here == leader);
        if !leads {
            return None;
        }
        kept.owes_since.get_or_insert_with(Instant::now);
        Some((&mut kept.output, kept.me))
    }

    /// The manager has answered.
    pub(crate) fn answered(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.owes_since = None;
        }
    }

    /// Sends what there is to say.
    pub(crate) fn flush(&mut self) {
        if let Some(LookoutConnection { link, output, .. }) = &mut self.kept {
            link.outbox().take_from(output);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::manager::roster::Change;

    #[test]
    fn where_managers_are_called_that_do_not_answer_is_told_and_again_once_a_minute() {
        let mut lookout = Lookout::new(vec!["10.0.0.1:7400".to_owned()]);
        lookout.roster.apply(&Change::Manager { id: ManagerId(1), address: Some("10.0.0.2:7400".to_owned()) });
        let start = lookout.led;
        let mut at = |seconds| lookout.leaderless(start + Duration::from_secs(seconds));
        assert_eq!(at(2), None);
        let told = at(3).unwrap();
        assert!(
            told.starts_with("no manager that leads has answered for 3 s (called at 10.0.0.2:7400, 10.0.0.1:7400)"),
            "{told}"
        );
        assert!(told.ends_with("if they have other addresses now, connect with these"), "{told}");
        assert_eq!((at(4), at(62)), (None, None));
        assert!(at(63).unwrap().contains("for 63 s"));
    }
}
