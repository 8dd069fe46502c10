//! Large: one key overwritten without end, many small records, values up to 128 MiB, positions past 4 GiB.
//!
//! The quick forms of `cargo test` go through the same code as the full ones, which environment variables ask for.

use fawn_sim::flash::{Operation, PowerCut};
use fawn_sim::store::{Extras, Machine};
use fawn_store::flash::FileId;
use fawn_store::page::PAGE_BYTES;
use fawn_store::{Ack, Options};

use crate::bare::Bare;
use crate::common::{number, tiny, tiny_with, value};

#[test]
fn one_key_is_overwritten_without_end_in_bounded_space() {
    // Small segments, so that the quick form seals thousands of times, too.
    let options = |ack| Options { segment_bytes: 8 << 10, log_pages: 64, memory: 32 << 20, ..tiny_with(ack) };
    let count = number("FAWN_OVERWRITES", 300_000);
    for ack in [Ack::Memory, Ack::Interval { ms: 1 }] {
        let mut bare = Bare::new(options(ack));
        bare.settle();
        let mut most = 0;
        for n in 0..count {
            bare.put(b"the key", &n.to_le_bytes());
            if n % 10_000 == 0 {
                most = most.max(bare.flash.used_bytes());
            }
            if n % 10_000_000 == 9_999_999 {
                eprintln!("overwrites: {} of {count} done", n + 1);
            }
        }
        assert_eq!(bare.get(b"the key").unwrap().0, (count - 1).to_le_bytes());
        bare.seal();
        assert_eq!(bare.get(b"the key").unwrap().0, (count - 1).to_le_bytes());
        let stats = bare.store.stats();
        assert!(
            stats.maintenance.seals > 2000 && stats.maintenance.merges > 0 && stats.sealed.segments <= 4100,
            "{stats:?}"
        );
        assert!(stats.index.slots <= stats.sealed.segments && stats.index.bytes < 1 << 20, "{stats:?}");
        // What 4,096 smallest segments take, a manifest that lists them, and the log.
        assert!(most < 96 << 20, "{most} bytes on flash for one key");
        let mut bare = Bare::on(bare.flash, options(Ack::Durable));
        bare.settle();
        assert_eq!(bare.get(b"the key").unwrap().0, (count - 1).to_le_bytes());
        bare.store.compact();
        bare.settle();
        assert_eq!(bare.store.stats().index.slots, 1, "a merge leaves one record");
    }
}

#[test]
fn loads_and_merges_get_their_turn_under_puts_that_never_pause() {
    let options = Options { segment_bytes: 8 << 10, log_pages: 64, memory: 32 << 20, ..tiny_with(Ack::Memory) };
    let mut bare = Bare::new(options.clone());
    for n in 0..2000u64 {
        bare.put(format!("key-{n}").as_bytes(), &[1; 50]);
    }
    bare.seal();
    let mut bare = Bare::on(bare.flash, options);
    // From here on maintenance steps only while a put waits for it.
    for n in 0..200_000u64 {
        bare.put(format!("key-{}", n % 2000).as_bytes(), &[2; 50]);
    }
    let stats = bare.store.stats();
    assert_eq!(
        stats.index.slices_loaded, stats.index.slices,
        "seals come one after the other, and loads wait for ever: {stats:?}"
    );
    assert!(stats.maintenance.merges > 0 && stats.sealed.segments < 1000, "nothing is merged: {stats:?}");
}

#[test]
fn many_small_records_take_few_bytes_each_and_a_thousand_million_fit_the_formats() {
    let count = number("FAWN_RECORDS", 300_000);
    let options = Options {
        segment_bytes: 16 << 20,
        slices: 4,
        ack: Ack::Memory,
        memory: (64 << 20) + count * 16,
        ..Options::new(fawn_ring::Secret([3; 32]), 0)
    };
    let mut bare = Bare::new(options);
    for n in 0..count {
        bare.put(format!("key-{n:010}").as_bytes(), &n.to_le_bytes());
        if n % 10_000_000 == 9_999_999 {
            eprintln!("records: {} of {count} done", n + 1);
        }
    }
    bare.seal();
    for n in (0..count).step_by((count / 5000) as usize) {
        assert_eq!(bare.get(format!("key-{n:010}").as_bytes()).unwrap().0, n.to_le_bytes());
        assert_eq!(bare.get(format!("absent-{n}").as_bytes()), None);
    }
    let stats = bare.store.stats();
    assert!(stats.entries.abs_diff(count) <= count / 200, "the estimate is close: {} of {count}", stats.entries);
    assert!(stats.index.bytes_per_entry < 6.5, "{} bytes an entry", stats.index.bytes_per_entry);
    // A thousand million: segments are numbered with 16 bits, pages of a segment with 32.
    let bytes_each = stats.sealed.file_bytes.div_ceil(count);
    let segments = 1_000_000_000 * bytes_each / (64 << 20) + 1;
    assert!(segments < 65_535 / 4, "{segments} segments of 64 MiB for {bytes_each} bytes a record");
}

