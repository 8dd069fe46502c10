//! The keys of a database with what they hold, a batch at a time.

use std::time::{Duration, Instant};

use anyhow::Context;
use fawn_kv::operation::hash::HashWriter;
use fawn_resp::client::push_command;

use super::connection::{RedisConnection, RedisReply, RedisSource};
use super::error::RedisError;
use super::left_out::LeftOut;

/// Keys that a SCAN is to look at.
const SCAN_COUNT: &[u8] = b"1000";

/// Keys whose values are asked for together, and bytes of these, as far as they are known.
const WINDOW: (usize, usize) = (256, 4 << 20);

/// What a field of a hash may take; a guess, until it is there.
const FIELD_BYTES: usize = 128;

/// How often a question is asked again whose connection breaks each time.
const MOST_ATTEMPTS: u32 = 10;

/// Waits before a connection is made again: the first, and the longest.
const WAIT: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// Replies that say that a key has gone to another node of a cluster.
const ELSEWHERE: [&str; 2] = ["MOVED ", "ASK "];

/// A string or a hash, as a server or a store takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisRecord {
    /// The key.
    pub key: Vec<u8>,
    /// The value; `None`: it is too large.
    pub value: Option<Vec<u8>>,
    /// Whether the value is a hash, in the form that FAWN gives it.
    pub is_hash: bool,
    /// When it expires.
    pub expires: Option<Instant>,
}

/// A database that is being read.
pub struct RedisReader<'a> {
    source: &'a RedisSource,
    /// Takes lines for a person.
    say: &'a dyn Fn(&str),
    most_value_bytes: usize,
    /// Whether a key can go where it is to go.
    is_loadable: fn(&[u8]) -> bool,
    connection: RedisConnection,
    /// As the server gave it; `None`: it has listed all.
    cursor: Option<Vec<u8>>,
    left_out: LeftOut,
    vanished: u64,
}

/// A key of a batch, and what is known of it.
struct ListedKey {
    key: Vec<u8>,
    is_hash: bool,
    /// Bytes of a string, fields of a hash.
    size: usize,
}

impl<'a> RedisReader<'a> {
    /// Connects. Values above `most_value_bytes` are not fetched, nor those of keys that are not loadable.
    ///
    /// # Errors
    /// The server cannot be reached, or does not let us in.
    pub fn open(
        source: &'a RedisSource,
        most_value_bytes: usize,
        is_loadable: fn(&[u8]) -> bool,
    ) -> Result<Self, RedisError> {
        let connection = RedisConnection::open(source)?;
        let mut other_databases = connection.info().keys.clone();
        other_databases.remove(&source.database);
        let left_out = LeftOut { other_databases, ..LeftOut::default() };
        let cursor = Some(b"0".to_vec());
        Ok(Self { source, say: &|_| {}, most_value_bytes, is_loadable, connection, cursor, left_out, vanished: 0 })
    }

