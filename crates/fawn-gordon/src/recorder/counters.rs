//! Running totals of a machine, and what was used between two readings.

use crate::trace::{COLUMNS, TraceColumn};

/// Running totals by [`TraceColumn`]. `None`: not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResourceCounters {
    values: [Option<f64>; COLUMNS],
}

/// Running totals of disks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskCounters {
    /// Bytes read.
    pub read_bytes: f64,
    /// Bytes written.
    pub write_bytes: f64,
    /// Accesses that read.
    pub reads: f64,
    /// Accesses that write.
    pub writes: f64,
}

impl DiskCounters {
    /// Adds those of another disk.
    pub fn add(&mut self, other: &Self) {
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
        self.reads += other.reads;
        self.writes += other.writes;
    }
}

impl ResourceCounters {
    /// Sets a total.
    pub fn set(&mut self, column: TraceColumn, value: Option<f64>) {
        self.values[column as usize] = value;
    }

    /// Sets the totals of disks.
    pub fn set_disks(&mut self, disks: Option<DiskCounters>) {
        self.set(TraceColumn::DiskReadBytes, disks.map(|disks| disks.read_bytes));
        self.set(TraceColumn::DiskWriteBytes, disks.map(|disks| disks.write_bytes));
        self.set(TraceColumn::DiskReads, disks.map(|disks| disks.reads));
        self.set(TraceColumn::DiskWrites, disks.map(|disks| disks.writes));
    }

    /// Sets the totals of a network, in and out.
    pub fn set_network(&mut self, network: Option<(f64, f64)>) {
        self.set(TraceColumn::NetworkInBytes, network.map(|(received, _)| received));
        self.set(TraceColumn::NetworkOutBytes, network.map(|(_, sent)| sent));
    }

    /// A total.
    pub fn get(&self, column: TraceColumn) -> Option<f64> {
        self.values[column as usize]
    }

    /// What was used since an earlier reading. A total that is absent in one of them, or that went backwards as a device or
    /// a group came anew, gives nothing.
    pub fn since(&self, before: &Self) -> [Option<f64>; COLUMNS] {
        std::array::from_fn(|column| {
            let used = self.values[column]? - before.values[column]?;
            // Seconds are differences of large numbers: nanoseconds are all that is in them.
            let is_seconds = column == TraceColumn::CpuSeconds as usize;
            let used = if is_seconds { (used * 1e9).round() / 1e9 } else { used };
            (used >= 0.0).then_some(used)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_or_went_backwards_is_not_measured() {
        let mut before = ResourceCounters::default();
        before.set(TraceColumn::CpuSeconds, Some(1.5));
        before.set_network(Some((10.0, 20.0)));
        let mut after = before;
        after.set(TraceColumn::CpuSeconds, Some(2.0));
        after.set_network(Some((10.0, 5.0)));
        after.set(TraceColumn::Instructions, Some(7.0));
        let used = after.since(&before);
        let of = |column: TraceColumn| used[column as usize];
        assert_eq!((of(TraceColumn::CpuSeconds), of(TraceColumn::NetworkInBytes)), (Some(0.5), Some(0.0)));
        assert_eq!((of(TraceColumn::NetworkOutBytes), of(TraceColumn::Instructions)), (None, None));
    }
}
