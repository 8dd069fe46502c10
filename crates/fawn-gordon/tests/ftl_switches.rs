//! Each technique of the FTL is a switch of its own, and changes what it is for.

#![allow(clippy::unwrap_used)]

use fawn_gordon::flash::presets::{GordonCells, gordon};
use fawn_gordon::flash::{FlashDesign, Suspension};
use fawn_gordon::ftl::memory::DramNeed;
use fawn_gordon::ftl::warm_up::{WarmUp, settle};
use fawn_gordon::ftl::{ArrivalMode, Device, FtlError, FtlSettings, HostKind, HostReply, HostRequest, Layout, Stripe};
use fawn_gordon::time::SimTime;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

const KB: u64 = 1_024;

fn array() -> FlashDesign {
    let mut design = gordon(GordonCells::Slc, 133.0);
    design.geometry.blocks_per_plane = 32;
    design
}

fn settings() -> FtlSettings {
    FtlSettings { spare_factor: 0.3, ..FtlSettings::gordon() }
}

fn request(kind: HostKind, at: SimTime, offset: u64, bytes: u64) -> HostRequest {
    HostRequest { at, kind, offset, bytes, stamp: 0 }
}

fn run(device: &mut Device, requests: Vec<HostRequest>, pace: ArrivalMode) -> Vec<HostReply> {
    let mut replies = Vec::new();
    device.run(requests, pace, |reply| replies.push(*reply)).unwrap();
    replies
}

fn mean_us(replies: &[HostReply], kind: HostKind) -> f64 {
    let of_kind: Vec<f64> =
        replies.iter().filter(|reply| reply.kind == kind).map(|reply| (reply.finished - reply.arrived).us()).collect();
    of_kind.iter().sum::<f64>() / of_kind.len() as f64
}

/// One super-page of 64 KB is read alone: how long it takes is a matter of its rectangle.
#[test]
fn striping_over_buses_shortens_transfers_and_over_dies_it_does_not() {
    let alone = |buses, dies, planes| {
        let mut settings = settings();
        settings.stripe = Stripe { buses, dies, planes };
        let bytes = 4 * KB * u64::from(buses * dies * planes) / 2;
        let mut device = Device::new(&array(), settings, false).unwrap();
        run(&mut device, vec![request(HostKind::Write, SimTime::ZERO, 0, bytes)], ArrivalMode::Timed);
        let at = device.array().now() + SimTime::from_ms(1);
        let reply = run(&mut device, vec![request(HostKind::Read, at, 0, bytes)], ArrivalMode::Timed)[0];
        (reply.finished - reply.arrived).us()
    };
    let bus = gordon(GordonCells::Slc, 133.0).bus;
    // Four dies a bus on four buses, 16 on one, and a super-page of half a plane pair each: 4,224 bytes a die and transfer.
    for (buses, dies) in [(4, 4), (2, 8), (1, 16)] {
        let transfers = f64::from(dies) * bus.data(4_224).us();
        let expected = 9.0 + 25.0 + transfers;
        let took = alone(buses, dies, 2);
        assert!((took - expected).abs() < 2.0, "{buses} x {dies}: {took} us, {expected} expected");
    }
    // 16 KB over four buses take as long as 4 KB on one.
    assert!((alone(4, 1, 2) - alone(1, 1, 2)).abs() < 0.5);
}

#[test]
fn without_combining_every_write_is_a_program() {
    let programmed = |combines: bool| {
        let settings = FtlSettings { write_combining: combines, ..settings() };
        let mut device = Device::new(&array(), settings, false).unwrap();
        let writes = (0..256).map(|at| request(HostKind::Write, SimTime::ZERO, at * 8 * KB, 8 * KB)).collect();
        run(&mut device, writes, ArrivalMode::Saturated);
        (device.translation().counts().written, device.services().combined_writes)
    };
    assert_eq!(programmed(false), (256, 0));
    let (written, combined) = programmed(true);
    assert!(written < 86 && written + combined == 256, "{written} programmed, {combined} combined");
}

/// Eight reads of parts of one super-page, all at once and then again one by one.
#[test]
fn bypass_joins_what_is_being_read_and_reuse_serves_what_was_read_last() {
    let reads_of_flash = |bypass: bool, reuse: bool| {
        let settings = FtlSettings { read_bypass: bypass, last_read_reuse: reuse, ..settings() };
        let mut device = Device::new(&array(), settings, false).unwrap();
        run(&mut device, vec![request(HostKind::Write, SimTime::ZERO, 0, 64 * KB)], ArrivalMode::Timed);
        let reads = || (0..8).map(|at| request(HostKind::Read, SimTime::ZERO, at * 8 * KB, 8 * KB)).collect();
        run(&mut device, reads(), ArrivalMode::Saturated);
        let at_once = device.services();
        for read in reads() {
            run(&mut device, vec![read], ArrivalMode::Saturated);
        }
        let one_by_one = device.services().flash_reads - at_once.flash_reads;
        (at_once.flash_reads, at_once.joined_reads, one_by_one)
    };
    assert_eq!(reads_of_flash(false, false), (8, 0, 8));
    assert_eq!(reads_of_flash(true, false), (1, 7, 8));
    assert_eq!(reads_of_flash(false, true), (8, 0, 0));
    assert_eq!(reads_of_flash(true, true), (1, 7, 0));
}

