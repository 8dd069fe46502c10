//! What an operator learns of a cluster while nodes are killed, stopped and started: by `fawn status`, its exit code and the logs.

use std::time::Instant;

use rustix::process::Signal;
use serde_json::Value;

use crate::cluster::{Cluster, by_key, numbered};
use crate::server::{Run, fawn, say, wait_for};

impl Cluster {
    /// `fawn status` with more arguments.
    fn told(&self, more: &[&str]) -> Run {
        fawn(&[&["status", "--manager", &self.manager.address], more].concat())
    }

    fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(&format!("{name}.log"))).unwrap()
    }

    fn stop_node(&mut self, name: &str) {
        let mut node = self.nodes.remove(name).expect("it runs");
        node.signal(Signal::TERM);
        assert!(node.child.wait().unwrap().success());
    }

    /// Waits until the log has this, behind what it had before.
    fn waits_for_log(&self, name: &str, before: &str, what: &str) {
        wait_for(what, || self.log(name)[before.len()..].contains(what).then_some(()));
    }

    fn waits_for_state(&self, member: &str, state: &str) -> Value {
        wait_for(state, || {
            let status = self.status();
            let of = status["members"].as_array()?.iter().find(|one| one["name"] == member)?.clone();
            of["state"].as_str()?.starts_with(state).then_some(of)
        })
    }

    /// What `--check` prints once that has `what` in it.
    fn waits_for_check(&self, what: &str) -> Run {
        wait_for(what, || {
            let run = self.told(&["--check"]);
            run.stdout.contains(what).then_some(run)
        })
    }
}

#[test]
fn replicas_of_the_same_keys_count_the_same_and_each_key_counts_once_in_all() {
    let mut cluster = Cluster::start(2, 2);
    // No more than a count looks up in what is older: which of them are overwrites is known of each, and not from a sample.
    let keys = 2000;
    cluster.load(&numbered(keys));
    // What it has is sealed then, and what comes afterwards overwrites it.
    cluster.stop_node("n2");
    cluster.start_node("n2");
    cluster.waits_for_check("ok: 2 members, ");
    cluster.load(&numbered(keys));
    let is_near = |number: &Value, by: u64| number.as_u64().is_some_and(|number| number.abs_diff(keys as u64) <= by);
    let status = wait_for("the same of all", || {
        let status = cluster.status();
        let figures = status["members"].as_array()?.iter().map(|member| &member["seats"][0]["figures"]["items"]);
        let all: Vec<&Value> = figures.collect();
        // What is sealed counts to a range by its share of the keys: four times the deviation of a range with half of them.
        (all.len() == 2 && all.iter().all(|items| is_near(items, 10)) && is_near(&status["totals"]["keys"], 90))
            .then_some(status)
    });
    assert!(status["totals"]["bytes"].as_u64().unwrap() >= 200_000, "{status}");
    // All of them are on one file system.
    let free = |status: &Value| status["members"][0]["seats"][0]["figures"]["free_bytes"].as_u64().unwrap() as f64;
    let ratio = status["totals"]["free_bytes"].as_u64().unwrap() as f64 / free(&status);
    assert!((0.8..1.2).contains(&ratio), "what is free counts once: {status}");
    let text = cluster.told(&[]).stdout;
    assert!(text.contains(" operations per second\n") && text.contains("about "), "{text}");
    assert!(text.contains("ITEMS: live keys of its replicas, estimated"), "{text}");
}

#[test]
fn a_node_that_is_killed_one_that_is_stopped_and_what_writes_have_left_are_told() {
    let mut cluster = Cluster::start(3, 3);
    let check = cluster.waits_for_check("ok: 3 members, ");
    assert_eq!((check.code, check.stdout.lines().count()), (0, 1), "{}", check.stdout);

    // On a busy machine members are silent for a moment without being killed.
    let before = cluster.log("manager");
    cluster.nodes.remove("n3").expect("it runs").signal(Signal::KILL);
    cluster.waits_for_log("manager", &before, "n3 has been silent for ");
    let dead = cluster.waits_for_state("n3", "silent ");
    assert_eq!(dead["seats"][0]["figures"], Value::Null, "what it said last is not so any more");
    let check = cluster.waits_for_check("writes continue with 2 copies of 3");
    assert_eq!(check.code, 1);
    assert!(check.stdout.starts_with("not ok: n3 is silent "), "{}", check.stdout);

    let before = cluster.log("manager");
    cluster.stop_node("n2");
    cluster.waits_for_state("n2", "stopped");
    cluster.waits_for_check("writes continue with 1 copy of 3");
    cluster.waits_for_log("manager", &before, "n2 has stopped cleanly");
    cluster.waits_for_log("manager", &before, "writes continue with 1 copy of 3");

    let set = ["cluster", "set", "--min-write-replicas", "2", "--manager", &cluster.manager.address];
    assert_eq!(fawn(&set).code, 0);
    cluster.waits_for_log("manager", &before, "an operator at 127.0.0.1 changes settings: min-write-replicas 1 to 2");
    cluster.waits_for_check("refuse writes, which need 2 replicas");

    let before = cluster.log("manager");
    cluster.start_node("n2");
    cluster.start_node("n3");
    cluster.waits_for_log("manager", &before, "n2 has restarted");
    cluster.waits_for_log("manager", &before, "n3 responds again, after ");
    cluster.waits_for_log("manager", &before, "n3 has restarted");
    cluster.waits_for_check("ok: 3 members, ");
    cluster.waits_for_log("manager", &before, "ranges are at full strength again, after ");
    assert!(cluster.log("manager").contains(" has started version="), "{}", cluster.log("manager"));

    cluster.manager.signal(Signal::TERM);
    assert!(cluster.manager.child.wait().unwrap().success());
    assert!(cluster.log("manager").contains(" has stopped\n"), "{}", cluster.log("manager"));
    cluster.waits_for_log("n1", "", "no leading manager for ");
}

