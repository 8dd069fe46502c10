//! What the device gives without a store: random reads of pages of the same files, as many at a time.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fawn_flash::{Files, Reader, ReaderOptions};
use fawn_store::flash::FileId;
use fawn_store::page::PAGE_BYTES;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::usage::cpu_us;
use crate::workload::Draw;

/// Names, of up to three digits, that fit `fio`'s 4096 characters.
const MOST_FILES: usize = 900;

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// `fio`, with `io_uring`, registered files and buffers, one thread.
    Fio,
    /// This program's reader, with no store behind it.
    Own,
}

impl Device {
    /// `fio` if it is installed.
    pub fn installed() -> Self {
        let found = Command::new("fio").arg("--version").output();
        if found.is_ok_and(|output| output.status.success()) { Self::Fio } else { Self::Own }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fio => "fio, io_uring, fixed buffers, registered files, one thread",
            Self::Own => "our own io_uring loop without a store, one thread",
        }
    }
}

/// What the device gave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// 4 KiB reads a second.
    pub reads_a_second: f64,
    /// CPU time of each, microseconds.
    pub cpu_us_a_read: f64,
}

/// The segment files of a store, as far as there is something in them.
#[derive(Debug)]
pub struct Segments {
    /// Those without holes: number and pages.
    whole: Vec<(u64, u64)>,
    /// Pages of those with holes.
    with_holes: u64,
    /// Where `fio` finds them under short names.
    links: PathBuf,
}

