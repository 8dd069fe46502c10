//! What operators see: the admin port's metrics and health, what `stats` counts in a cluster, the log.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use fawn_admin::{Family, MetricKind};

use crate::server::{fawn, fawn_command, say, wait_for};

/// A process with an admin port, killed when dropped.
struct Process {
    child: Child,
    /// What it has said when it was ready.
    lines: Vec<String>,
}

impl Process {
    /// Starts `fawn` with these arguments; it says `lines` lines, of which the last is where its admin port is.
    fn start(arguments: &[&str], lines: usize) -> Self {
        Self::start_logged(arguments, lines, Stdio::null())
    }

    /// The same, with a log.
    fn start_logged(arguments: &[&str], lines: usize, log: Stdio) -> Self {
        let all = [arguments, &["--admin", "127.0.0.1:0"]].concat();
        let mut child = fawn_command(&all).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines().take(lines);
        let lines = said.map(Result::unwrap).collect();
        Self { child, lines }
    }

    fn serve(dir: &Path, more: &[&str]) -> Self {
        let fixed = ["serve", "--dir", dir.to_str().unwrap(), "--listen", "127.0.0.1:0", "--memory", "96M"];
        Self::start(&[&fixed, more].concat(), 2)
    }

    /// The end of the line that has `before` in it.
    fn told(&self, before: &str) -> String {
        let line = self.lines.iter().find_map(|line| line.split_once(before));
        line.unwrap_or_else(|| panic!("{before:?} is in {:?}", self.lines)).1.trim_end_matches('/').to_owned()
    }

    fn clients(&self) -> String {
        self.told("serving memcached on ")
    }

    fn get(&self, path: &str) -> (u16, String) {
        http(&self.told("on http://"), path)
    }

    fn metrics(&self) -> Metrics {
        let (status, text) = self.get("/metrics");
        assert_eq!(status, 200);
        Metrics::parse(&text)
    }

    /// The reasons for which it does not serve.
    fn reasons(&self) -> Vec<String> {
        let (status, text) = self.get("/health");
        reasons(status, &text)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status and the body of an answer.
pub fn http(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Why a process is not healthy, which its health says.
pub fn reasons(status: u16, text: &str) -> Vec<String> {
    let told: serde_json::Value = serde_json::from_str(text).unwrap();
    let reasons = told["reasons"].as_array().unwrap();
    assert_eq!((told["healthy"] == true, status), (reasons.is_empty(), if reasons.is_empty() { 200 } else { 503 }));
    reasons.iter().map(|reason| reason.as_str().unwrap().to_owned()).collect()
}

/// Metrics as they came, strictly read: each name once, with its kind before its lines, no line twice, histograms whose
/// counts only grow.
struct Metrics {
    kinds: BTreeMap<String, String>,
    samples: BTreeMap<String, f64>,
}

impl Metrics {
    fn parse(text: &str) -> Self {
        let (mut kinds, mut samples) = (BTreeMap::new(), BTreeMap::new());
        let mut lines = text.lines();
        let (mut family, mut kind) = ("", "");
        assert!(text.ends_with('\n'));
        while let Some(line) = lines.next() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                family = help.split_once(' ').expect("a name and its meaning").0;
                let of = lines.next().and_then(|line| line.strip_prefix("# TYPE ")).expect("the kind comes next");
                let (name, its_kind) = of.split_once(' ').unwrap();
                assert_eq!(name, family);
                kind = its_kind;
                assert!(["counter", "gauge", "histogram"].contains(&its_kind), "{its_kind}");
                assert_eq!(kinds.insert(family.to_owned(), kind.to_owned()), None, "{family} comes once");
                continue;
            }
            let (name, value) = line.rsplit_once(' ').expect("a sample and its value");
            let suffix = bare(name).strip_prefix(family).unwrap_or_else(|| panic!("{line} is of {family}"));
            let suffixes: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(suffixes.contains(&suffix), "{line} is a sample of a {kind}");
            let value: f64 = value.parse().unwrap();
            assert!(kind == "gauge" || value >= 0.0, "{line}");
            assert_eq!(samples.insert(name.to_owned(), value), None, "{name} comes once");
        }
        Self { kinds, samples }.checked(text)
    }

    /// The buckets of a histogram follow each other, and the last has all.
    fn checked(self, text: &str) -> Self {
        let mut before: (String, f64) = (String::new(), 0.0);
        for line in text.lines().filter(|line| line.contains("_bucket{")) {
            let (labels, bound) = line.split_once("le=\"").unwrap();
            let count: f64 = line.rsplit_once(' ').unwrap().1.parse().unwrap();
            assert!(before.0 != labels || count >= before.1, "{line} after {}", before.1);
            before = (labels.to_owned(), count);
            if bound.starts_with("+Inf") {
                let all = labels.trim_end_matches(',').replace("_bucket", "_count") + "}";
                assert_eq!(self.number(&all) as u64, count as u64, "{all}");
            }
        }
        self
    }

    fn number(&self, sample: &str) -> f64 {
        *self.samples.get(sample).unwrap_or_else(|| panic!("{sample} is told"))
    }

    /// The sum over all labels.
    fn sum(&self, name: &str) -> f64 {
        self.samples.iter().filter(|(sample, _)| bare(sample) == name).map(|(_, value)| value).sum()
    }

    fn operations(&self, operation: &str, result: &str) -> u64 {
        self.number(&format!("fawn_operations_total{{operation=\"{operation}\",result=\"{result}\"}}")) as u64
    }

    fn answered(&self, operation: &str) -> u64 {
        self.number(&format!("fawn_operation_duration_seconds_count{{operation=\"{operation}\"}}")) as u64
    }
}

/// A sample's name without its labels.
fn bare(sample: &str) -> &str {
    sample.split('{').next().unwrap()
}

/// Everything that a process may tell.
fn families() -> Vec<&'static Family> {
    let all = [fawn_admin::process::FAMILIES, fawn_node::metrics::FAMILIES, fawn_manager::metrics::FAMILIES];
    all.into_iter().flatten().copied().collect()
}

