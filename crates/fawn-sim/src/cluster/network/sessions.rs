//! Whose a session is, by its name. A front-end's own sessions, and those of clients that route requests themselves, have a
//! bit each that no other session's name has.

/// The lower half of the name of a front-end's own session has this bit.
pub const FRONT_SESSIONS: u64 = 1 << 31;

/// The lower half of the name of a session of a client that routes requests itself has this bit.
pub const ROUTED_SESSIONS: u64 = 1 << 30;

/// Whether a session is a front-end's own.
pub fn is_front_session(session: u64) -> bool {
    session & FRONT_SESSIONS != 0
}

/// Whether a session is of a client that routes requests itself.
pub fn is_routed_session(session: u64) -> bool {
    session & ROUTED_SESSIONS != 0 && !is_front_session(session)
}
