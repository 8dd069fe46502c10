//! `fawn serve --nodes N`: a whole cluster in one process, its manager too. What its nodes say to each other needs no socket;
//! the manager has an address, so that the cluster can be looked at and changed like any other.

pub mod replicas;

use std::cell::RefCell;
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, bail};
use fawn_kv::ids::{Consistency, Rules};
use fawn_kv::manager::roster::NodeClass;
use fawn_kv::manager::{Leases, Settings};
use fawn_manager::{ManagerError, Options, Running, start};
use fawn_node::cluster::{ClusterOptions, serve_members};
use fawn_node::{ClientAddress, ServeError, ServeOptions};
use replicas::RequestedSettings;

use crate::cluster::arguments::MANAGER;
use crate::node::COPY_BYTES_PER_S;
use crate::observe::Admin;
use crate::outcome::CommandStatus;
use crate::resources::default_cache;
use crate::serve::arguments::{ServeArguments, options, threads_of_each};

/// An address with a free port.
const ANY_PORT: &str = "127.0.0.1:0";

/// Serves until a signal asks to stop.
pub fn run(arguments: &ServeArguments, nodes: u8, admin: Option<&Admin>) -> anyhow::Result<CommandStatus> {
    let board = admin.map(|admin| admin.board.clone());
    let serve = ServeOptions { board: board.clone(), ..options(arguments) };
    refuse_store(&serve.dir)?;
    refuse_fewer(&serve.dir, nodes)?;
    let managers = serve.dir.join("manager");
    let was_there = managers.exists();
    let (replicas, first_nodes) = (u32::from(arguments.replicas.unwrap_or(1)), u32::from(nodes));
    let consistency = arguments.consistency.map(Consistency::from);
    let rules = Rules { consistency: consistency.unwrap_or_default(), ..Rules::default() };
    let settings = Settings { replicas, first_nodes, rules, leases: Leases::default() };
    let insecure = arguments.insecure;
    let options = Options { settings, board, insecure, ..Options::new(&managers) };
    let manager = Arc::new(start_manager(&options, arguments.manager_address.as_deref())?);
    let address = manager.address().map(|address| address.to_string()).unwrap_or_default();
    if was_there && (arguments.replicas.is_some() || consistency.is_some()) {
        let given = RequestedSettings { replicas: arguments.replicas.map(u32::from), consistency };
        replicas::warn_if_other(&manager, given, serve.dir.clone());
    }
    let mut members: Vec<_> = (1..=nodes).map(|number| member(&serve, nodes, number, &address)).collect();
    let served = RefCell::new(Vec::new());
    let ready = |clients: &[ClientAddress], _: &[String]| {
        if !served.borrow().is_empty() {
            return;
        }
        let is_tcp = |at: &&ClientAddress| at.address.parse::<SocketAddr>().is_ok();
        served.borrow_mut().extend(clients.iter().filter(is_tcp).cloned());
        crate::tell::finish();
        let mut out = std::io::stdout().lock();
        for address in clients {
            // Nobody may be listening; that is no reason to stop.
            let _ = writeln!(out, "{}", address.ready_line());
        }
        let _ = writeln!(out, "fawn: manager {} ready on {address}", manager.id().0);
        if let Some(admin) = admin {
            admin.tell(&mut out);
        }
        let _ = out.flush();
    };
    loop {
        match serve_members(&members, ready) {
            // The others go on without a node that was removed.
            Err(ServeError::Ousted(why)) if nodes > 1 => tracing::warn!("{why}; the other nodes start again"),
            Err(error) => return Err(refused(error, &serve.dir)),
            Ok(()) => break,
        }
        // Where clients know them, also where any port would have done. Nobody knows one yet where none was printed.
        if !served.borrow().is_empty() {
            for member in &mut members {
                let of = |protocol: &str| {
                    let those = |at: &&ClientAddress| at.protocol == protocol;
                    served.borrow().iter().filter(those).map(|at| at.address.clone()).collect()
                };
                (member.serve.listen, member.serve.redis, member.serve.http) =
                    (of("memcached"), of("redis"), of("http"));
            }
        }
    }
    manager.stop();
    Ok(CommandStatus::Done)
}

