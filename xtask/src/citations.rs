//! Source files that documents cite, with or without a function, exist and are unambiguous.
//!
//! A citation is code, e.g. `store/append.rs` or `store/append.rs::Store::append`, in a line of text or in a picture. It has
//! as much of the path as means one file, and the type if several types have a function of that name.
//! Other files and folders count where their whole path is code, `tests/goals/run --fawn PROGRAM`.

use proc_macro2::TokenStream;

use crate::source::items::{ItemKind, implemented, items};
use crate::tree::{Tree, TreeFile};

/// Documents at the root that cite sources as they are today.
const DOCUMENTS: &[&str] = &["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"];

/// Candidates that are shown at most.
const SHOWN: usize = 3;

/// Folders whose files are cited by their whole path.
const FOLDERS: &[&str] = &[".ci", "book", "crates", "integrations", "peers", "tests", "xtask"];

/// Every citation that means no file or function, or several.
pub fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in tree.files.iter().filter(|file| is_document(file)) {
        for (number, citation) in citations(file) {
            let found = if is_citation(citation) { resolve(tree, citation) } else { find(tree, citation) };
            if let Err(problem) = found {
                complaints.push(format!("{}:{number}: `{citation}` {problem}", file.path));
            }
        }
    }
    complaints
}

/// Whether a file is a document for people who read code.
fn is_document(file: &TreeFile) -> bool {
    let is_inside = ["docs/", "book/src/"].iter().any(|folder| file.path.starts_with(folder));
    DOCUMENTS.contains(&file.path.as_str()) || (is_inside && file.has_extension("md"))
}

/// Code in lines of text, and words of blocks that are no program.
fn citations(file: &TreeFile) -> Vec<(usize, &str)> {
    let (mut found, mut fence) = (Vec::new(), None);
    for (number, line) in file.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(language.trim()) };
            continue;
        }
        let words: Vec<&str> = match fence {
            None => line.split('`').skip(1).step_by(2).collect(),
            Some("" | "text" | "mermaid") => line.split(|c: char| !is_of_citation(c)).collect(),
            Some(_) => Vec::new(),
        };
        let words = words.into_iter().filter_map(|code| code.split(' ').next().map(|word| (word, code)));
        for (word, code) in words {
            let source = code.trim_end_matches("()").trim_end_matches([':', '.']);
            let cited = if is_citation(source) {
                Some(source)
            } else {
                Some(word).filter(|_| fence.is_none() && is_path(word))
            };
            found.extend(cited.map(|cited| (number, cited)));
        }
    }
    found
}

fn is_of_citation(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.' | ':')
}

/// `path.rs`, or `path.rs::name`.
fn is_citation(word: &str) -> bool {
    let (path, name) = word.split_once("::").unwrap_or((word, "name"));
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let has_stem = path.strip_suffix(".rs").is_some_and(|stem| !stem.is_empty() && !stem.ends_with(['/', '.']));
    has_stem && path.chars().all(|c| is_of_citation(c) && c != ':') && name.split("::").all(is_name)
}

/// A path from the root of the project, in a folder whose name says that it is ours, without a place for a name.
fn is_path(word: &str) -> bool {
    let (first, rest) = word.split_once('/').unwrap_or((word, ""));
    let is_given =
        |part: &str| !part.chars().any(|c| c.is_ascii_uppercase()) || part.chars().any(|c| c.is_ascii_lowercase());
    let is_literal =
        rest.split(['/', '.', '-', '_']).all(is_given) && word.chars().all(|c| is_of_citation(c) && c != ':');
    FOLDERS.contains(&first) && !rest.is_empty() && !is_citation(word) && is_literal
}

fn find(tree: &Tree, path: &str) -> Result<(), String> {
    if tree.has(path) { Ok(()) } else { Err("is nowhere; cite what is there today".to_owned()) }
}

