//! Ctrl-C where much was done by then: whoever presses it is told what becomes of that, and how to go on.

use anyhow::Context;
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;

use crate::progress::Progress;
use crate::tell::tell;

/// As a shell tells what a signal has ended.
pub const INTERRUPTED: i32 = 128 + SIGINT;

/// From now on Ctrl-C takes the bar away, prints one line, `fawn: interrupted; ` and `what` to do, and ends the program at once:
/// what is under way has to be safe from a crash.
///
/// # Errors
/// The system gives no signals.
pub fn tell_how_to_go_on(progress: &Progress, what: &'static str) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT]).context("cannot wait for signals")?;
    let progress = progress.clone();
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            progress.finish();
            tell(format_args!("fawn: interrupted; {what}"));
            std::process::exit(INTERRUPTED);
        }
    });
    Ok(())
}
