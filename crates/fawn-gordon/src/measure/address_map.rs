//! A trace's addresses on a device of another size.
//!
//! A trace may have several volumes, each with addresses of its own. They are laid one after the other, each with as many
//! bytes as the trace touches of it. What lies past the end of the device is laid from its beginning again.

use std::collections::BTreeMap;

use fawn_report::amount::counted;
use serde::Serialize;

use crate::trace::{Access, BlockRequest, SECTOR_BYTES};

/// Volumes begin at multiples of this, so that accesses stay aligned as they were.
const ALIGNMENT: u64 = 1 << 20;

/// Where volumes lie on a device.
#[derive(Clone, Debug)]
pub struct AddressMap {
    starts: BTreeMap<u32, u64>,
    capacity: u64,
    fit: AddressFit,
}

/// How a trace's addresses fit a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AddressFit {
    /// Volumes of the trace.
    pub volumes: u64,
    /// Bytes that all volumes together need.
    pub trace_bytes: u64,
    /// Bytes of the device.
    pub device_bytes: u64,
    /// Requests that were laid elsewhere because they lie past the device's end.
    pub wrapped: u64,
    /// Requests that were left out because they are larger than the device.
    pub left_out: u64,
}

impl AddressMap {
    /// For volumes by their ends, in bytes, on a device of `capacity` bytes.
    pub fn new(ends: &BTreeMap<u32, u64>, capacity: u64) -> Self {
        let mut starts = BTreeMap::new();
        let mut next = 0_u64;
        for (&volume, &end) in ends {
            starts.insert(volume, next);
            next = next.saturating_add(end.div_ceil(ALIGNMENT).saturating_mul(ALIGNMENT));
        }
        let alone = ends.values().next().copied().unwrap_or(0);
        let trace_bytes = if ends.len() > 1 { next } else { alone };
        let fit =
            AddressFit { volumes: ends.len() as u64, trace_bytes, device_bytes: capacity, ..AddressFit::default() };
        Self { starts, capacity, fit }
    }

    /// The request on the device. `None` if it is larger than the device.
    pub fn place(&mut self, request: &BlockRequest) -> Option<BlockRequest> {
        if request.access == Access::Flush && request.bytes == 0 {
            return Some(BlockRequest { offset: 0, ..*request });
        }
        if request.bytes > self.capacity {
            self.fit.left_out += 1;
            return None;
        }
        let start = self.starts.get(&request.device).copied().unwrap_or(0);
        let room = self.capacity - request.bytes;
        let wanted = start.saturating_add(request.offset);
        if wanted <= room {
            return Some(BlockRequest { offset: wanted, ..*request });
        }
        self.fit.wrapped += 1;
        // Whole sectors, so that accesses keep their alignment to them.
        let sectors = room / SECTOR_BYTES + 1;
        let offset = wanted / SECTOR_BYTES % sectors * SECTOR_BYTES;
        Some(BlockRequest { offset, ..*request })
    }

    /// How the requests so far fit.
    pub fn fit(&self) -> &AddressFit {
        &self.fit
    }
}

impl AddressFit {
    /// The same in a sentence.
    pub fn sentence(&self) -> String {
        let Self { volumes, trace_bytes, device_bytes, wrapped, left_out } = *self;
        let bytes = |bytes: u64| fawn_report::amount::bytes(bytes as f64);
        let layout = if volumes > 1 {
            format!(", {} one after the other", counted(volumes, "volume", "volumes"))
        } else {
            String::new()
        };
        let sentence = if wrapped == 0 {
            format!("addresses up to {} as they are{layout}", bytes(trace_bytes))
        } else {
            format!(
                "addresses up to {}{layout}, on {}: {} from 0 again",
                bytes(trace_bytes),
                bytes(device_bytes),
                counted(wrapped, "request past the end begins", "requests past the end begin")
            )
        };
        if left_out == 0 {
            return sentence;
        }
        format!("{sentence}; {} larger than the device and left out", counted(left_out, "request is", "requests are"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(device: u32, offset: u64, bytes: u64) -> BlockRequest {
        BlockRequest { time_ns: 0, device, access: Access::Read, offset, bytes, response_ns: None }
    }

    #[test]
    fn volumes_lie_one_after_the_other_and_what_is_past_the_end_begins_again() {
        let ends = BTreeMap::from([(3, 5_000), (9, 3 << 20)]);
        let mut map = AddressMap::new(&ends, 3 << 20);
        let mut offset = |request: BlockRequest| map.place(&request).map(|request| request.offset);
        assert_eq!(offset(request(3, 4_096, 512)), Some(4_096));
        assert_eq!(offset(request(9, 4_096, 512)), Some((1 << 20) + 4_096));
        let wrapped = offset(request(9, (3 << 20) - 512, 512)).unwrap();
        assert!(wrapped.is_multiple_of(512) && wrapped <= (3 << 20) - 512);
        assert_eq!(offset(request(9, 0, 4 << 20)), None);
        let fit = map.fit();
        assert_eq!((fit.volumes, fit.trace_bytes, fit.wrapped, fit.left_out), (2, 4 << 20, 1, 1));
        assert_eq!(
            fit.sentence(),
            "addresses up to 4.19 MB, 2 volumes one after the other, on 3.15 MB: 1 request past the end begins from 0 \
             again; 1 request is larger than the device and left out"
        );
        let several = AddressFit { wrapped: 2, left_out: 2_000, ..fit.clone() }.sentence();
        assert!(several.contains("2 requests past the end begin"), "{several}");
        assert!(several.contains("2,000 requests are larger"), "{several}");
    }

    #[test]
    fn one_volume_that_fits_is_left_as_it_is() {
        let mut map = AddressMap::new(&BTreeMap::from([(8, 10_000)]), 20_000);
        assert_eq!(map.place(&request(8, 9_000, 1_000)).map(|request| request.offset), Some(9_000));
        assert_eq!(map.fit().sentence(), "addresses up to 10 KB as they are");
    }
}
