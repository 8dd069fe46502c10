//! `fawn joule kv` against real servers, and against one that does wrong.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::bench_net::{json, number};
use crate::energy::model;
use crate::joule_compute::Machine;
use crate::server::{Run, Server, fawn, fawn_command, interrupted, wait_for};

fn kv(arguments: &[&str]) -> Run {
    fawn(&[&["joule", "kv"], arguments].concat())
}

/// A few keys, and points of a fraction of a second.
const SMALL: [&str; 8] = ["--keys", "2k", "--time", "300ms", "--warm-up", "50ms", "--objectives", "200us,1ms,1s"];

fn rows<'r>(report: &'r Value, what: &str) -> Vec<&'r Value> {
    report["rows"].as_array().unwrap().iter().filter(|row| row["what"] == what).collect()
}

#[track_caller]
fn count(row: &Value, name: &str) -> u64 {
    row[name].as_u64().unwrap_or_else(|| panic!("no {name}: {row}"))
}

/// Every request that was due has one fate.
#[track_caller]
fn assert_each_counts_once(row: &Value) {
    let fates = ["within", "late", "wrong", "missing"].map(|name| count(row, name));
    assert_eq!(fates.iter().sum::<u64>(), count(row, "asked"), "{row}");
}

fn left_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_server_of_its_own_is_measured_at_capacity_and_over_load_and_gone_afterwards() {
    let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let name = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    let (page, csv) = (name("kv.html"), name("kv.csv"));
    let at = ["--dir", dir.path().to_str().unwrap(), "--meter", "none", "--page", &page, "--csv", &csv, "--json"];
    let report = json(&kv(&[&SMALL[..], &at, &["--loads", "20%,60%", "--sets", "0.1"]].concat()));
    assert_eq!(left_in(dir.path()), Vec::<String>::new());
    let (capacity, loads, objectives) = (rows(&report, "capacity"), rows(&report, "load"), rows(&report, "objective"));
    assert_eq!((capacity.len(), loads.len(), objectives.len()), (1, 2, 2 * 3), "{report}");
    let rate = number(capacity[0], "work_a_second");
    for row in [&capacity[..], &loads, &objectives].concat() {
        assert_each_counts_once(row);
        assert!(count(row, "wrong") == 0 && count(row, "asked") > 0, "{row}");
        assert!(row.get("joules").is_none() && row.get("modelled_joules").is_none(), "{row}");
    }
    for (row, share) in loads.iter().zip([0.2, 0.6]) {
        assert!((number(row, "asked_a_second") / (rate * share) - 1.0).abs() < 1e-9, "{row}");
        // By chance there are more or fewer than the rate says.
        let due = number(row, "asked_a_second") * number(row, "seconds");
        assert!((number(row, "asked") - due).abs() < 6.0 * due.sqrt() + 1.0, "{row}");
        let idle = number(row, "idle_share");
        assert!((0.0..1.0).contains(&idle) && number(row, "idle_longest_us") >= number(row, "idle_mean_us"), "{row}");
        assert!(number(row, "p50_us") <= number(row, "p999_us"), "{row}");
    }
    // A longer objective takes no answer away.
    for pair in objectives.windows(2).filter(|pair| pair[0]["load_percent"] == pair[1]["load_percent"]) {
        assert!(count(pair[0], "within") <= count(pair[1], "within"), "{pair:?}");
    }
    assert_eq!((&report["parameters"]["meter"], &report["parameters"]["keys"]), (&"none".into(), &2000.into()));
    let notes = report["notes"].to_string();
    for what in ["CPU time is that of 1 server process, without the load generator", "no energy was metered"] {
        assert!(notes.contains(what), "{what}: {notes}");
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.matches("<svg").count() == 2 && page.contains("per CPU-s over the objective"), "{page}");
    let csv = std::fs::read_to_string(csv).unwrap();
    assert_eq!(csv.lines().count(), 1 + 1 + 2 * 3, "{csv}");
}

