//! The names, paths and imports inside of an item, at any depth.

use proc_macro2::{TokenStream, TokenTree};

use super::facts::{Module, Path};
use super::items::{attributes, end, is_punct, is_test_attribute, is_word};
use super::uses::{import, uses};

/// Adds what the tokens name to the module.
pub fn scan(stream: TokenStream, module: &mut Module) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        at = match &tokens[at] {
            token if is_punct(token, '#') => attribute(&tokens, at, module),
            TokenTree::Group(group) => {
                scan(group.stream(), module);
                at + 1
            }
            TokenTree::Ident(word) if word == "use" => match import(&tokens, at) {
                Some((inside, end)) => {
                    uses(inside, &[], &mut module.uses);
                    end
                }
                None => at + 1,
            },
            TokenTree::Ident(word) if word == "pub" && is_restricted(tokens.get(at + 1)) => at + 2,
            TokenTree::Ident(_) => path(&tokens, at, module),
            _ => at + 1,
        };
    }
}

/// Goes into an attribute, and past what it belongs to if that is for tests alone.
fn attribute(tokens: &[TokenTree], at: usize, module: &mut Module) -> usize {
    let (found, begin) = attributes(tokens, at);
    if found.iter().any(is_test_attribute) {
        let end = end(tokens, begin);
        // A field or a variant ends at a comma, which a function's parameters may have, too.
        let is_function = tokens[begin..end].iter().any(|token| is_word(token, "fn"));
        let comma = tokens[begin..end].iter().position(|token| is_punct(token, ','));
        return match comma {
            Some(comma) if !is_function => begin + comma + 1,
            _ => end,
        };
    }
    for attribute in found {
        scan(attribute, module);
    }
    begin.max(at + 1)
}

/// `pub(in path)`: a visibility is no use of the module that it names.
fn is_restricted(next: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(group)) = next else { return false };
    group.stream().into_iter().next().is_some_and(|token| is_word(&token, "in"))
}

/// Reads the path that begins at `at`.
fn path(tokens: &[TokenTree], at: usize, module: &mut Module) -> usize {
    let mut names = Vec::new();
    let mut end = at;
    while let Some(TokenTree::Ident(word)) = tokens.get(end) {
        names.push(word.to_string());
        let is_longer = matches!(tokens.get(end + 1..end + 4), Some([a, b, TokenTree::Ident(_)])
            if is_punct(a, ':') && is_punct(b, ':'));
        if !is_longer {
            end += 1;
            break;
        }
        end += 3;
    }
    // A field, a method, a lifetime, or the rest of a path with parameters.
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    let is_continued = before.is_some_and(|token| ['.', ':', '\''].iter().any(|punct| is_punct(token, *punct)));
    let is_single_colon = before.is_some_and(|token| is_punct(token, ':'))
        && !at.checked_sub(2).and_then(|before| tokens.get(before)).is_some_and(|token| is_punct(token, ':'));
    if !is_continued || is_single_colon {
        module.words.insert(names[0].clone());
        if names.len() > 1 {
            module.paths.push(Path { names, line: tokens[at].span().start().line });
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(text: &str) -> Module {
        let mut module = Module::default();
        scan(text.parse().unwrap(), &mut module);
        module
    }

    #[test]
    fn paths_and_names_are_found_at_any_depth() {
        let module = scanned("fn f(a: crate::b::C) { if x { d::e(g.h()); use super::i::J; <K as L>::m() } }");
        let paths: Vec<_> = module.paths.iter().map(|path| path.names.join("::")).collect();
        assert_eq!(paths, ["crate::b::C", "d::e"]);
        assert_eq!(module.uses[0].names.join("::"), "super::i::J");
        for word in ["f", "a", "x", "g", "K", "L"] {
            assert!(module.words.contains(word), "{word}");
        }
        for word in ["h", "m", "J", "e"] {
            assert!(!module.words.contains(word), "{word}");
        }
    }

    #[test]
    fn what_is_for_tests_and_whom_a_visibility_names_is_not_seen() {
        let module = scanned(
            "struct S { #[cfg(test)] a: crate::a::A, pub(in crate::b) b: u8 } impl S { #[cfg(test)] fn f() { c::d() } \
             fn g(&self) { e::f() } }",
        );
        let paths: Vec<_> = module.paths.iter().map(|path| path.names.join("::")).collect();
        assert_eq!(paths, ["e::f"]);
    }
}
