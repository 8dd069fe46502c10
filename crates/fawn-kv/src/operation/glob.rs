//! Patterns of names, as Redis matches them.
//!
//! | in a pattern | matches |
//! |---|---|
//! | `*` | any bytes, none included |
//! | `?` | a byte |
//! | `[abc]`, `[a-z]` | a byte that is listed |
//! | `[^abc]` | a byte that is not |
//! | `\x` | the byte `x`, within a list too |
//! | another byte | itself |
//!
//! Odd patterns mean what they mean to Redis 7.0 on x86-64. A list without an end goes on to the pattern's end. A `]` ends a list
//! wherever it is, but as the end of a stretch. A stretch may run backwards, and bytes from 128 on come before the others in it.
//!
//! ```
//! use fawn_kv::operation::glob::matches;
//!
//! assert!(matches(b"user:[0-9]*:name", b"user:42:name"));
//! assert!(!matches(b"user:?", b"user:42"));
//! ```

/// Whether a whole name matches a pattern. It takes at most as many steps as the product of both lengths.
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    if name.is_empty() {
        return pattern.is_empty() || pattern == b"*";
    }
    let (mut pattern, mut name) = (pattern, name);
    // Behind the last `*`: the pattern, and the part of the name that is tried next. No earlier `*` need be tried again, as
    // whatever it could match more this one can match, too.
    let mut retry = None;
    while let Some((byte, rest)) = name.split_first() {
        if let Some((b'*', behind)) = pattern.split_first() {
            pattern = behind;
            retry = Some((behind, name));
            if behind.is_empty() {
                return true;
            }
        } else if let Some(behind) = match_byte(pattern, *byte) {
            (pattern, name) = (behind, rest);
        } else {
            let Some((behind, tried)) = retry else { return false };
            (pattern, name) = (behind, &tried[1..]);
            retry = Some((behind, name));
        }
    }
    pattern.iter().all(|byte| *byte == b'*')
}

/// The pattern behind its first part, if that matches the byte.
fn match_byte(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    let (is_match, behind) = match pattern {
        [] => return None,
        [b'?', behind @ ..] => (true, behind),
        [b'[', b'^', list @ ..] => {
            let (is_listed, behind) = match_list(list, byte);
            (!is_listed, behind)
        }
        [b'[', list @ ..] => match_list(list, byte),
        [b'\\', other, behind @ ..] | [other, behind @ ..] => (*other == byte, behind),
    };
    is_match.then_some(behind)
}

/// Whether a byte is listed, and the pattern behind the list.
fn match_list(mut list: &[u8], byte: u8) -> (bool, &[u8]) {
    let mut is_listed = false;
    loop {
        list = match list {
            [] => return (is_listed, list),
            [b'\\', other, behind @ ..] => {
                is_listed |= *other == byte;
                behind
            }
            [b']', behind @ ..] => return (is_listed, behind),
            [first, b'-', last, behind @ ..] => {
                // Redis compares C's `char`, which has a sign there.
                let [first, last, byte] = [*first, *last, byte].map(u8::cast_signed);
                is_listed |= (first.min(last)..=first.max(last)).contains(&byte);
                behind
            }
            [other, behind @ ..] => {
                is_listed |= *other == byte;
                behind
            }
        };
    }
}
