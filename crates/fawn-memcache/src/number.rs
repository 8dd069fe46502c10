//! Decimal numbers in command lines. Two readers, as memcached has: the strict one takes digits alone; the lenient
//! one (flags and expiry of the classic store commands) reads as C's `strtol` and `strtoul` do.

/// Unsigned 64-bit: 1 to 22 digits.
#[inline]
pub fn u64_strict(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 22 {
        return None;
    }
    text.iter().try_fold(0u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Unsigned 32-bit: 1 to 11 digits.
#[inline]
pub fn u32_strict(text: &[u8]) -> Option<u32> {
    if text.len() > 11 { None } else { u64_strict(text).and_then(|number| u32::try_from(number).ok()) }
}

/// Signed 32-bit: a minus or none, digits, 11 characters at most. (memcached takes a lone minus for 0; here it is
/// refused.)
#[inline]
pub fn i32_strict(text: &[u8]) -> Option<i32> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let number = i64::from(u32_strict(digits)?);
    if text.len() > 11 { None } else { i32::try_from(if negative { -number } else { number }).ok() }
}

/// `strtoul` cut to 32 bits: an optional plus; what passes 64 bits, or is negative, is refused.
#[inline]
pub fn u32_lenient(text: &[u8]) -> Option<u32> {
    Some(digits(text.strip_prefix(b"+").unwrap_or(text))? as u32)
}

/// `strtol`: an optional sign; what passes 64 signed bits is refused.
#[inline]
pub fn i64_lenient(text: &[u8]) -> Option<i64> {
    match text {
        [b'-', rest @ ..] => 0i64.checked_sub_unsigned(digits(rest)?),
        [b'+', rest @ ..] => i64::try_from(digits(rest)?).ok(),
        _ => i64::try_from(digits(text)?).ok(),
    }
}

/// Digits alone, however many zeros lead.
#[inline]
fn digits(text: &[u8]) -> Option<u64> {
    let zeros = text.iter().take_while(|byte| **byte == b'0').count();
    if zeros == text.len() { (zeros > 0).then_some(0) } else { u64_strict(&text[zeros..]) }
}

/// A decimal fraction for the tuning commands, which only have to be well-formed.
pub fn is_positive_fraction(text: &[u8]) -> Option<bool> {
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(number > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_numbers_are_digits_alone_within_range() {
        assert_eq!(u64_strict(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(u32_strict(b"4294967295"), Some(u32::MAX));
        assert_eq!(i32_strict(b"-2147483648"), Some(i32::MIN));
        assert_eq!(i32_strict(b"2147483647"), Some(i32::MAX));
        for text in [&b""[..], b"-1", b"+1", b"1a", b" 1", b"18446744073709551616", b"99999999999999999999999"] {
            assert_eq!(u64_strict(text), None, "{text:?}");
        }
        assert_eq!(u32_strict(b"4294967296"), None);
        for text in [&b"2147483648"[..], b"-2147483649", b"", b"-", b"--1", b"99999999999", b"1-"] {
            assert_eq!(i32_strict(text), None, "{text:?}");
        }
    }

    #[test]
    fn lenient_numbers_read_as_the_c_library_reads_them() {
        assert_eq!([&b"0"[..], b"+7", b"4294967296", b"007"].map(u32_lenient), [Some(0), Some(7), Some(0), Some(7)]);
        assert_eq!([&b"-1"[..], b"1x", b"", b"18446744073709551616"].map(u32_lenient), [None; 4]);
        assert_eq!([&b"-1"[..], b"+5", b"99999999999"].map(i64_lenient), [Some(-1), Some(5), Some(99_999_999_999)]);
        assert_eq!([&b"-"[..], b"", b"1x", b"9223372036854775808"].map(i64_lenient), [None; 4]);
        assert_eq!(i64_lenient(b"-9223372036854775808"), Some(i64::MIN));
    }
}
