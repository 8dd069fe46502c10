//! A directory whose device has no room for its stores: seen before they are made, and undone where they were.

use std::fs;
use std::path::Path;

use fawn_store::flash::{FileId, Flash as _, FlashError};
use fawn_store::{Options, check};

use super::error::DirectoryError;
use super::layout::{FORMAT, LOCK, MEMBER, SECRET, store_path};
use super::text;
use crate::files::overlay::Overlay;
use crate::files::{Caching, Files};
use crate::os::retry::RetryLimit;

/// Makes sure that the device has room for those of a directory's stores that are yet to be made with these options. What
/// was made of them, and never written to, is removed first: by an earlier start with other options, say.
///
/// # Errors
/// [`DirectoryError::NoRoom`]: nothing is left that was made for them, and of a plain directory in which nothing was ever
/// written nothing at all.
pub(super) fn ensure(path: &Path, stores: usize, options: &Options, is_plain: bool) -> Result<(), DirectoryError> {
    let failed = |source| failed(path, &source);
    let mut wanted = 0;
    let mut free = u64::MAX;
    for index in 0..stores {
        // The page cache suffices, and finding out whether there is more would take a page of the device.
        let files = Overlay::new(open(path, index).map_err(failed)?);
        if is_unmade(&files).map_err(failed)? {
            remove_files(files.below()).map_err(failed)?;
            wanted += options.bytes_to_make();
        }
        free = files.below().space().map_err(failed)?.free;
    }
    if wanted <= free {
        return Ok(());
    }
    discard(path, stores, is_plain);
    Err(DirectoryError::NoRoom { path: path.to_owned(), wanted, free })
}

/// Whether all stores of a directory have yet to be made.
pub(super) fn are_unmade(path: &Path, stores: usize) -> Result<bool, DirectoryError> {
    for index in 0..stores {
        let is_unmade = open(path, index)
            .and_then(|files| is_unmade(&Overlay::new(files)))
            .map_err(|source| failed(path, &source))?;
        if !is_unmade {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The files of a store that nobody serves yet: what the system is short of is waited for, though not without end.
fn open(path: &Path, index: usize) -> Result<Files, FlashError> {
    Files::open_with(&store_path(path, index), Caching::Buffered, RetryLimit::Patient)
}

fn failed(path: &Path, source: &FlashError) -> DirectoryError {
    DirectoryError::Io { path: path.to_owned(), source: std::io::Error::other(source.to_string()) }
}

/// Whether a store has yet to be made: there is nothing, or what a making leaves that was cut short before the first opening.
fn is_unmade(files: &Overlay<Files>) -> Result<bool, FlashError> {
    let first = |(file, _): &(FileId, u64)| matches!(file, FileId::CommitLog | FileId::Manifest(1));
    let all = files.list()?;
    Ok(all.is_empty() || (all.iter().all(first) && check::is_unopened(files)))
}

fn remove_files(files: &Files) -> Result<(), FlashError> {
    let all = files.list()?;
    for (file, _) in &all {
        files.remove(*file)?;
    }
    files.remove_spare();
    if all.is_empty() { Ok(()) } else { files.sync_names() }
}

/// Removes what was made in a directory in which nothing was ever written, as far as that goes. Who a node is stays.
fn discard(path: &Path, stores: usize, is_plain: bool) {
    let mut opened = Vec::new();
    for index in 0..stores {
        let Ok(files) = open(path, index) else { return };
        let files = Overlay::new(files);
        // What a node's empty store knows of its ranges stays.
        let is_blank = if is_plain { check::is_blank(&files) } else { is_unmade(&files).unwrap_or(false) };
        if !is_blank {
            return;
        }
        opened.push(files);
    }
    let remove = || -> Result<(), FlashError> {
        if is_plain && !path.join(MEMBER).exists() {
            // First: without it, what is left is nothing of worth.
            let removed = fs::remove_file(path.join(FORMAT)).and_then(|()| text::sync_directory(path));
            removed.map_err(|error| FlashError::Io(error.to_string()))?;
        }
        opened.iter().try_for_each(|files| remove_files(files.below()))
    };
    if let Err(error) = remove() {
        tracing::warn!(%error, "cannot remove the new files in {}", path.display());
    } else if !path.join(FORMAT).exists() {
        for index in 0..stores {
            let _ = fs::remove_dir(store_path(path, index));
        }
        for name in [SECRET, LOCK] {
            let _ = fs::remove_file(path.join(name));
        }
    }
}
