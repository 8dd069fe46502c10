//! Whether the manager that leads answers, and calling it by way of another manager where the link to it is broken
//! ([decision 42](../../../../../docs/decisions/0042-ways-around-to-the-leader.md)).
//!
//! The leader is pinged over the link to it. When it does not answer, the link is closed, and called again like any other. Meanwhile
//! one of the other managers connects this seat with the leader.

use super::calls::Called;
use super::{Link, Links};
use crate::cluster::link::State;
use crate::runtime::slab::Token;
use fawn_kv::ids::ManagerId;
use fawn_kv::link::{Control, Lane, Party};
use fawn_kv::wire::version::PROXIES;

/// Between an answer and the next ping.
const PING_MS: u64 = 100;

/// A link whose other end has not answered a ping for so long is broken. With a ping, a heartbeat and a call this is less than the
/// second after which managers count a node as dead.
const BROKEN_MS: u64 = 400;

/// The same, in looks: a process that stood still has yet to read the answer.
const BROKEN_LOOKS: u32 = 4;

/// After each link that was broken the next one has twice the time, up to so many times: where it is the leader that is slow, calling
/// it again and again makes it slower.
const MOST_DOUBLINGS: u32 = 3;

/// After so long without a broken link the first time counts again.
const CALM_MS: u64 = 60_000;

/// A seat without a link to the leader waits for so long before it calls by way of another manager.
const PATIENCE_MS: u64 = 300;

/// A manager that has not connected it with the leader within this is not waited for.
const PROXY_MS: u64 = 1000;

/// What is known of the link to the leader.
#[derive(Debug, Default)]
pub(super) struct LeaderWatch {
    /// The link that is pinged.
    link: Option<Token>,
    /// The last ping.
    number: u64,
    /// When it was sent, unless it was answered, and how often that was looked at since.
    unanswered: Option<(u64, u32)>,
    /// When the next is to be sent.
    next_ms: u64,
    /// Links that were broken lately, and when the last one was.
    broken: (u32, u64),
    /// Since when there has been no link to the leader; 0: the last one is broken.
    none_since_ms: Option<u64>,
    /// Which of the other managers is called: the next one after each that was of no use.
    turn: usize,
    /// It was said in the log that the link is broken.
    is_told: bool,
}

impl Links {
    /// Pings the leader, and calls it by way of another manager if need be. To be called now and then.
    pub(super) fn look_at_leader(&mut self) {
        let now_ms = self.now_ms;
        let leader = self.leader();
        if self.leader_watch.link != leader {
            self.leader_watch.link = leader;
            self.leader_watch.unanswered = None;
        }
        let Some(token) = leader else { return self.call_by_way() };
        self.leader_watch.none_since_ms = None;
        if self.is_broken() {
            let (count, last_ms) = &mut self.leader_watch.broken;
            (*count, *last_ms) = (*count + 1, now_ms);
            self.leader_watch.none_since_ms = Some(0);
            self.close(token);
            return self.call_by_way();
        }
        let speaks = self.all.at_token(token).is_some_and(|link| link.version >= PROXIES);
        if speaks && self.leader_watch.unanswered.is_none() && now_ms >= self.leader_watch.next_ms {
            self.leader_watch.number += 1;
            self.leader_watch.unanswered = Some((now_ms, 0));
            let ping = Control::Ping { number: self.leader_watch.number };
            self.say(token, &ping);
        }
        if !self.is_proxied(token) {
            self.leave_proxies(None);
            if std::mem::take(&mut self.leader_watch.is_told) {
                tracing::info!("the link to the leading manager works again");
            }
        }
    }

    /// Looks whether the leader has left a ping without an answer for too long, and there is a way around. Where there is none, it is
    /// waited for.
    fn is_broken(&mut self) -> bool {
        let watch = &mut self.leader_watch;
        let Some((sent_ms, looks)) = &mut watch.unanswered else { return false };
        *looks += 1;
        let is_late = self.now_ms >= *sent_ms + (BROKEN_MS << watch.broken.0.min(MOST_DOUBLINGS));
        is_late && *looks >= BROKEN_LOOKS && self.leads.1.is_some_and(|leader| !self.ways_to(leader).is_empty())
    }

