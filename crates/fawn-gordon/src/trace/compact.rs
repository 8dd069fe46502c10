//! This project's own format of block traces: binary, a fifth of the text's size, with checksums.
//!
//! Every number is little-endian. A file is a head, blocks and a last block.
//!
//! | bytes | head of the file |
//! |---|---|
//! | 8 | `FAWNTRCE` |
//! | 2, 2 | version 1; zero |
//! | 4 | CRC-32C of the 12 bytes before |
//!
//! | bytes | block |
//! |---|---|
//! | 4, 4 | bytes of the payload, at most 65,536; requests, at least 1 |
//! | 4, 4 | CRC-32C of the payload; CRC-32C of the 12 bytes before |
//! | … | payload |
//!
//! The last block has 0 requests; its payload is the number of all requests (8 bytes), and nothing follows it. A request
//! is a byte of flags and numbers as varints (LEB128), signed ones in zigzag. The request before the first of a block has
//! zeros for all fields, so that a damaged block does not affect others.
//!
//! | flags | field |
//! |---|---|
//! | bits 0, 1 | 0 read, 1 write, 2 discard, 3 flush |
//! | – | time, less the time of the request before (signed) |
//! | bit 3 | the device follows; otherwise it is the one before |
//! | bit 4 | the offset follows, less the end of the request before (signed); otherwise it is that end |
//! | bit 5 | the number of bytes follows; otherwise it is the one before |
//! | bit 2 | the response time follows; otherwise there is none |
//! | bit 6 | both numbers of offset and bytes count sectors of 512 bytes |
//! | bit 7 | zero |
//!
//! Names of devices are not kept.

use std::io::{self, ErrorKind, Read, Write};

use super::error::{BlockProblem, TraceError};
use super::fields::SECTOR_BYTES;
use super::request::{Access, BlockRequest};

/// The first bytes of a compact trace.
pub const MAGIC: [u8; 8] = *b"FAWNTRCE";

/// The version that is written and read.
pub const VERSION: u16 = 1;

/// Bytes of the largest payload.
const MAX_PAYLOAD: usize = 1 << 16;

/// Bytes of the largest request: its flags and five varints.
const MAX_REQUEST: usize = 1 + 5 * 10;

/// Bytes of the heads of the file and of a block.
const HEAD: usize = 16;

const RESPONSE: u8 = 1 << 2;
const DEVICE: u8 = 1 << 3;
const OFFSET: u8 = 1 << 4;
const LENGTH: u8 = 1 << 5;
const SECTORS: u8 = 1 << 6;

/// The fields of the request before.
#[derive(Clone, Copy, Debug, Default)]
struct Predecessor {
    time_ns: u64,
    device: u32,
    end: u64,
    bytes: u64,
}

impl Predecessor {
    fn of(request: &BlockRequest) -> Self {
        Self { time_ns: request.time_ns, device: request.device, end: request.end(), bytes: request.bytes }
    }

    fn encode(&self, request: &BlockRequest, into: &mut Vec<u8>) {
        let BlockRequest { time_ns, device, access, offset, bytes, response_ns } = *request;
        let distance = offset.wrapping_sub(self.end).cast_signed();
        let is_in_sectors = distance % SECTOR_BYTES.cast_signed() == 0 && bytes.is_multiple_of(SECTOR_BYTES);
        let unit = if is_in_sectors { SECTOR_BYTES } else { 1 };
        let (has_device, has_offset, has_length) = (device != self.device, distance != 0, bytes != self.bytes);
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        into.push(
            access as u8
                | flag(response_ns.is_some(), RESPONSE)
                | flag(has_device, DEVICE)
                | flag(has_offset, OFFSET)
                | flag(has_length, LENGTH)
                | flag(is_in_sectors, SECTORS),
        );
        put_signed(into, time_ns.wrapping_sub(self.time_ns).cast_signed());
        if has_device {
            put_varint(into, u64::from(device));
        }
        if has_offset {
            put_signed(into, distance / unit.cast_signed());
        }
        if has_length {
            put_varint(into, bytes / unit);
        }
        if let Some(response_ns) = response_ns {
            put_varint(into, response_ns);
        }
    }

    /// The request at the beginning of `from`, which loses it.
    fn decode(&self, from: &mut &[u8]) -> Option<BlockRequest> {
        let (&flags, rest) = from.split_first()?;
        *from = rest;
        let access = match flags & 3 {
            0 => Access::Read,
            1 => Access::Write,
            2 => Access::Discard,
            _ => Access::Flush,
        };
        if flags >= 1 << 7 {
            return None;
        }
        let unit = if flags & SECTORS == 0 { 1 } else { SECTOR_BYTES };
        let time_ns = self.time_ns.wrapping_add(take_signed(from)?.cast_unsigned());
        let device = if flags & DEVICE == 0 { self.device } else { u32::try_from(take_varint(from)?).ok()? };
        let distance = if flags & OFFSET == 0 { 0 } else { take_signed(from)?.checked_mul(unit.cast_signed())? };
        let offset = self.end.wrapping_add(distance.cast_unsigned());
        let bytes = if flags & LENGTH == 0 { self.bytes } else { take_varint(from)?.checked_mul(unit)? };
        let response_ns = if flags & RESPONSE == 0 { None } else { Some(take_varint(from)?) };
        let request = BlockRequest { time_ns, device, access, offset, bytes, response_ns };
        ((bytes > 0 || access == Access::Flush) && request.has_place()).then_some(request)
    }
}

