//! One range of bytes.

/// What a `Range` field asks for. Values have less than 2³² bytes, so larger numbers are cut to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// From a byte up to another one, both included.
    Between(u32, u32),
    /// From a byte on.
    From(u32),
    /// The last bytes.
    Last(u32),
}

impl ByteRange {
    /// Reads the value of a `Range` field. `None`: it is of another unit, has several ranges, or is none; RFC 9110 has it
    /// ignored then.
    pub fn parse(value: &str) -> Option<Self> {
        let (unit, range) = value.split_once('=')?;
        let (first, last) = range.trim().split_once('-')?;
        if !unit.trim().eq_ignore_ascii_case("bytes") {
            return None;
        }
        match (first, last) {
            ("", last) => number(last).map(Self::Last),
            (first, "") => number(first).map(Self::From),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Self::Between(first, last))
            }
        }
    }

    /// The bytes of a value with `length` bytes; `None`: it has none of them.
    pub fn of(self, length: usize) -> Option<std::ops::Range<usize>> {
        let (start, end) = match self {
            Self::Between(first, last) => (first as usize, (last as usize).saturating_add(1).min(length)),
            Self::From(first) => (first as usize, length),
            Self::Last(count) => (length.saturating_sub(count as usize), length),
        };
        (start < end).then_some(start..end)
    }
}

fn number(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_rfc_9110() {
        for (text, length, bytes) in [
            ("bytes=0-0", 10, Some(0..1)),
            ("bytes=2-5", 10, Some(2..6)),
            ("bytes=2-99999999999999999999", 10, Some(2..10)),
            ("Bytes = 9-", 10, Some(9..10)),
            ("bytes=-3", 10, Some(7..10)),
            ("bytes=-30", 10, Some(0..10)),
            ("bytes=10-", 10, None),
            ("bytes=10-20", 10, None),
            ("bytes=-0", 10, None),
            ("bytes=0-", 0, None),
            ("bytes=-1", 0, None),
        ] {
            assert_eq!(ByteRange::parse(text).unwrap().of(length), bytes, "{text}");
        }
        for ignored in
            ["", "bytes", "bytes=", "bytes=-", "bytes=5-2", "bytes=0-1,3-4", "lines=0-1", "bytes=+1-2", "bytes=a-"]
        {
            assert_eq!(ByteRange::parse(ignored), None, "{ignored}");
        }
    }
}
