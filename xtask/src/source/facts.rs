//! What the checks of structure know of a Rust file.

use std::collections::BTreeSet;

use super::uses::Import;

/// The facts of one file.
#[derive(Debug, Default)]
pub struct SourceFile {
    /// Path from the root of the project.
    pub path: String,
    /// The file's own module, then those that it has inline.
    pub modules: Vec<Module>,
    /// `#![cfg(test)]`: all of it is for tests.
    pub is_test: bool,
}

/// A module: a file, or one in braces inside of it.
#[derive(Debug, Default)]
pub struct Module {
    /// Names from the file's own module down; nothing for the file itself.
    pub path: Vec<String>,
    /// Modules declared as files.
    pub children: Vec<Child>,
    /// Types, functions, constants and macros defined here.
    pub items: BTreeSet<String>,
    /// Traits among them.
    pub traits: BTreeSet<String>,
    /// The types among them.
    pub types: Vec<Type>,
    /// Blocks of methods without a trait.
    pub impls: Vec<Impl>,
    /// Imports, those inside of functions too.
    pub uses: Vec<Import>,
    /// Paths of two names or more, outside of imports.
    pub paths: Vec<Path>,
    /// Names that occur outside of imports, other than behind `.` and `::`.
    pub words: BTreeSet<String>,
    /// Whether there is anything but modules and imports.
    pub has_code: bool,
}

/// `mod name;`
#[derive(Debug)]
pub struct Child {
    /// Its name.
    pub name: String,
    /// `#[cfg(test)]` stands before it.
    pub is_test: bool,
}

/// A struct, enum, union, trait or alias.
#[derive(Debug)]
pub struct Type {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub line: usize,
    /// Fields of a struct, or of the largest variant of an enum.
    pub fields: usize,
    /// Functions of a trait; the other types have theirs in [`Impl`].
    pub methods: usize,
}

/// `impl Type { … }`
#[derive(Debug)]
pub struct Impl {
    /// The type as it is written.
    pub of: Vec<String>,
    /// Functions inside.
    pub methods: usize,
}

/// `a::b::c`
#[derive(Debug)]
pub struct Path {
    /// The names.
    pub names: Vec<String>,
    /// Where it is.
    pub line: usize,
}
