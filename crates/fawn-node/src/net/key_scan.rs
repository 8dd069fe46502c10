//! A scan for keys that match: it gathers what listings show, part after part, into one reply.
//!
//! A cursor is a place in the key space, so that a scan goes on wherever it is asked to: over another connection, at another
//! node of the cluster, after a restart. It is cut to 62 bits. The part before a cursor may be listed again, but a reply with a
//! cursor that is no higher than the one that was asked for is never given: the server goes on to the next part instead.

use crate::net::router::KeyRouter;
use crate::protocol::{ScanExtent, ScanRequest, WantedValues};
use crate::request::{KeyPage, ListingPart, ReplyBody, ReplyForm, RequestError};
use fawn_kv::operation::glob;
use fawn_kv::operation::hash::HASH_FLAGS;
use fawn_kv::operation::items::{self, Items};
use fawn_ring::Key;

/// Bytes of names in one reply, at most.
const MOST_BYTES: usize = 16 << 20;

/// A page is whole once it has so many bytes of names.
const PAGE_BYTES: usize = 64 << 10;

const TOO_MANY: RequestError<'static> = RequestError::Server("too many keys match for one reply: use SCAN");

/// Appends a key to what a listing shows of a part, for a scan.
pub fn push_listed(out: &mut Vec<u8>, name: &[u8], flags: u32) {
    items::push(out, (flags == HASH_FLAGS).then_some(&b""[..]));
    items::push(out, Some(name));
}

/// A scan under way.
#[derive(Debug)]
pub struct KeyScan {
    request: ScanRequest,
    reply: ReplyForm,
    page: KeyPage,
    /// Keys that were looked at.
    seen: usize,
    /// It has come to the end of the keys and begun at the first one.
    has_wrapped: bool,
}

/// Where a listing goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanPlace {
    /// The store, counted over the node.
    pub store: usize,
    /// The key's position from which on keys are listed.
    pub from: Key,
    /// Everything appended so far is to be among them.
    pub first: bool,
}

impl KeyScan {
    /// A scan, whose reply has this form.
    pub fn new(request: ScanRequest, reply: ReplyForm) -> Self {
        Self { request, reply, page: KeyPage::default(), seen: 0, has_wrapped: false }
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.page.names.capacity()
    }

    /// Where it begins.
    pub fn begins(&self, router: &KeyRouter) -> ScanPlace {
        let from = match self.request.extent {
            ScanExtent::Page { cursor, .. } => place_of(cursor),
            ScanExtent::One(bits) => Key::lowest_with_prefix(bits),
            ScanExtent::All => Key::MIN,
        };
        ScanPlace { store: router.first_store(&from), from, first: true }
    }

    /// Takes a part that was listed at `place`. Returns where to go on; `None`: the reply can be written.
    pub fn take(
        &mut self,
        part: &ListingPart,
        lines: &[u8],
        place: ScanPlace,
        router: &KeyRouter,
    ) -> Option<ScanPlace> {
        self.gather(lines);
        let next = match part.next {
            Some(next) => Some(ScanPlace { from: next, first: false, ..place }),
            None => {
                router.next_store(place.store, &place.from).map(|(store, from)| ScanPlace { store, from, first: true })
            }
        };
        if part.failed || self.page.names.len() > MOST_BYTES {
            return None;
        }
        match (self.request.extent, next) {
            (ScanExtent::One(_), _) if self.page.count > 0 => None,
            (ScanExtent::One(_), None) if !self.has_wrapped => {
                self.has_wrapped = true;
                Some(ScanPlace { store: router.first_store(&Key::MIN), from: Key::MIN, first: true })
            }
            (ScanExtent::All | ScanExtent::One(_), next) => next,
            (ScanExtent::Page { .. }, None) => None,
            (ScanExtent::Page { cursor, count }, Some(next)) => {
                let is_whole = self.seen >= count || self.page.names.len() >= PAGE_BYTES;
                let next_cursor = cursor_of(&next.from);
                // Another store's turn of the same keys is not seen in a cursor.
                if !is_whole || next_cursor <= cursor || (part.next.is_none() && router.is_local()) {
                    return Some(next);
                }
                self.page.cursor = next_cursor;
                None
            }
        }
    }

