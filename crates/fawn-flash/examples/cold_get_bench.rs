//! Gets of values on flash, one request each, beside what `fio` gets from the same files in the same minutes.
//!
//! ```text
//! cargo run --release -p fawn-flash --example cold_get_bench -- load DIR [KEYS=8000000] [VALUE_BYTES=256]
//! cargo run --release -p fawn-flash --example cold_get_bench -- compare DIR [MODES=fio,loop,wait,raw,db,many]
//!     [DEPTHS=1,8,32,128] [ROUNDS=5] [SECONDS=2] [KEYS=8000000] [VALUE_BYTES=256] [pread]
//! ```
//!
//! `load` makes DIR. `compare` takes every mode in turn, and prints the median of the rounds and the first mode's share.
//! With N the depth:
//!
//! * `fio`: 4 KiB reads, `O_DIRECT`, `io_uring`, N in flight, of the store's segment files; read-only;
//! * `fixed`: the same with registered buffers and files;
//! * `fio512`, `fio1k`: the same reads of 512 B and 1 KiB;
//! * `loop`: one thread, N lookups in flight, through `Store` and [`Reader`] with `epoll`, as an event loop of a node;
//! * `wait`: the same, waiting in the reader;
//! * `raw`: pages through [`Reader`] alone, N in flight;
//! * `db`: `Db::get` from N threads;
//! * `many`: `Db::get_many` of N keys a call.
//!
//! Keys are uniform random and every value is compared. The store has so little memory that its cache holds next to
//! nothing; gets that it answers all the same do not count. CPU time is the process's, of `fio` what it reports.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fawn_flash::{Ack, Caching, Db, DbOptions, Directory, Engine, ReadPath, Reader, ReaderOptions, Stats};
use fawn_ring::{Key, Secret};
use fawn_store::flash::{FileId, Flash as _, FlashError};
use fawn_store::page::{PAGE_BYTES, Page};
use fawn_store::{FinishedRead, Lookup, Options, Read, Store};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

/// Memory while loading: large segments, few merges.
const LOAD_MEMORY: u64 = 1 << 30;
/// Memory while reading: next to nothing is left for the cache.
const GET_MEMORY: u64 = 64 << 20;
/// Segment files that are read from without a lookup have so many bytes.
const LARGE_FILE_BYTES: u64 = 16 << 20;
/// Bytes of a key.
const NAME_BYTES: usize = 20;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, operation, directory, rest @ ..] = &arguments[..] else {
        return Err("usage: cold_get_bench load|compare DIR …: the top of its source has the rest".into());
    };
    let text = |index: usize, default: &str| rest.get(index).map_or(default, String::as_str).to_owned();
    let directory = Path::new(directory);
    match operation.as_str() {
        "load" => {
            let data = Data { keys: text(0, "8000000").parse()?, value_bytes: text(1, "256").parse()? };
            load(directory, data)
        }
        "compare" => {
            let depths: Result<Vec<u32>, _> = text(1, "1,8,32,128").split(',').map(str::parse).collect();
            let data = Data { keys: text(4, "8000000").parse()?, value_bytes: text(5, "256").parse()? };
            let path = if text(6, "") == "pread" { ReadPath::Pread } else { ReadPath::Auto };
            let time = Duration::from_secs_f64(text(3, "2").parse()?);
            let bench = Bench { directory, data, time, path };
            bench.compare(&text(0, "fio,loop,wait,raw,db,many"), &depths?, text(2, "5").parse()?)
        }
        other => Err(format!("{other} is no operation: load or compare").into()),
    }
}

/// What is loaded.
#[derive(Clone, Copy)]
struct Data {
    keys: u64,
    value_bytes: usize,
}

impl Data {
    /// What all values are cut from.
    fn bytes(self) -> Vec<u8> {
        (0..self.value_bytes as u64 + 4096).map(|number| mix(number) as u8).collect()
    }

    /// The value of key `number`.
    fn value(self, bytes: &[u8], number: u64) -> &[u8] {
        &bytes[(mix(!number) & 4095) as usize..][..self.value_bytes]
    }
}

