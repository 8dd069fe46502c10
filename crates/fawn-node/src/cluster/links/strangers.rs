//! Those who call a seat, before they have said who they are.
//!
//! Anybody may be one: no certificate is needed to say nothing. So there are only so many at a time.

use super::Links;
use crate::cluster::link::Link;
use crate::tls::Secure;

/// Connections that have yet to say who they are, at most.
pub(super) const STRANGERS: usize = 256;

impl Links {
    /// Takes a connection that somebody made, with what has been received of it.
    pub fn accepted(&mut self, link: Link) {
        if self.strangers >= STRANGERS {
            return;
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
}
