//! A device that its store's records fill to a share: does it go on taking puts of the same keys, and after deletes?
//!
//! ```text
//! cargo run --release -p fawn-flash --example full_device -- DIR PERCENT [MEMORY_MIB=16] [VALUE_BYTES=1000] [TIMES=2] [STORES=1]
//! ```
//!
//! DIR lies on a file system of its own, which is filled: a small one, mounted for this. Records of PERCENT of its size
//! are put, each once. Then random ones are put again, TIMES as many. A put that finds no space is tried for
//! [`PATIENCE`]. If one fails for good, a tenth of the records is deleted and puts go on for as many puts.
//! Prints one line: how far each came, slices, and bytes written for each that was put.

#![allow(clippy::print_stdout, reason = "this is what it is for")]

use std::error::Error as StdError;
use std::time::{Duration, Instant};

use fawn_flash::{Ack, Db, DbOptions, Error};
use rustix::fs::statvfs;

/// How long a put is tried.
const PATIENCE: Duration = Duration::from_secs(25);
/// Bytes of a record beside its value: key and header.
const OVERHEAD: u64 = 16 + 24;

fn main() -> Result<(), Box<dyn StdError>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, percent, rest @ ..] = &arguments[..] else {
        return Err("usage: full_device DIR PERCENT [MEMORY_MIB] [VALUE_BYTES] [TIMES] [STORES]".into());
    };
    let number = |index: usize, default: u64| rest.get(index).map_or(Ok(default), |text| text.parse::<u64>());
    let (memory, value_bytes, times, stores) = (number(0, 16)?, number(1, 1000)?, number(2, 2)?, number(3, 1)?);
    let percent: u64 = percent.parse()?;
    let device = statvfs(std::path::Path::new(directory).parent().ok_or("DIR has a parent")?)?;
    let bytes = device.f_blocks * device.f_frsize;
    let records = bytes * percent / 100 / (value_bytes + OVERHEAD);
    let options = DbOptions { memory: memory << 20, ack: Ack::Memory, stores: stores as usize, ..DbOptions::default() };
    let db = Db::open(directory, options)?;
    let run = Run { db: &db, value: vec![0x5a; value_bytes as usize] };
    let loaded = run.put_each(0..records)?;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut keys = |count: u64| {
        (0..count)
            .map(|_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((u128::from(random) * u128::from(loaded.max(1))) >> 64) as u64
            })
            .collect::<Vec<u64>>()
    };
    let began = Instant::now();
    let before = run.written();
    let overwritten = run.put_each(keys(records * times).into_iter())?;
    let seconds = began.elapsed().as_secs_f64();
    let record = value_bytes + OVERHEAD;
    let amplification = (run.written() - before) as f64 / (overwritten * record).max(1) as f64;
    print!(
        "{} MiB, {percent} %: loaded {:.3} of {records}, overwrote {:.3} of it in {seconds:.0} s, {amplification:.2} B a byte",
        bytes >> 20,
        loaded as f64 / records as f64,
        overwritten as f64 / records as f64,
    );
    let stats = db.stats();
    print!(
        ", {} slices, {}, {} merges, {} failed",
        stats.sum(|store| store.index.slices),
        if stats.stores[0].index.draining { "drained" } else { "indexed" },
        stats.sum(|store| store.maintenance.merges),
        stats.sum(|store| store.maintenance.merge_failures),
    );
    if overwritten < records * times {
        for key in (0..loaded).step_by(10) {
            db.delete(name(key).as_bytes())?;
        }
        std::thread::sleep(PATIENCE);
        let resumed = run.put_each(keys(records).into_iter())?;
        print!("; after deletes {:.3}", resumed as f64 / records as f64);
    }
    for key in (1..loaded).step_by(997).filter(|key| key % 10 != 0) {
        if db.get(name(key).as_bytes())?.is_none() {
            return Err(format!("record {key} is gone").into());
        }
    }
    println!();
    db.close()?;
    Ok(())
}

struct Run<'d> {
    db: &'d Db,
    value: Vec<u8>,
}

fn name(key: u64) -> String {
    format!("{key:016}")
}

impl Run<'_> {
    /// Puts these keys until one is refused for good; how many were taken.
    fn put_each(&self, keys: impl Iterator<Item = u64>) -> Result<u64, Error> {
        let mut taken = 0;
        for key in keys {
            let began = Instant::now();
            loop {
                match self.db.put(name(key).as_bytes(), &self.value) {
                    Ok(_) => break,
                    Err(Error::NoSpace) if began.elapsed() < PATIENCE => {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    Err(Error::NoSpace) => return Ok(taken),
                    Err(error) => return Err(error),
                }
            }
            taken += 1;
        }
        Ok(taken)
    }

    fn written(&self) -> u64 {
        self.db.stats().sum(|store| {
            let written = store.writes.written;
            written.log + written.sealed + written.merged
        })
    }
}
