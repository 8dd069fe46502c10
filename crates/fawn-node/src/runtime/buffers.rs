//! Buffers that are used again, so that an ordinary request allocates nothing.

/// Buffers that are used again.
#[derive(Debug, Default)]
pub struct Pool(Vec<Vec<u8>>);

/// Most buffers that are kept.
const POOL_BUFFERS: usize = 1024;
/// The largest buffer that is kept, in bytes.
pub const POOL_BUFFER_BYTES: usize = 16 << 10;

impl Pool {
    /// An empty buffer.
    #[inline]
    pub fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// A buffer with a copy of `bytes`.
    pub fn copy(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut buffer = self.take();
        buffer.extend_from_slice(bytes);
        buffer
    }

    /// Takes a buffer back.
    #[inline]
    pub fn give(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() > 0 && buffer.capacity() <= POOL_BUFFER_BYTES && self.0.len() < POOL_BUFFERS {
            buffer.clear();
            self.0.push(buffer);
        }
    }
}
