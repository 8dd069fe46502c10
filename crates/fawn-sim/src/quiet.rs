//! Catches broken assertions without a word on standard error: whoever runs many runs, or tells one, says what they are.

use std::any::Any;
use std::cell::Cell;
use std::panic::{UnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether panics of this thread are caught by [`catch`].
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// What `run` comes to, or what its panic says, in one line.
pub(crate) fn catch<T>(run: impl FnOnce() -> T + UnwindSafe) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if !CAUGHT.get() {
                before(info);
            }
        }));
    });
    let outer = CAUGHT.replace(true);
    let result = catch_unwind(run);
    CAUGHT.set(outer);
    result.map_err(|panic| said(panic.as_ref()).lines().map(str::trim).collect::<Vec<_>>().join(", "))
}

/// What a panic says.
pub(crate) fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_assertion_is_one_line() {
        let (one, two) = (1, 2);
        let caught = catch(|| assert_eq!(one, two, "both are the same"));
        assert_eq!(caught, Err("assertion `left == right` failed: both are the same, left: 1, right: 2".to_owned()));
        assert_eq!(catch(|| 5), Ok(5));
    }
}
