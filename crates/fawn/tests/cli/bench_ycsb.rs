//! `fawn bench ycsb`: against real servers, against one that notes what it is asked, and against some that do wrong.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::bench_net::{json, keep_the_first, number, row, serve};
use crate::server::{Kind, Run, Server, fawn, on_each_server};

on_each_server!(every_workload_has_its_shares_and_finds_what_it_wrote);

/// YCSB's constant.
const EXPONENT: f64 = 0.99;

fn bench(arguments: &[&str]) -> Run {
    fawn(&[&["bench", "ycsb"], arguments].concat())
}

/// Whether `seen` of `all` is what a share comes to, five standard deviations off at most.
fn is_share(seen: u64, all: u64, share: f64) -> bool {
    let all = all as f64;
    (seen as f64 - all * share).abs() <= 5.0 * (all * share * (1.0 - share)).sqrt()
}

/// The sum of Zipf's law over so many ranks.
fn zeta(ranks: usize) -> f64 {
    (1..=ranks).map(|rank| (rank as f64).powf(-EXPONENT)).sum()
}

/// The operations of a row, 0 if there is none.
fn operations(report: &Value, what: &str) -> u64 {
    let rows = report["rows"].as_array().unwrap();
    rows.iter().find(|row| row["what"] == what).map_or(0, |row| row["operations"].as_u64().unwrap())
}

fn every_workload_has_its_shares_and_finds_what_it_wrote(kind: Kind) {
    const OPERATIONS: u64 = 4000;
    let Some(server) = Server::start(kind) else { return };
    for (workload, protocol, updates, inserts, modifies) in [
        ("A", "text", 0.5, 0.0, 0.0),
        ("B", "meta", 0.05, 0.0, 0.0),
        ("C", "text", 0.0, 0.0, 0.0),
        ("D", "meta", 0.0, 0.05, 0.0),
        ("F", "text", 0.0, 0.0, 0.5),
        ("F", "meta", 0.0, 0.0, 0.5),
    ] {
        let small = [workload, &server.address, "--load", "--records", "1000", "--operations", "4k", "--json"];
        let many = ["--connections", "8", "--depth", "4", "--threads", "2", "--protocol", protocol];
        let report = json(&bench(&[small, many].concat()));
        assert_eq!((&report["experiment"], &report["parameters"]["workload"]), (&"ycsb".into(), &workload.into()));
        assert_eq!(report["parameters"]["value_bytes"], 1000, "ten fields of 100 bytes");
        assert_eq!(operations(&report, "load"), 1000);
        let all = row(&report, "all");
        assert_eq!((operations(&report, "all"), &all["wrong"]), (OPERATIONS, &0.into()), "{workload}: {all}");
        assert_eq!(all["hit_share"], 1.0, "{workload}: {all}");

        let [read, updated, inserted, modified] =
            ["reads", "updates", "inserts", "read-modify-writes"].map(|what| operations(&report, what));
        assert!(is_share(inserted, OPERATIONS, inserts), "{workload}: {inserted} inserts");
        assert!(is_share(modified, OPERATIONS, modifies), "{workload}: {modified} read-modify-writes");
        // Of a read-modify-write both halves are counted, too.
        assert!(is_share(updated - modified, OPERATIONS, updates), "{workload}: {updated} updates");
        assert_eq!(read + updated + inserted - modified, OPERATIONS, "{workload}: {report}");
        if modifies > 0.0 {
            let (whole, half) = (row(&report, "read-modify-writes"), row(&report, "reads"));
            assert!(number(whole, "p50_us") > number(half, "p50_us"), "two requests take longer than one: {report}");
        }
        if inserts > 0.0 {
            let stored = format!("STAT curr_items {}\r\n", 1000 + inserted);
            assert!(server.say("stats", "END\r\n").contains(&stored), "what was inserted is there: {inserted}");
        }
    }
}

/// What a server keeps, and every command that it was told, as `get KEY` and `set KEY`.
#[derive(Default)]
struct Noted {
    kept: HashMap<String, Vec<u8>>,
    /// Keys beyond so many are acknowledged, and lost.
    most: Option<usize>,
    told: Vec<(String, String)>,
}

