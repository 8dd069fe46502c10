//! Who may call, who has to go, and what is told of connections.

use super::super::clients::{ClientMemory, MOST_CLIENTS};
use super::super::link::{Link, State};
use super::{GREETING_MS, Links, Traffic};
use fawn_kv::ids::SeatId;
use fawn_kv::link::{Greeting, Party, control};
use fawn_kv::wire::version::Spoken;
use std::collections::BTreeMap;

impl Links {
    /// Whether whoever has called is who it says.
    pub(super) fn is_shown(&self, link: &Link, party: Party) -> bool {
        let Some(identity) = link.identity() else { return self.secure.is_none() };
        match party {
            Party::Seat(seat) => self.roster.member_of(seat).is_some_and(|(name, _)| identity.is_member(name)),
            Party::Client(_) => identity.may_ask(|name| self.roster.members.contains_key(name)),
            Party::Manager(_) | Party::Newcomer | Party::Operator => false,
        }
    }

    /// Hangs up on those who have called and are no longer, by the roster, who they say.
    pub(super) fn show_out(&mut self) {
        for at in 0..self.all.slots() {
            let Some(token) = self.all.at(at) else { continue };
            let is_gone = self.all.at_token(token).is_some_and(|link| match link.party {
                Some(party @ (Party::Seat(_) | Party::Client(_))) if link.state == State::Up => {
                    let is_member = !matches!(party, Party::Seat(seat) if self.roster.member_of(seat).is_none());
                    !is_member || !self.is_shown(link, party)
                }
                _ => false,
            });
            if is_gone {
                self.close(token);
            }
        }
    }

    /// Why the seat's member is no longer the one that the roster names, if so: it would go on asking to be heard, and with
    /// another process that has its name they would end each other's lives.
    pub(super) fn is_ousted(&self) -> Option<String> {
        let (name, directory) = self.member.as_ref()?;
        match self.roster.members.get(name) {
            Some(member) if member.said.directory == *directory => None,
            Some(_) => Some(format!("another process, with another directory, has the name {name} now")),
            None => self.removed(),
        }
    }

    /// What is said when the seat's member is none any more, if it is told its name.
    pub(super) fn removed(&self) -> Option<String> {
        let (name, _) = self.member.as_ref()?;
        Some(format!(
            "{name} is no longer a member of the cluster: it was removed, or the managers that knew it are lost \
            (fawn manager recover). To join again, start this process with another --name and another --dir, and \
            keep this one until no data are missing"
        ))
    }

    /// Takes the reason why the seat's process has to end, if it has.
    pub fn take_ousted(&mut self) -> Option<String> {
        self.ousted.take()
    }

    /// What both sides speak if somebody may call; `Err`: why not.
    pub(super) fn check(&self, greeting: &Greeting) -> Result<u8, String> {
        if greeting.magic != control::MAGIC {
            return Err("this is the cluster port of a FAWN node: memcached clients use its --listen address".into());
        }
        let Some(version) = Spoken::OWN.common(greeting.spoken()) else {
            let (Spoken { oldest, newest }, from, to) = (Spoken::OWN, greeting.lowest, greeting.highest);
            return Err(format!(
                "this side speaks versions {oldest} to {newest}, and you speak {from} to {to}: run releases with a \
                common version"
            ));
        };
        if greeting.cluster.is_some_and(|cluster| cluster != self.cluster) {
            return Err(format!("this is cluster {}, and you belong to another", self.cluster));
        }
        if greeting.to.is_some_and(|to| to != Party::Seat(self.me)) {
            return Err("the call was for another process: the roster may have changed".into());
        }
        match greeting.from {
            Party::Client(_) if self.by_caller.len() >= MOST_CLIENTS => {
                Err(format!("{MOST_CLIENTS} clients are connected: use fewer, or call another node"))
            }
            Party::Seat(seat) if seat == self.me => Err("this is the calling seat itself".into()),
            Party::Seat(_) | Party::Client(_) => Ok(version),
            Party::Manager(_) | Party::Newcomer | Party::Operator => Err("only managers answer that, not nodes".into()),
        }
    }

    /// Hangs up on who does not say who it is, and on clients that hold too much.
    pub(super) fn sweep(&mut self) {
        let now_ms = self.now_ms;
        let late = |link: &Link| link.state != State::Up && now_ms > link.began_ms + GREETING_MS;
        let mut held = ClientMemory::default();
        for at in 0..self.all.slots() {
            let Some(token) = self.all.at(at) else { continue };
            let Some(link) = self.all.at_token(token) else { continue };
            if late(link) || held.look(at, link, now_ms) {
                self.close(token);
            }
        }
        for at in held.excess() {
            if let Some(token) = self.all.at(at) {
                self.close(token);
            }
        }
    }

    /// Every seat that there is, or was, a connection to: whether it stands, bytes that wait, and what was counted.
    pub fn figures(&mut self) -> Vec<(SeatId, bool, usize, Traffic)> {
        let mut figures: BTreeMap<SeatId, (bool, usize)> = BTreeMap::new();
        for at in 0..self.all.slots() {
            let Some(link) = self.all.at(at).and_then(|token| self.all.get_mut(token)) else { continue };
            if let Some(Party::Seat(seat)) = link.party {
                let (is_up, waiting) = figures.entry(seat).or_default();
                *is_up |= link.state == State::Up;
                *waiting += link.waiting_bytes();
            }
        }
        for seat in self.traffic.keys() {
            figures.entry(*seat).or_default();
        }
        let traffic = |seat| self.traffic.get(&seat).copied().unwrap_or_default();
        figures.into_iter().map(|(seat, (is_up, waiting))| (seat, is_up, waiting, traffic(seat))).collect()
    }
}
