//! Clients that do not read their answers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::server::Server;

/// 2 GB of answers, of values in files of their own, are asked for, and nobody takes them.
#[test]
fn clients_that_do_not_read_large_answers_hold_nobody_up() {
    let Some(server) = Server::fawn(&["--threads", "2", "--max-item-size", "8M"]) else { return };
    let connect = || TcpStream::connect(&server.address).unwrap();
    let mut client = connect();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut answer = [0; 64];
    client.write_all(format!("set big 0 0 4000000\r\n{}\r\n", "b".repeat(4_000_000)).as_bytes()).unwrap();
    assert_eq!(client.read(&mut answer).unwrap(), b"STORED\r\n".len());
    let slow: Vec<TcpStream> = (0..5).map(|_| connect()).collect();
    for mut slow in &slow {
        slow.write_all("get big\r\n".repeat(100).as_bytes()).unwrap();
    }
    std::thread::sleep(Duration::from_secs(2));
    for number in 0..20 {
        client.write_all(format!("set small{number} 0 0 1\r\nx\r\n").as_bytes()).unwrap();
        let read = client.read(&mut answer).expect("others are answered, long before the slow ones are cut off");
        assert_eq!(&answer[..read], b"STORED\r\n");
    }
    drop(slow);
}
