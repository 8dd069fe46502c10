//! A text that is made, and phrases to look for in it, for machines without a corpus.
//!
//! The text is the same on every machine. Words are few syllables, and some are much more frequent than others, as in languages;
//! but it is no language, so compare its figures with each other alone.

use std::io::{self, Write};

use fawn_workload::mix;

/// Different words of the text.
const WORDS: u64 = 50_000;
/// Words of a line.
const LINE_WORDS: usize = 16;
/// Words of a phrase at least, and bytes.
const PHRASE_WORDS: usize = 3;
const PHRASE_BYTES: usize = 19;
const CONSONANTS: &[u8] = b"bdfghjklmnprst";
const VOWELS: &[u8] = b"aeiou";

/// The number of a word that is drawn by `number`: the lower, the more frequent.
fn draw_word(number: u64) -> u64 {
    let part = (mix(number) >> 11) as f64 / (1u64 << 53) as f64;
    (part * part * part * WORDS as f64) as u64
}

/// Adds a word by its number: two syllables if it is a frequent one, else three or more.
fn add_word(out: &mut Vec<u8>, mut number: u64) {
    let syllables = (CONSONANTS.len() * VOWELS.len()) as u64;
    for place in 0.. {
        let syllable = (number % syllables) as usize;
        out.extend([CONSONANTS[syllable / VOWELS.len()], VOWELS[syllable % VOWELS.len()]]);
        number /= syllables;
        if place > 0 && number == 0 {
            return;
        }
    }
}

/// Any line is made without those before it.
fn line_words(line: u64) -> [u64; LINE_WORDS] {
    std::array::from_fn(|place| draw_word(line * LINE_WORDS as u64 + place as u64))
}

/// Words of a line of the text, as bytes with a line feed.
fn add_line(out: &mut Vec<u8>, line: u64) {
    for word in line_words(line) {
        add_word(out, word);
        out.push(b' ');
    }
    *out.last_mut().expect("a line has words") = b'\n';
}

/// Writes whole lines of the text until they have so many bytes at least; how many lines these are.
///
/// # Errors
/// `out` refuses them.
pub fn write_text(out: &mut impl Write, bytes: u64) -> io::Result<u64> {
    let (mut lines, mut written, mut buffer) = (0, 0, Vec::new());
    while written < bytes {
        buffer.clear();
        while buffer.len() < 64 << 10 && written + (buffer.len() as u64) < bytes {
            add_line(&mut buffer, lines);
            lines += 1;
        }
        out.write_all(&buffer)?;
        written += buffer.len() as u64;
    }
    Ok(lines)
}

/// So many phrases, one a line. Every other one is in the text of so many lines, and the rest are not: a word of theirs is none of
/// its words.
pub fn phrases(count: u64, lines: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for number in 0..count {
        // Numbers that draw no word of the text.
        let chance = mix(!number);
        let words = line_words(chance % lines.max(1));
        let is_there = number % 2 == 0;
        let start = out.len();
        // As many words as it takes, from a place with enough of them behind.
        let first = (mix(chance) % (LINE_WORDS as u64 / 2)) as usize;
        for (at, word) in words[first..].iter().enumerate() {
            if at >= PHRASE_WORDS && out.len() - start > PHRASE_BYTES {
                break;
            }
            let word = if at == 1 && !is_there { WORDS + number } else { *word };
            add_word(&mut out, word);
            out.push(b' ');
        }
        *out.last_mut().expect("a phrase has words") = b'\n';
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn words_are_all_different_and_every_other_phrase_is_in_the_text() {
        let word = |number: u64| {
            let mut out = Vec::new();
            add_word(&mut out, number);
            out
        };
        let words: BTreeSet<Vec<u8>> = (0..2 * WORDS).map(word).collect();
        assert_eq!(words.len() as u64, 2 * WORDS);
        let mut text = Vec::new();
        let lines = write_text(&mut text, 100_000).unwrap();
        assert!(
            text.len() >= 100_000
                && text.len() < 100_200
                && text.split(|byte| *byte == b'\n').count() as u64 == lines + 1
        );
        let text = String::from_utf8(text).unwrap();
        let phrases = String::from_utf8(phrases(100, lines)).unwrap();
        assert_eq!(phrases.lines().count(), 100);
        for (number, phrase) in phrases.lines().enumerate() {
            assert!(phrase.len() >= PHRASE_BYTES && phrase.split(' ').count() >= PHRASE_WORDS, "{phrase}");
            assert_eq!(text.contains(phrase), number % 2 == 0, "{phrase}");
        }
    }
}
