//! Listing the keys of a store, part by part.

use super::ShardExecutor;
use crate::request::{Completion, Listed, ListingDetail, ListingForm, ReplyTo, Ticket};
use crate::runtime::clock::Now;
use crate::shard::operate;
use crate::shard::stores::Stores;
use fawn_ring::Key;
use fawn_store::record::Record;
use fawn_store::work::Scanned;

/// Who listens to a scan.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanTask {
    client: ReplyTo,
    store: usize,
    form: ListingForm,
}

impl<S: Stores> ShardExecutor<S> {
    /// Begins to list the keys of `store` from `from` on; the answer is one part of a listing (see [`Listed`]).
    pub fn list(&mut self, client: ReplyTo, store: usize, from: Key, first: bool, form: ListingForm, now: Now) {
        self.next_scan = self.next_scan.wrapping_add(1);
        self.scans.insert(self.next_scan, ScanTask { client, store, form });
        self.stores.scan(store, self.next_scan, from, first, now);
    }

    pub(super) fn scanned(&mut self, ticket: Ticket, scanned: &Scanned) {
        let ScanTask { client, store, form } = self.scans.remove(&ticket).expect("a scan is answered once");
        if let Some(why) = &scanned.error {
            tracing::error!("keys cannot be listed: {why}");
        }
        if let Some(lost) = &scanned.lost {
            tracing::error!("a listing of keys is not complete: {lost}");
        }
        let lost = scanned.lost.as_ref().map_or(0, |lost| lost.records);
        let mut bytes = Listed { next: scanned.next, failed: scanned.error.is_some(), lost }.encode();
        let mut rest = &scanned.records[..];
        while let Ok((record, len)) = Record::decode(rest) {
            rest = &rest[len..];
            let info = (form.detail == ListingDetail::Items).then(|| {
                let last_use = self.recency[store].get(&self.secret.position(record.key));
                operate::info_of(&record, self.cas_numbers[store].of(&record), last_use)
            });
            form.writer.write_listed(&mut bytes, record.key, info.as_ref());
        }
        self.done.push_back(Completion::of(client, bytes));
    }
}
