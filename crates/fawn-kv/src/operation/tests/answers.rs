//! What redis-server answered, and what operations come to.

use super::super::bit_field::{self, BitFieldAction, BitFieldOverflow, BitFieldStep};
use super::super::items::{self, Items};
use super::super::{BitRange, Edit, EditError, EditKind, Item, NewValue, Operation, View, ViewKind, glob};
use super::{Append, Decision, NOW, Outcome, evaluate, hash_of};

/// Longer than any value here.
const MOST_BYTES: usize = 1 << 20;

/// The columns of a file's lines.
fn lines(file: &str) -> impl Iterator<Item = Vec<&str>> {
    file.lines().filter(|line| !line.starts_with("# ")).map(|line| line.split('\t').collect())
}

/// Bytes of which some are written as `%` and two digits.
fn unescape(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.extend(unhex(&part[..2]));
        bytes.extend(part[2..].bytes());
    }
    bytes
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("digits")).collect()
}

/// The value of a key, which may be missing.
fn value(text: &str, decode: fn(&str) -> Vec<u8>) -> Option<Vec<u8>> {
    (text != "(nil)").then(|| decode(text))
}

fn item(value: &[u8]) -> Item<'_> {
    Item { value, flags: 0, expiry: 0, cas: 1, stale: false, won: false }
}

fn view(kind: ViewKind, value: Option<&Vec<u8>>) -> Decision<'static> {
    evaluate(&Operation::View(View { kind, argument: b"" }), value.map(|value| item(value)), NOW, MOST_BYTES)
}

fn integer(decision: &Decision<'_>) -> String {
    let Outcome::Integer(number) = decision.outcome else { panic!("{decision:?} is no number") };
    number.to_string()
}

fn range(text: &str) -> Option<BitRange> {
    let words: Vec<_> = text.split_whitespace().collect();
    let place = |at: usize| words.get(at).map(|word| word.parse().expect("a number"));
    Some(BitRange { first: place(0)?, last: place(1).unwrap_or(-1), bits: words.get(2) == Some(&"BIT") })
}

