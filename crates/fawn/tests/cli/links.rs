//! TLS between a cluster's parts and those who ask them: whose certificate is taken, and what whoever does not agree with the
//! other side about TLS is told.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;

use crate::server::{Run, fawn, fawn_command, wait_for};

/// A manager that runs, and where.
struct Manager {
    child: Child,
    address: String,
}

impl Manager {
    fn start(dir: &Path, certs: Option<&str>) -> Self {
        let mut arguments = vec!["manager", "--dir", dir.to_str().unwrap(), "--listen", "127.0.0.1:0"];
        arguments.extend(certs.into_iter().flat_map(|certs| ["--certs", certs]));
        let log = std::fs::File::create(dir.with_extension("log")).unwrap();
        let mut child = fawn_command(&arguments).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once(" ready on ").expect("it says where it is").1.to_owned();
        Self { child, address }
    }

    fn status(&self, certs: Option<&Path>) -> Run {
        let mut arguments = vec!["status", "--manager", &self.address, "--timeout", "2s"];
        arguments.extend(certs.into_iter().flat_map(|certs| ["--certs", certs.to_str().unwrap()]));
        fawn(&arguments)
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes certificates of a cluster with a manager and a member in a directory.
fn init(certs: &Path) {
    certs_command(certs, &["init", "--manager", "manager", "--member", "n1"]);
}

fn certs_command(certs: &Path, arguments: &[&str]) {
    let run = fawn(&[&["certs"], arguments, &["--certs", certs.to_str().unwrap()]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
}

/// Copies somebody's files, as `fawn certs` says.
fn copy(from: &Path, to: &Path, name: &str) {
    std::fs::create_dir_all(to).unwrap();
    for file in ["ca.pem".to_owned(), format!("{name}.pem"), format!("{name}-key.pem")] {
        std::fs::copy(from.join(&file), to.join(&file)).unwrap();
    }
}

#[test]
fn another_operator_asks_with_a_directory_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let (certs, own) = (dir.path().join("certs"), dir.path().join("al"));
    init(&certs);
    certs_command(&certs, &["add", "--operator", "alice"]);
    let manager = Manager::start(&dir.path().join("m"), certs.to_str());
    copy(&certs, &own, "alice");
    let run = manager.status(Some(&own));
    assert_eq!(run.code, 0, "{}", run.stderr);
    // A member's files beside them are no operator's.
    copy(&certs, &own, "n1");
    assert_eq!(manager.status(Some(&own)).code, 0);

    certs_command(&certs, &["add", "--operator", "bob"]);
    copy(&certs, &own, "bob");
    let run = manager.status(Some(&own));
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("has no operator.pem, but several operators' certificates: alice, bob"), "{run:?}");
    copy(&certs, &own, "operator");
    assert_eq!(manager.status(Some(&own)).code, 0, "the first operator's come first");

    let other = dir.path().join("n1");
    copy(&certs, &other, "n1");
    let run = manager.status(Some(&other));
    assert!(run.code == 1 && run.stderr.contains("fawn certs add --operator NAME"), "{run:?}");
}

#[test]
fn who_asks_with_other_certificates_than_the_cluster_has_is_told_so() {
    let dir = tempfile::tempdir().unwrap();
    let (certs, other) = (dir.path().join("certs"), dir.path().join("other"));
    init(&certs);
    init(&other);
    let secure = Manager::start(&dir.path().join("m1"), certs.to_str());
    let plain = Manager::start(&dir.path().join("m2"), None);
    let none =
        "it closed the connection after the first message: if the cluster uses TLS, give certificates (--certs DIR)";
    let asked = [
        (&secure, None, none.to_owned()),
        (&plain, Some(&certs), "it does not speak TLS: leave out --certs, or check".to_owned()),
        (&secure, Some(&other), format!("another authority than {}", other.join("ca.pem").display())),
    ];
    // Each asks until its time is up.
    thread::scope(|scope| {
        for (manager, certs, says) in asked {
            scope.spawn(move || {
                let run = manager.status(certs.map(PathBuf::as_path));
                assert!(run.code == 1 && run.stderr.contains(&says), "{says}: {run:?}");
            });
        }
        let dump = dir.path().join("dump.jsonl");
        let run = fawn(&["dump", "--manager", &secure.address, dump.to_str().unwrap()]);
        assert!(run.code == 1 && run.stderr.contains(none), "{run:?}");
    });
}

#[test]
fn a_managers_log_says_why_it_refused_a_certificate() {
    let dir = tempfile::tempdir().unwrap();
    let [certs, other, fake, member] = ["certs", "other", "fake", "member"].map(|name| dir.path().join(name));
    init(&certs);
    init(&other);
    let manager = Manager::start(&dir.path().join("m"), certs.to_str());
    // An operator of another authority, and a member in an operator's place.
    copy(&other, &fake, "operator");
    let both = ["certs", "other"].map(|name| std::fs::read_to_string(dir.path().join(name).join("ca.pem")).unwrap());
    std::fs::write(fake.join("ca.pem"), both.concat()).unwrap();
    copy(&certs, &member, "n1");
    for file in ["", "-key"] {
        std::fs::copy(certs.join(format!("n1{file}.pem")), member.join(format!("operator{file}.pem"))).unwrap();
    }
    // Each asks until its time is up.
    thread::scope(|scope| {
        for certs in [None, Some(&fake), Some(&member)] {
            let manager = &manager;
            scope.spawn(move || assert_eq!(manager.status(certs.map(PathBuf::as_path)).code, 1));
        }
    });
    for says in [
        "a connection from 127.0.0.1 is refused: received corrupt message",
        "a connection from 127.0.0.1 is refused: invalid peer certificate: ",
        "a caller is refused: the certificate of the other side is not for an operator, but for member n1",
    ] {
        wait_for(says, || std::fs::read_to_string(dir.path().join("m.log")).unwrap().contains(says).then_some(()));
    }
}

#[test]
fn a_node_that_has_no_certificates_says_that_they_may_be_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let certs = dir.path().join("certs");
    init(&certs);
    let manager = Manager::start(&dir.path().join("m"), certs.to_str());
    let (data, log) = (dir.path().join("n1"), dir.path().join("log"));
    let any = "127.0.0.1:0";
    let fixed = ["node", "--name", "n1", "--dir", data.to_str().unwrap(), "--memory", "64M", "--threads", "1"];
    let more = ["--manager", &manager.address, "--listen", any, "--cluster-listen", any];
    let mut command = fawn_command(&[&fixed[..], &more].concat());
    let mut node = command.stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    let said = wait_for("what it waits for", || {
        std::fs::read_to_string(&log).ok().filter(|log| log.contains("no manager admits this process yet"))
    });
    node.kill().unwrap();
    node.wait().unwrap();
    assert!(said.contains("if the cluster uses TLS, give certificates (--certs DIR)"), "{said}");
}
