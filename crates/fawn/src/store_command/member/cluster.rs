//! The records of a cluster whose nodes are all stopped, from their directories: the newest version of each key.
//!
//! For each part of the keys, the log that goes furthest leads: it is of a node that was in the last chain. Epochs grow
//! with every change of a chain, along with the ranges that are cut or joined. In a strong cluster that log has all that
//! was acknowledged.
//!
//! In a weak cluster each member has a log of its own, and may have writes that the others missed. So all directories
//! are read side by side, and the highest position of a key wins. A node that left a chain keeps what it had for a while.
//! Its version of a key that the leading log lacks counts only if the leading log cannot have forgotten a later deletion.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::{Context as _, bail};
use fawn_flash::MemberDirectory;
use fawn_kv::ids::{Position, RangeId, Seq};
use fawn_kv::range::entry::{Kept, Version};
use fawn_kv::store::{FlashStore, RangeStore as _, RecoveredRange};
use fawn_ring::{Interval, Key, Secret};
use fawn_store::Losses;
use fawn_transfer::Record;
use fawn_transfer::client::set_now;

use super::{DumpFindings, MemberStore, OpenStore, Taker};

/// A range as one store has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StoreRange {
    /// Which of the stores of all directories.
    store: usize,
    range: RangeId,
    keys: Interval,
    /// The end of its log, and of what it knows to be committed.
    end: (Position, Position),
}

/// A part of the keys, and who has it, the log that goes furthest first.
type KeysOwners = (Interval, Vec<StoreRange>);

/// Hands every live record of a cluster to `each`, once.
///
/// # Errors
/// The directories are not of one cluster, or cannot be read; and those of `each`.
pub fn dump(
    directories: &[MemberDirectory],
    each: impl FnMut(Record) -> anyhow::Result<()>,
) -> anyhow::Result<DumpFindings> {
    let secret = check(directories)?;
    let mut found = DumpFindings::default();
    let mut stores = Vec::new();
    for directory in directories {
        for index in 0..directory.stores() {
            match MemberStore::open(directory, index, &mut found.damaged) {
                Ok(MemberStore::Ranges(open, ranges)) => stores.push(ClusterStore { open, ranges, has_failed: false }),
                Ok(MemberStore::Plain(_)) => {
                    let path = directory.path().display();
                    bail!("{path} has data that belong to no cluster yet: dump them with a separate command");
                }
                // The others may have all that it has.
                Err(error) => found.damaged.push(format!("{error:#}")),
            }
        }
    }
    let mut parts = Vec::new();
    for (number, store) in stores.iter().enumerate() {
        let whole = store.ranges.iter().filter(|(_, recovered)| recovered.held.is_some());
        parts.extend(whole.map(|(range, recovered)| part(number, *range, recovered)));
    }
    let owners = choose(&parts);
    found.missing = owners.iter().filter(|(_, owners)| owners.is_empty()).count();
    let leading: BTreeSet<(usize, RangeId)> =
        owners.iter().filter_map(|(_, owners)| owners.first()).map(|part| (part.store, part.range)).collect();
    for part in &parts {
        let unsettled = stores[part.store].settle(part.range, &mut found);
        found.unsettled += if leading.contains(&(part.store, part.range)) { unsettled } else { 0 };
    }
    let mut taker = Taker::new(each);
    for (keys, owners) in &owners {
        JointRead::new(*keys, owners, &secret).run(&mut stores, &mut taker, &mut found)?;
    }
    for (number, store) in stores.iter_mut().enumerate() {
        // What another copy has lost is here.
        if leading.iter().any(|(leading, _)| *leading == number)
            && let Some(more) = store.open.store.passed_over()
        {
            Losses::add(&mut found.lost, more.records, &more.damage);
        }
    }
    Ok(found)
}

/// One store of a directory, with its ranges.
struct ClusterStore {
    open: Box<OpenStore<FlashStore>>,
    ranges: BTreeMap<RangeId, RecoveredRange>,
    /// It could not be read at some place: nothing more is taken from it.
    has_failed: bool,
}

impl ClusterStore {
    /// Takes for committed what is in a range's log; how many writes those are.
    fn settle(&mut self, range: RangeId, found: &mut DumpFindings) -> usize {
        self.open.store.pass_over_lost();
        let Some(recovered) = self.ranges.get_mut(&range) else { return 0 };
        match self.open.settle(range, recovered) {
            Ok(unsettled) => unsettled,
            Err(error) => {
                self.fail(&error, found);
                0
            }
        }
    }

    /// Whether a version can be seen, by a range's time and by its flushes.
    fn shows(&self, range: RangeId, place: &Key, version: &Version, seq: Seq) -> Visibility {
        let Some(recovered) = self.ranges.get(&range) else { return Visibility::Hidden };
        let alive = &recovered.meta.alive;
        let shows = |time| alive.shows_at(place, version, seq, time);
        match (shows(alive.time.max(set_now().unwrap_or(0))), shows(alive.time)) {
            (true, _) => Visibility::Shown,
            (false, true) => Visibility::HiddenByClock,
            (false, false) => Visibility::Hidden,
        }
    }

