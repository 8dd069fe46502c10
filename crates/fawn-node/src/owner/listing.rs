//! Listing the keys of a store, part by part.

use super::{Client, Done, Owner};
use crate::clock::Now;
use crate::operate;
use crate::stores::{Stores, Ticket};
use fawn_memcache::{Debug, Dump, report};
use fawn_ring::Key;
use fawn_store::record::Record;
use fawn_store::work::Scanned;

/// Who listens to a scan.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanTask {
    client: Client,
    store: usize,
    form: Dump,
}

impl<S: Stores> Owner<S> {
    /// Begins to list the keys of `store` from `from` on; the answer is one part of a listing (see [`Listed`]).
    pub fn list(&mut self, client: Client, store: usize, from: Key, first: bool, form: Dump, now: Now) {
        self.next_scan = self.next_scan.wrapping_add(1);
        self.scans.insert(self.next_scan, ScanTask { client, store, form });
        self.stores.scan(store, self.next_scan, from, first, now);
    }

    pub(super) fn scanned(&mut self, ticket: Ticket, scanned: &Scanned) {
        let ScanTask { client, store, form } = self.scans.remove(&ticket).expect("a scan is answered once");
        if let Some(why) = &scanned.error {
            tracing::error!("cannot list the keys: {why}");
        }
        if let Some(lost) = &scanned.lost {
            tracing::error!("the list of keys is incomplete: {lost}");
        }
        let lost = scanned.lost.as_ref().map_or(0, |lost| lost.records);
        let mut bytes = Listed { next: scanned.next, failed: scanned.error.is_some(), lost }.encode();
        let mut rest = &scanned.records[..];
        while let Ok((record, len)) = Record::decode(rest) {
            rest = &rest[len..];
            match form {
                Dump::Mgdump => report::mgdump(&mut bytes, record.key),
                Dump::Metadump => {
                    let last = self.recency[store].get(&self.secret.position(record.key));
                    let item = Debug {
                        expiry: (record.expiry != 0).then_some(record.expiry),
                        access: last.map_or(0, |last| last.at),
                        cas: self.cas_numbers[store].of(&record),
                        fetched: last.is_some_and(|last| last.fetched),
                        class: 1,
                        size: operate::item_size(&record),
                        flags: record.client_flags,
                    };
                    report::metadump(&mut bytes, record.key, &item);
                }
            }
        }
        self.done.push_back(Done::of(client, bytes));
    }
}

/// What comes before the lines of one part of a listing, between loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Where the store's next part begins.
    pub next: Option<Key>,
    /// The listing cannot go on.
    pub failed: bool,
    /// Keys of this part that cannot be read.
    pub lost: u64,
}

impl Listed {
    const BYTES: usize = 1 + Key::LEN + 8;

    pub fn encode(self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.next.is_some()) | u8::from(self.failed) << 1];
        bytes.extend_from_slice(&self.next.unwrap_or(Key::MIN).0);
        bytes.extend_from_slice(&self.lost.to_le_bytes());
        bytes
    }

    /// What [`Owner::list`] answered, and the lines.
    pub fn decode(bytes: &[u8]) -> (Self, &[u8]) {
        let (head, lines) = bytes.split_at(Self::BYTES);
        let mut key = Key::MIN;
        key.0.copy_from_slice(&head[1..=Key::LEN]);
        let mut lost = [0; 8];
        lost.copy_from_slice(&head[1 + Key::LEN..]);
        let (next, failed) = ((head[0] & 1 != 0).then_some(key), head[0] & 2 != 0);
        (Self { next, failed, lost: u64::from_le_bytes(lost) }, lines)
    }
}
