//! Commands as lines of words, for people with telnet.

use std::ops::Range;

/// Cuts a line into words, which go to the end of `bytes`; `None` if quotes are not closed where a word ends.
///
/// A word may be in double quotes, with the escapes of C and `\xHH`, or in single quotes, with `\'` alone.
pub fn split(line: &[u8], bytes: &mut Vec<u8>, words: &mut Vec<Range<usize>>) -> Option<()> {
    // As in Redis, where a line is a string of C, it ends before a zero byte.
    let mut rest = line.split(|byte| *byte == 0).next().unwrap_or_default();
    loop {
        let spaces = rest.iter().take_while(|byte| is_space(**byte)).count();
        rest = &rest[spaces..];
        if rest.is_empty() {
            return Some(());
        }
        let from = bytes.len();
        rest = word(rest, bytes)?;
        words.push(from..bytes.len());
    }
}

/// Appends the first word, and returns what follows it.
fn word<'a>(mut rest: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] | [b' ' | b'\n' | b'\r' | b'\t', ..] => return Some(rest),
            [b'"', quoted @ ..] => return double_quoted(quoted, bytes),
            [b'\'', quoted @ ..] => return single_quoted(quoted, bytes),
            [byte, behind @ ..] => {
                bytes.push(*byte);
                rest = behind;
            }
        }
    }
}

fn double_quoted<'a>(mut rest: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    loop {
        match rest {
            [] => return None,
            [b'"', behind @ ..] => return ends(behind),
            [b'\\', b'x', high, low, behind @ ..] if digit(*high).is_some() && digit(*low).is_some() => {
                let byte = digit(*high)? * 16 + digit(*low)?;
                bytes.push(u8::try_from(byte).ok()?);
                rest = behind;
            }
            [b'\\', escape, behind @ ..] => {
                bytes.push(match escape {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 0x08,
                    b'a' => 0x07,
                    other => *other,
                });
                rest = behind;
            }
            [byte, behind @ ..] => {
                bytes.push(*byte);
                rest = behind;
            }
        }
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] => return None,
            [b'\'', behind @ ..] => return ends(behind),
            [b'\\', b'\'', behind @ ..] => {
                bytes.push(b'\'');
                rest = behind;
            }
            [byte, behind @ ..] => {
                bytes.push(*byte);
                rest = behind;
            }
        }
    }
}

/// What follows a closing quote has to be a space, or nothing.
fn ends(behind: &[u8]) -> Option<&[u8]> {
    behind.first().is_none_or(|byte| is_space(*byte)).then_some(behind)
}

/// As C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<Vec<String>> {
        let (mut bytes, mut words) = (Vec::new(), Vec::new());
        split(line.as_bytes(), &mut bytes, &mut words)?;
        Some(words.into_iter().map(|word| String::from_utf8_lossy(&bytes[word]).into_owned()).collect())
    }

    #[test]
    fn a_line_is_words_between_spaces_and_quotes() {
        let some = |words: &[&str]| Some(words.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(words(""), some(&[]));
        assert_eq!(words("  set a\tb  "), some(&["set", "a", "b"]));
        assert_eq!(words(r#"set "a b" 'c "d"'"#), some(&["set", "a b", "c \"d\""]));
        assert_eq!(words(r#""\x41\n\"\\\q\x4" '\'\n'"#), some(&["A\n\"\\qx4", "'\\n"]));
        assert_eq!(words(r#"a"b c""#), some(&["ab c"]));
        assert_eq!(words(r#""" ''"#), some(&["", ""]));
        assert_eq!(words("\x0b\x0ca\x0bb c\0 d"), some(&["a\x0bb", "c"]));
    }

    #[test]
    fn quotes_that_are_not_closed_where_a_word_ends_are_refused() {
        for line in ["\"a", "\"a\0\"", "'a", "\"a\"b", "'a'b", "\"\\", "'\\'"] {
            assert_eq!(words(line), None, "{line}");
        }
    }
}