fn load(directory: &Path, data: Data) -> Fallible<()> {
    let options = DbOptions { memory: LOAD_MEMORY, ack: Ack::Memory, stores: 1, ..DbOptions::default() };
    let db = Db::open(directory, options)?;
    let bytes = data.bytes();
    for number in 0..data.keys {
        db.put(&name(number), data.value(&bytes, number))?;
    }
    db.sync()?;
    let stats = db.stats();
    println!(
        "{} entries in {} segments, {} MiB",
        stats.sum(|store| store.entries),
        stats.sum(|store| store.sealed.segments),
        stats.sum(|store| store.sealed.file_bytes) >> 20
    );
    db.close()?;
    Ok(())
}

/// What one mode came to in one round.
#[derive(Clone, Copy, Default)]
struct Round {
    /// Gets that read, or reads, a second.
    rate: f64,
    /// CPU-us for each of them.
    cpu_us: f64,
    /// Requests for each of them.
    requests: f64,
    /// Pages of a request.
    pages: f64,
}

#[derive(Clone, Copy)]
struct Bench<'a> {
    directory: &'a Path,
    data: Data,
    time: Duration,
    path: ReadPath,
}

impl Bench<'_> {
    fn compare(self, modes: &str, depths: &[u32], rounds: usize) -> Fallible<()> {
        let of = |own: &[&str]| -> Vec<String> {
            modes.split(',').filter(|mode| mode.starts_with('f') || own.contains(mode)).map(str::to_owned).collect()
        };
        let by_loop = of(&["loop", "wait", "raw"]);
        let by_db = of(&["db", "many"]);
        let has = |modes: &[String]| modes.iter().any(|mode| !mode.starts_with('f'));
        if has(&by_loop) || !has(&by_db) {
            let mut looped = Looped::open(self)?;
            self.rounds(&by_loop, depths, rounds, |mode, depth| looped.run(mode, depth))?;
            looped.engine.close()?;
        }
        if has(&by_db) {
            let options =
                DbOptions { memory: GET_MEMORY, ack: Ack::Memory, stores: 1, reads: self.path, ..DbOptions::default() };
            let db = Db::open(self.directory, options)?;
            while db.stats().sum(|store| store.index.slices_loaded) < db.stats().sum(|store| store.index.slices) {
                std::thread::sleep(Duration::from_millis(10));
            }
            self.rounds(&by_db, depths, rounds, |mode, depth| {
                if mode == "db" { Ok(self.db(&db, depth)) } else { self.many(&db, depth) }
            })?;
            println!("Db reads by {}", db.stats().reads);
            db.close()?;
        }
        Ok(())
    }

    /// Takes `modes` in turn, at every depth.
    fn rounds(
        self,
        modes: &[String],
        depths: &[u32],
        rounds: usize,
        mut run: impl FnMut(&str, u32) -> Fallible<Round>,
    ) -> Fallible<()> {
        for &depth in depths {
            let mut all: BTreeMap<&str, Vec<Round>> = BTreeMap::new();
            for _ in 0..rounds {
                for mode in modes {
                    let round = match mode.as_str() {
                        "fio" => self.fio(depth, "4k", &[])?,
                        "fixed" => self.fio(depth, "4k", &["--fixedbufs=1", "--registerfiles=1"])?,
                        "fio1k" => self.fio(depth, "1k", &[])?,
                        "fio512" => self.fio(depth, "512", &[])?,
                        mode => run(mode, depth)?,
                    };
                    all.entry(mode).or_default().push(round);
                }
            }
            let first = &all[modes[0].as_str()];
            for mode in modes {
                let rounds = &all[mode.as_str()];
                let shares = rounds.iter().zip(first).map(|(round, first)| round.rate / first.rate);
                println!(
                    "depth {depth:3} {mode:6}: {:8.0}/s, {:.3} of {}, {:6.2} CPU-us, {:.4} requests a get of {:.3} pages",
                    median(rounds.iter().map(|round| round.rate)),
                    median(shares),
                    modes[0],
                    median(rounds.iter().map(|round| round.cpu_us)),
                    median(rounds.iter().map(|round| round.requests)),
                    median(rounds.iter().map(|round| round.pages)),
                );
            }
        }
        Ok(())
    }

    fn fio(self, depth: u32, block: &str, more: &[&str]) -> Fallible<Round> {
        let files = segments(&self.directory.join("store-0"))?;
        let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        let output = Command::new("fio")
            .args(["--name=cold", "--readonly", "--rw=randread", "--direct=1", "--ioengine=io_uring"])
            .args(["--time_based", "--norandommap", "--randrepeat=0", "--file_service_type=random"])
            .args(["--allow_file_create=0", "--minimal", "--terse-version=3"])
            .args(more)
            .arg(format!("--bs={block}"))
            .arg(format!("--iodepth={depth}"))
            .arg(format!("--runtime={}ms", self.time.as_millis()))
            .arg(format!("--filename={}", names.join(":")))
            .output()
            .map_err(|error| format!("fio cannot be run ({error}): install it, or leave it out of the modes"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text
            .lines()
            .find(|line| line.starts_with("3;"))
            .ok_or_else(|| format!("fio said nothing: {}", String::from_utf8_lossy(&output.stderr)))?;
        let field = |at: usize| -> Fallible<f64> {
            let field = line.split(';').nth(at).ok_or("fio's line is shorter than version 3's")?;
            Ok(field.trim_end_matches('%').parse()?)
        };
        // Version 3: reads a second, then the processor's shares in the user's and the system's name.
        let (rate, user, system) = (field(7)?, field(87)?, field(88)?);
        Ok(Round { rate, cpu_us: (user + system) / 100.0 / rate * 1e6, requests: 1.0, pages: 1.0 })
    }

    fn db(self, db: &Db, threads: u32) -> Round {
        let before = db.stats();
        let (stop, gets) = (AtomicBool::new(false), AtomicU64::new(0));
        let bytes = self.data.bytes();
        let meter = Meter::start();
        std::thread::scope(|scope| {
            let work = |thread: u32| {
                let (mut random, mut count, mut out) = (Random(mix(u64::from(thread))), 0, Vec::new());
                while !stop.load(Ordering::Relaxed) {
                    let number = random.next() % self.data.keys;
                    out.clear();
                    let found = db.get_into(&name(number), &mut out).expect("a get of the benchmark failed");
                    assert!(found && out == self.data.value(&bytes, number), "a get gave another value");
                    count += 1;
                }
                gets.fetch_add(count, Ordering::Relaxed);
            };
            for thread in 0..threads {
                scope.spawn(move || work(thread));
            }
            std::thread::sleep(self.time);
            stop.store(true, Ordering::Relaxed);
        });
        meter.round(gets.into_inner(), &before.stores[0], &db.stats().stores[0])
    }

    fn many(self, db: &Db, keys: u32) -> Fallible<Round> {
        let before = db.stats();
        let bytes = self.data.bytes();
        let mut random = Random(mix(u64::from(keys)));
        let (mut numbers, mut names, mut gets) = (Vec::new(), Vec::new(), 0);
        let meter = Meter::start();
        while meter.start.elapsed() < self.time {
            numbers.clear();
            names.clear();
            for _ in 0..keys {
                let number = random.next() % self.data.keys;
                numbers.push(number);
                names.push(name(number));
            }
            for (value, number) in db.get_many(&names)?.iter().zip(&numbers) {
                let right = value.as_deref() == Some(self.data.value(&bytes, *number));
                assert!(right, "a get gave another value");
            }
            gets += u64::from(keys);
        }
        Ok(meter.round(gets, &before.stores[0], &db.stats().stores[0]))
    }
}

/// One store, and a thread that reads from it.
struct Looped<'a> {
    bench: Bench<'a>,
    secret: Secret,
    engine: Engine,
    random: Random,
    _directory: Directory,
}

