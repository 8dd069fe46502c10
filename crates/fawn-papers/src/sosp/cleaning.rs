//! SOSP 2009, §4.1.3: gets and puts while the store is cleaned, and where nothing is to be cleaned.

use std::time::{Duration, Instant};

use fawn_bench::BenchSession;
use fawn_bench::closed::Mix;
use fawn_bench::lookups::Lookups;
use fawn_bench::usage::WorkUsage;
use fawn_machine::fresh_seed;
use fawn_workload::Draw;
use serde_json::{Value, json};

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::store;
use crate::testbed::store::{DEPTH, Size};

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let size = Size {
        entries: run.pick(20_000, 1_000_000, 7_000_000),
        value_bytes: 256,
        memory: run.pick(8 << 20, 32 << 20, 256 << 20),
    };
    let time = run.pick(Duration::from_millis(100), Duration::from_millis(1500), Duration::from_secs(15));
    let (mut session, load) = store::loaded(run, "store", size)?;
    // A store without garbage has nothing to clean.
    run.watch.progress(1, 6, "overwriting all once");
    store::put_all(&mut session)?;
    let mut finding = Finding::of(&[
        ("what", "what", None),
        ("operations_a_second", "operations/s", Some(0)),
        ("cpu_us_an_operation", "CPU-us each, cleaning included", Some(2)),
        ("merges", "merges", None),
    ]);
    // Keys that no key has been put over leave no garbage: the one kind of puts that needs no cleaning.
    finding.row(row("puts of new keys, nothing to clean", size.entries, &load.put));
    let parts: [(&str, Doing, Cleaning); 4] = [
        ("gets, nothing to clean", gets, Cleaning::WhenDue),
        ("gets, while cleaning", gets, Cleaning::Always),
        ("puts over others, cleaned as is due", puts, Cleaning::WhenDue),
        ("puts, while cleaning", puts, Cleaning::Always),
    ];
    for (at, (what, doing, cleaning)) in parts.into_iter().enumerate() {
        run.watch.progress(2 + at as u64, 6, what);
        session.settle()?;
        session.expect_puts()?;
        let meter = session.driver.meter();
        let done = doing(&mut session, time, cleaning)?;
        let usage = session.driver.usage(&meter);
        finding.row(row(what, done, &usage));
    }
    session.close()?;
    for what in ["gets, while cleaning", "puts, while cleaning"] {
        for rate in [700, 1000] {
            finding.printed(json!({ "what": what, "operations_a_second": rate }));
        }
    }
    size.tell(&mut finding);
    finding.parameter("seconds", time.as_secs_f64());
    finding.parameter("gets_in_flight", DEPTH);
    finding.charts =
        vec![Chart::bars("With and without cleaning", "what", Axis::log("operations_a_second", "operations a second"))];
    finding.note(
        "the paper prints a range, 700 to 1,000 of either a second during compaction; its two ends are its two \
        rows. While cleaning, the store merges one slice after another without a pause, whether it is due or not. \
        Puts over other entries make garbage, and so cause merges by themselves. Puts of new keys, which loaded the \
        empty store, cause none",
    );
    Ok(finding)
}

fn row(what: &str, done: u64, usage: &WorkUsage) -> Value {
    json!({
        "what": what,
        "operations_a_second": done as f64 / usage.seconds,
        "cpu_us_an_operation": usage.cpu_us / done.max(1) as f64,
        "merges": usage.counts.merges,
    })
}

/// Operations for so long; how many there were.
type Doing = fn(&mut BenchSession<'_>, Duration, Cleaning) -> Result<u64, Error>;

/// When slices are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cleaning {
    /// When the store wants it.
    WhenDue,
    /// One after another.
    Always,
}

impl Cleaning {
    fn tend(self, session: &mut BenchSession<'_>) {
        let store = session.driver.store();
        if self == Self::Always && !store.upkeep().is_cleaning() {
            store.compact();
        }
    }
}

/// How many gets were answered.
fn gets(session: &mut BenchSession<'_>, time: Duration, cleaning: Cleaning) -> Result<u64, Error> {
    let mut draw = Draw::uniform(session.setup.entries, fresh_seed());
    let mut lookups = Lookups::new(session.setup.value_bytes);
    let mut mix = Mix::new(DEPTH as usize, None);
    let end = Instant::now() + time;
    loop {
        let goes_on = Instant::now() < end;
        if goes_on {
            cleaning.tend(session);
        }
        if session.turn(&mut lookups, &mut mix, goes_on, &mut || draw.draw())? {
            return Ok(lookups.answered);
        }
    }
}

/// How many puts were made.
fn puts(session: &mut BenchSession<'_>, time: Duration, cleaning: Cleaning) -> Result<u64, Error> {
    let began = Instant::now();
    let made = session.put_many(u64::MAX, |session, _| {
        cleaning.tend(session);
        Ok(began.elapsed() < time)
    })?;
    Ok(made)
}