    /// The other end of a link has answered.
    pub(super) fn pong(&mut self, token: Token, number: u64) {
        let watch = &mut self.leader_watch;
        if watch.link == Some(token) && watch.number == number {
            watch.unanswered = None;
            watch.next_ms = self.now_ms + PING_MS;
            if self.now_ms >= watch.broken.1 + CALM_MS {
                watch.broken.0 = 0;
            }
        }
    }

    /// Whether a link goes by way of another manager.
    pub(super) fn is_proxied(&self, token: Token) -> bool {
        self.targets.iter().any(|(called, target)| matches!(called, Called::Proxied(_)) && target.link == Some(token))
    }

    /// A manager has answered the greeting over a link; whether that is used.
    pub(super) fn has_answered(&mut self, manager: ManagerId, token: Token) -> bool {
        let is_proxied = self.is_proxied(token);
        if is_proxied && self.managers.contains_key(&manager) {
            return false;
        }
        self.managers.insert(manager, token);
        if is_proxied && !std::mem::replace(&mut self.leader_watch.is_told, true) {
            tracing::warn!(
                "the link to the leading manager is broken: another manager forwards the messages of this seat"
            );
        }
        true
    }

    /// There is no link to the leader: another manager is to connect this seat with it.
    fn call_by_way(&mut self) {
        let now_ms = self.now_ms;
        let Some(leader) = self.leads.1 else {
            self.leader_watch.none_since_ms = None;
            return self.leave_proxies(None);
        };
        let since_ms = *self.leader_watch.none_since_ms.get_or_insert(now_ms);
        let party = Some(Party::Manager(leader));
        let mut under_way = None;
        for (called, target) in &self.targets {
            let Some(token) = target.link.filter(|_| matches!(called, Called::Proxied(_))) else { continue };
            let is_awaited = |link: &Link| link.party == party && now_ms < link.began_ms + PROXY_MS;
            if self.all.at_token(token).is_some_and(is_awaited) {
                under_way = Some(token);
            } else {
                self.leader_watch.turn = self.leader_watch.turn.wrapping_add(1);
            }
        }
        self.leave_proxies(under_way);
        if under_way.is_some() || now_ms < since_ms + PATIENCE_MS {
            return;
        }
        let ways: Vec<String> = self.ways_to(leader);
        let Some(address) = ways.get(self.leader_watch.turn % ways.len().max(1)).cloned() else { return };
        if self.call(&Called::Proxied(address.clone()), &address, party, Lane::Client).is_none() {
            self.leader_watch.turn = self.leader_watch.turn.wrapping_add(1);
        }
    }

    /// The addresses of the managers that may connect this seat with the leader.
    fn ways_to(&self, leader: ManagerId) -> Vec<String> {
        let others = self.managers.iter().filter(|(manager, _)| **manager != leader).map(|(_, token)| *token);
        let others: Vec<Token> = others
            .filter(|token| {
                let link = self.all.at_token(*token);
                link.is_some_and(|link| link.state == State::Up && link.version >= PROXIES)
            })
            .collect();
        let address = |token: &Token| {
            self.targets.iter().find_map(|(called, target)| match called {
                Called::Manager(address) if target.link == Some(*token) => Some(address.clone()),
                _ => None,
            })
        };
        others.iter().filter_map(address).collect()
    }

    /// Closes all links to the leader that go by way of others, but for one.
    fn leave_proxies(&mut self, kept: Option<Token>) {
        let is_proxied = |called: &Called| matches!(called, Called::Proxied(_));
        let proxied =
            self.targets.iter().filter(|(called, _)| is_proxied(called)).filter_map(|(_, target)| target.link);
        let left: Vec<Token> = proxied.filter(|token| Some(*token) != kept).collect();
        for token in left {
            self.close(token);
        }
    }
}
