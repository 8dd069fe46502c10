//! `fawn gordon replay`: a block trace on simulated devices beside each other, or in the compact format.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use fawn_files::links;
use fawn_gordon::disk::PoweredDisk;
use fawn_gordon::flash::FlashModel;
use fawn_gordon::flash::presets as arrays;
use fawn_gordon::measure::address_map::AddressFit;
use fawn_gordon::measure::tables::{Sheet, beside};
use fawn_gordon::measure::{
    AddressMap, DeviceReport, DiskMeasurement, FlashMeasurement, Pacing, RequestSupply, TraceScan, TraceSelection,
};
use fawn_gordon::trace::{
    BlkparseAction, BlockRequest, CompactWriter, DiskSimTime, TraceFormat, TraceOptions, TraceReader,
};
use fawn_report::Watch;
use fawn_report::amount::{bytes, counted, grouped, seconds};
use serde::Serialize;

use super::array::{self, PAPER_ARRAY};
use super::disk_files;
use super::disk_notes::{self, PAPER_DISK};
use super::flash;
use super::ftl::FtlArguments;
use super::output::{bar, print};
use super::packed::refuse_packed;
use super::refusal::{ArrayOrigin, ArrayRefusal, of_trace};
use super::typed::TypedFlags;
use crate::bench::output::Bar;
use crate::outcome::{CommandStatus, UsageError};
use crate::output_file::{check_output, create};
use crate::table::print_json;
use crate::tell::{tell, unless_closed};
use crate::values::{Count, decimal, number, parse_entries};

/// Requests between two looks at the progress of a scan.
const STRIDE: u64 = 1 << 16;

/// Arguments of `fawn gordon replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Formats: msr, alibaba, tencent, spc, fiu, disksim, blkparse, fio-v2, fio-v3, and compact, which --to writes. The \
format is found out by the content, unless --format names it.

Unpack a packed trace first:
  zcat web_0.csv.gz | fawn gordon replay - --on gordon-slc-133

A damaged line costs that line: it is counted, and the first ten are printed with their numbers. If the trace cannot \
be read to its end, the command reports what there was and ends with exit code 1.

Requests are issued at the trace's own times, --speed times as fast, or with --saturated as soon as the device takes \
them. Traces without times (fio-v2) are always saturated. Volumes lie one after the other on the device. What lies \
past its end begins from 0 again, and the report counts it. Arrays begin with every page written, unless \
--first-state says otherwise.

For example:
  fawn gordon replay web_0.csv --on gordon-slc-133 --on sata-1tb-2008
  fawn gordon replay web_0.csv --to web_0.trace")]
pub struct ReplayArguments {
    /// Trace; - for standard input
    #[arg(value_name = "TRACE")]
    pub file: PathBuf,
    /// Device: a preset or a file of an array or a disk; repeat it to compare
    /// [default: gordon-slc-133 and sata-1tb-2008, unless --to is given]
    #[arg(long, value_name = "NAME|FILE", hide_env = true)]
    pub on: Vec<String>,
    /// Write the trace in the compact format
    #[arg(long, value_name = "FILE", hide_env = true)]
    pub to: Option<PathBuf>,
    /// Requests that the host keeps at a disk, where they have no times or --saturated is given
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = number::<u32>(1..=65_536))]
    pub outstanding: u32,
    #[command(flatten)]
    pub trace: TraceArguments,
    #[command(flatten)]
    pub ftl: FtlArguments,
    /// Equal seeds give equal results
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u64>(..))]
    pub seed: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// How a trace is read and issued.
#[derive(Debug, Args)]
#[command(next_help_heading = "A trace")]
pub struct TraceArguments {
    /// Format of the trace [default: by its content]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub format: Option<String>,
    /// Only this volume, as the trace names it
    #[arg(long, value_name = "NAME")]
    pub volume: Option<String>,
    /// Only so many requests
    #[arg(long, value_name = "N", value_parser = parse_entries)]
    pub limit: Option<Count>,
    /// Trace seconds in a simulated second
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = decimal(1e-6..=1e6))]
    pub speed: f64,
    /// Issue requests as soon as the device takes them, whatever their times
    #[arg(long)]
    pub saturated: bool,
    /// Event of a blkparse trace that is a request
    #[arg(long, value_name = "EVENT", default_value = "queue")]
    pub blkparse_event: EventChoice,
    /// Unit of the times in the format disksim
    #[arg(long, value_name = "UNIT", default_value = "ms")]
    pub disksim_time: TimeChoice,
}

