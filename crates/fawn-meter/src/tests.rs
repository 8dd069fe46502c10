//! Meters: on trees of `/sys`, on plugs that are replayed, on files and models.

mod kernel;
mod plugs;
mod stretches;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::{Energy, Meter, MeterChoice, MeterError, SystemRoots};

/// A machine.
fn tree(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// A copy of one, to be changed.
fn copy(name: &str) -> tempfile::TempDir {
    fn copy_dir(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let (entry, to) = (entry.as_ref().unwrap(), to.join(entry.as_ref().unwrap().file_name()));
            if entry.file_type().unwrap().is_dir() {
                copy_dir(&entry.path(), &to);
            } else {
                drop(fs::copy(entry.path(), to));
            }
        }
    }
    let dir = tempfile::tempdir().unwrap();
    copy_dir(&tree(name), dir.path());
    dir
}

fn write(root: &Path, file: &str, value: impl std::fmt::Display) {
    let path = root.join("sys/class").join(file);
    assert!(path.exists(), "{} is not in the tree", path.display());
    // In one step, as the kernel's files change.
    let new = root.join("new");
    fs::write(&new, format!("{value}\n")).unwrap();
    fs::rename(new, path).unwrap();
}

fn open(choice: &str, root: &Path) -> Result<Meter, MeterError> {
    let choice: MeterChoice = choice.parse().unwrap();
    Meter::open(&choice, &SystemRoots::under(root)).map(|meter| meter.expect("a meter was chosen"))
}

/// Opens the counters of a copy, which move meanwhile and are then as they were.
fn open_rapl(root: &Path) -> Meter {
    let _moving = Moving::start(root);
    open("rapl", root).unwrap()
}

/// The counter of a copy's first package moves until this is dropped.
struct Moving {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Moving {
    fn start(root: &Path) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (root, stopped) = (root.to_owned(), Arc::clone(&stop));
        let file = "powercap/intel-rapl:0/energy_uj";
        let before: u64 = fs::read_to_string(root.join("sys/class").join(file)).unwrap().trim().parse().unwrap();
        let thread = thread::spawn(move || {
            for step in 1.. {
                write(&root, file, before + step);
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                thread::sleep(Duration::from_millis(2));
            }
            write(&root, file, before);
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn refused(choice: &str, root: &Path) -> String {
    let error = open(choice, root).unwrap_err().to_string();
    assert!(!error.contains('\n') && !error.ends_with('.'), "one sentence: {error}");
    error
}

/// Meters while `work` is done.
fn metered(meter: &Meter, work: impl FnOnce()) -> Energy {
    let metering = meter.start().unwrap();
    work();
    metering.stop().unwrap()
}

fn a_while() {
    thread::sleep(Duration::from_millis(120));
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1e-3), "{found}, not {expected}");
}
