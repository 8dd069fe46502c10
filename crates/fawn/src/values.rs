//! Argument types with errors that say what is accepted: sizes, durations, acknowledgement modes, file modes.

use std::fmt;
use std::net::SocketAddr;
use std::ops::{Bound, RangeBounds, RangeInclusive};
use std::str::FromStr;
use std::time::Duration;

use fawn_bench::error::FlagBytes;
use fawn_transfer::client::{Address, AddressError};
use fawn_workload::LEAST_VALUE_BYTES;

/// Why an argument was not understood. Each message ends with what is accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Not a number with a known unit of bytes.
    #[error(
        "`{0}` is not a size; write a number of bytes with an optional K, M, G or T (powers of 1024), e.g. 512M or \
        1.5GiB"
    )]
    Size(String),
    /// Not a number with a known unit of time.
    #[error("`{0}` is not a duration; write a number with an optional ms, s, m, h or d, e.g. 90s or 1.5h")]
    Duration(String),
    /// Not a number of things.
    #[error("`{0}` is not a count; write a whole number with an optional K, M or G (powers of 1000), e.g. 10M")]
    Count(String),
    /// Not an acknowledgement mode.
    #[error("`{0}` is not an acknowledgement mode; write durable, interval:MS (e.g. interval:50) or memory")]
    Ack(String),
    /// Not a file mode.
    #[error("`{0}` is not a file mode; write three or four octal digits, e.g. 0770")]
    Mode(String),
}

/// A number of bytes, such as `512M` or `1.5GiB`. Units are powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// The number of bytes.
    pub bytes: u64,
}

impl Size {
    /// As a flag takes it, to the byte: `512M`, `1536M`.
    pub fn flag(self) -> FlagBytes {
        FlagBytes(self.bytes)
    }
}

impl FromStr for Size {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let refused = || ValueError::Size(text.to_owned());
        let (number, unit) = split_unit(text);
        let unit = unit.trim_start().to_ascii_lowercase();
        let power = match unit.as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 1,
            "m" | "mb" | "mib" => 2,
            "g" | "gb" | "gib" => 3,
            "t" | "tb" | "tib" => 4,
            _ => return Err(refused()),
        };
        let bytes = scaled(number, 1024f64.powi(power)).ok_or_else(refused)?;
        Ok(Self { bytes })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match units.iter().find(|(unit, _)| self.bytes >= *unit) {
            Some((unit, name)) if self.bytes.is_multiple_of(*unit) => write!(f, "{} {name}", self.bytes / unit),
            Some((unit, name)) => write!(f, "{:.1} {name}", self.bytes as f64 / *unit as f64),
            None => write!(f, "{} B", self.bytes),
        }
    }
}

/// A number of things, such as `10M`. Units are powers of 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub u64);

impl FromStr for Count {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let refused = || ValueError::Count(text.to_owned());
        let (number, unit) = split_unit(text);
        let power = match unit.trim_start().to_ascii_lowercase().as_str() {
            "" => 0,
            "k" => 1,
            "m" => 2,
            "g" => 3,
            _ => return Err(refused()),
        };
        let unit = 1000f64.powi(power);
        // Of 1.5 things there is one or two, and nobody knows which was meant.
        let is_whole = number.parse::<f64>().is_ok_and(|number| {
            let value = number * unit;
            (value - value.round()).abs() <= 1e-9 * value
        });
        scaled(number, unit).filter(|_| is_whole).map(Self).ok_or_else(refused)
    }
}

/// A length of time, such as `90s`, `5m` or `250ms`; a bare number is seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let refused = || ValueError::Duration(text.to_owned());
        let (number, unit) = split_unit(text);
        let ms = match unit.trim_start() {
            "ms" => 1.0,
            "" | "s" => 1e3,
            "m" | "min" => 60e3,
            "h" => 3_600e3,
            "d" => 86_400e3,
            _ => return Err(refused()),
        };
        scaled(number, ms).map(|ms| Self(Duration::from_millis(ms))).ok_or_else(refused)
    }
}

/// Parses an IP address with a port.
pub fn parse_socket(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "write an IP address with a port, e.g. 127.0.0.1:11211 or [::1]:11211".to_owned())
}

/// A parser of decimal numbers in a range, which says what the range is.
pub fn decimal(range: RangeInclusive<f64>) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text: &str| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("write a number from {} to {}", range.start(), range.end()))
    }
}

/// A parser of whole numbers in a range, which says what the range is.
pub fn number<T>(range: impl RangeBounds<u64>) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: TryFrom<u64> + Clone + Send + Sync + 'static,
{
    let fits = u64::MAX >> (64 - 8 * size_of::<T>());
    let least = match range.start_bound() {
        Bound::Included(least) => *least,
        Bound::Excluded(least) => least + 1,
        Bound::Unbounded => 0,
    };
    let most = match range.end_bound() {
        Bound::Included(most) => *most,
        Bound::Excluded(most) => most - 1,
        Bound::Unbounded => fits,
    };
    move |text: &str| {
        let number = text.parse().ok().filter(|number| (least..=most.min(fits)).contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| format!("write a whole number from {least} to {most}"))
    }
}

