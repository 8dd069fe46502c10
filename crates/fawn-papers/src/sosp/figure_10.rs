//! SOSP 2009, Figure 10: operations a second as the share of puts grows, on one node, without a network.

use std::time::{Duration, Instant};

use fawn_bench::BenchSession;
use fawn_bench::closed::{Mix, Ratio};
use fawn_bench::lookups::Lookups;
use fawn_machine::fresh_seed;
use fawn_workload::Draw;
use serde_json::{Value, json};

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::store;
use crate::testbed::store::{DEPTH, Size};

/// Puts of so many operations, in percent.
const PERCENTS: [u64; 9] = [0, 10, 25, 40, 50, 60, 75, 90, 100];

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let size = Size {
        entries: run.pick(20_000, 1_000_000, 14_000_000),
        value_bytes: 256,
        memory: run.pick(8 << 20, 32 << 20, 256 << 20),
    };
    let time = run.pick(Duration::from_millis(80), Duration::from_secs(1), Duration::from_secs(10));
    let (mut session, _) = store::loaded(run, "store", size)?;
    let mut finding = Finding::of(&[
        ("put_share", "share of puts", Some(2)),
        ("operations_a_second", "operations/s", Some(0)),
        ("gets_a_second", "gets/s", Some(0)),
        ("puts_a_second", "puts/s", Some(0)),
        ("from_dram", "gets that DRAM answered", Some(3)),
        ("cpu_us_an_operation", "CPU-us each", Some(2)),
        ("merges", "merges meanwhile", None),
    ]);
    let mut merged = Vec::new();
    for (at, percent) in PERCENTS.into_iter().enumerate() {
        run.watch.progress(at as u64, PERCENTS.len() as u64, &format!("{percent} % puts"));
        // Each begins at rest, so that none pays for the one before.
        session.settle()?;
        session.expect_puts()?;
        let (row, merges) = mix(&mut session, percent, time)?;
        finding.row(row);
        merged.push((percent, merges));
    }
    size.tell(&mut finding);
    finding.parameter("seconds", time.as_secs_f64());
    finding.parameter("gets_in_flight", DEPTH);
    session.close()?;
    finding.charts = vec![Chart::lines(
        "Operations a second by the share of puts",
        Axis::linear("put_share", "share of puts among all operations"),
        Axis::linear("operations_a_second", "operations a second"),
    )];
    finding.note(
        "the paper draws this figure without numbers. It says that gets limit the rate at few puts, and that the \
        rate rises significantly with more puts. Puts overwrite entries at random, and are acknowledged in memory, \
        as the paper's",
    );
    finding.note(told(&merged));
    Ok(finding)
}

/// At which of these points, by their percentage of puts, the store was cleaned meanwhile.
fn told(merges: &[(u64, u64)]) -> String {
    let points: Vec<String> = merges
        .iter()
        .filter(|(_, merges)| *merges > 0)
        .map(|(percent, merges)| format!("{percent} % puts ({merges})"))
        .collect();
    if points.is_empty() {
        return "nothing was merged at any point, because there was too little garbage yet: a store that is \
            overwritten for longer needs cleaning, which sosp-cleaning measures"
            .to_owned();
    }
    format!(
        "merges are part of the rate at {} alone: garbage accumulates from point to point, and sosp-cleaning \
        measures the cost of cleaning it",
        points.join(", ")
    )
}

/// The row of a point, and how many merges there were.
fn mix(session: &mut BenchSession<'_>, percent: u64, time: Duration) -> Result<(Value, u64), Error> {
    let mut lookups = Lookups::new(session.setup.value_bytes);
    let meter = session.driver.meter();
    let puts = if percent == 100 {
        let began = Instant::now();
        session.put_many(u64::MAX, |_, _| Ok(began.elapsed() < time))?
    } else {
        let mut draw = Draw::uniform(session.setup.entries, fresh_seed());
        let ratio = (percent > 0).then_some(Ratio { gets: 100 - percent, puts: percent });
        let mut mix = Mix::of(DEPTH as usize, ratio);
        let end = Instant::now() + time;
        while !session.turn(&mut lookups, &mut mix, Instant::now() < end, &mut || draw.draw())? {}
        mix.made
    };
    let usage = session.driver.usage(&meter);
    let (gets, seconds) = (lookups.answered, usage.seconds);
    let operations = gets + puts;
    let row = json!({
        "put_share": percent as f64 / 100.0,
        "operations_a_second": operations as f64 / seconds,
        "gets_a_second": gets as f64 / seconds,
        "puts_a_second": puts as f64 / seconds,
        "from_dram": (gets > 0).then(|| lookups.from_dram as f64 / gets as f64),
        "cpu_us_an_operation": usage.cpu_us / operations.max(1) as f64,
        "merges": usage.counts.merges,
    });
    Ok((row, usage.counts.merges))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_with_merges_are_named() {
        let said = told(&[(0, 0), (90, 12), (100, 29)]);
        assert!(said.contains("at 90 % puts (12), 100 % puts (29) alone"), "{said}");
        assert!(told(&[(0, 0), (100, 0)]).starts_with("nothing was merged"));
    }
}
