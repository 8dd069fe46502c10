//! While two members do not hear each other, every other way has to do: whoever is asked answers for every key.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::cluster::{Condition, ProcessRole, TrialCluster};
use crate::load::connection::{Reply, TrialConnection};
use crate::net::Port;

/// Keys that are asked for: so many that each member owns, keeps and serves some.
const KEYS: u32 = 60;

/// A client gives up after this time: later than a front-end.
const PATIENCE: Duration = Duration::from_secs(6);

/// Sets and gets keys by way of every node and front-end that runs. What is refused, or not answered, is asked for again
/// `within` that time. Returns what was not answered.
pub fn ask_everyone(cluster: &TrialCluster, within: Duration) -> Vec<String> {
    let serving = cluster.members.iter().filter(|member| {
        matches!(member.role, ProcessRole::Node | ProcessRole::Front | ProcessRole::Single)
            && member.condition == Condition::Up
    });
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
