//! What processes have complained of: their logs, in short.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Serialize;

/// Something that was said, numbers aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogMessage {
    /// How often, by all processes together.
    pub times: u64,
    /// What: its level first; digits are `N`.
    pub what: String,
}

/// What begins a line of a panic.
const PANIC: &str = "panicked at";

/// Warnings and errors in a directory's logs, the most frequent first; and panics, each with whose it is.
///
/// # Errors
/// A log cannot be read.
pub fn complaints(logs: &Path) -> io::Result<(Vec<LogMessage>, Vec<String>)> {
    let (mut said, mut panics) = (BTreeMap::<String, u64>::new(), Vec::new());
    for entry in std::fs::read_dir(logs)? {
        let path = entry?.path();
        if path.extension().is_none_or(|end| end != "err") {
            continue;
        }
        for line in String::from_utf8_lossy(&std::fs::read(&path)?).lines() {
            if line.contains(PANIC) {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                panics.push(format!("{name} panicked: {line}"));
            } else if let Some(what) = complaint(line) {
                *said.entry(what).or_default() += 1;
            }
        }
    }
    let mut said: Vec<LogMessage> = said.into_iter().map(|(what, times)| LogMessage { times, what }).collect();
    said.sort_by_key(|said| std::cmp::Reverse(said.times));
    Ok((said, panics))
}

/// `2026-01-02T03:04:05.678901Z  WARN fawn_node::x: what`, without the time.
fn complaint(line: &str) -> Option<String> {
    let (_, rest) = line.split_once('Z')?;
    let rest = rest.trim_start();
    if !rest.starts_with("WARN") && !rest.starts_with("ERROR") {
        return None;
    }
    let mut what = String::new();
    for letter in rest.chars() {
        match letter {
            '0'..='9' if what.ends_with('N') => {}
            '0'..='9' => what.push('N'),
            other => what.push(other),
        }
    }
    Some(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_counted_and_panics_told_one_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let line = |seat: u32| format!("2026-11-23T02:34:26.8Z  WARN fawn_node::links: seat {seat} is gone\n");
        let info = "2026-11-23T02:34:26.8Z  INFO fawn_node::links: all is well\n";
        let panic = "thread 'main' panicked at src/x.rs:1:2:\n";
        std::fs::write(dir.path().join("n1.err"), [&line(7), info, panic].concat()).unwrap();
        std::fs::write(dir.path().join("n2.err"), line(12)).unwrap();
        std::fs::write(dir.path().join("n2.out"), line(13)).unwrap();
        let (said, panics) = complaints(dir.path()).unwrap();
        assert_eq!(said, [LogMessage { times: 2, what: "WARN fawn_node::links: seat N is gone".to_owned() }]);
        assert_eq!(panics, ["n1 panicked: thread 'main' panicked at src/x.rs:1:2:"]);
    }
}
