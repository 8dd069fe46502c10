//! Super-pages: rectangles of dies that the FTL treats as one.

use serde::{Deserialize, Serialize};

use super::divisor::Divisor;
use crate::flash::Geometry;

/// The rectangle that one super-page covers: horizontally over buses, vertically over the dies of a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stripe {
    /// Buses, a divisor of the array's.
    pub buses: u32,
    /// Dies on each of these buses, a divisor of the bus's.
    pub dies: u32,
    /// Planes of each of these dies, a divisor of the die's.
    pub planes: u32,
}

impl Stripe {
    /// One page of one plane.
    pub const SINGLE: Self = Self { buses: 1, dies: 1, planes: 1 };
}

/// A stripe that does not fit its array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StripeError {
    /// A side of the rectangle is no divisor.
    #[error("a stripe of {side} {name} does not divide the array's {of}; choose a divisor")]
    NoDivisor {
        /// Of what.
        name: &'static str,
        /// The stripe's.
        side: u32,
        /// The array's.
        of: u32,
    },
    /// The FTL's entries have 31 bits for a super-page.
    #[error("{0} super-pages; an entry of the table names at most 2^31 - 2, so choose larger super-pages")]
    TooManyPages(u64),
    /// The summary of a block does not fit its page.
    #[error("a summary of {pages} pages does not fit a super-page of {bytes} bytes; choose larger super-pages")]
    SummaryTooLarge {
        /// Pages a block.
        pages: u32,
        /// Bytes a super-page.
        bytes: u32,
    },
    /// A block needs a page for data beside its summary page.
    #[error("blocks of one page leave no room beside their summary")]
    NoDataPage,
}

/// Where super-pages lie. Blocks here are super-blocks, numbered set by set; pages are super-pages, numbered block by block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The array's shape.
    pub geometry: Geometry,
    /// The rectangle.
    pub stripe: Stripe,
    /// Stripe sets: rectangles of the array. Neighbours in number lie on different buses where they can.
    pub sets: u32,
    /// Blocks of each set.
    pub blocks_per_set: u32,
    /// Pages of each block, the summary page included.
    pub pages_per_block: u32,
    /// Data bytes of each page.
    pub page_bytes: u32,
    bus_groups: u32,
    die_groups: u32,
    by_pages: Divisor,
    by_blocks: Divisor,
}

impl Layout {
    /// The layout of these stripes on this array.
    ///
    /// # Errors
    ///
    /// The stripe does not fit.
    pub fn new(geometry: Geometry, stripe: Stripe) -> Result<Self, StripeError> {
        for (name, side, of) in [
            ("buses", stripe.buses, geometry.buses),
            ("dies", stripe.dies, geometry.dies_per_bus()),
            ("planes", stripe.planes, geometry.planes_per_die),
        ] {
            if side == 0 || of % side != 0 {
                return Err(StripeError::NoDivisor { name, side, of });
            }
        }
        let bus_groups = geometry.buses / stripe.buses;
        let die_groups = geometry.dies_per_bus() / stripe.dies;
        let layout = Self {
            geometry,
            stripe,
            sets: bus_groups * die_groups * (geometry.planes_per_die / stripe.planes),
            blocks_per_set: geometry.blocks_per_plane,
            pages_per_block: geometry.pages_per_block,
            page_bytes: geometry.page_bytes * stripe.buses * stripe.dies * stripe.planes,
            bus_groups,
            die_groups,
            by_pages: Divisor::new(geometry.pages_per_block),
            by_blocks: Divisor::new(geometry.blocks_per_plane),
        };
        let pages = u64::from(layout.blocks()) * u64::from(layout.pages_per_block);
        if pages >= (1 << 31) - 2 {
            return Err(StripeError::TooManyPages(pages));
        }
        if layout.pages_per_block < 2 {
            return Err(StripeError::NoDataPage);
        }
        layout.check_summary(4)?;
        Ok(layout)
    }

