//! Fills an FTL without time: every program is finished as soon as it is issued.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, SeedableRng as _};

use super::allocation::Placement;
use super::error::FtlError;
use super::medium::{Content, Medium, PageProgram};
use super::settings::FtlSettings;
use super::table::PageRange;
use super::translation::Translation;

const KEPT_FOR_COPIES: &str = "the last erased block is kept for copies";

/// An FTL that is filled.
#[derive(Debug)]
pub struct Filling<'a> {
    translation: &'a mut Translation,
    medium: Option<&'a mut Medium>,
}

impl<'a> Filling<'a> {
    /// Of this FTL, on which nothing is under way.
    pub fn new(translation: &'a mut Translation, medium: Option<&'a mut Medium>) -> Self {
        Self { translation, medium }
    }

    /// Writes every logical page once, in order.
    ///
    /// # Errors
    ///
    /// The device is worn out.
    pub fn sequential(&mut self) -> Result<(), FtlError> {
        self.sequential_with(|_, _| ())
    }

    /// The same. Before each write, `told` is called with the pages that are written and all that will be.
    ///
    /// # Errors
    ///
    /// The device is worn out.
    pub fn sequential_with(&mut self, told: impl Fn(u64, u64)) -> Result<(), FtlError> {
        let pages = self.translation.logical_pages();
        (0..pages).try_for_each(|logical| {
            told(u64::from(logical), u64::from(pages));
            self.write(logical)
        })
    }

    /// Writes so many times as many random pages as there are.
    ///
    /// # Errors
    ///
    /// The device is worn out.
    pub fn uniform(&mut self, passes: u32, seed: u64) -> Result<(), FtlError> {
        self.random(u64::from(self.translation.logical_pages()) * u64::from(passes), seed)
    }

