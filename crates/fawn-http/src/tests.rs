use crate::responder::ReplyKind;
use crate::{Action, FoundItem, HttpStatus, ItemFacts, ReaderEvent, ReaderLimits, RequestReader, Responder, StoreMode};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Sun, 06 Nov 1994 08:49:37 GMT.
const NOW: u32 = 784_111_777;
const LIMITS: ReaderLimits = ReaderLimits { item_bytes: 1000 };

#[derive(Clone)]
struct Item {
    value: Vec<u8>,
    flags: u32,
    cas: u64,
    ttl: Option<u32>,
}

/// A server of one connection with a map for a store.
struct Server {
    items: BTreeMap<Vec<u8>, Item>,
    cas: u64,
    reader: RequestReader,
    out: Vec<u8>,
    is_closed: bool,
}

impl Server {
    fn new(authenticates: bool) -> Self {
        let text = crate::media_type::flags_of("text/plain; charset=utf-8").unwrap();
        let item = |value: &[u8], flags, cas, ttl| Item { value: value.to_vec(), flags, cas, ttl };
        let items = BTreeMap::from([
            (b"a".to_vec(), item(b"0123456789", text, 7, None)),
            (b"timed".to_vec(), item(b"soon gone", 0, 8, Some(60))),
            (b"n".to_vec(), item(b"41", 0, 9, None)),
            (b"\xff \x00/".to_vec(), item(b"\xff\x00", 5, 10, None)),
            (b"empty".to_vec(), item(b"", 0, 11, None)),
        ]);
        let reader = RequestReader::new(LIMITS, authenticates);
        Self { items, cas: 100, reader, out: Vec::new(), is_closed: false }
    }

    /// Takes what has come in pieces.
    fn serve<'p>(&mut self, pieces: impl IntoIterator<Item = &'p [u8]>) {
        let mut held = Vec::new();
        for piece in pieces {
            held.extend_from_slice(piece);
            loop {
                let step = self.reader.next(&held, NOW, &mut self.out);
                let consumed = step.consumed;
                assert!(consumed <= held.len(), "no more is consumed than there is");
                let mut is_admitted = false;
                match step.event {
                    ReaderEvent::Request(request) => {
                        let (key, responder) = (request.key.to_vec(), request.responder);
                        assert_eq!(Responder::from_bytes(&responder.to_bytes()), responder);
                        apply(&mut self.items, &mut self.cas, &mut self.out, (&key, request.action, responder));
                    }
                    ReaderEvent::Authenticate { user, password, responder } => {
                        is_admitted = (user, password) == (b"alice", b"secret");
                        assert_eq!(responder.kind, ReplyKind::Authentication);
                        if !is_admitted {
                            responder.fail(&mut self.out, HttpStatus::Unauthorized, "wrong", None);
                        }
                    }
                    ReaderEvent::Replied => {}
                    ReaderEvent::NeedMore { total } => {
                        assert!(total > held.len() - consumed, "what it waits for is not there");
                        held.drain(..consumed);
                        break;
                    }
                    ReaderEvent::Close => {
                        self.is_closed = true;
                        return;
                    }
                }
                if is_admitted {
                    self.reader.authenticated();
                }
                held.drain(..consumed);
            }
        }
    }
}

