//! Clients dump the cluster now and then, one at a time. Whatever comes of a stretch of keys is exactly what was committed of
//! them up to the record that it is said to be as of, and nothing is missing that was committed anywhere before it began.

use std::collections::BTreeMap;

use fawn_kv::ids::{Address, Asker, Position};
use fawn_kv::range::entry::{Kept, Version};
use fawn_kv::scan::{Bookmark, Cut, Event, Limits, Scanner, What};
use fawn_kv::timing::Now;
use fawn_kv::wire::Message;
use fawn_ring::Interval;

use super::store::SECRET;
use super::world::{Party, World};

/// One of so many ticks of a client begins a dump, if there is none.
const SELDOM: u64 = 150;

/// One of so many ticks stops it, to go on from its bookmark.
const STOPS: u64 = 100;

/// A dump under way.
#[derive(Debug)]
pub(super) struct Dumping {
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
    fn scanner(client: usize, number: u64, bookmark: Bookmark) -> Scanner {
        let asker = Asker { address: Address::Client(client as u32), tag: number };
        let limits = Limits { retry_us: 300_000, elsewhere_us: 20_000, ..Limits::default() };
        Scanner::new(asker, limits, bookmark)
    }
}

impl World {
    /// Time has passed at a client, which perhaps dumps.
    pub(super) fn tick_dump(&mut self, number: usize) -> Result<(), String> {
        if self.dump.is_none() && !self.healing && self.looks && self.chance(1, SELDOM) {
            self.begin_dump(number);
        }
        let now = Now::at(self.now_us, self.unix());
        let stops = self.dump.as_ref().is_some_and(|dump| dump.client == number) && self.chance(1, STOPS);
        let Some(dump) = self.dump.as_mut().filter(|dump| dump.client == number) else { return Ok(()) };
        if stops {
            dump.scanners += 1;
            dump.scanner = Dumping::scanner(number, dump.scanners, dump.bookmark.clone());
        }
        let mut out = Vec::new();
        dump.scanner.tick(now, &mut out);
        let events: Vec<Event> = std::iter::from_fn(|| dump.scanner.next_event()).collect();
        let is_over = dump.scanner.is_over();
        for (to, message) in out {
            self.send(Party::Client(number), to, &message);
        }
        for event in events {
            self.dumped(event)?;
        }
        if is_over {
            self.dump = None;
            self.summary.dumps += 1;
        }
        Ok(())
    }

    fn begin_dump(&mut self, client: usize) {
        let newest = |(key, versions): (&Vec<u8>, &BTreeMap<Position, _>)| {
            versions.last_key_value().map(|(position, _)| (key.clone(), *position))
        };
        let floor = self.invariants.versions().iter().filter_map(newest).collect();
        let bookmark = Bookmark::new(Interval::ALL);
        let scanners = self.now_us << 8;
        let scanner = Dumping::scanner(client, scanners, bookmark.clone());
        self.dump = Some(Dumping { client, scanner, bookmark, floor, came: BTreeMap::new(), scanners });
    }

    /// A message has come to a client, which perhaps dumps.
    pub(super) fn tell_dump(&mut self, number: usize, message: &Message) {
        let now = Now::at(self.now_us, self.unix());
        if let Some(dump) = self.dump.as_mut().filter(|dump| dump.client == number) {
            dump.scanner.receive(now, message.clone());
        }
    }

    /// Something has come of it.
    fn dumped(&mut self, Event { what, bookmark }: Event) -> Result<(), String> {
        let Some(dump) = &mut self.dump else { return Ok(()) };
        dump.bookmark = bookmark;
        match what {
            What::Part(kept) | What::Records(kept) => {
                for kept in kept {
                    let known = dump.came.get(&kept.key).is_some_and(|known| known.position > kept.position);
                    if !known {
                        dump.came.insert(kept.key.clone(), kept);
                    }
                }
                Ok(())
            }
            What::Anew(keys) => {
                dump.came.retain(|key, _| !keys.contains(&SECRET.position(key)));
                Ok(())
            }
            What::Over(cut) => {
                self.summary.stretches += 1;
                // Of a weak cluster no log is all members'; and what was lost may be in what came before.
                if self.weak.is_none() && self.summary.losses == 0 { self.look_at_cut(&cut) } else { Ok(()) }
            }
        }
    }

    fn look_at_cut(&self, cut: &Cut) -> Result<(), String> {
        let Some(dump) = &self.dump else { return Ok(()) };
        for (key, versions) in self.invariants.versions() {
            let lies = SECRET.position(key);
            if !cut.keys.contains(&lies) {
                continue;
            }
            let text = String::from_utf8_lossy(key);
            if let Some(floor) = dump.floor.get(key).filter(|floor| **floor > cut.at) {
                return Err(format!("a dump of {cut:?} lacks {floor:?} of {text}, from before it began"));
            }
            let came = dump.came.get(key);
            if let Some(came) = came.filter(|came| came.position > cut.at) {
                return Err(format!("a dump of {cut:?} has {came:?} of {text}, which is newer"));
            }
            // What a store had before it was part of a cluster is not known here.
            let Some(expected) = versions.range(..=cut.at).next_back() else { continue };
            // Nor is whether what was written as its range came to its end was committed, which is done in the same step.
            let written = self.invariants.written(key).and_then(|written| written.range(..=cut.at).next_back());
            if written.is_some_and(|written| written > expected.0) {
                continue;
            }
            check_key(cut, key, came, expected).map_err(|why| format!("a dump of {cut:?}: {text} {why}"))?;
        }
        Ok(())
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
