//! A hash of page numbers that is the same in every run.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds [`PageHasher`]s.
pub type PageHash = BuildHasherDefault<PageHasher>;

/// Multiplies by an odd constant: page numbers come from the simulation, nobody chooses them to collide.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        let product = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}
