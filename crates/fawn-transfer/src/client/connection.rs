//! A connection that sends one request and waits for its answer.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use super::error::{broken, excerpt};
use super::stream::ServerStream;
use super::{Address, ClientError, Endpoint, MetaReply};
use fawn_memcache::client::find_line;

/// A blocking connection.
#[derive(Debug)]
pub struct ServerConnection {
    stream: ServerStream,
    address: Address,
    timeout: Duration,
    /// Bytes that have arrived. Those before `consumed` have been given out.
    buffer: Vec<u8>,
    consumed: usize,
}

impl ServerConnection {
    /// Connects, authenticates, and makes sure that the server speaks the meta protocol.
    ///
    /// # Errors
    /// The server cannot be reached, does not let us in, or speaks something else.
    pub fn open(endpoint: &Endpoint) -> Result<Self, ClientError> {
        let secret = endpoint.secret()?;
        let stream = ServerStream::connect(endpoint)?;
        let address = endpoint.address.clone();
        let mut connection = Self { stream, address, timeout: endpoint.timeout, buffer: Vec::new(), consumed: 0 };
        connection.introduce(secret.as_deref()).map_err(|error| connection.turned_away(error))?;
        match connection.call(b"mn\r\n")? {
            MetaReply::NoOperation => Ok(connection),
            MetaReply::Error(line) if line != b"ERROR" => {
                let line = excerpt(line);
                Err(connection.refused(line))
            }
            _ => Err(ClientError::Garbled { address: connection.address, line: "ERROR".to_owned() }),
        }
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// The connection broke or the answer is not of the meta protocol. An error line is an answer.
    pub fn call(&mut self, request: &[u8]) -> Result<MetaReply<'_>, ClientError> {
        self.send(request)?;
        self.discard();
        loop {
            match MetaReply::parse(&self.buffer) {
                Ok(Some((_, length))) => {
                    self.consumed = length;
                    break;
                }
                Ok(None) => self.receive()?,
                Err(_) => return Err(self.garbled()),
            }
        }
        // Parsed again because a loan that is returned from a loop would outlive the loop's writes.
        let (reply, _) = MetaReply::parse(&self.buffer).ok().flatten().expect("a whole answer was just parsed");
        Ok(reply)
    }

    /// Sends bytes.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        self.stream.write_all(bytes).and_then(|()| self.stream.flush()).map_err(|error| self.failed(error))
    }

    /// Waits for the next line, without its end.
    pub(super) fn line(&mut self) -> Result<&[u8], ClientError> {
        while !self.has_line() {
            self.discard();
            if self.buffer.len() > LONGEST_LINE {
                return Err(self.garbled());
            }
            self.receive()?;
        }
        let start = self.consumed;
        let (line, after) = find_line(&self.buffer[start..]).expect("a line end was just found");
        self.consumed += after;
        Ok(line)
    }

    /// Whether the next line has already arrived.
    pub(super) fn has_line(&self) -> bool {
        memchr::memchr(b'\n', &self.buffer[self.consumed..]).is_some()
    }

    /// The number after `STAT <name> ` in the answer to `stats`.
    ///
    /// # Errors
    /// The connection broke.
    pub fn stat(&mut self, name: &str) -> Result<Option<u64>, ClientError> {
        self.number(b"stats\r\n", name)
    }

    /// The same in the answer to `stats settings`.
    ///
    /// # Errors
    /// The connection broke.
    pub fn setting(&mut self, name: &str) -> Result<Option<u64>, ClientError> {
        self.number(b"stats settings\r\n", name)
    }

    fn number(&mut self, request: &[u8], name: &str) -> Result<Option<u64>, ClientError> {
        self.send(request)?;
        let mut found = None;
        loop {
            let line = self.line()?;
            let text = std::str::from_utf8(line).unwrap_or_default();
            match text.strip_prefix("STAT ").and_then(|rest| rest.split_once(' ')) {
                Some((key, value)) if key == name => found = value.parse().ok(),
                Some(_) => {}
                None => return Ok(found),
            }
        }
    }

    /// The server's address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// An error answer as an error.
    pub fn refused(&self, line: String) -> ClientError {
        ClientError::Refused { address: self.address.clone(), line }
    }

    /// The socket, for a pipeline. Nothing has been read ahead: every answer so far was awaited.
    pub(super) fn into_stream(self) -> (ServerStream, Address, Duration) {
        assert_eq!(self.consumed, self.buffer.len(), "a pipeline starts when every answer was taken");
        (self.stream, self.address, self.timeout)
    }

    /// The first words: who we are, or a question of more than six bytes. A server that wants to know who we are hangs
    /// up at less, without a reason.
    fn introduce(&mut self, secret: Option<&str>) -> Result<(), ClientError> {
        let Some(secret) = secret else {
            self.send(b"version\r\n")?;
            let line = excerpt(self.line()?);
            let is_refusal = line.starts_with("CLIENT_ERROR") || line.starts_with("ERROR ");
            return if is_refusal { Err(self.refused(line)) } else { Ok(()) };
        };
        self.authenticate(secret)
    }

    /// What it means that our first words failed with `error`.
    fn turned_away(&self, error: ClientError) -> ClientError {
        match error {
            ClientError::Closed(address) if self.buffer.starts_with(&TLS_ALERT) => ClientError::SpeaksTls(address),
            ClientError::Closed(address) => ClientError::TurnedAway(address),
            other => other,
        }
    }

    /// Sends memcached's authenticating `set`.
    fn authenticate(&mut self, secret: &str) -> Result<(), ClientError> {
        self.send(format!("set auth 0 0 {}\r\n{secret}\r\n", secret.len()).as_bytes())?;
        let line = excerpt(self.line()?);
        if line == "STORED" { Ok(()) } else { Err(self.refused(line)) }
    }

    /// Forgets what was given out.
    fn discard(&mut self) {
        self.buffer.drain(..self.consumed);
        self.consumed = 0;
    }

    /// Waits for more bytes.
    fn receive(&mut self) -> Result<(), ClientError> {
        let start = self.buffer.len();
        self.buffer.resize(start + READ_SIZE, 0);
        let result = self.stream.read(&mut self.buffer[start..]);
        self.buffer.truncate(start + *result.as_ref().unwrap_or(&0));
        match result {
            Ok(0) => Err(ClientError::Closed(self.address.clone())),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// An error of the socket; a time-out is what a blocking socket calls `WouldBlock`.
    fn failed(&self, source: std::io::Error) -> ClientError {
        let address = self.address.clone();
        match source.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                ClientError::Silent { address, seconds: self.timeout.as_secs() }
            }
            _ => broken(address, source),
        }
    }

    /// What has arrived is no answer.
    fn garbled(&self) -> ClientError {
        ClientError::Garbled { address: self.address.clone(), line: excerpt(&self.buffer) }
    }
}

/// How an alert of any version of TLS begins: its type, and the major version.
const TLS_ALERT: [u8; 2] = [21, 3];

/// No server sends a longer line: a listed key has 65,535 bytes, each as three characters.
const LONGEST_LINE: usize = 256 * 1024;

/// Bytes asked of the socket at a time.
const READ_SIZE: usize = 64 * 1024;
