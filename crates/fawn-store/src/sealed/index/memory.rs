//! Chunks of lines: the unit of growth, handed out from slabs, so that nothing large is ever allocated or moved.
//!
//! A large table's slabs are mappings of its own: what it has not filled takes no DRAM, and all of it goes back to the
//! system with the table. From the process's allocator, tables that grow side by side would share its pages, and one that
//! goes, as each does in turn when a store begins to drain, would leave holes that nothing else fits.

use memmap2::MmapMut;
use zerocopy::FromBytes;

use super::slot::Line;

/// Lines in a chunk.
pub(super) const CHUNK_LINES: u32 = 16;
/// Tables of so many chunks, 256 KiB, have mappings as slabs.
const MAPPED_CHUNKS: u32 = 256;
/// What the system hands out of a mapping at a time, in bytes.
const SYSTEM_PAGE: usize = 4096;

/// 1 KiB of lines.
type Chunk = [Line; CHUNK_LINES as usize];

/// The number of a chunk.
pub(super) type ChunkId = u32;

/// Chunks that were allocated together.
#[derive(Debug)]
enum Slab {
    Heap(Box<[Chunk]>),
    Mapped(MmapMut),
}

impl Slab {
    /// Memory of `count` empty chunks.
    fn new(count: usize, mapped: bool) -> Self {
        if !mapped {
            return Self::Heap(vec![[Line::EMPTY; CHUNK_LINES as usize]; count].into_boxed_slice());
        }
        let bytes = count * size_of::<Chunk>();
        // As for any other allocation, there is nothing to be done without.
        Self::Mapped(MmapMut::map_anon(bytes).unwrap_or_else(|error| panic!("mapping {bytes} bytes: {error}")))
    }

    #[inline]
    fn chunks(&self) -> &[Chunk] {
        match self {
            Self::Heap(chunks) => chunks,
            Self::Mapped(memory) => <[Chunk]>::ref_from_bytes(memory).expect("whole chunks, on a page's border"),
        }
    }

    #[inline]
    fn chunks_mut(&mut self) -> &mut [Chunk] {
        match self {
            Self::Heap(chunks) => chunks,
            Self::Mapped(memory) => <[Chunk]>::mut_from_bytes(memory).expect("whole chunks, on a page's border"),
        }
    }
}

/// The chunks of one table. A chunk that is handed out is empty.
#[derive(Debug)]
pub(super) struct Memory {
    slabs: Vec<Slab>,
    /// A slab has `2^slab_bits` chunks.
    slab_bits: u32,
    mapped: bool,
    /// Chunks of the slabs that were handed out at least once.
    begun: u32,
    /// Chunks that were given back; all their slots are empty.
    free: Vec<ChunkId>,
}

impl Memory {
    /// No chunks yet; about `expected` of them will be taken, which sets the size of slabs: 1 to 4 KiB, about a thirtieth of
    /// the whole; of a large table, a mapping of an eighth to a quarter of it.
    pub fn new(expected: u32) -> Self {
        let mapped = expected >= MAPPED_CHUNKS;
        let part = expected / if mapped { 4 } else { 32 };
        Self { slabs: Vec::new(), slab_bits: part.max(1).ilog2(), mapped, begun: 0, free: Vec::new() }
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
            self.slabs.push(Slab::new(1 << self.slab_bits, self.mapped));
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
        &self.slabs[(chunk >> self.slab_bits) as usize].chunks()[within as usize][(line % CHUNK_LINES) as usize]
    }

    /// Line `line` of a chunk, for writing.
    #[inline]
    pub fn line_mut(&mut self, chunk: ChunkId, line: u32) -> &mut Line {
        let within = chunk & ((1 << self.slab_bits) - 1);
        &mut self.slabs[(chunk >> self.slab_bits) as usize].chunks_mut()[within as usize][(line % CHUNK_LINES) as usize]
    }

    /// Bytes of DRAM taken.
    pub fn bytes(&self) -> usize {
        let chunks = if self.mapped {
            (self.begun as usize * size_of::<Chunk>()).next_multiple_of(SYSTEM_PAGE)
        } else {
            (self.slabs.len() << self.slab_bits) * size_of::<Chunk>()
        };
        chunks + self.slabs.capacity() * size_of::<Slab>() + self.free.capacity() * size_of::<ChunkId>()
    }
}
