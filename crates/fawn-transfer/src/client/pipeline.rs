//! Many requests in flight on one connection.
//!
//! Requests come over a bounded channel, in batches, and are sent while the window has room; answers are matched with
//! requests by their order. Everything is bounded: when the server is slow, the window shrinks and fills, then the channel
//! fills, and then the producer waits. When the consumer of the answers is slow, nothing more is read and the server waits.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::error::{broken, excerpt};
use super::stream::ServerStream;
use super::window::Window;
use super::{Address, ClientError, MetaReply, ServerConnection};

/// Requests to send together.
#[derive(Debug)]
pub struct RequestBatch<T> {
    /// The requests, as sent.
    pub bytes: Vec<u8>,
    /// What each is about, and the bytes that it costs (its own or its answer's, whichever is large).
    pub requests: Vec<(T, usize)>,
}

impl<T> Default for RequestBatch<T> {
    fn default() -> Self {
        Self { bytes: Vec::new(), requests: Vec::new() }
    }
}

/// Who wants the answers.
pub trait Answers<T> {
    /// Takes one answer, in the order of the requests.
    ///
    /// # Errors
    /// Stops the pipeline.
    fn answer(&mut self, request: T, reply: MetaReply<'_>) -> anyhow::Result<()>;

    /// Called when every answer that has arrived was taken.
    ///
    /// # Errors
    /// Stops the pipeline.
    fn pause(&mut self) -> anyhow::Result<()>;
}

/// Bytes read at a time.
const READ_SIZE: usize = 256 * 1024;

/// While the window has room, a look for new requests at least this often.
const LOOK: Duration = Duration::from_millis(1);

/// Sends every request of the channel and gives every answer to `answers`, until the channel is closed and the last
/// answer has come.
///
/// # Errors
/// The connection broke, the server sent what is no answer, it was silent for the endpoint's time-out, or `answers`
/// refused an answer. The caller must then expect any request without an answer to have been executed or not.
pub fn run_pipeline<T>(
    connection: ServerConnection,
    requests: &Receiver<RequestBatch<T>>,
    answers: &mut impl Answers<T>,
) -> anyhow::Result<()> {
    let (stream, address, timeout) = connection.into_stream();
    stream.set_nonblocking().map_err(|source| ClientError::Broken { address: address.clone(), source })?;
    let mut pipeline = Pipeline {
        stream,
        address,
        timeout,
        out: Vec::new(),
        sent: 0,
        input: Vec::new(),
        parsed: 0,
        flying: VecDeque::new(),
        flying_bytes: 0,
        window: Window::new(),
        open: true,
        heard: Instant::now(),
    };
    while pipeline.take(requests) {
        pipeline.wait()?;
        pipeline.write()?;
        if pipeline.read()? {
            pipeline.hand_out(answers)?;
        }
    }
    answers.pause()
}

/// The state of one connection.
struct Pipeline<T> {
    stream: ServerStream,
    address: Address,
    timeout: Duration,
    /// Requests on their way out; those before `sent` are gone.
    out: Vec<u8>,
    sent: usize,
    /// Bytes that have arrived; those before `parsed` have been handed out.
    input: Vec<u8>,
    parsed: usize,
    /// Requests whose answers are awaited, with their costs, and when they were sent.
    flying: VecDeque<(T, usize, Instant)>,
    flying_bytes: usize,
    window: Window,
    /// Whether more requests may come.
    open: bool,
    /// When something last arrived, or was asked after nothing had been.
    heard: Instant,
}

impl<T> Pipeline<T> {
    /// Takes requests while the window has room; waits for one if there is nothing else to wait for. False when all
    /// is done.
    fn take(&mut self, requests: &Receiver<RequestBatch<T>>) -> bool {
        while self.open && self.has_room() {
            let next = if self.flying.is_empty() {
                let next = requests.recv().map_err(|_| TryRecvError::Disconnected);
                self.heard = Instant::now();
                next
            } else {
                requests.try_recv()
            };
            match next {
                Ok(batch) => self.add(batch),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => self.open = false,
            }
        }
        !self.flying.is_empty()
    }