#[test]
fn ranges_whose_latest_data_is_gone_are_told_of_and_a_dump_of_the_rest_goes_into_a_new_cluster() {
    let mut cluster = Cluster::start(3, 3);
    cluster.load(&numbered(200));
    for name in ["n2", "n3"] {
        drop(cluster.nodes.remove(name));
    }
    wait_for("chains of n1 alone", || {
        let chains = cluster.status()["ranges"].clone();
        chains.as_array()?.iter().all(|range| range["chain"] == serde_json::json!(["n1"])).then_some(())
    });
    wait_for("a write", || (say(cluster.clients(), "set late 0 0 1\r\nx", "\r\n") == "STORED\r\n").then_some(()));
    let before = cluster.log("manager");
    drop(cluster.nodes.remove("n1"));
    cluster.begin_node("n2");
    cluster.begin_node("n3");

    let check =
        cluster.waits_for_check("are out of service: start n1 with its latest data directory, or stop the nodes");
    assert!(check.code == 1 && !check.stdout.contains("writes continue"), "{}", check.stdout);
    cluster.waits_for_log("manager", &before, "are out of service: start n1 with its latest data directory");
    let managers = ["--manager", &cluster.manager.address].map(str::to_owned);
    let remove = ["node", "remove", "n1", &managers[0], &managers[1]];
    let refused = wait_for("n1 is missed", || Some(fawn(&remove)).filter(|run| !run.stderr.contains("n1 still runs")));
    assert!(refused.code == 1 && refused.stderr.contains("n1 alone has the latest data of "), "{}", refused.stderr);

    // It comes back without its data.
    std::fs::rename(cluster.file("n1"), cluster.file("n1.old")).unwrap();
    cluster.begin_node("n1");
    cluster.waits_for_state("n1", "up");
    let check = cluster.waits_for_check("not ok: ");
    assert!(check.code == 1 && !check.stdout.contains("writes continue"), "{}", check.stdout);
    assert!(check.stdout.contains("are out of service: start n1 with its latest data directory"), "{}", check.stdout);
    let removed = fawn(&[&remove[..], &["--force"]].concat());
    assert!(
        removed.code == 0 && removed.stderr.contains("which are now out of service: stop the nodes"),
        "{}",
        removed.stderr
    );
    cluster.waits_for_check("are out of service: only removed members had their latest data: stop the nodes");

    // What that says to do.
    cluster.stop_node("n2");
    cluster.stop_node("n3");
    let dirs = ["n2", "n3"].map(|name| cluster.file(name).to_str().unwrap().to_owned());
    let dump = fawn(&["store", "dump", &dirs[0], &dirs[1]]);
    let lines: Vec<String> = dump.stdout.lines().map(str::to_owned).collect();
    assert_eq!((dump.code, by_key(&lines).len()), (0, 200), "{}", dump.stderr);
    let new = Cluster::start(1, 1);
    new.load(&dump.stdout);
    assert!(say(new.clients(), "get k7", "END\r\n").starts_with("VALUE k7 "));
}

#[test]
fn whoever_asks_where_nobody_listens_is_told_at_once_and_soon_that_it_is_in_vain() {
    let commands = [&["status"][..], &["status", "--check"], &["node", "drain", "n1"], &["rebalance", "--dry-run"]];
    // Each waits for a while.
    std::thread::scope(|scope| {
        for command in commands {
            scope.spawn(move || {
                let start = Instant::now();
                let run = fawn(&[command, &["--manager", "127.0.0.1:1"]].concat());
                assert_eq!((run.code, &run.stdout[..]), (1, ""), "{command:?}");
                let (first, last) = run.stderr.trim_end().split_once('\n').expect("two lines");
                assert_eq!(first, "waiting for a manager at 127.0.0.1:1 to answer");
                let says = "no leading manager answered within 3s";
                assert!(last.contains(says) && last.contains("refused"), "{last}");
                assert!(start.elapsed().as_secs() < 9, "it gives up before the 10 s for which a manager may be silent");
            });
        }
    });
}