/// Which event of a blkparse trace is a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EventChoice {
    /// Handed to the block layer (Q)
    Queue,
    /// Handed to the driver, perhaps merged from several (D)
    Issue,
}

/// The unit of times in the format disksim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimeChoice {
    /// Milliseconds, as the format has them
    Ms,
    /// Nanoseconds, as other simulators write them
    Ns,
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(TraceFormat::ALL.map(TraceFormat::name))
}

impl TraceArguments {
    /// Refuses flags of other formats, and a speed without times.
    pub fn check(&self, typed: &TypedFlags<'_>) -> Result<(), String> {
        if self.saturated {
            typed.refuse(&["speed"], "with --saturated")?;
        }
        if self.format().is_some_and(|format| format != TraceFormat::Blkparse) {
            typed.refuse(&["blkparse_event"], "on traces of another format than blkparse")?;
        }
        if self.format().is_some_and(|format| format != TraceFormat::DiskSim) {
            typed.refuse(&["disksim_time"], "on traces of another format than disksim")?;
        }
        Ok(())
    }

    /// Says which flags have no effect on a trace whose format was found out.
    fn tell_idle(&self, format: TraceFormat) {
        for (flag, is_set, of) in [
            ("--blkparse-event", self.blkparse_event != EventChoice::Queue, TraceFormat::Blkparse),
            ("--disksim-time", self.disksim_time != TimeChoice::Ms, TraceFormat::DiskSim),
        ] {
            if is_set && format != of {
                tell(format_args!("fawn: {flag} has no effect, as the trace is of the format {}", format.name()));
            }
        }
    }

    fn options(&self) -> TraceOptions {
        TraceOptions {
            disksim_time: match self.disksim_time {
                TimeChoice::Ms => DiskSimTime::Milliseconds,
                TimeChoice::Ns => DiskSimTime::Nanoseconds,
            },
            blkparse_action: match self.blkparse_event {
                EventChoice::Queue => BlkparseAction::Queue,
                EventChoice::Issue => BlkparseAction::Issue,
            },
        }
    }

    fn format(&self) -> Option<TraceFormat> {
        self.format.as_deref().and_then(TraceFormat::named)
    }

    fn pacing(&self, scan: &TraceScan) -> Pacing {
        if self.saturated || !scan.has_times { Pacing::Saturated } else { Pacing::Timed }
    }
}

/// A trace that can be read several times.
struct TraceSource {
    /// Told with errors.
    name: String,
    place: TracePlace,
    scan: TraceScan,
}

/// Where a trace is.
enum TracePlace {
    File {
        path: PathBuf,
        format: TraceFormat,
        options: TraceOptions,
        volume: Option<String>,
        most: u64,
    },
    /// Standard input, kept in the compact format.
    Spool(File),
}

impl TraceSource {
    /// Scans a trace, writes it to `to` in the compact format, and keeps what can be read only once.
    fn open(file: &Path, to: Option<&Path>, arguments: &TraceArguments, watch: &dyn Watch) -> anyhow::Result<Self> {
        let is_stdin = file == Path::new("-");
        let is_read_once = is_stdin || links::is_stream(file);
        let name = if is_stdin { "standard input".to_owned() } else { file.display().to_string() };
        let mut input: Box<dyn BufRead> = if is_stdin {
            Box::new(BufReader::new(std::io::stdin()))
        } else {
            links::refuse_directory(file).with_context(|| format!("cannot read {name}"))?;
            Box::new(BufReader::new(File::open(file).with_context(|| format!("cannot read {name}"))?))
        };
        refuse_packed(&mut input, &name)?;
        let options = arguments.options();
        let (reader, format): (Box<dyn Iterator<Item = _>>, TraceFormat) = if let Some(format) = arguments.format() {
            (Box::new(select(TraceReader::with_options(input, format, options), arguments)), format)
        } else {
            let reader = TraceReader::detect_with_options(input, options);
            let reader = reader.map_err(of_trace).with_context(|| format!("cannot read {name}"))?;
            let format = reader.format();
            (Box::new(select(reader, arguments)), format)
        };
        arguments.tell_idle(format);
        let mut scan = TraceScan::new(format);
        let mut converted = to.map(|to| convert_into(to, file)).transpose()?;
        let mut spool = None;
        if is_read_once {
            spool =
                Some(CompactWriter::new(BufWriter::new(tempfile::tempfile().context("cannot make a spool file")?))?);
        }
        for result in reader {
            let Some(request) = scan.add(result) else { continue };
            if let Some(writer) = &mut converted {
                writer.push(&request).context("cannot write the compact trace")?;
            }
            if let Some(writer) = &mut spool {
                writer.push(&request).context("cannot write the spool file")?;
            }
            let seen = scan.seen();
            if seen.is_multiple_of(STRIDE) {
                watch.progress(0, 1, &format!("{} read", counted(seen, "request", "requests")));
            }
        }
        scan.finish();
        if scan.reads + scan.writes + scan.discards + scan.flushes == 0 {
            tell_damage(&name, &scan);
            return Err(match &arguments.volume {
                Some(volume) => {
                    anyhow!("{name} has no request of volume {volume}: leave --volume out to see how many there are")
                }
                None => anyhow!("{name} has no request of format {}: name another one with --format", scan.format),
            });
        }
        if let Some(writer) = converted {
            writer.finish().context("cannot write the compact trace")?;
        }
        let place = match spool {
            Some(writer) => {
                let file = writer.finish().context("cannot write the spool file")?;
                TracePlace::Spool(file.into_inner().context("cannot write the spool file")?)
            }
            None => TracePlace::File {
                path: file.to_owned(),
                format,
                options,
                volume: arguments.volume.clone(),
                most: most(arguments),
            },
        };
        Ok(Self { name, place, scan })
    }

