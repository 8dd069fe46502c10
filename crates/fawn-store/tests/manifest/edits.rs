//! What edits mean.

use std::collections::BTreeSet;

use fawn_check::random::Random;
use fawn_ring::{Interval, Key, Secret};
use fawn_sim::flash::SimFlash;
use fawn_store::log::LogPosition;
use fawn_store::manifest::{Edit, Inconsistent, Manifest, MergeEdit, Range, SealEdit, Segment, State};

use fawn_sim::edits::{self, state};

/// Numbers of all files that a state names.
fn files(state: &State) -> BTreeSet<u64> {
    state.segments.values().map(|segment| segment.file).chain(state.values.keys().copied()).collect()
}

#[test]
fn random_edits_keep_the_state_sound_and_report_every_dropped_file_once() {
    for seed in 0..30 {
        let random = &mut Random::new(seed);
        let mut state = state();
        for _ in 0..300 {
            let edit = edits::edit(&state, random);
            let before = files(&state);
            let dropped = state.apply(&edit).unwrap_or_else(|error| panic!("{error}: {edit:?}"));
            assert_eq!(state.check(), Ok(()), "{edit:?}");
            let gone: BTreeSet<u64> = before.difference(&files(&state)).copied().collect();
            assert_eq!(gone.len(), dropped.len());
            assert_eq!(gone, dropped.into_iter().collect());
        }
    }
}

#[test]
fn every_edit_reads_back_from_flash() {
    for seed in 0..24 {
        let random = &mut Random::new(seed);
        let flash = SimFlash::new(seed);
        let mut manifest = Manifest::create(&flash, state()).unwrap();
        let mut expected = state();
        for _ in 0..random.within(1, 300) {
            let (edits, next) = edits::commit(&expected, random);
            manifest.commit(&flash, &edits).unwrap();
            expected = next;
            assert_eq!(*manifest.state(), expected);
            if random.chance(1, 40) {
                let (opened, read) = Manifest::open(&flash).unwrap();
                assert_eq!((&read, opened.bad_copies()), (&expected, &[][..]));
                if random.chance(1, 2) {
                    manifest = opened;
                }
            }
        }
        assert_eq!(Manifest::open(&flash).unwrap().1, expected);
    }
}

fn segment(file: u64, interval: Interval) -> Segment {
    Segment { low: interval.low, high: interval.high, ..edits::segment(&mut Random::new(1), file, interval) }
}

/// A state of one slice that names segments 1, 2, 3 and 4, sealed in this order.
fn four_parts() -> State {
    let mut state = State::new(0, 1, Interval::ALL, Secret([3; 32]), 100, 1, 4096);
    for number in 1..=4 {
        state.apply(&seal(number, Interval::ALL)).unwrap();
    }
    state
}

fn seal(number: u16, interval: Interval) -> Edit {
    Edit::Sealed(Box::new(SealEdit {
        segment: Some((number, segment(u64::from(number), interval))),
        log: LogPosition::default(),
        ranges: Vec::new(),
        user_bytes: 0,
        written_bytes: 0,
    }))
}

fn merge(slice: Interval, removed: &[u16], outputs: Vec<(Interval, Option<(u16, Segment)>)>) -> Edit {
    Edit::Merged(Box::new(MergeEdit {
        slice,
        removed: removed.to_vec(),
        outputs,
        horizons: Vec::new(),
        written_bytes: 0,
    }))
}

#[test]
fn an_output_takes_the_place_of_its_newest_input() {
    for (removed, parts) in [
        (vec![1, 2], vec![9, 3, 4]),
        (vec![1, 3], vec![2, 9, 4]),
        (vec![4], vec![1, 2, 3, 9]),
        (vec![2], vec![1, 9, 3, 4]),
    ] {
        let mut state = four_parts();
        let output = vec![(Interval::ALL, Some((9, segment(9, Interval::ALL))))];
        let dropped = state.apply(&merge(Interval::ALL, &removed, output)).unwrap();
        assert_eq!(state.slices[0].parts, parts);
        assert_eq!(dropped, removed.iter().map(|number| u64::from(*number)).collect::<Vec<_>>());
        assert_eq!(state.check(), Ok(()));
    }
}

#[test]
fn a_merge_that_leaves_nothing_drops_its_inputs() {
    let mut state = four_parts();
    let dropped = state.apply(&merge(Interval::ALL, &[1, 2, 3, 4], vec![(Interval::ALL, None)])).unwrap();
    assert_eq!((dropped, state.slices[0].parts.len(), state.segments.len()), (vec![1, 2, 3, 4], 0, 0));
}