/// Reads of different super-pages that arrive at once: the controller looks through those under way, one request after the other.
#[test]
fn looking_through_the_queue_takes_time_for_each_entry() {
    let last_us = |cost: SimTime, bypass: bool| {
        let mut settings = FtlSettings { read_bypass: bypass, last_read_reuse: false, ..settings() };
        settings.costs.queue_entry = cost;
        let mut device = Device::new(&array(), settings, false).unwrap();
        let all = |kind, at| (0..32).map(|page| request(kind, at, page * 64 * KB, 64 * KB)).collect();
        run(&mut device, all(HostKind::Write, SimTime::ZERO), ArrivalMode::Timed);
        let at = device.array().now() + SimTime::from_ms(1);
        let replies = run(&mut device, all(HostKind::Read, at), ArrivalMode::Timed);
        replies.iter().map(|reply| (reply.parts.queue).us()).sum::<f64>()
    };
    let free = last_us(SimTime::ZERO, true);
    let dear = last_us(SimTime::from_us(1), true);
    assert!(free < 1e-9, "{free}");
    // Each but the first finds one read under way when it arrives, and waits for those before it.
    assert!((dear - 32.0 * 31.0 / 2.0).abs() < 1e-6, "{dear} us of waiting in all");
    assert!(last_us(SimTime::from_us(1), false) < 1e-9, "without bypass there is no queue to look through");
}

/// A page that was just written lies in the block with the largest number. Under the rule, overwriting it soon leaves few write
/// points that may take it; without the rule all may.
#[test]
fn without_the_sequence_rule_hot_pages_spread_over_all_write_points() {
    let elapsed_us = |rule: bool| {
        let mut settings =
            FtlSettings { sequence_rule: rule, ..FtlSettings::plain(Stripe { buses: 1, dies: 1, planes: 2 }, 0.5) };
        settings.queue_depth = 64;
        let mut device = Device::new(&array(), settings, false).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        // 300 hot pages on 64 dies.
        let writes = (0..20_000)
            .map(|_| request(HostKind::Write, SimTime::ZERO, random.next_u64() % 300 * 4 * KB, 4 * KB))
            .collect();
        run(&mut device, writes, ArrivalMode::Saturated);
        device.array().now().us()
    };
    let (with, without) = (elapsed_us(true), elapsed_us(false));
    assert!(with > 1.05 * without, "{with} us with the rule, {without} us without");
}

#[test]
fn without_the_sequence_rule_summaries_and_dram_need_more() {
    let stripe = Stripe { buses: 1, dies: 1, planes: 1 };
    let mut design = array();
    // 256 pages of 2 KB: 1 KB of logical pages, and 2 KB of numbers beside them.
    design.geometry.pages_per_block = 256;
    let refused = |rule: bool| {
        let settings = FtlSettings { sequence_rule: rule, ..FtlSettings::plain(stripe, 0.3) };
        matches!(Device::new(&design, settings, false), Err(FtlError::Stripe(_)))
    };
    assert!(!refused(true) && refused(false));
    let layout = Layout::new(array().geometry, stripe).unwrap();
    let need = |rule: bool| {
        let settings = FtlSettings { sequence_rule: rule, ..FtlSettings::plain(stripe, 0.3) };
        DramNeed::of(&layout, &settings).blocks
    };
    let points = u64::from(layout.sets);
    assert_eq!(need(false) - need(true), 8 * (u64::from(layout.blocks()) + 63 * points));
}

/// Half reads at a pace that the device keeps up with, under cleaning.
#[test]
fn reads_that_interrupt_erases_and_programs_wait_less_for_dies() {
    let means = |suspension: Option<Suspension>| {
        let stripe = Stripe { buses: 1, dies: 1, planes: 2 };
        let settings = FtlSettings { suspension, queue_depth: 128, ..FtlSettings::plain(stripe, 0.3) };
        let mut device = Device::new(&array(), settings, false).unwrap();
        settle(&mut device, WarmUp::Uniform(2), 1).unwrap();
        let pages = device.bytes() / (4 * KB);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
        let mut at = 0;
        let requests = (0..30_000)
            .map(|_| {
                at += random.next_u64() % 80_000;
                let kind = if random.next_u64().is_multiple_of(2) { HostKind::Read } else { HostKind::Write };
                let page = ((random.next_u64() >> 32) * pages) >> 32;
                request(kind, SimTime::from_ns(at), page * 4 * KB, 4 * KB)
            })
            .collect();
        let replies = run(&mut device, requests, ArrivalMode::Timed);
        for reply in &replies {
            assert_eq!(reply.parts.total(), reply.finished - reply.arrived);
        }
        let usage = device.array().usage();
        assert!(usage.die_utilisation() <= 1.0);
        (mean_us(&replies, HostKind::Read), mean_us(&replies, HostKind::Write), usage.counts.suspensions)
    };
    let both = Suspension {
        programs: true,
        program_stop: SimTime::from_us(10),
        erase_stop: SimTime::from_us(20),
        resume: SimTime::from_us(5),
        ..Suspension::MQSIM
    };
    let (read, write, none) = means(None);
    let (read_erases, _, some) = means(Some(Suspension { programs: false, ..both }));
    let (read_both, write_both, most) = means(Some(both));
    assert!(none == 0 && some > 0 && most > some, "{some} and {most} interruptions");
    assert!(read_erases < 0.95 * read, "reads took {read_erases} us when they interrupt erases, {read} us else");
    assert!(read_both < 0.8 * read_erases, "reads took {read_both} us when they interrupt both, {read_erases} us else");
    assert!(write_both > write, "writes pay for it: {write_both} us, {write} us else");
}

#[test]
fn a_suspension_that_lets_no_read_ahead_is_refused() {
    let suspension = Some(Suspension { reads_ahead: 0, ..Suspension::MQSIM });
    let error = Device::new(&array(), FtlSettings { suspension, ..settings() }, false).unwrap_err();
    assert_eq!(error.to_string(), "reads_ahead is 0; it must be at least 1");
}
