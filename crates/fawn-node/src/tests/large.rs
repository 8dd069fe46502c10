//! Values that have files of their own.

use super::harness::{Node, error_line, eventually, hit, set};
use crate::request::{STOPPED, UNREADABLE};
use std::sync::atomic::Ordering;

fn node() -> (Node, String) {
    let node = Node::simple();
    node.knobs.large_from.store(1000, Ordering::SeqCst);
    (node, "x".repeat(5000))
}

#[test]
fn a_value_whose_file_is_missing_is_an_error_and_not_a_loop() {
    let (node, value) = node();
    let mut client = node.client();
    client.ask(set("big", &value) + &set("coldbig", &value), "STORED\r\nSTORED\r\n");
    node.knobs.set(|knobs| &knobs.cold, true);
    client.ask("get big coldbig\r\n", format!("{}{}END\r\n", hit("big", &value), hit("coldbig", &value)));
    node.knobs.set(|knobs| &knobs.values_gone, true);
    for key in ["big", "coldbig"] {
        client.ask(format!("get {key}\r\nmg {key} v\r\n"), error_line(UNREADABLE).repeat(2));
        client.ask(format!("append {key} 0 0 1\r\nx\r\n"), error_line(UNREADABLE));
        client.ask(set(key, "small") + &format!("get {key}\r\n"), format!("STORED\r\n{}END\r\n", hit(key, "small")));
    }
}

#[test]
fn a_get_whose_file_goes_is_never_shown_what_its_connection_puts_later() {
    let (node, value) = node();
    let mut client = node.client();
    client.ask(set("big", &value) + &set("coldbig", &value), "STORED\r\nSTORED\r\n");
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.values_gone, true);
    node.knobs.set(|knobs| &knobs.reads_held, true);
    client.say(format!("get big\r\n{}get coldbig\r\n{}get big\r\n", set("big", "new"), set("coldbig", "new")));
    eventually(|| node.stat("fawn_waiting") >= 3, "the gets under way");
    client.expect_silence();
    node.knobs.set(|knobs| &knobs.reads_held, false);
    let unreadable = error_line(UNREADABLE);
    client.expect(format!("{unreadable}STORED\r\n{unreadable}STORED\r\n{}END\r\n", hit("big", "new")));
}

#[test]
fn a_get_whose_file_goes_with_a_flush_finds_nothing() {
    let (node, value) = node();
    let mut client = node.client();
    client.ask(set("big", &value), "STORED\r\n");
    node.knobs.set(|knobs| &knobs.reads_held, true);
    client.say("get big\r\n");
    node.await_stat("fawn_waiting", 1);
    node.client().ask("flush_all\r\n", "OK\r\n");
    node.knobs.set(|knobs| &knobs.values_gone, true);
    node.knobs.set(|knobs| &knobs.reads_held, false);
    client.expect("END\r\n");
}

#[test]
fn gets_of_one_large_value_go_together_and_a_put_waits_for_them() {
    let (node, value) = node();
    let mut clients: Vec<_> = (0..4).map(|_| node.client()).collect();
    clients[0].ask(set("big", &value), "STORED\r\n");
    node.knobs.set(|knobs| &knobs.reads_held, true);
    for client in &mut clients[..3] {
        client.say("get big\r\n");
    }
    eventually(|| node.knobs.reads.load(Ordering::SeqCst) == 3, "three reads at a time");
    clients[3].say(set("big", "new"));
    node.await_stat("fawn_waiting", 4);
    for client in &mut clients[..3] {
        client.say("get big\r\n");
    }
    node.await_stat("fawn_waiting", 7);
    node.knobs.set(|knobs| &knobs.reads_held, false);
    for client in &mut clients[..3] {
        client.expect(format!("{}END\r\n{}END\r\n", hit("big", &value), hit("big", "new")));
    }
    clients[3].expect("STORED\r\n");
    node.await_stat("fawn_waiting", 0);
}

/// The get begins before its key is held, and comes to its file while it is.
#[test]
fn a_get_and_a_change_of_a_cold_large_value_come_to_its_file_together() {
    let (node, value) = node();
    let (mut reader, mut writer) = (node.client(), node.client());
    reader.ask(set("coldbig", &value), "STORED\r\n");
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.reads_held, true);
    reader.say("get coldbig\r\n");
    node.await_stat("fawn_waiting", 1);
    writer.say("append coldbig 0 0 1\r\n!\r\n");
    node.await_stat("fawn_waiting", 2);
    node.knobs.set(|knobs| &knobs.reads_held, false);
    reader.expect(format!("{}END\r\n", hit("coldbig", &value)));
    writer.expect("STORED\r\n");
    reader.ask("get coldbig\r\n", format!("{}END\r\n", hit("coldbig", &format!("{value}!"))));
}

#[test]
fn a_meta_get_that_does_not_show_the_value_does_not_read_it() {
    let (node, value) = node();
    let mut client = node.client();
    client.ask(set("big", &value), "STORED\r\n");
    client.ask("mg big t s f\r\nmg big s T100\r\nmn\r\n", "HD t-1 s5000 f0\r\nHD s5000\r\nMN\r\n");
    assert_eq!(node.knobs.reads.load(Ordering::SeqCst), 0);
    client.ask("mg big v\r\n", format!("VA 5000\r\n{value}\r\n"));
    assert_eq!(node.knobs.reads.load(Ordering::SeqCst), 1);
}

#[test]
fn a_large_value_that_waits_for_a_stopped_store_is_refused() {
    let (node, value) = node();
    let mut client = node.client();
    node.knobs.set(|knobs| &knobs.busy, true);
    client.say(set("big", &value));
    eventually(|| node.knobs.refused.load(Ordering::SeqCst) > 0, "a written value that waits");
    node.knobs.set(|knobs| &knobs.stop, true);
    assert_eq!(client.rest(), error_line(STOPPED));
}
