//! A connection to Redis: commands sent, and replies read one at a time, of which no string is kept that is longer than wanted.

use std::io::{ErrorKind, Read, Write};

use fawn_resp::client::{Reply, push_command};
use fawn_resp::number;

use super::error::RedisError;
use super::info::RedisInfo;
use crate::client::{Address, ClientError, Credentials, Endpoint, ServerStream, broken, excerpt};

/// The server that is read.
#[derive(Clone, Debug)]
pub struct RedisSource {
    /// How to reach it. Credentials without a user name are those of its default user.
    pub endpoint: Endpoint,
    /// The number of the database.
    pub database: u32,
}

/// One reply, or the beginning of one that has others in it, which follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RedisReply {
    /// A word such as `OK`.
    Word(String),
    /// An error.
    Error(String),
    /// A number.
    Integer(i64),
    /// Nothing.
    Null,
    /// A string; `None`: it is longer than wanted.
    Bulk(Option<Vec<u8>>),
    /// So many replies follow.
    Array(usize),
}

/// Bytes asked of the socket at a time.
const READ_BYTES: usize = 64 << 10;

/// How an alert of any version of TLS begins.
const TLS_ALERT: [u8; 2] = [21, 3];

/// A blocking connection.
pub(super) struct RedisConnection {
    stream: ServerStream,
    endpoint: Endpoint,
    /// What has arrived. Bytes before `consumed` were given out.
    buffer: Vec<u8>,
    consumed: usize,
    info: RedisInfo,
}

impl RedisConnection {
    /// Connects, authenticates, and selects the database.
    pub fn open(source: &RedisSource) -> Result<Self, RedisError> {
        let endpoint = source.endpoint.clone();
        let password = endpoint.credentials.as_ref().map(Credentials::password).transpose()?;
        let stream = ServerStream::connect(&endpoint)?;
        let (buffer, info) = (Vec::new(), RedisInfo::default());
        let mut connection = Self { stream, endpoint, buffer, consumed: 0, info };
        connection.introduce(password.as_deref()).map_err(|error| match error {
            RedisError::Client(ClientError::Closed(address)) => ClientError::TurnedAway(address).into(),
            error => error,
        })?;
        for section in ["server", "keyspace"] {
            // Who may not ask for it does without.
            if let RedisReply::Bulk(Some(text)) = connection.call(&[b"INFO", section.as_bytes()])? {
                connection.info.add(&String::from_utf8_lossy(&text));
            }
        }
        if source.database != 0 {
            connection.demand(&[b"SELECT", source.database.to_string().as_bytes()])?;
        }
        Ok(connection)
    }

    /// Says who we are, and asks for version 3 of the protocol. A server that has none goes on with version 2.
    fn introduce(&mut self, password: Option<&str>) -> Result<(), RedisError> {
        if let Some(password) = password {
            let user = self.endpoint.credentials.as_ref().map(|credentials| credentials.user.clone());
            match user.filter(|user| !user.is_empty()) {
                Some(user) => self.demand(&[b"AUTH", user.as_bytes(), password.as_bytes()])?,
                None => self.demand(&[b"AUTH", password.as_bytes()])?,
            };
        }
        match self.call(&[b"HELLO", b"3"])? {
            RedisReply::Error(line) if line.starts_with("NOAUTH") => Err(self.refused(line)),
            RedisReply::Array(inner) => self.skip(inner),
            _ => Ok(()),
        }
    }

    /// What the server said of itself.
    pub fn info(&self) -> &RedisInfo {
        &self.info
    }

    /// Sends a command and reads its reply.
    pub fn call(&mut self, words: &[&[u8]]) -> Result<RedisReply, RedisError> {
        let mut command = Vec::new();
        push_command(&mut command, words);
        self.send(&command)?;
        self.reply(usize::MAX)
    }

    /// The same; an error as reply is one.
    pub fn demand(&mut self, words: &[&[u8]]) -> Result<RedisReply, RedisError> {
        match self.call(words)? {
            RedisReply::Error(line) => Err(self.refused(line)),
            reply => Ok(reply),
        }
    }

    /// Sends commands. Their replies have to be read before many more are sent.
    pub fn send(&mut self, commands: &[u8]) -> Result<(), RedisError> {
        self.stream.write_all(commands).and_then(|()| self.stream.flush()).map_err(|error| self.failed(error))
    }

