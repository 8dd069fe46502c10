//! Files of values, in TOML or JSON, and what may be wrong with them.

use serde::de::DeserializeOwned;

/// Why what a file describes cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValuesError {
    /// The file has another form.
    #[error("{0}")]
    Form(String),
    /// No such preset.
    #[error("there is no preset `{name}`; there are {known}")]
    Preset {
        /// What was asked for.
        name: String,
        /// The names of those that there are, with commas between them.
        known: String,
    },
    /// A file without a preset to begin with lacks a value.
    #[error("it lacks `{0}`: give it, or name a `preset` to begin with")]
    Lacks(&'static str),
    /// Values that describe one thing are not all there.
    #[error("it lacks `{lacks}`, which goes with `{given}`: give both")]
    Alone {
        /// What is absent.
        lacks: &'static str,
        /// What is there.
        given: &'static str,
    },
    /// A value that cannot be.
    #[error("`{name}` must be {range}")]
    Range {
        /// Its name in a file.
        name: &'static str,
        /// What it may be.
        range: String,
    },
    /// The values do not fit each other.
    #[error("{0}")]
    Unfit(String),
}

/// Refuses a name or a source that says nothing.
///
/// # Errors
/// It is there, and empty or blank.
pub fn check_text(name: &'static str, text: Option<&str>) -> Result<(), ValuesError> {
    match text {
        Some(text) if text.trim().is_empty() => Err(ValuesError::Range {
            name,
            range: "a text with a letter at least; leave it out for the usual one".to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Reads a file: JSON if it begins with a brace, else TOML.
///
/// # Errors
/// The text has another form. The error is a line.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| error.to_string())
    } else {
        toml::from_str(text).map_err(|error| one_line(&error, text))
    }
}

/// What TOML's reader says, in a line with the line's number.
fn one_line(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
    let what = error.message().replace('\n', ", ");
    line.map_or_else(|| what.clone(), |line| format!("line {line}: {what}"))
}
