//! What the device gives without a store: random reads of pages of the same files, as many at a time.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fawn_flash::{Files, Reader, ReaderOptions};
use fawn_machine::fresh_seed;
use fawn_machine::process::cpu_us;
use fawn_store::flash::FileId;
use fawn_store::page::PAGE_BYTES;
use fawn_workload::Draw;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;

/// Reads that `fio` is told of for each second: more than it will make.
const READS_A_SECOND: f64 = 250_000.0;

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceReader {
    /// `fio`, with `io_uring` and registered buffers, one thread. (Files it can register only where it chooses the pages
    /// itself, and then each file as often as any other, however large.)
    Fio,
    /// This program's reader, with no store behind it.
    Own,
}

impl DeviceReader {
    /// `fio` if it is installed.
    pub fn installed() -> Self {
        let found = Command::new("fio").arg("--version").output();
        if found.is_ok_and(|output| output.status.success()) { Self::Fio } else { Self::Own }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fio => "fio, io_uring, fixed buffers, one thread",
            Self::Own => "our own io_uring loop without a store, one thread",
        }
    }
}

/// What the device gave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceReads {
    /// 4 KiB reads a second.
    pub reads_a_second: f64,
    /// CPU time of each, microseconds.
    pub cpu_us_a_read: f64,
}

/// What the segment files of a store hold, holes left out.
#[derive(Debug)]
pub struct Segments {
    extents: Vec<PageExtent>,
    /// How many pages there are up to the end of each extent.
    ends: Vec<u64>,
    /// Where `fio` finds the files under short names, and the list of what it is to read.
    links: PathBuf,
}

/// Pages of a file that lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PageExtent {
    file: u64,
    first: u64,
    pages: u64,
}

