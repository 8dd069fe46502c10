//! Requests whose front-end, connection and loop are played by the test.

use super::*;
use crate::observe::latency::Stamp;
use crate::protocol::memcached::MEMCACHED;
use crate::protocol::{ParserEvent, ParserOptions, Protocol};
use crate::request::{ReplySlot, RequestError};
use fawn_kv::ids::{Epoch, Position, Seq};
use fawn_kv::operation::{Cas, Hit, Outcome};
use fawn_kv::range::entry::{Kept, Shown, Version};

const NOW: Now = Now::at(1000, 1);
const MAX_VALUE_BYTES: usize = 1 << 20;
const LARGE: usize = MAX_VALUE_BYTES - 1000;

/// What a front-end was asked: under which tag, and whether it is to change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    tag: u64,
    writes: bool,
}

struct Bench {
    requests: Requests,
    pool: Pool,
    begun: u64,
}

fn asked(message: &Message) -> Asked {
    let Message::Ask { asker, operation, .. } = message else { panic!("a key is asked for: {message:?}") };
    Asked { tag: asker.tag, writes: operation.is_some() }
}

fn found(bytes: usize) -> Answer {
    let version = Version { value: vec![b'x'; bytes], flags: 0, expiry: 0, stale: false, won: false, client_cas: None };
    let position = Position { epoch: Epoch(1), seq: Seq(1) };
    Answer::Found(Some(Arc::new(Kept { key: b"k".to_vec(), position, version: Some(version) })))
}

/// What a write shows.
fn touched(bytes: usize) -> Answer {
    let hit = Hit {
        cas: Cas::Known(1),
        expiry_before: 0,
        expiry: 0,
        created: false,
        won: false,
        stale: false,
        already_won: false,
        same_version: false,
    };
    let position = Position { epoch: Epoch(1), seq: Seq(2) };
    let shown = Some(Shown { value: vec![b'x'; bytes], flags: 0 });
    Answer::Done { outcome: Outcome::Hit(hit), position, again: false, shown }
}

/// So many gets that touch, each of a key of its own.
fn gats(count: usize) -> String {
    let gats: Vec<_> = (0..count).map(|n| format!("gat 0 k{n}\r\n")).collect();
    gats.concat()
}

impl Bench {
    fn new() -> Self {
        let requests = Requests::new(Arc::default(), MAX_VALUE_BYTES);
        Self { requests, pool: Pool::default(), begun: 0 }
    }

