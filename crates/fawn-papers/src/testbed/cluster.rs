//! A cluster of real processes on this machine: a manager, and nodes of one event loop each, which serve memcached clients
//! themselves.

use std::io::BufRead as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use fawn_report::amount::number;
use serde_json::Value;

use crate::error::Error;
use crate::finding::Finding;
use crate::run::Run;
use crate::testbed::servers::{ANY_PORT, Server, ask, output, stop_all};

/// How often it is looked whether all is as it should be.
const LOOK: Duration = Duration::from_millis(100);
/// The longest that is waited for it.
const SETTLED: Duration = Duration::from_mins(10);

/// The longest that a node is waited for which is asked whether it answers.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a cluster is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterShape {
    /// Nodes that it begins with.
    pub nodes: u32,
    /// The last so many of these are archives.
    pub archives: u32,
    /// Seconds for which archives rest between syncs.
    pub rest: u32,
    /// Members of each chain.
    pub replicas: u32,
    /// Places of each node on the ring.
    pub virtual_ids: u32,
    /// Memory of each node, bytes, at least 8 MiB.
    pub memory: u64,
    /// Memory for cached values of each front-end, bytes.
    pub cache: u64,
    /// Each member of a chain is a chain of its own.
    pub is_weak: bool,
}

/// A cluster.
#[derive(Debug)]
pub struct TestbedCluster {
    fawn: PathBuf,
    dir: PathBuf,
    shape: ClusterShape,
    manager: Server,
    manager_address: SocketAddr,
    nodes: Vec<ClusterNode>,
}

/// A node's process.
#[derive(Debug)]
struct ClusterNode {
    server: Server,
    /// Where it serves clients; `None`: it is an archive.
    clients: Option<SocketAddr>,
}

impl ClusterShape {
    /// Says in a finding what was measured.
    pub fn tell(&self, finding: &mut Finding) {
        finding.parameter("nodes", self.nodes);
        if self.archives > 0 {
            finding.parameter("archives", self.archives);
        }
        finding.parameter("replicas", self.replicas);
        finding.parameter("virtual_ids", self.virtual_ids);
        finding.parameter("memory_bytes_a_node", self.memory);
        finding.parameter("cache_bytes_a_front_end", self.cache);
    }
}

impl TestbedCluster {
    /// Starts one below the run's directory, and waits until it is whole.
    ///
    /// # Errors
    /// [`Error::Server`], [`Error`].
    pub fn start(run: &Run<'_>, name: &str, shape: ClusterShape) -> Result<Self, Error> {
        run.watch.progress(0, 1, "starting a cluster");
        Self::start_in(&run.tools.fawn, run.dir.join(name), shape)
    }

    /// Starts one of this program in a directory, and waits until it is whole.
    ///
    /// # Errors
    /// [`Error::Server`], [`Error`].
    pub fn start_in(fawn: &Path, dir: PathBuf, shape: ClusterShape) -> Result<Self, Error> {
        let data = dir.join("manager").display().to_string();
        let replicas = shape.replicas.to_string();
        let consistency = if shape.is_weak { "weak" } else { "strong" };
        let arguments =
            ["manager", "--dir", &data, "--listen", ANY_PORT, "--replicas", &replicas, "--consistency", consistency];
        let mut manager = Server::start(fawn, &arguments, &dir, "manager-log")?;
        let manager_address = manager.address(" ready on ")?;
        let mut cluster = Self { fawn: fawn.to_owned(), dir, shape, manager, manager_address, nodes: Vec::new() };
        for _ in 0..shape.nodes {
            cluster.add_node()?;
        }
        cluster.settle()?;
        Ok(cluster)
    }

