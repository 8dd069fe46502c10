//! What an operation is on the wire, and what an answer means.
//!
//! The checker's model knows values as numbers. A key of the kind [`Register`](Kind::Register) holds the number, and
//! behind it filler that follows from it, so that a value that was damaged or put together of two is noticed; a
//! [`Counter`](Kind::Counter) and a [`Text`](Kind::Text) hold digits alone, as the service counts and extends them.

use fawn_check::{KvOperation, KvOutcome};

use super::connection::Reply;

/// What a key is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Values of many lengths: set, get, cas, add, replace, delete, touch.
    Register,
    /// A number: counted up and down.
    Counter,
    /// Digits: written before and behind.
    Text,
}

/// Which of memcached's protocols is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `get`, `set`, …
    Text,
    /// `mg`, `ms`, …
    Meta,
}

/// What an answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The operation's outcome.
    Outcome(KvOutcome),
    /// An error that does not say what became of the operation.
    Unknown,
    /// A value that nobody ever stored, or an answer that is none to this question.
    Nonsense(String),
}

/// Error lines that promise that nothing was done, and never will be.
const REFUSALS: &[&str] = &["SERVER_ERROR out of memory storing object", "SERVER_ERROR no space left on the device"];

/// Seconds until something that is touched expires: after the trial.
const LATER: u32 = 20 * 24 * 3600;

/// A value's bytes.
pub fn value(kind: Kind, number: u64) -> Vec<u8> {
    let mut bytes = number.to_string().into_bytes();
    if kind == Kind::Register {
        bytes.push(b':');
        let filler = b'a' + (number % 26) as u8;
        // Mostly small, now and then some KiB.
        let length = if number.is_multiple_of(16) { number * 7919 % 6000 } else { number * 7919 % 300 };
        bytes.resize(bytes.len() + length as usize, filler);
    }
    bytes
}

