//! What clients say, as requests, and what they hear.

use super::REDIS;
use crate::protocol::{ParserEvent, ParserOptions, Protocol, RequestParser, ScanExtent, ServerRequest, WantedValues};
use crate::request::{KeyAction, KeyPage, MoveOutcome, OperationReply, ReplyBody, ReplyForm, RequestError, ShownItem};
use fawn_kv::operation::hash::{HASH_FLAGS, MAGIC};
use fawn_kv::operation::{Cas, Edit, EditError, EditKind, Mode, Operation, Outcome, PutCondition, Store};
use fawn_resp::client::push_command;
use fawn_store::timekeeper::Time;

const NOW: u32 = 1_800_000_000;
const OPTIONS: ParserOptions = ParserOptions { max_item_bytes: 1 << 20, authenticates: false, peer: None, local: None };

/// What came of a step, without what it borrows.
#[derive(Debug)]
enum Step {
    Key { name: Vec<u8>, action: String, needs_clock: bool, reply: ReplyForm },
    Server(ServerRequest, ReplyForm),
    Authenticate(Vec<u8>, Vec<u8>, ReplyForm),
    Replied(String),
    Close,
}

/// A client whose words a parser reads.
struct Talk {
    parser: Box<dyn RequestParser>,
}

impl Talk {
    fn new() -> Self {
        Self { parser: REDIS.parser(OPTIONS) }
    }

    fn locked() -> Self {
        Self { parser: REDIS.parser(ParserOptions { authenticates: true, ..OPTIONS }) }
    }

    /// All steps of an input.
    fn bytes(&mut self, input: &[u8]) -> Vec<Step> {
        let (mut steps, mut at) = (Vec::new(), 0);
        loop {
            // Elsewhere in memory each time, as a connection's bytes may be.
            let (rest, mut out) = (input[at..].to_vec(), Vec::new());
            let step = self.parser.next(&rest, &Time::at(NOW), &mut out);
            at += step.consumed;
            steps.push(match step.event {
                ParserEvent::Key(request) => Step::Key {
                    name: request.name.to_vec(),
                    action: format!("{:?}", request.action),
                    needs_clock: request.needs_clock,
                    reply: request.reply,
                },
                ParserEvent::Server(request, reply) => Step::Server(request, reply),
                ParserEvent::Authenticate { user, password, reply } => {
                    Step::Authenticate(user.to_vec(), password.to_vec(), reply)
                }
                ParserEvent::Replied => Step::Replied(String::from_utf8(out).unwrap()),
                ParserEvent::NeedMore { .. } => {
                    assert_eq!(at, input.len(), "all was read");
                    return steps;
                }
                ParserEvent::Close => {
                    steps.push(Step::Close);
                    return steps;
                }
                ParserEvent::Abandon(_) => panic!("nothing is abandoned"),
            });
        }
    }

    fn say(&mut self, words: &[&str]) -> Vec<Step> {
        let mut input = Vec::new();
        push_command(&mut input, &words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>());
        self.bytes(&input)
    }

    /// The reply to a command that the parser answers.
    #[track_caller]
    fn hear(&mut self, line: &str) -> String {
        let steps = self.bytes(format!("{line}\r\n").as_bytes());
        match &steps[..] {
            [Step::Replied(reply)] => reply.clone(),
            other => panic!("{line}: {other:?}"),
        }
    }

    /// The one request of a command.
    #[track_caller]
    fn request(&mut self, line: &str) -> (String, bool, ReplyForm) {
        match self.bytes(format!("{line}\r\n").as_bytes()).pop() {
            Some(Step::Key { action, needs_clock, reply, .. }) => (action, needs_clock, reply),
            other => panic!("{line}: {other:?}"),
        }
    }
}

fn written(form: &ReplyForm, body: &ReplyBody<'_>) -> String {
    let mut out = Vec::new();
    form.write(&mut out, b"key", body);
    String::from_utf8_lossy(&out).into_owned()
}

fn outcome(form: &ReplyForm, outcome: &Outcome) -> String {
    written(form, &ReplyBody::Outcome(OperationReply { outcome, appended_cas: 0, sent_bytes: 0, now: NOW }))
}

