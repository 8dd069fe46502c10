//! Carrying experiments out, one after the other, and keeping what each has found.

use std::fs;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use fawn_report::Watch;

use crate::error::Error;
use crate::finding::Finding;
use crate::list::{ExperimentEntry, Paper};
use crate::result_cache::{ResultCache, StoredFinding};
use crate::run::{Run, Scale, Tools};
use crate::testbed::machine::Program;
use crate::traces::GordonTraces;

/// Carries out these experiments, in the order of the list; what was measured before is told again, unless it is to be measured
/// anew. What is finished is kept at once, so that an interruption costs one experiment at most.
///
/// # Errors
/// [`Error`]: each says what to do; what was measured before is kept.
pub fn run(
    cache: &mut ResultCache,
    entries: &[&ExperimentEntry],
    scale: Scale,
    (tools, program, again): (&Tools, &Program, Again),
    watch: &(dyn Watch + Sync),
) -> Result<(), Error> {
    // Seconds, so that the bar tells how long it takes.
    let total: u64 = entries.iter().map(|entry| entry.seconds(scale)).sum();
    let mut done = 0;
    if let Some(meter) = &tools.meter {
        watch.progress(0, total, "metering the machine at rest");
        meter.rest()?;
    }
    let is_of_gordon = entries.iter().any(|entry| entry.paper == Paper::Gordon);
    let traces = if is_of_gordon { tools.traces.label()? } else { String::new() };
    for entry in entries {
        // What could not be measured then may be now.
        let is_told = |finding: &Finding| !finding.is_skipped() && !GordonTraces::is_other(finding, &traces);
        let measured = cache.get(entry.name, scale).is_some_and(|kept| is_told(&kept.finding));
        if again == Again::Measure || !measured {
            let told = EntryWatch { watch, name: entry.name, done, of: entry.seconds(scale), total };
            told.progress(0, 1, "beginning");
            let kept =
                carry_out(entry, scale, &cache.data(), (tools, program), &told).map_err(Error::of(entry.name))?;
            cache.keep(entry.name, scale, kept)?;
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
    entry: &ExperimentEntry,
    scale: Scale,
    dir: &Path,
    (tools, program): (&Tools, &Program),
    watch: &(dyn Watch + Sync),
) -> Result<StoredFinding, Error> {
    // What an interruption has left.
    remove(dir)?;
    fs::create_dir_all(dir).map_err(Error::io(dir))?;
    let began = Instant::now();
    let finding = (entry.run)(&Run { scale, dir: dir.to_owned(), tools, watch });
    let removed = remove(dir);
    let finding = finding?;
    removed?;
    Ok(StoredFinding {
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
struct EntryWatch<'w> {
    watch: &'w (dyn Watch + Sync),
    name: &'static str,
    done: u64,
    of: u64,
    total: u64,
}

impl Watch for EntryWatch<'_> {
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
    use fawn_bench::DeviceReader;
    use fawn_report::Nobody;

    use super::*;
    use crate::list::LIST;

    fn tools() -> Tools {
        Tools {
            fawn: "fawn".into(),
            peers: None,
            device: DeviceReader::Own,
            meter: None,
            traces: GordonTraces::Synthetic,
        }
    }

    #[test]
    fn what_was_skipped_is_tried_again_and_what_was_found_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let mut cache = ResultCache::open(dir.path()).unwrap();
        let mut found = ExperimentEntry { run: |_| Ok(Finding::default()), ..LIST[0] };
        let skipped = ExperimentEntry { run: |_| Ok(Finding::skipped("no <program>".to_owned())), ..LIST[0] };
        let tools = tools();
        let program = Program { version: "1".into(), commit: "c".into(), command: String::new() };
        let mut run = |entry: &ExperimentEntry| {
            run(&mut cache, &[entry], Scale::Tiny, (&tools, &program, Again::Tell), &Nobody).unwrap();
            cache.get(entry.name, Scale::Tiny).unwrap().finding.is_skipped()
        };
        assert!(run(&skipped));
        assert!(!run(&found));
        found.run = |_| panic!("it was found already");
        assert!(!run(&found));
    }

    #[test]
    fn an_error_names_its_experiment() {
        let dir = tempfile::tempdir().unwrap();
        let mut cache = ResultCache::open(dir.path()).unwrap();
        let fails = |_: &Run<'_>| {
            Err(Error::WrongOverNetwork { phase: "puts", count: 2, first: "SERVER_ERROR busy".to_owned() })
        };
        let entry = ExperimentEntry { run: fails, ..LIST[0] };
        let tools = tools();
        let program = Program { version: "1".into(), commit: "c".into(), command: String::new() };
        let error = run(&mut cache, &[&entry], Scale::Tiny, (&tools, &program, Again::Tell), &Nobody).unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with(&format!("{} failed: during the phase `puts`, 2 answers", entry.name)), "{said}");
    }

    #[test]
    fn the_time_is_written_as_iso_has_it() {
        let now = now();
        assert!(now.len() == 17 && now.ends_with('Z') && now.as_bytes()[10] == b'T', "{now}");
        assert!(now[..10].parse::<fawn_plan::Date>().is_ok(), "{now}");
    }
}