impl Segments {
    /// Of the directory of a store's files; `links` is a directory that may be made and removed.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Unfit`] when there is nothing to read.
    pub fn of(store: &Path, links: &Path) -> Result<Self, Error> {
        let mut extents = Vec::new();
        for entry in fs::read_dir(store).map_err(Error::io(store))? {
            let entry = entry.map_err(Error::io(store))?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("segment-"));
            let Some(number) = number.and_then(|digits| u64::from_str_radix(digits, 16).ok()) else { continue };
            add_extents(&entry.path(), number, &mut extents).map_err(Error::io(&entry.path()))?;
        }
        if extents.is_empty() {
            return Err(Error::Unfit("there is no segment for the device's part: give more entries".into()));
        }
        extents.sort_unstable_by_key(|extent| (extent.file, extent.first));
        let ends = extents.iter().scan(0, |pages, extent| {
            *pages += extent.pages;
            Some(*pages)
        });
        let ends = ends.collect();
        Ok(Self { extents, ends, links: links.to_owned() })
    }

    /// A page of all that there are.
    fn draw(&self, draw: &mut Draw) -> (u64, u64) {
        let page = draw.draw();
        let at = self.ends.partition_point(|end| *end <= page);
        let extent = self.extents[at];
        (extent.file, extent.first + page - (self.ends[at] - extent.pages))
    }

    fn pages(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Reads at random, `depth` at a time.
    ///
    /// # Errors
    /// [`Error::Fio`], [`Error::Flash`].
    pub fn read(
        &self,
        device: DeviceReader,
        files: &Arc<Files>,
        depth: u32,
        time: Duration,
    ) -> Result<DeviceReads, Error> {
        match device {
            DeviceReader::Fio => self.fio(files.path(), depth, time),
            DeviceReader::Own => self.own(files, depth, time),
        }
    }

    fn fio(&self, directory: &Path, depth: u32, time: Duration) -> Result<DeviceReads, Error> {
        let reads = (time.as_secs_f64() * READS_A_SECOND) as u64 + 1;
        self.list(directory, reads).map_err(Error::io(&self.links))?;
        let output = Command::new("fio")
            .current_dir(&self.links)
            .args(["--name=device", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=io_uring", "--fixedbufs=1"])
            .args(["--readonly", "--allow_file_create=0", "--thread", "--read_iolog=reads", "--replay_no_stall=1"])
            .args(["--output-format=json"])
            .arg(format!("--iodepth={depth}"))
            .arg(format!("--runtime={}ms", time.as_millis()))
            .output()
            .map_err(|error| Error::Fio(error.to_string()));
        fs::remove_dir_all(&self.links).map_err(Error::io(&self.links))?;
        let output = output?;
        let text = String::from_utf8_lossy(&output.stdout);
        let told = || {
            let error = String::from_utf8_lossy(&output.stderr);
            let line = error.lines().chain(text.lines()).find(|line| !line.trim().is_empty());
            Error::Fio(line.unwrap_or("it said nothing").to_owned())
        };
        if !output.status.success() {
            return Err(told());
        }
        figures_of_fio(&text).ok_or_else(told)
    }

    /// Lists so many reads for `fio`, each of any page with the same chance, and gives the files short names.
    fn list(&self, directory: &Path, reads: u64) -> std::io::Result<()> {
        match fs::remove_dir_all(&self.links) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir(&self.links)?,
        }
        let directory = fs::canonicalize(directory)?;
        let mut list = BufWriter::new(fs::File::create(self.links.join("reads"))?);
        writeln!(list, "fio version 2 iolog")?;
        let files: BTreeSet<u64> = self.extents.iter().map(|extent| extent.file).collect();
        for file in &files {
            let target = directory.join(FileId::Segment(*file).to_string());
            std::os::unix::fs::symlink(target, self.links.join(format!("{file:x}")))?;
            writeln!(list, "{file:x} add")?;
        }
        for file in &files {
            writeln!(list, "{file:x} open")?;
        }
        let mut draw = Draw::uniform(self.pages(), fresh_seed());
        for _ in 0..reads {
            let (file, page) = self.draw(&mut draw);
            writeln!(list, "{file:x} read {} {PAGE_BYTES}", page * PAGE_BYTES as u64)?;
        }
        list.flush()
    }

    fn own(&self, files: &Arc<Files>, depth: u32, time: Duration) -> Result<DeviceReads, Error> {
        let mut draw = Draw::uniform(self.pages(), fresh_seed());
        let mut reader = Reader::new(Arc::clone(files), ReaderOptions { depth, ..ReaderOptions::default() })?;
        let (began, cpu) = (Instant::now(), cpu_us());
        let (mut done, mut failed) = (0u64, None);
        loop {
            let goes_on = began.elapsed() < time;
            while goes_on && reader.in_flight() < depth as usize {
                let (file, page) = self.draw(&mut draw);
                reader.push(0, FileId::Segment(file), page, 1);
            }
            if reader.in_flight() == 0 {
                break;
            }
            reader.wait(1)?;
            reader.complete(|_, pages| match pages {
                Ok(_) => done += 1,
                Err(error) => {
                    failed.get_or_insert(error);
                }
            })?;
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
        let (seconds, cpu) = (began.elapsed().as_secs_f64(), cpu_us() - cpu);
        Ok(DeviceReads { reads_a_second: done as f64 / seconds, cpu_us_a_read: cpu / done.max(1) as f64 })
    }
}

/// Adds the stretches of whole pages of a file that are no holes: those are read without the device.
fn add_extents(path: &Path, file: u64, extents: &mut Vec<PageExtent>) -> std::io::Result<()> {
    let opened = match fs::File::open(path) {
        // A merge has removed it meanwhile.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let mut at = 0;
    loop {
        let first = match seek(&opened, SeekFrom::Data(at)) {
            // Nothing but holes is left.
            Err(Errno::NXIO) => return Ok(()),
            first => first?.div_ceil(PAGE_BYTES as u64),
        };
        at = seek(&opened, SeekFrom::Hole(first * PAGE_BYTES as u64))?;
        let end = at / PAGE_BYTES as u64;
        if end > first {
            extents.push(PageExtent { file, first, pages: end - first });
        }
    }
}

/// What the output of `fio` says.
fn figures_of_fio(text: &str) -> Option<DeviceReads> {
    // Warnings come before it.
    let found: Value = serde_json::from_str(&text[text.find('{')?..]).ok()?;
    let job = found.get("jobs")?.get(0)?;
    let read = job.get("read")?;
    let figure = |of: &Value, name: &str| of.get(name)?.as_f64();
    let (iops, reads, ms) = (figure(read, "iops")?, figure(read, "total_ios")?, figure(read, "runtime")?);
    let percent = figure(job, "usr_cpu")? + figure(job, "sys_cpu")?;
    (reads > 0.0).then_some(DeviceReads { reads_a_second: iops, cpu_us_a_read: percent * ms * 10.0 / reads })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    #[test]
    fn what_fio_says_is_understood() {
        let text = "fio: a warning\n{\"jobs\": [{\"usr_cpu\": 10.0, \"sys_cpu\": 30.0, \
                    \"read\": {\"iops\": 5000.0, \"total_ios\": 10000, \"runtime\": 2000}}]}";
        let given = figures_of_fio(text).unwrap();
        assert_eq!((given.reads_a_second, given.cpu_us_a_read), (5000.0, 80.0));
        assert_eq!(figures_of_fio("fio: no such file"), None);
    }

    #[test]
    fn what_fio_is_to_read_is_anywhere_but_in_holes() {
        let dir = tempfile::tempdir().unwrap();
        let path = |number| dir.path().join(FileId::Segment(number).to_string());
        fs::write(path(3), vec![1; 2 * PAGE_BYTES]).unwrap();
        fs::File::create(path(4)).unwrap().set_len(2 * PAGE_BYTES as u64).unwrap();
        let sparse = fs::File::create(path(5)).unwrap();
        sparse.set_len(64 * PAGE_BYTES as u64).unwrap();
        sparse.write_all_at(&[1; PAGE_BYTES], 32 * PAGE_BYTES as u64).unwrap();
        fs::write(dir.path().join("commit-log"), "x").unwrap();
        let segments = Segments::of(dir.path(), &dir.path().join("links")).unwrap();
        let extent = |file, first, pages| PageExtent { file, first, pages };
        assert_eq!(segments.extents, [extent(3, 0, 2), extent(5, 32, 1)]);
        for _ in 0..2 {
            segments.list(dir.path(), 300).expect("what a crash left is no obstacle");
        }
        let list = fs::read_to_string(segments.links.join("reads")).unwrap();
        let mut reads: Vec<&str> = list.lines().skip(5).collect();
        assert_eq!(reads.len(), 300);
        reads.sort_unstable();
        reads.dedup();
        assert_eq!(reads, ["3 read 0 4096", "3 read 4096 4096", "5 read 131072 4096"]);
        assert_eq!(fs::read(segments.links.join("3")).unwrap().len(), 2 * PAGE_BYTES);
    }
}
