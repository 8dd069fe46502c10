//! `kill -9` at random moments under load.

use std::collections::HashMap;
use std::process::Command;
use std::sync::Barrier;
use std::time::Duration;

use crate::server::{Client, Server};

/// Keys of each client.
const KEYS: u64 = 300;
/// Commands in flight of each client.
const PIPELINE: usize = 8;
/// Clients, each with keys of its own.
const CLIENTS: u64 = 3;

/// What a key may be: version numbers, `None` for absent. The first is the last one acknowledged.
type Possible = Vec<Option<u64>>;

/// What one client knows.
struct Knowledge {
    client: u64,
    seed: u64,
    keys: HashMap<u64, Possible>,
    version: u64,
    /// The value behind each cas ever seen, by key.
    cas: HashMap<(u64, u64), Option<u64>>,
    acknowledged: u64,
}

impl Knowledge {
    fn random(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }

    fn name(&self, key: u64) -> String {
        format!("client-{}-key-{key}", self.client)
    }

    /// Version `version` of a key: its number, and filler of a length that follows from it.
    fn value(version: u64) -> Vec<u8> {
        let mut value = format!("{version:020}").into_bytes();
        value.resize(20 + (version * 7919 % 3000) as usize, b'.');
        value
    }

    /// Sends commands and notes what was acknowledged, until the server is gone.
    fn load(&mut self, client: &mut Client) {
        loop {
            let mut batch = Vec::new();
            let mut sent = Vec::new();
            for _ in 0..PIPELINE {
                let key = self.random() % KEYS;
                let name = self.name(key);
                if self.random().is_multiple_of(5) {
                    batch.extend_from_slice(format!("delete {name}\r\n").as_bytes());
                    sent.push((key, None));
                } else {
                    self.version += 1;
                    let value = Self::value(self.version);
                    batch.extend_from_slice(format!("set {name} 7 0 {}\r\n", value.len()).as_bytes());
                    batch.extend_from_slice(&value);
                    batch.extend_from_slice(b"\r\n");
                    sent.push((key, Some(self.version)));
                }
            }
            for (key, state) in &sent {
                self.keys.entry(*key).or_insert_with(|| vec![None]).push(*state);
            }
            if client.send(&batch).is_err() {
                return;
            }
            for (key, state) in sent {
                let Some(line) = client.line() else {
                    return;
                };
                let expected: &[&str] = if state.is_some() { &["STORED"] } else { &["DELETED", "NOT_FOUND"] };
                assert!(expected.contains(&line.as_str()), "{line}");
                self.acknowledged += 1;
                // Everything up to the state acknowledged is settled.
                let possible = self.keys.get_mut(&key).unwrap();
                let place = possible.iter().skip(1).position(|other| *other == state).unwrap() + 1;
                possible.drain(..place);
            }
        }
    }

    /// Compares what is there with what may be there.
    fn verify(&mut self, client: &mut Client) {
        for key in 0..KEYS {
            let found = client.gets(&self.name(key));
            let version = found.as_ref().map(|(value, _)| {
                let version = String::from_utf8_lossy(&value[..20]).parse().unwrap();
                assert_eq!(*value, Self::value(version), "a value is whole");
                version
            });
            let possible = self.keys.entry(key).or_insert_with(|| vec![None]);
            assert!(possible.contains(&version), "{key} of client {}: {version:?} is not in {possible:?}", self.client);
            *possible = vec![version];
            if let Some((_, cas)) = found {
                let before = self.cas.insert((key, cas), version);
                assert!(before.is_none_or(|before| before == version), "cas {cas} names two versions of a key");
            }
        }
    }
}

#[test]
fn kill_at_random_moments_loses_nothing_acknowledged() {
    let rounds: u64 = std::env::var("FAWN_KILLS").map_or(6, |rounds| rounds.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let mut clients: Vec<Knowledge> = (0..CLIENTS)
        .map(|client| Knowledge {
            client,
            seed: 0x9E37_79B9_7F4A_7C15 ^ (client + 1),
            keys: HashMap::new(),
            version: 0,
            cas: HashMap::new(),
            acknowledged: 0,
        })
        .collect();
    let mut moment = 1u64;
    for round in 0..=rounds {
        let command = Command::new(env!("CARGO_BIN_EXE_fawn"));
        let mut server = Server::start(command, dir.path(), &["--memory", "64M"]);
        // Everybody has looked at what is there before the load, and the countdown, begin.
        let verified = Barrier::new(clients.len() + 1);
        std::thread::scope(|scope| {
            let verified = &verified;
            for knowledge in &mut clients {
                let mut client = server.connect();
                scope.spawn(move || {
                    knowledge.verify(&mut client);
                    verified.wait();
                    if round < rounds {
                        knowledge.load(&mut client);
                    }
                });
            }
            verified.wait();
            if round < rounds {
                moment = moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                std::thread::sleep(Duration::from_millis(100 + (moment >> 33) % 400));
                server.child.kill().unwrap();
            }
        });
    }
    let acknowledged: u64 = clients.iter().map(|client| client.acknowledged).sum();
    println!("{rounds} kills, {acknowledged} acknowledged commands, none lost");
    assert!(acknowledged > rounds * 10, "the load was real");
}
