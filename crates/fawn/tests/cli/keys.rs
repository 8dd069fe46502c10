//! `fawn get`, `set` and `delete`.

use crate::server::{Kind, Server, fawn, fawn_with_input, on_each_server};

on_each_server!(
    a_value_is_set_printed_and_deleted,
    what_is_not_found_is_named_and_exits_with_1,
    flags_and_expiry_are_stored_and_shown,
    a_key_with_blanks_works_at_the_shell,
    a_value_is_read_from_standard_input_byte_for_byte,
);

fn a_value_is_set_printed_and_deleted(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let to = server.address.as_str();
    let run = fawn(&["set", "--to", to, "greeting", "hello"]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    assert_eq!(fawn(&["get", "--to", to, "greeting"]).stdout, "hello\n");
    assert_eq!(fawn(&["get", "--to", to, "--raw", "greeting"]).stdout, "hello");
    assert_eq!(fawn(&["delete", "--to", to, "greeting"]).code, 0);
    assert_eq!(fawn(&["get", "--to", to, "greeting"]).code, 1);
}

fn what_is_not_found_is_named_and_exits_with_1(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let to = server.address.as_str();
    fawn(&["set", "--to", to, "here", "1"]);
    let run = fawn(&["get", "--to", to, "gone", "here"]);
    let expected = (1, "1\n", "fawn: `gone` was not found\n");
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), expected);
    assert_eq!(fawn(&["delete", "--to", to, "here", "gone"]).code, 1);
}

fn flags_and_expiry_are_stored_and_shown(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let to = server.address.as_str();
    fawn(&["set", "--to", to, "--flags", "42", "--expire", "1h", "k", "v"]);
    assert!(server.say("get k", "END\r\n").starts_with("VALUE k 42 1\r\n"));
    let shown = fawn(&["get", "--to", to, "--json", "k"]).stdout;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let exptime: u64 = shown.split("\"exptime\":").nth(1).unwrap().trim_end_matches("}\n").parse().unwrap();
    assert!(exptime.abs_diff(now + 3600) <= 3, "{shown}");
    assert!(shown.starts_with(r#"{"key":"k","value":"v","flags":42,"#), "{shown}");
}

fn a_key_with_blanks_works_at_the_shell(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let to = server.address.as_str();
    assert_eq!(fawn(&["set", "--to", to, "two words", "v"]).code, 0);
    assert_eq!(fawn(&["get", "--to", to, "two words"]).stdout, "v\n");
    assert_eq!(fawn(&["delete", "--to", to, "two words"]).code, 0);
}

fn a_value_is_read_from_standard_input_byte_for_byte(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let value = b"line\r\n\x00end\r\n";
    assert_eq!(fawn_with_input(&["set", "--to", &server.address, "k", "-"], value).code, 0);
    assert_eq!(fawn(&["get", "--to", &server.address, "--raw", "k"]).stdout.as_bytes(), value);
}

#[test]
fn a_server_is_named_by_the_environment_too() {
    let Some(server) = Server::start(Kind::Memcached) else { return };
    fawn(&["set", "--to", &server.address, "k", "v"]);
    let output = crate::server::fawn_command(&["get", "k"]).env("FAWN_SERVER", &server.address).output().unwrap();
    assert_eq!(output.stdout, b"v\n");
}

#[test]
fn a_server_that_is_not_there_is_an_error_that_says_what_to_do() {
    let run = fawn(&["get", "--to", "127.0.0.1:1", "k"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with("fawn: cannot connect to 127.0.0.1:1 (Connection refused"), "{}", run.stderr);
    assert!(run.stderr.contains("check the address"), "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1);
    assert_eq!(run.stderr.matches("refused").count(), 1, "{}", run.stderr);
}

#[test]
fn a_wrong_command_line_exits_with_2() {
    for arguments in [&["get"][..], &["frobnicate"], &["get", "--to", "nowhere:x", "k"], &["set", "k"]] {
        assert_eq!(fawn(arguments).code, 2, "{arguments:?}");
    }
}

#[test]
fn an_impossible_key_is_refused_before_it_is_sent() {
    let Some(server) = Server::start(Kind::Memcached) else { return };
    let run = fawn(&["get", "--to", &server.address, &"k".repeat(251)]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("the limit is 250"), "{}", run.stderr);
}

#[test]
fn a_user_with_a_password_file_is_let_in_and_others_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let users = dir.path().join("users");
    std::fs::write(&users, "deer:secret-word\n").unwrap();
    let Some(server) = Server::memcached(&["-Y", users.to_str().unwrap()]) else { return };
    let password = server.file("password", "secret-word\n");
    let wrong = server.file("wrong", "guess\n");
    let get = |more: &[&str]| fawn(&[&["set", "--to", &server.address, "k", "v"], more].concat());
    assert_eq!(get(&["--user", "deer", "--password-file", password.to_str().unwrap()]).code, 0);
    let refused = get(&["--user", "deer", "--password-file", wrong.to_str().unwrap()]);
    assert!(refused.stderr.contains("check --user and --password-file"), "{}", refused.stderr);
    let refused = get(&[]);
    assert!(refused.stderr.contains("give --user and --password-file"), "{}", refused.stderr);
}

#[test]
fn a_unix_socket_is_an_address() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("socket");
    let socket = socket.to_str().unwrap();
    // With a socket memcached opens no port and tells none.
    let child = std::process::Command::new("memcached").args(["-s", socket, "-u", "root"]).spawn();
    let Ok(mut child) = child else { return eprintln!("skipped: memcached is not installed") };
    crate::server::wait_for("the socket", || std::path::Path::new(socket).exists().then_some(()));
    let set =
        crate::server::wait_for("memcached", || Some(fawn(&["set", "--to", socket, "k", "v"])).filter(|r| r.code == 0));
    let got = fawn(&["get", "--to", &format!("unix:{socket}"), "k"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((set.code, got.stdout.as_str()), (0, "v\n"));
}
