//! What can go wrong, each with what to do next.

use std::io;
use std::path::PathBuf;

use fawn_flash::DirectoryError;
use fawn_gordon::ftl::FtlError;
use fawn_loadgen::LoadgenError;
use fawn_meter::MeterError;
use fawn_store::flash::FlashError;
use fawn_store::{Damage, OpenError, Refusal};

/// Why an experiment was not carried out, or what it has brought to light.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A store, a file or another program.
    #[error(transparent)]
    Bench(#[from] fawn_bench::Error),
    /// Load on a server.
    #[error(transparent)]
    Load(#[from] LoadgenError),
    /// A matrix product.
    #[error(transparent)]
    Matrix(#[from] fawn_joule::matrix::MatrixError),
    /// A sort of files.
    #[error(transparent)]
    Sort(#[from] fawn_joule::sort::error::SortError),
    /// A list of phrases.
    #[error(transparent)]
    Phrases(#[from] fawn_joule::phrases::PatternError),
    /// A search for phrases.
    #[error(transparent)]
    Search(#[from] fawn_joule::phrases::SearchError),
    /// A program of others failed.
    #[error("{} failed ({what}): run the experiment without it in PATH, or mend it", program.display())]
    Program {
        /// Which.
        program: PathBuf,
        /// How, with its last words.
        what: String,
    },
    /// Something was computed that cannot be.
    #[error("{0}: check this machine's memory and disk; nothing was kept")]
    Wrong(String),
    /// A flash array that cannot be simulated.
    #[error(transparent)]
    Simulated(#[from] FtlError),
    /// Recordings of the workloads of the Gordon paper.
    #[error(
        "{}: {what}; record them again with integrations/hadoop/record, or give --traces synthetic",
        path.display()
    )]
    Recordings {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A server, or a cluster of them, that was started to be measured.
    #[error("{name} {what}")]
    Server {
        /// Which.
        name: String,
        /// What it did, with its last words.
        what: String,
    },
    /// An experiment among others.
    #[error("{name} failed: {source}")]
    Experiment {
        /// Its name on the command line.
        name: &'static str,
        /// Why it failed.
        source: Box<Self>,
    },
    /// A server has answered with what cannot be.
    #[error(
        "during the phase `{phase}`, {count} answers over the network were wrong or refused, the first: {first}; nothing \
         was measured"
    )]
    WrongOverNetwork {
        /// What the client did.
        phase: &'static str,
        /// How many.
        count: u64,
        /// The first of them.
        first: String,
    },
}

impl Error {
    /// Of this experiment.
    pub(crate) fn of(name: &'static str) -> impl FnOnce(Self) -> Self {
        move |source| Self::Experiment { name, source: Box::new(source) }
    }

    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Bench(fawn_bench::Error::Io { path, source })
    }
}

macro_rules! from_bench {
    ($($source:ty),+) => {$(
        impl From<$source> for Error {
            fn from(source: $source) -> Self {
                Self::Bench(source.into())
            }
        }
    )+};
}

from_bench!(Damage, DirectoryError, FlashError, MeterError, OpenError, Refusal);
