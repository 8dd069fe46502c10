//! Nodes and clients for tests.

use crate::options::{ServeOptions, TlsFiles};
use crate::protocol::Protocol;
use crate::protocol::memcached::MEMCACHED;
use crate::request::{ReplyWriter, RequestError};
use crate::runtime::server::{OpenedParts, RunningNode};
use crate::shard::executor::ShardExecutor;
use crate::shard::fake::{Fake, Knobs};
use fawn_ring::Secret;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);
pub const SECRET: Secret = Secret([42; 32]);

/// A node over fakes; stopped when it goes.
pub struct Node {
    pub knobs: Arc<Knobs>,
    running: Option<RunningNode>,
}

impl Node {
    /// One loop with one store, default options.
    pub fn simple() -> Self {
        Self::start(1, 1, |_| {})
    }

    pub fn start(loops: usize, stores_each: usize, change: impl FnOnce(&mut ServeOptions)) -> Self {
        Self::start_speaking(&MEMCACHED, loops, stores_each, change)
    }

    /// A node whose clients speak `protocol`.
    pub fn start_speaking(
        protocol: &'static dyn Protocol,
        loops: usize,
        stores_each: usize,
        change: impl FnOnce(&mut ServeOptions),
    ) -> Self {
        let mut options = ServeOptions { listen: vec!["127.0.0.1:0".into()], ..ServeOptions::new("unused") };
        change(&mut options);
        let knobs = Arc::new(Knobs::default());
        let open = || {
            let loops = (0..loops).map(|_| Fake::new(stores_each, &knobs)).collect::<Vec<_>>();
            Ok(OpenedParts { secret: SECRET, stores: Some(loops.len() * stores_each), loops, facts: Vec::new() })
        };
        let running = RunningNode::start::<ShardExecutor<Fake>>(protocol, &options, open).unwrap();
        Self { knobs, running: Some(running) }
    }

    pub fn running(&self) -> &RunningNode {
        self.running.as_ref().unwrap()
    }

    pub fn address(&self) -> &str {
        &self.running().addresses()[0].address
    }

    pub fn client(&self) -> Client<TcpStream> {
        client_of(self.address())
    }

    /// The number that `stats` shows under `name`.
    pub fn stat(&self, name: &str) -> u64 {
        let text = self.client().ask_until("stats\r\n", "END\r\n");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).trim().parse().unwrap()
    }

    /// Asks until `name` is `value`.
    pub fn await_stat(&self, name: &str, value: u64) {
        eventually(|| self.stat(name) == value, &format!("{name} = {value}"));
    }

    /// Stops the node as a signal would, and waits for it.
    pub fn stop(mut self) -> Result<(), crate::ServeError> {
        let running = self.running.take().unwrap();
        running.stopper()();
        running.wait()
    }

    pub fn wait(mut self) -> Result<(), crate::ServeError> {
        self.running.take().unwrap().wait()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stopper()();
            let _ = running.wait();
        }
    }
}

pub fn client_of(address: &str) -> Client<TcpStream> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    Client(stream)
}

/// Waits until `is_so`.
pub fn eventually(mut is_so: impl FnMut() -> bool, what: &str) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "it never came to {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A client that says and expects words.
pub struct Client<T>(pub T);

impl<T> Deref for Client<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Read + Write> Client<T> {
    pub fn say(&mut self, words: impl AsRef<[u8]>) {
        self.0.write_all(words.as_ref()).unwrap();
        self.0.flush().unwrap();
    }

    /// Reads exactly as many bytes as `answer` has, and compares.
    #[track_caller]
    pub fn expect(&mut self, answer: impl AsRef<[u8]>) {
        let (mut got, answer) = (vec![0; answer.as_ref().len()], answer.as_ref());
        let mut at = 0;
        while at < got.len() {
            match self.0.read(&mut got[at..]) {
                Ok(count @ 1..) => at += count,
                end => panic!("{end:?} after {:?}", String::from_utf8_lossy(&got[..at.min(2000)])),
            }
            if got[..at] != answer[..at] {
                let from = at.saturating_sub(2000);
                panic!("got {:?}", String::from_utf8_lossy(&got[from..at]));
            }
        }
    }

    #[track_caller]
    pub fn ask(&mut self, words: impl AsRef<[u8]>, answer: impl AsRef<[u8]>) {
        self.say(words);
        self.expect(answer);
    }

    /// Reads until the answer ends with `end`.
    pub fn ask_until(&mut self, words: &str, end: &str) -> String {
        self.say(words);
        let mut got = Vec::new();
        while !got.ends_with(end.as_bytes()) {
            let mut byte = [0; 4096];
            let count = match self.0.read(&mut byte) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                count => count.unwrap(),
            };
            assert!(count > 0, "the connection ended after {:?}", String::from_utf8_lossy(&got));
            got.extend_from_slice(&byte[..count]);
        }
        String::from_utf8(got).unwrap()
    }

    /// Everything until the node closes the connection.
    pub fn rest(&mut self) -> String {
        let mut got = Vec::new();
        match self.0.read_to_end(&mut got) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
            Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&got)),
        }
        String::from_utf8_lossy(&got).into_owned()
    }
}

impl Client<TcpStream> {
    /// Nothing comes for a while.
    #[track_caller]
    pub fn expect_silence(&mut self) {
        self.0.set_read_timeout(Some(Duration::from_millis(60))).unwrap();
        let mut byte = [0; 100];
        let result = self.0.read(&mut byte);
        assert!(result.is_err(), "got {result:?} {:?}", String::from_utf8_lossy(&byte));
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
    }
}

/// A key that begins with `prefix` and belongs to `loop_number` of `loops` with one store each.
pub fn key_of(prefix: &str, loop_number: usize, loops: usize) -> String {
    let route = crate::shard::route::Route::new(SECRET, loops, loops);
    (0..100_000)
        .map(|n| format!("{prefix}{n}"))
        .find(|key| route.of(&route.position(key.as_bytes())).0 == loop_number)
        .unwrap()
}

/// The line of an error.
pub fn error_line(error: RequestError<'_>) -> String {
    let mut line = Vec::new();
    MEMCACHED.write_error(&mut line, &error);
    String::from_utf8(line).unwrap()
}

/// `set` of `key` to `value`.
pub fn set(key: &str, value: &str) -> String {
    format!("set {key} 0 0 {}\r\n{value}\r\n", value.len())
}

/// What a hit says.
pub fn hit(key: &str, value: &str) -> String {
    format!("VALUE {key} 0 {}\r\n{value}\r\n", value.len())
}

/// A certificate for localhost in `dir`, in the place of an earlier one, with a key that only its owner may read.
pub fn certificate(dir: &Path) -> TlsFiles {
    let made = rcgen::generate_simple_self_signed(["localhost".into()]).unwrap();
    let files = TlsFiles { cert: dir.join("cert.pem"), key: dir.join("key.pem") };
    std::fs::write(&files.cert, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    std::fs::set_permissions(&files.key, PermissionsExt::from_mode(0o600)).unwrap();
    files
}
