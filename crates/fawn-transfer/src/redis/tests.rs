use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fawn_kv::operation::hash::HashWriter;
use fawn_rdb::{RdbEntry, RdbReader, RdbValue};
use fawn_resp::client::push_command;
use fawn_resp::{CommandEvent, CommandReader, ReaderLimits};

use super::*;
use crate::client::{Credentials, Endpoint};

/// A redis-server, which ends with the test.
struct Redis {
    child: Child,
    port: u16,
    dir: tempfile::TempDir,
}

impl Redis {
    /// Starts one; `None`, with a word, where it is not installed.
    fn start(arguments: &[&str]) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        // Whoever takes the port in between makes the start fail.
        for _ in 0..10 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let mut child = spawn(dir.path(), port, arguments)?;
            if answers(&mut child, port) {
                return Some(Self { child, port, dir });
            }
        }
        panic!("redis-server ends at once");
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).unwrap()
    }

    /// Sends commands, and waits until all are answered.
    fn run(&self, commands: &[Vec<Vec<u8>>]) {
        let mut bytes = Vec::new();
        for words in commands {
            push_command(&mut bytes, &words.iter().map(Vec::as_slice).collect::<Vec<_>>());
        }
        push_command(&mut bytes, &[b"ECHO", b"all is answered"]);
        let mut stream = self.connect();
        let mut reader = stream.try_clone().unwrap();
        let told = std::thread::spawn(move || {
            let (mut told, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
            while !told.ends_with(b"all is answered\r\n") {
                let read = reader.read(&mut buffer).unwrap();
                assert!(read > 0, "it answers all");
                told.extend_from_slice(&buffer[..read]);
            }
            told
        });
        stream.write_all(&bytes).unwrap();
        let told = String::from_utf8_lossy(&told.join().unwrap()).into_owned();
        let error = told.lines().find(|line| line.starts_with('-'));
        assert_eq!(error, None);
    }

    fn say(&self, line: &str) {
        self.run(&[line.split(' ').map(|word| word.as_bytes().to_vec()).collect()]);
    }

    fn source(&self) -> RedisSource {
        source(self.port)
    }

    fn rdb(&self) -> Vec<u8> {
        self.say("SAVE");
        std::fs::read(self.dir.path().join("dump.rdb")).unwrap()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(dir: &Path, port: u16, arguments: &[&str]) -> Option<Child> {
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--dir"]).arg(dir).args(arguments);
    match command.stdin(Stdio::null()).stdout(Stdio::null()).spawn() {
        Ok(child) => Some(child),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: Redis is not installed (apt-get install redis-server)");
            None
        }
        Err(error) => panic!("cannot start redis-server: {error}"),
    }
}

fn answers(child: &mut Child, port: u16) -> bool {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_mins(1), "redis-server answers within a minute");
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn source(port: u16) -> RedisSource {
    let address = format!("127.0.0.1:{port}").parse().unwrap();
    let endpoint = Endpoint { address, tls: None, credentials: None, timeout: Duration::from_secs(10) };
    RedisSource { endpoint, database: 0 }
}

/// What a read has come to.
#[derive(Debug, Default)]
struct ReadOutcome {
    records: BTreeMap<Vec<u8>, RedisRecord>,
    /// Records that came more than once.
    repeated: u64,
    said: Vec<String>,
    left_out: LeftOut,
    vanished: u64,
}

const MOST: usize = 1 << 20;

fn read(source: &RedisSource, between: &mut dyn FnMut(usize)) -> anyhow::Result<ReadOutcome> {
    let said = Mutex::new(Vec::new());
    let say = |line: &str| said.lock().unwrap().push(line.to_owned());
    let reader = RedisReader::open(source, MOST, |key| !key.is_empty() && key.len() <= 250)?;
    let mut reader = reader.telling(&say);
    let mut outcome = ReadOutcome::default();
    loop {
        let is_more = reader.read_some(&mut |record| {
            outcome.repeated += outcome.records.insert(record.key.clone(), record).is_some() as u64;
            Ok(())
        })?;
        if !is_more {
            break;
        }
        between(outcome.records.len());
    }
    (outcome.left_out, outcome.vanished) = (reader.left_out().clone(), reader.vanished());
    outcome.said = said.lock().unwrap().clone();
    Ok(outcome)
}

fn words(words: &[&[u8]]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.to_vec()).collect()
}

