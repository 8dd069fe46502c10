//! What a front-end has asked for and has not been answered, by its tag and by where its key lies.
//!
//! While anything of a key is in flight, the newest version of it that was seen is kept, so that no older answer, which
//! may come late, is taken for the newest.

use crate::ids::{Address, Asker, Epoch, Position, RequestId, WedgeEpoch};
use crate::operation::Operation;
use crate::range::entry::Kept;
use crate::range::sequence_map::SequenceMap;
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::AnswerTime;
use crate::wire::version::SURE_UNKNOWNS;
use crate::wire::{Answer, Message};
use fawn_ring::{Interval, Key, KeyHasher};
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

/// How new what was seen of a key is: the place of the record that made it, and whether it is gone. What has expired, or was
/// flushed, is gone without a record of its own, and does not come back.
pub(super) type Age = (Position, bool);

/// How new a version is.
pub(super) fn age(kept: &Kept) -> Age {
    (kept.position, kept.version.is_none())
}

/// Who waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    /// Somebody outside, and what the request is called there.
    Asker(Asker, RequestId),
    /// One of many gets, and its place among them.
    Part(u64, usize),
}

/// Answers somebody outside.
pub(super) fn reply((asker, id): (Asker, RequestId), answer: Answer, out: &mut Vec<(Address, Message)>) {
    let Asker { address, tag } = asker;
    out.push((address, Message::Reply { id, tag, continuation: None, until: 0, answer }));
}

/// Whether a get waits with another.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum JoinOutcome {
    No,
    Yes,
    /// Too many do.
    Full,
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum Work {
    /// Show the key.
    Get,
    /// Carry an operation out.
    Write {
        /// The operation, as postcard has it.
        operation: Vec<u8>,
        /// As far as the request's session is answered; `None`: it is the front-end's own session.
        answered: Option<u64>,
    },
}

/// What an answer is to: a request, and which try of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) flight: u64,
    /// Less than [`MOST_TRIES`].
    pub(crate) number: u32,
}

/// Tries that are told apart, and one more that stands for all others.
const MOST_TRIES: u32 = u64::BITS;

impl Tag {
    /// The highest number of a flight.
    pub(crate) const FLIGHTS: u64 = u64::MAX / MOST_TRIES as u64;

    /// What it says on the wire.
    pub(crate) fn of(tag: u64) -> Self {
        Self { flight: tag / u64::from(MOST_TRIES), number: (tag % u64::from(MOST_TRIES)) as u32 }
    }
}

impl From<Tag> for u64 {
    fn from(Tag { flight, number }: Tag) -> Self {
        debug_assert!(flight <= Tag::FLIGHTS, "a flight's number leaves room for that of a try");
        flight.wrapping_mul(Self::from(MOST_TRIES)) | Self::from(number)
    }
}

/// The tries of a request.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    begun: u32,
    /// Those that may have been carried out, or may be yet: a bit each.
    open: u64,
    /// Several carry out the last one, each by itself: the chain is a weak one.
    of_many: bool,
    /// The last refusal, if it says more than that it may be tried again.
    refusal: Option<Answer>,
}

impl Tries {
    /// The number of the next try, which so many may carry out, of whom one answers.
    pub(crate) fn begin(&mut self, writers: usize) -> u32 {
        let last = MOST_TRIES - 1;
        self.of_many = writers > 1;
        // What becomes of a try that others may carry out as well, its refusal does not say.
        let number = if self.of_many { last } else { self.begun.min(last) };
        self.begun = self.begun.saturating_add(1);
        self.open |= 1 << number;
        number
    }

    /// A try was answered, by one who speaks so new a version. If that is a refusal, nothing was done by it, nor will be.
    ///
    /// Where the owner of a weak range has forgotten the session, its other members may have carried the try out. It does no
    /// harm that they carry it out again under another name: what they take depends on nothing that is there, and nobody has
    /// been told yet that it was done.
    pub(crate) fn answered(&mut self, number: u32, answer: &Answer, version: u8) {
        self.refusal = match answer {
            Answer::Unknown { .. } if version < SURE_UNKNOWNS => return,
            Answer::NotMine | Answer::Busy | Answer::Fenced | Answer::AskAgain | Answer::Unknown { .. } => None,
            Answer::TooFew
            | Answer::Full
            | Answer::Unreadable
            | Answer::TooLarge
            | Answer::Ahead { .. }
            | Answer::NeedsUpgrade => Some(answer.clone()),
            _ => return,
        };
        if matches!(answer, Answer::Unknown { .. }) && self.of_many {
            self.open = 0;
        } else if number < MOST_TRIES - 1 {
            self.open &= !(1 << number);
        }
    }