fn item(value: &[u8], flags: u32) -> ReplyBody<'_> {
    ReplyBody::Item(ShownItem::plain(value, flags, 1))
}

#[test]
fn plain_gets_and_sets_are_plain_operations() {
    let mut talk = Talk::new();
    let (get, _, reply) = talk.request("GET key");
    assert_eq!(get, format!("{:?}", KeyAction::Operation(Operation::Get)));
    assert_eq!(written(&reply, &item(b"value", 0)), "$5\r\nvalue\r\n");
    assert_eq!(outcome(&reply, &Outcome::Miss), "$-1\r\n");
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
    assert_eq!(written(&reply, &item(&MAGIC, HASH_FLAGS)), wrong_type);
    assert_eq!(written(&reply, &item(&MAGIC, 0)), "$6\r\n\0hash\u{1}\r\n", "a string may begin so, too");
    let store = |store| format!("{:?}", KeyAction::Operation(Operation::Store(store)));
    let (set, needs_clock, reply) = talk.request("set key value");
    assert_eq!((set, needs_clock), (store(Store::set(b"value")), false));
    assert_eq!(outcome(&reply, &Outcome::Stored { cas: Cas::Appended, size: 5 }), "+OK\r\n");
    let expires = Store { expiry: NOW + 10, ..Store::set(b"value") };
    for line in ["SET key value EX 10", "set key value px 9001", "SETEX key 10 value", "PSETEX key 9999 value"] {
        let (set, needs_clock, _) = talk.request(line);
        assert_eq!((set, needs_clock), (store(expires), true), "{line}");
    }
    let (add, _, reply) = talk.request("SET key value NX");
    assert_eq!(add, store(Store { mode: Mode::Add, ..Store::set(b"value") }));
    assert_eq!(outcome(&reply, &Outcome::NotStored), "$-1\r\n");
    assert_eq!(outcome(&talk.request("SETNX key value").2, &Outcome::NotStored), ":0\r\n");
    let (put, ..) = talk.request("SET key value XX KEEPTTL GET");
    let kind = EditKind::Put { condition: PutCondition::Present, expiry: None, show: true };
    assert_eq!(put, format!("{:?}", KeyAction::Operation(Operation::Edit(Edit { kind, argument: b"value" }))));
}

#[test]
fn what_redis_refuses_is_refused_in_its_words() {
    let mut talk = Talk::new();
    for (line, error) in [
        ("GET", "ERR wrong number of arguments for 'get' command"),
        ("GET a b", "ERR wrong number of arguments for 'get' command"),
        ("CLIENT", "ERR wrong number of arguments for 'client' command"),
        ("client getname x", "ERR wrong number of arguments for 'client|getname' command"),
        ("client nope x", "ERR unknown subcommand 'nope'. Try CLIENT HELP."),
        ("nope", "ERR unknown command 'nope', with args beginning with: "),
        ("LPUSH a b", "ERR unknown command 'LPUSH', with args beginning with: 'a' 'b' "),
        ("client|id", "ERR unknown command 'client|id', with args beginning with: "),
        ("SET a b EX", "ERR syntax error"),
        ("SET a b NX XX", "ERR syntax error"),
        ("SET a b EX 1 PX 1", "ERR syntax error"),
        ("SET a b EX x", "ERR value is not an integer or out of range"),
        ("SET a b EX 0", "ERR invalid expire time in 'set' command"),
        ("SET a b EX 9223372036854775807", "ERR invalid expire time in 'set' command"),
        ("SETEX a -1 b", "ERR invalid expire time in 'setex' command"),
        ("EXPIRE a 1 NX GT", "ERR NX and XX, GT or LT options at the same time are not compatible"),
        ("EXPIRE a 1 GT LT", "ERR GT and LT options at the same time are not compatible"),
        ("EXPIRE a 1 ZZ", "ERR Unsupported option ZZ"),
        ("DECRBY a -9223372036854775808", "ERR decrement would overflow"),
        ("SETBIT a -1 1", "ERR bit offset is not an integer or out of range"),
        ("SETBIT a 1 2", "ERR bit is not an integer or out of range"),
        (
            "BITFIELD a GET u64 0",
            "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
        ),
        ("BITFIELD_RO a SET u8 0 1", "ERR BITFIELD_RO only supports the GET subcommand"),
        ("HSET a b", "ERR wrong number of arguments for 'hset' command"),
        ("HSET a b c d", "ERR wrong number of arguments for 'hset' command"),
        ("MSET a b c", "ERR wrong number of arguments for 'mset' command"),
        ("GET \"\"", "ERR a key must have 1 to 65535 bytes, and this one is empty"),
        ("DEL a \"\"", "ERR a key must have 1 to 65535 bytes, and this one is empty"),
        ("SELECT 1", "ERR DB index is out of range"),
        ("HELLO 4", "NOPROTO unsupported protocol version"),
        ("HELLO x", "ERR Protocol version is not an integer or out of range"),
        ("HELLO 3 AUTH a", "ERR Syntax error in HELLO option 'AUTH'"),
        ("AUTH a b", "WRONGPASS invalid username-password pair or user is disabled."),
        ("SCAN x", "ERR invalid cursor"),
        ("SCAN 0 COUNT 0", "ERR syntax error"),
    ] {
        assert_eq!(talk.hear(line), format!("-{error}\r\n"), "{line}");
    }
    for line in ["MULTI", "MSETNX a b", "MOVE a 1", "SHUTDOWN", "DEBUG SLEEP 0", "CLIENT TRACKING ON", "SORT a"] {
        assert!(talk.hear(line).starts_with("-ERR "), "{line}");
    }
}

