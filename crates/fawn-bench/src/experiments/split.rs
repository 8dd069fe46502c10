//! A range is split at a random key and its halves are merged again, at rest and beside gets and puts: how long each takes,
//! what it costs, what it writes, and for how long it holds anybody up.

use std::time::{Duration, Instant};

use fawn_report::latency::median;
use fawn_report::{BenchReport, ByTime, Timeline};
use fawn_ring::Key;
use fawn_workload::{Draw, mix};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::closed::Mix;
use crate::driver::StepTimes;
use crate::error::Error;
use crate::lookups::Lookups;
use crate::session::BenchSession;
use crate::usage::{StoreCounts, WorkUsage, maintenance_cpu_us};

/// Gets count for a split or a merge for so long at least, from the order on: fewer tell no percentiles.
const LEAST_WINDOW: Duration = Duration::from_millis(100);
/// How often a store at rest is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SplitExperiment {
    /// Gets in flight.
    pub depth: u32,
    /// Gets for each put.
    pub gets_a_put: u64,
    /// Rounds of a split and a merge at rest, and one of each beside gets and puts.
    pub rounds: u32,
    /// For how long gets and puts go on before each split and before each merge.
    pub time: Duration,
}

/// What the store is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Split,
    Merge,
}

/// A split or a merge, or a stretch without either.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct SplitPhase {
    what: String,
    /// From the order until it was carried out; `None`: there was none.
    done_us: Option<f64>,
    /// CPU time of the store's maintenance thread meanwhile, where the system tells.
    maintenance_cpu_us: Option<f64>,
    /// Of all threads, where there was nothing else to do.
    cpu_us: Option<f64>,
    /// What was written and read because of it, where there was nothing else to do.
    written_bytes: Option<u64>,
    read_bytes: Option<u64>,
    longest_step_us: f64,
    longest_step_cpu_us: f64,
    /// Nothing of gets and puts where there were none.
    load: Option<PhaseLoad>,
}

/// Gets and puts beside a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PhaseLoad {
    seconds: f64,
    gets: u64,
    puts: u64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    longest_us: f64,
    longest_put_us: f64,
    counts: StoreCounts,
    timeline: Timeline,
}

/// The parts of a round, in their order.
const PARTS: [&str; 6] = ["split at rest", "merge at rest", "before", "split", "apart", "merge"];

impl SplitExperiment {
    /// Runs it.
    ///
    /// # Errors
    /// [`Error::Wrong`] and others.
    pub(super) fn run(&self, session: &mut BenchSession<'_>, name: &str) -> Result<BenchReport, Error> {
        if self.gets_a_put == 0 {
            return Err(Error::Unfit("splits run during gets and puts: give --gets-a-put 1 or more".to_owned()));
        }
        let mut done: Vec<Vec<SplitPhase>> = session.unfinished(name).unwrap_or_default();
        session.changed();
        // What was interrupted may have left halves.
        while let Some(at) = first_end(session) {
            let ranges = session.driver.store().ranges().intervals().count();
            session.driver.store().merge_ranges(at)?;
            carried_out(session, ranges - 1)?;
        }
        let before = session.driver.stats();
        for number in done.len() as u64..u64::from(self.rounds) {
            session.watch.progress(number, u64::from(self.rounds), "at rest");
            session.settle()?;
            let at = random_key(session, 2 * number);
            let mut round = vec![at_rest(session, Order::Split, at)?, at_rest(session, Order::Merge, at)?];
            session.watch.progress(number, u64::from(self.rounds), "with gets and puts");
            self.beside(session, number, &mut round)?;
            session.settle()?;
            done.push(round);
            session.note(name, &done)?;
        }
        let after = session.driver.stats();
        let mut report = self.tell(session, done);
        for (name, stats) in [("before", &before), ("after", &after)] {
            report.parameter(&format!("slices_{name}"), stats.index.slices);
            report.parameter(&format!("segments_{name}"), stats.sealed.segments);
        }
        report.parameter("draining", after.index.draining);
        session.finish(name, report)
    }

    /// A split and a merge beside gets and puts, which do not end in between.
    fn beside(&self, session: &mut BenchSession<'_>, number: u64, round: &mut Vec<SplitPhase>) -> Result<(), Error> {
        let at = random_key(session, 2 * number + 1);
        let mut running = RunningLoad {
            lookups: Lookups::new(session.setup.value_bytes),
            mix: Mix::new(self.depth as usize, Some(self.gets_a_put)),
            draw: Draw::uniform(session.setup.entries, number + 1),
        };
        let window = LEAST_WINDOW.min(self.time);
        round.push(running.part(session, "before", self.time, None)?);
        round.push(running.part(session, "split", window, Some((Order::Split, at)))?);
        round.push(running.part(session, "apart", self.time, None)?);
        round.push(running.part(session, "merge", window, Some((Order::Merge, at)))?);
        running.end(session)
    }