    /// The only connection sends commands; what the front-end is asked at once.
    fn say(&mut self, lines: &str) -> Vec<Asked> {
        let mut parser =
            MEMCACHED.parser(ParserOptions { max_item_bytes: 1 << 20, authenticates: false, peer: None, local: None });
        let (mut input, mut sent) = (lines.as_bytes(), Vec::new());
        while !input.is_empty() {
            let step = parser.next(input, &NOW.time, &mut Vec::new());
            let ParserEvent::Key(mut request) = step.event else { panic!("{lines:?} are commands") };
            let number = request.name.iter().fold(0_u64, |sum, byte| sum * 251 + u64::from(*byte));
            request.key = Key::lowest_with_prefix(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let from = Token::from_u64(1);
            let ticket = match self.requests.begin(&request, from, &mut self.pool) {
                RequestStart::Ask(ticket, message) => {
                    sent.push(asked(&message));
                    ticket
                }
                RequestStart::Waits(ticket) => ticket,
            };
            let slot = ReplySlot { connection: from, answer: self.begun, part: 0, stamp: Stamp::NONE };
            self.requests.assign(ticket, ReplyTo { home: 0, slot, request_bytes: 0 });
            self.begun += 1;
            input = &input[step.consumed..];
        }
        sent
    }

    fn answer(&mut self, asked: Asked, answer: Answer) -> Vec<Asked> {
        self.requests.answered(asked.tag, answer, NOW, &mut self.pool).iter().map(super::tests::asked).collect()
    }

    fn reserve(&mut self, ticket: TaskTicket, granted: bool) -> Vec<Asked> {
        self.requests.reserve(ticket, granted, NOW, &mut self.pool).iter().map(asked).collect()
    }

    /// Who asks for room: the number of the command, and its ticket.
    fn wanted(&mut self) -> Vec<(u64, TaskTicket)> {
        let next = || self.requests.next_reservation().map(|(client, ticket, _)| (client.slot.answer, ticket));
        std::iter::from_fn(next).collect()
    }

    /// What was answered: the number of the command, bytes, and those that it was granted.
    fn done(&mut self) -> Vec<(u64, usize, u32)> {
        let next = || self.requests.next_completion().map(|done| (done.to.slot.answer, done.bytes.len(), done.granted));
        std::iter::from_fn(next).collect()
    }
}

#[test]
fn of_writes_that_show_values_a_few_are_sent_unseen_and_the_others_once_there_is_room() {
    let (mut bench, all, few) = (Bench::new(), 100, MOST_UNSEEN_BYTES / MAX_VALUE_BYTES);
    let lines: String =
        (0..all).map(|n| if n % 2 == 0 { format!("gat 0 k{n}\r\n") } else { format!("mg k{n} v T0\r\n") }).collect();
    let sent = bench.say(&lines);
    assert_eq!(sent.len(), all);
    assert!(sent.iter().enumerate().all(|(n, asked)| asked.writes == (n < few)), "{sent:?}");
    for asked in sent {
        let answer = if asked.writes { touched(LARGE) } else { found(LARGE) };
        assert_eq!(bench.answer(asked, answer), []);
    }
    assert_eq!(bench.done(), [], "nothing is made before there is room");
    assert!(bench.requests.bytes() <= MOST_UNSEEN_BYTES, "{} bytes wait", bench.requests.bytes());
    let wanted = bench.wanted();
    assert_eq!(wanted.len(), all);
    for (n, ticket) in wanted {
        for asked in bench.reserve(ticket, true) {
            assert!(asked.writes && n >= few as u64);
            assert_eq!(bench.answer(asked, touched(LARGE)), []);
        }
        let done = bench.done();
        assert!(matches!(done[..], [(of, bytes, granted)] if of == n && bytes > LARGE && granted as usize == LARGE));
    }
    assert!(bench.requests.is_empty() && bench.requests.bytes() == 0);
    assert!(bench.say("gat 0 k\r\n")[0].writes, "there is room for one that is not seen");
}

#[test]
fn on_one_key_they_go_one_after_the_other() {
    let mut bench = Bench::new();
    let mut sent = bench.say(&"gat 0 k\r\n".repeat(50));
    for n in 0..50 {
        assert_eq!(sent.len(), 1);
        assert_eq!(bench.answer(sent[0], touched(LARGE)), []);
        assert_eq!(bench.done(), []);
        let wanted = bench.wanted();
        assert_eq!(wanted[0].0, n);
        sent = bench.reserve(wanted[0].1, true);
        assert_eq!(bench.done().len(), 1);
    }
    assert_eq!(sent, []);
}

#[test]
fn what_shows_no_value_or_a_small_one_waits_for_no_room() {
    let mut bench = Bench::new();
    for line in ["mg k\r\n", "me k\r\n", "mg k s t\r\n"] {
        let sent = bench.say(line);
        assert_eq!(bench.answer(sent[0], found(LARGE)), []);
        assert_eq!((bench.wanted().len(), bench.done().len()), (0, 1), "{line}");
    }
    let sent = bench.say("mg k T0\r\n");
    assert!(sent[0].writes);
    bench.answer(sent[0], touched(LARGE));
    assert_eq!((bench.wanted().len(), bench.done().len()), (0, 1));
    for asked in bench.say(&gats(100)) {
        let mut asked = asked;
        if !asked.writes {
            asked = bench.answer(asked, found(10))[0];
        }
        bench.answer(asked, touched(10));
    }
    assert_eq!((bench.wanted().len(), bench.done().len()), (0, 100));
}

#[test]
fn a_write_whose_client_is_gone_is_carried_out_and_its_value_goes() {
    let mut bench = Bench::new();
    for asked in bench.say(&gats(40)) {
        bench.answer(asked, if asked.writes { touched(LARGE) } else { found(LARGE) });
    }
    let mut late = 0;
    for (_, ticket) in bench.wanted() {
        for asked in bench.reserve(ticket, false) {
            assert!(asked.writes);
            late += 1;
            bench.answer(asked, touched(LARGE));
        }
    }
    assert_eq!(late, 40 - MOST_UNSEEN_BYTES / MAX_VALUE_BYTES);
    assert!(bench.done().iter().all(|(_, bytes, granted)| (*bytes, *granted) == (0, 0)));
    assert!(bench.requests.is_empty() && bench.requests.bytes() == 0);
}

#[test]
fn gets_wait_for_one_before_them_that_is_to_look_again() {
    let (mut bench, kept) = (Bench::new(), MOST_PARKED_BYTES / LARGE);
    for n in 0..kept {
        let sent = bench.say(&format!("get other{n}\r\n"));
        bench.answer(sent[0], found(LARGE));
    }
    let first = kept as u64;
    let sent = bench.say("get k\r\nget k\r\nget k\r\n");
    assert_eq!(sent.len(), 3, "they go beside each other");
    assert_eq!(bench.answer(sent[1], found(LARGE)), [], "its value is not kept");
    bench.answer(sent[0], found(10));
    assert_eq!(bench.done().len(), 1, "what was asked before does not wait");
    assert_eq!(bench.say("get k\r\nget k\r\nset k 0 0 1\r\nx\r\n"), []);
    assert_eq!(bench.answer(sent[2], found(10)), []);
    assert_eq!(bench.done(), [], "that may be older than what is seen by looking again");
    let (_, ticket) = bench.wanted().into_iter().find(|(n, _)| *n == first + 1).expect("it wants room");
    let again = bench.reserve(ticket, true);
    assert_eq!(again, [Asked { tag: sent[1].tag, writes: false }]);
    let next = bench.answer(again[0], found(LARGE));
    assert_eq!(bench.done()[0].0, first + 1);
    assert_eq!((next.len(), next[0].tag), (3, sent[2].tag), "gets in their order, and not the set");
    let mut last = Vec::new();
    for asked in next {
        assert!(!asked.writes && last.is_empty());
        last = bench.answer(asked, found(20));
    }
    assert_eq!(bench.done().iter().map(|done| done.0).collect::<Vec<_>>(), [first + 2, first + 3, first + 4]);
    assert!(matches!(last[..], [Asked { writes: true, .. }]));
    assert!(bench.requests.again.is_empty());
}

#[test]
fn a_flush_that_is_refused_says_why_unless_nobody_is_to_hear_of_it() {
    let mut bench = Bench::new();
    let slot = ReplySlot { connection: Token::from_u64(1), answer: 0, part: 0, stamp: Stamp::NONE };
    let client = ReplyTo { home: 0, slot, request_bytes: 0 };
    let too_few = RequestError::Server("too few replicas are up for writes, see fawn status");
    for (quiet, answer, status) in [
        (false, Answer::Flushed, CompletionStatus::Done),
        (false, Answer::TooFew, CompletionStatus::FlushFailed(too_few)),
        (true, Answer::TooFew, CompletionStatus::Failed),
    ] {
        let Message::AskFlush { asker, .. } = bench.requests.flush(client, 0, quiet) else { panic!("it asks") };
        bench.requests.answered(asker.tag, answer, NOW, &mut bench.pool);
        assert_eq!(bench.requests.next_completion().map(|done| done.status), Some(status));
    }
}

/// What the front-end is asked to carry out.
fn operation_of(message: &Message) -> Option<Vec<u8>> {
    let Message::Ask { operation, .. } = message else { panic!("clients ask for keys: {message:?}") };
    operation.clone()
}

#[test]
fn what_an_edit_and_a_view_carry_is_there_when_they_go_on() {
    use crate::protocol::redis::REDIS;
    use crate::request::ReplyForm;
    use fawn_kv::operation::{Edit, EditKind, Operation, PutCondition, View, ViewKind, hash, items};

    let form = ReplyForm::new(&REDIS, [0; 48], true);
    let mut bench = Bench::new();
    let put = EditKind::Put { condition: PutCondition::Always, expiry: None, show: true };
    let edit = Operation::Edit(Edit { kind: put, argument: b"new value" });
    // So many at a time that some look first.
    let mut later = Vec::new();
    for number in 0..100_u64 {
        let name = format!("key{number}");
        let request = KeyRequest::new(name.as_bytes(), KeyAction::Operation(edit), form);
        let request = KeyRequest { key: Key::lowest_with_prefix(number << 40), ..request };
        let RequestStart::Ask(ticket, message) = bench.requests.begin(&request, Token::from_u64(1), &mut bench.pool)
        else {
            panic!("nothing is before it")
        };
        let slot = ReplySlot { connection: Token::from_u64(1), answer: number, part: 0, stamp: Stamp::NONE };
        bench.requests.assign(ticket, ReplyTo { home: 0, slot, request_bytes: 0 });
        match operation_of(&message) {
            Some(operation) => assert_eq!(operation, edit.encode()),
            None => later.push(asked(&message)),
        }
    }
    assert!(!later.is_empty(), "some look first");
    for looked in later {
        let next = bench.requests.answered(looked.tag, found(10), NOW, &mut bench.pool);
        assert_eq!(operation_of(&next[0]), Some(edit.encode()), "what is stored is what the client sent");
    }

    let mut value = [&hash::MAGIC[..], &1_u32.to_le_bytes()].concat();
    items::push(&mut value, Some(b"field"));
    items::push(&mut value, Some(b"of the hash"));
    let view = Operation::View(View { kind: ViewKind::Field, argument: b"field" });
    let request = KeyRequest::new(b"hash", KeyAction::Operation(view), form);
    let RequestStart::Ask(ticket, message) = bench.requests.begin(&request, Token::from_u64(2), &mut bench.pool) else {
        panic!("nothing is before it")
    };
    let slot = ReplySlot { connection: Token::from_u64(2), answer: 0, part: 0, stamp: Stamp::NONE };
    bench.requests.assign(ticket, ReplyTo { home: 0, slot, request_bytes: 0 });
    let mut answer = found(0);
    let Answer::Found(Some(kept)) = &mut answer else { panic!("it was found") };
    let version = Arc::make_mut(kept).version.as_mut().expect("it has a version");
    (version.value, version.flags) = (value, hash::HASH_FLAGS);
    let next = bench.requests.answered(asked(&message).tag, answer, NOW, &mut bench.pool);
    assert!(next.is_empty());
    let done = bench.requests.next_completion().expect("it is answered");
    assert_eq!(String::from_utf8_lossy(&done.bytes), "$11\r\nof the hash\r\n");
}
