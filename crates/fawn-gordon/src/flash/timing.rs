//! How long cells and buses take.

use serde::{Deserialize, Serialize};

use crate::time::SimTime;

/// Time in the cells. Pages of cells with several bits differ: page `i` of a block takes entry `i mod length`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellTiming {
    /// From the cells into the page register. Not empty.
    pub reads: Vec<SimTime>,
    /// From the page register into the cells. Not empty.
    pub programs: Vec<SimTime>,
    /// Erase of a block.
    pub erase: SimTime,
}

impl CellTiming {
    /// All pages alike, in microseconds.
    pub fn uniform_us(read: u64, program: u64, erase: u64) -> Self {
        Self {
            reads: vec![SimTime::from_us(read)],
            programs: vec![SimTime::from_us(program)],
            erase: SimTime::from_us(erase),
        }
    }

    /// The read of this page of a block.
    #[inline]
    pub fn read(&self, page: u32) -> SimTime {
        Self::of_page(&self.reads, page)
    }

    /// The program of this page of a block.
    #[inline]
    pub fn program(&self, page: u32) -> SimTime {
        Self::of_page(&self.programs, page)
    }

    #[inline]
    fn of_page(times: &[SimTime], page: u32) -> SimTime {
        if let [only] = times { *only } else { times[page as usize % times.len()] }
    }
}

/// A bus and its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BusTiming {
    /// Data lines: 8 or 16.
    pub width_bits: u32,
    /// Transfers a second, in millions.
    pub mega_transfers: f64,
    /// Transfers that the command and address of one page take.
    pub command_cycles: u32,
}

impl BusTiming {
    /// Bytes a second at most.
    pub fn bytes_per_second(&self) -> f64 {
        self.mega_transfers * 1e6 * f64::from(self.width_bits) / 8.0
    }

    /// How long this many bytes take, rounded up.
    pub fn data(&self, bytes: u32) -> SimTime {
        SimTime::from_ns((f64::from(bytes) * 1e9 / self.bytes_per_second()).ceil() as u64)
    }

    /// How long the commands of this many pages take, rounded up.
    pub fn commands(&self, pages: u32) -> SimTime {
        let cycles = f64::from(self.command_cycles) * f64::from(pages);
        SimTime::from_ns((cycles * 1e3 / self.mega_transfers).ceil() as u64)
    }
}

/// What the dies can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DieOptions {
    /// Whether a second register lets a transfer run beside the cells (cache read and cache program).
    pub cache_register: bool,
}
