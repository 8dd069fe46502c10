//! PEM files: certificates, and keys that nobody else may read.

use crate::error::TlsError;
use fawn_files::{links, text};
use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};

/// What somebody other than the owner may do.
const OTHERS: u32 = 0o077;

/// Reads a chain of certificates, leaf first.
///
/// # Errors
/// [`TlsError::File`].
pub fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = text::read_bytes(path).map_err(|error| TlsError::file(path, error.to_string()))?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.map_err(|error| TlsError::file(path, pem_error(&error)))?;
    if chain.is_empty() { Err(TlsError::file(path, "it has no certificate in PEM form")) } else { Ok(chain) }
}

/// Reads the certificates of authorities.
///
/// # Errors
/// [`TlsError::File`].
pub fn read_roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in read_chain(path)? {
        roots.add(certificate).map_err(|error| TlsError::file(path, error.to_string()))?;
    }
    Ok(roots)
}

/// Reads a private key.
///
/// # Errors
/// [`TlsError::File`], also when anybody but its owner may read it.
pub fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read_secret(path)?;
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| TlsError::file(path, pem_error(&error)))
}

/// Says so if not only its owner may use a file, and what to do.
pub fn open_to_others(path: &Path, metadata: &Metadata) -> Option<String> {
    let mode = metadata.mode() & 0o777;
    let name = path.display();
    (mode & OTHERS != 0).then(|| format!("its group or others have access (mode {mode:04o}): chmod 600 {name}"))
}

/// The text of a file that only its owner may read.
pub(crate) fn read_secret(path: &Path) -> Result<String, TlsError> {
    let refuse = |error: std::io::Error| TlsError::file(path, error.to_string());
    // What is looked at is what is read: the name may lead elsewhere in the next moment.
    let file = File::open(path).map_err(refuse)?;
    let metadata = file.metadata().map_err(refuse)?;
    if metadata.is_dir() {
        return Err(TlsError::file(path, "it is a directory: name a file in it"));
    }
    if let Some(why) = open_to_others(path, &metadata) {
        return Err(TlsError::file(path, why));
    }
    let text = text::read_from(file).and_then(|bytes| Ok(text::to_text(bytes)?));
    text.map_err(refuse)
}

/// What is said of text that begins or ends a part of PEM and not both, or has other characters in it.
const DAMAGED_PEM: &str = "its PEM text is truncated or damaged: copy the whole file there";

fn pem_error(error: &pem::Error) -> String {
    match error {
        pem::Error::NoItemsFound => "it has no such item in PEM form".into(),
        pem::Error::Io(error) => error.to_string(),
        _ => DAMAGED_PEM.into(),
    }
}

/// What is wrong with the text of a key.
pub(crate) fn key_error(error: &rcgen::Error) -> String {
    match error {
        rcgen::Error::PemError(_) => DAMAGED_PEM.into(),
        other => other.to_string(),
    }
}

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Its owner: mode 0600.
    Owner,
    /// Everybody: mode 0644.
    All,
}

impl Readers {
    fn mode(self) -> u32 {
        match self {
            Self::Owner => 0o600,
            Self::All => 0o644,
        }
    }
}

/// Makes a directory that nobody else may look into, unless it is there.
pub(crate) fn make_dir(dir: &Path) -> Result<(), TlsError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(TlsError::write(dir))
}

/// Writes a file that is not there yet, through to the device.
pub(crate) fn write_new(path: &Path, text: &str, readers: Readers) -> Result<(), TlsError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(readers.mode()).open(path);
    let mut file = file.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => TlsError::Exists { path: path.to_owned(), what: "remove it first" },
        _ => TlsError::write(path)(error),
    })?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    // A part of it is of no use, and would be in the way of the next try.
    written.inspect_err(|_| drop(std::fs::remove_file(path))).map_err(TlsError::write(path))
}

