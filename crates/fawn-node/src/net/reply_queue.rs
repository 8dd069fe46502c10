//! The answers of one connection that may not leave yet, in request order.
//!
//! On the hot path this queue is empty: answers are written straight into the loop's shared output. An answer that
//! waits for a sync ([`Gate`]), a cold read or another core goes in here, and so does everything behind it. The queue
//! holds back exactly what must wait: [`ReplyQueue::release`] moves out the longest prefix that may leave.
//!
//! A get of several keys is decided before its first `VALUE` byte: if one key fails, the whole answer is that one
//! error. Only above a size limit is its front sent early; a failure after that closes the connection.

use crate::observe::latency::Stamp;
use crate::request::JoinParts;
use crate::runtime::buffers::{POOL_BUFFER_BYTES, Pool};
use fawn_store::Gate;
use std::collections::VecDeque;

/// How the parts of an answer become one.
#[derive(Clone, Copy, Debug)]
pub enum Finish {
    /// One after the other, then this.
    Suffix(&'static [u8]),
    /// This makes one of them once all are there.
    Join(JoinParts),
    /// The loop makes the answer of the parts; the number says which answer.
    Gather(u8),
}

/// What [`ReplyQueue::fill`] made of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillOutcome {
    /// More parts are missing, or the answer can leave in its turn.
    Taken,
    /// All parts are there: the loop takes them ([`ReplyQueue::gathered`]) and makes the answer.
    Gathered(u8),
    /// The answer's front has left and the rest never will: the connection must be closed.
    Broken,
}

/// Something of the answer that is being put together.
#[derive(Debug)]
struct Piece {
    bytes: Vec<u8>,
    filled: bool,
}

/// An answer of several parts.
#[derive(Debug)]
struct Many {
    pieces: VecDeque<Piece>,
    /// Pieces that have left already.
    left_early: u32,
    /// Parts that are missing, and one more while the request is still being worked through.
    missing: u32,
    finish: Finish,
    failed: Option<Vec<u8>>,
    gates: Vec<(u16, Gate)>,
}

/// Answers that a gate holds back, by when the first of each kind was asked for.
#[derive(Clone, Copy, Debug, Default)]
struct ReplyStamps([(Stamp, u32); 2]);

impl ReplyStamps {
    fn add(&mut self, stamp: Stamp) {
        let Some(what) = stamp.what() else { return };
        let (first, count) = &mut self.0[what as usize - 1];
        if *count == 0 {
            *first = stamp;
        }
        *count += 1;
    }
}

#[derive(Debug)]
enum Segment {
    /// Answers that are complete, held back by `gate` or by what is before them.
    Text { bytes: Vec<u8>, gate: Option<(u16, Gate)>, answers: u32, held: ReplyStamps },
    /// An answer that comes in one part.
    One(Option<Vec<u8>>),
    /// An answer that comes in several parts.
    Many(Box<Many>),
}

/// Answers of one connection that may not leave yet.
#[derive(Debug, Default)]
pub struct ReplyQueue {
    segments: VecDeque<Segment>,
    /// Number of the front segment; numbers are never reused.
    first: u64,
    /// Bytes in all segments.
    bytes: usize,
    /// Answers and parts that have yet to come.
    missing: usize,
}

impl ReplyQueue {
    /// Whether nothing is held back.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Bytes held back.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of segments: no more than this many answers are missing or gated.
    #[inline]
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether every answer has come: what is held back waits for a sync or for the client alone.
    #[inline]
    pub fn are_filled(&self) -> bool {
        self.missing == 0
    }

    /// Answers and parts that have yet to come.
    #[inline]
    pub fn missing(&self) -> usize {
        self.missing
    }

    /// Whether everything before this part of this answer has come.
    pub fn is_next(&self, answer: u64, part: u32) -> bool {
        answer == self.first
            && match self.segments.front() {
                Some(Segment::Many(many)) => {
                    let filled = many.pieces.iter().take_while(|piece| piece.filled).count();
                    part as usize == many.left_early as usize + filled
                }
                _ => true,
            }
    }