fn put_varint(into: &mut Vec<u8>, mut number: u64) {
    while number >= 1 << 7 {
        into.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    into.push(number as u8);
}

fn put_signed(into: &mut Vec<u8>, number: i64) {
    put_varint(into, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

fn take_varint(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte < 1 << 7 {
            return Some(number);
        }
    }
    None
}

fn take_signed(from: &mut &[u8]) -> Option<i64> {
    let number = take_varint(from)?;
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

/// Writes a compact trace.
///
/// ```
/// use fawn_gordon::trace::{Access, BlockRequest, CompactWriter, TraceReader};
///
/// let request = |n| BlockRequest { time_ns: n, device: 0, access: Access::Write, offset: n << 12, bytes: 4096, response_ns: None };
/// let mut writer = CompactWriter::new(Vec::new()).unwrap();
/// (0..100).for_each(|n| writer.push(&request(n)).unwrap());
/// let bytes = writer.finish().unwrap();
/// let read: Result<Vec<_>, _> = TraceReader::detect(&bytes[..]).unwrap().collect();
/// assert!(read.unwrap().into_iter().eq((0..100).map(request)));
/// ```
#[derive(Debug)]
pub struct CompactWriter<W> {
    output: W,
    payload: Vec<u8>,
    requests: u32,
    total: u64,
    before: Predecessor,
}

impl<W: Write> CompactWriter<W> {
    /// Begins a trace. The output sees one write a block.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new(mut output: W) -> io::Result<Self> {
        output.write_all(&file_head())?;
        let (payload, before) = (Vec::with_capacity(HEAD + MAX_PAYLOAD), Predecessor::default());
        let mut writer = Self { output, payload, requests: 0, total: 0, before };
        writer.begin();
        Ok(writer)
    }

    /// Adds a request.
    ///
    /// # Errors
    /// The output cannot be written, or the request has an extent that is empty or too large.
    pub fn push(&mut self, request: &BlockRequest) -> io::Result<()> {
        let is_empty = request.bytes == 0 && request.access != Access::Flush;
        if is_empty || !request.has_place() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a request's extent is empty or too large"));
        }
        if self.payload.len() + MAX_REQUEST > HEAD + MAX_PAYLOAD {
            self.end()?;
        }
        self.before.encode(request, &mut self.payload);
        self.before = Predecessor::of(request);
        self.requests += 1;
        self.total += 1;
        Ok(())
    }

    /// Ends the trace, and returns the output.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        if self.requests > 0 {
            self.end()?;
        }
        self.payload.extend_from_slice(&self.total.to_le_bytes());
        self.end()?;
        self.output.flush()?;
        Ok(self.output)
    }

    fn begin(&mut self) {
        self.payload.clear();
        self.payload.resize(HEAD, 0);
        self.requests = 0;
        self.before = Predecessor::default();
    }

    fn end(&mut self) -> io::Result<()> {
        let (head, payload) = self.payload.split_at_mut(HEAD);
        head.copy_from_slice(&block_head(payload, self.requests));
        self.output.write_all(&self.payload)?;
        self.begin();
        Ok(())
    }
}

fn file_head() -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(&MAGIC);
    head[8..10].copy_from_slice(&VERSION.to_le_bytes());
    seal(&mut head);
    head
}

fn block_head(payload: &[u8], requests: u32) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    head[4..8].copy_from_slice(&requests.to_le_bytes());
    head[8..12].copy_from_slice(&crc32c::crc32c(payload).to_le_bytes());
    seal(&mut head);
    head
}

fn seal(head: &mut [u8; HEAD]) {
    let checksum = crc32c::crc32c(&head[..12]);
    head[12..].copy_from_slice(&checksum.to_le_bytes());
}

/// Makes every checksum of a compact trace right again, as far as its blocks can be followed: for fuzzers, whose damage
/// would otherwise end at a checksum.
pub fn mend(trace: &mut [u8]) {
    let Some(head) = trace.first_chunk_mut::<HEAD>() else { return };
    seal(head);
    let mut rest = &mut trace[HEAD..];
    while let Some((head, after)) = rest.split_first_chunk_mut::<HEAD>() {
        let length = word(head, 0) as usize;
        let Some((payload, following)) = after.split_at_mut_checked(length) else { return };
        head[8..12].copy_from_slice(&crc32c::crc32c(payload).to_le_bytes());
        seal(head);
        rest = following;
    }
}

