//! Standard error and standard output when nobody may be there to read them: a log piped into `head`, a dump into
//! `less`. Rust ignores SIGPIPE, and `eprintln!` and `println!` panic instead; so neither is used in this program.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

/// Prints a line on standard error, if anybody listens.
pub fn tell(line: impl Display) {
    // One write a line: lines of several threads do not mix.
    Log.write_all(format!("{line}\n").as_bytes()).expect("the log takes everything");
}

/// Standard error as a place that takes everything: a server does not stop because its log has no reader.
#[derive(Clone, Copy, Debug)]
pub struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Nobody is left to tell about the failure.
        let _ = io::stderr().lock().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Takes "the reader has gone" for success: it has what it wanted, and the exit code is to tell what was found.
///
/// # Errors
/// Every other one that `result` holds.
pub fn unless_closed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reader_that_has_gone_is_no_error() {
        assert!(unless_closed(Err(ErrorKind::BrokenPipe.into())).is_ok());
        assert!(unless_closed(Err(ErrorKind::StorageFull.into())).is_err());
    }
}
