//! The open segment: the newest records, in DRAM, in the order they came, with a small hash index of their own.
//!
//! A full one is frozen and sealed: sorted, written as a segment, installed in the slices' indexes, dropped.

use fawn_ring::Key;
use hashbrown::HashTable;

use super::arena::Arena;
use crate::api::Gate;
use crate::format::record::{Kind, Record};

/// Bytes that precede each record in the arena: its key position and its gate.
const ENTRY_HEADER_BYTES: usize = Key::LEN + 8;

/// An append-only buffer of records and the index of the newest of each key.
pub struct OpenSegment {
    /// Entries back to back: position (20 bytes), gate (8 bytes), record.
    arena: Arena,
    /// Arena offset of the newest entry of each key.
    newest: Newest,
    /// Record bytes of entries that a later one superseded.
    superseded: usize,
    /// Keys whose newest record is a delete, or was flushed.
    dead: usize,
    /// Records numbered up to here were flushed while they were here.
    flushed: u64,
}

/// A hash table in pieces: one that grows moves all its entries at once, and looks each up in the arena for its hash,
/// which takes tens of milliseconds for a million and half a tenth of one for a piece of some thousand.
#[derive(Default)]
struct Newest {
    /// Empty until there is an entry; a power of two.
    tables: Box<[HashTable<u32>]>,
    /// Number of tables at full capacity, less one.
    mask: u64,
    /// Entries in all tables.
    keys: usize,
}

/// Bytes of the arena for each table.
const TABLE_ARENA_BYTES: usize = 256 << 10;
/// The bits of a prefix that choose the table are those from this one on. A table uses the lowest bits and the highest.
const TABLE_SHIFT: u32 = 40;

impl Newest {
    fn new(capacity: usize) -> Self {
        let count = (capacity / TABLE_ARENA_BYTES).clamp(1, 256).next_power_of_two();
        Self { mask: count as u64 - 1, ..Self::default() }
    }

    /// The table of a prefix; `None` when nothing is here.
    #[inline]
    fn table(&self, prefix: u64) -> Option<&HashTable<u32>> {
        self.tables.get((prefix >> TABLE_SHIFT & self.mask) as usize)
    }

    #[inline]
    fn table_mut(&mut self, prefix: u64) -> &mut HashTable<u32> {
        if self.tables.is_empty() {
            self.tables = (0..=self.mask).map(|_| HashTable::new()).collect();
        }
        &mut self.tables[(prefix >> TABLE_SHIFT & self.mask) as usize]
    }

    fn iter(&self) -> impl Iterator<Item = &u32> {
        self.tables.iter().flat_map(HashTable::iter)
    }

    /// Empties all tables, keeping their memory.
    fn clear(&mut self) {
        self.tables.iter_mut().for_each(HashTable::clear);
        self.keys = 0;
    }

    /// Bytes of DRAM that the tables hold.
    fn bytes(&self) -> usize {
        let tables: usize = self.tables.iter().map(HashTable::allocation_size).sum();
        tables + size_of_val(&*self.tables)
    }
}

/// One entry of an open segment.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Position of the key.
    pub key: Key,
    /// When the record is durable.
    pub gate: Gate,
    /// The encoded record.
    pub bytes: &'a [u8],
}

impl<'a> Entry<'a> {
    /// The decoded record.
    pub fn record(&self) -> Record<'a> {
        Record::decode_trusted(self.bytes).expect("the open segment holds whole records")
    }
}

