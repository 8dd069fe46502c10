#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use fawn_report::BenchReport;
use fawn_workload::WriteHistory;

use crate::data::{Notes, EngineDirectory};
use crate::engine::{AckPolicy, PutBatch, Engine, EngineReader, Settings};
use crate::engines::EngineKind;
use crate::experiments::{PeerExperiment, run};
use crate::keeper::Keeper;
use crate::session::EngineSession;
use crate::tell::ProgressWriter;

const ENTRIES: u64 = 1000;
const BATCH: usize = 100;

/// Keys, as they were got one after the other.
type AskedKeys = Arc<Mutex<Vec<Vec<u8>>>>;

/// An engine that has everything in memory.
struct InMemory {
    entries: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
    asked: AskedKeys,
    /// What a batch of puts takes.
    put_takes: Duration,
}

impl Engine for InMemory {
    fn put(&self, batch: &PutBatch) -> anyhow::Result<()> {
        std::thread::sleep(self.put_takes);
        let mut entries = self.entries.lock().unwrap();
        entries.extend(batch.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
        Ok(())
    }

    fn reader(&self, _: bool) -> anyhow::Result<Box<dyn EngineReader + '_>> {
        Ok(Box::new(InMemoryReader(self)))
    }

    fn sync(&self) -> anyhow::Result<()> {
        Ok(())
    }

    fn settle(&self) -> anyhow::Result<Duration> {
        Ok(Duration::ZERO)
    }

    fn page_cache(&self) -> Option<u64> {
        None
    }

    fn shares(&self) -> String {
        "all of it".to_owned()
    }
}

struct InMemoryReader<'e>(&'e InMemory);

impl EngineReader for InMemoryReader<'_> {
    fn get(&mut self, key: &[u8], value: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        self.0.asked.lock().unwrap().push(key.to_vec());
        let entries = self.0.entries.lock().unwrap();
        let found = entries.get(key);
        if let Some(found) = found {
            value(found);
        }
        Ok(found.is_some())
    }
}

/// A session of it, which goes by another engine's name.
fn session(dir: &Path, asked: &AskedKeys, put_takes: Duration) -> EngineSession {
    let empty = Notes {
        engine: EngineKind::Redb.name().to_owned(),
        entries: ENTRIES,
        value_bytes: 8,
        phases: Vec::new(),
        age: 0,
        load: None,
        is_clean: false,
    };
    let place = EngineDirectory::open(dir, empty, false).unwrap();
    let settings = Settings {
        dir: place.data(),
        entries: ENTRIES,
        value_bytes: 8,
        // What an engine would have for caches and buffers.
        memory: 4 << 20,
        ack: AckPolicy::Memory,
        bloom_bits: 0.0,
    };
    EngineSession {
        kind: EngineKind::Redb,
        keeper: Keeper::start(&settings.dir, None),
        settings,
        ack_name: "memory".to_owned(),
        batch: BATCH,
        history: RwLock::new(WriteHistory::new(ENTRIES, Vec::new())),
        place,
        engine: Box::new(InMemory { entries: Mutex::default(), asked: Arc::clone(asked), put_takes }),
        progress: ProgressWriter::new(false),
    }
}

#[test]
fn time_that_is_up_ends_all_passes() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = session(dir.path(), &AskedKeys::default(), Duration::ZERO);
    let overwrite = |most_time| PeerExperiment::Overwrite { passes: 3, zipf: None, most_time };
    let ended = run(&mut session, &overwrite(Some(Duration::ZERO))).unwrap();
    assert_eq!((ended.rows.len(), ended.rows[0]["puts"].as_u64()), (1, Some(BATCH as u64)));
    assert_eq!(run(&mut session, &overwrite(None)).unwrap().rows.len(), 3);
}

#[test]
fn rows_tell_how_often_everything_was_written_before() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = session(dir.path(), &AskedKeys::default(), Duration::ZERO);
    let absent = PeerExperiment::Absent { depth: 2, time: Duration::from_millis(5) };
    let overwrite = PeerExperiment::Overwrite { passes: 2, zipf: None, most_time: None };
    let skewed = PeerExperiment::Overwrite { passes: 2, zipf: Some(0.99), most_time: None };
    for (experiment, before) in
        [(&PeerExperiment::Load, 0.0), (&absent, 1.0), (&overwrite, 1.0), (&absent, 3.0), (&skewed, 3.0), (&absent, 4.0)]
    {
        let report: BenchReport = run(&mut session, experiment).unwrap();
        assert!(report.rows.iter().all(|row| row["versions"].as_f64() == Some(before)), "{before}: {:?}", report.rows);
    }
}

#[test]
fn every_get_of_every_thread_counts() {
    let dir = tempfile::tempdir().unwrap();
    let asked = AskedKeys::default();
    let mut session = session(dir.path(), &asked, Duration::ZERO);
    let get = PeerExperiment::Get { depths: vec![4], rounds: 2, time: Duration::from_millis(30) };
    let report = run(&mut session, &get).unwrap();
    assert_eq!(report.rows[0]["gets"].as_u64(), Some(asked.lock().unwrap().len() as u64));
}

#[test]
fn gets_are_of_other_entries_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let asked = AskedKeys::default();
    let mut session = session(dir.path(), &asked, Duration::ZERO);
    let get = PeerExperiment::Get { depths: vec![1], rounds: 1, time: Duration::from_millis(30) };
    let mut first_of_run = || {
        asked.lock().unwrap().clear();
        run(&mut session, &get).unwrap();
        asked.lock().unwrap().iter().take(20).cloned().collect::<Vec<_>>()
    };
    let (one, other) = (first_of_run(), first_of_run());
    assert!(one.len() == 20 && one != other, "{one:?} {other:?}");
}

#[test]
fn the_longest_put_is_told_and_gets_wait_for_what_is_owed() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = session(dir.path(), &AskedKeys::default(), Duration::from_millis(20));
    let mixed = PeerExperiment::Mixed { depth: 4, gets_a_put: 2, time: Duration::from_millis(200) };
    let report = run(&mut session, &mixed).unwrap();
    let figure = |name: &str| report.rows[0][name].as_f64().unwrap();
    assert!(figure("puts") > 0.0 && figure("longest_put_us") >= 20_000.0, "{:?}", report.rows);
    // Beside those of a batch that is owed, what each thread has under way or has not counted.
    assert!(figure("gets") <= 2.0 * (figure("puts") + BATCH as f64) + 100.0, "{:?}", report.rows);
}
