//! Carrying experiments out, one after the other, and keeping what each has found.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use fawn_meter::Meter;
use fawn_report::Watch;
use serde::{Deserialize, Serialize};

use super::keeper::{Keeper, Kept};
use super::list::Entry;
use super::machine::Program;
use crate::device::Device;
use crate::error::Error;

/// How large experiments are, and how long they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Only to see whether all of it works: its figures say nothing.
    Tiny,
    /// A few seconds each: for a first look.
    Small,
    /// The papers' sizes, where the machine has the room.
    Full,
}

impl Scale {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tiny, Self::Small, Self::Full];

    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The programs and the meter that experiments use.
#[derive(Clone, Debug, PartialEq)]
pub struct Tools {
    /// `fawn`, of which servers and clusters are made.
    pub fawn: PathBuf,
    /// `fawn-peers`, where it is installed.
    pub peers: Option<PathBuf>,
    /// Who reads the device.
    pub device: Device,
    /// What meters the energy; `None`: nothing does.
    pub meter: Option<Meter>,
}

/// What an experiment is told.
pub struct Run<'a> {
    /// How large it is to be.
    pub scale: Scale,
    /// A directory of its own, which is empty, and removed afterwards.
    pub dir: PathBuf,
    /// What it may use.
    pub tools: &'a Tools,
    /// Who looks on.
    pub watch: &'a dyn Watch,
}

impl Run<'_> {
    /// The one of three that belongs to the scale.
    pub fn pick<T>(&self, tiny: T, small: T, full: T) -> T {
        match self.scale {
            Scale::Tiny => tiny,
            Scale::Small => small,
            Scale::Full => full,
        }
    }
}

/// Carries out these experiments, in the order of the list; what was measured before is told again, unless it is to be measured
/// anew. What is finished is kept at once, so that an interruption costs one experiment at most.
///
/// # Errors
/// [`Error`]: each says what to do; what was measured before is kept.
pub fn run(
    keeper: &mut Keeper,
    entries: &[&Entry],
    scale: Scale,
    (tools, program, again): (&Tools, &Program, Again),
    watch: &dyn Watch,
) -> Result<(), Error> {
    // Seconds, so that the bar tells how long it takes.
    let total: u64 = entries.iter().map(|entry| entry.seconds(scale)).sum();
    let mut done = 0;
    if let Some(meter) = &tools.meter {
        watch.progress(0, total, "metering the machine at rest");
        meter.rest()?;
    }
    for entry in entries {
        // What could not be measured then may be now.
        let measured = keeper.get(entry.name, scale).is_some_and(|kept| !kept.finding.is_skipped());
        if again == Again::Measure || !measured {
            let told = Told { watch, name: entry.name, done, of: entry.seconds(scale), total };
            told.progress(0, 1, "beginning");
            let kept = carry_out(entry, scale, &keeper.data(), (tools, program), &told)?;
            keeper.keep(entry.name, scale, kept)?;
        }
        done += entry.seconds(scale);
    }
    Ok(())
}

/// Whether what was measured before is measured anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// It is told again.
    Tell,
    /// It is measured.
    Measure,
}

fn carry_out(
    entry: &Entry,
    scale: Scale,
    dir: &Path,
    (tools, program): (&Tools, &Program),
    watch: &dyn Watch,
) -> Result<Kept, Error> {
    // What an interruption has left.
    remove(dir)?;
    fs::create_dir_all(dir).map_err(Error::io(dir))?;
    let began = Instant::now();
    let finding = (entry.run)(&Run { scale, dir: dir.to_owned(), tools, watch });
    let removed = remove(dir);
    let finding = finding?;
    removed?;
    Ok(Kept {
        date: now(),
        seconds: began.elapsed().as_secs_f64(),
        version: program.version.clone(),
        commit: program.commit.clone(),
        finding,
    })
}

fn remove(dir: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(dir)(error)),
        _ => Ok(()),
    }
}

/// The time, by UTC, to a minute.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let day = fawn_plan::Date::of_unix_days(seconds / 86_400).map_or_else(String::new, |day| day.to_string());
    format!("{day}T{:02}:{:02}Z", seconds / 3600 % 24, seconds / 60 % 60)
}

/// One experiment among all, for those who look on.
struct Told<'w> {
    watch: &'w dyn Watch,
    name: &'static str,
    done: u64,
    of: u64,
    total: u64,
}

impl Watch for Told<'_> {
    fn progress(&self, done: u64, total: u64, what: &str) {
        let part = (done as f64 / total.max(1) as f64).min(1.0) * self.of as f64;
        self.watch.progress(self.done + part as u64, self.total, &format!("{}: {what}", self.name));
    }

    fn note(&self, line: &str) {
        self.watch.note(&format!("{}: {line}", self.name));
    }
}

#[cfg(test)]
mod tests {
    use fawn_report::Nobody;

    use super::*;
    use crate::paper::finding::Finding;
    use crate::paper::list::LIST;

    #[test]
    fn what_was_skipped_is_tried_again_and_what_was_found_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let mut keeper = Keeper::open(dir.path()).unwrap();
        let mut found = Entry { run: |_| Ok(Finding::default()), ..LIST[0] };
        let skipped = Entry { run: |_| Ok(Finding::skipped("no <program>".to_owned())), ..LIST[0] };
        let tools = Tools { fawn: "fawn".into(), peers: None, device: Device::Own, meter: None };
        let program = Program { version: "1".into(), commit: "c".into(), command: String::new() };
        let mut run = |entry: &Entry| {
            run(&mut keeper, &[entry], Scale::Tiny, (&tools, &program, Again::Tell), &Nobody).unwrap();
            keeper.get(entry.name, Scale::Tiny).unwrap().finding.is_skipped()
        };
        assert!(run(&skipped));
        assert!(!run(&found));
        found.run = |_| panic!("it was found already");
        assert!(!run(&found));
    }

    #[test]
    fn the_time_is_written_as_iso_has_it() {
        let now = now();
        assert!(now.len() == 17 && now.ends_with('Z') && now.as_bytes()[10] == b'T', "{now}");
        assert!(now[..10].parse::<fawn_plan::Date>().is_ok(), "{now}");
    }
}
