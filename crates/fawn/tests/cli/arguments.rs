//! Arguments of `fawn serve` that cannot be meant.

use std::io::{BufRead, BufReader, Read as _};
use std::process::Stdio;

use crate::server::{Run, fawn, fawn_command};

/// Runs `fawn serve` on a new directory with arguments that it must refuse; nothing may be made.
fn refused(arguments: &[&str]) -> Run {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut all = vec!["serve", "--dir", data.to_str().unwrap()];
    all.extend(arguments);
    let run = fawn(&all);
    assert!(!data.exists(), "{arguments:?} is refused before anything is made");
    run
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_can() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let most = format!("choose 1 to {}", 4 * cores);
    for (arguments, says) in [
        (&["--memory", "0"][..], "give --memory "),
        (&["--memory", "1K", "--threads", "1"], "--memory 1K is too small for 1 thread: give --memory 8M\n"),
        (
            &["--memory", "12M", "--threads", "2"],
            "--memory 12M is too small for 2 threads: give --memory 16M, or --threads 1\n",
        ),
        (
            &["--memory", "64M", "--threads", "1", "--nodes", "16"],
            "--memory 64M is too small for --nodes 16 of 1 thread: give --memory 128M, or fewer --nodes\n",
        ),
        (&["--memory", "0"], "Usage: fawn serve "),
        (&["--nodes", "2", "--replicas", "3"], "--replicas 3 needs at least as many --nodes"),
        (&["--nodes", "2", "--ack", "memory"], "leave --ack out"),
        (&["--max-connections", "0"], "write a whole number from 1 to"),
        (&["--threads", "1000000"], most.as_str()),
        (&["--threads", "0"], most.as_str()),
        (&["--listen", "21213"], "write ADDR:PORT, e.g. 127.0.0.1:21213"),
        (&["--listen", "localhost"], "write ADDR:PORT"),
        (&["--listen", "::1:11211"], "[::1]:11211"),
        (&["--listen", ":11211"], "write ADDR:PORT"),
        (&["--listen", "127.0.0.1:70000"], "write ADDR:PORT"),
    ] {
        let run = refused(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {run:?}");
        assert!(run.stderr.contains(says), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn addresses_and_waits_that_cannot_be_meant_are_refused_at_once() {
    for (arguments, says) in [
        (&["status", "--manager", "foo"][..], "write ADDR:PORT"),
        (&["dump", "--manager", "foo", "-"], "write ADDR:PORT"),
        (&["status", "--timeout", "0"], "at least 1ms"),
        (&["status", "--watch", "--every", "0s"], "at least 1ms"),
        (&["get", "--timeout", "0", "k"], "at least 1ms"),
        (&["manager", "--replicas", "0"], "write a whole number from 1 to"),
        (&["node", "--memory", "1M", "--threads", "1"], "--memory 1M is too small for 1 thread: give --memory 8M\n"),
        (&["node"], "--manager ADDR:PORT"),
        (&["frontend"], "Usage: fawn frontend "),
        (&["load", "--resume", "state", "/dev/null"], "only a file can be resumed"),
    ] {
        let run = fawn(arguments);
        assert!(run.code == 2 && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
}

#[test]
fn a_file_for_a_directory_is_refused_in_one_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    for data in [file.clone(), file.join("below")] {
        let run = fawn(&["serve", "--dir", data.to_str().unwrap(), "--listen", "127.0.0.1:0"]);
        let expected =
            format!("fawn: {} is a file: give --dir a directory, or the name of one to create\n", file.display());
        assert_eq!((run.code, run.stderr), (1, expected));
    }
}

/// A server that is started with `arguments`: its log up to the line that says that it serves, and what `talk` made of
/// its address.
fn served<T>(arguments: &[&str], talk: impl FnOnce(&str) -> T) -> (String, T) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = fawn_command(&["serve", "--listen", "127.0.0.1:0", "--dir"]);
    command.arg(dir.path().join("data")).args(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said = talk(line.trim().rsplit(' ').next().unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    (log, said)
}

#[test]
fn more_memory_than_there_is_is_warned_of() {
    let (log, ()) = served(&["--memory", "1000000T", "--threads", "1"], |_| ());
    assert!(log.contains("WARN") && log.contains("will swap or be killed"), "{log}");
    let (log, ()) = served(&["--memory", "64M"], |_| ());
    assert!(!log.contains("will swap or be killed"), "{log}");
}

#[test]
fn the_least_memory_serves_and_an_idle_timeout_of_0_is_none() {
    let (log, value) = served(&["--memory", "8M", "--threads", "1", "--idle-timeout", "0s"], |address| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("in.tsv");
        std::fs::write(&file, crate::server::numbered(50_000)).unwrap();
        let mut idle = std::net::TcpStream::connect(address).unwrap();
        assert_eq!(fawn(&["load", "--to", address, file.to_str().unwrap()]).code, 0);
        std::thread::sleep(std::time::Duration::from_millis(2500));
        std::io::Write::write_all(&mut idle, b"get key-049999\r\n").unwrap();
        let mut answer = String::new();
        BufReader::new(idle).read_line(&mut answer).unwrap();
        answer
    });
    assert_eq!(value, "VALUE key-049999 0 11\r\n", "{log}");
}
