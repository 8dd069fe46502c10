//! Listing the keys of a store, part by part.

use super::ShardExecutor;
use super::pending::PendingScan;
use crate::net::key_scan;
use crate::request::{Completion, ListingDetail, ListingForm, ListingPart, ReplyTo, TaskTicket};
use crate::runtime::clock::Now;
use crate::shard::operate;
use crate::shard::stores::Stores;
use fawn_ring::Key;
use fawn_store::record::Record;
use fawn_store::work::ScanPart;

impl<S: Stores> ShardExecutor<S> {
    /// Begins to list the keys of `store` from `from` on; the answer is one part of a listing (see [`ListingPart`]).
    pub fn list(&mut self, to: ReplyTo, store: usize, from: Key, first: bool, form: ListingForm, now: Now) {
        let ticket = self.scans.insert(PendingScan { to, store, form });
        self.stores.scan(store, ticket, from, first, now);
    }

    pub(super) fn scanned(&mut self, ticket: TaskTicket, scanned: &ScanPart) {
        let PendingScan { to, store, form } = self.scans.remove(ticket);
        if let Some(why) = &scanned.error {
            tracing::error!("cannot list the keys: {why}");
        }
        if let Some(lost) = &scanned.lost {
            tracing::error!("the list of keys is incomplete: {lost}");
        }
        let lost = scanned.lost.as_ref().map_or(0, |lost| lost.records);
        let mut bytes = ListingPart { next: scanned.next, failed: scanned.error.is_some(), lost }.encode();
        let mut rest = &scanned.records[..];
        while let Ok((record, len)) = Record::decode(rest) {
            rest = &rest[len..];
            if form.detail == ListingDetail::Typed {
                key_scan::push_listed(&mut bytes, record.key, record.client_flags);
                continue;
            }
            let info = (form.detail == ListingDetail::Items).then(|| {
                let last_use = self.own[store].recency.get(&self.secret.position(record.key));
                operate::info_of(&record, self.own[store].cas.of(&record), last_use)
            });
            form.writer.write_listed(&mut bytes, record.key, info.as_ref());
        }
        self.gated.push(Completion::of(to, bytes));
    }
}