/// A hash as it is loaded.
fn hash<'a>(fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Vec<u8> {
    let mut hash = HashWriter::with_room(0);
    fields.into_iter().for_each(|field| hash.push(field));
    hash.finish()
}

fn entries(file: &[u8]) -> Result<Vec<RdbEntry>, fawn_rdb::RdbError> {
    let mut reader = RdbReader::open(file, MOST)?;
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        entries.push(entry);
    }
    Ok(entries)
}

/// Fields of a hash in their order by name, as neither SCAN nor a file has an order of its own.
fn sorted(value: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let list = value[10..].to_vec();
    let items: Vec<Vec<u8>> =
        fawn_kv::operation::items::Items::of(&list).map(|item| item.unwrap().unwrap().to_vec()).collect();
    let mut fields: Vec<_> = items.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    fields.sort();
    fields
}

/// Whether a snapshot has the strings and hashes that SCAN has found, with the same expiries.
fn compare(file: &[u8], outcome: &ReadOutcome, start: (Instant, u64)) {
    let mut found = 0;
    for entry in entries(file).unwrap() {
        if entry.database != 0 || !(1..=250).contains(&entry.key.len()) {
            continue;
        }
        let key = String::from_utf8_lossy(&entry.key).into_owned();
        let is_hash = match entry.value {
            RdbValue::Other(_) | RdbValue::TooLarge => continue,
            RdbValue::String(ref value) => {
                assert_eq!(outcome.records[&entry.key].value.as_ref(), Some(value), "{key}");
                false
            }
            RdbValue::Hash(ref fields) => {
                let value = outcome.records[&entry.key].value.as_ref().unwrap();
                assert_eq!(sorted(value), sorted(&hash(fields.iter())), "{key}");
                true
            }
        };
        let record = &outcome.records[&entry.key];
        assert_eq!(record.is_hash, is_hash, "{key}");
        assert_eq!(record.expires.is_some(), entry.expires_ms.is_some(), "{key}");
        if let (Some(expires), Some(expires_ms)) = (record.expires, entry.expires_ms) {
            let seen_ms = start.1 + (expires - start.0).as_millis() as u64;
            assert!(seen_ms.abs_diff(expires_ms) < 2000, "{key}: {seen_ms} {expires_ms}");
        }
        found += 1;
    }
    let values = outcome.records.values().filter(|record| record.value.is_some()).count();
    assert_eq!(found, values, "each record of one is in the other");
}

fn now() -> (Instant, u64) {
    let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    (Instant::now(), unix.as_millis() as u64)
}

