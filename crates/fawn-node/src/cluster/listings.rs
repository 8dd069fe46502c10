//! `lru_crawler metadump` of a cluster: the keys of all ranges, asked for part by part, as the client takes them.
//!
//! Each part is what the reader of its range had committed as it was asked: a key that is there all the while is listed once,
//! whatever happens to its chain meanwhile, and others may or may not be. Some parts are asked for at a time, others wait their
//! turn: a connection waits for one at most.

use super::reply::info_of;
use crate::net::key_scan;
use crate::request::{Completion, ListingDetail, ListingForm, ListingPart, ReplyTo};
use fawn_kv::ids::{Address, Asker};
use fawn_kv::range::chain_map::Map;
use fawn_kv::range::entry::Kept;
use fawn_kv::scan::{Bookmark, Limits, Scanner, What};
use fawn_kv::timing::Now;
use fawn_kv::wire::Message;
use fawn_ring::Key;
use std::collections::{BTreeMap, VecDeque};

/// A part that has not come within this does not come any more.
const GIVE_UP_US: u64 = 15_000_000;

/// Parts that are asked for at a time: each is some 256 KiB when it comes.
const MOST: usize = 16;

/// Those who wait until a part is asked for, at most: what others want fails at once.
const MOST_WAITING: usize = 1024;

/// Somebody who waits until a part is asked for.
#[derive(Debug)]
struct WaitingClient {
    client: ReplyTo,
    from: Key,
    form: ListingForm,
    since_us: u64,
}

/// A part of a listing that was asked for.
#[derive(Debug)]
struct Listing {
    scanner: Scanner,
    client: ReplyTo,
    form: ListingForm,
    until_us: u64,
}

/// Those that a seat's clients wait for.
#[derive(Debug)]
pub struct Listings {
    me: Address,
    map: Map,
    waiting: VecDeque<WaitingClient>,
    /// By the name that it is answered under.
    by_tag: BTreeMap<u64, Listing>,
    begun: u64,
    done: Vec<Completion>,
}

impl Listings {
    /// Those that are answered at an address.
    pub fn new(me: Address) -> Self {
        let (waiting, by_tag) = (VecDeque::new(), BTreeMap::new());
        Self { me, map: Map::default(), waiting, by_tag, begun: 0, done: Vec::new() }
    }

    /// Whether nobody waits for one.
    pub fn is_empty(&self) -> bool {
        self.by_tag.is_empty() && self.waiting.is_empty() && self.done.is_empty()
    }

    /// A client wants the part from a key on.
    pub fn begin(
        &mut self,
        client: ReplyTo,
        from: Key,
        form: ListingForm,
        now: Now,
        out: &mut Vec<(Address, Message)>,
    ) {
        if self.waiting.len() >= MOST_WAITING {
            self.done.push(Completion::of(client, failed()));
            return;
        }
        self.waiting.push_back(WaitingClient { client, from, form, since_us: now.us });
        self.go_on(now, out);
    }

    /// Asks for parts as far as there is room.
    fn go_on(&mut self, now: Now, out: &mut Vec<(Address, Message)>) {
        while self.by_tag.len() < MOST
            && let Some(WaitingClient { client, from, form, .. }) = self.waiting.pop_front()
        {
            self.begun += 1;
            let asker = Asker { address: self.me, tag: self.begun };
            let bookmark = Bookmark { stretches: Vec::new(), rest: Some(from), last: Key::MAX };
            let limits = Limits { events: 1, once: true, ..Limits::default() };
            let mut scanner = Scanner::new(asker, limits, bookmark).knowing(self.map.clone());
            scanner.tick(now, out);
            self.by_tag.insert(self.begun, Listing { scanner, client, form, until_us: now.us + GIVE_UP_US });
        }
    }

