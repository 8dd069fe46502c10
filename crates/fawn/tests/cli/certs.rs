//! `fawn certs`: what is made, shown and renewed, and that a server and its clients go on with it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;

use fawn_tls::{Links, Material, links, server_name_for};
use rustls::{ClientConnection, StreamOwned};
use serde_json::Value;
use tempfile::TempDir;

use crate::server::{Run, Server, fawn, fawn_command, wait_for};

/// Runs `fawn certs` in `dir`, where certificates go into `certs`.
fn certs(dir: &Path, line: &str) -> Run {
    let mut command = fawn_command(&["certs"]);
    let output: Output = command.args(line.split_whitespace()).current_dir(dir).output().unwrap();
    output.into()
}

fn done(dir: &Path, line: &str) -> String {
    let run = certs(dir, line);
    assert_eq!(run.code, 0, "{line}: {}", run.stderr);
    run.stdout
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn links_of(dir: &TempDir, name: &str) -> Links {
    links(&Material::in_dir(&dir.path().join("certs"), name)).unwrap()
}

/// The text without days, which differ from run to run.
fn without_days(text: &str) -> String {
    let until = |line: &str| line.split(", until ").next().unwrap().to_owned();
    text.lines().map(until).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_name_alone_makes_nobody_an_operator_nor_gives_anybody_the_files_of_another_role() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |line: &str| {
        let run = certs(dir.path(), line);
        assert!(run.code == 1 && run.stderr.contains("is reserved for"), "{line}: {run:?}");
    };
    for who in ["--member operator=10.0.0.1", "--manager operator", "--member manager", "--member client"] {
        refused(&format!("init {who}"));
        assert!(!dir.path().join("certs").exists());
    }
    done(dir.path(), "init --member n1 --manager manager --member manager=10.0.0.1");
    for who in ["--member operator", "--client operator", "--client manager", "--operator client", "--member client"] {
        refused(&format!("add {who}"));
    }
    done(dir.path(), "add --client client");
}

#[test]
fn one_command_makes_a_clusters_certificates() {
    let dir = tempfile::tempdir().unwrap();
    let made = done(dir.path(), "init --member a=10.0.0.1,a.example --member b --manager a --manager m");
    assert_eq!(
        without_days(&made),
        "\
made ./certs/ca.pem and ca-key.pem: the authority
made ./certs/a.pem and a-key.pem: member a, manager, a.example, 10.0.0.1
made ./certs/b.pem and b-key.pem: member b
made ./certs/m.pem and m-key.pem: manager
made ./certs/operator.pem and operator-key.pem: operator

Copy to the machine of each, for `--certs DIR`:
  ./certs/ca.pem ./certs/a-key.pem ./certs/a.pem to a.example
  ./certs/ca.pem ./certs/b-key.pem ./certs/b.pem to the machine of b
  ./certs/ca.pem ./certs/m-key.pem ./certs/m.pem to the machine of m
  ./certs/ca.pem ./certs/operator-key.pem ./certs/operator.pem to the machine of operator

Keep ./certs/ca-key.pem away from the cluster: anyone who has it can impersonate every process there."
    );
    assert_eq!(links_of(&dir, "a").identity.to_string(), "member a, manager");
    assert_eq!(links_of(&dir, "operator").identity.to_string(), "operator");
    let mode = |name: &str| std::fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("certs"), mode("certs/ca-key.pem"), mode("certs/a-key.pem")), (0o700, 0o600, 0o600));
}

#[test]
fn nothing_is_written_over_and_more_is_added() {
    let dir = tempfile::tempdir().unwrap();
    done(dir.path(), "init --dir pki --member a");
    let run = certs(dir.path(), "init --certs pki --member b");
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("pki/ca.pem already exists") && run.stderr.contains("`fawn certs add`"),
        "{}",
        run.stderr
    );
    let added = json(&done(dir.path(), "add --certs pki --member b=b.example --operator eve --client web --json"));
    let roles: Vec<&str> =
        added["made"].as_array().unwrap().iter().map(|made| made["roles"][0].as_str().unwrap()).collect();
    assert_eq!(roles, ["member b", "operator", "client"]);
    let run = certs(dir.path(), "add --certs pki --member a");
    assert!(run.code == 1 && run.stderr.contains("already exists"), "{run:?}");
    let run = certs(dir.path(), "add --certs pki");
    assert!(run.code == 2 && run.stderr.contains("no name is given: give --member, --manager, "), "{run:?}");
    assert!(run.stderr.contains("Usage: fawn certs add "), "{run:?}");
}

#[test]
fn names_that_cannot_be_are_refused_before_anything_is_made() {
    let dir = tempfile::tempdir().unwrap();
    for (line, code, says) in [
        ("init --member A", 2, "use lower-case letters"),
        ("init --member ca", 1, "choose another"),
        ("init --member a=b:11211", 1, "without a port"),
        ("init --member a=b.member.fawn", 1, "roles, not hosts"),
        ("init --days 0", 2, "write a whole number from 1 to 36500"),
    ] {
        let run = certs(dir.path(), line);
        assert_eq!(run.code, code, "{line}: {run:?}");
        assert!(run.stderr.contains(says), "{line}: {}", run.stderr);
        assert!(!dir.path().join("certs").exists());
    }
}

