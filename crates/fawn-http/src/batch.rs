//! Gets of several keys: the body of a request to `/v1/batch`.

use crate::MOST_KEY_BYTES;
use crate::refusal::{HttpStatus, RequestRefusal};
use serde::Deserialize;

/// Most keys of a batch.
pub const MOST_BATCH_KEYS: usize = 256;
/// The longest body of a batch, in bytes.
pub const MOST_BATCH_BYTES: usize = 256 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchBody {
    get: Vec<String>,
}

/// The keys that a body names, in its order.
///
/// # Errors
/// It names none, or too many.
pub fn keys(body: &[u8]) -> Result<Vec<String>, RequestRefusal> {
    let batch: BatchBody = serde_json::from_slice(body).map_err(|_| {
        RequestRefusal::new(HttpStatus::BadRequest, "send {\"get\": [\"key\", ...]} as the body, in UTF-8")
    })?;
    if batch.get.len() > MOST_BATCH_KEYS {
        return Err(RequestRefusal::new(HttpStatus::ContentTooLarge, "a batch has at most 256 keys: send several"));
    }
    if batch.get.iter().any(|key| !(1..=MOST_KEY_BYTES).contains(&key.len())) {
        return Err(RequestRefusal::new(HttpStatus::BadRequest, "each key has 1 to 250 bytes"));
    }
    Ok(batch.get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_names_keys_and_nothing_else() {
        assert_eq!(keys(b"{\"get\": [\"a\", \"\\u00e9\"]}").unwrap(), ["a", "é"]);
        assert_eq!(keys(b"{\"get\": []}").unwrap(), [""; 0]);
        for body in
            ["", "[]", "{}", "{\"get\": \"a\"}", "{\"get\": [1]}", "{\"get\": [\"\"]}", "{\"get\": [], \"x\": 1}"]
        {
            assert_eq!(keys(body.as_bytes()).unwrap_err().status, HttpStatus::BadRequest, "{body}");
        }
        let long = format!("{{\"get\": [\"{}\"]}}", "k".repeat(251));
        assert_eq!(keys(long.as_bytes()).unwrap_err().status, HttpStatus::BadRequest);
        let many = format!("{{\"get\": [{}]}}", vec!["\"k\""; 257].join(","));
        assert_eq!(keys(many.as_bytes()).unwrap_err().status, HttpStatus::ContentTooLarge);
        assert!(keys(&vec![b'['; 100_000]).is_err(), "depth is bounded");
    }
}
