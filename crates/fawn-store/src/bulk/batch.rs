//! Records on their way into stores, in DRAM: appended as they come, then put in the order of their key positions.
//!
//! A record is kept as it goes to a spool: the store's own record less what is known only later or found again.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | which optional fields follow, and whether the value is a stub |
//! | 1–5 | key length, seven bits a byte, low ones first |
//! | 1–5 | value length, in the same way |
//! | +4 | client flags, when not zero |
//! | +4 | expiry, Unix seconds, when there is one |
//! | +8 | the client's own cas, when it chose one |
//! | … | key, then value |

use fawn_ring::{Interval, Key, Secret};

use crate::api::Write;
use crate::buffers::{Arena, FETCHED_TOGETHER};
use crate::format::record::{HEADER_BYTES, Kind, Marks, Record};

/// Parts of the key space that are sorted each for itself.
const PARTS: usize = 256;
/// Bytes of a batch's memory that each record takes beside its own.
const ENTRY_BYTES: usize = size_of::<Entry>();
/// Longest header of a record: tag, two lengths, flags, expiry, cas.
const LONGEST_HEADER: usize = 1 + 5 + 5 + 4 + 4 + 8;

const STUB: u8 = 1;
const CLIENT_FLAGS: u8 = 2;
const EXPIRY: u8 = 4;
const CLIENT_CAS: u8 = 8;

/// Where a record is.
#[derive(Clone, Copy)]
struct Entry {
    /// Prefix of its key's position.
    prefix: u64,
    /// Offset of its bytes: the greater, the newer.
    at: u64,
}

impl Entry {
    fn rank(&self) -> u128 {
        u128::from(self.prefix) << 64 | u128::from(self.at)
    }
}

/// Records in DRAM. See the module's text.
pub struct Batch {
    /// Records, back to back.
    arena: Arena,
    /// By the top bits of the position; sorted, and one for each key, once [`sort`](Self::sort) was called.
    parts: Vec<Vec<Entry>>,
    records: usize,
    capacity: usize,
}

impl Batch {
    /// A batch that takes about `capacity` bytes of memory once it is full.
    pub fn new(capacity: usize) -> Self {
        Self { arena: Arena::new(capacity), parts: (0..PARTS).map(|_| Vec::new()).collect(), records: 0, capacity }
    }

    /// Whether one more record with a key and a value of these lengths fits. An empty batch takes any.
    #[inline]
    pub fn fits(&self, key: usize, value: usize) -> bool {
        let more = LONGEST_HEADER + key + value + ENTRY_BYTES;
        self.records == 0 || self.arena.len() + self.records * ENTRY_BYTES + more <= self.capacity
    }

    /// Number of records in the batch.
    pub fn len(&self) -> usize {
        self.records
    }

    /// Whether there is no record in it.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Bytes that a version takes in a segment: what decides whether its value has a file of its own.
    #[inline]
    pub fn record_bytes(write: &Write<'_>) -> usize {
        let optional = [write.client_flags != 0, write.expiry != 0].map(|is_there| if is_there { 4 } else { 0 });
        let cas = if write.client_cas.is_some() { 8 } else { 0 };
        HEADER_BYTES + optional[0] + optional[1] + cas + write.key.len() + write.value.len()
    }

    /// Takes a value or a stub, whose key has position `key`. Marks are not kept: what is loaded is neither stale nor won.
    ///
    /// # Panics
    /// When it is a delete record, or longer than a store takes.
    #[inline]
    pub fn push(&mut self, key: &Key, write: &Write<'_>) {
        assert!(write.kind != Kind::Delete, "a load deletes nothing");
        let mut header = [0; LONGEST_HEADER];
        let header_len = encode_header(write, &mut header);
        let len = header_len + write.key.len() + write.value.len();
        if self.arena.len() + len > self.arena.capacity() {
            assert!(self.records == 0, "whoever pushes asks whether it fits");
            self.arena = Arena::new(len);
        }
        let entry = Entry { prefix: key.prefix(), at: self.arena.len() as u64 };
        self.parts[(entry.prefix >> 56) as usize].push(entry);
        self.records += 1;
        let (head, rest) = self.arena.take(len).split_at_mut(header_len);
        head.copy_from_slice(&header[..header_len]);
        let (name, value) = rest.split_at_mut(write.key.len());
        name.copy_from_slice(write.key);
        value.copy_from_slice(write.value);
    }

    /// Sorts what is in it, and forgets records that a later one with the same key supersedes.
    pub fn sort(&mut self, secret: &Secret) {
        let bytes = self.arena.bytes();
        self.records = 0;
        for part in &mut self.parts {
            part.sort_unstable_by_key(Entry::rank);
            if part.windows(2).any(|pair| pair[0].prefix == pair[1].prefix) {
                *part = newest(part, bytes, secret);
            }
            self.records += part.len();
        }
    }