/// Parses how long is waited, or how often something is done: for a while, that is.
pub fn parse_wait(text: &str) -> Result<Span, String> {
    match text.parse::<Span>() {
        Ok(Span(Duration::ZERO)) => Err("it must be longer than zero: give at least 1ms".to_owned()),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

/// Parses a share, as a number from 0 to 1 or a percentage.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    match share {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("`{text}` is not a share; write a number from 0 to 1, e.g. 0.1, or a percentage, e.g. 10%")),
    }
}

/// When the server answers a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckMode {
    /// After the sync that covers it.
    Durable,
    /// At once; synced at most this many milliseconds later.
    Interval {
        /// Oldest age that an unsynced write may reach, at least 1.
        ms: u32,
    },
    /// At once; durable when its segment is sealed.
    Memory,
}

impl FromStr for AckMode {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.split_once(':') {
            None if text == "durable" => Ok(Self::Durable),
            None if text == "memory" => Ok(Self::Memory),
            Some(("interval", ms)) => match ms.strip_suffix("ms").unwrap_or(ms).parse() {
                Ok(ms) if ms > 0 => Ok(Self::Interval { ms }),
                _ => Err(ValueError::Ack(text.to_owned())),
            },
            _ => Err(ValueError::Ack(text.to_owned())),
        }
    }
}

/// The permission bits of a file, in octal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMode(pub u32);

impl FromStr for FileMode {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match u32::from_str_radix(text, 8) {
            Ok(mode) if (3..=4).contains(&text.len()) && mode <= 0o777 => Ok(Self(mode)),
            _ => Err(ValueError::Mode(text.to_owned())),
        }
    }
}

/// Parses a switch. `fawn gordon` has many.
pub fn parse_switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        _ => Err("write on or off".to_owned()),
    }
}

/// Parses a number of entries, requests or the like to measure with.
pub fn parse_entries(text: &str) -> Result<Count, String> {
    match text.parse::<Count>().map_err(|error| error.to_string())? {
        Count(0) => Err("0 leaves nothing to measure: give 1 or more".to_owned()),
        count => Ok(count),
    }
}

/// Parses the size of values that tell their version.
pub fn parse_value_bytes(text: &str) -> Result<Size, String> {
    let size: Size = text.parse().map_err(|error: ValueError| error.to_string())?;
    if size.bytes < LEAST_VALUE_BYTES as u64 {
        return Err(format!("a value holds its version: give {LEAST_VALUE_BYTES} or more"));
    }
    Ok(size)
}

/// Parses the exponent of Zipf's law.
pub fn parse_exponent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(exponent) if (0.01..=10.0).contains(&exponent) => Ok(exponent),
        _ => Err("Zipf's law has an exponent from 0.01 to 10 here: give e.g. 0.99".to_owned()),
    }
}

/// Cuts `1.5GiB` into `1.5` and `GiB`.
fn split_unit(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

/// `number × unit` as a whole number; `None` when it is no number or does not fit.
fn scaled(number: &str, unit: f64) -> Option<u64> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(unit as u64);
    }
    let value = number.parse::<f64>().ok()? * unit;
    (value < u64::MAX as f64).then_some(value as u64)
}

/// Takes `--listen` when it has the form of an address with a port. Whether there is such a host is seen later.
pub fn parse_listen(text: &str) -> Result<String, String> {
    // As in a list with blanks behind its commas.
    let text = text.trim();
    if text.parse::<u16>().is_ok() {
        return Err(format!("write ADDR:PORT, e.g. 127.0.0.1:{text}"));
    }
    let well_formed = text.rsplit_once(':').is_some_and(|(host, port)| {
        let bracketed = host.starts_with('[') && host.ends_with(']');
        port.parse::<u16>().is_ok() && !host.is_empty() && !host.contains('/') && (bracketed || !host.contains(':'))
    });
    if well_formed { Ok(text.to_owned()) } else { Err("write ADDR:PORT, e.g. 127.0.0.1:11211 or [::1]:11211".into()) }
}

/// Takes the address of a Redis, whose port is 6379 if none is named.
pub fn parse_redis(text: &str) -> Result<Address, AddressError> {
    Address::parse(text, 6379)
}

