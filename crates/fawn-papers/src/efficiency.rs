//! Operations for what they took: a joule where a meter tells, a second of a processor where none does.
//!
//! This is the one place where either is computed. Without a meter nothing here is in joules, and what a model says has names of
//! its own, so that it is not taken for measured.

use fawn_loadgen::phase::PhaseResult;
use fawn_meter::report::provenance;
use fawn_meter::{Energy, Metering, Scope};
use serde_json::{Value, json};

use crate::error::Error;
use crate::finding::{Finding, Row};
use crate::run::Run;

/// What operations took.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationCost {
    /// How many there were.
    pub operations: u64,
    /// For how long.
    pub seconds: f64,
    /// CPU time of those who carried them out, microseconds; `None` where the system does not tell.
    pub cpu_us: Option<f64>,
    /// What was drawn meanwhile; `None`: there is no meter.
    pub energy: Option<Energy>,
}

/// What is said where there is no meter.
pub const NO_METER: &str = "there is no power meter (--meter), so the report has operations per second of CPU time \
    of the servers instead of queries per joule; it says nothing about the power of a machine that waits; --meter \
    model:FILE gives modelled joules (see reference/meters in the book)";

/// A stretch of work that is metered where there is a meter.
#[derive(Debug)]
pub struct MeteredWork(Option<Metering>);

impl MeteredWork {
    /// Begins.
    ///
    /// # Errors
    /// [`Error`].
    pub fn begin(run: &Run<'_>) -> Result<Self, Error> {
        Ok(Self(fawn_meter::start(run.tools.meter.as_ref())?))
    }

    /// Ends, with what was done in it.
    ///
    /// # Errors
    /// [`Error`].
    pub fn end(self, operations: u64, seconds: f64, cpu_us: Option<f64>) -> Result<OperationCost, Error> {
        Ok(OperationCost { operations, seconds, cpu_us, energy: fawn_meter::stop(self.0)? })
    }
}

impl From<&PhaseResult> for OperationCost {
    /// What load on servers took: the servers' CPU time, and the energy where the load was metered.
    fn from(measured: &PhaseResult) -> Self {
        Self {
            operations: measured.stats.answered(),
            seconds: measured.seconds,
            cpu_us: measured.server_cpu_us,
            energy: measured.energy.clone(),
        }
    }
}

impl OperationCost {
    /// Operations a joule, measured or modelled; `None`: there is no meter.
    fn a_joule(&self) -> Option<f64> {
        let watts = self.energy.as_ref().map(|energy| energy.watts)?;
        (watts > 0.0).then(|| self.operations as f64 / self.seconds / watts)
    }

    /// Operations a second of CPU time.
    fn a_cpu_second(&self) -> Option<f64> {
        self.cpu_us.filter(|us| *us > 0.0).map(|us| self.operations as f64 * 1e6 / us)
    }

    /// Adds all of it to a row.
    pub fn tell(&self, row: &mut Row) {
        let is_measured = self.energy.as_ref().is_some_and(|energy| energy.measured);
        let watts = self.energy.as_ref().map(|energy| energy.watts);
        let if_it = |is: bool, value: Option<f64>| json!(value.filter(|_| is));
        for (name, value) in [
            ("queries_a_second", json!(self.operations as f64 / self.seconds)),
            ("watts", if_it(is_measured, watts)),
            ("queries_a_joule", if_it(is_measured, self.a_joule())),
            ("modelled_watts", if_it(!is_measured, watts)),
            ("queries_a_modelled_joule", if_it(!is_measured, self.a_joule())),
            ("queries_a_cpu_second", json!(self.a_cpu_second())),
            ("energy", json!(self.energy)),
        ] {
            row.insert(name.to_owned(), value);
        }
    }

    /// A row that begins with what these operations were.
    pub fn row(&self, what: &str) -> Value {
        let mut row = Row::new();
        row.insert("what".to_owned(), what.into());
        self.tell(&mut row);
        Value::Object(row)
    }
}

