//! A command line cut at its blanks.

use crate::MAX_LINE_BYTES;

/// The first words of a line, at most [`Tokens::MOST`]; further ones are ignored, as memcached ignores them.
#[derive(Debug)]
pub struct Tokens<'a> {
    line: &'a [u8],
    /// Start and end of each word.
    bounds: [(u16, u16); Tokens::MOST],
    count: usize,
}

impl<'a> Tokens<'a> {
    /// The most words of a line, as in memcached.
    pub const MOST: usize = 23;

    /// Cuts a line without its line break, of at most [`MAX_LINE_BYTES`] bytes.
    #[inline]
    pub fn split(line: &'a [u8]) -> Self {
        assert!(line.len() <= MAX_LINE_BYTES, "the session closes on longer lines");
        let mut bounds = [(0, 0); Self::MOST];
        let (mut at, mut count) = (0, 0);
        while at < line.len() && count < Self::MOST {
            if line[at] == b' ' {
                at += 1;
                continue;
            }
            let start = at;
            // Words are short: a search by vector costs more than it saves.
            while at < line.len() && line[at] != b' ' {
                at += 1;
            }
            bounds[count] = (start as u16, at as u16);
            count += 1;
        }
        Self { line, bounds, count }
    }

    /// Number of words in the line.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Word `at`, empty when there are fewer (no word is empty).
    #[inline]
    pub fn get(&self, at: usize) -> &'a [u8] {
        if at >= self.count {
            return b"";
        }
        let (start, end) = self.bounds[at];
        &self.line[start as usize..end as usize]
    }

    /// The last word of the line.
    #[inline]
    pub fn last(&self) -> &'a [u8] {
        self.get(self.count.wrapping_sub(1))
    }

    /// Whether the line ends with `noreply`.
    #[inline]
    pub fn is_noreply(&self) -> bool {
        self.last() == b"noreply"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_at_runs_of_blanks_and_capped() {
        let tokens = Tokens::split(b"  set  key 0 ");
        assert_eq!((tokens.len(), tokens.get(0), tokens.get(1)), (3, &b"set"[..], &b"key"[..]));
        assert_eq!((tokens.get(2), tokens.get(3), tokens.last()), (&b"0"[..], &b""[..], &b"0"[..]));
        assert_eq!(Tokens::split(b"").last(), b"");
        assert_eq!(Tokens::split("a ".repeat(30).as_bytes()).len(), Tokens::MOST);
    }
}
