//! `lru_crawler metadump` of a cluster: the keys of all ranges, asked for part by part, as the client takes them.
//!
//! Each part is what the tail of its range had committed as it was asked: a key that is there all the while is listed once,
//! whatever happens to its chain meanwhile, and others may or may not be.

use crate::owner::{Client, Done, Listed};
use fawn_kv::chain::Now;
use fawn_kv::entry::{Kept, Version};
use fawn_kv::ids::{Address, Asker};
use fawn_kv::message::Message;
use fawn_kv::scan::{Bookmark, Limits, Scanner, What};
use fawn_memcache::{Debug, Dump, report};
use fawn_ring::Key;
use std::collections::BTreeMap;

/// A part that has not come within this does not come any more.
const GIVE_UP_US: u64 = 15_000_000;

/// A part of a listing that somebody waits for.
#[derive(Debug)]
struct Listing {
    scanner: Scanner,
    client: Client,
    form: Dump,
    until_us: u64,
}

/// Those that a seat's clients wait for.
#[derive(Debug)]
pub struct Listings {
    me: Address,
    /// By the name that it is answered under.
    by_tag: BTreeMap<u64, Listing>,
    begun: u64,
}

impl Listings {
    /// Those that are answered at an address.
    pub fn new(me: Address) -> Self {
        Self { me, by_tag: BTreeMap::new(), begun: 0 }
    }

    /// Whether nobody waits for one.
    pub fn is_empty(&self) -> bool {
        self.by_tag.is_empty()
    }

    /// A client wants the part from a key on.
    pub fn begin(&mut self, client: Client, from: Key, form: Dump, now: Now, out: &mut Vec<(Address, Message)>) {
        self.begun += 1;
        let asker = Asker { address: self.me, tag: self.begun };
        let bookmark = Bookmark { stretches: Vec::new(), rest: Some(from), last: Key::MAX };
        let limits = Limits { events: 1, once: true, ..Limits::default() };
        let mut scanner = Scanner::new(asker, limits, bookmark);
        scanner.tick(now, out);
        self.by_tag.insert(self.begun, Listing { scanner, client, form, until_us: now.us + GIVE_UP_US });
    }

    /// A message has come; whether it is for listings alone.
    pub fn receive(&mut self, message: &Message, now: Now, out: &mut Vec<(Address, Message)>) -> bool {
        if matches!(message, Message::View { .. } | Message::Scanned { .. }) {
            for listing in self.by_tag.values_mut() {
                listing.scanner.receive(now, message.clone());
                listing.scanner.tick(now, out);
            }
        }
        matches!(message, Message::Scanned { .. })
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Now, out: &mut Vec<(Address, Message)>) {
        for listing in self.by_tag.values_mut() {
            listing.scanner.tick(now, out);
        }
    }

    /// What has come, for whom, and what will not.
    pub fn take_done(&mut self, now: Now) -> Vec<Done> {
        let mut done = Vec::new();
        self.by_tag.retain(|_, listing| {
            let answer = listing.part().or_else(|| listing.failure(now));
            let is_under_way = answer.is_none();
            done.extend(answer.map(|bytes| Done::of(listing.client, bytes)));
            is_under_way
        });
        done
    }
}

impl Listing {
    /// The part, once it has come.
    fn part(&mut self) -> Option<Vec<u8>> {
        let event = self.scanner.next_event()?;
        let rest = event.bookmark.rest;
        let next = event.bookmark.stretches.last().map_or(rest, |stretch| stretch.from.or(rest));
        let mut bytes = Listed { next, failed: false }.encode();
        if let What::Part(kept) = event.what {
            for Kept { key, position, version } in kept {
                if let Some(version) = version {
                    put(&mut bytes, self.form, &key, position.seq.0, &version);
                }
            }
        }
        Some(bytes)
    }

    fn failure(&self, now: Now) -> Option<Vec<u8>> {
        (now.us >= self.until_us).then(|| {
            let why = self.scanner.trouble().unwrap_or("nobody answers");
            tracing::error!("keys of the cluster cannot be listed: {why}");
            Listed { next: None, failed: true }.encode()
        })
    }
}

/// The line of a key.
fn put(bytes: &mut Vec<u8>, form: Dump, key: &[u8], seq: u64, version: &Version) {
    match form {
        Dump::Mgdump => report::mgdump(bytes, key),
        Dump::Metadump => {
            let item = Debug {
                expiry: (version.expiry != 0).then_some(version.expiry),
                access: 0,
                cas: version.client_cas.unwrap_or(seq),
                fetched: false,
                class: 1,
                size: fawn_memcache::Limits::item_size(key.len(), version.flags, version.value.len()) as u64,
                flags: version.flags,
            };
            report::metadump(bytes, key, &item);
        }
    }
}