/// Says in a finding how the energy of its rows came about, or that nothing metered it: all rows must be there.
pub fn note(finding: &mut Finding, run: &Run<'_>) {
    let energies = energies(finding);
    if let Some(loss) = run.tools.meter.as_ref().and_then(fawn_meter::Meter::loss) {
        finding.note(loss);
    }
    let Some(worst) = worst(&energies) else {
        finding.parameter("meter", "none");
        return finding.note(NO_METER);
    };
    finding.parameter("meter", worst.kind.name());
    finding.note(format!("energy is {}, at most: see reference/meters in the book", fawn_meter::describe(worst)));
    if worst.scope != Scope::Wall {
        finding.note(format!(
            "the papers' watts are at the wall: these, of the {}, are less, and cannot be compared with them",
            worst.scope.name()
        ));
    }
    // Whatever asks runs beside what answers.
    finding.note(if worst.kind.is_of_this_machine() {
        "the energy is that of this machine, including the load generator"
    } else {
        "the energy is that of everything behind the meter: if that is this machine, it includes the load generator"
    });
    for note in energies.iter().flat_map(|energy| &energy.notes) {
        if !finding.notes.contains(note) {
            finding.note(note);
        }
    }
}

/// Says in a finding of rows that have an `energy` how that came about, as the energy suite says it: all rows must be there.
pub fn note_provenance(finding: &mut Finding, run: &Run<'_>) {
    if let Some(loss) = run.tools.meter.as_ref().and_then(fawn_meter::Meter::loss) {
        finding.note(loss);
    }
    let energies = energies(finding);
    let (meter, notes) = provenance(&finding.rows, worst(&energies));
    finding.parameter("meter", meter);
    finding.notes.extend(notes);
}

fn energies(finding: &Finding) -> Vec<Energy> {
    let energy = |row: &Row| serde_json::from_value(row.get("energy")?.clone()).ok();
    finding.rows.iter().filter_map(energy).collect()
}

/// The one that leaves the largest share of its joules open.
fn worst(energies: &[Energy]) -> Option<&Energy> {
    energies.iter().max_by(|one, other| one.open_share().total_cmp(&other.open_share()))
}

/// The columns of [`OperationCost::row`].
pub const COLUMNS: &[(&str, &str, Option<usize>)] = &[
    ("what", "system", None),
    ("queries_a_second", "queries/s", Some(0)),
    ("watts", "watts", Some(2)),
    ("queries_a_joule", "queries a joule", Some(1)),
    ("modelled_watts", "watts, modelled", Some(2)),
    ("queries_a_modelled_joule", "queries a modelled joule", Some(1)),
    ("queries_a_cpu_second", "queries a CPU-second", Some(0)),
    ("from_dram", "share that DRAM answered", Some(3)),
];

#[cfg(test)]
mod tests {
    use fawn_bench::device::DeviceReader;
    use fawn_meter::{Meter, MeterKind, SystemRoots, Uncertainty};
    use fawn_report::Nobody;

    use super::*;
    use crate::run::{Scale, Tools};

    /// `steps` is what these leave open of 10 joules.
    fn energy(kind: MeterKind, steps: f64) -> Energy {
        Energy {
            joules: 10.0,
            measured: kind.is_measured(),
            kind,
            instrument: "it".to_owned(),
            scope: Scope::Wall,
            seconds: 2.0,
            watts: 5.0,
            began_unix_seconds: 0.0,
            samples: 3,
            samples_a_second: 1.5,
            longest_gap_seconds: 1.0,
            is_counter: false,
            uncertainty: Uncertainty::of(10.0, (None, "nobody"), steps, 0.0),
            idle: None,
            dynamic_joules: None,
            dynamic_uncertainty_joules: None,
            parts: Vec::new(),
            notes: vec!["it is small".to_owned()],
        }
    }

    fn taken(energy: Option<Energy>) -> OperationCost {
        OperationCost { operations: 1000, seconds: 2.0, cpu_us: Some(500_000.0), energy }
    }

    /// What is noted of these rows.
    fn noted(rows: &[Option<Energy>], meter: Option<Meter>) -> Finding {
        let tools = Tools {
            fawn: "fawn".into(),
            peers: None,
            device: DeviceReader::Own,
            meter,
            traces: crate::GordonTraces::Synthetic,
        };
        let run = Run { scale: Scale::Tiny, dir: "x".into(), tools: &tools, watch: &Nobody };
        let mut finding = Finding::of(COLUMNS);
        for energy in rows {
            finding.row(taken(energy.clone()).row("x"));
        }
        note(&mut finding, &run);
        finding
    }

