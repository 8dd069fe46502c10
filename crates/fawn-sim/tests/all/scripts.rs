//! Conversations of the protocol, written down: `testdata/*.script` say what happens, and what is said then.
//! `REWRITE_SCRIPTS=1 cargo test -p fawn-sim scripts` writes them anew; read the difference.

use std::fs;
use std::path::{Path, PathBuf};

use fawn_sim::cluster::{Plan, Script, TOLD};

/// What a script says happens, and what it says is told.
fn read(path: &Path) -> (Script, String, String) {
    let text = fs::read_to_string(path).unwrap();
    let (script, told) = text.split_once(&format!("{TOLD}\n")).unwrap_or((&text, ""));
    let parsed = script.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    (parsed, script.to_owned(), told.to_owned())
}

#[test]
fn conversations_are_as_they_are_written_down() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "script"));
    paths.sort();
    assert!(paths.len() >= 13, "{} scripts", paths.len());
    let rewrite = std::env::var_os("REWRITE_SCRIPTS").is_some();
    for path in paths {
        let (script, before, expected) = read(&path);
        let (result, told) = script.tell();
        result.unwrap_or_else(|violation| panic!("{}: {violation}", path.display()));
        assert!(!told.is_empty(), "{} tells nothing", path.display());
        if rewrite {
            fs::write(&path, format!("{before}{TOLD}\n{told}")).unwrap();
        } else {
            let differs = expected.lines().zip(told.lines()).find(|(expected, told)| expected != told);
            assert_eq!(expected, told, "{}: first {differs:?}", path.display());
        }
    }
}

#[test]
fn a_seed_written_down_and_read_again_is_the_same_run() {
    for seed in 0..8 {
        let script = Script::of(seed, &Plan::of(seed));
        let again: Script = script.to_string().parse().unwrap();
        assert_eq!(again.to_string(), script.to_string());
        assert_eq!(again.run(), script.run(), "seed {seed}");
    }
}

#[test]
fn a_run_is_the_same_course_of_faults_whichever_are_left_out() {
    let lines = |seed| Script::of(seed, &Plan::of(seed)).to_string();
    let whole = lines(3);
    let part: Vec<&str> = whole.lines().enumerate().filter(|(at, _)| at % 3 != 2).map(|(_, line)| line).collect();
    let part = part.join("\n") + "\n";
    let mut script: Script = part.parse().unwrap();
    assert!(script.actions() > 3);
    script.show.names.insert("welcome");
    let (summary, told) = script.tell();
    // What waited for something is told, and counted, when it began to wait.
    let takes_place =
        |line: &&str| !["(nothing happens", " says ", " reads)", "(it never"].iter().any(|not| line.contains(not));
    let acts = told.lines().filter(|line| line.contains(" * ")).filter(takes_place).count();
    assert!(acts > 3, "{told}");
    assert_eq!(summary.unwrap().faults.iter().sum::<u64>(), acts as u64, "{told}");
    assert_ne!(lines(3), lines(4));
}

#[test]
fn what_a_script_cannot_mean_is_refused_with_its_line_and_word() {
    for (text, what) in [
        ("at 5 crash 7 1 1", "line 1: `crash 7 1 1`: there is no n7: the plan has 3 nodes"),
        ("\n\nat 5 crash 0 5 5 5", "line 3: `5` is a word too many"),
        ("at 5 crash 0", "`crash 0` lacks a time in microseconds; write `crash NODE US DICE`"),
        ("at 5 crash 0 18446744073709551615 5", "`18446744073709551615` is no time in microseconds"),
        ("at 5 explode", "no act is called `explode`"),
        ("at 5", "lacks the name of an act"),
        ("at 5 cut 3 n1-n2", "`n1-n2` is no link"),
        ("at 5 cut 3", "lacks a link"),
        ("at 5 cut 3 n99>n0", "there is no n99"),
        ("at 5 cut 3 f9>n0", "there is no f9: the plan has 0 front-ends"),
        ("at 5 cut 3 none n0>n1", "`n0>n1` is a word too many"),
        ("at 5 cut 3 x1>n0", "`x1` names nobody"),
        ("at 5 network 5000 5000 9", "`5000` is no number of a thousand messages: it is a number from 0 to 1000"),
        ("at 5 replicas 0", "`0` is no number of replicas: it is a number from 1 to 16"),
        ("at 5 clock 0 1000000", "from 0 to 999999"),
        ("at 5 lead 1", "there is no m1: the plan has 1 managers"),
        ("at 5 crash-front 0 1", "there is no f0"),
        ("at 5 put 1 0 1", "there is no c1"),
        ("at 5 put 0 8 1", "there is no key 8: the plan has 8"),
        ("at 5 crash-at 0 gossip 1 1", "no message is called `gossip`"),
        ("at 3000000 drain 0", "line 1: `drain 0` at 3000000 comes too late: until=3000000"),
        ("plan speed=3", "line 1: a plan has no `speed`"),
        ("plan nodes", "`nodes` is not NAME=VALUE"),
        ("plan", "`plan` lacks a setting"),
        ("plan nodes=0", "`0` is no value of nodes: it is a number from 1 to 32"),
        ("plan managers=0", "`0` is no value of managers"),
        ("plan nodes=4294967295 late=1", "`4294967295` is no value of nodes"),
        ("plan virtual=100000000", "`100000000` is no value of virtual"),
        ("plan until=18446744073709551615", "from 1 to 600000000"),
        ("plan fixed=yes", "`yes` is no value of fixed: it is true or false"),
        ("#\nplan least=9", "line 2: least=9, but no chain has more than 3 members"),
        ("plan nodes=32 virtual=16", "line 1: the ring has 512 places (nodes and late, times virtual): at most 256"),
        ("show gossip", "no message is called `gossip`"),
        ("show", "`show` lacks a kind of message"),
        ("show feed\nonly seven", "line 2: `seven` is no range such as r7"),
        ("only r7", "line 1: `only` without `show` tells nothing"),
        ("show feed\nfrom 3000000", "line 2: nothing is told from 3000000 on: until=3000000"),
        ("seed 1 2", "`2` is a word too many"),
        ("sed 5", "no line begins with `sed`"),
    ] {
        let error = text.parse::<Script>().unwrap_err();
        assert!(error.contains(what) && error.starts_with("line "), "{text}: {error}");
    }
}