    /// Whether another batch may be sent.
    fn has_room(&self) -> bool {
        self.window.has_room(self.flying.len(), self.flying_bytes)
    }

    /// Puts a batch behind what is being sent.
    fn add(&mut self, batch: RequestBatch<T>) {
        self.flying_bytes += batch.requests.iter().map(|(_, cost)| cost).sum::<usize>();
        let now = Instant::now();
        self.flying.extend(batch.requests.into_iter().map(|(request, cost)| (request, cost, now)));
        if self.sent == self.out.len() {
            self.out = batch.bytes;
            self.sent = 0;
        } else {
            self.out.extend_from_slice(&batch.bytes);
        }
    }

    /// Waits until the socket can go on, or for a moment if there may be requests to add.
    fn wait(&mut self) -> Result<(), ClientError> {
        let mut wanted = PollFlags::IN;
        if self.sent < self.out.len() || self.stream.wants_write() {
            wanted |= PollFlags::OUT;
        }
        let Some(left) = self.timeout.checked_sub(self.heard.elapsed()) else {
            return Err(ClientError::Silent { address: self.address.clone(), seconds: self.timeout.as_secs() });
        };
        let patience = if self.open && self.has_room() { LOOK } else { left };
        let patience = Timespec { tv_sec: patience.as_secs().cast_signed(), tv_nsec: patience.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&self.stream, wanted)], Some(&patience)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(self.broken(errno.into())),
        }
    }

    /// Sends what the socket takes.
    fn write(&mut self) -> Result<(), ClientError> {
        while self.sent < self.out.len() || self.stream.wants_write() {
            let result = match &self.out[self.sent..] {
                [] => self.stream.flush().map(|()| 0),
                rest => self.stream.write(rest),
            };
            match result {
                Ok(count) => self.sent += count,
                Err(error) if is_retry(&error) => break,
                // What the server said before it hung up tells more than the failed write.
                Err(error) => return if self.read()? { Ok(()) } else { Err(self.broken(error)) },
            }
        }
        Ok(())
    }

    /// Reads what has arrived; true if anything has.
    fn read(&mut self) -> Result<bool, ClientError> {
        self.input.drain(..self.parsed);
        self.parsed = 0;
        let start = self.input.len();
        // A large answer is read in large pieces.
        self.input.resize(start + READ_SIZE.max(start / 2), 0);
        let result = self.stream.read(&mut self.input[start..]);
        self.input.truncate(start + *result.as_ref().unwrap_or(&0));
        match result {
            Ok(0) => Err(ClientError::Closed(self.address.clone())),
            Ok(_) => {
                self.heard = Instant::now();
                Ok(true)
            }
            Err(error) if is_retry(&error) => Ok(false),
            Err(error) => Err(self.broken(error)),
        }
    }

    /// Hands out every whole answer.
    fn hand_out(&mut self, answers: &mut impl Answers<T>) -> anyhow::Result<()> {
        let mut last = None;
        loop {
            let rest = &self.input[self.parsed..];
            let garbled = || ClientError::Garbled { address: self.address.clone(), line: excerpt(rest) };
            let Some((reply, length)) = MetaReply::parse(rest).map_err(|_| garbled())? else { break };
            let (request, cost, sent) = self.flying.pop_front().ok_or_else(garbled)?;
            self.flying_bytes -= cost;
            last = Some(sent);
            answers.answer(request, reply)?;
            self.parsed += length;
        }
        if let Some(sent) = last {
            self.window.answered(sent, self.heard);
        }
        answers.pause()
    }

    fn broken(&self, source: std::io::Error) -> ClientError {
        broken(self.address.clone(), source)
    }
}

/// Whether the socket is fine and wants us to come back.
fn is_retry(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