impl OpenSegment {
    /// An empty one that takes `capacity` bytes, at most 2 GiB.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity <= 1 << 31, "arena offsets are 32-bit");
        Self { arena: Arena::new(capacity), newest: Newest::new(capacity), superseded: 0, dead: 0, flushed: 0 }
    }

    /// The capacity that one record of `len` bytes needs.
    pub fn capacity_for(len: usize) -> usize {
        len + ENTRY_HEADER_BYTES
    }

    /// How full it is, from 0 to 1.
    pub fn fullness(&self) -> f64 {
        self.bytes() as f64 / self.capacity().max(1) as f64
    }

    /// Whether a record of `len` bytes still fits.
    pub fn fits(&self, len: usize) -> bool {
        self.arena.capacity() - self.arena.len() >= Self::capacity_for(len)
    }

    /// Whether it has memory to append to. Where the system has none, it may have some at the next asking.
    #[inline]
    pub fn has_memory(&mut self) -> bool {
        self.arena.has_memory()
    }

    /// Bytes that it takes.
    pub fn capacity(&self) -> usize {
        self.arena.capacity()
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.arena.len() == 0
    }

    /// Keys whose newest record is here.
    pub fn keys(&self) -> usize {
        self.newest.keys
    }

    /// Keys whose newest record here is neither a delete nor flushed.
    pub fn live_keys(&self) -> usize {
        self.newest.keys - self.dead
    }

    /// Counts all that is here, numbered up to `watermark`, as gone.
    pub fn flush(&mut self, watermark: u64) {
        self.dead = self.newest.keys;
        self.flushed = watermark;
    }

    /// What comes from here on is gone by no flush, whatever its number.
    pub fn forget_flush(&mut self) {
        self.flushed = 0;
    }

    /// Bytes appended, entry headers included.
    pub fn bytes(&self) -> usize {
        self.arena.len()
    }

    /// Bytes of the records that a seal would write.
    pub fn live_bytes(&self) -> usize {
        self.arena.len() - self.superseded
    }

    /// Live keys that `is_wanted` says to count, by position and number, and the bytes of their records: told from `most`
    /// of the keys that are here, or from all.
    pub fn held_where(&self, most: usize, is_wanted: impl Fn(&Key, u64) -> bool) -> (f64, f64) {
        let (mut entries, mut bytes) = (0, 0);
        // Their order has nothing to do with where they lie in the key space.
        for handle in self.newest.iter().take(most) {
            let entry = self.entry(*handle);
            if self.is_live(&entry) && is_wanted(&entry.key, entry.record().seq) {
                entries += 1;
                bytes += entry.bytes.len();
            }
        }
        let scale = (self.keys() as f64 / most as f64).max(1.0);
        (entries as f64 * scale, bytes as f64 * scale)
    }

    /// Whether a newest entry is neither a deletion nor flushed.
    pub fn is_live(&self, entry: &Entry<'_>) -> bool {
        let record = entry.record();
        record.kind != Kind::Delete && record.seq > self.flushed
    }

    /// The newest entries of at most `most` keys that are here, and of how many keys each of them stands for one.
    pub fn sample(&self, most: usize) -> (impl Iterator<Item = Entry<'_>>, f64) {
        let entries = self.newest.iter().take(most).map(|handle| self.entry(*handle));
        (entries, (self.keys() as f64 / most as f64).max(1.0))
    }

    /// DRAM held: the arena's whole capacity and the index.
    pub fn allocated(&self) -> usize {
        self.arena.capacity() + self.index_bytes()
    }

    /// DRAM held by the index alone.
    pub fn index_bytes(&self) -> usize {
        self.newest.bytes()
    }

    /// Appends a record that [`fits`](Self::fits) and makes it the newest of its key; returns its bytes and whether it
    /// superseded one here. Whoever can do without asks whether it [has memory](Self::has_memory) before.
    pub fn append(&mut self, key: &Key, gate: Gate, record: &Record<'_>) -> (&[u8], bool) {
        assert!(self.fits(record.encoded_len()), "the owner freezes a full open segment first");
        let offset = self.arena.len();
        let entry = self.arena.take(ENTRY_HEADER_BYTES + record.encoded_len());
        let (header, body) = entry.split_at_mut(ENTRY_HEADER_BYTES);
        header[..Key::LEN].copy_from_slice(&key.0);
        header[Key::LEN..].copy_from_slice(&gate.0.to_le_bytes());
        record.encode_into(body);
        let arena = self.arena.bytes();
        let same = |other: &u32| {
            let entry = entry_at(arena, *other);
            entry.key == *key && entry.record().key == record.key
        };
        let mut replaced = false;
        self.dead += usize::from(record.kind == Kind::Delete);
        let flushed = self.flushed;
        if let Some(slot) = self.newest.table_mut(key.prefix()).find_mut(key.prefix(), same) {
            let old = entry_at(arena, *slot);
            self.superseded += ENTRY_HEADER_BYTES + old.bytes.len();
            let record = old.record();
            self.dead -= usize::from(record.kind == Kind::Delete || record.seq <= flushed);
            *slot = offset as u32;
            replaced = true;
        } else {
            let prefix = |offset: &u32| entry_at(arena, *offset).key.prefix();
            self.newest.keys += 1;
            self.newest.table_mut(key.prefix()).insert_unique(key.prefix(), offset as u32, prefix);
        }
        (&self.arena.bytes()[offset + ENTRY_HEADER_BYTES..], replaced)
    }

    /// The newest entry of a key.
    #[inline]
    pub fn get(&self, key: &Key, name: &[u8]) -> Option<Entry<'_>> {
        self.find(key, name).map(|handle| self.entry(handle))
    }

    /// The handle of the newest entry of a key.
    #[inline]
    pub fn find(&self, key: &Key, name: &[u8]) -> Option<u32> {
        let table = self.newest.table(key.prefix())?;
        let arena = self.arena.bytes();
        let same = |offset: &u32| {
            let entry = &arena[*offset as usize..];
            entry[..Key::LEN] == key.0 && entry_at(arena, *offset).record().key == name
        };
        table.find(key.prefix(), same).copied()
    }

    /// What is most likely the handle of the newest entry of a key, without a look at the entry.
    #[inline]
    pub fn hint(&self, key: &Key) -> Option<u32> {
        self.newest.table(key.prefix())?.find(key.prefix(), |_| true).copied()
    }

    /// Brings the beginning of the entry of a handle into the processor's caches; what it returns says nothing.
    #[inline]
    pub fn touch(&self, handle: u32) -> u8 {
        let at = handle as usize;
        // Two cache lines: the header, the record's own and its key. The rest is read in one sweep.
        let arena = self.arena.bytes();
        arena[at] ^ arena.get(at + 64).copied().unwrap_or(0)
    }

    /// Handles of the newest entry of each key, in key order.
    pub fn sorted(&self) -> Vec<u32> {
        let mut entries: Vec<(u64, u32)> =
            self.newest.iter().map(|offset| (entry_at(self.arena.bytes(), *offset).key.prefix(), *offset)).collect();
        entries.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0)
                .then_with(|| entry_at(self.arena.bytes(), a.1).key.cmp(&entry_at(self.arena.bytes(), b.1).key))
        });
        entries.into_iter().map(|(_, offset)| offset).collect()
    }

    /// The entry of a handle from [`sorted`](Self::sorted) or [`find`](Self::find).
    pub fn entry(&self, handle: u32) -> Entry<'_> {
        entry_at(self.arena.bytes(), handle)
    }

    /// Has the processor fetch the entries of these handles, which are looked at next.
    pub fn fetch(&self, handles: &[u32]) {
        self.arena.fetch(handles.iter().map(|offset| *offset as usize));
    }

    /// Every entry in the order it came, superseded ones included.
    pub fn all(&self) -> impl Iterator<Item = Entry<'_>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            (at < self.arena.len()).then(|| {
                let entry = entry_at(self.arena.bytes(), at as u32);
                at += ENTRY_HEADER_BYTES + entry.bytes.len();
                entry
            })
        })
    }

    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.arena.clear();
        self.newest.clear();
        self.superseded = 0;
        self.dead = 0;
        self.flushed = 0;
    }
}

