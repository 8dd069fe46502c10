//! Licence expressions, as crates write them: `(MIT OR Apache-2.0) AND Unicode-3.0`.

/// The licences that everything in the binary may be under.
const ALLOWED: &[&str] = &[
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether the allowed licences satisfy the expression. An exception (`WITH …`) only ever adds permissions. The old
/// spelling `MIT/Apache-2.0` is an OR. What cannot be parsed is not satisfied.
pub fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = tokens.as_slice();
    any_of(&mut rest).is_some_and(|allowed| allowed && rest.is_empty())
}

/// `all OR all OR …`
fn any_of(rest: &mut &[&str]) -> Option<bool> {
    let mut allowed = all_of(rest)?;
    while take(rest, "OR") {
        allowed |= all_of(rest)?;
    }
    Some(allowed)
}

/// `one AND one AND …`
fn all_of(rest: &mut &[&str]) -> Option<bool> {
    let mut allowed = one(rest)?;
    while take(rest, "AND") {
        allowed &= one(rest)?;
    }
    Some(allowed)
}

/// A name, with or without an exception, or an expression in brackets.
fn one(rest: &mut &[&str]) -> Option<bool> {
    if take(rest, "(") {
        let allowed = any_of(rest)?;
        return take(rest, ")").then_some(allowed);
    }
    let (name, after) = rest.split_first()?;
    *rest = after;
    if take(rest, "WITH") {
        *rest = rest.split_first()?.1;
    }
    Some(ALLOWED.contains(name))
}

/// Takes the next token if it is this one.
fn take(rest: &mut &[&str], token: &str) -> bool {
    match rest.split_first() {
        Some((first, after)) if *first == token => {
            *rest = after;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn one_allowed_alternative_is_enough_and_every_part_is_needed() {
        let allowed = [
            "MIT",
            "MIT/Apache-2.0",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
            "(GPL-2.0 OR Apache-2.0) AND Unicode-3.0",
        ];
        for expression in allowed {
            assert!(is_allowed(expression), "{expression}");
        }
        for expression in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT MIT", "OR MIT"] {
            assert!(!is_allowed(expression), "{expression}");
        }
    }
}
