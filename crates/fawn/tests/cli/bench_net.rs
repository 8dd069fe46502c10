//! `fawn bench net` against real servers, and against servers that do wrong.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::server::{Kind, Run, Server, fawn, fawn_command, on_each_server, wait_for};

on_each_server!(all_laws_and_protocols_find_nothing_wrong);

fn bench(arguments: &[&str]) -> Run {
    fawn(&[&["bench", "net"], arguments].concat())
}

/// The report of a run that found nothing wrong.
#[track_caller]
pub fn json(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

/// The row of a report that is about this.
pub fn row<'a>(report: &'a Value, what: &str) -> &'a Value {
    let rows = report["rows"].as_array().unwrap();
    rows.iter().find(|row| row["what"] == what).unwrap_or_else(|| panic!("no row {what}: {report}"))
}

/// A figure of a row.
pub fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("no {name}: {row}"))
}

fn all_laws_and_protocols_find_nothing_wrong(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let address = server.address.as_str();
    for (law, protocol, threads) in [
        ("uniform", "text", "1"),
        ("zipf:1.1", "meta", "2"),
        ("latest", "text", "2"),
        ("hot:1%:99%", "meta", "1"),
        ("hot:1:100%", "text", "2"),
    ] {
        let law = ["--distribution", law, "--protocol", protocol, "--threads", threads, "--puts", "0.3"];
        let small = ["--keys", "2k", "--value-bytes", "100", "--time", "300ms", "--warm-up", "50ms"];
        let many = ["--connections", "8", "--depth", "8", "--load", "--json", address];
        let report = json(&bench(&[&law[..], &small, &many].concat()));
        assert_eq!(row(&report, "load")["operations"], 2000);
        let all = row(&report, "all");
        assert_eq!((number(all, "wrong"), number(all, "hit_share")), (0.0, 1.0), "{law:?}: {all}");
        let share = number(row(&report, "sets"), "operations") / number(all, "operations");
        assert!((0.2..0.4).contains(&share), "{law:?}: {share} are sets");
        assert!(number(all, "generator_cpu_us") > 0.0 && number(all, "p50_us") <= number(all, "p999_us"), "{all}");
    }
}

#[test]
fn a_load_is_there_for_others_and_absent_keys_are_misses() {
    let Some(server) = Server::fawn(&["--threads", "1"]) else { return };
    let address = server.address.as_str();
    let run = bench(&[address, "--load", "--load-rate", "2k", "--time", "0", "--keys", "500", "--json"]);
    let load = row(&json(&run), "load").clone();
    assert_eq!(load["operations"], 500);
    let rate = number(&load, "operations_a_second");
    assert!((1000.0..2200.0).contains(&rate), "{rate} a second");
    assert!(server.say("stats", "END\r\n").contains("STAT curr_items 500\r\n"));
    // Another run knows nothing of these values but whose they are.
    let run = bench(&[address, "--keys", "1k", "--puts", "10%", "--time", "300ms", "--warm-up", "0"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("% of the gets found nothing; --load"), "{}", run.stdout);
}

#[test]
fn the_server_s_processor_time_is_told_beside_ours() {
    let Some(server) = Server::fawn(&["--threads", "1"]) else { return };
    let pid = server.pid().to_string();
    let run =
        bench(&[&server.address, "--load", "--keys", "1k", "--time", "1s", "--depth", "16", "--server-pid", &pid]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("server CPU-us"), "{}", run.stdout);
    let run = bench(&[&server.address, "--time", "1s", "--server-pid", "4294967295"]);
    assert!(run.code == 1 && run.stderr.contains("process 4294967295"), "{run:?}");
}

#[test]
fn a_unix_socket_and_a_password_will_do() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (users, right, wrong) = (file("users", "deer:hay\n"), file("right", "hay\n"), file("wrong", "oats\n"));
    let socket = dir.path().join("socket");
    let arguments = ["--threads", "1", "--auth-file", &users, "--unix", socket.to_str().unwrap()];
    let Some(_server) = Server::fawn(&arguments) else { return };
    let address = format!("unix:{}", socket.display());
    let quick = [address.as_str(), "--load", "--keys", "100", "--time", "100ms", "--warm-up", "0"];
    let with = |password: &str| bench(&[&quick[..], &["--user", "deer", "--password-file", password]].concat());
    assert_eq!(with(&right).code, 0);
    let run = with(&wrong);
    assert!(run.code == 1 && run.stderr.contains("check --user and --password-file"), "{run:?}");
    let run = bench(&quick);
    assert!(run.code == 1 && run.stderr.contains("sets of the load were refused"), "{run:?}");
}

