//! A process that loads is killed, and the store is opened again: how long it is until gets are answered.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fawn_machine::fresh_seed;
use fawn_machine::process::cpu_us;
use fawn_report::{BenchReport, Nobody, Watch};
use fawn_workload::{Draw, KEY_BYTES, Permutation, WriteHistory};
use serde::Serialize;
use serde_json::{Value, json};

use super::measure::{parameters, told_again};
use crate::error::Error;
use crate::journal::Journal;
use crate::lookups::Lookups;
use crate::session::BenchSession;
use crate::setup::Setup;

/// Entries that are looked up after each restart, if there are as many.
const SAMPLE: u64 = 20_000;
/// What is put beyond the last size, so that the load is under way when it is killed: a share of it.
const BEYOND: u64 = 10;
/// What the process that loads says when enough is there.
const THERE: &str = "there";

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RestartExperiment {
    /// Bytes of keys and values at which it is killed, rising.
    pub at: Vec<u64>,
    /// How the process that loads is started; it must call [`load_until_killed`].
    #[serde(skip)]
    pub program: PathBuf,
    /// Its arguments; the number of entries that it is to say `there` at comes behind them.
    #[serde(skip)]
    pub arguments: Vec<OsString>,
}

impl RestartExperiment {
    /// The entries that a directory for these sizes has.
    pub fn entries(at: &[u64], value_bytes: usize) -> u64 {
        let most = at.iter().copied().max().unwrap_or(0);
        ((most + most / BEYOND) / (KEY_BYTES + value_bytes) as u64).max(1)
    }

    /// Runs it.
    ///
    /// # Errors
    /// [`Error::Child`], [`Error::Wrong`] when an acknowledged entry is lost, and others.
    pub fn run(&self, setup: &Setup, watch: &dyn Watch) -> Result<BenchReport, Error> {
        if self.at.is_empty() || !self.at.is_sorted() {
            return Err(Error::Unfit("give ascending sizes, e.g. --at 1G,2G".to_owned()));
        }
        setup.check()?;
        let mut journal = Journal::open(&setup.dir)?;
        if setup.again {
            journal.delete()?;
        }
        let name = format!("restart {} {}", parameters(self), setup.words());
        if let Some(report) = journal.result(&name) {
            told_again(watch);
            return Ok(report.clone());
        }
        let mut rows: Vec<Value> = journal.unfinished(&name).unwrap_or_default();
        drop(journal);
        for number in rows.len()..self.at.len() {
            let entries = (self.at[number] / (KEY_BYTES + setup.value_bytes) as u64).clamp(1, setup.entries);
            let what = format!("loading {entries} entries to be killed");
            watch.progress(number as u64, self.at.len() as u64, &what);
            self.kill(entries)?;
            rows.push(reopen(setup, self.at[number])?);
            Journal::open(&setup.dir)?.note(&name, &rows)?;
        }
        let mut session = BenchSession::open(setup, &Nobody)?;
        let mut report = session.report("restart");
        for row in rows {
            report.row(row);
        }
        report.notes.push(
            "full speed is when all slices' indexes are loaded; verified are entries that were acknowledged before \
            the kill"
                .to_owned(),
        );
        let report = session.finish(&name, report)?;
        session.close()?;
        Ok(report)
    }

