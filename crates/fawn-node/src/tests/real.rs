//! Nodes over stores on flash.

use super::harness::{Client, PATIENCE, client_of, hit, set};
use crate::options::ServeOptions;
use crate::runtime::server::{RunningNode, start};
use fawn_flash::Directory;
use fawn_store::Ack;
use std::net::TcpStream;
use std::num::NonZeroUsize;
use std::path::Path;

struct Real {
    running: Option<RunningNode>,
    /// Held while the node runs.
    _directory: Directory,
}

impl Real {
    fn start(dir: &Path, threads: usize, change: impl FnOnce(&mut ServeOptions)) -> Self {
        let mut options = ServeOptions {
            listen: vec!["127.0.0.1:0".into()],
            threads: NonZeroUsize::new(threads).unwrap(),
            memory_bytes: 16 << 20,
            max_item_bytes: 32 << 20,
            ..ServeOptions::new(dir)
        };
        change(&mut options);
        let (running, directory) = start(&options).unwrap();
        Self { running: Some(running), _directory: directory }
    }

    fn client(&self) -> Client<TcpStream> {
        client_of(&self.running.as_ref().unwrap().addresses()[0].address)
    }

    fn stat(&self, name: &str) -> u64 {
        let text = self.client().ask_until("stats\r\n", "END\r\n");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).trim().parse().unwrap()
    }

    fn stop(mut self) {
        let running = self.running.take().unwrap();
        running.stopper()();
        running.wait().unwrap();
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stopper()();
            let _ = running.wait();
        }
    }
}

fn seconds_left(client: &mut Client<TcpStream>, key: &str) -> u64 {
    let text = client.ask_until(&format!("mg {key} t\r\n"), "\r\n");
    text.trim().strip_prefix("HD t").and_then(|seconds| seconds.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

fn value_of(n: usize, round: usize) -> String {
    format!("{n}-{round}-").repeat(60)
}

/// Sets more than the buffers hold, so that most keys are on flash alone.
fn fill(node: &Real, keys: usize, round: usize) {
    let mut client = node.client();
    for chunk in (0..keys).collect::<Vec<_>>().chunks(500) {
        let words: String = chunk.iter().map(|n| set(&format!("key{n}"), &value_of(*n, round))).collect();
        client.ask(words, "STORED\r\n".repeat(chunk.len()));
    }
}

fn check(node: &Real, keys: usize, round: usize) {
    let mut client = node.client();
    for chunk in (0..keys).collect::<Vec<_>>().chunks(200) {
        let words: String = chunk.iter().map(|n| format!("get key{n} none{n}\r\n")).collect();
        let answer = |n: &usize| format!("{}END\r\n", hit(&format!("key{n}"), &value_of(*n, round)));
        client.ask(words, chunk.iter().map(answer).collect::<String>());
    }
}

#[test]
fn what_is_on_flash_is_read_in_every_mode_and_after_a_restart() {
    const KEYS: usize = 20_000;
    let dir = tempfile::tempdir().unwrap();
    for (round, (ack, threads)) in
        [(Ack::Durable, 2), (Ack::Interval { ms: 5 }, 1), (Ack::Memory, 3)].into_iter().enumerate()
    {
        // A directory keeps its two stores, whatever the number of threads.
        let node = Real::start(dir.path(), threads, |options| options.ack = ack);
        if round > 0 {
            check(&node, KEYS, round - 1);
        }
        fill(&node, KEYS, round);
        check(&node, KEYS, round);
        assert!(node.stat("fawn_flash_reads") > 0, "something was read from flash");
        assert_eq!(node.stat("threads"), threads.min(2) as u64);
        node.stop();
    }
}

#[test]
fn operations_on_cold_keys_change_what_is_on_flash() {
    let dir = tempfile::tempdir().unwrap();
    let node = Real::start(dir.path(), 2, |_| {});
    let mut client = node.client();
    client.ask("set number 7 0 2\r\n41\r\nset text 9 0 3\r\nabc\r\nset gone 0 0 1\r\nx\r\n", "STORED\r\n".repeat(3));
    fill(&node, 20_000, 0);
    client.ask("incr number 1\r\nappend text 0 0 3\r\ndef\r\ndelete gone\r\n", "42\r\nSTORED\r\nDELETED\r\n");
    client.ask(
        "touch key1 1000\r\nadd key2 0 0 1\r\nx\r\nreplace key3 3 0 3\r\nnew\r\n",
        "TOUCHED\r\nNOT_STORED\r\nSTORED\r\n",
    );
    client.ask(
        "get number text gone key3\r\n",
        "VALUE number 7 2\r\n42\r\nVALUE text 9 6\r\nabcdef\r\nVALUE key3 3 3\r\nnew\r\nEND\r\n",
    );
    assert!((900..=1000).contains(&seconds_left(&mut client, "key1")));
    node.stop();
    let node = Real::start(dir.path(), 2, |_| {});
    node.client().ask(
        "get number text gone key3\r\n",
        "VALUE number 7 2\r\n42\r\nVALUE text 9 6\r\nabcdef\r\nVALUE key3 3 3\r\nnew\r\nEND\r\n",
    );
}

#[test]
fn values_above_a_segment_have_files_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let node = Real::start(dir.path(), 2, |_| {});
    let big: String = (0..9_000_000).map(|n| char::from(b'a' + (n % 25) as u8)).collect();
    let mut client = node.client();
    for key in ["big0", "big1", "big2", "big3"] {
        client.say(format!(
            "{}get {key}\r\nappend {key} 0 0 1\r\n!\r\nmg {key} s\r\ntouch {key} 900\r\n",
            set(key, &big)
        ));
        client.expect(format!("STORED\r\n{}END\r\nSTORED\r\nHD s9000001\r\nTOUCHED\r\n", hit(key, &big)));
    }
    client.ask("get none big0\r\n", format!("{}END\r\n", hit("big0", &format!("{big}!"))));
    assert!((800..=900).contains(&seconds_left(&mut client, "big0")));
    client.ask(set("big1", "small"), "STORED\r\n");
    client.ask("delete big2\r\nadd big3 0 0 1\r\nx\r\n", "DELETED\r\nNOT_STORED\r\n");
    node.stop();
    let node = Real::start(dir.path(), 2, |_| {});
    let mut client = node.client();
    client.ask("get big0 big1 big2\r\n", format!("{}{}END\r\n", hit("big0", &format!("{big}!")), hit("big1", "small")));
    client.ask("get big3\r\n", format!("{}END\r\n", hit("big3", &format!("{big}!"))));
}

#[test]
fn every_key_is_listed_once_while_others_work() {
    let dir = tempfile::tempdir().unwrap();
    let node = Real::start(dir.path(), 3, |_| {});
    fill(&node, 5000, 0);
    let mut client = node.client();
    client
        .ask("set timed 5 1000 3\r\nabc\r\nset gone 0 0 1\r\nx\r\ndelete gone\r\n", "STORED\r\nSTORED\r\nDELETED\r\n");
    client.ask(set("large", &"x".repeat(3_000_000)), "STORED\r\n");
    let text = client.ask_until("lru_crawler metadump all\r\n", "END\r\n");
    let mut keys: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("key=")?.split(' ').next()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!((keys.len(), text.lines().count()), (5002, 5003));
    assert!(text.contains("key=large exp=-1") && text.lines().any(|line| line.starts_with("key=timed exp=1")));
    let text = client.ask_until("lru_crawler mgdump all\r\nmn\r\n", "MN\r\n");
    assert_eq!(text.matches("mg key").count(), 5000);
    assert!(text.ends_with("EN\r\nMN\r\n"));
}

#[test]
fn a_flush_empties_all_stores_and_stays() {
    let dir = tempfile::tempdir().unwrap();
    let node = Real::start(dir.path(), 3, |_| {});
    fill(&node, 3000, 0);
    let mut client = node.client();
    client.ask(
        format!("flush_all\r\n{}get key1 key2 key3\r\n", set("key1", "after")),
        format!("OK\r\nSTORED\r\n{}END\r\n", hit("key1", "after")),
    );
    node.stop();
    let node = Real::start(dir.path(), 3, |_| {});
    node.client().ask("get key1 key2 key3\r\n", format!("{}END\r\n", hit("key1", "after")));
}

#[test]
fn no_two_items_of_a_node_have_the_same_cas() {
    let dir = tempfile::tempdir().unwrap();
    let node = Real::start(dir.path(), 4, |_| {});
    fill(&node, 1000, 0);
    let keys: Vec<String> = (0..1000).map(|n| format!("key{n}")).collect();
    let text = node.client().ask_until(&format!("gets {}\r\n", keys.join(" ")), "END\r\n");
    let mut numbers: Vec<&str> =
        text.lines().filter(|line| line.starts_with("VALUE ")).filter_map(|line| line.rsplit(' ').next()).collect();
    assert_eq!(numbers.len(), 1000);
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 1000);
}

