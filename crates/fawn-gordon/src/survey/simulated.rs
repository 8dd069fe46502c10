//! Storage of the paper's designs as the simulators of this crate rate it, and the paper's Figures 4 and 5.
//!
//! The paper takes bandwidth and latency of flash and disk from its simulators, which process traces of the workloads (§5.3).
//! The traces are lost. Their pattern is known (§4.2.2): 8 KB at a multiple of 128 KB, then the other 120 KB. So the rates
//! here are of that pattern, with regions drawn at random, and of large transfers in order.

use serde::Serialize;

use super::paper;
use super::space::DesignSpace;
use crate::disk::{ClosedReplay, DiskDevice, DiskModel, DiskRequest, presets};
use crate::flash::presets::{GordonCells, gordon};
use crate::ftl::warm_up::{WarmUp, settle};
use crate::ftl::{ArrivalMode, Device, FtlError, FtlSettings, HostKind, HostRequest, Stripe};
use crate::node::workloads::{BYTES_PER_ACCESS, TABLE_2};
use crate::node::{AccessRate, NodeStorage};
use crate::time::SimTime;
use crate::trace::{Access, AddressPattern, Arrivals, BlockRequest, TracePattern};

const KIB: u64 = 1024;

/// Blocks per plane of the simulated array: bandwidth does not depend on their number.
const BLOCKS_PER_PLANE: u32 = 32;

/// Share of the simulated array that is spare. The paper does not say; with so few blocks less would leave none to clean.
const SPARE_SHARE: f64 = 0.25;

/// Bytes of a transfer that is large for every super-page.
const LARGE_BYTES: u64 = 256 * KIB;

/// Bytes that a point of Figures 4 and 5 moves.
const FIGURE_BYTES: u64 = 64 << 20;

/// Bytes that a measurement of the disk's pattern moves.
const DISK_BYTES: u64 = 256 << 20;

/// Commands that the disk has at a time (§5.3: SATA II).
const DISK_QUEUE: usize = 32;

/// Super-pages that Figures 4 and 5 go through, in KiB.
pub const SUPER_PAGES_KIB: [u32; 6] = [8, 16, 32, 64, 128, 256];

/// The paper's array with super-pages of so many KiB, filled once: striped over up to four buses, then over dies.
fn array(page_kib: u32, joins: bool) -> Result<Device, FtlError> {
    let mut design = gordon(GordonCells::Slc, 133.0);
    design.geometry.blocks_per_plane = BLOCKS_PER_PLANE;
    let dies = page_kib / 4;
    let settings = FtlSettings {
        stripe: Stripe { buses: dies.min(4), dies: (dies / 4).max(1), planes: 2 },
        spare_factor: SPARE_SHARE,
        read_bypass: joins,
        write_combining: joins,
        ..FtlSettings::gordon()
    };
    let mut device = Device::new(&design, settings, false)?;
    settle(&mut device, WarmUp::Sequential, 1)?;
    Ok(device)
}

/// Bytes per second of a pattern of so many bytes on an array, as fast as it takes them.
fn flash_rate(page_kib: u32, joins: bool, pattern: &AccessPattern, bytes: u64) -> Result<f64, FtlError> {
    let mut device = array(page_kib, joins)?;
    let trace = pattern.of(device.bytes(), bytes.min(device.bytes())).trace().expect("the pattern fits the array");
    let report = device.run(trace.map(host_request), ArrivalMode::Saturated, |_| {})?;
    Ok(report.bytes_per_second())
}

fn host_request(request: BlockRequest) -> HostRequest {
    let kind = if request.access == Access::Read { HostKind::Read } else { HostKind::Write };
    HostRequest { at: SimTime::ZERO, kind, offset: request.offset, bytes: request.bytes, stamp: 0 }
}

/// Accesses, and how many of their bytes are read.
struct AccessPattern {
    addresses: AddressPattern,
    access_bytes: u64,
    read_share: f64,
}

impl AccessPattern {
    /// The applications' pairs of 8 and 120 KB.
    fn pairs(read_share: f64) -> Self {
        let addresses = AddressPattern::Pairs { is_sequential: false };
        Self { addresses, access_bytes: BYTES_PER_ACCESS as u64, read_share }
    }

