//! Fields of a line: how they are cut, and numbers in them.

use super::error::LineProblem;
use super::request::{Access, BlockRequest};

/// Fields that are kept of a line.
const MOST: usize = 24;

/// Bytes of a sector, in every format that counts in sectors.
pub const SECTOR_BYTES: u64 = 512;

/// The fields of one line. Those after the twenty-fourth are counted, and not kept.
pub struct Fields<'a> {
    fields: [&'a [u8]; MOST],
    count: usize,
}

impl<'a> Fields<'a> {
    /// Fields with commas between them. Blanks around a field do not belong to it.
    pub fn by_commas(line: &'a [u8]) -> Self {
        Self::of(line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii))
    }

    /// Fields with blanks between them.
    pub fn by_blanks(line: &'a [u8]) -> Self {
        Self::of(line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()))
    }

    fn of(pieces: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut fields = Self { fields: [b""; MOST], count: 0 };
        for piece in pieces {
            if let Some(field) = fields.fields.get_mut(fields.count) {
                *field = piece;
            }
            fields.count += 1;
        }
        fields
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The field with this number, from 0. An empty one if there is none.
    pub fn get(&self, index: usize) -> &'a [u8] {
        self.fields.get(index).copied().unwrap_or_default()
    }

    /// Checks how many there are.
    ///
    /// # Errors
    /// Another number than `range` has, which `expected` names.
    pub fn expect(&self, range: std::ops::RangeInclusive<usize>, expected: &'static str) -> Result<(), LineProblem> {
        if range.contains(&self.count) { Ok(()) } else { Err(LineProblem::Fields { expected, found: self.count }) }
    }

    /// A field as a whole number.
    ///
    /// # Errors
    /// It is none, or too large.
    pub fn number(&self, index: usize, field: &'static str) -> Result<u64, LineProblem> {
        parse_number(self.get(index)).ok_or(LineProblem::Number { field })
    }

    /// A field as the number of a device.
    ///
    /// # Errors
    /// It is none, or too large.
    pub fn device(&self, index: usize) -> Result<u32, LineProblem> {
        let number = self.number(index, "device")?;
        u32::try_from(number).map_err(|_| LineProblem::Number { field: "device" })
    }

    /// A field as a number of sectors, in bytes.
    ///
    /// # Errors
    /// It is none, or too large.
    pub fn sectors(&self, index: usize, field: &'static str) -> Result<u64, LineProblem> {
        self.number(index, field)?.checked_mul(SECTOR_BYTES).ok_or(LineProblem::Number { field })
    }

    /// A field as a time in units of `unit_ns` nanoseconds, decimals allowed.
    ///
    /// # Errors
    /// It is none, or too large.
    pub fn time_ns(&self, index: usize, unit_ns: u64, field: &'static str) -> Result<u64, LineProblem> {
        parse_decimal(self.get(index), unit_ns).ok_or(LineProblem::Number { field })
    }
}

/// A whole number in decimal digits.
pub fn parse_number(text: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let more = |number: u64, byte: &u8| number.checked_mul(10)?.checked_add(digit(byte)?);
    if text.is_empty() { None } else { text.iter().try_fold(0, more) }
}

/// A number with or without decimals, times `unit`, rounded down. Exact, without floating point.
pub fn parse_decimal(text: &[u8], unit: u64) -> Option<u64> {
    let point = text.iter().position(|&byte| byte == b'.');
    let Some(point) = point else { return parse_number(text)?.checked_mul(unit) };
    let (whole, decimals) = (&text[..point], &text[point + 1..]);
    if !decimals.iter().all(u8::is_ascii_digit) || (whole.is_empty() && decimals.is_empty()) {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { parse_number(whole)? };
    // 18 decimals of any unit below 10^18 are more than a nanosecond needs.
    let mut fraction = 0u128;
    let mut scale = 1u128;
    for byte in decimals.iter().take(18) {
        fraction = fraction * 10 + u128::from(byte - b'0');
        scale *= 10;
    }
    let fraction = (fraction * u128::from(unit) / scale) as u64;
    whole.checked_mul(unit)?.checked_add(fraction)
}

/// A request whose extent was checked.
///
/// # Errors
/// The extent is empty or too large.
pub fn checked(request: BlockRequest) -> Result<BlockRequest, LineProblem> {
    if request.bytes == 0 && request.access != Access::Flush {
        return Err(LineProblem::Empty);
    }
    if request.has_place() { Ok(request) } else { Err(LineProblem::Extent) }
}

/// A read or a write, as a letter or a word.
///
/// # Errors
/// It is neither.
pub fn parse_access(text: &[u8]) -> Result<Access, LineProblem> {
    let is_one_of = |words: [&str; 2]| words.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()));
    if is_one_of(["r", "read"]) {
        Ok(Access::Read)
    } else if is_one_of(["w", "write"]) {
        Ok(Access::Write)
    } else {
        Err(LineProblem::Operation)
    }
}

/// The number of a device that has a major and a minor one, as Linux packs them.
///
/// # Errors
/// One of the numbers is too large.
pub fn device_of(major: u32, minor: u32) -> Result<u32, LineProblem> {
    if major < 1 << 12 && minor < 1 << 20 {
        Ok(major << 20 | minor)
    } else {
        Err(LineProblem::Number { field: "device" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let seconds = |text: &str| parse_decimal(text.as_bytes(), 1_000_000_000);
        assert_eq!(seconds("0.000000001"), Some(1));
        assert_eq!(seconds("0.0000000019"), Some(1));
        assert_eq!(seconds("1538323199"), Some(1_538_323_199_000_000_000));
        assert_eq!(seconds("12.5"), Some(12_500_000_000));
        assert_eq!(seconds(".5"), Some(500_000_000));
        assert_eq!(seconds("7."), Some(7_000_000_000));
        assert_eq!(seconds("0.999999999999999999999999"), Some(999_999_999));
        for wrong in ["", ".", "-1", "1e3", "1.2.3", "1.x", "18446744074", "99999999999999999999"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_are_digits_alone() {
        assert_eq!(parse_number(b"18446744073709551615"), Some(u64::MAX));
        for wrong in ["18446744073709551616", "", "+1", "-1", "1 ", "0x1"] {
            assert_eq!(parse_number(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn fields_past_the_last_that_is_kept_are_counted() {
        let line = "7 ".repeat(100);
        let fields = Fields::by_blanks(line.as_bytes());
        assert_eq!((fields.count(), fields.get(23), fields.get(24)), (100, b"7".as_slice(), b"".as_slice()));
    }
}
