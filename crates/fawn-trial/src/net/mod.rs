//! The hosts that processes run on, and the network between them.
//!
//! Each host is a network namespace with one link to a router, which is a namespace, too. The trial's own process is the
//! host of the clients:
//!
//! ```text
//! clients 10.77.0.2 ── 10.77.0.1 ┐
//! m1      10.77.1.2 ── 10.77.1.1 ┤ router
//! n1      10.77.2.2 ── 10.77.2.1 ┘
//! ```
//!
//! * A *cut* is a rule of the router's: what comes from one address for another goes nowhere. It is silent, has a
//!   direction, and leaves both hosts' links to others alone.
//! * A host under a *weather* has its packets sent through [`weather`], a relay in this process, which delays, loses and
//!   doubles them. The router reaches it through a VXLAN device.
//!
//! Where no namespaces can be made, hosts are addresses of the loopback, and [relays](mod@relay) between them cut and delay.

mod frame;
pub mod relay;
pub mod weather;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use relay::Relays;
use weather::{Relay, Weather};

use crate::monitor::WatchedProcesses;

/// Where a process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name, and its namespace's.
    pub name: String,
    /// Its number: 0 is the clients'.
    pub number: u8,
    /// Its address.
    pub address: Ipv4Addr,
}

/// The network.
#[derive(Debug)]
pub struct Network {
    /// The processes on it, by name: that of their host, too.
    pub processes: WatchedProcesses,
    kind: NetKind,
    hosts: u8,
}

/// The ports on which processes listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// Managers.
    Manager = 7400,
    /// Members among themselves.
    Cluster = 7401,
    /// Memcached's clients.
    Client = 11211,
}

#[derive(Debug)]
enum NetKind {
    Loopback(Relays),
    Namespaces { relay: Option<Relay>, no_relay: String },
}

/// Bytes of a packet between hosts at most. Large ones cost less, and need no segmenting on the way.
const MTU: &str = "60000";

/// Cuts come before anything else that the router knows.
const CUTS: &str = "10";
/// What comes from the relay goes where it should.
const RELAYED: &str = "50";
/// What belongs to a host under a weather goes to the relay.
const WEATHERS: &str = "100";
/// The routing table that leads to the relay.
const TABLE: &str = "100";

impl Network {
    /// Hosts on the loopback.
    pub fn loopback() -> Self {
        let processes = WatchedProcesses::default();
        let relays = Relays::new(&processes);
        Self { processes, kind: NetKind::Loopback(relays), hosts: 0 }
    }

    /// A router, and the clients' link to it. This process is inside of [`enclosure`](crate::enclosure).
    ///
    /// # Errors
    /// What `ip` says.
    pub fn namespaces() -> anyhow::Result<Self> {
        // The names of namespaces are files, which nobody else needs to see.
        run("mount", &["-t", "tmpfs", "tmpfs", "/run"])?;
        std::fs::create_dir_all("/run/netns")?;
        ip("link set lo up")?;
        ip("netns add router")?;
        run("nsenter", &["--net=/run/netns/router", "sh", "-c", FORWARD])?;
        ip("-n router link set lo up")?;
        ip("link add eth0 mtu 65535 type veth peer name v0 mtu 65535 netns router")?;
        connect(0, "")?;
        let (relay, no_relay) = match relay() {
            Ok(relay) => (Some(relay), String::new()),
            Err(error) => (None, format!("{error:#}")),
        };
        Ok(Self { processes: WatchedProcesses::default(), kind: NetKind::Namespaces { relay, no_relay }, hosts: 0 })
    }

