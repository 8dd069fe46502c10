//! Gets in flight, each verified.

use std::time::Instant;

use fawn_report::{ByTime, Latencies};
use fawn_ring::Key;
use fawn_store::flash::FlashError;
use fawn_store::page::Page;
use fawn_store::{FinishedRead, Lookup, Read, Store};
use fawn_workload::{KEY_BYTES, WriteHistory, key_of, version_of};

use crate::driver::StoreDriver;
use crate::error::Error;

/// Gets that are looked up together, what they touch fetched ahead.
pub const GROUP: usize = Store::PREFETCH_KEYS;

/// One get.
struct GetSlot {
    index: u64,
    name: [u8; KEY_BYTES],
    key: Key,
    /// The oldest version that it may find.
    least: Option<u32>,
    begun: Instant,
    read: Option<Read>,
}

/// Gets under way and those that were answered.
pub struct Lookups {
    value_bytes: usize,
    slots: Vec<Option<GetSlot>>,
    free: Vec<u32>,
    /// Reads to be started that follow from others.
    again: Vec<u32>,
    /// Gets that wait for their index to be loaded.
    parked: Vec<u32>,
    /// Gets that were answered.
    pub answered: u64,
    /// Of these, those that needed no read.
    pub from_dram: u64,
    /// How long they took.
    pub latencies: Latencies,
    /// The same by time.
    pub by_time: Option<(Instant, ByTime)>,
}

impl Lookups {
    /// None yet, of values of `value_bytes`.
    pub fn new(value_bytes: usize) -> Self {
        Self {
            value_bytes,
            slots: Vec::new(),
            free: Vec::new(),
            again: Vec::new(),
            parked: Vec::new(),
            answered: 0,
            from_dram: 0,
            latencies: Latencies::default(),
            by_time: None,
        }
    }