/// The answer, as the files have it, to an operation that adds decimal numbers.
fn sum(decision: &Decision<'_>) -> String {
    match decision.outcome {
        Outcome::Computed => String::from_utf8(decision.shown.clone()).expect("digits"),
        Outcome::Refused(EditError::NotFloat) => "!ERR value is not a valid float".into(),
        Outcome::Refused(EditError::FieldNotFloat) => "!ERR hash value is not a float".into(),
        Outcome::Refused(EditError::NotFinite) => "!ERR increment would produce NaN or Infinity".into(),
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn decimal_numbers_are_added_as_redis_does_it() {
    let mut count = 0;
    for line in lines(include_str!("../../../testdata/redis/incrbyfloat.tsv")) {
        let [old, delta, answer] = line[..] else { panic!("{line:?}") };
        let (old, delta) = (value(old, unescape), unescape(delta));
        let operation = Operation::Edit(Edit { kind: EditKind::AddFloat, argument: &delta });
        let decision = evaluate(&operation, old.as_deref().map(item), NOW, MOST_BYTES);
        assert_eq!(sum(&decision), answer, "{line:?}");
        if let Append::Value(version) = &decision.append {
            assert_eq!(version.value, NewValue::Made(decision.shown.clone()), "{line:?}");
        }
        count += 1;
    }
    assert!(count >= 200);
}

#[test]
fn decimal_numbers_in_fields_are_added_as_redis_does_it() {
    for line in lines(include_str!("../../../testdata/redis/hincrbyfloat.tsv")) {
        let [old, delta, answer] = line[..] else { panic!("{line:?}") };
        let (old, delta) = (value(old, unescape), unescape(delta));
        let mut argument = Vec::new();
        [&b"f"[..], &delta].iter().for_each(|part| items::push(&mut argument, Some(part)));
        let operation = Operation::Edit(Edit { kind: EditKind::AddFloatToField, argument: &argument });
        let hash = old.map(|old| hash_of(&[(b"f", &old)]));
        let current = hash.as_ref().map(|hash| Item { flags: super::super::hash::HASH_FLAGS, ..item(hash) });
        let decision = evaluate(&operation, current, NOW, MOST_BYTES);
        if answer == "!ERR value is NaN or Infinity" {
            // Whoever translates Redis's commands looks for it.
            assert!(super::super::float::is_infinite(&delta), "{line:?}");
            continue;
        }
        assert!(!super::super::float::is_infinite(&delta));
        assert_eq!(sum(&decision), answer, "{line:?}");
    }
}

#[test]
fn bits_are_found_and_counted_where_redis_finds_and_counts_them() {
    for line in lines(include_str!("../../../testdata/redis/bitpos.tsv")) {
        let [text, words, zero, one] = line[..] else { panic!("{line:?}") };
        let value = value(text, unhex);
        let is_open = words.split_whitespace().count() < 2;
        for (is_set, answer) in [(false, zero), (true, one)] {
            let decision = view(ViewKind::FindBit { is_set, range: range(words), is_open }, value.as_ref());
            assert_eq!(integer(&decision), answer, "{line:?}");
        }
    }
    for line in lines(include_str!("../../../testdata/redis/bitcount.tsv")) {
        let [text, words, answer] = line[..] else { panic!("{line:?}") };
        let decision = view(ViewKind::CountBits(range(words)), value(text, unhex).as_ref());
        assert_eq!(integer(&decision), answer, "{line:?}");
    }
}

#[test]
fn parts_of_strings_are_those_that_redis_shows() {
    for line in lines(include_str!("../../../testdata/redis/getrange.tsv")) {
        let [text, words, answer] = line[..] else { panic!("{line:?}") };
        let range = range(words).expect("a range");
        let kind = ViewKind::Range { first: range.first, last: range.last };
        let decision = view(kind, value(text, unhex).as_ref());
        assert_eq!((decision.outcome, decision.shown), (Outcome::Computed, unhex(answer)), "{line:?}");
    }
}

/// The steps of BITFIELD's words.
fn steps(words: &str) -> Vec<BitFieldStep> {
    let mut words = words.split_whitespace();
    let mut overflow = BitFieldOverflow::Wrap;
    let mut steps = Vec::new();
    while let Some(command) = words.next() {
        let word = words.next().expect("a word");
        if command == "OVERFLOW" {
            overflow = match word {
                "SAT" => BitFieldOverflow::Saturate,
                "FAIL" => BitFieldOverflow::Fail,
                _ => BitFieldOverflow::Wrap,
            };
            continue;
        }
        let mut number = || words.next().expect("a word").parse::<i64>().expect("a number");
        let (is_signed, bits) = (word.starts_with('i'), word[1..].parse().expect("a width"));
        let place = number() as u64;
        let action = match command {
            "GET" => BitFieldAction::Get,
            "SET" => BitFieldAction::Set(number()),
            _ => BitFieldAction::Add(number()),
        };
        steps.push(BitFieldStep { action, is_signed, bits, place, overflow });
    }
    steps
}

#[test]
fn integers_in_strings_become_what_redis_makes_of_them() {
    let mut count = 0;
    for line in lines(include_str!("../../../testdata/redis/bitfield.tsv")) {
        let [text, words, answer, after] = line[..] else { panic!("{line:?}") };
        let before = value(text, unhex);
        let argument = bit_field::encode(&steps(words));
        let operation = Operation::Edit(Edit { kind: EditKind::BitFields, argument: &argument });
        let decision = evaluate(&operation, before.as_deref().map(item), NOW, MOST_BYTES);
        let shown: Vec<_> = Items::of(&decision.shown)
            .map(|item| item.expect("a list").map_or("(nil)".into(), |item| String::from_utf8_lossy(item)))
            .collect();
        assert_eq!(shown.join(" "), answer, "{line:?}");
        let made = match decision.append {
            Append::Value(version) => Some(version.value),
            append => {
                assert_eq!(append, Append::Nothing);
                before.map(NewValue::Made)
            }
        };
        assert_eq!(made, value(after, unhex).map(NewValue::Made), "{line:?}");
        if !words.contains("SET") && !words.contains("INCRBY") {
            let read = Operation::View(View { kind: ViewKind::BitFields, argument: &argument });
            let read = evaluate(&read, value(text, unhex).as_deref().map(item), NOW, MOST_BYTES);
            assert_eq!(read.shown, decision.shown);
        }
        count += 1;
    }
    assert!(count >= 600);
}

#[test]
fn names_match_the_patterns_that_they_match_in_redis() {
    for line in lines(include_str!("../../../testdata/redis/patterns.tsv")) {
        let [pattern, name, count] = line[..] else { panic!("{line:?}") };
        assert_eq!(glob::matches(&unescape(pattern), &unescape(name)), count == "1", "{line:?}");
    }
    assert!(glob::matches(b"", b"") && glob::matches(b"*", b"") && !glob::matches(b"**", b""));
}

#[test]
fn a_pattern_of_many_stars_is_given_up_soon() {
    let (pattern, name) = (b"a*".repeat(1000), b"a".repeat(10_000));
    assert!(glob::matches(&pattern, &name));
    assert!(!glob::matches(&[&pattern[..], b"b"].concat(), &name));
}
