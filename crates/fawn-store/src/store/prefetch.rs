//! Prefetch: touching what the lookups of several keys are about to touch.
//!
//! A lookup waits for memory three to eight times in a row, a tenth of a microsecond each, and nothing in it can be
//! done meanwhile. The waits of different keys do not depend on each other: a loop that does nothing else lets the
//! processor wait for those of a whole group at once, and the lookups that follow find everything in its caches.

use std::hint::black_box;

use fawn_ring::Key;

use crate::buffers::WriteBuffers;
use crate::cache::Cache;
use crate::sealed::SealedRecords;
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

/// Most keys that one call looks at: what a processor can wait for at a time, and what its first cache surely keeps until
/// the lookups come.
pub(super) const MOST_KEYS: usize = 16;

/// Touches what lookups of the first [`MOST_KEYS`] of these keys will; answers nothing and changes nothing.
pub(super) fn prefetch(keys: &[Key], buffers: &WriteBuffers, cache: &Cache, sealed: &SealedRecords) {
    let keys = &keys[..keys.len().min(MOST_KEYS)];
    let mut buffered = [None; MOST_KEYS];
    for (key, place) in keys.iter().zip(&mut buffered) {
        *place = buffers.open().hint(key);
    }
    let mut touched = 0;
    let mut others = [Key::MIN; MOST_KEYS];
    let mut count = 0;
    for (key, place) in keys.iter().zip(buffered) {
        if let Some(handle) = place {
            touched ^= buffers.open().touch(handle);
        } else {
            others[count] = *key;
            count += 1;
        }
    }
    if count > 0 {
        touched ^= touch_sealed(&others[..count], buffers, cache, sealed);
    }
    black_box(touched);
}

/// As [`prefetch`], for keys that the open segment does not hold.
fn touch_sealed(keys: &[Key], buffers: &WriteBuffers, cache: &Cache, sealed: &SealedRecords) -> u8 {
    let slices = sealed.slices();
    let mut touched = 0;
    let mut numbers = [None; MOST_KEYS];
    for (key, number) in keys.iter().zip(&mut numbers) {
        let frozen = buffers.frozen().rev().find_map(|(segment, _)| Some((segment, segment.hint(key)?)));
        if let Some((segment, handle)) = frozen {
            touched ^= segment.touch(handle);
        } else if let Some(bytes) = cache.peek(key) {
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
        if let Some(view) = sealed.view(number) {
            touched ^= view.directory.locate(key.prefix()).start as u8;
        }
    }
    touched
}