    /// Starts one more node, and waits until it serves; it may have nothing yet.
    ///
    /// # Errors
    /// [`Error::Server`], [`Error`].
    pub fn add_node(&mut self) -> Result<(), Error> {
        let name = format!("n{}", self.nodes.len() + 1);
        let data = self.dir.join(&name).display().to_string();
        let ClusterShape { memory, virtual_ids, cache, .. } = self.shape;
        let manager = self.manager_address.to_string();
        let (memory, virtual_ids, cache) = (memory.to_string(), virtual_ids.to_string(), cache.to_string());
        let (is_archive, rest) =
            (self.nodes.len() as u32 >= self.shape.nodes - self.shape.archives, self.shape.rest.to_string() + "s");
        let mut arguments = vec!["node", "--name", &name, "--dir", &data, "--manager", &manager];
        arguments.extend(["--cluster-listen", ANY_PORT, "--threads", "1"]);
        let class = if is_archive {
            ["--class", "archive", "--rest", &rest]
        } else {
            ["--class", "serving", "--listen", ANY_PORT]
        };
        arguments.extend(class);
        // Nobody else uses this network.
        arguments.extend(["--memory", &memory, "--virtual-ids", &virtual_ids, "--cache", &cache, "--copy-rate", "4G"]);
        let mut node = Server::start(&self.fawn, &arguments, &self.dir, &format!("{name}-log"))?;
        let clients = if is_archive {
            node.address(" ready on ")?;
            None
        } else {
            Some(node.address("serving memcached on ")?)
        };
        self.nodes.push(ClusterNode { server: node, clients });
        Ok(())
    }

    /// Starts a front-end of its own, without a cache; where it serves clients.
    ///
    /// # Errors
    /// [`Error::Server`], [`Error`].
    pub fn start_front(&self) -> Result<(Server, SocketAddr), Error> {
        let manager = self.manager_address.to_string();
        let arguments = ["frontend", "--name", "f1", "--manager", &manager, "--cluster-listen", ANY_PORT];
        let more = ["--listen", ANY_PORT, "--threads", "1", "--cache", "0"];
        let mut front = Server::start(&self.fawn, &[&arguments[..], &more].concat(), &self.dir, "f1-log")?;
        let address = front.address("serving memcached on ")?;
        let began = Instant::now();
        while !answers(address).unwrap_or(false) {
            if began.elapsed() > SETTLED {
                return Err(Error::Server { name: "f1".to_owned(), what: "answers no client".to_owned() });
            }
            thread::sleep(LOOK);
        }
        Ok((front, address))
    }

    /// Waits until every range has as many members as it is to have, nothing moves, and every node answers clients.
    ///
    /// # Errors
    /// [`Error::Server`]: it does not come to that, or a process has ended.
    pub fn settle(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            self.check_runs()?;
            let why = match self.status() {
                Ok(status) => match complaint(&status, self.nodes.len(), self.shape.replicas as usize) {
                    None => match self.silent() {
                        None => return Ok(()),
                        Some(address) => format!("{address} answers no client"),
                    },
                    Some(why) => why,
                },
                Err(error) => error.to_string(),
            };
            if began.elapsed() > SETTLED {
                return Err(Error::Server { name: "the cluster".to_owned(), what: format!("is not whole: {why}") });
            }
            thread::sleep(LOOK);
        }
    }

    /// Fails if a process has ended although nobody asked it to.
    ///
    /// # Errors
    /// [`Error::Server`], with its last output.
    pub fn check_runs(&mut self) -> Result<(), Error> {
        self.manager.check_runs()?;
        self.nodes.iter_mut().try_for_each(|node| node.server.check_runs())
    }

    /// A node that does not answer clients yet.
    fn silent(&self) -> Option<SocketAddr> {
        self.addresses().into_iter().find(|address| !answers(*address).unwrap_or(false))
    }

    fn status(&self) -> Result<Value, Error> {
        let text = output(&self.fawn, &["status", "--json", "--manager", &self.manager_address.to_string()])?;
        serde_json::from_str(&text).map_err(|error| Error::Server {
            name: "fawn status".to_owned(),
            what: format!("printed no JSON: {error}"),
        })
    }

    /// Where clients go: to all nodes but archives.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().filter_map(|node| node.clients).collect()
    }

    /// The nodes' processes.
    pub fn pids(&self) -> Vec<u32> {
        self.nodes.iter().map(|node| node.server.pid()).collect()
    }

    /// Takes the last node out, for whoever kills it.
    pub fn take_last(&mut self) -> Option<Server> {
        self.nodes.pop().map(|node| node.server)
    }

    /// Takes the first node out, for whoever kills it.
    pub fn take_first(&mut self) -> Option<Server> {
        (!self.nodes.is_empty()).then(|| self.nodes.remove(0).server)
    }

    /// Stops all of it.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn stop(self) -> Result<(), Error> {
        let nodes = stop_all(self.nodes.into_iter().map(|node| node.server).collect());
        nodes.and(self.manager.stop())
    }
}

