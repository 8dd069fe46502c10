//! Recorded conversations with memcached, word for word.

use crate::model::Server;

const NOW: u32 = 1_800_000_000;
const RECORDED: &str = include_str!("../../testdata/memcached-1.6.45.txt");

/// A paragraph of the record.
struct Conversation {
    text: &'static str,
    sent: Vec<u8>,
    /// What comes back, and whether the connection is closed.
    expected: (Vec<u8>, bool),
}

fn conversations() -> Vec<Conversation> {
    let paragraphs = RECORDED.split("\n\n").filter(|paragraph| paragraph.starts_with('>'));
    let conversation = |text: &'static str| {
        let bytes = |prefix| text.lines().filter_map(|line| line.strip_prefix(prefix)).flat_map(unescape).collect();
        let closed = text.lines().any(|line| line == "!");
        Conversation { text, sent: bytes("> "), expected: (bytes("< "), closed) }
    };
    paragraphs.map(conversation).collect()
}

fn show(text: &str, got: &(Vec<u8>, bool)) -> String {
    format!("{text}\ngot: {}{}", got.0.escape_ascii(), if got.1 { ", closed" } else { "" })
}

#[test]
fn every_recorded_conversation_goes_as_with_memcached() {
    let conversations = conversations();
    assert!(conversations.len() > 400, "only {} conversations were read", conversations.len());
    let mut wrong = Vec::new();
    for Conversation { text, sent, expected } in conversations {
        let got = Server::new(NOW).converse(&sent);
        if got != expected {
            wrong.push(show(text, &got));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_conversation_goes_the_same_byte_by_byte() {
    for Conversation { text, sent, expected } in conversations() {
        if sent.len() > 10_000 {
            continue;
        }
        let mut server = Server::new(NOW);
        let mut got = (Vec::new(), false);
        for byte in sent {
            let (out, closed) = server.converse(&[byte]);
            got.0.extend(out);
            got.1 |= closed;
        }
        assert!(got == expected, "{}", show(text, &got));
    }
}

/// The bytes of a line: `\n`-like escapes, `\xHH`, and `\{x*n}` for a repetition.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let escape = rest[0];
        rest = &rest[1..];
        match escape {
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            b'0' => bytes.push(0),
            b'x' => {
                bytes.push(u8::from_str_radix(std::str::from_utf8(&rest[..2]).unwrap(), 16).unwrap());
                rest = &rest[2..];
            }
            b'{' => {
                let end = rest.iter().position(|byte| *byte == b'}').unwrap();
                let (byte, count) = std::str::from_utf8(&rest[..end]).unwrap().split_once('*').unwrap();
                bytes.extend(unescape(byte).repeat(count.parse().unwrap()));
                rest = &rest[end + 1..];
            }
            other => bytes.push(other),
        }
    }
    bytes
}
