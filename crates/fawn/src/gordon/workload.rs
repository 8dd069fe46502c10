//! Computed workloads.

use clap::{Args, ValueEnum};
use fawn_gordon::measure::{Pacing, WithDiscards};
use fawn_gordon::trace::{AddressPattern, Arrivals, PatternError, SyntheticTrace, TracePattern};
use fawn_report::amount::{bytes, grouped, percent};
use serde::Serialize;

use super::typed::TypedFlags;
use crate::bench::net::SpacingChoice;
use crate::outcome::UsageError;
use crate::values::{Count, Size, number, parse_entries, parse_exponent, parse_share};

/// Arguments of a workload.
#[derive(Debug, Args)]
#[command(next_help_heading = "The workload")]
pub struct WorkloadArguments {
    /// Where requests go
    #[arg(long, value_name = "NAME", default_value = "uniform")]
    pub workload: WorkloadChoice,
    /// Number of requests
    #[arg(long, value_name = "N", default_value = "200k", value_parser = parse_entries)]
    pub requests: Count,
    /// Bytes of a request; of uniform also LEAST..MOST, e.g. 2K..256K
    #[arg(long, value_name = "SIZE", default_value = "4K", value_parser = parse_bytes)]
    pub bytes: (u64, u64),
    /// Share of reads, e.g. 0.7 or 70%
    #[arg(long, value_name = "SHARE", default_value = "50%", value_parser = parse_share)]
    pub reads: f64,
    /// Share of requests that discard instead (TRIM); the FTL takes those of whole super-pages
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = parse_share)]
    pub trims: f64,
    /// Exponent of zipf
    #[arg(long, value_name = "EXPONENT", default_value = "0.99", value_parser = parse_exponent)]
    pub exponent: f64,
    /// Requests per second, whatever the device does [default: as fast as it replies]
    #[arg(long, value_name = "N", value_parser = parse_entries)]
    pub rate: Option<Count>,
    /// Intervals between the requests of --rate
    #[arg(long, default_value = "poisson")]
    pub spacing: SpacingChoice,
    /// Bytes at the device's beginning that are used [default: all]
    #[arg(long, value_name = "SIZE")]
    pub span: Option<Size>,
    /// Equal seeds give equal results
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u64>(..))]
    pub seed: u64,
}

/// A report with its workload, as JSON.
#[derive(Debug, Serialize)]
pub struct WorkloadReport<'a, R> {
    /// The workload in a line.
    pub workload: String,
    /// What came of it.
    #[serde(flatten)]
    pub report: &'a R,
}

/// Where requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WorkloadChoice {
    /// Any place, each alike
    Uniform,
    /// Places by Zipf's law
    Zipf,
    /// One place after the other
    Sequential,
    /// The paper's pairs: 8 KB at a multiple of 128 KB, then the other 120 KB, in order
    Pairs,
    /// The same at random
    RandomPairs,
    /// The paper's random accesses: 2 to 256 KB, any place
    PaperRandom,
}

impl WorkloadArguments {
    /// Refuses flags of other workloads.
    pub fn check(&self, typed: &TypedFlags<'_>) -> Result<(), String> {
        use WorkloadChoice::{Pairs, PaperRandom, RandomPairs, Zipf};
        if self.workload != Zipf {
            typed.refuse(&["exponent"], "without --workload zipf")?;
        }
        if matches!(self.workload, Pairs | RandomPairs | PaperRandom) {
            typed.refuse(&["bytes"], "on a workload of the paper, which has its sizes")?;
        }
        if self.rate.is_none() { typed.refuse(&["spacing"], "without --rate") } else { Ok(()) }
    }

