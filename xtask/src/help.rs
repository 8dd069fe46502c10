//! What `fawn --help` says, at any level: read from the comments and attributes of `clap`'s structs and enums.

use proc_macro2::{TokenStream, TokenTree};

use crate::source::items::{ItemKind, SyntaxItem, attributes, is_punct, items, parts};
use crate::tree::TreeFile;

/// What makes a type one of `clap`'s.
const DERIVED: &[&str] = &["Args", "Parser", "Subcommand", "ValueEnum"];

/// Attributes whose text is shown.
const SHOWN: &[&str] = &["about", "long_about", "help", "long_help", "before_help", "after_help", "after_long_help"];

/// Whether a file may have arguments of `fawn`.
pub fn is_of_help(file: &TreeFile) -> bool {
    file.path.starts_with("crates/fawn/src/") && file.has_extension("rs") && !file.is_test()
}

/// The texts with their lines.
pub fn texts(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    // Lexing is slow, and few files have arguments.
    if DERIVED.iter().any(|derived| source.contains(derived))
        && let Ok(stream) = source.parse::<TokenStream>()
    {
        for item in items(stream).iter().filter(|item| !item.is_test && is_derived(item)) {
            add(&item.attributes, &mut found);
            let fields = item.body().filter(|_| matches!(item.kind, ItemKind::Struct | ItemKind::Enum)).map(parts);
            for field in fields.unwrap_or_default() {
                add(&attributes(&field, 0).0, &mut found);
                // The fields of a variant.
                for token in &field {
                    if let (TokenTree::Group(group), ItemKind::Enum) = (token, item.kind) {
                        for field in parts(group.stream()) {
                            add(&attributes(&field, 0).0, &mut found);
                        }
                    }
                }
            }
        }
    }
    proc_macro2::extra::invalidate_current_thread_spans();
    found
}

fn is_derived(item: &SyntaxItem) -> bool {
    let words = |attribute: &TokenStream| attribute.to_string();
    item.attributes.iter().map(words).any(|words| {
        words.starts_with("derive") && words.split(|c: char| !c.is_alphanumeric()).any(|word| DERIVED.contains(&word))
    })
}

/// Adds the comment that attributes make together, and the texts in `#[command(…)]` and `#[arg(…)]`.
fn add(attributes: &[TokenStream], found: &mut Vec<(usize, String)>) {
    let (mut comment, mut begin) = (String::new(), 0);
    for attribute in attributes {
        let tokens: Vec<TokenTree> = attribute.clone().into_iter().collect();
        match tokens.as_slice() {
            [TokenTree::Ident(word), _, TokenTree::Literal(line)] if word == "doc" => {
                begin = if begin == 0 { line.span().start().line } else { begin };
                comment.push_str(&literal(&line.to_string()));
                comment.push('\n');
            }
            [TokenTree::Ident(_), TokenTree::Group(group)] => {
                for part in parts(group.stream()) {
                    if let [TokenTree::Ident(key), equals, TokenTree::Literal(text)] = part.as_slice()
                        && SHOWN.contains(&key.to_string().as_str())
                        && is_punct(equals, '=')
                    {
                        found.push((text.span().start().line, literal(&text.to_string())));
                    }
                }
            }
            _ => {}
        }
    }
    if begin > 0 {
        found.push((begin, comment));
    }
}

/// The contents of a literal as it is written.
fn literal(text: &str) -> String {
    let inside = text.trim_start_matches(['r', '#']).trim_end_matches('#').trim_matches('"');
    // A line that goes on has a backslash, and its indentation does not count.
    let joined: Vec<&str> =
        inside.split("\\\n").enumerate().map(|(at, line)| if at == 0 { line } else { line.trim_start() }).collect();
    joined.concat().replace("\\n", "\n").replace("\\\"", "\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_attributes_of_arguments_are_what_help_shows() {
        let source = "use clap::Args;\n/// Not clap's.\nstruct A {\n/// Not shown.\na: u8 }\n\
                      /// A command.\n#[derive(Debug, clap::Args)]\n#[command(after_help = \"After \\\n    all.\", name = \"x\")]\n\
                      pub struct B {\n/// One\n/// two\n#[arg(long, help = r#\"A \"b\"\"#)]\nb: Option<u8>,\nc: u8 }\n\
                      #[derive(Subcommand)]\nenum C {\n/// Three\nD {\n/// Four\ne: u8 } }\n";
        let found = texts(source);
        let found: Vec<_> = found.iter().map(|(line, text)| (*line, text.trim())).collect();
        let expected =
            [(8, "After all."), (6, "A command."), (13, "A \"b"), (11, "One\n two"), (18, "Three"), (20, "Four")];
        assert_eq!(found, expected);
    }
}
