//! Clients: each asks one thing at a time, tries again until it is answered or gives up, and remembers what it saw.
//!
//! In a cluster with front-ends a client asks one of them, and another one when it is not answered. Some clients keep a
//! session, and try everything again until it is answered; half of these leave that to what `fawn-client` runs on (`routed`). The
//! others do as memcached's do: what was sent and may change something is never sent again.

use std::collections::BTreeMap;

use fawn_check::random::Random;
use fawn_check::{KvOperation, KvOutcome};
use fawn_kv::client::Want;
use fawn_kv::ids::{Address, Asker, Consistency, FrontId, RequestId, WedgeEpoch};
use fawn_kv::operation::Outcome;
use fawn_kv::range::chain_map::Map;
use fawn_kv::wire::Answer;
use fawn_kv::wire::Message;

use crate::cluster::clients::codec::{encode, found, outcome_of};
use crate::cluster::clients::operation::{About, Asking, Conclusion, Form};
use crate::cluster::clients::routed::{RoutedClient, RoutedOutcome};
use crate::cluster::keys::{expires, is_hash, name, position};
use crate::cluster::script::Script;

/// A try is given up after this, and another one made.
const TRY_US: u64 = 300_000;
/// An operation is given up after this: nobody knows what became of it.
const GIVE_UP_US: u64 = 20_000_000;
/// What cannot be tried again is given up after this.
const GIVE_UP_ONCE_US: u64 = 3_000_000;
/// Half of all gets, and all of those who hardly do anything else, are given up after one of these: whoever waits sees nothing.
const GIVE_UP_GET_US: [u64; 3] = [100_000, 200_000, 700_000];

/// An expiry that never comes: what is touched with it, or with a little more, stays.
const FAR: u32 = u32::MAX - 10;

/// An expiry that has passed by any clock: what is touched with it is gone.
const PAST: u32 = 1;

/// Counts down to 0, whatever is there.
const ALL_DOWN: u64 = 1 << 40;

/// One client.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // independent choices
pub struct SimulatedClient {
    /// Its number.
    number: u32,
    session: u64,
    /// It tries again what may have been carried out.
    keeps_session: bool,
    /// It nearly only gets.
    reads: bool,
    /// It only gets, and always asks the same front-end.
    stays: bool,
    /// In a weak cluster nobody can tell by when all members have carried out a flush with a delay, so that it asks for none; nor
    /// what became of a request of a session that is forgotten.
    is_weak: bool,
    /// It waits for whatever it gets: nothing goes wrong.
    patient: bool,
    /// It flushes often.
    flushes: bool,
    /// It deletes, flushes, and puts what expires: not where the work at scale is measured, in which a flush of thousands of
    /// ranges would hide all else, and keys are counted.
    removes: bool,
    /// It reads and changes parts of values, too. Fixed scripts show whole ones.
    parts: bool,
    /// Some of its keys are hashes: not where something else puts strings there.
    hashes: bool,
    fronts: u64,
    /// The front-end that it asks.
    front: u32,
    /// Sessions that it has begun.
    sessions: u64,
    next: u64,
    /// Values that it has made up.
    values: u64,
    map: Map,
    /// What asks of single keys in its place.
    routed: Option<RoutedClient>,
    /// What it waits for.
    asking: Option<Asking>,
    /// The last version that it saw of each key, for compare-and-swap.
    seen: BTreeMap<u64, u64>,
    random: Random,
}

impl SimulatedClient {
    /// Client `number`, whose session nobody else has. Of a front-end that is `read_only` nothing but gets is asked. Ranges
    /// remember sessions for `idle_s` seconds.
    pub fn new(number: u32, script: &Script, (read_only, idle_s): (Option<u32>, u32), mut random: Random) -> Self {
        let (fronts, rules) = (script.plan.fronts, script.plan.rules);
        let front = random.below(u64::from(fronts.max(1))) as u32;
        let (keeps_session, stays) = (fronts == 0 || random.chance(1, 2), read_only == Some(front));
        // What is told of fixed scripts shows each try of a client's own.
        let is_smart = fronts > 0 && keeps_session && !stays && number.is_multiple_of(2) && !script.plan.fixed;
        Self {
            number,
            session: 0,
            keeps_session,
            reads: random.chance(1, if fronts > 0 { 2 } else { 4 }),
            stays,
            is_weak: rules.consistency == Consistency::Weak,
            patient: script.actions() == 0,
            flushes: fronts > 0 && random.chance(1, 4),
            removes: true,
            parts: !script.plan.fixed,
            hashes: !script.plan.fixed && script.plan.adopts == 0 && rules.consistency != Consistency::Weak,
            fronts: u64::from(fronts),
            front,
            sessions: 0,
            next: 1,
            values: 0,
            map: Map::default(),
            routed: is_smart.then(|| RoutedClient::new(number, fronts, idle_s)),
            asking: None,
            seen: BTreeMap::new(),
            random,
        }
    }

