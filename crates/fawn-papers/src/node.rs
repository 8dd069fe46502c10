//! One's own machine in figures that `fawn plan` sizes clusters by: space, reads, puts and gets, over the network and without, and
//! the CPU time that they take (`fawn bench node`).

use std::fmt::{self, Write as _};
use std::time::Duration;

use fawn_bench::device::Segments;
use fawn_bench::error::FlagBytes;
use fawn_loadgen::{Distribution, HotKeys};
use fawn_machine::host::free_bytes;
use fawn_machine::process::resident_bytes;
use fawn_meter::{Energy, Scope};
use fawn_plan::FigureKind;
use fawn_plan::store::record_bytes;
use fawn_report::amount::bytes;
use serde::Serialize;

use crate::error::Error;
use crate::run::Run;
use crate::testbed::client::{ClientWork, ServerKeys, a_second};
use crate::testbed::machine::MachineInfo;
use crate::testbed::served;
use crate::testbed::store::{DEPTH, Size, gets, loaded};

/// Reads in flight at which the device's rate is taken: the best of them counts.
const DEPTHS: [u32; 3] = [8, DEPTH, 128];

/// Keys that are asked for where DRAM is to answer.
const HOT_KEYS: u64 = 1000;

/// Space that may be taken while a store is loaded, over what its records take: merges write before they give back.
const ROOM: f64 = 1.5;

/// A commit log, which is made as large as it gets, takes no more, and no more than the memory of its store.
const MOST_LOG_BYTES: u64 = 256 << 20;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasurementExtent {
    /// Bytes of keys and values.
    pub data_bytes: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Memory of the store.
    pub memory: u64,
    /// How long each part takes.
    pub time: Duration,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// On what.
    pub machine: MachineInfo,
    /// When, the day.
    pub date: String,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Space that is free for data, in 10^9 bytes, before anything was measured.
    pub gb: f64,
    /// DRAM, in 2^30 bytes; `None` where the system does not tell.
    pub dram_gib: Option<f64>,
    /// Random reads of 4 KiB a second, by who reads the device.
    pub read_4k_per_second: f64,
    /// Reads in flight at which that was.
    pub read_depth: u32,
    /// Who read it.
    pub reader: &'static str,
    /// Puts of new keys a second of a store without a network, one event loop, until all is on flash.
    pub puts_per_second: f64,
    /// CPU time of each, all threads, microseconds.
    pub cpu_us_a_put: f64,
    /// Gets from flash of a store without a network, one event loop.
    pub local_gets_per_second: f64,
    /// CPU time of each, microseconds.
    pub cpu_us_a_local_get: f64,
    /// Gets from flash of a server of one event loop, over the loopback.
    pub network_gets_per_second: f64,
    /// CPU time of each, the server's, microseconds.
    pub cpu_us_a_network_get: Option<f64>,
    /// Gets from DRAM of the same server.
    pub dram_gets_per_second: f64,
    /// CPU time of each, the server's, microseconds.
    pub cpu_us_a_dram_get: Option<f64>,
    /// Gets from flash for which all processors have time: so many seconds of CPU time over what one takes over the network.
    pub cpu_gets_per_second: Option<f64>,
    /// The same of gets from DRAM.
    pub cpu_dram_gets_per_second: Option<f64>,
    /// Most resident memory of this process meanwhile, the store without a network included.
    pub most_rss_bytes: Option<u64>,
    /// Watts at rest.
    pub watts_idle: Option<Watts>,
    /// Watts under load.
    pub watts_stress: Option<Watts>,
    /// What the node costs, dollars, as who measured declares it.
    pub price_dollars: Option<f64>,
    /// What its network carries each way, in 10^6 bits a second, as who measured declares it.
    pub network_mbit: Option<f64>,
}

/// Watts, and where they are from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Watts {
    /// How many.
    pub watts: f64,
    /// Whether they were measured or are declared.
    pub kind: FigureKind,
    /// What they are of.
    pub scope: Scope,
    /// How they came about.
    pub how: String,
}

/// Where a value is from that somebody knows.
const DECLARED: &str = "said by who measured the rest";

/// Space that a store of this size may take while it is loaded. There is one at a time: the server's comes when the other one is
/// gone.
fn most_bytes(size: Size) -> f64 {
    let records = size.entries as f64 * record_bytes(size.value_bytes as f64);
    records * ROOM + size.memory.min(MOST_LOG_BYTES) as f64
}

