//! Frames: length, checksum, and a body that is a message with its addresses, or what the link itself is about.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | length of the body, little-endian |
//! | 4 | CRC-32C of the body, little-endian |
//! | 1 | kind: 0 message, 1 control |
//! | … | message: to, from ([`Address`] in postcard), then [`Message::encode`]; control: [`Control`] in postcard |

use super::control::Control;
use crate::ids::Address;
use crate::wire::encoding::append;
use crate::wire::{Message, WireError};

/// Bytes before the body.
pub const HEADER_BYTES: usize = 8;

/// The longest body that one who is trusted may send: a value of 128 MiB with all around it.
pub const MOST_BYTES: usize = 136 << 20;

/// The longest body before the other side is known.
pub const MOST_GREETING_BYTES: usize = 4096;

pub(super) const MESSAGE: u8 = 0;
const CONTROL: u8 = 1;

/// What a frame holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A message of the protocol.
    Message {
        /// For whom.
        to: Address,
        /// From whom, as the sender says.
        from: Address,
        /// What.
        message: Message,
    },
    /// About the link, or outside the protocol.
    Control(Control),
}

/// Bytes that are no frame: the connection is of no use any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Longer than it may be.
    #[error("a frame of {0} bytes is longer than the limit of {1}: is the other side a FAWN of this cluster?")]
    TooLong(usize, usize),
    /// Changed on its way.
    #[error("a frame's checksum is wrong: check the network and the other side's memory")]
    Checksum,
    /// No such kind, or not what it says.
    #[error("a frame cannot be read: {0}")]
    Malformed(String),
    /// A message that is none.
    #[error(transparent)]
    Message(#[from] WireError),
}

/// Appends a message's frame to `out`.
pub fn put_message(out: &mut Vec<u8>, to: Address, from: Address, message: &Message) {
    put(out, |out| {
        out.push(MESSAGE);
        append(out, &(to, from));
        out.push(message.since());
        append(out, message);
    });
}

/// Appends a control frame to `out`.
pub fn put_control(out: &mut Vec<u8>, control: &Control) {
    put(out, |out| {
        out.push(CONTROL);
        append(out, control);
    });
}

fn put(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    body(out);
    let (header, body) = out[start..].split_at_mut(HEADER_BYTES);
    let length = u32::try_from(body.len()).expect("a frame is shorter than 4 GiB");
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4..].copy_from_slice(&crc32c::crc32c(body).to_le_bytes());
}

/// Takes frames off bytes as they come.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    /// The longest body that is taken.
    pub most: usize,
}

impl Default for Frames {
    /// Of one that has yet to say who it is.
    fn default() -> Self {
        Self { most: MOST_GREETING_BYTES }
    }
}

impl Frames {
    /// Those of one that is trusted.
    pub fn trusted() -> Self {
        Self { most: MOST_BYTES }
    }

    /// The first frame in `bytes` and its length with the header; `Err` with the bytes that are wanted in all, if it is
    /// not whole yet.
    ///
    /// # Errors
    /// [`FrameError`]: nothing after it can be read either.
    pub fn next(&self, bytes: &[u8]) -> Result<Result<(Frame, usize), usize>, FrameError> {
        let Some((header, rest)) = bytes.split_at_checked(HEADER_BYTES) else { return Ok(Err(HEADER_BYTES)) };
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let (length, checksum) = (word(0) as usize, word(4));
        if length > self.most {
            return Err(FrameError::TooLong(length, self.most));
        }
        let Some(body) = rest.get(..length) else { return Ok(Err(HEADER_BYTES + length)) };
        if crc32c::crc32c(body) != checksum {
            return Err(FrameError::Checksum);
        }
        Ok(Ok((Self::read(body)?, HEADER_BYTES + length)))
    }

    fn read(body: &[u8]) -> Result<Frame, FrameError> {
        let malformed = |why: &dyn std::fmt::Display| FrameError::Malformed(why.to_string());
        match body.split_first() {
            Some((&MESSAGE, rest)) => {
                let taken = postcard::take_from_bytes::<(Address, Address)>(rest);
                let ((to, from), message) = taken.map_err(|error| malformed(&error))?;
                Ok(Frame::Message { to, from, message: Message::decode(message)? })
            }
            Some((&CONTROL, rest)) => match postcard::take_from_bytes(rest) {
                // A newer release may say more than this one knows.
                Ok((control, _)) => Ok(Frame::Control(control)),
                Err(error) => Err(malformed(&error)),
            },
            _ => Err(malformed(&"its kind is unknown")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;

    fn ping() -> Vec<u8> {
        let mut bytes = Vec::new();
        put_message(&mut bytes, Address::Node(NodeId(2)), Address::Manager, &Message::Ping);
        bytes
    }

    #[test]
    fn frames_come_out_one_by_one_as_they_went_in() {
        let mut bytes = ping();
        put_control(&mut bytes, &Control::AskRoster { known: 7 });
        let frames = Frames::default();
        let (first, used) = frames.next(&bytes).unwrap().unwrap();
        let (to, from) = (Address::Node(NodeId(2)), Address::Manager);
        assert_eq!(first, Frame::Message { to, from, message: Message::Ping });
        let (second, more) = frames.next(&bytes[used..]).unwrap().unwrap();
        assert_eq!((second, used + more), (Frame::Control(Control::AskRoster { known: 7 }), bytes.len()));
        assert_eq!(frames.next(&[]), Ok(Err(HEADER_BYTES)));
        assert_eq!(frames.next(&bytes[..used - 1]), Ok(Err(used)), "it says how much it waits for");
    }

    #[test]
    fn a_frame_that_was_changed_or_is_too_long_is_an_error() {
        for at in HEADER_BYTES..ping().len() {
            let mut bytes = ping();
            bytes[at] ^= 4;
            assert_eq!(Frames::default().next(&bytes), Err(FrameError::Checksum), "byte {at}");
        }
        let mut bytes = ping();
        bytes[..4].copy_from_slice(&(MOST_GREETING_BYTES as u32 + 1).to_le_bytes());
        assert!(matches!(Frames::default().next(&bytes), Err(FrameError::TooLong(4097, 4096))));
        assert!(matches!(Frames::trusted().next(&bytes), Ok(Err(_))), "whoever is known may say more");
    }
}
