//! The bytes of a file with their offset and checksum, and the two things that all is made of: lengths and strings.

use std::io::{ErrorKind, Read};

use crc::{CRC_64_REDIS, Crc, Digest, Table};

use crate::error::RdbError;
use crate::lzf;

/// The checksum of RDB files.
pub(crate) static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);

/// Bytes asked of the source at a time.
const READ_BYTES: usize = 64 << 10;

/// Where a file's bytes come from.
pub trait RdbSource: Read {
    /// The reader is done with these bytes, which follow those of the call before.
    fn passed(&mut self, _bytes: &[u8]) {}
}

impl RdbSource for &[u8] {}

/// A length, or the form of a string that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RdbLength {
    Plain(u64),
    Encoded(u8),
}

/// The bytes of a file, from the front.
pub(crate) struct ByteReader<S> {
    source: S,
    buffer: Vec<u8>,
    /// Where the next byte is in the buffer, and up to where bytes are summed.
    start: usize,
    summed: usize,
    /// The offset of the buffer's first byte.
    base: u64,
    digest: Digest<'static, u64, Table<16>>,
    /// Compressed bytes, whose memory is used again.
    packed: Vec<u8>,
}

impl<S: RdbSource> ByteReader<S> {
    pub fn new(source: S) -> Self {
        let digest = CRC64.digest();
        Self { source, buffer: Vec::new(), start: 0, summed: 0, base: 0, digest, packed: Vec::new() }
    }

    /// The offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Tells the source, and the checksum, of all that was read so far.
    pub fn settle(&mut self) {
        let bytes = &self.buffer[self.summed..self.start];
        self.digest.update(bytes);
        self.source.passed(bytes);
        self.summed = self.start;
    }

    /// The checksum of all bytes so far.
    pub fn checksum(&mut self) -> u64 {
        self.settle();
        self.digest.clone().finalize()
    }

    /// Something is wrong here.
    pub fn damaged(&self, what: &'static str) -> RdbError {
        RdbError::Damaged { offset: self.offset(), what }
    }

