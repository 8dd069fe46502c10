//! The client half: commands as bytes, and replies from bytes that may end anywhere.
//!
//! * [`push_command`]: any command.
//! * [`Reply`]: one reply, or the beginning of one that has others in it.

mod reply;

pub use reply::{MalformedReply, Reply, whole_reply};

use crate::reply::header;

/// Appends a command.
pub fn push_command(out: &mut Vec<u8>, words: &[&[u8]]) {
    header(out, b'*', words.len());
    for word in words {
        header(out, b'$', word.len());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
}
