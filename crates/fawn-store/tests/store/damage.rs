//! A small, cleanly stopped store with a bit flipped, a file cut, a page lost or in the wrong place: right values or a
//! clear error, never a wrong value, never a record silently gone.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use fawn_check::random::Random;
use fawn_sim::flash::{PowerCut, SimFlash};
use fawn_sim::store::{Extras, Failure, Machine, Oracle, OracleItem};
use fawn_store::check::check;
use fawn_store::flash::{FileId, Flash};
use fawn_store::page::PAGE_BYTES;
use fawn_store::segment::Footer;

use crate::common::{for_seeds, number, tiny, value};

/// A cleanly stopped store, and what it holds.
struct Sample {
    flash: SimFlash,
    oracle: Oracle,
    /// Every file and its length in pages.
    files: Vec<(FileId, u64)>,
    now_ms: u64,
}

fn sample() -> Sample {
    sample_of(10)
}

/// Sealed, merged and only logged records, deletes, a flush before all that stands, a large value: `scale` times as many
/// as are needed to have each.
fn sample_of(scale: u64) -> Sample {
    let mut machine = Machine::new(tiny(), 4).unwrap();
    let put = |machine: &mut Machine, number: u64, len: usize| {
        let name = format!("key-{number}");
        machine.issue_put(name.as_bytes(), &value(number + len as u64, len), Extras::default()).unwrap();
    };
    for number in 0..4 * scale {
        put(&mut machine, number, 60);
    }
    machine.flush_all().unwrap();
    for number in 0..12 * scale {
        put(&mut machine, number, 150);
    }
    assert!(machine.compact_and_wait());
    for number in 6 * scale..11 * scale {
        put(&mut machine, number, 200);
    }
    for number in 0..2 * scale {
        machine.issue_delete(format!("key-{number}").as_bytes()).unwrap();
    }
    machine
        .issue_put(b"large", &value(7, 3000 * scale as usize), Extras { client_flags: 5, ..Extras::default() })
        .unwrap();
    machine.seal().unwrap();
    machine.settle();
    for number in 10 * scale..13 * scale {
        put(&mut machine, number, 90);
    }
    machine.issue_delete(format!("key-{}", 10 * scale - 1).as_bytes()).unwrap();
    machine.issue_put(b"empty", b"", Extras::default()).unwrap();
    machine.settle();
    machine.restart().stop();
    let files = machine.flash().list().unwrap();
    Sample {
        flash: machine.flash().clone(),
        oracle: machine.oracle().clone(),
        files,
        now_ms: u64::from(machine.now()) * 1000,
    }
}

/// What a damaged store came to.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Everything is there.
    Whole,
    /// Something is damaged, and the store says so.
    Told,
}

/// Opens the damaged `flash`, reads everything, merges everything, reads everything again.
fn examine(sample: &Sample, flash: SimFlash, what: &dyn std::fmt::Debug) -> Outcome {
    let mut machine = match Machine::on(flash, tiny(), 1, sample.oracle.clone()) {
        Ok(machine) => machine,
        Err(error) => {
            assert!(error.to_string().len() > 10, "{what:?}: an error says what is wrong: {error}");
            return Outcome::Told;
        }
    };
    assert_eq!(u64::from(machine.now()) * 1000, sample.now_ms);
    let before = read_all(&mut machine, what);
    machine.store().compact();
    machine.settle();
    let after = read_all(&mut machine, what);
    if before == Outcome::Told || after == Outcome::Told { Outcome::Told } else { Outcome::Whole }
}

fn read_all(machine: &mut Machine, what: &dyn std::fmt::Debug) -> Outcome {
    let expected: BTreeMap<Vec<u8>, OracleItem> = machine.oracle().alive(machine.now());
    let names: Vec<Vec<u8>> = machine.oracle().names().map(<[u8]>::to_vec).collect();
    let mut outcome = Outcome::Whole;
    for name in names {
        match machine.restart().get(&name) {
            Ok(found) => assert_eq!(
                found.as_ref(),
                expected.get(&name),
                "{what:?}: {:?} is wrong, and nothing was said",
                String::from_utf8_lossy(&name)
            ),
            Err(_) => outcome = Outcome::Told,
        }
    }
    outcome
}

#[test]
fn the_undamaged_sample_is_whole() {
    let sample = sample();
    assert_eq!(examine(&sample, sample.flash.clone(), &"nothing"), Outcome::Whole);
    let kinds = |pick: fn(&FileId) -> bool| sample.files.iter().filter(|(file, _)| pick(file)).count();
    assert!(kinds(|file| matches!(file, FileId::Segment(_))) >= 2);
    assert_eq!(kinds(|file| matches!(file, FileId::Value(_))), 1);
}

