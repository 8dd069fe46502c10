//! Files of values, in TOML or JSON.

use serde::de::DeserializeOwned;

/// Reads a file: JSON if it begins with a brace, else TOML. The error is a line.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
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
