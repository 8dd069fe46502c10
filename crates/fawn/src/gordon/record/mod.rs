//! `fawn gordon record`: what this machine does, by the second and by the request.

mod instructions;
mod machine;
mod requests;

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use fawn_gordon::trace::{COLUMNS, RecordingHead, RecordingSample, RecordingWriter, TraceColumn};
use fawn_node::signals;
use fawn_report::TextTable;
use fawn_report::amount::{bytes, count, counted, digits, grouped};
use serde_json::{Map, Value, json};

use self::machine::MachineCounters;
use self::requests::{RequestCounts, RequestRecorder};
use super::output::print;
use crate::outcome::CommandStatus;
use crate::output_file::{check_output, create};
use crate::progress::TerminalBar;
use crate::resources::host_name;
use crate::table::print_json;
use crate::tell::{tell, unless_closed};
use crate::values::{Span, parse_wait};

/// How often the recorder looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// How long a command has to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(10);

/// Arguments of `fawn gordon record`.
#[derive(Debug, Args)]
#[command(after_help = "\
The recording is text: a head that names the source of each column, then a line for each sample. What is not measured \
says so and is never 0. Simulations of clusters read it.

By default it is of the whole machine: processors from /proc/stat, network adapters from /proc/net/dev, disks from \
/proc/diskstats without those that lie on others. --cgroup takes processors and disks of one control group, of \
version 1 or 2. --device takes all that a disk does, whatever the group: name a disk that nobody else uses, such as \
the loop device of a container. Instructions and cache misses need hardware counters, which most virtual machines \
lack. What the page cache answers reaches no disk.

--requests also records each request to the disks, with its response time, in the compact format of `fawn gordon \
replay`. It needs root and tracefs. What the recorder writes itself is in it too: write to another disk if that \
matters.

The recording ends after --seconds, with COMMAND, or at Ctrl-C, also at a hangup unless nohup ignores it. COMMAND is \
ended with it, and killed if it takes longer than 10 s. With --json, what COMMAND prints goes to standard error. The \
recording is whole after each sample.

For example:
  fawn gordon record web.recording --seconds 10m
  fawn gordon record web.recording --requests web.trace --interface lo -- fawn bench net 127.0.0.1:11211")]
pub struct RecordArguments {
    /// File for the recording; it is replaced if it exists
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// End after this long [default: when COMMAND ends, else at Ctrl-C]
    #[arg(long, value_name = "DURATION", hide_env = true, value_parser = parse_wait)]
    pub seconds: Option<Span>,
    /// Length of a sample
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_period)]
    pub period: Span,
    /// Also record each request to the disks into this file
    #[arg(long, value_name = "FILE", hide_env = true)]
    pub requests: Option<PathBuf>,
    /// Record processors and disks of this control group alone
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub cgroup: Option<String>,
    /// Network interface; repeat it for several [default: all adapters, without bridges, tunnels and lo]
    #[arg(long, value_name = "NAME")]
    pub interface: Vec<String>,
    /// Disk, e.g. sda; repeat it for several [default: all that lie on no other]
    #[arg(long, value_name = "NAME")]
    pub disk: Vec<String>,
    /// Disk that is this machine's alone, such as loop3: all that it does counts, also with --cgroup; repeat it for
    /// several
    #[arg(long, value_name = "NAME", conflicts_with = "disk")]
    pub device: Vec<String>,
    /// Name of the machine in the recording [default: its host name]
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Command to record; the recording ends with it
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<String>,
}

fn parse_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() {
        Err("write a name that is not blank, or leave the flag out".to_owned())
    } else {
        Ok(name.to_owned())
    }
}

fn parse_period(text: &str) -> Result<Span, String> {
    let period = parse_wait(text)?;
    if period.0 < Duration::from_millis(10) || period.0 > Duration::from_hours(1) {
        return Err("a sample is from 10ms to 1h long".to_owned());
    }
    Ok(period)
}