    #[test]
    fn without_a_meter_nothing_is_in_joules() {
        let row = taken(None).row("x");
        for name in ["watts", "queries_a_joule", "modelled_watts", "queries_a_modelled_joule"] {
            assert!(row[name].is_null(), "{name}: {row}");
        }
        assert_eq!(
            (row["queries_a_second"].as_f64(), row["queries_a_cpu_second"].as_f64()),
            (Some(500.0), Some(2000.0))
        );
    }

    #[test]
    fn what_a_model_says_is_not_told_as_measured() {
        let row = taken(Some(energy(MeterKind::Shelly, 0.0))).row("x");
        assert_eq!((row["watts"].as_f64(), row["queries_a_joule"].as_f64()), (Some(5.0), Some(100.0)));
        assert!(row["modelled_watts"].is_null(), "{row}");
        let row = taken(Some(energy(MeterKind::Model, 0.0))).row("x");
        assert_eq!(row["queries_a_modelled_joule"].as_f64(), Some(100.0));
        assert!(row["watts"].is_null() && row["queries_a_joule"].is_null(), "{row}");
    }

    #[test]
    fn a_finding_says_of_what_its_energy_is_how_often_it_was_read_and_how_far_it_may_be_off() {
        let finding = noted(&[Some(energy(MeterKind::Shelly, 0.1)), None, Some(energy(MeterKind::Shelly, 0.2))], None);
        assert_eq!(finding.parameters["meter"], "shelly");
        assert_eq!(
            finding.notes,
            [
                "energy is measured at the wall by it, read 1.5 times per second; of unknown accuracy: nobody; \
                beyond that, steps and sampling leave 2.00 % open, at most: see reference/meters in the book",
                "the energy is that of everything behind the meter: if that is this machine, it includes the load \
                generator",
                "it is small",
            ]
        );
        for kind in [MeterKind::Rapl, MeterKind::Hwmon, MeterKind::Battery, MeterKind::Model] {
            let finding = noted(&[Some(energy(kind, 0.0))], None);
            assert!(
                finding.notes[1].starts_with("the energy is that of this machine"),
                "{kind:?}: {:?}",
                finding.notes
            );
            assert_eq!(finding.notes[0].contains("modelled, not measured"), kind == MeterKind::Model);
        }
    }

    #[test]
    fn watts_that_are_not_of_the_wall_are_not_to_be_compared_with_the_papers() {
        let is_warned = |scope| {
            let finding = noted(&[Some(Energy { scope, ..energy(MeterKind::Rapl, 0.0) })], None);
            finding.notes.iter().any(|note| note.contains("the papers' watts are at the wall"))
        };
        assert_eq!([Scope::Package, Scope::Board, Scope::Wall].map(is_warned), [true, true, false]);
    }

    #[test]
    fn a_finding_without_energy_says_why() {
        let finding = noted(&[None], None);
        assert_eq!(
            (&finding.parameters["meter"], finding.notes.as_slice()),
            (&"none".into(), &[NO_METER.to_owned()][..])
        );
        assert!(NO_METER.contains("--meter model:FILE gives modelled joules"));
        // A battery that is plugged in before anything is read.
        let dir = tempfile::tempdir().unwrap();
        let battery = dir.path().join("sys/class/power_supply/BAT0");
        std::fs::create_dir_all(&battery).unwrap();
        for (file, word) in [("type", "Battery"), ("status", "Discharging"), ("power_now", "8000000")] {
            std::fs::write(battery.join(file), word).unwrap();
        }
        let meter = Meter::unasked(&SystemRoots::under(dir.path())).unwrap();
        std::fs::write(battery.join("status"), "Charging").unwrap();
        assert!(fawn_meter::start(Some(&meter)).unwrap().is_none());
        let finding = noted(&[None], Some(meter));
        assert!(
            finding.notes[0].starts_with("battery BAT0 should report joules, but could not be read"),
            "{finding:?}"
        );
        assert!(finding.parameters["meter"] == "none" && finding.notes[1] == NO_METER, "{finding:?}");
    }
}
