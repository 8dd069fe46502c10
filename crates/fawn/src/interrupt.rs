//! A signal where much was done by then: whoever sends it is told what becomes of that, and how to go on.

use anyhow::Context;
use fawn_node::signals;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::progress::TerminalBar;
use crate::tell::tell;

/// From now on Ctrl-C, or another signal to end, does what is to be done `first`, takes the bar away, prints one line, `fawn:
/// interrupted; ` and `what` to do, and ends the program at once: what is under way has to be safe from a crash.
///
/// # Errors
/// The system gives no signals.
pub fn tell_how_to_go_on(
    progress: &TerminalBar,
    what: impl Into<String>,
    first: impl FnOnce() + Send + 'static,
) -> anyhow::Result<()> {
    let what = what.into();
    on_interrupt(progress, move || {
        first();
        what
    })
}

/// The same where what to do is known only then: `first` gives it.
///
/// # Errors
/// The system gives no signals.
pub fn on_interrupt(progress: &TerminalBar, first: impl FnOnce() -> String + Send + 'static) -> anyhow::Result<()> {
    let ignored = signals::ignored();
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let mut signals = Signals::new(heard).context("cannot wait for signals")?;
    let progress = progress.clone();
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            let what = first();
            progress.finish();
            tell(format_args!("fawn: interrupted; {what}"));
            // As a shell tells what a signal has ended.
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new().name("fawn-signals".to_owned()).spawn(wait).context("cannot wait for signals")?;
    Ok(())
}