impl<'a> Looped<'a> {
    fn open(bench: Bench<'a>) -> Fallible<Self> {
        let directory = Directory::open(bench.directory, 1)?;
        let files = Arc::new(directory.files(0, Caching::Auto)?);
        println!("{}", files.path_name());
        let options = Options { ack: Ack::Memory, ..Options::new(directory.secret(), GET_MEMORY) };
        let (mut engine, _) = Engine::open(files, options, unix())?;
        loop {
            engine.poll(unix(), monotonic_ms());
            let stats = engine.store().stats();
            if stats.index.slices_loaded == stats.index.slices {
                println!("cache {} KiB, index {} MiB", stats.cache.bytes >> 10, stats.index.bytes >> 20);
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Self { bench, secret: directory.secret(), engine, random: Random(1), _directory: directory })
    }

    fn run(&mut self, mode: &str, depth: u32) -> Fallible<Round> {
        let options = ReaderOptions { path: self.bench.path, ..ReaderOptions::default() };
        let reader = Reader::new(Arc::clone(self.engine.files()), options)?;
        match mode {
            "loop" => self.gets(reader, depth, true),
            "wait" => self.gets(reader, depth, false),
            "raw" => self.raw(reader, depth),
            other => Err(format!("{other} is no mode").into()),
        }
    }

    fn gets(&mut self, mut reader: Reader, depth: u32, by_epoll: bool) -> Fallible<Round> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&poll, &reader, epoll::EventData::new_u64(1), epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        let before = self.engine.store().stats();
        let bytes = self.bench.data.bytes();
        let mut flights: Vec<Option<Flight>> = (0..depth).map(|_| None).collect();
        let mut free: Vec<usize> = (0..flights.len()).collect();
        let mut again: Vec<usize> = Vec::new();
        let mut events = Vec::with_capacity(16);
        let mut gets = 0;
        let meter = Meter::start();
        let mut over = false;
        loop {
            while !over && !free.is_empty() {
                self.begin(&bytes, &mut free, &mut flights, &mut again, &mut gets)?;
            }
            for at in again.drain(..) {
                let read = flights[at].as_ref().and_then(|flight| flight.read.as_ref()).expect("it reads");
                reader.push(at as u64, read.file, read.first, read.count);
            }
            if reader.in_flight() == 0 {
                break;
            }
            if by_epoll {
                reader.submit()?;
                events.clear();
                match epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            } else {
                reader.wait(1)?;
            }
            over = meter.start.elapsed() >= self.bench.time;
            let now = unix();
            let store = self.engine.store();
            let mut failed = None;
            reader.complete(|token, pages| {
                let at = token as usize;
                let mut flight = flights[at].take().expect("a read comes back once");
                match finish(store, &mut flight, pages, now) {
                    Ok(Some(value)) => {
                        assert!(value == self.bench.data.value(&bytes, flight.number), "a get gave another value");
                        gets += 1;
                        free.push(at);
                    }
                    Ok(None) => {
                        flights[at] = Some(flight);
                        again.push(at);
                    }
                    Err(why) => failed = Some(why),
                }
            })?;
            if let Some(why) = failed {
                return Err(why.into());
            }
            let now_ms = monotonic_ms();
            if self.engine.poll_is_due(now_ms) {
                self.engine.poll(now, now_ms);
            }
        }
        Ok(meter.round(gets, &before, &self.engine.store().stats()))
    }