#[test]
fn joules_are_those_of_each_point_and_carry_the_mark_of_their_meter() {
    let machine = Machine::new();
    let dir = machine.dir.path().join("data");
    std::fs::create_dir(&dir).unwrap();
    let at = ["--dir", dir.to_str().unwrap(), "--loads", "50%"];
    let rapl = ["--meter", "rapl", "--meter-root", machine.root(), "--json"];
    let report = json(&kv(&[&SMALL[..], &at, &rapl].concat()));
    let load = rows(&report, "load")[0];
    // 20 W for 0.3 s.
    assert!((3.0..12.0).contains(&number(load, "joules")) && load["energy"]["scope"] == "package", "{load}");
    for row in rows(&report, "objective") {
        let each = number(row, "within") / number(load, "joules");
        assert!((number(row, "operations_a_joule") - each).abs() <= 1e-6 * each, "{row}");
    }
    let run = kv(&[&SMALL[..], &at, &rapl[..4]].concat());
    assert!(run.code == 0 && run.stdout.contains("Right answers within the objective per J\n"), "{run:?}");

    let model = format!("model:{}", model(machine.dir.path()).display());
    let run = kv(&[&SMALL[..], &at, &["--meter", &model]].concat());
    assert!(run.code == 0 && run.stdout.contains("objective per modelled J\n"), "{run:?}");
    assert!(!run.stdout.contains("per J\n"), "{run:?}");

    let by_hand = ["--watts", "9.7", "--idle-watts", "2.8", "--json"];
    let report = json(&kv(&[&SMALL[..], &at, &by_hand].concat()));
    assert_eq!(report["parameters"]["meter"], "hand");
    assert!((number(rows(&report, "load")[0], "hand_read_watts") - 9.7).abs() < 1e-9, "{report}");
    assert!(rows(&report, "objective")[0]["operations_a_hand_read_joule"].is_number(), "{report}");
    // The plug showed half of the load.
    assert!(rows(&report, "capacity")[0].get("hand_read_joules").is_none(), "{report}");
    assert_eq!(left_in(&dir), Vec::<String>::new());
}

#[test]
fn servers_that_run_already_are_measured_and_their_cpu_time_only_where_they_are_named() {
    let Some(server) = Server::fawn(&["--threads", "1"]) else { return };
    let pid = server.pid().to_string();
    let small = [&SMALL[..], &["--loads", "30%", "--meter", "none", "--servers", &server.address]].concat();
    let report = json(&kv(&[&small[..], &["--json"]].concat()));
    let load = rows(&report, "load")[0];
    assert_each_counts_once(load);
    assert!(load["server_cpu_seconds"].is_null() && load["operations_a_cpu_second"].is_null(), "{load}");
    assert!(report["notes"].to_string().contains("name their processes with --server-pid"), "{report}");
    assert!(server.say("stats", "END\r\n").contains("STAT curr_items 2000\r\n"), "the keys stay");
    let report = json(&kv(&[&small[..], &["--json", "--server-pid", &pid]].concat()));
    assert!(number(rows(&report, "capacity")[0], "operations_a_cpu_second") > 0.0, "{report}");
}

#[test]
fn redis_is_measured_in_the_same_units() {
    let Some(server) = Server::redis(&[]) else { return };
    let of = ["--loads", "30%", "--meter", "none", "--protocol", "resp", "--servers", &server.address];
    let pid = server.pid().to_string();
    let report = json(&kv(&[&SMALL[..], &of, &["--json", "--server-pid", &pid]].concat()));
    assert_each_counts_once(rows(&report, "load")[0]);
    assert!(number(rows(&report, "capacity")[0], "operations_a_cpu_second") > 0.0, "{report}");
}

/// A server that stores what it is told, but flips a bit of every tenth value that it shows, takes 5 ms for every twentieth, and
/// does not answer gets any more on every fourth connection after 50 of them.
fn faulty_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let values: Arc<Mutex<HashMap<String, Vec<u8>>>> = Arc::default();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let values = Arc::clone(&values);
            // A client that ends breaks its connection.
            std::thread::spawn(move || drop(serve(stream.unwrap(), &values, number % 4 == 3)));
        }
    });
    address
}

fn serve(mut stream: TcpStream, values: &Mutex<HashMap<String, Vec<u8>>>, falls_silent: bool) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut line, mut gets) = (String::new(), 0);
    while reader.read_line(&mut line)? > 0 {
        let tokens: Vec<&str> = line.split_whitespace().collect();
        let key = tokens[1].to_owned();
        if tokens[0] == "set" {
            let mut value = vec![0; tokens[4].parse::<usize>().unwrap() + 2];
            reader.read_exact(&mut value)?;
            values.lock().unwrap().insert(key, value);
            stream.write_all(b"STORED\r\n")?;
        } else {
            gets += 1;
            let mut value = values.lock().unwrap()[&key].clone();
            if gets % 10 == 0 {
                value[20] ^= 1;
            }
            if gets % 20 == 0 {
                std::thread::sleep(Duration::from_millis(5));
            }
            if !(falls_silent && gets > 50) {
                let head = format!("VALUE {key} 0 {}\r\n", value.len() - 2);
                stream.write_all(&[head.as_bytes(), &value, b"END\r\n"].concat())?;
            }
        }
        line.clear();
    }
    Ok(())
}