#[test]
fn redis_is_measured_by_the_same_generator() {
    let Some(server) = Server::redis(&[]) else { return };
    let small = ["--protocol", "resp", "--keys", "2k", "--time", "300ms", "--json", "--value-bytes"];
    let many = ["--connections", "8", "--depth", "8", "--server-pid", &server.pid().to_string(), &server.address];
    let of = |more: &[&str]| bench(&[&small[..], more, &many].concat());
    let report = json(&of(&["100", "--load", "--puts", "0.3"]));
    assert_eq!(row(&report, "load")["operations"], 2000);
    let all = row(&report, "all");
    assert_eq!((number(all, "wrong"), number(all, "hit_share")), (0.0, 1.0), "{all}");
    assert_eq!(report["parameters"]["protocol"], "resp", "{report}");
    let run = of(&["101"]);
    assert!(run.code == 1 && run.stderr.contains("has a value of 100 bytes, not 101"), "{run:?}");
    // Another protocol is told from a server that is wrong.
    let run = bench(&["--time", "100ms", &server.address]);
    assert!(run.code == 1 && run.stderr.contains("does the server speak another --protocol?"), "{run:?}");
}

#[test]
fn a_client_of_redis_authenticates_and_its_refusals_are_told() {
    let Some(server) = Server::redis(&["--requirepass", "s3cret"]) else { return };
    let file = |name, password: &str| server.file(name, format!("{password}\n")).to_str().unwrap().to_owned();
    let (right, wrong) = (file("right", "s3cret"), file("wrong", "guess"));
    let quick = ["--protocol", "resp", "--keys", "100", "--load", "--time", "100ms", server.address.as_str()];
    let with = |password: &str| bench(&[&quick[..], &["--user", "default", "--password-file", password]].concat());
    assert_eq!(with(&right).code, 0);
    let run = with(&wrong);
    assert!(run.code == 1 && run.stderr.contains("WRONGPASS"), "{run:?}");
    let run = bench(&quick);
    assert!(run.code == 1 && run.stderr.contains("NOAUTH"), "{run:?}");
}

