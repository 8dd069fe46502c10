//! Decimal numbers as Redis adds them on x86-64: in the 80-bit format of the x87, with 64 bits of significand, and printed with
//! 17 places after the point. Each step is computed exactly and rounded once, to the nearest number, ties to the even one.

use super::decision::size;
use num_bigint::BigUint;

/// A number: `significand` × 2^`exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finite {
    is_negative: bool,
    significand: u64,
    exponent: i32,
}

/// A number, or one that is larger than all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Float {
    /// A number.
    Finite(Finite),
    /// An infinite one.
    Infinite,
}

/// The lowest bit of the smallest number, as an exponent.
const LEAST_EXPONENT: i64 = -16_445;
/// All numbers are below this power of two.
const END_EXPONENT: i64 = 16_384;
/// A number with more decimal places before the point is beyond all; with more zeros behind it, nearer to 0 than to all others.
const MOST_PLACES: i64 = 4_952;
/// Longer texts are no numbers to Redis.
const END_BYTES: usize = 5 * 1024;
/// Decimal places after the point that are printed.
const PLACES: usize = 17;

/// The number that the whole text is, as C's `strtold` reads it: decimal, hexadecimal or infinite. `None` for anything else, for
/// numbers that are too large, and for those that are too small to differ from 0.
pub(super) fn parse(text: &[u8]) -> Option<Float> {
    if text.len() >= END_BYTES {
        return None;
    }
    let (is_negative, text) = split_sign(text);
    if text.eq_ignore_ascii_case(b"inf") || text.eq_ignore_ascii_case(b"infinity") {
        return Some(Float::Infinite);
    }
    let numeral = match text {
        [b'0', b'x' | b'X', digits @ ..] => Numeral::parse(digits, 16)?,
        digits => Numeral::parse(digits, 10)?,
    };
    let finite = Finite { is_negative, ..numeral.round()? };
    Some(Float::Finite(finite))
}

/// Digits and where the point is.
struct Numeral {
    radix: u32,
    /// Without leading zeros.
    digits: Vec<u8>,
    /// The last digit counts so many powers: of ten, or of two if the radix is 16.
    exponent: i64,
}

impl Numeral {
    fn parse(text: &[u8], radix: u32) -> Option<Self> {
        let mut digits = Vec::with_capacity(text.len());
        let mut places = None;
        let mut rest = text;
        while let Some((byte, behind)) = rest.split_first() {
            match char::from(*byte).to_digit(radix) {
                Some(digit) => digits.push(digit as u8),
                None if *byte == b'.' && places.is_none() => places = Some(digits.len()),
                None => break,
            }
            rest = behind;
        }
        let places = size(digits.len() - places.unwrap_or(digits.len()));
        let first = digits.iter().position(|digit| *digit != 0).unwrap_or(digits.len());
        if digits.is_empty() {
            return None;
        }
        let exponent = match rest {
            [] => 0,
            [b'e' | b'E', exponent @ ..] if radix == 10 => parse_exponent(exponent)?,
            [b'p' | b'P', exponent @ ..] if radix == 16 => parse_exponent(exponent)?,
            _ => return None,
        };
        digits.drain(..first);
        let powers = if radix == 16 { 4 * places } else { places };
        Some(Self { radix, digits, exponent: exponent.saturating_sub(powers) })
    }

    /// The nearest number; `None` if that is beyond all, or 0 although this is not.
    fn round(&self) -> Option<Finite> {
        if self.digits.is_empty() {
            return Some(Finite { is_negative: false, significand: 0, exponent: 0 });
        }
        // What is far out of range is not computed.
        let (powers, most) = if self.radix == 16 { (4, 2 * END_EXPONENT) } else { (1, MOST_PLACES) };
        let magnitude = self.exponent.saturating_add(powers * size(self.digits.len()));
        if magnitude.abs() > most {
            return None;
        }
        let digits = BigUint::from_radix_be(&self.digits, self.radix)?;
        let rounded = if self.radix == 16 {
            round(&digits, self.exponent, false)
        } else if let Ok(exponent) = u32::try_from(self.exponent) {
            round(&(digits * BigUint::from(10_u32).pow(exponent)), 0, false)
        } else {
            let divisor = BigUint::from(10_u32).pow(u32::try_from(-self.exponent).ok()?);
            let shift = (divisor.bits() + 66).saturating_sub(digits.bits());
            let dividend = digits << shift;
            let quotient = &dividend / &divisor;
            let is_inexact = &quotient * divisor != dividend;
            round(&quotient, -(shift.cast_signed()), is_inexact)
        };
        rounded.filter(|finite| finite.significand != 0)
    }
}

