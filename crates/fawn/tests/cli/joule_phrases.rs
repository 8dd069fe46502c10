//! `fawn joule phrases` as a user runs it, beside `grep` and a count by looking everywhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::server::{Run, fawn, fawn_with_input};

/// A directory with phrases and texts.
fn files(phrases: &[u8], text: &[u8]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("phrases"), phrases).unwrap();
    std::fs::write(dir.path().join("text"), text).unwrap();
    dir
}

fn path(dir: &Path, name: &str) -> String {
    dir.join(name).to_str().unwrap().to_owned()
}

/// Searches the text of `dir`.
fn phrases(dir: &Path, more: &[&str]) -> Run {
    let (patterns, text) = (path(dir, "phrases"), path(dir, "text"));
    fawn(&[&["joule", "phrases", "--patterns", &patterns, &text], more].concat())
}

/// Lines of words, of which some repeat; and phrases of two or three words, of which some are not there.
fn corpus() -> (String, Vec<String>) {
    let word = |at: u64| format!("w{}", at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56);
    let line = |line: u64| (0..12).map(|at| word(line * 7 + at * at)).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = (0..3000).map(line).collect();
    let mut found: Vec<String> = (0..400usize)
        .map(|at| {
            let words: Vec<&str> = lines[at * 7].split(' ').collect();
            words[at % 8..at % 8 + 2 + at % 2].join(" ")
        })
        .collect();
    found.extend((0..100).map(|at| format!("absent {at}")));
    found.sort();
    found.dedup();
    (lines.join("\n") + "\n", found)
}

/// What grep prints; `None`, with a message, if there is none.
fn grep(dir: &Path, flags: &[&str]) -> Option<String> {
    let output =
        Command::new("grep").args(flags).args(["-f", "phrases", "text"]).env("LC_ALL", "C").current_dir(dir).output();
    if let Ok(output) = output {
        return Some(String::from_utf8(output.stdout).unwrap());
    }
    eprintln!("skipped: grep is not installed (apt-get install grep)");
    None
}

#[test]
fn counts_are_those_of_looking_everywhere_in_the_order_of_the_file() {
    let (text, wanted) = corpus();
    let dir = files(wanted.join("\n").as_bytes(), text.as_bytes());
    let count = |phrase: &str| text.as_bytes().windows(phrase.len()).filter(|at| *at == phrase.as_bytes()).count();
    let counts: Vec<(String, usize)> = wanted.iter().map(|phrase| (phrase.clone(), count(phrase))).collect();
    let printed = |counts: &[(String, usize)]| {
        counts.iter().fold(String::new(), |mut out, (phrase, count)| {
            writeln!(out, "{count}\t{phrase}").unwrap();
            out
        })
    };
    let all = phrases(dir.path(), &["--zeros"]);
    assert_eq!((all.code, all.stdout), (0, printed(&counts)));
    let some: Vec<_> = counts.iter().filter(|(_, count)| *count > 0).cloned().collect();
    assert!(some.len() < counts.len() && some.len() > 100);
    assert_eq!(phrases(dir.path(), &["--threads", "1"]).stdout, printed(&some));
    let mut sorted = some.clone();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    assert_eq!(phrases(dir.path(), &["--sort", "count"]).stdout, printed(&sorted));
    let found = phrases(dir.path(), &["--found"]);
    let names: Vec<&str> = some.iter().map(|(phrase, _)| phrase.as_str()).collect();
    assert_eq!(found.stdout, names.join("\n") + "\n");
    let piped = fawn_with_input(&["joule", "phrases", "--patterns", &path(dir.path(), "phrases")], text.as_bytes());
    assert_eq!((piped.code, piped.stdout), (0, printed(&some)));
}

#[test]
fn lines_and_counts_are_those_of_grep_where_it_means_the_same() {
    let (text, wanted) = corpus();
    let dir = files(wanted.join("\n").as_bytes(), text.as_bytes());
    let Some(lines) = grep(dir.path(), &["-F"]) else { return };
    let run = phrases(dir.path(), &["--lines"]);
    assert!(run.code == 0 && run.stdout == lines, "{}", run.stderr);
    assert_eq!(phrases(dir.path(), &["--count-lines"]).stdout, format!("{}\n", lines.lines().count()));
    let folded = phrases(dir.path(), &["--lines", "--ignore-case"]).stdout;
    assert_eq!(Some(folded), grep(dir.path(), &["-F", "-i"]));
    // Phrases that overlap nowhere: grep prints each occurrence.
    let dir = files(b"deer\nfawns\nelk", b"deer elk\nfawns and deer, deerdeer\r\nno\nelk");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    grep(dir.path(), &["-F", "-o"])
        .unwrap()
        .lines()
        .for_each(|phrase| *counts.entry(phrase.to_owned()).or_default() += 1);
    let expected: Vec<String> = ["deer", "fawns", "elk"].map(|phrase| format!("{}\t{phrase}\n", counts[phrase])).into();
    assert_eq!(phrases(dir.path(), &[]).stdout, expected.concat());
    let words = phrases(dir.path(), &["--words"]).stdout;
    assert_eq!(words, "2\tdeer\n1\tfawns\n2\telk\n", "deerdeer is another word");
}