    fn gather(&mut self, lines: &[u8]) {
        let mut items = Items::of(lines);
        while let (Some(Ok(kind)), Some(Ok(Some(name)))) = (items.next(), items.next()) {
            self.seen += 1;
            let is_of_type = match self.request.wanted {
                WantedValues::All => true,
                WantedValues::Strings => kind.is_none(),
                WantedValues::Hashes => kind.is_some(),
                WantedValues::None => false,
            };
            let is_wanted =
                is_of_type && self.request.pattern.as_ref().is_none_or(|pattern| glob::matches(pattern, name));
            let is_enough = matches!(self.request.extent, ScanExtent::One(_)) && self.page.count > 0;
            if is_wanted && !is_enough && self.page.names.len() <= MOST_BYTES {
                items::push(&mut self.page.names, Some(name));
                self.page.count += 1;
            }
        }
    }

    /// Writes the reply; `trouble` is why keys are missing from it.
    pub fn write(&self, trouble: Option<&RequestError<'_>>, out: &mut Vec<u8>) {
        let body = match trouble {
            Some(error) => ReplyBody::Error(*error),
            None if self.page.names.len() > MOST_BYTES => ReplyBody::Error(TOO_MANY),
            None => ReplyBody::Keys(&self.page),
        };
        self.reply.write(out, b"", &body);
    }
}

/// The cursor of a place in the key space; never 0.
fn cursor_of(from: &Key) -> u64 {
    (from.prefix() >> 2) + 1
}

/// The place of a cursor, or one before it.
fn place_of(cursor: u64) -> Key {
    match cursor.checked_sub(1) {
        Some(place) => Key::lowest_with_prefix(place << 2),
        None => Key::MIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::memcached::MEMCACHED;
    use crate::shard::route::Route;
    use crate::tests::harness::SECRET;
    use std::collections::BTreeMap;

    /// Names by position, and a server that lists them in parts of a few keys.
    struct Server {
        keys: BTreeMap<Key, Vec<u8>>,
        router: KeyRouter,
        part_keys: usize,
    }

    impl Server {
        fn new(names: usize, stores: usize, part_keys: usize) -> Self {
            let name = |number: usize| format!("key{number}").into_bytes();
            let keys = (0..names).map(|number| (SECRET.position(&name(number)), name(number))).collect();
            Self { keys, router: KeyRouter::new(0, Route::new(SECRET, stores, 1)), part_keys }
        }

        /// A scan's page.
        fn page(&self, extent: ScanExtent, pattern: Option<&[u8]>) -> KeyPage {
            let request = ScanRequest { extent, pattern: pattern.map(Into::into), wanted: WantedValues::All };
            let mut scan = KeyScan::new(request, ReplyForm::new(&MEMCACHED, [0; 48], true));
            let mut place = scan.begins(&self.router);
            loop {
                let of_store = |key: &Key| self.router.first_store(key) == place.store;
                let mut found = self.keys.range(place.from..).filter(|(key, _)| of_store(key));
                let mut lines = Vec::new();
                found.by_ref().take(self.part_keys).for_each(|(_, name)| push_listed(&mut lines, name, 0));
                let part = ListingPart { next: found.next().map(|(key, _)| *key), failed: false, lost: 0 };
                match scan.take(&part, &lines, place, &self.router) {
                    Some(next) => place = next,
                    None => return scan.page,
                }
            }
        }
    }

    fn names(page: &KeyPage) -> Vec<Vec<u8>> {
        Items::of(&page.names).map(|name| name.unwrap().unwrap().to_vec()).collect()
    }

    #[test]
    fn pages_end_and_show_every_key_whatever_the_parts_are() {
        for (stores, part_keys, count) in [(1, 1, 1), (4, 1, 10), (3, 7, 10), (8, 100, 1), (5, 3, 1000)] {
            let server = Server::new(200, stores, part_keys);
            let (mut seen, mut cursor, mut pages) = (Vec::new(), 0, 0);
            loop {
                let page = server.page(ScanExtent::Page { cursor, count }, None);
                seen.extend(names(&page));
                pages += 1;
                assert!(page.cursor == 0 || page.cursor > cursor, "a cursor grows");
                cursor = page.cursor;
                if cursor == 0 {
                    break;
                }
            }
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), 200, "{stores} stores, parts of {part_keys} keys, {pages} pages");
        }
    }

    #[test]
    fn all_keys_that_match_come_at_once_and_one_is_found_wherever_it_is() {
        let server = Server::new(100, 4, 3);
        assert_eq!(server.page(ScanExtent::All, Some(b"key1?")).count, 10);
        for bits in [0, u64::MAX / 3, u64::MAX] {
            assert_eq!(names(&server.page(ScanExtent::One(bits), Some(b"key77"))), [b"key77"]);
            assert_eq!(server.page(ScanExtent::One(bits), Some(b"none")).count, 0);
        }
    }
}
