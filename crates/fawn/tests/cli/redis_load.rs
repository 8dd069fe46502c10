//! `fawn load --from-redis` and `--from-rdb`: moving from Redis.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use crate::fake::{Fake, Manner};
use crate::server::{Server, assert_same_lines, fawn, fawn_command, fawn_with_input, interrupted, wait_for};

/// Sends lines of Redis's protocol to a Redis, and waits until each is answered.
fn tell(redis: &Server, lines: &[String]) {
    let mut stream = TcpStream::connect(&redis.address).unwrap();
    let mut reader = stream.try_clone().unwrap();
    let answers = std::thread::spawn(move || {
        let (mut told, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        while !told.ends_with(b"all is answered\r\n") {
            let read = reader.read(&mut buffer).unwrap();
            assert!(read > 0, "it answers all");
            told.extend_from_slice(&buffer[..read]);
        }
        String::from_utf8_lossy(&told).into_owned()
    });
    stream.write_all((lines.join("\r\n") + "\r\nECHO \"all is answered\"\r\n").as_bytes()).unwrap();
    let told = answers.join().unwrap();
    assert_eq!(told.lines().find(|line| line.starts_with('-')), None);
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// What `tell` is told for a bit of everything.
fn everything() -> Vec<String> {
    let mut all = lines(&[
        "SET text \"two words\"",
        "SET \"a key\\xff\" \"\\x00\\xff\\r\\n\"",
        "SET number 12345",
        "SET later v PX 100000500",
        "HSET hash a 1 b \"\" c three",
        "RPUSH list a b",
        "RPUSH other-list a b",
        "ZADD scores 1 a",
        "SELECT 2",
        "SET elsewhere v",
        "SET elsewhere-too v",
        "SELECT 0",
    ]);
    all.push(format!("SET {} v", "k".repeat(251)));
    all.push(format!("SET large {}", "v".repeat(30_000)));
    all
}

/// The file that Redis saves.
fn saved(redis: &Server) -> PathBuf {
    tell(redis, &lines(&["SAVE"]));
    redis.dir().join("dump.rdb")
}

/// What a target has after a load of everything, but for expiries.
const EXPECTED: [&str; 5] = [
    r#"{"key":"hash","value":"\u0000hash\u0001\u0003\u0000\u0000\u0000\u0002a\u00021\u0002b\u0001\u0002c\u0006three","flags":1212240712}"#,
    r#"{"key":"later","value":"v","exptime":N}"#,
    r#"{"key":"number","value":"12345"}"#,
    r#"{"key":"text","value":"two words"}"#,
    r#"{"key_base64":"YSBrZXn/","value_base64":"AP8NCg=="}"#,
];

/// Checks what a target has, and the seconds that an expiry has left.
fn check(target: &Server) {
    let mut dumped = target.dump_lines("jsonl");
    let later = dumped.iter_mut().find(|line| line.starts_with(r#"{"key":"later""#)).expect("it is there");
    let (start, rest) = later.split_once("exptime\":").unwrap();
    let exptime: u64 = rest.trim_end_matches('}').parse().unwrap();
    *later = format!("{start}exptime\":N}}");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!((99_900..=100_002).contains(&(exptime - now)), "{}", exptime - now);
    assert_same_lines(&dumped, &EXPECTED.map(str::to_owned));
}

const LEFT_OUT: &str = "\
left out: 2 keys of type list, e.g. L
left out: 1 key of type zset, e.g. scores
left out: 1 key, which is empty or too long, e.g. kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk...
left out: 2 keys of database 2: load them with --from-database 2
";

/// Checks a summary; which of two lists is the example is up to Redis.
fn check_summary(stdout: &str) {
    let (first, rest) = stdout.split_once('\n').unwrap();
    assert!(first.starts_with("loaded 5 records (") && first.ends_with("; 1 too large and skipped"), "{stdout}");
    assert_eq!(rest.replace("e.g. list\n", "e.g. L\n").replace("e.g. other-list\n", "e.g. L\n"), LEFT_OUT);
}

#[test]
fn a_running_redis_and_its_file_come_to_the_same_records() {
    let Some(redis) = Server::redis(&[]) else { return };
    let Some(target) = Server::fawn(&["--max-item-size", "20K"]) else { return };
    tell(&redis, &everything());
    let file = saved(&redis);
    let file = file.to_str().unwrap();
    for from in [["--from-redis", &redis.address], ["--from-rdb", file]] {
        let load = |more: &[&str]| fawn(&[&["load", "--to", &target.address, from[0], from[1]], more].concat());
        let run = load(&[]);
        assert_eq!(run.code, 1, "what is left out is missing: {}", run.stderr);
        assert!(run.stderr.starts_with("key large: skipped: ") && run.stderr.lines().count() == 1, "{}", run.stderr);
        check_summary(&run.stdout);
        check(&target);
        assert_eq!(target.say("flush_all", "OK\r\n"), "OK\r\n");

        let run = load(&["--on-error", "skip", "--json"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let summary: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((&summary["records"], &summary["too_large"]), (&5.into(), &1.into()), "{summary}");
        assert_eq!(summary["other_types"]["list"]["keys"], 2, "{summary}");
        assert_eq!(summary["other_types"]["zset"], serde_json::json!({"keys": 1, "example": "scores"}), "{summary}");
        assert_eq!(summary["other_databases"], serde_json::json!({"2": 2}), "{summary}");
        check(&target);
        assert_eq!(target.say("flush_all", "OK\r\n"), "OK\r\n");

        let run = load(&["--from-database", "2"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(target.dump_lines("tsv"), ["elsewhere\tv", "elsewhere-too\tv"]);
        assert!(run.stdout.contains("left out: 10 keys of database 0: load them"), "{}", run.stdout);
        assert_eq!(target.say("flush_all", "OK\r\n"), "OK\r\n");
    }
    assert!(!PathBuf::from(format!("{file}.fawn-resume")).exists(), "the load is complete");
    let run = fawn_with_input(&["load", "--to", &target.address, "--from-rdb", "-"], &std::fs::read(file).unwrap());
    assert_eq!(run.code, 1, "{}", run.stderr);
    check_summary(&run.stdout);
    check(&target);
}

#[test]
fn a_file_is_loaded_into_a_directory_with_keys_that_no_server_takes() {
    let Some(redis) = Server::redis(&[]) else { return };
    tell(&redis, &everything());
    let file = saved(&redis);
    let dir = redis.dir().join("data");
    let arguments = ["load", "--bulk", "--memory", "16M", "--threads", "1", "--dir", dir.to_str().unwrap()];
    let run = fawn(&[&arguments[..], &["--from-rdb", file.to_str().unwrap()]].concat());
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stdout.starts_with("loaded 7 records"), "{}", run.stdout);
    let run = fawn(&["store", "dump", dir.to_str().unwrap()]);
    let keys: BTreeSet<&str> = run.stdout.lines().map(|line| &line[..line.len().min(20)]).collect();
    assert_eq!(keys.len(), 7, "{keys:?}");
    // Three of the letter k in base64, as a key that no server takes is written.
    assert!(run.stdout.contains(&"a2tr".repeat(83)) && run.stdout.contains(r#""key":"large""#));
}

#[test]
fn a_hundred_thousand_keys_are_copied_while_connections_are_cut() {
    let Some(redis) = Server::redis(&[]) else { return };
    let Some(target) = Server::fawn(&[]) else { return };
    let value = |n: usize| format!("{n}-{}", "v".repeat(n % 100));
    tell(&redis, &(0..100_000).map(|n| format!("SET key-{n} {}", value(n))).collect::<Vec<_>>());
    let mut command = fawn_command(&["load", "--to", &target.address, "--from-redis", &redis.address]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(50));
        tell(&redis, &lines(&["CLIENT KILL TYPE normal"]));
    }
    let output = child.wait_with_output().unwrap();
    let (told, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success() && told.starts_with("loaded 100,000 records"), "{told}{said}");
    assert!(
        said.lines().count() > 3 && said.lines().all(|line| line.starts_with("fawn: connecting again: ")),
        "{said}"
    );
    let mut expected: Vec<String> = (0..100_000).map(|n| format!("key-{n}\t{}", value(n))).collect();
    expected.sort();
    assert_same_lines(&target.dump_lines("tsv"), &expected);
}

#[test]
fn nothing_of_a_damaged_file_is_loaded_and_its_offset_is_told() {
    let Some(redis) = Server::redis(&[]) else { return };
    let Some(target) = Server::fawn(&[]) else { return };
    tell(&redis, &everything());
    let file = saved(&redis);
    let whole = std::fs::read(&file).unwrap();
    let path = redis.dir().join("damaged.rdb");
    let load = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let run = fawn(&["load", "--to", &target.address, "--from-rdb", path.to_str().unwrap()]);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.lines().count()), (1, "", 1), "{}", run.stderr);
        run.stderr
    };
    let mut damaged = whole.clone();
    let at = whole.windows(9).position(|text| text == b"two words").unwrap();
    damaged[at] = b'T';
    let told = load(&damaged);
    let offset = whole.len() - 8;
    assert!(told.contains(&format!("damaged.rdb: it is damaged: its checksum at byte {offset} is ")), "{told}");
    assert!(
        told.ends_with(
            "; nothing was loaded: save the file again with BGSAVE, or copy the running server with --from-redis\n"
        ),
        "{told}"
    );
    let told = load(&whole[..at]);
    assert!(told.contains(&format!("it is cut off: it ends at byte {at}, ")), "{told}");
    let told = load(b"REDIS0012 and so on");
    assert!(told.contains("RDB file of version 12, and versions 1 to 11 are known"), "{told}");
    let told = load(b"{\"key\":\"a\",\"value\":\"b\"}");
    assert!(told.contains("it is not an RDB file"), "{told}");
    assert_eq!(target.dump_lines("tsv"), Vec::<String>::new());
    // As an append-only file that begins with a snapshot.
    let told = load(&[&whole[..], b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n"].concat());
    assert!(told.contains(&format!("goes on behind byte {}", whole.len())), "{told}");
}

#[test]
fn a_load_of_a_file_that_is_killed_goes_on_with_what_was_not_acknowledged() {
    const COUNT: usize = 30_000;
    let Some(redis) = Server::redis(&[]) else { return };
    tell(&redis, &(0..COUNT).map(|n| format!("SET key-{n:06} v")).collect::<Vec<_>>());
    let file = saved(&redis);
    let state = redis.dir().join("dump.rdb.fawn-resume");
    let fake = Fake::start(Manner::Slow(Duration::from_micros(200)));
    let arguments = ["load", "--to", &fake.address, "--from-rdb", file.to_str().unwrap()];
    let mut child = fawn_command(&arguments).spawn().unwrap();
    wait_for("progress", || {
        let text = std::fs::read_to_string(&state).ok()?;
        let records = text.split("\"records\":").nth(1)?.split(',').next()?;
        records.parse::<usize>().ok().filter(|&records| records > 1000)
    });
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "it was killed before it could finish");
    let before = fake.acknowledged();
    fake.forget();
    let run = fawn(&[&arguments[..], &["--from-database", "3"]].concat());
    assert!(run.code == 1 && run.stderr.contains(" belongs to a load of rdb;"), "{}", run.stderr);
    let run = fawn(&arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("continuing with ") && run.stderr.contains(" at key "), "{}", run.stderr);
    let after = fake.acknowledged();
    assert!(after.len() < COUNT - 1000, "what was acknowledged is not sent again");
    let lost = (0..COUNT).map(|n| format!("key-{n:06}")).find(|key| !before.contains(key) && !after.contains(key));
    assert_eq!(lost, None);
    assert!(!state.exists(), "the load is complete");
}

#[test]
fn a_copy_of_redis_that_is_interrupted_says_how_to_go_on() {
    let Some(redis) = Server::redis(&[]) else { return };
    tell(&redis, &(0..30_000).map(|n| format!("SET key-{n:06} v")).collect::<Vec<_>>());
    let fake = Fake::start(Manner::Slow(Duration::from_millis(1)));
    let mut command = fawn_command(&["load", "--to", &fake.address, "--from-redis", &redis.address]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("a record", || (!fake.acknowledged().is_empty()).then_some(()));
    assert_eq!(
        interrupted(child),
        "fawn: interrupted; acknowledged records stay; run the same command again to start from the beginning\n"
    );
}

#[test]
fn arguments_that_do_not_go_together_are_refused() {
    for (arguments, what) in [
        (
            &["--from-user", "u", "--from-password-file", "f", "x.tsv"][..],
            "--from-user applies only to a load from a running Redis: add --from-redis ADDR",
        ),
        (&["--from-tls-ca", "f", "--from-rdb", "x"], "--from-tls-ca applies only to a load from a running Redis"),
        (&["--from-database", "1", "x.tsv"], "--from-database applies only to a load from Redis"),
        (&["--from-rdb", "-", "--resume", "state"], "standard input is not a file, and only a file can be resumed"),
    ] {
        let run = fawn(&[&["load"], arguments].concat());
        assert!(run.code == 2 && run.stderr.contains(what), "{arguments:?}: {}", run.stderr);
    }
    let run = fawn(&["load", "--to", "127.0.0.1:1", "--from-redis", "127.0.0.1:1"]);
    assert!(run.code == 1 && run.stderr.contains("cannot connect to 127.0.0.1:1 "), "{}", run.stderr);
}