fn apply(
    items: &mut BTreeMap<Vec<u8>, Item>,
    cas: &mut u64,
    out: &mut Vec<u8>,
    (key, action, responder): (&Vec<u8>, Action<'_>, Responder),
) {
    let current = items.get(key).cloned();
    let mut put = |value: &[u8], flags, ttl| {
        *cas += 1;
        items.insert(key.clone(), Item { value: value.to_vec(), flags, cas: *cas, ttl });
        *cas
    };
    match (action, current) {
        (Action::Get, Some(item)) => {
            let Item { value, flags, cas, ttl } = &item;
            responder.item(out, key, &FoundItem { value, flags: *flags, cas: *cas, ttl: *ttl });
        }
        (Action::Inspect, Some(Item { value, flags, cas, ttl })) => {
            responder.facts(out, &ItemFacts { length: value.len(), flags, cas, ttl });
        }
        (Action::Get | Action::Inspect | Action::Delete { .. }, None) => responder.missing(out, key),
        (Action::Store { mode, value, flags, max_age }, current) => match (mode, current) {
            (StoreMode::Add, Some(_)) | (StoreMode::Replace, None) => responder.unmet(out),
            (StoreMode::Cas(_), None) => responder.missing(out, key),
            (StoreMode::Cas(cas), Some(item)) if cas != item.cas => responder.unmet(out),
            _ => responder.stored(out, put(value, flags, max_age)),
        },
        (Action::Delete { compare }, Some(item)) => {
            if compare.is_some_and(|cas| cas != item.cas) {
                return responder.unmet(out);
            }
            items.remove(key);
            responder.deleted(out);
        }
        (Action::Count { delta, decrement }, current) => {
            let text = current.map_or_else(|| b"0".to_vec(), |item| item.value);
            let Ok(Ok(number)) = std::str::from_utf8(&text).map(str::parse::<u64>) else {
                return responder.no_number(out);
            };
            let number = if decrement { number.saturating_sub(delta) } else { number.wrapping_add(delta) };
            let cas = put(number.to_string().as_bytes(), 0, None);
            responder.number(out, number, cas);
        }
    }
}

/// Bytes as lines, each with a mark before it. A line that does not end with CR LF ends with a backslash.
fn show(bytes: &[u8], mark: char) -> String {
    let mut text = String::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.windows(2).position(|two| two == b"\r\n");
        let (line, after) = end.map_or((rest, rest.len()), |end| (&rest[..end], end + 2));
        let _ = writeln!(text, "{mark} {}{}", line.escape_ascii(), if end.is_some() { "" } else { "\\" });
        rest = &rest[after..];
    }
    text
}

/// The bytes that a line of the table says.
fn unescape(line: &str) -> Vec<u8> {
    let (line, end) = line.strip_suffix('\\').map_or((line, &b"\r\n"[..]), |line| (line, b""));
    let (mut bytes, mut rest) = (Vec::new(), line);
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let (taken, byte) = match &rest[at + 1..at + 2] {
            "n" => (2, b'\n'),
            "r" => (2, b'\r'),
            "t" => (2, b'\t'),
            "x" => (4, u8::from_str_radix(&rest[at + 2..at + 4], 16).unwrap()),
            other => (2, other.as_bytes()[0]),
        };
        bytes.push(byte);
        rest = &rest[at + taken..];
    }
    [&bytes, rest.as_bytes(), end].concat()
}

struct Case {
    name: String,
    authenticates: bool,
    request: Vec<u8>,
    reply: String,
}

/// The table: a name after `#` (`# locked` where clients have to authenticate), lines sent after `>`, what comes of them.
fn table() -> Vec<Case> {
    let text = include_str!("../testdata/requests.txt");
    let blocks = text.split("\n\n").filter(|block| block.starts_with('#'));
    let case = |block: &str| {
        let name = block.lines().next().unwrap().to_owned();
        let request = block.lines().filter_map(|line| line.strip_prefix("> ").or(line.strip_prefix('>')));
        let reply = block.lines().filter(|line| line.starts_with(['<', '='])).map(|line| format!("{line}\n"));
        let (request, reply) = (request.flat_map(unescape).collect(), reply.collect());
        Case { authenticates: name.starts_with("# locked"), name, request, reply }
    };
    blocks.map(case).collect()
}

/// What a server answers to `pieces`.
fn reply<'p>(authenticates: bool, pieces: impl IntoIterator<Item = &'p [u8]>) -> String {
    let mut server = Server::new(authenticates);
    server.serve(pieces);
    let end = if server.is_closed { "= closed\n" } else { "= open\n" };
    show(&server.out, '<') + end
}

#[test]
fn every_request_of_the_table_has_its_exact_reply() {
    let cases = table();
    if std::env::var_os("FAWN_WRITE_HTTP").is_some() {
        let block = |case: &Case| {
            let reply = reply(case.authenticates, [&case.request[..]]);
            format!("{}\n{}{reply}\n", case.name, show(&case.request, '>'))
        };
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/requests.txt");
        std::fs::write(path, cases.iter().map(block).collect::<String>()).unwrap();
        return;
    }
    assert!(cases.len() >= 80, "{} cases", cases.len());
    for case in &cases {
        assert_eq!(reply(case.authenticates, [&case.request[..]]), case.reply, "{}", case.name);
    }
}

/// A `100 Continue` is sent only where the body has not come with the head, which depends on how it comes.
fn without_continue(reply: &str) -> String {
    reply.replace("< HTTP/1.1 100 Continue\n< \n", "")
}

