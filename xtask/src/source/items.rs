//! Tokens cut into items: attributes, kind, name, and everything up to the end of each.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// One item.
pub struct SyntaxItem {
    /// What it is.
    pub kind: ItemKind,
    /// Its name, if it has one.
    pub name: String,
    /// The insides of its `#[…]`, comments included.
    pub attributes: Vec<TokenStream>,
    /// What follows the attributes.
    pub tokens: Vec<TokenTree>,
    /// `#[cfg(test)]` or `#[test]` is among its attributes.
    pub is_test: bool,
    /// Where it begins, its attributes aside.
    pub line: usize,
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    Use,
    Module,
    Function,
    Struct,
    Enum,
    Trait,
    Alias,
    Impl,
    Constant,
    Macro,
    Other,
}

/// The items of a file, or of the body of a module, a trait or an `impl`.
pub fn items(stream: TokenStream) -> Vec<SyntaxItem> {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let (attributes, begin) = attributes(&tokens, at);
        let end = end(&tokens, begin);
        if let Some(first) = tokens.get(begin) {
            let (kind, name) = kind(&tokens[begin..end]);
            let is_test = attributes.iter().any(is_test_attribute);
            let line = first.span().start().line;
            found.push(SyntaxItem { kind, name, attributes, tokens: tokens[begin..end].to_vec(), is_test, line });
        }
        at = end.max(at + 1);
    }
    found
}

/// Whether a file has `#![cfg(test)]`.
pub fn is_test_file(stream: &TokenStream) -> bool {
    let tokens: Vec<TokenTree> = stream.clone().into_iter().collect();
    tokens.windows(3).any(|three| match three {
        [a, b, TokenTree::Group(group)] => is_punct(a, '#') && is_punct(b, '!') && is_test_attribute(&group.stream()),
        _ => false,
    })
}

impl SyntaxItem {
    /// What is between its braces.
    pub fn body(&self) -> Option<TokenStream> {
        match self.tokens.last() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => Some(group.stream()),
            _ => None,
        }
    }

    /// Fields of a struct, or of the largest variant of an enum.
    pub fn fields(&self) -> usize {
        let group = self.tokens.iter().rev().find_map(|token| match token {
            TokenTree::Group(group) if is_list(group) => Some(group),
            _ => None,
        });
        let Some(group) = group else { return 0 };
        match self.kind {
            ItemKind::Struct => parts(group.stream()).len(),
            ItemKind::Enum => parts(group.stream()).iter().map(|variant| variant_fields(variant)).max().unwrap_or(0),
            _ => 0,
        }
    }
}

fn variant_fields(variant: &[TokenTree]) -> usize {
    let lists = variant.iter().filter_map(|token| match token {
        TokenTree::Group(group) if is_list(group) => Some(parts(group.stream()).len()),
        _ => None,
    });
    lists.max().unwrap_or(0)
}

fn is_list(group: &Group) -> bool {
    matches!(group.delimiter(), Delimiter::Brace | Delimiter::Parenthesis)
}

/// The type of an `impl` as it is written, and whether the `impl` is of a trait.
pub fn implemented(tokens: &[TokenTree]) -> (Vec<String>, bool) {
    let mut rest = tokens.iter().skip_while(|token| !is_word(token, "impl")).skip(1).peekable();
    let (mut depth, mut names, mut is_of_trait) = (0, Vec::new(), false);
    let mut is_generic = rest.peek().is_some_and(|token| is_punct(token, '<'));
    let (mut is_past_names, mut before) = (false, None);
    for token in rest {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '<' => {
                depth += 1;
                is_past_names |= !is_generic;
            }
            TokenTree::Punct(punct) if punct.as_char() == '>' && before != Some('-') => {
                depth -= 1;
                // The parameters of the `impl` itself have ended.
                is_generic &= depth != 0;
            }
            TokenTree::Ident(word) if depth == 0 => match word.to_string().as_str() {
                "for" => {
                    is_of_trait = true;
                    is_past_names = false;
                    names.clear();
                }
                "where" => break,
                "mut" | "dyn" => {}
                word if !is_past_names => names.push(word.to_owned()),
                _ => {}
            },
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => break,
            _ => {}
        }
        before = if let TokenTree::Punct(punct) = token { Some(punct.as_char()) } else { None };
    }
    (names, is_of_trait)
}

