//! Memory that fills from its beginning: an anonymous mapping, on huge pages where the system has them.
//!
//! A lookup in tens of megabytes of records misses the processor's address caches as surely as its data caches; on huge
//! pages the addresses stay cached, and filling the memory costs one page fault in 512. What was never filled takes no
//! DRAM.

use std::io;

use memmap2::MmapMut;

/// Places that are worth fetching together when they lie anywhere in memory.
pub(crate) const FETCHED_TOGETHER: usize = 16;
/// Offsets of the bytes that are touched of each: the processor goes on by itself where more is read.
const FETCHED: [usize; 5] = [0, 64, 128, 192, 256];

/// Up to [`capacity`](Self::capacity) bytes, of which the first [`len`](Self::len) are filled.
#[derive(Debug)]
pub(crate) struct Arena {
    /// `None` until something is filled.
    memory: Option<MmapMut>,
    capacity: usize,
    len: usize,
}

impl Arena {
    /// An arena that holds nothing yet, for up to `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Self { memory: None, capacity, len: 0 }
    }

    /// Bytes that the arena can hold.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes that are filled.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The bytes that are filled.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], |memory| &memory[..self.len])
    }

    /// Whether it has its memory, for which it asks the system if need be.
    #[inline]
    pub fn has_memory(&mut self) -> bool {
        self.memory.is_some() || {
            self.memory = map(self.capacity).ok();
            self.memory.is_some()
        }
    }

    /// The next `len` bytes, now counted as filled, to be written over. There is room for them.
    #[inline]
    pub fn take(&mut self, len: usize) -> &mut [u8] {
        let start = self.len;
        self.len += len;
        assert!(self.len <= self.capacity, "the owner asks for room first");
        let memory = self.memory.get_or_insert_with(|| {
            // Whoever can wait asks first; for the others this is as any other allocation.
            map(self.capacity).unwrap_or_else(|error| panic!("mapping {} bytes: {error}", self.capacity))
        });
        &mut memory[start..start + len]
    }

    /// Has the processor fetch what begins at these places, [`FETCHED_TOGETHER`] at a time: the waits for each do not depend
    /// on the others.
    #[inline]
    pub fn fetch(&self, places: impl Iterator<Item = usize>) {
        let bytes = self.bytes();
        let touch = |at: usize| FETCHED.iter().fold(0, |all, line| all ^ bytes.get(at + line).copied().unwrap_or(0));
        std::hint::black_box(places.fold(0, |all, at| all ^ touch(at)));
    }

    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

#[cold]
fn map(capacity: usize) -> io::Result<MmapMut> {
    #[cfg(test)]
    if REFUSED.get() {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let memory = MmapMut::map_anon(capacity)?;
    #[cfg(target_os = "linux")]
    {
        // A refusal changes nothing but speed.
        let _ = memory.advise(memmap2::Advice::HugePage);
    }
    Ok(memory)
}

#[cfg(test)]
thread_local! {
    /// Whether the system has no memory, as far as tests on this thread can tell.
    pub(crate) static REFUSED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_without_memory_says_so_and_asks_again() {
        let mut arena = Arena::new(1 << 16);
        REFUSED.set(true);
        assert!(!arena.has_memory() && arena.bytes().is_empty());
        // More than there are addresses: what the system itself says.
        REFUSED.set(false);
        assert!(!Arena::new(1 << 62).has_memory());
        assert!(arena.has_memory());
        arena.take(3).copy_from_slice(b"abc");
        assert_eq!(arena.bytes(), b"abc");
        REFUSED.set(true);
        assert!(arena.has_memory(), "what it has it keeps");
        REFUSED.set(false);
    }
}
