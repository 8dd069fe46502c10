//! [`MemberDirectory`]: the data directory of a cluster's node.
//!
//! A plain directory becomes a member's when the cluster has taken its node in: only then does `FORMAT` say so. Until then
//! `fawn serve` goes on with it as if nothing had happened.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fawn_ring::{Interval, Secret};
use fawn_store::Options;
use fawn_store::flash::FlashError;

use super::error::{DirectoryError, io_error, missing};
use super::format::{Format, secret_text};
use super::hex::hex;
use super::layout::{DirectoryKind, FORMAT, MAX_STORES, MEMBER, SECRET, interval_of, store_path};
use super::lock::Lock;
use super::member_file::MemberFile;
use super::opened::{OpenedDirectory, make_stores};
use super::space_check;
use super::text::replace;
use crate::files::{Caching, Files};

/// The data directory of a node of a cluster, or of one that is to be. Its lock is held until this is dropped.
#[derive(Debug)]
pub struct MemberDirectory {
    path: PathBuf,
    format: Format,
    card: MemberFile,
    secret: Option<Secret>,
    created: bool,
    /// Held for its lock.
    _lock: Lock,
}

impl MemberDirectory {
    /// Opens the directory `path`, be it a member's or a plain one; makes a member's, with `stores` stores (1 to
    /// [`MAX_STORES`]), when there is nothing or an empty directory. The number of stores of an
    /// existing one stays what it was.
    ///
    /// # Errors
    /// Each [`DirectoryError`] says what to do.
    pub fn open(path: &Path, stores: usize) -> Result<Self, DirectoryError> {
        let opened = OpenedDirectory::open(
            path,
            stores,
            || Ok((MEMBER, MemberFile::new(false)?.text())),
            DirectoryKind::Member,
        )?;
        let mut directory = Self::of(path, opened, |card| replace(path, MEMBER, &card.text()))?;
        if directory.format.kind == DirectoryKind::Plain && directory.card.cluster.is_some() {
            // It was on its way to become a member's.
            directory.format = become_member(path, directory.format).map_err(|source| io_error(path, source))?;
        }
        Ok(directory)
    }

