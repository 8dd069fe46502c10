//! The processes under trial, each on its host.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::PoisonError;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use rustix::process::Signal;

use crate::arguments::{TrialShape, TrialSizes};
use crate::disk;
use crate::net::{Host, Network, Port};
use crate::process::{Process, output};
use crate::status::Status;

/// What a process is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessRole {
    /// It decides.
    Manager,
    /// It keeps data.
    Node,
    /// It serves clients.
    Front,
    /// All of it.
    Single,
}

/// What a process should be doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Running.
    Up,
    /// Nothing, for now.
    Down,
    /// Standing still, for now.
    Paused,
}

/// A process to be, and the one that is.
#[derive(Debug)]
pub struct TrialProcess {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub role: ProcessRole,
    /// Where it runs.
    pub host: Host,
    /// What it should be doing.
    pub condition: Condition,
    /// Its directory's disk is small, and can be filled.
    pub has_small_disk: bool,
    /// It runs the release that is on trial, or will when it is started next.
    pub is_upgraded: bool,
    process: Option<Process>,
}

/// The processes.
#[derive(Debug)]
pub struct TrialCluster {
    /// The network between them.
    pub network: Network,
    /// All of them; those that have left are gone.
    pub members: Vec<TrialProcess>,
    fawn: PathBuf,
    /// What members run that are not upgraded.
    from: Option<PathBuf>,
    dir: PathBuf,
    ack: String,
    /// Managers form a weak cluster.
    is_weak: bool,
    sizes: TrialSizes,
    /// Nodes that there ever were.
    nodes: u8,
}

/// A process that is asked to stop does so within this time.
const STOP: Duration = Duration::from_secs(30);

/// An operator's question is answered within this time.
const ANSWER: Duration = Duration::from_secs(10);

impl TrialCluster {
    /// Hosts and directories for everything; nothing runs yet. `dir` exists.
    ///
    /// # Errors
    /// A host cannot be made.
    pub fn new(
        network: Network,
        shape: TrialShape,
        sizes: TrialSizes,
        (fawn, dir, ack): (&Path, &Path, &str),
    ) -> anyhow::Result<Self> {
        let (fawn, dir, ack) = (fawn.to_owned(), dir.to_owned(), ack.to_owned());
        std::fs::create_dir(dir.join("logs"))?;
        let mut cluster =
            Self { network, members: Vec::new(), fawn, from: None, dir, ack, is_weak: false, sizes, nodes: 0 };
        if shape == TrialShape::Single {
            cluster.add("s1", ProcessRole::Single)?;
            return Ok(cluster);
        }
        for number in 1..=sizes.managers {
            cluster.add(&format!("m{number}"), ProcessRole::Manager)?;
        }
        for _ in 0..sizes.nodes {
            cluster.add_node()?;
        }
        for number in 1..=sizes.fronts {
            cluster.add(&format!("f{number}"), ProcessRole::Front)?;
        }
        Ok(cluster)
    }

    /// A node to be, under a name that none had: its place.
    ///
    /// # Errors
    /// Its host cannot be made.
    pub fn add_node(&mut self) -> anyhow::Result<usize> {
        self.nodes += 1;
        self.add(&format!("n{}", self.nodes), ProcessRole::Node)
    }

    fn add(&mut self, name: &str, role: ProcessRole) -> anyhow::Result<usize> {
        let host = self.network.add(name)?;
        let dir = self.dir.join(name);
        std::fs::create_dir(&dir)?;
        // Every other node's disk is a real one.
        let may_be_small = role == ProcessRole::Single || role == ProcessRole::Node && host.number.is_multiple_of(2);
        // On the machine's own mounts it would outlive a trial that is killed.
        let has_small_disk = may_be_small && !self.network.is_loopback() && disk::mount(&dir);
        let name = name.to_owned();
        self.members.push(TrialProcess {
            name,
            role,
            host,
            condition: Condition::Down,
            has_small_disk,
            is_upgraded: true,
            process: None,
        });
        Ok(self.members.len() - 1)
    }

    /// The cluster is to be a weak one.
    pub fn form_weak(&mut self) {
        self.is_weak = true;
    }

    /// All members but the first node begin with an older release.
    pub fn begin_with(&mut self, from: &Path) {
        self.from = Some(from.to_owned());
        for member in &mut self.members {
            member.is_upgraded = member.name == "n1";
        }
    }

