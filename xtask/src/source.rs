//! What a Rust file says of its modules, types and imports, for the checks of structure.
//!
//! `proc-macro2` cuts the text into tokens and brackets, `items` cuts those into items, `scan` collects the names that their
//! bodies use, `uses` reads imports, and `facts` is what comes of it. What `#[cfg(test)]` covers is left out. The contents of
//! macros are tokens like all others; what a macro expands to is not seen.

mod facts;
pub mod items;
mod scan;
mod uses;

use proc_macro2::{TokenStream, TokenTree};

use facts::{Child, Impl, Type};
pub use facts::{Module, SourceFile};
use items::{ItemKind, SyntaxItem, items};

impl SourceFile {
    /// The facts of a file with this text; none if it cannot be cut into tokens, which the compiler says better.
    pub fn read(path: &str, text: &str) -> Self {
        let mut source = Self { path: path.to_owned(), ..Self::default() };
        if let Ok(stream) = text.parse::<TokenStream>() {
            source.is_test = items::is_test_file(&stream);
            module(stream, Vec::new(), &mut source.modules);
        }
        proc_macro2::extra::invalidate_current_thread_spans();
        source
    }
}

/// Reads a module and those inside of it.
fn module(stream: TokenStream, path: Vec<String>, modules: &mut Vec<Module>) {
    let index = modules.len();
    modules.push(Module { path, ..Module::default() });
    for item in items(stream) {
        if item.kind == ItemKind::Module {
            match item.body() {
                Some(body) if !item.is_test => {
                    let mut path = modules[index].path.clone();
                    path.push(item.name);
                    module(body, path, modules);
                }
                Some(_) => {}
                None => modules[index].children.push(Child { name: item.name, is_test: item.is_test }),
            }
        } else if !item.is_test {
            add(&item, &mut modules[index]);
        }
    }
}

/// Adds an item to its module.
fn add(item: &SyntaxItem, module: &mut Module) {
    for attribute in &item.attributes {
        scan::scan(attribute.clone(), module);
    }
    scan::scan(item.tokens.iter().cloned().collect(), module);
    match item.kind {
        ItemKind::Use => return,
        ItemKind::Struct | ItemKind::Enum | ItemKind::Alias => {
            module.types.push(Type { name: item.name.clone(), line: item.line, fields: item.fields(), methods: 0 });
        }
        ItemKind::Trait => {
            module.traits.insert(item.name.clone());
            let methods = methods(item);
            module.types.push(Type { name: item.name.clone(), line: item.line, fields: 0, methods });
        }
        ItemKind::Impl => {
            if let Some(of) = inherent(&item.tokens) {
                module.impls.push(Impl { of, methods: methods(item) });
            }
        }
        ItemKind::Module | ItemKind::Function | ItemKind::Constant | ItemKind::Macro | ItemKind::Other => {}
    }
    module.has_code = true;
    if !item.name.is_empty() {
        module.items.insert(item.name.clone());
    }
}

/// The functions in the body of an `impl` or a trait.
fn methods(item: &SyntaxItem) -> usize {
    let inside = item.body().map(items).unwrap_or_default();
    inside.iter().filter(|item| item.kind == ItemKind::Function && !item.is_test).count()
}

/// The type of an `impl` without a trait.
fn inherent(tokens: &[TokenTree]) -> Option<Vec<String>> {
    let (of, is_of_trait) = items::implemented(tokens);
    (!is_of_trait && !of.is_empty()).then_some(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Module {
        SourceFile::read("a.rs", text).modules.remove(0)
    }

    #[test]
    fn fields_and_methods_are_counted_without_those_of_tests() {
        let module = read(
            "pub struct A<T> where T: X { a: Map<u8, u8>, /// b\n b: fn(u8, u8) -> u8, #[cfg(test)] c: u8 }\n\
             struct B(u8, Vec<(u8, u8)>);\nstruct C;\nenum D { E { a: u8, b: u8 }, F(u8) }\ntype G = Map<u8, u8>;\n\
             impl<T> A<T> { pub const fn new() {} const N: u8 = 1; #[cfg(test)] fn only_for_tests() {} fn a(&self) {} }\n\
             impl Default for A<u8> { fn default() -> Self {} }\n\
             trait H { fn a(); fn b() { fn inner() {} } type T; }",
        );
        let sizes: Vec<_> = module.types.iter().map(|found| (&*found.name, found.fields, found.methods)).collect();
        assert_eq!(sizes, [("A", 2, 0), ("B", 2, 0), ("C", 0, 0), ("D", 2, 0), ("G", 0, 0), ("H", 0, 2)]);
        assert_eq!(module.impls.len(), 1);
        assert_eq!((module.impls[0].of.join("::"), module.impls[0].methods), ("A".to_owned(), 2));
    }

    #[test]
    fn lines_are_those_of_the_file() {
        let module = read("//! A.\n\n/// B.\nstruct B;\nfn f() {\n    b::c();\n}\n");
        assert_eq!((module.types[0].line, module.paths[0].line), (4, 6));
    }

    #[test]
    fn imports_and_declared_modules_alone_are_no_code() {
        let module = read("//! A.\nmod a;\n#[cfg(test)]\nmod tests;\npub use a::B;\n");
        assert!(!module.has_code);
        let children: Vec<_> = module.children.iter().map(|child| (&*child.name, child.is_test)).collect();
        assert_eq!(children, [("a", false), ("tests", true)]);
        assert!(read("const A: u8 = 1;").has_code);
    }

    #[test]
    fn modules_in_braces_are_modules_unless_they_are_tests() {
        let source = SourceFile::read(
            "a.rs",
            "mod a { fn f() {} mod b { struct C; } }\n#[cfg(test)]\nmod tests { struct D; }\n",
        );
        let paths: Vec<_> = source.modules.iter().map(|module| module.path.join("::")).collect();
        assert_eq!(paths, ["", "a", "a::b"]);
        assert!(SourceFile::read("a.rs", "//! A.\n#![cfg(test)]\nfn f() {}\n").is_test);
    }
}
