//! SOSP 2009, Figure 14: gets a second while a range is split, merged and compacted, at the highest load and at 30 % of it.

use std::time::{Duration, Instant};

use fawn_bench::BenchSession;
use fawn_bench::closed::Mix;
use fawn_bench::lookups::Lookups;
use fawn_bench::paced::OpenLoop;
use fawn_machine::fresh_seed;
use fawn_report::{ByTime, Tenth};
use fawn_workload::Draw;
use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::course::OrderSchedule;
use crate::testbed::store;
use crate::testbed::store::{DEPTH, Size};

/// The low load, of the highest.
const LOW: f64 = 0.3;

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let bytes: u64 = run.pick(4 << 20, 128 << 20, 512 << 20);
    let size = Size::of_bytes(bytes, 256, run.pick(8 << 20, 16 << 20, 64 << 20));
    let rest = run.pick(Duration::from_millis(200), Duration::from_millis(700), Duration::from_secs(5));
    // So long gets by the clock go on, whether all orders are carried out by then or not.
    let time = run.pick(Duration::from_millis(1200), Duration::from_secs(6), Duration::from_mins(1));
    let mut finding = Finding::of(&[
        ("load", "load", None),
        ("seconds", "s", Some(1)),
        ("gets_a_second", "gets/s", Some(0)),
        ("p50_us", "p50 us", Some(0)),
        ("p99_us", "p99 us", Some(0)),
        ("longest_us", "longest us", Some(0)),
        ("during", "during", None),
    ]);
    let (mut session, _) = store::loaded(run, "store", size)?;
    run.watch.progress(1, 4, "overwriting all once");
    store::put_all(&mut session)?;
    run.watch.progress(2, 4, "the highest load");
    let capacity = store::gets(&mut session, DEPTH, rest)?.a_second();
    session.settle()?;
    let mut course = OrderSchedule::new(rest);
    let tenths = highest(&mut session, &mut course, 4 * time)?;
    tell(&mut finding, "highest", &course, &tenths);
    // What it leaves is one range again; what is garbage now was made by overwriting all once more.
    store::put_all(&mut session)?;
    run.watch.progress(3, 4, "30 % of it");
    let mut course = OrderSchedule::new(rest);
    let tenths = paced(&mut session, &mut course, capacity * LOW, time)?;
    tell(&mut finding, "30 % of it", &course, &tenths);
    session.close()?;
    size.tell(&mut finding);
    finding.parameter("gets_a_second_at_the_highest_load", capacity);
    finding.parameter("gets_in_flight_at_the_highest_load", DEPTH);
    finding.charts = vec![
        Chart::lines(
            "Gets a second during maintenance",
            Axis::linear("seconds", "seconds"),
            Axis::linear("gets_a_second", "gets a second"),
        )
        .by("load"),
        Chart::lines(
            "Their 99th percentile",
            Axis::linear("seconds", "seconds"),
            Axis::log("p99_us", "microseconds, for each tenth of a second"),
        )
        .by("load"),
    ];
    finding.note(
        "the paper draws this figure without numbers. It says that a split lowers the rate least and a merge most, \
        and that compaction takes the longest. At 30 % of the highest load all of it is minimal. A quarter of the \
        range is split off, as there. Splits and merges of ranges do not copy records here: they split and join the \
        references to them; compaction merges each slice once",
    );
    Ok(finding)
}

/// Gets as fast as they go until the course is over, or for `most`.
fn highest(session: &mut BenchSession<'_>, course: &mut OrderSchedule, most: Duration) -> Result<Vec<Tenth>, Error> {
    let mut draw = Draw::uniform(session.setup.entries, fresh_seed());
    let mut lookups = Lookups::new(session.setup.value_bytes);
    let mut mix = Mix::new(DEPTH as usize, None);
    let began = Instant::now();
    lookups.by_time = Some((began, ByTime::default()));
    loop {
        let now = began.elapsed();
        let goes_on = !course.is_over() && now < most;
        if goes_on {
            course.step(session, now)?;
        }
        if session.turn(&mut lookups, &mut mix, goes_on, &mut || draw.draw())? {
            return Ok(lookups.by_time.take().map(|(_, by_time)| by_time.tenths()).unwrap_or_default());
        }
    }
}

/// Gets by the clock.
fn paced(
    session: &mut BenchSession<'_>,
    course: &mut OrderSchedule,
    rate: f64,
    time: Duration,
) -> Result<Vec<Tenth>, Error> {
    let mut draw = Draw::uniform(session.setup.entries, fresh_seed());
    let mut lookups = Lookups::new(session.setup.value_bytes);
    let began = Instant::now();
    lookups.by_time = Some((began, ByTime::default()));
    let paced = OpenLoop { rate, time, gets_a_put: None, began };
    session.paced(&mut lookups, &mut draw, paced, |session| course.step(session, began.elapsed()))?;
    Ok(lookups.by_time.take().map(|(_, by_time)| by_time.tenths()).unwrap_or_default())
}

fn tell(finding: &mut Finding, load: &str, course: &OrderSchedule, tenths: &[Tenth]) {
    for (at, tenth) in tenths.iter().enumerate() {
        // The last one may be shorter, and would look like a fall.
        if at + 1 == tenths.len() {
            continue;
        }
        finding.row(json!({
            "load": load,
            "seconds": (at as f64 + 0.5) / 10.0,
            "gets_a_second": tenth.gets * 10,
            "p50_us": tenth.p50_us,
            "p99_us": tenth.p99_us,
            "longest_us": tenth.longest_us,
            "during": course.during(at),
        }));
    }
    for stretch in course.stretches.iter().filter(|stretch| stretch.what != "rest") {
        let how_long = match stretch.to {
            Some(to) => format!("took {:.1} ms", to.saturating_sub(stretch.from).as_secs_f64() * 1e3),
            None => "was not over at the end".to_owned(),
        };
        let from = stretch.from.as_secs_f64();
        finding.note(format!("load {load}: the {} that began at {from:.1} s {how_long}", stretch.what));
    }
}
