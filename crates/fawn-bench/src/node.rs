//! One's own machine in figures that `fawn plan` sizes clusters by: space, reads, puts and gets, over the network and without, and
//! the CPU time that they take (`fawn bench node`).

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

use crate::device::Segments;
use crate::energy::Energy;
use crate::error::Error;
use crate::net::{Distribution, HotKeys};
use crate::paper::client::{Keys, Work, a_second};
use crate::paper::store::{DEPTH, Size, gets, loaded};
use crate::paper::{Machine, Run, served};
use crate::usage::resident_bytes;

/// Reads in flight at which the device's rate is taken: the best of them counts.
const DEPTHS: [u32; 3] = [8, DEPTH, 128];

/// Keys that are asked for where DRAM is to answer.
const HOT_KEYS: u64 = 1000;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
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
    pub machine: Machine,
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
    /// Gets from DRAM for which all processors have time: so many seconds of CPU time over what one takes.
    pub cpu_gets_per_second: Option<f64>,
    /// Most resident memory of this process meanwhile, the store without a network included.
    pub most_rss_bytes: Option<u64>,
    /// Watts at rest.
    pub watts_idle: Option<Watts>,
    /// Watts under load.
    pub watts_stress: Option<Watts>,
}

/// Watts, and where they are from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Watts {
    /// How many.
    pub watts: f64,
    /// Their kind and how they came about, as `measured: by …`.
    pub how: String,
}

/// Measures this machine.
///
/// # Errors
/// [`Error`].
pub fn measure(run: &Run<'_>, extent: Extent) -> Result<Figures, Error> {
    let Extent { data_bytes, value_bytes, memory, time } = extent;
    let machine = Machine::here(&run.dir);
    let free = rustix::fs::statvfs(&run.dir).map_err(|errno| Error::io(&run.dir)(errno.into()))?;
    if let Some(meter) = &run.tools.meter {
        run.watch.progress(0, 6, "metering the machine at rest");
        meter.rest()?;
    }
    let size = Size::of_bytes(data_bytes, value_bytes, memory);
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
    let keys = Keys { count: size.entries, value_bytes };
    let (server, client, _) = served::start(run, keys, memory)?;
    let flash = client.run(&Work::gets(time), "gets from flash")?;
    let hot = Distribution::Hot { keys: HotKeys::Count(HOT_KEYS.min(size.entries)), share: 1.0 };
    let dram = client.run(&Work { distribution: hot, warm_up: time / 2, ..Work::gets(time) }, "gets from DRAM")?;
    drop(client);
    server.stop()?;
    let each = |us: Option<f64>, answered: u64| us.map(|us| us / answered.max(1) as f64).filter(|us| *us > 0.0);
    let cpu_us_a_dram_get = each(dram.server_cpu_us, dram.tally.answered());
    Ok(Figures {
        date: crate::paper::run::now().chars().take_while(|c| *c != 'T').collect(),
        value_bytes,
        gb: (free.f_bavail * free.f_frsize) as f64 / 1e9,
        dram_gib: machine.dram_bytes.map(|bytes| bytes as f64 / f64::from(1 << 30)),
        read_4k_per_second: best.0,
        read_depth: best.1,
        reader: run.tools.device.name(),
        puts_per_second: size.entries as f64 / load.settled.seconds,
        cpu_us_a_put: load.settled.cpu_us / size.entries as f64,
        local_gets_per_second: local.a_second(),
        cpu_us_a_local_get: local.usage.cpu_us / local.gets.max(1) as f64,
        network_gets_per_second: a_second(&flash),
        cpu_us_a_network_get: each(flash.server_cpu_us, flash.tally.answered()),
        dram_gets_per_second: a_second(&dram),
        cpu_us_a_dram_get,
        cpu_gets_per_second: cpu_us_a_dram_get.map(|us| machine.cores as f64 * 1e6 / us),
        most_rss_bytes: resident_bytes().map(|(_, most)| most),
        watts_idle: flash.energy.as_ref().and_then(Watts::at_rest),
        watts_stress: flash.energy.as_ref().and_then(Watts::under_load),
        machine,
    })
}

impl Watts {
    /// As somebody knows them.
    pub fn declared(watts: f64) -> Self {
        Self { watts, how: "declared by who measured, not measured here".to_owned() }
    }

