//! How clients behave.

use std::time::Duration;

/// Which keys a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyChoice {
    /// Any of them.
    Any,
    /// One, which is another client's, too: of each pair the one reads and the other writes. So what is out of reach keeps
    /// nobody from asking for the rest.
    Own,
}

/// How clients behave.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Clients.
    pub clients: u16,
    /// Operations a second of all clients together, at most.
    pub rate: u32,
    /// What they ask for.
    pub choice: KeyChoice,
    /// A client gives up after so long.
    pub patience: Duration,
    /// Everything that clients choose follows from it.
    pub seed: u64,
}
