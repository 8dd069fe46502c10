//! A file from its header to its checksum, a key at a time.

use crate::byte_reader::{ByteReader, RdbSource};
use crate::entry::{RdbEntry, RdbValue};
use crate::error::RdbError;
use crate::hash::{self, HashForm};
use crate::passed_over::{module, pass_over};
use crate::{MOST_KEY_BYTES, VERSIONS};

/// The version from which on a checksum follows the end.
const CHECKSUM_SINCE: u32 = 5;

/// A file that is being read.
pub struct RdbReader<S> {
    input: ByteReader<S>,
    most_value_bytes: usize,
    version: u32,
    database: u32,
    is_over: bool,
}

impl<S: RdbSource> RdbReader<S> {
    /// Reads the header. Of values with more than `most_value_bytes` (of a hash: of all its names and values) only that they are
    /// there is given out.
    ///
    /// # Errors
    /// It is none that is known.
    pub fn open(source: S, most_value_bytes: usize) -> Result<Self, RdbError> {
        let mut input = ByteReader::new(source);
        let version = version(&input.rest(9)?)?;
        Ok(Self { input, most_value_bytes, version, database: 0, is_over: false })
    }

    /// The version of the file.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The offset of the next byte. Between two keys, the source was told of all bytes before it.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// Where the bytes come from.
    pub fn source(&self) -> &S {
        self.input.source()
    }

    /// The next key; `None` at the end, once the checksum has shown that all bytes before are those that were written.
    ///
    /// # Errors
    /// Nothing of the file can be read from there on.
    pub fn next_entry(&mut self) -> Result<Option<RdbEntry>, RdbError> {
        if self.is_over {
            return Ok(None);
        }
        let entry = self.read_entry();
        self.is_over = !matches!(entry, Ok(Some(_)));
        self.input.settle();
        entry
    }

    /// What follows the end of the file, at most so many bytes of it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn rest(&mut self, most: usize) -> Result<Vec<u8>, RdbError> {
        assert!(self.is_over, "the file is read to its end before what follows it");
        self.input.rest(most)
    }

    fn read_entry(&mut self) -> Result<Option<RdbEntry>, RdbError> {
        let mut expires_ms = None;
        loop {
            let offset = self.input.offset();
            let input = &mut self.input;
            match input.byte()? {
                255 => return self.end().map(|()| None),
                254 => {
                    self.database =
                        u32::try_from(input.number()?).map_err(|_| input.damaged("there is no such database"))?;
                }
                253 => expires_ms = Some(u64::from(u32::from_le_bytes(input.array()?)) * 1000),
                // A time before 1970 is past like any other.
                252 => expires_ms = Some(u64::try_from(i64::from_le_bytes(input.array()?)).unwrap_or(0)),
                251 => (0..2).try_for_each(|_| input.number().map(drop))?,
                250 => (0..2).try_for_each(|_| input.skip_string())?,
                249 => input.skip(1)?,
                248 => drop(input.number()?),
                247 => {
                    // The module, and when it reads this: a kind of number and the number.
                    (0..3).try_for_each(|_| input.number().map(drop))?;
                    module(input)?;
                }
                246 => {
                    let what = "functions as only release candidates of Redis 7.0 wrote them";
                    return Err(RdbError::Unsupported { offset, what });
                }
                245 => input.skip_string()?,
                // A slot of a cluster, and how many keys it has with and without expiry.
                244 => (0..3).try_for_each(|_| input.number().map(drop))?,
                number => {
                    let (key, key_bytes) = self.key()?;
                    if let Some(value) = self.value(number, offset)? {
                        let database = self.database;
                        return Ok(Some(RdbEntry { database, key, key_bytes, expires_ms, value }));
                    }
                    expires_ms = None;
                }
            }
        }
    }

    /// The key, or nothing if it is too long, and its bytes.
    fn key(&mut self) -> Result<(Vec<u8>, u64), RdbError> {
        let (mut key, start) = (Vec::new(), self.input.offset());
        let bytes = match self.input.string(&mut key, MOST_KEY_BYTES)? {
            Some(bytes) => bytes as u64,
            // As many as it takes in the file, compressed or not.
            None => self.input.offset() - start,
        };
        Ok((key, bytes))
    }

    /// A value; `None` for a hash without fields, which Redis does not load either.
    fn value(&mut self, number: u8, offset: u64) -> Result<Option<RdbValue>, RdbError> {
        let form = match number {
            0 => {
                let mut value = Vec::new();
                let is_all = self.input.string(&mut value, self.most_value_bytes)?.is_some();
                return Ok(Some(if is_all { RdbValue::String(value) } else { RdbValue::TooLarge }));
            }
            4 => HashForm::Table,
            6 => {
                let what = "a module's value as only release candidates of Redis 4.0 wrote it";
                return Err(RdbError::Unsupported { offset, what });
            }
            9 => HashForm::Zipmap,
            13 => HashForm::Ziplist,
            16 => HashForm::Listpack,
            number => {
                let passed = pass_over(&mut self.input, number)?;
                let what = "there is no such type of value";
                return passed.map(|kind| Some(RdbValue::Other(kind))).ok_or(RdbError::Damaged { offset, what });
            }
        };
        Ok(match hash::read(&mut self.input, form, self.most_value_bytes)? {
            None => Some(RdbValue::TooLarge),
            Some(fields) if fields.is_empty() => None,
            Some(fields) => Some(RdbValue::Hash(fields)),
        })
    }

    /// The checksum.
    fn end(&mut self) -> Result<(), RdbError> {
        if self.version < CHECKSUM_SINCE {
            return Ok(());
        }
        let (offset, found) = (self.input.offset(), self.input.checksum());
        let stored = u64::from_le_bytes(self.input.array()?);
        // Zero: whoever wrote it was told to leave it out.
        if stored == found || stored == 0 { Ok(()) } else { Err(RdbError::Checksum { offset, stored, found }) }
    }
}

/// What a header says.
fn version(header: &[u8]) -> Result<u32, RdbError> {
    let (digits, is_foreign) = match (header.strip_prefix(b"REDIS"), header.strip_prefix(b"VALKEY")) {
        (Some(digits), _) => (digits, false),
        (_, Some(digits)) => (digits, true),
        _ if b"REDIS".starts_with(header) => return Err(RdbError::Truncated { offset: header.len() as u64 }),
        _ => return Err(RdbError::NoRdb),
    };
    if header.len() < 9 {
        return Err(RdbError::Truncated { offset: header.len() as u64 });
    }
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(RdbError::NoRdb);
    }
    let version = digits.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    if is_foreign || !VERSIONS.contains(&version) { Err(RdbError::Version(version)) } else { Ok(version) }
}
