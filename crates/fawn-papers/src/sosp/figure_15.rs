//! SOSP 2009, Figure 15: how long gets take at the highest load, and at a low and a high load while ranges are split.

use std::time::{Duration, Instant};

use fawn_bench::BenchSession;
use fawn_bench::lookups::Lookups;
use fawn_bench::paced::OpenLoop;
use fawn_machine::fresh_seed;
use fawn_report::Latencies;
use fawn_ring::Key;
use fawn_workload::{Draw, mix};
use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::store;
use crate::testbed::store::{DEPTH, Size};

/// Shares of all gets whose latency is told.
const SHARES: [f64; 13] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999, 1.0];

/// Loads of the paper, of the 1,850 gets a second that its node answers.
const LOADS: [(&str, f64); 2] = [("split, low load", 500.0 / 1850.0), ("split, high load", 1500.0 / 1850.0)];

/// A range is split, or the halves are merged again, once in this time. Each takes milliseconds; one after the other without a
/// pause cut the store into thousands of slices, which no store comes to.
const EVERY: Duration = Duration::from_millis(100);

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let bytes: u64 = run.pick(4 << 20, 128 << 20, 512 << 20);
    let size = Size::of_bytes(bytes, 256, run.pick(8 << 20, 16 << 20, 64 << 20));
    let time = run.pick(Duration::from_millis(150), Duration::from_secs(2), Duration::from_secs(30));
    let mut finding =
        Finding::of(&[("workload", "workload", None), ("share", "share of gets", Some(4)), ("us", "us", Some(1))]);
    let (mut session, _) = store::loaded(run, "store", size)?;
    run.watch.progress(1, 4, "the highest load");
    let highest = store::gets(&mut session, DEPTH, time)?;
    tell(&mut finding, "gets, highest load", &highest.latencies);
    for (at, (name, share)) in LOADS.into_iter().enumerate() {
        run.watch.progress(2 + at as u64, 4, name);
        session.settle()?;
        let (latencies, splits) = split_meanwhile(&mut session, highest.a_second() * share, time, at as u64)?;
        tell(&mut finding, name, &latencies);
        finding.note(format!("{name}: {:.0} % of the highest rate, {splits} splits meanwhile", 100.0 * share));
    }
    session.close()?;
    size.tell(&mut finding);
    finding.parameter("seconds", time.as_secs_f64());
    finding.parameter("gets_in_flight_at_the_highest_load", DEPTH);
    finding.parameter("gets_a_second_at_the_highest_load", highest.a_second());
    for (workload, share, us) in [
        ("gets, highest load", 0.5, 800.0),
        ("gets, highest load", 0.9, 2_000.0),
        ("gets, highest load", 0.999, 26_300.0),
        ("split, low load", 0.9, 10_000.0),
        ("split, low load", 0.999, 491_000.0),
        ("split, high load", 0.999, 611_000.0),
    ] {
        finding.printed(json!({ "workload": workload, "share": share, "us": us }));
    }
    finding.charts = vec![
        Chart::lines("Latency of gets", Axis::log("us", "microseconds"), Axis::linear("share", "share of gets"))
            .by("workload"),
    ];
    finding.note(
        "with splits, the store splits a range at a random key, merges it again 100 ms later, and so on; a latency \
        counts from when its get was due. The paper's splits take minutes, ours milliseconds. Its latencies are \
        over the network. Its 90th percentiles are bounds: under 2 ms in normal operation, and above 10 ms for a \
        tenth of the gets during a split",
    );
    Ok(finding)
}

/// Gets by the clock, beside splits and merges; also how many splits there were.
fn split_meanwhile(
    session: &mut BenchSession<'_>,
    rate: f64,
    time: Duration,
    seed: u64,
) -> Result<(Latencies, u64), Error> {
    let mut draw = Draw::uniform(session.setup.entries, fresh_seed());
    let mut lookups = Lookups::new(session.setup.value_bytes);
    let (mut splits, mut split, mut wanted) = (0u64, None, None);
    let (began, mut next) = (Instant::now(), Duration::ZERO);
    let paced = OpenLoop { rate, time, gets_a_put: None, began };
    session.paced(&mut lookups, &mut draw, paced, |session| {
        let store = session.driver.store();
        let ranges = store.ranges().intervals().count();
        if wanted.is_some_and(|wanted| wanted != ranges) || began.elapsed() < next {
            return Ok(());
        }
        next += EVERY;
        if let Some(at) = split.take() {
            store.merge_ranges(at)?;
            wanted = Some(ranges - 1);
        } else {
            splits += 1;
            // Another one each time: where a slice was cut once there is nothing more to cut.
            let at = Key::lowest_with_prefix(mix(mix(seed) ^ splits));
            store.split_range(at);
            (split, wanted) = (Some(at), Some(ranges + 1));
        }
        Ok(())
    })?;
    // The next one begins with one range.
    if let Some(wanted) = wanted {
        store::until(session, |session| session.driver.store().ranges().intervals().count() == wanted)?;
    }
    if let Some(at) = split {
        store::merge(session, at)?;
    }
    Ok((lookups.latencies, splits))
}

fn tell(finding: &mut Finding, workload: &str, latencies: &Latencies) {
    for share in SHARES {
        finding.row(json!({ "workload": workload, "share": share, "us": latencies.us(share) }));
    }
}
