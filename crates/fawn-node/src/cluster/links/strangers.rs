//! Those who call a seat, before they have said who they are.
//!
//! Anybody may be one: no certificate is needed to say nothing. So there are only so many at a time, and when there is no room it is
//! one of those that goes, and not the next, who may be a member: members say who they are at once.

use super::Links;
use crate::cluster::link::{Link, State};
use crate::tls::Secure;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Connections that have yet to say who they are, at most.
pub(super) const STRANGERS: usize = 256;

impl Links {
    /// Takes a connection that somebody made, with what has been received of it.
    pub fn accepted(&mut self, link: Link) {
        if self.strangers >= STRANGERS {
            self.make_room();
        }
        let link = match &self.secure {
            None => link,
            Some(secure) => match Secure::called(&secure.current().server) {
                Ok(secure) => link.secured(secure),
                Err(error) => return tracing::warn!("a connection cannot be protected: {error}"),
            },
        };
        self.strangers += 1;
        let token = self.all.insert(link);
        self.watch(token);
    }

    /// Hangs up on a stranger: of those from the host that most are from, on the one that has waited longest.
    fn make_room(&mut self) {
        let all = (0..self.all.slots()).filter_map(|at| self.all.at(at));
        let look = |token| self.all.at_token(token).map(|link| (token, link.state, link.host, link.began_ms));
        let strangers: Vec<_> = all.filter_map(look).filter(|(_, state, ..)| *state == State::Called).collect();
        let mut from = HashMap::new();
        for (_, _, host, _) in &strangers {
            *from.entry(*host).or_insert(0) += 1;
        }
        let worst = strangers.iter().max_by_key(|(_, _, host, began_ms)| (from[host], Reverse(*began_ms)));
        if let Some((token, ..)) = worst {
            self.close(*token);
        }
    }
}
