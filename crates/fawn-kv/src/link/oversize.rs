//! Requests in frames that are longer than their sender may send. The body is passed over as it comes: its beginning is kept,
//! which says who asks what under which name, and its checksum is counted on. So the request can be refused by its name, and
//! what comes after it on the connection is read.

use super::frame::{FrameError, HEADER_BYTES, MESSAGE, MOST_BYTES};
use crate::ids::{Address, Asker, RequestId};
use crate::wire::version::{NEWEST, OLDEST};

/// What is kept of a body: a request up to its value, with the longest key.
const KEPT_BYTES: usize = 65_535 + 256;

/// The number of [`Message::Ask`](crate::wire::Message::Ask) on the wire.
const ASK: u32 = 30;

/// A write that was too long to be taken, and so was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OversizeRequest {
    /// For whom it was.
    pub to: Address,
    /// From whom, as the sender says.
    pub from: Address,
    /// Its name.
    pub id: RequestId,
    /// Who is to be answered.
    pub asker: Asker,
    /// It says that it comes from another front-end.
    pub forwarded: bool,
}

/// A body that is being passed over.
#[derive(Debug)]
pub struct OversizeFrame {
    length: usize,
    left: usize,
    checksum: u32,
    sum: u32,
    kept: Vec<u8>,
    request: Option<OversizeRequest>,
}

impl OversizeFrame {
    /// The frame that these bytes begin with, from its header on; `None` where no frame has such a length.
    pub fn begin(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..HEADER_BYTES)?;
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let (length, checksum) = (word(0) as usize, word(4));
        let is_frame = (KEPT_BYTES + 1..=MOST_BYTES).contains(&length);
        is_frame.then(|| Self { length, left: length, checksum, sum: 0, kept: Vec::new(), request: None })
    }

    /// Bytes that it holds.
    pub fn held_bytes(&self) -> usize {
        self.kept.len()
    }

    /// Passes over what `bytes` have of the body: how many they are, and the request once the body is over.
    ///
    /// # Errors
    /// [`FrameError`]: it is no request that can be too long, or was changed on its way.
    pub fn pass(&mut self, bytes: &[u8]) -> Result<(usize, Option<OversizeRequest>), FrameError> {
        let bytes = &bytes[..bytes.len().min(self.left)];
        self.sum = crc32c::crc32c_append(self.sum, bytes);
        self.left -= bytes.len();
        if self.request.is_none() {
            let room = KEPT_BYTES - self.kept.len();
            self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if self.kept.len() == KEPT_BYTES {
                let request = read(&self.kept, self.length);
                self.request = Some(request.ok_or_else(|| self.error())?);
                self.kept = Vec::new();
            }
        }
        if self.left > 0 {
            return Ok((bytes.len(), None));
        }
        if self.sum != self.checksum {
            return Err(FrameError::Checksum);
        }
        Ok((bytes.len(), self.request))
    }

    fn error(&self) -> FrameError {
        FrameError::Malformed(format!("{} bytes are longer than the limit, and are no write", self.length))
    }
}

/// How an [`Ask`](crate::wire::Message::Ask) with an operation begins, up to the length of that operation.
type AskHead<'a> = (u32, RequestId, Option<u64>, Asker, bool, &'a [u8], bool, u64);

