//! Power cuts at every event: what is recovered from flash is, for every logical page, the last acknowledged write or trim or a
//! later one. With the feature `planted`, every rule that is left out is noticed.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use fawn_gordon::flash::presets::{GordonCells, gordon};
use fawn_gordon::flash::{FlashDesign, Suspension};
use fawn_gordon::ftl::cleaning::CleaningPolicy;
use fawn_gordon::ftl::recovery::recover;
use fawn_gordon::ftl::table::Location;
use fawn_gordon::ftl::{Device, FtlSettings, HostKind, HostRequest, Medium, Stripe, TornPage, Translation};
use fawn_gordon::time::SimTime;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

fn below(random: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    ((random.next_u64() >> 32) * bound) >> 32
}

/// What the host knows of a logical page. Versions are the numbers of operations, from 1.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The last acknowledged version.
    acknowledged: u32,
    /// The last trim that was issued.
    trimmed: u32,
    /// The last write that was issued.
    written: u32,
}

struct Trial {
    design: FlashDesign,
    settings: FtlSettings,
    device: Device,
    known: Vec<Known>,
    /// Version and pages of requests under way, by number.
    under_way: HashMap<u64, (u32, std::ops::Range<u32>, bool)>,
    random: Xoshiro256PlusPlus,
    version: u32,
    events: u64,
    copied: u64,
    erased: u64,
    levelled: u64,
    dropped: u64,
}

