//! A server that does nothing: it answers every get with one value, says of every set that it was stored, and keeps none.
//! It is the floor that no server with epoll can be below, and what the generator is measured against.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fawn_resp::{CommandEvent, CommandReader, Excess, ReaderLimits};
use fawn_workload::write_value;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use crate::error::LoadgenError;
use crate::pipe::{Pipe, ReceiveOutcome};
use crate::protocol::{Codec, LoadProtocol, key};

/// The entry whose value is shown, and its version.
pub const SHOWN: (u64, u32) = (0, 1);

const EVENTS: usize = 256;
/// Longest request line.
const LONGEST_LINE: usize = 2048;
const RECEIVE_BYTES: usize = 256 << 10;
/// What epoll says of the listener; connections are their places.
const LISTENER: u64 = u64::MAX;
/// How often it is looked whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// The server.
pub struct NullServer {
    listener: TcpListener,
    epoll: OwnedFd,
    connections: Vec<Option<NullConnection>>,
    free: Vec<usize>,
    answers: Answers,
    buffer: Vec<u8>,
    out: Vec<u8>,
}

/// The answers to gets, by protocol, which are always the same.
struct Answers {
    text: Vec<u8>,
    meta: Vec<u8>,
    redis: Vec<u8>,
}

struct NullConnection {
    pipe: Pipe,
    input: RequestScanner,
}

/// How far the requests of a connection were read.
#[derive(Default)]
struct RequestScanner {
    /// Bytes of a value that are yet to come, with its line end.
    skip: usize,
    /// What is said when they are there.
    then: &'static [u8],
    /// Reads commands of Redis's protocol, of which there was one.
    redis: Option<CommandReader>,
}

/// Only a set is longer. Its value need not be kept.
const REDIS_LIMITS: ReaderLimits = ReaderLimits { words: 8, command_bytes: 256 };

impl NullServer {
    /// Listens; port 0 takes a free one. Values have `value_bytes` bytes, at least 8.
    ///
    /// # Errors
    /// [`LoadgenError::Listen`], and what the system says to a new epoll set.
    pub fn bind(address: SocketAddr, value_bytes: usize) -> Result<Self, LoadgenError> {
        let refused = |source| LoadgenError::Listen { address: address.to_string(), source };
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        let mut value = vec![0; value_bytes];
        write_value(SHOWN.0, SHOWN.1, &mut value);
        let hit = |protocol| {
            let mut out = Vec::new();
            Codec::new(protocol, value_bytes).push_hit(&key(SHOWN.0), &value, &mut out);
            out
        };
        Ok(Self {
            listener,
            epoll,
            connections: Vec::new(),
            free: Vec::new(),
            answers: Answers {
                text: hit(LoadProtocol::Text),
                meta: hit(LoadProtocol::Meta),
                redis: hit(LoadProtocol::Resp),
            },
            buffer: vec![0; LONGEST_LINE + RECEIVE_BYTES],
            out: Vec::new(),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn address(&self) -> Result<SocketAddr, LoadgenError> {
        self.listener.local_addr().map_err(LoadgenError::System)
    }

    /// Serves until it is to stop.
    ///
    /// # Errors
    /// What the system says of the epoll set. Connections that break are closed.
    pub fn run(mut self, stop: &AtomicBool) -> Result<(), LoadgenError> {
        let mut events = Vec::with_capacity(EVENTS);
        let wait = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
        while !stop.load(Ordering::Relaxed) {
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&wait)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    at => self.serve(at as usize),
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true)).is_err() {
                continue;
            }
            let at = self.free.pop().unwrap_or(self.connections.len());
            let Ok(pipe) = Pipe::new(stream.into(), &self.epoll, at as u64) else { continue };
            if at == self.connections.len() {
                self.connections.push(None);
            }
            self.connections[at] = Some(NullConnection { pipe, input: RequestScanner::default() });
        }
    }

    fn serve(&mut self, at: usize) {
        let Some(connection) = &mut self.connections[at] else { return };
        let goes_on = if connection.pipe.is_blocked() {
            // Whoever does not take answers is not listened to.
            connection.pipe.send_more(&self.epoll).is_ok()
        } else {
            match connection.pipe.receive(&mut self.buffer) {
                Ok(ReceiveOutcome::Bytes(held)) => {
                    self.out.clear();
                    let input = &self.buffer[..held];
                    let taken = connection.input.answer(input, &self.answers, &mut self.out);
                    connection.pipe.keep(&input[taken..]);
                    let is_short = held - taken <= LONGEST_LINE;
                    is_short && (self.out.is_empty() || connection.pipe.send(&self.epoll, &self.out).is_ok())
                }
                Ok(ReceiveOutcome::Nothing) => true,
                Ok(ReceiveOutcome::End) | Err(_) => false,
            }
        };
        if !goes_on {
            self.connections[at] = None;
            self.free.push(at);
        }
    }
}

