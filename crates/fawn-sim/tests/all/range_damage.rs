//! A log of a replicated range with its end cut off or a bit of it flipped: what is recovered is a prefix with everything
//! that a later mark covers, or a clear error, and never a wrong value. `FAWN_CUT_STEP=1` cuts at every byte of 1 MiB,
//! `FAWN_FLIP_STEP=1` flips every bit of 64 KiB, a million and a half recoveries: with the profile `sim`, on all cores.

use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use fawn_check::random::Random;
use fawn_kv::ids::{Epoch, Position, RangeId, Seq};
use fawn_kv::range::entry::{Change, Entry, Version};
use fawn_kv::store::{FlashStore, Lookup, OpenedStore, RangeStore, RecoveredRange};
use fawn_ring::{Interval, Secret};
use fawn_sim::flash::SimFlash;
use fawn_store::flash::{FileId, Flash};
use fawn_store::log::LogError;
use fawn_store::page::{PAGE_BYTES, Page};
use fawn_store::{OpenError, Options, WrittenBatch};

use crate::ranges::number;
use std::sync::Arc;

const RANGE: RangeId = RangeId(3);

/// A log, all of it acknowledged.
struct Log {
    flash: SimFlash,
    options: Options,
    entries: Vec<Entry>,
    /// First byte of each batch, the opening's page first, and how many records are in the log before it; the log's end
    /// comes last.
    batches: Vec<(u64, usize)>,
}

impl Log {
    /// A log of `pages` pages at least, in batches of some records each.
    fn of(pages: u64) -> Self {
        let options = Options {
            segment_bytes: 4 << 20,
            // A segment takes a quarter of it: nothing is sealed.
            log_pages: 5 * pages,
            slices: 2,
            ..Options::new(Secret([7; 32]), 64 << 20)
        };
        let flash = SimFlash::new(1);
        let OpenedStore { mut store, .. } = FlashStore::open(options.clone(), &flash).unwrap();
        let random = &mut Random::new(pages);
        let (mut entries, mut batches): (Vec<Entry>, _) = (Vec::new(), vec![(0, 0), (PAGE_BYTES as u64, 0)]);
        store.create(RANGE, Interval::ALL);
        while batches.last().is_some_and(|(end, _)| *end < pages * PAGE_BYTES as u64) {
            let committed = entries.len();
            for _ in 0..random.within(1, 30) {
                let entry = entry(entries.len() as u64 + 1, random);
                store.append(RANGE, &Arc::new(entry.clone()));
                entries.push(entry);
            }
            let batch = store.take_batch(0).unwrap();
            flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages()).unwrap();
            batches.push(((batch.first + batch.pages.len() as u64) * PAGE_BYTES as u64, entries.len()));
            store.committed(WrittenBatch { batch, result: Ok(()) });
            assert_eq!(store.durable(), store.written());
            for entry in &entries[committed..] {
                store.commit(RANGE, entry, &options.secret.position(&entry.key));
            }
        }
        assert!(
            store.take_work().is_none_or(|_| store.store().stats().maintenance.seals == 0),
            "everything is in the log"
        );
        Self { flash, options, entries, batches }
    }

    /// The batch that byte `at` is in.
    fn batch_of(&self, at: u64) -> usize {
        self.batches.partition_point(|(first, _)| *first <= at) - 1
    }

    /// Opens the store on `flash`; what is recovered is the log up to a batch, with the right values.
    fn open(&self, flash: &SimFlash) -> Result<usize, OpenError> {
        let OpenedStore { mut store, mut ranges, .. } = FlashStore::open(self.options.clone(), flash)?;
        let Some(RecoveredRange { meta, entries, .. }) = ranges.remove(&RANGE) else { return Ok(0) };
        let committed = meta.committed.seq.0 as usize;
        let last = committed + entries.len();
        assert!(self.entries[committed..last] == entries, "records are recovered as they were");
        for number in 0..8 {
            let key = format!("key-{number}").into_bytes();
            let newest = self.entries[..committed].iter().rfind(|entry| entry.key == key);
            // The index of what is sealed is not loaded; nothing is.
            let shown = match store.lookup(RANGE, &key, 0) {
                Lookup::Known(kept) => kept.map(|kept| (kept.position, kept.version)),
                Lookup::Later => None,
            };
            let version =
                |change: &Change| if let Change::Value(version) = change { Some(version.clone()) } else { None };
            assert_eq!(shown, newest.map(|entry| (entry.position, version(&entry.change))));
        }
        Ok(last)
    }
}

