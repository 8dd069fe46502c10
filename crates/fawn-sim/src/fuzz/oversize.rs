//! Frames that are longer than their sender may send: each is refused by its request's name, or ends the connection.
//!
//! An input is the body's beginning, a plan, and the body's end. The plan says how long the body is, what its middle is made
//! of and how it comes. So an input stays short although no such frame is.

use fawn_check::random::Random;
use fawn_kv::link::frame::{HEADER_BYTES, put_message};
use fawn_kv::link::{Frame, FrameError, Frames, OversizeFrame, OversizeRequest};
use fawn_kv::wire::Message;

use super::generate::generate;
use super::messages::{BYTES_MORE, BYTES_PER_BYTE, pool};
use super::target::{Input, Target};

const MOST_KEY_BYTES: usize = 65_535;

/// The longest key with all that may be around it: what a connection may hold of a body.
const HELD_BYTES: usize = MOST_KEY_BYTES + 256;

/// How much longer a body can be made by a plan.
const MORE_BYTES: usize = 1 << 16;

/// [`OversizeFrame::pass`]. In whatever pieces a body comes, the answer is the one that the whole body gives.
pub(super) struct OversizeFrames;

/// How a body is made, and how it comes.
struct Plan {
    /// Its length, unless its beginning and end are longer.
    body_bytes: usize,
    filler: u8,
    step_bytes: usize,
    /// Bits by which the checksum is wrong.
    damage: u8,
}

impl Plan {
    /// Any bytes are a plan.
    fn of(bytes: &[u8]) -> Self {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let pair = |at: usize| usize::from(u16::from_le_bytes([byte(at), byte(at + 1)]));
        Self { body_bytes: HELD_BYTES + 1 + pair(0), filler: byte(2), step_bytes: 64 + pair(3), damage: byte(5) }
    }
}

impl Target for OversizeFrames {
    fn name(&self) -> &'static str {
        "oversize"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let pool = pool(random);
        let longest = *random.pick(&[1, 20, MOST_KEY_BYTES as u64]);
        let key = vec![b'k'; random.within(1, longest) as usize];
        let filler = if random.chance(1, 2) { 0 } else { random.word() as u8 };
        let middle = vec![filler; HELD_BYTES - key.len() + random.within(1, MORE_BYTES as u64 / 2) as usize];
        let middle_bytes = middle.len();
        let (operation, continuation) = match random.below(8) {
            0 => (None, Some(middle)),
            1 => (Some(middle), Some(pool.to_vec())),
            _ => (Some(middle), None),
        };
        // What follows the middle: a continuation or its absence, if that is not the middle itself.
        let end_bytes = operation.as_ref().map_or(0, |_| 1 + continuation.as_ref().map_or(0, |blob| 1 + blob.len()));
        let (id, answered, asker) = (generate(random, &pool), generate(random, &pool), generate(random, &pool));
        let forwarded = random.chance(1, 4);
        let ask = Message::Ask { id, answered, asker, forwarded, key, place: None, operation, continuation };
        let mut bytes = Vec::new();
        put_message(&mut bytes, generate(random, &pool), generate(random, &pool), &ask);
        let end = bytes.split_off(bytes.len() - end_bytes);
        let mut begin = bytes[HEADER_BYTES..bytes.len() - middle_bytes].to_vec();
        // The length of the middle may be written longer than it need be.
        for _ in 0..if random.chance(1, 8) { random.within(1, 4) } else { 0 } {
            *begin.last_mut().expect("a body begins with its kind") |= 0x80;
            begin.push(0);
        }
        let more = (begin.len() + middle_bytes + end.len() - HELD_BYTES - 1) as u16;
        let step = (random.word() as u16 >> random.below(16)).to_le_bytes();
        let plan = [&more.to_le_bytes()[..], &[filler], &step, &[u8::from(random.chance(1, 8))]].concat();
        vec![begin, plan, end]
    }

    fn cost(&self) -> u64 {
        16
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        // Of what is compared with: the frame's own bytes are counted apart.
        let body_bytes = HELD_BYTES + MORE_BYTES + input.iter().map(Vec::len).sum::<usize>();
        (BYTES_PER_BYTE + 8) * body_bytes as u64 + BYTES_MORE
    }

    fn execute(&self, input: &Input) -> bool {
        let [begin, rest @ ..] = input.as_slice() else { return false };
        let plan = Plan::of(rest.first().map_or(&[], Vec::as_slice));
        let end = rest.get(1).map_or(&[][..], Vec::as_slice);
        let mut body = begin.clone();
        body.resize(begin.len().max(plan.body_bytes.saturating_sub(end.len())), plan.filler);
        body.extend_from_slice(end);
        let checksum = crc32c::crc32c(&body) ^ u32::from(plan.damage);
        let mut bytes = [(body.len() as u32).to_le_bytes(), checksum.to_le_bytes()].concat();
        bytes.append(&mut body);
        let passed = pass(&bytes, plan.step_bytes);
        assert_eq!(passed, pass(&bytes, bytes.len()), "it makes no difference how the bytes come");
        match Frames::trusted().next(&bytes) {
            Ok(Ok((frame, _))) => assert_eq!(passed.as_ref().ok(), write(frame).as_ref(), "it is no other: {passed:?}"),
            Err(FrameError::Checksum) => assert!(passed.is_err(), "its checksum is wrong"),
            // Of such a body the beginning alone is read.
            _ => {}
        }
        passed.is_ok()
    }
}

/// What comes of a frame that comes in pieces of so many bytes, with more behind it.
fn pass(bytes: &[u8], step_bytes: usize) -> Result<OversizeRequest, FrameError> {
    let mut frame = OversizeFrame::begin(bytes).expect("a frame may be as long as this");
    let mut left = bytes.len() - HEADER_BYTES;
    let behind = [bytes, b"behind"].concat();
    for piece in behind[HEADER_BYTES..].chunks(step_bytes) {
        let (used, request) = frame.pass(piece)?;
        assert!(frame.held_bytes() <= HELD_BYTES, "no more is held than names a request");
        assert_eq!(used, piece.len().min(left), "all of the body is passed over, and nothing else");
        left -= used;
        assert_eq!(request.is_some(), left == 0, "it is refused once it is over");
        if let Some(request) = request {
            return Ok(request);
        }
    }
    panic!("a body that is over is refused")
}

/// The write that a frame is, if it is one.
fn write(frame: Frame) -> Option<OversizeRequest> {
    let Frame::Message { to, from, message } = frame else { return None };
    let Message::Ask { id, asker, forwarded, key, operation: Some(_), .. } = message else { return None };
    let is_key = (1..=MOST_KEY_BYTES).contains(&key.len());
    is_key.then_some(OversizeRequest { to, from, id, asker, forwarded })
}
