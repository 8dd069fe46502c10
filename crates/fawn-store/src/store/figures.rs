//! The figures of a store, put together from its parts.

use super::Store;
use super::contents::LOOKED_UP;
use super::stats::{Holdings, Stats};
use fawn_ring::Key;

impl Store {
    /// The store's figures. It takes milliseconds where much is buffered.
    pub fn stats(&self) -> Stats {
        let (buffers, totals) = (self.writes.buffers(), self.upkeep.sealed.totals());
        let open = buffers.open();
        let contents = self.contents();
        let in_frozen = contents.frozen_live();
        let buffered = open.live_keys() + in_frozen.entries.round() as usize;
        let beside = contents.entries_beside_open();
        let live = open.live_bytes() + in_frozen.bytes.round() as usize;
        let flushed = |key: &Key| Some((0, self.writes.ranges().flushed(key)));
        let mut twice = [Holdings::default()];
        for buffer in 0..=buffers.frozen_count() {
            contents.add_superseded(buffer, (LOOKED_UP, &(0..LOOKED_UP)), flushed, &mut twice);
        }
        let [twice] = twice;
        let counted = beside.saturating_sub(self.writes.flushed_entries()) + open.live_keys() as u64;
        let bytes = totals.bytes.saturating_sub(totals.garbage_bytes) + live as u64;
        Stats {
            entries: counted.saturating_sub(twice.entries.round() as u64),
            buffered_entries: buffered as u64,
            sealed_entries: counted.saturating_sub(buffered as u64),
            live_bytes: bytes.saturating_sub(twice.bytes.round() as u64),
            memory_limit: self.options.memory,
            index: self.upkeep.index_stats(),
            buffers: buffers.stats(),
            cache: self.reads.cache_stats(),
            sealed: self.upkeep.segment_totals(),
            reads: self.reads.stats().clone(),
            writes: self.writes.stats(),
            log: self.writes.log().stats(),
            maintenance: self.upkeep.stats().clone(),
            device: self.upkeep.device_stats(),
        }
    }
}
