//! HTTP over real sockets: what a node makes of requests, beside memcached's protocol and under its limits.

use super::harness::{Client, Node, client_of, key_of};
use crate::protocol::http::HTTP;
use std::collections::BTreeMap;
use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A reply: its status, its fields by lower-case names, its body.
#[derive(Debug)]
struct Reply {
    status: u16,
    fields: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Reply {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

impl Client<TcpStream> {
    /// Reads up to and with `end`.
    fn until(&mut self, end: &[u8]) -> Vec<u8> {
        let mut got = Vec::new();
        let mut byte = [0];
        while !got.ends_with(end) {
            self.0
                .read_exact(&mut byte)
                .unwrap_or_else(|error| panic!("{error} after {:?}", got.escape_ascii().to_string()));
            got.push(byte[0]);
        }
        got
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut got = vec![0; count];
        self.0.read_exact(&mut got).unwrap();
        got
    }

    /// Reads one reply; `is_head`: it has no body.
    fn reply(&mut self, is_head: bool) -> Reply {
        let head = String::from_utf8(self.until(b"\r\n\r\n")).unwrap();
        let mut lines = head.trim_end().lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let fields: BTreeMap<String, String> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let mut body = Vec::new();
        if fields.contains_key("transfer-encoding") {
            loop {
                let line = String::from_utf8(self.until(b"\r\n")).unwrap();
                let size = usize::from_str_radix(line.trim_end(), 16).unwrap();
                body.extend(self.bytes(size));
                assert_eq!(self.bytes(2), b"\r\n");
                if size == 0 {
                    break;
                }
            }
        } else if let Some(length) = fields.get("content-length").filter(|_| !is_head) {
            body = self.bytes(length.parse().unwrap());
        }
        Reply { status, fields, body }
    }

    fn request(&mut self, method: &str, target: &str, fields: &str, body: &str) -> Reply {
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        self.say(format!("{method} {target} HTTP/1.1\r\nHost: fawn\r\n{length}{fields}\r\n{body}"));
        self.reply(method == "HEAD")
    }
}

fn get(key: &str) -> String {
    format!("GET /v1/keys/{key} HTTP/1.1\r\nHost: fawn\r\n\r\n")
}

fn put(key: &str, value: &str) -> String {
    format!("PUT /v1/keys/{key} HTTP/1.1\r\nHost: fawn\r\nContent-Length: {}\r\n\r\n{value}", value.len())
}

/// A node for clients of memcached and of HTTP, and where the latter connect.
fn both(loops: usize) -> (Node, String) {
    let node = Node::start(loops, 1, |options| options.http = vec!["127.0.0.1:0".into()]);
    let at = node.running().addresses().iter().find(|at| at.protocol == "http").unwrap().address.clone();
    (node, at)
}

#[test]
fn an_item_is_put_shown_changed_by_its_tag_and_deleted() {
    let node = Node::start_speaking(&HTTP, 2, 2, |_| {});
    let mut client = node.client();
    assert_eq!(client.request("GET", "/v1/keys/a", "", "").status, 404);
    let reply = client.request("PUT", "/v1/keys/a", "Content-Type: text/html; charset=utf-8\r\n", "<p>one");
    let tag = reply.fields["etag"].clone();
    assert_eq!(reply.status, 204);
    let reply = client.request("GET", "/v1/keys/a", "", "");
    assert_eq!((reply.status, reply.text(), &reply.fields["etag"]), (200, "<p>one", &tag));
    assert_eq!(reply.fields["content-type"], "text/html; charset=utf-8");
    assert_eq!(reply.fields["content-security-policy"], "sandbox");
    assert_eq!(reply.fields["x-content-type-options"], "nosniff");
    assert!(reply.fields["date"].ends_with(" GMT"));
    assert_eq!(client.request("GET", "/v1/keys/a", &format!("If-None-Match: {tag}\r\n"), "").status, 304);
    let head = client.request("HEAD", "/v1/keys/a", "", "");
    assert_eq!((head.status, head.fields["content-length"].as_str(), &head.fields["etag"]), (200, "6", &tag));
    assert_eq!(client.request("PUT", "/v1/keys/a", "If-None-Match: *\r\n", "two").status, 412);
    assert_eq!(client.request("PUT", "/v1/keys/b", "If-None-Match: *\r\n", "two").status, 201);
    assert_eq!(client.request("PUT", "/v1/keys/c", "If-Match: *\r\n", "two").status, 412);
    let changed = client.request("PUT", "/v1/keys/a", &format!("If-Match: {tag}\r\n"), "two");
    assert_eq!(changed.status, 204);
    assert_ne!(changed.fields["etag"], tag);
    assert_eq!(client.request("PUT", "/v1/keys/a", &format!("If-Match: {tag}\r\n"), "three").status, 412);
    assert_eq!(client.request("DELETE", "/v1/keys/a", &format!("If-Match: {tag}\r\n"), "").status, 412);
    let part = client.request("GET", "/v1/keys/a", "Range: bytes=1-\r\n", "");
    assert_eq!((part.status, part.text(), part.fields["content-range"].as_str()), (206, "wo", "bytes 1-2/3"));
    assert_eq!(client.request("DELETE", "/v1/keys/a", "", "").status, 204);
    assert_eq!(client.request("DELETE", "/v1/keys/a", "", "").status, 404);
    assert_eq!(client.request("DELETE", "/v1/keys/a", "If-Match: *\r\n", "").status, 412);
}

#[test]
fn memcached_and_http_see_the_same_items() {
    let (node, at) = both(2);
    let (mut memcached, mut http) = (node.client(), client_of(&at));
    memcached.ask("set plain 7 0 5\r\nvalue\r\n", "STORED\r\n");
    let reply = http.request("GET", "/v1/keys/plain", "", "");
    assert_eq!((reply.text(), reply.fields["content-type"].as_str()), ("value", "application/octet-stream"));
    let cas = memcached.ask_until("gets plain\r\n", "END\r\n");
    let cas = cas.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(reply.fields["etag"], format!("\"{cas}\""));
    assert_eq!(http.request("PUT", "/v1/keys/plain", "Content-Type: application/json\r\n", "{}").status, 204);
    // The value is plain; its type is in the upper half of the flags.
    memcached.ask("get plain\r\n", format!("VALUE plain {} 2\r\n{{}}\r\nEND\r\n", 0x480b_0000_u32));
    memcached.ask(format!("cas plain 0 0 1 {cas}\r\nx\r\n"), "EXISTS\r\n");
    memcached.ask("set counter 0 0 2\r\n41\r\n", "STORED\r\n");
    assert_eq!(http.request("POST", "/v1/counters/counter", "", "").text(), "42");
    memcached.ask("incr counter 8\r\n", "50\r\n");
    assert_eq!(http.request("POST", "/v1/counters/counter?by=-100", "", "").text(), "0");
    assert_eq!(http.request("POST", "/v1/counters/plain", "", "").status, 409);
    assert_eq!(http.request("POST", "/v1/counters/fresh?by=3", "", "").text(), "3");
    // A key of any bytes, which memcached's clients reach in base64.
    assert_eq!(http.request("PUT", "/v1/keys/%00%20%FF", "", "bin").status, 204);
    memcached.ask("mg ACD/ b v\r\n", "VA 3\r\nbin\r\n");
    memcached.ask("delete plain\r\n", "DELETED\r\n");
    assert_eq!(http.request("HEAD", "/v1/keys/plain", "", "").status, 404);
}

#[test]
fn a_time_to_live_is_that_of_the_put_and_runs_down() {
    let (node, at) = both(1);
    let (mut memcached, mut http) = (node.client(), client_of(&at));
    assert_eq!(http.request("PUT", "/v1/keys/a", "Cache-Control: max-age=1000\r\n", "x").status, 204);
    for (method, target) in [("GET", "/v1/keys/a"), ("HEAD", "/v1/keys/a"), ("GET", "/v1/keys/a?format=json")] {
        let reply = http.request(method, target, "", "");
        let left: u32 = reply.fields["cache-control"].strip_prefix("max-age=").unwrap().parse().unwrap();
        assert!((900..=1000).contains(&left), "{left}");
    }
    let meta = memcached.ask_until("mg a t\r\n", "\r\n");
    let left: u32 = meta.trim_end().strip_prefix("HD t").unwrap().parse().unwrap();
    assert!((900..=1000).contains(&left), "{left}");
    memcached.ask("touch a 0\r\n", "TOUCHED\r\n");
    assert_eq!(http.request("GET", "/v1/keys/a", "", "").fields["cache-control"], "no-cache");
}

#[test]
fn a_batch_shows_its_keys_in_order_whichever_loop_has_them() {
    let node = Node::start_speaking(&HTTP, 2, 2, |_| {});
    let mut client = node.client();
    let keys: Vec<String> = (0..40).map(|n| key_of(&format!("cold{n}-"), n % 2, 2)).collect();
    for key in &keys[..39] {
        assert_eq!(client.request("PUT", &format!("/v1/keys/{key}"), "", &format!("of {key}")).status, 204);
    }
    let names = keys.iter().map(|key| format!("\"{key}\"")).collect::<Vec<_>>().join(",");
    let body = format!("{{\"get\":[{names}]}}");
    for cold in [false, true] {
        node.knobs.set(|knobs| &knobs.cold, cold);
        let reply = client.request("POST", "/v1/batch", "", &body);
        let mut at = 0;
        for key in &keys[..39] {
            let part = format!("{{\"key\":\"{key}\",\"value\":\"of {key}\",");
            at += reply.text()[at..].find(&part).unwrap_or_else(|| panic!("{part} in {}", reply.text()));
        }
        assert!(reply.text().ends_with(&format!("{{\"key\":\"{}\",\"value\":null}}]}}", keys[39])), "{}", reply.text());
    }
    // A part that fails stands for the batch, and the connection stays in step.
    node.knobs.set(|knobs| &knobs.bad, true);
    let bad = key_of("cold", 1, 2) + "bad";
    assert_eq!(client.request("PUT", &format!("/v1/keys/{bad}"), "", "x").status, 204);
    let body = format!("{{\"get\":[\"{}\",\"{bad}\",\"{}\"]}}", keys[0], keys[1]);
    let reply = client.request("POST", "/v1/batch", "", &body);
    assert_eq!((reply.status, reply.text()), (503, "the item cannot be read from flash, see the server's log\n"));
    assert_eq!(client.request("GET", &format!("/v1/keys/{}", keys[0]), "", "").status, 200);
}

#[test]
fn replies_that_wait_keep_their_order_and_100_continue_comes_after_them() {
    let node = Node::start_speaking(&HTTP, 2, 1, |_| {});
    let mut client = node.client();
    node.knobs.set(|knobs| &knobs.durable, true);
    node.knobs.set(|knobs| &knobs.commits_held, true);
    let puts: String = (0..8).map(|n| put(&format!("k{n}"), &n.to_string())).collect();
    client.say(puts + "PUT /v1/keys/last HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n");
    client.expect_silence();
    node.knobs.set(|knobs| &knobs.commits_held, false);
    for _ in 0..8 {
        assert_eq!(client.reply(false).status, 204);
    }
    client.expect("HTTP/1.1 100 Continue\r\n\r\n");
    client.say("x");
    assert_eq!(client.reply(false).status, 204);
    client.say((0..8).map(|n| get(&format!("k{n}"))).collect::<String>());
    for n in 0..8 {
        assert_eq!(client.reply(false).text(), n.to_string());
    }
    // A store that has stopped: the reply has no body, as it may be one to a HEAD.
    node.knobs.set(|knobs| &knobs.commits_held, true);
    client.say(put("k1", "y"));
    client.expect_silence();
    node.knobs.set(|knobs| &knobs.fail_commit, true);
    node.knobs.set(|knobs| &knobs.commits_held, false);
    client.expect("HTTP/1.1 503 Service Unavailable\r\nServer: fawn\r\nContent-Length: 0\r\n\r\n");
}

#[test]
fn requests_cut_at_every_byte_are_answered_alike() {
    let node = Node::start_speaking(&HTTP, 2, 1, |_| {});
    let stream = [
        &put("a", "value")[..],
        &get("a"),
        "PUT /v1/keys/b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n",
        &get("b"),
        "POST /v1/batch HTTP/1.1\r\nHost: h\r\nContent-Length: 19\r\n\r\n{\"get\": [\"a\", \"b\"]}",
        "PUT /v1/keys/c?x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde",
        &get("none"),
    ]
    .concat();
    for cut in 1..stream.len() {
        let mut client = node.client();
        client.say(&stream[..cut]);
        if cut % 16 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
        client.say(&stream[cut..]);
        let replies: Vec<Reply> = (0..7).map(|_| client.reply(false)).collect();
        let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
        assert_eq!(statuses, [204, 200, 204, 200, 200, 400, 404], "cut at {cut}");
        assert_eq!((replies[1].text(), replies[3].text()), ("value", "abcd"));
    }
}

#[test]
fn values_that_are_too_large_are_refused_and_the_connection_goes_on() {
    let node = Node::start_speaking(&HTTP, 1, 1, |options| options.max_item_bytes = 200_000);
    let mut client = node.client();
    let largest = 200_000 - 63 - 1;
    assert_eq!(client.request("PUT", "/v1/keys/a", "", &"x".repeat(largest)).status, 204);
    assert_eq!(client.request("PUT", "/v1/keys/a", "", &"y".repeat(largest + 1)).status, 413);
    let reply = client.request("GET", "/v1/keys/a", "", "");
    assert_eq!((reply.body.len(), reply.body[0]), (largest, b'x'), "what is refused changes nothing");
    // In chunks the end of what is refused is not known.
    client.say("PUT /v1/keys/a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n30d40\r\n");
    assert!(client.rest().starts_with("HTTP/1.1 413 Content Too Large\r\n"));
    let mut long = node.client();
    long.say(format!("GET /v1/keys/a HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n", "x".repeat(9000)));
    assert!(long.rest().starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"));
}

#[test]
fn who_sends_half_a_request_and_no_more_is_cut_off() {
    let node = Node::start_speaking(&HTTP, 1, 1, |options| options.limits.stall_timeout = Duration::from_millis(300));
    for half in [
        "GET /v1/ke",
        "PUT /v1/keys/a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabc",
        "PUT /v1/keys/a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ] {
        let (mut client, began) = (node.client(), Instant::now());
        client.say(half);
        assert_eq!(client.rest(), "");
        assert!(began.elapsed() >= Duration::from_millis(300), "{half}");
    }
    assert_eq!(node.client().request("GET", "/v1/keys/a", "", "").status, 404, "nothing of it was stored");
}

#[test]
fn each_request_says_who_asks_and_guesses_take_time() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("users");
    std::fs::write(&file, "alice:secret\n").unwrap();
    let node = Node::start_speaking(&HTTP, 1, 1, |options| {
        options.auth_file = Some(file);
        options.limits.stranger_timeout = Duration::from_millis(1500);
    });
    let (mut client, mut silent) = (node.client(), node.client());
    let reply = client.request("GET", "/v1/keys/a", "", "");
    assert_eq!(
        (reply.status, reply.fields["www-authenticate"].as_str()),
        (401, "Basic realm=\"fawn\", charset=\"UTF-8\"")
    );
    let (basic, bearer) = ("Authorization: Basic YWxpY2U6c2VjcmV0\r\n", "Authorization: Bearer YWxpY2U6c2VjcmV0\r\n");
    assert_eq!(client.request("PUT", "/v1/keys/a", basic, "value").status, 204);
    assert_eq!(client.request("GET", "/v1/keys/a", bearer, "").text(), "value");
    assert_eq!(client.request("GET", "/v1/keys/a", "", "").status, 401);
    let wrong = "Authorization: Basic YWxpY2U6d3Jvbmc=\r\n";
    let began = Instant::now();
    for _ in 0..3 {
        assert_eq!(client.request("PUT", "/v1/keys/a", wrong, "other").status, 401);
    }
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(client.request("GET", "/v1/keys/a", basic, "").text(), "value");
    assert_eq!(silent.rest(), "", "who never says who it is is cut off");
}

#[test]
fn a_connection_too_many_is_told_so() {
    let node = Node::start_speaking(&HTTP, 1, 1, |options| options.limits.connections = 16);
    let mut kept = Vec::new();
    let refused = loop {
        let mut client = node.client();
        client.say("GET /v1/keys/a HTTP/1.1\r\nHost: h\r\n\r\n");
        let reply = client.reply(false);
        if reply.status != 404 {
            break reply;
        }
        kept.push(client);
        assert!(kept.len() <= 17);
    };
    assert_eq!((refused.status, refused.fields["connection"].as_str()), (503, "close"));
}
