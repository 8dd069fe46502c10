//! What people point at a memcached: `memcached-tool`, the Prometheus exporter, programs like `mctop`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::cluster::{Cluster, Process};
use crate::server::{Kind, Server, fawn_command, on_each_server, say};

on_each_server!(the_prometheus_exporter_finds_all_that_it_reads, memcached_tool_shows_stats_and_dumps_what_is_there,);

/// `STAT` lines as the exporter's client splits them: at blanks, and the name at colons.
struct Stats {
    general: BTreeMap<String, String>,
    slabs: BTreeMap<u32, BTreeMap<String, String>>,
    items: BTreeMap<u32, BTreeMap<String, String>>,
}

impl Stats {
    fn of(address: &str) -> Self {
        let mut stats = Self { general: BTreeMap::new(), slabs: BTreeMap::new(), items: BTreeMap::new() };
        for command in ["stats", "stats slabs", "stats items"] {
            for line in say(address, command, "END\r\n").lines() {
                let words: Vec<&str> = line.split(' ').collect();
                let ["STAT", name, value] = words[..] else { continue };
                let names: Vec<&str> = name.split(':').collect();
                let (value, number) = (value.to_owned(), |text: &str| text.parse().expect("a class is a number"));
                match names[..] {
                    [name] => stats.general.insert(name.to_owned(), value),
                    [class, name] => stats.slabs.entry(number(class)).or_default().insert(name.to_owned(), value),
                    ["items", class, name] => {
                        stats.items.entry(number(class)).or_default().insert(name.to_owned(), value)
                    }
                    _ => None,
                };
            }
        }
        stats
    }
}

/// As `memcached_exporter` has it: `stats settings` has lines of three or four words.
fn settings(address: &str) -> BTreeMap<String, String> {
    let text = say(address, "stats settings", "END\r\n");
    let lines = text.lines().filter(|line| *line != "END");
    lines
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            assert!((3..=4).contains(&words.len()), "the exporter says that the server is down over {line:?}");
            (words[1].to_owned(), words[2].to_owned())
        })
        .collect()
}

fn assert_numbers(of: &BTreeMap<String, String>, names: &[&str]) {
    for name in names {
        let value = of.get(*name).unwrap_or_else(|| panic!("{name} is not there"));
        assert!(value.parse::<f64>().is_ok(), "{name}: {value}");
    }
}

/// What the exporter reads of `stats`, but for what it passes over where it is not there.
const GENERAL: &[&str] = &[
    "uptime",
    "time",
    "cas_badval",
    "cmd_flush",
    "cmd_set",
    "bytes",
    "limit_maxbytes",
    "curr_items",
    "total_items",
    "bytes_read",
    "bytes_written",
    "curr_connections",
    "total_connections",
    "rejected_connections",
    "conn_yields",
    "listen_disabled_num",
    "evictions",
    "reclaimed",
    "total_malloced",
    "accepting_conns",
];

const OF_SLABS: &[&str] = &[
    "chunk_size",
    "chunks_per_page",
    "total_pages",
    "total_chunks",
    "used_chunks",
    "free_chunks",
    "free_chunks_end",
    "get_hits",
    "delete_hits",
    "incr_hits",
    "decr_hits",
    "cas_hits",
    "cas_badval",
    "touch_hits",
    "cmd_set",
];

const OF_ITEMS: &[&str] = &[
    "number",
    "age",
    "evicted",
    "evicted_nonzero",
    "evicted_time",
    "evicted_unfetched",
    "expired_unfetched",
    "outofmemory",
    "reclaimed",
    "tailrepairs",
    "crawler_reclaimed",
    "moves_to_cold",
    "moves_to_warm",
    "moves_within_lru",
    "number_hot",
    "number_warm",
    "number_cold",
    "age_hot",
    "age_warm",
    "hits_to_hot",
    "hits_to_warm",
    "hits_to_cold",
    "hits_to_temp",
    "mem_requested",
    "crawler_items_checked",
    "lrutail_reflocked",
];