    /// Has so many entries loaded, by a process that is killed then.
    fn kill(&self, entries: u64) -> Result<(), Error> {
        let failed = |what: std::io::Error| Error::Child(format!("could not be started: {what}"));
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .arg(entries.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut said = String::new();
        if let Some(output) = child.stdout.take() {
            // Whatever is wrong with it shows in what it has not said.
            let _ = BufReader::new(output).read_line(&mut said);
        }
        let _ = child.kill();
        let output = child.wait_with_output().map_err(failed)?;
        if said.trim_end() == THERE {
            return Ok(());
        }
        let error = String::from_utf8_lossy(&output.stderr);
        Err(Error::Child(format!("has stopped early: {}", error.trim_end())))
    }
}

/// What the process that is to be killed does: loads on, says that `entries` are there, and loads on.
///
/// # Errors
/// As a load; it does not end otherwise until all is loaded.
pub fn load_until_killed(setup: &Setup, entries: u64) -> Result<(), Error> {
    let mut session = BenchSession::open(setup, &Nobody)?;
    let there = session.history.last().map_or(0, |phase| phase.certain);
    let mut has_said = false;
    let mut say = |session: &mut BenchSession<'_>, made: u64| {
        let certain = there + made - session.puts.waiting() as u64;
        if !has_said && certain >= entries {
            has_said = true;
            // A put under way counts as one that may be there.
            session.note_data(false)?;
            let mut out = std::io::stdout().lock();
            // Who asked is gone: then there is no kill to wait for.
            let _ = writeln!(out, "{THERE}").and_then(|()| out.flush());
        }
        Ok(true)
    };
    let left = session.setup.entries - there;
    session.put_many(left, &mut say)?;
    say(&mut session, left)?;
    // Killed at rest, when there was nothing left to put.
    loop {
        session.driver.poll()?;
        session.driver.wait(Duration::from_secs(1))?;
    }
}

/// Opens what a kill has left.
fn reopen(setup: &Setup, bytes: u64) -> Result<Value, Error> {
    let journal = Journal::open(&setup.dir)?;
    let phases = journal.data().map(|data| data.phases.clone()).unwrap_or_default();
    let history = WriteHistory::new(setup.entries, phases);
    let certain = history.last().map_or(0, |phase| phase.certain);
    if certain == 0 {
        return Err(Error::Unfit(
            "with so few puts and --ack memory no entry is certain to survive a kill: give --ack durable".to_owned(),
        ));
    }
    let order = Permutation::new(setup.entries, history.last().map_or(0, |phase| u64::from(phase.version)));
    let mut draw = Draw::uniform(certain, fresh_seed());
    let (began, cpu) = (Instant::now(), cpu_us());
    let mut driver = crate::driver::StoreDriver::open(&journal.data_path(), setup)?;
    let opened = began.elapsed();
    let mut lookups = Lookups::new(setup.value_bytes);
    let (mut first, mut loaded) = (None, None);
    let most = usize::try_from(setup.depth).unwrap_or(1);
    let sample = SAMPLE.min(certain);
    loop {
        let asked = lookups.answered + lookups.under_way() as u64;
        if asked < sample && lookups.under_way() < if first.is_none() { 1 } else { most } {
            lookups.ask(&mut driver, &history, &[(order.at(draw.draw()), Instant::now())])?;
        }
        let polled = driver.poll()?;
        if polled.retry {
            lookups.retry(&mut driver, &history)?;
            let stats = driver.stats();
            if loaded.is_none() && stats.index.slices_loaded == stats.index.slices {
                loaded = Some((began.elapsed(), cpu_us() - cpu));
            }
        }
        lookups.take(&mut driver, &history, None)?;
        if first.is_none() && lookups.answered > 0 {
            first = Some(began.elapsed());
        }
        if lookups.answered >= sample && loaded.is_some() {
            break;
        }
        if loaded.is_none() {
            // A store without segments has nothing to load.
            let stats = driver.stats();
            if stats.index.slices_loaded == stats.index.slices {
                loaded = Some((began.elapsed(), cpu_us() - cpu));
            }
        }
        let is_full = lookups.under_way() >= most || lookups.answered + lookups.under_way() as u64 >= sample;
        driver.reader.submit()?;
        if !polled.more && (is_full || first.is_none()) {
            driver.wait(Duration::from_millis(1))?;
        }
    }
    let opening = driver.opening;
    driver.close()?;
    let seconds = |duration: Option<Duration>| duration.map(|duration| duration.as_secs_f64());
    Ok(json!({
        "user_bytes": bytes,
        "entries": certain,
        "replayed": opening.replayed,
        "was_clean": opening.clean,
        "open_seconds": opened.as_secs_f64(),
        "first_read_seconds": seconds(first),
        "loaded_seconds": seconds(loaded.map(|(after, _)| after)),
        "loaded_cpu_seconds": loaded.map(|(_, cpu)| cpu / 1e6),
        "verified": lookups.answered,
    }))
}
