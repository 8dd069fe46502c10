//! `fawn bench node`: this machine in figures, and the file that `fawn plan --node` takes.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use comfy_table::presets;
use fawn_bench::children;
use fawn_files::links;
use fawn_meter::{Meter, MeterChoice, Scope};
use fawn_papers::node::{Figures, MeasurementExtent, Watts, measure};
use fawn_papers::{Run, Scale};
use fawn_plan::amount::{parse_dollars, parse_mbit, parse_watts};
use tempfile::NamedTempFile;

use super::energy::MeterArguments;
use super::output::Bar;
use super::paper::tools;
use crate::interrupt::tell_how_to_go_on;
use crate::outcome::CommandStatus;
use crate::progress::TerminalBar;
use crate::table::print_json;
use crate::tell::unless_closed;
use crate::values::{Size, Span, parse_wait};

/// Least memory of the store and of the server.
const LEAST_MEMORY: u64 = 8 << 20;
/// Data are at least so many times the memory.
const LEAST_RATIO: u64 = 4;

/// Arguments of `fawn bench node`.
#[derive(Debug, Args)]
#[command(after_help = "\
The command measures free space, DRAM, random reads of 4 KiB (by fio or this program), and puts and gets of a store \
without a network. It also measures gets from flash and from DRAM of a server with one event loop, over the \
loopback. Every value that is read is verified. The rate of all processors is computed from the CPU time that the \
server needs per get from flash, as if as many event loops did as much.

The file has each value with its kind (measured, derived or declared), its source and its date. It takes precedence \
over a catalogue's values of the node.

For example, with what you know of the node:
  fawn bench node --price 120 --network-mbit 940 --watts-stress 9 --out pi.toml
  fawn plan --data 10TB --rate 1M --node pi.toml

Values that are neither measured nor declared stay unknown. A plan ranks a node only if its price, network and \
watts are known. Of these, the command measures only the watts, with a meter (--meter, and --meter-idle for those \
at rest). Unless you name a meter, it reads one only if its scope is larger than the processor. Watts of a meter \
that is not at the wall are marked, and the plan warns about them.")]
pub struct NodeBenchArguments {
    /// Directory on the device to measure; the command removes its data afterwards, and names what to remove after an
    /// interruption
    #[arg(long, value_name = "DIR", default_value = ".", hide_env = true)]
    pub dir: PathBuf,
    /// Bytes of keys and values; 1.5 times the size of their records must be free where --dir is
    #[arg(long, value_name = "SIZE", default_value = "1G")]
    pub data: Size,
    /// Bytes of each value, at least 8
    #[arg(long, value_name = "BYTES", default_value = "1000")]
    pub value_bytes: Size,
    /// Memory of the store and of the server, from 8M to a quarter of --data, so that flash answers most gets
    /// [default: a sixteenth of --data, at least 8M]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// Duration of each part
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = parse_wait)]
    pub time: Span,
    /// Name of the node [default: the machine's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Option of a catalogue that this node is, e.g. `Raspberry Pi 5 8 GB + NVMe 1 TB`
    #[arg(long, value_name = "OPTION")]
    pub option: Option<String>,
    /// Watts at rest, at the wall, as declared by you, if no meter measures them
    #[arg(long, value_name = "WATTS", value_parser = parse_watts)]
    pub watts_idle: Option<f64>,
    /// Watts under load, at the wall, as declared by you, if no meter measures them
    #[arg(long, value_name = "WATTS", value_parser = parse_watts)]
    pub watts_stress: Option<f64>,
    /// Price of the node with its drives, as declared by you
    #[arg(long, value_name = "DOLLARS", value_parser = parse_dollars)]
    pub price: Option<f64>,
    /// Network bandwidth in each direction, in 10^6 bits per second, as declared by you
    #[arg(long, value_name = "MBIT", value_parser = parse_mbit)]
    pub network_mbit: Option<f64>,
    #[command(flatten)]
    pub meter: MeterArguments,
    /// Write the file for `fawn plan --node`
    #[arg(long, value_name = "FILE", hide_env = true)]
    pub out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl NodeBenchArguments {
    /// Refuses what cannot be measured.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        if !(8..=1 << 20).contains(&self.value_bytes.bytes) {
            return Err("a value holds its version, and must fit one item: give --value-bytes from 8 to 1M".into());
        }
        if self.memory() < LEAST_MEMORY {
            return Err("--memory is too small for a store and a server: give 8M or more".into());
        }
        if let (Some(idle), Some(stress)) = (self.watts_idle, self.watts_stress)
            && idle > stress
        {
            return Err(
                "a machine draws no more at rest than under load: give --watts-idle of at most --watts-stress".into()
            );
        }
        if matches!(self.meter.meter, Some(MeterChoice::Model(_))) {
            return Err(
                "a model's watts are declared, not measured: give them as --watts-idle and --watts-stress".into()
            );
        }
        if self.data.bytes / LEAST_RATIO < self.memory() {
            return Err(format!(
                "DRAM would answer gets that should reach flash: give --data {LEAST_RATIO} times as much as \
                --memory, 32M or more"
            ));
        }
        Ok(())
    }

    /// Bytes of memory.
    fn memory(&self) -> u64 {
        self.memory.map_or_else(|| (self.data.bytes / 16).max(LEAST_MEMORY), |memory| memory.bytes)
    }
}

