//! A device as its host sees it: latencies, trims, joined requests, cleaning as theory has it, wear, memory.

#![allow(clippy::unwrap_used)]

use fawn_gordon::amplification::theory;
use fawn_gordon::flash::presets::{GordonCells, gordon, preset};
use fawn_gordon::flash::{FlashDesign, LatencyParts};
use fawn_gordon::ftl::cleaning::CleaningPolicy;
use fawn_gordon::ftl::filling::Filling;
use fawn_gordon::ftl::warm_up::{WarmUp, settle};
use fawn_gordon::ftl::wear::Endurance;
use fawn_gordon::ftl::{
    ArrivalMode, Device, FtlError, FtlSettings, HostKind, HostReply, HostRequest, RunReport, Stripe, Translation,
};
use fawn_gordon::time::SimTime;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

const KB: u64 = 1_024;

fn small() -> FlashDesign {
    let mut design = gordon(GordonCells::Slc, 133.0);
    design.geometry.blocks_per_plane = 32;
    design
}

fn striped() -> FtlSettings {
    FtlSettings { spare_factor: 0.25, ..FtlSettings::gordon() }
}

fn request(kind: HostKind, at: SimTime, offset: u64, bytes: u64) -> HostRequest {
    HostRequest { at, kind, offset, bytes, stamp: 0 }
}

fn run(device: &mut Device, requests: Vec<HostRequest>, pace: ArrivalMode) -> (RunReport, Vec<HostReply>) {
    let mut replies = Vec::new();
    let report = device.run(requests, pace, |reply| replies.push(*reply)).unwrap();
    (report, replies)
}

fn random_writes(pages: u64, page_bytes: u64, count: u64, seed: u64) -> Vec<HostRequest> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let offset = |random: &mut Xoshiro256PlusPlus| (((random.next_u64() >> 32) * pages) >> 32) * page_bytes;
    (0..count).map(|_| request(HostKind::Write, SimTime::ZERO, offset(&mut random), page_bytes)).collect()
}

#[test]
fn a_read_alone_is_its_overhead_cells_and_transfers() {
    let mut device = Device::new(&small(), striped(), false).unwrap();
    run(&mut device, vec![request(HostKind::Write, SimTime::ZERO, 0, 64 * KB)], ArrivalMode::Timed);
    let at = device.array().now() + SimTime::from_ms(1);
    let (_, replies) = run(&mut device, vec![request(HostKind::Read, at, 0, 64 * KB)], ArrivalMode::Timed);
    let HostReply { arrived, finished, parts, .. } = replies[0];
    assert_eq!(arrived, at);
    // 9 us of overhead, 25 us in the cells, and four dies' 4,224 bytes one after the other on each bus.
    assert_eq!(parts.cell, SimTime::from_us(25));
    let took = (finished - arrived).us();
    assert!((took - (9.0 + 25.0 + 63.5)).abs() < 1.0, "{took} us");
    assert_eq!(parts.queue + parts.die + parts.cleaning, SimTime::ZERO);
}

#[test]
fn a_flush_waits_for_the_writes_before_it_and_for_no_others() {
    let mut device = Device::new(&small(), striped(), true).unwrap();
    let flush = |at| request(HostKind::Flush, at, 0, 0);
    let write = |at, page: u64| request(HostKind::Write, at, page * 64 * KB, 64 * KB);
    let pages = device.bytes() / (64 * KB);
    let start = SimTime::ZERO;
    let mut requests: Vec<_> = (0..3).map(|page| write(start, page)).collect();
    requests.extend([request(HostKind::Trim, start, (pages - 1) * 64 * KB, 64 * KB), flush(start), flush(start)]);
    requests.extend((3..9).map(|page| write(start, page)));
    let (report, replies) = run(&mut device, requests, ArrivalMode::Timed);
    let finished = |number: u64| replies.iter().find(|reply| reply.number == number).unwrap().finished;
    let before = (0..4).map(finished).max().unwrap();
    assert!(before > start);
    assert_eq!((finished(4), finished(5)), (before, before));
    assert!((6..12).any(|number| finished(number) > before), "it waits for no write behind it: {replies:?}");
    assert_eq!((report.requests, report.bytes_written), (12, 9 * 64 * KB));
    // What is acknowledged is on flash: nothing is left to wait for.
    let now = device.array().now();
    let (_, replies) = run(&mut device, vec![flush(now)], ArrivalMode::Timed);
    assert_eq!((replies[0].kind, replies[0].finished), (HostKind::Flush, now));
}