    /// Transfers of so many bytes, one after the other or anywhere.
    fn transfers(bytes: u64, is_sequential: bool, read_share: f64) -> Self {
        let anywhere = AddressPattern::Uniform { least_bytes: bytes, most_bytes: bytes };
        let addresses = if is_sequential { AddressPattern::Sequential { bytes } } else { anywhere };
        Self { addresses, access_bytes: bytes, read_share }
    }

    /// So many bytes of it on a device.
    fn of(&self, capacity_bytes: u64, bytes: u64) -> TracePattern {
        let (addresses, read_share, requests) = (self.addresses, self.read_share, bytes / self.access_bytes);
        TracePattern { addresses, arrivals: Arrivals::Together, read_share, capacity_bytes, requests, seed: 4 }
    }
}

/// A rate from that of large transfers and that of the applications' pattern: what the latter lacks is its accesses'.
fn access_rate(large: f64, of_pattern: f64) -> AccessRate {
    let seconds = BYTES_PER_ACCESS / of_pattern - BYTES_PER_ACCESS / large;
    AccessRate { bytes_per_second: large, seconds_per_access: seconds.max(0.0) }
}

/// The paper's array with 64 KB super-pages, bypass and write combining (§4.2), at the rates of its simulator.
///
/// # Errors
/// The simulated array is worn out, which takes far more writes.
pub fn flash() -> Result<NodeStorage, FtlError> {
    // As many bytes as there are, so that erases count as they do in the long run.
    let rate = |read_share| -> Result<AccessRate, FtlError> {
        let large = AccessPattern::transfers(LARGE_BYTES, true, read_share);
        let (large, pairs) = (flash_rate(64, true, &large, u64::MAX)?, AccessPattern::pairs(read_share));
        Ok(access_rate(large, flash_rate(64, true, &pairs, u64::MAX)?))
    };
    Ok(NodeStorage { read: rate(1.0)?, write: rate(0.0)?, ..paper::flash() })
}

/// The paper's disk of 1 TB, at the rates of its simulator. Large transfers are at eight places from the outer to the inner
/// edge, and the pattern's regions anywhere.
pub fn disk() -> NodeStorage {
    let model = presets::sata_1tb_2008();
    let rate = |access| access_rate(disk_rate(&model, large_runs(access)), disk_rate(&model, random_pairs(access)));
    NodeStorage { read: rate(Access::Read), write: rate(Access::Write), ..paper::disk() }
}

/// Runs of 32 transfers of 1 MiB, at eight places of a disk of so many bytes.
fn large_runs(access: Access) -> impl Fn(u64) -> Vec<BlockRequest> {
    const MIB: u64 = 1 << 20;
    move |bytes| {
        let places = (0..8).flat_map(|place| (0..32).map(move |at| bytes / 8 * place / MIB * MIB + at * MIB));
        places.map(|offset| block_request(access, offset, MIB)).collect()
    }
}

fn random_pairs(access: Access) -> impl Fn(u64) -> Vec<BlockRequest> {
    move |bytes| {
        let pairs = AccessPattern::pairs(f64::from(u8::from(access == Access::Read)));
        pairs.of(bytes, DISK_BYTES).trace().expect("the pattern fits the disk").collect()
    }
}

fn block_request(access: Access, offset: u64, bytes: u64) -> BlockRequest {
    BlockRequest { time_ns: 0, device: 0, access, offset, bytes, response_ns: None }
}

/// Bytes per second of requests on a disk, with a full queue. The time ends when all is on the platters.
fn disk_rate(model: &DiskModel, requests: impl Fn(u64) -> Vec<BlockRequest>) -> f64 {
    let mut disk = DiskDevice::new(model).expect("presets can be simulated");
    let sectors = disk.sectors();
    let mut requests = requests(sectors * crate::trace::SECTOR_BYTES);
    let bytes: u64 = requests.iter().map(|request| request.bytes).sum();
    requests.push(block_request(Access::Flush, 0, 0));
    let requests = requests.iter().zip(0..).filter_map(|(request, id)| DiskRequest::fitted(request, id, sectors));
    let mut last_ns = 0;
    for completion in ClosedReplay::new(&mut disk, requests, DISK_QUEUE) {
        last_ns = completion.expect("requests are in order and on the disk").finish_ns;
    }
    bytes as f64 / (last_ns as f64 / 1e9)
}