#[test]
fn wrong_late_and_missing_answers_count_nothing_and_are_told() {
    let address = faulty_server();
    let few = ["--keys", "2k", "--time", "400ms", "--warm-up", "0", "--objectives", "1ms,1s", "--connections", "4"];
    let run = kv(&[&few[..], &["--servers", &address, "--loads", "40%", "--meter", "none", "--json"]].concat());
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains(" answers were wrong, the first: key fawn"), "{run:?}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let capacity = rows(&report, "capacity")[0];
    assert_each_counts_once(capacity);
    assert_eq!(count(capacity, "missing"), 1, "one request is in flight on a connection: {capacity}");
    let load = rows(&report, "load")[0];
    assert_each_counts_once(load);
    let (asked, wrong) = (number(load, "asked"), number(load, "wrong"));
    assert!((0.05..0.12).contains(&(wrong / asked)) && count(load, "missing") > 1, "{load}");
    assert!(count(load, "late") > 0, "{load}");
    // With any objective, what is wrong or missing is not within it.
    let last = *rows(&report, "objective").last().unwrap();
    assert_each_counts_once(last);
    assert!(last["objective_us"] == 1e6 && count(last, "wrong") == count(load, "wrong"), "{last}");
}

#[test]
fn an_interruption_leaves_neither_server_nor_data() {
    let dir = tempfile::tempdir().unwrap();
    let at = ["--dir", dir.path().to_str().unwrap(), "--time", "60s"];
    let mut command = fawn_command(&[&["joule", "kv"], &SMALL[..2], &at].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let served = wait_for("a server's directory", || {
        let made = left_in(dir.path()).first().map(|name| dir.path().join(name).join("served"));
        made.filter(|served| served.exists())
    });
    let said = interrupted(child);
    assert!(said.ends_with("fawn: interrupted; nothing was kept, run the same command again\n"), "{said}");
    wait_for("the server to end", || {
        let name = served.to_str().unwrap();
        let is_it = |entry: std::fs::DirEntry| {
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&command).contains(name)
        };
        let processes = std::fs::read_dir("/proc").unwrap();
        (!processes.flatten().any(is_it)).then_some(())
    });
    assert_eq!(left_in(dir.path()), Vec::<String>::new());
}

/// Whether a process has this name in its command line.
fn runs(name: &str) -> bool {
    let is_it = |entry: std::fs::DirEntry| {
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(name)
    };
    std::fs::read_dir("/proc").unwrap().flatten().any(is_it)
}

