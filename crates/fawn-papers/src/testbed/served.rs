//! One server with keys to ask for, over the network: `fawn serve` with one event loop, and memcached with one worker beside it.

use std::net::SocketAddr;
use std::path::Path;

use fawn_loadgen::phase::PhaseResult;
use fawn_workload::KEY_BYTES;

use crate::error::Error;
use crate::run::Run;
use crate::testbed::client::{ServerKeys, TestbedClient};
use crate::testbed::servers::{ANY_PORT, Server};

/// Starts a server with this memory, and puts all keys; what the load took beside. What is done afterwards is metered, where there
/// is a meter.
///
/// # Errors
/// [`Error::Server`], [`Error::Load`].
pub fn start<'w>(
    run: &'w Run<'_>,
    keys: ServerKeys,
    memory: u64,
) -> Result<(Server, TestbedClient<'w>, PhaseResult), Error> {
    let (server, address) = start_empty(&run.tools.fawn, &run.dir, memory, 1)?;
    let (mut client, loaded) = TestbedClient::load(&[address], vec![server.pid()], keys, run.watch)?;
    client.set_meter(run.tools.meter.clone());
    Ok((server, client, loaded))
}

/// Starts a server of `fawn` with this memory, so many event loops and nothing in it, below a directory; where it serves clients.
///
/// # Errors
/// [`Error::Server`].
pub fn start_empty(fawn: &Path, dir: &Path, memory: u64, threads: u16) -> Result<(Server, SocketAddr), Error> {
    let (data, memory, threads) = (dir.join("served").display().to_string(), memory.to_string(), threads.to_string());
    // Puts are acknowledged as the paper's stores do it.
    let mut arguments = vec!["serve", "--dir", &data, "--listen", ANY_PORT, "--memory", &memory];
    arguments.extend(["--threads", &threads, "--ack", "memory"]);
    let mut server = Server::start(fawn, &arguments, dir, "served-log")?;
    let address = server.address("serving memcached on ")?;
    Ok((server, address))
}

/// DRAM that memcached takes for a key with a value of so many bytes, at most: its head of 64 bytes, a slab's chunk a quarter too
/// large, and its place in the hash table.
pub fn memcached_bytes(value_bytes: usize) -> u64 {
    ((64 + KEY_BYTES + value_bytes) as u64 * 5).div_ceil(4) + 16
}

/// Starts memcached with one worker and DRAM for all of these keys, and puts them. What is done afterwards is metered, where there
/// is a meter.
///
/// # Errors
/// [`Error::Server`], [`Error::Load`].
pub fn start_memcached<'w>(
    run: &'w Run<'_>,
    program: &Path,
    keys: ServerKeys,
) -> Result<(Server, TestbedClient<'w>, PhaseResult), Error> {
    let name = "memcached-log";
    // It prints nothing, and so its port takes the place of that.
    let port = format!("MEMCACHED_PORT_FILENAME={}", run.dir.join(format!("{name}.out")).display());
    let mib = ((keys.count * memcached_bytes(keys.value_bytes)) >> 20) + 64;
    let (program, mib) = (program.display().to_string(), mib.to_string());
    // -p -1 takes a free port, -M refuses a key rather than to drop another; -u matters to root alone, who has to give it.
    let arguments =
        [&port, &program, "-l", "127.0.0.1", "-p", "-1", "-U", "0", "-t", "1", "-m", &mib, "-M", "-u", "root"];
    let mut server = Server::start(Path::new("env"), &arguments, &run.dir, name)?;
    let port: u16 = server.said("TCP INET: ")?;
    let (mut client, loaded) =
        TestbedClient::load(&[([127, 0, 0, 1], port).into()], vec![server.pid()], keys, run.watch)?;
    client.set_meter(run.tools.meter.clone());
    Ok((server, client, loaded))
}