#[test]
fn what_ends_soon_is_warned_of_and_renewed() {
    let dir = tempfile::tempdir().unwrap();
    done(dir.path(), "init --member a --days 20");
    done(dir.path(), "add --member b");
    let run = certs(dir.path(), "show");
    assert_eq!(run.code, 0);
    assert!(run.stdout.starts_with("ca: the authority, until 20"), "{}", run.stdout);
    assert!(
        run.stdout.contains("\na: member a, until ") && run.stdout.contains("\nb: member b, until "),
        "{}",
        run.stdout
    );
    assert_eq!(run.stderr.lines().count(), 2, "a and operator: {}", run.stderr);
    assert!(run.stderr.contains("a.pem expires in ") && run.stderr.contains("`fawn certs renew`"), "{}", run.stderr);

    let renewed = json(&done(dir.path(), "renew --json"));
    let names: Vec<&str> =
        renewed["renewed"].as_array().unwrap().iter().map(|made| made["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "operator"]);
    let run = certs(dir.path(), "show");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(done(dir.path(), "renew"), "nothing expires within 30 days\n");
    let renewed = done(dir.path(), "renew ca a");
    assert_eq!(
        without_days(&renewed),
        "\
renewed ./certs/ca.pem: the authority
renewed ./certs/a.pem: member a

Copy to the machine of each, for `--certs DIR`:
  ./certs/a.pem to the machine of a

Copy ./certs/ca.pem to everybody who has the old one."
    );
}

#[test]
fn show_says_what_cannot_be_used_and_exits_with_1() {
    let dir = tempfile::tempdir().unwrap();
    let run = certs(dir.path(), "show");
    assert!(run.code == 1 && run.stderr.contains("./certs"), "{run:?}");
    done(dir.path(), "init --member a");
    let key = dir.path().join("certs/a-key.pem");
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let run = certs(dir.path(), "show --json");
    assert_eq!(run.code, 1);
    let shown = json(&run.stdout);
    let a = shown["certificates"].as_array().unwrap().iter().find(|shown| shown["name"] == "a").unwrap();
    assert!(a["problem"].as_str().unwrap().ends_with("(mode 0644): chmod 600 ./certs/a-key.pem"), "{a}");
    assert_eq!(a["days_left"].as_i64().unwrap() / 10, 36);
    // Whatever is said, no key is.
    let text = std::fs::read_to_string(&key).unwrap();
    let secret = text.lines().nth(1).unwrap();
    assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret));
}

/// Data directory and files of a server with the certificate of member a.
fn member_server(dir: &TempDir) -> Server {
    let certs = dir.path().join("certs");
    let path = |name: &str| certs.join(name).to_str().unwrap().to_owned();
    Server::fawn(&["--tls-cert", &path("a.pem"), "--tls-key", &path("a-key.pem")]).expect("fawn is built")
}

fn set(server: &Server, ca: &Path) -> Run {
    fawn(&["set", "--timeout", "10s", "--to", &server.address, "--tls-ca", ca.to_str().unwrap(), "k", "v"])
}

#[test]
fn memcached_clients_verify_a_member_with_the_clusters_authority() {
    let dir = tempfile::tempdir().unwrap();
    done(dir.path(), "init --member a=127.0.0.1 --member b=b.example");
    let server = member_server(&dir);
    let run = set(&server, &dir.path().join("certs/ca.pem"));
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let other = tempfile::tempdir().unwrap();
    done(other.path(), "init");
    let run = set(&server, &other.path().join("certs/ca.pem"));
    assert!(run.code == 1 && run.stderr.contains("cannot be trusted"), "{run:?}");
}

#[test]
fn a_server_shows_the_renewed_certificate_within_seconds_and_keeps_its_connections() {
    let dir = tempfile::tempdir().unwrap();
    done(dir.path(), "init --member a=127.0.0.1");
    let server = member_server(&dir);
    let client = links_of(&dir, "operator").client;
    let connect = || {
        let name = server_name_for(&fawn_tls::Role::Member("a".into())).unwrap();
        let stream = TcpStream::connect(&server.address).unwrap();
        let mut stream = StreamOwned::new(ClientConnection::new(Arc::clone(&client), name).unwrap(), stream);
        stream.write_all(b"version\r\n").unwrap();
        let mut answer = [0; 8];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"VERSION ");
        stream
    };
    let mut open = connect();
    let shown =
        |stream: &StreamOwned<ClientConnection, TcpStream>| stream.conn.peer_certificates().unwrap()[0].to_vec();
    let before = shown(&open);
    done(dir.path(), "renew --all --new-keys");
    wait_for("the new certificate", || (shown(&connect()) != before).then_some(()));
    open.write_all(b"mn\r\n").unwrap();
    let mut rest = Vec::new();
    while !rest.ends_with(b"MN\r\n") {
        let mut buffer = [0; 64];
        let count = open.read(&mut buffer).unwrap();
        assert!(count > 0, "the connection is kept");
        rest.extend_from_slice(&buffer[..count]);
    }
    // A file that is no good is told, and changes nothing.
    std::fs::write(dir.path().join("certs/a.pem"), "rubbish").unwrap();
    wait_for("the complaint", || {
        connect();
        server.log().contains("the previous certificates stay in use").then_some(())
    });
    assert_eq!(server.log().matches("the previous certificates stay in use").count(), 1, "{}", server.log());
}

#[test]
fn a_key_that_others_can_read_stops_a_server_before_it_begins() {
    let dir = tempfile::tempdir().unwrap();
    done(dir.path(), "init --member a");
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    std::fs::set_permissions(path("certs/a-key.pem"), PermissionsExt::from_mode(0o640)).unwrap();
    let (cert, key, data) = (path("certs/a.pem"), path("certs/a-key.pem"), path("data"));
    let run = fawn(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--dir",
        data.to_str().unwrap(),
        "--tls-cert",
        cert.to_str().unwrap(),
        "--tls-key",
        key.to_str().unwrap(),
    ]);
    let name = key.display();
    let expected =
        format!("fawn: cannot use {name} for TLS: its group or others have access (mode 0640): chmod 600 {name}\n");
    assert_eq!((run.code, run.stderr), (1, expected));
    assert!(!data.exists());
}
