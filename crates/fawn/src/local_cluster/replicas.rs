//! A cluster keeps the settings that it began with, whatever flags say later: who gives others is told so.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use fawn_kv::ids::Consistency;
use fawn_kv::link::control::MAGIC;
use fawn_kv::link::frame::put_control;
use fawn_kv::link::{Control, Frame, Frames, Greeting, Lane, Party};
use fawn_kv::manager::Settings;
use fawn_kv::status::{Answer, Question};
use fawn_kv::wire::version::VersionRange;
use fawn_manager::Running;

use crate::consistency::consistency_told;

/// A manager that is there answers within this.
const ANSWER: Duration = Duration::from_secs(5);

/// Between two tries: it leads soon after it began.
const PAUSE: Duration = Duration::from_millis(200);

/// Nobody waits for the warning longer.
const TIME: Duration = Duration::from_mins(1);

/// What flags say.
#[derive(Clone, Copy, Debug)]
pub struct RequestedSettings {
    /// Copies of each value.
    pub replicas: Option<u32>,
    /// What they are to each other.
    pub consistency: Option<Consistency>,
}

/// Says in the log, once the manager leads, what the cluster in `dir` has otherwise than flags say, if it has.
pub fn warn_if_other(manager: &Arc<Running>, given: RequestedSettings, dir: PathBuf) {
    let (manager, until) = (Arc::downgrade(manager), Instant::now() + TIME);
    let watch = move || {
        while Instant::now() < until {
            match kept(&manager) {
                Ok(Some(kept)) => return given.warn(&kept, &dir),
                Ok(None) | Err(_) => std::thread::sleep(PAUSE),
            }
        }
    };
    // Without a thread there is no warning.
    let _ = std::thread::Builder::new().spawn(watch);
}

impl RequestedSettings {
    fn warn(&self, settings: &Settings, dir: &Path) {
        let (managers, kept) = (dir.join("manager"), settings.replicas);
        let (dir, managers) = (dir.display(), managers.display());
        if let Some(replicas) = self.replicas.filter(|replicas| *replicas != kept) {
            tracing::warn!(
                "the cluster in {dir} keeps {kept} copies of each value, and --replicas {replicas} does not change \
                that: stop it, start `fawn manager --dir {managers}` alone, and run `fawn cluster set --replicas \
                {replicas}`"
            );
        }
        let kept = settings.rules.consistency;
        if let Some(consistency) = self.consistency.filter(|consistency| *consistency != kept) {
            let (kept, other) = (consistency_told(kept), consistency_told(consistency));
            tracing::warn!(
                "the cluster in {dir} was created with --consistency {kept}, which no flag changes: for a {other} \
                one, `fawn dump` this one and load the file into a new --dir"
            );
        }
    }
}

/// The cluster's settings; `None`: the manager does not lead yet.
fn kept(manager: &Weak<Running>) -> io::Result<Option<Settings>> {
    let Some(mut stream) = manager.upgrade().map(|manager| manager.connect()).transpose()? else {
        return Err(io::ErrorKind::NotConnected.into());
    };
    stream.set_read_timeout(Some(ANSWER))?;
    let VersionRange { oldest: lowest, newest: highest } = VersionRange::OWN;
    let (magic, from, lane) = (MAGIC, Party::Operator, Lane::Chain);
    let mut out = Vec::new();
    put_control(&mut out, &Control::Greeting(Greeting { magic, lowest, highest, cluster: None, from, to: None, lane }));
    put_control(&mut out, &Control::Ask { number: 1, question: Question::Status });
    stream.write_all(&out)?;
    let (mut input, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        while let Ok((frame, used)) = Frames::trusted().next(&input).map_err(io::Error::other)? {
            input.drain(..used);
            match frame {
                Frame::Control(Control::Answer { answer: Answer::Status(status), .. }) => {
                    return Ok(Some(status.settings));
                }
                Frame::Control(Control::Answer { .. } | Control::Refused { .. }) => return Ok(None),
                _ => {}
            }
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(None),
            count => input.extend_from_slice(&buffer[..count]),
        }
    }
}
