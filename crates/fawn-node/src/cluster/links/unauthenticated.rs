//! Those who call a seat, before they have said who they are: so many and no more ([`fawn_kv::link::unauthenticated`]).

use super::Links;
use crate::cluster::link::{Link, State};
use crate::net::tls::Secure;
use crate::observe::warnings::RateLimitedLog;
use fawn_kv::link::FrameError;
use fawn_kv::link::unauthenticated::{STRANGERS, worst};
use std::net::IpAddr;
use std::time::Instant;

/// Logs, now and then, what somebody did wrong before saying who it is: a command that was given this port for a manager's
/// tries many times a second.
pub fn tell(error: &FrameError, host: Option<IpAddr>) {
    static LOG: RateLimitedLog = RateLimitedLog::new();
    if let Some(line) = line(&LOG, Instant::now(), error, host) {
        tracing::warn!("{line}");
    }
}

/// What is to be logged of it, if something is.
fn line(told: &RateLimitedLog, now: Instant, error: &FrameError, host: Option<IpAddr>) -> Option<String> {
    let more = told.happened(now)?;
    let host = host.map(|host| format!(" at {}", host.to_canonical())).unwrap_or_default();
    Some(format!("a connection was closed: {error} (unknown caller{host}){more}"))
}

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
                Err(error) => return tracing::warn!("cannot start TLS for a connection: {error}"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn whoever_calls_and_is_not_understood_is_told_of_seldom_and_with_its_address() {
        let (told, start) = (RateLimitedLog::new(), Instant::now());
        let at = |seconds, host: Option<&str>| {
            let error = FrameError::Malformed("BadCertificate".into());
            line(&told, start + Duration::from_secs(seconds), &error, host.map(|host| host.parse().unwrap()))
        };
        let first = at(0, Some("::ffff:10.0.0.1")).unwrap();
        assert!(first.ends_with("BadCertificate (unknown caller at 10.0.0.1)"), "{first}");
        assert_eq!((at(1, Some("10.0.0.1")), at(59, None)), (None, None));
        let next = at(60, None).unwrap();
        assert!(next.ends_with("(unknown caller) (and 2 more since the last such line)"), "{next}");
    }
}
