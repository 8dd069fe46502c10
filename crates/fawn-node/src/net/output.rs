//! The replies of the connection at hand: what is complete goes into the loop's output and leaves at once. From the first
//! reply that has to wait, everything queues in the connection's [`ReplyQueue`](crate::net::reply_queue::ReplyQueue).

use crate::net::connection::{Flow, KeyLine};
use crate::net::reply_queue::{FillOutcome, Finish};
use crate::observe::latency::{RequestKind, RequestTimer, Stamp};
use crate::request::{JoinParts, ReplySlot, STOPPED};
use crate::shard::backend::Backend;
use crate::shard::stores::Gates as _;
use fawn_store::Gate;

/// A reply that was put in the output, or its part for one key of a line.
#[derive(Clone, Copy, Debug)]
pub struct ImmediateReply {
    /// The store that knows when it may leave.
    pub store: usize,
    /// It may leave once this is durable.
    pub gate: Gate,
    /// It is an error that stands for a whole line of keys.
    pub failed: bool,
    /// When it was asked for.
    pub stamp: Stamp,
}

impl ImmediateReply {
    /// One that waits for nothing and is not measured.
    pub const DONE: Self = Self { store: 0, gate: Gate::NONE, failed: false, stamp: Stamp::NONE };
}

/// The output of a loop, and how long its replies took.
#[derive(Debug)]
pub struct ReplyOutput {
    /// Replies of the connection at hand that may leave at once.
    bytes: Vec<u8>,
    /// How long requests take.
    timer: RequestTimer,
}

impl ReplyOutput {
    /// An empty output.
    pub fn new(timer: RequestTimer) -> Self {
        Self { bytes: Vec::new(), timer }
    }

    /// A turn of the loop begins.
    pub fn begin_turn(&mut self, now_us: u64) {
        self.timer.begin(now_us);
    }

    /// The event at hand is over, or a part of the turn.
    pub fn end_event(&mut self, now_us: u64) {
        self.timer.event_ends(now_us);
    }

    /// Bytes in the output.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The output.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The stamp of a request that has just come.
    #[inline]
    pub fn stamp(&self, what: RequestKind) -> Stamp {
        self.timer.stamp(what)
    }

    /// A reply that had to wait has come.
    pub fn note_arrived(&self, stamp: Stamp) {
        self.timer.answered(stamp, 1);
    }

    /// A reply, or its part for one key of a line, is in the output from `start` on.
    #[inline]
    pub fn finish<B: Backend>(
        &mut self,
        backend: &mut B,
        flow: &mut Flow,
        start: usize,
        ImmediateReply { store, gate, mut failed, mut stamp }: ImmediateReply,
    ) {
        let mut held = gate > Gate::NONE && gate > backend.durable(store);
        if held && backend.is_stopped(store) {
            held = false;
            // In a line of keys, silence would be taken for a miss.
            if self.bytes.len() > start || flow.line.is_some() {
                failed = true;
                self.bytes.truncate(start);
                flow.writer.write_error(&mut self.bytes, &STOPPED);
            }
        }
        if let Some(what) = stamp.what().filter(|_| !held || flow.line.is_some()) {
            self.timer.answered_at_once(what);
            stamp = Stamp::NONE;
        }
        let fails_line = failed && flow.line.is_some();
        if !held && !fails_line {
            match flow.line {
                Some(KeyLine::Direct(_)) => return,
                None if flow.answers.is_empty() => return,
                _ => {}
            }
        }
        self.finish_later(backend, flow, start, held.then_some((store as u16, gate)), failed, stamp);
    }

    fn finish_later<B: Backend>(
        &mut self,
        backend: &mut B,
        flow: &mut Flow,
        start: usize,
        gate: Option<(u16, Gate)>,
        failed: bool,
        stamp: Stamp,
    ) {
        match flow.line {
            None => flow.answers.push(&self.bytes[start..], gate, stamp, backend.pool()),
            Some(line) => {
                let part = self.bytes.split_off(start);
                let answer = match line {
                    KeyLine::Direct(line_start) => self.queue_line(backend, flow, line_start),
                    KeyLine::Queued(answer) => answer,
                };
                if failed {
                    let number = flow.answers.wait_for_part(answer);
                    flow.broken |= flow.answers.fill(answer, number, part, true) == FillOutcome::Broken;
                } else {
                    flow.answers.extend(answer, &part, gate, backend.pool());
                }
            }
        }
        self.bytes.truncate(start);
    }

    /// Begins a line of keys, of which there will be one reply: its parts one after the other, or what `join` makes of them.
    #[inline]
    pub fn begin_line(&self, flow: &mut Flow, join: Option<JoinParts>) {
        flow.line = Some(match join {
            Some(join) => KeyLine::Queued(flow.answers.open(Finish::Join(join))),
            None if flow.answers.is_empty() => KeyLine::Direct(self.bytes.len()),
            None => KeyLine::Queued(flow.answers.open(Finish::Suffix(b""))),
        });
    }

    /// Moves a line of keys that is not whole from the output into the queue: what is in the output leaves before the rest
    /// comes.
    #[inline]
    pub fn queue_unfinished_line<B: Backend>(&mut self, backend: &mut B, flow: &mut Flow) {
        if let Some(KeyLine::Direct(start)) = flow.line {
            self.queue_line(backend, flow, start);
        }
    }