    /// The requests once more. What is damaged was told before.
    fn requests(&mut self) -> anyhow::Result<Box<dyn Iterator<Item = BlockRequest>>> {
        Ok(match &mut self.place {
            TracePlace::File { path, format, options, volume, most } => {
                let reader = TraceReader::with_options(open(path)?, *format, *options);
                Box::new(TraceSelection::new(reader, volume.clone(), *most).filter_map(Result::ok))
            }
            TracePlace::Spool(file) => {
                let mut file = file.try_clone().context("cannot read the spool file")?;
                file.seek(SeekFrom::Start(0)).context("cannot read the spool file")?;
                Box::new(TraceReader::new(BufReader::new(file), TraceFormat::Compact).filter_map(Result::ok))
            }
        })
    }

    /// The requests on a device of `capacity` bytes.
    fn supply(
        &mut self,
        capacity: u64,
        speed: f64,
    ) -> anyhow::Result<RequestSupply<Box<dyn Iterator<Item = BlockRequest>>>> {
        let map = AddressMap::new(&self.scan.ends, capacity);
        Ok(RequestSupply::new(self.requests()?, map, self.scan.first_ns, speed))
    }

    /// Tells damage on standard error.
    fn tell_damage(&self) {
        tell_damage(&self.name, &self.scan);
    }

    fn status(&self) -> CommandStatus {
        if self.scan.ended_early.is_some() { CommandStatus::Missing } else { CommandStatus::Done }
    }

    fn line(&self) -> String {
        let scan = &self.scan;
        let damaged = if scan.damaged > 0 { format!(", {} damaged", grouped(scan.damaged)) } else { String::new() };
        let unordered = if scan.unordered > 0 {
            format!(", {} before their predecessor", grouped(scan.unordered))
        } else {
            String::new()
        };
        format!(
            "{} ({}): {} of {}, {} of {}, {}, {}, {}, {}{damaged}{unordered}",
            self.name,
            scan.format,
            counted(scan.reads, "read", "reads"),
            bytes(scan.bytes_read as f64),
            counted(scan.writes, "write", "writes"),
            bytes(scan.bytes_written as f64),
            counted(scan.discards, "discard", "discards"),
            counted(scan.flushes, "flush", "flushes"),
            counted(scan.volumes, "volume", "volumes"),
            seconds(scan.seconds),
        )
    }
}

fn tell_damage(name: &str, scan: &TraceScan) {
    for damage in &scan.damage {
        tell(format_args!("fawn: {name}: {damage}"));
    }
    let more = scan.damaged - scan.damage.len() as u64;
    if more > 0 {
        let are = if more == 1 { "is" } else { "are" };
        let more = counted(more, "more line or block", "more lines or blocks");
        tell(format_args!("fawn: {name}: {more} {are} damaged"));
    }
    if let Some(why) = &scan.ended_early {
        tell(format_args!("fawn: {name}: the trace ends early: {why}"));
    }
}