#[test]
fn every_truncation_of_every_file_is_harmless_or_told() {
    let sample = sample();
    for &(file, pages) in &sample.files {
        for length in 0..pages {
            let flash = sample.flash.clone();
            flash.cut(file, length);
            let outcome = examine(&sample, flash, &(file, "cut to pages", length));
            assert_eq!(outcome, Outcome::Told, "{file:?} cut from {pages} to {length} pages goes unnoticed");
        }
    }
}

#[test]
fn a_lost_file_is_told() {
    let sample = sample();
    for &(file, _) in &sample.files {
        let flash = sample.flash.clone();
        flash.lose(file);
        assert_eq!(examine(&sample, flash, &(file, "lost")), Outcome::Told);
    }
}

#[test]
fn every_bit_flip_is_harmless_or_told() {
    let wanted = std::env::var("FAWN_DAMAGE_FLIPS").unwrap_or_default();
    let sample = if wanted == "all" { sample_of(1) } else { sample() };
    let bits_of = |pages: u64| pages * PAGE_BYTES as u64 * 8;
    // Where bytes are, every bit counts; the pages of zeros are sampled.
    let mut flips = Vec::new();
    if wanted == "all" {
        for &(file, pages) in &sample.files {
            let occupied = sample.flash.occupied_pages(file);
            let counts = |bit: &u64| occupied.contains(&(bit / bits_of(1))) || bit.is_multiple_of(997);
            flips.extend((0..bits_of(pages)).filter(counts).map(|bit| (file, bit)));
        }
    } else {
        let count = number("FAWN_DAMAGE_FLIPS", 1500);
        let mut random = Random::new(11);
        let occupied: Vec<(FileId, u64)> = sample
            .files
            .iter()
            .flat_map(|&(file, _)| sample.flash.occupied_pages(file).into_iter().map(move |page| (file, page)))
            .collect();
        for number in 0..count {
            let (file, page) = if number % 4 == 0 {
                let &(file, pages) = random.pick(&sample.files);
                (file, random.below(pages))
            } else {
                *random.pick(&occupied)
            };
            // The head of a page and its first bytes matter most.
            let bit = if number % 2 == 0 { random.below(64 * 8) } else { random.below(bits_of(1)) };
            flips.push((file, page * bits_of(1) + bit));
        }
    }
    let told = AtomicU64::new(0);
    for_seeds("bit flips", 0, flips.len() as u64, |n| {
        let (file, bit) = flips[n as usize];
        let flash = sample.flash.clone();
        flash.flip_bit(file, bit / 8, (bit % 8) as u8);
        if examine(&sample, flash, &(file, "bit", bit)) == Outcome::Told {
            told.fetch_add(1, Ordering::Relaxed);
        }
    });
    let told = told.into_inner();
    assert!(told > 0 && told < flips.len() as u64, "{told} of {} flips are told", flips.len());
}

#[test]
fn a_page_of_zeros_or_of_another_place_is_harmless_or_told() {
    let sample = sample();
    let mut told = 0;
    for &(file, _) in &sample.files {
        let occupied = sample.flash.occupied_pages(file);
        for &page in &occupied {
            for with in [None, Some((file, occupied[0])), Some((file, occupied[occupied.len() - 1]))] {
                if with == Some((file, page)) {
                    continue;
                }
                let flash = sample.flash.clone();
                flash.overwrite(file, page, with);
                told += u64::from(examine(&sample, flash, &(file, page, "replaced by", with)) == Outcome::Told);
            }
        }
    }
    assert!(told > 0);
}

/// The largest segment of the sample.
fn largest_segment(sample: &Sample) -> Footer {
    let segments = sample.files.iter().filter_map(|&(file, pages)| match file {
        FileId::Segment(number) => Some((number, pages)),
        _ => None,
    });
    let footers = segments.map(|(number, pages)| Footer::read(&sample.flash, number, pages).unwrap());
    footers.max_by_key(|footer| footer.data_pages).expect("the sample has segments")
}

#[test]
fn an_index_that_cannot_be_built_leaves_the_other_slices_readable_and_merged() {
    let sample = sample();
    let footer = largest_segment(&sample);
    let file = FileId::Segment(footer.file);
    // The index is in the fragments or, failing them, in the records themselves.
    sample.flash.flip_bit(file, footer.fragments_at() * PAGE_BYTES as u64 + 99, 1);
    sample.flash.flip_bit(file, 99, 1);
    let mut machine = Machine::on(sample.flash, tiny(), 1, sample.oracle).unwrap();
    machine.settle();
    let stats = machine.stats();
    assert!(
        0 < stats.index.slices_loaded && stats.index.slices_loaded < stats.index.slices,
        "some slices are damaged: {stats:?}"
    );
    assert!(machine.compact_and_wait());
    machine.settle();
    let stats = machine.stats();
    assert_eq!((stats.maintenance.merges, stats.maintenance.merge_failures), (stats.index.slices_loaded, 0));
}

