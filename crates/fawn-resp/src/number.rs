//! Integers as Redis reads them.

/// A signed 64-bit decimal number without leading zeros, signs but one `-`, or spaces; `None` for anything else.
pub fn integer(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let magnitude = match digits {
        [b'0'] if !is_negative => 0,
        [b'1'..=b'9', ..] if digits.len() <= 19 => digits.iter().try_fold(0_u64, |sum, digit| {
            let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
            sum.checked_mul(10)?.checked_add(u64::from(digit))
        })?,
        _ => return None,
    };
    if is_negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_redis_takes_for_an_integer_is_one() {
        for (text, number) in
            [("0", 0), ("7", 7), ("-7", -7), ("9223372036854775807", i64::MAX), ("-9223372036854775808", i64::MIN)]
        {
            assert_eq!(integer(text.as_bytes()), Some(number));
            assert_eq!(number.to_string(), text);
        }
        for text in [
            "",
            "-",
            "-0",
            "+1",
            " 1",
            "1 ",
            "01",
            "00",
            "1.0",
            "0x1",
            "1e3",
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551616",
            "99999999999999999999",
        ] {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }
}
