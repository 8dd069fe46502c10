//! Relays between processes on the loopback, where there is no network to cut: every connection passes one.
//!
//! A host `127.X.Y.N` is reached at `127.X.Y.(N + 128)`, where a relay listens and passes bytes on; X and Y follow from this
//! process's number, so that trials leave each other alone. Who calls is seen from the connection's other end: the kernel
//! knows which process has it. Bytes wait while their way is cut, as TCP would send them
//! again until it is not; under a weather they wait a little, and some of them for as long as a lost packet takes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fawn_check::random::Random;

use super::weather::Weather;
use crate::monitor::WatchedProcesses;

/// What TCP waits, at least, before it takes a packet for lost.
const LOST: Duration = Duration::from_millis(200);

/// How often bytes that wait look whether they may go on.
const LOOK: Duration = Duration::from_millis(20);

/// Whoever is called answers the relay within this time, or nobody is there.
const CONNECT: Duration = Duration::from_secs(2);

/// What is broken.
#[derive(Debug, Default)]
struct BrokenLinks {
    /// By name, the hosts' numbers.
    hosts: BTreeMap<String, u8>,
    cuts: BTreeSet<(u8, u8)>,
    isolated: BTreeSet<u8>,
    weathers: BTreeMap<u8, Weather>,
}

/// All relays.
#[derive(Clone, Debug)]
pub struct Relays {
    broken: Arc<Mutex<BrokenLinks>>,
    processes: WatchedProcesses,
}

/// Hosts at most: the other half of the addresses is for the relays.
pub const MOST_HOSTS: u8 = 120;

/// A host's own address.
pub fn address(number: u8) -> Ipv4Addr {
    let pid = std::process::id();
    Ipv4Addr::new(127, 1 + (pid / 250 % 250) as u8, (pid % 250) as u8, number)
}

/// Where others reach it.
pub fn reached(number: u8) -> Ipv4Addr {
    let [_, x, y, number] = address(number).octets();
    Ipv4Addr::new(127, x, y, number + 128)
}

impl Relays {
    /// None yet; processes are known by their names, which are their hosts'.
    pub fn new(processes: &WatchedProcesses) -> Self {
        Self { broken: Arc::default(), processes: WatchedProcesses::clone(processes) }
    }

    fn broken(&self) -> MutexGuard<'_, BrokenLinks> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Relays to a host's ports, for as long as this process lives.
    ///
    /// # Errors
    /// An address is in use.
    pub fn add(&self, name: &str, number: u8, ports: &[u16]) -> io::Result<()> {
        self.broken().hosts.insert(name.to_owned(), number);
        for &port in ports {
            let listener = TcpListener::bind((reached(number), port))?;
            let (relays, target) = (self.clone(), SocketAddr::from((address(number), port)));
            std::thread::Builder::new().name("relay".to_owned()).spawn(move || {
                for caller in listener.incoming().flatten() {
                    let relays = relays.clone();
                    // A connection that gets no thread is closed.
                    let _ = std::thread::Builder::new().spawn(move || relays.pass(&caller, (number, target)));
                }
            })?;
        }
        Ok(())
    }

    /// Cuts the way from one host to another, or mends it.
    pub fn cut(&self, pair: (u8, u8), is_cut: bool) {
        if is_cut {
            self.broken().cuts.insert(pair)
        } else {
            self.broken().cuts.remove(&pair)
        };
    }

    /// Cuts all ways from and to a host, or mends them.
    pub fn isolate(&self, host: u8, is_cut: bool) {
        if is_cut {
            self.broken().isolated.insert(host)
        } else {
            self.broken().isolated.remove(&host)
        };
    }

    /// Sets or ends a host's weather.
    pub fn disturb(&self, host: u8, weather: Option<Weather>) {
        match weather {
            Some(weather) => self.broken().weathers.insert(host, weather),
            None => self.broken().weathers.remove(&host),
        };
    }

    /// Passes on what a caller and a host say to each other.
    fn pass(&self, caller: &TcpStream, (number, target): (u8, SocketAddr)) {
        let from = self.host_of(caller);
        self.wait_for_way(from, number);
        self.wait_for_way(number, from);
        let Ok(called) = TcpStream::connect_timeout(&target, CONNECT) else { return };
        let (Ok(()), Ok(())) = (caller.set_nodelay(true), called.set_nodelay(true)) else { return };
        std::thread::scope(|scope| {
            scope.spawn(|| self.pump(caller, &called, (from, number)));
            self.pump(&called, caller, (number, from));
        });
    }

