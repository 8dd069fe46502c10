//! What a store is asked for beside gets and changes: seals, merges, ranges, scans.

use std::collections::BTreeMap;

use fawn_ring::{Interval, Key};
use fawn_store::Refusal;
use fawn_store::record::Record;

use super::machine::{Machine, OracleItems};
use super::oracle::OracleItem;

impl Machine {
    /// Freezes the open segment and has it sealed.
    ///
    /// # Errors
    /// The store's, but never [`Refusal::Busy`].
    pub fn seal(&mut self) -> Result<(), Refusal> {
        self.wait_out_busy(|machine| machine.program.store.seal())
    }

    /// Asks for a merge of every slice and waits until all are merged; false when the store stops or the device crashes
    /// first.
    pub fn compact_and_wait(&mut self) -> bool {
        self.program.store.compact();
        self.turn_until(|machine| !machine.program.store.upkeep().is_cleaning())
    }

    /// Cuts the range that holds the position of `name` after it.
    pub fn split_range(&mut self, name: &[u8]) {
        let at = self.program.store.options().secret.position(name);
        self.program.store.split_range(at);
    }

    /// Joins some range to the next one, if there are two that were flushed together.
    pub fn merge_some_ranges(&mut self) {
        let ranges: Vec<Interval> = self.program.store.ranges().intervals().collect();
        if ranges.len() > 1 {
            let chosen = self.random.below(ranges.len() as u64 - 1) as usize;
            match self.program.store.merge_ranges(ranges[chosen].high) {
                Ok(()) | Err(Refusal::FlushedApart) => {}
                Err(refusal) => panic!("ranges are joined or were flushed apart: {refusal}"),
            }
        }
    }

    /// Reads everything in `interval` in key order, about `max_bytes` at a time. With no change under way the answer is
    /// checked: exactly what is alive. `None` when the device crashed first.
    ///
    /// # Errors
    /// Why the scan cannot go on.
    pub fn scan(&mut self, interval: Interval, max_bytes: usize) -> Result<Option<OracleItems>, String> {
        let began = self.now();
        if let Err(refusal) = self.seal() {
            return if self.is_down() { Ok(None) } else { Err(refusal.to_string()) };
        }
        let (mut found, mut from) = (Vec::new(), interval);
        loop {
            let id = self.program.store.scan(from, max_bytes, self.now());
            let mut part = None;
            let arrived = self.turn_until(|machine| {
                part = part.take().or_else(|| machine.program.store.reports().take_scanned());
                part.is_some()
            });
            if !arrived {
                return Ok(None);
            }
            let part = part.expect("it has arrived");
            assert_eq!(part.id, id, "scans answer in the order they were asked");
            if let Some(error) = part.error {
                return Err(error);
            }
            if let Some(lost) = part.lost {
                return Err(lost.to_string());
            }
            let mut bytes = &part.records[..];
            while !bytes.is_empty() {
                let (record, len) = Record::decode(bytes).expect("a scan gives whole records");
                match self.program.item(&record) {
                    Ok(Some(item)) => found.push((record.key.to_vec(), item)),
                    Ok(None) => return Err(format!("the value file of {:?} is gone", record.key)),
                    Err(failure) => return Err(format!("{failure:?}")),
                }
                bytes = &bytes[len..];
            }
            match part.next {
                Some(next) => from = Interval::new(next, interval.high),
                None => break,
            }
        }
        check_scan(self, interval, began, &found);
        Ok(Some(found))
    }
}

/// A scan that began at a second has found exactly what is alive.
fn check_scan(machine: &Machine, interval: Interval, began: u32, found: &[(Vec<u8>, OracleItem)]) {
    let secret = machine.program.store.options().secret;
    let positions: Vec<Key> = found.iter().map(|(name, _)| secret.position(name)).collect();
    assert!(positions.is_sorted(), "a scan is in key order");
    let by_name: BTreeMap<&[u8], &OracleItem> = found.iter().map(|(name, item)| (&**name, item)).collect();
    assert_eq!(by_name.len(), found.len(), "a scan gives each key once");
    let inside = |name: &[u8]| interval.contains(&secret.position(name));
    for (name, item) in &by_name {
        assert!(inside(name), "a scan stays in its interval");
        let alive = machine.history.oracle.get(name, began);
        assert_eq!(alive, Some(*item), "a scan gives only what is alive: {:?}", String::from_utf8_lossy(name));
    }
    for (name, item) in machine.history.oracle.alive(machine.now()).iter().filter(|(name, _)| inside(name)) {
        assert!(by_name.contains_key(&**name), "a scan misses {:?}, {item:?}", String::from_utf8_lossy(name));
    }
}
