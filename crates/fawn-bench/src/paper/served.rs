//! One `fawn serve` with keys to ask for: a node of one event loop, over the network.

use super::client::{Client, Keys};
use super::run::Run;
use super::servers::{ANY_PORT, Server};
use crate::error::Error;
use crate::net::run::Measured;

/// Starts a server with this memory, and puts all keys; what the load took beside. What is done afterwards is metered, where there is a
/// meter.
///
/// # Errors
/// [`Error::Server`], [`Error::Net`].
pub fn start<'w>(run: &'w Run<'_>, keys: Keys, memory: u64) -> Result<(Server, Client<'w>, Measured), Error> {
    let (data, memory) = (run.dir.join("served").display().to_string(), memory.to_string());
    // Puts are acknowledged as the paper's stores do it.
    let mut arguments = vec!["serve", "--dir", &data, "--listen", ANY_PORT, "--memory", &memory];
    arguments.extend(["--threads", "1", "--ack", "memory"]);
    let mut server = Server::start(&run.tools.fawn, &arguments, &run.dir, "served-log")?;
    let address = server.address("serving memcached on ")?;
    let (mut client, loaded) = Client::load(&[address], vec![server.pid()], keys, run.watch)?;
    client.set_meter(run.tools.meter.clone());
    Ok((server, client, loaded))
}