impl Trial {
    fn new(design: FlashDesign, settings: FtlSettings, seed: u64) -> Self {
        let device = Device::new(&design, settings, true).unwrap();
        let known = vec![Known::default(); device.translation().logical_pages() as usize];
        Self {
            design,
            settings,
            device,
            known,
            under_way: HashMap::new(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            version: 0,
            events: 0,
            copied: 0,
            erased: 0,
            levelled: 0,
            dropped: 0,
        }
    }

    /// Writes, trims and reads, half of them of a tenth of the pages, some of parts of a page or of several.
    fn admit(&mut self) {
        let page_bytes = u64::from(self.device.translation().layout().page_bytes);
        let pages = self.known.len() as u64;
        let among = if self.random.next_u64().is_multiple_of(2) { pages / 10 } else { pages };
        let first = below(&mut self.random, among);
        let count = (1 + below(&mut self.random, 3)).min(pages - first);
        let (kind, mut offset, mut bytes) = match self.random.next_u64() % 21 {
            0..2 => (HostKind::Trim, first * page_bytes, count * page_bytes),
            2..6 => (HostKind::Read, first * page_bytes, page_bytes),
            6..9 => (HostKind::Write, first * page_bytes, count * page_bytes),
            20 => (HostKind::Flush, 0, 0),
            _ => (HostKind::Write, first * page_bytes, page_bytes),
        };
        if kind == HostKind::Write && self.random.next_u64().is_multiple_of(8) {
            offset += 512;
            bytes -= 512;
        }
        self.version += 1;
        let last = (offset + bytes).div_ceil(page_bytes).max(first);
        let (version, range) = (self.version, first as u32..last as u32);
        let at = self.device.array().now();
        let number = self.device.admit(HostRequest { at, kind, offset, bytes, stamp: version });
        for page in range.clone() {
            match kind {
                HostKind::Read | HostKind::Flush => {}
                HostKind::Write => self.known[page as usize].written = version,
                HostKind::Trim => self.known[page as usize].trimmed = version,
            }
        }
        self.under_way.insert(number, (version, range, matches!(kind, HostKind::Write | HostKind::Trim)));
    }

    fn take_replies(&mut self) {
        while let Some(reply) = self.device.take_reply() {
            let (version, range, changes) = self.under_way.remove(&reply.number).unwrap();
            if reply.kind == HostKind::Flush {
                let mut under_way = self.under_way.iter();
                let is_overtaken = under_way.any(|(number, (_, _, changes))| *changes && *number < reply.number);
                assert!(!is_overtaken, "a flush overtook a write");
            }
            if changes {
                for page in range {
                    let known = &mut self.known[page as usize];
                    known.acknowledged = known.acknowledged.max(version);
                }
            }
        }
    }

    fn cut(&mut self) -> Medium {
        let random = &mut self.random;
        self.device.cut_power(|program| TornPage::drawn(program, random))
    }

    fn found(translation: &Translation, medium: &Medium, page: u32) -> Result<Option<u32>, String> {
        match translation.location(page) {
            Location::At(at) => medium.stamp(at).map(Some).ok_or_else(|| {
                let (block, spare) = (medium.layout().block_of(at), medium.spare(at));
                let summary = medium.summary(block);
                format!("logical page {page} is said to be on {at}, which reads {spare:?}; summary {summary:?}")
            }),
            Location::Never | Location::Trimmed(_) => Ok(None),
        }
    }

    /// Whether everything acknowledged is there after a power cut now.
    fn check(&mut self) -> Result<(), String> {
        let medium = self.cut();
        let translation = recover(&self.design, self.settings, &medium).unwrap().translation;
        for (page, known) in (0..).zip(&self.known) {
            let Known { acknowledged, trimmed, written } = *known;
            let found = Self::found(&translation, &medium, page)?;
            let fits = match found {
                Some(version) => version >= acknowledged && version <= written,
                None => acknowledged == 0 || trimmed >= acknowledged,
            };
            if !fits {
                return Err(format!("logical page {page}: {found:?} found, {acknowledged} acknowledged"));
            }
        }
        Ok(())
    }

    /// Cuts the power and goes on with what is recovered, which is the truth from now on.
    fn restart(&mut self) -> Result<(), String> {
        let medium = self.cut();
        let translation = recover(&self.design, self.settings, &medium).unwrap().translation;
        for (page, known) in (0..).zip(&mut self.known) {
            let found = Self::found(&translation, &medium, page)?;
            known.acknowledged = match found {
                Some(version) => version,
                None if known.trimmed >= known.acknowledged => known.trimmed,
                None => 0,
            };
        }
        let counts = self.device.translation().counts();
        self.copied += counts.copied;
        self.erased += counts.blocks.erased;
        self.levelled += counts.levelled;
        self.dropped += counts.records_dropped;
        self.device = Device::recovered(&self.design, self.settings, medium).map_err(|error| error.to_string())?.0;
        self.under_way.clear();
        Ok(())
    }

    /// Runs so many operations with a check at every event, and a restart every so many events.
    fn run(&mut self, operations: u32, restart_every: u64) -> Result<(), String> {
        loop {
            while self.device.has_room() && self.version < operations {
                self.admit();
                self.take_replies();
            }
            let more = self.device.step().map_err(|error| error.to_string())?;
            self.take_replies();
            self.events += 1;
            self.check()?;
            if self.events.is_multiple_of(restart_every) && self.version < operations {
                self.restart()?;
            }
            if !more && self.version >= operations {
                return Ok(());
            }
        }
    }
}

fn small(buses: u32, dies: u32, blocks: u32) -> FlashDesign {
    let mut design = gordon(GordonCells::Slc, 133.0);
    let geometry = &mut design.geometry;
    (geometry.buses, geometry.packages_per_bus, geometry.dies_per_package) = (buses, 1, dies);
    (geometry.planes_per_die, geometry.blocks_per_plane, geometry.pages_per_block) = (1, blocks, 8);
    design
}

/// One, four and sixteen write points, on stripes of all shapes.
fn configurations() -> Vec<(u32, FlashDesign, FtlSettings)> {
    let plain = |stripe, spare| FtlSettings { queue_depth: 12, ..FtlSettings::plain(stripe, spare) };
    let stripe = |buses, dies| Stripe { buses, dies, planes: 1 };
    let mut all = Vec::new();

    let mut one = plain(stripe(2, 2), 0.3);
    one.cleaning.policy = CleaningPolicy::Fifo;
    all.push((1, small(2, 2, 24), one));

    let mut four = plain(stripe(1, 1), 0.3);
    four.write_combining = true;
    four.cleaning.copy_back = true;
    four.cleaning.policy = CleaningPolicy::DChoices(2);
    all.push((4, small(2, 2, 16), four));

    let mut four_of_one = plain(stripe(2, 1), 0.45);
    four_of_one.write_points_per_set = 4;
    four_of_one.cleaning.policy = CleaningPolicy::CostBenefit;
    all.push((4, small(2, 1, 32), four_of_one));

    let mut sixteen = plain(stripe(1, 1), 0.5);
    sixteen.write_points_per_set = 4;
    sixteen.queue_depth = 24;
    sixteen.wear.spread = Some(4);
    all.push((16, small(2, 2, 20), sixteen));

    let mut cold = plain(stripe(1, 2), 0.6);
    cold.write_points_per_set = 2;
    cold.cleaning.cold_apart = true;
    cold.cleaning.policy = CleaningPolicy::Random;
    all.push((4, small(2, 2, 20), cold));

    // Pages are ordered by their own numbers, not by those of their blocks.
    let mut unruled = plain(stripe(1, 1), 0.5);
    unruled.sequence_rule = false;
    unruled.write_points_per_set = 4;
    unruled.queue_depth = 24;
    unruled.cleaning.policy = CleaningPolicy::Fifo;
    all.push((16, small(2, 2, 20), unruled));

    let mut unruled_cold = plain(stripe(2, 1), 0.5);
    unruled_cold.sequence_rule = false;
    unruled_cold.write_points_per_set = 2;
    unruled_cold.cleaning.cold_apart = true;
    unruled_cold.suspension =
        Some(Suspension { programs: true, program_stop: SimTime::from_us(20), ..Suspension::MQSIM });
    all.push((4, small(2, 2, 20), unruled_cold));
    all
}

fn survives(write_points: u32) {
    for (points, design, settings) in configurations().into_iter().filter(|(points, ..)| *points == write_points) {
        let mut trial = Trial::new(design, settings, u64::from(points));
        trial.run(10_000, 1_009).unwrap_or_else(|violation| panic!("{points} write points: {violation}"));
        trial.restart().unwrap();
        let Trial { events, copied, erased, levelled, dropped, .. } = trial;
        println!("{events} events, {copied} copied, {erased} erased, {levelled} levelled, {dropped} records dropped");
        assert!(copied > 500 && erased > 500, "too little cleaning was under way");
        assert!(levelled > 0 || settings.wear.spread.is_none(), "no wear was levelled");
        assert!(dropped > 0 || settings.cleaning.policy != CleaningPolicy::Fifo, "no record was dropped");
        assert!(events > 20_000, "too few events");
    }
}

#[test]
fn every_event_of_10_000_operations_survives_a_power_cut_with_one_write_point() {
    survives(1);
}

#[test]
fn every_event_of_10_000_operations_survives_a_power_cut_with_four_write_points() {
    survives(4);
}

#[test]
fn every_event_of_10_000_operations_survives_a_power_cut_with_sixteen_write_points() {
    survives(16);
}

/// Other seeds, and restarts so often that each finds what the one before left.
#[test]
fn frequent_restarts_lose_nothing_and_never_block() {
    for seed in 100..104 {
        for (points, design, settings) in configurations() {
            let mut trial = Trial::new(design, settings, seed);
            trial.run(600, 37).unwrap_or_else(|violation| panic!("{points} write points, seed {seed}: {violation}"));
        }
    }
}

#[test]
fn recovery_takes_as_long_as_the_array_needs_for_its_summaries() {
    let (_, design, settings) = configurations().remove(0);
    let mut trial = Trial::new(design, settings, 3);
    for _ in 0..400 {
        trial.admit();
        trial.take_replies();
        while !trial.device.has_room() && trial.device.step().unwrap() {
            trial.take_replies();
        }
    }
    let medium = trial.cut();
    let (device, report) = Device::recovered(&trial.design, trial.settings, medium).unwrap();
    let summaries = trial.design.cells.read(0).times(u64::from(device.translation().layout().blocks()));
    assert!(report.summaries > 0 && report.spare_pages > 0, "{report:?}");
    assert!(report.time > summaries && report.time < SimTime::from_ms(20), "{report:?}");
}

#[cfg(feature = "planted")]
mod planted {
    use fawn_gordon::ftl::injected_bugs::{FtlBug, plant};

