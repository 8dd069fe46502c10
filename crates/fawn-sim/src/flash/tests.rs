//! What the simulated device promises to the tests that stand on it.

use super::*;

const A: FileId = FileId::Segment(1);
const B: FileId = FileId::Segment(2);

fn page(fill: u8) -> Page {
    Page([fill; PAGE_BYTES])
}

fn read(flash: &SimFlash, file: FileId, at: u64) -> Page {
    let mut pages = [page(0xee)];
    flash.read(file, at, &mut pages).unwrap();
    pages[0].clone()
}

fn with_durable_file() -> SimFlash {
    let flash = SimFlash::new(1);
    flash.create(A, 8).unwrap();
    flash.sync_names().unwrap();
    flash.write(A, 0, &[page(1), page(1)]).unwrap();
    flash.sync(A).unwrap();
    flash
}

#[test]
fn a_created_file_reads_as_zeros_and_written_pages_read_back() {
    let flash = SimFlash::new(1);
    flash.create(A, 4).unwrap();
    assert_eq!(read(&flash, A, 3).0, page(0).0);
    flash.write(A, 2, &[page(7), page(8), page(9)]).unwrap();
    assert_eq!((read(&flash, A, 3).0, read(&flash, A, 4).0), (page(8).0, page(9).0));
    assert_eq!(flash.list().unwrap(), [(A, 5)]);
    assert_eq!(flash.read(A, 5, &mut [page(0)]), Err(FlashError::Short(A)));
    assert_eq!(flash.read(B, 0, &mut [page(0)]), Err(FlashError::NotFound(B)));
    assert!(matches!(flash.create(A, 1), Err(FlashError::Io(_))));
}

#[test]
fn a_power_cut_loses_what_was_not_synced_and_keeps_what_was() {
    let flash = with_durable_file();
    flash.write(A, 1, &[page(2)]).unwrap();
    flash.power_cut(PowerCut::Lost, 0);
    assert_eq!((read(&flash, A, 0).0, read(&flash, A, 1).0), (page(1).0, page(1).0));
    flash.write(A, 1, &[page(2)]).unwrap();
    flash.power_cut(PowerCut::Kept, 0);
    assert_eq!(read(&flash, A, 1).0, page(2).0);
    assert_eq!(flash.list().unwrap(), [(A, 8)]);
}

#[test]
fn unsynced_pages_are_lost_kept_reordered_and_torn_independently() {
    let (mut kept_second_only, mut older_version, mut torn) = (0, 0, 0);
    for seed in 0..300 {
        let flash = with_durable_file();
        flash.write(A, 0, &[page(2)]).unwrap();
        flash.write(A, 0, &[page(3)]).unwrap();
        flash.write(A, 1, &[page(4)]).unwrap();
        flash.power_cut(PowerCut::Torn, seed);
        let (first, second) = (read(&flash, A, 0), read(&flash, A, 1));
        for sector in first.0.chunks(512) {
            assert!(sector.iter().all(|byte| *byte == sector[0]) && (1..=3).contains(&sector[0]));
        }
        kept_second_only += u32::from(first.0 == page(1).0 && second.0 == page(4).0);
        older_version += u32::from(first.0 == page(2).0);
        torn += u32::from(first.0.iter().any(|byte| *byte != first.0[0]));
    }
    assert!(kept_second_only > 10 && older_version > 5 && torn > 10, "{kept_second_only} {older_version} {torn}");
}

#[test]
fn a_creation_that_was_not_synced_may_vanish_even_if_the_file_was_synced() {
    let outcomes: Vec<bool> = (0..50)
        .map(|seed| {
            let flash = SimFlash::new(1);
            flash.create(A, 1).unwrap();
            flash.write(A, 0, &[page(5)]).unwrap();
            flash.sync(A).unwrap();
            flash.power_cut(PowerCut::Torn, seed);
            let there = !flash.list().unwrap().is_empty();
            assert!(!there || read(&flash, A, 0).0 == page(5).0);
            there
        })
        .collect();
    assert!(outcomes.contains(&true) && outcomes.contains(&false));
}

#[test]
fn a_removal_that_was_not_synced_may_be_undone_with_its_contents() {
    let flash = with_durable_file();
    flash.remove(A).unwrap();
    assert_eq!(flash.read(A, 0, &mut [page(0)]), Err(FlashError::NotFound(A)));
    flash.power_cut(PowerCut::Lost, 0);
    assert_eq!(read(&flash, A, 0).0, page(1).0);
    flash.remove(A).unwrap();
    flash.sync_names().unwrap();
    flash.power_cut(PowerCut::Lost, 0);
    assert_eq!(flash.list().unwrap(), []);
}