    /// Whether no try was begun after this one.
    pub(crate) fn is_last(&self, number: u32) -> bool {
        number + 1 >= self.begun.min(MOST_TRIES)
    }

    /// A try was not sent, and will not be: nothing will be done by it. If it was the last, the next may have its number.
    pub(crate) fn unsent(&mut self, number: u32) {
        if number < MOST_TRIES - 1 {
            self.open &= !(1 << number);
            if number + 1 == self.begun {
                self.begun = number;
            }
        }
    }

    /// What is said of these at the deadline: a refusal if each try was refused; if not, that nobody knows.
    pub(crate) fn last_word<'a>(mut tries: impl Iterator<Item = &'a Self> + Clone) -> Answer {
        if !tries.clone().all(Self::is_refused) {
            return Answer::TimedOut;
        }
        tries.find_map(|tries| tries.refusal.clone()).unwrap_or(Answer::Busy)
    }

    /// Whether nothing was done, nor will be.
    pub(crate) fn is_refused(&self) -> bool {
        self.open == 0 || planted(Bug::RefusedThoughSent)
    }
}

/// The last try of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastTry {
    pub(super) at_us: u64,
    /// The epoch of its wedge, as of which it was sent.
    pub(super) wedge: WedgeEpoch,
    /// That of the chain that was asked; `None`: another front-end was.
    pub(super) chain: Option<Epoch>,
    pub(super) refused: bool,
}

/// One request.
#[derive(Debug)]
pub(super) struct Flight {
    /// What it is called, at every try.
    pub(super) id: RequestId,
    pub(super) place: Key,
    pub(super) key: Vec<u8>,
    pub(super) work: Work,
    pub(super) waiters: SmallVec<[Waiter; 1]>,
    /// It came from another front-end, and goes no further than to a chain.
    pub(super) forwarded: bool,
    pub(super) began_us: u64,
    pub(super) sent: Option<LastTry>,
    pub(super) tries: Tries,
    /// Tries of which nothing was heard before the next.
    pub(super) unheard: u32,
    /// How often it was given another name, as ranges had forgotten its session.
    pub(super) renamed: u8,
    /// The newest version of the key that was seen when its chain was asked first.
    newest: Age,
    /// Nothing has happened that makes its answer unfit for the cache.
    pub(super) fills: bool,
}

impl Flight {
    /// A request that is not sent yet.
    pub(super) fn new(id: RequestId, place: Key, key: Vec<u8>, work: Work, waiter: Waiter, began_us: u64) -> Self {
        Self {
            id,
            place,
            key,
            work,
            waiters: smallvec![waiter],
            forwarded: false,
            began_us,
            sent: None,
            tries: Tries::default(),
            unheard: 0,
            renamed: 0,
            newest: Age::default(),
            fills: true,
        }
    }

    pub(super) fn is_get(&self) -> bool {
        matches!(self.work, Work::Get)
    }

    /// Whether what it does depends on what is there.
    pub(super) fn is_conditional(&self) -> bool {
        let Work::Write { operation, .. } = &self.work else { return false };
        postcard::from_bytes::<Operation<'_>>(operation).is_ok_and(|operation| operation.is_conditional())
    }

    /// The epoch as of which its chain was asked last; `None`: not asked, or another front-end was.
    pub(super) fn epoch(&self) -> Option<WedgeEpoch> {
        self.sent.filter(|sent| sent.chain.is_some()).map(|sent| sent.wedge)
    }

    /// Whether it writes in somebody else's session.
    fn is_named(&self) -> bool {
        matches!(self.work, Work::Write { answered: Some(_), .. })
    }