/// Measures this machine.
///
/// # Errors
/// [`Error`]; [`Error`] when there is too little space.
pub fn measure(run: &Run<'_>, extent: MeasurementExtent) -> Result<Figures, Error> {
    let MeasurementExtent { data_bytes, value_bytes, memory, time } = extent;
    let machine = MachineInfo::here(&run.dir);
    let free_bytes = free_bytes(&run.dir).map_err(Error::io(&run.dir))? as f64;
    let size = Size::of_bytes(data_bytes, value_bytes, memory);
    let most_bytes = most_bytes(size);
    if most_bytes > free_bytes {
        return Err(fawn_bench::Error::Unfit(format!(
            "--data {} may take {}, and {} are free where --dir is: give less --data, or another --dir",
            FlagBytes(data_bytes),
            bytes(most_bytes),
            bytes(free_bytes)
        ))
        .into());
    }
    if let Some(meter) = &run.tools.meter {
        run.watch.progress(0, 6, "metering the machine at rest");
        meter.rest()?;
    }
    let (mut session, load) = loaded(run, "store", size)?;
    let segments = Segments::of(session.driver.path(), &run.dir.join("links"))?;
    let mut best = (0.0, 0);
    for (at, depth) in DEPTHS.into_iter().enumerate() {
        run.watch.progress(1 + at as u64, 6, &format!("reading the device, {depth} at a time"));
        let given = segments.read(run.tools.device, session.driver.files(), depth, time)?;
        if given.reads_a_second > best.0 {
            best = (given.reads_a_second, depth);
        }
    }
    run.watch.progress(4, 6, "gets without a network");
    let local = gets(&mut session, DEPTH, time)?;
    session.close()?;
    std::fs::remove_dir_all(run.dir.join("store")).map_err(Error::io(run.dir.join("store")))?;
    let keys = ServerKeys { count: size.entries, value_bytes };
    let (server, client, _) = served::start(run, keys, memory)?;
    let flash = client.run(&ClientWork::gets(time), "gets from flash")?;
    let hot = Distribution::Hot { keys: HotKeys::Count(HOT_KEYS.min(size.entries)), share: 1.0 };
    let dram =
        client.run(&ClientWork { distribution: hot, warm_up: time / 2, ..ClientWork::gets(time) }, "gets from DRAM")?;
    drop(client);
    server.stop()?;
    let each = |us: Option<f64>, answered: u64| us.map(|us| us / answered.max(1) as f64).filter(|us| *us > 0.0);
    let cpu_us_a_network_get = each(flash.server_cpu_us, flash.stats.answered());
    let cpu_us_a_dram_get = each(dram.server_cpu_us, dram.stats.answered());
    let all_processors = |us: f64| machine.cores as f64 * 1e6 / us;
    Ok(Figures {
        date: crate::runner::now().chars().take_while(|c| *c != 'T').collect(),
        value_bytes,
        gb: free_bytes / 1e9,
        dram_gib: machine.dram_bytes.map(|bytes| bytes as f64 / f64::from(1 << 30)),
        read_4k_per_second: best.0,
        read_depth: best.1,
        reader: run.tools.device.name(),
        puts_per_second: size.entries as f64 / load.settled.seconds,
        cpu_us_a_put: load.settled.cpu_us / size.entries as f64,
        local_gets_per_second: local.a_second(),
        cpu_us_a_local_get: local.usage.cpu_us / local.gets.max(1) as f64,
        network_gets_per_second: a_second(&flash),
        cpu_us_a_network_get,
        dram_gets_per_second: a_second(&dram),
        cpu_us_a_dram_get,
        cpu_gets_per_second: cpu_us_a_network_get.map(all_processors),
        cpu_dram_gets_per_second: cpu_us_a_dram_get.map(all_processors),
        most_rss_bytes: resident_bytes().map(|(_, most)| most),
        watts_idle: flash.energy.as_ref().and_then(Watts::at_rest),
        watts_stress: flash.energy.as_ref().and_then(Watts::under_load),
        price_dollars: None,
        network_mbit: None,
        machine,
    })
}

impl Watts {
    /// As somebody knows them, at the wall.
    pub fn declared(watts: f64) -> Self {
        Self { watts, kind: FigureKind::Declared, scope: Scope::Wall, how: DECLARED.to_owned() }
    }

    /// Those of a meter while gets came from flash; a model's are none.
    fn under_load(energy: &Energy) -> Option<Self> {
        let how = format!("gets from flash as fast as they go, {}", energy.instrument);
        energy.measured.then_some(Self { watts: energy.watts, kind: FigureKind::Measured, scope: energy.scope, how })
    }

    /// Those of a meter at rest.
    fn at_rest(energy: &Energy) -> Option<Self> {
        let idle = energy.idle.filter(|_| energy.measured)?;
        let how = format!("at rest for {:.0} s, {}", idle.seconds, energy.instrument);
        Some(Self { watts: idle.watts, kind: FigureKind::Measured, scope: energy.scope, how })
    }
}

