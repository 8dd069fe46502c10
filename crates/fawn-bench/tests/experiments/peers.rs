//! Other engines beside the store, by a program that only pretends.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use fawn_bench::{Error, Experiment, Peers, Setup};
use fawn_report::{Nobody, Watch};

use crate::{absent, figure, get, hit, mixed, overwrite, setup};

const ENTRIES: u64 = 5_000;

fn peers(engines: &[&str], scale: u64) -> Peers {
    let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/experiments/fake-peers.sh");
    Peers { engines: engines.iter().map(|engine| (*engine).to_owned()).collect(), scale, program }
}

/// How the program was called, so far.
fn calls(dir: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(dir.join("peers/calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

struct Heard(RefCell<Vec<String>>);

impl Watch for Heard {
    fn progress(&self, done: u64, total: u64, what: &str) {
        self.0.borrow_mut().push(format!("{done}/{total} {what}"));
    }

    fn note(&self, _: &str) {}
}

#[test]
fn a_peers_rows_follow_the_stores_own_and_it_is_not_run_twice() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), ENTRIES);
    let heard = Heard(RefCell::default());
    let peers = peers(&["sound"], 2);
    let report = peers.run(&setup, &Experiment::Load, &heard).unwrap();
    let engines: Vec<_> = report.rows.iter().map(|row| row["engine"].as_str().unwrap()).collect();
    assert_eq!(engines, ["fawn", "sound"]);
    assert_eq!((figure(&report, 0, "entries"), figure(&report, 1, "entries")), (5_000.0, 2_500.0));
    assert!(figure(&report, 0, "settled_mb_a_second") <= figure(&report, 0, "user_mb_a_second"));
    assert!(figure(&report, 0, "most_space_over_live") > 1.0 && figure(&report, 0, "most_rss_bytes") > 0.0);
    assert!(report.notes.contains(&"sound: memory: all of it".to_owned()), "{:?}", report.notes);
    assert!(heard.0.borrow().contains(&"1/2 sound: loading".to_owned()), "{:?}", heard.0);
    let fawn_report::TextTable { head: header, rows, .. } = fawn_bench::table(&report);
    assert_eq!((header[0].as_str(), rows[1][0].as_str()), ("engine", "sound"));
    assert_eq!(peers.run(&setup, &Experiment::Load, &Nobody).unwrap(), report);
    let place = dir.path().join("peers/sound");
    let asked = format!(
        "load --engine sound --json --progress --dir {} --entries 2500 --value-bytes 100 --memory 4194304 --ack memory \
         --puts-in-flight 1024",
        place.display()
    );
    assert_eq!(calls(dir.path()), std::slice::from_ref(&asked));
    let again = Setup { again: true, ..setup.clone() };
    peers.run(&again, &Experiment::Load, &Nobody).unwrap();
    assert_eq!(calls(dir.path()), [asked.clone(), format!("{asked} --again")]);
    let alone = fawn_bench::run(&setup, &Experiment::Load, &Nobody).unwrap();
    assert_eq!((alone.rows.len(), alone.rows[0].get("engine")), (1, None), "without peers it is what it was");
}

#[test]
fn a_peer_is_asked_for_what_the_store_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), ENTRIES);
    for (experiment, flags) in [
        (Experiment::Get(get()), "--depths 1,8 --rounds 2 --seconds 0.03"),
        (Experiment::Absent(absent()), "--depth 16 --seconds 0.05"),
        (Experiment::Mixed(mixed()), "--depth 16 --gets-a-put 6 --seconds 0.2"),
        (Experiment::Overwrite(overwrite(2)), "--passes 2"),
    ] {
        let report = peers(&["sound"], 1).run(&setup, &experiment, &Nobody).unwrap();
        assert_eq!(report.rows.last().unwrap()["engine"], "sound");
        let call = calls(dir.path()).pop().unwrap();
        assert!(call.starts_with(experiment.word()) && call.ends_with(flags), "{call}");
    }
}

#[test]
fn what_a_failing_peer_says_is_told_and_what_was_measured_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), ENTRIES);
    for (engine, says) in [
        ("failing", "failing was not measured: the disk is full; earlier results are kept"),
        ("silent", "silent was not measured: ended with exit status: 3"),
        ("chatty", "printed no report"),
        ("astray", "printed a report of `hit`, not of `load`"),
    ] {
        let error = peers(&["sound", engine], 1).run(&setup, &Experiment::Load, &Nobody).unwrap_err();
        assert!(matches!(error, Error::Peer { .. }) && error.to_string().contains(says), "{error}");
    }
    let of_sound = calls(dir.path()).iter().filter(|call| call.contains("--engine sound")).count();
    assert_eq!(of_sound, 1, "from an earlier measurement");
}

#[test]
fn what_peers_cannot_do_is_refused_before_anything_is_measured() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(&dir.path().join("new"), ENTRIES);
    let refused =
        |experiment: &Experiment, scale| peers(&["sound"], scale).run(&setup, experiment, &Nobody).unwrap_err();
    assert!(refused(&Experiment::Hit(hit()), 1).to_string().contains("leave --peers out"));
    assert!(refused(&Experiment::Load, 3).to_string().contains("give a smaller --peer-scale"));
    assert!(!setup.dir.exists());
}