    /// Forgets all records; the memory stays.
    pub fn clear(&mut self) {
        self.arena.clear();
        self.parts.iter_mut().for_each(Vec::clear);
        self.records = 0;
    }

    /// The bytes of the record at a place, and perhaps more behind them.
    #[inline]
    fn at(&self, entry: &Entry) -> &[u8] {
        &self.arena.bytes()[entry.at as usize..]
    }
}

/// Of entries sorted by prefix and age, the newest of each key, sorted by position.
fn newest(part: &[Entry], bytes: &[u8], secret: &Secret) -> Vec<Entry> {
    let mut kept = Vec::with_capacity(part.len());
    for same in part.chunk_by(|one, other| one.prefix == other.prefix) {
        if let [alone] = same {
            kept.push(*alone);
            continue;
        }
        let mut named: Vec<(Key, &[u8], Entry)> = same
            .iter()
            .map(|entry| {
                let name = SpoolRecord::decode(&bytes[entry.at as usize..]).expect("a batch holds whole records").key;
                (secret.position(name), name, *entry)
            })
            .collect();
        named.sort_by(|a, b| (a.0, a.1, b.2.at).cmp(&(b.0, b.1, a.2.at)));
        named.dedup_by(|later, first| later.1 == first.1);
        kept.extend(named.iter().map(|(_, _, entry)| *entry));
    }
    kept
}

/// A walk over the records of a stretch of keys in a sorted batch.
pub(super) struct Places {
    part: usize,
    next: usize,
    /// Records of the part before this one are in the processor's caches.
    fetched: usize,
    low: u64,
    high: u64,
}

impl Places {
    /// Those of the records whose keys lie in `interval`, in order.
    pub(super) fn of(interval: &Interval) -> Self {
        Self { part: 0, next: 0, fetched: 0, low: interval.low.prefix(), high: interval.high.prefix() }
    }

    /// The next record, with its prefix.
    #[inline]
    pub fn next<'b>(&mut self, batch: &'b Batch) -> Option<(u64, SpoolRecord<'b>)> {
        loop {
            let part = batch.parts.get(self.part)?;
            let Some(entry) = part.get(self.next) else {
                self.part += 1;
                (self.next, self.fetched) = (0, 0);
                continue;
            };
            if self.next == 0 && entry.prefix < self.low {
                self.next = part.partition_point(|entry| entry.prefix < self.low);
                continue;
            }
            if entry.prefix > self.high {
                return None;
            }
            if self.next >= self.fetched {
                let group = &part[self.next..part.len().min(self.next + FETCHED_TOGETHER)];
                batch.arena.fetch(group.iter().map(|entry| entry.at as usize));
                self.fetched = self.next + group.len();
            }
            self.next += 1;
            let record = SpoolRecord::decode(batch.at(entry)).expect("a batch holds whole records");
            return Some((entry.prefix, record));
        }
    }
}

/// A record as it lies in a batch or a spool.
#[derive(Clone, Copy)]
pub(super) struct SpoolRecord<'a> {
    tag: u8,
    /// All of its bytes.
    pub bytes: &'a [u8],
    /// The record's optional fields, encoded.
    optional: &'a [u8],
    pub key: &'a [u8],
    value: &'a [u8],
}

impl<'a> SpoolRecord<'a> {
    /// The record at the start of `bytes`; `None` when they end before it does.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Option<Self> {
        let tag = *bytes.first()?;
        let mut at = 1;
        let key = length(bytes, &mut at)?;
        let value = length(bytes, &mut at)?;
        let wide = |bit: u8, width: usize| if tag & bit == 0 { 0 } else { width };
        let optional = wide(CLIENT_FLAGS, 4) + wide(EXPIRY, 4) + wide(CLIENT_CAS, 8);
        let len = at + optional + key + value;
        let bytes = bytes.get(..len)?;
        let (optional, rest) = bytes[at..].split_at(optional);
        let (key, value) = rest.split_at(key);
        Some(Self { tag, bytes, optional, key, value })
    }

    /// The store's record, with this sequence number.
    #[inline]
    pub fn record(&self, seq: u64) -> Record<'a> {
        let mut at = 0;
        let mut optional = |bit: u8, width: usize| {
            let mut word = [0; 8];
            if self.tag & bit != 0 {
                word[..width].copy_from_slice(&self.optional[at..at + width]);
                at += width;
            }
            u64::from_le_bytes(word)
        };
        let client_flags = optional(CLIENT_FLAGS, 4) as u32;
        let expiry = optional(EXPIRY, 4) as u32;
        let cas = optional(CLIENT_CAS, 8);
        Record {
            kind: if self.tag & STUB == 0 { Kind::Value } else { Kind::Stub },
            marks: Marks::default(),
            epoch: 0,
            seq,
            client_flags,
            expiry,
            client_cas: (self.tag & CLIENT_CAS != 0).then_some(cas),
            key: self.key,
            value: self.value,
        }
    }

    /// Bytes that it will take in a segment.
    #[inline]
    pub fn record_bytes(&self) -> u64 {
        (HEADER_BYTES + self.optional.len() + self.key.len() + self.value.len()) as u64
    }
}

