//! By which times the store drops what has expired.

use super::Gate;
use super::images::{Image, Images};
use crate::ids::RangeId;
use fawn_ring::Interval;
use fawn_store::Store;
use std::collections::BTreeMap;

/// The ranges' times as they were at a tick.
///
/// No range may lose what has not expired by its own time; nor by one that a power failure could take back. So the store goes by
/// times that are durable, and by an earlier one as soon as a range has it.
#[derive(Debug, Default)]
pub(super) struct ExpiryTimes {
    noted: BTreeMap<RangeId, u32>,
    /// What has to be durable for them.
    gate: Gate,
}

impl ExpiryTimes {
    /// To be called about once a second: the new times, if those that were noted last are durable.
    pub(super) fn tick(&mut self, (durable, written): (Gate, Gate), images: &Images, store: &mut Store) {
        let times = (durable >= self.gate).then(|| {
            let times = self.of(images);
            self.noted = images.ranges.iter().map(|(range, image)| (*range, image.expiry_time())).collect();
            self.gate = written;
            times
        });
        store.replication().tick(times);
    }

    /// Ranges are others, or a range's time is an earlier one: what is written from now on is not dropped by a later one, until
    /// that is durable again.
    pub(super) fn judge(&mut self, images: &Images, store: &mut Store) {
        for (range, image) in &images.ranges {
            if let Some(noted) = self.noted.get_mut(range) {
                *noted = image.expiry_time().min(*noted);
            }
        }
        store.replication().judge_expiry(self.of(images));
    }

    fn of(&self, images: &Images) -> Vec<(Interval, u32)> {
        let time = |range, image: &Image| self.noted.get(range).map_or(0, |noted| image.expiry_time().min(*noted));
        images.ranges.iter().map(|(range, image)| (image.keys, time(range, image))).collect()
    }
}
