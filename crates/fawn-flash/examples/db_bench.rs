//! The embedding API's speed: puts and gets of 20-byte keys in random order.
//!
//! ```text
//! cargo run --release -p fawn-flash --example db_bench -- OP DIR KEYS VALUE_BYTES [THREADS=1] [SECONDS=5]
//! [MEMORY_MIB=256] [STORES=cores] [KEYS_A_CALL=32]
//! ```
//!
//! OP is one of
//!
//! * `load`: KEYS puts with `Ack::Memory`, then a sync;
//! * `durable`: puts with `Ack::Durable` from THREADS threads;
//! * `get`: uniform random gets of loaded keys from THREADS threads;
//! * `many`: the same, `KEYS_A_CALL` keys a call;
//! * `hot`: gets of 1000 keys that were just read.
//!
//! Prints operations a second and the process's CPU time for each. For gets from flash, give the store less memory than
//! the data takes, and compare with `fio` (see `flash_bench`).

use std::error::Error;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fawn_flash::{Ack, Db, DbOptions};
use rustix::time::{ClockId, clock_gettime};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, operation, directory, rest @ ..] = &arguments[..] else {
        return Err(
            "usage: db_bench OP DIR KEYS VALUE_BYTES [THREADS] [SECONDS] [MEMORY_MIB] [STORES] [KEYS_A_CALL]".into()
        );
    };
    let number = |index: usize, default: u64| rest.get(index).map_or(Ok(default), |text| text.parse::<u64>());
    let bench = Bench {
        keys: number(0, 1_000_000)?,
        value_bytes: number(1, 256)? as usize,
        threads: number(2, 1)?,
        time: Duration::from_secs(number(3, 5)?),
        keys_a_call: number(6, 32)?,
    };
    let ack = if operation == "durable" { Ack::Durable } else { Ack::Memory };
    let opened = Instant::now();
    let stores = number(5, 0)? as usize;
    let db = Db::open(directory, DbOptions { memory: number(4, 256)? << 20, ack, stores, ..DbOptions::default() })?;
    println!("opened in {:.3} s", opened.elapsed().as_secs_f64());
    let loaded = || {
        let stats = db.stats();
        stats.sum(|store| store.index.slices_loaded) == stats.sum(|store| store.index.slices)
    };
    while !loaded() {
        std::thread::sleep(Duration::from_millis(10));
    }
    println!("index loaded after {:.3} s, {:.2} s of CPU", opened.elapsed().as_secs_f64(), cpu_us() / 1e6);
    match operation.as_str() {
        "load" => bench.load(&db)?,
        "durable" => bench.durable(&db)?,
        "get" | "hot" => bench.get(&db, if operation == "hot" { 1000.min(bench.keys) } else { bench.keys })?,
        "many" => bench.many(&db)?,
        other => return Err(format!("{other} is no operation").into()),
    }
    let stats = db.stats();
    println!(
        "entries {}, index {:.2} B each, cache {} MiB, reads {}, pages {}, false {}, batches {}, seals {}, merges {}, {}, {}",
        stats.sum(|store| store.entries),
        stats.sum(|store| store.index.bytes) as f64 / stats.sum(|store| store.entries).max(1) as f64,
        stats.sum(|store| store.cache.bytes) >> 20,
        stats.sum(|store| store.reads.reads),
        stats.sum(|store| store.reads.pages),
        stats.sum(|store| store.reads.false_reads),
        stats.sum(|store| store.log.batches),
        stats.sum(|store| store.maintenance.seals),
        stats.sum(|store| store.maintenance.merges),
        stats.files,
        stats.reads.reads,
    );
    db.close()?;
    Ok(())
}

#[derive(Clone, Copy)]
struct Bench {
    keys: u64,
    value_bytes: usize,
    threads: u64,
    time: Duration,
    keys_a_call: u64,
}

