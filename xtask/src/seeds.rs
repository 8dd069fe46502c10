//! Many seeds on all cores, for as long as they last, the time is not over, and nobody has pressed Ctrl-C.

use std::io::{self, IsTerminal as _};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::ended::TaskEnd;
use crate::tell::say;
use crate::usage::cpu_s;

/// The exit code of a program that Ctrl-C ends.
const INTERRUPTED: i32 = 130;

/// Whether Ctrl-C was pressed.
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on Ctrl-C asks for the end, and a second one ends the program at once.
    ///
    /// # Errors
    /// The system does not take the handlers.
    pub fn on_interrupt() -> io::Result<Self> {
        let pressed = Arc::new(AtomicBool::new(false));
        flag::register_conditional_shutdown(SIGINT, INTERRUPTED, Arc::clone(&pressed))?;
        flag::register(SIGINT, Arc::clone(&pressed))?;
        Ok(Self(pressed))
    }

    fn is_pressed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a long run came to.
pub struct LongRun {
    /// Seeds that were run to their end.
    pub ran: u64,
    /// How long it took.
    pub took: Duration,
    /// Seconds of processor time that it took.
    pub cpu_s: f64,
    /// Threads that ran them.
    pub threads: usize,
    /// Whether Ctrl-C ended it.
    pub stopped: bool,
}

impl LongRun {
    /// Fails if Ctrl-C has ended it.
    ///
    /// # Errors
    /// [`TaskEnd::Stopped`].
    pub fn or_stopped(&self) -> Result<(), TaskEnd> {
        if self.stopped { Err(TaskEnd::Stopped(self.ran)) } else { Ok(()) }
    }
}

/// What a person at a terminal sees meanwhile, on standard error. Elsewhere nothing is shown.
pub struct SeedProgress(ProgressBar);

impl SeedProgress {
    fn new(seeds: &Range<u64>, within: Option<Duration>) -> Self {
        if !io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let (total, template) = match within {
            None => (Some(seeds.end - seeds.start), "{bar:30} {human_pos} of {human_len} seeds, {per_sec}, {eta} left"),
            Some(_) => (None, "{spinner} {human_pos} seeds, {per_sec}, {elapsed} of {msg}"),
        };
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(5));
        bar.set_style(ProgressStyle::with_template(template).expect("the templates above are valid"));
        if let Some(within) = within {
            bar.set_message(format!("{} min", within.as_secs() / 60));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Prints lines on standard output, above the bar.
    ///
    /// # Errors
    /// As of [`say`].
    pub fn say(&self, lines: impl std::fmt::Display) -> Result<(), TaskEnd> {
        self.0.suspend(|| say(lines))
    }
}

/// Has all cores take seeds, each at least one, until `work` fails or has enough.
///
/// # Errors
/// The first error of `work`.
pub fn on_all_cores(
    stop: &Stop,
    seeds: Range<u64>,
    within: Option<Duration>,
    work: impl Fn(u64, &SeedProgress) -> anyhow::Result<ControlFlow<()>> + Sync,
) -> anyhow::Result<LongRun> {
    let (began, began_cpu_s) = (Instant::now(), cpu_s()?);
    let threads = std::thread::available_parallelism()?.get();
    let (next, ran, enough) = (AtomicU64::new(seeds.start), AtomicU64::new(0), AtomicBool::new(false));
    let (progress, failed) = (SeedProgress::new(&seeds, within), Mutex::new(None));
    let take = || {
        let in_time = within.is_none_or(|within| began.elapsed() < within);
        let goes_on = in_time && !stop.is_pressed() && !enough.load(Ordering::Relaxed);
        // The number stays at the end, which may be the last that there is.
        let one = |seed| (goes_on && seed < seeds.end).then(|| seed + 1);
        next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one).ok()
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(seed) = take() {
                    match work(seed, &progress) {
                        Ok(ControlFlow::Continue(())) => {}
                        Ok(ControlFlow::Break(())) => enough.store(true, Ordering::Relaxed),
                        Err(error) => {
                            enough.store(true, Ordering::Relaxed);
                            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                        }
                    }
                    ran.fetch_add(1, Ordering::Relaxed);
                    progress.0.inc(1);
                }
            });
        }
    });
    progress.0.finish_and_clear();
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let (ran, took, cpu_s) = (ran.into_inner(), began.elapsed(), cpu_s()? - began_cpu_s);
    Ok(LongRun { ran, took, cpu_s, threads, stopped: stop.is_pressed() })
}