    /// Whether a summary of so many bytes a page fits its super-page.
    ///
    /// # Errors
    ///
    /// It does not.
    pub fn check_summary(&self, bytes_per_page: u32) -> Result<(), StripeError> {
        if u64::from(self.pages_per_block) * u64::from(bytes_per_page) > u64::from(self.page_bytes) {
            return Err(StripeError::SummaryTooLarge { pages: self.pages_per_block, bytes: self.page_bytes });
        }
        Ok(())
    }

    /// Blocks of all sets.
    pub fn blocks(&self) -> u32 {
        self.sets * self.blocks_per_set
    }

    /// Pages of all blocks.
    pub fn pages(&self) -> u32 {
        self.blocks() * self.pages_per_block
    }

    /// Pages of a block that hold data; the last one holds the summary.
    pub fn data_pages(&self) -> u32 {
        self.pages_per_block - 1
    }

    /// Dies of a set.
    pub fn parts(&self) -> u32 {
        self.stripe.buses * self.stripe.dies
    }

    /// Flash pages of a super-page.
    pub fn flash_pages(&self) -> u32 {
        self.parts() * self.stripe.planes
    }

    /// Groups of buses that share no stripe.
    pub fn bus_groups(&self) -> u32 {
        self.bus_groups
    }

    /// The group of buses of a set.
    #[inline]
    pub fn bus_group(&self, set: u32) -> u32 {
        set % self.bus_groups
    }

    /// The die of a set's part. The first [`Stripe::buses`] parts lie on different buses.
    #[inline]
    pub fn die(&self, set: u32, part: u32) -> u32 {
        let bus = self.bus_group(set) * self.stripe.buses + part % self.stripe.buses;
        let die_group = set / self.bus_groups % self.die_groups;
        bus * self.geometry.dies_per_bus() + die_group * self.stripe.dies + part / self.stripe.buses
    }

    /// The part of a set that has this flash page of a super-page. Neighbours lie on different buses, then on different dies.
    #[inline]
    pub fn part_of(&self, flash_page: u32) -> u32 {
        flash_page % self.parts()
    }

    /// The block of a page.
    #[inline]
    pub fn block_of(&self, page: u32) -> u32 {
        self.by_pages.divide(page)
    }

    /// The set of a block.
    #[inline]
    pub fn set_of(&self, block: u32) -> u32 {
        self.by_blocks.divide(block)
    }

    /// The number of a page within its block.
    #[inline]
    pub fn offset(&self, page: u32) -> u32 {
        page - self.block_of(page) * self.pages_per_block
    }

    /// The first page of a block.
    #[inline]
    pub fn first_page(&self, block: u32) -> u32 {
        block * self.pages_per_block
    }

    /// The summary page of a block.
    #[inline]
    pub fn summary_page(&self, block: u32) -> u32 {
        self.first_page(block) + self.pages_per_block - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::presets::{GordonCells, gordon};

    #[test]
    fn every_die_is_in_as_many_sets_as_it_has_plane_groups() {
        let geometry = gordon(GordonCells::Slc, 133.0).geometry;
        for buses in [1, 2, 4] {
            for dies in [1, 2, 4, 8, 16] {
                for planes in [1, 2] {
                    let layout = Layout::new(geometry, Stripe { buses, dies, planes }).unwrap();
                    let mut seen = vec![0; geometry.dies() as usize];
                    for set in 0..layout.sets {
                        for part in 0..layout.parts() {
                            seen[layout.die(set, part) as usize] += 1;
                        }
                    }
                    assert!(seen.iter().all(|&count| count == 2 / planes), "{buses} x {dies} x {planes}");
                    assert_eq!(u64::from(layout.pages()) * u64::from(layout.page_bytes), geometry.bytes());
                }
            }
        }
    }

    #[test]
    fn a_stripe_that_does_not_divide_its_array_is_refused() {
        let geometry = gordon(GordonCells::Slc, 133.0).geometry;
        let error = Layout::new(geometry, Stripe { buses: 3, dies: 1, planes: 1 }).unwrap_err();
        assert_eq!(error.to_string(), "a stripe of 3 buses does not divide the array's 4; choose a divisor");
    }
}