/// Parses a number of requests in flight.
pub fn parse_depth() -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync + 'static {
    number::<u32>(1..=4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Option<u64> {
        text.parse::<Size>().ok().map(|size| size.bytes)
    }

    #[test]
    fn sizes_take_units_in_any_case_and_fractions() {
        let cases = [("0", 0), ("512M", 512 << 20), ("512mb", 512 << 20), ("1.5GiB", 3 << 29), ("2 T", 2 << 40)];
        for (text, expected) in cases {
            assert_eq!(bytes(text), Some(expected), "{text}");
        }
        assert_eq!(bytes("18446744073709551615"), Some(u64::MAX));
    }

    #[test]
    fn sizes_refuse_what_they_do_not_know_and_what_overflows() {
        for text in ["", "M", "-1", "1X", "1.2.3G", "99999999T", "18446744073709551616", "1 G B", "."] {
            assert_eq!(bytes(text), None, "{text}");
        }
        assert!("5 apples".parse::<Size>().unwrap_err().to_string().contains("e.g. 512M"));
    }

    #[test]
    fn sizes_are_shown_as_people_write_them() {
        assert_eq!(Size { bytes: 1 << 20 }.to_string(), "1 MiB");
        assert_eq!(Size { bytes: 3 << 29 }.to_string(), "1.5 GiB");
        assert_eq!(Size { bytes: 12 }.to_string(), "12 B");
    }

    #[test]
    fn counts_take_powers_of_1000() {
        for (text, expected) in [("7", 7), ("10M", 10_000_000), ("1.5k", 1500), ("2 G", 2_000_000_000), ("1.1k", 1100)]
        {
            assert_eq!(text.parse::<Count>().unwrap().0, expected, "{text}");
        }
        for text in ["", "M", "10MiB", "-1", "many", "1.5", "1.0005k"] {
            assert!(text.parse::<Count>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_in_messages_are_as_flags_take_them() {
        for text in ["12", "1M", "1536M", "3G", "2T", "1025K"] {
            assert_eq!(text.parse::<Size>().unwrap().flag().to_string(), text);
        }
    }

    #[test]
    fn durations_count_seconds_unless_told() {
        let cases = [("30", 30_000), ("250ms", 250), ("1.5h", 5_400_000), ("2d", 172_800_000), ("3m", 180_000)];
        for (text, ms) in cases {
            assert_eq!(text.parse::<Span>().unwrap().0, Duration::from_millis(ms), "{text}");
        }
        assert!("soon".parse::<Span>().is_err());
        assert!("5 weeks".parse::<Span>().is_err());
    }

    #[test]
    fn numbers_are_of_a_range_that_is_told() {
        let port = number::<u16>(1..);
        assert_eq!((port("1"), port("65535")), (Ok(1), Ok(65_535)));
        for text in ["", "0", "-1", "65536", "1.5", "1e3", "many", "99999999999999999999999"] {
            assert_eq!(port(text), Err("write a whole number from 1 to 65535".to_owned()), "{text}");
        }
        assert_eq!(number::<u8>(1..100)("100"), Err("write a whole number from 1 to 99".to_owned()));
        assert_eq!(number::<u64>(..)("18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn decimals_are_of_a_range_that_is_told() {
        let factor = decimal(0.001..=1e6);
        assert_eq!((factor("0.001"), factor("1e6"), factor("2.5")), (Ok(0.001), Ok(1e6), Ok(2.5)));
        for text in ["", "0", "-1", "1e7", "NaN", "inf", "many", "1,5"] {
            assert_eq!(factor(text), Err("write a number from 0.001 to 1000000".to_owned()), "{text}");
        }
    }

    #[test]
    fn nobody_waits_for_no_time() {
        for text in ["0", "0ms", "0.1ms"] {
            assert!(parse_wait(text).unwrap_err().contains("at least 1ms"), "{text}");
        }
        assert_eq!(parse_wait("1ms"), Ok(Span(Duration::from_millis(1))));
        assert!(parse_wait("soon").unwrap_err().contains("e.g. 90s"));
    }

    #[test]
    fn shares_are_parts_of_a_whole() {
        for (text, expected) in [("0", 0.0), ("0.25", 0.25), ("25%", 0.25), ("1", 1.0), ("100%", 1.0)] {
            assert_eq!(parse_share(text), Ok(expected), "{text}");
        }
        for text in ["", "10", "-1%", "101%", "NaN", "some"] {
            assert!(parse_share(text).unwrap_err().contains("e.g. 10%"), "{text}");
        }
    }

    #[test]
    fn acknowledgement_modes_are_three() {
        assert_eq!("durable".parse(), Ok(AckMode::Durable));
        assert_eq!("interval:50".parse(), Ok(AckMode::Interval { ms: 50 }));
        assert_eq!("interval:50ms".parse(), Ok(AckMode::Interval { ms: 50 }));
        assert_eq!("memory".parse(), Ok(AckMode::Memory));
        for text in ["", "interval", "interval:", "interval:0", "interval:x", "durable:1", "fast"] {
            assert!(text.parse::<AckMode>().is_err(), "{text}");
        }
    }

    #[test]
    fn file_modes_are_octal() {
        assert_eq!("0770".parse(), Ok(FileMode(0o770)));
        assert_eq!("600".parse(), Ok(FileMode(0o600)));
        for text in ["", "7", "888", "07777", "rwx"] {
            assert!(text.parse::<FileMode>().is_err(), "{text}");
        }
    }
}
