//! A record, and why a line is none.

use crate::key::{Binary, KeyError, check_key};

/// One key with its value, as a file carries it from server to server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Key, 1 to 250 bytes where it is to be loaded.
    pub key: Vec<u8>,
    /// Value, any bytes.
    pub value: Vec<u8>,
    /// The client's flags.
    pub flags: u32,
    /// Unix second of expiry; 0 for never.
    pub exptime: u32,
    /// What names its version; 0: whatever the server gives it.
    pub cas: u64,
}

impl Record {
    /// Whether a server takes it: programs without memcached's protocol write keys that this cannot carry.
    pub fn is_loadable(&self) -> bool {
        check_key(&self.key, Binary::Take).is_ok()
    }
}

/// Why a line is no record.
#[derive(Debug, thiserror::Error)]
pub enum BadLine {
    /// There is nothing between key and value.
    #[error("there is no TAB between key and value")]
    NoTab,
    /// A backslash with something unknown behind it; its byte column, from 1.
    #[error("byte {0}: `\\` must be followed by t, n, r, \\ or x and two hexadecimal digits")]
    Escape(usize),
    /// Not an object with the known fields.
    #[error("not a JSON record: {}", without_line(.0))]
    Json(#[from] serde_json::Error),
    /// Neither or both of a field's two spellings.
    #[error("give either {0} or {0}_base64")]
    OneOf(&'static str),
    /// A carriage return within a line.
    #[error(
        "byte {0}: a carriage return (CR) within the line; end lines with LF or CRLF, or write \\r for a CR in the \
        data"
    )]
    CarriageReturn(usize),
    /// As where files were joined.
    #[error("the line begins with a byte order mark; remove it, or write \\xef\\xbb\\xbf if it belongs to the data")]
    ByteOrderMark,
    /// Not base64.
    #[error("{0}_base64 is not base64: {1}")]
    Base64(&'static str, base64::DecodeError),
    /// The key cannot be sent.
    #[error("{0}")]
    Key(#[from] KeyError),
}

/// What is wrong with the JSON of a line. Its place in there is a column: the line is always the first, whatever the file's
/// number of it is.
fn without_line(error: &serde_json::Error) -> String {
    let told = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    told.strip_suffix(&place).map_or(told.clone(), |what| format!("{what} at column {}", error.column()))
}
