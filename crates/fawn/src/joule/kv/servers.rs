//! Servers of this program, started to be measured.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use fawn_loadgen::LoadTarget;
use fawn_papers::testbed::cluster::{ClusterShape, TestbedCluster};
use fawn_papers::testbed::served;
use fawn_papers::testbed::servers::Server;
use fawn_report::amount::counted;

/// What is started.
#[derive(Clone, Copy, Debug)]
pub struct ServerShape {
    /// Nodes; of one, a server without a manager.
    pub nodes: u32,
    /// Members of each chain.
    pub replicas: u32,
    /// Memory of each, bytes.
    pub memory: u64,
    /// Event loops of a server alone; nodes have one each.
    pub threads: u16,
}

/// Servers that run, on free ports of the loopback. They stop when this is dropped.
pub enum OwnServers {
    /// One.
    Alone(Server, SocketAddr),
    /// Nodes and a manager.
    Cluster(TestbedCluster),
}

impl OwnServers {
    /// Starts them with their data below a directory, and waits until they serve.
    ///
    /// # Errors
    /// They do not.
    pub fn start(shape: ServerShape, dir: &Path) -> anyhow::Result<Self> {
        let ServerShape { nodes, replicas, memory, threads } = shape;
        let fawn = std::env::current_exe().context("cannot find the path of this program to start servers")?;
        if nodes == 1 {
            let (server, address) = served::start_empty(&fawn, dir, memory, threads)?;
            return Ok(Self::Alone(server, address));
        }
        let shape =
            ClusterShape { nodes, archives: 0, rest: 0, replicas, virtual_ids: 1, memory, cache: 0, is_weak: false };
        Ok(Self::Cluster(TestbedCluster::start_in(&fawn, dir.join("cluster"), shape)?))
    }

    /// Where clients go.
    pub fn targets(&self) -> Vec<LoadTarget> {
        let addresses = match self {
            Self::Alone(_, address) => vec![*address],
            Self::Cluster(cluster) => cluster.addresses(),
        };
        addresses.into_iter().map(LoadTarget::from).collect()
    }

    /// The processes that serve clients.
    pub fn pids(&self) -> Vec<u32> {
        match self {
            Self::Alone(server, _) => vec![server.pid()],
            Self::Cluster(cluster) => cluster.pids(),
        }
    }

    /// Fails if one of them has ended although nobody asked it to.
    ///
    /// # Errors
    /// Which one, with its last output.
    pub fn check_runs(&mut self) -> anyhow::Result<()> {
        let runs = match self {
            Self::Alone(server, _) => server.check_runs(),
            Self::Cluster(cluster) => cluster.check_runs(),
        };
        runs.context("a server that this command started is gone")
    }

    /// Stops them.
    ///
    /// # Errors
    /// One does not, or not cleanly.
    pub fn stop(self) -> anyhow::Result<()> {
        match self {
            Self::Alone(server, _) => Ok(server.stop()?),
            Self::Cluster(cluster) => Ok(cluster.stop()?),
        }
    }
}

impl ServerShape {
    /// For people.
    pub fn describe(self) -> String {
        let Self { nodes, replicas, threads, .. } = self;
        let loops = counted(threads.into(), "event loop", "event loops");
        match nodes {
            1 => format!("one server of this program, with {loops}"),
            _ => format!("{nodes} nodes of this program and a manager, each key on {}", replicas.min(nodes)),
        }
    }
}
