//! A memcached client for one operation at a time, which gives up after a while.
//!
//! After any failure the connection is of no use: an answer could still come.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A connection.
#[derive(Debug)]
pub struct Connection {
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

/// The longest line that makes sense.
const LONGEST_LINE: usize = 4096;

impl Connection {
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
        let line = self.line(deadline)?;
        let words: Vec<&str> = line.split(' ').collect();
        let length = match words.as_slice() {
            ["VALUE", _, _, length, ..] | ["VA", length, ..] => Some(length.parse().map_err(|_| garbled(&line))?),
            _ => None,
        };
        let value = length.map(|length| self.value(length, deadline)).transpose()?;
        if line.starts_with("VALUE ") {
            let end = self.line(deadline)?;
            if end != "END" {
                return Err(garbled(&end));
            }
        }
        Ok(Reply { line, value })
    }

    fn line(&mut self, deadline: Instant) -> io::Result<String> {
        let end = loop {
            match self.buffer.iter().position(|&byte| byte == b'\n') {
                Some(end) => break end,
                None if self.buffer.len() > LONGEST_LINE => return Err(garbled("a line is too long")),
                None => self.receive(deadline)?,
            }
        };
        let line: Vec<u8> = self.buffer.drain(..=end).collect();
        let line = String::from_utf8(line).map_err(|_| garbled("no text"))?;
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }

    fn value(&mut self, length: usize, deadline: Instant) -> io::Result<Vec<u8>> {
        if length > 1 << 24 {
            return Err(garbled("a value is too long"));
        }
        while self.buffer.len() < length + 2 {
            self.receive(deadline)?;
        }
        let mut value: Vec<u8> = self.buffer.drain(..length + 2).collect();
        if !value.ends_with(b"\r\n") {
            return Err(garbled("a value has no end"));
        }
        value.truncate(length);
        Ok(value)
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
        let mut connection = Connection::open(address, Duration::from_secs(5)).unwrap();
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