#[test]
fn a_line_of_keys_is_given_out_key_by_key() {
    let mut talk = Talk::new();
    let mut input = b"*0\r\n".to_vec();
    push_command(&mut input, &[&b"MGET"[..], b"a", b"b"]);
    input.extend_from_slice(b"DEL a b\r\nMSET a 1 b 2\r\nEXISTS a a\r\nMGET a\r\nPING\r\n");
    let steps = talk.bytes(&input);
    let mut seen = Vec::new();
    for step in &steps {
        match step {
            Step::Key { name, reply, .. } => {
                seen.push(format!("{}{}", String::from_utf8_lossy(name), if reply.is_last() { "." } else { "" }));
            }
            Step::Replied(reply) => seen.push(reply.clone()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, ["a", "b.", "a", "b.", "a", "b.", "a", "a.", "a.", "+PONG\r\n"]);
    let form = |number: usize| match &steps[number] {
        Step::Key { reply, .. } => *reply,
        other => panic!("{other:?}"),
    };
    assert_eq!(outcome(&form(0), &Outcome::Miss), "*2\r\n$-1\r\n");
    assert_eq!(written(&form(1), &item(&MAGIC, HASH_FLAGS)), "$-1\r\n", "a hash is nothing among strings");
    assert_eq!(outcome(&form(8), &Outcome::Miss), "*1\r\n$-1\r\n");
    let joined = |number: usize, parts: &[u8]| {
        let mut out = Vec::new();
        form(number).join().expect("its parts become one")(parts, &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(outcome(&form(2), &Outcome::Deleted), ":1\r\n");
    assert_eq!(joined(2, b":1\r\n:0\r\n"), ":1\r\n");
    assert_eq!(joined(4, b"+OK\r\n+OK\r\n"), "+OK\r\n");
    assert_eq!(outcome(&form(6), &Outcome::Integer(-2)), ":0\r\n");
    assert_eq!(outcome(&form(6), &Outcome::Integer(-1)), ":1\r\n");
}

#[test]
fn keys_are_foretold_where_they_lie() {
    let mut input = Vec::new();
    push_command(&mut input, &[&b"GET"[..], b"a"]);
    push_command(&mut input, &[&b"MSET"[..], b"b", b"1", b"c", b"2"]);
    push_command(&mut input, &[&b"del"[..], b"d", b"e"]);
    push_command(&mut input, &[&b"SET"[..], b"f", b"3"]);
    let (mut parser, time, mut out) = (REDIS.parser(OPTIONS), Time::at(NOW), Vec::new());
    let mut at = 0;
    for left in (1..=6).rev() {
        let mut foretold: Vec<(*const u8, usize)> = Vec::new();
        parser.upcoming(&input[at..], &mut |key| {
            foretold.push((key.as_ptr(), key.len()));
            true
        });
        let step = parser.next(&input[at..], &time, &mut out);
        let ParserEvent::Key(request) = step.event else { panic!("{:?}", step.event) };
        assert_eq!(foretold.first(), Some(&(request.name.as_ptr(), request.name.len())));
        assert_eq!(foretold.len(), left);
        at += step.consumed;
    }
    assert_eq!(at, input.len());
}

#[test]
fn times_are_shown_from_now_or_as_they_are() {
    let mut talk = Talk::new();
    let shown = |talk: &mut Talk, line: &str, number| outcome(&talk.request(line).2, &Outcome::Integer(number));
    let expiry = i64::from(NOW) + 7;
    assert_eq!(shown(&mut talk, "TTL key", expiry), ":7\r\n");
    assert_eq!(shown(&mut talk, "PTTL key", expiry), ":7000\r\n");
    assert_eq!(shown(&mut talk, "EXPIRETIME key", expiry), format!(":{expiry}\r\n"));
    assert_eq!(shown(&mut talk, "PEXPIRETIME key", expiry), format!(":{expiry}000\r\n"));
    for gone in [-1, -2] {
        assert_eq!(shown(&mut talk, "PTTL key", gone), format!(":{gone}\r\n"));
    }
}

#[test]
fn a_client_may_not_hear_replies() {
    let mut talk = Talk::new();
    assert_eq!(talk.hear("CLIENT REPLY SKIP"), "");
    assert_eq!(talk.hear("PING"), "");
    assert_eq!(talk.hear("PING"), "+PONG\r\n");
    assert_eq!(talk.hear("CLIENT REPLY OFF"), "");
    assert_eq!(talk.hear("NOPE"), "");
    let (_, _, reply) = talk.request("GET key");
    assert_eq!(written(&reply, &ReplyBody::Error(RequestError::TooLarge)), "");
    assert_eq!(talk.hear("CLIENT REPLY ON"), "+OK\r\n");
    assert_eq!(talk.hear("PING x"), "$1\r\nx\r\n");
}

#[test]
fn a_client_has_to_say_who_it_is() {
    let mut talk = Talk::locked();
    assert_eq!(talk.hear("GET a"), "-NOAUTH Authentication required.\r\n");
    assert!(talk.hear("HELLO 3").starts_with("-NOAUTH HELLO must be called"));
    let steps = talk.say(&["HELLO", "3", "AUTH", "me", "secret", "SETNAME", "it"]);
    let [Step::Authenticate(user, password, reply)] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!((&user[..], &password[..]), (&b"me"[..], &b"secret"[..]));
    assert_eq!(
        written(reply, &ReplyBody::AuthenticationFailed),
        "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
    );
    assert_eq!(talk.hear("GET a"), "-NOAUTH Authentication required.\r\n", "nobody said that the password is right");
    talk.say(&["HELLO", "3", "AUTH", "me", "secret", "SETNAME", "it"]);
    assert!(written(reply, &ReplyBody::Authenticated).starts_with("%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n"));
    talk.parser.authenticated();
    assert!(!talk.parser.is_locked());
    assert_eq!(talk.hear("CLIENT GETNAME"), "$2\r\nit\r\n");
    assert_eq!(talk.hear("ACL WHOAMI"), "$2\r\nme\r\n");
    assert_eq!(outcome(&talk.request("GET a").2, &Outcome::Miss), "_\r\n");
    assert_eq!(talk.hear("RESET"), "+RESET\r\n");
    assert!(talk.parser.is_locked());
}

#[test]
fn errors_of_the_store_are_errors_of_redis() {
    let (_, _, form) = Talk::new().request("INCR key");
    for (error, text) in [
        (RequestError::TooLarge, "ERR string exceeds maximum allowed size (proto-max-bulk-len)"),
        (RequestError::OutOfMemory, "OOM command not allowed when used memory > 'maxmemory'."),
        (RequestError::Server("no\r\nspace"), "ERR no  space"),
        (RequestError::Client("no"), "ERR no"),
    ] {
        assert_eq!(written(&form, &ReplyBody::Error(error)), format!("-{text}\r\n"));
    }
    for (error, text) in [
        (EditError::NotInteger, "ERR value is not an integer or out of range"),
        (EditError::Overflow, "ERR increment or decrement would overflow"),
        (EditError::FieldNotFloat, "ERR hash value is not a float"),
    ] {
        assert_eq!(outcome(&form, &Outcome::Refused(error)), format!("-{text}\r\n"));
    }
}

#[test]
fn what_cannot_be_understood_closes_the_connection() {
    let mut talk = Talk::new();
    let steps = talk.bytes(b"*1\r\n$x\r\n*1\r\n$4\r\nPING\r\n");
    let [Step::Replied(error), Step::Close] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!(error, "-ERR Protocol error: invalid bulk length\r\n");
    let steps = Talk::new().bytes(b"QUIT\r\nPING\r\n");
    assert!(matches!(&steps[..], [Step::Replied(ok), Step::Close] if ok == "+OK\r\n"), "{steps:?}");
}

#[test]
fn a_value_that_is_too_large_is_refused_and_the_connection_goes_on() {
    let mut talk = Talk::new();
    let error = "-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n";
    for bytes in [1 << 20, 2 << 20] {
        let mut input = Vec::new();
        push_command(&mut input, &[&b"SET"[..], b"a", &vec![b'x'; bytes]]);
        input.extend_from_slice(b"PING\r\n");
        let steps = talk.bytes(&input);
        let said = matches!(&steps[..], [Step::Replied(refusal), Step::Replied(pong)] if refusal == error && pong == "+PONG\r\n");
        assert!(said, "{bytes}: {steps:?}");
    }
}

#[test]
fn the_server_is_asked_for_what_concerns_all_keys() {
    let mut talk = Talk::new();
    let mut server = |line: &str| match talk.bytes(format!("{line}\r\n").as_bytes()).pop() {
        Some(Step::Server(request, reply)) => (request, reply),
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(server("FLUSHALL ASYNC").0, ServerRequest::FlushAll { at_unix: 0 });
    assert_eq!(server("DBSIZE").0, ServerRequest::Figures);
    assert_eq!(server("INFO Server").0, ServerRequest::Figures);
    let (request, reply) = server("SCAN 5 MATCH a* COUNT 7 TYPE HASH");
    let ServerRequest::Scan(scan) = request else { panic!("{request:?}") };
    let page = ScanExtent::Page { cursor: 5, count: 7 };
    assert_eq!((scan.extent, scan.wanted, scan.pattern.as_deref()), (page, WantedValues::Hashes, Some(&b"a*"[..])));
    let mut page = KeyPage { count: 1, cursor: 9, ..KeyPage::default() };
    fawn_kv::operation::items::push(&mut page.names, Some(b"abc"));
    assert_eq!(written(&reply, &ReplyBody::Keys(&page)), "*2\r\n$1\r\n9\r\n*1\r\n$3\r\nabc\r\n");
    let (request, reply) = server("RENAME a b");
    let ServerRequest::Move(rename) = request else { panic!("{request:?}") };
    assert!(rename.deletes_source && !rename.only_absent && *rename.source == *b"a" && *rename.target == *b"b");
    for (outcome, says) in [
        (MoveOutcome::Done, "+OK\r\n"),
        (MoveOutcome::NoSource, "-ERR no such key\r\n"),
        (MoveOutcome::SourceChanged, "-ERR the source was changed meanwhile, so both keys are there now\r\n"),
    ] {
        assert_eq!(written(&reply, &ReplyBody::Moved(outcome)), says);
    }
    let (request, reply) = server("COPY a b REPLACE");
    let ServerRequest::Move(copy) = request else { panic!("{request:?}") };
    assert!(!copy.deletes_source && !copy.only_absent);
    assert_eq!(written(&reply, &ReplyBody::Moved(MoveOutcome::NoSource)), ":0\r\n");
}