    /// Appends a complete answer, held back by `gate` if there is one, to what was asked for at `stamp`. Nothing happens for
    /// an empty one.
    pub fn push(&mut self, answer: &[u8], gate: Option<(u16, Gate)>, stamp: Stamp, pool: &mut Pool) {
        if answer.is_empty() {
            return;
        }
        self.bytes += answer.len();
        if let Some(Segment::Text { bytes, gate: before, answers, held }) = self.segments.back_mut()
            && (gate.is_none() || gate == *before)
        {
            bytes.extend_from_slice(answer);
            *answers += 1;
            held.add(stamp);
            return;
        }
        let mut held = ReplyStamps::default();
        held.add(stamp);
        self.segments.push_back(Segment::Text { bytes: pool.copy(answer), gate, answers: 1, held });
    }

    /// Begins an answer that comes later in one part; returns its number.
    pub fn wait_for_one(&mut self) -> u64 {
        self.segments.push_back(Segment::One(None));
        self.missing += 1;
        self.first + self.segments.len() as u64 - 1
    }

    /// Begins an answer of several parts; returns its number. It is complete once [`close`](Self::close) was called
    /// and no part is missing.
    pub fn open(&mut self, finish: Finish) -> u64 {
        self.segments.push_back(Segment::Many(Box::new(Many {
            pieces: VecDeque::new(),
            left_early: 0,
            missing: 1,
            finish,
            failed: None,
            gates: Vec::new(),
        })));
        self.first + self.segments.len() as u64 - 1
    }

    fn many(&mut self, answer: u64) -> &mut Many {
        match self.segments.get_mut((answer - self.first) as usize) {
            Some(Segment::Many(many)) => many,
            _ => unreachable!("an open answer stays in the queue"),
        }
    }

    /// Appends text to an open answer.
    pub fn extend(&mut self, answer: u64, text: &[u8], gate: Option<(u16, Gate)>, pool: &mut Pool) {
        let many = self.many(answer);
        if let Some((shard, gate)) = gate {
            match many.gates.iter_mut().find(|(held, _)| *held == shard) {
                Some((_, held)) => *held = gate.max(*held),
                None => many.gates.push((shard, gate)),
            }
        }
        if many.failed.is_some() {
            return;
        }
        self.bytes += text.len();
        let many = self.many(answer);
        match many.pieces.back_mut() {
            Some(piece) if piece.filled => piece.bytes.extend_from_slice(text),
            _ => many.pieces.push_back(Piece { bytes: pool.copy(text), filled: true }),
        }
    }

    /// Appends a part to an open answer that comes later; returns its number.
    pub fn wait_for_part(&mut self, answer: u64) -> u32 {
        let many = self.many(answer);
        many.missing += 1;
        many.pieces.push_back(Piece { bytes: Vec::new(), filled: false });
        let number = many.left_early + many.pieces.len() as u32 - 1;
        self.missing += 1;
        number
    }

    /// The request of an open answer was worked through: no more parts will be added.
    pub fn close(&mut self, answer: u64) -> FillOutcome {
        let many = self.many(answer);
        many.missing -= 1;
        match many.finish {
            Finish::Gather(tag) if many.missing == 0 => FillOutcome::Gathered(tag),
            _ => FillOutcome::Taken,
        }
    }

    /// A part has come; `failed`: its bytes are an error that stands for the whole answer.
    pub fn fill(&mut self, answer: u64, part: u32, bytes: Vec<u8>, failed: bool) -> FillOutcome {
        let index = answer.checked_sub(self.first).expect("an answer that waits stays in the queue") as usize;
        self.missing -= 1;
        match self.segments.get_mut(index).expect("an answer that waits stays in the queue") {
            Segment::Text { .. } => unreachable!("text is complete"),
            Segment::One(one) => {
                assert!(one.is_none(), "a part comes once");
                self.bytes += bytes.len();
                *one = Some(bytes);
                FillOutcome::Taken
            }
            Segment::Many(many) => {
                many.missing -= 1;
                let piece = &mut many.pieces[(part - many.left_early) as usize];
                assert!(!piece.filled, "a part comes once");
                piece.filled = true;
                if failed && many.left_early > 0 {
                    return FillOutcome::Broken;
                }
                if failed && many.failed.is_none() {
                    self.bytes += bytes.len();
                    self.bytes -= many.fail(bytes);
                } else if many.failed.is_none() {
                    self.bytes += bytes.len();
                    piece.bytes = bytes;
                }
                match many.finish {
                    Finish::Gather(tag) if many.missing == 0 => FillOutcome::Gathered(tag),
                    _ => FillOutcome::Taken,
                }
            }
        }
    }

