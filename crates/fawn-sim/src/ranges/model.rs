//! What a node's store must hold of its ranges: one state for each write that may still be lost.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use fawn_kv::ids::{Attempt, Position, RangeId, Seq};
use fawn_kv::range::entry::{Change, Entry, Kept, Version};
use fawn_kv::range::meta::Meta;
use fawn_kv::store::{FlashStore, Gate, RangeStore, RecoveredRange};
use fawn_ring::{Interval, Secret};

/// A version that lookups have shown.
#[derive(Clone)]
struct KeyVersion {
    /// Where it was committed; `None`: it came with a copy, or was found after a restart.
    at: Option<Position>,
    kept: Kept,
}

impl std::fmt::Debug for KeyVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {:?}", brief(Some(&self.kept)), self.at)
    }
}

/// A version in few words.
pub(super) fn brief(kept: Option<&Kept>) -> String {
    kept.map_or_else(String::new, |kept| {
        let Position { epoch, seq } = kept.position;
        let what = kept.version.as_ref().map_or(0, |version| version.value.len());
        format!("{}.{}: {what} bytes", epoch.0, seq.0)
    })
}

/// One range.
#[derive(Clone, Debug)]
pub(super) struct RangeState {
    pub(super) keys: Interval,
    pub(super) held: Option<Attempt>,
    /// What was committed when its log began.
    base: Meta,
    /// Every record since, committed or not.
    log: Vec<Entry>,
    pub(super) meta: Meta,
    /// The versions of each key, in the order in which they were shown; only the last is, but after a crash.
    shown: BTreeMap<Vec<u8>, Vec<KeyVersion>>,
    /// What a restart did not find any more, as it was deleted or had expired.
    gone: BTreeMap<Vec<u8>, Vec<Kept>>,
    /// What its time was before it was set back, and up to where versions were there then.
    set_back: Vec<(Seq, u32)>,
}

impl RangeState {
    fn of(state: &RecoveredRange) -> Self {
        Self {
            keys: state.keys,
            held: state.held,
            base: state.meta.clone(),
            log: state.entries.clone(),
            meta: state.meta.clone(),
            shown: BTreeMap::new(),
            gone: BTreeMap::new(),
            set_back: Vec::new(),
        }
    }

    /// The end of the log.
    pub(super) fn last(&self) -> Position {
        self.log.last().map_or(self.meta.committed, |entry| entry.position.max(self.meta.committed))
    }

    /// What is not committed.
    pub(super) fn suffix(&self) -> impl Iterator<Item = &Entry> {
        self.log.iter().filter(|entry| entry.position > self.meta.committed)
    }

    /// Whether a lookup may find this of a key of which it need find nothing: a merge did away with it, as it was deleted or
    /// has expired, and a crash took the merge back.
    pub(super) fn may_return(&self, key: &[u8], found: Option<&Kept>) -> bool {
        found.is_none_or(|found| self.gone.get(key).is_some_and(|gone| gone.contains(found)))
    }

    /// What lookups show of a key.
    pub(super) fn newest(&self, key: &[u8]) -> Option<&Kept> {
        Some(&self.shown.get(key)?.last()?.kept)
    }

    fn show(&mut self, kept: Kept, at: Option<Position>) {
        self.shown.entry(kept.key.clone()).or_default().push(KeyVersion { at, kept });
    }

    /// Whether what was found of a key is what it must be: a delete record may have been dropped, and what has expired, by now or
    /// before the time was set back.
    pub(super) fn is_same(&self, must: &Kept, found: Option<&Kept>, forgotten: Seq) -> bool {
        let seq = must.position.seq;
        let now = std::iter::once(self.meta.alive.time);
        let before = self.set_back.iter().filter(|(at, _)| seq <= *at).map(|(_, time)| *time);
        let times = now.chain(before);
        let is_gone = |version: &Version| version.expiry != 0 && times.max().is_some_and(|time| version.expiry <= time);
        match found {
            Some(found) => must == found,
            None => must.version.as_ref().is_none_or(is_gone) && seq <= forgotten,
        }
    }

    fn commit(&mut self, entry: &Entry) {
        if self.meta.alive.is_set_back(entry) {
            // Parts of copies have any positions.
            let shown = self.shown.values().flatten().map(|shown| shown.kept.position.seq);
            self.set_back.push((shown.fold(entry.position.seq, Seq::max), self.meta.alive.time));
        }
        self.meta.commit(entry);
        let version = match &entry.change {
            Change::Delete => None,
            Change::Value(version) => Some(version.clone()),
            _ => return,
        };
        self.show(Kept { key: entry.key.clone(), position: entry.position, version }, Some(entry.position));
    }