    /// Another host.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn add(&mut self, name: &str) -> anyhow::Result<Host> {
        ensure!(self.hosts < relay::MOST_HOSTS, "there are addresses for {} hosts", relay::MOST_HOSTS);
        self.hosts += 1;
        let number = self.hosts;
        if let NetKind::Loopback(relays) = &self.kind {
            let ports = [Port::Manager, Port::Cluster, Port::Client].map(|port| port as u16);
            relays
                .add(name, number, &ports)
                .context("an address of the loopback is in use: does another trial run?")?;
            return Ok(Host { name: name.to_owned(), number, address: relay::address(number) });
        }
        ip(&format!("netns add {name}"))?;
        ip(&format!("link add eth0 mtu {MTU} netns {name} type veth peer name v{number} mtu {MTU} netns router"))?;
        ip(&format!("-n {name} link set lo up"))?;
        connect(number, &format!("-n {name} "))?;
        Ok(Host { name: name.to_owned(), number, address: address(number) })
    }

    /// The host of the clients, which is this process's.
    pub fn clients(&self) -> Host {
        Host { name: "the clients' host".to_owned(), number: 0, address: address(0) }
    }

    /// Whether hosts are addresses of the loopback.
    pub fn is_loopback(&self) -> bool {
        matches!(self.kind, NetKind::Loopback(_))
    }

    /// Where others reach a host's port.
    pub fn reached(&self, host: &Host, port: Port) -> SocketAddr {
        let address = if self.is_loopback() { relay::reached(host.number) } else { host.address };
        (address, port as u16).into()
    }

    /// Why there is no weather, if there is none.
    pub fn without_weather(&self) -> Option<&str> {
        match &self.kind {
            NetKind::Namespaces { relay: Some(_), .. } | NetKind::Loopback(_) => None,
            NetKind::Namespaces { no_relay, .. } => Some(no_relay),
        }
    }

    /// A command that runs on a host.
    pub fn command(&self, host: &Host, program: &Path) -> Command {
        if self.is_loopback() {
            return Command::new(program);
        }
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", host.name)).arg("--").arg(program);
        command
    }

    /// What `from` says to `to` is lost from now on, or no more.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn cut(&self, from: &Host, to: &Host, state: FaultState) -> anyhow::Result<()> {
        if let NetKind::Loopback(relays) = &self.kind {
            relays.cut((from.number, to.number), state == FaultState::Broken);
            return Ok(());
        }
        rule(&format!("from {} to {} blackhole priority {CUTS}", from.address, to.address), state)
    }

    /// Nobody hears a host, nor does it hear anybody, or they do again.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn isolate(&self, host: &Host, state: FaultState) -> anyhow::Result<()> {
        if let NetKind::Loopback(relays) = &self.kind {
            relays.isolate(host.number, state == FaultState::Broken);
            return Ok(());
        }
        rule(&format!("from {} blackhole priority {CUTS}", host.address), state)?;
        rule(&format!("to {} blackhole priority {CUTS}", host.address), state)
    }

    /// Sends what a host says and hears through a weather, or no more.
    ///
    /// # Errors
    /// What `ip` says, or there is no weather.
    pub fn disturb(&self, host: &Host, weather: Weather, state: FaultState) -> anyhow::Result<()> {
        let set = (state == FaultState::Broken).then_some(weather);
        match &self.kind {
            NetKind::Namespaces { relay: Some(relay), .. } => relay.set(host.number, set),
            NetKind::Namespaces { .. } => bail!("there is no weather here"),
            NetKind::Loopback(relays) => {
                relays.disturb(host.number, set);
                return Ok(());
            }
        }
        rule(&format!("from {} lookup {TABLE} priority {WEATHERS}", host.address), state)?;
        rule(&format!("to {} lookup {TABLE} priority {WEATHERS}", host.address), state)
    }

    /// What the relay has done with packets: passed on, lost, doubled.
    pub fn packets(&self) -> [u64; 3] {
        match &self.kind {
            NetKind::Namespaces { relay: Some(relay), .. } => relay.packets(),
            _ => [0; 3],
        }
    }
}

/// Whether something is broken or mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultState {
    /// From now on.
    Broken,
    /// No more.
    Mended,
}

/// Adds a rule to the router's, or takes it away.
fn rule(rule: &str, state: FaultState) -> anyhow::Result<()> {
    ip(&format!("-n router rule {} {rule}", if state == FaultState::Broken { "add" } else { "del" }))
}

/// Lets the router forward, also what seems to come from the wrong side.
const FORWARD: &str = "echo 1 > /proc/sys/net/ipv4/ip_forward
    echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter
    echo 0 > /proc/sys/net/ipv4/conf/default/rp_filter
    echo 0 > /proc/sys/net/ipv4/conf/all/send_redirects
    echo 0 > /proc/sys/net/ipv4/conf/default/send_redirects";

fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, number, 2)
}

/// Gives both ends of a host's link their addresses; `inside` is how `ip` gets there.
fn connect(number: u8, inside: &str) -> anyhow::Result<()> {
    ip(&format!("-n router addr add 10.77.{number}.1/30 dev v{number}"))?;
    ip(&format!("-n router link set v{number} up"))?;
    ip(&format!("{inside}addr add {}/30 dev eth0", address(number)))?;
    ip(&format!("{inside}link set eth0 up"))?;
    ip(&format!("{inside}route add default via 10.77.{number}.1"))
}

/// The relay, and the router's way to it.
fn relay() -> anyhow::Result<Relay> {
    let relay = Relay::start((address(0), weather::PORT), Some(weather::PORT)).context("cannot start a relay")?;
    let (ours, router) = (frame::mac_text(frame::RELAY), frame::mac_text(frame::ROUTER));
    let port = weather::PORT;
    ip(&format!("-n router link add vx0 type vxlan id 7 local 10.77.0.1 remote 10.77.0.2 dstport {port} nolearning"))?;
    ip(&format!("-n router link set vx0 address {router} mtu {MTU} gso_max_segs 1 up"))?;
    ip("-n router addr add 10.78.0.1/24 dev vx0")?;
    ip(&format!("-n router neigh add 10.78.0.2 lladdr {ours} dev vx0 nud permanent"))?;
    ip(&format!("-n router route add default via 10.78.0.2 dev vx0 table {TABLE}"))?;
    ip(&format!("-n router rule add iif vx0 lookup main priority {RELAYED}"))?;
    Ok(relay)
}

fn ip(arguments: &str) -> anyhow::Result<()> {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    run("ip", &arguments)
}

/// Runs a program that prints nothing when all is well.
pub(crate) fn run(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| format!("cannot start {program}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{program} {}` failed: {}", arguments.join(" "), said.trim());
    Ok(())
}