#[test]
fn truncations_and_punches_that_were_not_synced_may_be_undone() {
    let flash = with_durable_file();
    flash.truncate(A, 1).unwrap();
    assert_eq!(flash.list().unwrap(), [(A, 1)]);
    flash.power_cut(PowerCut::Lost, 0);
    assert_eq!((flash.list().unwrap(), read(&flash, A, 1).0), (vec![(A, 8)], page(1).0));
    flash.punch(A, 0, 2).unwrap();
    assert_eq!(read(&flash, A, 0).0, page(0).0);
    flash.power_cut(PowerCut::Lost, 0);
    assert_eq!(read(&flash, A, 0).0, page(1).0);
    flash.truncate(A, 1).unwrap();
    flash.punch(A, 0, 1).unwrap();
    flash.sync(A).unwrap();
    flash.power_cut(PowerCut::Lost, 0);
    assert_eq!((flash.list().unwrap(), read(&flash, A, 0).0), (vec![(A, 1)], page(0).0));
}

#[test]
fn after_k_write_points_everything_fails_until_the_power_is_back() {
    let flash = with_durable_file();
    let before = flash.counters().write_points;
    flash.crash_after(2);
    flash.write(A, 2, &[page(3)]).unwrap();
    flash.sync(A).unwrap();
    assert!(!flash.has_crashed());
    let crashed = Err(FlashError::Io("crashed".into()));
    assert_eq!(flash.write(A, 3, &[page(3)]), crashed);
    assert_eq!(flash.read(A, 0, &mut [page(0)]), crashed);
    assert!(flash.has_crashed());
    assert_eq!(flash.counters().write_points, before + 2);
    flash.power_cut(PowerCut::Kept, 0);
    assert_eq!((read(&flash, A, 2).0, read(&flash, A, 3).0), (page(3).0, page(0).0));
}

#[test]
fn the_nth_read_write_and_sync_fail_and_only_those() {
    let flash = with_durable_file();
    flash.inject(Fault::Read { nth: 1 });
    flash.inject(Fault::Write { nth: 0 });
    assert!(flash.read(A, 0, &mut [page(0)]).is_ok());
    assert!(matches!(flash.read(A, 0, &mut [page(0)]), Err(FlashError::Io(_))));
    assert!(flash.read(A, 0, &mut [page(0)]).is_ok());
    assert!(matches!(flash.write(A, 4, &[page(1)]), Err(FlashError::Io(_))));
    assert!(flash.write(A, 4, &[page(1)]).is_ok());
    flash.inject(Fault::SyncNames { nth: 0 });
    assert!(flash.sync_names().is_err() && flash.sync_names().is_ok());
    flash.make_unreadable(A, 1..2);
    assert!(flash.read(A, 0, &mut [page(0)]).is_ok() && flash.read(A, 0, &mut [page(0), page(0)]).is_err());
    flash.clear_faults();
    assert!(flash.read(A, 1, &mut [page(0)]).is_ok());
}

#[test]
fn a_sync_after_a_failed_sync_saves_nothing_that_the_first_one_dropped() {
    let (mut lost, mut seen_but_lost) = (0, 0);
    for seed in 0..100 {
        let flash = SimFlash::new(seed);
        flash.create(A, 2).unwrap();
        flash.sync(A).unwrap();
        flash.sync_names().unwrap();
        flash.write(A, 0, &[page(6)]).unwrap();
        flash.inject(Fault::Sync { nth: 0 });
        flash.sync(A).unwrap_err();
        let seen = read(&flash, A, 0).0 == page(6).0;
        flash.sync(A).unwrap();
        flash.power_cut(PowerCut::Kept, seed);
        let left = read(&flash, A, 0).0 == page(6).0;
        lost += u32::from(!left);
        seen_but_lost += u32::from(seen && !left);
    }
    assert!(lost > 20 && lost < 90 && seen_but_lost > 5, "{lost} {seen_but_lost}");
}

