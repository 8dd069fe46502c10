//! Amounts as people read them: `10 TB`, `1.5 M`, `$168,838`, `31 %`. Units are powers of 1000.

const BYTES: [(f64, &str); 5] = [(1e15, " PB"), (1e12, " TB"), (1e9, " GB"), (1e6, " MB"), (1e3, " KB")];
const COUNTS: [(f64, &str); 3] = [(1e9, " G"), (1e6, " M"), (1e3, " K")];

/// `10 TB`: three digits and a decimal unit.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, &BYTES, " B", 3)
}

/// `1.5 M`: three digits and a decimal unit, or none.
pub fn count(count: f64) -> String {
    scaled(count, &COUNTS, "", 3)
}

/// `$168,838`: whole dollars.
pub fn dollars(dollars: f64) -> String {
    let sign = if dollars < 0.0 { "-" } else { "" };
    format!("{sign}${}", grouped_digits(&format!("{:.0}", dollars.abs())))
}

/// `1,000,000`.
pub fn grouped(number: u64) -> String {
    grouped_digits(&number.to_string())
}

/// `1 sample`, `2 samples`, `1,000 copies`.
pub fn counted(count: u64, one: &str, more: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { more })
}

fn grouped_digits(digits: &str) -> String {
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `2.5 h`, `40 s`: two or three digits and a unit of time.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{} s", digits(s)),
        s if s < 7200.0 => format!("{} min", digits(s / 60.0)),
        s if s < 172_800.0 => format!("{} h", digits(s / 3600.0)),
        s => format!("{} days", digits(s / 86_400.0)),
    }
}

/// `31 %`, `0.42 %`; what is not all of it is not told as `100 %`.
pub fn percent(share: f64) -> String {
    let told = (3..=9).map(|count| digits_that_count(share * 100.0, count));
    let told = told.take(if share < 1.0 { 7 } else { 1 }).find(|told| told != "100");
    format!("{} %", told.unwrap_or_else(|| digits(share * 100.0)))
}

/// Three digits that count, without zeros behind the point.
pub fn digits(value: f64) -> String {
    digits_that_count(value, 3)
}

fn digits_that_count(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let places = (digits - 1 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The number as it is, with commas where it is long and whole.
pub fn plain(value: f64) -> String {
    if value >= 1000.0 && value.fract() == 0.0 { grouped(value as u64) } else { value.to_string() }
}

fn scaled(value: f64, units: &[(f64, &str)], one: &str, count: i32) -> String {
    match units.iter().find(|(unit, _)| value >= *unit) {
        Some((unit, name)) => format!("{}{name}", digits_that_count(value / unit, count)),
        None => format!("{}{one}", digits_that_count(value, count)),
    }
}

/// A number with so many decimals, and commas between thousands.
pub fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (sign, rest) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, fraction)| (whole, Some(fraction)));
    let fraction = fraction.map_or_else(String::new, |fraction| format!(".{fraction}"));
    format!("{sign}{}{fraction}", grouped_digits(whole))
}

/// As above with nine digits that count, for what somebody has asked for.
pub mod exact {
    use super::{BYTES, COUNTS, digits_that_count, scaled};

    const DIGITS: i32 = 9;

    /// `10.9951163 TB`.
    pub fn bytes(bytes: f64) -> String {
        scaled(bytes, &BYTES, " B", DIGITS)
    }

    /// `999.999 K`.
    pub fn count(count: f64) -> String {
        scaled(count, &COUNTS, "", DIGITS)
    }

    /// `99.99 %`.
    pub fn percent(share: f64) -> String {
        format!("{} %", digits(share * 100.0))
    }

    /// `0.1375`.
    pub fn digits(value: f64) -> String {
        digits_that_count(value, DIGITS)
    }

    /// `1 year`, `2.5 years`.
    pub fn years(years: f64) -> String {
        let unit = if years.to_bits() == 1f64.to_bits() { "year" } else { "years" };
        format!("{} {unit}", digits(years))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_is_told_as_it_was_said() {
        let told = [exact::bytes(1999.0), exact::count(999_999.0), exact::percent(0.9999), exact::years(1.0)];
        assert_eq!(told, ["1.999 KB", "999.999 K", "99.99 %", "1 year"]);
        assert_eq!((exact::bytes(10e12), exact::years(2.5)), ("10 TB".to_owned(), "2.5 years".to_owned()));
    }

    #[test]
    fn amounts_are_told_with_three_digits() {
        let told = [
            bytes(10e12),
            bytes(1066.0),
            count(82_400.0),
            count(999.0),
            dollars(168_838.46),
            dollars(-5.0),
            grouped(12),
        ];
        assert_eq!(told, ["10 TB", "1.07 KB", "82.4 K", "999", "$168,838", "-$5", "12"]);
        let told = [seconds(40.0), seconds(600.0), seconds(9000.0), percent(0.313), percent(0.0042), digits(0.0)];
        assert_eq!(told, ["40 s", "10 min", "2.5 h", "31.3 %", "0.42 %", "0"]);
        let told = [0.999, 0.9998, 0.999_951, 1.0, 1.0004].map(percent);
        assert_eq!(told, ["99.9 %", "99.98 %", "99.995 %", "100 %", "100 %"]);
    }

    #[test]
    fn one_is_told_in_the_singular() {
        let told = [0, 1, 2, 1000].map(|count| counted(count, "copy", "copies"));
        assert_eq!(told, ["0 copies", "1 copy", "2 copies", "1,000 copies"]);
    }

    #[test]
    fn numbers_have_commas_between_thousands() {
        for (value, decimals, expected) in [
            (1234.5, 1, "1,234.5"),
            (-1_000_000.0, 0, "-1,000,000"),
            (12.0, 2, "12.00"),
            (0.0, 0, "0"),
            (999.9, 0, "1,000"),
        ] {
            assert_eq!(number(value, decimals), expected);
        }
    }
}
