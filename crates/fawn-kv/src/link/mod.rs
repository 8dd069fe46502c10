//! What goes over a connection between two parties of a cluster: frames, and what the parties say of themselves before any
//! message. Bytes in, bytes out: whoever has the sockets uses it, be it an event loop or an asynchronous runtime.
//!
//! # Layout
//!
//! * [`frame`]: where each message begins and ends, from whom and to whom it is, and its checksum.
//! * [`control`]: greetings, the roster, enrolment, what managers say to each other and what operators ask.
//! * [`unauthenticated_limit`]: which callers are cut off before they have said who they are, if there are too many.
//! * `oversize`: writes that are too long to be taken, which are passed over and refused by their names.
//! * `lane`: the two connections between a pair of seats. [`relay`]: ways around broken links.

pub mod control;
pub mod frame;
mod lane;
mod oversize;
pub mod relay;
pub mod unauthenticated_limit;

/// What a manager says to a seat that was given away, and that no member has any more: nothing else is to be hoped for.
pub const NO_MEMBER: &str = "this seat is of no member any more: it was removed, or the managers that knew it are lost";

/// What whoever has the name of a member that was removed is told.
pub fn was_removed(name: &str) -> String {
    format!(
        "{name} was removed from this cluster, and its name cannot return: start this process with another --name and an empty --dir"
    )
}

pub use control::{Control, Greeted, Greeting, Party, Proxied};
pub use frame::{Frame, FrameError, Frames};
pub use lane::Lane;
pub use oversize::{OversizeFrame, OversizeRequest};