fn take_notes(stream: TcpStream, noted: &Mutex<Noted>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        let tokens: Vec<&str> = line.split_whitespace().collect();
        let (verb, key) = (tokens[0].to_owned(), tokens[1].to_owned());
        let mut value = Vec::new();
        if verb == "set" {
            value.resize(tokens[4].parse::<usize>().unwrap() + 2, 0);
            reader.read_exact(&mut value)?;
        }
        let answer = {
            let mut noted = noted.lock().unwrap();
            noted.told.push((verb.clone(), key.clone()));
            if verb == "set" {
                if noted.kept.contains_key(&key) || noted.most.is_none_or(|most| noted.kept.len() < most) {
                    noted.kept.insert(key, value);
                }
                b"STORED\r\n".to_vec()
            } else {
                noted.kept.get(&key).map_or(b"END\r\n".to_vec(), |value| {
                    let head = format!("VALUE {key} 0 {}\r\n", value.len() - 2);
                    [head.as_bytes(), value, b"END\r\n"].concat()
                })
            }
        };
        reader.get_mut().write_all(&answer)?;
        line.clear();
    }
    Ok(())
}

/// Runs a workload on 100 records against a server that takes notes, one operation after the other: the report, and what
/// the server was told after the load.
fn noted(workload: &str, operations: &str) -> (Value, Vec<(String, String)>) {
    let noted = Arc::new(Mutex::new(Noted::default()));
    let server = Arc::clone(&noted);
    let address = serve(move |stream| take_notes(stream, &server));
    let one = [workload, &address, "--connections", "1", "--load", "--records", "100", "--value-bytes", "50"];
    let report = json(&bench(&[&one[..], &["--operations", operations, "--json"]].concat()));
    let told = std::mem::take(&mut noted.lock().unwrap().told);
    assert!(told[..100].iter().all(|(verb, _)| verb == "set"), "the load comes first");
    (report, told)
}

#[test]
fn popular_records_are_read_as_often_as_zipfs_law_has_it() {
    let (_, told) = noted("C", "20k");
    let mut counts = HashMap::<&str, u64>::new();
    told[100..].iter().for_each(|(_, key)| *counts.entry(key).or_default() += 1);
    // The load goes through the records in their order: by rank.
    for rank in [1, 2, 3, 10, 50] {
        let (seen, share) = (counts[told[rank - 1].1.as_str()], (rank as f64).powf(-EXPONENT) / zeta(100));
        assert!(is_share(seen, 20_000, share), "rank {rank} was read {seen} times of 20,000, not {share}");
    }
    let mut keys: Vec<&str> = told[..100].iter().map(|(_, key)| key.as_str()).collect();
    keys.sort_unstable();
    let place = |rank: usize| keys.iter().position(|key| *key == told[rank].1).unwrap();
    let places: Vec<usize> = (0..5).map(place).collect();
    assert!(places.iter().max().unwrap() - places.iter().min().unwrap() > 10, "they are scattered: {places:?}");
}

#[test]
fn what_was_inserted_last_is_read_most() {
    let (report, told) = noted("D", "10k");
    let mut records: Vec<&str> = told[..100].iter().map(|(_, key)| key.as_str()).collect();
    let (mut newest, mut expected, mut spread) = (0.0, 0.0, 0.0);
    for (verb, key) in &told[100..] {
        if verb == "set" {
            assert!(!records.contains(&key.as_str()), "{key} is inserted again");
            records.push(key);
            continue;
        }
        assert!(records.contains(&key.as_str()), "{key} is read before it is inserted");
        newest += f64::from(u8::from(records.last() == Some(&key.as_str())));
        let share = 1.0 / zeta(records.len());
        expected += share;
        spread += share * (1.0 - share);
    }
    assert!((newest - expected).abs() < 5.0 * f64::sqrt(spread), "{newest} reads of the newest, not {expected}");
    assert_eq!(operations(&report, "inserts") as usize, records.len() - 100);
}

