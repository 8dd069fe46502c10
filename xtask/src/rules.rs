//! The project's own rules about text: what no lint of the compiler knows.

use crate::tree::{Tree, TreeFile};

/// Lines of a Rust file at most. Files are thought about at 600.
const LONGEST_FILE: usize = 700;

/// The files that may hold unsafe code, each block with its reason.
const UNSAFE_FILES: &[&str] = &[
    "crates/fawn/src/allocator.rs",
    "crates/fawn-flash/src/reader/ring.rs",
    "crates/fawn-flash/src/uring/async_writer.rs",
    "crates/fawn-flash/src/uring/batch_reader.rs",
    "peers/src/engines/bdb.rs",
    "peers/src/engines/lmdb.rs",
    "peers/src/keeper.rs",
    "peers/src/pages.rs",
];

/// The crates that see no socket, file, clock, thread or random source.
const PURE_CRATES: &[&str] = &[
    "fawn-ring",
    "fawn-memcache",
    "fawn-resp",
    "fawn-rdb",
    "fawn-http",
    "fawn-store",
    "fawn-kv",
    "fawn-report",
    "fawn-plan",
    "fawn-workload",
    "fawn-gordon",
];

/// What a pure crate does not name outside its tests.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::os",
    "std::thread",
    "std::process",
    "std::env",
    "std::io::std",
    "Instant::now",
    "SystemTime",
    "RandomState",
    "std::collections::HashMap",
    "std::collections::HashSet",
    "println!",
];

/// Every violation, as `path:line: what`.
pub fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in tree.files.iter().filter(|file| file.path != "LICENSE" && !file.path.ends_with("Cargo.lock")) {
        check_words(file, &mut complaints);
        if file.has_extension("rs") {
            check_length(file, &mut complaints);
            check_module_doc(file, &mut complaints);
            check_unsafe(file, &mut complaints);
            check_purity(file, &mut complaints);
        }
    }
    complaints
}

/// Words that do not belong into a repository. They are put together here, or this file would break the rule.
fn forbidden_words() -> Vec<(String, &'static str)> {
    let word = |parts: [&str; 2]| parts.concat();
    vec![
        (word(["FIX", "ME"]), "do it, or describe the limit"),
        (word(["XX", "X"]), "do it, or describe the limit"),
        (word(["todo", "!("]), "write it"),
        (word(["unimplemented", "!("]), "write it"),
        (word(["dbg", "!("]), "remove it"),
        (word(["#[ign", "ore"]), "a test runs or does not exist"),
        (word(["/wo", "rk/"]), "a path of one machine"),
        (word(["/ro", "ot/"]), "a path of one machine"),
        (word(["/ho", "me/"]), "a path of one machine"),
        (word(["/tm", "p/"]), "a path of one machine; make a temporary directory"),
    ]
}

fn check_words(file: &TreeFile, complaints: &mut Vec<String>) {
    let words = forbidden_words();
    for (number, line) in file.lines() {
        for (word, advice) in words.iter().filter(|(word, _)| line.contains(word.as_str())) {
            complaints.push(format!("{}:{number}: `{word}`: {advice}", file.path));
        }
        // Protocol scripts and other data may need them.
        if line.ends_with([' ', '\t']) && ["rs", "md", "toml", "sh"].iter().any(|kind| file.has_extension(kind)) {
            complaints.push(format!("{}:{number}: blanks at the end of the line", file.path));
        }
    }
}

fn check_length(file: &TreeFile, complaints: &mut Vec<String>) {
    let length = file.lines().count();
    if length > LONGEST_FILE {
        complaints.push(format!("{}: {length} lines; split it (at most {LONGEST_FILE})", file.path));
    }
}

/// A file says first what it is. The tests of a module belong to it and need no introduction.
fn check_module_doc(file: &TreeFile, complaints: &mut Vec<String>) {
    let is_tests = file.path.ends_with("/tests.rs") || file.path.ends_with("_tests.rs");
    if !is_tests && !file.text.starts_with("//!") {
        complaints.push(format!("{}:1: start with a module comment (//!)", file.path));
    }
}

fn check_unsafe(file: &TreeFile, complaints: &mut Vec<String>) {
    let lines: Vec<&str> = file.text.lines().collect();
    for (number, line) in file.lines() {
        if !is_unsafe_code(line) {
            continue;
        }
        if !UNSAFE_FILES.contains(&file.path.as_str()) {
            complaints.push(format!("{}:{number}: unsafe code belongs into {}", file.path, UNSAFE_FILES.join(", ")));
        } else if !lines[number.saturating_sub(8)..number].iter().any(|line| line.contains("SAFETY:")) {
            complaints.push(format!("{}:{number}: say why this is sound in a `// SAFETY:` comment", file.path));
        }
    }
}

/// Whether the line opens a block or item of unsafe code.
fn is_unsafe_code(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let keyword = ["un", "safe "].concat();
    ["{", "fn", "impl", "extern", "trait"].iter().any(|what| code.contains(&format!("{keyword}{what}")))
}

fn check_purity(file: &TreeFile, complaints: &mut Vec<String>) {
    let is_pure = PURE_CRATES.iter().any(|name| file.path.starts_with(&format!("crates/{name}/src/")));
    if !is_pure {
        return;
    }
    for (number, line) in file.product_lines().filter(|(_, line)| !line.trim_start().starts_with("//")) {
        for name in IMPURE.iter().filter(|name| line.contains(**name)) {
            complaints.push(format!("{}:{number}: `{name}` in a pure crate; take it as an argument", file.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        check(&Tree { files: vec![TreeFile { path: path.to_owned(), text: text.to_owned() }] })
    }

    #[test]
    fn a_good_file_is_not_complained_about() {
        assert_eq!(complaints("crates/fawn-store/src/a.rs", "//! A.\n\nfn f() {}\n"), [""; 0]);
    }

    #[test]
    fn every_rule_is_enforced() {
        let long = format!("//! A.\n{}", "\n".repeat(LONGEST_FILE));
        let block = ["un", "safe { f() }"].concat();
        let cases = [
            ("a.rs", format!("//! A.\n// {}: later\n", ["FIX", "ME"].concat()), "do it"),
            ("a.md", format!("see {}x\n", ["/wo", "rk/"].concat()), "path of one machine"),
            ("a.rs", "//! A. \n".to_owned(), "blanks"),
            ("a.rs", "fn f() {}\n".to_owned(), "module comment"),
            ("a.rs", long, "split it"),
            ("a.rs", format!("//! A.\n{block}\n"), "belongs into"),
            (UNSAFE_FILES[0], format!("//! A.\n{block}\n"), "SAFETY"),
            ("crates/fawn-kv/src/a.rs", "//! A.\nuse std::fs;\n".to_owned(), "pure crate"),
        ];
        for (path, text, expected) in cases {
            let found = complaints(path, &text);
            assert!(found.len() == 1 && found[0].contains(expected), "{path} {expected}: {found:?}");
        }
    }

    #[test]
    fn tests_of_pure_crates_may_use_files_and_reasons_may_name_unsafe_code() {
        assert_eq!(
            complaints("crates/fawn-kv/src/a.rs", "//! A.\n#[cfg(test)]\nmod tests { use std::fs; }\n"),
            [""; 0]
        );
        let text = ["//! A.\n// SAFETY: sound.\nun", "safe { f() }\n"].concat();
        assert_eq!(complaints(UNSAFE_FILES[0], &text), [""; 0]);
    }
}
