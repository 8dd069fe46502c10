//! Those who call a seat, before they have said who they are: so many and no more ([`fawn_kv::link::strangers`]).

use super::Links;
use crate::cluster::link::{Link, State};
use crate::tls::Secure;
use fawn_kv::link::strangers::{STRANGERS, worst};

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

    /// Hangs up on a stranger.
    fn make_room(&mut self) {
        let all = (0..self.all.slots()).filter_map(|at| self.all.at(at));
        let stranger = |token| {
            let link = self.all.at_token(token).filter(|link| link.state == State::Called)?;
            Some((token, link.host, link.began_ms))
        };
        let strangers: Vec<_> = all.filter_map(stranger).collect();
        if let Some(token) = worst(&strangers) {
            self.close(token);
        }
    }
}
