//! What all experiments are told.

use std::path::PathBuf;

use fawn_flash::Ack;
use fawn_meter::Meter as EnergyMeter;
use fawn_workload::{KEY_BYTES, LEAST_VALUE_BYTES};

use crate::error::Error;

/// What all experiments are told.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Directory of the data and of what is measured on them.
    pub dir: PathBuf,
    /// Entries, at least 1.
    pub entries: u64,
    /// Bytes of each value, at least 8.
    pub value_bytes: usize,
    /// The store's memory budget, bytes.
    pub memory: u64,
    /// Whether it keeps filters, so that most absent keys cost no read.
    pub miss_filter: bool,
    /// When a put is acknowledged.
    pub ack: Ack,
    /// Puts that may wait for their acknowledgement at a time, at least 1.
    pub puts_in_flight: usize,
    /// Most reads in flight, 1 to 4096.
    pub depth: u32,
    /// Measure anew what was measured before.
    pub again: bool,
    /// What meters the energy; none: nothing does.
    pub meter: Option<EnergyMeter>,
}

impl Setup {
    /// Bytes of keys and values of so many entries.
    pub fn user_bytes(&self, entries: u64) -> u64 {
        entries * (KEY_BYTES + self.value_bytes) as u64
    }

    /// Refuses what does not go together.
    ///
    /// # Errors
    /// [`Error::Unfit`].
    pub fn check(&self) -> Result<(), Error> {
        let unfit = |what: String| Err(Error::Unfit(what));
        if self.entries == 0 {
            return unfit("there is nothing to measure without entries: give --entries 1 or more".to_owned());
        }
        if self.value_bytes < LEAST_VALUE_BYTES {
            return unfit(format!("a value holds its version: give --value-bytes {LEAST_VALUE_BYTES} or more"));
        }
        Ok(())
    }

    /// What counts of the store beside its data, as text.
    pub(crate) fn words(&self) -> String {
        let filter = if self.miss_filter { " miss-filter" } else { "" };
        format!("memory={} ack={}{filter}{}", self.memory, self.ack_name(), self.meter_words())
    }

    /// How energy is metered, as text; nothing where nobody asked for it.
    pub(crate) fn meter_words(&self) -> String {
        let asked = self.meter.as_ref().filter(|meter| meter.is_asked());
        asked.map_or_else(String::new, |meter| format!(" meter={}", meter.words()))
    }

    /// `durable`, `memory` or `interval:MS`.
    pub fn ack_name(&self) -> String {
        match self.ack {
            Ack::Durable => "durable".to_owned(),
            Ack::Memory => "memory".to_owned(),
            Ack::Interval { ms } => format!("interval:{ms}"),
        }
    }
}