fn encode_header(write: &Write<'_>, out: &mut [u8; LONGEST_HEADER]) -> usize {
    let mut at = 1;
    for length in [write.key.len(), write.value.len()] {
        let mut rest = u32::try_from(length).expect("a store takes no such record");
        while rest >= 0x80 {
            out[at] = rest as u8 | 0x80;
            rest >>= 7;
            at += 1;
        }
        out[at] = rest as u8;
        at += 1;
    }
    let mut put = |bit: u8, bytes: &[u8]| {
        out[0] |= bit;
        out[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    if write.kind == Kind::Stub {
        put(STUB, &[]);
    }
    if write.client_flags != 0 {
        put(CLIENT_FLAGS, &write.client_flags.to_le_bytes());
    }
    if write.expiry != 0 {
        put(EXPIRY, &write.expiry.to_le_bytes());
    }
    if let Some(cas) = write.client_cas {
        put(CLIENT_CAS, &cas.to_le_bytes());
    }
    at
}

/// The length at `at`, which moves behind it.
#[inline]
fn length(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut length = 0;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        length |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(length);
        }
    }
    // Bytes that were verified never get here; the record is then cut short for good.
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: Secret = Secret([7; 32]);

    fn push(batch: &mut Batch, write: &Write<'_>) {
        batch.push(&SECRET.position(write.key), write);
    }

    fn names(batch: &Batch, interval: &Interval) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut places = Places::of(interval);
        std::iter::from_fn(|| places.next(batch).map(|(_, record)| (record.key.to_vec(), record.value.to_vec())))
            .collect()
    }

    #[test]
    fn records_come_out_as_they_went_in_whatever_they_carry() {
        let plain = Write::value(b"key", b"value");
        let long = vec![9; 70_000];
        let all = [
            plain,
            Write { client_flags: u32::MAX, ..plain },
            Write { expiry: 5, client_cas: Some(u64::MAX), ..plain },
            Write { kind: Kind::Stub, value: &[1; 20], ..plain },
            Write { value: b"", ..plain },
            Write { key: &long[..60_000], value: &long, client_flags: 1, expiry: 2, client_cas: Some(0), ..plain },
        ];
        for write in all {
            let mut batch = Batch::new(1 << 20);
            push(&mut batch, &write);
            batch.sort(&SECRET);
            let (prefix, spooled) = Places::of(&Interval::ALL).next(&batch).unwrap();
            assert_eq!(prefix, SECRET.position(write.key).prefix());
            let record = spooled.record(77);
            assert_eq!(record.encoded_len() as u64, spooled.record_bytes());
            assert_eq!(record.encoded_len(), Batch::record_bytes(&write));
            let Write { kind, marks, client_flags, expiry, client_cas, key, value } = write;
            assert_eq!(record, Record { kind, marks, epoch: 0, seq: 77, client_flags, expiry, client_cas, key, value });
            for len in 0..spooled.bytes.len().min(200) {
                assert!(SpoolRecord::decode(&spooled.bytes[..len]).is_none(), "{len} bytes are no record");
            }
        }
    }

    #[test]
    fn the_last_of_several_records_with_one_key_is_kept_and_order_is_that_of_positions() {
        let mut batch = Batch::new(1 << 20);
        for round in 0..3u8 {
            for number in 0..500u32 {
                if !number.is_multiple_of(u32::from(round) + 1) {
                    continue;
                }
                push(&mut batch, &Write::value(format!("k{number}").as_bytes(), &[round]));
            }
        }
        batch.sort(&SECRET);
        assert_eq!(batch.len(), 500);
        let found = names(&batch, &Interval::ALL);
        assert!(found.is_sorted_by_key(|(name, _)| SECRET.position(name)));
        for (name, value) in &found {
            let number: u32 = std::str::from_utf8(&name[1..]).unwrap().parse().unwrap();
            let last = (0..3u8).filter(|round| number.is_multiple_of(u32::from(*round) + 1)).max().unwrap();
            assert_eq!(value, &[last], "k{number}");
        }
        let (lower, upper) = Interval::ALL.cut(&Key::highest_with_prefix(u64::MAX / 3)).unwrap();
        assert_eq!([names(&batch, &lower), names(&batch, &upper)].concat(), found);
        batch.clear();
        assert!(batch.is_empty() && names(&batch, &Interval::ALL).is_empty());
    }

    #[test]
    fn a_batch_takes_no_more_than_its_capacity_but_one_record_in_any_case() {
        let mut batch = Batch::new(10_000);
        assert!(batch.fits(10, 1 << 20));
        let mut count = 0;
        while batch.fits(10, 90) {
            push(&mut batch, &Write::value(format!("{count:010}").as_bytes(), &[0; 90]));
            count += 1;
        }
        assert!((70..100).contains(&count), "{count} records of about 120 bytes");
    }
}
