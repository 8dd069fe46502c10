//! What an operation is on the wire, and what an answer means.
//!
//! The checker's model knows values as numbers. A key of the kind [`Register`](KeyKind::Register) holds the number, and
//! behind it filler that follows from it, so that a value that was damaged or put together of two is noticed; a
//! [`Counter`](KeyKind::Counter) and a [`Text`](KeyKind::Text) hold digits alone, as the service counts and extends them.

use fawn_check::{KvOperation, KvOutcome};
use fawn_memcache::client::text::{self, TextStore};
use fawn_memcache::client::{Dialect, KeyForm, MetaRequest};

use super::connection::Reply;

/// What a key is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// Values of many lengths: set, get, cas, add, replace, delete, touch.
    Register,
    /// A number: counted up and down.
    Counter,
    /// Digits: written before and behind.
    Text,
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
pub fn value(kind: KeyKind, number: u64) -> Vec<u8> {
    let mut bytes = number.to_string().into_bytes();
    if kind == KeyKind::Register {
        bytes.push(b':');
        let filler = b'a' + (number % 26) as u8;
        // Mostly small, now and then some KiB.
        let length = if number.is_multiple_of(16) { number * 7919 % 6000 } else { number * 7919 % 300 };
        bytes.resize(bytes.len() + length as usize, filler);
    }
    bytes
}

