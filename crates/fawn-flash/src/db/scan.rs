//! Everything there is, in the order of the keys' positions.

use std::collections::VecDeque;
use std::sync::Arc;

use fawn_ring::Interval;
use fawn_store::Losses;
use fawn_store::record::{Kind, Record};
use fawn_store::work::ScanPart;

use super::error::Error;
use super::inner::DbInner;
use super::shard::{PATIENCE, Shard};
use super::types::StoredItem;
use crate::os::clock;

/// Bytes of records fetched at once.
const PART_BYTES: usize = 1 << 20;

/// An iterator over all live keys and values; see [`Db::scan`](super::Db::scan). It ends after an error other than [`Error::Lost`].
pub struct DbScan(Items);

impl DbScan {
    pub(super) fn new(db: Arc<DbInner>) -> Self {
        Self(Items::new(db))
    }
}

impl Iterator for DbScan {
    type Item = Result<(Vec<u8>, Vec<u8>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map(|(key, item)| (key, item.value)))
    }
}

/// An iterator over all live keys with all that is known of them; see [`Db::scan_items`](super::Db::scan_items). It ends after an
/// error other than [`Error::Lost`].
pub struct Items {
    db: Arc<DbInner>,
    /// The shard that is being read.
    shard: usize,
    /// What is left of it; `None` before it is begun.
    left: Option<Interval>,
    ready: VecDeque<Result<(Vec<u8>, StoredItem), Error>>,
    failed: bool,
}

impl Items {
    pub(super) fn new(db: Arc<DbInner>) -> Self {
        Self { db, shard: 0, left: None, ready: VecDeque::new(), failed: false }
    }

    /// Fetches the next part that is not empty; none when all is read.
    fn fill(&mut self) -> Result<(), Error> {
        while self.ready.is_empty() {
            let Some(shard) = self.db.shards.get(self.shard) else {
                return Ok(());
            };
            let interval = if let Some(left) = self.left {
                left
            } else {
                shard.sync_by_seal()?;
                shard.lock().store.options().interval
            };
            let part = shard.scan_part(interval)?;
            self.left = part.next.map(|next| Interval::new(next, interval.high));
            self.shard += usize::from(self.left.is_none());
            self.unpack(&part)?;
        }
        Ok(())
    }

    fn unpack(&mut self, part: &ScanPart) -> Result<(), Error> {
        let mut bytes = &part.records[..];
        while !bytes.is_empty() {
            let record = Record::decode_trusted(bytes).expect("a scan gives whole records");
            bytes = &bytes[record.encoded_len()..];
            let item = match record.kind {
                Kind::Value => Some(StoredItem::of(&record)),
                // The value's file may be gone already: ask for what is there now.
                Kind::Stub => match self.db.get(record.key, StoredItem::of) {
                    Ok(item) => item,
                    Err(Error::Damage(damage)) => {
                        self.ready.push_back(Err(Error::Lost(Losses { records: 1, damage })));
                        None
                    }
                    Err(error) => return Err(error),
                },
                Kind::Delete | Kind::Lost => None,
            };
            self.ready.extend(item.map(|item| Ok((record.key.to_vec(), item))));
        }
        self.ready.extend(part.lost.clone().map(|lost| Err(lost.into())));
        Ok(())
    }
}

impl Iterator for Items {
    type Item = Result<(Vec<u8>, StoredItem), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        if let Err(error) = self.fill() {
            self.failed = true;
            return Some(Err(error));
        }
        self.ready.pop_front()
    }
}

impl Shard {
    /// The next records from the start of `interval`.
    fn scan_part(&self, interval: Interval) -> Result<ScanPart, Error> {
        let mut core = self.open_core()?;
        let id = core.store.scan(interval, PART_BYTES, clock::unix());
        core.hand_out();
        drop(core);
        loop {
            let heard = self.events.listen();
            if let Some(part) = self.open_core()?.scanned.remove(&id) {
                return match part.error {
                    Some(why) => Err(Error::Flash(fawn_store::flash::FlashError::Io(why))),
                    None => Ok(part),
                };
            }
            self.check()?;
            self.events.wait(heard, Some(PATIENCE));
        }
    }
}
