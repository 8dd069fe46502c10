//! What a trial came to.

use fawn_report::latency::Latencies;
use serde::Serialize;

use super::clients::ClientAnswers;
use super::settings::{DriveSettings, PAGE_BYTES, StoreDesign, StoreWorkload};
use super::snapshot::Snapshot;
use crate::flash::FlashDesign;
use crate::flash::usage::DiePower;
use crate::ftl::wear::{years_by_erases, years_by_tbw};

/// All that a trial has counted.
#[derive(Debug)]
pub struct TrialCounts {
    /// When the measurement began.
    pub before: Snapshot,
    /// When it ended.
    pub after: Snapshot,
    /// What clients were answered.
    pub answers: ClientAnswers,
    /// Bytes that the host sees of the drive.
    pub drive_bytes: u64,
    /// The array.
    pub flash: FlashDesign,
}

/// Latencies of one kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencyFigures {
    /// Operations.
    pub count: u64,
    /// Half take no longer.
    pub p50_us: f64,
    /// 99 % take no longer.
    pub p99_us: f64,
    /// 99.9 % take no longer.
    pub p999_us: f64,
    /// The longest.
    pub longest_us: f64,
}

impl LatencyFigures {
    fn of(latencies: &Latencies) -> Option<Self> {
        (latencies.count() > 0).then(|| Self {
            count: latencies.count(),
            p50_us: latencies.us(0.5),
            p99_us: latencies.us(0.99),
            p999_us: latencies.us(0.999),
            longest_us: latencies.longest_us(),
        })
    }
}

/// Bytes that FAWN's store wrote for each byte of user data, by what wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WrittenShares {
    /// The commit log.
    pub log: f64,
    /// Seals.
    pub sealed: f64,
    /// Merges.
    pub merged: f64,
    /// The rest: manifest, journal of the file system.
    pub other: f64,
}

/// What a trial came to. User bytes are those of keys and values in puts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoreResult {
    /// The store's name.
    pub store: &'static str,
    /// And its settings.
    pub design: StoreDesign,
    /// Of FAWN's store: whether every record is indexed or only a share of them.
    pub mode: Option<&'static str>,
    /// Of FAWN's store: DRAM of its index for each record.
    pub index_bytes_per_record: Option<f64>,
    /// Whether freed space is trimmed.
    pub trim: bool,
    /// Spare factor.
    pub spare_factor: f64,
    /// Bytes that the host sees.
    pub drive_bytes: u64,
    /// Bytes of all records, each once, of the drive's.
    pub fill: f64,
    /// Bytes that users put while it was measured.
    pub user_bytes: u64,
    /// Bytes that the host wrote for each of them.
    pub store_amplification: f64,
    /// Bytes programmed in flash for each that the host wrote.
    pub ftl_amplification: f64,
    /// Bytes programmed in flash for each user byte: the product.
    pub amplification: f64,
    /// Of FAWN's store: what wrote them.
    pub written: Option<WrittenShares>,
    /// Erases of a block on average while it was measured.
    pub erases: f64,
    /// The most erases of a block less the least, at the end.
    pub erase_spread: u32,
    /// Latencies of gets; none if there were none.
    pub gets: Option<LatencyFigures>,
    /// Latencies of puts; none if there were none.
    pub puts: Option<LatencyFigures>,
    /// Operations a second.
    pub operations_per_s: f64,
    /// Pages of 4 KiB that gets read, for each get.
    pub pages_per_get: Option<f64>,
    /// Modelled energy of the dies' cells for a get.
    pub get_j: Option<f64>,
    /// The same for a put, with all writing that it causes.
    pub put_j: Option<f64>,
    /// Modelled power of all dies at rest, which comes on top.
    pub idle_w: f64,
    /// Simulated time of the measurement.
    pub simulated_s: f64,
}

/// Years that a drive lasts under a rate of puts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DriveYears {
    /// Puts a second.
    pub puts_per_s: f64,
    /// Until rated erases are used up, of a drive of the preset's full size; `None` where the rating is not known.
    pub by_erases: Option<f64>,
    /// Until the rating in bytes is used up; `None` where it is not known.
    pub by_tbw: Option<f64>,
}