fn check_exporter(address: &str) {
    let stats = Stats::of(address);
    assert_numbers(&stats.general, GENERAL);
    for operation in ["get", "delete", "incr", "decr", "cas", "touch"] {
        assert_numbers(&stats.general, &[&format!("{operation}_hits"), &format!("{operation}_misses")]);
    }
    for name in ["rusage_user", "rusage_system"] {
        let (seconds, micros) = stats.general[name].split_once('.').expect("seconds and microseconds");
        assert!(seconds.parse::<u64>().is_ok() && micros.parse::<u64>().is_ok(), "{name}");
    }
    assert!(stats.general["version"].starts_with(|c: char| c.is_ascii_digit()));
    assert!(
        !stats.general.contains_key("extstore_limit_maxbytes") && !stats.general.contains_key("proxy_backend_total")
    );
    for class in stats.slabs.values() {
        assert_numbers(class, OF_SLABS);
    }
    for class in stats.items.values() {
        assert_numbers(class, OF_ITEMS);
    }
    let settings = settings(address);
    assert_numbers(&settings, &["maxconns"]);
    if settings.get("lru_crawler").is_some_and(|is_on| is_on == "yes") {
        assert_numbers(&settings, &["lru_crawler_sleep", "lru_crawler_tocrawl", "hot_lru_pct", "warm_lru_pct"]);
    }
}

fn the_prometheus_exporter_finds_all_that_it_reads(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    check_exporter(&server.address);
    assert_eq!(server.say("set a 0 0 1\r\nx", "\r\n"), "STORED\r\n");
    check_exporter(&server.address);
    assert_eq!(Stats::of(&server.address).items.len(), 1);
    if kind == Kind::Memcached {
        return;
    }
    // What is told of a directory or a mode may have blanks of its own.
    let (dir, socket) = (server.dir().join("a dir of words"), server.dir().join("a socket of words"));
    let fixed = ["serve", "--dir", dir.to_str().unwrap(), "--listen", "127.0.0.1:0", "--memory", "64M"];
    let more = ["--ack", "interval:50", "--unix", socket.to_str().unwrap()];
    let other = fawn_command(&[&fixed[..], &more].concat());
    let other = Process::logged(other, &server.dir().join("other.log"), "serving memcached on ");
    check_exporter(&other.address);
    let settings = settings(&other.address);
    assert_eq!(settings["fawn_ack"], "interval:50");
    assert!(settings["fawn_dir"].ends_with("/a%20dir%20of%20words"), "{}", settings["fawn_dir"]);
}

#[test]
fn the_prometheus_exporter_finds_all_that_it_reads_of_a_front_end_beside_nodes() {
    let cluster = Cluster::start(2, 2);
    let (any, managers) = ("127.0.0.1:0", &cluster.manager.address);
    let front = ["frontend", "--name", "f1", "--threads", "1", "--listen", any, "--cluster-listen", any];
    let front = fawn_command(&[&front[..], &["--manager", managers]].concat());
    let front = Process::logged(front, &cluster.file("f1.log"), "serving memcached on ");
    for address in [&front.address, cluster.clients()] {
        check_exporter(address);
        assert_eq!(say(address, "set a 0 0 1\r\nx", "\r\n"), "STORED\r\n");
        assert_eq!(say(address, "get a", "END\r\n"), "VALUE a 0 1\r\nx\r\nEND\r\n");
        check_exporter(address);
    }
    let of = |name: &str| -> u64 { Stats::of(&front.address).general[name].parse().unwrap() };
    assert_eq!((of("cmd_set"), of("get_hits")), (1, 1), "what it was asked itself");
}

const TOOL: &str = "/usr/share/memcached/scripts/memcached-tool";