    /// The workload on a device of `capacity_bytes`.
    ///
    /// # Errors
    /// The device is too small for it.
    pub fn pattern(&self, capacity_bytes: u64) -> anyhow::Result<TracePattern> {
        let span = self.span.map_or(capacity_bytes, |span| span.bytes);
        if span == 0 || span > capacity_bytes {
            let what = format!(
                "--span is {}, and the device has {} ({capacity_bytes} bytes): give from 1 byte to that, or leave it out",
                Size { bytes: span },
                Size { bytes: capacity_bytes }
            );
            return Err(UsageError(what).into());
        }
        let (least_bytes, most_bytes) = self.bytes;
        if least_bytes != most_bytes && self.workload != WorkloadChoice::Uniform {
            return Err(UsageError("--bytes LEAST..MOST is for --workload uniform: give one size".to_owned()).into());
        }
        let addresses = match self.workload {
            WorkloadChoice::Uniform => AddressPattern::Uniform { least_bytes, most_bytes },
            WorkloadChoice::Zipf => AddressPattern::Zipf { bytes: least_bytes, exponent: self.exponent },
            WorkloadChoice::Sequential => AddressPattern::Sequential { bytes: least_bytes },
            WorkloadChoice::Pairs => AddressPattern::Pairs { is_sequential: true },
            WorkloadChoice::RandomPairs => AddressPattern::Pairs { is_sequential: false },
            WorkloadChoice::PaperRandom => AddressPattern::Uniform { least_bytes: 2 << 10, most_bytes: 256 << 10 },
        };
        let arrivals = match (self.rate, self.spacing) {
            (None, _) => Arrivals::Together,
            (Some(rate), SpacingChoice::Poisson) => Arrivals::Poisson(1e9 / rate.0 as f64),
            (Some(rate), SpacingChoice::Fixed) => Arrivals::Every(1_000_000_000 / rate.0.max(1)),
        };
        let pattern = TracePattern {
            addresses,
            arrivals,
            read_share: self.reads,
            capacity_bytes: span,
            requests: self.requests.0,
            seed: self.seed,
        };
        let fits = pattern.trace();
        fits.map_err(|error| {
            let place = if self.span.is_some() { "--span" } else { "the device" };
            UsageError(match (error, self.workload) {
                (
                    PatternError::Size,
                    WorkloadChoice::Pairs | WorkloadChoice::RandomPairs | WorkloadChoice::PaperRandom,
                ) => {
                    format!("the workload's requests do not fit {place} of {}: make it larger", Size { bytes: span })
                }
                (PatternError::Size, _) => format!(
                    "--bytes of up to {} do not fit {place} of {}: give smaller requests",
                    Size { bytes: most_bytes },
                    Size { bytes: span }
                ),
                (error, _) => error.to_string(),
            })
        })?;
        Ok(pattern)
    }

    /// The requests of a pattern that [`pattern`](Self::pattern) gave.
    ///
    /// # Errors
    /// The pattern has no trace.
    pub fn requests(&self, pattern: &TracePattern) -> anyhow::Result<WithDiscards<SyntheticTrace>> {
        Ok(WithDiscards::new(pattern.trace()?, self.trims))
    }

    /// When requests are issued.
    pub fn pacing(&self) -> Pacing {
        if self.rate.is_some() { Pacing::Timed } else { Pacing::Saturated }
    }

    /// The workload in a line.
    pub fn line(&self, pattern: &TracePattern) -> String {
        let size = |bytes_: u64| Size { bytes: bytes_ }.to_string();
        let what = match pattern.addresses {
            AddressPattern::Uniform { least_bytes, most_bytes } if least_bytes == most_bytes => {
                format!("uniform random requests of {}", size(least_bytes))
            }
            AddressPattern::Uniform { least_bytes, most_bytes } => {
                format!("uniform random requests of {} to {}", size(least_bytes), size(most_bytes))
            }
            AddressPattern::Zipf { bytes, exponent } => {
                format!("requests of {} by Zipf's law ({exponent})", size(bytes))
            }
            AddressPattern::Sequential { bytes } => format!("sequential requests of {}", size(bytes)),
            AddressPattern::Pairs { is_sequential: true } => "pairs of 8 KiB and 120 KiB in order".to_owned(),
            AddressPattern::Pairs { is_sequential: false } => "pairs of 8 KiB and 120 KiB at random".to_owned(),
        };
        let trims = if self.trims > 0.0 { format!(", {} discards", percent(self.trims)) } else { String::new() };
        let rate = self.rate.map_or_else(String::new, |rate| format!(", {} per second", grouped(rate.0)));
        format!(
            "Workload: {} {what} over {}, {} reads{trims}{rate}, seed {}",
            grouped(pattern.requests),
            bytes(pattern.capacity_bytes as f64),
            percent(pattern.read_share),
            self.seed
        )
    }
}

fn parse_bytes(text: &str) -> Result<(u64, u64), String> {
    let size = |text: &str| text.parse::<Size>().map(|size| size.bytes).map_err(|error| error.to_string());
    let (least, most) = match text.split_once("..") {
        Some((least, most)) => (size(least)?, size(most)?),
        None => (size(text)?, size(text)?),
    };
    if least == 0 || least > most {
        return Err("requests have at least 1 byte, and LEAST is not above MOST, e.g. 2K..256K".to_owned());
    }
    Ok((least, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_one_or_a_range() {
        assert_eq!(parse_bytes("4K"), Ok((4096, 4096)));
        assert_eq!(parse_bytes("2K..256K"), Ok((2048, 262_144)));
        assert!(parse_bytes("0").is_err() && parse_bytes("8K..4K").is_err() && parse_bytes("x").is_err());
    }
}
