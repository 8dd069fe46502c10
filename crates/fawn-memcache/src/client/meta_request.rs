//! Requests of the meta protocol.

use crate::base64;

/// How a key travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm<'a> {
    /// As it is: it has neither blanks nor line ends.
    Plain(&'a [u8]),
    /// In base64.
    Base64(&'a [u8]),
}

/// A request that is being appended to a buffer: the command with its key first, then flags, then the end.
#[derive(Debug)]
#[must_use = "a request needs its end"]
pub struct MetaRequest<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> MetaRequest<'o> {
    /// `mg`: what is known of a key, as flags say.
    pub fn get(out: &'o mut Vec<u8>, key: KeyForm<'_>) -> Self {
        Self::begin(out, b"mg ", key, None)
    }

    /// `ms`: store so many bytes, which [`end_with`](Self::end_with) gives.
    pub fn store(out: &'o mut Vec<u8>, key: KeyForm<'_>, value_bytes: usize) -> Self {
        Self::begin(out, b"ms ", key, Some(value_bytes))
    }

    /// `md`: delete.
    pub fn delete(out: &'o mut Vec<u8>, key: KeyForm<'_>) -> Self {
        Self::begin(out, b"md ", key, None)
    }

    /// `ma`: count.
    pub fn arithmetic(out: &'o mut Vec<u8>, key: KeyForm<'_>) -> Self {
        Self::begin(out, b"ma ", key, None)
    }

    fn begin(out: &'o mut Vec<u8>, command: &[u8], key: KeyForm<'_>, value_bytes: Option<usize>) -> Self {
        out.extend_from_slice(command);
        match key {
            KeyForm::Plain(key) => out.extend_from_slice(key),
            KeyForm::Base64(key) => base64::encode(key, out),
        }
        if let Some(bytes) = value_bytes {
            out.push(b' ');
            out.extend_from_slice(itoa::Buffer::new().format(bytes).as_bytes());
        }
        let request = Self { out };
        if matches!(key, KeyForm::Base64(_)) { request.flag("b") } else { request }
    }

    /// Adds a flag, such as `v` or `ME`.
    pub fn flag(self, flag: &str) -> Self {
        self.out.push(b' ');
        self.out.extend_from_slice(flag.as_bytes());
        self
    }

    /// Adds a flag with a number, such as `T60`.
    pub fn number(self, letter: char, number: impl itoa::Integer) -> Self {
        let mut buffer = [0; 4];
        let request = self.flag(letter.encode_utf8(&mut buffer));
        request.out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        request
    }

    /// Ends a request without a value.
    pub fn end(self) {
        self.out.extend_from_slice(b"\r\n");
    }

    /// Ends a store with its value.
    pub fn end_with(self, value: &[u8]) {
        for part in [b"\r\n", value, b"\r\n"] {
            self.out.extend_from_slice(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, Mode, Session, SessionEvent, SessionLimits};

    #[test]
    fn requests_are_memcacheds() {
        let mut out = Vec::new();
        MetaRequest::get(&mut out, KeyForm::Plain(b"k")).flag("v").number('O', 7_u64).end();
        MetaRequest::store(&mut out, KeyForm::Base64(b"a b"), 2).number('T', -1).flag("ME").end_with(b"\r\n");
        MetaRequest::delete(&mut out, KeyForm::Plain(b"k")).end();
        MetaRequest::arithmetic(&mut out, KeyForm::Plain(b"k")).number('D', 3_u64).end();
        assert_eq!(out, b"mg k v O7\r\nms YSBi 2 b T-1 ME\r\n\r\n\r\nmd k\r\nma k D3\r\n");
    }

    #[test]
    fn the_servers_half_reads_what_the_clients_half_writes() {
        let mut out = Vec::new();
        MetaRequest::store(&mut out, KeyForm::Base64(b"a b"), 5).number('F', 9_u32).end_with(b"value");
        let mut session = Session::new(SessionLimits::default());
        let step = session.next(&out);
        let SessionEvent::Request(request) = step.event else { panic!("{step:?}") };
        let Command::Store(store) = request.command else { panic!("{request:?}") };
        assert_eq!((request.key, store.value, store.flags, store.mode), (&b"a b"[..], &b"value"[..], 9, Mode::Set));
        assert_eq!(step.consumed, out.len());
    }
}
