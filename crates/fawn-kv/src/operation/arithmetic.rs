//! Counters as memcached keeps them: decimal text, read as C's `strtoull` reads it, written over in place.

/// The number at the start of `value`: blanks, a sign, digits, then the end, a blank or a NUL. `None` for anything
/// else, and for numbers beyond 64 bits. A minus sign negates modulo 2⁶⁴ and is refused when that leaves the signed
/// range (`-5` is no counter, `-0` is 0).
pub fn parse(value: &[u8]) -> Option<u64> {
    let text = &value[value.iter().take_while(|byte| is_space(**byte)).count()..];
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 || digits.get(count).is_some_and(|byte| !is_space(*byte) && *byte != 0) {
        return None;
    }
    let number = digits[..count]
        .iter()
        .try_fold(0u64, |number, digit| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?;
    if negative {
        return i64::try_from(number.wrapping_neg()).ok().map(i64::cast_unsigned);
    }
    Some(number)
}

/// C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// `number` as text that replaces a value of `len` bytes: shorter text is filled up with blanks to the old length (so
/// that 10 − 1 is `9 `), longer text makes the value longer.
pub fn print_over(number: u64, len: usize) -> Vec<u8> {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(number).as_bytes();
    let mut made = Vec::with_capacity(text.len().max(len));
    made.extend_from_slice(text);
    made.resize(text.len().max(len), b' ');
    made
}
