//! Who asks: the `Authorization` field.
//!
//! `Basic`, which browsers and `curl --user` send, and `Bearer`, which `curl --oauth2-bearer` sends, carry the same bytes: the
//! base64 of `user:password`. A bearer token may be URL-safe, with or without padding.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const PLAIN: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const SAFE: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// The user's name and the password in the value of an `Authorization` field; `None`: it has none.
pub fn parse(value: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let space = value.iter().position(|byte| *byte == b' ')?;
    let (scheme, token) = (&value[..space], value[space..].trim_ascii());
    let decoded = if scheme.eq_ignore_ascii_case(b"Basic") {
        PLAIN.decode(token).ok()?
    } else if scheme.eq_ignore_ascii_case(b"Bearer") {
        PLAIN.decode(token).or_else(|_| SAFE.decode(token)).ok()?
    } else {
        return None;
    };
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    Some((decoded[..colon].to_vec(), decoded[colon + 1..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_schemes_carry_user_and_password() {
        let alice = Some((b"alice".to_vec(), b"se:cret".to_vec()));
        for value in ["Basic YWxpY2U6c2U6Y3JldA==", "basic YWxpY2U6c2U6Y3JldA", "Bearer YWxpY2U6c2U6Y3JldA=="] {
            assert_eq!(parse(value.as_bytes()), alice, "{value}");
        }
        assert_eq!(parse(b"Bearer YTo_Pz8_"), Some((b"a".to_vec(), b"????".to_vec())));
        for value in ["", "Basic", "Basic !", "Basic YWxpY2U=", "Digest YWxpY2U6c2U6Y3JldA==", "Basic YTo_Pz8_"] {
            assert_eq!(parse(value.as_bytes()), None, "{value}");
        }
    }
}