/// What is wrong with a citation.
fn resolve(tree: &Tree, citation: &str) -> Result<(), String> {
    let (path, name) = citation.split_once("::").map_or((citation, None), |(path, name)| (path, Some(name)));
    let is_meant =
        |file: &&TreeFile| file.path.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    let files: Vec<&TreeFile> = tree.files.iter().filter(is_meant).collect();
    let exact = files.iter().find(|file| file.path == path);
    let file = match (exact, files.as_slice()) {
        (Some(file), _) | (None, [file]) => file,
        (None, []) => return Err("is no file; cite what is there today".to_owned()),
        (None, files) => {
            let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            return Err(format!("may be {}; write more of its path", shown(&paths)));
        }
    };
    let Some(name) = name else { return Ok(()) };
    let wanted: Vec<&str> = name.split("::").collect();
    let (wanted, inside) = (wanted[wanted.len() - 1], &wanted[..wanted.len() - 1]);
    let defined = definitions(&file.text);
    let is_meant = |found: &&Definition| {
        found.name == wanted && inside.iter().all(|part| found.inside.iter().any(|found| found == part))
    };
    let found: Vec<&Definition> = defined.iter().filter(is_meant).collect();
    let of_product: Vec<&&Definition> = found.iter().filter(|found| !found.is_test).collect();
    match (found.len(), of_product.len()) {
        (0, _) => Err(format!("is in no such place: {} has no {name}; cite where it is today", file.path)),
        (1, _) | (_, 1) => Ok(()),
        _ => {
            let names: Vec<&str> =
                found.iter().map(|found| found.inside.last().map_or("a function", String::as_str)).collect();
            Err(format!("may be of {}; name the type as well", shown(&names)))
        }
    }
}

fn shown(names: &[&str]) -> String {
    let more = if names.len() > SHOWN { format!(" or {} others", names.len() - SHOWN) } else { String::new() };
    format!("{}{more}", names[..names.len().min(SHOWN)].join(", "))
}

/// What a document can cite of a file.
struct Definition {
    name: String,
    /// The modules, types and traits that it is in.
    inside: Vec<String>,
    is_test: bool,
}

fn definitions(text: &str) -> Vec<Definition> {
    let mut found = Vec::new();
    if let Ok(stream) = text.parse::<TokenStream>() {
        define(stream, &[], false, &mut found);
    }
    proc_macro2::extra::invalidate_current_thread_spans();
    found
}

fn define(stream: TokenStream, inside: &[String], is_test: bool, found: &mut Vec<Definition>) {
    for item in items(stream) {
        let is_test = is_test || item.is_test;
        let mut names = inside.to_vec();
        match item.kind {
            ItemKind::Use | ItemKind::Other => continue,
            ItemKind::Impl => {
                let tokens: Vec<_> = item.tokens.clone();
                names.extend(implemented(&tokens).0.pop());
            }
            _ => {
                found.push(Definition { name: item.name.clone(), inside: inside.to_vec(), is_test });
                names.push(item.name.clone());
            }
        }
        if let (ItemKind::Impl | ItemKind::Trait | ItemKind::Module, Some(body)) = (item.kind, item.body()) {
            define(body, &names, is_test, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::tests::tree;

    const SOURCE: &str = "pub fn once() {}\nstruct A;\nimpl A { fn new() {} fn run() {} }\nimpl B for A { fn b() {} }\n\
                          struct C;\nimpl C { fn new() {} }\n#[cfg(test)]\nmod tests { fn run() {} fn works() {} }";

    fn complaints(document: &str) -> Vec<String> {
        check(&tree(&[
            ("README.md", document),
            ("crates/a/src/plan.rs", SOURCE),
            ("crates/a/src/store/plan.rs", ""),
            ("crates/a/src/only.rs", SOURCE),
            ("results/x.md", "`nothing.rs`"),
        ]))
    }

    #[test]
    fn what_is_there_once_is_well_cited() {
        let good = "`only.rs` and `a/src/only.rs`, `only.rs::once`, `only.rs::A::new()`, `only.rs::A`, `only.rs::run`, \
                    `only.rs::works`, `only.rs::A::b`, `*.rs`, `.rs`, `cat nothing.rs`, \
                    `crates/a`, `crates/a/src/only.rs`, `crates/NAME/src`, `target/x`, `crates`\n```rust\nnothing.rs\n```\n\
                    ```text\nonly.rs::once -> store/plan.rs\n```\n";
        assert_eq!(complaints(good), [""; 0]);
    }

    #[test]
    fn what_is_missing_or_ambiguous_is_named_with_its_line() {
        let cases = [
            ("\n`nothing.rs`", "README.md:2: `nothing.rs` is no file; cite what is there today"),
            (
                "`plan.rs`",
                "README.md:1: `plan.rs` may be crates/a/src/plan.rs, crates/a/src/store/plan.rs; write more of its path",
            ),
            (
                "`only.rs::twice`",
                "README.md:1: `only.rs::twice` is in no such place: crates/a/src/only.rs has no twice; cite where it is today",
            ),
            ("`only.rs::new`", "README.md:1: `only.rs::new` may be of A, C; name the type as well"),
            ("Run `tests/a/run --fawn x`", "README.md:1: `tests/a/run` is nowhere; cite what is there today"),
            ("```\na -> lost.rs::f\n```", "README.md:2: `lost.rs::f` is no file; cite what is there today"),
        ];
        for (document, expected) in cases {
            assert_eq!(complaints(document), [expected], "{document}");
        }
    }
}