    /// Takes the parts of a gathered answer; [`gathered`](Self::gathered) puts the answer in their place.
    pub fn parts(&mut self, answer: u64) -> Vec<Vec<u8>> {
        let many = self.many(answer);
        let parts: Vec<Vec<u8>> = many.pieces.drain(..).map(|piece| piece.bytes).collect();
        self.bytes -= parts.iter().map(Vec::len).sum::<usize>();
        parts
    }

    /// Puts the answer that the loop made in the place of its parts.
    pub fn gathered(&mut self, answer: u64, bytes: Vec<u8>) {
        self.bytes += bytes.len();
        let many = self.many(answer);
        many.finish = Finish::Suffix(b"");
        many.pieces.push_back(Piece { bytes, filled: true });
    }

    /// The gates that hold back the front: empty when it waits for something else, or nothing is held back.
    pub fn front_gate(&self) -> Option<(u16, Gate)> {
        match self.segments.front()? {
            Segment::Text { gate, .. } => *gate,
            Segment::Many(many) => many.gates.first().copied(),
            Segment::One(_) => None,
        }
    }

    /// Moves the longest prefix that may leave to `out`. `durable` says how far each store is. When more than
    /// `stream_above` bytes are held, the front of an incomplete get leaves too. `left` is told of answers that a gate held
    /// back: when the first of some was asked for, and how many they are.
    pub fn release(
        &mut self,
        durable: impl Fn(u16) -> Gate,
        stream_above: usize,
        (out, pool): (&mut Vec<u8>, &mut Pool),
        left: impl Fn(Stamp, u32),
    ) {
        let mut gone = 0;
        while let Some(front) = self.segments.front_mut() {
            match front {
                Segment::Text { bytes, gate, held, .. } => {
                    if gate.is_some_and(|(shard, gate)| gate > durable(shard)) {
                        break;
                    }
                    held.0.iter().filter(|(_, count)| *count > 0).for_each(|(stamp, count)| left(*stamp, *count));
                    gone += move_out(bytes, out, pool);
                }
                Segment::One(None) => break,
                Segment::One(Some(bytes)) => gone += move_out(bytes, out, pool),
                Segment::Many(many) => {
                    many.gates.retain(|(shard, gate)| *gate > durable(*shard));
                    let (complete, bytes) = many.release(self.bytes - gone > stream_above, out, pool);
                    gone += bytes;
                    if !complete {
                        break;
                    }
                }
            }
            self.segments.pop_front();
            self.first += 1;
        }
        self.bytes -= gone;
        if self.segments.is_empty() {
            assert_eq!(self.bytes, 0, "an empty queue holds no bytes");
            if self.segments.capacity() > 64 {
                self.segments = VecDeque::new();
            }
        }
    }

    /// The store will never be durable beyond `durable`: every answer that waits for more becomes `error`. Where the
    /// front of one has left already, that is [`FillOutcome::Broken`].
    pub fn fail_gates(&mut self, shard: u16, durable: Gate, error: &[u8]) -> FillOutcome {
        let mut came_to = FillOutcome::Taken;
        let lost = |held: &(u16, Gate)| held.0 == shard && held.1 > durable;
        for segment in &mut self.segments {
            match segment {
                Segment::Text { bytes, gate, answers, .. } if gate.as_ref().is_some_and(lost) => {
                    *gate = None;
                    self.bytes = self.bytes + error.len() * *answers as usize - bytes.len();
                    *bytes = error.repeat(*answers as usize);
                }
                Segment::Many(many) if many.gates.iter().any(lost) => {
                    many.gates.retain(|held| !lost(held));
                    if many.left_early > 0 {
                        came_to = FillOutcome::Broken;
                    } else if many.failed.is_none() {
                        self.bytes += error.len();
                        self.bytes -= many.fail(error.to_vec());
                    }
                }
                _ => {}
            }
        }
        came_to
    }
}

