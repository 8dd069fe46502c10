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
    for seed in 0..20 {
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
    let script: Script = part.parse().unwrap();
    assert!(script.acts() > 3);
    let summary = script.run().unwrap();
    assert_eq!(summary.faults.iter().sum::<u64>(), script.acts() as u64);
    assert_ne!(lines(3), lines(4));
}

#[test]
fn a_script_that_names_what_is_not_there_is_refused() {
    for (text, what) in [
        ("at 5 crash 7 1 1", "names what the plan does not have"),
        ("at 5 explode", "no act is called explode"),
        ("plan speed=3", "a plan has no speed"),
        ("show gossip", "no message is called gossip"),
        ("at 5 cut 3 n1-n2", "is no link"),
        ("sed 5", "no line begins with"),
    ] {
        let error = text.parse::<Script>().unwrap_err();
        assert!(error.contains(what), "{text}: {error}");
    }
}
