//! Random states of a store's manifest, and edits that fit them.

use fawn_check::random::Random;
use fawn_ring::{Interval, Key, Secret};
use fawn_store::log::LogPosition;
use fawn_store::manifest::{
    Edit, EmptiedInterval, Expiring, MergeEdit, Range, SealEdit, SealedRange, Segment, SegmentPages, State,
};

/// The state that everything here begins with: a store that was just made, the second of three.
pub fn state() -> State {
    let third = u64::MAX / 3;
    let keys = Interval::new(Key::lowest_with_prefix(third), Key::highest_with_prefix(2 * third));
    State::new(1, 3, keys, Secret([3; 32]), 100, 8, 4096)
}

/// Any key.
pub fn key(random: &mut Random) -> Key {
    let mut key = [0; Key::LEN];
    random.fill(&mut key);
    Key(key)
}

/// Two keys of `interval` in order. Distinct keys are far apart, so that ties cannot be met by chance alone.
fn within(random: &mut Random, interval: Interval) -> (Key, Key) {
    let (low, high) = (interval.low.prefix(), interval.high.prefix());
    let mut pick = || match random.below(8) {
        0 => interval.low,
        1 => interval.high,
        _ if high - low < 3 => interval.low,
        _ => Key::lowest_with_prefix(low + 1 + random.below(high - low - 1)),
    };
    let (a, b) = (pick(), pick());
    (a.min(b), a.max(b))
}

/// Any segment in file `file` whose keys lie in `interval`.
pub fn segment(random: &mut Random, file: u64, interval: Interval) -> Segment {
    let (low, high) = within(random, interval);
    Segment {
        file,
        age: file,
        pages: SegmentPages { data: random.below(9000), directory: 3, fragments: 4, total: 9010 },
        records: random.word(),
        bytes: random.word(),
        deletes: random.word(),
        low,
        high,
        seq_low: random.word(),
        seq_high: random.word(),
        expiring: Expiring { records: random.word(), latest: random.word() as u32 },
    }
}

fn free_number(state: &State, random: &mut Random) -> u16 {
    loop {
        let number = random.below(1 << 16) as u16;
        if !state.segments.contains_key(&number) {
            return number;
        }
    }
}

fn sealed(state: &State, random: &mut Random) -> Edit {
    let segment =
        random.chance(9, 10).then(|| (free_number(state, random), segment(random, state.next_file, state.interval)));
    let ranges = state.ranges.iter().map(|range| SealedRange {
        instance: range.instance,
        seq_reserved: range.seq_reserved + 10,
        last_seq: range.seq_reserved,
        flush_watermark: random.word(),
        flush_deadline: random.word() as u32,
    });
    let start = state.log.start.page;
    let latest = state.log.clean_end.unwrap_or(start + 100);
    Edit::Sealed(Box::new(SealEdit {
        ranges: ranges.collect(),
        segment,
        log: LogPosition { page: start + random.below(latest - start + 1), previous: random.word() as u32 },
        user_bytes: random.below(1 << 40),
        written_bytes: random.below(1 << 40),
    }))
}

fn merged(state: &State, random: &mut Random) -> Edit {
    let slice = random.pick(&state.slices).clone();
    let removed: Vec<u16> = slice.parts.iter().copied().filter(|_| random.chance(2, 3)).collect();
    let mut intervals = vec![slice.interval];
    if random.chance(1, 3)
        && let Some((left, right)) = slice.interval.cut(&within(random, slice.interval).0)
    {
        intervals = vec![left, right];
    }
    let mut used = Vec::new();
    let mut outputs = Vec::new();
    for interval in intervals {
        let is_kept = !removed.is_empty() && random.chance(4, 5);
        let output = is_kept.then(|| {
            let number = loop {
                let number = free_number(state, random);
                if !used.contains(&number) {
                    break number;
                }
            };
            used.push(number);
            (number, segment(random, state.next_file + used.len() as u64, interval))
        });
        outputs.push((interval, output));
    }
    let horizons = vec![(random.pick(&state.ranges).instance, random.word())];
    Edit::Merged(Box::new(MergeEdit { slice: slice.interval, removed, outputs, horizons, written_bytes: 77 }))
}