#[test]
fn values_from_nothing_to_128_mib_read_back_after_seals_merges_and_restarts() {
    let segment = 1usize << 20;
    let options = Options { segment_bytes: segment, log_pages: 1024, memory: 64 << 20, slice_bytes: 4 << 20, ..tiny() };
    let mut machine = Machine::new(options, 1).unwrap();
    let quarter = segment / 4;
    let mut sizes = vec![0, 1, 2, 23, 24, 4047, 4048, 4087, 4088, 4089, 4096, 8175, 8176, 8177, 65_535, 65_536];
    sizes.extend((quarter - 80..quarter + 40).step_by(7));
    sizes.extend([1 << 20, (16 << 20) + 1, 128 << 20]);
    for (n, &len) in sizes.iter().enumerate() {
        // Short values everywhere, long ones mostly zero: memory is the simulation's limit, not the store's.
        let bytes =
            if len > 1 << 20 { [value(n as u64, 5000), vec![0; len - 5000]].concat() } else { value(n as u64, len) };
        machine.issue_put(format!("size-{len}").as_bytes(), &bytes, Extras::default()).unwrap();
    }
    let check = |machine: &mut Machine| {
        for len in &sizes {
            let item = machine.get(format!("size-{len}").as_bytes()).unwrap().expect("stored above");
            assert_eq!(item.value.len(), *len);
        }
    };
    check(&mut machine);
    machine.seal().unwrap();
    machine.settle();
    check(&mut machine);
    machine.restart().after_power_cut(PowerCut::Lost, 0).unwrap();
    assert!(machine.compact_and_wait());
    machine.restart().after_clean_stop().unwrap();
    check(&mut machine);
}

/// "32-bit offsets wrap past 4 GiB: the insert reports success, the record cannot be read."
#[test]
fn records_past_4_gib_of_one_file_and_of_the_store_are_read_back() {
    let segment = 64 << 20;
    let options = Options {
        segment_bytes: segment,
        slices: 1,
        slice_bytes: 64 << 30,
        ack: Ack::Memory,
        memory: 1 << 30,
        ..Options::new(fawn_ring::Secret([3; 32]), 0)
    };
    let mut bare = Bare::new(options.clone());
    let len = segment / 4 - 200;
    let count = (4u64 << 30) / len as u64 + 30;
    let mut bytes = vec![0; len];
    for n in 0..count {
        bytes[..8].copy_from_slice(&n.to_le_bytes());
        bare.put(format!("key-{n}").as_bytes(), &bytes);
    }
    bare.seal();
    let check = |bare: &mut Bare| {
        let mut furthest = 0;
        // A sample in hash order: it reaches to the end of the run.
        for n in (0..count).step_by(4) {
            let (value, place) = bare.get(format!("key-{n}").as_bytes()).expect("stored above");
            assert_eq!((value.len(), &value[..8]), (len, &n.to_le_bytes()[..]), "key-{n}");
            furthest = furthest.max(place.map_or(0, |(_, page)| page * PAGE_BYTES as u64));
        }
        furthest
    };
    check(&mut bare);
    assert!(bare.flash.used_bytes() > 4 << 30);
    bare.store.compact();
    bare.settle();
    assert!(check(&mut bare) > 4 << 30, "the merged run is one file of more than 4 GiB");
    let mut bare = Bare::on(bare.flash, options);
    bare.settle();
    assert!(check(&mut bare) > 4 << 30, "and is found again after a restart");
}

#[test]
fn the_commit_log_goes_round_its_ring_for_ever_without_reusing_a_position() {
    let mut machine = Machine::new(Options { log_pages: 8, segment_bytes: 4096, ..tiny() }, 1).unwrap();
    machine.flash().start_trace();
    for n in 0..3000u64 {
        machine.put(format!("key-{}", n % 40).as_bytes(), &value(n, 100)).unwrap();
        if n % 500 == 250 {
            machine.restart().after_power_cut(PowerCut::Torn, n).unwrap();
        }
    }
    let in_ring = |operation: &Operation| match operation {
        Operation::Write { file: FileId::CommitLog, first, count } => first + count <= 8,
        _ => true,
    };
    assert!(machine.flash().take_trace().iter().all(in_ring), "the log never grows");
    machine.restart().after_clean_stop().unwrap();
}

#[test]
fn flush_all_a_hundred_thousand_times_fills_nothing() {
    let mut machine = Machine::new(Options { log_pages: 8, segment_bytes: 4096, ..tiny() }, 1).unwrap();
    machine.put(b"key", b"value").unwrap();
    for _ in 0..number("FAWN_FLUSHES", 3000) {
        assert!(machine.flush_all().unwrap());
    }
    machine.put(b"key", b"value").unwrap();
    machine.restart().after_power_cut(PowerCut::Lost, 1).unwrap();
    assert!(machine.get(b"key").unwrap().is_some());
}