#[test]
fn it_makes_no_difference_where_a_request_is_cut() {
    for case in table() {
        let expected = without_continue(&case.reply);
        for cut in 1..case.request.len() {
            let (one, other) = case.request.split_at(cut);
            let came = reply(case.authenticates, [one, other]);
            assert_eq!(without_continue(&came), expected, "{} cut at {cut}", case.name);
        }
        let came = reply(case.authenticates, case.request.chunks(1));
        assert_eq!(without_continue(&came), expected, "{} byte by byte", case.name);
    }
}

#[test]
fn requests_that_come_together_are_answered_one_after_the_other() {
    let open =
        |case: &Case| case.reply.ends_with("= open\n") && !case.authenticates && !case.reply.contains("100 Cont");
    let reads = |case: &Case| case.request.starts_with(b"GET") || case.request.starts_with(b"HEAD");
    let cases: Vec<Case> = table().into_iter().filter(|case| open(case) && reads(case)).collect();
    assert!(cases.len() > 20);
    let request: Vec<u8> = cases.iter().flat_map(|case| case.request.clone()).collect();
    let mut together = Server::new(false);
    together.serve([&request[..]]);
    let mut apart = Vec::new();
    for case in &cases {
        let mut server = Server::new(false);
        server.serve([&case.request[..]]);
        apart.extend_from_slice(&server.out);
    }
    assert_eq!(show(&together.out, '<'), show(&apart, '<'));
}

#[test]
fn a_client_is_known_once_it_has_said_who_it_is_and_every_request_says_so() {
    let mut server = Server::new(true);
    assert!(server.reader.is_locked());
    server.serve([&b"GET /v1/keys/a HTTP/1.1\r\nHost: h\r\nAuthorization: Basic YWxpY2U6c2VjcmV0\r\n\r\n"[..]]);
    assert!(!server.reader.is_locked() && server.out.starts_with(b"HTTP/1.1 200 OK"));
    server.out.clear();
    server.serve([&b"GET /v1/keys/a HTTP/1.1\r\nHost: h\r\n\r\n"[..]]);
    assert!(server.out.starts_with(b"HTTP/1.1 401 Unauthorized"), "{}", show(&server.out, '<'));
}

#[test]
fn what_a_reader_holds_of_a_body_in_chunks_is_told_and_goes() {
    let mut reader = RequestReader::new(LIMITS, false);
    let (request, mut out) =
        (b"PUT /v1/keys/a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", vec![]);
    let step = reader.next(request, NOW, &mut out);
    assert_eq!(step.consumed, request.len());
    assert!(reader.held_bytes() >= 3);
    reader.next(b"", NOW, &mut out);
    assert_eq!(reader.held_bytes(), 0);
    let request = b"POST /v1/batch HTTP/1.1\r\nHost: h\r\nContent-Length: 19\r\n\r\n{\"get\": [\"a\", \"b\"]}";
    assert_eq!(reader.next(request, NOW, &mut out).consumed, 0, "a batch is there until its last key");
    assert!(reader.held_bytes() >= 2);
    assert_eq!(reader.next(request, NOW, &mut out).consumed, request.len());
    reader.next(b"", NOW, &mut out);
    assert_eq!(reader.held_bytes(), 0);
}

fn pieces_of(bytes: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    for cut in cuts {
        let (piece, after) = rest.split_at((*cut).min(rest.len()));
        pieces.push(piece.to_vec());
        rest = after;
    }
    pieces.push(rest.to_vec());
    pieces
}

proptest! {
    #[test]
    fn damaged_requests_are_answered_alike_however_they_come(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cuts in prop::collection::vec(1_usize..60, 0..8),
        authenticates in any::<bool>(),
    ) {
        let cases = table();
        let mut request = which.get(&cases).request.clone();
        for (at, byte) in damage {
            let at = at.index(request.len());
            request[at] = byte;
        }
        let pieces = pieces_of(&request, &cuts);
        let whole = without_continue(&reply(authenticates, [&request[..]]));
        let parts = without_continue(&reply(authenticates, pieces.iter().map(Vec::as_slice)));
        prop_assert_eq!(whole, parts);
    }

    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..300), authenticates in any::<bool>()) {
        reply(authenticates, [&bytes[..]]);
    }
}
