//! Where a server listens.

use std::fmt;
use std::os::unix::fs::FileTypeExt as _;
use std::path::PathBuf;
use std::str::FromStr;

/// The port when none is named: memcached's.
const DEFAULT_PORT: u16 = 11211;

/// The address of a server: `host:port`, `host`, `[::1]:port`, `/path/of/socket`, `unix:path`, or the name of a Unix
/// socket in the current directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host name or IP address (without brackets), and a port.
    Tcp {
        /// Name or IP address.
        host: String,
        /// Port.
        port: u16,
    },
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// Why an address was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address; write HOST:PORT, e.g. 127.0.0.1:11211 or [::1]:11211, or the path of a Unix socket")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        Self::parse(text, DEFAULT_PORT)
    }
}

impl Address {
    /// The address that a text is, with this port if it names none.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str, default_port: u16) -> Result<Self, AddressError> {
        let refused = || AddressError(text.to_owned());
        if is_socket(text) {
            return Ok(Self::Unix(text.into()));
        }
        if let Some(path) = text.strip_prefix("unix:").or_else(|| text.starts_with(['/', '.']).then_some(text)) {
            return if path.is_empty() { Err(refused()) } else { Ok(Self::Unix(path.into())) };
        }
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, rest)) => (host, Some(rest.strip_prefix(':').ok_or_else(refused)?)),
            None => match text.rsplit_once(':') {
                // A bare IPv6 address has more than one colon and no port.
                Some((host, _)) if host.contains(':') => (text, None),
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let port = port.map_or(Ok(default_port), str::parse).map_err(|_| refused())?;
        let host_is_plausible = !host.is_empty() && !host.contains(['/', '[', ']', ' ']) && port != 0;
        if host_is_plausible { Ok(Self::Tcp { host: host.to_owned(), port }) } else { Err(refused()) }
    }
}

/// Whether there is a Unix socket of this name. It is what is meant, even if a host has that name, too.
fn is_socket(path: &str) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let cases = [
            ("127.0.0.1:11311", "127.0.0.1:11311"),
            ("cache.example", "cache.example:11211"),
            ("[::1]:11311", "[::1]:11311"),
            ("[::1]", "[::1]:11211"),
            ("::1", "[::1]:11211"),
            ("unix:fawn.sock", "unix:fawn.sock"),
            ("/run/fawn.sock", "unix:/run/fawn.sock"),
            ("./fawn.sock", "unix:./fawn.sock"),
        ];
        for (text, shown) in cases {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), shown, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", ":11211", "host:", "host:port", "host:70000", "host:0", "[::1", "[::1]x", "unix:", "a b:1"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
