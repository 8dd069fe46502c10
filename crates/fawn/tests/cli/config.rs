//! Configuration files and variables, through the program.

use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::server::{Run, fawn_command};

/// Runs `fawn` beside a `fawn.toml`, with variables.
fn run(file: &str, variables: &[(&str, &str)], line: &str) -> Run {
    let dir = with_file(file);
    run_in(dir.path(), variables, line)
}

fn with_file(file: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("fawn.toml"), file).unwrap();
    dir
}

fn run_in(dir: &Path, variables: &[(&str, &str)], line: &str) -> Run {
    let mut command = fawn_command(&[]);
    let output: Output =
        command.args(line.split_whitespace()).envs(variables.iter().copied()).current_dir(dir).output().unwrap();
    output.into()
}

/// Every kind of mistake, and what is said of each.
const WRONG: &str = r#"
colour = "red"
flags = "red"
json = "yes"
limit = { a = 1 }

[serve]
dir = ["a", "b"]
listen = ["127.0.0.1:1", "nowhere"]
memory = "lots"
max-connections = 0
memroy = "1G"
insecure = 1
unix = true
idle-timeout = 1979-05-27
to = "x"

[load]
format = "csv"
connections = [1]

[certs.init]
days = 3

[severe]
x = 1
"#;

const SAID: &str = r#"fawn.toml:2: no command has a flag "colour"
fawn.toml:3: "flags" cannot be "red" for [set]: write a whole number from 0 to 4294967295
fawn.toml:4: "json" is a switch: write true or false
fawn.toml:5: there is no command for [limit]
fawn.toml:8: "dir" takes one value, not a list
fawn.toml:9: "listen" cannot be "nowhere": write ADDR:PORT, e.g. 127.0.0.1:11211 or [::1]:11211
fawn.toml:10: "memory" cannot be "lots": `lots` is not a size; write a number of bytes with an optional K, M, G or T (powers of 1024), e.g. 512M or 1.5GiB
fawn.toml:11: "max-connections" cannot be "0": write a whole number from 1 to 4294967295
fawn.toml:12: [serve] has no key "memroy"; did you mean "memory"?
fawn.toml:13: "insecure" is a switch: write true or false
fawn.toml:14: "unix" is not a switch: give it a value
fawn.toml:15: "idle-timeout" cannot be a date: write a string or a number
fawn.toml:16: [serve] has no key "to"; it is a key of [load]
fawn.toml:19: "format" cannot be "csv": choose tsv or jsonl
fawn.toml:20: "connections" takes one value, not a list
fawn.toml:22: there is no command for [certs]; did you mean "certs-init"?
fawn.toml:25: there is no command for [severe]; did you mean "serve"?
"#;

#[test]
fn everything_that_is_wrong_with_a_file_is_said_with_its_line() {
    let run = run(WRONG, &[], "config check fawn.toml");
    assert_eq!(run.stdout, SAID);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
}

#[test]
fn what_keys_do_to_each_other_is_said() {
    for (file, said) in [
        ("[serve]\ntls-cert = 'c'\n", "fawn.toml:2: [serve] sets \"tls-cert\", which also needs \"tls-key\"\n"),
        (
            "[load]\nresume = 'r'\nfrom-memcached = 'x'\n",
            "fawn.toml:3: [load] cannot have both \"resume\" and \"from-memcached\"\n",
        ),
        (
            "[serve]\nthreads = 1\nmemory = '1K'\n",
            "fawn.toml:3: [serve] --memory 1K is too small for 1 thread: give --memory 8M\n",
        ),
        (
            "a = 1\na = 2\n[b\n",
            "fawn.toml:2: invalid TOML: duplicate key\nfawn.toml:3: invalid TOML: unclosed table, expected `]`\n",
        ),
    ] {
        let run = run(file, &[], "config check fawn.toml");
        assert_eq!((run.code, run.stdout.as_str()), (1, said), "{file}");
    }
}

#[test]
fn variables_are_checked_like_a_file() {
    let variables = [("FAWN_SERVE_MEMROY", "1G"), ("FAWN_SERVE_MAX_CONNECTIONS", "none"), ("FAWN_LOG", "debug")];
    let checked = run("", &variables, "config check");
    assert_eq!(
        checked.stdout,
        "FAWN_SERVE_MAX_CONNECTIONS: \"max-connections\" cannot be \"none\": write a whole number from 1 to 4294967295\n\
         FAWN_SERVE_MEMROY: there is no flag for this variable; did you mean FAWN_SERVE_MEMORY?\n"
    );
    assert_eq!(checked.code, 1);
    let checked = run("", &[("FAWN_SERVE_UNIX", ""), ("FAWN_SERVE_NO_FLUSH", "yes")], "config check");
    assert_eq!((checked.code, checked.stdout.as_str()), (0, "no file was given; no errors in the environment\n"));
}

