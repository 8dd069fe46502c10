//! Values that get another key, over stores of several loops.

use super::harness::Node;
use crate::protocol::redis::REDIS;

#[test]
fn a_value_moves_with_its_expiry_wherever_its_keys_are() {
    let node = Node::start_speaking(&REDIS, 2, 2, |_| {});
    let mut client = node.client();
    for number in 0..16 {
        client.ask(format!("SET from{number} value{number} EX 100\r\n"), "+OK\r\n");
        client.ask(format!("RENAME from{number} to{number}\r\nPING\r\n"), "+OK\r\n+PONG\r\n");
        client.ask(format!("EXISTS from{number}\r\n"), ":0\r\n");
        let value = format!("value{number}");
        client.ask(format!("GET to{number}\r\n"), format!("${}\r\n{value}\r\n", value.len()));
        client.ask(format!("PERSIST to{number}\r\n"), ":1\r\n");
        client.ask(format!("COPY to{number} copy{number}\r\nCOPY to{number} copy{number}\r\n"), ":1\r\n:0\r\n");
        client.ask(format!("RENAMENX to{number} copy{number}\r\nEXISTS to{number}\r\n"), ":0\r\n:1\r\n");
    }
    client.ask("RENAME none to1\r\nCOPY none to1\r\nRENAMENX none x\r\n", "-ERR no such key\r\n:0\r\n-ERR no such key\r\n");
    client.ask("RENAME to1 to1\r\nRENAMENX to1 to1\r\nGET to1\r\n", "+OK\r\n:0\r\n$6\r\nvalue1\r\n");
    client.ask("HSET h f v\r\nCOPY h h2\r\nHGET h2 f\r\n", ":1\r\n:1\r\n$1\r\nv\r\n");
}

#[test]
fn a_move_is_told_once_all_of_it_is_durable() {
    let node = Node::start_speaking(&REDIS, 2, 2, |_| {});
    let mut client = node.client();
    client.ask("SET a 1\r\n", "+OK\r\n");
    node.knobs.set(|knobs| &knobs.durable, true);
    node.knobs.set(|knobs| &knobs.commits_held, true);
    client.say("RENAME a b\r\nGET b\r\n");
    client.expect_silence();
    node.knobs.set(|knobs| &knobs.commits_held, false);
    client.expect("+OK\r\n$1\r\n1\r\n");
}

#[test]
fn a_store_that_stops_meanwhile_is_an_error() {
    let node = Node::start_speaking(&REDIS, 1, 1, |_| {});
    let mut client = node.client();
    client.ask("SET a 1\r\n", "+OK\r\n");
    node.knobs.set(|knobs| &knobs.durable, true);
    node.knobs.set(|knobs| &knobs.commits_held, true);
    client.say("RENAME a b\r\n");
    client.expect_silence();
    node.knobs.set(|knobs| &knobs.fail_commit, true);
    node.knobs.set(|knobs| &knobs.commits_held, false);
    client.expect("-ERR the store has stopped after a failed write, see the server's log\r\n");
}