    /// Passes on what one side says, and then that it says no more.
    fn pump(&self, mut from: &TcpStream, mut to: &TcpStream, (host, other): (u8, u8)) {
        let mut random = Random::new(u64::from(host) << 8 | u64::from(other));
        let mut buffer = vec![0; 1 << 16];
        loop {
            let length = from.read(&mut buffer).unwrap_or(0);
            self.wait_for_way(host, other);
            std::thread::sleep(self.delay(host, other, &mut random));
            if length == 0 || to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }

    fn wait_for_way(&self, from: u8, to: u8) {
        let is_cut = |broken: &BrokenLinks| {
            broken.cuts.contains(&(from, to)) || broken.isolated.contains(&from) || broken.isolated.contains(&to)
        };
        while is_cut(&self.broken()) {
            std::thread::sleep(LOOK);
        }
    }

    fn delay(&self, from: u8, to: u8, random: &mut Random) -> Duration {
        let broken = self.broken();
        let Some(weather) = broken.weathers.get(&from).or(broken.weathers.get(&to)) else { return Duration::ZERO };
        let jitter = Duration::from_micros(random.below(weather.jitter.as_micros() as u64 + 1));
        let lost = if random.chance(weather.lost, 100) { LOST } else { Duration::ZERO };
        weather.delay + jitter + lost
    }

    /// The host of the process at the other end of a connection: 0 is the clients' and operators'.
    fn host_of(&self, caller: &TcpStream) -> u8 {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
        let Some(inode) = caller.peer_addr().ok().and_then(|address| inode(&table, address)) else { return 0 };
        let processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let name = processes.into_iter().find(|(_, pid)| has_socket(*pid, &inode)).map(|(name, _)| name);
        name.and_then(|name| self.broken().hosts.get(&name).copied()).unwrap_or(0)
    }
}

/// The number of the socket with a local address, in the kernel's table of them.
fn inode(table: &str, address: SocketAddr) -> Option<String> {
    let SocketAddr::V4(address) = address else { return None };
    let wanted = format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port());
    let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<&str>>());
    let mut found = rows.filter(|row| row.get(1) == Some(&wanted.as_str()));
    found.find_map(|row| row.get(9).filter(|inode| **inode != "0").map(|&inode| inode.to_owned()))
}

fn has_socket(pid: u32, inode: &str) -> bool {
    let wanted = format!("socket:[{inode}]");
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let mut links = descriptors.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.any(|link| link == Path::new(&wanted))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// A server that says back what it hears, as a host, and its relay.
    fn echo(host: u8) -> (Relays, TcpStream) {
        let listener = TcpListener::bind((address(host), 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || io::copy(&mut stream.try_clone().unwrap(), &mut stream));
            }
        });
        let relays = Relays::new(&WatchedProcesses::default());
        relays.add("echo", host, &[port]).unwrap();
        (relays, TcpStream::connect((reached(host), port)).unwrap())
    }

    /// How long a byte takes there and back; `None`: longer than half a second.
    fn said_back(stream: &mut TcpStream) -> Option<Duration> {
        stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let begin = Instant::now();
        stream.write_all(b"x").unwrap();
        stream.read_exact(&mut [0; 1]).ok().map(|()| begin.elapsed())
    }

    #[test]
    fn bytes_wait_while_their_way_is_cut_and_come_when_it_is_mended() {
        let (relays, mut stream) = echo(1);
        assert!(said_back(&mut stream).is_some());
        // This process is host 0.
        for (from, to) in [(0, 1), (1, 0)] {
            relays.cut((from, to), true);
            assert_eq!(said_back(&mut stream), None);
            relays.cut((from, to), false);
            stream.set_read_timeout(None).unwrap();
            stream.read_exact(&mut [0; 1]).unwrap();
        }
        relays.cut((2, 1), true);
        assert!(said_back(&mut stream).is_some(), "another's way is none of ours");
        relays.isolate(1, true);
        assert_eq!(said_back(&mut stream), None);
    }

    #[test]
    fn a_weather_delays() {
        let (relays, mut stream) = echo(3);
        relays.disturb(3, Some(Weather::slow(50)));
        assert!(said_back(&mut stream).is_some_and(|took| took >= Duration::from_millis(100)));
        relays.disturb(3, None);
        assert!(said_back(&mut stream).is_some_and(|took| took < Duration::from_millis(100)));
    }
}
