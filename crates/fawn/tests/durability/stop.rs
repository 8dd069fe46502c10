//! A clean stop loses nothing in any mode.

use std::process::Command;

use crate::server::Server;

#[test]
fn clean_stop_loses_nothing_whatever_the_acknowledgement() {
    for ack in ["durable", "interval:60000", "memory"] {
        let dir = tempfile::tempdir().unwrap();
        for round in 0..3 {
            let arguments = ["--memory", "64M", "--ack", ack];
            let mut server = Server::start(Command::new(env!("CARGO_BIN_EXE_fawn")), dir.path(), &arguments);
            let mut client = server.connect();
            for before in 0..round {
                let found = client.gets(&format!("key-{before}")).map(|(value, _)| value);
                assert_eq!(found.as_deref(), Some(&b"value"[..]), "round {before} with --ack {ack}");
            }
            client.send(format!("set key-{round} 0 0 5\r\nvalue\r\n").as_bytes()).unwrap();
            assert_eq!(client.line().as_deref(), Some("STORED"));
            Command::new("kill").arg("-TERM").arg(server.child.id().to_string()).status().unwrap();
            assert!(server.child.wait().unwrap().success(), "a clean stop exits with 0");
        }
    }
}
