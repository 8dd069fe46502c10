//! Sentences of Markdown, and their words.
//!
//! Headings, tables, blocks of code and HTML are no sentences. An item of a list begins one. Code in a line is one word, as
//! is the text of a link as many as it has.

/// A sentence.
#[derive(Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Where its paragraph begins.
    pub line: usize,
    /// How many words it has.
    pub words: usize,
    /// Its first words.
    pub begin: String,
}

/// Words that are shown of a sentence.
const SHOWN: usize = 7;

/// Abbreviations that end in a full stop within a sentence.
const ABBREVIATIONS: &[&str] = &["e.g.", "i.e.", "cf.", "vs.", "approx.", "fig.", "no.", "sec."];

/// What stands for code in a line.
const CODE: &str = "Code";

/// The sentences of a document.
pub fn sentences(text: &str) -> Vec<Sentence> {
    let (mut found, mut paragraph, mut begin) = (Vec::new(), String::new(), 0);
    let (mut is_code, mut is_html) = (false, false);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start_matches("> ").trim();
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        is_html = !line.is_empty() && (is_html || is_tag(line));
        let is_text = !is_fence && !is_code && !is_html && !line.is_empty() && !line.starts_with(['#', '|']);
        let item = item(line);
        if !is_text || item.is_some() {
            cut(&paragraph, begin, &mut found);
            paragraph.clear();
        }
        if is_text {
            if paragraph.is_empty() {
                begin = index + 1;
            }
            paragraph.push_str(item.unwrap_or(line));
            paragraph.push(' ');
        }
    }
    cut(&paragraph, begin, &mut found);
    found
}

/// Whether a line opens a block of HTML.
fn is_tag(line: &str) -> bool {
    line.strip_prefix('<')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!' || c == '/'))
        && !line.starts_with("<http")
}

/// The text of an item of a list.
fn item(line: &str) -> Option<&str> {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (number.len() < line.len()).then(|| number.strip_prefix(". ")).flatten();
    line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).or(numbered)
}

/// Cuts a paragraph into sentences.
fn cut(paragraph: &str, line: usize, found: &mut Vec<Sentence>) {
    let plain = plain(paragraph);
    let words: Vec<&str> = plain.split_whitespace().collect();
    let mut sentence: Vec<&str> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if word.contains(char::is_alphanumeric) {
            sentence.push(word);
        }
        if ends(word, words.get(at + 1).copied()) && !sentence.is_empty() {
            found.push(counted(&std::mem::take(&mut sentence), line));
        }
    }
    if !sentence.is_empty() {
        found.push(counted(&sentence, line));
    }
}

fn counted(words: &[&str], line: usize) -> Sentence {
    Sentence { line, words: words.len(), begin: words[..words.len().min(SHOWN)].join(" ") }
}

/// Whether a sentence ends with a word.
fn ends(word: &str, next: Option<&str>) -> bool {
    let bare = word.trim_end_matches(['"', '”', '’', ')', '*', '_']);
    let is_abbreviation = ABBREVIATIONS.contains(&bare.trim_start_matches('(').to_lowercase().as_str());
    let begins = |next: &str| !next.trim_start_matches(['(', '"', '“', '*', '_', '[']).starts_with(char::is_lowercase);
    bare.ends_with(['.', '!', '?', '…']) && !is_abbreviation && next.is_none_or(begins)
}

/// Text without code, images, and the targets of links.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for (at, part) in text.split('`').enumerate() {
        plain.push_str(if at % 2 == 0 { part } else { CODE });
    }
    let mut rest = plain.as_str();
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text.replace(['[', ']'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<usize> {
        sentences(text).iter().map(|sentence| sentence.words).collect()
    }

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        assert_eq!(words("One two three. Four five! Six?"), [3, 2, 1]);
        assert_eq!(words("See e.g. this, i.e. that (cf. Figure 3.1) at 99.6 % – now. \"Quoted.\" Next"), [11, 1, 1]);
        assert_eq!(words("Over\ntwo lines.\n\nA paragraph without an end\n\nAnother"), [3, 5, 1]);
        assert_eq!(words("Run `fawn serve --dir data`. `fawn` starts. Read [the long page](a/b.md) now."), [2, 2, 5]);
    }

    #[test]
    fn items_are_sentences_and_headings_tables_and_code_are_none() {
        let text = "# A heading\n\nText:\n- one two\n  three\n- four\n1. five six\n\n| a | b |\n|---|---|\n\n```sh\nfawn serve\n```\n\
                    <details>\n<summary>x</summary>\n\n> A quote.\n";
        assert_eq!(words(text), [1, 3, 1, 2, 2]);
        let found = sentences(text);
        assert_eq!((found[1].line, found[1].begin.as_str()), (4, "one two three"));
    }
}
