//! Managers whose files were damaged, or whose device is full.

use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fawn_kv::status::{Answer, NewSettings, Question, Status};
use fawn_manager::Operator;
use rustix::process::{Pid, Signal, kill_process};

use crate::server::{Run, fawn, fawn_command, wait_for};

/// Changes a file's bytes.
type Change<'a> = &'a dyn Fn(&mut Vec<u8>);

#[test]
fn a_damaged_log_of_a_manager_is_refused_in_one_sentence() {
    let here = tempfile::tempdir().unwrap();
    let dir = here.path().join("m");
    let at = dir.to_str().unwrap();
    let run = |dir: &str| fawn(&["manager", "--dir", dir, "--listen", "127.0.0.1:0"]);
    let (manager, _) =
        ready(fawn_command(&["manager", "--dir", at, "--listen", "127.0.0.1:0"]), &here.path().join("log"));
    stop(manager);
    let path = dir.join("manager.log");
    let whole = std::fs::read(&path).unwrap();
    let last = whole.len() - 1;
    let changes: [Change; 4] =
        [&|log| log[3] ^= 1, &|log| log[last] ^= 128, &|log| log.truncate(last), &|log| log.clear()];
    let is_refused = |run: &Run, path: &Path| {
        let said = &run.stderr;
        assert!(run.code == 1 && said.contains(path.to_str().unwrap()), "{run:?}");
        assert!(said.contains("fawn manager restore") && said.trim_end().lines().count() == 1, "{said}");
    };
    for change in changes {
        let mut log = whole.clone();
        change(&mut log);
        std::fs::write(&path, log).unwrap();
        is_refused(&run(at), &path);
        is_refused(&fawn(&["manager", "recover", "--others-are-lost", "--dir", at]), &path);
    }
    std::fs::remove_file(&path).unwrap();
    is_refused(&run(at), &path);
    // The manager of a cluster in one process.
    let all = here.path().join("all");
    std::fs::create_dir(&all).unwrap();
    std::fs::rename(&dir, all.join("manager")).unwrap();
    let path = all.join("manager/manager.log");
    std::fs::write(&path, &whole[..last]).unwrap();
    is_refused(&fawn(&["serve", "--nodes", "2", "--dir", all.to_str().unwrap(), "--listen", "127.0.0.1:0"]), &path);
    // As after a file system's repair, in the directory of an older release.
    let old = here.path().join("old");
    std::fs::create_dir(&old).unwrap();
    std::fs::write(old.join("manager.redb"), vec![0; 8192]).unwrap();
    is_refused(&run(old.to_str().unwrap()), &old.join("manager.redb"));
}

/// A process that says where it is ready, and its address.
fn ready(mut command: Command, log: &Path) -> (Child, String) {
    let log = std::fs::File::options().append(true).create(true).open(log).unwrap();
    let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().rsplit_once(" ready on ").expect("it says where it is").1.to_owned())
}

fn stop(mut child: Child) {
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "a clean stop exits with 0");
}

/// A manager whose directory is on a small device of its own.
struct Small {
    child: Child,
    address: String,
    /// The device, as others see it.
    device: PathBuf,
    log: PathBuf,
}

/// Runs a program with a device of 100 KiB at a directory: too small for the room that a manager takes ahead.
fn on_small_device(dir: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.arg("--mount");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["sh", "-c", "mount -t tmpfs -o size=100k tmpfs \"$0\" && exec \"$@\""]).arg(dir);
    command
}

/// Whether devices can be mounted here.
fn can_mount() -> bool {
    let dir = tempfile::tempdir().unwrap();
    let probe = on_small_device(dir.path()).arg("true").output();
    let can = probe.as_ref().is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("skipped: small devices cannot be mounted here: {probe:?}");
    }
    can
}

impl Small {
    fn start(dir: &Path, more: &[&str]) -> Self {
        std::fs::create_dir_all(dir).unwrap();
        let below = dir.join("m");
        let mut arguments = vec!["manager", "--dir", below.to_str().unwrap(), "--listen", "127.0.0.1:0"];
        arguments.extend(more);
        let fawn = fawn_command(&arguments);
        let mut command = on_small_device(dir);
        command.arg(fawn.get_program()).args(fawn.get_args());
        let log = dir.with_extension("log");
        let (child, address) = ready(command, &log);
        let device = PathBuf::from(format!("/proc/{}/root{}", child.id(), dir.display()));
        Self { child, address, device, log }
    }

    /// Takes all the room that is left.
    fn fill(&self) {
        let file = std::fs::File::options().append(true).create(true).open(self.device.join("filler"));
        let mut file = file.unwrap();
        while file.write_all(&[7; 512]).is_ok() {}
    }