    fn tell(&self, session: &BenchSession<'_>, rounds: Vec<Vec<SplitPhase>>) -> BenchReport {
        let mut report = session.report("split");
        report.parameter("depth", self.depth);
        report.parameter("gets_a_put", self.gets_a_put);
        report.parameter("seconds", self.time.as_secs_f64());
        report.parameter("rounds", self.rounds);
        for (place, what) in PARTS.into_iter().enumerate() {
            report.row(row(what, place, &rounds));
        }
        report.notes.push(
            "before: gets and puts on one range; apart: on the two halves; gets count for a split or a merge for \
            0.1 s from its start, or until it is done if that is later; bytes written and read are counted at rest, \
            until nothing more is done, including up to one page with the end of the commit log; CPU-ms are those \
            of all threads; a put takes as long as it is refused; all but the longest are medians of the rounds"
                .to_owned(),
        );
        let loads = rounds.into_iter().flatten().filter_map(|part| part.load);
        report.timelines = loads.map(|load| load.timeline).collect();
        report
    }
}

/// Gets and puts that are under way.
struct RunningLoad {
    lookups: Lookups,
    mix: Mix,
    draw: Draw,
}

impl RunningLoad {
    /// Goes on for `least`, and until the order is carried out.
    fn part(
        &mut self,
        session: &mut BenchSession<'_>,
        what: &str,
        least: Duration,
        order: Option<(Order, Key)>,
    ) -> Result<SplitPhase, Error> {
        let ranges = session.driver.store().ranges().intervals().count();
        let (answered, made) = (self.lookups.answered, self.mix.made);
        self.lookups.latencies = fawn_report::Latencies::default();
        self.mix.longest_refused = Duration::ZERO;
        session.expect_puts()?;
        session.driver.steps = StepTimes::default();
        let cpu = maintenance_cpu_us();
        let meter = session.driver.meter();
        let began = Instant::now();
        self.lookups.by_time = Some((began, ByTime::default()));
        let wanted = order.map(|(order, at)| give(session, order, at, ranges)).transpose()?;
        let mut part = SplitPhase { what: what.to_owned(), ..SplitPhase::default() };
        let draw = &mut self.draw;
        let mut pick = || draw.draw();
        while began.elapsed() < least || (wanted.is_some() && part.done_us.is_none()) {
            session.turn(&mut self.lookups, &mut self.mix, true, &mut pick)?;
            if let (Some(us), Some((began, by_time))) = (session.driver.steps.take_last(), &mut self.lookups.by_time) {
                by_time.step(began.elapsed(), us);
            }
            if part.done_us.is_none() && wanted == Some(session.driver.store().ranges().intervals().count()) {
                part.done_us = Some(began.elapsed().as_secs_f64() * 1e6);
                part.maintenance_cpu_us = maintenance_cpu_us().zip(cpu).map(|(now, before)| now - before);
            }
        }
        let usage = session.driver.usage(&meter);
        (part.longest_step_us, part.longest_step_cpu_us) =
            (session.driver.steps.longest_us, session.driver.steps.longest_cpu_us);
        let latencies = &self.lookups.latencies;
        part.load = Some(PhaseLoad {
            seconds: usage.seconds,
            gets: self.lookups.answered - answered,
            puts: self.mix.made - made,
            p50_us: latencies.us(0.5),
            p99_us: latencies.us(0.99),
            p999_us: latencies.us(0.999),
            longest_us: latencies.longest_us(),
            longest_put_us: self.mix.longest_refused.as_secs_f64() * 1e6,
            counts: usage.counts,
            timeline: Timeline {
                name: what.to_owned(),
                idle: order.is_none(),
                tenths: self.lookups.by_time.take().map(|(_, by_time)| by_time.tenths()).unwrap_or_default(),
            },
        });
        Ok(part)
    }

    /// Waits for what is in flight.
    fn end(mut self, session: &mut BenchSession<'_>) -> Result<(), Error> {
        let draw = &mut self.draw;
        while !session.turn(&mut self.lookups, &mut self.mix, false, &mut || draw.draw())? {}
        Ok(())
    }
}

/// Where a range ends that another one follows.
fn first_end(session: &mut BenchSession<'_>) -> Option<Key> {
    session.driver.store().ranges().intervals().map(|range| range.high).find(|high| *high != Key::MAX)
}

/// Another one in each run: where a slice was cut once there is nothing more to cut.
fn random_key(session: &BenchSession<'_>, number: u64) -> Key {
    Key::lowest_with_prefix(mix(mix(session.age()) ^ number))
}

