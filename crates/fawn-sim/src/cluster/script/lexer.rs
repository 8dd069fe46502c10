//! Lines of a script as words, and what is wrong with them.

use std::ops::RangeInclusive;
use std::str::SplitWhitespace;

/// The words of a line that are still to be read.
pub struct Lexer<'t> {
    line: &'t str,
    rest: SplitWhitespace<'t>,
}

impl<'t> Lexer<'t> {
    /// Those of `line`, which any blanks part.
    pub fn of(line: &'t str) -> Self {
        Self { line, rest: line.split_whitespace() }
    }

    /// The next one, if there is one.
    pub fn next(&mut self) -> Option<&'t str> {
        self.rest.next()
    }

    /// The next one, which is `what`.
    ///
    /// # Errors
    /// There is none.
    pub fn word(&mut self, what: &str) -> Result<&'t str, String> {
        self.next().ok_or_else(|| format!("`{}` lacks {what}", self.line))
    }

    /// The next one: a number within `bounds`.
    ///
    /// # Errors
    /// There is none, or it is not within them.
    pub fn number(&mut self, what: &str, bounds: RangeInclusive<u64>) -> Result<u64, String> {
        number(self.word(&format!("a {what}"))?, what, bounds)
    }

    /// That was all.
    ///
    /// # Errors
    /// It was not.
    pub fn end(&mut self) -> Result<(), String> {
        match self.next() {
            None => Ok(()),
            Some(word) => Err(format!("`{word}` is a word too many in `{}`", self.line)),
        }
    }
}

/// The number that `word` is, within `bounds`.
///
/// # Errors
/// It is none, or not within them.
pub fn number(word: &str, what: &str, bounds: RangeInclusive<u64>) -> Result<u64, String> {
    let number = word.parse().ok().filter(|number| bounds.contains(number));
    number.ok_or_else(|| format!("`{word}` is no {what}: it is a number from {} to {}", bounds.start(), bounds.end()))
}