    /// Notes that it cannot be read, once.
    fn fail(&mut self, error: &anyhow::Error, found: &mut DumpFindings) {
        if !self.has_failed {
            found.damaged.push(format!("{error:#}"));
        }
        self.has_failed = true;
    }
}

/// Whether a version is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visibility {
    Shown,
    /// It has expired by nothing but this machine's clock.
    HiddenByClock,
    Hidden,
}

/// What one store has of the keys, in the order of positions on the ring.
struct RangeReader {
    part: StoreRange,
    /// Where the next read begins; `None`: all is read.
    from: Option<Key>,
    /// What was read and is not dealt with.
    read: VecDeque<(Key, Kept)>,
}

impl RangeReader {
    /// Reads until there is a version, or all is read.
    fn fill(&mut self, keys: &Interval, secret: &Secret, stores: &mut [ClusterStore], found: &mut DumpFindings) {
        while self.read.is_empty()
            && let Some(from) = self.from.take()
        {
            let store = &mut stores[self.part.store];
            if store.has_failed {
                return;
            }
            let Some(recovered) = store.ranges.get(&self.part.range) else { return };
            let part = match store.open.part(self.part.range, Some(from), recovered) {
                Ok(part) => part,
                Err(error) => return store.fail(&error, found),
            };
            let placed = part.kept.into_iter().map(|kept| (secret.position(&kept.key), kept));
            let mut placed: Vec<_> = placed.filter(|(place, _)| keys.contains(place)).collect();
            placed.sort_by(|(place, kept), (other_place, other)| (place, &kept.key).cmp(&(other_place, &other.key)));
            self.read = placed.into();
            self.from = part.next.filter(|next| keys.contains(next));
        }
    }

    /// The least key that is not dealt with, by its position on the ring.
    fn least(&self) -> Option<(Key, &[u8])> {
        self.read.front().map(|(place, kept)| (*place, &kept.key[..]))
    }
}

/// The versions of a part of the keys, from all stores that have it.
struct JointRead<'a> {
    keys: Interval,
    secret: &'a Secret,
    /// The leading one first.
    sources: Vec<RangeReader>,
}

impl<'a> JointRead<'a> {
    fn new(keys: Interval, owners: &[StoreRange], secret: &'a Secret) -> Self {
        let source = |part: &StoreRange| RangeReader { part: *part, from: Some(keys.low), read: VecDeque::new() };
        Self { keys, secret, sources: owners.iter().map(source).collect() }
    }

    /// Hands the live records to `taker`.
    fn run(
        mut self,
        stores: &mut [ClusterStore],
        taker: &mut Taker<impl FnMut(Record) -> anyhow::Result<()>>,
        found: &mut DumpFindings,
    ) -> anyhow::Result<()> {
        let Some(leading) = self.sources.first().map(|source| source.part) else { return Ok(()) };
        let forgotten = stores[leading.store].open.store.forgotten(leading.range);
        loop {
            for source in &mut self.sources {
                source.fill(&self.keys, self.secret, stores, found);
            }
            let Some((place, key)) = self.sources.iter().filter_map(RangeReader::least).min() else { return Ok(()) };
            let key = key.to_vec();
            let Some((source, kept)) = self.newest(place, &key, forgotten) else { continue };
            let by = self.sources[source].part;
            let Some(version) = kept.version else { continue };
            // A flush that the leading log has is about the versions of all.
            let seq = kept.position.seq;
            let visible = [by, leading].map(|part| stores[part.store].shows(part.range, &place, &version, seq));
            if visible != [Visibility::Shown; 2] {
                found.expired += u64::from(!visible.contains(&Visibility::Hidden));
                continue;
            }
            found.gathered += u64::from(source > 0);
            let (flags, exptime) = (version.flags, version.expiry);
            taker.take(Record { key, value: version.value, flags, exptime, cas: 0 })?;
        }
    }

    /// Takes a key out of all sources; its newest version, and whose that is.
    fn newest(&mut self, place: Key, key: &[u8], forgotten: Seq) -> Option<(usize, Kept)> {
        let mut newest: Option<(usize, Kept)> = None;
        let mut is_known = false;
        for (number, source) in self.sources.iter_mut().enumerate() {
            if source.least() != Some((place, key)) {
                continue;
            }
            let Some((_, kept)) = source.read.pop_front() else { continue };
            is_known |= number == 0;
            let counts = is_known || kept.position.seq > forgotten;
            if counts && newest.as_ref().is_none_or(|(_, other)| kept.position > other.position) {
                newest = Some((number, kept));
            }
        }
        newest
    }
}

