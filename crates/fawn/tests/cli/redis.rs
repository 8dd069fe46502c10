//! Clients of Redis at a real server, and at a cluster in one process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::server::fawn_command;

/// A process that serves clients of memcached and of Redis.
struct Served {
    child: Child,
    memcached: String,
    redis: String,
}

impl Served {
    fn start(dir: &Path, more: &[&str]) -> Self {
        let fixed = ["serve", "--dir", dir.to_str().unwrap(), "--listen", "127.0.0.1:0", "--redis", "127.0.0.1:0"];
        let mut command = fawn_command(&[&fixed[..], &["--memory", "64M", "--threads", "2"], more].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut address = |protocol: &str| {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            let address = line.trim().strip_prefix(&format!("fawn: serving {protocol} on ")).map(str::to_owned);
            address.unwrap_or_else(|| panic!("{protocol}: {line}"))
        };
        let (memcached, redis) = (address("memcached"), address("redis"));
        Self { child, memcached, redis }
    }

    fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection.
struct Client(TcpStream);

impl Client {
    fn to(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self(stream)
    }

    /// Says something, and expects this in return.
    fn ask(&mut self, say: &str, expect: &str) {
        self.0.write_all(say.as_bytes()).unwrap();
        let mut heard = vec![0; expect.len()];
        self.0.read_exact(&mut heard).unwrap();
        assert_eq!(String::from_utf8_lossy(&heard), expect, "{say}");
    }

    /// The line that comes in return.
    fn line(&mut self, say: &str) -> String {
        self.0.write_all(say.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(&self.0).read_line(&mut line).unwrap();
        line
    }
}

#[test]
fn both_protocols_see_the_same_keys_and_a_restart_loses_none() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let served = Served::start(&data, &[]);
    let mut redis = Client::to(&served.redis);
    redis.ask("SET greeting hello\r\n", "+OK\r\n");
    redis.ask("HSET session user 7 seen 1\r\n", ":2\r\n");
    redis.ask("HINCRBY session seen 1\r\n", ":2\r\n");
    let mut memcached = Client::to(&served.memcached);
    memcached.ask("get greeting\r\n", "VALUE greeting 0 5\r\nhello\r\nEND\r\n");
    memcached.ask("set counter 0 0 2\r\n41\r\n", "STORED\r\n");
    redis.ask("INCR counter\r\n", ":42\r\n");
    assert!(memcached.line("get session\r\n").starts_with("VALUE session 1212240712 "), "a hash is an ordinary value");
    served.stop();
    let served = Served::start(&data, &[]);
    let mut redis = Client::to(&served.redis);
    redis.ask("MGET greeting counter\r\n", "*2\r\n$5\r\nhello\r\n$2\r\n42\r\n");
    redis.ask("HGETALL session\r\n", "*4\r\n$4\r\nuser\r\n$1\r\n7\r\n$4\r\nseen\r\n$1\r\n2\r\n");
    redis.ask("DBSIZE\r\n", ":3\r\n");
    redis.ask("KEYS c*\r\n", "*1\r\n$7\r\ncounter\r\n");
    served.stop();
}

/// The keys of a whole scan by pages of about ten.
fn scanned(redis: &mut Client) -> Vec<String> {
    let (mut keys, mut cursor) = (Vec::new(), "0".to_owned());
    loop {
        redis.0.write_all(format!("SCAN {cursor}\r\n").as_bytes()).unwrap();
        let mut lines = BufReader::new(&redis.0).lines().map(Result::unwrap);
        let mut next = || lines.next().unwrap();
        assert_eq!(next(), "*2");
        next();
        cursor = next();
        let count: usize = next().strip_prefix('*').unwrap().parse().unwrap();
        for _ in 0..count {
            next();
            keys.push(next());
        }
        if cursor == "0" {
            keys.sort();
            keys.dedup();
            return keys;
        }
    }
}

#[test]
fn a_scan_returns_every_key_of_a_server_and_of_a_cluster() {
    for nodes in [&[][..], &["--nodes", "3", "--replicas", "3"]] {
        let dir = tempfile::tempdir().unwrap();
        let served = Served::start(&dir.path().join("data"), nodes);
        let mut redis = Client::to(&served.redis);
        let sets: Vec<_> = (0..1000).map(|number| format!("SET key{number} {number}\r\n")).collect();
        redis.ask(&sets.concat(), &"+OK\r\n".repeat(1000));
        assert_eq!(scanned(&mut redis).len(), 1000, "{nodes:?}");
        redis.ask("RENAME key1 other\r\nGET other\r\nEXISTS key1\r\n", "+OK\r\n$1\r\n1\r\n:0\r\n");
        redis.ask("HSET h a 1\r\nHINCRBYFLOAT h a 0.5\r\nHGET h a\r\n", ":1\r\n$3\r\n1.5\r\n$3\r\n1.5\r\n");
        redis.ask("SET k old\r\nSET k new GET\r\nGETDEL k\r\nGET k\r\n", "+OK\r\n$3\r\nold\r\n$3\r\nnew\r\n$-1\r\n");
        redis.ask("DEL key2 key3 none\r\n", ":2\r\n");
        served.stop();
    }
}

#[test]
fn who_serves_no_clients_takes_no_address_for_them() {
    let run = |arguments: &[&str]| {
        let output = fawn_command(arguments).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let redis = ["--redis", "127.0.0.1:0"];
    let (code, says) = run(&[&["node", "--manager", "127.0.0.1:1", "--class", "archive"][..], &redis].concat());
    assert!(code == 2 && says.contains("leave out --listen, --redis, --http and --unix"), "{says}");
    let (code, says) = run(&["serve", "--redis", "0.0.0.0:0", "--dir", "/nonexistent/x"]);
    assert!(code != 0 && says.contains("--auth-file"), "{says}");
}