/// One of each of what clients do, and more gets; what comes of it is known.
fn drive(address: &str) {
    let stored = |command: &str| assert_eq!(say(address, command, "\r\n"), "STORED\r\n");
    for number in 0..20 {
        stored(&format!("set key{number} 0 0 5\r\nvalue"));
    }
    assert_eq!(say(address, "add key0 0 0 1\r\nx", "\r\n"), "NOT_STORED\r\n");
    stored("set n 0 0 1\r\n5");
    for number in 0..25 {
        let found = say(address, &format!("get key{number}"), "END\r\n");
        assert_eq!(found.starts_with("VALUE"), number < 20, "{found}");
    }
    say(address, "get key1 key2 nothing", "END\r\n");
    for command in ["delete key3", "delete key3", "incr n 2", "decr absent 1", "touch key4 0"] {
        say(address, command, "\r\n");
    }
    assert_eq!(say(address, "cas key5 0 0 1 1\r\nx", "\r\n"), "EXISTS\r\n");
}

fn check_driven(metrics: &Metrics) {
    for (operation, result, count) in [
        ("get", "hit", 22),
        ("get", "miss", 6),
        ("set", "stored", 21),
        ("set", "not_stored", 1),
        ("cas", "stored", 0),
        ("cas", "changed", 1),
        ("delete", "hit", 1),
        ("delete", "miss", 1),
        ("incr", "hit", 1),
        ("decr", "miss", 1),
        ("touch", "hit", 1),
        ("touch", "miss", 0),
    ] {
        assert_eq!(metrics.operations(operation, result), count, "{operation} {result}");
    }
    // Each key of a line is a get.
    assert_eq!(metrics.answered("get"), 28);
    assert_eq!(metrics.answered("write"), 28);
    assert!(metrics.sum("fawn_operation_duration_seconds_sum") > 0.0);
    assert_eq!(metrics.sum("fawn_refused_operations_total") as u64, 0);
    assert!(metrics.sum("fawn_received_bytes_total") > 500.0 && metrics.sum("fawn_sent_bytes_total") > 500.0);
    for family in metrics.kinds.keys() {
        assert!(families().iter().any(|known| known.name == family), "{family} is a metric that is known");
    }
}

