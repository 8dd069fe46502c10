//! How far a member is in a change of its chain: what it has prepared, and whether its log is level with the source's.

use super::copying::Following;
use crate::ids::{Attempt, Member, Position};
use crate::store::Gate;

/// A log that is being made like the source's.
#[derive(Debug)]
pub(super) struct Levelling {
    pub(super) attempt: Attempt,
    /// Whose; `None` for the source itself, and for a range that begins.
    pub(super) following: Option<Following>,
    pub(super) source: Option<Member>,
    /// The end of the source's log, once that is known.
    pub(super) last: Option<Position>,
    /// The log is as it should be once this is durable.
    pub(super) gate: Option<Gate>,
    /// The manager was told.
    pub(super) told_us: Option<u64>,
}

/// What a member has written for an attempt while it serves, so that it need not once it has sealed: that its log is level as
/// of then. It says so before it is. But whatever was acknowledged in the present chain is in the log, and stays there; that is
/// what the next chain has to begin with, whichever attempt it comes of, and this one begins it only if it is level then.
#[derive(Clone, Copy, Debug)]
pub(super) struct PreparedAttempt {
    pub(super) attempt: Attempt,
    /// That is durable with this.
    pub(super) gate: Gate,
    /// The manager was told that it is …
    pub(super) told: bool,
    /// … and, after the seal, that all of the log is.
    pub(super) told_synced: bool,
}

impl Levelling {
    /// A log that is being made like another's whose end is yet to be known.
    pub(super) fn with(source: Member, attempt: Attempt) -> Self {
        let following = Some(Following::of(source));
        Self { attempt, following, source: Some(source), last: None, gate: None, told_us: None }
    }

    /// Whether the log is as it should be, if not durable yet.
    pub(super) fn is_level(&self) -> bool {
        self.gate.is_some()
    }

    /// Whether this is the member that the others are made level with.
    pub(super) fn is_source(&self) -> bool {
        self.source.is_some() && self.following.is_none()
    }
}