#[test]
fn a_variable_that_is_wrong_is_laid_on_no_key_of_the_file() {
    let checked = run("manager = 'm:1'\n[serve]\nmemory = '1G'\n", &[("FAWN_LOG", "loud")], "config check fawn.toml");
    assert_eq!((checked.code, checked.stdout.lines().count()), (1, 1), "{}", checked.stdout);
    assert!(checked.stdout.starts_with("FAWN_LOG: \"log-level\" cannot be \"loud\""), "{}", checked.stdout);
}

#[test]
fn a_good_file_and_one_that_is_not_there() {
    let file = "certs = '/etc/fawn/certs'\n[serve]\nlisten = ['127.0.0.1:0']\nthreads = 1\n[certs-init]\ndays = 30\n";
    let checked = run(file, &[], "config check fawn.toml");
    assert_eq!((checked.code, checked.stdout.as_str()), (0, "fawn.toml: no errors\n"));
    let checked = run(file, &[("FAWN_CONFIG", "fawn.toml")], "config check");
    assert_eq!((checked.code, checked.stdout.as_str()), (0, "fawn.toml: no errors\n"));
    let checked = run("", &[], "config check none.toml");
    assert_eq!(
        (checked.code, checked.stdout.as_str()),
        (1, "none.toml: cannot be read: No such file or directory (os error 2)\n")
    );
}

#[test]
fn problems_are_told_as_json_too() {
    let checked = run("[serve]\n\nmemroy = 1\n", &[], "config check fawn.toml --json");
    let told: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!(checked.code, 1);
    assert_eq!(told["file"], "fawn.toml");
    assert_eq!(told["problems"][0]["at"]["file"]["line"], 3);
    assert!(told["problems"][0]["what"].as_str().unwrap().contains("did you mean"));
}

const FILE: &str =
    "max-connections = 100\n[serve]\nlisten = ['127.0.0.1:0', '[::1]:0']\nno-flush = true\nack = 'interval:50'\n";

#[test]
fn show_prints_a_file_with_the_source_of_each_value() {
    let variables = [("FAWN_SERVE_DIR", "data"), ("FAWN_ACK", "memory")];
    let shown = run(FILE, &variables, "--config fawn.toml config show");
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""));
    let lines: Vec<Vec<&str>> = shown.stdout.lines().map(|line| line.split("  # ").map(str::trim).collect()).collect();
    for expected in [
        ["dir = \"data\"", "FAWN_SERVE_DIR"],
        ["listen = [\"127.0.0.1:0\", \"[::1]:0\"]", "fawn.toml:3"],
        ["max-connections = 100", "fawn.toml:1"],
        ["no-flush = true", "fawn.toml:4"],
        ["ack = \"memory\"", "FAWN_ACK"],
        ["insecure = false", "default"],
        ["# memory", "not set; FAWN_SERVE_MEMORY"],
    ] {
        assert!(lines.iter().any(|line| *line == expected), "{expected:?} in {}", shown.stdout);
    }
    let is_shown = |section| lines.iter().any(|line| line[0] == section);
    assert!(is_shown("[serve]") && !is_shown("[get]"), "what nothing is set for is left out: {}", shown.stdout);

    // What is printed is a file that says the same.
    let dir = with_file(&shown.stdout);
    let again = run_in(dir.path(), &[], "--config fawn.toml config show serve --json");
    let (first, again): (Value, Value) = (
        serde_json::from_str(&run(FILE, &variables, "--config fawn.toml config show --json").stdout).unwrap(),
        serde_json::from_str(&again.stdout).unwrap(),
    );
    let values = |shown: &Value| -> Vec<(String, Value)> {
        let flags = shown["commands"]["serve"].as_object().unwrap();
        flags.iter().map(|(name, flag)| (name.clone(), flag["value"].clone())).collect()
    };
    assert_eq!(values(&first), values(&again));
    assert_eq!(first["commands"]["serve"]["listen"]["from"]["file"]["line"], 3);
}