fn new_instance(state: &State) -> u64 {
    state.ranges.iter().map(|range| range.instance).max().unwrap_or(0) + 1
}

fn split(state: &State, random: &mut Random) -> Option<Edit> {
    let range = *random.pick(&state.ranges);
    let (left, right) = range.interval.cut(&within(random, range.interval).0)?;
    let instance = new_instance(state);
    Some(Edit::RangeSplit {
        instance: range.instance,
        left: Box::new(Range { instance, interval: left, epoch: range.epoch + 1, ..range }),
        right: Box::new(Range { instance: instance + 1, interval: right, epoch: range.epoch + 1, ..range }),
    })
}

fn joined(state: &State, random: &mut Random) -> Option<Edit> {
    let index = random.below(state.ranges.len() as u64) as usize;
    let (left, right) = (state.ranges[index], *state.ranges.get(index + 1)?);
    let merged = Range {
        instance: new_instance(state),
        interval: Interval { low: left.interval.low, high: right.interval.high },
        seq_reserved: left.seq_reserved.max(right.seq_reserved),
        last_seq: left.last_seq.max(right.last_seq),
        ..left
    };
    Some(Edit::RangesMerged { left: left.instance, right: right.instance, merged: Box::new(merged) })
}

/// An edit that fits `state`.
pub fn edit(state: &State, random: &mut Random) -> Edit {
    let range = *random.pick(&state.ranges);
    let choice = match random.below(18) {
        0..=3 => Some(sealed(state, random)),
        4..=6 => Some(merged(state, random)),
        7 => Some(key(random)).filter(|at| state.interval.contains(at)).map(|at| Edit::SliceCut { at }),
        8 => split(state, random),
        9 => joined(state, random),
        10 => state.values.keys().next().map(|file| Edit::ValueDropped { file: *file }),
        11 => Some(Edit::ValueAdded { file: state.next_file, bytes: random.word() }),
        12 => Some(Edit::CleanStop { log_end: state.log.start.page + random.below(50) }),
        13 => Some(emptied(state, random)),
        14 => widened(state, random),
        15 => {
            Some(Edit::LogReached { at: LogPosition { page: random.below(1 << 20), previous: random.word() as u32 } })
        }
        16 => content(state, random),
        _ => None,
    };
    let reserved = vec![(range.instance, range.seq_reserved + 1)];
    choice.unwrap_or(Edit::Opened { generation: state.generation + 1, reserved })
}

/// Once: from the stretch that [`state`] begins with to all keys.
fn widened(state: &State, random: &mut Random) -> Option<Edit> {
    let Interval { low, high } = state.interval;
    let below = low.predecessor().map(|high| Interval::new(Key::MIN, high));
    let above = high.successor().map(|low| Interval::new(low, Key::MAX));
    let mut slices =
        |keys: Option<Interval>| keys.map_or_else(Vec::new, |keys| keys.divide(random.within(1, 4) as u32));
    let (below, above) = (slices(below), slices(above));
    (!below.is_empty() || !above.is_empty()).then_some(Edit::Widened { below, above })
}

/// What a segment holds of which that is not known.
fn content(state: &State, random: &mut Random) -> Option<Edit> {
    let mut files = state.segments.values().map(|segment| segment.file);
    let file = files.rfind(|file| !state.bonds.contents.contains_key(file))?;
    Some(Edit::SegmentContent { file, content: random.word() as u32 })
}

fn emptied(state: &State, random: &mut Random) -> Edit {
    let (low, high) = within(random, state.interval);
    Edit::Emptied(EmptiedInterval { interval: Interval::new(low, high), below: random.below(state.next_file + 1) })
}

/// One to three edits that fit `state` one after the other, and what they make of it.
pub fn commit(state: &State, random: &mut Random) -> (Vec<Edit>, State) {
    let mut next = state.clone();
    let edits = (0..random.within(1, 3)).map(|_| {
        let edit = edit(&next, random);
        next.apply(&edit).expect("the edit fits");
        edit
    });
    (edits.collect(), next)
}