/// A number of `stats`.
fn stat(address: &str, name: &str) -> String {
    let stats = say(address, "stats", "END\r\n");
    let line = stats.lines().find_map(|line| line.strip_prefix("STAT ")?.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is in {stats}")).to_owned()
}

/// However many stores there are, a device has one sample of each figure, and is as full as `df` says.
fn check_device(get: impl Fn() -> Metrics, dir: &Path) {
    let metrics = get();
    for name in ["fawn_device_bytes", "fawn_device_free_bytes", "fawn_device_used_percent"] {
        assert_eq!(metrics.samples.keys().filter(|sample| bare(sample) == name).count(), 1, "{name}");
    }
    // Again where others write meanwhile: the tests of full disks do.
    wait_for("a device that is as full as df says", || {
        let df = std::process::Command::new("df").args(["--output=pcent"]).arg(dir).output().unwrap();
        let df = String::from_utf8(df.stdout).unwrap();
        let used: f64 = df.lines().last().unwrap().trim().trim_end_matches('%').parse().unwrap();
        ((get().sum("fawn_device_used_percent") - used).abs() <= 2.0).then_some(())
    });
}

#[test]
fn a_store_tells_exactly_what_was_asked_of_it_and_that_it_serves() {
    let dir = tempfile::tempdir().unwrap();
    let server = Process::serve(&dir.path().join("data"), &["--threads", "2"]);
    assert_eq!(server.reasons(), [""; 0]);
    drive(&server.clients());
    let metrics = server.metrics();
    check_driven(&metrics);
    assert_eq!(metrics.number("fawn_healthy") as u64, 1);
    assert_eq!(metrics.number("fawn_loops") as u64, 2);
    // What a store tells may be a moment old. The touch has changed nothing.
    let metrics = wait_for("all 23 records", || {
        let metrics = server.metrics();
        (metrics.sum("fawn_store_appended_records_total") as u64 == 23).then_some(metrics)
    });
    assert_eq!(metrics.sum("fawn_store_items") as u64, 20);
    assert!(metrics.sum("fawn_device_written_bytes_total") >= metrics.sum("fawn_store_appended_bytes_total"));
    assert!(metrics.sum("fawn_device_syncs_total") > 0.0, "answers were durable");
    assert_eq!(stat(&server.clients(), "curr_items"), "20");
    assert_eq!(stat(&server.clients(), "fawn_curr_items_of"), "all");
    assert!(!metrics.kinds.contains_key("fawn_seat_info"), "it is in no cluster");
    check_device(|| server.metrics(), dir.path());
    assert!(metrics.number("process_max_fds") >= metrics.number("process_open_fds"));
    assert!(server.get("/").1.contains("/metrics") && server.get("/nothing").0 == 404);
}

/// Whether metrics tell of three members, and of a tail and two others for each range.
fn tells_of_all(metrics: &Metrics, ranges: usize) -> bool {
    let count = |start: &str| metrics.samples.keys().filter(|sample| sample.starts_with(start)).count();
    let seats = count("fawn_seat_info{");
    let tails = |sample: &&String| sample.starts_with("fawn_range_role{") && sample.contains("role=\"tail\"");
    seats >= 3
        && count("fawn_front_wedges{") == seats
        && count("fawn_node_lease_seconds{") == seats
        && metrics.samples.keys().filter(tails).count() == ranges
        && metrics.number("fawn_cluster_members_alive") as u64 == 3
        && metrics.number("fawn_cluster_least_replicas") as u64 == 3
}

#[test]
fn a_cluster_in_one_process_tells_of_seats_ranges_links_and_managers() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let fixed =
        ["serve", "--dir", data.to_str().unwrap(), "--listen", "127.0.0.1:0", "--memory", "96M", "--nodes", "3"];
    let server = Process::start(&[&fixed[..], &["--replicas", "3", "--manager-address", "127.0.0.1:0"]].concat(), 3);
    let clients = server.clients();
    wait_for("a cluster that takes writes", || {
        (say(&clients, "set warm 0 0 1\r\nx", "\r\n") == "STORED\r\n").then_some(())
    });
    wait_for("all ranges with three replicas", || {
        let metrics = server.metrics();
        let settled = metrics.kinds.contains_key("fawn_cluster_settled") && metrics.sum("fawn_cluster_settled") > 0.0;
        (settled && metrics.sum("fawn_cluster_ranges_short") == 0.0 && server.reasons().is_empty()).then_some(())
    });
    // One that was not answered may have been carried out.
    wait_for("a deletion", || {
        ["DELETED\r\n", "NOT_FOUND\r\n"].contains(&&*say(&clients, "delete warm", "\r\n")).then_some(())
    });
    wait_for("a cluster without items", || (stat(&clients, "curr_items") == "0").then_some(()));
    assert_eq!(say(&clients, "stats reset", "\r\n"), "RESET\r\n");
    drive(&clients);
    check_driven(&server.metrics());

    // On a busy machine a lease may end, and chains change, at any time.
    let (metrics, ranges) = wait_for("a cluster that is whole, as its metrics tell", || {
        let metrics = server.metrics();
        let ranges = metrics.number("fawn_cluster_ranges") as usize;
        tells_of_all(&metrics, ranges).then_some((metrics, ranges))
    });
    assert!(metrics.sum("fawn_node_epoch_changes_total") as usize >= 3 * ranges);
    assert!(metrics.number("fawn_manager_epoch_changes_total") as usize >= ranges);
    check_device(|| server.metrics(), dir.path());
    let brief = wait_for("the ranges of three nodes, without each of them", || {
        let (status, brief) = server.get("/metrics?ranges=no");
        assert!(status == 200 && !brief.contains("fawn_range_") && !brief.contains("fawn_cluster_range_"), "{brief}");
        let brief = Metrics::parse(&brief);
        (brief.sum("fawn_node_ranges") as usize == 3 * ranges).then_some(brief)
    });
    assert!(brief.kinds.contains_key("fawn_node_lag_records") && brief.kinds.contains_key("fawn_cluster_lag_records"));
    // What a store tells may be a moment old.
    wait_for("three replicas of 20 keys, of n twice, of one deletion, and of what was there first", || {
        let metrics = server.metrics();
        (metrics.sum("fawn_store_appended_records_total") as u64 >= 3 * 23).then_some(())
    });
    let (last, committed) = ("fawn_range_last_sequence", "fawn_range_committed_sequence");
    wait_for("ranges without lag", || {
        let metrics = server.metrics();
        let is_level = metrics.sum(last) > 0.0 && (metrics.sum(last) - metrics.sum(committed)).abs() < 0.5;
        (is_level && metrics.sum("fawn_range_lag_records") == 0.0).then_some(())
    });

    // Three replicas of each are stored, and each is one item.
    wait_for("20 items", || (stat(&clients, "curr_items") == "20").then_some(()));
    assert_eq!(stat(&clients, "fawn_curr_items_of"), "tails of this process");
    wait_for("20 items in all slabs", || {
        say(&clients, "stats items", "END\r\n").contains("STAT items:1:number 20\r\n").then_some(())
    });
    assert_eq!((stat(&clients, "cmd_get"), stat(&clients, "get_hits")), ("28".into(), "22".into()));
    assert_eq!(stat(&clients, "total_items"), "22");
    for report in ["settings", "slabs", "sizes", "conns"] {
        assert!(say(&clients, &format!("stats {report}"), "END\r\n").starts_with("STAT "), "{report}");
    }
}

