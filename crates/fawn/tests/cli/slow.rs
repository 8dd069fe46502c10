//! Clients that do not read their answers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::server::Server;

/// 2 GB of answers are asked for, of a value in a file of its own and of values in DRAM, and nobody takes them.
#[test]
fn clients_that_do_not_read_large_answers_hold_nobody_up() {
    let Some(server) = Server::fawn(&["--threads", "2", "--max-item-size", "8M"]) else { return };
    let connect = || TcpStream::connect(&server.address).unwrap();
    let mut client = connect();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut answer = [0; 64];
    let mut store = |key: &str, bytes: usize| {
        client.write_all(format!("set {key} 0 0 {bytes}\r\n{}\r\n", "b".repeat(bytes)).as_bytes()).unwrap();
        let read = client.read(&mut answer).expect("others are answered, long before the slow ones are cut off");
        assert_eq!(&answer[..read], b"STORED\r\n");
    };
    store("big", 4_000_000);
    let inline: Vec<String> = (0..8).map(|number| format!("inline{number}")).collect();
    for key in &inline {
        store(key, 500_000);
    }
    let slow: Vec<TcpStream> = (0..10).map(|_| connect()).collect();
    for (number, mut slow) in slow.iter().enumerate() {
        let asked = if number % 2 == 0 { "get big\r\n".into() } else { format!("get {}\r\n", inline.join("\r\nget ")) };
        slow.write_all(asked.repeat(50).as_bytes()).unwrap();
    }
    std::thread::sleep(Duration::from_secs(2));
    for number in 0..20 {
        store(&format!("small{number}"), 1);
    }
    drop(slow);
}
