//! Clients notice what a server does wrong.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use fawn_trial::load::key::Promise;
use fawn_trial::load::ledger::{Finding, Ledger};
use fawn_trial::load::{KeyChoice, Manner, TrialLoad};
use fawn_trial::process::Process;
use fawn_trial::verify::read_everything;

use crate::fawn;
use crate::proxy::{Lie, start};

/// A server on a port of its own.
fn server(dir: &std::path::Path) -> (Process, SocketAddr) {
    let mut command = Command::new(fawn());
    command.args(["serve", "--listen", "127.0.0.1:0", "--threads", "1", "--memory", "32M", "--dir"]);
    command.arg(dir.join("data"));
    let mut process = Process::start(command, dir, "server").unwrap();
    assert!(process.is_ready_within(Duration::from_secs(30)), "{}", process.said());
    let address = process.said().trim().rsplit(' ').next().unwrap().parse().unwrap();
    (process, address)
}

/// What clients find wrong with a server before which somebody lies.
fn found(lie: Lie) -> (Vec<Finding>, Arc<Ledger>) {
    let dir = tempfile::tempdir().unwrap();
    let (_server, address) = server(dir.path());
    let proxy = start(address, lie);
    let ledger = Arc::new(Ledger::new(20, Promise::Strong, &dir.path().join("operations.txt")).unwrap());
    let manner = Manner { clients: 6, rate: 500, choice: KeyChoice::Any, patience: Duration::from_secs(4), seed: 1 };
    let load = TrialLoad::start(&ledger, &[proxy], &manner).unwrap();
    std::thread::sleep(Duration::from_secs(4));
    load.stop();
    let unread = read_everything(&ledger, &[address], Duration::from_secs(10));
    assert_eq!(unread, [""; 0]);
    ledger.finish();
    let findings = ledger.findings();
    if let Some(finding) = findings.first() {
        let history = ledger.history(&finding.key).unwrap();
        assert!(!history.is_empty(), "every operation on a key that is wrong is told");
    }
    (findings, ledger)
}

#[test]
fn an_honest_server_is_not_complained_about() {
    let (findings, ledger) = found(Lie::None);
    assert!(findings.is_empty(), "{findings:?}");
    let answered = ledger.counts.answered.load(std::sync::atomic::Ordering::Relaxed);
    assert!(answered > 1000, "{answered} operations were tried");
}

#[test]
fn stale_gets_are_found() {
    let (findings, _) = found(Lie::Stale);
    assert!(findings.iter().any(|finding| finding.what.contains(": get at")), "{:?}", findings.first());
}

#[test]
fn sets_that_are_answered_and_forgotten_are_found() {
    let (findings, _) = found(Lie::Forgotten);
    assert!(findings.iter().any(|finding| finding.what.contains("nothing explains")), "{:?}", findings.first());
}

#[test]
fn damaged_values_are_found() {
    let (findings, _) = found(Lie::Torn);
    assert!(findings.iter().any(|finding| finding.what.contains("nobody has stored")), "{:?}", findings.first());
}

#[test]
fn operations_that_are_carried_out_twice_are_found() {
    let (findings, _) = found(Lie::Repeated);
    assert!(findings.iter().any(|finding| finding.what.contains("nothing explains")), "{:?}", findings.first());
}
