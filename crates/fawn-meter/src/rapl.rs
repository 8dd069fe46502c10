//! The processor's own counters of energy: RAPL, as the kernel's powercap tree shows them, of Intel and of AMD.
//!
//! `/sys/class/powercap/intel-rapl:N` are the zones: packages, and `psys`, the platform, where there is one; `intel-rapl:N:M`
//! are their sub-zones. Counted are packages and `dram`, which is a sub-zone by name alone: the package's counter does not
//! have it. `core` and `uncore` are parts of their package, and `psys` has the package in it: they are told, not added.
//! `intel-rapl-mmio` shows the same counters a second time and is left alone. Source: the kernel's
//! `Documentation/power/powercap/powercap.rst`, and the chapter on power management of Intel's Software Developer's Manual.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::counter::TurningCounter;
use crate::error::MeterError;
use crate::instrument::{CounterStep, Instrument, InstrumentInfo, InstrumentSample};
use crate::reading::{MeterKind, Scope};
use crate::sysfs;

/// The counters of large processors under full load turn round within minutes.
const PERIOD: Duration = Duration::from_secs(1);
/// How often they are brought up to date (Intel's manual: about every millisecond).
const LAG_SECONDS: f64 = 0.001;
/// They are registers of 32 bits, whatever their unit is.
const STEPS: f64 = 4_294_967_296.0;

/// One counter.
#[derive(Debug)]
struct Zone {
    name: String,
    energy: PathBuf,
    counter: TurningCounter,
    is_counted: bool,
}

/// All counters of a machine.
#[derive(Debug)]
pub struct Rapl {
    info: InstrumentInfo,
    zones: Vec<Zone>,
}

impl Rapl {
    /// Those of the machine whose `/sys` this is.
    ///
    /// # Errors
    /// There are none, or they cannot be read.
    pub fn open(sys: &Path) -> Result<Self, MeterError> {
        let dir = sys.join("class/powercap");
        let (mut zones, mut step) = (Vec::new(), 0.0);
        for entry in sysfs::names(&dir) {
            let Some(numbers) = entry.strip_prefix("intel-rapl:") else { continue };
            let path = dir.join(&entry);
            let own = sysfs::word(&path.join("name"))?;
            let parent = numbers.split_once(':').map(|(parent, _)| format!("intel-rapl:{parent}"));
            let (name, is_counted) = match &parent {
                None => (own.clone(), own.starts_with("package")),
                Some(parent) => {
                    let of = sysfs::word(&dir.join(parent).join("name"))?;
                    (format!("{of}/{own}"), own == "dram" && of.starts_with("package"))
                }
            };
            let range: u64 = sysfs::number(&path.join("max_energy_range_uj"))?;
            if range == 0 {
                continue;
            }
            if is_counted {
                step += range as f64 / 1e6 / STEPS;
            }
            let counter = TurningCounter::new(range);
            zones.push(Zone { name, energy: path.join("energy_uj"), counter, is_counted });
        }
        let counted: Vec<&str> = zones.iter().filter(|zone| zone.is_counted).map(|zone| zone.name.as_str()).collect();
        if counted.is_empty() {
            return Err(MeterError::Absent(format!(
                "{} has no counter of a processor's package: load the module intel_rapl_msr, or choose another \
                meter; virtual machines have none",
                dir.display()
            )));
        }
        let info = InstrumentInfo {
            kind: MeterKind::Rapl,
            scope: Scope::Package,
            instrument: format!("RAPL ({})", counted.join(", ")),
            period: PERIOD,
            stated_share: None,
            stated_by: "neither Intel nor AMD states an accuracy".to_owned(),
            step_watts: None,
            counter_step: Some(CounterStep { joules: step, lag_seconds: LAG_SECONDS }),
            parts: zones.iter().map(|zone| (zone.name.clone(), zone.is_counted)).collect(),
            notes: Vec::new(),
        };
        Ok(Self { info, zones })
    }
}

impl Instrument for Rapl {
    fn info(&self) -> &InstrumentInfo {
        &self.info
    }

    fn read(&mut self) -> Result<InstrumentSample, MeterError> {
        let (mut counted, mut part_joules) = (0.0, Vec::with_capacity(self.zones.len()));
        for zone in &mut self.zones {
            let joules = zone.counter.read(sysfs::number(&zone.energy)?) as f64 / 1e6;
            if zone.is_counted {
                counted += joules;
            }
            part_joules.push(joules);
        }
        Ok(InstrumentSample { counted_joules: Some(counted), part_joules, ..InstrumentSample::default() })
    }
}