#[test]
fn space_is_bounded_and_comes_back_by_punch_truncate_and_remove() {
    let flash = SimFlash::new(1);
    flash.set_capacity(10 * PAGE_BYTES as u64);
    flash.create(A, 8).unwrap();
    assert_eq!(flash.create(B, 3), Err(FlashError::NoSpace));
    assert_eq!(flash.space().unwrap(), Space { total: 40_960, free: 8192 });
    flash.create(B, 0).unwrap();
    assert_eq!(flash.write(B, 0, &[page(1), page(1), page(1)]), Err(FlashError::NoSpace));
    assert_eq!(flash.space().unwrap().free, 0);
    assert!(flash.write(A, 0, &[page(1)]).is_ok(), "allocated pages need no space");
    flash.punch(A, 0, 2).unwrap();
    assert_eq!(flash.space().unwrap().free, 8192);
    flash.write(A, 0, &[page(1)]).unwrap();
    flash.truncate(A, 1).unwrap();
    assert_eq!(flash.space().unwrap().free, 7 * 4096);
    flash.remove(B).unwrap();
    assert_eq!(flash.used_bytes(), 4096);
}

#[test]
fn damage_at_rest_survives_a_power_cut() {
    let flash = with_durable_file();
    flash.flip_bit(A, 4097, 3);
    flash.overwrite(A, 5, Some((A, 0)));
    flash.power_cut(PowerCut::Lost, 0);
    assert_eq!(read(&flash, A, 1).0[1], 1 ^ 8);
    assert_eq!(read(&flash, A, 5).0, page(1).0);
    assert_eq!(flash.occupied_pages(A), [0, 1, 5]);
    flash.cut(A, 1);
    flash.power_cut(PowerCut::Lost, 0);
    assert_eq!(flash.list().unwrap(), [(A, 1)]);
    flash.lose(A);
    assert_eq!(flash.list().unwrap(), []);
}

#[test]
fn a_misdirected_write_reports_success_and_lands_elsewhere() {
    let flash = with_durable_file();
    flash.inject(Fault::Misdirect { nth: 0, file: A, page: 6 });
    flash.write(A, 3, &[page(9)]).unwrap();
    assert_eq!((read(&flash, A, 3).0, read(&flash, A, 6).0), (page(0).0, page(9).0));
}

#[test]
fn a_clone_is_a_device_of_its_own() {
    let flash = with_durable_file();
    let copy = flash.clone();
    flash.write(A, 0, &[page(2)]).unwrap();
    flash.remove(A).unwrap();
    assert_eq!(read(&copy, A, 0).0, page(1).0);
    copy.write(A, 1, &[page(3)]).unwrap();
    assert_eq!(read(&copy, A, 1).0, page(3).0);
}

#[test]
fn hundreds_of_gigabytes_fit_as_long_as_they_hold_little() {
    let flash = SimFlash::new(1);
    let gigabyte = 1 << 18;
    for number in 0..300 {
        flash.create(FileId::Segment(number), gigabyte).unwrap();
        flash.write(FileId::Segment(number), gigabyte - 1, &[page(1)]).unwrap();
    }
    assert_eq!(flash.used_bytes(), 300 << 30);
    assert!(flash.memory_bytes() < 2 << 20);
    assert_eq!(read(&flash, FileId::Segment(299), gigabyte - 1).0, page(1).0);
}

#[test]
fn the_trace_names_every_operation_in_order() {
    let flash = SimFlash::new(1);
    flash.start_trace();
    flash.create(A, 2).unwrap();
    flash.write_durably(A, 0, &[page(1)]).unwrap();
    flash.sync_names().unwrap();
    read(&flash, A, 0);
    flash.remove(A).unwrap();
    let trace = flash.take_trace();
    assert_eq!(
        trace,
        [
            Operation::Create { file: A, pages: 2 },
            Operation::Write { file: A, first: 0, count: 1 },
            Operation::Sync { file: A },
            Operation::SyncNames,
            Operation::Read { file: A, first: 0, count: 1 },
            Operation::Remove { file: A },
        ]
    );
    assert_eq!(trace.iter().filter(|operation| operation.is_write_point()).count(), 5);
    assert_eq!(flash.take_trace(), []);
}

#[test]
fn one_seed_gives_one_outcome() {
    let outcome = |seed| {
        let flash = with_durable_file();
        for at in 0..8 {
            flash.write(A, at, &[page(at as u8)]).unwrap();
        }
        flash.power_cut(PowerCut::Torn, seed);
        (0..flash.list().unwrap()[0].1).map(|at| read(&flash, A, at).0.to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(outcome(3), outcome(3));
    assert_ne!(outcome(3), outcome(4));
}
