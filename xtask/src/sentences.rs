//! Sentences of what newcomers read: README, the book's guide and operations, `fawn --help`.

use crate::help;
use crate::prose::{Sentence, sentences};
use crate::tree::{Tree, TreeFile};

/// Words that nine sentences of ten have at most.
const MOST: usize = 28;

/// Words of a long sentence are more.
const LONG: usize = 30;

/// Long sentences of a hundred at most. A text may have one in any case.
const LONG_PERCENT: usize = 6;

/// The texts whose sentences are too long, and these sentences.
pub fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in tree.files.iter().filter(|file| is_for_newcomers(file)) {
        let found: Vec<_> = sentences(&file.text).into_iter().map(|sentence| (file.path.as_str(), sentence)).collect();
        judge(&format!("{}:1: the page", file.path), &found, &mut complaints);
    }
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| help::is_of_help(file)) {
        for (line, text) in help::texts(&file.text) {
            let of_text = sentences(&text).into_iter().map(|sentence| Sentence { line, ..sentence });
            found.extend(of_text.map(|sentence| (file.path.as_str(), sentence)));
        }
    }
    judge("crates/fawn/src/command.rs:1: fawn --help", &found, &mut complaints);
    complaints
}

fn is_for_newcomers(file: &TreeFile) -> bool {
    let is_page = ["book/src/guide/", "book/src/operations/"].iter().any(|folder| file.path.starts_with(folder));
    file.path == "README.md" || (is_page && file.has_extension("md"))
}

/// Complains of a text, then of its long sentences, each at its place.
fn judge(name: &str, found: &[(&str, Sentence)], complaints: &mut Vec<String>) {
    let mut lengths: Vec<usize> = found.iter().map(|(_, sentence)| sentence.words).collect();
    lengths.sort_unstable();
    let Some(ninetieth) = (lengths.len() * 9).div_ceil(10).checked_sub(1).map(|at| lengths[at]) else { return };
    let long = lengths.iter().filter(|words| **words > LONG).count();
    let allowed = (lengths.len() * LONG_PERCENT / 100).max(1);
    if ninetieth <= MOST && long <= allowed {
        return;
    }
    complaints.push(format!(
        "{name}: one sentence in ten has {ninetieth} words or more (at most {MOST}), and {long} of {} have more than {LONG} \
         (at most {allowed}); shorten these:",
        lengths.len()
    ));
    for (path, Sentence { line, words, begin }) in found.iter().filter(|(_, sentence)| sentence.words > MOST) {
        complaints.push(format!("{path}:{line}: {words} words: {begin} …"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::tests::tree;

    fn sentence(words: usize) -> String {
        format!("{}.\n", vec!["Word"; words].join(" "))
    }

    #[test]
    fn a_text_may_have_few_long_sentences() {
        let text = |short, long, words| format!("{}{}", sentence(10).repeat(short), sentence(words).repeat(long));
        let complaints = |text: &str| check(&tree(&[("book/src/guide/a.md", text), ("docs/b.md", text)]));
        assert_eq!(complaints(&text(9, 1, 40)), [""; 0]);
        assert_eq!(complaints(&text(94, 6, 40)), [""; 0]);
        assert_eq!(complaints(&text(93, 7, 31)).len(), 8);
        let found = complaints(&text(8, 2, 29));
        assert_eq!(
            found,
            [
                "book/src/guide/a.md:1: the page: one sentence in ten has 29 words or more (at most 28), and 0 of 10 have \
                 more than 30 (at most 1); shorten these:",
                "book/src/guide/a.md:1: 29 words: Word Word Word Word Word Word Word …",
                "book/src/guide/a.md:1: 29 words: Word Word Word Word Word Word Word …",
            ]
        );
    }

    #[test]
    fn help_is_one_text() {
        let text = format!("//! A.\n#[derive(Args)]\nstruct A {{\n/// {}a: u8,\n}}\n", sentence(29));
        let found =
            check(&tree(&[("crates/fawn/src/a.rs", text.as_str()), ("crates/fawn-kv/src/a.rs", text.as_str())]));
        assert_eq!(found[1], "crates/fawn/src/a.rs:4: 29 words: Word Word Word Word Word Word Word …");
        assert_eq!(found.len(), 2);
    }
}
