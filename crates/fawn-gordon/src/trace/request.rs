//! One request of a block trace.

/// Bytes of a request at most: a terabyte. The longest real ones discard a device, in pieces of a few gigabytes.
pub const MAX_REQUEST_BYTES: u64 = 1 << 40;

/// The byte after a request at most: an exabyte, as for simulated devices.
pub const MAX_END: u64 = 1 << 60;

/// What a request asks of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Bytes from the device.
    Read,
    /// Bytes to the device.
    Write,
    /// The bytes are not needed any more (TRIM, UNMAP).
    Discard,
    /// What was written before has to survive a power cut. Such a request may have no extent.
    Flush,
}

/// One request, whatever format it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// When it was issued, in nanoseconds of the trace's own epoch. See [`TraceFormat::has_times`](super::TraceFormat).
    pub time_ns: u64,
    /// The device, volume or file, by a number. [`TraceReader::device_name`](super::TraceReader::device_name) has the
    /// names of formats that give names.
    pub device: u32,
    /// What is asked.
    pub access: Access,
    /// The first byte.
    pub offset: u64,
    /// How many bytes, at most [`MAX_REQUEST_BYTES`], so that `offset + bytes` is at most [`MAX_END`]. Above 0, except
    /// for a flush.
    pub bytes: u64,
    /// How long the recorded machine took to reply, in nanoseconds. `None` if the trace does not say.
    pub response_ns: Option<u64>,
}

impl BlockRequest {
    /// The byte after the last one.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes
    }

    /// Whether a device can have the place that is asked for.
    pub fn has_place(&self) -> bool {
        self.bytes <= MAX_REQUEST_BYTES && self.offset.checked_add(self.bytes).is_some_and(|end| end <= MAX_END)
    }
}

/// What a trace amounts to. Its memory does not grow with the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSummary {
    /// Requests by [`Access`], in its order.
    pub requests: [u64; 4],
    /// Their bytes, in the same order. They stop at `u64::MAX`.
    pub bytes: [u64; 4],
    /// The earliest and the latest time, in nanoseconds.
    pub times_ns: Option<(u64, u64)>,
    /// The largest number of a byte's successor on any device: the least capacity that can replay the trace.
    pub end: u64,
    /// Requests whose time is before the time of the request in front of them.
    pub unordered: u64,
    /// The time of the last request.
    last_ns: u64,
}

impl TraceSummary {
    /// Counts a request.
    pub fn add(&mut self, request: &BlockRequest) {
        let kind = request.access as usize;
        self.requests[kind] += 1;
        self.bytes[kind] = self.bytes[kind].saturating_add(request.bytes);
        let time = request.time_ns;
        self.unordered += u64::from(time < self.last_ns);
        self.last_ns = time;
        self.times_ns = Some(self.times_ns.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        self.end = self.end.max(request.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_one_that_a_device_can_have() {
        let has_place = |offset, bytes| {
            let access = Access::Write;
            BlockRequest { time_ns: 0, device: 0, access, offset, bytes, response_ns: None }.has_place()
        };
        assert!(has_place(0, MAX_REQUEST_BYTES) && has_place(MAX_END - 512, 512));
        assert!(!has_place(0, MAX_REQUEST_BYTES + 1) && !has_place(0, u64::MAX));
        assert!(!has_place(MAX_END - 511, 512) && !has_place(u64::MAX, 512));
    }

    #[test]
    fn a_summary_counts_kinds_bytes_and_disorder() {
        let mut summary = TraceSummary::default();
        for (time_ns, access, offset, bytes) in [
            (5, Access::Read, 0, 512),
            (9, Access::Write, 4096, 1024),
            (7, Access::Write, 0, u64::MAX),
            (9, Access::Flush, 0, 0),
        ] {
            summary.add(&BlockRequest { time_ns, device: 0, access, offset, bytes, response_ns: None });
        }
        assert_eq!((summary.requests, summary.bytes), ([1, 2, 0, 1], [512, u64::MAX, 0, 0]));
        assert_eq!((summary.times_ns, summary.end, summary.unordered), (Some((5, 9)), u64::MAX, 1));
    }
}
