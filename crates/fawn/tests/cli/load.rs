//! `fawn load`.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use crate::fake::{Fake, Manner};
use crate::server::{
    Kind, Server, assert_same_lines, fawn, fawn_command, fawn_with_input, interrupted, numbered, on_each_server,
    wait_for,
};

on_each_server!(
    tsv_is_loaded_with_its_escapes,
    jsonl_is_loaded_with_flags_expiry_and_binary_keys,
    a_record_that_has_expired_replaces_the_old_value_by_nothing,
    of_two_lines_with_one_key_the_last_wins,
    a_bad_line_stops_the_load_and_it_goes_on_once_corrected,
    bad_lines_are_skipped_by_choice_and_reported_with_their_numbers,
    a_value_that_is_too_large_is_refused_with_its_line,
    what_comes_through_a_pipe_is_stored_before_the_pipe_is_closed,
    a_hundred_thousand_records_are_all_there,
);

fn tsv_is_loaded_with_its_escapes(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let path = server.file("in.tsv", "a\t1\r\n\nb\tx\\ty\\n\\\\\\x41\nempty\t\n");
    let run = server.load(&path, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with("loaded 3 records (14 B) in "), "{}", run.stdout);
    assert_eq!(
        server.say("get a b empty", "END\r\n"),
        "VALUE a 0 1\r\n1\r\nVALUE b 0 6\r\nx\ty\n\\A\r\nVALUE empty 0 0\r\n\r\nEND\r\n"
    );
}