impl Bench {
    fn value(&self) -> Vec<u8> {
        (0..self.value_bytes as u64 + 4096).map(|number| mix(number) as u8).collect()
    }

    fn load(&self, db: &Db) -> Result<(), fawn_flash::Error> {
        let value = self.value();
        let (start, cpu) = (Instant::now(), cpu_us());
        let next = AtomicU64::new(0);
        self.on_threads(|_| {
            let mut key = String::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= self.keys {
                    return Ok(());
                }
                name(&mut key, number);
                db.put(key.as_bytes(), &value[(number & 4095) as usize..][..self.value_bytes])?;
            }
        })?;
        report("put", self.keys, start, cpu);
        db.sync()?;
        report("put with the final sync", self.keys, start, cpu);
        Ok(())
    }

    fn durable(&self, db: &Db) -> Result<(), fawn_flash::Error> {
        let value = self.value();
        self.timed("durable put", |random, key| {
            let number = random % self.keys;
            name(key, number);
            db.put(key.as_bytes(), &value[(number & 4095) as usize..][..self.value_bytes])?;
            Ok(1)
        })
    }

    fn get(&self, db: &Db, keys: u64) -> Result<(), fawn_flash::Error> {
        let missed = AtomicU64::new(0);
        self.timed("get", |random, key| {
            name(key, random % keys);
            let value = db.get(key.as_bytes())?;
            missed.fetch_add(u64::from(value.is_none_or(|value| value.len() != self.value_bytes)), Ordering::Relaxed);
            Ok(1)
        })?;
        println!("{} missed", missed.into_inner());
        Ok(())
    }

    fn many(&self, db: &Db) -> Result<(), fawn_flash::Error> {
        let missed = AtomicU64::new(0);
        self.timed("get, many a call", |random, key| {
            let mut names = Vec::with_capacity(self.keys_a_call as usize);
            for number in 0..self.keys_a_call {
                name(key, mix(random.wrapping_add(number)) % self.keys);
                names.push(key.clone());
            }
            let values = db.get_many(&names)?;
            missed.fetch_add(values.iter().filter(|value| value.is_none()).count() as u64, Ordering::Relaxed);
            Ok(self.keys_a_call)
        })?;
        println!("{} missed", missed.into_inner());
        Ok(())
    }

    /// Repeats `operation`, which gets a random number and room for a key, on all threads for the time.
    fn timed(
        &self,
        what: &str,
        operation: impl Fn(u64, &mut String) -> Result<u64, fawn_flash::Error> + Sync,
    ) -> Result<(), fawn_flash::Error> {
        let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
        let (start, cpu) = (Instant::now(), cpu_us());
        self.on_threads(|thread| {
            let (mut state, mut key, mut count) = (mix(thread) | 1, String::new(), 0);
            while !stop.load(Ordering::Relaxed) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                count += operation(state, &mut key)?;
                if thread == 0 && start.elapsed() >= self.time {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            done.fetch_add(count, Ordering::Relaxed);
            Ok(())
        })?;
        report(what, done.into_inner(), start, cpu);
        Ok(())
    }

    fn on_threads(&self, work: impl Fn(u64) -> Result<(), fawn_flash::Error> + Sync) -> Result<(), fawn_flash::Error> {
        let work = &work;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|thread| scope.spawn(move || work(thread))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("a thread of the benchmark panicked"))
        })
    }
}

fn report(what: &str, count: u64, start: Instant, cpu: f64) {
    let seconds = start.elapsed().as_secs_f64();
    println!("{what}: {:.0}/s, {:.2} CPU-us each", count as f64 / seconds, (cpu_us() - cpu) / count as f64);
}

/// The key of a number: 16 hexadecimal digits of its hash, and four letters.
fn name(out: &mut String, number: u64) {
    out.clear();
    write!(out, "{:016x}keyz", mix(number)).expect("writing to a string cannot fail");
}

fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// CPU time of this process so far, microseconds.
fn cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