/// Whether there is a minus, and what comes behind the sign.
fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [sign @ (b'-' | b'+'), rest @ ..] => (*sign == b'-', rest),
        rest => (false, rest),
    }
}

fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = split_sign(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number =
        digits.iter().fold(0_i64, |number, digit| number.saturating_mul(10).saturating_add((digit - b'0').into()));
    Some(if is_negative { -number } else { number })
}

/// The number nearest to `magnitude` × 2^`exponent`, and a little more if it is inexact (then it has more than 65 bits). `None`
/// if it is beyond all.
fn round(magnitude: &BigUint, exponent: i64, is_inexact: bool) -> Option<Finite> {
    let bits = magnitude.bits().cast_signed();
    let dropped = (bits - 64).max(LEAST_EXPONENT - exponent).max(0);
    let mut kept = u128::try_from(magnitude >> dropped).expect("64 bits are left");
    if dropped > 0 && magnitude.bit(dropped as u64 - 1) {
        let is_more = is_inexact || magnitude.trailing_zeros().is_some_and(|zeros| zeros.cast_signed() < dropped - 1);
        kept += u128::from(is_more || kept & 1 == 1);
    }
    let mut exponent = exponent + dropped;
    if kept > u128::from(u64::MAX) {
        kept >>= 1;
        exponent += 1;
    }
    let significand = kept as u64;
    let end = exponent + i64::from(u64::BITS - significand.leading_zeros());
    if significand != 0 && end > END_EXPONENT {
        return None;
    }
    Some(Finite { is_negative: false, significand, exponent: exponent as i32 })
}

/// Whether a text is a number that is larger than all, e.g. `-inf`. Redis says so of what is to be added to a field.
pub fn is_infinite(text: &[u8]) -> bool {
    parse(text) == Some(Float::Infinite)
}

/// The sum; `None` if that is no finite number.
pub(super) fn add(left: Float, right: Float) -> Option<Finite> {
    let (Float::Finite(left), Float::Finite(right)) = (left, right) else { return None };
    let exponent = left.exponent.min(right.exponent);
    let [augend, addend] =
        [left, right].map(|number| BigUint::from(number.significand) << (number.exponent - exponent));
    let (is_negative, magnitude) = if left.is_negative == right.is_negative {
        (left.is_negative, augend + addend)
    } else if augend >= addend {
        (left.is_negative, augend - addend)
    } else {
        (right.is_negative, addend - augend)
    };
    Some(Finite { is_negative, ..round(&magnitude, exponent.into(), false)? })
}

/// The number as text, with 17 places after the point, less the zeros at the end.
pub(super) fn print(number: Finite) -> Vec<u8> {
    let mut text = match u32::try_from(number.exponent) {
        Ok(exponent) => (BigUint::from(number.significand) << exponent).to_string(),
        Err(_) => print_fraction(number.significand, number.exponent.unsigned_abs()),
    };
    if number.is_negative && text != "0" {
        text.insert(0, '-');
    }
    text.into_bytes()
}

/// `significand` ÷ 2^`shift`.
fn print_fraction(significand: u64, shift: u32) -> String {
    const SCALE: u128 = 10_u128.pow(PLACES as u32);
    let scaled = u128::from(significand) * SCALE;
    let whole = scaled.checked_shr(shift).unwrap_or(0);
    let dropped = if shift < u128::BITS { scaled & ((1 << shift) - 1) } else { 0 };
    let half = 1_u128.checked_shl(shift - 1).unwrap_or(0);
    let scaled = whole + u128::from(dropped > half || (dropped == half && dropped != 0 && whole & 1 == 1));
    let text = format!("{}.{:0PLACES$}", scaled / SCALE, scaled % SCALE);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
