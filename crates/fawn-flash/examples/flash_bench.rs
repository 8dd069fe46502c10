//! What the device gives through this crate: random page reads through [`Reader`], and durable writes of the commit
//! log.
//!
//! ```text
//! cargo run --release -p fawn-flash --example flash_bench -- DIR [MiB=4096] [seconds=2]
//! ```
//!
//! DIR is made and removed again. Compare with
//! `fio --rw=randread --bs=4k --direct=1 --ioengine=io_uring --fixedbufs=1 --registerfiles=1 --iodepth=D` on a file of
//! the same size on the same device, in the same minutes.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fawn_flash::{Caching, Files, Issuer, ReadPath, Reader, ReaderOptions};
use fawn_store::flash::{FileId, Flash as _};
use fawn_store::page::{PAGE_BYTES, PageBuf};
use rustix::time::{ClockId, clock_gettime};

/// Size of a file to read from, pages: 64 MiB, as segments have.
const FILE_PAGES: u64 = (64 << 20) / PAGE_BYTES as u64;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let directory = Path::new(arguments.get(1).ok_or("usage: flash_bench DIR [MiB] [seconds]")?);
    let mib: u64 = arguments.get(2).map_or(Ok(4096), |text| text.parse())?;
    let seconds: f64 = arguments.get(3).map_or(Ok(2.0), |text| text.parse())?;
    std::fs::create_dir(directory)?;
    let result = run(directory, mib, Duration::from_secs_f64(seconds));
    std::fs::remove_dir_all(directory)?;
    result
}

fn run(directory: &Path, mib: u64, time: Duration) -> Result<(), Box<dyn Error>> {
    let files = Arc::new(Files::open(directory, Caching::Auto)?);
    println!("{mib} MiB through the {}", files.path_name());
    let count = mib.div_ceil(64).max(1);
    let mut pages = PageBuf::zeroed(256);
    for (number, byte) in pages.bytes_mut().iter_mut().enumerate() {
        *byte = number as u8;
    }
    for file in 0..count {
        files.create(FileId::Segment(file), FILE_PAGES)?;
        for first in (0..FILE_PAGES).step_by(256) {
            files.write(FileId::Segment(file), first, pages.pages())?;
        }
        files.sync(FileId::Segment(file))?;
    }
    for (path, issuer) in [
        (ReadPath::IoUring, Issuer::OneThread),
        (ReadPath::IoUring, Issuer::AnyThread),
        (ReadPath::Pread, Issuer::OneThread),
    ] {
        for depth in [1, 8, 32, 128] {
            let options = ReaderOptions { path, depth, issuer, ..ReaderOptions::default() };
            match Reader::new(Arc::clone(&files), options) {
                Ok(reader) => reads(reader, &format!("{path:?} {issuer:?}"), depth, count, time)?,
                Err(error) => println!("{error}"),
            }
        }
    }
    files.create(FileId::CommitLog, FILE_PAGES)?;
    for pages in [1, 4, 16] {
        commits(&files, pages, time)?;
    }
    Ok(())
}

/// Keeps `depth` reads in flight for `time`.
fn reads(mut reader: Reader, what: &str, depth: u32, files: u64, time: Duration) -> Result<(), Box<dyn Error>> {
    let mut state = 88_172_645_463_325_252u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let place = state % (files * FILE_PAGES);
        (FileId::Segment(place / FILE_PAGES), place % FILE_PAGES)
    };
    let (start, cpu) = (Instant::now(), cpu_us());
    let (mut done, mut failed) = (0u64, 0u64);
    while start.elapsed() < time || reader.in_flight() > 0 {
        if start.elapsed() < time {
            while reader.in_flight() < depth as usize {
                let (file, page) = next();
                reader.push(0, file, page, 1);
            }
        }
        reader.wait(1)?;
        reader.complete(|_, pages| {
            done += 1;
            failed += u64::from(pages.is_err());
        })?;
    }
    let elapsed = start.elapsed().as_secs_f64();
    println!(
        "{what}, depth {depth}: {:.0} reads/s, {:.2} CPU-us a read, {failed} failed",
        done as f64 / elapsed,
        (cpu_us() - cpu) / done as f64
    );
    Ok(())
}

/// Writes batches of `pages` pages to the commit log for `time`.
fn commits(files: &Files, pages: usize, time: Duration) -> Result<(), Box<dyn Error>> {
    let batch = PageBuf::zeroed(pages);
    let (start, cpu) = (Instant::now(), cpu_us());
    let (mut done, mut first) = (0u64, 0);
    while start.elapsed() < time {
        files.write_durably(FileId::CommitLog, first, batch.pages())?;
        first = (first + pages as u64) % FILE_PAGES;
        done += 1;
    }
    println!(
        "durable writes of {} KiB: {:.0}/s, {:.1} CPU-us each",
        pages * PAGE_BYTES / 1024,
        done as f64 / start.elapsed().as_secs_f64(),
        (cpu_us() - cpu) / done as f64
    );
    Ok(())
}

/// CPU time of this process so far, microseconds.
fn cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