fn jsonl_is_loaded_with_flags_expiry_and_binary_keys(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let lines = [
        r#"{"key":"a","value":"é","flags":4294967295}"#,
        r#"{"key_base64":"YiBj","value_base64":"/wA="}"#,
        r#"{"key":"d","value":"","exptime":1900000000}"#,
    ];
    let run = server.load(&server.file("in.jsonl", lines.join("\n")), &["--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with(r#"{"records":3,"bytes":9,"#), "{}", run.stdout);
    let mut expected = lines;
    expected.sort_unstable();
    let mut dumped = server.dump_lines("jsonl");
    // memcached counts expiry in seconds from its start: it may be one off.
    for line in &mut dumped {
        *line = line.replace("1900000001", "1900000000").replace("1899999999", "1900000000");
    }
    assert_eq!(dumped, expected);
}

#[test]
fn a_dump_with_expiries_up_to_the_year_2106_is_loaded_as_it_was_dumped() {
    let Some(server) = Server::start(Kind::Fawn) else { return };
    let say = |command: &str| server.say(command, "\r\n");
    assert_eq!(say("set a 0 4102444800 1\r\nx"), "STORED\r\n");
    assert_eq!(say("set b 0 4294967295 1\r\nx"), "STORED\r\n");
    let dumped = server.dump_lines("jsonl");
    let expected = |key, exptime| format!(r#"{{"key":"{key}","value":"x","exptime":{exptime}}}"#);
    assert_eq!(dumped, [expected("a", "4102444800"), expected("b", "4294967295")]);
    assert_eq!(say("flush_all"), "OK\r\n");
    let run = server.load(&server.file("in.jsonl", dumped.join("\n")), &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(server.dump_lines("jsonl"), dumped);
}

fn a_record_that_has_expired_replaces_the_old_value_by_nothing(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let path = server
        .file("in.jsonl", "{\"key\":\"a\",\"value\":\"old\"}\n{\"key\":\"a\",\"value\":\"new\",\"exptime\":1000}\n");
    let run = server.load(&path, &[]);
    assert!(run.stdout.contains("; 1 of those loaded had expired by the server's clock"), "{}", run.stdout);
    assert_eq!(server.say("get a", "END\r\n"), "END\r\n");
}

fn of_two_lines_with_one_key_the_last_wins(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let line = |round: usize, key: usize| format!("key{key}\t{round}");
    let lines: Vec<String> = (0..50).flat_map(|round| (0..200).map(move |key| line(round, key))).collect();
    assert_eq!(server.load(&server.file("in.tsv", lines.join("\n")), &[]).code, 0);
    let lines = server.dump_lines("tsv");
    assert_eq!(lines.len(), 200);
    assert!(lines.iter().all(|line| line.ends_with("\t49")), "{lines:?}");
}

fn a_bad_line_stops_the_load_and_it_goes_on_once_corrected(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let path = server.file("in.tsv", "a\t1\nb\t2\nno tab\nc\t3\n");
    let run = server.load(&path, &[]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.contains("in.tsv:3: there is no TAB"), "{}", run.stderr);
    assert_eq!(server.dump_lines("tsv"), ["a\t1", "b\t2"]);

    std::fs::write(&path, "a\t1\nb\t2\nnow\ttab\nc\t3\n").unwrap();
    let run = server.load(&path, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("at line 3; 2 records were loaded before"), "{}", run.stderr);
    assert!(run.stdout.starts_with("loaded 2 records"), "{}", run.stdout);
    assert_eq!(server.dump_lines("tsv"), ["a\t1", "b\t2", "c\t3", "now\ttab"]);
    assert!(!server.dir().join("in.tsv.fawn-resume").exists());
}

fn bad_lines_are_skipped_by_choice_and_reported_with_their_numbers(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let text = format!("a\t1\nbad key\t2\n{}\t3\nb\t\\q\nc\t4\n", "k".repeat(251));
    let run = server.load(&server.file("in.tsv", text), &["--on-error", "skip"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for line in [2, 3, 4] {
        assert!(run.stderr.contains(&format!("in.tsv:{line}: skipped: ")), "{}", run.stderr);
    }
    assert!(run.stdout.starts_with("loaded 2 records"), "{}", run.stdout);
    assert!(run.stdout.contains("; 3 bad lines skipped"), "{}", run.stdout);
    let again = server.load(&server.file("in.tsv", "bad key\t2\n"), &["--binary-keys"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
}

fn a_value_that_is_too_large_is_refused_with_its_line(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let text = format!("a\t1\nbig\t{}\nb\t2\n", "x".repeat(3 << 20));
    let path = server.file("in.tsv", text);
    let run = server.load(&path, &[]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("in.tsv:2: "), "{}", run.stderr);
    assert!(run.stderr.contains("accepts no record of 3145731 bytes"), "{}", run.stderr);
    let run = server.load(&path, &["--on-error", "skip"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("; 1 too large and skipped"), "{}", run.stdout);
    assert_eq!(server.dump_lines("tsv"), ["a\t1", "b\t2"]);
}

fn what_comes_through_a_pipe_is_stored_before_the_pipe_is_closed(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let mut command = fawn_command(&["load", "--to", &server.address, "--format", "tsv", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    for key in ["first", "second"] {
        pipe.write_all(format!("{key}\tv\n").as_bytes()).unwrap();
        wait_for(key, || server.say(&format!("get {key}"), "END\r\n").starts_with("VALUE").then_some(()));
    }
    drop(pipe);
    assert!(child.wait().unwrap().success());
}

fn a_hundred_thousand_records_are_all_there(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let mut expected: Vec<String> = (0..100_000).map(|n| format!("key-{n}\t{}", "v".repeat(n % 300))).collect();
    let run = fawn_with_input(
        &["load", "--to", &server.address, "--format", "tsv", "-"],
        (expected.join("\n") + "\n").as_bytes(),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    expected.sort();
    assert_same_lines(&server.dump_lines("tsv"), &expected);
}

#[test]
fn a_load_that_is_killed_goes_on_with_what_was_not_acknowledged() {
    const COUNT: usize = 30_000;
    let fake = Fake::start(Manner::Slow(Duration::from_micros(100)));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.tsv");
    std::fs::write(&path, numbered(COUNT)).unwrap();
    let state = dir.path().join("in.tsv.fawn-resume");
    let arguments = ["load", "--to", &fake.address, path.to_str().unwrap()];

    let mut child = fawn_command(&arguments).spawn().unwrap();
    let recorded = wait_for("progress", || {
        let text = std::fs::read_to_string(&state).ok()?;
        let records = text.split("\"records\":").nth(1)?.split(',').next()?;
        records.parse::<usize>().ok().filter(|&records| records > 1000)
    });
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "it was killed before it could finish");
    let before = fake.acknowledged();
    let missing = (0..recorded).find(|n| !before.contains(&format!("key-{n:06}")));
    assert_eq!(missing, None, "what is recorded was acknowledged");

    fake.forget();
    let run = fawn(&arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("continuing with"), "{}", run.stderr);
    let after = fake.acknowledged();
    assert!(!after.contains("key-000000"), "what was acknowledged is not sent again");
    let lost = (0..COUNT).map(|n| format!("key-{n:06}")).find(|key| !before.contains(key) && !after.contains(key));
    assert_eq!(lost, None);
    assert!(!state.exists(), "the load is complete");
}

#[test]
fn a_load_that_is_interrupted_says_how_to_go_on() {
    let fake = Fake::start(Manner::Slow(Duration::from_millis(1)));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.tsv");
    std::fs::write(&path, numbered(30_000)).unwrap();
    let spawn = |input: &str| {
        let mut command = fawn_command(&["load", "--to", &fake.address, "--format", "tsv", input]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let child = spawn(path.to_str().unwrap());
    wait_for("progress", || dir.path().join("in.tsv.fawn-resume").exists().then_some(()));
    assert_eq!(
        interrupted(child),
        "fawn: interrupted; run the same command again to continue after the last acknowledged record\n"
    );
    fake.forget();
    // Whoever was told to ignore hangups goes on.
    let mut command = std::process::Command::new("nohup");
    command.arg(env!("CARGO_BIN_EXE_fawn")).args(["load", "--to", &fake.address, "--format", "tsv", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"before\tv\n").unwrap();
    wait_for("the record", || fake.acknowledged().contains("before").then_some(()));
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::HUP).unwrap();
    pipe.write_all(b"after\tv\n").unwrap();
    drop(pipe);
    assert!(child.wait().unwrap().success() && fake.acknowledged().contains("after"));
    fake.forget();
    let mut child = spawn("-");
    child.stdin.as_mut().unwrap().write_all(b"first\tv\n").unwrap();
    wait_for("the record", || fake.acknowledged().contains("first").then_some(()));
    assert_eq!(
        interrupted(child),
        "fawn: interrupted; acknowledged records stay; run the same command again to start from the beginning\n"
    );
}

#[test]
fn a_load_goes_on_after_its_server_died() {
    let Some(mut server) = Server::start(Kind::Memcached) else { return };
    let path = server.file("in.tsv", numbered(5));
    let address = server.address.clone();
    server.kill();
    let run = fawn(&["load", "--to", &address, path.to_str().unwrap()]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("cannot connect"), "{}", run.stderr);
    assert!(run.stderr.contains("run the same command again"), "{}", run.stderr);
}

#[test]
fn a_full_server_stops_the_load_whatever_is_skipped() {
    let fake = Fake::start(Manner::Says("SERVER_ERROR out of memory storing object"));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.tsv");
    std::fs::write(&path, numbered(100)).unwrap();
    let run = fawn(&["load", "--to", &fake.address, "--on-error", "skip", path.to_str().unwrap()]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("out of memory storing object`; free or add space"), "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
}

#[test]
fn a_silent_server_is_given_up_after_the_timeout() {
    let fake = Fake::start(Manner::Silent);
    let input = numbered(200_000);
    let arguments = ["load", "--to", &fake.address, "--timeout", "1s", "--format", "tsv", "-"];
    let run = fawn_with_input(&arguments, input.as_bytes());
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("sent no reply for 1 s"), "{}", run.stderr);
}

#[test]
fn something_else_than_memcached_is_recognised() {
    let fake = Fake::start(Manner::Says("+OK"));
    let run = fawn_with_input(&["load", "--to", &fake.address, "--format", "tsv", "-"], b"a\t1\n");
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("not memcached's meta protocol"), "{}", run.stderr);
}

#[test]
fn a_state_of_another_server_is_not_used() {
    let (one, other) = (Fake::start(Manner::Slow(Duration::ZERO)), Fake::start(Manner::Slow(Duration::ZERO)));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.tsv");
    std::fs::write(&path, numbered(10) + "no tab\n").unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(fawn(&["load", "--to", &one.address, path]).code, 1);
    let run = fawn(&["load", "--to", &other.address, path]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("--restart"), "{}", run.stderr);
    std::fs::write(path, numbered(10)).unwrap();
    assert_eq!(fawn(&["load", "--to", &other.address, "--restart", path]).code, 0);
    assert_eq!(other.acknowledged().len(), 10);
}

#[test]
fn a_load_that_loaded_nothing_leaves_no_state() {
    let fake = Fake::start(Manner::Says("SERVER_ERROR out of memory storing object"));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.tsv");
    std::fs::write(&path, numbered(10)).unwrap();
    assert_eq!(fawn(&["load", "--to", &fake.address, path.to_str().unwrap()]).code, 1);
    assert!(!dir.path().join("in.tsv.fawn-resume").exists());
}

#[test]
fn a_load_over_tls_trusts_the_given_certificate_only() {
    let certified = rcgen::generate_simple_self_signed(["deer.example".to_owned()]).unwrap();
    let fake = Fake::start_tls(Manner::Slow(Duration::ZERO), &certified);
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        std::fs::write(dir.path().join(name), text).unwrap();
        dir.path().join(name).to_str().unwrap().to_owned()
    };
    let path = file("in.tsv", numbered(5000) + &format!("large\t{}\n", "x".repeat(10 << 20)));
    let ca = file("ca.pem", certified.cert.pem());
    let other = rcgen::generate_simple_self_signed(["deer.example".to_owned()]).unwrap();
    let other = file("other.pem", other.cert.pem());
    let load = |ca: &str, name: &str| fawn(&["load", "--to", &fake.address, "--tls-ca", ca, "--tls-name", name, &path]);

    let strange = load(&other, "deer.example");
    assert!(strange.stderr.contains("certificate"), "{}", strange.stderr);
    let misnamed = load(&ca, "elk.example");
    assert!(misnamed.stderr.contains("certificate"), "{}", misnamed.stderr);
    assert_eq!((strange.code, misnamed.code, fake.acknowledged().len()), (1, 1, 0));

    let run = load(&ca, "deer.example");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(fake.acknowledged().len(), 5001);
    assert_eq!(load(&path, "deer.example").code, 1, "a file without certificates is refused");
}

#[test]
fn a_missing_file_is_named() {
    let run = fawn(&["load", "--to", "127.0.0.1:1", "nowhere.tsv"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with("fawn: cannot read nowhere.tsv: No such file"), "{}", run.stderr);
}

#[test]
fn what_is_no_state_of_a_load_is_not_read_for_ever() {
    let Some(server) = Server::start(Kind::Fawn) else { return };
    let run = server.load(&server.file("in.tsv", "a\t1\n"), &["--resume", "/dev/zero"]);
    assert!(run.code == 1 && run.stderr.contains("/dev/zero") && run.stderr.contains("it is damaged"), "{run:?}");
    assert!(run.stderr.contains("--restart"), "{run:?}");
}
