//! Those who call a seat, before they have said who they are: so many and no more ([`fawn_kv::link::unauthenticated_limit`]).

use super::table::LinkTable;
use crate::cluster::link::LinkState;
use crate::observe::warnings::RateLimitedLog;
use crate::runtime::slab::Token;
use fawn_kv::link::FrameError;
use fawn_kv::link::unauthenticated_limit::worst;
use std::net::IpAddr;
use std::time::Instant;

/// Logs, now and then, what somebody did wrong before saying who it is: a command that was given this port for a manager's
/// tries many times a second.
pub fn log_error(error: &FrameError, host: Option<IpAddr>) {
    static LOG: RateLimitedLog = RateLimitedLog::new();
    if let Some(line) = line(&LOG, Instant::now(), error, host) {
        tracing::warn!("{line}");
    }
}

/// What is to be logged of it, if something is.
fn line(log: &RateLimitedLog, now: Instant, error: &FrameError, host: Option<IpAddr>) -> Option<String> {
    let more = log.happened(now)?;
    let host = host.map(|host| format!(" at {}", host.to_canonical())).unwrap_or_default();
    Some(format!("a connection was closed: {error} (unknown caller{host}){more}"))
}

/// The caller that is hung up on so that another one has room.
pub fn worst_of(links: &LinkTable) -> Option<Token> {
    let callers = links.iter().filter(|(_, link)| link.state == LinkState::Called);
    let callers: Vec<_> = callers.map(|(token, link)| (token, link.host, link.began_ms)).collect();
    worst(&callers)
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