/// Measures it.
///
/// # Errors
/// What [`fawn_papers::Error`] says.
pub fn run(arguments: &NodeBenchArguments) -> anyhow::Result<CommandStatus> {
    let mut tools = tools(None, &arguments.meter)?;
    // Of a node a package is a part, whose watts are taken for the node's only if that was asked for.
    tools.meter = tools.meter.filter(|meter| meter.is_asked() || meter.info().scope > Scope::Package);
    let is_asked = tools.meter.as_ref().is_some_and(Meter::is_asked);
    std::fs::create_dir_all(&arguments.dir).with_context(|| format!("cannot create {}", arguments.dir.display()))?;
    if let Some(file) = &arguments.out {
        check_out(file).with_context(|| format!("cannot write {}", file.display()))?;
    }
    // Beside whatever is there, on the same device, and gone afterwards.
    let place = tempfile::Builder::new().prefix("fawn-bench-node-").tempdir_in(&arguments.dir);
    let place = place.with_context(|| format!("cannot write into {}", arguments.dir.display()))?;
    let bar = Bar(TerminalBar::parts());
    tell_how_to_go_on(
        &bar.0,
        format!("no results are kept: remove {}", place.path().display()),
        children::ask_all_to_stop,
    )?;
    let run = Run { scale: Scale::Full, dir: place.path().to_owned(), tools: &tools, watch: &bar };
    let extent = MeasurementExtent {
        data_bytes: arguments.data.bytes,
        value_bytes: arguments.value_bytes.bytes as usize,
        memory: arguments.memory(),
        time: arguments.time.0,
    };
    let figures = measure(&run, extent);
    bar.0.finish();
    let mut figures = figures?;
    // What a meter that was asked for tells counts before what somebody knows, and that before what another one tells.
    let known = |measured: Option<Watts>, declared: Option<f64>| {
        let declared = declared.map(Watts::declared);
        if is_asked { measured.or(declared) } else { declared.or(measured) }
    };
    figures.watts_idle = known(figures.watts_idle, arguments.watts_idle);
    figures.watts_stress = known(figures.watts_stress, arguments.watts_stress);
    (figures.price_dollars, figures.network_mbit) = (arguments.price, arguments.network_mbit);
    // What took so long is told first, whatever becomes of the file.
    unless_closed(if arguments.json { print_json(&figures) } else { print(&figures) })?;
    if let Some(file) = &arguments.out {
        let name = arguments.name.as_deref().unwrap_or(&figures.machine.host);
        write_out(file, &figures.toml(name, arguments.option.as_deref()))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(CommandStatus::Done)
}

/// Finds out whether the file can be written, before anything is measured.
fn check_out(path: &Path) -> io::Result<()> {
    links::refuse_directory(path)?;
    if links::is_stream(path) { Ok(()) } else { beside(path).map(drop) }
}

/// Writes the file: it is as it was until all of it is there.
fn write_out(path: &Path, text: &str) -> io::Result<()> {
    if links::is_stream(path) {
        return std::fs::write(path, text);
    }
    let (mut file, place) = beside(path)?;
    file.write_all(text.as_bytes())?;
    file.persist(place)?;
    Ok(())
}

/// A new file that is to take the place of this one, and that place: where a link leads, not the link.
fn beside(path: &Path) -> io::Result<(NamedTempFile, PathBuf)> {
    let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let dir = place.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Who may read it is up to the umask.
    let permissions = Permissions::from_mode(0o666);
    let file = tempfile::Builder::new().prefix(".fawn-bench-node-").permissions(permissions).tempfile_in(dir)?;
    Ok((file, place))
}

fn print(figures: &Figures) -> io::Result<()> {
    let mut table = comfy_table::Table::new();
    table.load_preset(presets::NOTHING);
    let known = |value: Option<f64>, decimals: usize| {
        value.map_or_else(|| "unknown".to_owned(), |value| fawn_report::amount::number(value, decimals))
    };
    let declared = |value: Option<f64>| {
        value.map_or_else(|| "unknown".to_owned(), |value| format!("{} (declared)", fawn_report::amount::plain(value)))
    };
    let watts = |watts: &Option<Watts>| watts.as_ref().map_or_else(|| "unknown".to_owned(), Watts::to_string);
    for (what, value) in [
        ("free space, GB".to_owned(), known(Some(figures.gb), 1)),
        ("DRAM, GiB".to_owned(), known(figures.dram_gib, 1)),
        (format!("random 4 KiB reads/s, {} at a time", figures.read_depth), known(Some(figures.read_4k_per_second), 0)),
        ("puts/s, no network".to_owned(), known(Some(figures.puts_per_second), 0)),
        ("  CPU-us each".to_owned(), known(Some(figures.cpu_us_a_put), 2)),
        ("gets/s from flash, no network".to_owned(), known(Some(figures.local_gets_per_second), 0)),
        ("  CPU-us each".to_owned(), known(Some(figures.cpu_us_a_local_get), 2)),
        ("gets/s from flash, loopback".to_owned(), known(Some(figures.network_gets_per_second), 0)),
        ("  CPU-us each, the server's".to_owned(), known(figures.cpu_us_a_network_get, 2)),
        ("gets/s from DRAM, loopback".to_owned(), known(Some(figures.dram_gets_per_second), 0)),
        ("  CPU-us each, the server's".to_owned(), known(figures.cpu_us_a_dram_get, 2)),
        ("gets/s from flash that all processors have time for".to_owned(), known(figures.cpu_gets_per_second, 0)),
        ("gets/s from DRAM that all processors have time for".to_owned(), known(figures.cpu_dram_gets_per_second, 0)),
        ("watts at rest".to_owned(), watts(&figures.watts_idle)),
        ("watts under load".to_owned(), watts(&figures.watts_stress)),
        ("price, dollars".to_owned(), declared(figures.price_dollars)),
        ("network, Mbit/s".to_owned(), declared(figures.network_mbit)),
    ] {
        table.add_row([what, value]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(comfy_table::CellAlignment::Right);
    }
    writeln!(io::stdout(), "{}", table.trim_fmt())
}
