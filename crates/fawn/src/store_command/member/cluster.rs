//! The records of a cluster whose nodes are all stopped, from their directories: of each key what the node has that was in its
//! chain last.
//!
//! Nodes that left a chain keep what they had for a while, and would bring back what was changed or deleted since. How far a
//! node's log of a range goes says who was in the chain last: epochs grow with every change of a chain, along with the ranges that
//! are cut or joined.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use fawn_flash::MemberDirectory;
use fawn_kv::ids::{Position, RangeId};
use fawn_kv::store::RecoveredRange;
use fawn_ring::{Interval, Key, Secret};
use fawn_store::Losses;
use fawn_transfer::Record;

use super::{DumpFindings, MemberStore, Taker};

/// A range as one store has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StoreRange {
    /// Which of the directories, and which of its stores.
    store: (usize, usize),
    range: RangeId,
    keys: Interval,
    /// The end of its log, and of what it knows to be committed.
    end: (Position, Position),
}

/// Hands every live record of a cluster to `each`, once.
///
/// # Errors
/// The directories are not of one cluster, or cannot be read; and those of `each`.
pub fn dump(
    directories: &[MemberDirectory],
    each: impl FnMut(Record) -> anyhow::Result<()>,
) -> anyhow::Result<DumpFindings> {
    let secret = check(directories)?;
    let (mut parts, mut damaged) = (Vec::new(), Vec::new());
    for (number, directory) in directories.iter().enumerate() {
        for index in 0..directory.stores() {
            let ranges = match MemberStore::open(directory, index, &mut damaged) {
                Ok(MemberStore::Ranges(_, ranges)) => ranges,
                Ok(MemberStore::Plain(_)) => {
                    let path = directory.path().display();
                    bail!("{path} has data that belong to no cluster yet: dump them with a separate command");
                }
                // The others may have all that it has.
                Err(error) => {
                    damaged.push(format!("{error:#}"));
                    continue;
                }
            };
            let whole = ranges.iter().filter(|(_, recovered)| recovered.held.is_some());
            parts.extend(whole.map(|(range, recovered)| part((number, index), *range, recovered)));
        }
    }
    let chosen = choose(&parts);
    let missing = chosen.iter().filter(|(_, part)| part.is_none()).count();
    let mut found = DumpFindings { missing, damaged, ..DumpFindings::default() };
    let mut taker = Taker::new(each);
    let stores: BTreeSet<(usize, usize)> = parts.iter().map(|part| part.store).collect();
    for store in stores {
        let of_store = chosen.iter().filter_map(|(keys, part)| Some((*keys, (*part)?)));
        let of_store: Vec<_> = of_store.filter(|(_, part)| part.store == store).collect();
        let dumped = dump_store(&directories[store.0], store.1, &of_store, &secret, &mut taker, &mut found);
        taker.note(dumped, &mut found)?;
    }
    Ok(found)
}

/// Hands what was chosen of one store to `taker`.
fn dump_store(
    directory: &MemberDirectory,
    index: usize,
    chosen: &[(Interval, StoreRange)],
    secret: &Secret,
    taker: &mut Taker<impl FnMut(Record) -> anyhow::Result<()>>,
    found: &mut DumpFindings,
) -> anyhow::Result<()> {
    // What is wrong with its log was told when it was looked at first.
    let MemberStore::Ranges(mut open, ranges) = MemberStore::open(directory, index, &mut Vec::new())? else {
        return Ok(());
    };
    open.store.pass_over_lost();
    let mut dumped = Ok(());
    for (range, mut recovered) in ranges {
        let keys: Vec<Interval> =
            chosen.iter().filter(|(_, part)| part.range == range).map(|(keys, _)| *keys).collect();
        if keys.is_empty() {
            continue;
        }
        let mut of_keys = |record: Record| {
            let place = secret.position(&record.key);
            if keys.iter().any(|keys| keys.contains(&place)) { taker.take(record) } else { Ok(()) }
        };
        dumped = open.dump_settled(range, &mut recovered, &mut of_keys, found);
        if dumped.is_err() {
            break;
        }
    }
    if let Some(more) = open.store.passed_over() {
        Losses::add(&mut found.lost, more.records, &more.damage);
    }
    dumped
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

fn part(store: (usize, usize), range: RangeId, recovered: &RecoveredRange) -> StoreRange {
    let committed = recovered.meta.committed;
    let end = recovered.entries.last().map_or(committed, |entry| entry.position);
    StoreRange { store, range, keys: recovered.keys, end: (end, committed) }
}

/// Of all keys, in their order, the part whose log goes furthest.
fn choose(parts: &[StoreRange]) -> Vec<(Interval, Option<StoreRange>)> {
    let lows = parts.iter().map(|part| part.keys.low);
    let nexts = parts.iter().filter_map(|part| part.keys.high.successor());
    let lows: BTreeSet<Key> = std::iter::once(Key::MIN).chain(lows).chain(nexts).collect();
    let lows: Vec<Key> = lows.into_iter().collect();
    let mut chosen: Vec<(Interval, Option<StoreRange>)> = Vec::new();
    for (at, low) in lows.iter().enumerate() {
        let high = lows.get(at + 1).and_then(Key::predecessor).unwrap_or(Key::MAX);
        let best = parts.iter().filter(|part| part.keys.contains(low)).max_by_key(|part| part.end).copied();
        match chosen.last_mut() {
            Some((keys, part)) if *part == best => *keys = Interval::new(keys.low, high),
            _ => chosen.push((Interval::new(*low, high), best)),
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use fawn_kv::ids::{Epoch, Seq};

    use super::*;

    #[test]
    fn of_each_key_the_log_that_goes_furthest_counts() {
        let halves = Interval::ALL.divide(2);
        let part = |number, keys, epoch, seq| {
            let end = Position { epoch: Epoch(epoch), seq: Seq(seq) };
            StoreRange { store: (number, 0), range: RangeId(number as u32), keys, end: (end, end) }
        };
        // All keys as they were before the range was cut, in a log that is longer; and what came of it.
        let (old, low, high) = (part(0, Interval::ALL, 1, 900), part(1, halves[0], 2, 10), part(2, halves[1], 3, 7));
        let behind = part(3, halves[1], 3, 6);
        assert_eq!(choose(&[old, behind, high, low]), [(halves[0], Some(low)), (halves[1], Some(high))]);
        assert_eq!(choose(&[old, high]), [(halves[0], Some(old)), (halves[1], Some(high))]);
        assert_eq!(choose(&[high]), [(halves[0], None), (halves[1], Some(high))]);
        assert_eq!(choose(&[]), [(Interval::ALL, None)]);
    }
}
