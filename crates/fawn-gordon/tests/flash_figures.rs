//! Equal seeds give equal results, from one version to the next: what several devices did, as one number each.
//!
//! A change that is only meant to be faster leaves these numbers alone. One that changes what is simulated renews them: the test
//! prints what it found.

#![allow(clippy::unwrap_used)]

use fawn_gordon::flash::FlashDesign;
use fawn_gordon::flash::presets::{GordonCells, gordon, preset};
use fawn_gordon::ftl::cleaning::CleaningPolicy;
use fawn_gordon::ftl::warm_up::{WarmUp, settle};
use fawn_gordon::ftl::{ArrivalMode, Device, FtlSettings, HostKind, HostRequest, Stripe, Translation};
use fawn_gordon::time::SimTime;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

/// FNV-1a.
struct Digest(u64);

impl Digest {
    fn add(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// Of 16 requests one is a trim, seven are writes, eight are reads, of one to eight pages each.
fn mixed(device_bytes: u64, page: u64, count: u64, gap_ns: u64) -> Vec<HostRequest> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let end = device_bytes / page;
    let mut at = 0;
    (0..count)
        .map(|_| {
            at += random.next_u64() % gap_ns;
            let offset = (((random.next_u64() >> 32) * (end - 8)) >> 32) * page;
            let bytes = (1 + random.next_u64() % 8) * page;
            let kind = match random.next_u64() % 16 {
                0 => HostKind::Trim,
                1..8 => HostKind::Write,
                _ => HostKind::Read,
            };
            HostRequest { at: SimTime::from_ns(at), kind, offset, bytes, stamp: 0 }
        })
        .collect()
}

fn small_requests(device_bytes: u64, count: u64) -> Vec<HostRequest> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let pages = device_bytes / 4_096;
    (0..count)
        .map(|_| {
            let page = ((random.next_u64() >> 32) * pages) >> 32;
            let kind = if random.next_u64().is_multiple_of(2) { HostKind::Read } else { HostKind::Write };
            HostRequest { at: SimTime::ZERO, kind, offset: page * 4_096, bytes: 4_096, stamp: 0 }
        })
        .collect()
}

fn digest(device: &mut Device, requests: Vec<HostRequest>, pace: ArrivalMode) -> u64 {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    let report = device
        .run(requests, pace, |reply| {
            digest.add(reply.number);
            digest.add(reply.finished.ns());
            for part in [reply.parts.queue, reply.parts.die, reply.parts.bus, reply.parts.cleaning] {
                digest.add(part.ns());
            }
        })
        .unwrap();
    digest.add(report.elapsed.ns());
    let counts = device.translation().counts();
    for count in [counts.written, counts.copied, counts.records, counts.records_dropped, counts.levelled] {
        digest.add(count);
    }
    digest.add(counts.blocks.closed);
    digest.add(counts.blocks.erased);
    let usage = device.array().usage();
    usage.bus_busy.iter().chain(&usage.die_busy).for_each(|busy| digest.add(busy.ns()));
    digest.0
}

fn channels(blocks_per_plane: u32) -> FlashDesign {
    let mut design = preset("mqsim-default").unwrap().design;
    (design.geometry.page_bytes, design.geometry.blocks_per_plane) = (4 * 1_024, blocks_per_plane);
    design.geometry.pages_per_block = 64;
    design
}

/// Steady cleaning of single pages, with or without a table of owners.
fn single_pages(policy: CleaningPolicy, keeps_owners: bool) -> u64 {
    let mut settings = FtlSettings { queue_depth: 256, ..FtlSettings::plain(Stripe::SINGLE, 0.15) };
    settings.cleaning.policy = policy;
    let design = channels(64);
    let translation = Translation::new(design.geometry, settings, keeps_owners).unwrap();
    let mut device = Device::with(&design, translation, None).unwrap();
    settle(&mut device, WarmUp::ClosedForm, 1).unwrap();
    let bytes = device.bytes();
    digest(&mut device, small_requests(bytes, 60_000), ArrivalMode::Saturated)
}