/// Refuses directories of several clusters; where their keys lie.
fn check(directories: &[MemberDirectory]) -> anyhow::Result<Secret> {
    let of = |directory: &MemberDirectory| {
        let path = || format!("{} belongs to no cluster yet", directory.path().display());
        let cluster = directory.cluster().with_context(path)?.0;
        Ok::<_, anyhow::Error>((cluster, directory.secret().with_context(path)?))
    };
    let first = directories.first().context("give the directories of a cluster's nodes")?;
    let (cluster, secret) = of(first)?;
    for directory in directories {
        if of(directory)?.0 != cluster {
            let (one, other) = (first.path().display(), directory.path().display());
            bail!("{one} and {other} belong to two clusters: give the directories of one cluster");
        }
    }
    Ok(secret)
}

fn part(store: usize, range: RangeId, recovered: &RecoveredRange) -> StoreRange {
    let committed = recovered.meta.committed;
    let end = recovered.entries.last().map_or(committed, |entry| entry.position);
    StoreRange { store, range, keys: recovered.keys, end: (end, committed) }
}

/// Of all keys, in their order, who has them, the log that goes furthest first.
fn choose(parts: &[StoreRange]) -> Vec<KeysOwners> {
    let lows = parts.iter().map(|part| part.keys.low);
    let nexts = parts.iter().filter_map(|part| part.keys.high.successor());
    let lows: BTreeSet<Key> = std::iter::once(Key::MIN).chain(lows).chain(nexts).collect();
    let lows: Vec<Key> = lows.into_iter().collect();
    let mut chosen: Vec<KeysOwners> = Vec::new();
    for (at, low) in lows.iter().enumerate() {
        let high = lows.get(at + 1).and_then(Key::predecessor).unwrap_or(Key::MAX);
        let mut owners: Vec<StoreRange> = parts.iter().filter(|part| part.keys.contains(low)).copied().collect();
        owners.sort_by_key(|owner| Reverse(owner.end));
        match chosen.last_mut() {
            Some((keys, of)) if *of == owners => *keys = Interval::new(keys.low, high),
            _ => chosen.push((Interval::new(*low, high), owners)),
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use fawn_kv::ids::Epoch;

    use super::*;

    #[test]
    fn of_each_key_the_log_that_goes_furthest_counts() {
        let halves = Interval::ALL.divide(2);
        let part = |number, keys, epoch, seq| {
            let end = Position { epoch: Epoch(epoch), seq: Seq(seq) };
            StoreRange { store: number, range: RangeId(number as u32), keys, end: (end, end) }
        };
        // All keys as they were before the range was cut, in a log that is longer; and what came of it.
        let (old, low, high) = (part(0, Interval::ALL, 1, 900), part(1, halves[0], 2, 10), part(2, halves[1], 3, 7));
        let behind = part(3, halves[1], 3, 6);
        let [first, second] = halves[..] else { panic!("two halves") };
        assert_eq!(
            choose(&[old, behind, high, low]),
            [(first, vec![low, old]), (second, vec![high, behind, old])],
            "the log that goes furthest leads"
        );
        assert_eq!(choose(&[old, high]), [(first, vec![old]), (second, vec![high, old])]);
        assert_eq!(choose(&[high]), [(first, vec![]), (second, vec![high])]);
        assert_eq!(choose(&[]), [(Interval::ALL, vec![])]);
    }

    #[test]
    fn of_each_key_the_highest_position_counts_unless_its_deletion_may_be_forgotten() {
        let secret = Secret([3; 32]);
        let at = |epoch, seq| Position { epoch: Epoch(epoch), seq: Seq(seq) };
        let part = |store| StoreRange { store, range: RangeId(1), keys: Interval::ALL, end: (at(9, 9), at(9, 9)) };
        let place = secret.position(b"k");
        let newest = |versions: [Option<Position>; 3], forgotten| {
            let mut merge = JointRead::new(Interval::ALL, &[part(0), part(1), part(2)], &secret);
            for (source, position) in merge.sources.iter_mut().zip(versions) {
                let kept = |position| Kept { key: b"k".to_vec(), position, version: None };
                source.read = position.map(|position| (place, kept(position))).into_iter().collect();
            }
            let newest = merge.newest(place, b"k", Seq(forgotten)).map(|(source, kept)| (source, kept.position));
            assert!(merge.sources.iter().all(|source| source.read.is_empty()));
            newest
        };
        assert_eq!(newest([Some(at(2, 5)), Some(at(2, 5)), None], 0), Some((0, at(2, 5))));
        assert_eq!(newest([Some(at(1, 5)), Some(at(2, 6)), Some(at(1, 9))], 8), Some((1, at(2, 6))));
        assert_eq!(newest([None, Some(at(1, 5)), Some(at(1, 7))], 4), Some((2, at(1, 7))));
        assert_eq!(newest([None, Some(at(1, 5)), None], 5), None, "the leading log may have deleted it since");
    }
}
