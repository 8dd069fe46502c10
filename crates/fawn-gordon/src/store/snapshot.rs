//! What is counted at a moment of a trial.

use super::disk::DriveTraffic;
use super::store_run::StoreRun;
use crate::flash::usage::ArrayUsage;
use crate::ftl::translation::FtlCounts;
use crate::ftl::wear::WearSpread;

/// What is counted at a moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Of the array.
    pub usage: ArrayUsage,
    /// Of the FTL.
    pub ftl: FtlCounts,
    /// Of its blocks.
    pub wear: WearSpread,
    /// Of the host.
    pub traffic: DriveTraffic,
    /// Bytes that gets have read.
    pub get_bytes: u64,
    /// Of FAWN's store.
    pub store: Option<fawn_store::Stats>,
}

impl Snapshot {
    /// As of now.
    pub(super) fn of(run: &mut impl StoreRun) -> Self {
        let (get_bytes, store) = (run.get_bytes(), run.store_stats());
        run.look(|_, disk| {
            let translation = disk.device().translation();
            Self {
                usage: disk.device().array().usage(),
                ftl: translation.counts(),
                wear: translation.wear(),
                traffic: disk.traffic(),
                get_bytes,
                store,
            }
        })
    }
}