#[test]
fn blanks_of_any_kind_part_words_and_orders_are_a_kind_like_others() {
    let script: Script = "show\torders\nat\t5\tcrash-at  0\torders 1 1\nat 6 cut 1 none\n--- ".parse().unwrap();
    let text = script.to_string();
    assert!(
        text.contains("show orders\n") && text.ends_with("at 5 crash-at 0 orders 1 1\nat 6 cut 1 none\n"),
        "{text}"
    );
    let (result, told) = script.tell();
    result.unwrap();
    assert!(told.contains(" m -> n0  activate ") && !told.contains("welcome"), "{told}");
    assert!(told.ends_with("* crash-at 0 orders (it never came to that)\n"), "{told}");
}

/// What a cluster of three with fixed delays tells.
fn told(lines: &str) -> String {
    let script: Script = format!("plan fixed=true clients=3 until=6000000\n{lines}").parse().unwrap();
    let (result, told) = script.tell();
    result.unwrap_or_else(|violation| panic!("{violation}\n{told}"));
    told
}

#[test]
fn what_is_said_to_a_node_that_is_down_is_told_as_lost_and_what_is_for_its_last_life_as_that() {
    let told =
        told("show seal activate feed\nat 2000000 crash 2 3000000 1\nat 3000000 crash 2 1 1\nat 4900000 join 0\n");
    assert!(told.contains("2000.000 * crash 2 3000000 1\n"), "{told}");
    assert!(told.contains("* crash 2 1 1 (nothing happens: n2 is down)\n"), "{told}");
    assert!(told.contains("* join 0 (nothing happens: n0 is there)\n"), "{told}");
    let at_ms = |line: &str| line.split_whitespace().next().unwrap().parse::<f64>().unwrap();
    let while_down = told.lines().filter(|line| (2001.0..4999.0).contains(&at_ms(line)));
    let (mut to_it, mut lost) = (0, 0);
    for line in while_down.filter(|line| line.contains("-> n2")) {
        to_it += 1;
        lost += usize::from(line.ends_with(" (lost: n2 is down)"));
    }
    assert!(lost > 0 && to_it == lost, "{told}");
}

#[test]
fn what_comes_to_a_life_that_is_over_shows_that_life() {
    let told = told(
        "show seal lease feed have\nat 1500000 hold-back 2 feed 600000\nat 1600000 put 0 0 1\nat 2000000 crash 2 50000 1\n",
    );
    assert!(told.contains("-> n2'1  feed "), "{told}");
}

#[test]
fn a_disk_that_others_lack_is_not_lost_and_not_counted_as_lost() {
    let script = "plan fixed=true nodes=1 replicas=1\nshow welcome\nat 2000000 lose-disk 0 1000 1";
    let (summary, told) = script.parse::<Script>().unwrap().tell();
    let faults = summary.unwrap().faults;
    let count = |name: &str| faults[fawn_sim::cluster::FAULTS.iter().position(|kind| *kind == name).unwrap()];
    assert_eq!((count("crash"), count("lost or other disk")), (1, 0));
    assert!(told.contains("lose-disk 0 1000 1 (its disk stays: others have not all that is on it)"), "{told}");
}

#[test]
fn shrinking_leaves_out_nodes_and_replicas_that_a_failure_does_not_need() {
    let text = "plan fixed=true nodes=5 replicas=3 least=2 clients=2\nat 1000000 cut 500000 n4>n3 n1>n0\nat 1500000 put 0 0 1\n\
                at 1500000 put 0 1 1\n";
    let (smallest, violation) = fawn_sim::cluster::shrink::shrink(&text.parse().unwrap()).unwrap();
    assert!(violation.what.contains("client 0 still waits"), "{violation}");
    let plan = smallest.plan;
    assert_eq!((plan.nodes, plan.replicas, plan.clients, smallest.actions()), (1, 1, 1, 2), "{smallest}");
}
