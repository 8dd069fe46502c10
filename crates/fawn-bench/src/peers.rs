//! The same experiment on other storage engines, by another program, `fawn-peers`: its rows beside the store's own.
//!
//! The program is called for one engine at a time, once the store is closed, with the experiment's name and its parameters
//! as flags. It prints a [`BenchReport`] as JSON on standard output, lines of `progress DONE TOTAL WHAT` on standard error, and
//! there, too, why it has failed. What it has measured is kept in the store's own notes.

use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use fawn_report::{BenchReport, Watch};
use fawn_workload::WriteHistory;
use serde_json::{Map, Value};

use crate::children::StoppableChild;
use crate::derived::versions;
use crate::error::{Error, FlagBytes};
use crate::experiments::{self, Experiment};
use crate::journal::Journal;
use crate::setup::Setup;

/// What the program is called.
pub const PROGRAM: &str = "fawn-peers";
/// Part of what the program says of an engine that it was built without.
pub const BUILT_WITHOUT: &str = "built without";
/// Of a store's directory, where the engines have theirs.
const DIR: &str = "peers";
/// The store's own name beside theirs.
const OWN: &str = "fawn";
/// Less than this an engine's smallest buffers do not fit in.
const LEAST_MEMORY: u64 = 4 << 20;
/// Data are of one age where they differ by no more than this in how often everything was written.
const AS_OLD: f64 = 0.1;

/// Which other engines are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peers {
    /// Names of engines, as the program knows them.
    pub engines: Vec<String>,
    /// They have so many times fewer entries, and less memory, than the store; at least 1.
    pub scale: u64,
    /// The program.
    pub program: PathBuf,
}

impl Peers {
    /// Finds the program: `given`, or beside this one, or where the shell looks (`path`, as in `PATH`).
    ///
    /// # Errors
    /// [`Error::NoPeers`]: it is nowhere.
    pub fn find(given: Option<&Path>, own: Option<&Path>, path: Option<&std::ffi::OsStr>) -> Result<PathBuf, Error> {
        let beside = own.and_then(Path::parent).map(|dir| dir.join(PROGRAM));
        let installed = path.into_iter().flat_map(std::env::split_paths).map(|dir| dir.join(PROGRAM));
        let found = match given {
            Some(given) => Some(given.to_owned()).filter(|given| given.is_file()),
            None => beside.into_iter().chain(installed).find(|path| path.is_file()),
        };
        found.ok_or_else(|| Error::NoPeers(given.unwrap_or(Path::new(PROGRAM)).to_owned()))
    }

    /// Refuses a scale that leaves an engine too little of so many bytes of memory.
    ///
    /// # Errors
    /// [`Error::Unfit`].
    pub fn check_memory(memory: u64, scale: u64) -> Result<(), Error> {
        if memory / scale >= LEAST_MEMORY {
            return Ok(());
        }
        Err(Error::Unfit(format!(
            "--memory {} divided by {scale} leaves an engine less than {}: give a smaller --peer-scale",
            FlagBytes(memory),
            FlagBytes(LEAST_MEMORY)
        )))
    }

    /// Runs the experiment on the store, and then on each engine; what was measured before is told again.
    ///
    /// # Errors
    /// As [`run`](experiments::run); [`Error::Peer`], [`Error::NoEngine`]. What was measured until then is kept.
    pub fn run(&self, setup: &Setup, experiment: &Experiment, watch: &dyn Watch) -> Result<BenchReport, Error> {
        // Before anything is measured in vain.
        self.command(setup, experiment, OWN)?;
        Self::check_memory(setup.memory, self.scale)?;
        let (mut report, name) = experiments::measure_one(setup, experiment, watch)?;
        report.parameter("peers", self.engines.clone());
        report.parameter("peer_scale", self.scale);
        let mut journal = Journal::open(&setup.dir)?;
        let before = versions_before(experiment, &report, &journal);
        mark(&mut report, setup, before);
        for engine in &self.engines {
            let name = format!("peer {engine} scale={} {name}", self.scale);
            if setup.again {
                journal.forget(&name)?;
            }
            let of_peer = if let Some(kept) = journal.result(&name) {
                kept.clone()
            } else {
                let measured = self.measure(setup, experiment, engine, watch)?;
                journal.finish(&name, &measured)?;
                measured
            };
            let of_engine = of_peer.rows.first().and_then(|row| row.get("versions")?.as_f64());
            let notes = other_age(before, of_engine).into_iter().chain(of_peer.notes);
            report.notes.extend(notes.map(|note| format!("{engine}: {note}")));
            report.rows.extend(of_peer.rows);
        }
        Ok(report)
    }

