//! Looking ahead: the keys that pipelined input will most likely ask for next.

use memchr::{memchr, memchr2};

/// The words at the places where the next commands of pipelined input have their keys. See [`Session::upcoming`].
///
/// [`Session::upcoming`]: crate::Session::upcoming
#[derive(Clone, Debug)]
pub struct Upcoming<'a> {
    input: &'a [u8],
    /// The input goes on with words of a line of keys.
    in_line: bool,
}

impl<'a> Upcoming<'a> {
    pub(crate) fn new(input: &'a [u8], in_line: bool) -> Self {
        Self { input, in_line }
    }

    /// The next word of a line of keys; `None` at the line's end or where the input ends before the word does.
    fn word(&mut self) -> Option<&'a [u8]> {
        let blanks = self.input.iter().take_while(|byte| **byte == b' ').count();
        let rest = &self.input[blanks..];
        let end = memchr2(b' ', b'\n', rest)?;
        let (word, last) = (&rest[..end], rest[end] == b'\n');
        self.input = &rest[end + usize::from(last)..];
        self.in_line = !last;
        let word = word.strip_suffix(b"\r").unwrap_or(word);
        (!word.is_empty()).then_some(word)
    }

    /// The key of a command with one key, which ends its line; goes on after `block` bytes, as the line tells them.
    fn single(&mut self, name: usize, block: impl FnOnce(&[u8]) -> usize) -> Option<&'a [u8]> {
        let end = memchr(b'\n', self.input)?;
        let line = &self.input[name..end];
        let key = &line[..memchr2(b' ', b'\r', line).unwrap_or(line.len())];
        let next = (end + 1).saturating_add(block(&line[key.len()..]));
        self.input = self.input.get(next..).unwrap_or(b"");
        (!key.is_empty()).then_some(key)
    }
}

/// The bytes that `<flags> <exptime> <bytes>` announce, with their line break.
fn set_block(rest: &[u8]) -> usize {
    let len = rest.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).nth(2).unwrap_or(b"");
    let digits = len.iter().take_while(|byte| byte.is_ascii_digit());
    digits
        .fold(0_usize, |len, digit| len.saturating_mul(10).saturating_add(usize::from(digit - b'0')))
        .saturating_add(2)
}

impl<'a> Iterator for Upcoming<'a> {
    type Item = &'a [u8];

    /// The next key. Ends where it cannot tell, at a command that is not among the frequent ones at the latest.
    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.in_line
            && let Some(word) = self.word()
        {
            return Some(word);
        }
        match self.input {
            [b'g', b'e', b't', b' ', rest @ ..] | [b'g', b'e', b't', b's', b' ', rest @ ..] => {
                self.input = rest;
                self.word()
            }
            [b'm', b'g', b' ', ..] => self.single(3, |_| 0),
            [b's', b'e', b't', b' ', ..] => self.single(4, set_block),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Session, SessionEvent, SessionLimits};

    /// Keys as [`Session::upcoming`] tells them, and as the session gives them out.
    fn both(input: &[u8]) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let mut session = Session::new(SessionLimits::default());
        let told: Vec<Vec<u8>> = session.upcoming(input).map(<[u8]>::to_vec).collect();
        let (mut used, mut given) = (0, Vec::new());
        loop {
            let step = session.next(&input[used..]);
            match step.event {
                SessionEvent::Request(request) => given.push(request.key.to_vec()),
                SessionEvent::NeedMore { .. } | SessionEvent::Close => return (told, given),
                _ => {}
            }
            used += step.consumed;
        }
    }

    #[test]
    fn what_is_told_ahead_is_what_comes() {
        let input = b"get a\r\nget  bb c  d\r\nmg eee v t\r\nset f 0 0 5\r\nget x\r\ngets g\nset h 1 2 0 noreply\r\n\r\nmg i\r\n";
        let (told, given) = both(input);
        assert_eq!(told, given);
        assert_eq!(told.len(), 9);
    }

    #[test]
    fn what_cannot_be_told_ends_the_list() {
        let keys = |input: &[u8]| both(input).0.len();
        assert_eq!(keys(b""), 0);
        assert_eq!(keys(b"get a"), 0);
        assert_eq!(keys(b"get a b"), 1);
        assert_eq!(keys(b"get \r\nget a\r\n"), 0);
        assert_eq!(keys(b"get a\r\nincr b 1\r\nget c\r\n"), 1);
        assert_eq!(keys(b"set a 0 0 99999999999999999999999\r\nget b\r\n"), 1);
        assert_eq!(keys(b"set a\r\nget b\r\n"), 1);
        assert_eq!(keys(b"mg \r\nmg\r\n"), 0);
    }

    #[test]
    fn a_line_of_keys_is_told_from_its_middle() {
        let mut session = Session::new(SessionLimits::default());
        let input = b"get a b c\r\nget d\r\n";
        let step = session.next(input);
        let consumed = step.consumed;
        let told: Vec<&[u8]> = session.upcoming(&input[consumed..]).collect();
        assert_eq!(told, [&b"b"[..], b"c", b"d"]);
    }
}
