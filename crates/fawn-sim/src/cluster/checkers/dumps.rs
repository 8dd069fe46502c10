//! Clients dump the cluster now and then, one at a time. Whatever comes of a stretch of keys is exactly what was committed of
//! them up to the record that it is said to be as of, and nothing is missing that was committed anywhere before it began.

use std::collections::BTreeMap;

use fawn_kv::ids::{Address, Asker, Position};
use fawn_kv::range::entry::{Kept, Version};
use fawn_kv::scan::{Bookmark, Cut, Event, Limits, Scanner, What};
use fawn_kv::timing::Now;
use fawn_kv::wire::Message;
use fawn_ring::Interval;

use crate::cluster::checkers::invariants::Invariants;
use crate::cluster::event::Kernel;
use crate::cluster::keys::SECRET;
use crate::cluster::summary::Summary;
use crate::cluster::time::unix;

/// One of so many ticks of a client begins a dump, if there is none.
const SELDOM: u64 = 150;

/// One of so many ticks stops it, to go on from its bookmark.
const STOPS: u64 = 100;

/// A dump under way.
#[derive(Debug)]
pub struct Dumping {
    client: usize,
    scanner: Scanner,
    /// As of what was taken last.
    bookmark: Bookmark,
    /// The newest version of each key that was committed anywhere when it began.
    floor: BTreeMap<Vec<u8>, Position>,
    /// The newest that has come of each key of the stretches that are not over.
    came: BTreeMap<Vec<u8>, Kept>,
    /// Scanners so far, each of which is answered under another name.
    scanners: u64,
}

impl Dumping {
    fn begin(now_us: u64, client: usize, invariants: &Invariants) -> Self {
        let newest = |(key, versions): (&Vec<u8>, &BTreeMap<Position, _>)| {
            versions.last_key_value().map(|(position, _)| (key.clone(), *position))
        };
        let floor = invariants.versions().iter().filter_map(newest).collect();
        let bookmark = Bookmark::new(Interval::ALL);
        let scanners = now_us << 8;
        let scanner = Self::scanner(client, scanners, bookmark.clone());
        Self { client, scanner, bookmark, floor, came: BTreeMap::new(), scanners }
    }

    fn scanner(client: usize, number: u64, bookmark: Bookmark) -> Scanner {
        let asker = Asker { address: Address::Client(client as u32), tag: number };
        let limits = Limits { retry_us: 300_000, elsewhere_us: 20_000, ..Limits::default() };
        Scanner::new(asker, limits, bookmark)
    }

    /// Something has come of it: whether an interval of keys is over, and as of what.
    fn take(&mut self, what: What) -> Option<Cut> {
        match what {
            What::Part(kept) | What::Records(kept) => {
                for kept in kept {
                    let known = self.came.get(&kept.key).is_some_and(|known| known.position > kept.position);
                    if !known {
                        self.came.insert(kept.key.clone(), kept);
                    }
                }
                None
            }
            What::Anew(keys) => {
                self.came.retain(|key, _| !keys.contains(&SECRET.position(key)));
                None
            }
            What::Over(cut) => Some(*cut),
        }
    }

    /// What came of the keys of a cut is exactly what was committed of them.
    fn look_at_cut(&self, invariants: &Invariants, cut: &Cut) -> Result<(), String> {
        for (key, versions) in invariants.versions() {
            let lies = SECRET.position(key);
            if !cut.keys.contains(&lies) {
                continue;
            }
            let text = String::from_utf8_lossy(key);
            if let Some(floor) = self.floor.get(key).filter(|floor| **floor > cut.at) {
                return Err(format!("a dump of {cut:?} lacks {floor:?} of {text}, from before it began"));
            }
            let came = self.came.get(key);
            if let Some(came) = came.filter(|came| came.position > cut.at) {
                return Err(format!("a dump of {cut:?} has {came:?} of {text}, which is newer"));
            }
            // What a store had before it was part of a cluster is not known here.
            let Some(expected) = versions.range(..=cut.at).next_back() else { continue };
            // Nor is whether what was written as its range came to its end was committed, which is done in the same step.
            let written = invariants.written(key).and_then(|written| written.range(..=cut.at).next_back());
            if written.is_some_and(|written| written > expected.0) {
                continue;
            }
            check_key(cut, key, came, expected).map_err(|why| format!("a dump of {cut:?}: {text} {why}"))?;
        }
        Ok(())
    }
}

