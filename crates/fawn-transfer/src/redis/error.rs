//! What can go wrong between a load and the Redis that it reads.

use crate::client::{Address, ClientError};

/// A failure of the connection to Redis. Each message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum RedisError {
    /// The connection cannot be made, or broke.
    #[error("{}", of_source(.0))]
    Client(#[from] ClientError),
    /// An error as reply.
    #[error("{address} replied `{line}`{}", advice(line))]
    Refused {
        /// The server.
        address: Address,
        /// What it said.
        line: String,
    },
    /// The bytes are no reply.
    #[error("{address} replied `{line}`, which is not what Redis replies; is it Redis, or Valkey?")]
    Garbled {
        /// The server.
        address: Address,
        /// The beginning of what it said.
        line: String,
    },
}

impl RedisError {
    /// Whether it may be gone soon by itself.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Client(error) => matches!(
                error,
                ClientError::Unreachable { .. }
                    | ClientError::Broken { .. }
                    | ClientError::Closed(_)
                    | ClientError::TurnedAway(_)
                    | ClientError::Silent { .. }
            ),
            Self::Refused { line, .. } => {
                ["LOADING ", "MASTERDOWN ", "CLUSTERDOWN ", "BUSY "].iter().any(|word| line.starts_with(word))
            }
            Self::Garbled { .. } => false,
        }
    }
}

/// The same error, with the names that the options have for the server that is read.
fn of_source(error: &ClientError) -> String {
    ["tls-", "user", "password-file"]
        .iter()
        .fold(error.to_string(), |told, name| told.replace(&format!("--{name}"), &format!("--from-{name}")))
}

/// What to do about an error.
fn advice(line: &str) -> &'static str {
    let advice = [
        ("NOAUTH", "; give the password with --from-password-file, and the name of an ACL user with --from-user"),
        ("WRONGPASS", "; check --from-user and --from-password-file"),
        ("ERR invalid password", "; check --from-password-file"),
        ("ERR wrong number of arguments for 'auth' command", "; it knows no users: leave --from-user out"),
        ("ERR Client sent AUTH, but no password is set", "; leave --from-password-file out"),
        ("ERR AUTH <password> called without any password", "; leave --from-password-file out"),
        ("NOPERM", "; allow this user SELECT, SCAN, TYPE, STRLEN, HLEN, GET, HGETALL and PTTL"),
        ("ERR DB index is out of range", "; it has fewer databases: give a smaller --from-database"),
        ("ERR SELECT is not allowed in cluster mode", "; leave --from-database out"),
        ("ERR max number of clients reached", "; raise its maxclients, or try again later"),
    ];
    advice.iter().find(|(start, _)| line.starts_with(start)).map_or("", |(_, advice)| advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_the_names_of_the_source() {
        let address: Address = "127.0.0.1:6379".parse().unwrap();
        let told = RedisError::from(ClientError::TurnedAway(address.clone())).to_string();
        assert!(
            told.contains("give --from-user and --from-password-file; if it speaks TLS, give --from-tls-ca"),
            "{told}"
        );
        let told = RedisError::Refused { address, line: "NOAUTH Authentication required.".to_owned() }.to_string();
        assert!(
            told.ends_with(
                "required.`; give the password with --from-password-file, and the name of an ACL user with --from-user"
            ),
            "{told}"
        );
    }
}