/// What is between commas, nothing of tests, comments dropped.
pub fn parts(stream: TokenStream) -> Vec<Vec<TokenTree>> {
    let (mut found, mut part, mut depth, mut before) = (Vec::new(), Vec::new(), 0, None);
    for token in stream {
        let punct = if let TokenTree::Punct(punct) = &token { Some(punct.as_char()) } else { None };
        match punct {
            Some('<') => depth += 1,
            Some('>') if !matches!(before, Some('-' | '=')) => depth -= 1,
            _ => {}
        }
        before = punct;
        if punct == Some(',') && depth == 0 {
            found.push(std::mem::take(&mut part));
        } else {
            part.push(token);
        }
    }
    found.push(part);
    found.retain(|part| {
        let (attributes, begin) = attributes(part, 0);
        begin < part.len() && !attributes.iter().any(is_test_attribute)
    });
    found
}

/// The attributes from `at`, and where what they belong to begins. Those of the whole file are dropped.
pub fn attributes(tokens: &[TokenTree], mut at: usize) -> (Vec<TokenStream>, usize) {
    let mut found = Vec::new();
    while tokens.get(at).is_some_and(|token| is_punct(token, '#')) {
        let is_inner = tokens.get(at + 1).is_some_and(|token| is_punct(token, '!'));
        let Some(TokenTree::Group(group)) = tokens.get(at + 1 + usize::from(is_inner)) else { break };
        if !is_inner {
            found.push(group.stream());
        }
        at += 2 + usize::from(is_inner);
    }
    (found, at)
}

/// `cfg(test)`, `cfg(all(test, …))` or `test`.
pub fn is_test_attribute(attribute: &TokenStream) -> bool {
    let tokens: Vec<TokenTree> = attribute.clone().into_iter().collect();
    match tokens.as_slice() {
        [word] => is_word(word, "test"),
        [word, TokenTree::Group(group)] if is_word(word, "cfg") => {
            let condition: Vec<TokenTree> = group.stream().into_iter().collect();
            match condition.as_slice() {
                [word] => is_word(word, "test"),
                [word, TokenTree::Group(all)] if is_word(word, "all") => {
                    parts(all.stream()).iter().any(|part| part.len() == 1 && is_word(&part[0], "test"))
                }
                _ => false,
            }
        }
        _ => false,
    }
}

/// Where the item ends that begins at `begin`.
pub fn end(tokens: &[TokenTree], begin: usize) -> usize {
    let (mut at, mut ends_with_braces) = (begin, true);
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Punct(punct) if punct.as_char() == ';' => return at + 1,
            TokenTree::Group(group) if ends_with_braces && group.delimiter() == Delimiter::Brace => return at + 1,
            TokenTree::Ident(word) => match word.to_string().as_str() {
                "use" | "type" | "static" if is_start(&tokens[begin..at]) => ends_with_braces = false,
                "const" if is_start(&tokens[begin..at]) && !is_before_function(&tokens[at + 1..]) => {
                    ends_with_braces = false;
                }
                _ => {}
            },
            _ => {}
        }
        at += 1;
    }
    tokens.len()
}

/// Whether nothing but a visibility stands there.
fn is_start(before: &[TokenTree]) -> bool {
    before.iter().all(|token| match token {
        TokenTree::Ident(word) => word == "pub",
        TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
        _ => false,
    })
}

fn is_before_function(after: &[TokenTree]) -> bool {
    let first = after.first();
    first.is_some_and(|token| ["fn", "unsafe", "async", "extern"].iter().any(|word| is_word(token, word)))
}