    /// A session that nobody else has, and that began now.
    fn begin_session(&mut self, unix: u32) {
        self.session = u64::from(unix) << 32 | u64::from(self.number) << 16 | self.sessions;
        self.sessions += 1;
        self.next = 1;
    }

    /// Begins an operation on a key of `keys`, or on all of a range. The checker is told of it.
    #[allow(clippy::too_many_lines)] // one choice after the other, in the order that the seeds know
    pub fn begin(&mut self, keys: u64, now_us: u64, unix: u32) -> &Asking {
        self.tell_unix(unix);
        if self.session == 0 {
            self.begin_session(unix);
        }
        // Half of all operations are on few keys.
        let key = if self.random.chance(1, 2) { self.random.below(keys.min(3)) } else { self.random.below(keys) };
        let id = RequestId { session: self.session, number: self.next };
        self.values += 1;
        let value = u64::from(self.number + 1) * 1_000_000_000 + self.values;
        self.next += 1;
        let mut about = About::Key(key);
        let (mut expiry, mut due) = (0, 0);
        // Counters keep the expiry of what they count up from: keys of values that expire have none, nor those of texts,
        // which become longer.
        let (expires, is_text) = (expires(key), key % 4 == 2);
        let gets = self.stays || (self.reads && self.random.chance(15, 16));
        let kinds = if gets {
            6
        } else if self.removes {
            20
        } else {
            16
        };
        let flushes = self.removes && self.flushes && !self.stays && self.random.chance(1, 5);
        let mut operation = match if flushes { 14 } else { self.random.below(kinds) } {
            0..6 => KvOperation::Get,
            6..10 if self.removes && expires && self.random.chance(1, 4) => {
                expiry = unix + 1 + self.random.below(4) as u32;
                KvOperation::Put { value }
            }
            6..10 => KvOperation::Put { value },
            10..12 => KvOperation::CompareAndSwap { expected: self.seen.get(&key).copied().unwrap_or(1), value },
            12 if self.removes => {
                expiry = if self.random.chance(1, 4) { PAST } else { 0 };
                KvOperation::Delete
            }
            13 => KvOperation::Add { value },
            14 if flushes || (self.removes && self.random.chance(1, 8)) => {
                if self.fronts > 0 {
                    about = About::All;
                    due = if !self.is_weak && self.random.chance(1, 2) {
                        unix + 1 + self.random.below(3) as u32
                    } else {
                        0
                    };
                } else if let Some((range, chain)) = self.map.lookup(&position(key)) {
                    about = About::Range(range, chain.keys);
                }
                KvOperation::Delete
            }
            14 => KvOperation::Replace { value },
            16 => KvOperation::Invalidate,
            17 => {
                let vivify = self.random.chance(1, 4);
                let recache = !expires && self.random.chance(1, 4);
                // What is won without being stale is touched, so that it is due.
                expiry = if recache { self.far() } else { 0 };
                KvOperation::Win { recache, vivify }
            }
            _ if expires => KvOperation::Get,
            18 => {
                expiry = self.far();
                KvOperation::Touch
            }
            _ if is_text => {
                let (before, vivify) = (self.random.chance(1, 2), self.random.chance(1, 4));
                KvOperation::Extend { digit: self.random.below(10), before, vivify }
            }
            15 => KvOperation::Increment { by: 1 },
            _ => {
                let by = if self.random.chance(1, 4) { ALL_DOWN } else { 1 };
                KvOperation::Decrement { by, initial: self.random.chance(1, 4).then_some(value) }
            }
        };
        let (mut by_head, mut form) = (false, Form::Whole);
        if self.hashes && is_hash(key) && !about.is_flush() {
            form = Form::Field;
            (operation, expiry) = if gets { (KvOperation::Get, 0) } else { self.field_operation(value) };
        }
        if operation == KvOperation::Get {
            if self.fronts > 0 && self.random.chance(1, 8) {
                about = About::Keys(key, (keys - key).min(4));
            } else if !self.stays && self.random.chance(1, 8) {
                // Whether what expires is gone is judged by its first expiry.
                if expires {
                    operation = KvOperation::Win { recache: false, vivify: false };
                } else {
                    (by_head, expiry) = (true, self.far());
                }
            }
        }
        if self.parts && form == Form::Whole && matches!(about, About::Key(_)) && self.random.chance(1, 3) {
            (operation, form) = self.as_part(operation, by_head, expiry);
        }
        let impatient =
            operation == KvOperation::Get && !self.patient && (self.reads || self.stays || self.random.chance(1, 2));
        let give_up_us = if impatient { *self.random.pick(&GIVE_UP_GET_US) } else { GIVE_UP_US };
        let (began_us, tried_us, tries) = (now_us, 0, 0);
        self.asking.insert(Asking {
            id,
            about,
            operation,
            form,
            by_head,
            expiry,
            due,
            began_us,
            tried_us,
            tries,
            give_up_us,
        })
    }

