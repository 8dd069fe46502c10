//! Standard output and standard error when nobody may be there to read them (`cargo xtask sim … | head`), or no room for
//! what is written. `println!` and `eprintln!` panic then; so neither is used in this program.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};

use crate::ended::TaskEnd;

/// Prints lines on standard output; those of several threads do not mix.
///
/// # Errors
/// They cannot be written.
pub fn say(lines: impl Display) -> Result<(), TaskEnd> {
    let (text, mut output) = (format!("{lines}\n"), io::stdout().lock());
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.map_err(
        |error| if error.kind() == ErrorKind::BrokenPipe { TaskEnd::Closed } else { TaskEnd::Unwritten(error) },
    )
}

/// Prints a line on standard error, if anybody listens.
pub fn tell(line: impl Display) {
    // Nobody is left to tell about the failure.
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}