    /// The next reply, with a string of at most so many bytes.
    pub fn reply(&mut self, most: usize) -> Result<RedisReply, RedisError> {
        loop {
            if let Some(reply) = self.string(most)? {
                return Ok(reply);
            }
            let Some((reply, bytes)) = Reply::parse(&self.buffer[self.consumed..]).map_err(|_| self.garbled())? else {
                self.receive()?;
                continue;
            };
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let read = match reply {
                Reply::Simple(word) | Reply::Double(word) | Reply::BigNumber(word) => RedisReply::Word(text(word)),
                Reply::Error(line) => RedisReply::Error(text(line)),
                Reply::Integer(number) => RedisReply::Integer(number),
                Reply::Boolean(is_true) => RedisReply::Integer(i64::from(is_true)),
                Reply::Null => RedisReply::Null,
                Reply::Bulk(bytes) => RedisReply::Bulk(Some(bytes.to_vec())),
                Reply::Array(_) | Reply::Map(_) => RedisReply::Array(reply.inner()),
                Reply::Push(inner) => {
                    self.consumed += bytes;
                    self.skip(inner)?;
                    continue;
                }
                Reply::Attributes(pairs) => {
                    self.consumed += bytes;
                    self.skip(2 * pairs)?;
                    continue;
                }
            };
            self.consumed += bytes;
            return Ok(read);
        }
    }

    /// Passes over so many replies, and all that is in them.
    pub fn skip(&mut self, count: usize) -> Result<(), RedisError> {
        let mut left = count;
        while left > 0 {
            left -= 1;
            if let RedisReply::Array(inner) = self.reply(0)? {
                left = left.checked_add(inner).ok_or_else(|| self.garbled())?;
            }
        }
        Ok(())
    }

    /// The next reply if it is a string.
    fn string(&mut self, most: usize) -> Result<Option<RedisReply>, RedisError> {
        let head = loop {
            let unread = &self.buffer[self.consumed..];
            match unread.first() {
                None => self.receive()?,
                Some(b'$') => match memchr::memchr(b'\n', unread) {
                    Some(end) => break end + 1,
                    None if unread.len() > READ_BYTES => return Err(self.garbled()),
                    None => self.receive()?,
                },
                Some(_) => return Ok(None),
            }
        };
        let line = &self.buffer[self.consumed + 1..self.consumed + head];
        let Some(bytes) = line.strip_suffix(b"\r\n").and_then(number::integer).filter(|bytes| *bytes >= -1) else {
            return Err(self.garbled());
        };
        self.consumed += head;
        let Ok(bytes) = usize::try_from(bytes) else { return Ok(Some(RedisReply::Null)) };
        let mut kept = (bytes <= most).then(Vec::new);
        let mut left = bytes;
        while left > 0 {
            if self.consumed == self.buffer.len() {
                self.receive()?;
            }
            let unread = &self.buffer[self.consumed..];
            let piece = &unread[..unread.len().min(left)];
            if let Some(kept) = &mut kept {
                kept.extend_from_slice(piece);
            }
            left -= piece.len();
            self.consumed += piece.len();
        }
        while self.buffer.len() - self.consumed < 2 {
            self.receive()?;
        }
        if !self.buffer[self.consumed..].starts_with(b"\r\n") {
            return Err(self.garbled());
        }
        self.consumed += 2;
        Ok(Some(RedisReply::Bulk(kept)))
    }

    /// Waits for more bytes.
    fn receive(&mut self) -> Result<(), RedisError> {
        self.buffer.drain(..self.consumed);
        self.consumed = 0;
        let start = self.buffer.len();
        self.buffer.resize(start + READ_BYTES, 0);
        let read = self.stream.read(&mut self.buffer[start..]);
        self.buffer.truncate(start + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(ClientError::Closed(self.endpoint.address.clone()).into()),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// The server's address.
    pub fn address(&self) -> &Address {
        &self.endpoint.address
    }

    /// An error as reply, as an error.
    pub fn refused(&self, line: String) -> RedisError {
        RedisError::Refused { address: self.address().clone(), line }
    }

    /// A reply that is none to what was asked.
    pub fn unexpected(&self, reply: &RedisReply) -> RedisError {
        match reply {
            RedisReply::Error(line) => self.refused(line.clone()),
            reply => {
                RedisError::Garbled { address: self.address().clone(), line: excerpt(format!("{reply:?}").as_bytes()) }
            }
        }
    }

    fn failed(&self, source: std::io::Error) -> RedisError {
        let address = self.address().clone();
        RedisError::Client(match source.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                ClientError::Silent { address, seconds: self.endpoint.timeout.as_secs() }
            }
            _ => broken(address, source),
        })
    }

    fn garbled(&self) -> RedisError {
        let (address, unread) = (self.address().clone(), &self.buffer[self.consumed..]);
        if unread.starts_with(&TLS_ALERT) {
            return ClientError::SpeaksTls(address).into();
        }
        RedisError::Garbled { address, line: excerpt(unread) }
    }
}