    /// An operation on a field of a hash, and the expiry that it sets.
    fn field_operation(&mut self, value: u64) -> (KvOperation, u32) {
        match self.random.below(12) {
            0..3 => (KvOperation::Get, 0),
            3..6 => (KvOperation::Put { value }, 0),
            6 if self.removes => (KvOperation::Delete, 0),
            7 => (KvOperation::Add { value }, 0),
            8 => (KvOperation::Touch, self.far()),
            _ => (KvOperation::Sum { by: 1 }, 0),
        }
    }

    /// The operation on a part of a string that does about the same, if there is one.
    fn as_part(&mut self, operation: KvOperation, by_head: bool, expiry: u32) -> (KvOperation, Form) {
        let part = match operation {
            KvOperation::Get if by_head => operation,
            KvOperation::Get if !self.stays && self.random.chance(1, 4) => KvOperation::Measure,
            KvOperation::Put { value } if expiry == 0 && self.random.chance(1, 3) => KvOperation::Swap { value },
            KvOperation::Delete if expiry == 0 => KvOperation::Take,
            KvOperation::Increment { by } => KvOperation::Sum { by },
            KvOperation::Extend { digit, before: false, .. } => {
                KvOperation::Extend { digit, before: false, vivify: true }
            }
            KvOperation::Put { .. }
            | KvOperation::Add { .. }
            | KvOperation::Replace { .. }
            | KvOperation::Delete
            | KvOperation::Touch => operation,
            _ => return (operation, Form::Whole),
        };
        (part, Form::Part)
    }

    /// An expiry that never comes.
    fn far(&mut self) -> u32 {
        FAR + self.random.below(3) as u32
    }

    /// Whether what it asks is never sent again.
    fn asks_once(&self, asking: &Asking) -> bool {
        !self.keeps_session && (asking.operation != KvOperation::Get || asking.by_head)
    }

    /// Begins this operation on a key.
    pub fn begin_with(&mut self, key: u64, operation: KvOperation, now_us: u64, unix: u32) -> &Asking {
        self.tell_unix(unix);
        if self.session == 0 {
            self.begin_session(unix);
        }
        let id = RequestId { session: self.session, number: self.next };
        self.next += 1;
        self.asking.insert(Asking {
            id,
            about: About::Key(key),
            operation,
            form: Form::Whole,
            by_head: false,
            expiry: 0,
            due: 0,
            began_us: now_us,
            tried_us: 0,
            tries: 0,
            give_up_us: GIVE_UP_US,
        })
    }

