//! Chunks of lines: the unit of growth, handed out from slabs, so that nothing large is ever allocated or moved.

use super::slot::Line;

/// Lines in a chunk.
pub(super) const CHUNK_LINES: u32 = 16;

/// 1 KiB of lines.
type Chunk = [Line; CHUNK_LINES as usize];

/// The number of a chunk.
pub(super) type ChunkId = u32;

/// The chunks of one table. A chunk that is handed out is empty.
#[derive(Debug)]
pub(super) struct Memory {
    slabs: Vec<Box<[Chunk]>>,
    /// A slab has `2^slab_bits` chunks.
    slab_bits: u32,
    /// Chunks of the slabs that were handed out at least once.
    begun: u32,
    /// Chunks that were given back; all their slots are empty.
    free: Vec<ChunkId>,
}

impl Memory {
    /// No chunks yet; about `expected` of them will be taken, which sets the size of slabs: 1 to 64 KiB, about a
    /// thirtieth of the whole.
    pub fn new(expected: u32) -> Self {
        Self { slabs: Vec::new(), slab_bits: (expected / 32).max(1).ilog2().min(6), begun: 0, free: Vec::new() }
    }

    /// Takes an empty chunk.
    pub fn take(&mut self) -> ChunkId {
        if let Some(chunk) = self.free.pop() {
            return chunk;
        }
        if self.begun as usize == self.slabs.len() << self.slab_bits {
            if self.slabs.len() == self.slabs.capacity() {
                self.slabs.reserve_exact(self.slabs.len() / 8 + 1);
            }
            self.slabs.push(vec![[Line::EMPTY; CHUNK_LINES as usize]; 1 << self.slab_bits].into_boxed_slice());
        }
        self.begun += 1;
        self.begun - 1
    }

    /// Gives back a chunk whose slots are all empty.
    pub fn give_back(&mut self, chunk: ChunkId) {
        self.free.push(chunk);
    }

    /// Line `line` of a chunk.
    #[inline]
    pub fn line(&self, chunk: ChunkId, line: u32) -> &Line {
        let within = chunk & ((1 << self.slab_bits) - 1);
        &self.slabs[(chunk >> self.slab_bits) as usize][within as usize][(line % CHUNK_LINES) as usize]
    }

    /// Line `line` of a chunk, for writing.
    #[inline]
    pub fn line_mut(&mut self, chunk: ChunkId, line: u32) -> &mut Line {
        let within = chunk & ((1 << self.slab_bits) - 1);
        &mut self.slabs[(chunk >> self.slab_bits) as usize][within as usize][(line % CHUNK_LINES) as usize]
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> usize {
        let slab = size_of::<Chunk>() << self.slab_bits;
        self.slabs.len() * slab
            + self.slabs.capacity() * size_of::<Box<[Chunk]>>()
            + self.free.capacity() * size_of::<ChunkId>()
    }
}
