//! Each request to the disks, as the kernel traces it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use fawn_gordon::trace::{BlockEvent, BlockEvents, CompactWriter};
use rustix::fs::OFlags;

use crate::output_file::create;

/// Where tracefs may be.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The events that are needed. They begin together, when tracing is switched on.
const EVENTS: [&str; 2] = ["events/block/block_rq_issue/enable", "events/block/block_rq_complete/enable"];

/// Kibibytes of the kernel's buffer on each processor.
const BUFFER_KIB: &str = "8192";

/// How long the reader waits for more events.
const PAUSE: Duration = Duration::from_millis(20);

/// Bytes of an event's text at most.
const MOST_LINE_BYTES: usize = 64 << 10;

const ONLY_ROOT: &str =
    "requests cannot be recorded: only root may trace them, so run this as root or leave --requests out";

/// Where tracefs is, if `look` finds a directory of instances in it.
///
/// # Errors
/// There is none, or nobody but root may see it.
fn tracefs(look: impl Fn(&Path) -> io::Result<bool>) -> anyhow::Result<&'static Path> {
    let mut is_hidden = false;
    for root in TRACEFS.map(Path::new) {
        match look(&root.join("instances")) {
            Ok(true) => return Ok(root),
            Ok(false) => {}
            Err(error) => is_hidden |= error.kind() == ErrorKind::PermissionDenied,
        }
    }
    if is_hidden {
        bail!(ONLY_ROOT);
    }
    bail!(
        "requests cannot be recorded, since there is no tracefs: mount it as root (mount -t tracefs nodev {}), or leave \
         --requests out",
        TRACEFS[0]
    )
}

/// A tracing instance of our own. It goes away with this.
struct TracingInstance {
    dir: PathBuf,
}

impl TracingInstance {
    fn create() -> anyhow::Result<Self> {
        let root = tracefs(|instances| std::fs::metadata(instances).map(|found| found.is_dir()))?;
        let dir = root.join("instances").join(format!("fawn-{}", std::process::id()));
        std::fs::create_dir(&dir).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => anyhow!(ONLY_ROOT),
            _ => anyhow!("requests cannot be recorded: {} cannot be made: {error}", dir.display()),
        })?;
        let instance = Self { dir };
        // A new instance traces at once. A request that came between the two events would wait for its completion for ever.
        instance.set("tracing_on", "0")?;
        instance.set("buffer_size_kb", BUFFER_KIB)?;
        instance.set("trace_clock", "mono")?;
        for event in EVENTS {
            instance.set(event, "1")?;
        }
        instance.set("tracing_on", "1")?;
        Ok(instance)
    }

    fn set(&self, file: &str, value: &str) -> anyhow::Result<()> {
        let path = self.dir.join(file);
        std::fs::write(&path, value)
            .with_context(|| format!("requests cannot be recorded: {} cannot be set", path.display()))
    }

    fn pipe(&self) -> anyhow::Result<File> {
        let path = self.dir.join("trace_pipe");
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(&path);
        opened.with_context(|| format!("requests cannot be recorded: {} cannot be read", path.display()))
    }
}

impl Drop for TracingInstance {
    fn drop(&mut self) {
        // Whatever fails here: the process ends, and an instance that stays does no harm.
        let _ = self.set("tracing_on", "0");
        for event in EVENTS {
            let _ = self.set(event, "0");
        }
        let _ = std::fs::remove_dir(&self.dir);
    }
}

/// What was recorded of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Requests.
    pub requests: u64,
    /// Events that the kernel had no room for.
    pub lost_events: u64,
}

/// Records requests beside everything else.
pub struct RequestRecorder {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<RequestCounts>>,
}

impl RequestRecorder {
    /// Records requests of these devices, or of all if there are none, into `path`.
    ///
    /// # Errors
    /// There is no tracefs, or nobody but root may use it, or the file cannot be written.
    pub fn start(path: &Path, devices: Vec<u32>) -> anyhow::Result<Self> {
        let instance = TracingInstance::create()?;
        let pipe = instance.pipe()?;
        let told = format!("cannot write {}", path.display());
        let output = create(path, "--requests", [])?;
        let writer = CompactWriter::new(BufWriter::new(output)).with_context(|| told.clone())?;
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let record = move || {
            let mut reader = EventReader { events: BlockEvents::default(), writer, devices, requests: 0 };
            reader.follow(pipe, &ends, &instance).with_context(|| told.clone())?;
            let (requests, lost_events) = (reader.requests, reader.events.lost());
            reader.writer.finish().with_context(|| told.clone())?;
            Ok(RequestCounts { requests, lost_events })
        };
        let thread = std::thread::Builder::new().name("fawn-requests".to_owned()).spawn(record)?;
        Ok(Self { is_over, thread })
    }

    /// Whether it goes on.
    pub fn is_running(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Ends the recording. The file is whole then.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn finish(self) -> anyhow::Result<RequestCounts> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the recorder of requests has failed"))?
    }
}

/// Turns the kernel's text into a trace.
struct EventReader {
    events: BlockEvents,
    writer: CompactWriter<BufWriter<File>>,
    devices: Vec<u32>,
    requests: u64,
}

impl EventReader {
    /// Reads events until it is over, and then those that are left.
    fn follow(&mut self, mut pipe: File, is_over: &AtomicBool, instance: &TracingInstance) -> anyhow::Result<()> {
        let mut text = Vec::new();
        let mut piece = vec![0; 1 << 16];
        loop {
            let ends = is_over.load(Ordering::Relaxed);
            if ends {
                // What is traced already can still be read.
                instance.set("tracing_on", "0")?;
            }
            loop {
                match pipe.read(&mut piece) {
                    Ok(0) => break,
                    Ok(bytes) => {
                        text.extend_from_slice(&piece[..bytes]);
                        self.take_lines(&mut text)?;
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error.into()),
                }
            }
            if ends {
                self.events.finish_all();
                return self.write_requests();
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn take_lines(&mut self, text: &mut Vec<u8>) -> anyhow::Result<()> {
        let Some(end) = memchr::memrchr(b'\n', text) else {
            if text.len() > MOST_LINE_BYTES {
                text.clear();
            }
            return Ok(());
        };
        for line in text[..end].split(|byte| *byte == b'\n') {
            let Some(event) = BlockEvent::parse(line) else { continue };
            let is_wanted = |device: u32| self.devices.is_empty() || self.devices.contains(&device);
            let is_wanted = match &event {
                BlockEvent::Issue(request) => is_wanted(request.device),
                BlockEvent::Completion { device, .. } => is_wanted(*device),
                BlockEvent::Loss(_) => true,
            };
            if is_wanted {
                self.events.add(event);
            }
        }
        text.drain(..=end);
        self.write_requests()
    }

    fn write_requests(&mut self) -> anyhow::Result<()> {
        while let Some(request) = self.events.take() {
            self.writer.push(&request)?;
            self.requests += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_tracefs_is_to_be_seen_the_user_learns_what_to_do() {
        let [first, second] = TRACEFS.map(Path::new);
        assert_eq!(tracefs(|_| Ok(true)).unwrap(), first);
        assert_eq!(tracefs(|instances| Ok(instances.starts_with(second))).unwrap(), second);
        let refusal = |kind: ErrorKind| tracefs(|_| Err(kind.into())).unwrap_err().to_string();
        let absent = refusal(ErrorKind::NotFound);
        assert!(absent.contains("mount it as root (mount -t tracefs nodev /sys/kernel/tracing)"), "{absent}");
        assert_eq!(refusal(ErrorKind::PermissionDenied), ONLY_ROOT, "it is mounted, and mounting it again is no help");
    }
}