    /// Gets under way.
    #[inline]
    pub fn under_way(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Begins gets of entries, up to [`GROUP`] of them, each with the time from which on it counts.
    ///
    /// # Errors
    /// [`Error::Wrong`], [`Error::Damage`].
    pub fn ask(
        &mut self,
        driver: &mut StoreDriver,
        history: &WriteHistory,
        gets: &[(u64, Instant)],
    ) -> Result<(), Error> {
        let mut names = [[0; KEY_BYTES]; GROUP];
        let mut keys = [Key::MIN; GROUP];
        for (at, (index, _)) in gets.iter().enumerate() {
            names[at] = key_of(*index);
            keys[at] = driver.secret().position(&names[at]);
        }
        if gets.len() > 1 {
            driver.store().prefetch(&keys[..gets.len()]);
        }
        let before = self.answered;
        let mut begun = [None; GROUP];
        for (at, &(index, since)) in gets.iter().enumerate() {
            let slot = GetSlot {
                index,
                name: names[at],
                key: keys[at],
                least: history.least(index),
                begun: since,
                read: None,
            };
            if self.look_up(driver, history, slot, None)? {
                begun[at] = Some(since);
            }
        }
        if self.answered > before {
            self.from_dram += self.answered - before;
            let now = Instant::now();
            begun.into_iter().flatten().for_each(|since| self.timed(since, now));
        }
        Ok(())
    }

    /// Looks one up, anew where it stands in a place already; whether it was answered at once.
    #[inline]
    fn look_up(
        &mut self,
        driver: &mut StoreDriver,
        history: &WriteHistory,
        mut slot: GetSlot,
        place: Option<u32>,
    ) -> Result<bool, Error> {
        let unix = driver.unix;
        let (store, reader) = driver.halves();
        let found = match store.lookup(&slot.key, &slot.name, unix) {
            Lookup::Found { record, .. } => Some(record.value),
            Lookup::Absent { .. } => None,
            Lookup::Damaged(damage) => return Err(damage.into()),
            Lookup::Read(read) => {
                let place = self.place(place);
                reader.push(u64::from(place), read.file, read.first, read.count);
                slot.read = Some(read);
                self.slots[place as usize] = Some(slot);
                return Ok(false);
            }
            Lookup::Loading => {
                let place = self.place(place);
                self.slots[place as usize] = Some(slot);
                self.parked.push(place);
                return Ok(false);
            }
        };
        judge(history, self.value_bytes, &slot, found)?;
        self.answered += 1;
        self.free.extend(place);
        Ok(true)
    }

    fn place(&mut self, place: Option<u32>) -> u32 {
        place.or_else(|| self.free.pop()).unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        })
    }

    /// Looks those up again that waited for their index.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn retry(&mut self, driver: &mut StoreDriver, history: &WriteHistory) -> Result<(), Error> {
        for place in std::mem::take(&mut self.parked) {
            let slot = self.slots[place as usize].take().expect("what is parked is under way");
            let begun = slot.begun;
            if self.look_up(driver, history, slot, Some(place))? {
                self.timed(begun, Instant::now());
            }
        }
        Ok(())
    }

    /// Takes the reads that have come back, or `most` of them (see [`Reader::take`](fawn_flash::Reader::take)); how many gets
    /// they answered.
    ///
    /// # Errors
    /// [`Error::Wrong`], [`Error::Damage`], [`Error::Flash`].
    pub fn take(
        &mut self,
        driver: &mut StoreDriver,
        history: &WriteHistory,
        most: Option<usize>,
    ) -> Result<u64, Error> {
        let before = self.answered;
        let (unix, now) = (driver.unix, Instant::now());
        let (store, reader) = driver.halves();
        let mut failed: Option<Error> = None;
        let came = |token: u64, pages: Result<&mut [Page], FlashError>| {
            let place = token as usize;
            let slot = self.slots[place].as_mut().expect("what comes back is under way");
            let read = slot.read.take().expect("a read comes back once");
            let result = match pages {
                Err(error) => {
                    store.abandon(read);
                    Err(error.into())
                }
                Ok(pages) => match store.finish(read, pages, &slot.key, &slot.name, unix) {
                    FinishedRead::Found(record) => judge(history, self.value_bytes, slot, Some(record.value)),
                    FinishedRead::Absent { .. } => judge(history, self.value_bytes, slot, None),
                    FinishedRead::Damaged(damage) => Err(damage.into()),
                    FinishedRead::Read(next) => {
                        slot.read = Some(next);
                        self.again.push(token as u32);
                        return;
                    }
                },
            };
            let latency = now.saturating_duration_since(slot.begun);
            self.slots[place] = None;
            self.free.push(token as u32);
            match result {
                Ok(()) => {
                    self.answered += 1;
                    self.latencies.add(latency);
                    if let Some((began, by_time)) = &mut self.by_time {
                        by_time.add(now.saturating_duration_since(*began), latency);
                    }
                }
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
        };
        match most {
            Some(most) => reader.take(most, came)?,
            None => reader.complete(came)?,
        };
        for place in self.again.drain(..) {
            let read = self.slots[place as usize].as_ref().and_then(|slot| slot.read.as_ref());
            let read = read.expect("what is read again is under way");
            reader.push(u64::from(place), read.file, read.first, read.count);
        }
        failed.map_or(Ok(self.answered - before), Err)
    }

    #[inline]
    fn timed(&mut self, begun: Instant, now: Instant) {
        let latency = now.saturating_duration_since(begun);
        self.latencies.add(latency);
        if let Some((began, by_time)) = &mut self.by_time {
            by_time.add(now.saturating_duration_since(*began), latency);
        }
    }
}

/// Whether this is what the get must find.
#[inline]
fn judge(history: &WriteHistory, value_bytes: usize, slot: &GetSlot, value: Option<&[u8]>) -> Result<(), Error> {
    let version = value.and_then(|value| version_of(slot.index, value).filter(|_| value.len() == value_bytes));
    let is_sound = version.is_some() == value.is_some();
    if is_sound && history.admits(slot.index, slot.least, version) {
        return Ok(());
    }
    Err(wrong(slot, value, version))
}

#[cold]
fn wrong(slot: &GetSlot, value: Option<&[u8]>, version: Option<u32>) -> Error {
    let found = match (value, version) {
        (None, _) => "nothing".to_owned(),
        (Some(_), Some(version)) => format!("version {version}"),
        (Some(value), None) => format!("{} bytes that were never put", value.len()),
    };
    let expected = match slot.least {
        None => "nothing was put".to_owned(),
        Some(version) => format!("version {version} was put last"),
    };
    Error::Wrong { index: slot.index, found, expected }
}
