//! `fawn serve --nodes N`: a whole cluster in one process, its manager too. What its parts say to each other needs no socket.

mod replicas;

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use fawn_kv::ids::Rules;
use fawn_kv::manager::{Leases, Settings};
use fawn_manager::Options;
use fawn_node::cluster::{ClusterOptions, serve_members};
use fawn_node::{ServeError, ServeOptions};
use fawn_store::Ack;

use crate::Outcome;
use crate::node::COPY_BYTES_PER_S;
use crate::observe::Admin;
use crate::serve::{ServeArguments, options};

/// Serves until a signal asks to stop.
pub fn run(arguments: &ServeArguments, nodes: u8, admin: Option<&Admin>) -> anyhow::Result<Outcome> {
    let board = admin.map(|admin| admin.board.clone());
    let serve = ServeOptions { board: board.clone(), ..options(arguments) };
    if serve.ack != Ack::Durable {
        bail!("--nodes answers writes when they are durable on all replicas: leave --ack out");
    }
    if arguments.replicas > nodes {
        bail!("--replicas {} needs as many --nodes: there are {nodes}", arguments.replicas);
    }
    refuse_store(&serve.dir)?;
    let managers = serve.dir.join("manager");
    let was_there = managers.exists();
    let (replicas, first_nodes) = (u32::from(arguments.replicas), u32::from(nodes));
    let settings = Settings { replicas, first_nodes, rules: Rules::default(), leases: Leases::default() };
    let manager = fawn_manager::start(Options { settings, board, ..Options::new(&managers) })?;
    let manager = Arc::new(manager);
    if was_there {
        replicas::warn_if_other(&manager, replicas, serve.dir.clone());
    }
    let members: Vec<_> = (1..=nodes).map(|number| member(&serve, nodes, number, &manager)).collect();
    serve_members(&members, |clients, _| {
        let mut out = std::io::stdout().lock();
        for address in clients {
            // Nobody may be listening; that is no reason to stop.
            let _ = writeln!(out, "fawn: serving memcached on {address}");
        }
        if let Some(admin) = admin {
            admin.tell(&mut out);
        }
        let _ = out.flush();
    })
    .map_err(|error| refused(error, &serve.dir))?;
    manager.stop();
    Ok(Outcome::Done)
}

/// Refuses a directory that holds a store itself: the cluster would lie beside it, and begin empty.
fn refuse_store(dir: &Path) -> anyhow::Result<()> {
    // The file that is written last when a store's directory is made.
    if dir.join("FORMAT").exists() {
        let dir = dir.display();
        bail!(
            "{dir} is the directory of one `fawn serve` or `fawn node`, and --nodes would begin an empty cluster beside what is \
             in it: `fawn node --dir {dir}` makes it a cluster's (see README.md), or name another --dir"
        );
    }
    Ok(())
}

/// What to do where the manager in `dir` does not let all of the nodes in: one that was removed is not, whatever it has.
fn refused(error: ServeError, dir: &Path) -> anyhow::Error {
    let ServeError::Refused(why) = error else { return error.into() };
    let dir = dir.display();
    anyhow!(
        "the manager in {dir} refuses a node: {why}. The nodes that are left serve without it: name fewer --nodes if it is the \
         last, or else start `fawn manager --dir {dir}/manager`, and for each `fawn node --name NAME --dir {dir}/NAME \
         --manager ADDR:PORT`"
    )
}

/// One of the nodes: a share of the loops and of the memory.
fn member(serve: &ServeOptions, nodes: u8, number: u8, manager: &Arc<fawn_manager::Running>) -> ClusterOptions {
    let name = format!("node-{number}");
    let manager = Arc::clone(manager);
    ClusterOptions {
        serve: ServeOptions {
            dir: serve.dir.join(&name),
            threads: NonZeroUsize::new(serve.threads.get() / usize::from(nodes)).unwrap_or(NonZeroUsize::MIN),
            memory_bytes: serve.memory_bytes / u64::from(nodes),
            ..serve.clone()
        },
        name,
        managers: Vec::new(),
        manager: Some(Arc::new(move || manager.connect())),
        cluster_listen: "127.0.0.1:0".to_owned(),
        advertise: None,
        machine: None,
        domain: None,
        virtual_ids: 4,
        is_node: true,
        is_front: true,
        cache_bytes: 64 << 20,
        copy_bytes_per_s: COPY_BYTES_PER_S,
        certificates: None,
    }
}