    fn queue_line<B: Backend>(&mut self, backend: &mut B, flow: &mut Flow, start: usize) -> u64 {
        let answer = flow.answers.open(Finish::Suffix(b""));
        self.queue_rest(backend, flow, answer, start);
        flow.line = Some(KeyLine::Queued(answer));
        answer
    }

    /// Moves the output from `start` on into a reply of the queue.
    pub fn queue_rest<B: Backend>(&mut self, backend: &mut B, flow: &mut Flow, answer: u64, start: usize) {
        flow.answers.extend(answer, &self.bytes[start..], None, backend.pool());
        self.bytes.truncate(start);
    }

    /// Makes a slot for a reply, or for a part of the line's reply, that comes later.
    pub fn wait<B: Backend>(&mut self, backend: &mut B, flow: &mut Flow, stamp: Stamp) -> ReplySlot {
        let (answer, part) = match flow.line {
            None => (flow.answers.wait_for_one(), 0),
            Some(line) => {
                let answer = match line {
                    KeyLine::Direct(start) => self.queue_line(backend, flow, start),
                    KeyLine::Queued(answer) => answer,
                };
                (answer, flow.answers.wait_for_part(answer))
            }
        };
        ReplySlot { connection: flow.token, answer, part, stamp }
    }

    /// The line of keys is refused as a whole.
    pub fn abandon_line<B: Backend>(&mut self, backend: &mut B, flow: &mut Flow, refusal: &[u8]) {
        match flow.line.take() {
            Some(KeyLine::Queued(answer)) => {
                let part = flow.answers.wait_for_part(answer);
                let text = refusal.to_vec();
                flow.broken |= flow.answers.fill(answer, part, text, true) == FillOutcome::Broken;
                flow.answers.close(answer);
            }
            line => {
                if let Some(KeyLine::Direct(start)) = line {
                    self.bytes.truncate(start);
                }
                let start = self.bytes.len();
                self.bytes.extend_from_slice(refusal);
                self.finish(backend, flow, start, ImmediateReply::DONE);
            }
        }
    }

    /// Moves replies that may leave from the connection's queue to the output; the front of an incomplete one of more than
    /// `stream_above` bytes, too.
    pub fn release<B: Backend>(&mut self, backend: &mut B, flow: &mut Flow, stream_above: usize) {
        let (pool, gates) = backend.lend();
        let durable = |store| gates.durable(usize::from(store));
        let timer = &self.timer;
        let left = |stamp, count| timer.answered(stamp, u64::from(count));
        flow.answers.release(durable, stream_above, (&mut self.bytes, pool), left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::memcached::MEMCACHED;
    use crate::shard::backend::SizeLimits;
    use crate::shard::executor::ShardExecutor;
    use crate::shard::fake::{Fake, Knobs};
    use crate::shard::route::Route;
    use crate::tests::harness::SECRET;
    use std::sync::Arc;

    /// An output, and what it needs of its loop.
    struct Fixture {
        output: ReplyOutput,
        backend: ShardExecutor<Fake>,
        flow: Flow,
    }

    fn fixture() -> Fixture {
        let ((stores, reads), route) = (Fake::new(1, &Arc::new(Knobs::default())), Route::new(SECRET, 1, 1));
        let sizes = SizeLimits { value: 1 << 20, large: 1 << 20 };
        Fixture {
            output: ReplyOutput::new(RequestTimer::new(Arc::default())),
            backend: ShardExecutor::new(stores, reads, Arc::default(), (0, &route), sizes),
            flow: Flow::new(&MEMCACHED),
        }
    }

    impl Fixture {
        fn reply(&mut self, text: &[u8], reply: ImmediateReply) {
            let start = self.output.len();
            self.output.bytes_mut().extend_from_slice(text);
            self.output.finish(&mut self.backend, &mut self.flow, start, reply);
        }

        /// The output, once what may leave the queue is in it.
        fn released(&mut self) -> &[u8] {
            self.output.release(&mut self.backend, &mut self.flow, usize::MAX);
            &self.output.bytes
        }
    }

    #[test]
    fn everything_queues_from_the_first_reply_that_waits() {
        let mut fixture = fixture();
        fixture.reply(b"a", ImmediateReply::DONE);
        let slot = fixture.output.wait(&mut fixture.backend, &mut fixture.flow, Stamp::NONE);
        fixture.reply(b"c", ImmediateReply::DONE);
        assert_eq!(fixture.released(), b"a");
        fixture.flow.answers.fill(slot.answer, slot.part, b"b".to_vec(), false);
        assert_eq!(fixture.released(), b"abc");
    }

    #[test]
    fn a_line_of_keys_that_is_abandoned_leaves_its_refusal_alone() {
        let mut fixture = fixture();
        fixture.reply(b"before ", ImmediateReply::DONE);
        fixture.output.begin_line(&mut fixture.flow, None);
        fixture.reply(b"part", ImmediateReply::DONE);
        fixture.output.abandon_line(&mut fixture.backend, &mut fixture.flow, b"refusal");
        assert_eq!(fixture.released(), b"before refusal");
    }

    #[test]
    fn a_part_that_fails_stands_for_its_whole_line() {
        let mut fixture = fixture();
        fixture.output.begin_line(&mut fixture.flow, None);
        fixture.reply(b"part", ImmediateReply::DONE);
        fixture.reply(b"error", ImmediateReply { failed: true, ..ImmediateReply::DONE });
        let Some(KeyLine::Queued(answer)) = fixture.flow.line.take() else { panic!("the line is decided as a whole") };
        fixture.flow.answers.close(answer);
        assert_eq!(fixture.released(), b"error");
    }
}