#[test]
fn a_node_that_loses_its_managers_says_so_and_why() {
    let dir = tempfile::tempdir().unwrap();
    let part = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let manager = Process::start(&["manager", "--dir", &part("m"), "--listen", "127.0.0.1:0", "--replicas", "1"], 2);
    let managers = manager.told(" ready on ");
    let fixed =
        ["--manager", &managers, "--cluster-listen", "127.0.0.1:0", "--threads", "1", "--listen", "127.0.0.1:0"];
    let dir_of_node = part("n");
    let node = ["node", "--name", "n1", "--memory", "64M", "--dir", &dir_of_node];
    let node = Process::start(&[&node[..], &fixed].concat(), 3);
    let front = Process::start(&[&["frontend", "--name", "f1"][..], &fixed].concat(), 3);
    for process in [&manager, &node, &front] {
        wait_for("health", || process.reasons().is_empty().then_some(()));
    }
    wait_for("both members", || {
        let metrics = manager.metrics();
        (metrics.number("fawn_cluster_members_alive") as u64 == 2).then_some(())
    });
    wait_for("a write through the front-end", || {
        (say(&front.clients(), "set k 0 0 1\r\nx", "\r\n") == "STORED\r\n").then_some(())
    });
    assert_eq!(front.metrics().operations("set", "stored"), 1);
    assert_eq!(stat(&front.clients(), "curr_items"), "0", "it has no tail");
    assert_eq!(stat(&node.clients(), "curr_items"), "1");
    assert_eq!(manager.metrics().number("fawn_manager_leader") as u64, 1);
    drop(manager);
    let why = wait_for("a node without managers", || {
        let reasons = node.reasons();
        reasons.iter().any(|why| why.contains("contact with a leading manager")).then_some(reasons)
    });
    assert!(why[0].starts_with("n1, seat "), "{why:?}");
    wait_for("a front-end without managers", || (!front.reasons().is_empty()).then_some(()));
    assert_eq!(node.metrics().number("fawn_healthy") as u64, 0);
    assert!(say(&front.clients(), "get k", "END\r\n").starts_with("VALUE k"), "it serves all the same");
}