    /// Runs it on one engine alone, in `peers/ENGINE` of the directory; nothing is kept.
    ///
    /// # Errors
    /// [`Error::Peer`], [`Error::NoEngine`], [`Error::Io`].
    pub fn measure(
        &self,
        setup: &Setup,
        experiment: &Experiment,
        engine: &str,
        watch: &dyn Watch,
    ) -> Result<BenchReport, Error> {
        let failed = |reason: String| Error::Peer { engine: engine.to_owned(), reason };
        watch.progress(0, 1, &format!("{engine}: starting"));
        let mut command = self.command(setup, experiment, engine)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let dir = setup.dir.join(DIR);
        std::fs::create_dir_all(&dir).map_err(Error::io(&dir))?;
        let child = command.spawn().map_err(Error::io(&self.program))?;
        let _registered = StoppableChild::of(&child);
        let (told, said) = follow(child, engine, watch).map_err(Error::io(&self.program))?;
        let text = told.map_err(|ended| match said.unwrap_or(ended) {
            reason if reason.contains(BUILT_WITHOUT) => Error::NoEngine { engine: engine.to_owned(), reason },
            reason => failed(reason),
        })?;
        let mut report: BenchReport = serde_json::from_str(&text)
            .map_err(|error| failed(format!("printed no report ({error}): build it from the same sources as fawn")))?;
        if report.experiment != experiment.word() || report.rows.is_empty() {
            return Err(failed(format!("printed a report of `{}`, not of `{}`", report.experiment, experiment.word())));
        }
        for row in &mut report.rows {
            row.insert("engine".to_owned(), engine.into());
        }
        Ok(report)
    }

    /// The program with its arguments.
    fn command(&self, setup: &Setup, experiment: &Experiment, engine: &str) -> Result<Command, Error> {
        let mut command = Command::new(&self.program);
        command.arg(experiment.word()).args(["--engine", engine, "--json", "--progress", "--dir"]);
        command.arg(setup.dir.join(DIR).join(engine));
        let mut flag = |name: &str, value: String| {
            command.arg(name).arg(value);
        };
        flag("--entries", (setup.entries / self.scale).max(1).to_string());
        flag("--value-bytes", setup.value_bytes.to_string());
        flag("--memory", (setup.memory / self.scale).to_string());
        flag("--ack", setup.ack_name());
        flag("--puts-in-flight", setup.puts_in_flight.to_string());
        match experiment {
            Experiment::Load => {}
            Experiment::Get(get) => {
                let depths: Vec<String> = get.depths.iter().map(u32::to_string).collect();
                flag("--depths", depths.join(","));
                flag("--rounds", get.rounds.to_string());
                flag("--seconds", get.time.as_secs_f64().to_string());
            }
            Experiment::Overwrite(overwrite) => {
                flag("--passes", overwrite.passes.to_string());
                if let Some(exponent) = overwrite.zipf {
                    flag("--zipf", exponent.to_string());
                }
                if let Some(most) = overwrite.most_time {
                    flag("--most-seconds", most.as_secs_f64().to_string());
                }
            }
            Experiment::Mixed(mixed) => {
                flag("--depth", mixed.depth.to_string());
                flag("--gets-a-put", mixed.gets_a_put.to_string());
                flag("--seconds", mixed.time.as_secs_f64().to_string());
            }
            Experiment::Absent(absent) => {
                flag("--depth", absent.depth.to_string());
                flag("--seconds", absent.time.as_secs_f64().to_string());
            }
            Experiment::Hit(_)
            | Experiment::Pace(_)
            | Experiment::Split(_)
            | Experiment::Restart(_)
            | Experiment::Table(_) => {
                let word = experiment.word();
                return Err(Error::Unfit(format!("`{word}` cannot be measured with peers: leave --peers out")));
            }
        }
        if setup.again && *experiment == Experiment::Load {
            command.arg("--again");
        }
        Ok(command)
    }
}

/// What a child printed, or how it has ended; and the last that it said of its own.
type ChildOutput = (Result<String, String>, Option<String>);

/// Passes on how far a child is, until it ends.
fn follow(mut child: Child, engine: &str, watch: &dyn Watch) -> std::io::Result<ChildOutput> {
    let mut out = child.stdout.take().expect("it is piped");
    let errors = child.stderr.take().expect("it is piped");
    let (sender, lines) = mpsc::channel();
    let printed = thread::spawn(move || {
        let mut text = String::new();
        out.read_to_string(&mut text).map(|_| text)
    });
    let reader = thread::spawn(move || {
        let lines = BufReader::new(errors).lines().map_while(Result::ok);
        // Nobody listens any more: nothing to say.
        lines.take_while(|line| sender.send(line.clone()).is_ok()).for_each(drop);
    });
    let mut said = None;
    for line in lines {
        match progress(&line) {
            Some((done, total, what)) => watch.progress(done, total, &format!("{engine}: {what}")),
            None if line.trim().is_empty() => {}
            None => said = Some(line.trim_start_matches("fawn-peers: ").to_owned()),
        }
    }
    let _ = reader.join();
    let text = printed.join().unwrap_or_else(|_| Ok(String::new()))?;
    let status = child.wait()?;
    Ok(if status.success() { (Ok(text), said) } else { (Err(format!("ended with {status}")), said) })
}