/// The number that bytes stand for; `None`: it is no value that was ever stored.
fn number(kind: Kind, bytes: &[u8]) -> Option<u64> {
    let digits = match kind {
        Kind::Register => bytes.split(|&byte| byte == b':').next()?,
        // A counter that became shorter has blanks behind it.
        Kind::Counter => bytes.trim_ascii_end(),
        Kind::Text => bytes,
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // As in the model, numbers of more than 64 bits wrap.
    let step = |number: u64, digit: &u8| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
    let number = digits.iter().fold(0, step);
    (kind != Kind::Register || value(kind, number) == bytes).then_some(number)
}

/// The request.
pub fn request(kind: Kind, dialect: Dialect, key: &str, operation: &KvOperation, opaque: u64) -> Vec<u8> {
    match dialect {
        Dialect::Text => text(kind, key, operation),
        Dialect::Meta => meta(kind, key, operation, opaque).unwrap_or_else(|| text(kind, key, operation)),
    }
}

fn text(kind: Kind, key: &str, operation: &KvOperation) -> Vec<u8> {
    let store = |command: &str, bytes: &[u8], after: &str| {
        let mut request = format!("{command} {key} 0 0 {}{after}\r\n", bytes.len()).into_bytes();
        request.extend_from_slice(bytes);
        request.extend_from_slice(b"\r\n");
        request
    };
    match *operation {
        KvOperation::Put { value: number } => store("set", &value(kind, number), ""),
        KvOperation::Add { value: number } => store("add", &value(kind, number), ""),
        KvOperation::Replace { value: number } => store("replace", &value(kind, number), ""),
        KvOperation::CompareAndSwap { expected, value: number } => {
            store("cas", &value(kind, number), &format!(" {expected}"))
        }
        KvOperation::Extend { digit, before, vivify: false } => {
            store(if before { "prepend" } else { "append" }, digit.to_string().as_bytes(), "")
        }
        KvOperation::Get => format!("gets {key}\r\n").into_bytes(),
        KvOperation::Delete => format!("delete {key}\r\n").into_bytes(),
        KvOperation::Increment { by } => format!("incr {key} {by}\r\n").into_bytes(),
        KvOperation::Decrement { by, initial: None } => format!("decr {key} {by}\r\n").into_bytes(),
        KvOperation::Touch => format!("touch {key} {LATER}\r\n").into_bytes(),
        other => unreachable!("{other} is not drawn, or has no words in the text protocol"),
    }
}

/// `None`: it has to be said in the text protocol.
fn meta(kind: Kind, key: &str, operation: &KvOperation, opaque: u64) -> Option<Vec<u8>> {
    let store = |bytes: &[u8], flags: &str| {
        let mut request = format!("ms {key} {} c O{opaque}{flags}\r\n", bytes.len()).into_bytes();
        request.extend_from_slice(bytes);
        request.extend_from_slice(b"\r\n");
        request
    };
    Some(match *operation {
        KvOperation::Put { value: number } => store(&value(kind, number), ""),
        KvOperation::Add { value: number } => store(&value(kind, number), " ME"),
        KvOperation::Replace { value: number } => store(&value(kind, number), " MR"),
        KvOperation::CompareAndSwap { expected, value: number } => {
            store(&value(kind, number), &format!(" C{expected}"))
        }
        KvOperation::Extend { digit, before, vivify } => {
            let mode = if before { "P" } else { "A" };
            store(digit.to_string().as_bytes(), &format!(" M{mode}{}", if vivify { " N0" } else { "" }))
        }
        KvOperation::Get => format!("mg {key} v c O{opaque}\r\n").into_bytes(),
        KvOperation::Delete => format!("md {key} O{opaque}\r\n").into_bytes(),
        KvOperation::Increment { by } => format!("ma {key} v c O{opaque} D{by}\r\n").into_bytes(),
        KvOperation::Decrement { by, initial } => {
            let initial = initial.map(|initial| format!(" N0 J{initial}")).unwrap_or_default();
            format!("ma {key} v c O{opaque} MD D{by}{initial}\r\n").into_bytes()
        }
        _ => return None,
    })
}

/// What an answer means.
pub fn meaning(kind: Kind, operation: &KvOperation, opaque: u64, reply: &Reply) -> Meaning {
    let line = reply.line.as_str();
    if REFUSALS.iter().any(|refusal| line.starts_with(refusal)) {
        return Meaning::Outcome(KvOutcome::Refused);
    }
    if line.starts_with("SERVER_ERROR") {
        return Meaning::Unknown;
    }
    let words: Vec<&str> = line.split(' ').collect();
    let flag = |letter: char| words.iter().skip(1).find_map(|word| word.strip_prefix(letter));
    let is_meta = matches!(words[0], "HD" | "VA" | "NS" | "NF" | "EX");
    let nonsense = |why: &str| Meaning::Nonsense(format!("{operation} was answered with {line:?}{why}"));
    if is_meta && flag('O') != Some(opaque.to_string().as_str()) {
        return nonsense(", the answer to another question");
    }
    let version = flag('c').and_then(|cas| cas.parse().ok());
    let shown = reply.value.as_ref().map(|bytes| number(kind, bytes));
    let Some(shown) = shown.map_or(Some(None), |shown| shown.map(Some)) else {
        let bytes = reply.value.as_deref().unwrap_or_default();
        let bytes = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        return nonsense(&format!(" and the value {bytes:?}, which nobody has stored"));
    };
    let outcome = if is_meta || words[0] == "EN" {
        of_meta(operation, words[0], shown, version)
    } else {
        of_text(operation, &words, shown)
    };
    outcome.map_or_else(|| nonsense(""), Meaning::Outcome)
}

fn of_meta(operation: &KvOperation, word: &str, shown: Option<u64>, version: Option<u64>) -> Option<KvOutcome> {
    use KvOperation::{CompareAndSwap, Decrement, Delete, Get, Increment};
    let counts = matches!(operation, Increment { .. } | Decrement { .. });
    let stores = !counts && !matches!(operation, Get | Delete);
    Some(match (word, operation, shown) {
        ("VA", Get, Some(value)) => KvOutcome::Hit { value, version },
        ("EN", Get, None) => KvOutcome::Miss,
        ("VA", _, Some(value)) if counts => KvOutcome::Number { value, version },
        ("NF", CompareAndSwap { .. } | Delete, None) => KvOutcome::NotFound,
        ("NF", _, None) if counts => KvOutcome::NotFound,
        ("HD", Delete, None) => KvOutcome::Deleted,
        ("HD", _, None) if stores => KvOutcome::Stored { version },
        ("EX", CompareAndSwap { .. }, None) => KvOutcome::Exists,
        ("NS", _, None) if stores => KvOutcome::NotStored,
        _ => return None,
    })
}

fn of_text(operation: &KvOperation, words: &[&str], shown: Option<u64>) -> Option<KvOutcome> {
    use KvOperation::{CompareAndSwap, Decrement, Delete, Get, Increment, Touch};
    let counts = matches!(operation, Increment { .. } | Decrement { .. });
    let stores = !counts && !matches!(operation, Get | Delete | Touch);
    Some(match (words, operation, shown) {
        (["VALUE", _, _, _, cas], Get, Some(value)) => KvOutcome::Hit { value, version: Some(cas.parse().ok()?) },
        (["END"], Get, None) => KvOutcome::Miss,
        ([number], _, None) if counts && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            KvOutcome::Number { value: number.parse().ok()?, version: None }
        }
        (["NOT_FOUND"], CompareAndSwap { .. } | Delete | Touch, None) => KvOutcome::NotFound,
        (["NOT_FOUND"], _, None) if counts => KvOutcome::NotFound,
        (["DELETED"], Delete, None) => KvOutcome::Deleted,
        (["TOUCHED"], Touch, None) => KvOutcome::Touched,
        (["EXISTS"], CompareAndSwap { .. }, None) => KvOutcome::Exists,
        (["STORED"], _, None) if stores => KvOutcome::Stored { version: None },
        (["NOT_STORED"], _, None) if stores => KvOutcome::NotStored,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(kind: Kind, operation: KvOperation, line: &str, value: Option<&[u8]>) -> Meaning {
        let reply = Reply { line: line.to_owned(), value: value.map(<[u8]>::to_vec) };
        meaning(kind, &operation, 7, &reply)
    }

    #[test]
    fn values_are_read_as_what_was_written_and_nothing_else_is_a_value() {
        for number in [0, 1, 16, 999, 123_456_789] {
            for kind in [Kind::Register, Kind::Counter, Kind::Text] {
                assert_eq!(self::number(kind, &value(kind, number)), Some(number));
            }
        }
        let mut torn = value(Kind::Register, 35);
        torn.pop();
        assert_eq!(number(Kind::Register, &torn), None);
        assert_eq!(number(Kind::Counter, b"12  "), Some(12));
        assert_eq!(number(Kind::Text, b""), None);
    }

    #[test]
    fn answers_mean_outcomes() {
        let hit = value(Kind::Register, 5);
        let seen = KvOutcome::Hit { value: 5, version: Some(9) };
        assert_eq!(mean(Kind::Register, KvOperation::Get, "VA 9 c9 O7", Some(&hit)), Meaning::Outcome(seen));
        assert_eq!(mean(Kind::Register, KvOperation::Get, "VALUE k 0 9 9", Some(&hit)), Meaning::Outcome(seen));
        let add = KvOperation::Add { value: 5 };
        assert_eq!(mean(Kind::Register, add, "NS O7", None), Meaning::Outcome(KvOutcome::NotStored));
        let count = KvOperation::Increment { by: 1 };
        let counted = Meaning::Outcome(KvOutcome::Number { value: 12, version: None });
        assert_eq!(mean(Kind::Counter, count, "12", None), counted);
        let full = "SERVER_ERROR no space left on the device, delete something or enlarge it";
        assert_eq!(mean(Kind::Register, add, full, None), Meaning::Outcome(KvOutcome::Refused));
        assert_eq!(mean(Kind::Register, add, "SERVER_ERROR try again", None), Meaning::Unknown);
    }

    #[test]
    fn what_answers_another_question_is_nonsense() {
        let is_nonsense = |meaning| matches!(meaning, Meaning::Nonsense(_));
        assert!(is_nonsense(mean(Kind::Register, KvOperation::Get, "VA 9 c9 O8", Some(&value(Kind::Register, 5)))));
        assert!(is_nonsense(mean(Kind::Register, KvOperation::Get, "VA 3 c9 O7", Some(b"5:x"))));
        assert!(is_nonsense(mean(Kind::Register, KvOperation::Get, "STORED", None)));
        assert!(is_nonsense(mean(Kind::Register, KvOperation::Delete, "CLIENT_ERROR bad", None)));
    }
}
