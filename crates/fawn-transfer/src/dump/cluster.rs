//! All that is in a cluster, each range as one record of its log left it.
//!
//! What comes of a range goes into a spool until the range is over; then its records go to the file, each once. Between two
//! events all is in [`DumpState`](super::state::DumpState), which is saved about once a second: whoever kills the dump has lost no
//! more than that.

use fawn_client::blocking::Client;

use super::DumpOptions;
use super::leftovers::Leftovers;
use super::resumable_dump::ResumableDump;
use super::state::DumpedInterval;
use crate::load::TransferCounts;
use crate::summary::TransferSummary;
use crate::ui::{Progress, TransferExtent, Ui};

/// Of what the bar is a part.
const WHOLE: u64 = 10_000;

/// A dump of a cluster that is complete.
#[derive(Debug)]
pub struct ClusterDump {
    /// Its counts.
    pub summary: TransferSummary,
    /// Unix second when it began: all that was acknowledged before is in it.
    pub began: i64,
    /// As of which record each stretch of keys is in it.
    pub done: Vec<DumpedInterval>,
}

/// Dumps a cluster, or goes on with a dump that was interrupted.
///
/// # Errors
/// What is of use is left, and the same call goes on with it.
pub fn dump_cluster(options: &DumpOptions, client: &Client, ui: &dyn Ui) -> anyhow::Result<ClusterDump> {
    let cluster = client.cluster().map(|cluster| cluster.to_string());
    let leftovers = Leftovers::default();
    let progress = ui.begin(TransferExtent::Ranges(WHOLE), leftovers.interrupted())?;
    let mut dumping = ResumableDump::begin(&options.file, options.format(), cluster, options.restart, &leftovers)?;
    if let Some(began) = dumping.goes_on_since() {
        let began = fawn_tls::certificate::moment(began);
        progress
            .note(&format!("continuing the dump that began at {began}; to start from the beginning, use --restart"));
    }
    let mut summary = TransferSummary::start();
    let worked = work(&mut dumping, client, progress.as_ref());
    progress.finish();
    if worked.is_err() {
        leftovers.fail();
    }
    worked?;
    let state = dumping.finish()?;
    (summary.expired, summary.cut, summary.long_keys) = (state.expired, state.cut, state.long_keys);
    summary.finish(&TransferCounts { loaded: state.records, bytes: state.bytes, ..TransferCounts::default() });
    Ok(ClusterDump { summary, began: state.began, done: state.done })
}

/// What is said of a dump of which nothing has come for a while.
fn waiting(why: &str) -> String {
    format!(
        "fawn: waiting for a node that has the next keys: {why}; the dump needs to reach the cluster ports of all \
         nodes, and gives up after a minute without progress: see `fawn status`"
    )
}

/// Takes all that comes.
fn work(dumping: &mut ResumableDump, client: &Client, progress: &dyn Progress) -> anyhow::Result<()> {
    let mut dump = client.dump(Some(dumping.bookmark().clone()));
    loop {
        let event = match dump.next_event_or_word(|why| progress.note(&waiting(why))) {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(()),
            Err(error) => {
                dumping.save()?;
                return Err(error.into());
            }
        };
        dumping.take(event, |key| dump.place(key))?;
        dumping.save_now_and_then()?;
        let part = dumping.reached().map_or(1.0, |at| at.prefix() as f64 / u64::MAX as f64);
        progress.update((part * WHOLE as f64) as u64, format!("{} records", dumping.records()));
    }
}