/// The number that bytes stand for; `None`: it is no value that was ever stored.
fn number(kind: KeyKind, bytes: &[u8]) -> Option<u64> {
    let digits = match kind {
        KeyKind::Register => bytes.split(|&byte| byte == b':').next()?,
        // A counter that became shorter has blanks behind it.
        KeyKind::Counter => bytes.trim_ascii_end(),
        KeyKind::Text => bytes,
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // As in the model, numbers of more than 64 bits wrap.
    let step = |number: u64, digit: &u8| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
    let number = digits.iter().fold(0, step);
    (kind != KeyKind::Register || value(kind, number) == bytes).then_some(number)
}

/// The request.
pub fn request(kind: KeyKind, dialect: Dialect, key: &str, operation: &KvOperation, opaque: u64) -> Vec<u8> {
    match dialect {
        Dialect::Text => text(kind, key, operation),
        Dialect::Meta => meta(kind, key, operation, opaque).unwrap_or_else(|| text(kind, key, operation)),
    }
}

fn text(kind: KeyKind, key: &str, operation: &KvOperation) -> Vec<u8> {
    let (mut out, key) = (Vec::new(), key.as_bytes());
    let mut store = |store, bytes: &[u8]| text::push_store(&mut out, store, key, bytes);
    match *operation {
        KvOperation::Put { value: number } => store(TextStore::Set, &value(kind, number)),
        KvOperation::Add { value: number } => store(TextStore::Add, &value(kind, number)),
        KvOperation::Replace { value: number } => store(TextStore::Replace, &value(kind, number)),
        KvOperation::CompareAndSwap { expected, value: number } => {
            store(TextStore::Cas(expected), &value(kind, number))
        }
        KvOperation::Extend { digit, before, vivify: false } => {
            store(if before { TextStore::Prepend } else { TextStore::Append }, digit.to_string().as_bytes());
        }
        KvOperation::Get => text::push_gets(&mut out, key),
        KvOperation::Delete => text::push_delete(&mut out, key),
        KvOperation::Increment { by } => text::push_increment(&mut out, key, by),
        KvOperation::Decrement { by, initial: None } => text::push_decrement(&mut out, key, by),
        KvOperation::Touch => text::push_touch(&mut out, key, LATER),
        other => unreachable!("{other} is not drawn, or has no words in the text protocol"),
    }
    out
}

/// `None`: it has to be said in the text protocol.
fn meta(kind: KeyKind, key: &str, operation: &KvOperation, opaque: u64) -> Option<Vec<u8>> {
    let (mut out, key) = (Vec::new(), KeyForm::Plain(key.as_bytes()));
    let mut store = |bytes: &[u8], flag: Option<&str>, compare: Option<u64>, vivify: bool| {
        let mut request = MetaRequest::store(&mut out, key, bytes.len()).flag("c").number('O', opaque);
        if let Some(flag) = flag {
            request = request.flag(flag);
        }
        if let Some(version) = compare {
            request = request.number('C', version);
        }
        if vivify {
            request = request.number('N', 0);
        }
        request.end_with(bytes);
    };
    match *operation {
        KvOperation::Put { value: number } => store(&value(kind, number), None, None, false),
        KvOperation::Add { value: number } => store(&value(kind, number), Some("ME"), None, false),
        KvOperation::Replace { value: number } => store(&value(kind, number), Some("MR"), None, false),
        KvOperation::CompareAndSwap { expected, value: number } => {
            store(&value(kind, number), None, Some(expected), false);
        }
        KvOperation::Extend { digit, before, vivify } => {
            store(digit.to_string().as_bytes(), Some(if before { "MP" } else { "MA" }), None, vivify);
        }
        KvOperation::Get => MetaRequest::get(&mut out, key).flag("v").flag("c").number('O', opaque).end(),
        KvOperation::Delete => MetaRequest::delete(&mut out, key).number('O', opaque).end(),
        KvOperation::Increment { by } => {
            MetaRequest::arithmetic(&mut out, key).flag("v").flag("c").number('O', opaque).number('D', by).end();
        }
        KvOperation::Decrement { by, initial } => {
            let request = MetaRequest::arithmetic(&mut out, key).flag("v").flag("c").number('O', opaque).flag("MD");
            let request = request.number('D', by);
            match initial {
                Some(initial) => request.number('N', 0).number('J', initial).end(),
                None => request.end(),
            }
        }
        _ => return None,
    }
    Some(out)
}

/// What an answer means.
pub fn meaning(kind: KeyKind, operation: &KvOperation, opaque: u64, reply: &Reply) -> Meaning {
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

    fn mean(kind: KeyKind, operation: KvOperation, line: &str, value: Option<&[u8]>) -> Meaning {
        let reply = Reply { line: line.to_owned(), value: value.map(<[u8]>::to_vec) };
        meaning(kind, &operation, 7, &reply)
    }

    #[test]
    fn values_are_read_as_what_was_written_and_nothing_else_is_a_value() {
        for number in [0, 1, 16, 999, 123_456_789] {
            for kind in [KeyKind::Register, KeyKind::Counter, KeyKind::Text] {
                assert_eq!(self::number(kind, &value(kind, number)), Some(number));
            }
        }
        let mut torn = value(KeyKind::Register, 35);
        torn.pop();
        assert_eq!(number(KeyKind::Register, &torn), None);
        assert_eq!(number(KeyKind::Counter, b"12  "), Some(12));
        assert_eq!(number(KeyKind::Text, b""), None);
    }

    #[test]
    fn answers_mean_outcomes() {
        let hit = value(KeyKind::Register, 5);
        let seen = KvOutcome::Hit { value: 5, version: Some(9) };
        assert_eq!(mean(KeyKind::Register, KvOperation::Get, "VA 9 c9 O7", Some(&hit)), Meaning::Outcome(seen));
        assert_eq!(mean(KeyKind::Register, KvOperation::Get, "VALUE k 0 9 9", Some(&hit)), Meaning::Outcome(seen));
        let add = KvOperation::Add { value: 5 };
        assert_eq!(mean(KeyKind::Register, add, "NS O7", None), Meaning::Outcome(KvOutcome::NotStored));
        let count = KvOperation::Increment { by: 1 };
        let counted = Meaning::Outcome(KvOutcome::Number { value: 12, version: None });
        assert_eq!(mean(KeyKind::Counter, count, "12", None), counted);
        let full = "SERVER_ERROR no space left on the device, delete something or enlarge it";
        assert_eq!(mean(KeyKind::Register, add, full, None), Meaning::Outcome(KvOutcome::Refused));
        assert_eq!(mean(KeyKind::Register, add, "SERVER_ERROR try again", None), Meaning::Unknown);
    }

    #[test]
    fn what_answers_another_question_is_nonsense() {
        let is_nonsense = |meaning| matches!(meaning, Meaning::Nonsense(_));
        assert!(is_nonsense(mean(
            KeyKind::Register,
            KvOperation::Get,
            "VA 9 c9 O8",
            Some(&value(KeyKind::Register, 5))
        )));
        assert!(is_nonsense(mean(KeyKind::Register, KvOperation::Get, "VA 3 c9 O7", Some(b"5:x"))));
        assert!(is_nonsense(mean(KeyKind::Register, KvOperation::Get, "STORED", None)));
        assert!(is_nonsense(mean(KeyKind::Register, KvOperation::Delete, "CLIENT_ERROR bad", None)));
    }
}