/// Puts a new file in the place of another at once, for the same owner: a reader sees the one or the other. A symbolic link
/// stays, and leads to the new one.
pub(crate) fn replace(path: &Path, text: &str, readers: Readers) -> Result<(), TlsError> {
    stage(path, text, readers)?.put()
}

/// A new file that is whole, and has yet to take the place of another.
#[derive(Debug)]
pub(crate) struct StagedFile {
    new: PathBuf,
    path: PathBuf,
}

impl StagedFile {
    /// Drops it: the other stays.
    pub(crate) fn discard(&self) {
        let _ = std::fs::remove_file(&self.new);
    }

    /// Puts it there.
    pub(crate) fn put(self) -> Result<(), TlsError> {
        std::fs::rename(&self.new, &self.path).map_err(TlsError::write(&self.path))?;
        sync_dir(&self.path)
    }
}

/// Writes a new file beside the one whose place it is to take. Files that belong together are all staged first: if the device has
/// no room for one of them, all stay as they are.
pub(crate) fn stage(path: &Path, text: &str, readers: Readers) -> Result<StagedFile, TlsError> {
    if links::is_stream(path) || path.is_dir() {
        return Err(TlsError::file(
            path,
            "it is not a regular file, and would be replaced: choose another name, or remove it",
        ));
    }
    let path = links::target(path).map_err(TlsError::write(path))?;
    let new = links::with_suffix(&path, ".new");
    // One that an earlier attempt left behind.
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(TlsError::write(&new)(error)),
        _ => {}
    }
    write_new(&new, text, readers)?;
    // Whoever renews need not be the user that the server runs as.
    if let Ok(old) = std::fs::metadata(&path) {
        chown(&new, Some(old.uid()), Some(old.gid())).map_err(TlsError::write(&new))?;
    }
    Ok(StagedFile { new, path })
}

/// Sees to it that the names of a directory survive a crash.
pub(crate) fn sync_dir(path: &Path) -> Result<(), TlsError> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(TlsError::write(dir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_key_that_others_may_use_is_refused_with_the_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key.pem");
        write_new(&path, &rcgen::KeyPair::generate().unwrap().serialize_pem(), Readers::Owner).unwrap();
        for mode in [0o600, 0o400, 0o700] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            assert!(read_key(&path).is_ok(), "{mode:o}");
        }
        for mode in [0o640, 0o604, 0o644, 0o620, 0o666] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let error = read_key(&path).unwrap_err().to_string();
            let name = path.display();
            let expected = format!(
                "cannot use {name} for TLS: its group or others have access (mode {mode:04o}): chmod 600 {name}"
            );
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn damaged_text_and_a_directory_are_told_in_words() {
        let dir = tempfile::tempdir().unwrap();
        let told = read_key(dir.path()).unwrap_err().to_string();
        assert!(told.ends_with("it is a directory: name a file in it"), "{told}");
        let path = dir.path().join("key.pem");
        let whole = rcgen::KeyPair::generate().unwrap().serialize_pem();
        write_new(&path, &whole[..whole.len() / 2], Readers::Owner).unwrap();
        for told in [read_key(&path).unwrap_err().to_string(), read_chain(&path).unwrap_err().to_string()] {
            assert!(told.ends_with(DAMAGED_PEM), "{told}");
        }
    }

    #[test]
    fn files_are_made_for_their_readers_and_never_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("certs");
        make_dir(&dir).unwrap();
        assert_eq!(mode(&dir), 0o700);
        let path = dir.join("a-key.pem");
        write_new(&path, "one", Readers::Owner).unwrap();
        assert_eq!(mode(&path), 0o600);
        assert!(matches!(write_new(&path, "two", Readers::Owner), Err(TlsError::Exists { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one");
        std::fs::write(dir.join("a-key.pem.new"), "of an attempt that was interrupted").unwrap();
        assert!(replace(Path::new("/dev/null"), "three", Readers::Owner).is_err(), "a device stays");
        replace(&path, "three", Readers::Owner).unwrap();
        assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), mode(&path)), ("three", 0o600));
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
    }
}
