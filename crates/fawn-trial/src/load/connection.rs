//! A memcached client for one operation at a time, which gives up after a while.
//!
//! After any failure the connection is of no use: an answer could still come.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use fawn_memcache::client::{LineReply, MalformedReply, find_line};

/// Bytes of a line that is no reply that are told.
const SHOWN_BYTES: usize = 100;

/// A connection.
#[derive(Debug)]
pub struct TrialConnection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// An answer: a line, and the value that came with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The first line, without its end.
    pub line: String,
    /// The value.
    pub value: Option<Vec<u8>>,
}

impl TrialConnection {
    /// Connects.
    ///
    /// # Errors
    /// Nobody is there, or not soon enough.
    pub fn open(address: SocketAddr, within: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, within)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// The connection broke, the answer is none, or it took too long.
    pub fn call(&mut self, request: &[u8], within: Duration) -> io::Result<Reply> {
        let deadline = Instant::now() + within;
        if !self.buffer.is_empty() {
            return Err(io::Error::new(ErrorKind::InvalidData, "more replies than requests"));
        }
        self.stream.set_write_timeout(Some(within))?;
        self.stream.write_all(request)?;
        loop {
            match LineReply::parse(&self.buffer) {
                Ok(Some((reply, length))) => {
                    let line = std::str::from_utf8(reply.line).map_err(|_| garbled("no text"))?.to_owned();
                    let reply = Reply { line, value: reply.value.map(<[u8]>::to_vec) };
                    self.buffer.drain(..length);
                    return Ok(reply);
                }
                Ok(None) => self.receive(deadline)?,
                Err(MalformedReply) => {
                    let line = find_line(&self.buffer).map_or(&self.buffer[..], |(line, _)| line);
                    return Err(garbled(&String::from_utf8_lossy(&line[..line.len().min(SHOWN_BYTES)])));
                }
            }
        }
    }

    fn receive(&mut self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(ErrorKind::TimedOut, "no answer in time"));
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut bytes = [0; 8192];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "the connection was closed")),
            Ok(length) => {
                self.buffer.extend_from_slice(&bytes[..length]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn garbled(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("not an answer: {what:?}"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// What a server that answers with `answer` is understood to say.
    fn answered(answer: &'static [u8]) -> io::Result<Reply> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; 7]).unwrap();
            stream.write_all(answer).unwrap();
            // Held open until the client goes, so that silence is silence.
            let _ = stream.read(&mut [0; 1]);
        });
        let mut connection = TrialConnection::open(address, Duration::from_secs(5)).unwrap();
        let reply = connection.call(b"gets k\n", Duration::from_millis(200));
        drop(connection);
        server.join().unwrap();
        reply
    }

    #[test]
    fn answers_of_both_protocols_are_understood() {
        let text = answered(b"VALUE k 0 3 17\r\na\nb\r\nEND\r\n").unwrap();
        assert_eq!((text.line.as_str(), text.value.as_deref()), ("VALUE k 0 3 17", Some(&b"a\nb"[..])));
        let meta = answered(b"VA 0 c5\r\n\r\n").unwrap();
        assert_eq!((meta.line.as_str(), meta.value.as_deref()), ("VA 0 c5", Some(&b""[..])));
        assert_eq!(answered(b"STORED\r\n").unwrap().line, "STORED");
    }

    #[test]
    fn silence_half_answers_and_nonsense_are_failures() {
        assert!(answered(b"").is_err());
        assert!(answered(b"STOR").is_err());
        assert!(answered(b"VALUE k 0 3\r\nabcde\r\n").is_err());
        assert!(answered(b"VALUE k 0 x\r\n").is_err());
    }
}
