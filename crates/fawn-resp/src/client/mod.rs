//! The client half: commands as bytes, and replies from bytes that may end anywhere.
//!
//! * [`push_command`]: any command.
//! * [`Reply`]: one reply, or the beginning of one that has others in it.
//! * [`ValueCodec`]: gets and sets of values of one known length, whose replies are compared in place.

mod reply;
mod value_codec;

pub use reply::{MalformedReply, Reply, whole_reply};
pub use value_codec::{ParseOutcome, ValueCodec, ValueCommand, ValueReply};

use itoa::Buffer;

/// Appends a command.
pub fn push_command(out: &mut Vec<u8>, words: &[&[u8]]) {
    push_number(out, b'*', words.len());
    for word in words {
        push_number(out, b'$', word.len());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
}

fn push_number(out: &mut Vec<u8>, kind: u8, number: usize) {
    out.push(kind);
    out.extend_from_slice(Buffer::new().format(number).as_bytes());
    out.extend_from_slice(b"\r\n");
}