/// What it prints, line by line.
fn tool(server: &Server, arguments: &[&str]) -> Vec<String> {
    let run = Command::new("perl").arg(TOOL).arg(&server.address).args(arguments).output().unwrap();
    assert!(run.status.success(), "{arguments:?}: {run:?}");
    String::from_utf8(run.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn memcached_tool_shows_stats_and_dumps_what_is_there(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    if !Path::new(TOOL).exists() || Command::new("perl").arg("-v").output().is_err() {
        eprintln!("skipped: memcached-tool is not installed (apt-get install memcached perl)");
        return;
    }
    for n in 0..50 {
        assert_eq!(server.say(&format!("set key{n} {n} 0 10\r\n{n:010}"), "\r\n"), "STORED\r\n");
    }
    assert_eq!(server.say("set timed 0 2000000000 1\r\nx", "\r\n"), "STORED\r\n");
    let shown = tool(&server, &["display"]);
    assert_eq!(shown.len(), 2, "a heading and a class: {shown:?}");
    assert!(shown[1].split_whitespace().any(|word| word == "51") && shown[1].ends_with(" 0"), "{shown:?}");
    let field = |mode: &str, name: &str| {
        let lines = tool(&server, &[mode]);
        let found = lines.iter().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("{name} is in {lines:?}")).trim().to_owned()
    };
    assert_eq!(field("stats", "curr_items"), "51");
    assert!(field("settings", "maxconns").parse::<u64>().is_ok());
    assert!(!tool(&server, &["sizes"]).is_empty());
    assert_eq!(tool(&server, &["keys"]).len(), 51);
    assert_eq!(tool(&server, &["keys", "7"]).len(), 7);
    let dumped = tool(&server, &["dump"]);
    for n in 0..50 {
        let at = dumped.iter().position(|line| *line == format!("add key{n} {n} 0 10")).expect("it is in the dump");
        assert_eq!(dumped[at + 1], format!("{n:010}"));
    }
    assert!(dumped.contains(&"add timed 0 2000000000 1".to_owned()), "{dumped:?}");
}

/// What tools such as `mctop`, `memkeys` and libraries' consoles send, and how the answer ends.
const ASKED: &[(&str, &str)] = &[
    ("watch fetchers", "\r\n"),
    ("watch fetchers mutations", "\r\n"),
    ("watch evictions", "\r\n"),
    ("lru_crawler metadump all", "END\r\n"),
    ("lru_crawler metadump hash", "\r\n"),
    ("lru_crawler metadump 1", "\r\n"),
    ("lru_crawler mgdump hash", "\r\n"),
    ("lru_crawler enable", "\r\n"),
    ("lru_crawler sleep 100", "\r\n"),
    ("lru_crawler tocrawl 0", "\r\n"),
    ("stats cachedump 1 100", "END\r\n"),
    ("stats cachedump 1 0", "END\r\n"),
    ("stats detail on", "OK\r\n"),
    ("stats detail dump", "END\r\n"),
    ("stats detail off", "OK\r\n"),
    ("stats conns", "END\r\n"),
    ("stats extstore", "END\r\n"),
    ("stats sizes", "END\r\n"),
    ("stats sizes_enable", "\r\n"),
    ("stats sizes_disable", "\r\n"),
    ("stats reset", "RESET\r\n"),
    ("cache_memlimit 64", "\r\n"),
    ("verbosity 1", "OK\r\n"),
    ("slabs reassign 1 2", "\r\n"),
    ("slabs automove 0", "\r\n"),
    ("lru mode flat", "\r\n"),
    ("lru temp_ttl 60", "\r\n"),
    ("version", "\r\n"),
];

#[test]
fn whatever_a_tool_asks_for_is_answered_and_the_connection_goes_on() {
    let server = Server::start(Kind::Fawn).expect("fawn is built");
    assert_eq!(server.say("set a 0 0 1\r\nx", "\r\n"), "STORED\r\n");
    for (command, end) in ASKED {
        let answer = say(&server.address, command, end);
        assert!(answer.ends_with(end), "{command}: {answer}");
        let after = say(&server.address, &format!("{command}\r\nmn"), "MN\r\n");
        assert!(after.ends_with("\r\nMN\r\n") || after.ends_with("\nMN\r\n"), "{command}: {after}");
        if command.starts_with("watch") {
            assert_eq!(answer, "CLIENT_ERROR watch commands not allowed\r\n");
        }
    }
}