    /// Begins lookups for a group of `free` flights, and tells which are to `read`. Keys that the cache answers are
    /// counted in `gets`.
    fn begin(
        &mut self,
        bytes: &[u8],
        free: &mut Vec<usize>,
        flights: &mut [Option<Flight>],
        read: &mut Vec<usize>,
        gets: &mut u64,
    ) -> Fallible<()> {
        let group = free.len().min(Store::PREFETCH_KEYS);
        let mut keys = [(0, [0; NAME_BYTES]); Store::PREFETCH_KEYS];
        let mut positions = [Key::MIN; Store::PREFETCH_KEYS];
        for (key, position) in keys[..group].iter_mut().zip(&mut positions) {
            let number = self.random.next() % self.bench.data.keys;
            *key = (number, name(number));
            *position = self.secret.position(&key.1);
        }
        let store = self.engine.store();
        if group > 1 {
            // As an event loop does for the keys of pipelined requests.
            store.prefetch(&positions[..group]);
        }
        for ((number, name), key) in keys.into_iter().zip(positions).take(group) {
            match store.lookup(&key, &name, unix()) {
                Lookup::Read(planned) => {
                    let at = free.pop().expect("a group is of free flights");
                    flights[at] = Some(Flight { number, name, key, read: Some(planned) });
                    read.push(at);
                }
                Lookup::Found { record, .. } => {
                    assert!(record.value == self.bench.data.value(bytes, number), "a get gave another value");
                    *gets += 1;
                }
                other => return Err(format!("key {number}: {other:?}: load the same KEYS").into()),
            }
        }
        Ok(())
    }

