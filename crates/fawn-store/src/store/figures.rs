//! The figures of a store, put together from its parts.

use super::Store;
use super::contents::LOOKED_UP;
use super::stats::{
    BufferStats, CacheStats, DeviceStats, Held, IndexStats, LogStats, SegmentTotals, Stats, WriteStats, Written,
};
use crate::format::page::PAGE_BYTES;
use fawn_ring::Key;

impl Store {
    /// The store's figures. It takes milliseconds where much is buffered.
    pub fn stats(&self) -> Stats {
        let (sealed, buffers, log, space) = (&self.sealed, &self.buffers, self.log.writer(), self.device.seen());
        let (totals, slices, segments) = (sealed.totals(), sealed.slice_total(), sealed.segment_total());
        let open = buffers.open();
        let contents = self.contents();
        let in_frozen = contents.frozen_live();
        let buffered = open.live_keys() + in_frozen.entries.round() as usize;
        let beside = contents.entries_beside_open();
        let live = open.live_bytes() + in_frozen.bytes.round() as usize;
        let flushed = |key: &Key| Some((0, self.ranges.flushed(key)));
        let mut twice = [Held::default()];
        for buffer in 0..=buffers.frozen_count() {
            contents.add_superseded(buffer, (LOOKED_UP, &(0..LOOKED_UP)), flushed, &mut twice);
        }
        let [twice] = twice;
        let counted = beside.saturating_sub(self.flushed_entries) + open.live_keys() as u64;
        let bytes = totals.bytes.saturating_sub(totals.garbage_bytes) + live as u64;
        let written = self.write_stats.written;
        Stats {
            entries: counted.saturating_sub(twice.entries.round() as u64),
            buffered_entries: buffered as u64,
            sealed_entries: counted.saturating_sub(buffered as u64),
            live_bytes: bytes.saturating_sub(twice.bytes.round() as u64),
            memory_limit: self.options.memory,
            index: IndexStats {
                slots: totals.slots,
                bytes: totals.index_bytes,
                directory_bytes: totals.directory_bytes,
                filter_bytes: totals.filter_bytes,
                bytes_per_entry: totals.index_bytes as f64 / (slices.live.max(1)) as f64,
                limit: self.cleaner.mode().index_limit(sealed),
                draining: self.cleaner.mode().is_drained(),
                phi: if slices.records == 0 { 1.0 } else { totals.slots as f64 / slices.records as f64 },
                slices: sealed.slices().len() as u64,
                slices_loaded: sealed.slices().len() as u64 - slices.unloaded,
            },
            buffers: BufferStats { bytes: buffers.allocated(), index_bytes: buffers.index_bytes() },
            cache: CacheStats {
                bytes: self.cache.bytes(),
                entries: self.cache.len() as u64,
                hits: self.cache.hits,
                misses: self.cache.misses,
            },
            sealed: SegmentTotals {
                segments: segments.segments,
                records: slices.records,
                bytes: totals.bytes,
                garbage_bytes: totals.garbage_bytes,
                file_bytes: segments.file_bytes,
            },
            reads: self.read_stats.clone(),
            writes: WriteStats {
                written: Written {
                    user: written.user + self.write_stats.bytes,
                    log: written.log.max(log.position().page * PAGE_BYTES as u64),
                    ..written
                },
                ..self.write_stats.clone()
            },
            log: LogStats {
                batches: self.log.batches(),
                marks: self.log.marks(),
                bytes: log.ring_pages() * PAGE_BYTES as u64,
                used_bytes: (log.position().page - log.tail()) * PAGE_BYTES as u64,
            },
            maintenance: self.maintenance_stats.clone(),
            device: DeviceStats {
                bytes: space.map_or(0, |space| space.total),
                free_bytes: space.map_or(0, |space| space.free),
            },
        }
    }
}
