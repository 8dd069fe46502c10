//! TLS, authentication and Unix sockets of `fawn serve`: what works, and what a client is told when it does not.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::server::{Run, Server, fawn, fawn_command};

/// Makes a certificate with `openssl`; `None`, with a message, where that is not installed.
fn openssl(dir: &Path, command: &str) -> Option<()> {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: openssl is not installed (apt-get install openssl)");
        return None;
    }
    let output = Command::new("sh").args(["-c", command]).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    Some(())
}

/// A server with the certificate in `cert.pem` and `key.pem` of `dir`, and more arguments.
fn tls_server(dir: &Path, more: &[&str]) -> Server {
    let (cert, key) = (dir.join("cert.pem"), dir.join("key.pem"));
    let mut arguments = vec!["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    arguments.extend(more);
    Server::fawn(&arguments).expect("fawn is built")
}

/// A certificate of `dir` made without openssl.
fn certificate(dir: &Path) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    std::fs::write(dir.join("cert.pem"), made.cert.pem()).unwrap();
    let key = dir.join("key.pem");
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    std::fs::set_permissions(key, PermissionsExt::from_mode(0o600)).unwrap();
}

fn set(to: &str, more: &[&str]) -> Run {
    fawn(&[&["set", "--timeout", "10s", "--to", to], more, &["k", "v"]].concat())
}

#[test]
fn the_certificate_that_the_book_makes_is_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let page = include_str!("../../../../book/src/operations/serving.md");
    let start = page.find("openssl req ").expect("the page makes a certificate");
    let command = page[start..].split("```").next().unwrap();
    let Some(()) = openssl(dir.path(), command) else { return };
    let server = tls_server(dir.path(), &[]);
    let cert = dir.path().join("cert.pem");
    let run = set(&server.address, &["--tls-ca", cert.to_str().unwrap()]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let port = server.address.rsplit(':').next().unwrap();
    let run = set(&format!("localhost:{port}"), &["--tls-ca", cert.to_str().unwrap()]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn an_authoritys_certificate_is_refused_with_the_way_to_another() {
    let dir = tempfile::tempdir().unwrap();
    let plain = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
                 -keyout key.pem -out cert.pem";
    let Some(()) = openssl(dir.path(), plain) else { return };
    let server = tls_server(dir.path(), &[]);
    let run = set(&server.address, &["--tls-ca", dir.path().join("cert.pem").to_str().unwrap()]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("CA:FALSE") && run.stderr.contains("operations/serving in the book"), "{}", run.stderr);
    assert!(!run.stderr.contains("EndEntity"), "{}", run.stderr);
}

#[test]
fn a_client_without_tls_and_one_with_too_much_are_told_so() {
    let dir = tempfile::tempdir().unwrap();
    certificate(dir.path());
    let cert = dir.path().join("cert.pem");
    let secure = tls_server(dir.path(), &[]);
    let run = set(&secure.address, &[]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("speaks TLS; give the trusted certificates with --tls-ca"), "{}", run.stderr);
    let again = set(&secure.address, &[]);
    assert_eq!(again.code, 1);
    let log = secure.log_with("it does not speak TLS");
    assert_eq!(log.matches("it does not speak TLS").count(), 1, "{log}");
    let plain = Server::fawn(&[]).expect("fawn is built");
    let run = set(&plain.address, &["--tls-ca", cert.to_str().unwrap()]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("does not speak TLS"), "{}", run.stderr);
    let other = tempfile::tempdir().unwrap();
    certificate(other.path());
    let run = set(&secure.address, &["--tls-ca", other.path().join("cert.pem").to_str().unwrap()]);
    assert!(run.code == 1 && run.stderr.contains("cannot be trusted"), "{run:?}");
}

#[test]
fn who_gives_no_user_is_asked_for_one() {
    let dir = tempfile::tempdir().unwrap();
    let users = dir.path().join("users");
    std::fs::write(&users, "deer:secret-word\n").unwrap();
    std::fs::set_permissions(&users, std::fs::Permissions::from_mode(0o644)).unwrap();
    let server = Server::fawn(&["--auth-file", users.to_str().unwrap()]).expect("fawn is built");
    let run = set(&server.address, &[]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("give --user and --password-file"), "{}", run.stderr);
    let wrong = server.file("wrong", "hunter2\n");
    let run = set(&server.address, &["--user", "deer", "--password-file", wrong.to_str().unwrap()]);
    assert!(run.stderr.contains("check --user and --password-file"), "{}", run.stderr);
    let log = server.log_with("sent a user or password that is not");
    assert_eq!(log.matches("sent a user or password that is not").count(), 1, "{log}");
    assert!(!log.contains("hunter2"), "{log}");
    let password = server.file("password", "secret-word\n");
    let with_mode = |mode| {
        std::fs::set_permissions(&password, std::fs::Permissions::from_mode(mode)).unwrap();
        set(&server.address, &["--user", "deer", "--password-file", password.to_str().unwrap()])
    };
    let run = with_mode(0o640);
    assert!(run.code == 0 && run.stderr.contains("is not secret") && run.stderr.contains("chmod 600"), "{run:?}");
    let log = server.log_with("chmod 600");
    assert_eq!(log.matches("chmod 600").count(), 1, "of the users' file: {log}");
    let run = with_mode(0o600);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn the_name_of_a_socket_in_the_current_directory_is_an_address() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("u.sock");
    let _server = Server::fawn(&["--unix", path.to_str().unwrap()]).expect("fawn is built");
    let run = |arguments: &[&str]| Run::from(fawn_command(arguments).current_dir(dir.path()).output().unwrap());
    assert_eq!(run(&["set", "--to", "u.sock", "k", "v"]).code, 0);
    assert_eq!(run(&["get", "--to", "u.sock", "k"]).stdout, "v\n");
}