    /// The metadata as of a place in the log.
    fn meta_at(&self, at: Position) -> Meta {
        let mut meta = self.base.clone();
        for entry in self.log.iter().filter(|entry| entry.position <= at) {
            meta.commit(entry);
        }
        meta
    }

    /// What is wrong with what a restart found of the range.
    fn complaint(&self, found: &RecoveredRange) -> Option<String> {
        let committed = found.meta.committed;
        let entries = self.log.iter().filter(|entry| entry.position > committed);
        if (found.keys, found.held) != (self.keys, self.held) {
            return Some(format!("keys or attempt: {:?} is not {:?}", found.held, self.held));
        }
        if committed > self.meta.committed || committed < self.base.committed {
            return Some(format!("{committed:?} is not committed"));
        }
        if !entries.eq(&found.entries) {
            let places = |entries: &mut dyn Iterator<Item = &Entry>| -> Vec<Position> {
                entries.map(|entry| entry.position).collect()
            };
            let (found, mine) = (places(&mut found.entries.iter()), places(&mut self.log.iter()));
            return Some(format!("the log after {committed:?} is {found:?}, of {mine:?}"));
        }
        (self.meta_at(committed) != found.meta).then(|| format!("metadata as of {committed:?}"))
    }

    /// Whether a restart may show this version of a key when it has found what is committed up to `committed`.
    fn may_show(&self, key: &[u8], found: Option<&Kept>, committed: Position, forgotten: Seq) -> bool {
        let none = Vec::new();
        let shown = self.shown.get(key).unwrap_or(&none);
        let least = shown.iter().rposition(|shown| shown.at.is_none_or(|at| at <= committed));
        let allowed = &shown[least.unwrap_or(0)..];
        let nothing = least.is_none() && self.may_return(key, found);
        nothing || allowed.iter().any(|shown| self.is_same(&shown.kept, found, forgotten))
    }
}

/// All ranges, after some write.
#[derive(Clone, Debug, Default)]
pub(super) struct RangeStates(pub(super) BTreeMap<RangeId, Rc<RangeState>>);

impl RangeStates {
    fn range(&mut self, range: RangeId) -> &mut RangeState {
        Rc::make_mut(self.0.get_mut(&range).expect("only ranges that exist are written to"))
    }
}

/// What a write does.
#[derive(Clone, Debug)]
pub(super) enum RangeWrite {
    Create(Interval),
    Append(Entry),
    Truncate(Position),
    Hold(Attempt),
    Reset,
    Install(Vec<Kept>),
    InstallEnd(Meta),
    Inherit(Vec<RangeId>, Vec<(RangeId, RecoveredRange)>),
    Drop,
}

/// What was found after a restart: the ranges, and what lookups show, with what each range has forgotten.
pub(super) struct RestartState {
    pub(super) ranges: BTreeMap<RangeId, RecoveredRange>,
    pub(super) shown: BTreeMap<(RangeId, Vec<u8>), Option<Kept>>,
    pub(super) forgotten: BTreeMap<RangeId, Seq>,
}

/// The states that a crash may leave, oldest first; the last is the current one.
#[derive(Clone, Debug)]
pub(super) struct RangeModel {
    secret: Secret,
    states: VecDeque<(Gate, RangeStates)>,
}

impl RangeModel {
    pub(super) fn new(secret: Secret) -> Self {
        Self { secret, states: VecDeque::from([(Gate(0), RangeStates::default())]) }
    }

    /// The current state.
    pub(super) fn now(&self) -> &RangeStates {
        &self.states.back().expect("there is a current state").1
    }

    /// A write was made, which is durable at `gate`.
    pub(super) fn write(&mut self, gate: Gate, range: RangeId, write: RangeWrite) {
        let mut state = self.now().clone();
        match write {
            RangeWrite::Create(keys) => {
                let empty = RecoveredRange { keys, held: None, meta: Meta::default(), entries: Vec::new() };
                state.0.insert(range, Rc::new(RangeState::of(&empty)));
            }
            RangeWrite::Append(entry) => state.range(range).log.push(entry),
            RangeWrite::Truncate(to) => state.range(range).log.retain(|entry| entry.position <= to),
            RangeWrite::Hold(attempt) => state.range(range).held = Some(attempt),
            RangeWrite::Reset => {
                let keys = state.range(range).keys;
                let empty = RecoveredRange { keys, held: None, meta: Meta::default(), entries: Vec::new() };
                *state.range(range) = RangeState::of(&empty);
            }
            RangeWrite::Install(kept) => {
                for kept in kept {
                    state.range(range).show(kept, None);
                }
            }
            RangeWrite::InstallEnd(meta) => {
                let range = state.range(range);
                (range.base, range.meta) = (meta.clone(), meta);
                range.log.clear();
            }
            RangeWrite::Inherit(over, ranges) => self.inherit(&mut state, &over, &ranges),
            RangeWrite::Drop => drop(state.0.remove(&range)),
        }
        self.states.push_back((gate, state));
    }