#[test]
fn a_segment_lives_until_no_slice_names_it() {
    let mut state = four_parts();
    let at = Key::highest_with_prefix(u64::MAX / 2);
    state.apply(&Edit::SliceCut { at }).unwrap();
    assert_eq!(state.slices.iter().map(|slice| slice.parts.len()).collect::<Vec<_>>(), [4, 4]);
    let (left, right) = Interval::ALL.cut(&at).unwrap();
    let first = state.apply(&merge(left, &[1, 2], vec![(left, Some((9, segment(9, left))))])).unwrap();
    assert_eq!((first, state.slices[0].parts.clone()), (vec![], vec![9, 3, 4]));
    let second = state.apply(&merge(right, &[1, 2], vec![(right, None)])).unwrap();
    assert_eq!((second, state.slices[1].parts.clone()), (vec![1, 2], vec![3, 4]));
}

#[test]
fn a_cut_gives_each_half_the_segments_that_reach_into_it() {
    let mut state = State::new(0, 1, Interval::ALL, Secret([3; 32]), 100, 1, 4096);
    let (low, high) = Interval::ALL.cut(&Key::highest_with_prefix(9)).unwrap();
    state.apply(&seal(1, low)).unwrap();
    state.apply(&seal(2, high)).unwrap();
    state.apply(&Edit::SliceCut { at: Key::highest_with_prefix(99) }).unwrap();
    assert_eq!(state.slices[0].parts, [1, 2]);
    assert_eq!(state.slices[1].parts, [2]);
    state.apply(&Edit::SliceCut { at: Key::highest_with_prefix(99) }).unwrap();
    assert_eq!(state.slices.len(), 2, "a cut where a slice ends already changes nothing");
}

#[test]
fn a_seal_goes_to_the_slices_that_it_overlaps() {
    let mut state = state();
    let middle = Interval { low: state.slices[2].interval.high, high: state.slices[4].interval.low };
    state.apply(&seal(1, middle)).unwrap();
    let named: Vec<usize> = (0..8).filter(|slice| !state.slices[*slice].parts.is_empty()).collect();
    assert_eq!(named, [2, 3, 4]);
}

#[test]
fn edits_that_do_not_fit_are_refused() {
    let left = Interval::ALL.cut(&Key::highest_with_prefix(5)).unwrap().0;
    let range = four_parts().ranges[0];
    let narrow = Box::new(Range { interval: left, ..range });
    let backwards =
        SealEdit { segment: None, log: LogPosition::default(), ranges: Vec::new(), user_bytes: 0, written_bytes: 0 };
    for edit in [
        Edit::Opened { generation: 0, reserved: vec![] },
        Edit::Opened { generation: 1, reserved: vec![(100, 0)] },
        Edit::Sealed(Box::new(backwards)),
        seal(4, Interval::ALL),
        merge(left, &[1], vec![(left, None)]),
        merge(Interval::ALL, &[5], vec![(Interval::ALL, None)]),
        merge(Interval::ALL, &[1], vec![(left, None)]),
        merge(Interval::ALL, &[], vec![(Interval::ALL, Some((9, segment(9, Interval::ALL))))]),
        Edit::RangeSplit { instance: 100, left: narrow.clone(), right: narrow.clone() },
        Edit::RangeSplit { instance: 1, left: narrow.clone(), right: narrow.clone() },
        Edit::RangesMerged { left: 100, right: 100, merged: narrow },
        Edit::ValueAdded { file: u64::MAX, bytes: 1 },
        Edit::ValueDropped { file: 1 },
        Edit::CleanStop { log_end: 1 },
    ] {
        let mut state = four_parts();
        state.log.start.page = 2;
        let refused: Result<_, Inconsistent> = state.apply(&edit);
        assert!(refused.is_err(), "{edit:?}");
    }
}

#[test]
fn opening_forgets_the_clean_stop() {
    let mut state = state();
    state.apply(&Edit::CleanStop { log_end: 9 }).unwrap();
    assert_eq!(state.log.clean_end, Some(9));
    state.apply(&Edit::Opened { generation: 1, reserved: vec![] }).unwrap();
    assert_eq!(state.log.clean_end, None);
}

#[test]
fn the_log_salt_depends_on_the_secret_and_the_store() {
    let other = State { secret: Secret([4; 32]), ..state() };
    let next = State { store: 2, ..state() };
    assert!(state().log_salt() != other.log_salt() && state().log_salt() != next.log_salt());
}