    /// How large everything is to be.
    pub fn sizes(&self) -> &TrialSizes {
        &self.sizes
    }

    /// A member that has left is no more.
    pub fn forget(&mut self, at: usize) {
        self.kill(at);
        self.members.remove(at);
    }

    /// The directory of a member's disk, for as long as the cluster lives.
    pub fn disk(&self, at: usize) -> PathBuf {
        self.dir.join(&self.members[at].name)
    }

    /// The directory of all logs.
    pub fn logs(&self) -> PathBuf {
        self.dir.join("logs")
    }

    /// Where clients go.
    pub fn fronts(&self) -> Vec<SocketAddr> {
        let serves = |member: &&TrialProcess| matches!(member.role, ProcessRole::Front | ProcessRole::Single);
        self.members.iter().filter(serves).map(|member| self.network.reached(&member.host, Port::Client)).collect()
    }

    /// The places of the members with a role that should be running.
    pub fn up(&self, role: ProcessRole) -> Vec<usize> {
        let is_up = |at: &usize| self.members[*at].role == role && self.members[*at].condition == Condition::Up;
        (0..self.members.len()).filter(is_up).collect()
    }

    /// Whether a node is an archive.
    fn is_archive(&self, name: &str) -> bool {
        let number = name.strip_prefix('n').and_then(|number| number.parse::<u8>().ok());
        number.is_some_and(|number| number <= self.sizes.archives)
    }

    /// Where the managers are reached.
    pub fn managers(&self) -> Vec<String> {
        let managers = self.members.iter().filter(|member| member.role == ProcessRole::Manager);
        managers.map(|member| self.network.reached(&member.host, Port::Manager).to_string()).collect()
    }

    /// How a member is started.
    fn command(&self, at: usize) -> Command {
        let member = &self.members[at];
        let address = member.host.address;
        let (managers, replicas) = (self.managers().join(","), self.sizes.replicas.to_string());
        let own = |port: Port| format!("{address}:{}", port as u16);
        let advertised = match member.role {
            ProcessRole::Manager => Some(Port::Manager),
            ProcessRole::Node | ProcessRole::Front => Some(Port::Cluster),
            ProcessRole::Single => None,
        };
        let program = self.from.as_ref().filter(|_| !member.is_upgraded).unwrap_or(&self.fawn);
        let mut command = self.network.command(&member.host, program);
        match member.role {
            ProcessRole::Manager => {
                command.args(["manager", "--listen", &own(Port::Manager), "--peers", &managers]);
                command.args(["--replicas", &replicas]);
                if self.is_weak {
                    command.args(["--consistency", "weak"]);
                }
            }
            ProcessRole::Node => {
                command.args(["node", "--name", &member.name, "--manager", &managers]);
                command.args(["--cluster-listen", &own(Port::Cluster), "--memory", "64M", "--threads", "1"]);
                if self.is_archive(&member.name) {
                    command.args(["--class", "archive"]);
                } else {
                    command.args(["--listen", &own(Port::Client)]);
                }
            }
            ProcessRole::Front => {
                command.args(["frontend", "--name", &member.name, "--manager", &managers]);
                command.args(["--cluster-listen", &own(Port::Cluster), "--listen", &own(Port::Client)]);
            }
            ProcessRole::Single => {
                command.args(["serve", "--listen", &own(Port::Client), "--ack", &self.ack]);
                command.args(["--memory", "64M", "--threads", "2"]);
            }
        }
        if let Some(port) = advertised {
            command.arg("--advertise").arg(self.network.reached(&member.host, port).to_string());
        }
        if member.role != ProcessRole::Front {
            command.arg("--dir").arg(self.disk(at).join("data"));
        }
        command.arg("--insecure");
        command
    }