    /// What the buffer has next, at least one byte; nothing at the end of the file.
    fn buffered(&mut self) -> Result<&[u8], RdbError> {
        if self.start == self.buffer.len() {
            self.settle();
            self.base += self.buffer.len() as u64;
            (self.start, self.summed) = (0, 0);
            self.buffer.resize(READ_BYTES, 0);
            let read = loop {
                match self.source.read(&mut self.buffer) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    read => break read,
                }
            };
            self.buffer.truncate(*read.as_ref().unwrap_or(&0));
            read?;
        }
        Ok(&self.buffer[self.start..])
    }

    /// At most so many of the next bytes, at least one.
    fn piece(&mut self, most: u64) -> Result<&[u8], RdbError> {
        let offset = self.offset();
        let len = self.buffered()?.len();
        if len == 0 {
            return Err(RdbError::Truncated { offset });
        }
        let len = len.min(usize::try_from(most).unwrap_or(usize::MAX));
        self.start += len;
        Ok(&self.buffer[self.start - len..self.start])
    }

    /// The bytes that are left, if there are fewer than `most`, else so many.
    pub fn rest(&mut self, most: usize) -> Result<Vec<u8>, RdbError> {
        let mut rest = Vec::new();
        while rest.len() < most && !self.buffered()?.is_empty() {
            let piece = self.piece((most - rest.len()) as u64)?;
            rest.extend_from_slice(piece);
        }
        Ok(rest)
    }

    pub fn byte(&mut self) -> Result<u8, RdbError> {
        self.piece(1).map(|piece| piece[0])
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], RdbError> {
        let mut array = [0; N];
        let mut len = 0;
        while len < N {
            let piece = self.piece((N - len) as u64)?;
            array[len..len + piece.len()].copy_from_slice(piece);
            len += piece.len();
        }
        Ok(array)
    }

    /// Passes over so many bytes.
    pub fn skip(&mut self, mut bytes: u64) -> Result<(), RdbError> {
        while bytes > 0 {
            bytes -= self.piece(bytes)?.len() as u64;
        }
        Ok(())
    }

    /// Appends so many bytes. Memory is taken as they come, whatever their number says.
    fn append(&mut self, out: &mut Vec<u8>, bytes: u64) -> Result<(), RdbError> {
        let mut left = bytes;
        while left > 0 {
            let piece = self.piece(left)?;
            out.extend_from_slice(piece);
            left -= piece.len() as u64;
        }
        Ok(())
    }

    /// A length, or the form of a string.
    pub fn length(&mut self) -> Result<RdbLength, RdbError> {
        let first = self.byte()?;
        Ok(match first >> 6 {
            0 => RdbLength::Plain(u64::from(first)),
            1 => RdbLength::Plain(u64::from(first & 0x3f) << 8 | u64::from(self.byte()?)),
            3 => RdbLength::Encoded(first & 0x3f),
            _ => match first {
                0x80 => RdbLength::Plain(u64::from(u32::from_be_bytes(self.array()?))),
                0x81 => RdbLength::Plain(u64::from_be_bytes(self.array()?)),
                _ => return Err(self.damaged("the byte before is no length")),
            },
        })
    }

    /// A number, where no string can be.
    pub fn number(&mut self) -> Result<u64, RdbError> {
        match self.length()? {
            RdbLength::Plain(number) => Ok(number),
            RdbLength::Encoded(_) => Err(self.damaged("the byte before is no number")),
        }
    }

    /// Appends a string; its bytes. `None`: it has more than `most`, and was passed over.
    pub fn string(&mut self, out: &mut Vec<u8>, most: usize) -> Result<Option<usize>, RdbError> {
        let is_too_long = |bytes: u64| !usize::try_from(bytes).is_ok_and(|bytes| bytes <= most);
        let mut number = itoa::Buffer::new();
        let number = match self.length()? {
            RdbLength::Plain(bytes) if is_too_long(bytes) => {
                self.skip(bytes)?;
                return Ok(None);
            }
            RdbLength::Plain(bytes) => {
                self.append(out, bytes)?;
                return Ok(Some(bytes as usize));
            }
            RdbLength::Encoded(0) => number.format(i8::from_le_bytes(self.array()?)),
            RdbLength::Encoded(1) => number.format(i16::from_le_bytes(self.array()?)),
            RdbLength::Encoded(2) => number.format(i32::from_le_bytes(self.array()?)),
            RdbLength::Encoded(3) => return self.unpacked(out, most),
            RdbLength::Encoded(_) => return Err(self.damaged("the byte before begins no string")),
        };
        if number.len() > most {
            return Ok(None);
        }
        out.extend_from_slice(number.as_bytes());
        Ok(Some(number.len()))
    }

    /// Appends a compressed string.
    fn unpacked(&mut self, out: &mut Vec<u8>, most: usize) -> Result<Option<usize>, RdbError> {
        let (packed, bytes) = (self.number()?, self.number()?);
        if packed > bytes {
            return Err(self.damaged("a string is longer compressed than it is"));
        }
        let Some(len) = usize::try_from(bytes).ok().filter(|len| *len <= most) else {
            self.skip(packed)?;
            return Ok(None);
        };
        let mut input = std::mem::take(&mut self.packed);
        input.clear();
        self.append(&mut input, packed)?;
        lzf::unpack(&input, out, len).map_err(|what| self.damaged(what))?;
        self.packed = input;
        // One large string is no reason to hold as much for all others.
        self.packed.shrink_to(READ_BYTES);
        Ok(Some(len))
    }

    /// Passes over a string.
    pub fn skip_string(&mut self) -> Result<(), RdbError> {
        let bytes = match self.length()? {
            RdbLength::Plain(bytes) => bytes,
            RdbLength::Encoded(form @ 0..3) => 1 << form,
            RdbLength::Encoded(3) => {
                let packed = self.number()?;
                self.number()?;
                packed
            }
            RdbLength::Encoded(_) => return Err(self.damaged("the byte before begins no string")),
        };
        self.skip(bytes)
    }
}