/// `progress DONE TOTAL WHAT`.
fn progress(line: &str) -> Option<(u64, u64, &str)> {
    let mut parts = line.strip_prefix("progress ")?.splitn(3, ' ');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?))
}

/// How often everything had been written when the store was measured. An experiment that writes tells it; the result of
/// another one is kept by the age of the data, which are still the same.
fn versions_before(experiment: &Experiment, report: &BenchReport, journal: &Journal) -> Option<f64> {
    match experiment {
        Experiment::Load => Some(0.0),
        Experiment::Get(_) | Experiment::Absent(_) => {
            journal.data().map(|data| versions(&WriteHistory::new(data.entries, data.phases.clone())))
        }
        _ => report.parameters.get("versions")?.as_f64(),
    }
}

/// What there is to say where an engine's data are of another age than the store's.
fn other_age(own: Option<f64>, other: Option<f64>) -> Option<String> {
    let (own, other) = own.zip(other)?;
    ((own - other).abs() > AS_OLD).then(|| {
        format!(
            "its data had been written {other:.2} times, the store's {own:.2} times: to compare data of the same \
            age, do the same with both, from `load --again` on"
        )
    })
}

/// Says of the store's own rows what those of the others say.
fn mark(report: &mut BenchReport, setup: &Setup, versions: Option<f64>) {
    let most_rss = report.memory.as_ref().and_then(|memory| memory.most_rss_bytes);
    let mark = |row: &mut Map<String, Value>| {
        for (name, value) in [
            ("engine", OWN.into()),
            ("engine_version", env!("CARGO_PKG_VERSION").into()),
            ("entries", setup.entries.into()),
            ("memory_bytes", setup.memory.into()),
            ("most_rss_bytes", most_rss.into()),
            ("versions", versions.into()),
        ] {
            row.insert(name.to_owned(), value);
        }
    };
    report.rows.iter_mut().for_each(mark);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fawn_workload::{Order, WritePhase};

    use super::*;
    use crate::experiments::{AbsentExperiment, MixedExperiment};
    use crate::journal::Data;

    #[test]
    fn the_program_is_given_or_beside_this_one_or_where_the_shell_looks() {
        let dir = tempfile::tempdir().unwrap();
        let (beside, installed) = (dir.path().join("beside"), dir.path().join("installed"));
        for dir in [&beside, &installed] {
            std::fs::create_dir(dir).unwrap();
        }
        let (own, path) = (beside.join("fawn"), installed.as_os_str());
        let find = |given: Option<&Path>| Peers::find(given, Some(&own), Some(path));
        let sentence = find(None).unwrap_err().to_string();
        assert!(sentence.contains("cargo build --release --manifest-path peers/Cargo.toml"), "{sentence}");
        std::fs::write(installed.join(PROGRAM), "").unwrap();
        assert_eq!(find(None).unwrap(), installed.join(PROGRAM));
        std::fs::write(beside.join(PROGRAM), "").unwrap();
        assert_eq!(find(None).unwrap(), beside.join(PROGRAM));
        assert!(find(Some(&dir.path().join("none"))).is_err(), "what is given is not looked for elsewhere");
    }

    #[test]
    fn data_of_another_age_are_told_of() {
        for (own, other) in [(Some(1.0), Some(1.0)), (Some(1.05), Some(1.0)), (None, Some(1.0)), (Some(1.0), None)] {
            assert_eq!(other_age(own, other), None);
        }
        let note = other_age(Some(4.0), Some(1.25)).unwrap();
        assert!(note.starts_with("its data had been written 1.25 times, the store's 4.00 times: "), "{note}");
        assert!(other_age(Some(1.0), Some(4.0)).is_some());
    }

    #[test]
    fn what_the_store_was_measured_on_is_told_by_what_writes_and_else_by_its_data() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path()).unwrap();
        let phases = vec![WritePhase { version: 3, order: Order::Shuffled, certain: 7, possible: 7 }];
        journal.set_data(Data { entries: 7, value_bytes: 8, memory: 9, phases, age: 2 }).unwrap();
        let (time, mut report) = (Duration::from_secs(1), BenchReport::new("mixed"));
        let before = |experiment: &Experiment, report: &BenchReport| versions_before(experiment, report, &journal);
        assert_eq!(before(&Experiment::Load, &report), Some(0.0));
        assert_eq!(before(&Experiment::Absent(AbsentExperiment { depth: 1, time }), &report), Some(3.0));
        let mixed = Experiment::Mixed(MixedExperiment { depth: 1, gets_a_put: 6, time });
        assert_eq!(before(&mixed, &report), None, "it was kept before this was told");
        report.parameter("versions", 1.0);
        assert_eq!(before(&mixed, &report), Some(1.0), "it was measured before the data were written again");
    }

    #[test]
    fn progress_is_told_from_other_lines() {
        assert_eq!(progress("progress 3 10 gets, 8 in flight"), Some((3, 10, "gets, 8 in flight")));
        assert_eq!(progress("progress is slow"), None);
        assert_eq!(progress("fawn-peers: the disk is full"), None);
    }
}
