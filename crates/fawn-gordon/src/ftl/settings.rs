//! What an FTL can be told, each a switch of its own.

use serde::{Deserialize, Serialize};

use super::cleaning::CleaningPolicy;
use super::error::FtlError;
use super::striping::Stripe;
use super::wear::WearSettings;
use crate::flash::Suspension;
use crate::time::SimTime;

/// Settings of an FTL and its controller.
#[expect(clippy::struct_excessive_bools, reason = "each technique is a switch of its own")]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FtlSettings {
    /// The rectangle of a super-page.
    pub stripe: Stripe,
    /// Share of the data pages that the host does not see, 0 to 1 exclusive. Summary pages do not count.
    pub spare_factor: f64,
    /// Write points of each stripe set that the host writes to, at least 1.
    pub write_points_per_set: u32,
    /// Programs that a write point may have under way.
    pub programs_ahead: u32,
    /// Requests of the host that are under way at most.
    pub queue_depth: u32,
    /// A page goes to a write point whose block has no smaller sequence number than the block that it is in (Gordon §4.2.1). Thus
    /// the number of a block orders the copies of a page, and recovery needs no other.
    ///
    /// Without the rule any write point takes any page. Every page then has a number of its own in its spare area, and recovery
    /// orders by these: a summary lists twelve bytes a page instead of four, and the controller keeps eight bytes for each
    /// page of an open block and for each block.
    #[serde(default = "switched_on")]
    pub sequence_rule: bool,
    /// Joins reads of one super-page while it is being read (Gordon §4.2.2). Reads are of whole super-pages then.
    pub read_bypass: bool,
    /// Keeps the super-page that was read last, and serves reads from it until its block is erased. Reads are of whole
    /// super-pages then.
    #[serde(default)]
    pub last_read_reuse: bool,
    /// Joins writes of one super-page while they wait, and serves reads from them.
    pub write_combining: bool,
    /// Reads all of a super-page, however little is asked for.
    pub whole_page_reads: bool,
    /// Reads interrupt programs and erases.
    #[serde(default)]
    pub suspension: Option<Suspension>,
    /// Time that the controller spends.
    pub costs: ControllerCosts,
    /// Cleaning.
    pub cleaning: CleaningSettings,
    /// Wear.
    pub wear: WearSettings,
    /// The controller's DRAM in bytes. An FTL that needs more is refused.
    pub dram_bytes: u64,
    /// Seeds random choices.
    pub seed: u64,
}

/// Time that the controller spends, beyond cells and buses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerCosts {
    /// For which each bus of a super-page read is held, beside its data and commands.
    pub read: SimTime,
    /// The same of a super-page program.
    pub program: SimTime,
    /// A read of what was never written or is trimmed. It returns zeros and touches no flash.
    pub unmapped_read: SimTime,
    /// A read that is served from the controller's memory.
    pub buffered_read: SimTime,
    /// Looking at one entry of the queue of pending requests: of the reads under way with bypass, of the waiting writes with
    /// combining. The controller looks for one request at a time.
    pub queue_entry: SimTime,
}

/// How blocks are cleaned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CleaningSettings {
    /// Which block is cleaned.
    pub policy: CleaningPolicy,
    /// Cleaning starts in a set with fewer erased blocks than this, at least 2.
    pub low_blocks: u32,
    /// Pages of a set that are copied at a time.
    pub copies_ahead: u32,
    /// Copies inside a die, without the bus.
    pub copy_back: bool,
    /// Cleaned pages go to write points of their own, so that cold pages are apart from hot ones.
    pub cold_apart: bool,
}

fn switched_on() -> bool {
    true
}

impl FtlSettings {
    /// Bytes that the summary of a block lists for each page: its logical page, and its number where the rule does not order
    /// pages by their blocks.
    pub fn summary_bytes_per_page(&self) -> u32 {
        if self.sequence_rule { 4 } else { 12 }
    }

    /// Whether the numbers make sense, whatever the array.
    ///
    /// # Errors
    ///
    /// One of them is out of range.
    pub fn check(&self) -> Result<(), FtlError> {
        for (name, value, least) in [
            ("write_points_per_set", self.write_points_per_set, 1),
            ("programs_ahead", self.programs_ahead, 1),
            ("queue_depth", self.queue_depth, 1),
            ("low_blocks", self.cleaning.low_blocks, 2),
            ("copies_ahead", self.cleaning.copies_ahead, 1),
        ] {
            if value < least {
                return Err(FtlError::TooSmall { name, value, least });
            }
        }
        if let Some(Suspension { reads_ahead: 0, .. }) = self.suspension {
            return Err(FtlError::TooSmall { name: "reads_ahead", value: 0, least: 1 });
        }
        let spare = self.spare_factor;
        if spare > 0.0 && spare < 1.0 { Ok(()) } else { Err(FtlError::SpareFactor(spare)) }
    }

    /// One write point a set, greedy cleaning, and none of the techniques that cost time or memory.
    pub fn plain(stripe: Stripe, spare_factor: f64) -> Self {
        Self {
            stripe,
            spare_factor,
            write_points_per_set: 1,
            programs_ahead: 2,
            queue_depth: 64,
            sequence_rule: true,
            read_bypass: false,
            last_read_reuse: false,
            write_combining: false,
            whole_page_reads: false,
            suspension: None,
            costs: ControllerCosts::default(),
            cleaning: CleaningSettings {
                policy: CleaningPolicy::Greedy,
                low_blocks: 3,
                copies_ahead: 4,
                copy_back: false,
                cold_apart: false,
            },
            wear: WearSettings { dynamic: true, spread: None, endurance: None },
            dram_bytes: u64::MAX,
            seed: 1,
        }
    }

    /// The paper's FTL on its array of 4 buses × 16 dies × 2 planes: 64 KB super-pages over four buses and four dies, bypass and
    /// combining, whole pages read, 512 MB of DRAM.
    ///
    /// The overheads, 9 us a super-page read and 2 us a program, are ours: with them the array gives the 900 MB/s that the paper
    /// states. 100 ns a queue entry are ours too.
    pub fn gordon() -> Self {
        Self {
            queue_depth: 32,
            read_bypass: true,
            last_read_reuse: true,
            write_combining: true,
            whole_page_reads: true,
            costs: ControllerCosts {
                read: SimTime::from_us(9),
                program: SimTime::from_us(2),
                queue_entry: SimTime::from_ns(100),
                ..ControllerCosts::default()
            },
            dram_bytes: 512 << 20,
            ..Self::plain(Stripe { buses: 4, dies: 4, planes: 2 }, 0.07)
        }
    }
}