#[test]
fn flushes_have_a_place_in_the_queue_until_they_are_done() {
    let settings = FtlSettings { queue_depth: 2, ..striped() };
    let mut device = Device::new(&small(), settings, false).unwrap();
    let at = SimTime::ZERO;
    device.admit(request(HostKind::Write, at, 0, 64 * KB));
    device.admit(request(HostKind::Flush, at, 0, 0));
    assert!(!device.has_room() && device.take_reply().is_none());
    while device.step().unwrap() {}
    let kinds: Vec<_> = std::iter::from_fn(|| device.take_reply()).map(|reply| reply.kind).collect();
    assert_eq!(kinds, [HostKind::Write, HostKind::Flush]);
    assert!(device.has_room());
}

#[test]
fn what_was_never_written_or_is_trimmed_reads_without_touching_flash() {
    let mut settings = striped();
    settings.costs.unmapped_read = SimTime::from_us(3);
    let mut device = Device::new(&small(), settings, false).unwrap();
    let (_, replies) = run(&mut device, vec![request(HostKind::Read, SimTime::ZERO, 0, 64 * KB)], ArrivalMode::Timed);
    assert_eq!(replies[0].finished, SimTime::from_us(3));
    let now = device.array().now();
    let writes = vec![request(HostKind::Write, now, 0, 128 * KB), request(HostKind::Trim, now, 0, 127 * KB)];
    run(&mut device, writes, ArrivalMode::Timed);
    let reads = device.array().usage().counts.reads;
    let now = device.array().now();
    run(&mut device, vec![request(HostKind::Read, now, 0, 64 * KB)], ArrivalMode::Timed);
    assert_eq!(device.array().usage().counts.reads, reads);
    assert_eq!(device.services().unmapped_reads, 2);
    // The trim covered the second super-page in part, so that one is left alone.
    let now = device.array().now();
    run(&mut device, vec![request(HostKind::Read, now, 64 * KB, 64 * KB)], ArrivalMode::Timed);
    assert_eq!(device.services().unmapped_reads, 2);
    assert_eq!(device.services().flash_reads, 1);
}

#[test]
fn trims_spare_cleaning_its_copies() {
    let amplification = |trims: bool| {
        let mut device = Device::new(&small(), FtlSettings { spare_factor: 0.2, ..striped() }, false).unwrap();
        settle(&mut device, WarmUp::Sequential, 1).unwrap();
        let pages = device.bytes() / (64 * KB);
        let mut all = random_writes(pages, 64 * KB, 12_000, 1);
        if trims {
            // Half of the device is trimmed and not written again.
            for request in &mut all {
                request.offset = request.offset / (128 * KB) * (64 * KB);
            }
            all.insert(0, request(HostKind::Trim, SimTime::ZERO, pages / 2 * 64 * KB, (pages - pages / 2) * 64 * KB));
        }
        run(&mut device, all, ArrivalMode::Saturated);
        device.translation().counts().data_amplification()
    };
    let (without, with) = (amplification(false), amplification(true));
    assert!(with < 1.3 && without > 2.0 * with, "{without} without trims, {with} with them");
}

#[test]
fn reads_of_one_super_page_are_joined_and_the_last_one_is_kept() {
    let mut device = Device::new(&small(), striped(), false).unwrap();
    run(&mut device, vec![request(HostKind::Write, SimTime::ZERO, 0, 128 * KB)], ArrivalMode::Timed);
    let reads = |range: std::ops::Range<u64>| {
        range.map(|at| request(HostKind::Read, SimTime::ZERO, at * 8 * KB, 8 * KB)).collect::<Vec<_>>()
    };
    run(&mut device, reads(0..8), ArrivalMode::Saturated);
    assert_eq!((device.services().flash_reads, device.services().joined_reads), (1, 7));
    run(&mut device, reads(0..8), ArrivalMode::Saturated);
    assert_eq!((device.services().flash_reads, device.services().buffered_reads), (1, 8));
}

#[test]
fn waiting_writes_of_one_super_page_are_combined() {
    let mut device = Device::new(&small(), striped(), false).unwrap();
    let writes: Vec<_> = (0..256).map(|at| request(HostKind::Write, SimTime::ZERO, at * 8 * KB, 8 * KB)).collect();
    run(&mut device, writes, ArrivalMode::Saturated);
    let written = device.translation().counts().written;
    assert!(written < 256 / 3, "{written} super-pages were programmed for 32");
    assert_eq!(written + device.services().combined_writes, 256);
}

