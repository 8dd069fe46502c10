//! Prefetch: touching what the lookups of several keys are about to touch.
//!
//! A lookup waits for memory three to eight times in a row, a tenth of a microsecond each, and nothing in it can be
//! done meanwhile. The waits of different keys do not depend on each other: a loop that does nothing else lets the
//! processor wait for those of a whole group at once, and the lookups that follow find everything in its caches.

use std::hint::black_box;

use fawn_ring::Key;

use super::Store;
use crate::sealed::index::SegmentNumber;

/// The first segment that a table names, without memory of its own.
#[derive(Default)]
struct First(Option<SegmentNumber>);

impl Extend<SegmentNumber> for First {
    #[inline]
    fn extend<I: IntoIterator<Item = SegmentNumber>>(&mut self, numbers: I) {
        self.0 = numbers.into_iter().next().or(self.0);
    }
}

impl Store {
    /// Most keys that one call of [`prefetch`](Self::prefetch) looks at: what a processor can wait for at a time, and what its
    /// first cache surely keeps until the lookups come.
    pub const PREFETCH_KEYS: usize = 16;

    /// Touches what a [`lookup`](Self::lookup) of each of these keys will; answers nothing and changes nothing. Keys
    /// beyond the first [`PREFETCH_KEYS`](Self::PREFETCH_KEYS) are ignored.
    pub fn prefetch(&self, keys: &[Key]) {
        let keys = &keys[..keys.len().min(Self::PREFETCH_KEYS)];
        let mut buffered = [None; Self::PREFETCH_KEYS];
        for (key, place) in keys.iter().zip(&mut buffered) {
            *place = self.buffers.open().hint(key);
        }
        let mut touched = 0;
        let mut sealed = [Key::MIN; Self::PREFETCH_KEYS];
        let mut count = 0;
        for (key, place) in keys.iter().zip(buffered) {
            if let Some(handle) = place {
                touched ^= self.buffers.open().touch(handle);
            } else {
                sealed[count] = *key;
                count += 1;
            }
        }
        if count > 0 {
            touched ^= self.prefetch_sealed(&sealed[..count]);
        }
        black_box(touched);
    }

    /// As [`prefetch`](Self::prefetch), for keys that the open segment does not hold.
    fn prefetch_sealed(&self, keys: &[Key]) -> u8 {
        let slices = self.sealed.slices();
        let mut touched = 0;
        let mut numbers = [None; Self::PREFETCH_KEYS];
        for (key, number) in keys.iter().zip(&mut numbers) {
            let frozen = self.buffers.frozen().rev().find_map(|(segment, _)| Some((segment, segment.hint(key)?)));
            if let Some((segment, handle)) = frozen {
                touched ^= segment.touch(handle);
            } else if let Some(bytes) = self.cache.peek(key) {
                touched ^= bytes[0];
            } else {
                let slice = slices.get(slices.find(key));
                let Some(table) = &slice.table else { continue };
                let mut first = First::default();
                table.candidates(key.prefix(), &mut first);
                let refused = slice.filter.as_ref().is_some_and(|filter| !filter.may_hold(key.prefix()));
                *number = first.0.or(slice.base.map(|base| base.number).filter(|_| !refused));
            }
        }
        for (key, number) in keys.iter().zip(numbers) {
            let Some(number) = number else { continue };
            if let Some(view) = self.sealed.view(number) {
                touched ^= view.directory.locate(key.prefix()).start as u8;
            }
        }
        touched
    }
}
