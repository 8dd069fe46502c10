//! What a client of HTTP sends.

use fawn_check::random::Random;
use fawn_http::{ReaderEvent, ReaderLimits, RequestReader};

use super::pieces;
use super::target::{Input, Target};

const LIMITS: ReaderLimits = ReaderLimits { item_bytes: 2048 };

/// Sun, 06 Nov 1994 08:49:37 GMT.
const NOW: u32 = 784_111_777;

/// [`RequestReader`]. In whatever pieces requests come, they are those that the whole input has, and so are the replies.
pub(super) struct Requests;

/// The events of an input that comes in pieces, as text, and what was answered at once. Clients say who they are if
/// `authenticates`, and half of them are believed.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, authenticates: bool) -> Vec<String> {
    let mut reader = RequestReader::new(LIMITS, authenticates);
    let (mut held, mut events) = (Vec::new(), Vec::new());
    for piece in pieces {
        held.extend_from_slice(piece);
        loop {
            let mut out = Vec::new();
            let step = reader.next(&held, NOW, &mut out);
            let consumed = step.consumed;
            assert!(consumed <= held.len(), "no more is consumed than there is");
            let mut is_believed = false;
            let event = match step.event {
                ReaderEvent::NeedMore { total } => {
                    assert!(total > held.len() - consumed, "what it waits for is not there");
                    assert!(out.is_empty(), "who waits says nothing");
                    held.drain(..consumed);
                    break;
                }
                ReaderEvent::Authenticate { user, password, .. } => {
                    is_believed = user.len() % 2 == 1;
                    format!("{user:?} {password:?}")
                }
                ReaderEvent::Replied => String::new(),
                event @ (ReaderEvent::Request(_) | ReaderEvent::Close) => format!("{event:?}"),
            };
            let is_over = event == "Close";
            // Whether it is sent depends on how a request comes.
            if out != b"HTTP/1.1 100 Continue\r\n\r\n" {
                events.push(format!("{event} {}", out.escape_ascii()));
            }
            if is_over {
                return events;
            }
            if is_believed {
                reader.authenticated();
            }
            assert!(reader.held_bytes() <= held.len() + LIMITS.item_bytes, "it holds no more than came");
            held.drain(..consumed);
        }
    }
    events
}

fn pick<'t>(random: &mut Random, of: &[&'t str]) -> &'t str {
    of[random.below(of.len() as u64) as usize]
}

/// Appends a request.
fn push_request(random: &mut Random, bytes: &mut Vec<u8>) {
    let method = pick(random, &["GET", "HEAD", "PUT", "PUT", "DELETE", "POST", "OPTIONS", "PATCH", "BREW"]);
    let targets = [
        "/v1/keys/a",
        "/v1/keys/%00%ff",
        "/v1/keys/a?format=json",
        "/v1/counters/n?by=-3",
        "/v1/batch",
        "/v1/keys/",
        "*",
        "/",
    ];
    let target = if method == "POST" { pick(random, &targets[3..5]) } else { pick(random, &targets) };
    let version = pick(random, &["1.1", "1.1", "1.1", "1.0", "2.0"]);
    bytes.extend_from_slice(format!("{method} {target} HTTP/{version}\r\nHost: h\r\n").as_bytes());
    let fields = [
        "If-None-Match: \"7\", W/\"8\"\r\n",
        "If-Match: *\r\n",
        "If-Match: \"7\"\r\n",
        "Range: bytes=1-2\r\n",
        "If-Range: \"7\"\r\n",
        "Cache-Control: max-age=60\r\n",
        "Content-Type: text/html; charset=utf-8\r\n",
        "Connection: close\r\n",
        "Expect: 100-continue\r\n",
        "Origin: http://h\r\n",
        "Authorization: Basic YWxpY2U6c2VjcmV0\r\n",
        "Authorization: Bearer Ym9iYjpzZWNyZXQ\r\n",
    ];
    for _ in 0..random.below(4) {
        bytes.extend_from_slice(pick(random, &fields).as_bytes());
    }
    let longest = if random.chance(1, 8) { 3000 } else { 40 };
    let mut body = vec![b'x'; random.below(longest) as usize];
    if target == "/v1/batch" && random.chance(3, 4) {
        body = b"{\"get\": [\"a\", \"\\u00e9\", \"c\"]}".to_vec();
    }
    match method {
        "GET" | "HEAD" | "DELETE" | "OPTIONS" => bytes.extend_from_slice(b"\r\n"),
        _ if random.chance(1, 2) => {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            bytes.extend_from_slice(&body);
        }
        _ => {
            bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            while !body.is_empty() {
                let rest = body.split_off(random.within(1, body.len() as u64) as usize);
                bytes.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
                bytes.extend_from_slice(&std::mem::replace(&mut body, rest));
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
        }
    }
}

impl Target for Requests {
    fn name(&self) -> &'static str {
        "http-request"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let mut bytes = Vec::new();
        for _ in 0..random.within(1, 5) {
            push_request(random, &mut bytes);
        }
        pieces::cut(random, bytes)
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        // The events as text are longer than the requests, and the shortest request has a reply.
        128 * input.iter().map(Vec::len).sum::<usize>() as u64 + (256 << 10)
    }

    fn execute(&self, input: &Input) -> bool {
        let whole = input.concat();
        let mut is_decoded = false;
        for authenticates in [true, false] {
            let events = read(input.iter().map(Vec::as_slice), authenticates);
            assert_eq!(events, read([whole.as_slice()], authenticates), "it makes no difference how the bytes come");
            is_decoded |= events.iter().any(|event| event.starts_with("Request"));
        }
        is_decoded
    }
}