#[test]
fn every_latency_is_explained_and_equal_seeds_give_equal_replies() {
    for policy in [CleaningPolicy::Greedy, CleaningPolicy::CostBenefit] {
        let mut settings = FtlSettings { write_points_per_set: 2, queue_depth: 48, ..striped() };
        settings.cleaning.policy = policy;
        settings.cleaning.copy_back = policy == CleaningPolicy::Greedy;
        let once = || {
            let mut device = Device::new(&small(), settings, false).unwrap();
            settle(&mut device, WarmUp::Sequential, 1).unwrap();
            let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
            let end = device.bytes() / (4 * KB);
            let mut at = 0;
            let all: Vec<HostRequest> = (0..20_000)
                .map(|_| {
                    at += random.next_u64() % 300_000;
                    let offset = (((random.next_u64() >> 32) * (end - 64)) >> 32) * 4 * KB;
                    let bytes = (1 + random.next_u64() % 64) * 4 * KB;
                    let kind = match random.next_u64() % 16 {
                        0 => HostKind::Trim,
                        1..8 => HostKind::Write,
                        _ => HostKind::Read,
                    };
                    request(kind, SimTime::from_ns(at), offset, bytes)
                })
                .collect();
            let (report, replies) = run(&mut device, all, ArrivalMode::Timed);
            assert_eq!(replies.len(), 20_000);
            for reply in &replies {
                assert_eq!(reply.parts.total(), reply.finished - reply.arrived);
            }
            let LatencyParts { queue, die, bus, cleaning, transfer, cell } = report.latency;
            assert!([queue, die, bus, cleaning, transfer, cell].iter().all(|part| *part > SimTime::ZERO));
            let usage = device.array().usage();
            assert!(usage.bus_utilisation() <= 1.0 && usage.die_utilisation() <= 1.0);
            replies
        };
        assert_eq!(once(), once());
    }
}

/// One set, so that blocks held free are few. They and the open one are no spare.
fn one_set(blocks: u32, policy: CleaningPolicy, spare_factor: f64) -> (Translation, f64) {
    let mut design = gordon(GordonCells::Slc, 133.0);
    let geometry = &mut design.geometry;
    (geometry.buses, geometry.packages_per_bus, geometry.dies_per_package) = (1, 1, 1);
    geometry.blocks_per_plane = blocks;
    let stripe = Stripe { buses: 1, dies: 1, planes: 2 };
    let mut settings = FtlSettings::plain(stripe, spare_factor);
    settings.cleaning.policy = policy;
    let translation = Translation::new(geometry.to_owned(), settings, true).unwrap();
    let data_pages = f64::from(translation.layout().data_pages());
    let closed = f64::from(blocks - 1 - (settings.cleaning.low_blocks - 1)) * data_pages;
    let spare = 1.0 - f64::from(translation.logical_pages()) / closed;
    (translation, spare)
}

#[test]
fn the_ftl_amplifies_writes_as_theory_has_it() {
    let choices = [CleaningPolicy::DChoices(2), CleaningPolicy::DChoices(10)];
    for policy in [CleaningPolicy::Greedy, CleaningPolicy::Fifo].into_iter().chain(choices) {
        let (mut translation, spare) = one_set(2_000, policy, 0.12);
        let pages = translation.layout().data_pages();
        let theory = match policy {
            CleaningPolicy::Greedy => theory::greedy(spare, pages),
            CleaningPolicy::Fifo => theory::fifo(spare),
            CleaningPolicy::DChoices(choices) => theory::d_choices(spare, pages, choices),
            CleaningPolicy::Random | CleaningPolicy::CostBenefit => theory::random(spare),
        };
        let mut filling = Filling::new(&mut translation, None);
        filling.sequential().unwrap();
        filling.uniform(6, 3).unwrap();
        translation.reset_counts();
        Filling::new(&mut translation, None).uniform(4, 4).unwrap();
        let measured = translation.counts().data_amplification();
        assert!((measured / theory - 1.0).abs() < 0.015, "{policy:?}: {measured:.3} measured, {theory:.3} by theory");
    }
}

/// From the closed form on, not one pass of overwriting is needed.
#[test]
fn the_closed_form_is_a_steady_state() {
    let mut chosen = preset("mqsim-default").unwrap().design;
    chosen.geometry.page_bytes = 4 * 1_024;
    chosen.geometry.blocks_per_plane = 64;
    chosen.geometry.pages_per_block = 64;
    let settings = FtlSettings { queue_depth: 256, ..FtlSettings::plain(Stripe::SINGLE, 0.2) };
    let factor = |warm_up: WarmUp| {
        let mut device = Device::new(&chosen, settings, false).unwrap();
        settle(&mut device, warm_up, 2).unwrap();
        let pages = device.bytes() / (4 * KB);
        run(&mut device, random_writes(pages, 4 * KB, pages / 2, 7), ArrivalMode::Saturated);
        device.translation().counts().data_amplification()
    };
    let (closed, filled) = (factor(WarmUp::ClosedForm), factor(WarmUp::Uniform(6)));
    assert!((closed / filled - 1.0).abs() < 0.05, "{closed:.3} from the closed form, {filled:.3} after six passes");
}

