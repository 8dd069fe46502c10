//! Power cuts and faults.

use fawn_check::random::Random;
use fawn_sim::flash::{Fault, PowerCut, SimFlash};
use fawn_store::flash::{FileId, Flash, FlashError};
use fawn_store::manifest::{Edit, Manifest, ManifestError, State};

use crate::killed::Killed;
use fawn_sim::edits::{self, state};

const CUTS: [PowerCut; 3] = [PowerCut::Lost, PowerCut::Kept, PowerCut::Torn];

/// What was acknowledged, and what was being committed when the power went.
struct Run {
    acknowledged: Option<State>,
    attempted: Option<State>,
}

/// Makes or opens the manifest and commits at random until the device fails or `commits` are done.
fn run(flash: &dyn Flash, known: Option<State>, random: &mut Random, commits: u64) -> Run {
    let mut run = Run { acknowledged: known, attempted: None };
    let opened = if run.acknowledged.is_some() {
        Manifest::open(flash).map(|(manifest, _)| manifest)
    } else {
        run.attempted = Some(state());
        Manifest::create(flash, state())
    };
    let Ok(mut manifest) = opened else { return run };
    run.acknowledged = Some(manifest.state().clone());
    for _ in 0..commits {
        let (edits, next) = edits::commit(manifest.state(), random);
        run.attempted = Some(next.clone());
        if manifest.commit(flash, &edits).is_err() {
            return run;
        }
        run.acknowledged = Some(next);
    }
    run
}

/// The state after the power is back, which must be the one that was acknowledged or the one that was attempted.
fn demand(flash: &SimFlash, run: &Run) -> Option<State> {
    match Manifest::open(flash) {
        Ok((_, found)) => {
            assert!(run.acknowledged.as_ref() == Some(&found) || run.attempted.as_ref() == Some(&found));
            Some(found)
        }
        Err(error) => {
            assert_eq!(error, ManifestError::NotFound);
            assert!(run.acknowledged.is_none(), "a store that was made is found");
            None
        }
    }
}

#[test]
fn power_may_be_cut_at_every_write_point() {
    let whole = SimFlash::new(1);
    run(&whole, None, &mut Random::new(5), 20);
    let points = whole.counters().write_points;
    assert!(points > 40, "the workload has many write points: {points}");
    for point in 0..=points {
        for seed in 0..12u64 {
            let flash = SimFlash::new(1);
            flash.crash_after(point);
            let mut outcome = run(&flash, None, &mut Random::new(5), 20);
            // Twice more from what is left: openings and takeovers are cut too.
            for again in 0..3 {
                flash.power_cut(CUTS[(seed % 3) as usize], seed * 10 + again);
                let known = demand(&flash, &outcome);
                flash.crash_after((point + again) % 11);
                outcome = run(&flash, known, &mut Random::new(seed), 6);
            }
        }
    }
}

#[test]
fn what_a_killed_process_left_is_durable_once_it_is_read() {
    for operations in 0..60 {
        for seed in 0..10 {
            let flash = SimFlash::new(seed);
            let outcome = run(&Killed::after(operations, &flash), None, &mut Random::new(seed), 20);
            let known = demand(&flash, &outcome);
            flash.power_cut(PowerCut::Lost, seed);
            let again = Manifest::open(&flash).ok().map(|(_, state)| state);
            assert_eq!(again, known, "killed after {operations} operations");
            let outcome = run(&Killed::after(operations % 9, &flash), known, &mut Random::new(seed), 9);
            let known = demand(&flash, &outcome);
            flash.power_cut(PowerCut::Lost, seed);
            assert_eq!(Manifest::open(&flash).ok().map(|(_, state)| state), known);
        }
    }
}

#[test]
fn a_long_life_of_power_cuts_loses_nothing_acknowledged() {
    for seed in 0..6 {
        let random = &mut Random::new(seed);
        let flash = SimFlash::new(seed);
        let mut known = None;
        for _ in 0..12 {
            flash.crash_after(random.below(500));
            let outcome = run(&flash, known, random, 220);
            flash.power_cut(*random.pick(&CUTS), random.word());
            known = demand(&flash, &outcome);
        }
        assert!(flash.list().unwrap().len() <= 2, "old manifests are removed");
    }
}

#[test]
fn old_files_go_when_a_new_one_takes_over() {
    let flash = SimFlash::new(1);
    let mut manifest = Manifest::create(&flash, state()).unwrap();
    for generation in 1..1000 {
        manifest.commit(&flash, &[Edit::Opened { generation, reserved: vec![] }]).unwrap();
        assert_eq!(flash.list().unwrap().len(), 1);
    }
    let files = flash.list().unwrap();
    assert!(matches!(files[0].0, FileId::Manifest(number) if number > 5), "{files:?}");
}