    /// Starts a member that does not run; it may not be ready yet.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(&mut self, at: usize) -> anyhow::Result<()> {
        let command = self.command(at);
        let name = self.members[at].name.clone();
        let process = Process::start(command, &self.logs(), &name).with_context(|| format!("cannot start {name}"))?;
        self.network.processes.lock().unwrap_or_else(PoisonError::into_inner).insert(name, process.pid());
        let member = &mut self.members[at];
        (member.process, member.condition) = (Some(process), Condition::Up);
        Ok(())
    }

    /// Waits until a member says that it is ready.
    ///
    /// # Errors
    /// It does not.
    pub fn await_ready(&mut self, at: usize, within: Duration) -> anyhow::Result<()> {
        let member = &mut self.members[at];
        let is_ready = member.process.as_mut().is_some_and(|process| process.is_ready_within(within));
        ensure!(is_ready, "{} is not ready after {} s: see its log", member.name, within.as_secs());
        Ok(())
    }

    /// Starts everything there is, and waits until it is ready.
    ///
    /// # Errors
    /// Something does not start.
    pub fn start_all(&mut self, within: Duration) -> anyhow::Result<()> {
        for at in 0..self.members.len() {
            self.start(at)?;
        }
        (0..self.members.len()).try_for_each(|at| self.await_ready(at, within))
    }

    /// `kill -9`.
    pub fn kill(&mut self, at: usize) {
        let member = &mut self.members[at];
        self.network.processes.lock().unwrap_or_else(PoisonError::into_inner).remove(&member.name);
        (member.process, member.condition) = (None, Condition::Down);
    }

    /// Asks a member to stop, and waits until it has.
    ///
    /// # Errors
    /// It does not, or not cleanly.
    pub fn stop(&mut self, at: usize) -> anyhow::Result<()> {
        let member = &mut self.members[at];
        let Some(mut process) = member.process.take() else { return Ok(()) };
        member.condition = Condition::Down;
        self.network.processes.lock().unwrap_or_else(PoisonError::into_inner).remove(&member.name);
        process.signal(Signal::TERM);
        match process.ended_within(STOP) {
            Some(status) if status.success() => Ok(()),
            Some(status) => bail!("{} was asked to stop and ended with {status}", member.name),
            None => bail!("{} was asked to stop and has not after {} s", member.name, STOP.as_secs()),
        }
    }

    /// Lets a member stand still, or go on.
    pub fn pause(&mut self, at: usize, condition: Condition) {
        let member = &mut self.members[at];
        let signal = if condition == Condition::Paused { Signal::STOP } else { Signal::CONT };
        if let Some(process) = &member.process {
            process.signal(signal);
            member.condition = condition;
        }
    }

    /// Throws away what a member that does not run has stored.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn wipe(&self, at: usize) -> anyhow::Result<()> {
        let data = self.disk(at).join("data");
        if data.exists() { std::fs::remove_dir_all(data).context("cannot wipe a disk") } else { Ok(()) }
    }

    /// Members that have ended though nobody asked them to: how. They are started again.
    ///
    /// # Errors
    /// One of them cannot be started again.
    pub fn restart_ended(&mut self) -> anyhow::Result<Vec<String>> {
        let mut ended = Vec::new();
        for at in 0..self.members.len() {
            let member = &mut self.members[at];
            if let Some(status) = member.process.as_mut().and_then(Process::ended) {
                ended.push(format!("{} ended by itself: {status}, see {}.err", member.name, member.name));
                self.kill(at);
                self.start(at)?;
            }
        }
        Ok(ended)
    }

    /// What the managers say of the cluster.
    ///
    /// # Errors
    /// Nobody answers, or it cannot be understood.
    pub fn status(&self) -> anyhow::Result<Status> {
        let text = self.operate(&["status", "--json"], ANSWER)?;
        serde_json::from_str(&text).context("fawn status --json prints no status")
    }

    /// Runs an operator's command.
    ///
    /// # Errors
    /// It fails, or takes too long.
    pub fn operate(&self, arguments: &[&str], within: Duration) -> anyhow::Result<String> {
        let mut command = Command::new(&self.fawn);
        command.args(arguments).args(["--manager", &self.managers().join(",")]);
        let printed = output(command, &self.dir.join("operator"), within);
        printed.with_context(|| format!("`fawn {}` failed", arguments.join(" ")))
    }

    /// The place of the manager that leads, as the managers say.
    ///
    /// # Errors
    /// Nobody says.
    pub fn leader(&self) -> anyhow::Result<usize> {
        let status = self.status()?;
        let leader = status.managers.iter().find(|manager| manager.leads);
        let address = &leader.context("no manager leads")?.address;
        let is_it = |member: &TrialProcess| {
            member.role == ProcessRole::Manager
                && self.network.reached(&member.host, Port::Manager).to_string() == *address
        };
        self.members.iter().position(is_it).with_context(|| format!("{address} belongs to none of the managers"))
    }
}

impl Drop for TrialCluster {
    fn drop(&mut self) {
        for at in 0..self.members.len() {
            self.kill(at);
            if self.members[at].has_small_disk {
                disk::unmount(&self.disk(at));
            }
        }
    }
}
