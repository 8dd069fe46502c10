//! What lies where in a data directory, and which store holds which keys.

use std::path::{Path, PathBuf};

use fawn_ring::{Interval, Key};

/// The newest version of the directory's layout that this program reads and writes.
pub const FORMAT_VERSION: u32 = 3;
/// Most stores that a directory may have.
pub const MAX_STORES: usize = 1024;

/// Name of the file with format, number of stores and kind.
pub(super) const FORMAT: &str = "FORMAT";
/// Name of the file with the hash key.
pub(super) const SECRET: &str = "SECRET";
/// Name of the file that says who a cluster's node is.
pub(super) const MEMBER: &str = "MEMBER";
/// Name of the file that is locked.
pub(super) const LOCK: &str = "LOCK";
/// What file systems and their tools keep at the root of a volume.
pub(super) const OF_VOLUMES: [&str; 5] = ["lost+found", ".snapshot", ".snapshots", ".zfs", "System Volume Information"];

/// What the stores of a directory are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DirectoryKind {
    /// Stores of one process alone.
    Plain,
    /// Stores of a cluster's node.
    Member,
}

/// The directory of store `index` in the data directory `path`.
pub(super) fn store_path(path: &Path, index: usize) -> PathBuf {
    path.join(format!("store-{index}"))
}

/// The store, of `stores`, that holds `key`: the key space is cut into equal stretches by the top 64 bits.
#[inline]
pub fn store_of(key: &Key, stores: usize) -> usize {
    ((u128::from(key.prefix()) * stores as u128) >> 64) as usize
}

/// The stretch of the key space that store `index` of `stores` holds.
pub fn interval_of(index: usize, stores: usize) -> Interval {
    assert!(index < stores, "store {index} of {stores}");
    // The smallest prefix that `store_of` maps to the store.
    let first = |index: usize| ((index as u128) << 64).div_ceil(stores as u128);
    let low = Key::lowest_with_prefix(first(index) as u64);
    Interval::new(low, Key::highest_with_prefix((first(index + 1) - 1) as u64))
}
