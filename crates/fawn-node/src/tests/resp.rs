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

#[test]
fn the_largest_value_is_taken_and_one_byte_more_is_refused() {
    let node = Node::start_speaking(&REDIS, 1, 1, |options| options.max_item_bytes = 100_000);
    let mut client = node.client();
    // What memcached counts for an item beside its value: its header, cas and line breaks, and the key.
    let most = 100_000 - 48 - 8 - 2 - 2;
    let set = |bytes: usize| format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${bytes}\r\n{}\r\n", "x".repeat(bytes));
    let too_long = "-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n";
    client.ask(set(most), "+OK\r\n");
    client.ask(set(most + 1) + PING, [too_long, "+PONG\r\n"].concat());
    client.ask(set(400_000) + PING, [too_long, "+PONG\r\n"].concat());
    client.ask(GET, format!("${most}\r\n{}\r\n", "x".repeat(most)));
    client.ask(format!("SETRANGE k {most} x\r\nSTRLEN k\r\n"), format!(":{}\r\n:{}\r\n", most + 1, most + 1));
    client.ask("SETRANGE k 100000 x\r\n", too_long);
}

#[test]
fn a_line_with_more_keys_than_replies_have_room_for_is_answered_in_order() {
    let node = Node::start_speaking(&REDIS, 2, 2, |options| options.max_item_bytes = 100_000);
    let mut client = node.client();
    let value = "x".repeat(50_000);
    let bulk = |word: &str| format!("${}\r\n{word}\r\n", word.len());
    client.ask(format!("*3\r\n{}{}{}", bulk("SET"), bulk("k"), bulk(&value)), "+OK\r\n");
    let count = 400;
    client.say(format!("*{}\r\n{}{}", count + 1, bulk("MGET"), bulk("k").repeat(count)) + PING);
    client.expect(format!("*{count}\r\n"));
    for _ in 0..count {
        client.expect(bulk(&value));
    }
    client.expect("+PONG\r\n");
}

#[test]
fn whoever_has_to_authenticate_is_heard_after_the_right_password() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("users");
    std::fs::write(&path, "default:secret\nme:other\n").unwrap();
    let node = Node::start_speaking(&REDIS, 1, 1, |options| options.auth_file = Some(path));
    let mut client = node.client();
    client.ask("GET k\r\n", "-NOAUTH Authentication required.\r\n");
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    client.ask("AUTH wrong\r\n", wrong);
    client.ask("AUTH secret\r\nGET k\r\nACL WHOAMI\r\n", "+OK\r\n$-1\r\n$7\r\ndefault\r\n");
    client.ask("AUTH me secret\r\nAUTH me other\r\nACL WHOAMI\r\n", [wrong, "+OK\r\n$2\r\nme\r\n"].concat());
    client.ask("RESET\r\nGET k\r\n", "+RESET\r\n-NOAUTH Authentication required.\r\n");
    client.ask("HELLO 3 AUTH me wrong\r\n", wrong);
    client.say("HELLO 3 AUTH me other\r\n");
    client.expect("%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n");
}
