//! [`ReadRequest`]: what both ways of reading are asked for.

use fawn_store::flash::FileId;

/// Pages of a read's own buffer; longer reads take one from the heap.
pub const SMALL_PAGES: usize = 4;

/// One read that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest {
    /// Comes back with the pages.
    pub token: u64,
    /// The file to read.
    pub file: FileId,
    /// Number of the first page to read.
    pub first: u64,
    /// Number of pages to read.
    pub count: u32,
}
