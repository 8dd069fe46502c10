//! A second client protocol is an adapter and nothing else: Redis's, over the same node.

use super::harness::Node;
use crate::protocol::redis::REDIS;

const PING: &str = "*1\r\n$4\r\nPING\r\n";
const SET: &str = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n";
const GET: &str = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";

#[test]
fn an_adapter_answers_ping_get_and_set() {
    let node = Node::start_speaking(&REDIS, 2, 1, |_| {});
    let mut client = node.client();
    client.ask(PING, "+PONG\r\n");
    client.ask(GET, "$-1\r\n");
    client.ask([SET, GET, PING].concat(), "+OK\r\n$5\r\nvalue\r\n+PONG\r\n");
    client.say(&GET[..7]);
    client.expect_silence();
    client.ask(&GET[7..], "$5\r\nvalue\r\n");
    client.ask("FAIL\r\n", "-ERR unknown command 'FAIL', with args beginning with: \r\n");
}

#[test]
fn replies_that_wait_are_in_the_protocol_and_in_order() {
    let node = Node::start_speaking(&REDIS, 2, 2, |_| {});
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

#[test]
fn a_line_of_keys_is_one_reply_wherever_its_keys_are() {
    let node = Node::start_speaking(&REDIS, 2, 2, |_| {});
    let mut client = node.client();
    let words = |words: &str| {
        let words: Vec<_> = words.split(' ').collect();
        let bulks: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        format!("*{}\r\n{bulks}", words.len())
    };
    client.ask(words("MSET a 1 b 2 c 3 d 4 e 5"), "+OK\r\n");
    client.ask(words("MGET a x c e"), "*4\r\n$1\r\n1\r\n$-1\r\n$1\r\n3\r\n$1\r\n5\r\n");
    client.ask(words("DEL a x b c d e") + PING, ":5\r\n+PONG\r\n");
    client.ask(words("MGET a b") + PING, "*2\r\n$-1\r\n$-1\r\n+PONG\r\n");
    // Byte by byte it is the same.
    for byte in words("MSET a 1 b 2").bytes() {
        client.say([byte]);
    }
    client.expect("+OK\r\n");
    client.ask("MGET a b\r\n", "*2\r\n$1\r\n1\r\n$1\r\n2\r\n");
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.bad, true);
    client.ask(words("MSET cold1 1 coldbad 2"), "+OK\r\n");
    let unreadable = "-ERR the item cannot be read from flash, see the server's log\r\n";
    client.ask(words("MGET cold1 a coldbad") + PING, [unreadable, "+PONG\r\n"].concat());
}