#[test]
fn an_index_that_the_device_fails_to_read_is_read_again_later() {
    let sample = sample();
    let footer = largest_segment(&sample);
    let file = FileId::Segment(footer.file);
    let fragments = footer.fragments_at()..footer.fragments_at() + footer.fragment_pages;
    sample.flash.make_unreadable(file, fragments);
    let names: Vec<Vec<u8>> = sample.oracle.names().map(<[u8]>::to_vec).collect();
    let mut machine = Machine::on(sample.flash, tiny(), 1, sample.oracle).unwrap();
    machine.settle();
    let told = names.iter().filter_map(|name| machine.get(name).err());
    let told: Vec<Failure> = told.collect();
    assert!(told.len() > names.len() / 2);
    assert!(told.iter().all(|told| matches!(told, Failure::Damaged(damage) if damage.file == file)), "{told:?}");
    machine.flash().clear_faults();
    machine.advance_clock(1000);
    machine.settle();
    for name in &names {
        machine.get(name).unwrap();
    }
}

#[test]
fn damage_to_the_last_batch_is_told_once_the_log_was_idle() {
    for idle in [false, true] {
        let mut machine = Machine::new(tiny(), 1).unwrap();
        for number in 0..9u64 {
            machine.put(format!("key-{number}").as_bytes(), &value(number, 100)).unwrap();
        }
        let last = *machine.flash().occupied_pages(FileId::CommitLog).iter().max().unwrap();
        if idle {
            for _ in 0..3 {
                machine.advance_clock(1000);
                machine.settle();
            }
            assert_eq!(machine.stats().log.marks, 1, "one mark is enough");
            machine.restart().after_power_cut(PowerCut::Torn, 1).unwrap();
            machine.advance_clock(1000);
            machine.settle();
        }
        machine.flash().power_cut(PowerCut::Lost, 0);
        machine.flash().flip_bit(FileId::CommitLog, last * PAGE_BYTES as u64 + 60, 3);
        match machine.restart().reopen() {
            Ok(()) => {
                assert!(!idle, "damage is taken for a torn tail");
                assert_eq!(machine.restart().get(b"key-8").unwrap(), None, "nothing tells it from a torn write");
            }
            Err(why) => assert!(idle && why.contains("commit"), "{why}"),
        }
    }
}

#[test]
fn a_page_that_cannot_be_read_fails_the_reads_of_it_and_no_others() {
    let sample = sample();
    let segments: Vec<_> = sample.files.iter().filter(|(file, _)| matches!(file, FileId::Segment(_))).collect();
    for &&(file, _) in &segments {
        let flash = sample.flash.clone();
        flash.make_unreadable(file, 0..1);
        let mut machine = Machine::on(flash, tiny(), 1, sample.oracle.clone()).unwrap();
        let names: Vec<Vec<u8>> = machine.oracle().names().map(<[u8]>::to_vec).collect();
        let (mut failed, mut right) = (0, 0);
        for name in &names {
            match machine.get(name) {
                Ok(_) => right += 1,
                Err(_) => failed += 1,
            }
        }
        assert!(right > names.len() / 2 && failed < names.len() / 2, "{file:?}: {right} right, {failed} failed");
    }
}

#[test]
fn a_check_reports_a_bad_copy_in_the_manifest_unless_a_crash_may_have_left_it() {
    let Sample { flash, files, .. } = sample();
    let manifest = files.iter().map(|(file, _)| *file).find(|file| matches!(file, FileId::Manifest(_))).unwrap();
    let sound = check(&flash, |_, _| {}).unwrap();
    assert_eq!((sound.damage, sound.torn_commit), (Vec::new(), false));
    let pages = flash.occupied_pages(manifest);
    assert!(pages.len() > 4, "a snapshot and commits");
    for page in pages {
        flash.flip_bit(manifest, page * PAGE_BYTES as u64 + 9, 3);
        let found = check(&flash, |_, _| {}).unwrap();
        let places: Vec<_> = found.damage.iter().map(|damage| (damage.file, damage.offset)).collect();
        assert_eq!(places, [(manifest, page * PAGE_BYTES as u64)], "{found:?}");
        flash.flip_bit(manifest, page * PAGE_BYTES as u64 + 9, 3);
    }

    let mut machine = Machine::new(tiny(), 4).unwrap();
    machine.put(b"key", b"value").unwrap();
    let flash = machine.flash();
    let (manifest, _) =
        flash.list().unwrap().into_iter().find(|(file, _)| matches!(file, FileId::Manifest(_))).unwrap();
    let last = *flash.occupied_pages(manifest).last().unwrap();
    flash.flip_bit(manifest, last * PAGE_BYTES as u64 + 9, 3);
    let found = check(flash, |_, _| {}).unwrap();
    assert!(found.damage.is_empty() && found.torn_commit && !found.clean, "{found:?}");
}
