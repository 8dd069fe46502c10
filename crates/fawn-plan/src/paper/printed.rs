//! Whether a value is what is printed: rounded or cut off at the last digit that is there.

/// Whether `value` rounds, or is cut off, to what is printed: digits, maybe a point, maybe K for thousands.
pub fn agrees(printed: &str, value: f64) -> bool {
    let (number, unit) = match printed.strip_suffix('K') {
        Some(number) => (number, 1000.0),
        None => (printed, 1.0),
    };
    let plain = number.replace(',', "");
    let places = plain.split_once('.').map_or(0, |(_, places)| places.len());
    let shown: f64 = plain.parse().expect("the papers' cells are numbers");
    let digits = [1.0, 10.0, 100.0, 1000.0][places];
    let scaled = value / unit * digits;
    // Half of a millionth for what floating point does to a value such as 0.13 * 100.
    let (shown, least) = (shown * digits, 5e-7);
    (scaled.round() - shown).abs() < least || ((scaled + least).floor() - shown).abs() < least
}

#[cfg(test)]
mod tests {
    use super::agrees;

    #[test]
    fn rounding_and_cutting_off_agree_and_nothing_else_does() {
        for (printed, value) in
            [("3.5K", 3571.4), ("0.26", 0.2657), ("59", 59.4), ("191,520", 191_520.0), ("0.13", 0.13), ("360", 359.6)]
        {
            assert!(agrees(printed, value), "{printed} {value}");
        }
        for (printed, value) in [("59", 58.37), ("134", 144.71), ("3.5K", 3449.0), ("1.2", 1.5), ("0.004", 0.0029)] {
            assert!(!agrees(printed, value), "{printed} {value}");
        }
    }
}
