//! Storage of the paper's designs as the simulators of this crate rate it.
//!
//! The paper takes bandwidth and latency of flash and disk from its simulators, which process traces of the workloads (§5.3).
//! The traces are lost. Their pattern is known (§4.2.2): 8 KB at a multiple of 128 KB, then the other 120 KB. So the rates
//! here are of that pattern, with regions drawn at random, and of large transfers in order.

use super::paper;
use super::space::DesignSpace;
use crate::disk::{ClosedReplay, DiskDevice, DiskModel, DiskRequest, presets};
use crate::flash::presets::GordonCells;
use crate::ftl::measurement::{AccessOrder, BandwidthTest, paper_array, paper_settings};
use crate::ftl::{FtlError, HostKind};
use crate::node::workloads::BYTES_PER_ACCESS;
use crate::node::{AccessRate, NodeStorage};
use crate::trace::{Access, AddressPattern, Arrivals, BlockRequest, TracePattern};

/// Blocks per plane of the simulated array: bandwidth does not depend on their number.
const BLOCKS_PER_PLANE: u32 = 32;

/// KB of the paper's super-page (§4.2).
const SUPER_PAGE_KB: u32 = 64;

/// Bytes of a transfer that is large for the paper's super-page.
const LARGE_BYTES: u64 = 256 << 10;

/// Bytes that a measurement of the disk's pattern moves.
const DISK_BYTES: u64 = 256 << 20;

/// Commands that the disk has at a time (§5.3: SATA II).
const DISK_QUEUE: usize = 32;

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
    let design = paper_array(GordonCells::Slc, 133.0, BLOCKS_PER_PLANE);
    let rate = |kind| -> Result<AccessRate, FtlError> {
        let peak = |order| BandwidthTest::peak(&design, paper_settings(SUPER_PAGE_KB, true), kind, order);
        Ok(access_rate(peak(AccessOrder::Sequential(LARGE_BYTES))?, peak(AccessOrder::HeadAndRest)?))
    };
    Ok(NodeStorage { read: rate(HostKind::Read)?, write: rate(HostKind::Write)?, ..paper::flash() })
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
        let pairs = TracePattern {
            addresses: AddressPattern::Pairs { is_sequential: false },
            arrivals: Arrivals::Together,
            read_share: f64::from(u8::from(access == Access::Read)),
            capacity_bytes: bytes,
            requests: DISK_BYTES / BYTES_PER_ACCESS as u64,
            seed: 4,
        };
        pairs.trace().expect("the pattern fits the disk").collect()
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