/// Table 5 with the simulated rates.
///
/// # Errors
/// As for [`flash`].
pub fn space() -> Result<DesignSpace, FtlError> {
    let mut space = paper::space_with(flash()?, disk());
    space.notes.push("flash and disk at the rates that simulators give for pairs of 8 and 120 KB".to_owned());
    Ok(space)
}

/// A point of Figure 4: bandwidth of the array by super-page and transfer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure4Row {
    /// KiB of a super-page.
    pub page_kib: u32,
    /// KiB of a transfer.
    pub transfer_kib: u32,
    /// Whether transfers follow each other; if not, they are anywhere.
    pub is_sequential: bool,
    /// Whether reads are bypassed and writes combined.
    pub joins: bool,
    /// Megabytes read per second.
    pub read_mb_per_second: f64,
    /// Megabytes written.
    pub write_mb_per_second: f64,
}

/// Figure 4 for super-pages and transfers of these sizes.
///
/// # Errors
/// As for [`flash`].
pub fn figure_4(pages_kib: &[u32], transfers_kib: &[u32]) -> Result<Vec<Figure4Row>, FtlError> {
    let mut rows = Vec::new();
    for &page_kib in pages_kib {
        for &transfer_kib in transfers_kib {
            for (is_sequential, joins) in [(true, false), (true, true), (false, false), (false, true)] {
                let rate = |read_share| -> Result<f64, FtlError> {
                    let bytes = u64::from(transfer_kib) * KIB;
                    let transfers = AccessPattern::transfers(bytes, is_sequential, read_share);
                    Ok(flash_rate(page_kib, joins, &transfers, FIGURE_BYTES)? / 1e6)
                };
                let (read_mb_per_second, write_mb_per_second) = (rate(1.0)?, rate(0.0)?);
                let row = Figure4Row {
                    page_kib,
                    transfer_kib,
                    is_sequential,
                    joins,
                    read_mb_per_second,
                    write_mb_per_second,
                };
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// A point of Figure 5: input and output of a workload by super-page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure5Row {
    /// The workload, or `average`.
    pub workload: &'static str,
    /// KiB of a super-page.
    pub page_kib: u32,
    /// Whether reads are bypassed and writes combined.
    pub joins: bool,
    /// Megabytes per second; those of the average are the mean of all workloads'.
    pub mb_per_second: f64,
    /// Times the rate with super-pages of 8 KiB.
    pub relative: f64,
}

/// Figure 5 for these super-pages: each workload's mix of reads and writes (Table 2) in the applications' pattern.
///
/// # Errors
/// As for [`flash`].
pub fn figure_5(pages_kib: &[u32], joins: bool) -> Result<Vec<Figure5Row>, FtlError> {
    let mut rows: Vec<Figure5Row> = Vec::new();
    for workload in TABLE_2 {
        let pairs = AccessPattern::pairs(workload.read_mb / (workload.read_mb + workload.write_mb));
        let base = flash_rate(8, joins, &pairs, FIGURE_BYTES)?;
        for &page_kib in pages_kib {
            let rate = if page_kib == 8 { base } else { flash_rate(page_kib, joins, &pairs, FIGURE_BYTES)? };
            let (mb_per_second, relative) = (rate / 1e6, rate / base);
            rows.push(Figure5Row { workload: workload.name, page_kib, joins, mb_per_second, relative });
        }
    }
    for &page_kib in pages_kib {
        let mean = |value: fn(&Figure5Row) -> f64| {
            let of_page = rows.iter().filter(|row| row.page_kib == page_kib && row.workload != "average");
            of_page.map(value).sum::<f64>() / TABLE_2.len() as f64
        };
        let (mb_per_second, relative) = (mean(|row| row.mb_per_second), mean(|row| row.relative));
        rows.push(Figure5Row { workload: "average", page_kib, joins, mb_per_second, relative });
    }
    Ok(rows)
}