/// Every type and encoding that this server writes.
fn fill(redis: &Redis) {
    let every_byte: Vec<u8> = (0..=255).collect();
    let mut commands = vec![
        words(&[b"SET", b"empty", b""]),
        words(&[b"SET", &every_byte[..200], &every_byte]),
        words(&[b"SET", b"packed", &b"the same again and ".repeat(500)]),
        words(&[b"SET", b"later", b"v", b"PX", b"100000500"]),
        words(&[b"SET", b"large", &vec![b'x'; MOST + 1]]),
        words(&[b"SET", b"fits", &vec![b'x'; MOST]]),
        words(&[b"SET", &[b'k'; 251], b"v"]),
        words(&[b"SET", b"", b"v"]),
        words(&[b"RPUSH", b"list", b"a", b"1"]),
        words(&[b"RPUSH", b"list of large", &vec![b'x'; 20_000]]),
        words(&[b"SADD", b"numbers", b"1", b"2"]),
        words(&[b"SADD", b"set", b"a", b"b"]),
        words(&[b"ZADD", b"scores", b"1.5", b"a"]),
        words(&[b"ZADD", b"many scores", b"inf", &[b'm'; 100]]),
        words(&[b"XADD", b"stream", b"1-1", b"name", b"value"]),
        words(&[b"XADD", b"stream", b"1-2", b"name", b"value"]),
        words(&[b"XGROUP", b"CREATE", b"stream", b"group", b"0"]),
        words(&[b"XREADGROUP", b"GROUP", b"group", b"one", b"COUNT", b"1", b"STREAMS", b"stream", b">"]),
        words(&[b"XDEL", b"stream", b"1-2"]),
        words(&[b"FUNCTION", b"LOAD", b"#!lua name=f\nredis.register_function('g', function() return 1 end)"]),
        words(&[b"HSET", b"hash", b"a", b"1", b"b", b"", b"", b"c", &every_byte, b"-70000"]),
        words(&[b"HSET", b"table of one", b"name", &[b'v'; 100]]),
        words(&[b"HSET", b"too large", b"name", &vec![b'x'; MOST]]),
        words(&[b"EXPIRE", b"hash", b"100000"]),
        words(&[b"SELECT", b"5"]),
        words(&[b"SET", b"elsewhere", b"v"]),
    ];
    for number in [0, 13, -1, 127, 128, -128, 32_767, -32_768, 40_000, i32::MAX as i64, i64::MAX, i64::MIN] {
        let text = number.to_string();
        commands.insert(0, words(&[b"SET", format!("number {number}").as_bytes(), text.as_bytes()]));
        commands.insert(0, words(&[b"HSET", b"hash of numbers", text.as_bytes(), text.as_bytes()]));
    }
    for n in 0..2000 {
        let (name, value) = (format!("field {n}"), "v".repeat(n % 300));
        commands.insert(0, words(&[b"HSET", b"table", name.as_bytes(), value.as_bytes()]));
        if n < 100 {
            commands.insert(0, words(&[b"HSET", b"block", name.as_bytes(), &value.as_bytes()[..n.min(60)]]));
        }
    }
    redis.run(&commands);
}

#[test]
fn a_snapshot_has_what_scan_finds_in_every_encoding() {
    for arguments in [
        &[][..],
        &["--hash-max-listpack-entries", "0"],
        &["--hash-max-listpack-entries", "100000", "--hash-max-listpack-value", "100000"],
        &["--rdbcompression", "no", "--zset-max-listpack-entries", "0", "--list-max-listpack-size", "1"],
    ] {
        let Some(redis) = Redis::start(arguments) else { return };
        fill(&redis);
        let start = now();
        let outcome = read(&redis.source(), &mut |_| {}).unwrap();
        assert_eq!((outcome.repeated, outcome.vanished, outcome.said.len()), (0, 0, 0), "{:?}", outcome.said);
        compare(&redis.rdb(), &outcome, start);
        let too_large: Vec<&[u8]> = outcome
            .records
            .values()
            .filter(|record| record.value.is_none())
            .map(|record| record.key.as_slice())
            .collect();
        assert_eq!(too_large, [&b"large"[..], b"too large"]);
        let counts: Vec<_> =
            outcome.left_out.other_types.iter().map(|(name, keys)| (name.as_str(), keys.keys)).collect();
        assert_eq!(counts, [("list", 2), ("set", 2), ("stream", 1), ("zset", 2)]);
        assert_eq!(outcome.left_out.unloadable_keys.keys, 2);
        assert_eq!(outcome.left_out.other_databases, BTreeMap::from([(5, 1)]));
    }
}

