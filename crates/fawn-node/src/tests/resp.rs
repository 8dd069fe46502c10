//! A second client protocol is an adapter and nothing else: a skeleton of RESP, which answers `PING`, `GET` and `SET`.

use super::harness::Node;
use crate::protocol::{ParserEvent, ParserOptions, ParserStep, Protocol, RequestParser};
use crate::request::{
    ItemInfo, KeyAction, KeyRequest, ListingDetail, ReplyBody, ReplyForm, ReplyState, ReplyWriter, RequestError,
};
use fawn_kv::operation::{Operation, Outcome, Store};
use fawn_store::timekeeper::Time;

static RESP: Resp = Resp;

#[derive(Debug)]
struct Resp;

#[derive(Debug)]
struct RespParser;

impl Protocol for Resp {
    fn name(&self) -> &'static str {
        "resp"
    }

    fn parser(&self, _: ParserOptions) -> Box<dyn RequestParser> {
        Box::new(RespParser)
    }

    fn too_many_connections(&self) -> &'static [u8] {
        b"-ERR max number of clients reached\r\n"
    }
}

/// Takes a line that begins with `kind` off `input`: its number.
fn number(input: &mut &[u8], kind: u8) -> Option<usize> {
    let end = input.windows(2).position(|two| two == b"\r\n")?;
    let (line, rest) = input.split_at(end);
    *input = &rest[2..];
    assert_eq!(line[0], kind, "the skeleton's clients send arrays of strings");
    Some(std::str::from_utf8(&line[1..]).unwrap().parse().unwrap())
}

/// A command's words, and the input behind it; `None` until it is whole.
fn words(mut input: &[u8]) -> Option<(Vec<&[u8]>, &[u8])> {
    let count = number(&mut input, b'*')?;
    let mut words = Vec::new();
    for _ in 0..count {
        let len = number(&mut input, b'$')?;
        words.push(input.get(..len)?);
        input = input.get(len + 2..)?;
    }
    Some((words, input))
}

impl RequestParser for RespParser {
    fn next<'a>(&'a mut self, input: &'a [u8], _: &Time, out: &mut Vec<u8>) -> ParserStep<'a> {
        let Some((words, rest)) = words(input) else {
            return ParserStep { consumed: 0, event: ParserEvent::NeedMore { total: input.len() + 1 } };
        };
        let reply = ReplyForm::new(&RESP, [0; 48], true);
        let event = match words[..] {
            [b"GET", key] => ParserEvent::Key(KeyRequest::new(key, KeyAction::Operation(Operation::Get), reply)),
            [b"SET", key, value] => {
                let set = KeyAction::Operation(Operation::Store(Store::set(value)));
                ParserEvent::Key(KeyRequest::new(key, set, reply))
            }
            [b"PING"] => {
                out.extend_from_slice(b"+PONG\r\n");
                ParserEvent::Replied
            }
            _ => {
                RESP.write_error(out, &RequestError::Client("unknown command"));
                ParserEvent::Replied
            }
        };
        ParserStep { consumed: input.len() - rest.len(), event }
    }

    fn upcoming<'a>(&self, _: &'a [u8], _: &mut dyn FnMut(&'a [u8]) -> bool) {}

    fn is_locked(&self) -> bool {
        false
    }

    fn authenticated(&mut self) {}
}

impl ReplyWriter for Resp {
    fn write(&self, _: &ReplyState, out: &mut Vec<u8>, _: &[u8], body: &ReplyBody<'_>) {
        match body {
            ReplyBody::Item(item) => {
                out.extend_from_slice(format!("${}\r\n", item.value.len()).as_bytes());
                out.extend_from_slice(item.value);
                out.extend_from_slice(b"\r\n");
            }
            ReplyBody::Outcome(reply) => out.extend_from_slice(match reply.outcome {
                Outcome::Miss => b"$-1\r\n",
                Outcome::Stored { .. } => b"+OK\r\n",
                other => panic!("the skeleton asks for nothing that comes to {other:?}"),
            }),
            ReplyBody::Error(error) => self.write_error(out, error),
            other => panic!("the skeleton asks for nothing that is answered with {other:?}"),
        }
    }

    fn write_error(&self, out: &mut Vec<u8>, error: &RequestError<'_>) {
        let text = match *error {
            RequestError::TooLarge => "value too large",
            RequestError::OutOfMemory => "out of memory",
            RequestError::Server(text) | RequestError::Client(text) => text,
        };
        out.extend_from_slice(format!("-ERR {text}\r\n").as_bytes());
    }

    fn write_stat(&self, _: &mut Vec<u8>, _: &str, _: &str) {}

    fn stats_end(&self) -> &'static [u8] {
        b""
    }

    fn write_listed(&self, _: &mut Vec<u8>, _: &[u8], _: Option<&ItemInfo>) {}

    fn listing_end(&self, _: ListingDetail) -> &'static [u8] {
        b""
    }

    fn version(&self) -> &'static str {
        "0"
    }
}

const PING: &str = "*1\r\n$4\r\nPING\r\n";
const SET: &str = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n";
const GET: &str = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";

#[test]
fn an_adapter_answers_ping_get_and_set() {
    let node = Node::start_speaking(&RESP, 2, 1, |_| {});
    let mut client = node.client();
    client.ask(PING, "+PONG\r\n");
    client.ask(GET, "$-1\r\n");
    client.ask([SET, GET, PING].concat(), "+OK\r\n$5\r\nvalue\r\n+PONG\r\n");
    client.say(&GET[..7]);
    client.expect_silence();
    client.ask(&GET[7..], "$5\r\nvalue\r\n");
    client.ask("*1\r\n$4\r\nFAIL\r\n", "-ERR unknown command\r\n");
}

#[test]
fn replies_that_wait_are_in_the_protocol_and_in_order() {
    let node = Node::start_speaking(&RESP, 2, 2, |_| {});
    let mut client = node.client();
    node.knobs.set(|knobs| &knobs.durable, true);
    node.knobs.set(|knobs| &knobs.commits_held, true);
    // Keys of both loops, so that some replies come from another one.
    let sets: String = (0..8).map(|n| format!("*3\r\n$3\r\nSET\r\n$2\r\nk{n}\r\n$1\r\n{n}\r\n")).collect();
    client.say(sets + PING);
    client.expect_silence();
    node.knobs.set(|knobs| &knobs.commits_held, false);
    client.expect("+OK\r\n".repeat(8) + "+PONG\r\n");
    let gets: String = (0..8).map(|n| format!("*2\r\n$3\r\nGET\r\n$2\r\nk{n}\r\n")).collect();
    client.ask(gets, (0..8).map(|n| format!("$1\r\n{n}\r\n")).collect::<String>());
    node.knobs.set(|knobs| &knobs.commits_held, true);
    client.say("*3\r\n$3\r\nSET\r\n$2\r\nk1\r\n$1\r\nx\r\n");
    client.expect_silence();
    node.knobs.set(|knobs| &knobs.fail_commit, true);
    node.knobs.set(|knobs| &knobs.commits_held, false);
    client.expect("-ERR the store has stopped after a failed write, see the server's log\r\n");
}