fn most(arguments: &TraceArguments) -> u64 {
    arguments.limit.map_or(u64::MAX, |limit| limit.0)
}

/// The part of a trace that is asked for.
fn select<R: BufRead>(reader: TraceReader<R>, arguments: &TraceArguments) -> TraceSelection<R> {
    TraceSelection::new(reader, arguments.volume.clone(), most(arguments))
}

fn open(path: &Path) -> anyhow::Result<BufReader<File>> {
    Ok(BufReader::new(File::open(path).with_context(|| format!("cannot read {}", path.display()))?))
}

fn convert_into(to: &Path, from: &Path) -> anyhow::Result<CompactWriter<BufWriter<File>>> {
    let file = create(to, "--to", [from])?;
    CompactWriter::new(BufWriter::new(file)).with_context(|| format!("cannot write {}", to.display()))
}

/// A device of a replay.
enum ReplayDevice<'a> {
    Flash(&'a str, Box<FlashModel>),
    Disk(Box<PoweredDisk>),
}

impl<'a> ReplayDevice<'a> {
    fn named(name: &'a str) -> anyhow::Result<Self> {
        if disk_files::is_disk(name) {
            return Ok(Self::Disk(Box::new(disk_files::disk(name)?)));
        }
        if arrays::preset(name).is_none() && !Path::new(name).exists() {
            let known: Vec<_> = arrays::presets().into_iter().map(|preset| preset.name).collect();
            bail!(
                "there is no device and no file {name}: built in are the arrays {} and the disks {}",
                known.join(", "),
                disk_files::known()
            );
        }
        Ok(Self::Flash(name, Box::new(array::model(name)?)))
    }
}

/// A device with its report.
#[derive(Debug, Serialize)]
struct ReplayReport {
    addresses: AddressFit,
    #[serde(flatten)]
    report: DeviceReport,
}

/// Everything that a replay says.
#[derive(Debug, Serialize)]
struct ReplayOutput<'a> {
    trace: &'a TraceScan,
    speed: f64,
    devices: &'a [ReplayReport],
}

impl ReplayArguments {
    /// The names of the devices.
    fn devices(&self) -> Vec<&str> {
        match (self.on.is_empty(), &self.to) {
            (true, Some(_)) => Vec::new(),
            (true, None) => vec![PAPER_ARRAY, PAPER_DISK],
            (false, _) => self.on.iter().map(String::as_str).collect(),
        }
    }

    /// Refuses flags without an effect.
    pub fn check(&self, typed: &TypedFlags<'_>) -> Result<(), String> {
        let devices = self.devices();
        let why = if devices.is_empty() { "without --on" } else { "without an array among the devices" };
        if devices.iter().all(|name| disk_files::is_disk(name)) {
            typed.refuse_all::<FtlArguments>(&[], why)?;
            typed.refuse(&["seed"], why)?;
        }
        if devices.is_empty() {
            typed.refuse(&["outstanding", "speed", "saturated"], why)?;
        } else if !devices.iter().any(|name| disk_files::is_disk(name)) {
            typed.refuse(&["outstanding"], "without a disk among the devices")?;
        }
        self.trace.check(typed)
    }
}

/// Replays a trace, or converts it.
///
/// # Errors
/// The trace cannot be read or written, or a device cannot be.
pub fn run(arguments: &ReplayArguments) -> anyhow::Result<CommandStatus> {
    let files = || std::iter::once(arguments.file.as_path()).chain(arguments.on.iter().map(Path::new));
    if let Some(to) = &arguments.to {
        check_output(to, "--to", files())?;
    }
    let devices =
        arguments.devices().iter().map(|name| ReplayDevice::named(name)).collect::<anyhow::Result<Vec<_>>>()?;
    let bar = bar()?;
    let mut source = TraceSource::open(&arguments.file, arguments.to.as_deref(), &arguments.trace, &bar)?;
    source.tell_damage();
    let mut reports = Vec::new();
    for device in devices {
        reports.push(match device {
            ReplayDevice::Flash(name, model) => on_array(&mut source, name, *model, arguments, &bar)?,
            ReplayDevice::Disk(disk) => {
                disk_report(&mut source, &arguments.trace, *disk, arguments.outstanding as usize, &bar)?
            }
        });
    }
    bar.0.finish();
    show(&source, &arguments.trace, &reports, arguments.to.as_deref(), arguments.json)?;
    Ok(source.status())
}

