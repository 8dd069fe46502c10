//! What was asked of a device, in order.

use fawn_store::flash::FileId;

/// One operation on a device. All but [`Read`](Self::Read) are *write points*: places where power may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A file was created.
    Create {
        /// Which.
        file: FileId,
        /// With this many pages.
        pages: u64,
    },
    /// Pages were read.
    Read {
        /// From which file.
        file: FileId,
        /// First page.
        first: u64,
        /// Number of pages.
        count: u64,
    },
    /// Pages were written.
    Write {
        /// To which file.
        file: FileId,
        /// First page.
        first: u64,
        /// Number of pages.
        count: u64,
    },
    /// A file was synced.
    Sync {
        /// Which.
        file: FileId,
    },
    /// Names were synced.
    SyncNames,
    /// Pages were given back.
    Punch {
        /// Of which file.
        file: FileId,
        /// First page.
        first: u64,
        /// Number of pages.
        count: u64,
    },
    /// A file was cut.
    Truncate {
        /// Which.
        file: FileId,
        /// To this many pages.
        pages: u64,
    },
    /// A file was removed.
    Remove {
        /// Which.
        file: FileId,
    },
}

impl Operation {
    /// Whether power may be cut here to an effect that differs from the operation before.
    pub fn is_write_point(&self) -> bool {
        !matches!(self, Self::Read { .. })
    }
}