#[test]
fn show_of_a_command_that_does_not_exist_suggests_one() {
    let shown = run("", &[], "config show serv");
    let expected = "there is no command serv that can be configured; did you mean serve?\n";
    assert!(shown.code == 2 && shown.stderr.contains(expected), "{shown:?}");
    let shown = run("", &[], "config show");
    assert!(shown.stdout.contains("nothing is set"), "{}", shown.stdout);
}

#[test]
fn a_command_does_not_start_with_a_file_that_is_wrong() {
    let wrong = run("[serve]\nmemroy = 1\n", &[], "serve --config fawn.toml");
    let expected = "fawn: fawn.toml:2: [serve] has no key \"memroy\"; did you mean \"memory\"?\n";
    assert_eq!((wrong.code, wrong.stderr.as_str()), (2, expected));
    let wrong = run("[serve]\nmemory = 'lots'\n", &[], "serve --config fawn.toml");
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("invalid value 'lots' for '--memory <SIZE>'"), "{}", wrong.stderr);
    assert!(wrong.stderr.ends_with("note: --memory is from fawn.toml:2\n"), "{}", wrong.stderr);
    let wrong = run("", &[("FAWN_INSECURE", "maybe")], "serve");
    assert_eq!(
        (wrong.code, wrong.stderr.as_str()),
        (2, "fawn: FAWN_INSECURE: \"insecure\" is a switch: write true or false\n")
    );
}

#[test]
fn what_is_misspelt_in_the_environment_is_warned_of_by_every_command() {
    let said = "FAWN_MANAGR: there is no flag for this variable; did you mean FAWN_MANAGER?\n";
    for line in ["node", "config show", "get --to 127.0.0.1:1 k", "store check nowhere", "plan --data 1TB --rate 1k"] {
        let run = run("", &[("FAWN_MANAGR", "10.0.0.1:7400")], line);
        assert!(run.stderr.contains(said), "{line}: {}", run.stderr);
    }
    let services =
        [("FAWN_SERVICE_HOST", "10.0.0.1"), ("FAWN_PORT", "tcp://10.0.0.1:11211"), ("FAWN_NAME", "/web/fawn")];
    let checked = run("", &services, "config check");
    assert_eq!((checked.code, checked.stdout.as_str()), (0, "no file was given; no errors in the environment\n"));
    let shown = run("", &services, "config show node");
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""));
}

#[test]
fn all_that_is_wrong_for_a_command_is_told_at_once() {
    let wrong = run(
        "[serve]\nmemroy = 1\nthreads = 'x'\n[get]\nto = ''\n",
        &[("FAWN_LOG", "loud")],
        "serve --config fawn.toml",
    );
    let about: Vec<&str> = wrong.stderr.lines().map(|line| line.split(" \"").next().unwrap()).collect();
    assert_eq!(
        about,
        ["fawn: fawn.toml:2: [serve] has no key", "fawn: fawn.toml:3:", "fawn: FAWN_LOG:"],
        "{}",
        wrong.stderr
    );
    assert_eq!(wrong.code, 2);
}

#[test]
fn a_server_is_configured_by_file_variable_and_flag() {
    use std::io::{BufRead, BufReader};
    let dir =
        with_file("[serve]\ndir = 'from-file'\nlisten = ['127.0.0.1:0', '127.0.0.1:0']\nmemory = '64M'\nthreads = 1\n");
    let mut command = fawn_command(&["serve", "--config", "fawn.toml", "--listen", "127.0.0.1:0"]);
    command.current_dir(dir.path()).env("FAWN_SERVE_DIR", "from-variable").stdout(std::process::Stdio::piped());
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines.next().unwrap().unwrap().rsplit(' ').next().unwrap().to_owned();
    let stats = crate::server::say(&address, "stats", "END\r\n");
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(lines.count(), 0, "the flag replaces both addresses of the file");
    assert!(stats.contains("STAT threads 1\r\n"), "{stats}");
    assert!(dir.path().join("from-variable").is_dir() && !dir.path().join("from-file").exists());
}

#[test]
fn settings_with_which_no_cluster_can_begin_are_told() {
    for (file, says) in [
        ("[manager]\nreplicas = 0\n", "write a whole number from 1 to"),
        ("[manager]\nreplicas = 2\nmin-write-replicas = 3\n", "none would accept a write"),
    ] {
        let checked = run(file, &[], "config check fawn.toml");
        assert!(checked.code == 1 && checked.stdout.contains(says), "{file}: {checked:?}");
    }
}