    fn inherit(&self, state: &mut RangeStates, over: &[RangeId], ranges: &[(RangeId, RecoveredRange)]) {
        let parents: Vec<Rc<RangeState>> = over.iter().filter_map(|range| state.0.remove(range)).collect();
        for (range, found) in ranges {
            let mut heir = RangeState::of(found);
            heir.gone.extend(parents.iter().flat_map(|parent| parent.gone.clone()));
            heir.set_back.extend(parents.iter().flat_map(|parent| parent.set_back.clone()));
            for (key, shown) in parents.iter().flat_map(|parent| &parent.shown) {
                if let Some(newest) = shown.last().filter(|_| heir.keys.contains(&self.secret.position(key))) {
                    heir.show(newest.kept.clone(), None);
                }
            }
            state.0.insert(*range, Rc::new(heir));
        }
    }

    /// The first record that is not committed is.
    pub(super) fn commit(&mut self, range: RangeId, entry: &Entry) {
        self.states.back_mut().expect("there is a current state").1.range(range).commit(entry);
    }

    /// A store answers a lookup with what must be there, or with what was newest when the lookup began.
    ///
    /// # Panics
    /// It does not.
    pub(super) fn check(
        &self,
        store: &FlashStore,
        (range, name): (RangeId, &[u8]),
        must: Option<&Kept>,
        found: Option<&Kept>,
    ) {
        let Some(state) = self.now().0.get(&range) else { return };
        let same = |must: Option<&Kept>| match must {
            None => state.may_return(name, found),
            Some(must) => state.is_same(must, found, store.forgotten(range)),
        };
        assert!(
            same(must) || same(state.newest(name)),
            "{range:?}: {} is {}, not {}",
            String::from_utf8_lossy(name),
            brief(found),
            brief(must)
        );
    }

    /// Everything up to `gate` is durable.
    pub(super) fn durable(&mut self, gate: Gate) {
        while self.states.get(1).is_some_and(|(next, _)| *next <= gate) {
            self.states.pop_front();
        }
    }

    /// Takes what a restart found for the current state.
    ///
    /// # Errors
    /// It is none of those that may be left.
    pub(super) fn recover(&mut self, found: &RestartState) -> Result<(), String> {
        let mut complaints = Vec::new();
        for (gate, state) in self.states.iter().rev() {
            let Some(complaint) = Self::complaint(state, found) else {
                let mut state = state.clone();
                Self::go_on(&mut state, found);
                self.states = VecDeque::from([(Gate(0), state)]);
                return Ok(());
            };
            complaints.push(format!("write {}: {complaint}", gate.0));
        }
        Err(complaints.join("\n"))
    }

    fn complaint(state: &RangeStates, found: &RestartState) -> Option<String> {
        if !state.0.keys().eq(found.ranges.keys()) {
            return Some(format!("{:?} are not {:?}", found.ranges.keys(), state.0.keys()));
        }
        for (range, must) in &state.0 {
            let recovered = &found.ranges[range];
            if let Some(complaint) = must.complaint(recovered) {
                return Some(format!("{range:?}: {complaint}"));
            }
        }
        for ((range, key), kept) in &found.shown {
            let Some(must) = state.0.get(range) else { continue };
            let committed = found.ranges[range].meta.committed;
            if !must.may_show(key, kept.as_ref(), committed, found.forgotten[range]) {
                let key = String::from_utf8_lossy(key);
                let shown = must.shown.get(key.as_bytes());
                return Some(format!(
                    "{range:?}: {key} is {}, as of {committed:?}, of {shown:?}",
                    brief(kept.as_ref())
                ));
            }
        }
        None
    }

    /// The state goes on with what was found of it.
    fn go_on(state: &mut RangeStates, found: &RestartState) {
        for (range, recovered) in &found.ranges {
            let (was, forgotten) = (state.0[range].clone(), found.forgotten[range]);
            let now = state.range(*range);
            now.meta = recovered.meta.clone();
            now.shown.clear();
            for ((_, key), kept) in found.shown.iter().filter(|((of, _), _)| of == range) {
                let shown = was.shown.get(key).into_iter().flatten().rev().map(|shown| &shown.kept);
                let gone = shown.filter(|kept| was.is_same(kept, None, forgotten));
                match kept {
                    Some(kept) => now.show(kept.clone(), None),
                    None => now.gone.entry(key.clone()).or_default().extend(gone.cloned()),
                }
            }
        }
    }
}
