//! A look at commands that a [`CommandReader`](crate::CommandReader) has yet to read.

/// Walks over commands in the form of arrays, as far as they have come, and allocates nothing. A guess: what is no such command
/// ends it, and it checks no limit.
#[derive(Clone, Debug)]
pub struct Ahead<'a> {
    input: &'a [u8],
}

/// Digits of a number that is taken for one.
const MOST_DIGITS: usize = 9;

impl<'a> Ahead<'a> {
    /// Looks at `input`, which begins with a command.
    pub fn new(input: &'a [u8]) -> Self {
        Self { input }
    }

    /// How many words the next command has. Take them all before the next call.
    pub fn command(&mut self) -> Option<usize> {
        self.header(b'*')
    }

    /// The next word of a command, once it is whole.
    pub fn word(&mut self) -> Option<&'a [u8]> {
        let bytes = self.header(b'$')?;
        let word = self.input.get(..bytes)?;
        self.input = self.input.get(bytes + 2..).unwrap_or_default();
        Some(word)
    }

    fn header(&mut self, kind: u8) -> Option<usize> {
        let [first, rest @ ..] = self.input else { return None };
        let digits = rest.iter().take(MOST_DIGITS + 1).take_while(|byte| byte.is_ascii_digit()).count();
        if *first != kind || !(1..=MOST_DIGITS).contains(&digits) {
            return None;
        }
        self.input = rest.get(digits + 2..)?;
        Some(rest[..digits].iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of each command.
    fn commands(input: &str) -> Vec<Vec<&[u8]>> {
        let (mut ahead, mut commands) = (Ahead::new(input.as_bytes()), Vec::new());
        while let Some(count) = ahead.command() {
            commands.push((0..count).map_while(|_| ahead.word()).collect());
        }
        commands
    }

    #[test]
    fn it_sees_what_has_come() {
        let two = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n";
        assert_eq!(commands(two), [vec![&b"GET"[..], b"a"], vec![b"PING"]]);
        assert_eq!(commands(&two[..two.len() - 4]), [vec![&b"GET"[..], b"a"], vec![]]);
        assert_eq!(commands("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$9\r\nxx"), [vec![&b"SET"[..], b"a"]]);
    }

    #[test]
    fn what_is_no_command_ends_it() {
        for input in ["", "*", "*2", "GET a\r\n", "*-1\r\n", "*x\r\n", "*1234567890\r\n", "$1\r\na\r\n"] {
            assert_eq!(commands(input), Vec::<Vec<&[u8]>>::new(), "{input:?}");
        }
    }
}
