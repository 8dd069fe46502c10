use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use proptest::collection::vec;
use proptest::prelude::*;

use super::hash::mix;
use super::matcher::WindowCounts;
use super::search::search_pieces;
use super::source::PieceReader;
use super::*;

/// A text that comes in pieces of some bytes.
struct Dripping {
    text: Arc<Vec<u8>>,
    at: usize,
    at_a_time: usize,
}

impl Read for Dripping {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.at_a_time.min(self.text.len() - self.at).min(into.len());
        into[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// How a text is searched.
#[derive(Clone, Copy, Debug)]
struct Way {
    piece_bytes: usize,
    at_a_time: usize,
    threads: usize,
}

const PLAIN: Way = Way { piece_bytes: PIECE_BYTES, at_a_time: usize::MAX, threads: 1 };

fn run(matcher: &Matcher, texts: &[&[u8]], goal: SearchGoal<'_>, way: Way) -> SearchOutcome {
    let inputs = texts.iter().map(|text| {
        let text = Dripping { text: Arc::new(text.to_vec()), at: 0, at_a_time: way.at_a_time };
        TextInput::Reader("a text".to_owned(), Box::new(text))
    });
    let reader = PieceReader::with_piece_bytes(inputs, matcher.list().longest, way.piece_bytes);
    search_pieces(matcher, reader, goal, NonZeroUsize::new(way.threads).unwrap(), &|_| ()).unwrap()
}

fn matcher(phrases: &[Vec<u8>], options: MatcherOptions) -> Matcher {
    Matcher::build(PhraseList::parse(phrases.join(&b"\r\n"[..])).unwrap(), options)
}

/// Occurrences by phrase, without those that are not there.
fn counted(phrases: &[Vec<u8>], texts: &[&[u8]], options: MatcherOptions, way: Way) -> BTreeMap<Vec<u8>, u64> {
    let matcher = matcher(phrases, options);
    let outcome = run(&matcher, texts, SearchGoal::Counts, way);
    assert_eq!(outcome.bytes as usize, texts.iter().map(|text| text.len()).sum::<usize>());
    let count = |phrase: &[u8]| outcome.counts[matcher.number_of(phrase) as usize];
    let fold = |phrase: &[u8]| phrase.iter().map(|byte| options.case.fold(*byte)).collect::<Vec<u8>>();
    let all: BTreeMap<Vec<u8>, u64> = matcher
        .list()
        .iter()
        .map(|(_, phrase)| (fold(phrase), count(phrase)))
        .filter(|(_, count)| *count > 0)
        .collect();
    assert_eq!(all.values().sum::<u64>(), outcome.counts.iter().sum::<u64>(), "no other phrase was counted");
    all
}

/// The same by looking at each place for each phrase.
fn naive(phrases: &[Vec<u8>], texts: &[&[u8]], options: MatcherOptions) -> BTreeMap<Vec<u8>, u64> {
    let fold = |text: &[u8]| text.iter().map(|byte| options.case.fold(*byte)).collect::<Vec<u8>>();
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let mut counts = BTreeMap::new();
    let distinct: std::collections::BTreeSet<Vec<u8>> = phrases.iter().map(|phrase| fold(phrase)).collect();
    for text in texts.iter().map(|text| fold(text)) {
        for phrase in &distinct {
            for (at, window) in text.windows(phrase.len()).enumerate() {
                let is_part = options.words
                    && (at > 0 && is_letter(&text[at - 1]) || text.get(at + phrase.len()).is_some_and(is_letter));
                let has_line_end = phrase.ends_with(b"\r") && text.get(at + phrase.len()) == Some(&b'\n');
                if window == phrase && !is_part && !has_line_end {
                    *counts.entry(phrase.clone()).or_insert(0) += 1;
                }
            }
        }
    }
    counts
}

/// Lines with a phrase, each with a line feed at its end.
fn naive_lines(phrases: &[Vec<u8>], texts: &[&[u8]], options: MatcherOptions) -> Vec<u8> {
    let has_phrase = |line: &&[u8]| !naive(phrases, &[line], options).is_empty();
    let lines = texts.iter().flat_map(|text| text.split_inclusive(|byte| *byte == b'\n'));
    let whole = |line: &[u8]| [line.strip_suffix(b"\n").unwrap_or(line), b"\n"].concat();
    lines.filter(has_phrase).flat_map(whole).collect()
}

/// Somewhere to write that can be read afterwards.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn lines(matcher: &Matcher, texts: &[&[u8]], way: Way) -> (u64, Vec<u8>) {
    let paper = Paper::default();
    let output = LineOutput::Write { out: Box::new(paper.clone()), spool: tempfile::tempfile };
    let written = run(matcher, texts, SearchGoal::Lines(output), way).lines;
    assert_eq!(run(matcher, texts, SearchGoal::Lines(LineOutput::Count), way).lines, written);
    (written, std::mem::take(&mut *paper.0.lock().unwrap()))
}

/// Bytes of few kinds, so that phrases occur, overlap and begin with each other.
fn few_bytes(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    vec(
        prop_oneof![5 => Just(b'a'), 3 => Just(b'b'), 1 => Just(b'A'), 1 => Just(b' '), 1 => Just(0xffu8), 1 => Just(b'\r')],
        length,
    )
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![8 => few_bytes(1..30), 2 => Just(b"\n".to_vec()), 1 => Just(b"\r\n".to_vec())];
    vec(part, 0..40).prop_map(|parts| parts.concat())
}

fn way() -> impl Strategy<Value = Way> {
    (1usize..200, 1usize..300, 1usize..4).prop_map(|(piece_bytes, at_a_time, threads)| Way {
        piece_bytes,
        at_a_time,
        threads,
    })
}

fn options() -> impl Strategy<Value = MatcherOptions> {
    (any::<bool>(), any::<bool>(), 6u32..20).prop_map(|(folds, words, cache)| MatcherOptions {
        case: if folds { Case::AsciiInsensitive } else { Case::Exact },
        words,
        cache_bytes: 1 << cache,
        ..MatcherOptions::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn phrases_are_counted_as_by_looking_everywhere(
        phrases in vec(few_bytes(1..12), 1..20),
        texts in vec(text(), 1..4),
        way in way(),
        options in options(),
    ) {
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(counted(&phrases, &texts, options, way), naive(&phrases, &texts, options));
    }

    #[test]
    fn lines_are_those_with_a_phrase(
        phrases in vec(few_bytes(2..9), 1..4),
        texts in vec(text(), 1..4),
        way in way(),
        options in options(),
    ) {
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).filter(|text| !text.is_empty()).collect();
        let expected = naive_lines(&phrases, &texts, options);
        let (count, written) = lines(&matcher(&phrases, options), &texts, way);
        prop_assert_eq!(&written, &expected);
        prop_assert_eq!(count as usize, memchr::memchr_iter(b'\n', &expected).count());
    }

    #[test]
    fn a_one_sided_search_misses_nothing(
        phrases in vec(few_bytes(2..9), 1..12),
        texts in vec(text(), 1..4),
        way in way(),
        folds in any::<bool>(),
    ) {
        let case = if folds { Case::AsciiInsensitive } else { Case::Exact };
        let options = MatcherOptions { case, one_sided: true, filter_bits: 4, cache_bytes: 64, ..MatcherOptions::default() };
        let matcher = matcher(&phrases, options);
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let marks = run(&matcher, &texts, SearchGoal::Phrases, way).marks.unwrap();
        for phrase in naive(&phrases, &texts, options).keys() {
            prop_assert!(matcher.may_be_in(&marks, phrase), "{:?}", phrase);
        }
        let (_, written) = lines(&matcher, &texts, way);
        let mut rest = written.split(|byte| *byte == b'\n');
        for line in naive_lines(&phrases, &texts, options).split(|byte| *byte == b'\n') {
            prop_assert!(rest.any(|other| other == line), "{:?}", line);
        }
    }
}

/// Words that no two calls have in the same order.
fn words(seed: u64, count: usize) -> Vec<u8> {
    let word = |at: u64| format!("{:x} ", mix(seed << 32 | at) >> 44);
    (0..count as u64).map(word).collect::<String>().into_bytes()
}

#[test]
fn a_phrase_does_not_go_into_the_end_of_its_line() {
    let texts: [&[u8]; 3] = [b"xa\r\nya\r\n", b"a\r\r\n", b"a\r"];
    let phrases = [b"a\r".to_vec()];
    for (one_sided, piece_bytes) in [(false, 1), (false, 100), (true, 1), (true, 100)] {
        let matcher = matcher(&phrases, MatcherOptions { one_sided, ..MatcherOptions::default() });
        let way = Way { piece_bytes, at_a_time: 1, threads: 1 };
        let of = |text: &[u8]| run(&matcher, &[text], SearchGoal::Lines(LineOutput::Count), way).lines;
        assert_eq!(texts.map(of), [0, 1, 1], "{way:?}, {one_sided}");
        if let Some(marks) = run(&matcher, &texts[..1], SearchGoal::Phrases, way).marks {
            assert!(!matcher.may_be_in(&marks, b"a\r"));
        } else {
            assert_eq!(run(&matcher, &texts, SearchGoal::Counts, way).counts, [2]);
        }
    }
}

#[test]
fn pieces_may_end_at_every_byte_of_a_phrase() {
    let phrases = [b"needle".to_vec(), b"needle in".to_vec(), b"in a haystack".to_vec()];
    let text = b"hay hay hay needle in a haystack, needle in\nhay needle";
    let expected = naive(&phrases, &[text], MatcherOptions::default());
    for piece_bytes in 1..=120 {
        for at_a_time in 1..=text.len() {
            let way = Way { piece_bytes, at_a_time, threads: 1 };
            assert_eq!(counted(&phrases, &[text], MatcherOptions::default(), way), expected, "{way:?}");
        }
    }
}

#[test]
fn many_phrases_of_many_lengths_are_counted_in_a_text_of_many_pieces() {
    let text = words(1, 400_000);
    let begin = |at: u64| mix(at) as usize % (text.len() - 400);
    let mut phrases: Vec<Vec<u8>> = (0..40_000u64)
        .map(|at| {
            let length = if at % 1000 == 0 { 300 } else { 12 + at as usize % 40 };
            text[begin(at)..][..length].to_vec()
        })
        .collect();
    phrases.extend((0..20_000u64).map(|at| words(2 + at, 4)));
    phrases.push(b"ab".to_vec());
    let mut expected = BTreeMap::new();
    let mut by_length: BTreeMap<usize, std::collections::HashSet<&[u8]>> = BTreeMap::new();
    for phrase in &phrases {
        by_length.entry(phrase.len()).or_default().insert(phrase);
    }
    for (length, phrases) in &by_length {
        for window in text.windows(*length).filter(|window| phrases.contains(*window)) {
            *expected.entry(window.to_vec()).or_insert(0) += 1;
        }
    }
    for threads in [1, 3] {
        assert_eq!(counted(&phrases, &[&text], MatcherOptions::default(), Way { threads, ..PLAIN }), expected);
    }
}

#[test]
fn a_line_that_is_longer_than_pieces_is_one_line() {
    let mut text = words(3, 200_000);
    text.extend_from_slice(b"here is a needle ");
    text.extend(words(4, 200_000));
    text.extend_from_slice(b"and another needle\nno more\n");
    let matcher = matcher(&[b"needle".to_vec()], MatcherOptions::default());
    for threads in [1, 2] {
        let (count, written) = lines(&matcher, &[&text, b"needle"], Way { threads, ..PLAIN });
        assert_eq!(count, 2);
        assert!(written == [&text[..text.len() - b"no more\n".len()], b"needle\n"].concat(), "both lines, whole");
    }
}

/// Windows of a text that pass the filters although no phrase begins with them: predicted, and seen by a table of every window.
fn false_passes(options: MatcherOptions) -> (f64, f64) {
    let (text, window) = (words(5, 2_000_000), 19);
    let mut phrases: Vec<Vec<u8>> =
        (0..60_000u64).map(|at| words(6 + at, 6)[..window + at as usize % 5].to_vec()).collect();
    phrases.extend((0..2000).map(|at| text[at * 5000..][..window].to_vec()));
    let known: std::collections::HashSet<&[u8]> = phrases.iter().map(|phrase| &phrase[..window]).collect();
    let others = text.windows(window).filter(|window| !known.contains(window)).count() as u64;
    let matcher = matcher(&phrases, options);
    let goal = if options.one_sided { SearchGoal::Phrases } else { SearchGoal::Counts };
    let WindowCounts { windows, passed_second, false_passes, .. } = run(&matcher, &[&text], goal, PLAIN).windows;
    assert_eq!(windows as usize, text.len() - window + 1);
    let seen = passed_second - (windows - others);
    assert!(options.one_sided || false_passes == seen, "{false_passes} are known, {seen} seen");
    (matcher.predicted_false_share(), seen as f64 / others as f64)
}

#[test]
fn false_positives_are_as_many_as_predicted() {
    for (cache_bytes, filter_bits, one_sided) in
        [(1 << 15, 8, true), (1 << 16, 8, true), (1 << 15, 8, false), (1 << 14, 6, true)]
    {
        let options = MatcherOptions { one_sided, cache_bytes, filter_bits, ..MatcherOptions::default() };
        let (predicted, seen) = false_passes(options);
        assert!((seen / predicted - 1.0).abs() < 0.1, "{seen} seen, {predicted} predicted, {options:?}");
    }
}

#[test]
fn phrases_that_are_nowhere_are_thinned_out() {
    let text = words(7, 100_000);
    let mut phrases: Vec<Vec<u8>> = (0..50_000u64).map(|at| words(8 + at, 5)).collect();
    phrases.extend((0..500).map(|at| text[at * 1000..][..24].to_vec()));
    let matcher = matcher(&phrases, MatcherOptions { one_sided: true, ..MatcherOptions::default() });
    let marks = run(&matcher, &[&text], SearchGoal::Phrases, PLAIN).marks.unwrap();
    assert!(phrases[50_000..].iter().all(|phrase| matcher.may_be_in(&marks, phrase)));
    let left = phrases.iter().filter(|phrase| matcher.may_be_in(&marks, phrase)).count();
    assert!(left < 520, "{left} are left of 50,500, of which 500 are in the text");
}

#[test]
fn what_cannot_be_read_or_written_ends_every_thread() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("no such luck"))
        }
    }
    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let matcher = matcher(&[b"a".to_vec()], MatcherOptions::default());
    let threads = NonZeroUsize::new(3).unwrap();
    let texts = || [TextInput::Reader("text".to_owned(), Box::new(io::Cursor::new(b"a\n".repeat(1 << 20))))];
    let bad = texts().into_iter().chain([TextInput::Reader("bad".to_owned(), Box::new(Failing))]);
    let error = search(&matcher, bad, SearchGoal::Counts, threads, &|_| ()).unwrap_err();
    assert!(matches!(&error, SearchError::Read(read) if read.name == "bad"), "{error}");
    let output = LineOutput::Write { out: Box::new(Failing), spool: tempfile::tempfile };
    let error = search(&matcher, texts(), SearchGoal::Lines(output), threads, &|_| ()).unwrap_err();
    assert!(matches!(error, SearchError::Write(_)), "{error}");
}
