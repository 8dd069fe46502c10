//! Fixed power: what the watts that a machine draws at any speed do to its efficiency (e-Energy'10 §2, Figure 2).
//!
//! * [`efficiency`]: the formulas. [`catalogue`]: processors and machines with their sources. [`own`]: this machine's own points.
//! * [`output`]: the figures as tables and as a page.

pub mod catalogue;
pub mod efficiency;
pub mod output;
pub mod own;

use std::path::PathBuf;
use std::time::Duration;

use fawn_meter::{Energy, Meter, MeterError, MeterKind, provenance};
use fawn_report::chart::Row;
use fawn_report::{BenchReport, Watch};
use serde_json::{Value, json};

use catalogue::{OperatingPoint, PointCatalogue};
use efficiency::{best, lost_share, watts_at_load, with_fixed_power};

/// The fixed power of the paper's Figure 2, watts.
pub const PAPER_FIXED_WATTS: f64 = 0.1;
/// Loads for which a straight line between idle and full power is told.
const LOADS: &[f64] = &[0.1, 0.2, 0.5, 0.8];

/// What is to be analysed.
#[derive(Clone, Debug)]
pub struct FixedPlan {
    /// Points of others.
    pub catalogue: PointCatalogue,
    /// Watts that are added to each.
    pub fixed_watts: f64,
    /// All threads of this machine.
    pub threads: usize,
    /// For so long each of its points is measured; zero: none is.
    pub time: Duration,
    /// Its `/sys`.
    pub sys: PathBuf,
}

/// Analyses the catalogue, and measures and analyses this machine.
///
/// # Errors
/// The meter cannot be read.
pub fn run(plan: &FixedPlan, meter: Option<&Meter>, watch: &dyn Watch) -> Result<BenchReport, MeterError> {
    let mut report = BenchReport::new("fixed");
    report.parameter("catalogue", plan.catalogue.name.as_str());
    report.parameter("fixed_watts", plan.fixed_watts);
    report.parameter("seconds_a_point", plan.time.as_secs_f64());
    report.rows = plan.catalogue.points.iter().map(|point| catalogue_row(point, plan.fixed_watts)).collect();
    mark_best(&mut report.rows);
    report.notes.extend(best_notes(&report.rows, plan.fixed_watts));
    report.notes.push(
        "sources count instructions in different ways, and watts of a package do not have those of its machine: compare points \
         of the same measure and cover"
            .to_owned(),
    );
    if !plan.time.is_zero() {
        let (own, energy) = own_rows(plan, meter, watch)?;
        report.notes.push(own::clock_note(&plan.sys));
        report.notes.push(
            "this machine's MIPS are 64-bit operations of SplitMix64 as its source has them, not instructions that the \
             processor counted: compare them with each other"
                .to_owned(),
        );
        report.notes.extend(own_notes(&own, plan.fixed_watts));
        report.metered(provenance(&own, energy.as_ref()));
        report.notes.extend(meter.and_then(Meter::loss));
        report.notes.extend(crate::build_note());
        report.rows.extend(own);
    }
    Ok(report)
}

fn row_of(value: Value) -> Row {
    let Value::Object(row) = value else { unreachable!("rows are objects") };
    row
}

fn catalogue_row(point: &OperatingPoint, fixed_watts: f64) -> Row {
    let alone = point.mips / point.watts;
    row_of(json!({
        "origin": "catalogue",
        "point": point.name,
        "mips": point.mips,
        "point_watts": point.watts,
        "mips_a_watt": alone,
        "mips_a_watt_with_fixed": with_fixed_power(point.mips, alone, fixed_watts),
        "lost_share": lost_share(point.watts, fixed_watts),
        "covers": point.covers.name(),
        "measure": point.measure,
        "kind": point.kind,
        "source": point.source,
        "date": point.date,
    }))
}

fn mark_best(rows: &mut [Row]) {
    let of = |row: &Row| row.get("mips_a_watt_with_fixed").and_then(Value::as_f64);
    let highest = rows.iter().filter_map(of).fold(0.0, f64::max);
    for row in rows {
        // What rounding alone tells apart is equally good.
        let is_best = of(row).is_some_and(|it| it > 0.0 && it >= highest * 0.999);
        row.insert("is_best".to_owned(), json!(is_best));
    }
}

fn named(row: &Row) -> &str {
    row.get("point").and_then(Value::as_str).unwrap_or_default()
}