/// Records until it is over.
///
/// # Errors
/// What is to be recorded is not there, a file cannot be written, or the command cannot be started.
pub fn run(arguments: &RecordArguments) -> anyhow::Result<CommandStatus> {
    check_output(&arguments.file, "FILE", [])?;
    if let Some(requests) = &arguments.requests {
        check_output(requests, "--requests", [arguments.file.as_path()])?;
    }
    let stop = signals::asked_to_stop().context("cannot wait for signals")?;
    let mut machine =
        MachineCounters::find(arguments.cgroup.as_deref(), &arguments.interface, &arguments.disk, &arguments.device)?;
    let head = RecordingHead {
        machine: arguments.name.clone().unwrap_or_else(host_name).trim().replace(['\n', '\r'], " "),
        period_ms: arguments.period.0.as_millis() as u64,
        sources: machine.sources().clone(),
    };
    let devices = machine.disks().iter().filter_map(machine::RecordedDisk::device).collect();
    // First, as it is what may fail: a recording of that name is not replaced in vain.
    let requests = arguments.requests.as_ref().map(|path| RequestRecorder::start(path, devices)).transpose()?;
    let mut child = start(&arguments.command, arguments.json)?;
    let told = || format!("cannot write {}", arguments.file.display());
    let file = create(&arguments.file, "FILE", arguments.requests.as_deref());
    let mut writer = match file.and_then(|file| RecordingWriter::new(file, &head).with_context(told)) {
        Ok(writer) => writer,
        Err(error) => {
            if let Some(child) = &mut child {
                let _ = child.kill();
                let _ = child.wait();
            }
            return Err(error);
        }
    };
    if !arguments.json {
        for (column, why) in machine.absences() {
            tell(format_args!("fawn: {column} is not measured: {why}"));
        }
    }
    if arguments.seconds.is_none() && arguments.command.is_empty() && !arguments.json {
        tell(format_args!("fawn: recording until Ctrl-C, one sample each {:?}", arguments.period.0));
    }
    let mut run = RecordingRun { child, ended: None, requests, sums: RecordingSums::default() };
    let recorded = run.record(&mut machine, &mut writer, arguments, &stop);
    let status = run.wait_for_child();
    let counts = run.requests.take().map(RequestRecorder::finish).transpose();
    recorded.with_context(|| format!("cannot write {}", arguments.file.display()))?;
    writer.finish().with_context(|| format!("cannot write {}", arguments.file.display()))?;
    let counts = counts?;
    let sums = &run.sums;
    unless_closed(if arguments.json {
        print_json(&as_json(arguments, &head, &machine, sums, counts))
    } else {
        show(arguments, &head, sums, counts)
    })?;
    if let Some(status) = status.filter(|status| !status.success()) {
        tell(format_args!("fawn: the command ended with {status}; the recording is whole"));
        return Ok(CommandStatus::Missing);
    }
    Ok(CommandStatus::Done)
}

/// Starts the command. What it prints is kept out of JSON.
fn start(command: &[String], is_json: bool) -> anyhow::Result<Option<Child>> {
    let Some((program, arguments)) = command.split_first() else { return Ok(None) };
    let mut command = Command::new(program);
    command.args(arguments);
    if is_json {
        let errors = std::io::stderr().as_fd().try_clone_to_owned().context("cannot share standard error")?;
        command.stdout(errors);
    }
    command.spawn().map(Some).with_context(|| format!("cannot start {program}"))
}

/// What was recorded, summed up.
#[derive(Debug, Default)]
struct RecordingSums {
    samples: u64,
    seconds: f64,
    values: [f64; COLUMNS],
    absent: [u64; COLUMNS],
}

/// A recording under way.
struct RecordingRun {
    child: Option<Child>,
    ended: Option<ExitStatus>,
    requests: Option<RequestRecorder>,
    sums: RecordingSums,
}

impl RecordingRun {
    /// Writes a sample for each period until a signal, the time or the command's end ends it. What is left of the last
    /// period is written as a sample too if there is no whole one.
    fn record(
        &mut self,
        machine: &mut MachineCounters,
        writer: &mut RecordingWriter<File>,
        arguments: &RecordArguments,
        stop: &AtomicBool,
    ) -> anyhow::Result<()> {
        let period = arguments.period.0;
        let bar = TerminalBar::samples(arguments.seconds.map(|span| (span.0.as_millis() / period.as_millis()) as u64));
        let begin = Instant::now();
        let end = arguments.seconds.map(|span| begin + span.0);
        let mut before = machine.read();
        let mut began_ms = 0;
        let mut next = begin + period;
        loop {
            let is_over = self.wait_until(next, end, stop);
            let elapsed = begin.elapsed();
            let now_ms = on_period(elapsed, period);
            let is_short = Instant::now() + period / 20 < next;
            if now_ms > began_ms && !(is_short && self.sums.samples > 0) {
                let now = machine.read();
                let sample = RecordingSample { time_ms: began_ms, values: now.since(&before) };
                let sample = of_known(sample, machine);
                writer.push(&sample)?;
                self.sums.add(&sample, (now_ms - began_ms) as f64 / 1e3);
                bar.update(self.sums.samples, String::new());
                (before, began_ms) = (now, now_ms);
            }
            if is_over {
                bar.finish();
                return Ok(());
            }
            // A machine that slept has one long sample.
            while next <= Instant::now() {
                next += period;
            }
        }
    }

    /// Waits for the next sample. Whether it is the last one.
    fn wait_until(&mut self, next: Instant, end: Option<Instant>, stop: &AtomicBool) -> bool {
        loop {
            let now = Instant::now();
            let is_ended = end.is_some_and(|end| now >= end);
            let requests_ended = self.requests.as_ref().is_some_and(|requests| !requests.is_running());
            if stop.load(Ordering::Relaxed) || is_ended || requests_ended || self.child_ended() {
                return true;
            }
            if now >= next {
                return false;
            }
            let until = end.map_or(next, |end| end.min(next));
            std::thread::sleep(LOOK.min(until.saturating_duration_since(now)));
        }
    }

    fn child_ended(&mut self) -> bool {
        let Some(child) = &mut self.child else { return false };
        if self.ended.is_none() {
            self.ended = child.try_wait().ok().flatten();
        }
        self.ended.is_some()
    }