#[test]
fn the_generator_is_measured_against_a_server_that_does_nothing() {
    let quick = ["--connections", "4", "--depth", "4", "--time", "200ms", "--warm-up", "50ms", "--puts", "20%"];
    let run = bench(&[&["--calibrate"], &quick[..]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("the generator needs") && !run.stdout.contains("wrong"), "{}", run.stdout);
    let Some(server) = Server::fawn(&["--threads", "1"]) else { return };
    let more = ["--calibrate", "--json", "--keys", "1k", "--load", server.address.as_str()];
    let report = json(&bench(&[&quick[..], &more].concat()));
    assert!(number(row(&report, "all"), "headroom") > 0.0, "{report}");
    assert!(number(row(&report, "nothing (calibration)"), "generator_cpu_us") > 0.0, "{report}");
}

#[test]
fn more_keys_than_can_be_kept_track_of_are_refused_before_anything_is_sent() {
    let run = bench(&["127.0.0.1:1", "--keys", "100000G", "--puts", "5%"]);
    let says = "needs 8 bytes of DRAM per key, 800 TB for 100000000000000 keys, and ";
    assert!(run.code == 1 && run.stderr.contains(says), "{run:?}");
    // Of gets alone nothing is kept.
    let run = bench(&["127.0.0.1:1", "--keys", "100000G"]);
    assert!(run.code == 1 && run.stderr.contains("cannot connect"), "{run:?}");
}

#[test]
fn a_server_that_shows_one_value_for_all_keys_is_found_out() {
    let mut child = fawn_command(&["bench", "net-null", "--value-bytes", "64"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().rsplit(' ').next().unwrap();
    for protocol in ["text", "meta", "resp"] {
        let run = bench(&[address, "--value-bytes", "64", "--time", "200ms", "--protocol", protocol]);
        assert!(run.code == 1 && run.stderr.contains("values were wrong, the first"), "{run:?}");
    }
    let run = bench(&[address, "--value-bytes", "65", "--time", "200ms"]);
    assert!(run.code == 1 && run.stderr.contains("has a value of 64 bytes, not 65"), "{run:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Serves each connection with a thread that does `talk`; the address. The threads end with the test process.
pub fn serve(talk: impl Fn(TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let talk: &'static _ = Box::leak(Box::new(talk));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // A client that has seen enough breaks its connection.
            std::thread::spawn(move || drop(talk(stream.unwrap())));
        }
    });
    address
}

/// Takes a set, or answers a get with the first value that its key was ever set to, or with `END`.
pub fn keep_the_first(
    stream: TcpStream,
    kept: &std::sync::Mutex<std::collections::HashMap<String, Vec<u8>>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        let tokens: Vec<&str> = line.split_whitespace().collect();
        if tokens[0] == "set" {
            let mut value = vec![0; tokens[4].parse::<usize>().unwrap() + 2];
            reader.read_exact(&mut value)?;
            kept.lock().unwrap().entry(tokens[1].to_owned()).or_insert(value);
            reader.get_mut().write_all(b"STORED\r\n")?;
        } else {
            let value = kept.lock().unwrap().get(tokens[1]).cloned().unwrap();
            let head = format!("VALUE {} 0 {}\r\n", tokens[1], value.len() - 2);
            reader.get_mut().write_all(&[head.as_bytes(), &value, b"END\r\n"].concat())?;
        }
        line.clear();
    }
    Ok(())
}

#[test]
fn a_server_that_forgets_acknowledged_sets_is_found_out() {
    let measure = |puts: &str| {
        let kept = std::sync::Mutex::default();
        let address = serve(move |stream| keep_the_first(stream, &kept));
        let quick = ["--keys", "20", "--load", "--connections", "2", "--time", "300ms", "--warm-up", "0"];
        bench(&[&quick[..], &["--puts", puts, address.as_str()]].concat())
    };
    let run = measure("50%");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("values were wrong") && run.stderr.contains("are possible"), "{run:?}");
    let run = measure("0");
    assert_eq!(run.code, 0, "what is never set again is never old: {run:?}");
}

#[test]
fn what_ends_a_run_is_said_in_one_sentence_and_at_once() {
    let hang_up = serve(|stream| {
        let mut reader = BufReader::new(stream);
        (0..3).try_for_each(|_| {
            reader.read_line(&mut String::new())?;
            reader.get_mut().write_all(b"END\r\n")
        })
    });
    let silent = serve(|mut stream| std::io::copy(&mut stream, &mut std::io::sink()).map(drop));
    let garbage = serve(|stream| {
        let mut reader = BufReader::new(stream);
        reader.read_line(&mut String::new())?;
        reader.get_mut().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")?;
        std::io::copy(&mut reader, &mut std::io::sink()).map(drop)
    });
    let talkative = serve(|stream| {
        let mut reader = BufReader::new(stream);
        reader.read_line(&mut String::new())?;
        reader.get_mut().write_all(b"END\r\nEND\r\n")?;
        std::io::copy(&mut reader, &mut std::io::sink()).map(drop)
    });
    let nobody = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    for (address, says) in [
        (&hang_up, "closed a connection"),
        (&silent, "sent no reply for 0.3 s"),
        (&garbage, "answered a get with \"HTTP/1.1 400 Bad Request"),
        (&talkative, "which is no reply"),
        (&nobody, "is a server listening there?"),
    ] {
        for pace in [&[][..], &["--rate", "1k"]] {
            let began = Instant::now();
            let run = bench(&[&[address, "--time", "60s", "--timeout", "300ms", "--threads", "2"], pace].concat());
            assert!(run.code == 1 && run.stderr.contains(says), "{says}: {run:?}");
            assert_eq!((run.stderr.lines().count(), run.stdout.as_str()), (1, ""), "{run:?}");
            assert!(began.elapsed() < Duration::from_secs(30), "{says}: it took {:?}", began.elapsed());
        }
    }
}

#[test]
fn operations_that_are_refused_are_counted_and_told() {
    let address = serve(|stream| {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        while reader.read_line(&mut line)? > 0 {
            reader.get_mut().write_all(b"SERVER_ERROR out of hay\r\n")?;
            line.clear();
        }
        Ok(())
    });
    let run = bench(&[&address, "--time", "200ms", "--warm-up", "0", "--connections", "2"]);
    assert!(run.code == 1 && run.stderr.contains("SERVER_ERROR out of hay"), "{run:?}");
    assert!(run.stdout.contains("refused") && run.stderr.lines().count() == 1, "{run:?}");
    let run = bench(&[&address, "--time", "200ms", "--warm-up", "0", "--connections", "2", "--json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let all = row(&report, "all");
    assert!(number(all, "refused") > 0.0 && number(all, "operations") == 0.0, "no refusal is throughput: {all}");
    assert!(all["p50_us"].is_null() && all["hit_share"].is_null(), "nor a latency, nor a hit: {all}");
}

#[test]
fn why_a_server_hangs_up_is_told() {
    let full = serve(|stream| {
        let mut reader = BufReader::new(stream);
        reader.read_line(&mut String::new())?;
        reader.get_mut().write_all(b"ERROR Too many open connections\r\n")
    });
    let run = bench(&[&full, "--time", "200ms", "--connections", "1"]);
    assert!(run.code == 1 && run.stderr.contains("Too many open connections"), "{run:?}");
}

#[test]
fn what_is_not_sent_in_time_makes_latencies_a_bound() {
    let address = serve(|stream| {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        while reader.read_line(&mut line)? > 0 {
            std::thread::sleep(Duration::from_millis(2));
            reader.get_mut().write_all(b"END\r\n")?;
            line.clear();
        }
        Ok(())
    });
    let shape = ["--rate", "100k", "--connections", "1", "--warm-up", "100ms", "--time", "200ms"];
    let run = bench(&[&[address.as_str()], &shape[..]].concat());
    assert!(
        run.stdout.contains("were not sent by the end") && run.stdout.contains("the true latencies are at least these"),
        "{run:?}"
    );
}

#[test]
fn what_a_load_is_refused_is_put_again() {
    // Each connection refuses all but the last of the sets that it has received.
    let address = serve(|stream| {
        let mut reader = BufReader::new(stream);
        let (mut line, mut value) = (String::new(), vec![0; 66]);
        while reader.read_line(&mut line)? > 0 {
            reader.read_exact(&mut value)?;
            let is_last = reader.buffer().is_empty();
            let answer: &[u8] = if is_last { b"STORED\r\n" } else { b"SERVER_ERROR too much is under way\r\n" };
            reader.get_mut().write_all(answer)?;
            line.clear();
        }
        Ok(())
    });
    let shape = ["--keys", "1k", "--value-bytes", "64", "--connections", "2", "--time", "0", "--load", "--json"];
    let report = json(&bench(&[&[address.as_str(), "--depth", "8"], &shape[..]].concat()));
    let notes = report["notes"].to_string();
    assert!(notes.contains("sets of the load, and the generator retried them"), "{report}");
    assert_eq!(row(&report, "load")["operations"], 1000);
}

/// A server that answers gets with `END`, and pauses once, for so long, after so many.
fn pausing(after: u64, pause: Duration) -> String {
    let answered = AtomicU64::new(0);
    serve(move |stream| {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        while reader.read_line(&mut line)? > 0 {
            if answered.fetch_add(1, Ordering::Relaxed) == after {
                std::thread::sleep(pause);
            }
            reader.get_mut().write_all(b"END\r\n")?;
            line.clear();
        }
        Ok(())
    })
}

#[test]
fn an_open_loop_counts_what_waits_for_a_pause_and_a_closed_one_does_not_see_it() {
    let measure = |more: &[&str]| {
        let address = pausing(500, Duration::from_millis(200));
        let fixed = [address.as_str(), "--connections", "1", "--time", "2s", "--warm-up", "0", "--json"];
        row(&json(&bench(&[&fixed[..], more].concat())), "all").clone()
    };
    // Of 2,000 operations 200 come in the pause, and wait 100 ms of it on average.
    for spacing in ["fixed", "poisson"] {
        let open = measure(&["--rate", "1k", "--spacing", spacing]);
        assert!(number(&open, "p999_us") > 150_000.0, "{open}");
        assert!(number(&open, "p99_us") > 100_000.0, "{open}");
        let answered = number(&open, "operations");
        assert!((1700.0..2300.0).contains(&answered), "{answered} of 2,000 came by the clock");
    }
    // One of thousands.
    let closed = measure(&[]);
    assert!(number(&closed, "longest_us") >= 200_000.0, "{closed}");
    assert!(number(&closed, "p99_us") < 100_000.0, "{closed}");
}

#[test]
fn what_a_closed_loop_still_waits_for_at_the_end_counts_with_its_waiting() {
    let address = pausing(1, Duration::from_millis(600));
    let fixed = [address.as_str(), "--connections", "1", "--time", "300ms", "--warm-up", "0", "--json"];
    let all = row(&json(&bench(&fixed)), "all").clone();
    assert!(number(&all, "operations") < 2.0 && number(&all, "longest_us") >= 500_000.0, "{all}");
}

#[test]
fn what_was_due_and_never_sent_counts_with_its_waiting() {
    // It answers one of 300 operations that are due.
    let address = pausing(1, Duration::from_millis(900));
    let fixed = [address.as_str(), "--connections", "1", "--time", "300ms", "--warm-up", "0", "--json", "--rate", "1k"];
    let all = row(&json(&bench(&[&fixed[..], &["--spacing", "fixed"]].concat())), "all").clone();
    assert!(number(&all, "unsent") > 250.0, "{all}");
    assert!((100_000.0..200_000.0).contains(&number(&all, "p50_us")), "half of them waited for half the time: {all}");
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    for (arguments, says) in [
        (&[][..], "ADDR"),
        (&["localhost:x"], "write HOST:PORT"),
        (&["a:1", "--server-pid", "1", "2"], "write HOST:PORT, and several processes as `--server-pid 1,2`"),
        (&["a:1", "--puts", "2"], "a number from 0 to 1"),
        (&["a:1", "--distribution", "normal"], "hot:1%:99%"),
        (&["a:1", "--value-bytes", "7"], "from 8 to 128M"),
        (&["a:1", "--threads", "4", "--connections", "3"], "--connections as --threads"),
        (&["a:1", "--keys", "0"], "--keys 1 or more"),
        (&["a:1", "--rate", "0"], "1 or more"),
        (&["a:1", "--rate", "1G"], "10M at most"),
        (&["a:1", "--load-rate", "1k"], "leave --load-rate out"),
        (&["a:1", "--keys", "10", "--distribution", "hot:11:50%"], "fewer --keys than popular keys"),
        (&["a:1", "--time", "0"], "there is nothing to measure"),
        (&["--calibrate", "--load"], "no server to load"),
        (&["a:1", "--user", "deer"], "--password-file"),
    ] {
        let run = bench(arguments);
        assert!(run.code == 2 && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
}

#[test]
fn a_server_that_is_killed_ends_the_run() {
    let Some(mut server) = Server::fawn(&["--threads", "1"]) else { return };
    let address = server.address.clone();
    let mut child = fawn_command(&["bench", "net", &address, "--time", "60s", "--load", "--keys", "1k"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the load", || server.say("stats", "END\r\n").contains("STAT curr_items 1000\r\n").then_some(()));
    server.kill();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(
        said.contains("closed a connection") || said.contains("broke") || said.contains("cannot connect"),
        "{said}"
    );
}