fn best_notes(rows: &[Row], fixed_watts: f64) -> Option<String> {
    let of = |name: &'static str| move |row: &Row| row.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let alone = best(rows.iter().map(of("mips_a_watt")))?;
    let marked: Vec<&str> = rows.iter().filter(|row| row.get("is_best") == Some(&json!(true))).map(named).collect();
    Some(format!(
        "of the catalogue {} has most MIPS per watt alone, and with {fixed_watts} W of fixed power {}",
        named(&rows[alone]),
        marked.join(" and ")
    ))
}

/// This machine's points: measured at numbers of threads, then on a straight line between idle and full power.
fn own_rows(
    plan: &FixedPlan,
    meter: Option<&Meter>,
    watch: &dyn Watch,
) -> Result<(Vec<Row>, Option<Energy>), MeterError> {
    if let Some(meter) = meter {
        meter.rest()?;
    }
    let counts = own::thread_counts(plan.threads);
    let (mut rows, mut full) = (Vec::new(), None);
    for (at, threads) in counts.iter().enumerate() {
        watch.progress(at as u64, counts.len() as u64, "integer work");
        // Watts that were read by hand are those of all threads.
        let is_by_hand = meter.is_some_and(|meter| meter.info().kind == MeterKind::Hand);
        let metered = meter.filter(|_| !is_by_hand || *threads == plan.threads);
        let (operations, cost) = own::measure(*threads, plan.time, metered)?;
        let name = fawn_report::amount::counted(*threads as u64, "thread", "threads");
        let mips = operations as f64 / cost.seconds.max(1e-9) / 1e6;
        let mut row = row_of(json!({
            "origin": "this machine", "point": format!("this machine, {name}"), "threads": threads, "mips": mips,
        }));
        cost.write(&mut row, operations as f64);
        if let Some(energy) = &cost.energy {
            add_power(&mut row, mips, energy, plan.fixed_watts);
        }
        rows.push(row);
        full = cost.energy.map(|energy| (mips, energy)).or(full);
    }
    mark_best(&mut rows);
    if let Some((mips, energy, idle)) = full.as_ref().and_then(|(mips, energy)| Some((mips, energy, energy.idle?))) {
        // A machine that draws less under load than at rest was not at rest.
        let loads = LOADS.iter().filter(|_| energy.watts > idle.watts);
        rows.extend(loads.map(|load| load_row(*load, *mips, idle.watts, energy.watts, plan.fixed_watts)));
    }
    Ok((rows, full.map(|(_, energy)| energy)))
}

/// The analysis of a point whose energy is known. Its watts have the kind of their meter.
fn add_power(row: &mut Row, mips: f64, energy: &Energy, fixed_watts: f64) {
    let watts = energy.watts;
    let efficiency = mips / watts.max(1e-9);
    row.insert("point_watts".to_owned(), json!(watts));
    row.insert("watts_kind".to_owned(), json!(energy.kind.name()));
    row.insert("covers".to_owned(), json!(energy.scope.name()));
    row.insert("mips_a_watt".to_owned(), json!(efficiency));
    row.insert("mips_a_watt_with_fixed".to_owned(), json!(with_fixed_power(mips, efficiency, fixed_watts)));
    row.insert("lost_share".to_owned(), json!(lost_share(watts, fixed_watts)));
    if let Some(idle) = energy.idle {
        // The paper's formula with the machine's own fixed power: above it, the work has an efficiency of its own.
        let above = (watts > idle.watts).then(|| mips / (watts - idle.watts));
        row.insert("idle_watts".to_owned(), json!(idle.watts));
        row.insert("mips_a_watt_above_idle".to_owned(), json!(above));
    }
}

fn load_row(load: f64, mips: f64, idle_watts: f64, full_watts: f64, fixed_watts: f64) -> Row {
    let (mips, watts) = (load * mips, watts_at_load(load, idle_watts, full_watts));
    let efficiency = mips / watts;
    row_of(json!({
        "origin": "this machine, on a line",
        "point": format!("this machine at {:.0} % load, on a straight line", load * 100.0),
        "load": load,
        "mips": mips,
        "point_watts": watts,
        "watts_kind": "line",
        "idle_watts": idle_watts,
        "peak_power_share": watts / full_watts,
        "mips_a_watt": efficiency,
        "mips_a_watt_with_fixed": with_fixed_power(mips, efficiency, fixed_watts),
        "lost_share": lost_share(watts, fixed_watts),
    }))
}

