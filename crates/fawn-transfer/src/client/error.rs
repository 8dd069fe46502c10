//! What can go wrong between a client and its server.

use std::io;
use std::path::PathBuf;

use super::Address;

/// A failure of a connection. Each message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection could be made.
    #[error("cannot connect to {address} ({source}); check the address and that a server runs there")]
    Unreachable {
        /// The server.
        address: Address,
        /// What the system said.
        source: io::Error,
    },
    /// An open connection failed.
    #[error("the connection to {address} broke ({source}); see the server's log")]
    Broken {
        /// The server.
        address: Address,
        /// What the system said.
        source: io::Error,
    },
    /// The server hung up before it had answered everything.
    #[error("{0} closed the connection before its reply; see the server's log")]
    Closed(Address),
    /// The server hung up at our first words.
    #[error(
        "{0} closed the connection at once; if it needs a user, give --user and --password-file; if it speaks TLS, \
        give --tls-ca; else see the server's log"
    )]
    TurnedAway(Address),
    /// We spoke plain text and the server TLS.
    #[error("{0} speaks TLS; give the trusted certificates with --tls-ca")]
    SpeaksTls(Address),
    /// We spoke TLS and the server something else.
    #[error("{0} does not speak TLS on this port; leave --tls-ca out, or use its TLS port")]
    SpeaksNoTls(Address),
    /// The server's certificate does not convince.
    #[error("the certificate of {address} cannot be trusted: {reason}")]
    Untrusted {
        /// The server.
        address: Address,
        /// Why, and what to do.
        reason: String,
    },
    /// The server has requests but does not answer.
    #[error("{address} sent no reply for {seconds} s; check the server, or wait longer with --timeout")]
    Silent {
        /// The server.
        address: Address,
        /// The time-out.
        seconds: u64,
    },
    /// The server answered with an error line.
    #[error("{address} replied `{line}`{}", advice(line))]
    Refused {
        /// The server.
        address: Address,
        /// The line, as it came.
        line: String,
    },
    /// The bytes are no answer that we know.
    #[error(
        "{address} replied `{line}`, which is not memcached's meta protocol; is it memcached 1.6 or newer, or fawn?"
    )]
    Garbled {
        /// The server.
        address: Address,
        /// The start of the answer.
        line: String,
    },
    /// The server does not list its keys.
    #[error(
        "{address} does not list its keys (it replied `{line}`); use fawn, or memcached 1.6 or newer with its LRU \
        crawler enabled"
    )]
    NoListing {
        /// The server.
        address: Address,
        /// The line, as it came.
        line: String,
    },
    /// Neither the server nor this machine knows the time, by which expiries go.
    #[error("{address} does not tell the time, and this machine's clock shows {shows}: set the clock first")]
    NoClock {
        /// The server.
        address: Address,
        /// The day that this machine's clock shows.
        shows: String,
    },
    /// A file of certificates cannot be used.
    #[error("cannot use {path} as certificates ({reason}); give a PEM file with --tls-ca")]
    Certificates {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The password cannot be read.
    #[error("cannot read the password from {path} ({source}); give a readable file with --password-file")]
    Password {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What to do about an error line.
fn advice(line: &str) -> &'static str {
    match line {
        "SERVER_ERROR out of memory storing object" => "; free or add space or memory on the server, then continue",
        "CLIENT_ERROR unauthenticated" => "; give --user and --password-file",
        "CLIENT_ERROR authentication failure" => "; check --user and --password-file",
        "ERROR Too many open connections" => "; use fewer --connections or raise the server's limit",
        _ => "",
    }
}

/// An error of a connection's socket, or of the TLS on it.
pub(crate) fn broken(address: Address, source: io::Error) -> ClientError {
    match source.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(error)) => {
            ClientError::Untrusted { address, reason: distrust(&error.to_string()) }
        }
        // Nothing that TLS could begin with.
        Some(rustls::Error::InvalidMessage(_)) => ClientError::SpeaksNoTls(address),
        _ => ClientError::Broken { address, source },
    }
}

/// Why a certificate is not trusted, and what to do. `told` is what the library says.
fn distrust(told: &str) -> String {
    let advice = match told {
        // What `openssl req -x509` makes when it is told nothing.
        _ if told.contains("CaUsedAsEndEntity") => {
            return "it is an authority's (CA:TRUE), which may sign others but not serve; create the server's with \
                `openssl req -x509 -addext basicConstraints=critical,CA:FALSE …`, see operations/serving in the book"
                .to_owned();
        }
        _ if told.contains("UnknownIssuer") => "none of those in --tls-ca has signed it",
        _ if told.contains("not valid for name") || told.contains("NotValidForName") => {
            "connect to a name that it carries, or give that with --tls-name"
        }
        _ => "give the server another one",
    };
    format!("{told}; {advice}")
}

/// The start of an answer as text, for a message.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let line = bytes.split(|&byte| byte == b'\r' || byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned()
}