    /// Ends a command that still runs, as the recording is over, and waits for it.
    fn wait_for_child(&mut self) -> Option<ExitStatus> {
        let child = self.child.as_mut()?;
        if self.ended.is_none() {
            let pid = rustix::process::Pid::from_child(child);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            let patience = Instant::now() + PATIENCE;
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < patience {
                std::thread::sleep(LOOK);
            }
            // It was ended on purpose. One that has ended already is left alone.
            let _ = child.kill().and_then(|()| child.wait());
            return None;
        }
        self.ended
    }
}

/// A value of a column whose source was not there at the beginning has no place in the recording.
fn of_known(mut sample: RecordingSample, machine: &MachineCounters) -> RecordingSample {
    for (value, source) in sample.values.iter_mut().zip(machine.sources()) {
        *value = value.filter(|_| source.is_some());
    }
    sample
}

/// Milliseconds, on a multiple of the period if they are near to one: waking up late by a little is no other sample. A
/// recording that ends soon after it began still has its time.
fn on_period(elapsed: Duration, period: Duration) -> u64 {
    let (ms, period_ms) = (elapsed.as_millis() as u64, period.as_millis() as u64);
    let nearest = (ms + period_ms / 2) / period_ms * period_ms;
    if nearest > 0 && nearest.abs_diff(ms) * 20 <= period_ms { nearest } else { ms }
}

impl RecordingSums {
    fn add(&mut self, sample: &RecordingSample, seconds: f64) {
        self.samples += 1;
        self.seconds += seconds;
        for column in TraceColumn::ALL {
            match sample.value(column) {
                Some(value) => self.values[column as usize] += value,
                None => self.absent[column as usize] += 1,
            }
        }
    }
}

fn as_json(
    arguments: &RecordArguments,
    head: &RecordingHead,
    machine: &MachineCounters,
    sums: &RecordingSums,
    counts: Option<RequestCounts>,
) -> Value {
    let column = |column: TraceColumn| {
        let at = column as usize;
        let value = if let Some(source) = &head.sources[at] {
            json!({
                "source": source,
                "sum": sums.values[at],
                "samples_without_value": sums.absent[at],
            })
        } else {
            let why = machine.absences().iter().find(|(absent, _)| *absent == column).map(|(_, why)| why);
            json!({ "source": null, "not_measured": why })
        };
        (column.name().to_owned(), value)
    };
    let requests = counts.map(|counts| {
        json!({
            "file": arguments.requests,
            "requests": counts.requests,
            "lost_events": counts.lost_events,
        })
    });
    json!({
        "file": arguments.file,
        "machine": head.machine,
        "period_ms": head.period_ms,
        "samples": sums.samples,
        "seconds": sums.seconds,
        "columns": TraceColumn::ALL.into_iter().map(column).collect::<Map<_, _>>(),
        "requests": requests,
    })
}

fn show(
    arguments: &RecordArguments,
    head: &RecordingHead,
    sums: &RecordingSums,
    counts: Option<RequestCounts>,
) -> std::io::Result<()> {
    let told = |column: TraceColumn, value: f64| match column {
        TraceColumn::CpuSeconds => format!("{} s", digits(value)),
        TraceColumn::Instructions | TraceColumn::CacheMisses => count(value),
        TraceColumn::DiskReads | TraceColumn::DiskWrites => grouped(value as u64),
        _ => bytes(value),
    };
    let rows = TraceColumn::ALL.into_iter().map(|column| {
        let at = column as usize;
        let source = head.sources[at].clone();
        let sum = source.as_ref().map_or_else(|| "not measured".to_owned(), |_| told(column, sums.values[at]));
        let absent = if sums.absent[at] > 0 && source.is_some() {
            format!("; {} without a value", counted(sums.absent[at], "sample", "samples"))
        } else {
            String::new()
        };
        vec![column.to_string(), sum, source.unwrap_or_default() + &absent]
    });
    let table = TextTable::of(&["column", "sum", "source"], &[2], rows);
    let mut lines = vec![format!(
        "{}: {} of {}, {} s",
        arguments.file.display(),
        counted(sums.samples, "sample", "samples"),
        head.machine,
        digits(sums.seconds)
    )];
    let mut notes = Vec::new();
    if sums.samples == 0 {
        notes.push("It has no sample, since it ended within a millisecond: record for longer.".to_owned());
    }
    if let (Some(counts), Some(path)) = (counts, &arguments.requests) {
        lines.push(format!("{}: {}", path.display(), counted(counts.requests, "request", "requests")));
        if counts.lost_events > 0 {
            let events = counted(counts.lost_events, "event", "events");
            notes.push(format!("The kernel lost {events}: some requests are missing."));
        }
    }
    print(&lines, &[table], &notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_are_a_little_late_begin_on_their_period() {
        let at = |ms| on_period(Duration::from_millis(ms), Duration::from_secs(1));
        assert_eq!([1_000, 1_049, 960, 1_300, 2_500].map(at), [1_000, 1_000, 1_000, 1_300, 2_500]);
        assert_eq!([0, 1, 49, 51].map(at), [0, 1, 49, 51], "what ends soon has a sample of its own");
    }
}
