//! All entries are overwritten, again and again.

use std::time::{Duration, Instant};

use fawn_meter::Energy;
use fawn_report::BenchReport;
use fawn_workload::Draw;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::closed::generator_us_a_put;
use crate::derived::{expected_amplification, phi, versions};
use crate::error::Error;
use crate::session::BenchSession;
use crate::usage::{WorkUsage, space};

/// How often the space is looked at.
pub(super) const LOOK: Duration = Duration::from_millis(500);

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverwriteExperiment {
    /// How often as many puts are made as there are entries.
    pub passes: u32,
    /// The exponent of Zipf's law by which entries are drawn; none: each once a pass, in random order.
    pub zipf: Option<f64>,
    /// An end to all of it before its time.
    pub most_time: Option<Duration>,
}

/// A pass under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pass {
    puts: u64,
    usage: WorkUsage,
    /// Most bytes that segments took.
    most_space: u64,
    /// None while it is under way, or where a part of it was not metered.
    #[serde(default)]
    energy: Option<Energy>,
}

/// How far it has come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct SoFar {
    rows: Vec<Value>,
    pass: Option<Pass>,
    /// How often everything had been written before.
    #[serde(default)]
    versions: Option<f64>,
}

impl SoFar {
    /// What the passes that are over took.
    fn seconds(&self) -> f64 {
        self.rows.iter().filter_map(|row| row["seconds"].as_f64()).sum()
    }
}

impl OverwriteExperiment {
    /// Runs it.
    ///
    /// # Errors
    /// As puts have them.
    pub(super) fn run(&self, session: &mut BenchSession<'_>, name: &str) -> Result<BenchReport, Error> {
        if self.zipf.is_some_and(|exponent| exponent.is_nan() || exponent <= 0.0) {
            return Err(Error::Unfit("Zipf's law needs a positive exponent: give --zipf 0.99 or none".to_owned()));
        }
        let mut so_far: SoFar = session.unfinished(name).unwrap_or_default();
        let before = *so_far.versions.get_or_insert_with(|| versions(&session.history));
        session.changed();
        session.skewed = self.zipf.map(|exponent| Draw::zipf(session.setup.entries, exponent, session.age()));
        while so_far.rows.len() < self.passes as usize && self.has_time(so_far.seconds()) {
            let pass = self.pass(session, name, &mut so_far)?;
            so_far.pass = None;
            so_far.rows.push(row(session, so_far.rows.len() + 1, &pass));
            session.note(name, &so_far)?;
        }
        session.skewed = None;
        session.watch.progress(1, 1, "waiting until maintenance is done");
        let meter = session.driver.meter();
        let settled = session.settle_since(&meter)?;
        if let Some(Value::Object(last)) = so_far.rows.last_mut() {
            last.insert("settle_seconds".to_owned(), settled.seconds.into());
            let written = settled.write_bytes.map_or(settled.counts.written_bytes, |bytes| bytes);
            last.insert("settle_written_bytes".to_owned(), written.into());
        }
        let mut report = session.report("overwrite");
        report.parameter("passes", self.passes);
        report.parameter("zipf", self.zipf);
        report.parameter("versions", before);
        let first = so_far.rows.iter().find_map(|row| serde_json::from_value::<Energy>(row["energy"].clone()).ok());
        report.metered(fawn_meter::provenance(&report.rows, first.as_ref()));
        for row in so_far.rows {
            report.row(row);
        }
        report.notes.push(
            "space is that of all files except the commit log, which is preallocated; live are keys and values"
                .to_owned(),
        );
        session.finish(name, report)
    }

    fn has_time(&self, spent_seconds: f64) -> bool {
        self.most_time.is_none_or(|most| spent_seconds < most.as_secs_f64())
    }

    fn pass(&self, session: &mut BenchSession<'_>, name: &str, so_far: &mut SoFar) -> Result<Pass, Error> {
        let none = || Pass { puts: 0, usage: WorkUsage::none(), most_space: 0, energy: None };
        let before = so_far.pass.take().unwrap_or_else(none);
        let entries = session.setup.entries;
        let (number, total) = (so_far.rows.len() as u64, u64::from(self.passes) * entries);
        let spent = so_far.seconds() + before.usage.seconds;
        let metering = session.metering()?;
        let meter = session.driver.meter();
        let began = Instant::now();
        let mut looked = began;
        let mut most_space = before.most_space;
        let so_far_now = |session: &BenchSession<'_>, made: u64, most_space: u64| {
            let mut usage = before.usage;
            usage.add(&session.driver.usage(&meter));
            Pass { puts: before.puts + made, usage, most_space, energy: None }
        };
        let left = entries.saturating_sub(before.puts);
        let made = session.put_many(left, |session, made| {
            let done = number * entries + before.puts + made;
            session.watch.progress(done, total, &format!("overwriting, pass {}", number + 1));
            if looked.elapsed() >= LOOK || made == left {
                looked = Instant::now();
                most_space = most_space.max(segments(session)?);
            }
            if session.is_note_due() {
                session.note_data(false)?;
                so_far.pass = Some(so_far_now(session, made, most_space));
                session.note(name, so_far)?;
            }
            Ok(self.has_time(spent + began.elapsed().as_secs_f64()))
        })?;
        most_space = most_space.max(segments(session)?);
        let pass = so_far_now(session, made, most_space);
        // Of a pass that was interrupted only the end was metered.
        Ok(Pass { energy: fawn_meter::stop(metering)?.filter(|_| before.puts == 0), ..pass })
    }
}

/// Bytes that all files but the commit log take.
pub(super) fn segments(session: &BenchSession<'_>) -> Result<u64, Error> {
    let path = session.driver.path();
    space(path).map(|(_, rest)| rest).map_err(Error::io(path))
}

fn row(session: &BenchSession<'_>, number: usize, pass: &Pass) -> Value {
    let (setup, usage) = (&session.setup, &pass.usage);
    let (puts, user) = (pass.puts.max(1) as f64, setup.user_bytes(pass.puts.max(1)) as f64);
    let stats = session.driver.stats();
    let phi = phi(&stats);
    let mut row = json!({
        "pass": number,
        "puts": pass.puts,
        "seconds": usage.seconds,
        "puts_a_second": puts / usage.seconds,
        "user_mb_a_second": user / usage.seconds / 1e6,
        "cpu_us_a_put": usage.cpu_us / puts,
        "generator_cpu_us": generator_us_a_put(setup.entries, setup.value_bytes),
        "write_amplification": usage.write_bytes.map(|bytes| bytes as f64 / user),
        "store_write_amplification": usage.counts.written_bytes as f64 / user,
        "read_bytes_over_user": usage.read_bytes.map(|bytes| bytes as f64 / user),
        "expected_write_amplification": phi.map(|phi| expected_amplification(phi, setup.ack)),
        "phi": phi,
        "index_bytes_an_entry": stats.index.bytes_per_entry,
        "seals": usage.counts.seals,
        "merges": usage.counts.merges,
        "most_space_bytes": pass.most_space,
        "most_space_over_live": pass.most_space as f64 / setup.user_bytes(setup.entries) as f64,
    });
    let fields = row.as_object_mut().expect("a row is an object");
    fawn_meter::write_row(fields, pass.energy.as_ref(), puts / usage.seconds, Some(usage.cpu_us / puts));
    row
}