#[test]
fn a_hundred_thousand_keys_with_expiries_are_the_same_in_a_snapshot() {
    let Some(redis) = Redis::start(&[]) else { return };
    let commands: Vec<_> = (0..100_000)
        .map(|n| {
            let (key, value) = (format!("key:{n}"), "v".repeat(n % 100) + &n.to_string());
            let expires = (1_000_000 + n).to_string();
            match n % 3 {
                0 => words(&[b"SET", key.as_bytes(), value.as_bytes()]),
                1 => words(&[b"SET", key.as_bytes(), value.as_bytes(), b"PX", expires.as_bytes()]),
                _ => words(&[b"HSET", key.as_bytes(), b"n", value.as_bytes(), b"other", b"x"]),
            }
        })
        .collect();
    redis.run(&commands);
    let (start, began) = (now(), Instant::now());
    let outcome = read(&redis.source(), &mut |_| {}).unwrap();
    eprintln!("read 100,000 keys in {:?}", began.elapsed());
    assert_eq!((outcome.records.len(), outcome.vanished), (100_000, 0));
    compare(&redis.rdb(), &outcome, start);
}

#[test]
fn each_flipped_byte_of_a_snapshot_is_found_or_changes_nothing() {
    let Some(redis) = Redis::start(&[]) else { return };
    let commands = [
        words(&[b"SET", b"text", b"some text"]),
        words(&[b"SET", b"number", b"12345"]),
        words(&[b"SET", b"packed", &[b'a'; 100]]),
        words(&[b"SET", b"later", b"v", b"PX", b"100000500"]),
        words(&[b"HSET", b"hash", b"a", b"1", b"b", b"two"]),
        words(&[b"RPUSH", b"list", b"a"]),
        words(&[b"XADD", b"stream", b"1-1", b"name", b"value"]),
    ];
    redis.run(&commands);
    let file = redis.rdb();
    let expected = entries(&file).unwrap();
    assert_eq!(expected.len(), commands.len());
    for at in 0..file.len() {
        for flip in [0xff, 1, 2, 4, 8, 16, 32, 64, 128] {
            let mut damaged = file.clone();
            damaged[at] ^= flip;
            if let Ok(found) = entries(&damaged) {
                assert_eq!(found, expected, "byte {at} with {flip}");
            }
        }
        assert!(entries(&file[..at]).is_err(), "what is cut off is no file");
    }
}

/// A listener that passes connections on, and cuts each off after so many bytes of replies.
fn cutting_proxy(to: u16, cut: u64) -> (u16, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicU64::new(0));
    let counted = connections.clone();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", to)).unwrap());
            counted.fetch_add(1, Ordering::Relaxed);
            let (mut from, mut into) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut into));
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut Read::by_ref(&mut server).take(cut), &mut client);
                let _ = client.shutdown(std::net::Shutdown::Both);
                let _ = server.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    (port, connections)
}

#[test]
fn a_connection_that_breaks_is_made_again_and_no_key_is_lost_or_repeated() {
    let Some(redis) = Redis::start(&[]) else { return };
    let commands: Vec<_> =
        (0..20_000).map(|n| words(&[b"SET", format!("key:{n}").as_bytes(), &vec![b'v'; n % 200]])).collect();
    redis.run(&commands);
    let (port, connections) = cutting_proxy(redis.port, 100_000);
    let outcome = read(&source(port), &mut |_| {}).unwrap();
    assert_eq!((outcome.records.len(), outcome.repeated, outcome.vanished), (20_000, 0, 0));
    assert!(outcome.records.iter().all(|(key, record)| {
        let n: usize = std::str::from_utf8(&key[4..]).unwrap().parse().unwrap();
        record.value.as_ref().unwrap().len() == n % 200
    }));
    let connections = connections.load(Ordering::Relaxed);
    assert!(connections > 10, "{connections}");
    assert_eq!(outcome.said.len() as u64, connections - 1);
    assert!(outcome.said[0].starts_with("fawn: connecting again: "), "{}", outcome.said[0]);
}

