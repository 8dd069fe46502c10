//! Metrics of one store, and of what it asks of its device.

use super::families as all;
use crate::samples::StoreSample;
use fawn_admin::Page;
use fawn_store::page::PAGE_BYTES;

/// Puts a store's figures on a page.
pub fn measure(StoreSample { number, stats, traffic }: &StoreSample, page: &mut Page) {
    let number = number.to_string();
    let lookup_read_bytes = stats.pages_read * PAGE_BYTES as u64;
    for (family, value) in [
        (&all::STORE_ITEMS, stats.entries),
        (&all::STORE_LIVE, stats.live_bytes),
        (&all::STORE_DEAD, stats.garbage_bytes),
        (&all::STORE_SEALED, stats.sealed_bytes),
        (&all::STORE_SEGMENTS, stats.segments),
        (&all::STORE_FILES, stats.segment_file_bytes),
        (&all::STORE_SLICES, stats.slices),
        (&all::STORE_LOADED, stats.slices_loaded),
        (&all::STORE_INDEX, stats.index_bytes),
        (&all::STORE_DIRECTORIES, stats.directory_bytes),
        (&all::STORE_FILTERS, stats.filter_bytes),
        (&all::STORE_OPEN_INDEX, stats.open_index_bytes),
        (&all::STORE_SLOTS, stats.index_slots),
        (&all::STORE_BUFFERS, stats.buffer_bytes),
        (&all::STORE_CACHE, stats.cache_bytes),
        (&all::STORE_CACHED, stats.cache_entries),
        (&all::STORE_CACHE_HITS, stats.cache_hits),
        (&all::STORE_CACHE_MISSES, stats.cache_misses),
        (&all::STORE_MEMORY, stats.memory_limit),
        (&all::STORE_LOG, stats.log_bytes),
        (&all::STORE_LOG_USED, stats.log_used_bytes),
        (&all::STORE_LOOKUPS, stats.lookups),
        (&all::STORE_READS, stats.reads),
        (&all::STORE_READ_BYTES, lookup_read_bytes),
        (&all::STORE_FALSE_READS, stats.false_reads),
        (&all::STORE_FILTER_REFUSED, stats.filter_refused),
        (&all::STORE_FILTER_PASSED, stats.filter_passed),
        (&all::STORE_APPENDS, stats.appends),
        (&all::STORE_APPENDED, stats.appended_bytes),
        (&all::STORE_BATCHES, stats.batches),
        (&all::STORE_SEALS, stats.seals),
        (&all::STORE_MERGES, stats.merges),
        (&all::STORE_MERGE_FAILURES, stats.merge_failures),
        (&all::STORE_LOST_RECORDS, stats.lost_records),
        (&all::DEVICE_BYTES, stats.device_bytes),
        (&all::DEVICE_FREE, stats.device_free_bytes),
        (&all::DEVICE_READS, traffic.reads + stats.reads),
        (&all::DEVICE_READ_BYTES, traffic.read_bytes + lookup_read_bytes),
        (&all::DEVICE_WRITES, traffic.writes),
        (&all::DEVICE_WRITTEN, traffic.written_bytes),
        (&all::DEVICE_SYNCS, traffic.syncs),
    ] {
        page.put(family, &[&number], value);
    }
    page.put(&all::STORE_REFUSED, &[&number, "memory"], stats.refused_memory);
    page.put(&all::STORE_REFUSED, &[&number, "space"], stats.refused_space);
    page.put(&all::STORE_INDEXED, &[&number], stats.phi);
    let amplification = traffic.written_bytes as f64 / stats.appended_bytes.max(1) as f64;
    page.put(&all::STORE_AMPLIFICATION, &[&number], if stats.appended_bytes == 0 { 0.0 } else { amplification });
}
