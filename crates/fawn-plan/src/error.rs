//! Why a catalogue or a node's file cannot be used.

/// Why a catalogue or a node's file cannot be used. The messages name the place in the text, not the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Not the form that is expected.
    #[error("{0}")]
    Form(String),
    /// A figure names a source that is not under `[sources]`.
    #[error("`{figure}` names the source `{source_key}`, which is not under [sources]: add it with its title and date")]
    UnknownSource {
        /// The figure's place, such as `machines.pi5.price_dollars`.
        figure: String,
        /// The name.
        source_key: String,
    },
    /// A figure has neither a value nor a range, or both, or a wrong one.
    #[error("`{figure}` needs either a value or low and high, {bounds} and in this order")]
    Value {
        /// The figure's place.
        figure: String,
        /// What the value must be.
        bounds: &'static str,
    },
    /// An option names a machine or a drive that is not there.
    #[error("the option `{option}` names the {what} `{name}`, which does not exist: add it under [{what}s]")]
    UnknownPart {
        /// The option.
        option: String,
        /// `machine` or `drive`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two options have one name.
    #[error("two options have the name `{0}`: give each its own")]
    Twice(String),
    /// Two measured nodes are of one option.
    #[error("another node file is also of the option `{0}`: give one of them")]
    MeasuredTwice(String),
    /// An option has no drives, or fewer than one.
    #[error("the option `{0}` has a drive, and 0 of them: write drives = 1 or more")]
    NoDrives(String),
    /// A part has values that cannot both be true.
    #[error("{0}")]
    Contradiction(String),
    /// What is asked for cannot be.
    #[error("{0}")]
    Workload(&'static str),
    /// There is nothing to choose from.
    #[error("it has no options: write at least one as [[options]]")]
    Empty,
    /// A node's file is of an option that the catalogue does not have.
    #[error("it belongs to the option `{option}`, which the catalogue does not have; the catalogue has {known}")]
    UnknownOption {
        /// The name in the node's file.
        option: String,
        /// Those that there are.
        known: String,
    },
}