/// Whether a front-end knows that a key is not there: before its life in the cluster has begun it refuses everything.
fn answers(address: SocketAddr) -> std::io::Result<bool> {
    let mut line = String::new();
    ask(address, b"get nobody-has-put-this\r\n", PATIENCE)?.read_line(&mut line)?;
    Ok(line == "END\r\n")
}

/// What is not as it should be of a cluster of so many nodes, by what `fawn status --json` says.
fn complaint(status: &Value, nodes: usize, replicas: usize) -> Option<String> {
    let list = |name: &str| status[name].as_array().map_or(&[][..], Vec::as_slice);
    let (members, ranges) = (list("members").len(), list("ranges"));
    if members < nodes || ranges.is_empty() {
        return Some(format!("{members} of {nodes} nodes are members, with {} ranges", ranges.len()));
    }
    // One that has just come has none, before anything moves.
    let in_chains =
        |member: &Value| ["head", "mid", "tail"].iter().map(|part| member[*part].as_u64()).sum::<Option<u64>>();
    if let Some(idle) = list("members").iter().find(|member| in_chains(member) == Some(0)) {
        return Some(format!("{} has no range yet", idle["name"]));
    }
    let wanted = replicas.min(nodes);
    for range in ranges {
        let chain = range["chain"].as_array().map_or(0, Vec::len);
        if chain != wanted || range["changing"] == true || !range["learner"].is_null() {
            return Some(format!("range {} has {chain} of {wanted} members, or changes", range["range"]));
        }
    }
    // With fewer nodes than copies it never is.
    (nodes >= replicas && status["settled"] != true).then(|| "the cluster still moves ranges".to_owned())
}

/// The shape of clusters that are measured without caches.
pub fn shape(run: &Run<'_>, replicas: u32) -> ClusterShape {
    ClusterShape {
        nodes: 3,
        archives: 0,
        rest: 0,
        replicas,
        virtual_ids: 1,
        memory: run.pick(8 << 20, 16 << 20, 128 << 20),
        cache: 0,
        is_weak: false,
    }
}

/// How large a cluster of this machine is, with so many bytes of keys and values, for people.
pub fn size(shape: ClusterShape, bytes: u64) -> String {
    let ClusterShape { nodes, replicas, .. } = shape;
    let mib = number(bytes as f64 / f64::from(1 << 20), 0);
    let copies = if replicas > 1 { format!(", in {replicas} copies") } else { String::new() };
    format!("{nodes} nodes and {mib} MiB of keys and values{copies}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cluster_is_whole_when_every_chain_is() {
        let range = |chain: usize| json!({ "range": 1, "chain": vec!["n"; chain], "learner": null, "changing": false });
        let status =
            |chain: usize, settled: bool| json!({ "settled": settled, "members": [1, 2, 3], "ranges": [range(chain)] });
        assert_eq!(complaint(&status(3, true), 3, 3), None);
        assert!(complaint(&status(2, true), 3, 3).unwrap().contains("2 of 3"));
        assert!(complaint(&status(3, false), 3, 3).is_some());
        assert!(complaint(&status(3, true), 4, 3).unwrap().contains("3 of 4 nodes"));
        assert!(complaint(&json!({}), 1, 1).is_some());
        let mut with_new = status(3, true);
        let member = |name: &str, tail: u64| json!({ "name": name, "head": 0, "mid": 0, "tail": tail });
        with_new["members"] = json!([member("n1", 1), member("n2", 0), member("n3", 1)]);
        assert!(complaint(&with_new, 3, 3).unwrap().contains("\"n2\" has no range yet"));
    }

    #[test]
    fn a_cluster_says_how_large_it_is() {
        let shape = ClusterShape {
            nodes: 3,
            archives: 0,
            rest: 0,
            replicas: 1,
            virtual_ids: 1,
            memory: 8 << 20,
            cache: 0,
            is_weak: false,
        };
        assert_eq!(size(shape, 4 << 30), "3 nodes and 4,096 MiB of keys and values");
        let shape = ClusterShape { replicas: 3, ..shape };
        assert_eq!(size(shape, 1 << 20), "3 nodes and 1 MiB of keys and values, in 3 copies");
    }
}