fn striped(change: impl FnOnce(&mut FtlSettings)) -> u64 {
    let mut design = gordon(GordonCells::Slc, 133.0);
    design.geometry.blocks_per_plane = 32;
    let mut settings = FtlSettings { spare_factor: 0.3, queue_depth: 48, ..FtlSettings::gordon() };
    change(&mut settings);
    let mut device = Device::new(&design, settings, false).unwrap();
    settle(&mut device, WarmUp::Sequential, 1).unwrap();
    let bytes = device.bytes();
    digest(&mut device, mixed(bytes, 8 * 1_024, 30_000, 300_000), ArrivalMode::Timed)
}

/// What is recovered after a power cut, and how it goes on.
fn recovered() -> u64 {
    let mut design = gordon(GordonCells::Slc, 133.0);
    let geometry = &mut design.geometry;
    (geometry.buses, geometry.packages_per_bus, geometry.dies_per_package) = (2, 1, 2);
    (geometry.planes_per_die, geometry.blocks_per_plane, geometry.pages_per_block) = (1, 32, 16);
    let stripe = Stripe { buses: 2, dies: 1, planes: 1 };
    let settings = FtlSettings { write_points_per_set: 2, queue_depth: 16, ..FtlSettings::plain(stripe, 0.4) };
    let mut device = Device::new(&design, settings, true).unwrap();
    let bytes = device.bytes();
    let before = digest(&mut device, mixed(bytes, 4 * 1_024, 6_000, 400_000), ArrivalMode::Timed);
    let medium = device.cut_power(|_| fawn_gordon::ftl::TornPage::Damaged);
    let (mut device, report) = Device::recovered(&design, settings, medium).unwrap();
    let mut all = Digest(before);
    for number in [report.summaries, report.spare_pages, report.records, report.torn_blocks, report.found] {
        all.add(u64::from(number));
    }
    all.add(report.time.ns());
    all.add(digest(&mut device, mixed(bytes, 4 * 1_024, 2_000, 400_000), ArrivalMode::Timed));
    all.0
}

#[test]
fn equal_seeds_give_the_figures_of_the_version_before() {
    let found = [
        ("greedy", single_pages(CleaningPolicy::Greedy, true)),
        ("greedy, owners scanned", single_pages(CleaningPolicy::Greedy, false)),
        ("fifo", single_pages(CleaningPolicy::Fifo, true)),
        ("two choices", single_pages(CleaningPolicy::DChoices(2), true)),
        ("random", single_pages(CleaningPolicy::Random, true)),
        ("striped", striped(|_| {})),
        (
            "striped, cost-benefit, two write points, copy-back",
            striped(|settings| {
                settings.write_points_per_set = 2;
                settings.cleaning.policy = CleaningPolicy::CostBenefit;
                settings.cleaning.copy_back = true;
            }),
        ),
        (
            "striped, cold apart, levelled",
            striped(|settings| {
                settings.cleaning.cold_apart = true;
                settings.wear.spread = Some(4);
            }),
        ),
        ("after a power cut", recovered()),
    ];
    let expected = [
        0x1d51_d243_474b_7f18,
        0x1d51_d243_474b_7f18,
        0xc537_e08c_f601_9cb2,
        0x703b_a141_7fa5_5a79,
        0xde25_8833_5112_85fb,
        0xef3a_d5ed_2814_b0c6,
        0xdf99_0701_ce1e_d5b0,
        0x5915_ce72_1275_2e2f,
        0xee6c_b7fa_c677_91eb,
    ];
    for ((name, found), expected) in found.iter().zip(expected) {
        println!("{name}: {found:#018x}, expected {expected:#018x}");
    }
    assert!(found.iter().map(|(_, found)| *found).eq(expected), "the figures have changed");
}