fn own_notes(rows: &[Row], fixed_watts: f64) -> Vec<String> {
    let known: Vec<&Row> =
        rows.iter().filter(|row| row.contains_key("watts_kind") && !row.contains_key("load")).collect();
    let of = |row: &Row, name: &str| row.get(name).and_then(Value::as_f64);
    let Some(at) = best(known.iter().map(|row| of(row, "mips_a_watt").unwrap_or(0.0))) else {
        return vec![
            "this machine's watts are not known, so its efficiency is not: give a --meter, or --watts and --idle-watts as a \
             plug shows them"
                .to_owned(),
        ];
    };
    let row = known[at];
    let percent = 100.0 * of(row, "lost_share").unwrap_or(0.0);
    let mut notes = vec![format!(
        "the best operating point of this machine is {}; {fixed_watts} W more cost it {percent:.2} % of its efficiency there",
        named(row).trim_start_matches("this machine, ")
    )];
    if let Some(line) = rows.iter().find(|row| of(row, "load").is_some_and(|load| (load - 0.2).abs() < 1e-9)) {
        let share = 100.0 * of(line, "peak_power_share").unwrap_or(0.0);
        notes.push(format!(
            "at 20 % load this machine draws {share:.0} % of its full power, if power rises with load on a straight line (the \
             paper: may be over 50 %)"
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use fawn_meter::HandReading;
    use fawn_report::Nobody;

    use super::*;

    fn plan(time: Duration) -> FixedPlan {
        let sys = PathBuf::from("/no-such-system");
        FixedPlan { catalogue: PointCatalogue::built_in(), fixed_watts: 0.1, threads: 2, time, sys }
    }

    #[test]
    fn with_fixed_power_the_best_point_is_in_the_middle_of_the_catalogue() {
        let report = run(&plan(Duration::ZERO), None, &Nobody).unwrap();
        let points: Vec<f64> = report.rows.iter().map(|row| row["mips_a_watt"].as_f64().unwrap()).collect();
        let with: Vec<f64> = report.rows.iter().map(|row| row["mips_a_watt_with_fixed"].as_f64().unwrap()).collect();
        assert!(points.iter().zip(&with).all(|(alone, with)| with < alone));
        let (alone, with) = (best(points.into_iter()).unwrap(), best(with.into_iter()).unwrap());
        assert!(alone < with && with > 1 && with + 2 < report.rows.len(), "{alone} {with}");
        assert_eq!(report.rows[with]["is_best"], true);
    }

    #[test]
    fn a_machine_with_watts_of_a_plug_has_its_points_and_a_line_between_them() {
        let meter = Meter::by_hand(HandReading { watts: 10.0, idle_watts: Some(4.0) }).unwrap();
        let report = run(&plan(Duration::from_millis(5)), Some(&meter), &Nobody).unwrap();
        let own: Vec<_> = report.rows.iter().filter(|row| row["origin"] != "catalogue").collect();
        assert_eq!(own.len(), 2 + LOADS.len());
        // What one thread draws was not read.
        assert!(!own[0].contains_key("point_watts") && own[0]["mips"].as_f64().unwrap() > 0.0, "{:?}", own[0]);
        let all = own[1];
        let of = |name: &str| all[name].as_f64().unwrap();
        assert!(
            (of("mips") / 10.0 - of("mips_a_watt")).abs() < 1e-6
                && (of("mips") / 6.0 - of("mips_a_watt_above_idle")).abs() < 1e-6
        );
        // The paper's formula with the machine's own fixed power gives what was measured.
        let again = with_fixed_power(of("mips"), of("mips_a_watt_above_idle"), 4.0);
        assert!((again - of("mips_a_watt")).abs() < 1e-6);
        assert!((own[3]["point_watts"].as_f64().unwrap() - 5.2).abs() < 1e-9, "{:?}", own[3]);
        assert!(all.contains_key("operations_a_hand_read_joule") && !all.contains_key("joules"), "{all:?}");
        let notes = report.notes.join("\n");
        for what in
            ["best operating point of this machine is 2 threads", "draws 52 % of its full power", "plug read by hand"]
        {
            assert!(notes.contains(what), "{what}: {notes}");
        }
    }

    #[test]
    fn a_machine_without_watts_has_no_efficiency() {
        let report = run(&plan(Duration::from_millis(2)), None, &Nobody).unwrap();
        let own: Vec<_> = report.rows.iter().filter(|row| row["origin"] == "this machine").collect();
        assert!(own.len() == 2 && own.iter().all(|row| !row.contains_key("mips_a_watt")), "{own:?}");
        assert!(report.notes.iter().any(|note| note.contains("watts are not known")), "{:?}", report.notes);
    }
}
