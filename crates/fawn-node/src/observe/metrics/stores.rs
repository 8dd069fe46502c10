//! Metrics of one store, and of what it asks of its device.

use super::families as all;
use crate::observe::samples::StoreSample;
use crate::observe::warnings::used_percent;
use fawn_admin::Page;
use fawn_store::page::PAGE_BYTES;
use std::collections::BTreeMap;

/// Puts a store's figures on a page.
pub fn measure(StoreSample { number, stats, traffic, device }: &StoreSample, page: &mut Page) {
    let number = number.to_string();
    let lookup_read_bytes = stats.reads.pages * PAGE_BYTES as u64;
    for (family, value) in [
        (&all::STORE_ITEMS, stats.entries),
        (&all::STORE_LIVE, stats.live_bytes),
        (&all::STORE_DEAD, stats.sealed.garbage_bytes),
        (&all::STORE_SEALED, stats.sealed.bytes),
        (&all::STORE_SEGMENTS, stats.sealed.segments),
        (&all::STORE_FILES, stats.sealed.file_bytes),
        (&all::STORE_SLICES, stats.index.slices),
        (&all::STORE_LOADED, stats.index.slices_loaded),
        (&all::STORE_INDEX, stats.index.bytes),
        (&all::STORE_DIRECTORIES, stats.index.directory_bytes),
        (&all::STORE_FILTERS, stats.index.filter_bytes),
        (&all::STORE_OPEN_INDEX, stats.buffers.index_bytes),
        (&all::STORE_SLOTS, stats.index.slots),
        (&all::STORE_BUFFERS, stats.buffers.bytes),
        (&all::STORE_CACHE, stats.cache.bytes),
        (&all::STORE_CACHED, stats.cache.entries),
        (&all::STORE_CACHE_HITS, stats.cache.hits),
        (&all::STORE_CACHE_MISSES, stats.cache.misses),
        (&all::STORE_MEMORY, stats.memory_limit),
        (&all::STORE_LOG, stats.log.bytes),
        (&all::STORE_LOG_USED, stats.log.used_bytes),
        (&all::STORE_LOOKUPS, stats.reads.lookups),
        (&all::STORE_READS, stats.reads.reads),
        (&all::STORE_READ_BYTES, lookup_read_bytes),
        (&all::STORE_FALSE_READS, stats.reads.false_reads),
        (&all::STORE_FILTER_REFUSED, stats.reads.filter_refused),
        (&all::STORE_FILTER_PASSED, stats.reads.filter_passed),
        (&all::STORE_APPENDS, stats.writes.appends),
        (&all::STORE_APPENDED, stats.writes.bytes),
        (&all::STORE_BATCHES, stats.log.batches),
        (&all::STORE_SEALS, stats.maintenance.seals),
        (&all::STORE_MERGES, stats.maintenance.merges),
        (&all::STORE_MERGE_FAILURES, stats.maintenance.merge_failures),
        (&all::STORE_LOST_RECORDS, stats.maintenance.lost_records),
        (&all::DEVICE_READS, traffic.reads + stats.reads.reads),
        (&all::DEVICE_READ_BYTES, traffic.read_bytes + lookup_read_bytes),
        (&all::DEVICE_WRITES, traffic.writes),
        (&all::DEVICE_WRITTEN, traffic.written_bytes),
        (&all::DEVICE_SYNCS, traffic.syncs),
    ] {
        page.put(family, &[&number], value);
    }
    page.put(&all::STORE_DEVICE, &[&number, &device_name(*device)], true);
    page.put(&all::STORE_REFUSED, &[&number, "memory"], stats.writes.refused_memory);
    page.put(&all::STORE_REFUSED, &[&number, "space"], stats.writes.refused_space);
    page.put(&all::STORE_INDEXED, &[&number], stats.index.phi);
    let amplification = traffic.written_bytes as f64 / stats.writes.bytes.max(1) as f64;
    page.put(&all::STORE_AMPLIFICATION, &[&number], if stats.writes.bytes == 0 { 0.0 } else { amplification });
}

/// Puts what devices have on a page, each once, however many stores are on it.
pub fn devices<'a>(stores: impl Iterator<Item = &'a StoreSample>, page: &mut Page) {
    let mut devices = BTreeMap::new();
    for StoreSample { stats, device, .. } in stores.filter(|store| store.stats.device.bytes > 0) {
        // Stores look at different times: the least that one of them has seen is free counts.
        let (_, free) = devices.entry(*device).or_insert((stats.device.bytes, stats.device.free_bytes));
        *free = stats.device.free_bytes.min(*free);
    }
    for (device, (total, free)) in devices {
        let device = device_name(device);
        page.put(&all::DEVICE_BYTES, &[&device], total);
        page.put(&all::DEVICE_FREE, &[&device], free);
        page.put(&all::DEVICE_USED, &[&device], used_percent(total, free));
    }
}

/// Its major and minor number, as `/proc/self/mountinfo` and `lsblk` have them.
fn device_name(device: u64) -> String {
    format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_flash::DeviceTraffic;
    use fawn_store::{DeviceStats, Stats};

    #[test]
    fn a_device_with_several_stores_is_told_once() {
        let store = |number, device, free| StoreSample {
            number,
            stats: Stats { device: DeviceStats { bytes: 1000, free_bytes: free }, ..Stats::default() },
            traffic: DeviceTraffic::default(),
            device,
        };
        let stores = [store(0, 0x0801, 300), store(1, 0x0801, 299), store(2, 0x0802, 900)];
        let mut page = Page::default();
        for store in &stores {
            measure(store, &mut page);
        }
        devices(stores.iter(), &mut page);
        let text = page.text();
        let told = |start: &str| text.lines().filter(|line| line.starts_with(start)).collect::<Vec<_>>();
        let bytes = ["fawn_device_bytes{device=\"8:1\"} 1000", "fawn_device_bytes{device=\"8:2\"} 1000"];
        assert_eq!(told("fawn_device_bytes{"), bytes);
        assert_eq!(told("fawn_device_free_bytes{")[0], "fawn_device_free_bytes{device=\"8:1\"} 299");
        let used = ["fawn_device_used_percent{device=\"8:1\"} 71", "fawn_device_used_percent{device=\"8:2\"} 10"];
        assert_eq!(told("fawn_device_used_percent{"), used, "71 of 70.1 %, as df rounds");
        assert_eq!(told("fawn_store_info{store=\"2\"").len(), 1);
    }
}