    /// Those of a meter while gets came from flash; a model's are none.
    fn under_load(energy: &Energy) -> Option<Self> {
        let how =
            format!("measured: gets from flash as fast as they go, {}, {}", energy.instrument, energy.scope.name());
        energy.measured.then_some(Self { watts: energy.watts, how })
    }

    /// Those of a meter at rest.
    fn at_rest(energy: &Energy) -> Option<Self> {
        let idle = energy.idle.filter(|_| energy.measured)?;
        let how =
            format!("measured: at rest for {:.0} s, {}, {}", idle.seconds, energy.instrument, energy.scope.name());
        Some(Self { watts: idle.watts, how })
    }
}

impl Figures {
    /// The file that `fawn plan --node` takes: each value with its kind and where it is from beside it. What a plan does not
    /// reckon with is told in comments.
    pub fn toml(&self, name: &str, option: Option<&str>) -> String {
        let mut out = String::new();
        let mut add = |line: String| writeln!(out, "{line}").expect("writing to a string cannot fail");
        add("# Measured by `fawn bench node`; `fawn plan --node FILE` takes it.".to_owned());
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
        let date = &self.date;
        for (key, value, how) in self.quantities() {
            if let Some(value) = value.filter(|value| *value > 0.0) {
                add(format!("{key} = {value:.3}  # {how}, {date}"));
            }
        }
        add("# What a plan does not reckon with:".to_owned());
        for (key, value) in [
            ("puts_per_second", Some(self.puts_per_second)),
            ("cpu_us_a_put", Some(self.cpu_us_a_put)),
            ("local_gets_per_second", Some(self.local_gets_per_second)),
            ("cpu_us_a_local_get", Some(self.cpu_us_a_local_get)),
            ("network_gets_per_second", Some(self.network_gets_per_second)),
            ("cpu_us_a_network_get", self.cpu_us_a_network_get),
            ("dram_gets_per_second", Some(self.dram_gets_per_second)),
            ("cpu_us_a_dram_get", self.cpu_us_a_dram_get),
        ] {
            match value {
                Some(value) => add(format!("# {key} = {value:.3}  # measured, {date}")),
                None => add(format!("# {key} is unknown: the system does not tell CPU time")),
            }
        }
        out
    }

    /// What a plan reckons with: the name, the value, its kind and how it came about.
    fn quantities(&self) -> [(&'static str, Option<f64>, String); 6] {
        let watts = |it: &Option<Watts>| it.as_ref().map(|it| it.watts);
        let how = |it: &Option<Watts>| it.as_ref().map_or_else(String::new, |it| it.how.clone());
        [
            ("gb", Some(self.gb), "measured: free in the file system, by statvfs".to_owned()),
            ("dram_gib", self.dram_gib, "measured: as the kernel tells".to_owned()),
            (
                "read_4k_per_second",
                Some(self.read_4k_per_second),
                format!("measured: {} in flight, {}", self.read_depth, self.reader),
            ),
            (
                "cpu_gets_per_second",
                self.cpu_gets_per_second,
                format!(
                    "measured: {} processors over {:.3} CPU-us of the server for each get from DRAM",
                    self.machine.cores,
                    self.cpu_us_a_dram_get.unwrap_or_default()
                ),
            ),
            ("watts_idle", watts(&self.watts_idle), how(&self.watts_idle)),
            ("watts_stress", watts(&self.watts_stress), how(&self.watts_stress)),
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
    use super::*;

    fn figures() -> Figures {
        Figures {
            machine: Machine { cores: 4, ..Machine::default() },
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
            cpu_gets_per_second: Some(2_000_000.0),
            most_rss_bytes: None,
            watts_idle: None,
            watts_stress: Some(Watts::declared(9.5)),
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
        assert_eq!(option.value(fawn_plan::Quantity::CpuGetsPerSecond), Some(2_000_000.0));
        assert_eq!(option.value(fawn_plan::Quantity::WattsStress), Some(9.5));
    }

    #[test]
    fn what_is_unknown_is_left_out_and_said_to_be() {
        let unknown = Figures { dram_gib: None, cpu_us_a_dram_get: None, cpu_gets_per_second: None, ..figures() };
        let text = unknown.toml("n", None);
        assert!(!text.contains("dram_gib") && !text.contains("\ncpu_gets"), "{text}");
        assert!(text.contains("cpu_us_a_dram_get is unknown") && !text.contains("watts_idle"), "{text}");
        fawn_plan::MeasuredNode::parse(&text).unwrap();
    }
}
