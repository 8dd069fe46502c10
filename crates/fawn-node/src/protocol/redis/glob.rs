//! Patterns as Redis has them: `*`, `?`, `[a-z]`, `[^a]` and `\`.

/// Whether a text, whose letters count in any case, matches a pattern.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    // Where to go on, one byte later, if what follows the last `*` does not match.
    let (mut pattern, mut text, mut retry) = (pattern, text, None);
    loop {
        if let [b'*', rest @ ..] = pattern {
            pattern = rest;
            retry = Some((rest, text));
            continue;
        }
        let next = match text {
            [] if pattern.is_empty() => return true,
            [] => None,
            [byte, behind @ ..] => one(pattern, *byte).map(|rest| (rest, behind)),
        };
        (pattern, text) = match (next, retry) {
            (Some(next), _) => next,
            (None, Some((after_star, [_, behind @ ..]))) => {
                retry = Some((after_star, behind));
                (after_star, behind)
            }
            _ => return false,
        };
    }
}

/// What follows the pattern's first element, if that matches a byte.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [] => None,
        [b'?', rest @ ..] => Some(rest),
        [b'[', set @ ..] => class(set, byte),
        [b'\\', escaped, rest @ ..] => escaped.eq_ignore_ascii_case(&byte).then_some(rest),
        [same, rest @ ..] => same.eq_ignore_ascii_case(&byte).then_some(rest),
    }
}

/// What follows a set of bytes, if one of them is this; a set that is not closed goes on to the pattern's end.
fn class(set: &[u8], byte: u8) -> Option<&[u8]> {
    let (is_negated, mut set) = match set {
        [b'^', rest @ ..] => (true, rest),
        set => (false, set),
    };
    let (mut is_in, byte) = (false, byte.to_ascii_lowercase());
    let rest = loop {
        match set {
            [] => break set,
            [b']', rest @ ..] => break rest,
            [b'\\', escaped, rest @ ..] => {
                is_in |= escaped.eq_ignore_ascii_case(&byte);
                set = rest;
            }
            [from, b'-', to, rest @ ..] => {
                let (from, to) = (from.to_ascii_lowercase(), to.to_ascii_lowercase());
                is_in |= (from.min(to)..=from.max(to)).contains(&byte);
                set = rest;
            }
            [same, rest @ ..] => {
                is_in |= same.eq_ignore_ascii_case(&byte);
                set = rest;
            }
        }
    };
    (is_in != is_negated).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_redis() {
        for (pattern, text) in [
            ("*", ""),
            ("max*", "MAXMEMORY"),
            ("*-policy", "maxmemory-policy"),
            ("a*b*c", "aXbXbXc"),
            ("h?llo", "hello"),
            ("h[a-f]llo", "hello"),
            ("h[^x]llo", "hello"),
            ("h\\*", "h*"),
            ("[abc", "b"),
        ] {
            assert!(matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("a", ""), ("a*b", "abc"), ("h[^e]llo", "hello"), ("?", ""), ("h\\*", "hx")]
        {
            assert!(!matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
        // Many stars cost no more than a few.
        assert!(!matches(&b"a*".repeat(200), &[b'a'; 150]));
    }
}