    /// A message has come; it is given back unless it is for listings alone.
    pub fn receive(&mut self, message: Message, now: Now, out: &mut Vec<(Address, Message)>) -> Option<Message> {
        match message {
            Message::Scanned { tag, .. } => {
                if let Some(listing) = self.by_tag.get_mut(&tag) {
                    listing.scanner.receive(now, message);
                    if let Some(bytes) = listing.part() {
                        self.end(tag, bytes);
                        self.go_on(now, out);
                    } else {
                        listing.scanner.tick(now, out);
                    }
                }
                None
            }
            Message::View { since, number, ref chains, .. } => {
                self.map.learn_changes((since, number), chains.clone());
                for listing in self.by_tag.values_mut() {
                    listing.scanner.receive(now, message.clone());
                    listing.scanner.tick(now, out);
                }
                Some(message)
            }
            _ => Some(message),
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Now, out: &mut Vec<(Address, Message)>) {
        let late: Vec<u64> =
            self.by_tag.iter().filter(|(_, listing)| now.us >= listing.until_us).map(|(tag, _)| *tag).collect();
        for tag in &late {
            self.end(*tag, self.by_tag[tag].failure());
        }
        // Whoever has waited as long waits for what is as late, or for too many others, or is gone.
        while let Some(waiting) = self.waiting.pop_front_if(|waiting| now.us >= waiting.since_us + GIVE_UP_US) {
            self.done.push(Completion::of(waiting.client, failed()));
        }
        for listing in self.by_tag.values_mut() {
            listing.scanner.tick(now, out);
        }
        self.go_on(now, out);
    }

    fn end(&mut self, tag: u64, bytes: Vec<u8>) {
        self.done.extend(self.by_tag.remove(&tag).map(|listing| Completion::of(listing.client, bytes)));
    }

    /// What has come, for whom, and what will not.
    pub fn take_done(&mut self) -> Vec<Completion> {
        std::mem::take(&mut self.done)
    }
}

/// The answer to whoever waits in vain.
fn failed() -> Vec<u8> {
    ListingPart { next: None, failed: true, lost: 0 }.encode()
}

impl Listing {
    /// The part, once it has come.
    fn part(&mut self) -> Option<Vec<u8>> {
        let event = self.scanner.next_event()?;
        let rest = event.bookmark.rest;
        let next = event.bookmark.stretches.last().map_or(rest, |stretch| stretch.from.or(rest));
        let mut bytes = ListingPart { next, failed: false, lost: 0 }.encode();
        if let What::Part(kept) = event.what {
            for Kept { key, position, version } in kept {
                if let Some(version) = version {
                    if self.form.detail == ListingDetail::Typed {
                        key_scan::push_listed(&mut bytes, &key, version.flags);
                        continue;
                    }
                    let cas = version.client_cas.unwrap_or(position.seq.0);
                    let info = (self.form.detail == ListingDetail::Items).then(|| info_of(&version, cas, None));
                    self.form.writer.write_listed(&mut bytes, &key, info.as_ref());
                }
            }
        }
        Some(bytes)
    }