    fn make_room(&self) {
        std::fs::remove_file(self.device.join("filler")).unwrap();
    }

    fn ask(&self, question: &Question) -> Option<Answer> {
        self.ask_within(Duration::from_secs(5), question)
    }

    fn ask_within(&self, time: Duration, question: &Question) -> Option<Answer> {
        Operator::new(vec![self.address.clone()], None, time).ask(question).ok()
    }

    fn status(&self) -> Option<Status> {
        match self.ask(&Question::Status) {
            Some(Answer::Status(status)) => Some(*status),
            _ => None,
        }
    }

    fn set(&self, replicas: u32) -> Option<Answer> {
        self.ask(&Question::Set(NewSettings { replicas: Some(replicas), ..NewSettings::default() }))
    }

    /// Whether it waits for its device, as its log has it.
    fn is_stalled(&self) -> bool {
        self.lines("cannot write the manager's log: No space left").len() > self.lines("log can be written again").len()
    }

    /// Has settings changed until the log has no room for them.
    fn set_until_full(&self) {
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for replicas in (2..6).cycle().take(5000).take_while(|_| !ends.load(Ordering::Relaxed)) {
                    self.fill();
                    // The one for which there is no room is not answered.
                    let new = NewSettings { replicas: Some(replicas), ..NewSettings::default() };
                    self.ask_within(Duration::from_secs(1), &Question::Set(new));
                }
            });
            wait_for("the device is full", || {
                let was = self.is_stalled();
                std::thread::sleep(Duration::from_millis(300));
                (was && self.is_stalled()).then_some(())
            });
            ends.store(true, Ordering::Relaxed);
        });
    }

    /// Lines of the log with this.
    fn lines(&self, part: &str) -> Vec<String> {
        let log = std::fs::read_to_string(&self.log).unwrap();
        log.lines().filter(|line| line.contains(part)).map(str::to_owned).collect()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_manager_that_is_alone_answers_while_its_device_is_full_and_goes_on_when_there_is_room() {
    if !can_mount() {
        return;
    }
    let here = tempfile::tempdir().unwrap();
    let manager = Small::start(&here.path().join("1"), &[]);
    let before = wait_for("it leads", || manager.status()).term;
    manager.set_until_full();
    let refused = manager.set(7);
    assert!(
        matches!(&refused, Some(Answer::Refused(why)) if why.contains("free space on its device")),
        "it says so: {refused:?}"
    );
    // Longer than a lease, and than a leader goes on without the others.
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(manager.status().expect("it answers").term, before);
    let shown = fawn(&["status", "--manager", &manager.address]);
    assert_eq!(shown.code, 0, "{shown:?}");
    manager.make_room();
    wait_for("it goes on", || (manager.set(7) == Some(Answer::Done)).then_some(()));
    let status = manager.status().unwrap();
    assert_eq!((status.settings.replicas, status.term), (7, before), "it leads as before");
    // What stops does not wait for a device.
    manager.set_until_full();
    kill_process(Pid::from_child(&manager.child), Signal::TERM).unwrap();
    let mut manager = manager;
    assert_eq!(manager.child.wait().unwrap().code(), Some(0));
}

#[test]
fn another_manager_leads_while_the_leaders_device_is_full() {
    if !can_mount() {
        return;
    }
    let here = tempfile::tempdir().unwrap();
    let first = Small::start(&here.path().join("1"), &[]);
    let led = wait_for("it leads", || first.status()).leader;
    let others = ["2", "3"].map(|name| Small::start(&here.path().join(name), &["--join", &first.address]));
    let level = |manager: &Small| {
        let managers = manager.status()?.managers;
        (managers.len() == 3 && managers.iter().all(|one| one.lag == Some(0) && one.is_voter)).then_some(())
    };
    wait_for("all are in the group", || level(&first));
    first.set_until_full();
    wait_for("another leads", || others[0].status().filter(|status| status.leader != led));
    wait_for("it decides", || (others[1].set(7) == Some(Answer::Done)).then_some(()));
    first.make_room();
    wait_for("all have the same", || level(&others[0]));
    assert!(!first.is_stalled());
    assert_eq!(others[0].status().unwrap().settings.replicas, 7);
}

#[test]
fn what_is_no_backup_is_not_read_to_its_end() {
    let here = tempfile::tempdir().unwrap();
    let dir = here.path().join("m");
    let run = fawn(&["manager", "restore", "--managers-are-lost", "--dir", dir.to_str().unwrap(), "/dev/zero"]);
    assert!(run.code == 1 && run.stderr.contains("cannot use /dev/zero: it is not a manager's backup"), "{run:?}");
    assert!(!dir.exists());
}
