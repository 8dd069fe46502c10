//! Figures that follow from the store's own counts: its DRAM, its write amplification, and how often all of it was written.

use fawn_machine::process::resident_bytes;
use fawn_report::StoreMemory;
use fawn_store::{Ack, Stats};
use fawn_workload::{Order, WriteHistory};

/// The share of the entries that are still in an index; `None`: the store does not tell, and all are.
pub fn phi(stats: &Stats) -> Option<f64> {
    Some(stats.index.phi)
}

/// The write amplification that the design expects of uniform overwrites: log and seal, and merges by `phi`. Where puts
/// are acknowledged in memory there is no log.
pub fn expected_amplification(phi: f64, ack: Ack) -> f64 {
    let log_and_seal = if ack == Ack::Memory { 1.0 } else { 2.0 };
    log_and_seal + 1.0 / (2.0 * phi)
}

/// How often everything was written: once for each version, for the newest by the share of the entries that have it.
/// Skewed overwrites in a row are one version, which counts as a whole.
pub fn versions(history: &WriteHistory) -> f64 {
    history.last().map_or(0.0, |phase| {
        let newest = match phase.order {
            Order::Shuffled => phase.certain as f64 / history.entries() as f64,
            Order::Drawn => 1.0,
        };
        f64::from(phase.version - 1) + newest
    })
}

/// The DRAM of the store and of this process now.
pub fn memory(stats: &Stats) -> StoreMemory {
    let resident = resident_bytes();
    let without_cache =
        |(rss, _): (u64, u64)| rss.saturating_sub(stats.cache.bytes) as f64 / stats.entries.max(1) as f64;
    StoreMemory {
        budget_bytes: stats.memory_limit,
        entries: stats.entries,
        index_bytes: stats.index.bytes,
        directory_bytes: stats.index.directory_bytes,
        filter_bytes: stats.index.filter_bytes,
        index_bytes_an_entry: stats.index.bytes_per_entry,
        buffer_bytes: stats.buffers.bytes,
        cache_bytes: stats.cache.bytes,
        rss_bytes: resident.map(|(now, _)| now),
        most_rss_bytes: resident.map(|(_, most)| most),
        rss_without_cache_bytes_an_entry: resident.map(without_cache),
        phi: phi(stats),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_design_expects_what_it_says() {
        assert!((expected_amplification(0.5, Ack::Durable) - 3.0).abs() < 1e-9);
        assert!((expected_amplification(0.085, Ack::Interval { ms: 10 }) - 7.88).abs() < 0.01);
        assert!((expected_amplification(0.085, Ack::Memory) - 6.88).abs() < 0.01, "there is no log");
    }

    #[test]
    fn each_version_was_written_once_and_the_newest_in_part() {
        let mut history = WriteHistory::new(4, Vec::new());
        let empty = versions(&history);
        history.begin(Order::Shuffled);
        (0..4).for_each(|_| history.wrote());
        let loaded = versions(&history);
        history.begin(Order::Shuffled);
        history.wrote();
        let begun = versions(&history);
        history.begin(Order::Drawn);
        history.drew();
        assert_eq!((empty, loaded, begun, versions(&history)), (0.0, 1.0, 1.25, 3.0));
    }
}
