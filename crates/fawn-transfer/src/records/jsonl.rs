//! One JSON object a line.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fawn_files::text::BYTE_ORDER_MARK;
use serde::{Deserialize, Serialize};

use super::record::{BadLine, Record};
use crate::key::Binary;

/// The object. Unknown fields are refused, because they are most often misspelt ones.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonRecord<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    key: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    key_base64: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    value: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    value_base64: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    flags: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    exptime: u32,
    #[serde(default, skip_serializing_if = "is_none")]
    cas: u64,
}

/// Parses one line. A key in base64 may hold any bytes.
pub fn parse(line: &[u8], record: &mut Record) -> Result<Binary, BadLine> {
    // One where files were joined means nothing.
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let line: JsonRecord<'_> = serde_json::from_slice(line)?;
    (record.flags, record.exptime, record.cas) = (line.flags, line.exptime, line.cas);
    let meant = if line.key_base64.is_some() { Binary::Take } else { Binary::Refuse };
    fill(&mut record.key, "key", line.key, line.key_base64)?;
    fill(&mut record.value, "value", line.value, line.value_base64)?;
    Ok(meant)
}

/// Appends one line: strings where the bytes are UTF-8, base64 where not. A key that is not plain, or longer than
/// memcached's protocol carries, is in base64, too, so that it loads without further ado.
pub fn push(out: &mut Vec<u8>, record: &Record) {
    let (mut key, key_base64) = spell(&record.key);
    let Record { flags, exptime, cas, .. } = *record;
    let mut line = JsonRecord { key_base64, flags, exptime, cas, ..JsonRecord::default() };
    if key.is_some() && crate::key::check_key(&record.key, Binary::Refuse).is_err() {
        line.key_base64 = Some(STANDARD.encode(&record.key).into());
        key = None;
    }
    line.key = key;
    (line.value, line.value_base64) = spell(&record.value);
    serde_json::to_writer(&mut *out, &line).expect("strings and numbers are JSON, and a vector takes them");
    out.push(b'\n');
}

/// Replaces `out` by the bytes that one of two fields spells.
fn fill(
    out: &mut Vec<u8>,
    name: &'static str,
    text: Option<Cow<'_, str>>,
    base64: Option<Cow<'_, str>>,
) -> Result<(), BadLine> {
    out.clear();
    match (text, base64) {
        (Some(text), None) => out.extend_from_slice(text.as_bytes()),
        (None, Some(base64)) => {
            STANDARD.decode_vec(base64.as_bytes(), out).map_err(|error| BadLine::Base64(name, error))?;
        }
        _ => return Err(BadLine::OneOf(name)),
    }
    Ok(())
}

/// The two fields that spell these bytes, one of them present.
fn spell(bytes: &[u8]) -> (Option<Cow<'_, str>>, Option<Cow<'_, str>>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.into()), None),
        Err(_) => (None, Some(STANDARD.encode(bytes).into())),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_none(cas: &u64) -> bool {
    *cas == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &str) -> String {
        parse(line.as_bytes(), &mut Record::default()).unwrap_err().to_string()
    }

    #[test]
    fn a_line_says_no_more_than_it_must() {
        let mut out = Vec::new();
        push(&mut out, &Record { key: b"k".to_vec(), value: b"a\"b\n".to_vec(), flags: 0, exptime: 0, cas: 0 });
        assert_eq!(String::from_utf8(out).unwrap(), "{\"key\":\"k\",\"value\":\"a\\\"b\\n\"}\n");
    }

    #[test]
    fn escapes_of_json_are_resolved() {
        let mut record = Record::default();
        parse(br#"{"value":"\u00e9\ud83e\udd8c\t","key":"k\u0061"}"#, &mut record).unwrap();
        assert_eq!((record.key.as_slice(), record.value.as_slice()), (&b"ka"[..], "é🦌\t".as_bytes()));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(refusal(r#"{"key":"k"}"#).contains("value or value_base64"));
        assert!(refusal(r#"{"key":"k","key_base64":"aw==","value":"v"}"#).contains("either key"));
        assert!(refusal(r#"{"key":"k","value_base64":"?"}"#).contains("not base64"));
        assert!(refusal(r#"{"key":"k","value":"v","exptme":1}"#).contains("exptme"));
        assert!(refusal(r#"{"key":"k","value":"v","flags":-1}"#).contains("not a JSON record"));
        assert_eq!(refusal("key\tvalue"), "not a JSON record: expected value at column 1");
    }
}