#[test]
fn a_node_that_is_not_let_in_yet_says_so_and_its_log_is_json() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("n");
    let fixed = ["node", "--manager", "127.0.0.1:1", "--cluster-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"];
    let more = ["--threads", "1", "--admin", "127.0.0.1:0", "--log-format", "json", "--dir", data.to_str().unwrap()];
    let mut child = fawn_command(&[&fixed[..], &more].concat()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let address = log.find_map(|line| {
        let told: serde_json::Value = serde_json::from_str(&line).expect("each line is an object");
        assert!(told["level"].is_string() && told["timestamp"].is_string() && told["target"].is_string(), "{told}");
        let message = told["message"].as_str().unwrap();
        Some(message.split_once("on http://")?.1.trim_end_matches('/').to_owned())
    });
    let address = address.expect("the log says where the admin port is");
    wait_for("what it waits for", || {
        let (status, text) = http(&address, "/health");
        let reasons = reasons(status, &text);
        assert_eq!(status, 503);
        reasons.iter().any(|why| why.contains("waits until the managers admit it")).then_some(())
    });
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_first_lines_of_a_log_say_what_a_server_runs_with() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let data = data.to_str().unwrap();
    let fixed = ["serve", "--dir", data, "--listen", "127.0.0.1:0", "--threads", "1", "--ack", "interval:50"];
    let mut child = fawn_command(&[&fixed[..], &["--log-format", "json"]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let told = log.find_map(|line| {
        let told: serde_json::Value = serde_json::from_str(&line).expect("each line is an object");
        (told["message"] == "server has started").then_some(told)
    });
    let told = told.expect("a line says that it has started");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((&told["dir"], &told["threads"], &told["threads_from"]), (&data.into(), &1.into(), &"--threads".into()));
    assert!(told["memory_bytes"].as_u64().unwrap() >= 64 << 20, "{told}");
    assert!(told["memory_from"].as_str().unwrap().starts_with("a quarter of "), "{told}");
    assert!(told["ack"].as_str().unwrap().contains("interval") && told["version"].is_string(), "{told}");
    assert!(["io_uring", "pread"].contains(&told["read_path"].as_str().unwrap()), "{told}");
    assert!(told["addresses"].as_str().unwrap().starts_with("127.0.0.1:"), "{told}");
    assert!(!["", "none", "unknown"].contains(&told["file_system"].as_str().unwrap()), "{told}");
}

#[test]
fn who_was_refused_and_from_where_is_in_the_log_and_the_end_of_certificates_in_the_metrics() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (users, log, certs) = (path("users"), path("log"), path("certs"));
    std::fs::write(&users, "alice:secret\n").unwrap();
    let data = path("data");
    let fixed = ["serve", "--dir", &data, "--listen", "127.0.0.1:0", "--memory", "96M", "--auth-file", &users];
    let mut child =
        fawn_command(&fixed).stdout(Stdio::piped()).stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    let line = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let address = line.split_once("memcached on ").unwrap().1.to_owned();
    assert!(say(&address, "set x 0 0 12\r\nmallory oops", "\r\n").starts_with("CLIENT_ERROR"));
    let told = wait_for("a refusal in the log", || {
        let log = std::fs::read_to_string(&log).unwrap();
        log.contains("as user 'mallory'").then_some(log)
    });
    assert!(
        told.contains("tcp:127.0.0.1:") && !told.contains("oops"),
        "with the address, without the password: {told}"
    );
    child.kill().unwrap();
    child.wait().unwrap();

    let run = fawn(&["certs", "init", "--certs", &certs, "--manager", "m1=127.0.0.1", "--member", "n1=127.0.0.1"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (dir_of_manager, any) = (path("m"), "127.0.0.1:0");
    let manager = ["manager", "--name", "m1", "--dir", &dir_of_manager, "--listen", any, "--certs", &certs];
    let manager = Process::start(&[&manager[..], &["--replicas", "1"]].concat(), 2);
    // A node has a certificate for its links, and may have one for clients.
    let file = |name: &str| format!("{certs}/{name}.pem");
    let (managers, data, shown, key) = (manager.told(" ready on "), path("n1"), file("m1"), file("m1-key"));
    let node = ["node", "--name", "n1", "--dir", &data, "--memory", "64M", "--threads", "1", "--manager", &managers];
    let more = ["--listen", any, "--cluster-listen", any, "--certs", &certs, "--tls-cert", &shown, "--tls-key", &key];
    let log = path("n1.log");
    let node = Process::start_logged(&[&node[..], &more].concat(), 3, std::fs::File::create(&log).unwrap().into());
    let mut stranger = TcpStream::connect(node.clients()).unwrap();
    stranger.write_all(b"version\r\n").unwrap();
    let _ = stranger.read_to_end(&mut Vec::new());
    let from = stranger.local_addr().unwrap();
    wait_for("a refusal in the log", || {
        let says = format!("tcp:{from}, a client of the TLS port, was disconnected: it does not speak TLS");
        std::fs::read_to_string(&log).unwrap().contains(&says).then_some(())
    });
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    let check = |metrics: &Metrics, name: &str| {
        let end = metrics.number(&format!("fawn_certificate_end_seconds{{file=\"{}\"}}", file(name)));
        assert!(end > now && end < now + 4e9, "{end} is to come");
    };
    check(&manager.metrics(), "m1");
    check(&node.metrics(), "n1");
    check(&node.metrics(), "m1");
}

#[test]
fn an_admin_port_that_others_could_reach_and_a_level_that_is_none_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let data = data.to_str().unwrap();
    let run = fawn(&["serve", "--dir", data, "--listen", "127.0.0.1:0", "--admin", "0.0.0.0:0"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("can be reached from other machines"), "{}", run.stderr);
    assert!(run.stderr.contains("--insecure if the network is trusted"), "{}", run.stderr);
    let run = fawn(&["manager", "--dir", data, "--log-level", "chatty"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("'chatty' is not a log level"), "{}", run.stderr);
}

/// The rows of tables of metrics, cut into cells.
fn rows(document: &str) -> Vec<Vec<&str>> {
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    let rows = rows.map(|row| row.splitn(4, " | ").collect::<Vec<_>>());
    rows.filter(|cells| cells.len() == 4).collect()
}

#[test]
fn every_metric_stands_in_the_document_with_its_kind_its_labels_and_what_it_means() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/reference/metrics.md");
    let document = std::fs::read_to_string(path).unwrap();
    let rows = rows(&document);
    let mut names = BTreeSet::new();
    for Family { name, kind, labels, help } in families() {
        assert!(names.insert(*name), "{name} is one metric");
        let row = rows.iter().find(|cells| cells[0].trim_end_matches('`') == *name);
        let row = row.unwrap_or_else(|| panic!("{name} stands in reference/metrics of the book"));
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        assert_eq!(row[1..], [kind.name(), &labels.join(", "), help], "{name}");
        assert!(help.ends_with('.'), "{name}: {help}");
        let alone =
            !["these", "those", "such", "the others"].iter().any(|word| help.split(' ').any(|other| other == *word));
        assert!(alone, "{name} is explained without a look at another metric: {help}");
        assert_eq!(name.ends_with("_total"), *kind == MetricKind::Counter, "{name} is named as what it is");
    }
    assert_eq!(rows.len(), names.len(), "the document has no other metrics");
}
