//! What `FORMAT` says, and what proves it where it has no checksum.

use std::fs;
use std::path::Path;

use fawn_ring::Secret;
use fawn_store::manifest::Manifest;

use super::error::DirectoryError;
use super::hex::{hex, parse_hex};
use super::layout::{DirectoryKind, FORMAT, FORMAT_VERSION, MAX_STORES, SECRET, store_path};
use super::text;
use crate::files::overlay::Overlay;
use crate::files::{Caching, Files};
use crate::os::retry::RetryLimit;

const TITLE: &str = "FAWN data directory";

/// The contents of the file `FORMAT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub stores: usize,
    pub kind: DirectoryKind,
    /// Whether it, and what else is text, is under checksums: since format 3.
    pub is_sealed: bool,
}

impl Format {
    /// What is written, always of the newest format.
    pub fn text(self) -> String {
        let kind = match self.kind {
            DirectoryKind::Plain => "plain",
            DirectoryKind::Member => "member",
        };
        format!("{TITLE}\nformat {FORMAT_VERSION}\nstores {}\nkind {kind}\n", self.stores)
    }

    /// That of the directory `path`, if it has one.
    pub fn read(path: &Path) -> Result<Option<Self>, DirectoryError> {
        let name = path.join(FORMAT);
        let Some((text, is_sealed)) = text::read(&name)? else { return Ok(None) };
        let damaged = |what: &str| DirectoryError::Damaged { path: name.clone(), what: what.to_owned() };
        let mut lines = text.strip_suffix('\n').ok_or_else(|| damaged("it was cut off"))?.split('\n');
        if lines.next() != Some(TITLE) {
            return Err(damaged("its first line is not FAWN's"));
        }
        let mut value = |name: &str| lines.next().and_then(|line| line.strip_prefix(name));
        let found: Option<u32> = value("format ").and_then(|text| text.parse().ok());
        match found {
            Some(1 | 2) if !is_sealed => {}
            Some(FORMAT_VERSION) if is_sealed => {}
            Some(found) if found > FORMAT_VERSION => {
                return Err(DirectoryError::NewerFormat { path: path.to_owned(), found });
            }
            Some(_) => return Err(damaged("no such format, or its checksum is missing")),
            None => return Err(damaged("no format number")),
        }
        let stores = value("stores ")
            .and_then(|text| text.parse().ok())
            .filter(|stores| (1..=MAX_STORES).contains(stores))
            .ok_or_else(|| damaged("no number of stores"))?;
        let kind = match (found, value("kind ")) {
            (Some(1), None) | (Some(FORMAT_VERSION), Some("plain")) => DirectoryKind::Plain,
            (Some(2 | FORMAT_VERSION), Some("member")) => DirectoryKind::Member,
            _ => return Err(damaged("no kind")),
        };
        if lines.next().is_some() {
            Err(damaged("it has too many lines"))
        } else {
            Ok(Some(Self { stores, kind, is_sealed }))
        }
    }

    /// The secret of the directory, if it has one.
    pub fn secret(&self, path: &Path) -> Result<Option<Secret>, DirectoryError> {
        let name = path.join(SECRET);
        let damaged = |what: &str| DirectoryError::Damaged { path: name.clone(), what: what.to_owned() };
        let Some((text, is_sealed)) = text::read(&name)? else { return Ok(None) };
        if self.is_sealed && !is_sealed {
            return Err(damaged("its checksum is missing"));
        }
        let digits = text.strip_suffix('\n').unwrap_or(&text);
        parse_hex(digits).map(|bytes| Some(Secret(bytes))).ok_or_else(|| damaged("not 64 hexadecimal digits"))
    }

    /// What is here without a checksum is what the stores' manifests say, which have one. What they cannot be asked is believed.
    pub fn prove(&self, path: &Path, secret: Option<Secret>) -> Result<(), DirectoryError> {
        for index in 0..self.stores {
            let Ok(files) = Files::open_with(&store_path(path, index), Caching::Buffered, RetryLimit::Patient) else {
                continue;
            };
            // The opening of the store reports a manifest that cannot be read.
            let Ok((_, state)) = Manifest::open(&Overlay::new(files)) else { continue };
            let damaged = |name: &str, what: String| Err(DirectoryError::Damaged { path: path.join(name), what });
            if (state.store, state.stores) != (index as u32, self.stores as u32) {
                let what = format!("{} says that there are {} stores", store_path(path, index).display(), state.stores);
                return damaged(FORMAT, what);
            }
            if secret.is_some_and(|secret| secret != state.secret) {
                return damaged(SECRET, "it is not the key that the stores were created with".to_owned());
            }
        }
        let more = store_path(path, self.stores);
        if fs::exists(&more).unwrap_or(false) {
            let what = format!("it says that there are {} stores, but there is {}", self.stores, more.display());
            return Err(DirectoryError::Damaged { path: path.join(FORMAT), what });
        }
        Ok(())
    }
}

/// The contents of the file `SECRET`.
pub(super) fn secret_text(secret: &Secret) -> String {
    format!("{}\n", hex(&secret.0))
}