/// Gives an order to a store of so many ranges; how many there will be.
fn give(session: &mut BenchSession<'_>, order: Order, at: Key, ranges: usize) -> Result<usize, Error> {
    let store = session.driver.store();
    Ok(match order {
        Order::Split => {
            store.split_range(at);
            ranges + 1
        }
        Order::Merge => {
            store.merge_ranges(at)?;
            ranges - 1
        }
    })
}

/// Waits until there are so many ranges.
fn carried_out(session: &mut BenchSession<'_>, ranges: usize) -> Result<(), Error> {
    loop {
        let polled = session.driver.poll()?;
        if session.driver.store().ranges().intervals().count() == ranges {
            return Ok(());
        }
        if !polled.more {
            session.driver.wait(LOOK)?;
        }
    }
}

/// Carries an order out on a store that has nothing else to do.
fn at_rest(session: &mut BenchSession<'_>, order: Order, at: Key) -> Result<SplitPhase, Error> {
    let ranges = session.driver.store().ranges().intervals().count();
    session.driver.steps = StepTimes::default();
    let cpu = maintenance_cpu_us();
    let meter = session.driver.meter();
    let wanted = give(session, order, at, ranges)?;
    carried_out(session, wanted)?;
    let WorkUsage { seconds, cpu_us, .. } = session.driver.usage(&meter);
    let maintenance = maintenance_cpu_us().zip(cpu).map(|(now, before)| now - before);
    let whole = session.driver.settle(&meter)?;
    Ok(SplitPhase {
        what: if order == Order::Split { PARTS[0] } else { PARTS[1] }.to_owned(),
        done_us: Some(seconds * 1e6),
        maintenance_cpu_us: maintenance,
        cpu_us: Some(cpu_us),
        written_bytes: Some(whole.counts.written_bytes),
        read_bytes: Some(whole.counts.maintenance_read_bytes),
        longest_step_us: session.driver.steps.longest_us,
        longest_step_cpu_us: session.driver.steps.longest_cpu_us,
        load: None,
    })
}

/// The medians of the parts at `place` of all rounds.
fn row(what: &str, place: usize, rounds: &[Vec<SplitPhase>]) -> serde_json::Value {
    let parts = || rounds.iter().filter_map(|round| round.get(place));
    let middle = |of: &dyn Fn(&SplitPhase) -> Option<f64>| median(parts().filter_map(of));
    let loaded = |of: &dyn Fn(&PhaseLoad) -> f64| middle(&|part| part.load.as_ref().map(of));
    let most = |of: &dyn Fn(&SplitPhase) -> Option<f64>| parts().filter_map(of).max_by(f64::total_cmp);
    let sum = |of: &dyn Fn(&StoreCounts) -> u64| {
        let counts = parts().filter_map(|part| part.load.as_ref()).map(|load| of(&load.counts));
        parts().any(|part| part.load.is_some()).then(|| counts.sum::<u64>())
    };
    let over_before = rounds.iter().filter(|_| matches!(what, "split" | "merge" | "apart")).filter_map(|round| {
        let p999 = |place: usize| Some(round.get(place)?.load.as_ref()?.p999_us);
        Some(p999(place)? / p999(2)?.max(1e-3))
    });
    json!({
        "what": what,
        "rounds": rounds.len(),
        "ms_to_done": middle(&|part| part.done_us.map(|us| us / 1e3)),
        "longest_ms_to_done": most(&|part| part.done_us.map(|us| us / 1e3)),
        "maintenance_cpu_ms": middle(&|part| part.maintenance_cpu_us.map(|us| us / 1e3)),
        "cpu_ms": middle(&|part| part.cpu_us.map(|us| us / 1e3)),
        "written_bytes": middle(&|part| part.written_bytes.map(|bytes| bytes as f64)),
        "read_bytes": middle(&|part| part.read_bytes.map(|bytes| bytes as f64)),
        "longest_step_us": most(&|part| Some(part.longest_step_us)),
        "longest_step_cpu_us": most(&|part| Some(part.longest_step_cpu_us)),
        "middle_longest_step_us": middle(&|part| Some(part.longest_step_us)),
        "gets": loaded(&|load| load.gets as f64),
        "puts": loaded(&|load| load.puts as f64),
        "gets_a_second": loaded(&|load| load.gets as f64 / load.seconds),
        "puts_a_second": loaded(&|load| load.puts as f64 / load.seconds),
        "p50_us": loaded(&|load| load.p50_us),
        "p99_us": loaded(&|load| load.p99_us),
        "p999_us": loaded(&|load| load.p999_us),
        "p999_over_before": median(over_before),
        "longest_us": most(&|part| Some(part.load.as_ref()?.longest_us)),
        "middle_longest_us": loaded(&|load| load.longest_us),
        "longest_put_us": most(&|part| Some(part.load.as_ref()?.longest_put_us)),
        "seals": sum(&|counts| counts.seals),
        "merges": sum(&|counts| counts.merges),
    })
}
