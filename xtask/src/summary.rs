//! What runs of the simulator came to, as a table: of one seed or of many.

use std::fmt::Write as _;

use fawn_sim::cluster::{FAULTS, Summary};

use crate::seeds::LongRun;

/// The table: the sum of all runs that ended well, and how many did not.
pub fn table(sum: &Summary, violated: usize, course: &LongRun) -> String {
    let LongRun { ran, took, cpu_s, threads, .. } = course;
    let (seconds, fronts) = (took.as_secs_f64(), &sum.fronts);
    // Clocks of processes go by hundredths.
    let a_second = sum.operations as f64 / cpu_s.max(0.01);
    let rows = [
        ("seeds", *ran, format!("({violated} violated)")),
        ("operations", sum.operations, format!("checked ({a_second:.0} a CPU second), {} given up", sum.given_up)),
        ("records, chains", sum.records, sum.chains.to_string()),
        ("undecided keys", sum.undecided, format!("{} losses of what was acknowledged in memory", sum.losses)),
        ("weakened keys", sum.weakened, String::new()),
        ("messages", sum.messages, format!("{} events", sum.events)),
        ("cache hits", fronts.hits, format!("{} misses, {} joined", fronts.misses, fronts.joined)),
        (
            "forwards",
            fronts.forwards,
            format!("{} take-overs, {} fences, {} fenced", fronts.takeovers, sum.fences, sum.fenced),
        ),
        ("flushes", fronts.flushes, format!("through front-ends, {} came due later", sum.flushes_came_due)),
        (
            "stateless gets",
            fronts.stateless,
            format!("{} multi-gets, {} timed out, {} busy", fronts.many, fronts.timed_out, fronts.busy),
        ),
        ("dumps", sum.dumps, format!("of {} stretches of keys", sum.stretches)),
    ];
    let mut text = String::new();
    let mut line = |line: String| writeln!(text, "{}", line.trim_end()).expect("a string takes whatever is written");
    for (name, count, more) in rows {
        line(format!("{name:<15} {count:>12}  {more}"));
    }
    let simulated = sum.simulated_us / 1_000_000;
    let threads = if *threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
    line(format!("{:<15} {simulated:>12} s in {cpu_s:.1} CPU s, {seconds:.1} s on {threads}", "simulated"));
    for (kind, count) in FAULTS.iter().zip(sum.faults) {
        line(format!("{kind:<18} {count:>9}"));
    }
    line("\npaths".to_owned());
    line(paths(sum.coverage.counts()));
    text.truncate(text.trim_end().len());
    text
}

/// Paths and how often they were taken, one a line.
pub fn paths(counts: impl IntoIterator<Item = (&'static str, u64)>) -> String {
    let lines: Vec<String> = counts.into_iter().map(|(path, count)| format!("{count:>9}  {path}")).collect();
    lines.join("\n")
}