impl Segments {
    /// Of the directory of a store's files; `links` is a directory that may be made and removed.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Unfit`] when there is nothing to read.
    pub fn of(store: &Path, links: &Path) -> Result<Self, Error> {
        let (mut whole, mut with_holes) = (Vec::new(), 0);
        for entry in fs::read_dir(store).map_err(Error::io(store))? {
            let entry = entry.map_err(Error::io(store))?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("segment-"));
            let Some(number) = number.and_then(|digits| u64::from_str_radix(digits, 16).ok()) else { continue };
            let Ok(found) = entry.metadata() else { continue };
            let pages = found.len() / PAGE_BYTES as u64;
            // A hole is read without the device.
            if found.blocks() * 512 >= found.len() && pages > 0 {
                whole.push((number, pages));
            } else {
                with_holes += pages;
            }
        }
        whole.sort_unstable();
        if whole.is_empty() {
            return Err(Error::Unfit(
                "there is no segment without holes for the device's part: give more entries".into(),
            ));
        }
        Ok(Self { whole, with_holes, links: links.to_owned() })
    }

    /// Which part of the files is read, for people; nothing when it is all.
    pub fn left_out(&self) -> Option<String> {
        let pages: u64 = self.whole.iter().map(|(_, pages)| pages).sum();
        let share = pages as f64 / (pages + self.with_holes) as f64;
        let read =
            format!("the device's part reads the {:.0} % of the segment files that have no holes", share * 100.0);
        (self.with_holes > 0).then_some(read)
    }

    /// Reads at random, `depth` at a time.
    ///
    /// # Errors
    /// [`Error::Fio`], [`Error::Flash`].
    pub fn read(&self, device: Device, files: &Arc<Files>, depth: u32, time: Duration) -> Result<Given, Error> {
        match device {
            Device::Fio => self.fio(files.path(), depth, time),
            Device::Own => self.own(files, depth, time),
        }
    }

    fn fio(&self, directory: &Path, depth: u32, time: Duration) -> Result<Given, Error> {
        let names = self.link(directory).map_err(Error::io(&self.links))?;
        let output = Command::new("fio")
            .current_dir(&self.links)
            .args(["--name=device", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=io_uring", "--fixedbufs=1"])
            .args(["--registerfiles=1", "--readonly", "--allow_file_create=0", "--thread", "--norandommap"])
            .args(["--randrepeat=0", "--time_based", "--file_service_type=random", "--output-format=json"])
            .arg(format!("--iodepth={depth}"))
            .arg(format!("--runtime={}ms", time.as_millis()))
            .arg(format!("--filename={}", names.join(":")))
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

    /// Gives the files short names.
    fn link(&self, directory: &Path) -> std::io::Result<Vec<String>> {
        match fs::remove_dir_all(&self.links) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir(&self.links)?,
        }
        let directory = fs::canonicalize(directory)?;
        let step = self.whole.len().div_ceil(MOST_FILES);
        let link = |(number, (file, _)): (usize, &(u64, u64))| {
            let name = number.to_string();
            std::os::unix::fs::symlink(directory.join(FileId::Segment(*file).to_string()), self.links.join(&name))?;
            Ok(name)
        };
        self.whole.iter().step_by(step).enumerate().map(link).collect()
    }

    fn own(&self, files: &Arc<Files>, depth: u32, time: Duration) -> Result<Given, Error> {
        let mut ends = Vec::with_capacity(self.whole.len());
        let mut pages = 0;
        for (_, count) in &self.whole {
            pages += count;
            ends.push(pages);
        }
        let mut draw = Draw::uniform(pages, mix_of_time());
        let mut reader = Reader::new(Arc::clone(files), ReaderOptions { depth, ..ReaderOptions::default() })?;
        let (began, cpu) = (Instant::now(), cpu_us());
        let (mut done, mut failed) = (0u64, None);
        loop {
            let goes_on = began.elapsed() < time;
            while goes_on && reader.in_flight() < depth as usize {
                let page = draw.draw();
                let at = ends.partition_point(|end| *end <= page);
                let first = at.checked_sub(1).map_or(0, |before| ends[before]);
                reader.push(0, FileId::Segment(self.whole[at].0), page - first, 1);
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
        Ok(Given { reads_a_second: done as f64 / seconds, cpu_us_a_read: cpu / done.max(1) as f64 })
    }
}

/// Another seed for each call.
fn mix_of_time() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// What the output of `fio` says.
fn figures_of_fio(text: &str) -> Option<Given> {
    // Warnings come before it.
    let found: Value = serde_json::from_str(&text[text.find('{')?..]).ok()?;
    let job = found.get("jobs")?.get(0)?;
    let read = job.get("read")?;
    let figure = |of: &Value, name: &str| of.get(name)?.as_f64();
    let (iops, reads, ms) = (figure(read, "iops")?, figure(read, "total_ios")?, figure(read, "runtime")?);
    let percent = figure(job, "usr_cpu")? + figure(job, "sys_cpu")?;
    (reads > 0.0).then_some(Given { reads_a_second: iops, cpu_us_a_read: percent * ms * 10.0 / reads })
}

#[cfg(test)]
mod tests {
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
    fn links_are_few_enough_and_lead_to_the_files() {
        let dir = tempfile::tempdir().unwrap();
        let whole = (0..2000).map(|file| (file, 1)).collect();
        let segments = Segments { whole, with_holes: 0, links: dir.path().join("links") };
        let names = segments.link(dir.path()).unwrap();
        assert!(names.len() > 500 && names.join(":").len() < 4096, "{}", names.len());
        fs::write(dir.path().join(FileId::Segment(0).to_string()), "here").unwrap();
        assert_eq!(fs::read(segments.links.join(&names[0])).unwrap(), b"here");
        assert_eq!(segments.link(dir.path()).unwrap(), names, "what a crash left is no obstacle");
    }

    #[test]
    fn a_file_with_a_hole_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let file = |number| dir.path().join(FileId::Segment(number).to_string());
        fs::write(file(3), vec![1; 2 * PAGE_BYTES]).unwrap();
        fs::File::create(file(4)).unwrap().set_len(2 * PAGE_BYTES as u64).unwrap();
        fs::write(dir.path().join("commit-log"), "x").unwrap();
        let segments = Segments::of(dir.path(), &dir.path().join("links")).unwrap();
        assert_eq!((segments.whole.as_slice(), segments.with_holes), (&[(3, 2)][..], 2));
        assert!(segments.left_out().unwrap().contains("50 %"));
    }
}
