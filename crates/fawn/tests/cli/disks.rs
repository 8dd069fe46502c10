//! Disks that other programs fill to the last page.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::cluster::{Cluster, Process};
use crate::observe::{http, reasons};
use crate::server::{fawn, fawn_command, say, wait_for};

const NO_SPACE: &str = "SERVER_ERROR no space left on the device";

/// A file system in memory of a given size. A process in a mount namespace of its own holds it; everybody else reaches it
/// through that process's root.
pub struct Disk {
    holder: Child,
    said: BufReader<ChildStdout>,
    path: PathBuf,
    _mounted_on: tempfile::TempDir,
}

impl Disk {
    /// `None`, with a message, where nothing may be mounted.
    pub fn new(mib: u32) -> Option<Self> {
        Self::mounted(&format!("size={mib}M"))
    }

    /// One of a kind that refuses transfers around the page cache, and does not tell its size.
    pub fn without_direct_transfers() -> Option<Self> {
        Self::of_kind("ramfs", "mode=755")
    }

    /// With these options of `mount`.
    fn mounted(options: &str) -> Option<Self> {
        Self::of_kind("tmpfs", options)
    }

    fn of_kind(kind: &str, options: &str) -> Option<Self> {
        let mounted_on = tempfile::tempdir().unwrap();
        let at = mounted_on.path().display();
        let mount = format!("mount -t {kind} -o {options} {kind} '{at}' || exit; echo ready; read line");
        let script = format!("{mount}; mount -o remount,ro '{at}' && echo read-only || echo refused; exec cat");
        let mut unshare = Command::new("unshare");
        if !rustix::process::geteuid().is_root() {
            unshare.args(["--user", "--map-root-user"]);
        }
        let holder =
            unshare.args(["--mount", "sh", "-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut holder) = holder else {
            eprintln!("skipped: unshare is not installed (apt-get install util-linux)");
            return None;
        };
        let (mut line, mut said) = (String::new(), BufReader::new(holder.stdout.take().unwrap()));
        said.read_line(&mut line).unwrap();
        let path = PathBuf::from(format!("/proc/{}/root{}", holder.id(), mounted_on.path().display()));
        let disk = Self { holder, said, path, _mounted_on: mounted_on };
        if line == "ready\n" && std::fs::write(disk.path.join("probe"), "x").is_ok() {
            std::fs::remove_file(disk.path.join("probe")).unwrap();
            return Some(disk);
        }
        eprintln!("skipped: no file system may be mounted here");
        None
    }

    /// A file of it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Mounts it read-only; whether that may be done. With a message, where not.
    fn make_read_only(&mut self) -> bool {
        self.holder.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        if line != "read-only\n" {
            eprintln!("skipped: no file system may be mounted read-only here");
        }
        line == "read-only\n"
    }

    /// Another program makes empty files until there is no place for one more; how many it made.
    fn fill_with_files(&self) -> usize {
        (0..100_000).take_while(|n| std::fs::File::create(self.file(&format!("empty{n}"))).is_ok()).count()
    }

    /// Another program writes until nothing is left.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.file("other")).unwrap();
        for bytes in [1 << 20, 4096, 1] {
            let zeros = vec![0; bytes];
            while file.write_all(&zeros).is_ok() {}
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

fn serve(dir: &Path, log: &Path) -> Process {
    serve_with("1", dir, log)
}

/// A server of so many threads, each with a store.
fn serve_with(threads: &str, dir: &Path, log: &Path) -> Process {
    let fixed =
        ["serve", "--dir", dir.to_str().unwrap(), "--listen", "127.0.0.1:0", "--memory", "64M", "--threads", threads];
    let mut command = fawn_command(&fixed);
    command.args(["--admin", "127.0.0.1:0"]);
    Process::logged(command, log, "serving memcached on ")
}

fn set(address: &str, key: &str) -> String {
    say(address, &format!("set {key} 0 0 20000\r\n{}", "x".repeat(20_000)), "\r\n")
}

fn is_there(address: &str, key: &str) -> bool {
    say(address, &format!("mg {key} s"), "\r\n").starts_with("HD s20000")
}

/// Sets a new key until that is refused, and checks that it is refused at once.
fn set_until_refused(address: &str, name: &str, refused_by: &str) -> usize {
    for n in 0..5000 {
        let start = Instant::now();
        let answer = set(address, &format!("{name}{n}"));
        if answer == "STORED\r\n" {
            continue;
        }
        assert!(answer.starts_with(refused_by), "{answer}");
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        return n;
    }
    panic!("nothing is ever refused");
}

/// Waits until the first store of a directory holds the space that deletes need.
fn wait_for_spare(dir: &Path) {
    wait_for_spare_of(dir, 0);
}

fn wait_for_spare_of(dir: &Path, store: usize) {
    let spare = dir.join(format!("store-{store}/spare"));
    wait_for("space that is kept", || std::fs::metadata(&spare).is_ok_and(|file| file.len() > 0).then_some(()));
}

/// Waits until the server whose log this is says that its store refuses puts.
fn wait_for_refusals(log: &Path) {
    wait_for("the health of a full store", || {
        let (status, health) = http(&admin_in(log), "/health");
        reasons(status, &health).join("; ").starts_with("store 0 refuses puts, because its disk").then_some(())
    });
}

/// Deletes a key that is there. Where the buffers are full, a delete waits until a segment is written.
fn delete(address: &str, key: &str) {
    wait_for("a delete", || match &say(address, &format!("delete {key}"), "\r\n")[..] {
        "DELETED\r\n" => Some(()),
        refused if refused.starts_with("SERVER_ERROR") => None,
        other => panic!("{key}: {other}"),
    });
}

#[test]
fn on_a_disk_that_is_full_to_the_last_page_gets_and_deletes_go_on_and_make_room_also_after_a_crash() {
    let Some(disk) = Disk::new(128) else { return };
    let logs = tempfile::tempdir().unwrap();
    let (dir, log) = (disk.file("data"), logs.path().join("log"));
    let mut server = serve(&dir, &log);
    for n in 0..1200 {
        assert_eq!(set(&server.address, &format!("k{n}")), "STORED\r\n");
    }
    wait_for_spare(&dir);
    disk.fill();
    // What fits the buffers in memory and the log may be taken; the rest is refused.
    let more = set_until_refused(&server.address, "more", NO_SPACE);
    wait_for_refusals(&log);
    assert!(is_there(&server.address, "k0"));
    assert_eq!(say(&server.address, "delete k0", "\r\n"), "DELETED\r\n");

    server.signal(Signal::KILL);
    server.child.wait().unwrap();
    let kept = 1200 - 1 + more;
    let dumped = fawn(&["store", "dump", dir.to_str().unwrap()]);
    assert_eq!((dumped.code, dumped.stdout.lines().count()), (0, kept), "{}", dumped.stderr);
    let server = serve(&dir, &log);
    assert!(is_there(&server.address, "k1") && !is_there(&server.address, "k0"));
    let again = set_until_refused(&server.address, "again", NO_SPACE);
    let all = [("k", 1, 1200), ("more", 0, more), ("again", 0, again)];
    for key in all.into_iter().flat_map(|(name, first, end)| (first..end).map(move |n| format!("{name}{n}"))) {
        assert!(is_there(&server.address, &key), "{key}");
        delete(&server.address, &key);
    }
    wait_for("room again", || (set(&server.address, "new") == "STORED\r\n").then_some(()));
    assert!(is_there(&server.address, "new"));
}

#[test]
fn stores_on_one_disk_that_others_fill_take_puts_and_deletes_of_what_was_put_make_room_for_more() {
    let Some(disk) = Disk::new(160) else { return };
    let logs = tempfile::tempdir().unwrap();
    let (dir, log) = (disk.file("data"), logs.path().join("log"));
    let mut server = serve_with("2", &dir, &log);
    assert_eq!(set(&server.address, "first"), "STORED\r\n");
    for store in [0, 1] {
        wait_for_spare_of(&dir, store);
    }
    disk.fill();
    // Nothing of theirs is in segments that merges could free: they live on what they keep.
    for round in 0..3 {
        let name = format!("round{round}-");
        let taken = set_until_refused(&server.address, &name, NO_SPACE);
        assert!(taken > 100, "{taken} of round {round}");
        if round == 1 {
            server.signal(Signal::KILL);
            server.child.wait().unwrap();
            server = serve_with("2", &dir, &log);
        }
        (0..taken).for_each(|n| delete(&server.address, &format!("{name}{n}")));
        // Every store takes puts.
        for n in 0..16 {
            let key = format!("again{round}-{n}");
            wait_for("room again", || (set(&server.address, &key) == "STORED\r\n").then_some(()));
            delete(&server.address, &key);
        }
    }
    assert!(is_there(&server.address, "first"));
}

#[test]
fn on_a_disk_without_a_place_for_one_more_file_deletes_go_on_and_make_room_also_after_a_crash() {
    let Some(disk) = Disk::mounted("size=256M,nr_inodes=60") else { return };
    let logs = tempfile::tempdir().unwrap();
    let (dir, log) = (disk.file("data"), logs.path().join("log"));
    let mut server = serve(&dir, &log);
    for n in 0..1200 {
        assert_eq!(set(&server.address, &format!("k{n}")), "STORED\r\n");
    }
    wait_for_spare(&dir);
    let files = disk.fill_with_files();
    wait_for_refusals(&log);
    let more = set_until_refused(&server.address, "more", NO_SPACE);
    (0..600).for_each(|n| delete(&server.address, &format!("k{n}")));
    server.signal(Signal::KILL);
    server.child.wait().unwrap();
    let server = serve(&dir, &log);
    assert!(is_there(&server.address, "k600") && !is_there(&server.address, "k599"));
    (600..1200).for_each(|n| delete(&server.address, &format!("k{n}")));
    (0..more).for_each(|n| delete(&server.address, &format!("more{n}")));
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(log.contains("more files (inodes)"), "{log}");
    assert!(log.matches("the device is full").count() < 5, "{log}");
    for n in 0..files {
        std::fs::remove_file(disk.file(&format!("empty{n}"))).unwrap();
    }
    wait_for("sets again", || (set(&server.address, "k") == "STORED\r\n").then_some(()));
}

/// Where a process of a cluster has its admin port.
fn admin_of(cluster: &Cluster, name: &str) -> String {
    admin_in(&cluster.file(&format!("{name}.log")))
}

/// Where a process has its admin port that has this log: the last that was started with it.
fn admin_in(log: &Path) -> String {
    wait_for("an admin port in the log", || {
        let log = std::fs::read_to_string(log).unwrap();
        let address = log.lines().rev().find_map(|line| line.split_once(" on http://"))?.1;
        Some(address.trim_end_matches('/').to_owned())
    })
}

#[test]
fn a_replica_whose_disk_is_full_refuses_sets_at_once_and_status_health_and_metrics_name_it() {
    let Some(disk) = Disk::new(128) else { return };
    let dir = disk.file("n2");
    std::fs::create_dir(&dir).unwrap();
    let cluster = Cluster::start_as(3, 3, move |name, command| {
        command.args(["--admin", "127.0.0.1:0"]);
        if name == "n2" {
            let own = command.get_args().skip_while(|argument| *argument != "--dir").nth(1).unwrap();
            std::os::unix::fs::symlink(&dir, own).unwrap();
        }
    });
    assert_eq!(set(cluster.clients(), "before"), "STORED\r\n");
    disk.fill();
    // What it keeps takes some more.
    let more = (0..5000).take_while(|n| set(cluster.clients(), &format!("more{n}")) == "STORED\r\n").count();
    assert!(more < 5000, "puts are refused");
    let refused = || {
        let start = Instant::now();
        let answer = set(cluster.clients(), "k");
        (answer, start.elapsed())
    };
    wait_for("a set that is refused", || refused().0.starts_with("SERVER_ERROR").then_some(()));
    let (answer, took) = refused();
    assert!(answer.starts_with("SERVER_ERROR") && took < Duration::from_secs(1), "{took:?}: {answer}");
    let check = wait_for("the status", || {
        let check = fawn(&["status", "--check", "--manager", &cluster.manager.address]);
        check.stdout.contains("its disk is full").then_some(check)
    });
    assert!(check.code == 1 && check.stdout.contains("n2"), "{check:?}");
    let (status, health) = http(&admin_of(&cluster, "n2"), "/health");
    let why = reasons(status, &health).join("; ");
    assert!(
        why.starts_with("n2, seat ") && why.contains("its disk is full, so it refuses puts of its ranges"),
        "{why}"
    );
    // What metrics tell may be a second old.
    let metrics = wait_for("the metrics of the manager", || {
        let (_, metrics) = http(&admin_of(&cluster, "manager"), "/metrics?ranges=no");
        metrics.contains("fawn_cluster_member_trouble{member=\"n2\"} 1\n").then_some(metrics)
    });
    for other in ["n1", "n3"] {
        let sample = format!("fawn_cluster_member_trouble{{member=\"{other}\"}} 0\n");
        assert!(metrics.contains(&sample), "{sample} is in {metrics}");
    }
    for node in cluster.nodes.values() {
        assert!(is_there(&node.address, "before"));
    }
    assert_eq!(say(cluster.clients(), "delete before", "\r\n"), "DELETED\r\n");
    std::fs::remove_file(disk.file("other")).unwrap();
    wait_for("sets again", || (set(cluster.clients(), "k") == "STORED\r\n").then_some(()));
    wait_for("the status", || {
        (fawn(&["status", "--check", "--manager", &cluster.manager.address]).code == 0).then_some(())
    });
}

#[test]
fn a_cluster_and_its_manager_on_one_full_disk_come_back_after_a_crash_and_deletes_make_room() {
    come_back_on_one_full_disk(1200);
}

#[test]
fn a_cluster_on_one_full_disk_that_others_filled_takes_puts_again_once_all_is_deleted() {
    // Little of theirs is in segments.
    come_back_on_one_full_disk(400);
}

/// Sets so many keys, has the disk filled and all processes killed, and deletes everything.
fn come_back_on_one_full_disk(keys: usize) {
    let Some(disk) = Disk::new(600) else { return };
    let dirs = disk.path.clone();
    let mut cluster = Cluster::start_as(3, 3, move |name, command| {
        let own = command.get_args().skip_while(|argument| *argument != "--dir").nth(1).unwrap().to_owned();
        let dir = dirs.join(name);
        if !dir.exists() {
            std::fs::create_dir(&dir).unwrap();
            std::os::unix::fs::symlink(&dir, own).unwrap();
        }
    });
    // On a busy machine a request may not be answered in time.
    let put = |cluster: &Cluster, key: &str| {
        wait_for("a set", || (set(cluster.clients(), key) == "STORED\r\n").then_some(()));
    };
    (0..keys).for_each(|n| put(&cluster, &format!("k{n}")));
    for name in ["n1", "n2", "n3"] {
        wait_for_spare(&disk.file(name));
    }
    disk.fill();
    let more = (0..5000).take_while(|n| set(cluster.clients(), &format!("more{n}")) == "STORED\r\n").count();
    assert!(more < 5000, "puts are refused");
    for (_, mut node) in std::mem::take(&mut cluster.nodes) {
        node.signal(Signal::KILL);
        node.child.wait().unwrap();
    }
    cluster.manager.signal(Signal::KILL);
    cluster.manager.child.wait().unwrap();

    cluster.restart_manager();
    for name in ["n1", "n2", "n3"] {
        cluster.start_node(name);
    }
    let all: Vec<String> = (0..keys).map(|n| format!("k{n}")).chain((0..more).map(|n| format!("more{n}"))).collect();
    for key in &all {
        wait_for(&format!("{key} of {more} more"), || is_there(cluster.clients(), key).then_some(()));
    }
    for key in &all {
        wait_for("a delete", || match &say(cluster.clients(), &format!("delete {key}"), "\r\n")[..] {
            "DELETED\r\n" | "NOT_FOUND\r\n" => Some(()),
            refused if refused.starts_with("SERVER_ERROR") => None,
            other => panic!("{key}: {other}"),
        });
    }
    wait_for("room again", || (set(cluster.clients(), "new") == "STORED\r\n").then_some(()));
    assert!(is_there(cluster.clients(), "new") && !is_there(cluster.clients(), "k0"));
}

#[test]
fn a_store_on_a_disk_that_is_mounted_read_only_can_be_looked_at_and_is_not_served() {
    let Some(mut disk) = Disk::new(128) else { return };
    let logs = tempfile::tempdir().unwrap();
    let (dir, log) = (disk.file("data"), logs.path().join("log"));
    let mut server = serve(&dir, &log);
    for n in 0..20 {
        assert_eq!(set(&server.address, &format!("k{n}")), "STORED\r\n");
    }
    // As a snapshot of a disk shows it whose server runs.
    server.signal(Signal::KILL);
    server.child.wait().unwrap();
    if !disk.make_read_only() {
        return;
    }
    let dir = dir.to_str().unwrap();
    let dumped = fawn(&["store", "dump", dir]);
    assert_eq!((dumped.code, dumped.stdout.lines().count()), (0, 20), "{}", dumped.stderr);
    let checked = fawn(&["store", "check", dir]);
    assert!(checked.code == 0 && checked.stdout.contains("no damage"), "{checked:?}");
    let counted = fawn(&["store", "stats", dir]);
    assert!(counted.code == 0 && counted.stdout.contains(" 20\n"), "{counted:?}");
    for dir in [dir, disk.file("new").to_str().unwrap()] {
        let served = fawn(&["serve", "--dir", dir, "--listen", "127.0.0.1:0", "--memory", "64M"]);
        let says = " is on a read-only file system: mount it for writing, or choose another directory";
        assert!(served.code == 1 && served.stderr.contains(says), "{served:?}");
        assert!(served.stderr.contains(dir), "{served:?}");
    }
}

#[test]
fn a_bench_that_has_no_room_says_where_and_how_much_and_leaves_nothing() {
    let Some(disk) = Disk::new(48) else { return };
    let dir = disk.file("bench");
    let run = fawn(&["bench", "store", "load", "--dir", dir.to_str().unwrap(), "--entries", "1000"]);
    assert!(run.code == 1 && run.stderr.contains("/bench/data has no room for a new store: "), "{run:?}");
    assert!(run.stderr.contains(" MiB are free; give a smaller --memory"), "{run:?}");
    assert!(std::fs::read_dir(dir.join("data")).is_ok_and(|mut data| data.next().is_none()), "nothing is half-made");
}