impl fmt::Display for Watts {
    /// As `7.2 (measured, board: by …)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} ({}, {}: {})", self.watts, self.kind.word(), self.scope.name(), self.how)
    }
}

/// A value that a plan reckons with, and how it was come by.
struct FigureEntry {
    name: &'static str,
    /// `None` is unknown.
    value: Option<f64>,
    kind: FigureKind,
    how: String,
    scope: Option<Scope>,
}

impl FigureEntry {
    fn new(name: &'static str, value: Option<f64>, kind: FigureKind, how: impl Into<String>) -> Self {
        Self { name, value, kind, how: how.into(), scope: None }
    }

    fn watts(name: &'static str, watts: Option<&Watts>) -> Self {
        let how = watts.map_or("", |watts| &watts.how);
        let kind = watts.map_or(FigureKind::Measured, |watts| watts.kind);
        Self { scope: watts.map(|watts| watts.scope), ..Self::new(name, watts.map(|watts| watts.watts), kind, how) }
    }

    /// Its line of the file; `None` where it is unknown.
    fn line(&self) -> Option<String> {
        let Self { name, kind, how, .. } = self;
        let value = self.value.filter(|value| *value > 0.0)?;
        let scope = self.scope.map_or_else(String::new, |scope| format!(", scope = \"{}\"", scope.name()));
        let (kind, how) = (kind.word(), quoted(how));
        Some(format!("{name} = {{ value = {value:.3}, kind = \"{kind}\", source = {how}{scope} }}"))
    }
}

impl Figures {
    /// The file that `fawn plan --node` takes: each value with its kind and how it was come by. What a plan does not reckon
    /// with is told in comments.
    pub fn toml(&self, name: &str, option: Option<&str>) -> String {
        let mut out = String::new();
        let mut add = |line: String| writeln!(out, "{line}").expect("writing to a string cannot fail");
        add("# Measured by `fawn bench node`, for `fawn plan --node`.".to_owned());
        for (what, which) in self.machine.lines() {
            add(format!("# {what}: {}", which.replace('\n', " ")));
        }
        add(format!("name = {}", quoted(name)));
        add(format!("date = \"{}\"", self.date));
        if let Some(option) = option {
            add(format!("option = {}", quoted(option)));
        }
        add("source = \"fawn bench node\"".to_owned());
        add(format!("value_bytes = {}", self.value_bytes));
        self.values().iter().filter_map(FigureEntry::line).for_each(&mut add);
        add("# Values that a plan does not use:".to_owned());
        for (key, value, kind) in [
            ("puts_per_second", Some(self.puts_per_second), FigureKind::Measured),
            ("cpu_us_a_put", Some(self.cpu_us_a_put), FigureKind::Measured),
            ("local_gets_per_second", Some(self.local_gets_per_second), FigureKind::Measured),
            ("cpu_us_a_local_get", Some(self.cpu_us_a_local_get), FigureKind::Measured),
            ("network_gets_per_second", Some(self.network_gets_per_second), FigureKind::Measured),
            ("cpu_us_a_network_get", self.cpu_us_a_network_get, FigureKind::Measured),
            ("dram_gets_per_second", Some(self.dram_gets_per_second), FigureKind::Measured),
            ("cpu_us_a_dram_get", self.cpu_us_a_dram_get, FigureKind::Measured),
            ("cpu_dram_gets_per_second", self.cpu_dram_gets_per_second, FigureKind::Derived),
        ] {
            match value {
                Some(value) => add(format!("# {key} = {value:.3}  # {}", kind.word())),
                None => add(format!("# {key} is unknown: the system does not report CPU time")),
            }
        }
        out
    }

