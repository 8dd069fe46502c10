//! How a client of a server reaches it.

use std::path::PathBuf;

use clap::Args;
use fawn_tls::files::open_to_others;
use fawn_transfer::client::{Address, Credentials, Endpoint, Tls};

use crate::tell::tell;
use crate::values::{Span, parse_wait};

/// How to reach a server.
#[derive(Clone, Debug, Args)]
pub struct ConnectArguments {
    /// Speak TLS and trust the certificates in this PEM file
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// Name that the server's certificate must carry [default: the host of the address]
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    pub tls_name: Option<String>,
    /// User name, for a server with an authentication file
    #[arg(long, value_name = "NAME", requires = "password_file")]
    pub user: Option<String>,
    /// File whose first line is the user's password
    #[arg(long, value_name = "FILE", requires = "user")]
    pub password_file: Option<PathBuf>,
    /// Give up if the server sends no reply for this long
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_wait)]
    pub timeout: Span,
}

impl ConnectArguments {
    /// The server at `address`, reached as these arguments say.
    pub fn endpoint(&self, address: Address) -> Endpoint {
        let tls = self.tls_ca.clone().map(|authority| Tls { authority, name: self.tls_name.clone() });
        let credentials = match (&self.user, &self.password_file) {
            (Some(user), Some(file)) => {
                if let Some(why) = std::fs::metadata(file).ok().and_then(|found| open_to_others(file, &found)) {
                    tell(format_args!("fawn: the password in {} is not secret: {why}", file.display()));
                }
                let first = fawn_files::text::read(file).ok().and_then(|text| text.lines().next().map(str::to_owned));
                if first.is_some_and(|password| password.ends_with([' ', '\t'])) {
                    tell(format_args!(
                        "fawn: the password in {} ends with a blank, which counts as part of the password",
                        file.display()
                    ));
                }
                Some(Credentials { user: user.clone(), password_file: file.clone() })
            }
            _ => None,
        };
        Endpoint { address, tls, credentials, timeout: self.timeout.0 }
    }
}
