//! The measurements of Gordon §4.2.2: bandwidth of an array by super-page, transfer and order of access, with and without joining.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, SeedableRng as _};

use super::device::Device;
use super::error::FtlError;
use super::requests::{ArrivalMode, HostKind, HostRequest};
use super::settings::FtlSettings;
use super::striping::Stripe;
use crate::flash::FlashDesign;
use crate::flash::presets::{GordonCells, gordon};
use crate::time::SimTime;
use crate::trace::{Access, BlockRequest};

const KB: u64 = 1_024;

/// The paper's array with so many blocks a plane: bandwidth does not depend on their number.
pub fn paper_array(cells: GordonCells, mega_transfers: f64, blocks_per_plane: u32) -> FlashDesign {
    let mut design = gordon(cells, mega_transfers);
    design.geometry.blocks_per_plane = blocks_per_plane;
    design
}

/// The rectangle of super-pages of so many KB, 4 at least: horizontal up to four buses, then vertical.
pub fn paper_stripe(kilobytes: u32) -> Stripe {
    let dies = kilobytes / 4;
    Stripe { buses: dies.min(4), dies: (dies / 4).max(1), planes: 2 }
}

/// The paper's FTL with super-pages of so many KB, with or without bypass, reuse of the last read, and combining. The spare factor
/// is ours.
pub fn paper_settings(kilobytes: u32, joins: bool) -> FtlSettings {
    FtlSettings {
        stripe: paper_stripe(kilobytes),
        spare_factor: 0.2,
        read_bypass: joins,
        last_read_reuse: joins,
        write_combining: joins,
        ..FtlSettings::gordon()
    }
}

/// The order of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessOrder {
    /// One after the other, of so many bytes.
    Sequential(u64),
    /// At random places, of so many bytes.
    Random(u64),
    /// The pattern of the paper's applications: 8 KB at a random multiple of 128 KB, then the other 120 KB.
    HeadAndRest,
    /// At random places, of 2 to 256 KB in powers of two.
    RandomSizes,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandwidthTest {
    /// The order of accesses.
    pub order: AccessOrder,
    /// The share of reads among accesses, or among pairs of them: 0 to 1.
    pub read_share: f64,
    /// Bytes in all.
    pub bytes: u64,
}

impl BandwidthTest {
    /// The requests, over a span of bytes that is a multiple of 1 MiB.
    pub fn requests(&self, span: u64) -> Vec<HostRequest> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut all = Vec::new();
        let (mut at, mut left) = (0, self.bytes);
        while left > 0 {
            let kind = match self.read_share {
                share if share >= 1.0 => HostKind::Read,
                share if share <= 0.0 => HostKind::Write,
                share if ((random.next_u64() >> 11) as f64) < share * (1_u64 << 53) as f64 => HostKind::Read,
                _ => HostKind::Write,
            };
            let mut add = |offset, bytes| {
                left = left.saturating_sub(bytes);
                all.push(HostRequest { at: SimTime::ZERO, kind, offset, bytes, stamp: 0 });
            };
            let mut place = |slots: u64| ((random.next_u64() >> 32) * slots) >> 32;
            match self.order {
                AccessOrder::Sequential(bytes) => add(at % (span / bytes) * bytes, bytes),
                AccessOrder::Random(bytes) => add(place(span / bytes) * bytes, bytes),
                AccessOrder::HeadAndRest => {
                    let first = place(span / (128 * KB)) * 128 * KB;
                    add(first, 8 * KB);
                    add(first + 8 * KB, 120 * KB);
                }
                AccessOrder::RandomSizes => {
                    let first = place(span / (2 * KB) - 128) * 2 * KB;
                    add(first, (2 * KB) << place(8));
                }
            }
            at += 1;
        }
        all
    }

    /// Bytes a second on a device that was written once in order. Requests are issued as soon as the queue has a place.
    ///
    /// # Errors
    ///
    /// The settings contradict the array.
    pub fn bandwidth(&self, design: &FlashDesign, settings: FtlSettings) -> Result<f64, FtlError> {
        bandwidth_of(design, settings, |span| self.requests(span))
    }

    /// Bytes a second of transfers in an order, of reads or of writes alone. Writes go once around the array, so that erases count
    /// as they do in the long run.
    ///
    /// # Errors
    ///
    /// The settings contradict the array.
    pub fn peak(
        design: &FlashDesign,
        settings: FtlSettings,
        kind: HostKind,
        order: AccessOrder,
    ) -> Result<f64, FtlError> {
        let once = span(&Device::new(design, settings, false)?);
        let (read_share, bytes) = if kind == HostKind::Read { (1.0, once.min(64 << 20)) } else { (0.0, once) };
        Self { order, read_share, bytes }.bandwidth(design, settings)
    }
}