#[test]
fn a_server_that_is_started_again_is_read_from_its_first_key() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let commands: Vec<_> = (0..20_000).map(|n| words(&[b"SET", format!("key:{n}").as_bytes(), b"v"])).collect();
    redis.run(&commands);
    redis.say("SAVE");
    let mut is_started_again = false;
    let outcome = read(&redis.source(), &mut |found| {
        if found >= 5000 && !is_started_again {
            is_started_again = true;
            redis.child.kill().unwrap();
            redis.child.wait().unwrap();
            redis.child = spawn(redis.dir.path(), redis.port, &[]).unwrap();
        }
    })
    .unwrap();
    assert_eq!(outcome.records.len(), 20_000);
    assert!(outcome.repeated >= 5000, "{}", outcome.repeated);
    assert!(outcome.said.iter().any(|line| line.ends_with("reading from its first key again")), "{:?}", outcome.said);
}

#[test]
fn a_server_that_is_gone_is_given_up() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let commands: Vec<_> = (0..20_000).map(|n| words(&[b"SET", format!("key:{n}").as_bytes(), b"v"])).collect();
    redis.run(&commands);
    let mut source = redis.source();
    source.endpoint.timeout = Duration::from_secs(1);
    let error = read(&source, &mut |_| {
        let _ = redis.child.kill();
        let _ = redis.child.wait();
    })
    .unwrap_err();
    let told = format!("{error:#}");
    assert!(told.starts_with("no connection for 1 s: cannot connect to 127.0.0.1:"), "{told}");
}

#[test]
fn a_server_without_version_3_of_the_protocol_is_read() {
    let Some(redis) = Redis::start(&["--rename-command", "HELLO", ""]) else { return };
    redis.run(&[words(&[b"SET", b"a", b"1"]), words(&[b"HSET", b"h", b"a", b"1"])]);
    let outcome = read(&redis.source(), &mut |_| {}).unwrap();
    assert_eq!(outcome.records[&b"a"[..]].value.as_deref(), Some(&b"1"[..]));
    assert_eq!(outcome.records[&b"h"[..]].value, Some(hash([(&b"a"[..], &b"1"[..])])));
}

#[test]
fn who_needs_a_password_is_told_so_and_let_in_with_it() {
    let Some(redis) = Redis::start(&["--requirepass", "secret word", "--user", "reader", "on", ">pass", "~*", "+@all"])
    else {
        return;
    };
    let file = |password: &str| {
        let path = redis.dir.path().join("password");
        std::fs::write(&path, format!("{password}\n")).unwrap();
        path
    };
    let told = |user: Option<&str>, password: &str| {
        let mut source = redis.source();
        source.endpoint.credentials =
            user.map(|user| Credentials { user: user.to_owned(), password_file: file(password) });
        read(&source, &mut |_| {}).map(|outcome| outcome.records.len()).map_err(|error| error.to_string())
    };
    let refused = told(None, "").unwrap_err();
    assert!(
        refused.contains("NOAUTH") && refused.contains("; give the password with --from-password-file"),
        "{refused}"
    );
    let refused = told(Some(""), "wrong").unwrap_err();
    assert!(
        refused.contains("WRONGPASS") && refused.ends_with("; check --from-user and --from-password-file"),
        "{refused}"
    );
    assert_eq!(told(Some(""), "secret word"), Ok(0));
    assert_eq!(told(Some("reader"), "pass"), Ok(0));
}

#[test]
fn a_database_that_is_not_there_is_refused_with_the_way_out() {
    let Some(redis) = Redis::start(&["--databases", "4"]) else { return };
    redis.run(&[words(&[b"SET", b"a", b"1"]), words(&[b"SELECT", b"3"]), words(&[b"SET", b"b", b"2"])]);
    let mut source = redis.source();
    source.database = 3;
    let outcome = read(&source, &mut |_| {}).unwrap();
    assert!(outcome.records.contains_key(&b"b"[..]) && outcome.records.len() == 1);
    assert_eq!(outcome.left_out.other_databases, BTreeMap::from([(0, 1)]));
    source.database = 4;
    let told = read(&source, &mut |_| {}).unwrap_err().to_string();
    assert!(told.ends_with("; it has fewer databases: give a smaller --from-database"), "{told}");
}