    /// Opens the directory `path` to look at it: nothing is made or changed there, and it may be read-only.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn look(path: &Path) -> Result<Self, DirectoryError> {
        Self::of(path, OpenedDirectory::look(path)?, |_| Ok(()))
    }

    /// `keep` is given what a plain directory is to say of its node.
    fn of(
        path: &Path,
        opened: OpenedDirectory,
        keep: impl FnOnce(&MemberFile) -> io::Result<()>,
    ) -> Result<Self, DirectoryError> {
        let OpenedDirectory { format, created, secret, lock } = opened;
        let card = match MemberFile::read(path, format.is_sealed)? {
            Some(card) => card,
            None if format.kind == DirectoryKind::Plain => {
                let card = MemberFile::new(true).map_err(|source| io_error(path, source))?;
                keep(&card).map_err(|source| io_error(path, source))?;
                card
            }
            None => return Err(missing(path, MEMBER)),
        };
        let knows = format.kind == DirectoryKind::Plain || card.cluster.is_some();
        if knows && secret.is_none() {
            return Err(missing(path, SECRET));
        }
        Ok(Self { path: path.to_owned(), format, card, secret: secret.filter(|_| knows), created, _lock: lock })
    }

    /// Makes sure that the device has room for those stores that are yet to be made, with these options.
    ///
    /// # Errors
    /// [`DirectoryError::NoRoom`]: what was made of them is gone, and who the node is stays.
    pub fn make_room(&self, options: &Options) -> Result<(), DirectoryError> {
        space_check::ensure(&self.path, self.stores(), options, false)
    }

    /// Gives the directory another number of stores (1 to [`MAX_STORES`]), if its node has yet to enrol and
    /// nothing was ever made of its stores: an earlier start with other options found no room for them, say. Otherwise the
    /// number stays what it was.
    ///
    /// # Errors
    /// The system's.
    pub fn choose_stores(&mut self, stores: usize) -> Result<(), DirectoryError> {
        assert!((1..=MAX_STORES).contains(&stores), "a directory has 1 to {MAX_STORES} stores");
        let Format { stores: before, kind, .. } = self.format;
        if stores == before || kind != DirectoryKind::Member || self.card.cluster.is_some() {
            return Ok(());
        }
        if !space_check::are_unmade(&self.path, before)? {
            return Ok(());
        }
        let change = || {
            make_stores(&self.path, before..stores)?;
            let format = Format { stores, ..self.format };
            replace(&self.path, FORMAT, &format.text())?;
            for index in stores..before {
                // What is left of one has no meaning any more.
                let _ = fs::remove_dir_all(self.store_path(index));
            }
            Ok(format)
        };
        self.format = change().map_err(|source| io_error(&self.path, source))?;
        Ok(())
    }

    /// Whether there is a member's directory at `path`.
    ///
    /// # Errors
    /// [`DirectoryError`], where what is there cannot be read.
    pub fn is_member(path: &Path) -> Result<bool, DirectoryError> {
        let format = Format::read(path)?;
        Ok(format.is_some_and(|format| format.kind == DirectoryKind::Member))
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of stores, one for each seat; fixed when the directory was made.
    pub fn stores(&self) -> usize {
        self.format.stores
    }

    /// Whether this call of [`open`](Self::open) made it.
    pub fn is_new(&self) -> bool {
        self.created
    }

    /// Tells the directory from any other, for life.
    pub fn directory_id(&self) -> [u8; 16] {
        self.card.directory
    }

    /// Where the keys lie of what is here; `None`: nothing is, and the cluster has yet to say.
    pub fn secret(&self) -> Option<Secret> {
        self.secret
    }

    /// Whether the stores were those of a plain directory, each with the keys of its [`interval`](Self::interval): a node
    /// adopts what it finds there, once.
    pub fn is_plain(&self) -> bool {
        self.card.grown
    }

    /// The keys that store `index` held as one of a plain directory.
    pub fn interval(&self, index: usize) -> Interval {
        interval_of(index, self.stores())
    }

    /// The node's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.card.name.as_deref()
    }

    /// The cluster that the node is of, and the number of its first seat; `None`: it has yet to enrol.
    pub fn cluster(&self) -> Option<([u8; 16], u32)> {
        self.card.cluster.zip(self.card.seat)
    }

    /// Whether the node may have acknowledged what it had yet to sync, without a clean stop since.
    pub fn rested(&self) -> bool {
        self.card.rested
    }

    /// Says whether the node may acknowledge from here on what it has yet to sync: durable when this returns.
    ///
    /// # Errors
    /// The system's.
    pub fn set_rested(&mut self, rested: bool) -> Result<(), DirectoryError> {
        if self.card.rested == rested { Ok(()) } else { self.write(MemberFile { rested, ..self.card.clone() }) }
    }

    /// Gives the node its name: durable when this returns.
    ///
    /// # Errors
    /// [`DirectoryError::OtherMember`] when it is enrolled under another; the system's.
    ///
    /// # Panics
    /// When the name has a line feed.
    pub fn set_name(&mut self, name: &str) -> Result<(), DirectoryError> {
        assert!(!name.contains('\n'), "a name is one line");
        match &self.card.name {
            Some(kept) if kept == name => return Ok(()),
            Some(kept) if self.card.cluster.is_some() => {
                let (kept, wanted) = (format!("node {kept}"), format!("node {name}"));
                return Err(DirectoryError::OtherMember { path: self.path.clone(), kept, wanted });
            }
            _ => {}
        }
        self.write(MemberFile { name: Some(name.to_owned()), ..self.card.clone() })
    }

    /// The cluster has taken the node in: from here on the directory is a member's. Durable when this returns.
    ///
    /// # Errors
    /// [`DirectoryError::OtherMember`] when it is of another cluster, under another name, or holds keys that lie elsewhere;
    /// the system's. Nothing has changed then.
    pub fn set_enrolled(
        &mut self,
        cluster: [u8; 16],
        secret: Secret,
        name: &str,
        first_seat: u32,
    ) -> Result<(), DirectoryError> {
        let of = |cluster: [u8; 16], seat: u32| format!("seat {seat} of cluster {}", hex(&cluster));
        let other = |kept: String| {
            Err(DirectoryError::OtherMember { path: self.path.clone(), kept, wanted: of(cluster, first_seat) })
        };
        match self.cluster() {
            Some((kept, seat)) if (kept, seat) != (cluster, first_seat) => return other(of(kept, seat)),
            _ => {}
        }
        if self.secret.is_some_and(|kept| kept != secret) {
            return other("a cluster with another key order".to_owned());
        }
        self.set_name(name)?;
        if self.cluster().is_none() {
            let failed = |source| io_error(&self.path, source);
            replace(&self.path, SECRET, &secret_text(&secret)).map_err(failed)?;
            self.secret = Some(secret);
            self.write(MemberFile { cluster: Some(cluster), seat: Some(first_seat), ..self.card.clone() })?;
        }
        if self.format.kind == DirectoryKind::Plain {
            self.format = become_member(&self.path, self.format).map_err(|source| io_error(&self.path, source))?;
        }
        Ok(())
    }

    fn write(&mut self, card: MemberFile) -> Result<(), DirectoryError> {
        replace(&self.path, MEMBER, &card.text()).map_err(|source| io_error(&self.path, source))?;
        self.card = card;
        Ok(())
    }

    /// The directory of store `index`.
    pub fn store_path(&self, index: usize) -> PathBuf {
        store_path(&self.path, index)
    }

    /// The files of store `index`.
    ///
    /// # Errors
    /// As [`Files::open`].
    pub fn files(&self, index: usize, caching: Caching) -> Result<Files, FlashError> {
        assert!(index < self.stores(), "store {index} of {}", self.stores());
        Files::open(&self.store_path(index), caching)
    }
}

/// From here on `FORMAT` says that the stores are a member's.
fn become_member(path: &Path, format: Format) -> io::Result<Format> {
    let format = Format { kind: DirectoryKind::Member, ..format };
    replace(path, FORMAT, &format.text())?;
    Ok(format)
}

#[cfg(test)]
mod tests;
