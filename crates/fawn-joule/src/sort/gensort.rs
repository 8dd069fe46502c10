//! The benchmark's records, computed from their numbers, byte for byte as the benchmark's own generator makes them.
//!
//! A record comes from a linear congruential generator of 128 bits. Its state for any record is found by squaring, so that threads
//! make parts of a file independently.

/// The multiplier (L'Ecuyer 1999).
const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
/// The increment. It is the first state, too.
const INCREMENT: u128 = 0x4a69_6d47_7261_7952_4950_2020_2020_2001;

/// What the ten parts of a binary record are combined with; the key is the first.
const PARTS: [u128; 10] = [
    0,
    0xF0E8_E4E2_E1D8_D4D2_D1CC,
    0xCAC9_C6C5_C3B8_B4B2_B1AC,
    0xAAA9_A6A5_A39C_9A99_9695,
    0x938E_8D8B_8778_7472_716C,
    0x6A69_6665_635C_5A59_5655,
    0x534E_4D4B_473C_3A39_3635,
    0x332E_2D2B_271E_1D1B_170F,
    0xC8C4_C2C1_9894_9291_8CE0,
    0x170F_332E_2D2B_271E_1D1B,
];

/// Bytes of a part.
const PART_BYTES: usize = 10;
/// Bytes of a record.
pub const RECORD_BYTES: usize = 100;
/// Leading bytes of a skewed key that many records share.
const SHARED_BYTES: usize = 6;
/// Printable characters, from the blank on.
const CHARACTERS: u64 = 95;

/// What the bytes of records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordText {
    /// Any bytes.
    Binary,
    /// Printable characters, each record a line.
    Ascii,
}

/// Makes records in the order of their numbers.
#[derive(Clone, Debug)]
pub struct RecordGenerator {
    /// The state of the next record.
    state: u128,
    number: u64,
    text: RecordText,
    is_skewed: bool,
}

impl RecordGenerator {
    /// Begins with the record of this number.
    ///
    /// With `is_skewed` three quarters of the records share the first six bytes of their keys with all others whose numbers have as
    /// many bits. The benchmark's generator skews keys in the same way, with other bytes.
    pub fn starting_at(number: u64, text: RecordText, is_skewed: bool) -> Self {
        Self { state: state_of(number), number, text, is_skewed }
    }

    /// Writes the next record.
    pub fn write_next(&mut self, record: &mut [u8; RECORD_BYTES]) {
        match self.text {
            RecordText::Binary => write_binary(self.state, record),
            RecordText::Ascii => write_ascii(self.state, self.number, record),
        }
        // Bits that no key shows.
        if self.is_skewed && self.state >> 8 & 3 != 0 {
            let shared = shared_bytes(64 - self.number.leading_zeros(), self.text);
            record[..SHARED_BYTES].copy_from_slice(&shared);
        }
        self.state = next(self.state);
        self.number += 1;
    }
}

fn next(state: u128) -> u128 {
    state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT)
}

/// The state of a record: that after `number` + 1 steps from 0. The map of 2^n steps is that of half as many, applied twice.
fn state_of(number: u64) -> u128 {
    let (mut multiplier, mut increment) = (MULTIPLIER, INCREMENT);
    let (mut state, mut steps) = (0u128, u128::from(number) + 1);
    while steps > 0 {
        if steps & 1 == 1 {
            state = state.wrapping_mul(multiplier).wrapping_add(increment);
        }
        increment = increment.wrapping_mul(multiplier).wrapping_add(increment);
        multiplier = multiplier.wrapping_mul(multiplier);
        steps >>= 1;
    }
    state
}

fn write_binary(mut state: u128, record: &mut [u8; RECORD_BYTES]) {
    for (part, mask) in record.chunks_exact_mut(PART_BYTES).zip(PARTS) {
        let bits = (state >> 48) ^ mask;
        part.copy_from_slice(&bits.to_be_bytes()[6..]);
        state = next(state);
    }
}

fn write_ascii(state: u128, number: u64, record: &mut [u8; RECORD_BYTES]) {
    write_characters((state >> 64) as u64, &mut record[..8]);
    write_characters(state as u64, &mut record[8..10]);
    record[10..12].fill(b' ');
    for (at, digit) in record[12..44].iter_mut().enumerate() {
        *digit = hex(u128::from(number) >> (4 * (31 - at)));
    }
    record[44..46].fill(b' ');
    for (at, digits) in record[46..98].chunks_exact_mut(4).enumerate() {
        digits.fill(hex(state >> (4 * (12 - at))));
    }
    record[98..].copy_from_slice(b"\r\n");
}

