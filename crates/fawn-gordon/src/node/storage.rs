//! A node's disks or its flash array: measured bandwidth and latency, and power.

use serde::{Deserialize, Serialize};

use super::power::WattRange;

/// How fast a device reads or writes, as somebody or a simulator measured it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessRate {
    /// Bytes per second of large transfers.
    pub bytes_per_second: f64,
    /// Seconds that each access adds to the transfer of its bytes: 0 if the bandwidth includes them.
    pub seconds_per_access: f64,
}

impl AccessRate {
    /// The rate of a device that takes these seconds for one access of a few bytes and for one of many: what does not grow
    /// with the bytes is the access's own. `None` if more bytes take no more time, or the times contradict each other.
    pub fn through((few_bytes, few_s): (f64, f64), (many_bytes, many_s): (f64, f64)) -> Option<Self> {
        let bytes_per_second = (many_bytes - few_bytes) / (many_s - few_s);
        let seconds_per_access = few_s - few_bytes / bytes_per_second;
        let is_rate = bytes_per_second.is_finite() && bytes_per_second > 0.0 && seconds_per_access >= 0.0;
        is_rate.then_some(Self { bytes_per_second, seconds_per_access })
    }

    /// Seconds for so many bytes in so many accesses.
    pub fn seconds(self, bytes: f64, accesses: f64) -> f64 {
        bytes / self.bytes_per_second + accesses * self.seconds_per_access
    }
}

/// Power of a device that reads and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceWatts {
    /// Watts at rest.
    pub idle: f64,
    /// Watts while it reads.
    pub read: f64,
    /// Watts while it writes.
    pub write: f64,
}

impl DeviceWatts {
    /// Joules over `on` seconds, of which it reads and writes for so many.
    pub fn joules(self, on: f64, reading: f64, writing: f64) -> f64 {
        self.idle * on + (self.read - self.idle) * reading + (self.write - self.idle) * writing
    }
}

/// The storage of a node: one flash array, or disks that share its accesses evenly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeStorage {
    /// What it is called, such as `flash` or `disk`.
    pub name: String,
    /// Devices that work at the same time. Bandwidth and accesses scale with them, and so does power.
    pub devices: u32,
    /// Reads of one device.
    pub read: AccessRate,
    /// Writes of one device.
    pub write: AccessRate,
    /// Power of one device.
    pub watts: DeviceWatts,
    /// Power of a controller that the storage alone needs, active while any device is.
    #[serde(default)]
    pub watts_controller: WattRange,
    /// Price of one device.
    #[serde(default)]
    pub price_dollars: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_measured_accesses_give_bandwidth_and_latency() {
        let rate = AccessRate { bytes_per_second: 100e6, seconds_per_access: 0.004 };
        let fitted = AccessRate::through((4096.0, rate.seconds(4096.0, 1.0)), (1e6, rate.seconds(1e6, 1.0))).unwrap();
        assert!((fitted.bytes_per_second / 100e6 - 1.0).abs() < 1e-9);
        assert!((fitted.seconds_per_access / 0.004 - 1.0).abs() < 1e-9);
        assert_eq!(AccessRate::through((4096.0, 0.01), (1e6, 0.01)), None);
        assert_eq!(AccessRate::through((4096.0, 0.01), (1e6, 0.005)), None);
        assert_eq!(AccessRate::through((5e5, 0.001), (1e6, 0.003)), None, "an access cannot take less than nothing");
    }
}