#[test]
fn a_command_that_is_killed_leaves_no_server() {
    let dir = tempfile::tempdir().unwrap();
    let at = ["--dir", dir.path().to_str().unwrap(), "--time", "60s"];
    let mut child = fawn_command(&[&["joule", "kv"], &SMALL[..2], &at].concat()).stderr(Stdio::null()).spawn().unwrap();
    let served = wait_for("a server", || {
        let made = left_in(dir.path()).first().map(|name| dir.path().join(name).join("served"));
        made.filter(|served| runs(served.to_str().unwrap()))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the server to end", || (!runs(served.to_str().unwrap())).then_some(()));
}

#[test]
fn a_server_or_a_node_that_is_killed_is_named() {
    for nodes in ["1", "2"] {
        let dir = tempfile::tempdir().unwrap();
        let at = ["--dir", dir.path().to_str().unwrap(), "--time", "60s", "--nodes", nodes];
        let command = &mut fawn_command(&[&["joule", "kv"], &SMALL[..2], &at].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let named = if nodes == "1" { "served" } else { "cluster/n2" };
        let pid = wait_for("a server that serves", || {
            let made = dir.path().join(left_in(dir.path()).first()?);
            let said = std::fs::read_to_string(made.join(format!("{named}-log.out"))).ok()?;
            said.contains("serving memcached on ").then(|| pid_of(made.join(named).to_str().unwrap()))
        });
        kill_process(pid, Signal::KILL).unwrap();
        let run = Run::from(child.wait_with_output().unwrap());
        let says = "a server that this command started is gone: ";
        let is_told = run.stderr.contains("-log has ended with signal: 9 (SIGKILL)");
        // A cluster that is not whole yet is told by itself.
        assert!(run.code == 1 && is_told && (nodes == "2" || run.stderr.contains(says)), "{run:?}");
        assert_eq!(left_in(dir.path()), Vec::<String>::new());
    }
}

/// The process that has this directory in its command line.
fn pid_of(dir: &str) -> Pid {
    let is_it = |entry: &std::fs::DirEntry| {
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).any(|argument| argument == dir.as_bytes())
    };
    let entry = std::fs::read_dir("/proc").unwrap().flatten().find(is_it).expect("it runs");
    Pid::from_raw(entry.file_name().to_str().unwrap().parse().unwrap()).unwrap()
}

/// A server that answers sets, and the first gets of each connection.
fn server_that_falls_silent(gets: u64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || -> std::io::Result<()> {
                let (mut reader, mut stream) = (BufReader::new(stream.try_clone()?), stream);
                let (mut line, mut asked) = (String::new(), 0);
                while reader.read_line(&mut line)? > 0 {
                    if line.starts_with("set") {
                        std::io::copy(&mut reader.by_ref().take(258), &mut std::io::sink())?;
                        stream.write_all(b"STORED\r\n")?;
                    } else {
                        asked += 1;
                        if asked <= gets {
                            stream.write_all(b"END\r\n")?;
                        }
                    }
                    line.clear();
                }
                Ok(())
            });
        }
    });
    address
}

#[test]
fn servers_that_answer_nothing_or_nothing_right_are_no_success() {
    for (gets, says) in [
        (0, " answered nothing for "),
        (50, " answered nothing for "),
        (u64::MAX, "the servers gave no right answer, so that there is no capacity to measure; the first was: a key"),
    ] {
        let address = server_that_falls_silent(gets);
        let few =
            ["--keys", "2k", "--time", "200ms", "--warm-up", "100ms", "--objectives", "1ms", "--connections", "4"];
        let run = kv(&[&few[..], &["--servers", &address, "--loads", "40%", "--meter", "none"]].concat());
        assert!(run.code == 1 && run.stderr.contains(says) && run.stdout.is_empty(), "{gets}: {run:?}");
    }
}

#[test]
fn a_reply_without_an_end_is_shown() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let streams: Vec<_> = listener
            .incoming()
            .flatten()
            .map(|mut stream| stream.write_all(&[b'x'; 200]).map(|()| stream))
            .take(1)
            .collect();
        std::thread::sleep(Duration::from_mins(1));
        drop(streams);
    });
    let run = kv(&["--servers", &address, "--keys", "10", "--connections", "1", "--timeout", "1s", "--meter", "none"]);
    assert!(
        run.code == 1 && run.stderr.contains("with \"xxxx") && run.stderr.contains("another --protocol"),
        "{run:?}"
    );
}

#[test]
fn what_does_not_go_together_is_refused_in_a_sentence() {
    for (arguments, says) in [
        (&["--watts", "9"][..], "give one load, e.g. --loads 100%"),
        (&["--loads", "300%"], "from 0.1% to 200%"),
        (&["--objectives", "soon"], "e.g. 200us, 1ms or 0.1s"),
        (&["--replicas", "2"], "at least as many --nodes as --replicas"),
        (&["--nodes", "2", "--servers", "127.0.0.1:1"], "leave one of them out"),
        (&["--protocol", "resp"], "give --servers that speak resp"),
        (&["--keys", "0"], "give --keys 1 or more"),
        (&["--value-size", "4"], "give --value-size from 8 to 128M"),
        (&["--server-pid", "1"], "--servers"),
        (&["--memory", "0"], "--memory 0 is too small for 1 thread: give --memory 8M"),
        (&["--memory", "8M", "--server-threads", "2"], "give --memory 16M, or --server-threads 1"),
    ] {
        let run = kv(arguments);
        assert!(run.code == 2 && run.stderr.contains(says), "{says}: {run:?}");
    }
    let run = kv(&["--dir", "/no/such/directory"]);
    assert!(run.code == 1 && run.stderr.contains("name another --dir"), "{run:?}");
    let run = kv(&["--servers", "127.0.0.1:1", "--time", "100ms"]);
    assert!(run.code == 1 && run.stderr.contains("is a server listening there?"), "{run:?}");
}