/// Bytes a second of recorded reads and writes on a device that was written once in order. Times do not count: requests are
/// issued as soon as the queue has a place. What lies past the device's end begins from 0 again.
///
/// # Errors
///
/// The settings contradict the array.
pub fn bandwidth_of_trace(
    design: &FlashDesign,
    settings: FtlSettings,
    trace: &[BlockRequest],
) -> Result<f64, FtlError> {
    bandwidth_of(design, settings, |span| {
        let mut all = Vec::with_capacity(trace.len());
        for request in trace {
            let kind = match request.access {
                Access::Read => HostKind::Read,
                Access::Write => HostKind::Write,
                Access::Discard | Access::Flush => continue,
            };
            let (mut offset, mut left) = (request.offset % span, request.bytes);
            while left > 0 {
                let bytes = left.min(span - offset);
                all.push(HostRequest { at: SimTime::ZERO, kind, offset, bytes, stamp: 0 });
                (offset, left) = (0, left - bytes);
            }
        }
        all
    })
}

/// Bytes a second of requests over a span, on a device that was written once in order.
fn bandwidth_of(
    design: &FlashDesign,
    settings: FtlSettings,
    requests: impl FnOnce(u64) -> Vec<HostRequest>,
) -> Result<f64, FtlError> {
    let mut device = Device::new(design, settings, false)?;
    let span = span(&device);
    let fill = BandwidthTest { order: AccessOrder::Sequential(256 * KB), read_share: 0.0, bytes: span };
    device.run(fill.requests(span), ArrivalMode::Saturated, |_| {})?;
    let report = device.run(requests(span), ArrivalMode::Saturated, |_| {})?;
    Ok(report.bytes_per_second())
}

fn span(device: &Device) -> u64 {
    device.bytes() / (1_024 * KB) * (1_024 * KB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_past_the_end_begins_from_0_and_flushes_take_nothing() {
        let design = paper_array(GordonCells::Slc, 133.0, 32);
        let settings = paper_settings(64, true);
        let request =
            |access, offset, bytes| BlockRequest { time_ns: 0, device: 0, access, offset, bytes, response_ns: None };
        let span = span(&Device::new(&design, settings, false).unwrap());
        let near: Vec<_> = (0..64).map(|at| request(Access::Read, at * 128 * KB, 128 * KB)).collect();
        let mut far: Vec<_> = near.iter().map(|it| BlockRequest { offset: it.offset + 3 * span, ..*it }).collect();
        far.push(request(Access::Flush, 0, 0));
        let rate = |trace: &[BlockRequest]| bandwidth_of_trace(&design, settings, trace).unwrap();
        assert_eq!(rate(&near), rate(&far));
        // One that crosses the end is the same bytes in two pieces.
        let crossing = [request(Access::Read, span - 64 * KB, 128 * KB)];
        let pieces = [request(Access::Read, span - 64 * KB, 64 * KB), request(Access::Read, 0, 64 * KB)];
        assert_eq!(rate(&crossing), rate(&pieces));
    }
}
