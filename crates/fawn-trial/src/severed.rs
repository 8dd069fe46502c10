//! While two processes do not hear each other, every other way has to do: whoever is asked answers for every key.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use fawn_client::{Options, blocking};

use crate::cluster::{Condition, ProcessRole, TrialCluster, TrialProcess};
use crate::load::connection::{Reply, TrialConnection};
use crate::net::Port;

/// Keys that are asked for: so many that each member owns, keeps and serves some.
const KEYS: u32 = 60;

/// Threads of a program that ask at the same time.
const THREADS: usize = 6;

/// A client gives up after this time: later than a front-end.
const PATIENCE: Duration = Duration::from_secs(6);

/// Sets and gets keys by way of every node and front-end that runs and that clients reach, as `is_reached` says. What is refused,
/// or not answered, is asked for again `within` that time. Returns what was not answered.
pub fn ask_everyone(
    cluster: &TrialCluster,
    within: Duration,
    is_reached: impl Fn(&TrialProcess) -> bool,
) -> Vec<String> {
    let serves =
        |member: &&TrialProcess| matches!(member.role, ProcessRole::Node | ProcessRole::Front | ProcessRole::Single);
    let serving = cluster.members.iter().filter(serves).filter(|member| member.condition == Condition::Up);
    let serving = serving.filter(|member| is_reached(member));
    let asked = serving.map(|member| (member.name.clone(), cluster.network.reached(&member.host, Port::Client)));
    let asked: Vec<(String, SocketAddr)> = asked.collect();
    let deadline = Instant::now() + within;
    std::thread::scope(|scope| {
        let threads = asked.iter().map(|(name, address)| scope.spawn(move || ask(name, *address, deadline)));
        let threads: Vec<_> = threads.collect();
        let missing = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().expect("it does not panic");
        threads.into_iter().flat_map(missing).collect()
    })
}

/// A program that uses the client library, and so asks the owner of each key itself.
#[derive(Debug)]
pub struct Program {
    name: String,
    client: blocking::Client,
}

impl Program {
    /// Connects to the cluster, by way of any of its managers.
    ///
    /// # Errors
    /// No manager answers.
    pub fn connect(name: &str, cluster: &TrialCluster) -> anyhow::Result<Self> {
        let options = Options { timeout: PATIENCE, ..Options::new(cluster.managers()) };
        Ok(Self { name: name.to_owned(), client: blocking::Client::connect(options)? })
    }

    /// As [`ask_everyone`].
    pub fn ask(&self, within: Duration) -> Vec<String> {
        let deadline = Instant::now() + within;
        std::thread::scope(|scope| {
            let begin = |thread| move || self.ask_for((thread..KEYS).step_by(THREADS), deadline);
            let threads: Vec<_> = (0..THREADS as u32).map(|thread| scope.spawn(begin(thread))).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("it does not panic")).collect()
        })
    }

    fn ask_for(&self, keys: impl Iterator<Item = u32>, deadline: Instant) -> Vec<String> {
        let mut missing = Vec::new();
        for key in keys {
            let key = format!("asked-of-{}-{key}", self.name);
            let value = format!("value of {key}");
            let put = || self.client.put(&key, value.as_str()).map_err(|error| error.to_string()).map(drop);
            let get = || match self.client.get(&key) {
                Ok(Some(found)) if found.bytes == value.as_bytes() => Ok(()),
                Ok(found) => Err(format!("{found:?}")),
                Err(error) => Err(error.to_string()),
            };
            missing.extend(self.retry(&format!("put {key}"), deadline, put));
            missing.extend(self.retry(&format!("get {key}"), deadline, get));
        }
        missing
    }

    /// Says what cannot be done, and why, if it cannot until then.
    fn retry(&self, what: &str, deadline: Instant, request: impl Fn() -> Result<(), String>) -> Option<String> {
        while let Err(why) = request() {
            if Instant::now() >= deadline {
                return Some(format!("{} cannot {what}: {why}", self.name));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        None
    }
}

/// What one of them does not answer.
fn ask(name: &str, address: SocketAddr, deadline: Instant) -> Vec<String> {
    let (mut connection, mut missing) = (None, Vec::new());
    for key in 0..KEYS {
        let key = format!("asked-of-{name}-{key}");
        let value = format!("value of {key}");
        let set = format!("set {key} 0 0 {}\r\n{value}\r\n", value.len());
        let get = format!("get {key}\r\n");
        for request in [set, get] {
            loop {
                let why = match call(&mut connection, address, request.as_bytes()) {
                    Ok(reply) if reply.line == "STORED" || reply.value.as_deref() == Some(value.as_bytes()) => break,
                    Ok(reply) => reply.line,
                    Err(why) => why.to_string(),
                };
                if Instant::now() >= deadline {
                    let asked = request.split_whitespace().next().unwrap_or_default();
                    missing.push(format!("{name} does not {asked} {key}: {why}"));
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
    missing
}

fn call(connection: &mut Option<TrialConnection>, address: SocketAddr, request: &[u8]) -> io::Result<Reply> {
    let mut open = connection.take().map_or_else(|| TrialConnection::open(address, PATIENCE), Ok)?;
    let reply = open.call(request, PATIENCE)?;
    *connection = Some(open);
    Ok(reply)
}