/// The write that a body of `length` bytes begins with.
fn read(kept: &[u8], length: usize) -> Option<OversizeRequest> {
    let body = kept.strip_prefix(&[MESSAGE])?;
    let ((to, from), message) = postcard::take_from_bytes::<(Address, Address)>(body).ok()?;
    let (version, ask) = message.split_first()?;
    let (head, rest) = postcard::take_from_bytes::<AskHead<'_>>(ask).ok()?;
    let (number, id, _, asker, forwarded, key, is_write, operation) = head;
    // What follows the operation is at least the number of its continuation.
    let is_whole = operation < (length - (kept.len() - rest.len())) as u64;
    let is_ask = number == ASK && (OLDEST..=NEWEST).contains(version) && is_write && !key.is_empty();
    (is_ask && is_whole).then_some(OversizeRequest { to, from, id, asker, forwarded })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FrontId;
    use crate::link::frame::{Frames, put_message};
    use crate::wire::Message;

    const FROM: Address = Address::Client(7);
    const TO: Address = Address::Front(FrontId(3));
    const ID: RequestId = RequestId { session: 9, number: 4 };
    const ASKER: Asker = Asker { address: FROM, tag: 1 << 40 };

    fn ask(key: usize, value: Option<usize>) -> Vec<u8> {
        let operation = value.map(|bytes| vec![5; bytes]);
        let mut bytes = Vec::new();
        put_message(&mut bytes, TO, FROM, &Message::ask(ID, Some(3), ASKER, vec![b'k'; key], operation));
        bytes
    }

    fn pass(bytes: &[u8], step: usize) -> Result<Option<OversizeRequest>, FrameError> {
        let mut frame = OversizeFrame::begin(bytes).unwrap();
        for piece in bytes[HEADER_BYTES..].chunks(step) {
            let (used, request) = frame.pass(piece)?;
            assert!(used == piece.len() && frame.held_bytes() <= KEPT_BYTES);
            if request.is_some() {
                return Ok(request);
            }
        }
        Ok(None)
    }

    #[test]
    fn a_write_that_is_too_long_is_known_by_its_name_however_its_bytes_come() {
        let request = OversizeRequest { to: TO, from: FROM, id: ID, asker: ASKER, forwarded: false };
        for key in [1, 65_535] {
            let bytes = ask(key, Some(1 << 20));
            for step in [1000, 1 << 16, 1 << 21] {
                assert_eq!(pass(&bytes, step), Ok(Some(request)));
            }
            assert_eq!(pass(&bytes[..bytes.len() - 1], 1000), Ok(None), "it is not over");
        }
    }

    #[test]
    fn a_length_may_be_written_longer_than_it_need_be() {
        let (value_bytes, mut bytes) = (1 << 20, ask(1, Some(1 << 20)));
        let value = bytes.len() - value_bytes - 1;
        bytes[value - 1] |= 0x80;
        bytes.splice(value..value, [0x80, 0x80, 0x80, 0]);
        let (length, checksum) = (bytes.len() - HEADER_BYTES, crc32c::crc32c(&bytes[HEADER_BYTES..]));
        bytes[..4].copy_from_slice(&(length as u32).to_le_bytes());
        bytes[4..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
        assert!(matches!(Frames::trusted().next(&bytes), Ok(Ok(_))), "where it is not too long, it is read");
        assert!(matches!(pass(&bytes, 1000), Ok(Some(_))));
    }

    #[test]
    fn what_comes_after_the_body_is_left() {
        let bytes = ask(1, Some(1 << 20));
        let mut frame = OversizeFrame::begin(&bytes).unwrap();
        let more = [&bytes[HEADER_BYTES..], &[1, 2, 3]].concat();
        assert_eq!(frame.pass(&more).unwrap().0, bytes.len() - HEADER_BYTES);
    }

    #[test]
    fn what_is_damaged_or_no_write_or_absurdly_long_is_an_error() {
        let mut bytes = ask(1, Some(1 << 20));
        *bytes.last_mut().unwrap() ^= 1;
        assert_eq!(pass(&bytes, 1000), Err(FrameError::Checksum));
        bytes[HEADER_BYTES] = 1;
        assert!(matches!(pass(&bytes, 1000), Err(FrameError::Malformed(_))), "a control");
        assert!(matches!(pass(&ask(1 << 20, None), 1000), Err(FrameError::Malformed(_))), "a get");
        bytes[..4].copy_from_slice(&(MOST_BYTES as u32 + 1).to_le_bytes());
        assert!(OversizeFrame::begin(&bytes).is_none());
    }
}