fn write_characters(mut bits: u64, target: &mut [u8]) {
    for character in target {
        *character = b' ' + (bits % CHARACTERS) as u8;
        bits /= CHARACTERS;
    }
}

fn hex(bits: u128) -> u8 {
    b"0123456789ABCDEF"[(bits & 15) as usize]
}

/// The bytes that keys of records share whose numbers have this many bits.
fn shared_bytes(bit_length: u32, text: RecordText) -> [u8; SHARED_BYTES] {
    let state = state_of(u64::MAX - u64::from(bit_length));
    let mut shared = [0; SHARED_BYTES];
    match text {
        RecordText::Binary => shared.copy_from_slice(&state.to_be_bytes()[..SHARED_BYTES]),
        RecordText::Ascii => write_characters((state >> 64) as u64, &mut shared),
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::checksum::Checksum;

    fn checksum(records: u64, text: RecordText) -> String {
        let mut generator = RecordGenerator::starting_at(0, text, false);
        let (mut sum, mut record) = (Checksum::default(), [0; RECORD_BYTES]);
        for _ in 0..records {
            generator.write_next(&mut record);
            sum.add(&record);
        }
        sum.to_string()
    }

    #[test]
    fn records_are_those_of_the_benchmark() {
        let known = [
            (1, "9ea593a0", "3fcaea0a"),
            (10, "55fea8a1a", "469302dca"),
            (1_000, "1ea6370b955", "1f5dfb3631a"),
            (10_000, "1392d240ca76", "138005ce70eb"),
            (100_000, "c3068574c6ff", "c34e19c81885"),
            (163_840, "13f6b0519fb7c", "1400fed7bb2c2"),
            (1_000_000, "7a0e0d4868cd4", "7a19cff467438"),
        ];
        for (records, binary, ascii) in known {
            assert_eq!(checksum(records, RecordText::Binary), binary, "{records} binary records");
            assert_eq!(checksum(records, RecordText::Ascii), ascii, "{records} ASCII records");
        }
    }

    #[test]
    fn the_first_record_is_known() {
        let mut record = [0; RECORD_BYTES];
        RecordGenerator::starting_at(0, RecordText::Binary, false).write_next(&mut record);
        assert_eq!(&record[..10], b"JimGrayRIP");
        RecordGenerator::starting_at(0, RecordText::Ascii, false).write_next(&mut record);
        assert!(record.starts_with(b"AsfAGHM5om  00000000000000000000000000000000  "), "{record:?}");
        assert!(record.ends_with(b"\r\n"));
    }

    #[test]
    fn a_part_of_a_file_is_made_without_what_is_before() {
        for text in [RecordText::Binary, RecordText::Ascii] {
            for is_skewed in [false, true] {
                let mut whole = RecordGenerator::starting_at(0, text, is_skewed);
                let (mut record, mut other) = ([0; RECORD_BYTES], [0; RECORD_BYTES]);
                for number in 0..300 {
                    whole.write_next(&mut record);
                    RecordGenerator::starting_at(number, text, is_skewed).write_next(&mut other);
                    assert_eq!(record, other, "{number}");
                }
            }
        }
    }

    #[test]
    fn three_quarters_of_skewed_keys_share_bytes_that_can_be_printed() {
        let (mut uniform, mut skewed) = ([0; RECORD_BYTES], [0; RECORD_BYTES]);
        let shared = shared_bytes(14, RecordText::Ascii);
        let mut sharing = 0;
        for number in 8192..16_384 {
            RecordGenerator::starting_at(number, RecordText::Ascii, false).write_next(&mut uniform);
            RecordGenerator::starting_at(number, RecordText::Ascii, true).write_next(&mut skewed);
            assert_eq!(uniform[SHARED_BYTES..], skewed[SHARED_BYTES..]);
            assert!(skewed[..10].iter().all(|byte| (b' '..=b'~').contains(byte)));
            sharing += usize::from(skewed[..SHARED_BYTES] == shared);
        }
        assert!((6000..6288).contains(&sharing), "{sharing} of 8192");
    }
}