#[test]
fn json_has_counts_of_any_bytes_and_a_report() {
    let dir = files(b"deer\n\xff\xfe!\ndeer\nabsent\n", b"a deer \xff\xfe! deer\n");
    let run = phrases(dir.path(), &["--json", "--meter", "none"]);
    let json: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"));
    let expected: Value =
        serde_json::from_str(r#"[{"phrase": "deer", "count": 2}, {"phrase_base64": "//4h", "count": 1}]"#).unwrap();
    assert_eq!(json["phrases"], expected);
    let (report, row) = (&json["report"], &json["report"]["rows"][1]);
    assert_eq!(report["parameters"]["phrases"], 3, "a duplicate is one phrase");
    assert_eq!(
        (&row["bytes"], &row["occurrences"], &row["windows"]),
        (&Value::from(16), &Value::from(3), &Value::from(14))
    );
    assert!(row["seconds"].as_f64().unwrap() > 0.0 && row["predicted_false_share"].as_f64().unwrap() < 0.01);
    let lines: Value = serde_json::from_str(&phrases(dir.path(), &["--json", "--count-lines"]).stdout).unwrap();
    assert_eq!(lines["lines"], 1);
    let run = phrases(dir.path(), &["--stats", "--count-lines"]);
    assert_eq!(run.stdout, "1\n");
    assert!(run.stderr.contains("passed first") && run.stderr.contains("note: no energy was metered"), "{run:?}");
}

#[test]
fn a_one_sided_search_thins_phrases_out_for_an_exact_one() {
    let (text, wanted) = corpus();
    let dir = files(wanted.join("\n").as_bytes(), text.as_bytes());
    let thinned = phrases(dir.path(), &["--one-sided", "--found"]);
    let exact = phrases(dir.path(), &["--found"]);
    assert_eq!(thinned.code, 0);
    let mut thinned_lines = thinned.stdout.lines();
    assert!(exact.stdout.lines().all(|phrase| thinned_lines.any(|other| other == phrase)), "nothing is missing");
    assert!(thinned.stdout.len() < wanted.join("\n").len(), "something is left out");
    std::fs::write(dir.path().join("thinned"), &thinned.stdout).unwrap();
    let again =
        fawn(&["joule", "phrases", "--patterns", &path(dir.path(), "thinned"), &path(dir.path(), "text"), "--found"]);
    assert_eq!(again.stdout, exact.stdout);
}

#[test]
fn nothing_found_is_exit_code_1_and_what_cannot_be_meant_is_2() {
    let dir = files(b"deer\n", b"no such animal\n");
    for more in [&[][..], &["--lines"], &["--count-lines"], &["--found"], &["--one-sided", "--found"]] {
        let run = phrases(dir.path(), more);
        assert!(run.code == 1 && run.stderr == "fawn: the phrase does not occur\n", "{run:?}");
    }
    for (more, what) in [
        (&["--one-sided"][..], "keeps no counts: add --found, --lines or --count-lines"),
        (&["--lines", "--found"], "--lines and --found print different things"),
        (&["--lines", "--json"], "use --count-lines"),
        (&["--found", "--zeros"], "--zeros is for counts"),
        (&["--lines", "--sort", "count"], "--sort count is for counts"),
        (&["--one-sided", "--found", "--words"], "leave --words out"),
        (&["-", "-"], "can be read once"),
        (&["--filter-bits", "3"], "from 4 to 64"),
    ] {
        let run = phrases(dir.path(), more);
        assert!(run.code == 2 && run.stderr.contains(what) && run.stdout.is_empty(), "{what}: {run:?}");
    }
    let run = fawn_with_input(&["joule", "phrases", "--patterns", "-"], b"deer\n");
    assert!(run.code == 2 && run.stderr.contains("name files to search"), "{run:?}");
}

#[test]
fn what_cannot_be_read_is_refused_in_one_sentence() {
    let dir = files(b"deer\n", b"a deer\n");
    let (patterns, text, here) = (path(dir.path(), "phrases"), path(dir.path(), "text"), path(dir.path(), ""));
    let empty = path(dir.path(), "empty");
    std::fs::write(&empty, "\n\n").unwrap();
    let packed = path(dir.path(), "phrases.gz");
    std::fs::write(&packed, b"\x1f\x8b\x08\0\0\0\0\0").unwrap();
    for (patterns, text, what) in [
        (&patterns, &here, "it is a directory: name the files in it"),
        (&here, &text, "it is a directory: name a file with a phrase on each line"),
        (&empty, &text, "it has no phrases: write one on each line"),
        (&packed, &text, "compressed by gzip: unpack it"),
        (&"nowhere".to_owned(), &text, "cannot read the phrases of nowhere: No such file"),
        (&patterns, &"nowhere".to_owned(), "cannot read nowhere: No such file"),
    ] {
        let run = fawn(&["joule", "phrases", "--patterns", patterns, text]);
        assert!(run.code == 2 && run.stdout.is_empty(), "1 is that no phrase occurs: {run:?}");
        assert!(run.stderr.contains(what) && run.stderr.lines().count() == 1, "{run:?}");
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = crate::server::fawn_command(&["joule", "phrases", "--patterns", &patterns, &text]);
    let run = Run::from(command.stdout(full).output().unwrap());
    let says = "fawn: cannot write to standard output: No space left on device (os error 28)\n";
    assert!(run.code == 2 && run.stderr == says, "{run:?}");
    let run = fawn(&["joule", "phrases", "--patterns", &patterns, &packed, &text]);
    assert!(run.code == 0 && run.stdout == "1\tdeer\n", "{run:?}");
    assert!(run.stderr.contains("is compressed by gzip, and is searched as it is"), "{run:?}");
}

#[test]
fn a_phrase_that_is_there_twice_is_one_also_if_nothing_is_verified() {
    let dir = files(b"dog\nDog\ndog\ncat\n", b"a dog\n");
    let of = |more: &[&str]| phrases(dir.path(), &[&["--one-sided", "--found"], more].concat()).stdout;
    assert_eq!((of(&[]).as_str(), of(&["--ignore-case"]).as_str()), ("dog\n", "dog\n"));
    let json: Value = serde_json::from_str(&of(&["--json"])).unwrap();
    assert_eq!((&json["phrases"].as_array().unwrap().len(), &json["report"]["parameters"]["phrases"]), (&1, &3.into()));
}

#[test]
fn a_pipe_is_opened_once() {
    let dir = files(b"deer\n", b"");
    let (patterns, pipe) = (path(dir.path(), "phrases"), path(dir.path(), "pipe"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, "a deer\n")
    });
    let run = fawn(&["joule", "phrases", "--patterns", &patterns, &pipe]);
    assert!(run.code == 0 && run.stdout == "1\tdeer\n", "{run:?}");
    writer.join().unwrap().unwrap();
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_search() {
    let dir = files(b"deer\n", b"a deer\n".repeat(1 << 19).as_slice());
    let (patterns, text) = (path(dir.path(), "phrases"), path(dir.path(), "text"));
    let mut command = crate::server::fawn_command(&["joule", "phrases", "--patterns", &patterns, "--lines", &text]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_line_without_end_takes_no_more_memory_than_others() {
    let dir = files(b"needle in a haystack\n", b"");
    let hay = vec![b'x'; 1 << 20];
    let mut command =
        crate::server::fawn_command(&["joule", "phrases", "--patterns", &path(dir.path(), "phrases"), "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let run: Run = std::thread::scope(|scope| {
        scope.spawn(move || {
            use std::io::Write;
            (0..300).for_each(|_| stdin.write_all(&hay).unwrap());
            stdin.write_all(b"needle in a haystack").unwrap();
        });
        child.wait_with_output().unwrap().into()
    });
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["phrases"][0]["count"], 1);
    let row = &json["report"]["rows"][1];
    assert_eq!(row["bytes"], (300 << 20) + 20);
    assert!(row["most_rss_bytes"].as_u64().unwrap() < 100 << 20, "{row}");
}

#[test]
fn the_help_says_which_cache_is_taken_on_this_machine_and_the_report_that_it_was() {
    let dir = files(b"deer\n", b"a deer\n");
    let taken = |more: &[&str]| {
        let run = phrases(dir.path(), &[&["--json"], more].concat());
        let json: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"));
        json["report"]["parameters"]["cache_bytes"].as_u64().unwrap()
    };
    let bytes = taken(&[]);
    let (kib, mib) = (format!("{} KiB, of", bytes >> 10), format!("{} MiB, of", bytes >> 20));
    let help = fawn(&["joule", "phrases", "--help"]).stdout;
    assert!(
        help.contains(&format!("[default: {kib}")) || help.contains(&format!("[default: {mib}")),
        "{bytes}: {help}"
    );
    assert_eq!(taken(&["--cache", "64K"]), 64 << 10);
    // Another machine, whose threads share the second level.
    let level = dir.path().join("sys/devices/system/cpu/cpu0/cache/index2");
    std::fs::create_dir_all(&level).unwrap();
    for (file, word) in [("level", "2"), ("type", "Unified"), ("size", "1280K"), ("shared_cpu_list", "0,4")] {
        std::fs::write(level.join(file), word).unwrap();
    }
    let elsewhere = ["--meter-root", dir.path().to_str().unwrap()];
    assert_eq!(taken(&elsewhere), 640 << 10);
    std::fs::remove_dir_all(&level).unwrap();
    assert_eq!(taken(&elsewhere), 1 << 20, "nothing is known of caches");
}
