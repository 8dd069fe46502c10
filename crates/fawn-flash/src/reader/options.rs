//! What a [`Reader`](super::Reader) is made with.

/// How a [`Reader`](super::Reader) reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadPath {
    /// `io_uring` where the system lets us, else threads.
    #[default]
    Auto,
    /// `io_uring`; without it there is no reader.
    IoUring,
    /// A pool of threads.
    Pread,
}

/// Which threads use a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Issuer {
    /// The thread of the first [`Reader::push`](super::Reader::push) and no other: cheaper.
    #[default]
    OneThread,
    /// Any thread, one at a time.
    AnyThread,
}

/// Options of a [`Reader`](super::Reader).
#[derive(Clone, Copy, Debug)]
pub struct ReaderOptions {
    /// Which path the reader takes.
    pub path: ReadPath,
    /// Most reads handed to the device at once, 1 to 4096; further ones wait in a queue. Each takes a buffer of
    /// 16 KiB.
    pub depth: u32,
    /// Threads of the pool, where there is one; at least 1.
    pub threads: usize,
    /// Which threads will use the reader.
    pub issuer: Issuer,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self { path: ReadPath::Auto, depth: 256, threads: 32, issuer: Issuer::OneThread }
    }
}