    /// Tries again if it is time to, or gives up.
    pub fn tick(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) -> Option<Conclusion> {
        let asking = self.asking.as_ref()?;
        let (once, tried) = (self.asks_once(asking), asking.tried_us > 0);
        if now_us >= asking.began_us + if once { GIVE_UP_ONCE_US } else { asking.give_up_us } {
            if let Some(routed) = &mut self.routed {
                routed.give_up();
            }
            return self.asking.take().map(Conclusion::GivenUp);
        }
        if self.routed.is_some() && matches!(asking.about, About::Key(_)) {
            return self.tick_routed(now_us, out);
        }
        if tried && (once || now_us < asking.tried_us + TRY_US) {
            return None;
        }
        if self.fronts > 0 {
            if tried && !self.stays {
                self.front = self.random.below(self.fronts) as u32;
            }
            self.ask_front(now_us, out);
            return None;
        }
        if tried || self.map.is_empty() {
            out.push(self.ask_view());
        }
        self.ask_chain(now_us, out)
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// What it waits for.
    pub fn asking(&self) -> Option<&Asking> {
        self.asking.as_ref()
    }

    /// From here on it deletes nothing, flushes nothing, and puts nothing that expires.
    pub fn remove_nothing(&mut self) {
        (self.removes, self.parts, self.hashes) = (false, false, false);
    }

    /// The front-end that it asks.
    pub fn asks_front(&self) -> usize {
        self.front as usize
    }

    /// Whether it asks another front-end what one does not answer.
    pub fn may_ask_others(&self) -> bool {
        self.keeps_session && !self.stays
    }

    fn tell_unix(&mut self, unix: u32) {
        if let Some(routed) = &mut self.routed {
            routed.tell_unix(unix);
        }
    }

    /// Has it asked, or asked once more where nothing was done.
    fn tick_routed(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) -> Option<Conclusion> {
        let (asking, routed) = (self.asking.as_mut()?, self.routed.as_mut()?);
        if !routed.is_asking() {
            let About::Key(key) = asking.about else { unreachable!("single keys alone are asked of so") };
            let want = encode(asking).map_or(Want::Get, Want::Write);
            asking.tried_us = now_us.max(1);
            routed.ask(now_us, name(key), want, out);
            return None;
        }
        let lost = self.random.chance(1, 500).then(|| FrontId(self.random.below(self.fronts) as u32));
        let became = routed.tick(now_us, lost, out)?;
        self.became(became, 0)
    }

    fn became(&mut self, became: RoutedOutcome, unix: u32) -> Option<Conclusion> {
        match became {
            RoutedOutcome::Nothing => None,
            RoutedOutcome::Unknown => self.asking.take().map(Conclusion::GivenUp),
            RoutedOutcome::Answered(answer) => {
                let asking = self.asking.take()?;
                self.replied(asking, 0, answer, unix)
            }
        }
    }

    /// Its next operation is the first of a session.
    pub fn end_session(&mut self) {
        self.session = 0;
    }

    fn ask_view(&self) -> (Address, Message) {
        let asker = Address::Client(self.number);
        (Address::Manager, Message::AskView { asker, known: self.map.number() })
    }

    /// The next try.
    fn asker(&mut self, now_us: u64) -> Asker {
        let asking = self.asking.as_mut().expect("it asks something");
        asking.tried_us = now_us.max(1);
        asking.tries += 1;
        Asker { address: Address::Client(self.number), tag: asking.tries }
    }

    fn ask_front(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) {
        let asker = self.asker(now_us);
        let stateless = self.random.chance(1, 8);
        let asking = self.asking.as_ref().expect("it asks something");
        let id = asking.id;
        let message = match asking.about {
            About::Keys(first, count) => {
                Message::AskMany { id, asker, keys: (first..first + count).map(name).collect() }
            }
            About::All => {
                let answered = self.keeps_session.then_some(id.number - 1);
                Message::AskFlush { id, answered, asker, wedge: None, due: asking.due }
            }
            About::Range(..) => unreachable!("nobody flushes past front-ends"),
            About::Key(key) => {
                let operation = encode(asking);
                let continuation = (operation.is_none() && stateless).then(|| blob(id));
                let answered = (self.keeps_session && operation.is_some()).then_some(id.number - 1);
                Message::Ask {
                    id,
                    answered,
                    asker,
                    forwarded: false,
                    key: name(key),
                    place: None,
                    operation,
                    continuation,
                }
            }
        };
        out.push((Address::Front(FrontId(self.front)), message));
    }

    fn ask_chain(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) -> Option<Conclusion> {
        let asker = self.asker(now_us);
        let asking = self.asking.as_mut().expect("it asks something");
        let (id, wedge) = (asking.id, WedgeEpoch(0));
        let lies = match asking.about {
            About::Key(key) | About::Keys(key, _) => position(key),
            About::Range(_, keys) => keys.low,
            About::All => unreachable!("all is flushed through front-ends"),
        };
        let Some((range, chain)) = self.map.lookup(&lies) else {
            asking.tried_us = now_us.saturating_sub(TRY_US - 20_000).max(1);
            return None;
        };
        // Everything before is answered, or was given up for good.
        let answered = id.number - 1;
        let key = match asking.about {
            About::Range(flushed, _) if flushed != range => return self.asking.take().map(Conclusion::GivenUp),
            About::Range(_, keys) => {
                Message::Flush { range, id, answered, asker, wedge, keys, due: 0 }.to_writers(chain, out);
                return None;
            }
            About::All => unreachable!("all is flushed through front-ends"),
            About::Key(key) | About::Keys(key, _) => name(key),
        };
        match encode(asking) {
            None => {
                let spread = chain.spreads_reads() && asking.tries == 1;
                let to = if spread { *self.random.pick(chain.readers()) } else { chain.reader() };
                out.push((
                    Address::Node(to.node),
                    Message::Get { range, id, asker, wedge, key, place: None, continuation: None },
                ));
            }
            Some(operation) => {
                let request = Message::Request {
                    range,
                    id,
                    answered,
                    asker,
                    wedge,
                    epoch: chain.epoch,
                    key,
                    place: None,
                    operation,
                };
                request.to_writers(chain, out);
            }
        }
        None
    }

    /// A message has come.
    pub fn receive(&mut self, message: Message, unix: u32) -> Option<Conclusion> {
        if let Some(routed) = &mut self.routed {
            routed.tell_unix(unix);
            if routed.is_asking() || matches!(message, Message::View { .. }) {
                let became = routed.receive(message)?;
                return self.became(became, unix);
            }
        }
        match message {
            Message::View { since, number, chains, .. } => {
                self.map.learn_changes((since, number), chains);
                None
            }
            Message::Reply { id, tag, answer, continuation, .. } => {
                let asking = self.asking.take_if(|asking| asking.id == id)?;
                assert!(continuation.is_none_or(|given| given.blob == blob(id)), "a continuation comes back as it is");
                self.replied(asking, tag, answer, unix)
            }
            _ => None,
        }
    }

    fn replied(&mut self, mut asking: Asking, tag: u64, answer: Answer, unix: u32) -> Option<Conclusion> {
        let once = self.asks_once(&asking);
        let outcomes = match answer {
            Answer::Done { .. } if matches!(asking.about, About::Range(..)) => vec![KvOutcome::Gone],
            Answer::Flushed => vec![KvOutcome::Gone],
            // A weak cluster takes none.
            Answer::Conditional => vec![KvOutcome::Refused],
            // What it was is not known any more.
            Answer::Done { outcome: Outcome::Hit(_) | Outcome::Computed, shown: None, .. } => {
                return Some(Conclusion::ShownNoMore(asking));
            }
            Answer::Done { outcome, position, shown, .. } => {
                vec![outcome_of(&asking, outcome, position.seq.0, shown)]
            }
            Answer::Found(kept) => vec![found(kept.as_deref())],
            Answer::FoundMany(kept) => kept.iter().map(|kept| found(kept.as_deref())).collect(),
            Answer::Unknown { time } => {
                self.begin_session(unix.max(time));
                return Some(Conclusion::GivenUp(asking));
            }
            Answer::TimedOut if once => return Some(Conclusion::GivenUp(asking)),
            Answer::TimedOut if self.is_weak => {
                self.begin_session(unix);
                return Some(Conclusion::GivenUp(asking));
            }
            Answer::Busy | Answer::TooFew | Answer::Full | Answer::Unreadable | Answer::Ahead { .. }
                if self.fronts > 0 =>
            {
                // Nothing was done: even what is sent once may be sent again.
                if tag == asking.tries {
                    asking.tried_us = 0;
                    if !self.stays {
                        self.front = self.random.below(self.fronts) as u32;
                    }
                }
                self.asking = Some(asking);
                return None;
            }
            Answer::NotMine
            | Answer::TooFew
            | Answer::Busy
            | Answer::Full
            | Answer::Unreadable
            | Answer::Malformed
            | Answer::TooLarge
            | Answer::Fenced
            | Answer::AskAgain
            | Answer::Ahead { .. }
            | Answer::NeedsUpgrade
            | Answer::TimedOut => {
                assert!(
                    !matches!(answer, Answer::Malformed | Answer::TooLarge),
                    "operations can be read, and are not large"
                );
                self.asking = Some(asking);
                return None;
            }
        };
        let first = match asking.about {
            About::Key(key) | About::Keys(key, _) => Some(key),
            About::Range(..) | About::All => None,
        };
        for (key, outcome) in first.into_iter().flat_map(|first| first..).zip(&outcomes) {
            if let KvOutcome::Hit { version: Some(version), .. }
            | KvOutcome::Item { version: Some(version), .. }
            | KvOutcome::Made { version: Some(version) }
            | KvOutcome::Stored { version: Some(version) }
            | KvOutcome::Number { version: Some(version), .. } = outcome
            {
                self.seen.insert(key, *version);
            }
        }
        Some(Conclusion::Answered(asking, outcomes))
    }
}

fn blob(id: RequestId) -> Vec<u8> {
    id.number.to_le_bytes().repeat(3)
}