    /// When it is sent again if nothing is heard of it.
    fn next_try_us(&self, retry_us: u64, times: &AnswerTimes) -> u64 {
        let wait_us = |refused: bool| if refused { retry_us } else { times.of(self).wait_us(retry_us, self.unheard) };
        self.sent.map_or(0, |sent| sent.at_us + wait_us(sent.refused))
    }

    /// Bytes that it holds, about.
    fn bytes(&self) -> usize {
        let operation = if let Work::Write { operation, .. } = &self.work { operation.len() } else { 0 };
        size_of::<Self>() + self.key.len() + operation
    }
}

/// How long requests take: values are longer than questions for them.
#[derive(Debug, Default)]
struct AnswerTimes {
    gets: AnswerTime,
    writes: AnswerTime,
}

impl AnswerTimes {
    fn of(&self, flight: &Flight) -> &AnswerTime {
        if flight.is_get() { &self.gets } else { &self.writes }
    }

    fn took(&mut self, flight: &Flight, us: u64) {
        let time = if flight.is_get() { &mut self.gets } else { &mut self.writes };
        time.took(us);
    }
}

#[derive(Debug, Default)]
struct OfKey {
    tags: SmallVec<[u64; 1]>,
    newest: Age,
}

/// All requests in flight.
#[derive(Debug, Default)]
pub(super) struct Flights {
    by_tag: SequenceMap<Box<Flight>>,
    by_key: HashMap<Key, OfKey, BuildHasherDefault<KeyHasher>>,
    /// Writes that others have named.
    by_id: BTreeMap<RequestId, u64>,
    times: AnswerTimes,
    /// Nothing is due before this, in microseconds.
    quiet_until_us: u64,
    bytes: usize,
}

