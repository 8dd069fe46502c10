//! What can be wrong with certificates.

use std::path::{Path, PathBuf};

/// Why certificates cannot be used or made. Each message says what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// A name that is kept for a role.
    #[error("{name:?} is reserved for {of}: choose another name")]
    Reserved {
        /// The name.
        name: String,
        /// Whose it is.
        of: &'static str,
    },
    /// A file cannot be used as what it is given for.
    #[error("cannot use {} for TLS: {what}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A file or directory cannot be written.
    #[error("cannot write {}: {what}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        what: String,
    },
    /// It would be written over.
    #[error("{} already exists: {what}", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
        /// What to do instead.
        what: &'static str,
    },
    /// A name that cannot stand in a certificate.
    #[error("{name:?} cannot be a name in a certificate: {what}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// No file of this name.
    #[error("{} has no certificate {name:?}: it has {has}", dir.display())]
    Unknown {
        /// What was asked for.
        name: String,
        /// Where.
        dir: PathBuf,
        /// What is there.
        has: String,
    },
    /// Certificates are not made while the clock is wrong.
    #[error("this machine's clock shows {0}, so certificates would be of that time: set the clock first")]
    Clock(String),
    /// A certificate that says nothing about roles.
    #[error("a certificate has no role: create one with `fawn certs add`")]
    NoRole,
    /// Bytes that are no certificate.
    #[error("a certificate cannot be read: {0}")]
    Certificate(String),
    /// A certificate cannot be made.
    #[error("cannot create a certificate: {0}")]
    Make(String),
}

impl TlsError {
    /// A file with something wrong.
    pub(crate) fn file(path: &Path, what: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), what: what.into() }
    }

    /// What the system said about writing.
    pub(crate) fn write(path: &Path) -> impl Fn(std::io::Error) -> Self + '_ {
        move |error| Self::Write { path: path.to_owned(), what: error.to_string() }
    }
}

impl From<rcgen::Error> for TlsError {
    fn from(error: rcgen::Error) -> Self {
        Self::Make(error.to_string())
    }
}