/// Replays a trace on one disk.
///
/// # Errors
/// The trace cannot be read, or the disk cannot be.
pub fn on_disk(
    file: &Path,
    arguments: &TraceArguments,
    disk: PoweredDisk,
    outstanding: usize,
    json: bool,
) -> anyhow::Result<CommandStatus> {
    let bar = bar()?;
    let mut source = TraceSource::open(file, None, arguments, &bar)?;
    source.tell_damage();
    let report = disk_report(&mut source, arguments, disk, outstanding, &bar)?;
    bar.0.finish();
    show(&source, arguments, &[report], None, json)?;
    Ok(source.status())
}

fn on_array(
    source: &mut TraceSource,
    name: &str,
    model: FlashModel,
    arguments: &ReplayArguments,
    bar: &Bar,
) -> anyhow::Result<ReplayReport> {
    let origin = ArrayOrigin::Device(name);
    let settings = arguments.ftl.settings(&model, origin, arguments.seed)?;
    let refusal = ArrayRefusal::of(origin, &model, settings);
    let mut measurement = FlashMeasurement::new(model, settings, false).map_err(|error| refusal.error(&error))?;
    measurement.warm_up(arguments.ftl.first_state, None, bar).map_err(|error| refusal.error(&error))?;
    let mut supply = source.supply(measurement.capacity_bytes(), arguments.trace.speed)?;
    let pacing = arguments.trace.pacing(&source.scan);
    let report = measurement.run(supply.by_ref(), source.scan.requests, pacing, bar);
    let report = report.map_err(|error| refusal.error(&error))?;
    Ok(ReplayReport { addresses: supply.address_map().fit().clone(), report: DeviceReport::Flash(Box::new(report)) })
}

fn disk_report(
    source: &mut TraceSource,
    arguments: &TraceArguments,
    disk: PoweredDisk,
    outstanding: usize,
    bar: &Bar,
) -> anyhow::Result<ReplayReport> {
    let measurement = DiskMeasurement::new(disk.model, disk.power)
        .map_err(|error| UsageError(format!("the disk cannot be simulated: {error}")))?;
    let mut supply = source.supply(measurement.capacity_bytes(), arguments.speed)?;
    let pacing = arguments.pacing(&source.scan);
    let report = measurement.run(supply.by_ref(), source.scan.requests, pacing, outstanding, bar)?;
    Ok(ReplayReport { addresses: supply.address_map().fit().clone(), report: DeviceReport::Disk(Box::new(report)) })
}

fn show(
    source: &TraceSource,
    arguments: &TraceArguments,
    reports: &[ReplayReport],
    to: Option<&Path>,
    json: bool,
) -> anyhow::Result<()> {
    let scan = &source.scan;
    if json {
        unless_closed(print_json(&ReplayOutput { trace: scan, speed: arguments.speed, devices: reports }))?;
        return Ok(());
    }
    let mut lines = vec![source.line()];
    if let Some(to) = to {
        let requests = counted(scan.requests, "request", "requests");
        lines.push(format!("{} has the {requests} in the compact format", to.display()));
    }
    let mut notes = Vec::new();
    for ReplayReport { addresses, report } in reports {
        let name = match report {
            DeviceReport::Flash(report) => &report.name,
            DeviceReport::Disk(report) => &report.name,
        };
        notes.push(format!("{name}: {}.", addresses.sentence()));
        match report {
            DeviceReport::Flash(report) => {
                notes.push(format!("{name}: first state: {}.", report.first_state.sentence));
                notes.extend(flash::without_rates(report));
                if report.throughput.flushes > 0 {
                    notes.push(format!("{name}: a flush waits for the writes and discards that came before it."));
                }
                if let Some(energy) = &report.energy {
                    notes.push(format!("{name}: energy is modelled: {}.", energy.model));
                }
            }
            DeviceReport::Disk(report) => notes.extend(disk_notes::notes(report)),
        }
    }
    if !scan.has_times && !reports.is_empty() {
        notes.push("The trace has no times: requests are issued as replies come.".to_owned());
    }
    let mut sheets: Vec<Sheet> = reports.iter().map(|it| Sheet::of(&it.report)).collect();
    if let Some(latency) = scan.recorded_latency.as_ref().filter(|_| !sheets.is_empty()) {
        sheets.push(Sheet::of_recorded(latency));
    }
    let tables = if sheets.is_empty() { Vec::new() } else { vec![beside(&sheets)] };
    unless_closed(print(&lines, &tables, &notes))?;
    Ok(())
}
