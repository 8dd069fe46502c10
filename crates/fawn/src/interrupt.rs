//! A signal where much was done by then: whoever sends it is told what becomes of that, and how to go on.

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::progress::Progress;
use crate::tell::tell;

/// From now on Ctrl-C, or another signal to end, does what is to be done `first`, takes the bar away, prints one line, `fawn:
/// interrupted; ` and `what` to do, and ends the program at once: what is under way has to be safe from a crash.
///
/// # Errors
/// The system gives no signals.
pub fn tell_how_to_go_on(
    progress: &Progress,
    what: impl Into<String>,
    first: impl FnOnce() + Send + 'static,
) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot wait for signals")?;
    let (progress, what) = (progress.clone(), what.into());
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            first();
            progress.finish();
            tell(format_args!("fawn: interrupted; {what}"));
            // As a shell tells what a signal has ended.
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}
