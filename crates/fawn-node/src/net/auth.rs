//! The authentication file: one `user:password` a line, as memcached's `-Y` has it.

use crate::error::ServeError;
use crate::observe::warnings::RateLimitedLog;
use fawn_tls::files::open_to_others;
use std::path::Path;
use std::time::Instant;
use subtle::{Choice, ConstantTimeEq};

/// Longest line, in bytes.
const MAX_LINE_BYTES: usize = 1024;

/// Who may use the node.
pub struct Users {
    /// `user:password` each, at least one.
    lines: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Users {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Users({})", self.lines.len())
    }
}

impl Users {
    /// Reads the file at `path`. If others may read it, too, that is logged.
    ///
    /// # Errors
    /// [`ServeError::AuthFile`]; no message repeats a password.
    pub fn read(path: &Path) -> Result<Self, ServeError> {
        let refuse = |what: String| ServeError::AuthFile { path: path.to_owned(), what };
        let bytes = fawn_files::text::read_bytes(path).map_err(|error| refuse(error.to_string()))?;
        if let Some(why) = std::fs::metadata(path).ok().and_then(|file| open_to_others(path, &file)) {
            tracing::warn!("the passwords in {} are not secret: {why}", path.display());
        }
        let users = Self::parse(&bytes).map_err(refuse)?;
        for line in blanks_at_the_end(&bytes) {
            tracing::warn!(
                "the password in line {line} of {} ends with a blank, which counts as part of the password",
                path.display()
            );
        }
        Ok(users)
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut lines = Vec::new();
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.trim_ascii().is_empty() {
                continue;
            }
            if line.len() > MAX_LINE_BYTES {
                return Err(format!("line {} has more than {MAX_LINE_BYTES} bytes", number + 1));
            }
            match line.iter().position(|byte| *byte == b':') {
                Some(at) if at > 0 && at + 1 < line.len() => lines.push(line.to_vec()),
                _ => return Err(format!("line {} is not user:password", number + 1)),
            }
        }
        if lines.is_empty() {
            return Err("it has no users; write one user:password per line".into());
        }
        Ok(Self { lines })
    }

    /// Whether this user has this password. Takes as long for a wrong password as for a right one.
    pub fn admit(&self, user: &[u8], password: &[u8]) -> bool {
        let given = [user, b":", password].concat();
        let colons = Choice::from(u8::from(!user.contains(&b':')));
        let known = self.lines.iter().fold(Choice::from(0), |known, line| known | line.ct_eq(&given));
        (known & colons).into()
    }
}

/// The lines, from 1, whose passwords end with a blank: seldom on purpose, and never to be seen.
fn blanks_at_the_end(bytes: &[u8]) -> Vec<usize> {
    let ends_so = |line: &[u8]| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        !line.trim_ascii().is_empty() && line.last().is_some_and(u8::is_ascii_whitespace)
    };
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines.filter(|(_, line)| ends_so(line)).map(|(number, _)| number + 1).collect()
}

/// Bytes of a user's name that the log repeats.
const USER_BYTES: usize = 64;

/// The name that a client gave, cut and without control characters.
pub fn user_for_log(user: &[u8]) -> Box<str> {
    let cut = &user[..user.len().min(USER_BYTES)];
    String::from_utf8_lossy(cut).escape_debug().to_string().into()
}

/// Logs, now and then, that a client was refused: never the password.
pub fn log_refused(user: &str, client: &str) {
    static LOG: RateLimitedLog = RateLimitedLog::new();
    if let Some(more) = LOG.happened(Instant::now()) {
        tracing::warn!(
            "{client} sent a user or password that is not in the authentication file, as user '{user}'{more}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_password_of_a_known_user_is_admitted() {
        let users = Users::parse(b"alice:secret\r\n\n \t\r\nbob:a:b\n").unwrap();
        assert!(users.admit(b"alice", b"secret") && users.admit(b"bob", b"a:b"));
        for (user, password) in [("alice", "a:b"), ("alice", "secre"), ("alic", "secret"), ("", ""), ("bob:a", "b")] {
            assert!(!users.admit(user.as_bytes(), password.as_bytes()), "{user}:{password}");
        }
    }

    #[test]
    fn a_file_is_read_in_whatever_encoding_an_editor_has_saved_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("users");
        let utf16: Vec<u8> = "\u{feff}alice:secret\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in [b"\xef\xbb\xbfalice:secret\r\n".to_vec(), utf16] {
            std::fs::write(&path, bytes).unwrap();
            assert!(Users::read(&path).unwrap().admit(b"alice", b"secret"));
        }
        // Nobody sees how much of a file there is.
        std::fs::File::create(&path).unwrap().set_len(400 << 20).unwrap();
        assert!(Users::read(&path).unwrap_err().to_string().contains("more than 16777216 bytes"));
    }

    #[test]
    fn a_password_that_ends_with_a_blank_is_told() {
        assert_eq!(blanks_at_the_end(b"a:b\r\nc:d \r\n \t\ne:f\t\ng:h"), [2, 4]);
    }

    #[test]
    fn a_name_in_the_log_is_short_and_on_one_line() {
        assert_eq!(&*user_for_log(b"bob"), "bob");
        assert_eq!(&*user_for_log(b"b\nob\x1b"), "b\\nob\\u{1b}");
        assert_eq!(user_for_log(&[b'x'; 500]).len(), USER_BYTES);
    }

    #[test]
    fn a_bad_file_is_refused_by_line_and_without_its_words() {
        for (text, what) in [
            ("a:b\nhunter2\n", "line 2 is not user:password"),
            (":hunter2\n", "line 1 is not user:password"),
            ("user:\n", "line 1 is not user:password"),
            ("\n\n", "it has no users; write one user:password per line"),
        ] {
            assert_eq!(Users::parse(text.as_bytes()).unwrap_err(), what);
        }
        let missing = Users::read(Path::new("/nonexistent/users")).unwrap_err().to_string();
        assert!(
            missing.starts_with("cannot use the authentication file /nonexistent/users: No such file"),
            "{missing}"
        );
    }
}