/// All dumps of a run, one at a time.
#[derive(Default)]
pub struct Dumps {
    dump: Option<Dumping>,
    /// Those that came to their end.
    done: u64,
    /// Intervals of keys that they were judged in.
    intervals: u64,
}

impl Dumps {
    /// The dump under way.
    pub fn under_way(&self) -> Option<&Dumping> {
        self.dump.as_ref()
    }

    /// What they add to what a run came to.
    pub fn summarize(&self, summary: &mut Summary) {
        (summary.dumps, summary.stretches) = (self.done, self.intervals);
    }

    /// Time has passed at a client, which perhaps dumps, or begins to if it `may_begin`. What it says is added to `out`.
    pub fn tick(
        &mut self,
        kernel: &mut Kernel,
        invariants: &Invariants,
        client: usize,
        may_begin: bool,
        out: &mut Vec<(Address, Message)>,
    ) -> Vec<Event> {
        let now_us = kernel.now_us();
        if self.dump.is_none() && may_begin && kernel.chance(1, SELDOM) {
            self.dump = Some(Dumping::begin(now_us, client, invariants));
        }
        let Some(dump) = self.dump.as_mut().filter(|dump| dump.client == client) else { return Vec::new() };
        if kernel.chance(1, STOPS) {
            dump.scanners += 1;
            dump.scanner = Dumping::scanner(client, dump.scanners, dump.bookmark.clone());
        }
        dump.scanner.tick(Now::at(now_us, unix(now_us)), out);
        std::iter::from_fn(|| dump.scanner.next_event()).collect()
    }

    /// What came of the dump of a client is judged, if it `is_judged`; and perhaps the dump is over.
    ///
    /// # Errors
    /// What came is not what was committed.
    pub fn take(
        &mut self,
        invariants: &Invariants,
        client: usize,
        events: Vec<Event>,
        is_judged: bool,
    ) -> Result<(), String> {
        let Some(dump) = self.dump.as_mut().filter(|dump| dump.client == client) else { return Ok(()) };
        for Event { what, bookmark } in events {
            dump.bookmark = bookmark;
            if let Some(cut) = dump.take(what) {
                self.intervals += 1;
                if is_judged {
                    dump.look_at_cut(invariants, &cut)?;
                }
            }
        }
        if dump.scanner.is_over() {
            self.dump = None;
            self.done += 1;
        }
        Ok(())
    }

    /// A message has come to a client, which perhaps dumps.
    pub fn receive(&mut self, now_us: u64, client: usize, message: &Message) {
        if let Some(dump) = self.dump.as_mut().filter(|dump| dump.client == client) {
            dump.scanner.receive(Now::at(now_us, unix(now_us)), message.clone());
        }
    }
}

/// Whether what came of a key is what was committed last of it.
fn check_key(
    cut: &Cut,
    key: &[u8],
    came: Option<&Kept>,
    (position, version): (&Position, &Option<Version>),
) -> Result<(), String> {
    let last = Kept { key: key.to_vec(), position: *position, version: version.clone() };
    let shown = |kept: &Kept| cut.shows(kept, &SECRET.position(key));
    let (expected, seen) = (Some(&last).filter(|last| shown(last)), came.filter(|came| shown(came)));
    if seen == expected { Ok(()) } else { Err(format!("is {seen:?} of {came:?}, not {expected:?} of {last:?}")) }
}