    fn raw(&mut self, mut reader: Reader, depth: u32) -> Fallible<Round> {
        let is_large = |(file, pages): &(FileId, u64)| {
            matches!(file, FileId::Segment(_)) && *pages * PAGE_BYTES as u64 >= LARGE_FILE_BYTES
        };
        let files: Vec<(FileId, u64)> = self.engine.files().list()?.into_iter().filter(is_large).collect();
        let mut gets = 0u64;
        let meter = Meter::start();
        let mut over = false;
        loop {
            while !over && reader.in_flight() < depth as usize {
                let (file, pages) = files[(self.random.next() % files.len() as u64) as usize];
                reader.push(0, file, self.random.next() % pages, 1);
            }
            if reader.in_flight() == 0 {
                break;
            }
            reader.wait(1)?;
            over = meter.start.elapsed() >= self.bench.time;
            let mut failed = None;
            gets += reader.complete(|_, pages| failed = pages.err())? as u64;
            if let Some(error) = failed {
                return Err(error.into());
            }
        }
        let (rate, cpu_us) = meter.figures(gets);
        Ok(Round { rate, cpu_us, requests: 1.0, pages: 1.0 })
    }
}

/// A lookup in flight.
struct Flight {
    number: u64,
    name: [u8; NAME_BYTES],
    key: Key,
    read: Option<Read>,
}

/// The value that was found, or `None` where it reads on.
fn finish<'p>(
    store: &mut Store,
    flight: &mut Flight,
    pages: Result<&'p mut [Page], FlashError>,
    now: u32,
) -> Result<Option<&'p [u8]>, String> {
    let read = flight.read.take().expect("a flight reads");
    match store.finish(read, pages.map_err(|error| error.to_string())?, &flight.key, &flight.name, now) {
        FinishedRead::Found(record) => Ok(Some(record.value)),
        FinishedRead::Read(next) => {
            flight.read = Some(next);
            Ok(None)
        }
        other => Err(format!("key {}: {other:?}", flight.number)),
    }
}

/// Time and CPU time of a round.
struct Meter {
    start: Instant,
    cpu_us: f64,
}

impl Meter {
    fn start() -> Self {
        Self { start: Instant::now(), cpu_us: cpu_us() }
    }

    /// `count` things a second, and CPU-us for each.
    fn figures(&self, count: u64) -> (f64, f64) {
        (count as f64 / self.start.elapsed().as_secs_f64(), (cpu_us() - self.cpu_us) / count as f64)
    }

    /// A round of `gets`, of which those are left out that the cache answered.
    fn round(&self, gets: u64, before: &Stats, after: &Stats) -> Round {
        let gets = gets - (after.cache.hits - before.cache.hits);
        let (rate, cpu_us) = self.figures(gets);
        let reads = (after.reads.reads - before.reads.reads) as f64;
        let pages = (after.reads.pages - before.reads.pages) as f64 / reads;
        Round { rate, cpu_us, requests: reads / gets as f64, pages }
    }
}

/// The store's segment files, small ones aside: `fio` reads from all files alike.
fn segments(store: &Path) -> Fallible<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(store)? {
        let entry = entry?;
        let is_segment = entry.file_name().to_string_lossy().starts_with("segment-");
        if is_segment && entry.metadata()?.len() >= LARGE_FILE_BYTES {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

/// The key of a number: 16 hexadecimal digits of its hash, and four letters.
fn name(number: u64) -> [u8; NAME_BYTES] {
    let mut name = *b"................keyz";
    let hash = mix(number);
    for (at, digit) in name[..16].iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(hash >> (60 - 4 * at) & 15) as usize];
    }
    name
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0)
    }
}

fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// CPU time of this process so far, microseconds.
fn cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// The Unix second, as an event loop takes it.
fn unix() -> u32 {
    u32::try_from(clock_gettime(ClockId::RealtimeCoarse).tv_sec).unwrap_or(u32::MAX)
}

fn monotonic_ms() -> u64 {
    let time = clock_gettime(ClockId::MonotonicCoarse);
    (time.tv_sec * 1000 + time.tv_nsec / 1_000_000).cast_unsigned()
}