/// Starts the manager where others reach it: where it is told to, or where it was before, or on the usual port if that is free.
fn start_manager(options: &Options, listen: Option<&str>) -> anyhow::Result<Running> {
    let at = |listen: &str| start(Options { listen: Some(listen.to_owned()), ..options.clone() });
    if let Some(listen) = listen {
        return Ok(at(listen)?);
    }
    let kept = fawn_manager::kept_address(&options.dir)?.filter(|address| !address.is_empty());
    let usual = kept.as_deref().unwrap_or(MANAGER);
    match at(usual) {
        Err(ManagerError::Listen { error, .. }) if error.kind() == ErrorKind::AddrInUse => {
            let running = at(ANY_PORT)?;
            if let (Some(was), Some(is)) = (&kept, running.address()) {
                tracing::warn!(
                    "another process uses {was}, so the manager listens on {is} from now on: give nodes of other \
                    processes --manager {is}, or stop that process and use --manager-address {was}"
                );
            }
            Ok(running)
        }
        started => Ok(started?),
    }
}

/// Refuses a directory that holds a store itself: the cluster would lie beside it, and begin empty.
fn refuse_store(dir: &Path) -> anyhow::Result<()> {
    // The file that is written last when a store's directory is made.
    if dir.join("FORMAT").exists() {
        let dir = dir.display();
        bail!(
            "{dir} is the directory of one `fawn serve` or `fawn node`, and --nodes would begin an empty cluster \
            beside its data: `fawn node --dir {dir}` adopts it into a cluster (see operations/clusters in the \
            book), or name another --dir"
        );
    }
    Ok(())
}

/// Refuses to leave nodes out: what they alone have would be out of reach.
fn refuse_fewer(dir: &Path, nodes: u8) -> anyhow::Result<()> {
    match nodes_in(dir) {
        Some(there) if there > nodes => {
            let dir = dir.display();
            bail!("the cluster in {dir} has {there} nodes, and each has its own keys: give --nodes {there}")
        }
        _ => Ok(()),
    }
}

/// How many nodes the cluster in a directory has; `None`: there is none.
fn nodes_in(dir: &Path) -> Option<u8> {
    let is_there = |number: &u8| dir.join(name_of(*number)).exists();
    (1..=u8::MAX).rev().find(is_there).filter(|_| dir.join("manager").exists())
}

/// Refuses the directory of a cluster for a store alone.
pub fn refuse_cluster(dir: &Path) -> anyhow::Result<()> {
    match nodes_in(dir) {
        Some(nodes) => {
            bail!(
                "{} is the directory of a cluster in one process: give --nodes {nodes}, or another --dir",
                dir.display()
            )
        }
        None => Ok(()),
    }
}

/// What a node is called, and its directory.
fn name_of(number: u8) -> String {
    format!("node-{number}")
}

/// What to do where the manager in `dir` does not let the nodes in.
fn refused(error: ServeError, dir: &Path) -> anyhow::Error {
    let ServeError::Refused(why) = error else { return error.into() };
    anyhow!("the manager in {} refuses a node: {why}", dir.display())
}

/// One of the nodes: a share of the loops and of the memory.
fn member(serve: &ServeOptions, nodes: u8, number: u8, manager: &str) -> ClusterOptions {
    let name = name_of(number);
    ClusterOptions {
        serve: ServeOptions {
            dir: serve.dir.join(&name),
            threads: threads_of_each(serve.threads, nodes),
            memory_bytes: serve.memory_bytes / u64::from(nodes),
            ..serve.clone()
        },
        name,
        managers: vec![manager.to_owned()],
        cluster_listen: ANY_PORT.to_owned(),
        advertise: None,
        machine: None,
        domain: None,
        virtual_ids: 4,
        node: NodeClass::Serving,
        rest: Duration::ZERO,
        is_front: true,
        // All front-ends together have as much as that of one process of a cluster.
        cache_bytes: default_cache() / u64::from(nodes),
        copy_bytes_per_s: COPY_BYTES_PER_S,
        certificates: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_nodes_together_have_the_memory_of_one_process() {
        let dir = tempfile::tempdir().unwrap();
        let serve = ServeOptions { memory_bytes: 96 << 20, ..ServeOptions::new(dir.path()) };
        for nodes in [1, 3, 16] {
            let members = (1..=nodes).map(|number| member(&serve, nodes, number, MANAGER));
            let (memory, cache) = members.fold((0, 0), |(memory, cache), member| {
                (memory + member.serve.memory_bytes, cache + member.cache_bytes)
            });
            assert!(memory <= serve.memory_bytes && cache <= default_cache(), "{nodes} nodes: {memory} and {cache}");
        }
    }
}