impl StoreResult {
    pub(super) fn of(
        workload: &StoreWorkload,
        drive: &DriveSettings,
        design: StoreDesign,
        measured: &TrialCounts,
    ) -> Self {
        let TrialCounts { before, after, answers, drive_bytes, flash } = measured;
        let (puts, gets) = (answers.puts.count(), answers.gets.count());
        let user_bytes = puts * workload.user_bytes();
        let host = (after.traffic.written_bytes - before.traffic.written_bytes) as f64;
        let page_bytes = f64::from(flash.geometry.page_bytes) * f64::from(flash.geometry.planes_per_die);
        let programmed = after.ftl.programmed() - before.ftl.programmed();
        let flash_bytes = programmed as f64 * page_bytes;
        let per_user = |bytes: f64| if user_bytes == 0 { 0.0 } else { bytes / user_bytes as f64 };
        let elapsed = (after.usage.elapsed - before.usage.elapsed).seconds();
        let power = DiePower::GORDON_SLC;
        let busy_s = |it: &Snapshot| it.usage.die_busy.iter().map(|time| time.seconds()).sum::<f64>();
        let busy_j = (busy_s(after) - busy_s(before)) * (power.active_w - power.idle_w);
        let get_bytes = (after.get_bytes - before.get_bytes) as f64;
        let get_pages = get_bytes / PAGE_BYTES as f64;
        let reads = &flash.cells.reads;
        let read_s = reads.iter().map(|time| time.seconds()).sum::<f64>() / reads.len() as f64;
        let get_j = get_pages * read_s * (power.active_w - power.idle_w);
        let each = |joules: f64, count: u64| (count > 0).then(|| joules.max(0.0) / count as f64);
        let written = after.store.as_ref().zip(before.store.as_ref()).map(|(after, before)| {
            let written = after.writes.written.since(&before.writes.written);
            let known = (written.log + written.sealed + written.merged) as f64;
            WrittenShares {
                log: per_user(written.log as f64),
                sealed: per_user(written.sealed as f64),
                merged: per_user(written.merged as f64),
                other: per_user((host - known).max(0.0)),
            }
        });
        Self {
            store: design.name(),
            design,
            mode: after.store.as_ref().map(|store| if store.index.draining { "drained" } else { "indexed" }),
            index_bytes_per_record: after
                .store
                .as_ref()
                .map(|store| store.index.bytes as f64 / workload.records as f64),
            trim: drive.trim,
            spare_factor: drive.spare_factor,
            drive_bytes: *drive_bytes,
            fill: workload.live_bytes() as f64 / *drive_bytes as f64,
            user_bytes,
            store_amplification: per_user(host),
            ftl_amplification: if host > 0.0 { flash_bytes / host } else { 0.0 },
            amplification: per_user(flash_bytes),
            written,
            erases: after.wear.mean - before.wear.mean,
            erase_spread: after.wear.most - after.wear.least,
            gets: LatencyFigures::of(&answers.gets),
            puts: LatencyFigures::of(&answers.puts),
            operations_per_s: (puts + gets) as f64 / elapsed,
            pages_per_get: (gets > 0).then(|| get_pages / gets as f64),
            get_j: each(get_j, gets),
            put_j: each(busy_j - get_j, puts),
            idle_w: f64::from(flash.geometry.dies()) * power.idle_w,
            simulated_s: elapsed,
        }
    }

    /// Years at so many puts a second, of a drive of the preset's full size, and of one with this rating.
    pub fn years(
        &self,
        workload: &StoreWorkload,
        drive: &DriveSettings,
        puts_per_s: f64,
        tbw: Option<f64>,
    ) -> DriveYears {
        let rate = puts_per_s * workload.user_bytes() as f64;
        let raw = drive.preset.design.geometry.bytes() as f64;
        let is_known = self.amplification > 0.0;
        DriveYears {
            puts_per_s,
            by_erases: drive
                .rated_erases
                .filter(|_| is_known)
                .map(|rated| years_by_erases(raw, rated, rate, self.amplification)),
            by_tbw: tbw.filter(|_| is_known).map(|tbw| years_by_tbw(tbw, rate, self.amplification)),
        }
    }
}