    use super::*;

    /// Whether a trial with this bug ends in a violation, or in a panic of the flash that is misused.
    fn is_found(bug: FtlBug) -> Option<(u64, u32, String)> {
        for seed in 0..12 {
            for (points, design, settings) in configurations() {
                plant(Some(bug));
                let outcome = std::panic::catch_unwind(|| {
                    Trial::new(design, settings, seed).run(3_000, if seed % 2 == 0 { 211 } else { 1_009 })
                });
                plant(None);
                match outcome {
                    Ok(Ok(())) => {}
                    Ok(Err(violation)) => return Some((seed, points, violation)),
                    Err(panic) => {
                        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                        return Some((seed, points, text));
                    }
                }
            }
        }
        None
    }

    /// The same trials without a bug.
    #[test]
    fn nothing_is_found_where_no_bug_is_planted() {
        for seed in 0..7 {
            for (points, design, settings) in configurations() {
                let outcome = Trial::new(design, settings, seed).run(3_000, if seed % 2 == 0 { 211 } else { 1_009 });
                assert_eq!(outcome, Ok(()), "{points} write points, seed {seed}");
            }
        }
    }

    #[test]
    fn every_planted_bug_is_found() {
        let mut missed = Vec::new();
        for &bug in FtlBug::ALL {
            match is_found(bug) {
                Some((seed, points, how)) => println!("{bug:?}: seed {seed}, {points} write points: {how}"),
                None => missed.push(bug),
            }
        }
        assert!(FtlBug::ALL.len() >= 12 && missed.is_empty(), "not found: {missed:?}");
    }
}