#[test]
fn a_failed_sync_stops_the_manifest() {
    for nth in 0..4 {
        for seed in 0..30 {
            let flash = SimFlash::new(seed);
            let random = &mut Random::new(seed);
            drop(Manifest::create(&flash, state()).unwrap());
            let (mut manifest, mut acknowledged) = Manifest::open(&flash).unwrap();
            flash.inject(Fault::Sync { nth });
            let attempted = loop {
                let (edits, next) = edits::commit(&acknowledged, random);
                if manifest.commit(&flash, &edits).is_err() {
                    break next;
                }
                acknowledged = next;
            };
            assert!(manifest.commit(&flash, &[]).is_err(), "a failed sync is never tried again");
            // The process restarts and goes on; what it saw and built on is durable then.
            let (mut manifest, seen) = Manifest::open(&flash).unwrap();
            assert!(seen == acknowledged || seen == attempted);
            let (edits, next) = edits::commit(&seen, random);
            manifest.commit(&flash, &edits).unwrap();
            flash.power_cut(PowerCut::Lost, seed);
            assert_eq!(Manifest::open(&flash).unwrap().1, next);
        }
    }
}

#[test]
fn every_failed_operation_leaves_the_old_state_or_the_new() {
    for seed in 0..200 {
        let random = &mut Random::new(seed);
        let flash = SimFlash::new(seed);
        let (mut manifest, mut acknowledged) = (Manifest::create(&flash, state()).unwrap(), state());
        if random.chance(1, 2) {
            manifest = Manifest::open(&flash).unwrap().0;
        }
        let nth = random.below(3);
        flash.inject(*random.pick(&[Fault::Write { nth }, Fault::SyncNames { nth: 0 }]));
        for _ in 0..4 {
            let (edits, next) = edits::commit(&acknowledged, random);
            if manifest.commit(&flash, &edits).is_err() {
                flash.power_cut(*random.pick(&CUTS), seed);
                let found = Manifest::open(&flash).unwrap().1;
                assert!(found == acknowledged || found == next);
                break;
            }
            acknowledged = next;
        }
    }
}

#[test]
fn a_full_device_refuses_a_takeover_and_nothing_changes() {
    let flash = SimFlash::new(1);
    let mut manifest = Manifest::create(&flash, state()).unwrap();
    flash.set_capacity(flash.used_bytes());
    let mut generation = 0;
    let refused = loop {
        generation += 1;
        if let Err(error) = manifest.commit(&flash, &[Edit::Opened { generation, reserved: vec![] }]) {
            break error;
        }
    };
    assert_eq!(refused, FlashError::NoSpace);
    assert_eq!(manifest.state().generation, generation - 1);
    assert_eq!(Manifest::open(&flash).unwrap().1.generation, generation - 1);
    flash.set_capacity(1 << 30);
    manifest.commit(&flash, &[Edit::Opened { generation, reserved: vec![] }]).unwrap();
    assert_eq!(Manifest::open(&flash).unwrap().1.generation, generation);
}

#[test]
fn a_store_on_a_full_device_still_opens() {
    let flash = SimFlash::new(1);
    Manifest::create(&flash, state()).unwrap();
    flash.set_capacity(flash.used_bytes());
    let (mut manifest, _) = Manifest::open(&flash).unwrap();
    manifest.commit(&flash, &[Edit::Opened { generation: 1, reserved: vec![] }]).unwrap();
    flash.power_cut(PowerCut::Lost, 1);
    assert_eq!(Manifest::open(&flash).unwrap().1.generation, 1);
}

#[test]
fn a_store_whose_manifest_has_no_room_left_still_opens_and_stops() {
    let flash = SimFlash::new(1);
    let mut manifest = Manifest::create(&flash, state()).unwrap();
    flash.set_capacity(flash.used_bytes());
    let mut file = 0;
    while manifest.commit(&flash, &[Edit::ValueAdded { file: 1000 + file, bytes: 1 }]).is_ok() {
        file += 1;
    }
    assert!(file > 0, "a manifest takes edits without room for a new one");
    for generation in 1..=16 {
        flash.power_cut(PowerCut::Lost, generation);
        let (mut manifest, found) = Manifest::open(&flash).unwrap();
        assert_eq!(found.generation, generation - 1);
        manifest.commit(&flash, &[Edit::Opened { generation, reserved: vec![] }]).unwrap();
        manifest.commit(&flash, &[Edit::CleanStop { log_end: generation }]).unwrap();
    }
}

#[test]
fn a_store_on_a_full_device_goes_on_after_a_torn_commit() {
    for seed in 0..100 {
        let random = &mut Random::new(seed);
        let flash = SimFlash::new(seed);
        let mut manifest = Manifest::create(&flash, state()).unwrap();
        // Enough edits for a frame of several pages.
        let mut torn = state();
        let mut edits = Vec::new();
        while edits.len() < 100 {
            edits.push(edits::edit(&torn, random));
            torn.apply(&edits[edits.len() - 1]).unwrap();
        }
        flash.crash_after(1);
        assert!(manifest.commit(&flash, &edits).is_err());
        flash.power_cut(PowerCut::Torn, seed);
        flash.set_capacity(flash.used_bytes());
        let (mut manifest, found) = Manifest::open(&flash).unwrap();
        assert!(found == state() || found == torn);
        let (edits, next) = edits::commit(&found, random);
        manifest.commit(&flash, &edits).unwrap();
        flash.power_cut(PowerCut::Lost, seed);
        assert_eq!(Manifest::open(&flash).unwrap().1, next);
    }
}
