//! e-Energy 2010, Figures 4 and 5: efficiency of a matrix product over the size of the matrix, with all threads and with one.

use std::path::Path;
use std::time::Duration;

use fawn_joule::caches::CpuCache;
use fawn_joule::matrix::{MatrixPlan, PageSize};
use fawn_joule::measure::EfficiencyKind;
use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;

/// Sizes where the system does not tell its caches, bytes.
const WITHOUT_CACHES: (u64, u64) = (16 << 10, 64 << 20);

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = Finding::of(&[
        ("matrix_bytes", "matrix, bytes", None),
        ("threads", "threads", None),
        ("mflops", "MFLOPS", Some(0)),
        ("mflop_a_cpu_second", "MFLOP per CPU second", Some(0)),
        ("watts", "watts", Some(2)),
        ("kflops_a_watt", "KFLOPS per watt", Some(1)),
        ("modelled_watts", "watts, modelled", Some(2)),
        ("kflops_a_modelled_watt", "KFLOPS per modelled watt", Some(1)),
    ]);
    let caches = CpuCache::all(Path::new("/sys"));
    let known = caches.first().zip(caches.last()).map(|(first, last)| (first.bytes / 2, 4 * last.bytes));
    let (smallest_bytes, wanted) = known.unwrap_or(WITHOUT_CACHES);
    let largest_bytes = run.pick(4 * smallest_bytes, wanted, wanted).min(fawn_machine::memory().amount / 4);
    let all = fawn_machine::cores().0.get();
    let plan = MatrixPlan {
        threads: if all > 1 { vec![all, 1] } else { vec![1] },
        pages: vec![PageSize::Base],
        time: run.pick(Duration::from_millis(1), Duration::from_millis(50), Duration::from_secs(1)),
        smallest_bytes,
        largest_bytes,
        // A small run has no time for the check, which takes a matrix of four times the last cache.
        caches: run.pick(Vec::new(), caches.clone(), caches.clone()),
    };
    let sweep = fawn_joule::matrix::run(&plan, run.tools.meter.as_ref(), run.watch)?;
    let kind = EfficiencyKind::of(&sweep.report.rows);
    (finding.rows, finding.notes) = (sweep.report.rows, sweep.report.notes);
    for name in ["element", "seconds_a_point", "meter"] {
        finding.parameters.extend(sweep.report.parameters.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    finding.parameter("caches", caches.iter().map(CpuCache::describe).collect::<Vec<_>>().join(", "));
    if let Some(check) = sweep.check {
        finding.parameter("columns_over_rows", check.factor);
    }
    for row in &mut finding.rows {
        let threads = row.get("threads").and_then(serde_json::Value::as_u64).unwrap_or(0);
        let figure = if threads == 1 { "5: one thread" } else { "4: all threads" };
        row.insert("figure".to_owned(), json!(figure));
    }
    let y = match kind {
        EfficiencyKind::Measured => Axis::linear("kflops_a_watt", "KFLOPS per watt"),
        EfficiencyKind::Modelled => Axis::linear("kflops_a_modelled_watt", "KFLOPS per modelled watt"),
        EfficiencyKind::HandRead | EfficiencyKind::CpuSecond => {
            Axis::linear("mflop_a_cpu_second", "MFLOP per CPU second")
        }
    };
    let chart = Chart::lines("a matrix product over the size of the matrix", Axis::bytes("matrix_bytes", "matrix"), y);
    finding.charts.push(chart.by("figure").with_limits(caches.iter().map(CpuCache::limit).collect()));
    finding.note(
        "the paper draws its curves without numbers. In its text the Atom is up to twice as efficient while both matrices fit \
         the same caches, and the Core i7 up to four times while its matrix alone fits a cache",
    );
    Ok(finding)
}