#[test]
fn a_directory_in_use_and_a_bad_certificate_are_refused_before_anything_else() {
    let dir = tempfile::tempdir().unwrap();
    let node = Real::start(&dir.path().join("a"), 1, |_| {});
    let options = ServeOptions { listen: vec!["127.0.0.1:0".into()], ..ServeOptions::new(dir.path().join("a")) };
    let error = start(&options).unwrap_err().to_string();
    assert!(error.contains("is in use by"), "{error}");
    let tls = Some(crate::TlsFiles { cert: dir.path().join("none"), key: dir.path().join("none") });
    let options = ServeOptions { tls, ..ServeOptions { dir: dir.path().join("b"), ..options } };
    assert!(start(&options).unwrap_err().to_string().contains("for TLS"));
    assert!(!dir.path().join("b").exists(), "nothing is made for a node that cannot start");
    drop(node);
}

/// Puts race with gets over the network, in durable mode, over several loops: every answer is one of the values set.
#[test]
fn concurrent_clients_see_only_what_was_set_and_never_go_back() {
    let dir = tempfile::tempdir().unwrap();
    let node = Real::start(dir.path(), 2, |_| {});
    node.client().ask(set("shared", "0"), "STORED\r\n");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let node = &node;
            scope.spawn(move || {
                let mut client = node.client();
                client.0.set_read_timeout(Some(PATIENCE)).unwrap();
                let mut last = 0;
                for _ in 0..200 {
                    let text = client.ask_until("incr shared 1\r\nget shared\r\n", "END\r\n");
                    let seen: Vec<u64> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
                    assert!(seen.len() == 2 && last < seen[0] && seen[0] <= seen[1], "{last} {seen:?}");
                    last = seen[1];
                }
            });
        }
    });
    node.client().ask("incr shared 0\r\n", "800\r\n");
}
