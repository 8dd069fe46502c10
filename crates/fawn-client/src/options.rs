//! What a client is started with.

use fawn_tls::Material;
use std::time::Duration;

/// What a client is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the cluster is found: managers, or members, `HOST:PORT` each; one that answers is enough. With certificates
    /// a member is `NAME=HOST:PORT`, because it has to show that it is that one.
    pub addresses: Vec<String>,
    /// Certificate, key and authority, of a client or anybody else of the cluster; `None`: nothing is protected.
    pub certificates: Option<Material>,
    /// Connecting takes no longer.
    pub connect_timeout: Duration,
    /// An operation takes no longer; [`Duration::MAX`] is as good as never. Front-ends try for five seconds what a full disk, say,
    /// refuses: with less than that a put that was refused ends as one of which nobody knows.
    pub timeout: Duration,
    /// Operations under way at a time; others wait, each within its time.
    pub in_flight: usize,
    /// Bytes of keys and values of those, about.
    pub in_flight_bytes: usize,
}

impl Options {
    /// A client of the cluster that is found there, without protection: ten seconds for everything, 4096 operations and 64 MiB at
    /// a time.
    pub fn new<A: Into<String>>(addresses: impl IntoIterator<Item = A>) -> Self {
        Self {
            addresses: addresses.into_iter().map(Into::into).collect(),
            certificates: None,
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(10),
            in_flight: 4096,
            in_flight_bytes: 64 << 20,
        }
    }
}