/// Each tenth of a pass from the closed form on amplifies writes as theory has it, from the first one.
#[test]
fn write_amplification_is_that_of_theory_from_the_closed_form_on() {
    for policy in [CleaningPolicy::Greedy, CleaningPolicy::Fifo] {
        let (mut translation, spare) = one_set(2_000, policy, 0.12);
        let theory = match policy {
            CleaningPolicy::Greedy => theory::greedy(spare, translation.layout().data_pages()),
            _ => theory::fifo(spare),
        };
        Filling::new(&mut translation, None).steady_state(3).unwrap();
        let window = u64::from(translation.logical_pages() / 10);
        for at in 0..10 {
            translation.reset_counts();
            Filling::new(&mut translation, None).random(window, 100 + at).unwrap();
            let measured = translation.counts().data_amplification();
            println!("{policy:?}, window {at}: {measured:.3} measured, {theory:.3} by theory");
            assert!((measured / theory - 1.0).abs() < 0.03, "{policy:?}, window {at}: {measured:.3} of {theory:.3}");
        }
    }
}

#[test]
fn static_levelling_wears_cold_blocks_too() {
    let spread = |level: Option<u32>| {
        let mut settings = striped();
        settings.wear.spread = level;
        settings.spare_factor = 0.3;
        let mut translation = Translation::new(small().geometry, settings, true).unwrap();
        let mut filling = Filling::new(&mut translation, None);
        filling.sequential().unwrap();
        // A tenth of the pages takes all writes.
        let hot = translation.logical_pages() / 10;
        let mut filling = Filling::new(&mut translation, None);
        for at in 0..400_000_u32 {
            filling.write(at.wrapping_mul(2_654_435_761) % hot).unwrap();
        }
        translation.wear()
    };
    let (without, with) = (spread(None), spread(Some(8)));
    assert!(without.least <= 1 && without.most > 50, "{without:?}");
    assert!(with.most - with.least <= 12, "{with:?}");
}

#[test]
fn a_device_whose_blocks_are_worn_out_says_so() {
    let mut settings = striped();
    settings.wear.endurance = Some(Endurance { rated: 20, ..Endurance::gordon(20) });
    let mut device = Device::new(&small(), settings, false).unwrap();
    let pages = device.bytes() / (64 * KB);
    let error = device.run(random_writes(pages, 64 * KB, 1_000_000, 1), ArrivalMode::Saturated, |_| {}).unwrap_err();
    let FtlError::WornOut { retired } = error else { panic!("{error}") };
    let wear = device.translation().wear();
    assert!(retired > 0 && wear.retired == retired && wear.mean > 15.0, "{wear:?}");
}

#[test]
fn an_ftl_that_needs_more_dram_than_there_is_is_refused() {
    let stripe = Stripe { buses: 1, dies: 1, planes: 1 };
    let settings = FtlSettings { stripe, ..FtlSettings::gordon() };
    let error = Device::new(&gordon(GordonCells::Slc, 133.0), settings, false).unwrap_err();
    assert!(matches!(error, FtlError::Dram { has, .. } if has == 512 << 20), "{error}");
}

/// 8 channels × 4 chips × 2 dies × 2 planes of 4 KiB pages, with so many blocks a plane.
fn terabytes(blocks_per_plane: u32) -> (FlashDesign, FtlSettings) {
    let mut design = preset("mqsim-default").unwrap().design;
    design.geometry.page_bytes = 4 * 1_024;
    design.geometry.blocks_per_plane = blocks_per_plane;
    (design, FtlSettings { queue_depth: 256, ..FtlSettings::plain(Stripe::SINGLE, 0.07) })
}

fn without_owners(blocks_per_plane: u32, writes: u64) -> (f64, FtlCountsAndTime) {
    let (design, settings) = terabytes(blocks_per_plane);
    let run_with = |keeps_owners: bool| {
        let translation = Translation::new(design.geometry, settings, keeps_owners).unwrap();
        let mut device = Device::with(&design, translation, None).unwrap();
        settle(&mut device, WarmUp::ClosedForm, 1).unwrap();
        let pages = device.bytes() / (4 * KB);
        run(&mut device, random_writes(pages, 4 * KB, writes, 1), ArrivalMode::Saturated);
        let bytes = device.translation().memory_bytes() as f64 / design.geometry.pages() as f64;
        (bytes, (device.translation().counts().copied, device.array().now()))
    };
    let scanned = run_with(false);
    assert_eq!(scanned.1, run_with(true).1, "scanning finds other pages than a table of owners");
    scanned
}

type FtlCountsAndTime = (u64, SimTime);

#[test]
fn a_device_takes_four_bytes_a_page() {
    let (bytes, (copied, _)) = without_owners(128, 200_000);
    assert!(bytes <= 4.0, "{bytes} bytes a page");
    assert!(copied > 200_000, "{copied} copies: no cleaning was under way");
}