    /// Writes so many random pages.
    ///
    /// # Errors
    ///
    /// The device is worn out.
    pub fn random(&mut self, writes: u64, seed: u64) -> Result<(), FtlError> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let pages = u64::from(self.translation.logical_pages());
        (0..writes).try_for_each(|_| self.write((((random.next_u64() >> 32) * pages) >> 32) as u32))
    }

    /// Writes a logical page, and cleans as far as that needs it.
    ///
    /// # Errors
    ///
    /// The device is worn out.
    pub fn write(&mut self, logical: u32) -> Result<(), FtlError> {
        let placement = loop {
            if let Some(placement) = self.translation.place_write(logical) {
                break placement;
            }
            if !self.translation.make_room_for(logical) {
                return Err(self.worn_out("a write point takes every logical page, sooner or later"));
            }
            self.settle()?;
        };
        self.program(placement, Content::Data { logical, stamp: 0 }, false);
        self.settle()
    }

    fn program(&mut self, placement: Placement, content: Content, copied: bool) {
        self.erase_distrusted();
        self.program_medium(placement.page, placement.ticket, content, copied);
        self.translation.allocation.finish(placement);
    }

    fn program_medium(&mut self, page: u32, ticket: u64, content: Content, copied: bool) {
        let sequence = self.translation.sequence(page);
        if let Some(medium) = &mut self.medium {
            medium.program(page, PageProgram { sequence, ticket, content, copied }, None);
        }
    }

    fn erase_distrusted(&mut self) {
        while let Some(block) = self.translation.allocation.take_unerased() {
            if let Some(medium) = &mut self.medium {
                medium.erase(block);
            }
        }
    }

    /// Programs the summaries of closed blocks, and cleans sets that are short.
    fn settle(&mut self) -> Result<(), FtlError> {
        loop {
            while let Some(block) = self.translation.allocation.take_closed() {
                let page = self.translation.layout().summary_page(block);
                let owners = self.translation.summary_of(block);
                self.program_medium(page, 0, Content::Summary(owners), false);
            }
            let Some(set) = self.translation.allocation.take_short_set() else { return Ok(()) };
            self.clean(set)?;
        }
    }

    fn clean(&mut self, set: u32) -> Result<(), FtlError> {
        let Some(victim) = self.translation.begin_cleaning(set) else { return Ok(()) };
        for (page, logical) in victim.pages {
            let placement = self.translation.place_copy(page, logical).ok_or_else(|| self.worn_out(KEPT_FOR_COPIES))?;
            let stamp = self.medium.as_ref().and_then(|medium| medium.stamp(page)).unwrap_or(0);
            self.program(placement, Content::Data { logical, stamp }, true);
        }
        for page in victim.records {
            let placement = self.translation.place_record_copy(page).ok_or_else(|| self.worn_out(KEPT_FOR_COPIES))?;
            if let Some(placement) = placement {
                let ranges: Vec<PageRange> = self.translation.record_ranges(placement.page);
                self.program(placement, Content::Record(ranges), true);
                self.translation.record_finished(placement.page);
            }
        }
        if let Some(medium) = &mut self.medium {
            medium.erase(victim.block);
        }
        self.translation.erased(victim.block)
    }

    /// Blocks that failed have left no room.
    ///
    /// # Panics
    ///
    /// No block has failed, so that this is a bug: the invariant does not hold.
    fn worn_out(&self, invariant: &str) -> FtlError {
        let retired = self.translation.wear().retired;
        assert!(retired > 0, "{invariant}");
        FtlError::WornOut { retired }
    }

    /// The steady state of long uniform random writes: the closed form, then as many random writes as use up its stock.
    ///
    /// # Errors
    ///
    /// The device is worn out.
    ///
    /// # Panics
    ///
    /// As for [`closed_form`](Self::closed_form).
    pub fn steady_state(&mut self, seed: u64) -> Result<(), FtlError> {
        self.closed_form(seed);
        // Other draws than those that placed the pages.
        self.random(self.stock(), seed ^ 0x5d58_8b65_6c07_8965)
    }

    /// Writes that use up the erased blocks which the closed form leaves beyond those that cleaning keeps, twice over: the first
    /// writes after it clean less than the steady state does.
    pub fn stock(&self) -> u64 {
        let layout = self.translation.layout();
        2 * u64::from(blocks_kept(self.translation.settings()))
            * u64::from(layout.data_pages())
            * u64::from(layout.sets)
    }

    /// Whether [`closed_form`](Self::closed_form) has blocks enough: beside those that write points and cleaning hold.
    pub fn has_closed_form(&self) -> bool {
        let (layout, settings) = (self.translation.layout(), self.translation.settings());
        let closed = layout.blocks_per_set.saturating_sub(blocks_kept(settings));
        let pages = u64::from(closed) * u64::from(layout.data_pages()) * u64::from(layout.sets);
        self.medium.is_none() && u64::from(self.translation.logical_pages()) < pages
    }

    /// Places every logical page once, among stale pages, as after long uniform random writes.
    ///
    /// # Panics
    ///
    /// A medium is kept: it would have to hold the stale pages' content too. Or there are too few blocks, see
    /// [`has_closed_form`](Self::has_closed_form).
    pub fn closed_form(&mut self, seed: u64) {
        assert!(self.medium.is_none(), "the closed form fills no medium; write the pages instead");
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let quotas = self.quotas(&mut random);
        let all: u64 = quotas.iter().map(|(_, quota)| u64::from(*quota)).sum();
        let logical = self.translation.logical_pages();
        let decay = decay_for(f64::from(logical) / all as f64);
        // An affine map with a factor that shares no divisor with the modulus visits every page once.
        let factor = coprime_to(u64::from(logical), random.next_u64());
        let mut owed = 0.0;
        let (mut at, mut placed) = (0_u64, 0_u32);
        for round in 0..quotas.iter().map(|(_, quota)| *quota).max().unwrap_or(0) {
            for &(point, quota) in &quotas {
                if round >= quota {
                    continue;
                }
                at += 1;
                owed += (-decay * (all - at) as f64 / all as f64).exp();
                let left = all - at;
                if placed < logical && (owed >= 1.0 || left < u64::from(logical - placed)) {
                    owed -= 1.0;
                    let page = (u64::from(placed) * factor % u64::from(logical)) as u32;
                    self.translation.place_at(point, Some(page));
                    placed += 1;
                } else {
                    self.translation.place_at(point, None);
                }
            }
        }
        while self.translation.allocation.take_closed().is_some() {}
        assert!(placed == logical, "{placed} of {logical} pages were placed");
        self.translation.reset_counts();
    }

    /// Pages that each write point is to fill: its share of the closed blocks, and a part of the open one.
    fn quotas(&self, random: &mut Xoshiro256PlusPlus) -> Vec<(u32, u32)> {
        let (layout, settings) = (self.translation.layout(), self.translation.settings());
        let per_set = settings.write_points_per_set;
        let closed = (layout.blocks_per_set - blocks_kept(settings)) * layout.data_pages() / per_set;
        let mut quota = || closed + (((random.next_u64() >> 32) * u64::from(layout.data_pages())) >> 32) as u32;
        self.translation.allocation.hot_points().map(|point| (point, quota())).collect()
    }
}

/// Blocks of a set that the closed form leaves to write points and cleaning.
fn blocks_kept(settings: &FtlSettings) -> u32 {
    2 * settings.write_points_per_set + settings.cleaning.low_blocks + u32::from(settings.cleaning.cold_apart)
}

/// The `c` for which the mean of `exp(−c·x)` over `x` from 0 to 1 is this share.
fn decay_for(share: f64) -> f64 {
    let (mut low, mut high) = (1e-9_f64, 1e6_f64);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if -f64::exp_m1(-middle) / middle > share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

fn coprime_to(modulus: u64, draw: u64) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let mut factor = (draw % modulus.max(2)) | 1;
    while divisor(factor, modulus) != 1 {
        factor += 2;
    }
    factor
}