#[test]
fn a_read_modify_write_reads_a_record_and_then_writes_it() {
    let (report, told) = noted("F", "3k");
    let told = &told[100..];
    let sets = told.iter().filter(|(verb, _)| verb == "set").count();
    let read_before = |pair: &&[(String, String)]| pair[0].0 == "get" && pair[1].0 == "set" && pair[0].1 == pair[1].1;
    assert_eq!(told.windows(2).filter(read_before).count(), sets, "each is of the record that was just read");
    assert_eq!(operations(&report, "read-modify-writes") as usize, sets);
    assert_eq!((operations(&report, "reads"), operations(&report, "updates") as usize), (3000, sets));
}

#[test]
fn read_modify_writes_come_by_the_clock_too() {
    let Some(server) = Server::fawn(&["--threads", "1", "--ack", "memory"]) else { return };
    let at_a_pace =
        ["F", &server.address, "--load", "--records", "500", "--rate", "2k", "--spacing", "fixed", "--json"];
    let report = json(&bench(&[&at_a_pace[..], &["--time", "1s", "--warm-up", "0", "--connections", "4"]].concat()));
    let [all, modified] = ["all", "read-modify-writes"].map(|what| operations(&report, what));
    assert!((1500..=2000).contains(&all), "{all} of 2,000 operations, not of requests, came by the clock");
    assert!(is_share(modified, all, 0.5), "{modified} of {all}");
}

#[test]
fn a_server_that_forgets_updates_is_found_out() {
    let measure = |workload: &str| {
        let kept = Mutex::default();
        let address = serve(move |stream| keep_the_first(stream, &kept));
        let quick = ["--records", "20", "--load", "--connections", "2", "--operations", "2k", "--value-bytes", "100"];
        bench(&[&[workload, address.as_str()], &quick[..]].concat())
    };
    for workload in ["A", "B", "F"] {
        let run = measure(workload);
        assert_eq!(run.code, 1, "{workload}: {run:?}");
        assert!(run.stderr.contains("values were wrong") && run.stderr.contains("are possible"), "{run:?}");
    }
    let run = measure("C");
    assert_eq!(run.code, 0, "what is never written again is never old: {run:?}");
}

#[test]
fn a_server_that_loses_inserts_is_found_out_and_so_is_one_that_was_not_loaded() {
    let noted = Mutex::new(Noted { most: Some(100), ..Noted::default() });
    let address = serve(move |stream| take_notes(stream, &noted));
    let quick = ["--records", "100", "--operations", "1k", "--value-bytes", "50", "--connections", "2"];
    let run = bench(&[&["D", address.as_str(), "--load"], &quick[..]].concat());
    assert!(run.code == 1 && run.stderr.contains("reads found no record"), "{run:?}");
    let Some(server) = Server::fawn(&["--threads", "1"]) else { return };
    let run = bench(&[&["C", server.address.as_str()], &quick[..]].concat());
    assert!(run.code == 1 && run.stderr.contains("1000 reads found no record: load"), "{run:?}");
}

#[test]
fn scans_are_refused_with_the_reason_and_so_is_what_cannot_be_meant() {
    for (arguments, says) in [
        (&["E", "a:1"][..], "workload E scans ranges of keys, and memcached's protocol has no scan"),
        (&["G", "a:1"], "write A, B, C, D or F"),
        (&["A"], "ADDR"),
        (&["A", "a:1", "--server-pid", "1", "2"], "write HOST:PORT, and several processes as `--server-pid 1,2`"),
        (&["A", "a:1", "--records", "0"], "--records 1 or more"),
        (&["A", "a:1", "--operations", "0"], "--operations 1 or more"),
        (&["A", "a:1", "--operations", "5", "--time", "1s"], "cannot be used with"),
        (&["A", "a:1", "--time", "0"], "there is nothing to measure"),
        (&["A", "a:1", "--value-bytes", "7"], "from 8 to 128M"),
    ] {
        let run = bench(arguments);
        assert!(run.code == 2 && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
}
