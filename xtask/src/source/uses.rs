//! Imports, `a::{b, c as d, e::*}` taken apart.

use proc_macro2::TokenTree;

use super::items::{is_punct, is_word, parts};

/// One imported name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The path of what is imported; of the module for `*`.
    pub names: Vec<String>,
    /// What it is called here; `_` for a trait without a name, `*` for everything.
    pub name: String,
    /// Where it is.
    pub line: usize,
}

/// The imports of the tokens between `use` and `;`.
pub fn uses(tokens: &[TokenTree], prefix: &[String], found: &mut Vec<Import>) {
    let mut names = prefix.to_vec();
    let line = tokens.first().map_or(0, |token| token.span().start().line);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Ident(word) if word == "as" => {
                let name = tokens.get(at + 1).map(ToString::to_string).unwrap_or_default();
                return found.push(Import { names: without_self(names), name, line });
            }
            TokenTree::Ident(word) => names.push(word.to_string()),
            TokenTree::Group(group) => {
                for part in parts(group.stream()) {
                    uses(&part, &names, found);
                }
                return;
            }
            token if is_punct(token, '*') => return found.push(Import { names, name: "*".to_owned(), line }),
            _ => {}
        }
        at += 1;
    }
    let names = without_self(names);
    if let Some(name) = names.last().cloned() {
        found.push(Import { names, name, line });
    }
}

/// `a::{self}` is `a`.
fn without_self(mut names: Vec<String>) -> Vec<String> {
    if names.len() > 1 && names.last().is_some_and(|name| name == "self") {
        names.pop();
    }
    names
}

/// The tokens of an import that begins with `use` at `at`, and where it ends; `None` if it is none (`use<'a>`).
pub fn import(tokens: &[TokenTree], at: usize) -> Option<(&[TokenTree], usize)> {
    let is_import = is_word(&tokens[at], "use") && !is_punct(tokens.get(at + 1)?, '<');
    let length = tokens[at..].iter().position(|token| is_punct(token, ';'))?;
    is_import.then(|| (&tokens[at + 1..at + length], at + length + 1))
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;

    use super::*;

    #[test]
    fn imports_are_taken_apart() {
        let text = "crate::a::{self, b, c::{d as e, f::*}, g as _}";
        let tokens: Vec<TokenTree> = text.parse::<TokenStream>().unwrap().into_iter().collect();
        let mut found = Vec::new();
        uses(&tokens, &[], &mut found);
        let found: Vec<_> = found.iter().map(|found| (found.names.join("::"), found.name.as_str())).collect();
        let expected = [
            ("crate::a", "a"),
            ("crate::a::b", "b"),
            ("crate::a::c::d", "e"),
            ("crate::a::c::f", "*"),
            ("crate::a::g", "_"),
        ];
        assert_eq!(found, expected.map(|(path, name)| (path.to_owned(), name)));
    }
}