/// What an item is, and its name.
fn kind(tokens: &[TokenTree]) -> (ItemKind, String) {
    let words: Vec<String> = tokens
        .iter()
        .map(|token| match token {
            TokenTree::Ident(word) => word.to_string(),
            TokenTree::Punct(punct) => punct.to_string(),
            TokenTree::Group(_) | TokenTree::Literal(_) => String::new(),
        })
        .collect();
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    for at in 0..words.len() {
        let kind = match word(at) {
            "use" => return (ItemKind::Use, String::new()),
            "impl" => return (ItemKind::Impl, String::new()),
            "mod" => ItemKind::Module,
            "fn" => ItemKind::Function,
            "struct" => ItemKind::Struct,
            "union" if !word(at + 1).is_empty() && word(at + 1) != "!" => ItemKind::Struct,
            "enum" => ItemKind::Enum,
            "trait" => ItemKind::Trait,
            "type" => ItemKind::Alias,
            "const" if is_before_function(&tokens[at + 1..]) => continue,
            "static" if word(at + 1) == "mut" => return (ItemKind::Constant, word(at + 2).to_owned()),
            "const" | "static" => ItemKind::Constant,
            "macro_rules" => return (ItemKind::Macro, word(at + 2).to_owned()),
            "pub" | "default" | "unsafe" | "async" | "extern" | "" => continue,
            _ => return (ItemKind::Other, String::new()),
        };
        return (kind, word(at + 1).to_owned());
    }
    (ItemKind::Other, String::new())
}

pub fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(found) if found == word)
}

pub fn is_punct(token: &TokenTree, punct: char) -> bool {
    matches!(token, TokenTree::Punct(found) if found.as_char() == punct)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(ItemKind, String)> {
        items(text.parse().unwrap()).into_iter().map(|item| (item.kind, item.name)).collect()
    }

    #[test]
    fn every_kind_of_item_ends_where_it_ends() {
        let text = "use a::{b, c}; pub(crate) mod d; pub const fn e() {} const F: [u8; 2] = { [1, 2] }; static mut G: u8 = 1; \
                    pub struct H(u8); struct I { j: u8 } default impl J for K {} macro_rules! l { () => {} } m! {} n!(); \
                    extern \"C\" fn o() {} type P = u8; async fn q() {} pub trait R: S {} enum T {}";
        let expected = [
            (ItemKind::Use, ""),
            (ItemKind::Module, "d"),
            (ItemKind::Function, "e"),
            (ItemKind::Constant, "F"),
            (ItemKind::Constant, "G"),
            (ItemKind::Struct, "H"),
            (ItemKind::Struct, "I"),
            (ItemKind::Impl, ""),
            (ItemKind::Macro, "l"),
            (ItemKind::Other, ""),
            (ItemKind::Other, ""),
            (ItemKind::Function, "o"),
            (ItemKind::Alias, "P"),
            (ItemKind::Function, "q"),
            (ItemKind::Trait, "R"),
            (ItemKind::Enum, "T"),
        ];
        let found = kinds(text);
        let found: Vec<(ItemKind, &str)> = found.iter().map(|(kind, name)| (*kind, name.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_type_of_an_impl_is_found_behind_parameters_and_traits() {
        let cases = [
            ("impl A {}", "A", false),
            ("impl<'a, T: B<C>> a::A<'a, T> where T: D {}", "a::A", false),
            ("impl<F: Fn(u8) -> u8> B<F> for &mut A<F> {}", "A", true),
            ("default impl B for A {}", "A", true),
        ];
        for (text, expected, is_trait) in cases {
            let tokens: Vec<TokenTree> = text.parse::<TokenStream>().unwrap().into_iter().collect();
            let (names, found) = implemented(&tokens);
            assert_eq!((names.join("::").as_str(), found), (expected, is_trait), "{text}");
        }
    }

    #[test]
    fn attributes_of_tests_are_known() {
        for (text, expected) in [
            ("cfg(test)", true),
            ("cfg(all(test, feature = \"planted\"))", true),
            ("test", true),
            ("cfg(any(test, feature = \"planted\"))", false),
            ("cfg(not(test))", false),
            ("doc = \"test\"", false),
        ] {
            assert_eq!(is_test_attribute(&text.parse().unwrap()), expected, "{text}");
        }
    }
}