fn entry(number: u64, random: &mut Random) -> Entry {
    let mut value = vec![0; random.below(900) as usize];
    random.fill(&mut value);
    let version = Version { value, flags: 0, expiry: 0, stale: false, won: false, client_cas: None };
    Entry {
        position: Position { epoch: Epoch(1), seq: Seq(number) },
        time: 1,
        key: format!("key-{}", random.below(8)).into_bytes(),
        change: if random.chance(1, 8) { Change::Delete } else { Change::Value(version) },
        asked: None,
    }
}

/// Shares the numbers below `count` among the processor's cores: `part` is called with stretches of them.
fn share(count: u64, part: impl Fn(Range<u64>) + Sync) {
    // The allocator of glibc keeps blocks as large as the largest that was ever given back; others are mapped anew each
    // time, and their page faults would take most of a recovery's time.
    drop(black_box(Vec::<u8>::with_capacity(24 << 20)));
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    // Some recoveries take longer than others: no thread has all of them.
    let parts = 32 * threads;
    let next = AtomicU64::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= parts {
                break;
            }
            part(number * count / parts..(number + 1) * count / parts);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
}

#[test]
fn a_range_log_that_is_cut_anywhere_keeps_every_whole_batch_before_the_cut() {
    let log = Log::of(256);
    let end = log.batches.last().unwrap().0;
    assert!(end >= 1 << 20);
    let step = number("FAWN_CUT_STEP", 4001);
    share(end.div_ceil(step), |part| {
        // From the end on, so that each cut only takes away.
        let (flash, mut cut) = (log.flash.clone(), end);
        for number in part {
            let next = end.saturating_sub((number + 1) * step);
            clear(&flash, next..cut);
            cut = next;
            // What is padded with zeros loses nothing where zeros were.
            let (batch, recovered) = (log.batch_of(cut), log.open(&flash.clone()));
            let whole = [log.batches[batch].1, log.batches[(batch + 1).min(log.batches.len() - 1)].1];
            if batch == 0 && matches!(recovered, Err(OpenError::Log(LogError::OlderLog { .. }))) {
                // Without the page of the opening it is another log.
                continue;
            }
            let recovered = recovered.unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
            assert!(whole.contains(&recovered), "cut at {cut}: {recovered} records, of {whole:?}");
        }
    });
    println!("{} recoveries of a log of {end} bytes, cut at every {step}", end.div_ceil(step));
}

/// Makes `bytes` of the log zeros.
fn clear(flash: &SimFlash, bytes: Range<u64>) {
    let mut page = Page::zeroed();
    for number in bytes.start / PAGE_BYTES as u64..bytes.end.div_ceil(PAGE_BYTES as u64) {
        flash.read(FileId::CommitLog, number, std::slice::from_mut(&mut page)).unwrap();
        let [from, to] = [bytes.start, bytes.end]
            .map(|at| at.saturating_sub(number * PAGE_BYTES as u64).min(PAGE_BYTES as u64) as usize);
        page.0[from..to].fill(0);
        flash.write(FileId::CommitLog, number, std::slice::from_ref(&page)).unwrap();
    }
    // A device keeps all that was written since the last sync.
    flash.sync(FileId::CommitLog).unwrap();
}

#[test]
fn a_range_log_whose_file_is_shorter_is_damage() {
    let log = Log::of(256);
    for pages in (0..log.options.log_pages).rev() {
        log.flash.cut(FileId::CommitLog, pages);
        let error = log.open(&log.flash.clone()).expect_err("pages are missing");
        assert!(matches!(error, OpenError::Log(LogError::Damage { .. })), "{error}");
    }
}

#[test]
fn no_flipped_bit_of_a_range_log_gives_a_wrong_value() {
    let log = Log::of(16);
    let end = log.batches.last().unwrap().0;
    assert!(end >= 64 << 10);
    let last = log.batches.len() - 2;
    let step = number("FAWN_FLIP_STEP", 97);
    let torn = AtomicU64::new(0);
    share((end * 8).div_ceil(step), |part| {
        for bit in part.map(|number| number * step) {
            let flash = log.flash.clone();
            flash.flip_bit(FileId::CommitLog, bit / 8, (bit % 8) as u8);
            let batch = log.batch_of(bit / 8);
            match log.open(&flash) {
                Ok(recovered) => {
                    assert_eq!((batch, recovered), (last, log.batches[last].1), "bit {bit}");
                    torn.fetch_add(1, Ordering::Relaxed);
                }
                Err(OpenError::Log(LogError::Damage { offset, .. })) => {
                    assert!(batch < last && offset == log.batches[batch].0, "bit {bit}: damage at {offset}");
                }
                Err(error) => panic!("bit {bit}: {error}"),
            }
        }
    });
    let (flips, torn) = ((end * 8).div_ceil(step), torn.into_inner());
    println!("{flips} recoveries of a log with a flipped bit: {torn} without the last batch, the others refused");
}
