//! Amounts as people write them: `10TB`, `1M`, `75%`, `8kW`. Units are powers of 1000, as disks and networks are sold; whoever
//! means powers of 1024 writes `TiB`.

use crate::quantity::{LEAST, MOST};

/// Why an amount was not understood. Each message ends with what is accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Not a number of bytes above 0.
    #[error(
        "`{0}` is not a size; write a number of bytes above 0 and up to 1000PB with KB, MB, GB, TB or PB (powers of \
        1000), or KiB to PiB (powers of 1024), e.g. 10TB"
    )]
    Bytes(String),
    /// Not a rate above 0.
    #[error(
        "`{0}` is not a rate; write queries per second, above 0 and up to 10^12, with an optional K, M, G or T \
        (powers of 1000), e.g. 1.5M"
    )]
    Rate(String),
    /// Not a share from a thousandth up to all.
    #[error("`{0}` is not a share; write a percentage from 0.1% to 100%, e.g. 75%")]
    Share(String),
    /// Not a power above 0.
    #[error("`{0}` is not a power; write watts from 0.001 to 10^12, e.g. 800W or 8kW")]
    Watts(String),
    /// Not a plain number in its bounds.
    #[error("`{0}` is not a number {1}")]
    Number(String, &'static str),
}

/// Bytes: `10TB`, `1KB`, `512`, `1.5GiB`.
///
/// # Errors
/// It is none.
pub fn parse_bytes(text: &str) -> Result<f64, AmountError> {
    let power = |unit: &str| match unit {
        "" | "b" => Some(1.0),
        _ => {
            let (letter, rest) = unit.split_at_checked(1)?;
            let power = 1 + i32::try_from("kmgtp".find(letter)?).ok()?;
            let base: f64 = match rest {
                "" | "b" => 1000.0,
                "ib" => 1024.0,
                _ => return None,
            };
            Some(base.powi(power))
        }
    };
    // Less than a byte is nothing that a store could hold.
    amount(text, power).filter(|bytes| (1.0..=1e18).contains(bytes)).ok_or_else(|| AmountError::Bytes(text.to_owned()))
}

/// Queries a second: `1M`, `506880`, `1.5k`.
///
/// # Errors
/// It is none.
pub fn parse_rate(text: &str) -> Result<f64, AmountError> {
    let power = |unit: &str| match unit {
        "" => Some(1.0),
        "k" => Some(1e3),
        "m" => Some(1e6),
        "g" => Some(1e9),
        "t" => Some(1e12),
        _ => None,
    };
    amount(text, power).filter(|rate| *rate <= MOST).ok_or_else(|| AmountError::Rate(text.to_owned()))
}

/// A share: `75%`, of 1; a thousandth at least.
///
/// # Errors
/// It is none.
pub fn parse_share(text: &str) -> Result<f64, AmountError> {
    let share = amount(text, |unit| (unit == "%").then_some(0.01));
    share.filter(|share| (0.001..=1.0).contains(share)).ok_or_else(|| AmountError::Share(text.to_owned()))
}

/// Watts: `800W`, `8kW`.
///
/// # Errors
/// It is none.
pub fn parse_watts(text: &str) -> Result<f64, AmountError> {
    let power = |unit: &str| match unit {
        "" | "w" => Some(1.0),
        "kw" => Some(1e3),
        _ => None,
    };
    amount(text, power).filter(|watts| is_in_bounds(*watts)).ok_or_else(|| AmountError::Watts(text.to_owned()))
}

/// Dollars a kilowatt-hour.
///
/// # Errors
/// It is none.
pub fn parse_price(text: &str) -> Result<f64, AmountError> {
    number(text, "of dollars from 0 to 1000, e.g. 0.15", |price| (0.0..=1000.0).contains(&price))
}

/// Dollars that a thing costs, above 0.
///
/// # Errors
/// They are none.
pub fn parse_dollars(text: &str) -> Result<f64, AmountError> {
    number(text, "of dollars from 0.001 to 10^12, e.g. 120", is_in_bounds)
}

/// 10^6 bits a second, above 0.
///
/// # Errors
/// They are none.
pub fn parse_mbit(text: &str) -> Result<f64, AmountError> {
    number(text, "of 10^6 bits per second from 0.001 to 10^12, e.g. 940", is_in_bounds)
}

/// What the building takes for each watt of a node: 1 to 100.
///
/// # Errors
/// It is none.
pub fn parse_pue(text: &str) -> Result<f64, AmountError> {
    number(text, "from 1 to 100, e.g. 1.4", |pue| (1.0..=100.0).contains(&pue))
}

/// Years, above 0.
///
/// # Errors
/// They are none.
pub fn parse_years(text: &str) -> Result<f64, AmountError> {
    number(text, "of years above 0 and up to 100, e.g. 3", |years| years > 0.0 && years <= 100.0)
}

fn is_in_bounds(value: f64) -> bool {
    (LEAST..=MOST).contains(&value)
}

fn number(text: &str, accepted: &'static str, is_good: fn(f64) -> bool) -> Result<f64, AmountError> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && is_good(*value));
    value.ok_or_else(|| AmountError::Number(text.to_owned(), accepted))
}

/// A number above 0 with a unit, whose worth `power` says.
fn amount(text: &str, power: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let value = number.parse::<f64>().ok()? * power(&unit.trim_start().to_ascii_lowercase())?;
    (value > 0.0 && value.is_finite()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_decimal_unless_they_say_otherwise() {
        let cases = [
            ("10TB", 10e12),
            ("1KB", 1e3),
            ("1kb", 1e3),
            ("512", 512.0),
            ("1.5 GB", 1.5e9),
            ("2TiB", 2.0 * 1024f64.powi(4)),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_bytes(text), Ok(expected), "{text}");
        }
        assert_eq!((parse_rate("1M"), parse_rate("1.5k")), (Ok(1e6), Ok(1500.0)));
        assert_eq!((parse_share("75%"), parse_share("100%")), (Ok(0.75), Ok(1.0)));
        assert_eq!((parse_watts("8kW"), parse_watts("800")), (Ok(8000.0), Ok(800.0)));
    }

    #[test]
    fn what_is_no_amount_is_answered_with_one() {
        for text in ["", "TB", "-1", "0", "10XB", "1e400TB", "10T B", "0.5", "é", "1001PB"] {
            assert!(parse_bytes(text).unwrap_err().to_string().ends_with("e.g. 10TB"), "{text}");
        }
        for text in ["", "0", "1MB", "many"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
        for text in ["75", "0.75", "0%", "0.01%", "101%", "%"] {
            assert!(parse_share(text).unwrap_err().to_string().ends_with("e.g. 75%"), "{text}");
        }
        for (parsed, what) in [
            (parse_pue("0.9"), "pue"),
            (parse_years("0"), "years"),
            (parse_price("-1"), "price"),
            (parse_price("nan"), "nan"),
            (parse_price("1e300"), "price"),
            (parse_dollars("0"), "dollars"),
            (parse_mbit("0"), "mbit"),
            (parse_mbit("-940"), "mbit"),
        ] {
            assert!(parsed.is_err(), "{what}");
        }
    }
}