    fn failure(&self) -> Vec<u8> {
        let why = self.scanner.trouble().unwrap_or("nobody answers");
        tracing::error!("cannot list the cluster's keys: {why}");
        failed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::latency::Stamp;
    use crate::protocol::memcached::MEMCACHED;
    use crate::request::ReplySlot;
    use crate::runtime::slab::Token;
    use fawn_kv::ids::{Chain, Epoch, Incarnation, Member, NodeId, Position, RangeId, RequestId, Seq};
    use fawn_kv::scan::Found;
    use fawn_ring::Interval;
    use std::collections::BTreeSet;

    const NOW: Now = Now::at(1_000_000, 1);
    const KEYS: ListingForm = ListingForm { writer: &MEMCACHED, detail: ListingDetail::Keys };
    const TAIL: Member = Member { node: NodeId(3), incarnation: Incarnation(1) };

    fn client(number: u64) -> ReplyTo {
        let slot = ReplySlot { connection: Token::from_u64(number), answer: 0, part: 0, stamp: Stamp::NONE };
        ReplyTo { home: 0, slot, request_bytes: 0 }
    }

    /// Those of so many clients, which all begin at once.
    fn begun(clients: u64, out: &mut Vec<(Address, Message)>) -> Listings {
        let mut listings = Listings::new(Address::Client(1));
        let chain = Chain { epoch: Epoch(1), members: [TAIL].into_iter().collect(), ..Chain::none(Interval::ALL) };
        let view = Message::View { since: 0, number: 1, chains: vec![(RangeId(1), chain)], wedges: Vec::new() };
        assert!(listings.receive(view, NOW, out).is_some(), "others want to know of chains, too");
        for number in 0..clients {
            listings.begin(client(number), Key::MIN, KEYS, NOW, out);
        }
        listings
    }

    /// Who is asked for what, under which name.
    fn asked(out: &mut Vec<(Address, Message)>) -> Vec<(RequestId, u64)> {
        let all = out.drain(..).map(|(_, message)| match message {
            Message::Scan { id, asker, .. } => (id, asker.tag),
            other => panic!("the chains are known: {other:?}"),
        });
        all.collect()
    }

    fn scanned((id, tag): (RequestId, u64)) -> Message {
        let at = Position { epoch: Epoch(1), seq: Seq(9) };
        Message::Scanned { id, tag, from: TAIL, found: Found::Part { kept: Vec::new(), next: None, at, upto: at } }
    }

    #[test]
    fn however_many_list_keys_some_parts_are_asked_for_at_a_time_and_each_gets_its_own_in_turn() {
        let mut out = Vec::new();
        let mut listings = begun(1000, &mut out);
        let mut under_way: VecDeque<_> = asked(&mut out).into();
        assert_eq!(under_way.len(), MOST);
        let tags: BTreeSet<u64> = under_way.iter().map(|(_, tag)| *tag).collect();
        assert_eq!(tags.len(), MOST);
        for number in 0..1000 {
            let next = under_way.pop_front().expect("somebody is asked");
            assert_eq!(listings.receive(scanned(next), NOW, &mut out), None);
            let done: Vec<_> = listings.take_done().into_iter().map(|done| done.to).collect();
            assert_eq!(done, [client(number)]);
            under_way.extend(asked(&mut out));
            assert!(under_way.len() <= MOST);
        }
        assert!(listings.is_empty());
    }

    #[test]
    fn what_nobody_waits_for_is_dropped() {
        let mut out = Vec::new();
        let mut listings = begun(1, &mut out);
        let (id, tag) = asked(&mut out)[0];
        assert_eq!(listings.receive(scanned((id, tag + 1)), NOW, &mut out), None);
        assert!(listings.take_done().is_empty() && !listings.is_empty());
    }

    #[test]
    fn beyond_those_who_may_wait_listings_fail_at_once() {
        let mut out = Vec::new();
        let mut listings = begun((MOST + MOST_WAITING) as u64, &mut out);
        assert_eq!(listings.take_done().len(), 0);
        listings.begin(client(5000), Key::MIN, KEYS, NOW, &mut out);
        let done = listings.take_done();
        assert!(done.len() == 1 && done[0].to == client(5000) && ListingPart::decode(&done[0].bytes).0.failed);
        assert_eq!(asked(&mut out).len(), MOST);
    }

    #[test]
    fn nobody_waits_for_ever_behind_others_whose_parts_come() {
        let mut out = Vec::new();
        let mut listings = begun(100, &mut out);
        let later = Now { us: NOW.us + GIVE_UP_US - 1, ..NOW };
        for next in asked(&mut out) {
            assert_eq!(listings.receive(scanned(next), later, &mut out), None);
        }
        assert_eq!(listings.take_done().len(), MOST);
        listings.tick(Now { us: later.us + 1, ..NOW }, &mut out);
        let done = listings.take_done();
        assert_eq!(done.len(), 100 - 2 * MOST, "those that are not asked for");
        assert!(done.iter().all(|done| ListingPart::decode(&done.bytes).0.failed));
    }

    #[test]
    fn whoever_has_waited_as_long_as_one_that_is_given_up_is_told_so_too() {
        let mut out = Vec::new();
        let mut listings = begun(100, &mut out);
        let later = Now { us: NOW.us + GIVE_UP_US, ..NOW };
        listings.begin(client(100), Key::MIN, KEYS, later, &mut out);
        listings.tick(later, &mut out);
        let done = listings.take_done();
        assert_eq!(done.len(), 100);
        assert!(done.iter().all(|done| ListingPart::decode(&done.bytes).0.failed));
        assert!(!listings.is_empty(), "who has just come is asked for");
    }
}