/// Appends `bytes` to `out` and keeps its buffer for later; returns their number.
fn move_out(bytes: &mut Vec<u8>, out: &mut Vec<u8>, pool: &mut Pool) -> usize {
    let count = bytes.len();
    if out.is_empty() && count > POOL_BUFFER_BYTES {
        std::mem::swap(bytes, out);
        return count;
    }
    out.extend_from_slice(bytes);
    pool.give(std::mem::take(bytes));
    count
}

impl Many {
    /// The whole answer becomes `error`; returns how many held bytes are dropped for it.
    fn fail(&mut self, error: Vec<u8>) -> usize {
        self.failed = Some(error);
        self.pieces.iter_mut().map(|piece| std::mem::take(&mut piece.bytes).len()).sum()
    }

    /// Moves what may leave to `out`; returns whether that was all, and how many held bytes are gone.
    fn release(&mut self, early: bool, out: &mut Vec<u8>, pool: &mut Pool) -> (bool, usize) {
        let complete = self.missing == 0 && !matches!(self.finish, Finish::Gather(_));
        let early = early && !matches!(self.finish, Finish::Join(_));
        if !self.gates.is_empty() || (!complete && (!early || self.failed.is_some())) {
            return (false, 0);
        }
        if complete && let Some(mut error) = self.failed.take() {
            return (true, move_out(&mut error, out, pool));
        }
        if let Finish::Join(join) = self.finish {
            let parts: Vec<u8> = self.pieces.drain(..).flat_map(|piece| piece.bytes).collect();
            join(&parts, out);
            return (true, parts.len());
        }
        let mut gone = 0;
        while self.pieces.front().is_some_and(|piece| piece.filled) {
            let mut piece = self.pieces.pop_front().expect("the front was just seen");
            self.left_early += 1;
            gone += move_out(&mut piece.bytes, out, pool);
        }
        if let Finish::Suffix(suffix) = self.finish
            && complete
        {
            out.extend_from_slice(suffix);
        }
        (complete, gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::latency::RequestKind;

    const NO_STREAM: usize = usize::MAX;

    fn released(answers: &mut ReplyQueue, durable: u64) -> String {
        let mut out = Vec::new();
        answers.release(|_| Gate(durable), NO_STREAM, (&mut out, &mut Pool::default()), |_, _| ());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_joined_answer_leaves_as_a_whole() {
        let (mut answers, mut pool) = (ReplyQueue::default(), Pool::default());
        let count: JoinParts = |parts, out| out.extend_from_slice(parts.len().to_string().as_bytes());
        let answer = answers.open(Finish::Join(count));
        answers.extend(answer, b"ab", None, &mut pool);
        let part = answers.wait_for_part(answer);
        answers.close(answer);
        answers.push(b" after", None, Stamp::NONE, &mut pool);
        let mut out = Vec::new();
        answers.release(|_| Gate(0), 0, (&mut out, &mut pool), |_, _| ());
        assert_eq!(out, b"", "no front of it leaves early");
        answers.fill(answer, part, b"c".to_vec(), false);
        assert_eq!(released(&mut answers, 0), "3 after");
        let answer = answers.open(Finish::Join(count));
        let part = answers.wait_for_part(answer);
        answers.fill(answer, part, b"error".to_vec(), true);
        answers.close(answer);
        assert_eq!(released(&mut answers, 0), "error");
    }

    #[test]
    fn a_gate_holds_back_everything_behind_it() {
        let (mut answers, mut pool) = (ReplyQueue::default(), Pool::default());
        answers.push(b"a", Some((0, Gate(1))), Stamp::NONE, &mut pool);
        answers.push(b"b", Some((0, Gate(1))), Stamp::NONE, &mut pool);
        answers.push(b"c", Some((0, Gate(2))), Stamp::NONE, &mut pool);
        answers.push(b"d", None, Stamp::NONE, &mut pool);
        assert_eq!((released(&mut answers, 0), answers.bytes(), answers.len()), (String::new(), 4, 2));
        assert_eq!((answers.front_gate(), released(&mut answers, 1)), (Some((0, Gate(1))), "ab".into()));
        assert_eq!((released(&mut answers, 2), answers.is_empty(), answers.bytes()), ("cd".into(), true, 0));
    }

    #[test]
    fn answers_that_come_out_of_order_leave_in_order() {
        let (mut answers, mut pool) = (ReplyQueue::default(), Pool::default());
        let first = answers.wait_for_one();
        answers.push(b"2", None, Stamp::NONE, &mut pool);
        let third = answers.wait_for_one();
        assert_eq!(answers.fill(third, 0, b"3".to_vec(), false), FillOutcome::Taken);
        assert_eq!(released(&mut answers, 0), "");
        assert_eq!(answers.fill(first, 0, b"1".to_vec(), false), FillOutcome::Taken);
        assert_eq!(released(&mut answers, 0), "123");
        let fourth = answers.wait_for_one();
        assert_eq!(answers.fill(fourth, 0, Vec::new(), false), FillOutcome::Taken);
        assert_eq!((released(&mut answers, 0), answers.is_empty()), (String::new(), true));
    }

    #[test]
    fn answers_that_waited_for_one_sync_are_told_of_by_the_first_of_each_kind() {
        let (mut answers, mut pool) = (ReplyQueue::default(), Pool::default());
        let stamp = |at_us, what| Stamp::new(at_us, what);
        answers.push(b"a", Some((0, Gate(1))), stamp(100, RequestKind::Write), &mut pool);
        answers.push(b"b", Some((0, Gate(1))), stamp(200, RequestKind::Write), &mut pool);
        answers.push(b"c", None, Stamp::NONE, &mut pool);
        answers.push(b"d", Some((0, Gate(1))), stamp(300, RequestKind::Get), &mut pool);
        let told = std::cell::RefCell::new(Vec::new());
        let note = |stamp, count| told.borrow_mut().push((stamp, count));
        let mut out = Vec::new();
        answers.release(|_| Gate(0), NO_STREAM, (&mut out, &mut pool), note);
        assert!(told.borrow().is_empty());
        answers.release(|_| Gate(1), NO_STREAM, (&mut out, &mut pool), note);
        assert_eq!(told.into_inner(), [(stamp(300, RequestKind::Get), 1), (stamp(100, RequestKind::Write), 2)]);
    }

    fn get_of_three(answers: &mut ReplyQueue) -> (u64, u32, u32) {
        let mut pool = Pool::default();
        let answer = answers.open(Finish::Suffix(b"END\r\n"));
        answers.extend(answer, b"hot ", None, &mut pool);
        let first = answers.wait_for_part(answer);
        answers.extend(answer, b"warm ", Some((0, Gate(5))), &mut pool);
        let second = answers.wait_for_part(answer);
        (answer, first, second)
    }

    #[test]
    fn an_answer_of_parts_leaves_whole_after_its_last_part_and_gate() {
        let mut answers = ReplyQueue::default();
        let (answer, first, second) = get_of_three(&mut answers);
        answers.fill(answer, second, b"cold2 ".to_vec(), false);
        answers.fill(answer, first, b"cold1 ".to_vec(), false);
        assert_eq!(released(&mut answers, 0), "", "the request is not worked through");
        assert_eq!(answers.close(answer), FillOutcome::Taken);
        assert_eq!(released(&mut answers, 4), "");
        assert_eq!(released(&mut answers, 5), "hot cold1 warm cold2 END\r\n");
        assert_eq!(answers.bytes(), 0);
    }

    #[test]
    fn one_failed_part_makes_the_whole_answer_one_error() {
        let mut answers = ReplyQueue::default();
        let (answer, first, second) = get_of_three(&mut answers);
        answers.close(answer);
        assert_eq!(answers.fill(answer, first, b"SERVER_ERROR x\r\n".to_vec(), true), FillOutcome::Taken);
        assert_eq!(released(&mut answers, 9), "");
        answers.fill(answer, second, b"cold".to_vec(), false);
        assert_eq!((released(&mut answers, 9), answers.is_empty()), ("SERVER_ERROR x\r\n".into(), true));
    }

    #[test]
    fn a_huge_answer_streams_its_front_and_a_later_failure_breaks_the_connection() {
        let mut answers = ReplyQueue::default();
        let (answer, first, second) = get_of_three(&mut answers);
        answers.fill(answer, first, b"cold1 ".to_vec(), false);
        let mut out = Vec::new();
        answers.release(|_| Gate(9), 4, (&mut out, &mut Pool::default()), |_, _| ());
        assert_eq!(out, b"hot cold1 warm ");
        assert_eq!(answers.bytes(), 0);
        assert_eq!(answers.fill(answer, second, b"SERVER_ERROR x\r\n".to_vec(), true), FillOutcome::Broken);
    }

    #[test]
    fn a_gathered_answer_is_made_by_the_loop() {
        let mut answers = ReplyQueue::default();
        let answer = answers.open(Finish::Gather(7));
        let part = answers.wait_for_part(answer);
        assert_eq!(answers.close(answer), FillOutcome::Taken);
        assert_eq!(answers.fill(answer, part, b"4".to_vec(), false), FillOutcome::Gathered(7));
        assert_eq!(released(&mut answers, 0), "");
        assert_eq!(answers.parts(answer), [b"4".to_vec()]);
        answers.gathered(answer, b"four".to_vec());
        assert_eq!((released(&mut answers, 0), answers.bytes()), ("four".into(), 0));
    }

    #[test]
    fn a_stopped_store_turns_each_held_answer_into_an_error() {
        let (mut answers, mut pool) = (ReplyQueue::default(), Pool::default());
        answers.push(b"a", Some((0, Gate(1))), Stamp::NONE, &mut pool);
        answers.push(b"STORED", Some((0, Gate(2))), Stamp::NONE, &mut pool);
        answers.push(b"STORED", Some((0, Gate(2))), Stamp::NONE, &mut pool);
        answers.push(b"STORED", Some((1, Gate(2))), Stamp::NONE, &mut pool);
        assert_eq!(answers.fail_gates(0, Gate(1), b"E "), FillOutcome::Taken);
        assert_eq!(released(&mut answers, 2), "aE E STORED");
        assert_eq!(answers.bytes(), 0);
    }

    #[test]
    fn a_stopped_store_breaks_the_connection_whose_answer_has_left_in_part() {
        let (mut answers, mut pool) = (ReplyQueue::default(), Pool::default());
        let answer = answers.open(Finish::Suffix(b"END\r\n"));
        answers.extend(answer, b"front ", None, &mut pool);
        let cold = answers.wait_for_part(answer);
        let mut out = Vec::new();
        answers.release(|_| Gate(0), 2, (&mut out, &mut pool), |_, _| ());
        assert_eq!(out, b"front ");
        answers.extend(answer, b"undurable ", Some((0, Gate(5))), &mut pool);
        answers.close(answer);
        assert_eq!(answers.fail_gates(0, Gate(4), b"E "), FillOutcome::Broken);
        assert_eq!(answers.fill(answer, cold, b"cold ".to_vec(), false), FillOutcome::Taken);
    }

    #[test]
    fn answers_are_filled_when_nothing_has_yet_to_come() {
        let (mut answers, mut pool) = (ReplyQueue::default(), Pool::default());
        answers.push(b"a", Some((0, Gate(1))), Stamp::NONE, &mut pool);
        assert!(answers.are_filled(), "it waits for a sync alone");
        let one = answers.wait_for_one();
        let (many, first, second) = get_of_three(&mut answers);
        answers.close(many);
        for (answer, part) in [(one, 0), (many, second)] {
            answers.fill(answer, part, Vec::new(), false);
            assert!(!answers.are_filled());
        }
        answers.fill(many, first, b"E ".to_vec(), true);
        assert!(answers.are_filled());
    }
}