/// A server that answers each command with what `answer` gives for its words.
fn fake(mut answer: impl FnMut(&[Vec<u8>]) -> Vec<u8> + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let limits = ReaderLimits { words: 16, command_bytes: 1 << 16 };
            let (mut reader, mut held, mut buffer) = (CommandReader::new(limits, false), Vec::new(), [0; 4096]);
            loop {
                let step = reader.next(&held);
                match step.event {
                    CommandEvent::Command(words) => {
                        let words: Vec<Vec<u8>> = words.iter().map(<[u8]>::to_vec).collect();
                        client.write_all(&answer(&words)).unwrap();
                    }
                    CommandEvent::NeedMore { .. } => {
                        held.drain(..step.consumed);
                        match client.read(&mut buffer) {
                            Ok(0) | Err(_) => break,
                            Ok(read) => held.extend_from_slice(&buffer[..read]),
                        }
                        continue;
                    }
                    _ => break,
                }
                held.drain(..step.consumed);
            }
        }
    });
    port
}

/// Answers of a server whose keys change between one question and the next.
fn changing(words: &[Vec<u8>], asked: &mut BTreeMap<String, u32>) -> Vec<u8> {
    let text: Vec<String> = words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let text: Vec<&str> = text.iter().map(String::as_str).collect();
    let count = asked.entry(text.join(" ")).or_default();
    *count += 1;
    let times = *count;
    let answer = match text[..] {
        ["SCAN", "0", ..] => {
            "*2\r\n$1\r\n7\r\n*5\r\n$4\r\ngone\r\n$7\r\nexpired\r\n$7\r\nchanged\r\n$4\r\nleft\r\n$4\r\nkept\r\n"
        }
        ["SCAN", "7", ..] => "*2\r\n$1\r\n0\r\n*0\r\n",
        ["TYPE", "gone"] => "+none\r\n",
        ["TYPE", "changed"] if times > 1 => "+hash\r\n",
        ["TYPE", _] => "+string\r\n",
        ["STRLEN" | "HLEN", _] => ":1\r\n",
        ["GET", "expired"] => "$-1\r\n",
        ["GET", "changed"] => "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
        ["GET", _] => "$1\r\nv\r\n",
        ["HGETALL", "changed"] => "%1\r\n$1\r\na\r\n$1\r\n1\r\n",
        ["PTTL", "left" | "expired"] => ":-2\r\n",
        // What nobody has asked for may come at any time.
        ["PTTL", "kept"] => ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n:-1\r\n",
        ["PTTL", _] => ":-1\r\n",
        _ => "-ERR unknown command\r\n",
    };
    answer.as_bytes().to_vec()
}

#[test]
fn keys_that_go_or_change_their_types_meanwhile_are_passed_over_or_looked_at_again() {
    let mut asked = BTreeMap::new();
    let port = fake(move |words| changing(words, &mut asked));
    let outcome = read(&source(port), &mut |_| {}).unwrap();
    let found: Vec<_> = outcome.records.values().map(|record| (record.key.as_slice(), record.is_hash)).collect();
    assert_eq!(found, [(&b"changed"[..], true), (b"kept", false)]);
    assert_eq!((outcome.vanished, outcome.said.len()), (3, 0));
}

#[test]
fn what_is_no_redis_is_recognised() {
    let port = fake(|_| b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec());
    let told = read(&source(port), &mut |_| {}).unwrap_err().to_string();
    assert!(told.contains("replied `HTTP/1.1 400 Bad Request`, which is not what Redis replies"), "{told}");
    let port = fake(|_| b"\x15\x03\x01\0\x02\x02\x28\r\n".to_vec());
    let told = read(&source(port), &mut |_| {}).unwrap_err().to_string();
    assert!(told.ends_with("speaks TLS; give the trusted certificates with --from-tls-ca"), "{told}");
}
