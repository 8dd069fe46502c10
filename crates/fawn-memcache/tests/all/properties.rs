//! What holds for every input.

use crate::transcript::transcript;
use fawn_memcache::{Session, SessionLimits};
use proptest::prelude::*;

const LIMITS: SessionLimits = SessionLimits { item_bytes: 150 };

const WORDS: &[&str] = &[
    "get",
    "gets",
    "gat",
    "gats",
    "set",
    "add",
    "cas",
    "append",
    "ms",
    "mg",
    "md",
    "ma",
    "me",
    "mn",
    "delete",
    "incr",
    "touch",
    "flush_all",
    "stats",
    "lru_crawler",
    "noreply",
    "q",
    "v",
    "k",
    "O1",
    "b",
    "I",
    "T5",
    "N0",
    "0",
    "1",
    "5",
    "90",
    "-1",
    "key",
    "Zm9v",
    "x",
    "HTTP/1.1",
];

/// Something that looks like a word of a command line.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![8 => proptest::sample::select(WORDS).prop_map(str::to_string), 1 => "[a-z]{249,252}"]
}

/// A line, a store with its block, or noise.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let blanks = || proptest::sample::select(&[" ", "  "][..]);
    let end = || proptest::sample::select(&["\r\n", "\n", " \r\n", "\r\r\n"][..]);
    let line = (proptest::collection::vec((word(), blanks()), 1..8), end()).prop_map(|(words, end)| {
        let line: String = words.iter().flat_map(|(word, blank)| [word.as_str(), blank]).collect();
        (line.trim_end().to_string() + end).into_bytes()
    });
    let block = (0..120usize, 0..120usize, any::<bool>(), end()).prop_map(|(told, sent, honest, end)| {
        let sent = if honest { told } else { sent };
        format!("set key 1 0 {told}\r\n{}{end}", "v".repeat(sent)).into_bytes()
    });
    let noise = proptest::collection::vec(any::<u8>(), 0..40);
    prop_oneof![6 => line, 3 => block, 1 => noise]
}

fn input() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(piece(), 0..8).prop_map(|pieces| pieces.concat())
}

fn whole(input: &[u8]) -> Vec<String> {
    transcript(Session::new(LIMITS), LIMITS, [input])
}

proptest! {
    #[test]
    fn input_split_anywhere_says_the_same(input in input(), mut cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let mut pieces = Vec::new();
        let mut rest = &input[..];
        while let Some(cut) = cuts.pop() {
            let (piece, tail) = rest.split_at(cut.index(rest.len() + 1));
            pieces.push(piece);
            rest = tail;
        }
        pieces.push(rest);
        prop_assert_eq!(transcript(Session::new(LIMITS), LIMITS, pieces), whole(&input));
        prop_assert_eq!(transcript(Session::new(LIMITS), LIMITS, input.chunks(1)), whole(&input));
    }

    #[test]
    fn any_bytes_are_survived_within_bounded_memory(input in proptest::collection::vec(any::<u8>(), 0..6000)) {
        // `transcript` asserts that no step asks for more than an item and a line.
        transcript(Session::new(LIMITS), LIMITS, input.chunks(100));
        transcript(Session::with_authentication(LIMITS), SessionLimits { item_bytes: 16_384 }, input.chunks(100));
    }

    #[test]
    fn a_good_request_after_any_line_is_still_answered(words in proptest::collection::vec(word(), 1..8)) {
        // A store's data block would swallow what follows; a browser is hung up on.
        let store = ["set", "add", "cas", "append", "ms"].contains(&words[0].as_str());
        let line = words.join(" ");
        if !store && !line.contains("HTTP/") {
            let events = whole(format!("{line}\r\nversion\r\n").as_bytes());
            prop_assert_eq!(events.last().map(String::as_str), Some(" Version"));
        }
    }
}
