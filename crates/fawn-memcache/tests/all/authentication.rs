//! Conversations before a user is known.

use crate::transcript::transcript;
use fawn_memcache::{Session, SessionLimits};

fn told(input: &str) -> Vec<String> {
    let limits = SessionLimits::default();
    let whole = transcript(Session::with_authentication(limits), limits, [input.as_bytes()]);
    let pieces = transcript(Session::with_authentication(limits), limits, input.as_bytes().chunks(1));
    assert_eq!(whole, pieces, "{input:?}");
    whole
}

#[test]
fn a_user_and_password_open_the_session() {
    let events = told("set auth 0 0 10\r\nuser right\r\nget k\r\n");
    assert_eq!(events.len(), 2);
    assert!(events[0].starts_with(" Authenticate { user: [117, 115, 101, 114]"), "{}", events[0]);
    assert_eq!(events[1], "k Get");
}

#[test]
fn everything_else_is_refused_until_then() {
    let refused = "CLIENT_ERROR unauthenticated";
    assert_eq!(told("get keykey\r\nversion\r\nset k 0 0 x\r\nmg key v\r\n"), [refused; 4]);
    let events = told("set auth 0 0 10\r\nuser wrong\r\nget k key\r\n");
    assert_eq!(events[1..], [refused]);
}

#[test]
fn malformed_credentials_are_told_and_lines_too_short_for_any_close() {
    assert_eq!(told("set a 0 0 4\r\nuser\r\n"), ["CLIENT_ERROR bad authentication token format"]);
    assert_eq!(told("set a 0 0 4\r\nuser pass\r\n"), ["CLIENT_ERROR bad command line termination", "close"]);
    assert_eq!(told("set a 0 0 16385\r\n"), ["CLIENT_ERROR auth token too long"]);
    assert_eq!(told("get k\n"), ["close"]);
    assert_eq!(told("\u{80}"), Vec::<String>::new());
}