#[inline]
fn entry_at(arena: &[u8], offset: u32) -> Entry<'_> {
    let entry = &arena[offset as usize..];
    let mut key = [0; Key::LEN];
    key.copy_from_slice(&entry[..Key::LEN]);
    let mut gate = [0; 8];
    gate.copy_from_slice(&entry[Key::LEN..ENTRY_HEADER_BYTES]);
    let rest = &entry[ENTRY_HEADER_BYTES..];
    let len = Record::peek_len(rest).expect("the open segment holds whole records");
    Entry { key: Key(key), gate: Gate(u64::from_le_bytes(gate)), bytes: &rest[..len] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::record::Marks;
    use fawn_ring::Interval;
    use fawn_ring::Secret;

    fn record<'a>(key: &'a [u8], value: &'a [u8], seq: u64) -> Record<'a> {
        Record {
            kind: Kind::Value,
            marks: Marks::default(),
            epoch: 0,
            seq,
            client_flags: 0,
            expiry: 0,
            client_cas: None,
            key,
            value,
        }
    }

    #[test]
    fn the_newest_record_of_a_key_wins() {
        let secret = Secret([1; 32]);
        let mut open = OpenSegment::new(1 << 20);
        for round in 0..3u64 {
            for n in 0..100u32 {
                let name = format!("key-{n}");
                let value = format!("value-{n}-{round}");
                let key = secret.position(name.as_bytes());
                open.append(&key, Gate(round), &record(name.as_bytes(), value.as_bytes(), round + 1));
            }
        }
        assert_eq!(open.keys(), 100);
        let found = open.get(&secret.position(b"key-7"), b"key-7").map(|entry| entry.record().value.to_vec());
        assert_eq!(found.as_deref(), Some(&b"value-7-2"[..]));
        assert!(open.get(&secret.position(b"key"), b"key").is_none());
        let keys: Vec<Key> = open.sorted().iter().map(|handle| open.entry(*handle).key).collect();
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(open.all().count(), 300);
    }

    #[test]
    fn live_keys_of_a_stretch_are_counted_or_told_from_some() {
        let mut segment = OpenSegment::new(1 << 20);
        for n in 0..1000u64 {
            let mut position = [0; Key::LEN];
            position[..8].copy_from_slice(&n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
            segment.append(&Key(position), Gate(1), &record(&n.to_le_bytes(), b"value", n + 1));
        }
        let halves = Interval::ALL.divide(2);
        let count = |parts: &[Interval], most| {
            let is_in = |key: &Key, _| parts.iter().any(|part| part.contains(key));
            segment.held_where(most, is_in).0.round() as i64
        };
        assert_eq!(count(&halves, 1000), 1000);
        let lower = count(&halves[..1], 5000);
        assert_eq!(lower + count(&halves[1..], 5000), 1000);
        let told = count(&halves[..1], 250);
        assert!((told - lower).abs() < 150, "{told} for {lower}");
        let left = segment.held_where(5000, |key, seq| seq > 990 && halves[0].contains(key)).0.round() as i64;
        assert!((1..=10).contains(&left), "ten are left, and some of them are in the lower half");
    }

    #[test]
    fn two_keys_of_one_position_are_both_kept() {
        let mut open = OpenSegment::new(1 << 12);
        open.append(&Key::MIN, Gate::NONE, &record(b"a", b"1", 1));
        open.append(&Key::MIN, Gate::NONE, &record(b"b", b"2", 2));
        assert_eq!(open.get(&Key::MIN, b"a").map(|entry| entry.record().value.to_vec()), Some(b"1".to_vec()));
        assert_eq!(open.get(&Key::MIN, b"b").map(|entry| entry.record().value.to_vec()), Some(b"2".to_vec()));
        assert_eq!(open.sorted().len(), 2);
    }
}
