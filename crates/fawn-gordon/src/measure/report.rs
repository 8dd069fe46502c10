//! What the reports of all devices have.

use fawn_report::Latencies;
use serde::Serialize;

use crate::trace::Access;

/// Latencies of requests, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencySummary {
    /// How many requests.
    pub requests: u64,
    /// On average.
    pub mean_us: f64,
    /// Half of all take no longer.
    pub p50_us: f64,
    /// 99 of 100.
    pub p99_us: f64,
    /// 999 of 1,000.
    pub p999_us: f64,
    /// All.
    pub longest_us: f64,
}

/// Adds up latencies.
#[derive(Clone, Debug, Default)]
pub struct LatencySums {
    latencies: Latencies,
    sum_ns: u128,
}

impl LatencySums {
    /// Adds one, in nanoseconds.
    pub fn add(&mut self, latency_ns: u64) {
        self.latencies.add_ns(latency_ns);
        self.sum_ns += u128::from(latency_ns);
    }

    /// All that were added; `None` if none was.
    pub fn summary(&self) -> Option<LatencySummary> {
        let requests = self.latencies.count();
        (requests > 0).then(|| LatencySummary {
            requests,
            mean_us: self.sum_ns as f64 / requests as f64 / 1e3,
            p50_us: self.latencies.us(0.5),
            p99_us: self.latencies.us(0.99),
            p999_us: self.latencies.us(0.999),
            longest_us: self.latencies.longest_us(),
        })
    }
}

/// A part of latencies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartShare {
    /// What the time was spent on.
    pub part: &'static str,
    /// Of a request, on average, in microseconds.
    pub mean_us: f64,
    /// Share of all latencies together, 0 to 1.
    pub share: f64,
}

/// Parts by their sums, in nanoseconds over so many requests.
pub fn parts(sums: &[(&'static str, u128)], requests: u64) -> Vec<PartShare> {
    let all: u128 = sums.iter().map(|(_, sum)| sum).sum();
    let part = |(part, sum): &(&'static str, u128)| PartShare {
        part,
        mean_us: *sum as f64 / requests.max(1) as f64 / 1e3,
        share: *sum as f64 / (all as f64).max(1.0),
    };
    sums.iter().map(part).collect()
}

/// How busy a resource was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResourceShare {
    /// Its name.
    pub resource: String,
    /// Share of the time for which it worked, 0 to 1.
    pub busy_share: f64,
}

/// Energy by a model. It is no measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnergyReport {
    /// Joules over the whole run.
    pub modelled_j: f64,
    /// Watts on average.
    pub modelled_w: f64,
    /// Joules for each GB (10^9 bytes) that the host read or wrote. Absent if it moved no bytes.
    pub modelled_j_per_gb: Option<f64>,
    /// The model and its source.
    pub model: String,
}

impl EnergyReport {
    /// So many joules over `elapsed_s` seconds, in which the host moved so many bytes.
    pub fn of(modelled_j: f64, elapsed_s: f64, bytes: u64, model: String) -> Self {
        let modelled_j_per_gb = (bytes > 0).then(|| modelled_j / (bytes as f64 / 1e9));
        let modelled_w = if elapsed_s > 0.0 { modelled_j / elapsed_s } else { 0.0 };
        Self { modelled_j, modelled_w, modelled_j_per_gb, model }
    }
}

/// What the host asked for and got.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Throughput {
    /// Requests that were served.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Discards.
    pub discards: u64,
    /// Flushes.
    pub flushes: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Simulated seconds from the beginning of the measurement to the end of its last request.
    pub elapsed_s: f64,
}

impl Throughput {
    /// Bytes per second, read and written.
    pub fn bytes_per_s(&self) -> f64 {
        self.rate((self.bytes_read + self.bytes_written) as f64)
    }

    /// Requests per second.
    pub fn requests_per_s(&self) -> f64 {
        self.rate(self.requests as f64)
    }

    fn rate(&self, amount: f64) -> f64 {
        if self.elapsed_s > 0.0 { amount / self.elapsed_s } else { 0.0 }
    }
}

/// Sums over requests that were served, whatever the device.
#[derive(Clone, Debug, Default)]
pub struct ServedSums {
    /// How many, and their bytes. The time is for the device to fill in.
    pub throughput: Throughput,
    /// Latencies of all.
    pub all: LatencySums,
    /// Of reads.
    pub reads: LatencySums,
    /// Of writes.
    pub writes: LatencySums,
}

impl ServedSums {
    /// Adds a request of so many bytes that took so long.
    pub fn add(&mut self, access: Access, bytes: u64, latency_ns: u64) {
        self.throughput.requests += 1;
        self.all.add(latency_ns);
        match access {
            Access::Read => {
                self.throughput.reads += 1;
                self.throughput.bytes_read += bytes;
                self.reads.add(latency_ns);
            }
            Access::Write => {
                self.throughput.writes += 1;
                self.throughput.bytes_written += bytes;
                self.writes.add(latency_ns);
            }
            Access::Discard => self.throughput.discards += 1,
            Access::Flush => self.throughput.flushes += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole() {
        let shares = parts(&[("a", 3_000), ("b", 1_000)], 2);
        assert_eq!((shares[0].mean_us, shares[0].share, shares[1].share), (1.5, 0.75, 0.25));
        assert_eq!(parts(&[("a", 0)], 0)[0].share, 0.0);
    }

    #[test]
    fn no_latency_is_no_summary() {
        let mut sums = LatencySums::default();
        assert_eq!(sums.summary(), None);
        sums.add(2_000);
        sums.add(4_000);
        assert_eq!(sums.summary().map(|summary| (summary.requests, summary.mean_us)), Some((2, 3.0)));
    }

    #[test]
    fn rates_of_no_time_are_zero() {
        assert_eq!(Throughput { requests: 5, ..Throughput::default() }.requests_per_s(), 0.0);
        assert_eq!(EnergyReport::of(1.0, 2.0, 0, String::new()).modelled_j_per_gb, None);
    }
}
