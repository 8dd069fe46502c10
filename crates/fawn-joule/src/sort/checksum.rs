//! The benchmark's checksum: the sum of the CRC-32 of each record. It does not depend on their order.

use std::fmt;
use std::ops::AddAssign;
use std::str::FromStr;

/// The sum of zlib's CRC-32 of each record, as a number of 128 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum(pub u128);

impl Checksum {
    /// Adds a record.
    #[inline]
    pub fn add(&mut self, record: &[u8]) {
        self.0 += u128::from(crc32fast::hash(record));
    }
}

impl AddAssign for Checksum {
    fn add_assign(&mut self, more: Self) {
        self.0 += more.0;
    }
}

/// In hexadecimal digits without leading zeros, as the benchmark's own programs print it.
impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// Why a text is no checksum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a checksum; write the hexadecimal digits that `generate` or `validate` has printed")]
pub struct ChecksumError(String);

impl FromStr for Checksum {
    type Err = ChecksumError;

    fn from_str(text: &str) -> Result<Self, ChecksumError> {
        let is_hex = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = is_hex.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        number.map(Self).ok_or_else(|| ChecksumError(text.to_owned()))
    }
}