fn word(head: &[u8; HEAD], at: usize) -> u32 {
    u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
}

/// Reads a compact trace: an iterator over its requests, which passes damage on and continues with the next block.
#[derive(Debug)]
pub struct CompactReader<R> {
    input: R,
    payload: Vec<u8>,
    /// Bytes of the payload that are read.
    position: usize,
    /// Requests of the block that are not read.
    left: u32,
    before: Predecessor,
    /// Blocks so far.
    blocks: u64,
    /// Requests of all blocks so far.
    total: u64,
    stage: ReadStage,
}

/// How far a trace is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadStage {
    Head,
    Blocks,
    Over,
}

impl<R: Read> CompactReader<R> {
    /// Reads `input`.
    pub fn new(input: R) -> Self {
        Self {
            input,
            payload: Vec::new(),
            position: 0,
            left: 0,
            before: Predecessor::default(),
            blocks: 0,
            total: 0,
            stage: ReadStage::Head,
        }
    }

    fn advance(&mut self) -> Result<Option<BlockRequest>, TraceError> {
        if self.stage == ReadStage::Head {
            self.open()?;
            self.stage = ReadStage::Blocks;
        }
        while self.left == 0 {
            if !self.next_block()? {
                return Ok(None);
            }
        }
        let mut rest = &self.payload[self.position..];
        let Some(request) = self.before.decode(&mut rest) else { return Err(self.bad_block()) };
        self.position = self.payload.len() - rest.len();
        self.before = Predecessor::of(&request);
        self.left -= 1;
        if self.left == 0 && !rest.is_empty() {
            return Err(self.bad_block());
        }
        Ok(Some(request))
    }

    /// Drops what is left of a block whose requests cannot be decoded.
    fn bad_block(&mut self) -> TraceError {
        self.left = 0;
        TraceError::Block { block: self.blocks, problem: BlockProblem::Requests }
    }

    fn open(&mut self) -> Result<(), TraceError> {
        let head = self.head()?;
        let version = u16::from_le_bytes([head[8], head[9]]);
        if head[..8] != MAGIC {
            Err(self.end_of_trace(BlockProblem::Magic))
        } else if !is_sealed(&head) {
            Err(self.end_of_trace(BlockProblem::Head))
        } else if version != VERSION {
            Err(self.end_of_trace(BlockProblem::Version(version)))
        } else {
            Ok(())
        }
    }

    /// Reads the next block. `false` after the last one.
    fn next_block(&mut self) -> Result<bool, TraceError> {
        let head = self.head()?;
        let (length, requests) = (word(&head, 0) as usize, word(&head, 4));
        if !is_sealed(&head) || length > MAX_PAYLOAD {
            return Err(self.end_of_trace(BlockProblem::Head));
        }
        self.payload.resize(length, 0);
        let mut payload = std::mem::take(&mut self.payload);
        let result = self.fill(&mut payload);
        self.payload = payload;
        result?;
        self.blocks += 1;
        let is_whole = crc32c::crc32c(&self.payload) == word(&head, 8);
        if requests == 0 {
            let total = self.payload.as_slice().try_into().map(u64::from_le_bytes).ok();
            if !is_whole || total != Some(self.total) {
                return Err(self.end_of_trace(BlockProblem::Count));
            }
            let follows = self.fill(&mut [0]).is_ok();
            return if follows { Err(self.end_of_trace(BlockProblem::Trailing)) } else { Ok(false) };
        }
        self.total = self.total.saturating_add(u64::from(requests));
        if !is_whole {
            return Err(TraceError::Block { block: self.blocks, problem: BlockProblem::Payload });
        }
        (self.position, self.left, self.before) = (0, requests, Predecessor::default());
        Ok(true)
    }

    fn head(&mut self) -> Result<[u8; HEAD], TraceError> {
        let mut head = [0; HEAD];
        self.fill(&mut head)?;
        Ok(head)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), TraceError> {
        self.input.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => self.end_of_trace(BlockProblem::Truncation),
            _ => TraceError::Input(error),
        })
    }

    fn end_of_trace(&self, problem: BlockProblem) -> TraceError {
        TraceError::Compact { block: self.blocks, problem }
    }
}

fn is_sealed(head: &[u8; HEAD]) -> bool {
    crc32c::crc32c(&head[..12]) == word(head, 12)
}

impl<R: Read> Iterator for CompactReader<R> {
    type Item = Result<BlockRequest, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.stage == ReadStage::Over {
            return None;
        }
        let next = self.advance().transpose();
        if next.as_ref().is_none_or(|result| result.as_ref().is_err_and(TraceError::is_final)) {
            self.stage = ReadStage::Over;
        }
        next
    }
}