    /// What a plan reckons with.
    fn values(&self) -> [FigureEntry; 8] {
        let cpu = format!(
            "{} processors divided by {:.3} CPU-us of a server with one event loop per get from flash, over the \
            loopback",
            self.machine.cores,
            self.cpu_us_a_network_get.unwrap_or_default()
        );
        let reads = format!("{} in flight, {}", self.read_depth, self.reader);
        [
            FigureEntry::new("price_dollars", self.price_dollars, FigureKind::Declared, DECLARED),
            FigureEntry::new("network_mbit", self.network_mbit, FigureKind::Declared, DECLARED),
            FigureEntry::new("gb", Some(self.gb), FigureKind::Measured, "free in the file system, by statvfs"),
            FigureEntry::new("dram_gib", self.dram_gib, FigureKind::Measured, "as the kernel reports"),
            FigureEntry::new("read_4k_per_second", Some(self.read_4k_per_second), FigureKind::Measured, reads),
            FigureEntry::new("cpu_gets_per_second", self.cpu_gets_per_second, FigureKind::Derived, cpu),
            FigureEntry::watts("watts_idle", self.watts_idle.as_ref()),
            FigureEntry::watts("watts_stress", self.watts_stress.as_ref()),
        ]
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' => "\\\"".to_owned(),
            '\\' => "\\\\".to_owned(),
            c if c.is_control() => " ".to_owned(),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use fawn_plan::Quantity;

    use super::*;

    fn figures() -> Figures {
        Figures {
            machine: MachineInfo { cores: 4, ..MachineInfo::default() },
            date: "2026-11-24".to_owned(),
            value_bytes: 1000,
            gb: 931.5,
            dram_gib: Some(8.0),
            read_4k_per_second: 98_000.0,
            read_depth: 32,
            reader: "a reader",
            puts_per_second: 400_000.0,
            cpu_us_a_put: 1.5,
            local_gets_per_second: 90_000.0,
            cpu_us_a_local_get: 7.0,
            network_gets_per_second: 80_000.0,
            cpu_us_a_network_get: Some(8.0),
            dram_gets_per_second: 500_000.0,
            cpu_us_a_dram_get: Some(2.0),
            cpu_gets_per_second: Some(500_000.0),
            cpu_dram_gets_per_second: Some(2_000_000.0),
            most_rss_bytes: None,
            watts_idle: Some(Watts {
                watts: 3.25,
                kind: FigureKind::Measured,
                scope: Scope::Board,
                how: "at rest, \"ina226\"".to_owned(),
            }),
            watts_stress: Some(Watts::declared(9.5)),
            price_dollars: Some(120.0),
            network_mbit: Some(940.0),
        }
    }

    #[test]
    fn a_plan_takes_the_file() {
        let text = figures().toml("my \"board\"", Some("Raspberry Pi 5 8 GB + NVMe 1 TB"));
        let node = fawn_plan::MeasuredNode::parse(&text).unwrap();
        assert_eq!((node.name.as_str(), node.value_bytes), ("my \"board\"", Some(1000.0)));
        let mut catalogue = fawn_plan::Catalogue::built_in("today").unwrap();
        let option = node.add_to(&mut catalogue).unwrap();
        let option = catalogue.options.iter().find(|it| it.name == option).unwrap();
        let seen = |quantity| option.figure(quantity).map(|figure| (figure.value, figure.kind)).unwrap();
        assert_eq!(seen(Quantity::PriceDollars), (120.0, FigureKind::Declared));
        assert_eq!(seen(Quantity::NetworkMbit), (940.0, FigureKind::Declared));
        assert_eq!(seen(Quantity::Gb), (931.5, FigureKind::Measured));
        assert_eq!(seen(Quantity::CpuGetsPerSecond), (500_000.0, FigureKind::Derived), "of gets from flash");
        assert_eq!(seen(Quantity::WattsIdle), (3.25, FigureKind::Measured));
        assert_eq!(seen(Quantity::WattsStress), (9.5, FigureKind::Declared));
        let scope = |quantity| option.figure(quantity).unwrap().scope;
        assert_eq!(scope(Quantity::WattsIdle), Some(fawn_plan::Scope::Board));
        assert_eq!(scope(Quantity::WattsStress), Some(fawn_plan::Scope::Wall));
        assert!(text.contains("\n# cpu_dram_gets_per_second = 2000000.000  # derived\n"), "{text}");
    }

    #[test]
    fn data_need_space_for_their_records_for_merges_and_for_a_log() {
        // 1,052,688 records of 1,044 bytes.
        let most = most_bytes(Size::of_bytes(1 << 30, 1000, 64 << 20));
        assert!((most - (1_052_688.0 * 1044.0 * 1.5 + 67_108_864.0)).abs() < 1.0, "{most}");
        let most = most_bytes(Size::of_bytes(1 << 40, 1000, 1 << 36));
        assert!((1.688e12..1.689e12).contains(&most), "a log has 256 MiB at most: {most}");
    }

    #[test]
    fn watts_say_what_they_are_of() {
        let idle = figures().watts_idle.unwrap();
        assert_eq!(idle.to_string(), "3.2 (measured, board: at rest, \"ina226\")");
        assert_eq!(Watts::declared(9.5).to_string(), "9.5 (declared, wall: said by who measured the rest)");
    }

    #[test]
    fn what_is_unknown_is_left_out_and_said_to_be() {
        let unknown = Figures {
            dram_gib: None,
            cpu_us_a_network_get: None,
            cpu_gets_per_second: None,
            watts_idle: None,
            price_dollars: None,
            ..figures()
        };
        let text = unknown.toml("n", None);
        assert!(!text.contains("dram_gib") && !text.contains("\ncpu_gets") && !text.contains("price"), "{text}");
        assert!(text.contains("cpu_us_a_network_get is unknown") && !text.contains("watts_idle"), "{text}");
        fawn_plan::MeasuredNode::parse(&text).unwrap();
    }
}
