//! Division by a number that is known beforehand, without the processor's slow instruction.

/// A divisor of 32-bit numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    by: u32,
    /// 2^64 over the divisor, rounded up. Exact for all 32-bit numbers (Lemire, Kaser and Kurz, 2019), but not for 1.
    factor: u64,
}

impl Divisor {
    /// Divides by a number that is not zero.
    pub fn new(by: u32) -> Self {
        Self { by, factor: (u64::MAX / u64::from(by)).wrapping_add(1) }
    }

    /// The quotient.
    #[inline]
    pub fn divide(self, number: u32) -> u32 {
        if self.by == 1 { number } else { ((u128::from(self.factor) * u128::from(number)) >> 64) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_those_of_a_division() {
        for by in [1, 2, 3, 7, 63, 64, 255, 256, 4_095, 1 << 31, u32::MAX] {
            let divisor = Divisor::new(by);
            for near in [0, 1, by - 1, by, by.wrapping_add(1), by.wrapping_mul(3), u32::MAX - 1, u32::MAX, 0x9e37_79b9]
            {
                assert_eq!(divisor.divide(near), near / by, "{near} / {by}");
            }
        }
    }
}
