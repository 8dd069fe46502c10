//! Signed 64-bit numbers as Redis keeps them.

/// The number that the whole text is, if it is written as a number is printed: no blanks, no plus, no leading zeros.
pub(super) fn parse(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        b"0" => return (!is_negative).then_some(0),
        [b'1'..=b'9', ..] => {}
        _ => return None,
    }
    digits.iter().try_fold(0_i64, |number, byte| {
        let digit = i64::from(byte.is_ascii_digit().then(|| byte - b'0')?);
        let number = number.checked_mul(10)?;
        if is_negative { number.checked_sub(digit) } else { number.checked_add(digit) }
    })
}

/// The number as text.
pub(super) fn print(number: i64) -> Vec<u8> {
    itoa::Buffer::new().format(number).as_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_only_as_they_are_printed() {
        for text in ["9223372036854775807", "-9223372036854775808", "0", "7", "-1"] {
            assert_eq!(parse(text.as_bytes()).map(print), Some(text.as_bytes().to_vec()));
        }
        for text in
            ["", "-", "-0", "+1", " 1", "1 ", "01", "-01", "1.0", "9223372036854775808", "-9223372036854775809", "1\0"]
        {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_number_comes_back(number in any::<i64>()) {
            prop_assert_eq!(parse(&print(number)), Some(number));
        }

        #[test]
        fn what_is_read_is_printed_alike(text in "[-+ 0-9]{0,21}") {
            if let Some(number) = parse(text.as_bytes()) {
                prop_assert_eq!(print(number), text.into_bytes());
            }
        }
    }
}
