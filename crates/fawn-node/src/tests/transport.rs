//! Unix sockets, TLS, authentication.

use super::harness::{Client, Node, PATIENCE, certificate, hit, set};
use crate::options::{TlsFiles, UnixOptions};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

#[test]
fn a_unix_socket_serves_too_and_goes_with_the_node() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let unix = Some(UnixOptions { path: path.clone(), mode: 0o700 });
    let node = Node::start(2, 1, |options| options.unix = unix);
    let stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut client = Client(stream);
    client.ask(
        format!("{}{}get a b\r\n", set("a", "1"), set("b", "2")),
        format!("STORED\r\nSTORED\r\n{}{}END\r\n", hit("a", "1"), hit("b", "2")),
    );
    client.say("set c 0 0 1 noreply\r\n3\r\n");
    drop(client);
    super::harness::eventually(
        || node.client().ask_until("get c\r\n", "END\r\n").contains("VALUE"),
        "the last word of a client that left",
    );
    assert_eq!(node.running().addresses()[1].address, path.display().to_string());
    node.stop().unwrap();
    assert!(!path.exists());
}

#[test]
fn authentication_comes_before_anything_else() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("users");
    std::fs::write(&file, "alice:secret\nbob:other\n").unwrap();
    let node = Node::start(1, 1, |options| options.auth_file = Some(file));
    let mut client = node.client();
    client.ask("get a\r\n", "CLIENT_ERROR unauthenticated\r\n");
    client.ask("set auth 0 0 12\r\nalice secreT\r\n", "CLIENT_ERROR authentication failure\r\n");
    client.ask("set auth 0 0 12\r\nalice secret\r\nget auth\r\n", "STORED\r\nEND\r\n");
    client.ask(set("a", "1"), "STORED\r\n");
    node.client().ask("get a\r\n", "CLIENT_ERROR unauthenticated\r\n");
}

struct Certified {
    files: TlsFiles,
    client: Arc<ClientConfig>,
}

fn certified(dir: &Path) -> Certified {
    let files = certificate(dir);
    let roots = fawn_tls::files::read_roots(&files.cert).unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Certified { files, client: Arc::new(client) }
}

fn secure_client(node: &Node, config: &Arc<ClientConfig>) -> Client<StreamOwned<ClientConnection, TcpStream>> {
    let session = ClientConnection::new(Arc::clone(config), ServerName::try_from("localhost").unwrap()).unwrap();
    let stream = TcpStream::connect(node.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    Client(StreamOwned::new(session, stream))
}

#[test]
fn tls_serves_the_same_protocol() {
    let dir = tempfile::tempdir().unwrap();
    let Certified { files, client: config } = certified(dir.path());
    let node = Node::start(2, 1, |options| {
        options.tls = Some(files);
        options.max_item_bytes = 4 << 20;
        options.unix = Some(UnixOptions { path: dir.path().join("socket"), mode: 0o700 });
    });
    let big = "z".repeat(3 << 20);
    for _ in 0..3 {
        let mut client = secure_client(&node, &config);
        client.ask(format!("{}{}", set("a", "1"), set("big", &big)), "STORED\r\nSTORED\r\n");
        client.ask("get a big a\r\n", format!("{0}{1}{0}END\r\n", hit("a", "1"), hit("big", &big)));
    }
    // The Unix socket stays in the clear.
    let mut plain = Client(UnixStream::connect(dir.path().join("socket")).unwrap());
    plain.ask("get a\r\n", format!("{}END\r\n", hit("a", "1")));
    let text = plain.ask_until("stats\r\n", "END\r\n");
    assert!(text.contains("STAT fawn_tls_handshakes 3\r\n"), "{text}");
}

#[test]
fn a_certificate_is_renewed_while_clients_are_connected() {
    let dir = tempfile::tempdir().unwrap();
    let old = certified(dir.path());
    let node = Node::start(1, 1, |options| options.tls = Some(old.files));
    let mut open = secure_client(&node, &old.client);
    open.ask(set("a", "1"), "STORED\r\n");
    let new = certified(dir.path());
    open.ask("refresh_certs\r\n", "OK\r\n");
    secure_client(&node, &new.client).ask("get a\r\n", format!("{}END\r\n", hit("a", "1")));
    std::fs::write(&new.files.cert, "rubbish").unwrap();
    open.ask("refresh_certs\r\n", "SERVER_ERROR cannot read the certificates, see the log\r\n");
    secure_client(&node, &new.client).ask("get a\r\n", format!("{}END\r\n", hit("a", "1")));
    open.ask("get a\r\n", format!("{}END\r\n", hit("a", "1")));
}

#[test]
fn a_storm_of_handshakes_is_worked_off_in_turns() {
    let dir = tempfile::tempdir().unwrap();
    let Certified { files, client: config } = certified(dir.path());
    let node = Node::start(1, 1, |options| {
        options.tls = Some(files);
        options.limits.handshakes_a_turn = 1;
    });
    std::thread::scope(|scope| {
        for n in 0..40 {
            let (node, config) = (&node, &config);
            scope.spawn(move || secure_client(node, config).ask(set(&format!("k{n}"), "v"), "STORED\r\n"));
        }
    });
}

#[test]
fn rubbish_on_a_tls_port_ends_that_connection_alone() {
    let dir = tempfile::tempdir().unwrap();
    let Certified { files, client: config } = certified(dir.path());
    let node = Node::start(1, 1, |options| options.tls = Some(files));
    let mut rubbish = node.client();
    rubbish.say("get a\r\nget a\r\n");
    assert!(!rubbish.rest().contains("END"));
    secure_client(&node, &config).ask("get a\r\n", "END\r\n");
}

#[test]
fn connections_that_never_begin_a_handshake_keep_nobody_out() {
    let dir = tempfile::tempdir().unwrap();
    let Certified { files, client: config } = certified(dir.path());
    let most = 12;
    let node = Node::start(1, 1, |options| {
        options.tls = Some(files);
        options.limits.connections = most;
        options.limits.stranger_timeout = std::time::Duration::from_mins(10);
    });
    let _silent: Vec<_> = (0..3 * most).map(|_| node.client()).collect();
    let mut known: Vec<_> = Vec::new();
    while known.len() < most / 2 {
        let mut client = secure_client(&node, &config);
        client.ask("mn\r\n", "MN\r\n");
        known.push(client);
    }
    // Those who have finished a handshake stay.
    for client in &mut known {
        client.ask("mn\r\n", "MN\r\n");
    }
}
