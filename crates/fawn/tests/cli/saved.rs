//! Files as people save them with editors and spreadsheets, correct them, and name them.

use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::cluster::{Cluster, Process};
use crate::server::{Kind, Server, fawn, fawn_command, fawn_with_input, on_each_server, say, wait_for};

on_each_server!(
    keys_of_every_length_with_control_characters_are_dumped_and_loaded,
    a_correction_before_the_place_of_an_interrupted_load_is_not_passed_over,
    files_are_loaded_as_editors_and_spreadsheets_save_them,
);

/// Bytes as UTF-16, the low byte first, with a byte order mark.
fn utf16(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Keys that the text protocol takes, with control characters, of all lengths from where base64 is too long for it.
fn control_keys() -> Vec<String> {
    (180..=250).map(|length| format!("\t{}\u{1}\u{7f}\r{length}", "k".repeat(length - 7))).collect()
}

fn keys_of_every_length_with_control_characters_are_dumped_and_loaded(kind: Kind) {
    let (Some(first), Some(second)) = (Server::start(kind), Server::start(kind)) else { return };
    let Some(mut bulk) = Server::fawn(&[]) else { return };
    let keys = control_keys();
    assert_eq!((keys[0].len(), keys[70].len()), (180, 250));
    let sets: Vec<String> = keys.iter().map(|key| format!("set {key} 7 0 1\r\nv")).collect();
    let stored = first.say(&sets.join("\r\n"), &"STORED\r\n".repeat(keys.len()));
    assert_eq!(stored.lines().count(), keys.len());
    let dump = first.dir().join("out.jsonl");
    let run = fawn(&["dump", "--from", &first.address, dump.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with("dumped 71 records"), "{}", run.stdout);

    let run = second.load(&dump, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let get = format!("get {}", keys.join(" "));
    assert_eq!(
        second.say(&get[..get.len().min(1800)], "END\r\n").lines().count(),
        2 * (get[..1800].split(' ').count() - 2) + 1
    );
    assert_eq!(second.dump_lines("jsonl"), first.dump_lines("jsonl"));

    let tsv = first.dir().join("out.tsv");
    let run = fawn(&["dump", "--from", &first.address, tsv.to_str().unwrap()]);
    assert!(run.code == 0 && run.stdout.contains("; 71 lost flags or expiry"), "{run:?}");
    let third = Server::start(kind).unwrap();
    fawn(&["set", "--to", &third.address, "  a blank  ", "v"]);
    let run = third.load(&tsv, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let all = third.dir().join("all.tsv");
    std::fs::write(&all, third.dump_lines("tsv").join("\n")).unwrap();
    let fourth = Server::start(kind).unwrap();
    assert_eq!(fourth.load(&all, &[]).code, 0);
    assert_eq!((fourth.dump_lines("tsv").len(), fourth.dump_lines("tsv")), (72, third.dump_lines("tsv")));

    let empty = Server::start(kind).unwrap();
    let run = fawn(&["load", "--to", &empty.address, "--from-memcached", &first.address]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(empty.dump_lines("jsonl"), first.dump_lines("jsonl"));

    bulk.stop();
    let run = fawn(&["load", "--bulk", "--dir", &bulk.data(), dump.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let at_rest = fawn(&["store", "dump", &bulk.data()]);
    assert_eq!((at_rest.code, at_rest.stdout.lines().count()), (0, 71));
    bulk.start_again();
    assert_eq!(bulk.dump_lines("jsonl"), first.dump_lines("jsonl"));
}

#[test]
fn keys_with_control_characters_pass_through_a_front_end_and_a_dump_of_the_cluster() {
    let (first, second) = (Cluster::start(1, 1), Cluster::start(1, 1));
    let (any, managers) = ("127.0.0.1:0", &first.manager.address);
    let front = ["frontend", "--name", "f1", "--threads", "1", "--listen", any, "--cluster-listen", any];
    let front = fawn_command(&[&front[..], &["--manager", managers]].concat());
    let front = Process::logged(front, &first.file("f1.log"), "serving memcached on ");
    let keys = control_keys();
    for key in &keys {
        assert_eq!(say(&front.address, &format!("set {key} 0 0 1\r\nv"), "\r\n"), "STORED\r\n");
    }
    let sorted = |path: &std::path::Path, what: &str| {
        let text = std::fs::read_to_string(path).unwrap();
        // The order, and the cas numbers, which only the dump of a cluster has, are left out.
        let line = |line: &str| match serde_json::from_str::<serde_json::Value>(line) {
            Ok(mut record) => {
                record.as_object_mut().unwrap().remove("cas");
                record.to_string()
            }
            Err(_) => line.to_owned(),
        };
        let mut lines: Vec<String> = text.lines().map(line).collect();
        lines.sort();
        assert_eq!(lines.len(), keys.len(), "{what}");
        lines
    };
    for format in ["jsonl", "tsv"] {
        let file = |name: &str| first.file(&format!("{name}.{format}"));
        for (name, from) in [("front", ["--from", &front.address]), ("whole", ["--manager", managers])] {
            let path = file(name);
            let run = fawn(&[&["dump"], &from[..], &[path.to_str().unwrap()]].concat());
            assert_eq!(run.code, 0, "{name}, {format}: {}", run.stderr);
        }
        let front_lines = sorted(&file("front"), format);
        assert_eq!(front_lines, sorted(&file("whole"), format), "{format}");
        for name in ["front", "whole"] {
            assert_eq!(say(second.clients(), "flush_all", "\r\n"), "OK\r\n");
            let load =
                ["load", "--no-resume", "--to", second.clients(), file(name).to_str().unwrap()].map(str::to_owned);
            let run = fawn(&load.each_ref().map(String::as_str));
            assert_eq!(run.code, 0, "{name}, {format}: {}", run.stderr);
            let again = second.file(&format!("again.{format}"));
            let run = fawn(&["dump", "--from", second.clients(), again.to_str().unwrap()]);
            assert_eq!(run.code, 0, "{}", run.stderr);
            assert_eq!(sorted(&again, format), front_lines, "{name}, {format}");
        }
    }
}

#[test]
fn a_dump_of_a_directory_says_what_the_clock_has_it_leave_out() {
    let mut server = Server::start(Kind::Fawn).unwrap();
    server.say("set short 0 1 1\r\nx", "\r\n");
    server.say("set long 0 9999 1\r\nx", "\r\n");
    server.say("set ever 0 0 1\r\nx", "\r\n");
    server.stop();
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let dump = fawn(&["store", "dump", &server.data()]);
    assert_eq!((dump.code, dump.stdout.lines().count()), (0, 2), "{}", dump.stderr);
    assert!(
        dump.stderr.contains("because they have expired by this machine's clock (20") && dump.stderr.contains(": 1;"),
        "{}",
        dump.stderr
    );
}

#[test]
fn keys_that_no_server_takes_are_loaded_into_a_directory_and_told_by_the_dump_of_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let (data, file) = (data.to_str().unwrap(), dir.path().join("in.jsonl"));
    let long = serde_json::json!({ "key_base64": "a".repeat(1000), "value": "v" });
    std::fs::write(&file, format!("{long}\n{{\"key\":\"short\",\"value\":\"v\"}}\n")).unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(fawn(&["load", "--bulk", "--dir", data, "--threads", "1", "--memory", "64M", file]).code, 0);
    let dumped = fawn(&["store", "dump", data]);
    assert_eq!((dumped.code, dumped.stdout.lines().count()), (0, 2), "{}", dumped.stderr);
    // What a directory has can go into another one.
    let (again, other) = (dir.path().join("again.jsonl"), dir.path().join("other"));
    std::fs::write(&again, &dumped.stdout).unwrap();
    let (again, other) = (again.to_str().unwrap(), other.to_str().unwrap());
    assert_eq!(fawn(&["load", "--bulk", "--dir", other, "--threads", "1", "--memory", "64M", again]).code, 0);

    let Some(mut server) = Server::fawn(&[]) else { return };
    server.stop();
    std::fs::remove_dir_all(server.data()).unwrap();
    std::fs::rename(data, server.data()).unwrap();
    server.start_again();
    let run = fawn(&["dump", "--from", &server.address, "-"]);
    assert_eq!((run.code, run.stdout.lines().count()), (1, 1), "{}", run.stderr);
    assert!(
        run.stderr.contains("1 has a key that memcached's protocol cannot carry and is left out"),
        "{}",
        run.stderr
    );
}

fn a_correction_before_the_place_of_an_interrupted_load_is_not_passed_over(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let filler: Vec<String> = (0..500).map(|n| format!("filler-{n}\t{}", "x".repeat(20))).collect();
    let filler = filler.join("\n");
    let text = |first: &str, bad: &str| format!("a\t{first}\n{filler}\n{bad}\nc\t3\n");
    let path = server.file("in.tsv", text("1", "no tab"));
    assert_eq!(server.load(&path, &[]).code, 1);
    // Both mistakes are corrected; neither changes the length of a line.
    std::fs::write(&path, text("9", "no\ttab")).unwrap();
    let run = server.load(&path, &[]);
    assert_eq!(run.code, 1);
    let says = "the file has changed before line 502, where the interrupted load would continue; load all of it \
        again with --restart";
    assert!(run.stderr.contains(says), "{}", run.stderr);
    let run = server.load(&path, &["--restart"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(server.say("get a", "END\r\n"), "VALUE a 0 1\r\n9\r\nEND\r\n");
    assert!(!server.dir().join("in.tsv.fawn-resume").exists());

    // One that is shorter than the place, and a state that is damaged.
    std::fs::write(&path, text("1", "no tab")).unwrap();
    assert_eq!(server.load(&path, &[]).code, 1);
    std::fs::write(&path, "a\t1\n").unwrap();
    assert!(server.load(&path, &[]).stderr.contains("--restart"));
    std::fs::write(&path, text("1", "no\ttab")).unwrap();
    let state = server.dir().join("in.tsv.fawn-resume");
    let said = std::fs::read_to_string(&state).unwrap();
    std::fs::write(&state, said.replace("\"line\":501", "\"line\":101")).unwrap();
    let run = server.load(&path, &[]);
    assert!(
        run.code == 1 && run.stderr.contains("it is damaged") && run.stderr.contains("--restart"),
        "{}",
        run.stderr
    );
}

fn files_are_loaded_as_editors_and_spreadsheets_save_them(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let saved = "\u{feff}a\t1\r\n\r\n\t\t\r\n   \r\nb\t2\r\n";
    let run = server.load(&server.file("in.tsv", saved), &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let saved = "\u{feff}{\"key\":\"c\",\"value\":\"3\"} \t\r\n \r\n\u{feff}{\"key\":\"d\",\"value\":\"4\"}\r\n";
    let run = server.load(&server.file("in.jsonl", saved), &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(server.dump_lines("tsv"), ["a\t1", "b\t2", "c\t3", "d\t4"]);
    for (name, bytes) in
        [("in.tsv", utf16("e\t5\r\n")), ("in.jsonl", utf16("{}\r\n")), ("in.tsv", utf16("e\t5\n")[2..].to_vec())]
    {
        let run = server.load(&server.file(name, &bytes), &["--on-error", "skip"]);
        assert_eq!(run.code, 1);
        assert!(
            run.stderr.contains("is UTF-16 text") && run.stderr.contains("iconv -f UTF-16 -t UTF-8"),
            "{}",
            run.stderr
        );
    }
    let run = server.load(&server.file("in.tsv", "e\t5\rf\t6\r"), &[]);
    assert!(run.code == 1 && run.stderr.contains("a carriage return (CR) within the line"), "{}", run.stderr);
    let run =
        fawn_with_input(&["load", "--to", &server.address, "-"], "\u{feff}{\"key\":\"e\",\"value\":\"5\"}".as_bytes());
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn configuration_and_passwords_are_read_in_whatever_encoding_an_editor_saves_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let text = "[serve] \r\nmax-connections = 100 \r\n";
    for bytes in [format!("\u{feff}{text}").into_bytes(), utf16(text)] {
        std::fs::write(path("fawn.toml"), bytes).unwrap();
        let run = fawn(&["config", "show", "serve", "--config", &path("fawn.toml")]);
        assert!(run.code == 0 && run.stdout.contains("max-connections = 100 "), "{run:?}");
    }
    std::fs::write(path("fawn.toml"), b"[serve]\nack = \"d\xfcrable\"\n").unwrap();
    let run = fawn(&["config", "check", &path("fawn.toml")]);
    assert!(run.stdout.contains("line 2 is not UTF-8 text; save the file as UTF-8"), "{}", run.stdout);

    std::fs::write(path("users"), "\u{feff}alice:secret\r\n").unwrap();
    let Some(server) = Server::fawn(&["--auth-file", &path("users")]) else { return };
    for bytes in ["\u{feff}secret\r\n".as_bytes().to_vec(), utf16("secret\r\n")] {
        std::fs::write(path("password"), bytes).unwrap();
        let run =
            fawn(&["set", "--to", &server.address, "--user", "alice", "--password-file", &path("password"), "k", "v"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    std::fs::write(path("password"), "secret \r\n").unwrap();
    let run = fawn(&["get", "--to", &server.address, "--user", "alice", "--password-file", &path("password"), "k"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("ends with a blank, which counts as part of the password"), "{}", run.stderr);
}

#[test]
fn a_line_that_is_longer_than_any_record_takes_no_memory() {
    let Some(server) = Server::fawn(&[]) else { return };
    let mut command = fawn_command(&["load", "--to", &server.address, "--format", "tsv", "--on-error", "skip", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let part = vec![b'x'; 1 << 20];
    pipe.write_all(b"long\t").unwrap();
    (0..400).for_each(|_| pipe.write_all(&part).unwrap());
    pipe.write_all(b"\nafter\tv\n").unwrap();
    wait_for("what comes after it", || server.say("get after", "END\r\n").starts_with("VALUE").then_some(()));
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 100 << 10, "{kib} KiB for lines of records that have 1 MiB at most");
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    let (said, told) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success() && said.contains("; 1 too large and skipped"), "{said}{told}");
    assert!(told.contains("standard input:1: skipped: the line is too long for a record: "), "{told}");
    assert!(told.contains("accepts no record of more than 1048576 bytes"), "{told}");
}

#[test]
fn a_line_without_end_stops_a_load_at_once() {
    let Some(server) = Server::fawn(&[]) else { return };
    // It would be read for ever.
    let run = fawn(&["load", "--to", &server.address, "--format", "tsv", "/dev/zero"]);
    assert!(run.code == 1 && run.stderr.contains("/dev/zero:1: the line is too long for a record"), "{}", run.stderr);
    let data = server.dir().join("other");
    let arguments =
        ["load", "--bulk", "--dir", data.to_str().unwrap(), "--threads", "1", "--memory", "16M", "/dev/zero"];
    let run = fawn(&arguments);
    assert!(run.code == 1 && run.stderr.contains("a value has at most 134217728 bytes"), "{}", run.stderr);
}

#[test]
fn the_format_that_was_taken_is_told_when_a_line_looks_like_the_other() {
    let Some(server) = Server::fawn(&[]) else { return };
    let run = server.load(&server.file("x.csv", "a\t1\n"), &[]);
    let says = "x.csv is read as jsonl, since its name does not end with .tsv: give --format tsv if each line is key TAB value";
    assert!(run.code == 1 && run.stderr.contains(says), "{}", run.stderr);
    let run = server.load(&server.file("x.csv", "a\t1\nb\t2\n"), &["--on-error", "skip"]);
    assert_eq!(run.stderr.matches("give --format tsv").count(), 1, "{}", run.stderr);
    let run = server.load(&server.file("x.tsv", "{\"key\":\"a\",\"value\":\"b\"}\n"), &[]);
    assert!(run.code == 1 && run.stderr.contains("give --format jsonl"), "{}", run.stderr);
    let run = server.load(&server.file("y.jsonl", "{\"key\":1}\n"), &[]);
    assert!(run.code == 1 && !run.stderr.contains("--format"), "{}", run.stderr);
    let dump = server.dir().join("z.csv");
    let run = fawn(&["dump", "--from", &server.address, dump.to_str().unwrap()]);
    assert!(run.code == 0 && run.stderr.contains("z.csv is written as jsonl"), "{}", run.stderr);
}

#[test]
fn a_dump_is_written_through_a_symbolic_link() {
    let Some(server) = Server::fawn(&[]) else { return };
    fawn(&["set", "--to", &server.address, "k", "v"]);
    let disk = server.dir().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let link = server.dir().join("out.tsv");
    symlink("disk/out.tsv", &link).unwrap();
    for value in ["v", "w"] {
        fawn(&["set", "--to", &server.address, "k", value]);
        let run = fawn(&["dump", "--from", &server.address, link.to_str().unwrap()]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(link.is_symlink(), "the link stays");
        assert_eq!(std::fs::read_to_string(disk.join("out.tsv")).unwrap(), format!("k\t{value}\n"));
    }
    assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 1, "nothing else is left behind");
}

#[test]
fn records_that_are_spread_over_lines_are_refused_with_what_converts_them() {
    let Some(server) = Server::fawn(&[]) else { return };
    let one = "{\"key\":\"a\",\"value\":\"1\"}";
    for (name, text, program) in [
        ("array.json", format!("[{one},\n{one}]\n"), "`jq -c '.[]' FILE | fawn load -`"),
        ("array.json", format!("[\n  {one}\n]\n"), "`jq -c '.[]' FILE | fawn load -`"),
        ("pretty.json", one.replace(['{', ','], "{\n  "), "`jq -c . FILE | fawn load -`"),
    ] {
        let run = server.load(&server.file(name, text), &[]);
        assert!(run.code == 1 && run.stderr.contains(program), "{}", run.stderr);
        assert!(!run.stderr.contains("tsv"), "{}", run.stderr);
    }
    let late = "{\"key\":\"a\",\"value\":\"1\",\"exptime\":4294967296}\n";
    let run = server.load(&server.file("late.jsonl", late), &[]);
    assert!(run.code == 1 && run.stderr.contains("late.jsonl:1: exptime 4294967296 is after"), "{}", run.stderr);
}

#[test]
fn nothing_of_a_file_in_utf_16_is_loaded_even_where_keys_may_have_any_bytes() {
    let Some(server) = Server::fawn(&[]) else { return };
    let run = server.load(&server.file("in.tsv", &utf16("a\t1\nb\t2\n")[2..]), &["--binary-keys"]);
    assert!(run.code == 1 && run.stderr.contains("is UTF-16 text"), "{}", run.stderr);
    assert_eq!(server.dump_lines("tsv"), [""; 0]);
}
