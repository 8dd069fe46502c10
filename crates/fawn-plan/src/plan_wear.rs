//! A plan with the years of its drives.

use crate::drive_wear::amplification;
use crate::store::record_bytes;
use crate::{CatalogueModel, DriveWear, Index, PurchasePlan, Quantity, RankedOption, Workload};

/// Seconds of a year of 365.25 days.
pub const SECONDS_A_YEAR: f64 = 31_557_600.0;

impl PurchasePlan {
    /// The plan with the years of its drives under so many puts a second. `rating_tb` is the rating of each drive of which the
    /// catalogue has none, in 10¹² bytes.
    #[must_use]
    pub fn with_puts(mut self, puts_per_second: f64, rating_tb: Option<f64>) -> Self {
        if self.model == CatalogueModel::Fawn {
            self.puts_per_second = Some(puts_per_second);
            for choice in &mut self.ranked {
                choice.drive_wear = DriveWear::of(choice, &self.workload, puts_per_second, rating_tb);
            }
        }
        self
    }
}

impl DriveWear {
    /// The wear of an option's drives; `None` where how full they are is not known.
    fn of(choice: &RankedOption, workload: &Workload, puts_per_second: f64, rating_tb: Option<f64>) -> Option<Self> {
        let value = |quantity| choice.figures.get(&quantity).map(|figure| figure.value);
        let nodes = choice.sizing.nodes as f64;
        let full = choice.sizing.stored_bytes / (nodes * value(Quantity::Gb)? * 1e9);
        let puts_a_node = puts_per_second * f64::from(workload.replicas) / nodes;
        let index = choice.sizing.index.unwrap_or(Index::Indexed);
        let amplification = amplification(index, full);
        let programmed_bytes_per_second =
            amplification.map(|(store, ftl)| puts_a_node * record_bytes(workload.value_bytes) * store * ftl);
        let drives = choice.drives.as_ref().map_or(1.0, |(_, count)| f64::from(*count));
        let rating = value(Quantity::TbWritten).or(rating_tb.map(|tb| tb * drives));
        let rating_bytes = rating.map(|tb| tb * 1e12);
        let years = rating_bytes
            .zip(programmed_bytes_per_second.filter(|rate| *rate > 0.0))
            .map(|(rating, rate)| rating / rate / SECONDS_A_YEAR);
        Some(Self {
            puts_a_node,
            index,
            full,
            store_amplification: amplification.map(|(store, _)| store),
            ftl_amplification: amplification.map(|(_, ftl)| ftl),
            programmed_bytes_per_second,
            rating_bytes,
            years,
        })
    }
}