    /// The same reader; from now on `say` is given each line that a person should read.
    pub fn telling<'b>(self, say: &'b dyn Fn(&str)) -> RedisReader<'b>
    where
        'a: 'b,
    {
        if self.connection.info().is_of_cluster {
            let address = self.connection.address();
            say(&format!("fawn: {address} is one node of a Redis cluster: load from each of its primaries"));
        }
        RedisReader { say, ..self }
    }

    /// Keys that the database had at first, if the server says so.
    pub fn keys(&self) -> Option<u64> {
        let info = self.connection.info();
        // Databases without keys are not named.
        (info.run_id.is_some() || !info.keys.is_empty())
            .then(|| info.keys.get(&self.source.database).copied().unwrap_or(0))
    }

    /// What was left out so far.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Keys that were listed, and were gone when they were asked for.
    pub fn vanished(&self) -> u64 {
        self.vanished
    }

    /// Reads some more keys, and gives each string and each hash to `take`; false when there are no more.
    ///
    /// # Errors
    /// The server cannot be reached any more, or refuses something; or `take` failed.
    pub fn read_some(&mut self, take: &mut dyn FnMut(RedisRecord) -> anyhow::Result<()>) -> anyhow::Result<bool> {
        let Some(mut keys) = self.list()? else { return Ok(false) };
        // A key whose type has changed meanwhile is looked at again.
        while !keys.is_empty() {
            let listed = self.typed(std::mem::take(&mut keys))?;
            let listed = self.sized(listed, &mut keys)?;
            let mut rest = listed.as_slice();
            while !rest.is_empty() {
                let (window, behind) = rest.split_at(window(rest));
                for record in self.fetch(window, &mut keys)? {
                    take(record)?;
                }
                rest = behind;
            }
        }
        Ok(self.cursor.is_some())
    }

    /// The next keys that can be loaded; `None` when the server has listed all.
    fn list(&mut self) -> anyhow::Result<Option<Vec<Vec<u8>>>> {
        if self.cursor.is_none() {
            return Ok(None);
        }
        let (next, keys) = self.retrying(|connection, cursor| {
            let cursor = cursor.unwrap_or(b"0");
            let reply = connection.demand(&[b"SCAN", cursor, b"COUNT", SCAN_COUNT])?;
            let RedisReply::Array(2) = reply else { return Err(connection.unexpected(&reply)) };
            let next = bulk(connection)?;
            let reply = connection.reply(usize::MAX)?;
            let RedisReply::Array(count) = reply else { return Err(connection.unexpected(&reply)) };
            let mut keys = Vec::new();
            for _ in 0..count {
                keys.push(bulk(connection)?);
            }
            Ok((next, keys))
        })?;
        self.cursor = Some(next).filter(|next| next != b"0");
        let (left_out, is_loadable) = (&mut self.left_out.unloadable_keys, self.is_loadable);
        let keep = |key: &Vec<u8>| {
            let is_kept = is_loadable(key);
            if !is_kept {
                left_out.add(key);
            }
            is_kept
        };
        let mut keys = keys;
        keys.retain(keep);
        Ok(Some(keys))
    }

    /// The strings and hashes among the keys.
    fn typed(&mut self, keys: Vec<Vec<u8>>) -> anyhow::Result<Vec<ListedKey>> {
        let mut commands = Vec::new();
        for key in &keys {
            push_command(&mut commands, &[b"TYPE", key]);
        }
        let types = self.retrying(|connection, _| {
            connection.send(&commands)?;
            let mut types = Vec::with_capacity(keys.len());
            for _ in &keys {
                match connection.reply(usize::MAX)? {
                    RedisReply::Word(name) => types.push(name),
                    RedisReply::Error(line) if is_elsewhere(&line) => types.push("none".to_owned()),
                    reply => return Err(connection.unexpected(&reply)),
                }
            }
            Ok(types)
        })?;
        let mut listed = Vec::new();
        for (key, name) in keys.into_iter().zip(types) {
            match name.as_str() {
                "string" | "hash" => listed.push(ListedKey { key, is_hash: name == "hash", size: 0 }),
                "none" => self.vanished += 1,
                other => self.left_out.add_type(other, &key),
            }
        }
        Ok(listed)
    }

    /// The same keys with their sizes. Those of another type by now go to `again`.
    fn sized(&mut self, listed: Vec<ListedKey>, again: &mut Vec<Vec<u8>>) -> anyhow::Result<Vec<ListedKey>> {
        let mut commands = Vec::new();
        for listed in &listed {
            let command: &[u8] = if listed.is_hash { b"HLEN" } else { b"STRLEN" };
            push_command(&mut commands, &[command, &listed.key]);
        }
        let sizes = self.retrying(|connection, _| {
            connection.send(&commands)?;
            let mut sizes = Vec::with_capacity(listed.len());
            for _ in &listed {
                match connection.reply(usize::MAX)? {
                    RedisReply::Integer(size) => sizes.push(Some(usize::try_from(size).unwrap_or(0))),
                    RedisReply::Error(line) if is_of_other_type(&line) => sizes.push(None),
                    // What has gone elsewhere is told so again.
                    RedisReply::Error(line) if is_elsewhere(&line) => sizes.push(Some(0)),
                    reply => return Err(connection.unexpected(&reply)),
                }
            }
            Ok(sizes)
        })?;
        let mut kept = Vec::with_capacity(listed.len());
        for (listed, size) in listed.into_iter().zip(sizes) {
            match size {
                Some(size) => kept.push(ListedKey { size, ..listed }),
                None => again.push(listed.key),
            }
        }
        Ok(kept)
    }

    /// What the keys hold. Those of another type by now go to `again`.
    fn fetch(&mut self, window: &[ListedKey], again: &mut Vec<Vec<u8>>) -> anyhow::Result<Vec<RedisRecord>> {
        let most = self.most_value_bytes;
        let is_too_large = |listed: &ListedKey| listed.size > if listed.is_hash { most / 2 } else { most };
        let mut commands = Vec::new();
        for listed in window {
            if !is_too_large(listed) {
                push_command(&mut commands, &[if listed.is_hash { b"HGETALL" } else { b"GET" }, &listed.key]);
            }
            push_command(&mut commands, &[b"PTTL", &listed.key]);
        }
        let found = self.retrying(|connection, _| {
            connection.send(&commands)?;
            let mut found = Vec::with_capacity(window.len());
            for listed in window {
                let value = if is_too_large(listed) {
                    KeyContent::TooLarge
                } else if listed.is_hash {
                    hash(connection, most)?
                } else {
                    string(connection, most)?
                };
                let ttl_ms = match connection.reply(0)? {
                    RedisReply::Integer(ttl_ms) => ttl_ms,
                    RedisReply::Error(line) if is_elsewhere(&line) => -2,
                    reply => return Err(connection.unexpected(&reply)),
                };
                found.push((value, ttl_ms, Instant::now()));
            }
            Ok(found)
        })?;
        let mut records = Vec::with_capacity(found.len());
        for (listed, (content, ttl_ms, now)) in window.iter().zip(found) {
            let value = match content {
                KeyContent::OtherType => {
                    again.push(listed.key.clone());
                    continue;
                }
                KeyContent::Value(value) if ttl_ms != -2 => Some(value),
                KeyContent::TooLarge if ttl_ms != -2 => None,
                // Deleted or expired before, or between the two questions.
                _ => {
                    self.vanished += 1;
                    continue;
                }
            };
            let expires = u64::try_from(ttl_ms).ok().and_then(|ttl_ms| now.checked_add(Duration::from_millis(ttl_ms)));
            records.push(RedisRecord { key: listed.key.clone(), value, is_hash: listed.is_hash, expires });
        }
        Ok(records)
    }

    /// Asks, and asks again where the connection breaks.
    fn retrying<T>(
        &mut self,
        mut ask: impl FnMut(&mut RedisConnection, Option<&[u8]>) -> Result<T, RedisError>,
    ) -> anyhow::Result<T> {
        let mut attempts = 0;
        loop {
            match ask(&mut self.connection, self.cursor.as_deref()) {
                Ok(told) => return Ok(told),
                Err(error) if error.is_passing() && attempts < MOST_ATTEMPTS => {
                    attempts += 1;
                    self.connect_again(error)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Makes the connection again, for as long as the server may be silent.
    fn connect_again(&mut self, why: RedisError) -> anyhow::Result<()> {
        (self.say)(&format!("fawn: connecting again: {why}"));
        let (mut wait, patience, start) = (WAIT.0, self.source.endpoint.timeout, Instant::now());
        let mut last = why;
        while start.elapsed() < patience {
            std::thread::sleep(wait);
            wait = (wait * 2).min(WAIT.1);
            match RedisConnection::open(self.source) {
                Ok(connection) => {
                    let is_same = connection.info().run_id == self.connection.info().run_id;
                    self.connection = connection;
                    if !is_same {
                        (self.say)("fawn: the server was started again: reading from its first key again");
                        self.cursor = Some(b"0".to_vec());
                    }
                    return Ok(());
                }
                Err(error) if error.is_passing() => last = error,
                Err(error) => return Err(error.into()),
            }
        }
        let seconds = patience.as_secs();
        Err(anyhow::Error::from(last)).with_context(|| format!("no connection for {seconds} s"))
    }
}

/// What a key holds.
enum KeyContent {
    Value(Vec<u8>),
    TooLarge,
    Nothing,
    OtherType,
}

fn is_elsewhere(line: &str) -> bool {
    ELSEWHERE.iter().any(|word| line.starts_with(word))
}

fn is_of_other_type(line: &str) -> bool {
    line.starts_with("WRONGTYPE")
}

/// How many of the keys, at least one, have their values fetched together.
fn window(listed: &[ListedKey]) -> usize {
    let (most, most_bytes) = WINDOW;
    let mut bytes = 0_usize;
    let fits = |listed: &&ListedKey| {
        bytes = bytes.saturating_add(listed.size.saturating_mul(if listed.is_hash { FIELD_BYTES } else { 1 }));
        bytes <= most_bytes
    };
    listed.iter().take(most).take_while(fits).count().max(1)
}

/// A string of any length.
fn bulk(connection: &mut RedisConnection) -> Result<Vec<u8>, RedisError> {
    match connection.reply(usize::MAX)? {
        RedisReply::Bulk(Some(bytes)) => Ok(bytes),
        RedisReply::Word(word) => Ok(word.into_bytes()),
        reply => Err(connection.unexpected(&reply)),
    }
}

/// The reply to GET.
fn string(connection: &mut RedisConnection, most: usize) -> Result<KeyContent, RedisError> {
    Ok(match connection.reply(most)? {
        RedisReply::Bulk(Some(value)) => KeyContent::Value(value),
        RedisReply::Bulk(None) => KeyContent::TooLarge,
        RedisReply::Null => KeyContent::Nothing,
        RedisReply::Error(line) if is_of_other_type(&line) => KeyContent::OtherType,
        RedisReply::Error(line) if is_elsewhere(&line) => KeyContent::Nothing,
        reply => return Err(connection.unexpected(&reply)),
    })
}

/// The reply to HGETALL.
fn hash(connection: &mut RedisConnection, most: usize) -> Result<KeyContent, RedisError> {
    let count = match connection.reply(most)? {
        RedisReply::Array(0) | RedisReply::Null => return Ok(KeyContent::Nothing),
        RedisReply::Array(count) if count % 2 == 0 => count,
        RedisReply::Error(line) if is_of_other_type(&line) => return Ok(KeyContent::OtherType),
        RedisReply::Error(line) if is_elsewhere(&line) => return Ok(KeyContent::Nothing),
        reply => return Err(connection.unexpected(&reply)),
    };
    let (mut hash, mut room, mut name) = (HashWriter::with_room(0), most, Vec::new());
    for read in 0..count {
        match connection.reply(room)? {
            RedisReply::Bulk(Some(bytes)) => {
                room -= bytes.len();
                if read % 2 == 0 {
                    name = bytes;
                } else {
                    hash.push((&name, &bytes));
                }
            }
            RedisReply::Bulk(None) => {
                connection.skip(count - read - 1)?;
                return Ok(KeyContent::TooLarge);
            }
            reply => return Err(connection.unexpected(&reply)),
        }
    }
    let hash = hash.finish();
    Ok(if hash.len() > most { KeyContent::TooLarge } else { KeyContent::Value(hash) })
}