impl Flights {
    pub(super) fn len(&self) -> usize {
        self.by_tag.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Those for which something is due: they were not sent, or not answered within `retry_us`, or their deadline has come.
    pub(super) fn due(&mut self, now_us: u64, retry_us: u64, deadline_us: u64) -> Vec<u64> {
        if now_us < self.quiet_until_us {
            return Vec::new();
        }
        let (mut due, mut next_us) = (Vec::new(), now_us + retry_us.min(deadline_us));
        for (tag, flight) in self.by_tag.iter() {
            let at_us = flight.next_try_us(retry_us, &self.times).min(flight.began_us + deadline_us);
            if at_us <= now_us {
                due.push(tag);
            } else {
                next_us = next_us.min(at_us);
            }
        }
        self.quiet_until_us = if due.is_empty() { next_us } else { 0 };
        due
    }

    /// Those that wait until more is known of these keys: they were refused, or not heard of in time, or it was not known whom
    /// to ask.
    pub(super) fn waiting(&self, keys: &Interval) -> Vec<u64> {
        let waits = |flight: &Flight| {
            let is_open = flight.sent.is_none_or(|sent| sent.refused || flight.unheard > 0);
            is_open && keys.contains(&flight.place)
        };
        self.by_tag.iter().filter(|(_, flight)| waits(flight)).map(|(tag, _)| tag).collect()
    }

    /// A request is answered, and not refused.
    pub(super) fn answered(&mut self, tag: u64, now_us: u64) {
        let Some(flight) = self.by_tag.get(tag) else { return };
        self.times.took(flight, now_us.saturating_sub(flight.began_us));
    }

    /// Something may be due sooner than was thought.
    pub(super) fn look_soon(&mut self) {
        self.quiet_until_us = 0;
    }

    pub(super) fn get(&self, tag: u64) -> Option<&Flight> {
        self.by_tag.get(tag).map(|flight| &**flight)
    }

    pub(super) fn get_mut(&mut self, tag: u64) -> Option<&mut Flight> {
        self.by_tag.get_mut(tag).map(|flight| &mut **flight)
    }

    /// The write that another has given this name.
    pub(super) fn write(&mut self, id: RequestId) -> Option<&mut Flight> {
        let tag = *self.by_id.get(&id)?;
        self.get_mut(tag)
    }

    /// Begins a request; `cached` is the version of its key that is in the cache.
    pub(super) fn insert(&mut self, tag: u64, flight: Flight, cached: Option<Age>) {
        let of_key = self.by_key.entry(flight.place).or_default();
        of_key.tags.push(tag);
        of_key.newest = of_key.newest.max(cached.unwrap_or_default());
        if flight.is_named() {
            self.by_id.insert(flight.id, tag);
        }
        self.bytes += flight.bytes();
        let before = self.by_tag.insert(tag, Box::new(flight));
        assert!(before.is_none(), "a tag is given once");
    }

    /// Ends a request, answered or not.
    pub(super) fn remove(&mut self, tag: u64) -> Option<Box<Flight>> {
        let flight = self.by_tag.remove(tag)?;
        let of_key = self.by_key.get_mut(&flight.place).expect("a key with a flight is known");
        of_key.tags.retain(|other| *other != tag);
        if of_key.tags.is_empty() {
            self.by_key.remove(&flight.place);
        }
        if flight.is_named() {
            self.by_id.remove(&flight.id);
        }
        self.bytes -= flight.bytes();
        Some(flight)
    }

    /// A request is sent.
    pub(super) fn sent(&mut self, tag: u64, sent: LastTry) {
        let flight = self.by_tag.get_mut(tag).expect("what is sent is in flight");
        if flight.sent.is_none() {
            flight.newest = self.by_key[&flight.place].newest;
            // What another front-end says is its own answer.
            flight.fills &= sent.chain.is_some();
        } else if sent.chain.is_none() || flight.epoch() != Some(sent.wedge) {
            // An answer to an earlier try, from before, may still come.
            flight.fills = false;
        }
        flight.unheard += u32::from(flight.sent.is_some_and(|before| !before.refused));
        flight.sent = Some(sent);
    }

    /// Whether more than one request for a key is in flight.
    pub(super) fn is_shared(&self, place: &Key) -> bool {
        self.by_key.get(place).is_some_and(|of_key| of_key.tags.len() > 1)
    }

    /// A version was seen; the newest that was before, while anything of the key is in flight.
    pub(super) fn seen(&mut self, place: &Key, age: Age) -> Age {
        let Some(of_key) = self.by_key.get_mut(place) else { return Age::default() };
        let before = of_key.newest;
        of_key.newest = before.max(age);
        before
    }

    /// Something was seen of a key, nobody knows of which version: no answer that is under way is known to be the newest.
    pub(super) fn spoil(&mut self, place: &Key) {
        for tag in self.by_key.get(place).into_iter().flat_map(|of_key| &of_key.tags) {
            let flight = self.by_tag.get_mut(*tag).expect("the tags of a key are in flight");
            flight.fills = false;
        }
    }

    /// All that is in flight of some keys is unfit for the cache.
    pub(super) fn spoil_all(&mut self, keys: &Interval) {
        for (_, flight) in self.by_tag.iter_mut().filter(|(_, flight)| keys.contains(&flight.place)) {
            flight.fills = false;
        }
    }

    /// Waits with a get that is under way in an own wedge of this epoch, if its answer will do; with so many at most.
    pub(super) fn join(
        &mut self,
        place: &Key,
        epoch: WedgeEpoch,
        waiter: Waiter,
        forwarded: bool,
        most: usize,
    ) -> JoinOutcome {
        let Some(flight) = self.joinable(place, epoch, forwarded, planted(Bug::JoinOfOldMiss)) else {
            return JoinOutcome::No;
        };
        if flight.waiters.len() >= most {
            return JoinOutcome::Full;
        }
        flight.waiters.push(waiter);
        JoinOutcome::Yes
    }

    /// A get of the key in flight whose answer will do for another that begins now: asked of the chain in this epoch, and
    /// with nothing newer seen since. `old`: with anything. `forwarded`: the other came from another front-end, too, and so
    /// can be told to ask again, as those can whose wedge passes on meanwhile.
    fn joinable(&mut self, place: &Key, epoch: WedgeEpoch, forwarded: bool, old: bool) -> Option<&mut Flight> {
        let of_key = self.by_key.get(place)?;
        let fits = |flight: &Flight| {
            let asked = flight.is_get() && flight.epoch() == Some(epoch) && (forwarded || !flight.forwarded);
            asked && (old || (flight.fills && flight.newest == of_key.newest))
        };
        let tag = *of_key.tags.iter().rev().find(|tag| self.get(**tag).is_some_and(fits))?;
        self.get_mut(tag)
    }
}