impl RequestScanner {
    /// Answers what came; how many bytes of it were used.
    fn answer(&mut self, input: &[u8], answers: &Answers, out: &mut Vec<u8>) -> usize {
        if self.redis.is_none() && self.skip == 0 && input.starts_with(b"*") {
            self.redis = Some(CommandReader::new(REDIS_LIMITS, false));
        }
        if let Some(reader) = &mut self.redis {
            return answer_redis(reader, input, answers, out);
        }
        let mut at = 0;
        loop {
            if self.skip > 0 {
                let skipped = self.skip.min(input.len() - at);
                self.skip -= skipped;
                at += skipped;
                if self.skip > 0 {
                    return at;
                }
                out.extend_from_slice(self.then);
            }
            let Some(end) = memchr::memchr(b'\n', &input[at..]) else { return at };
            let line = &input[at..at + end];
            at += end + 1;
            match line {
                [b'g', ..] => out.extend_from_slice(&answers.text),
                [b'm', b'g', ..] => out.extend_from_slice(&answers.meta),
                [b's', ..] => self.begin_value(line, b"STORED\r\n", out),
                [b'm', b's', ..] => self.begin_value(line, b"HD\r\n", out),
                [b'm', b'n', ..] => out.extend_from_slice(b"MN\r\n"),
                _ => out.extend_from_slice(b"ERROR\r\n"),
            }
        }
    }

    /// A set's value comes next: the line's last number is its length.
    fn begin_value(&mut self, line: &[u8], then: &'static [u8], out: &mut Vec<u8>) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let digits = line.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        match std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<usize>().ok()) {
            Some(length) => (self.skip, self.then) = (length.saturating_add(2), then),
            None => out.extend_from_slice(b"CLIENT_ERROR bad command line format\r\n"),
        }
    }
}

/// The reply to a set.
const SET_REPLY: &[u8] = b"+OK\r\n";

/// As [`RequestScanner::answer`], on a connection of Redis's protocol.
fn answer_redis(reader: &mut CommandReader, input: &[u8], answers: &Answers, out: &mut Vec<u8>) -> usize {
    let mut at = 0;
    loop {
        let step = reader.next(&input[at..]);
        at += step.consumed;
        match step.event {
            CommandEvent::Command(words) => match words.name() {
                b"GET" => out.extend_from_slice(&answers.redis),
                b"SET" => out.extend_from_slice(SET_REPLY),
                _ => out.extend_from_slice(b"-ERR unknown command\r\n"),
            },
            CommandEvent::NeedMore { .. } => return at,
            CommandEvent::Broken(error) => {
                out.extend_from_slice(format!("-ERR Protocol error: {error}\r\n").as_bytes());
                return input.len();
            }
            CommandEvent::Excess(Excess::Bytes) => out.extend_from_slice(SET_REPLY),
            CommandEvent::Excess(Excess::Words) => out.extend_from_slice(b"-ERR too many words\r\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_rediss_protocol_are_answered_in_it() {
        let answers = Answers { text: Vec::new(), meta: Vec::new(), redis: b"$1\r\nv\r\n".to_vec() };
        let input = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nab\r\n*1\r\n$4\r\nPING\r\n";
        for cut in 0..=input.len() {
            let (mut state, mut out) = (RequestScanner::default(), Vec::new());
            let taken = state.answer(&input[..cut], &answers, &mut out);
            let taken = taken + state.answer(&input[taken..], &answers, &mut out);
            let said = "$1\r\nv\r\n+OK\r\n-ERR unknown command\r\n";
            assert_eq!((taken, String::from_utf8_lossy(&out).as_ref()), (input.len(), said), "cut at {cut}");
        }
    }

    #[test]
    fn requests_are_answered_in_order_wherever_they_are_cut() {
        let answers = Answers { text: b"hit ".to_vec(), meta: b"meta ".to_vec(), redis: Vec::new() };
        let input = b"get a\r\nset b 0 0 5\r\n12\r\n5\r\nmg c v\r\nms d 3\r\nabc\r\nmn\r\nwhat\r\nset e\r\n";
        let expected = "hit STORED\r\nmeta HD\r\nMN\r\nERROR\r\nCLIENT_ERROR bad command line format\r\n";
        for cut in 0..=input.len() {
            let (mut state, mut out) = (RequestScanner::default(), Vec::new());
            let taken = state.answer(&input[..cut], &answers, &mut out);
            let taken = taken + state.answer(&input[taken..], &answers, &mut out);
            assert_eq!((taken, String::from_utf8_lossy(&out).as_ref()), (input.len(), expected), "cut at {cut}");
        }
    }
}
