//! The modules of each crate, and where a name that a module uses is defined.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Module, SourceFile};
use crate::tree::Tree;

/// Imports that lead to imports are followed so far, which also ends those that lead in a circle.
const DEEPEST: usize = 16;

/// A crate's files, tests excluded.
pub struct Crate {
    /// The package, or `peers`.
    pub name: String,
    /// The folder of its sources, with a slash at the end.
    folder: String,
    /// Its files.
    pub sources: Vec<SourceFile>,
    /// All modules of all files.
    places: Vec<ModuleEntry>,
    /// Their numbers, by path.
    by_path: BTreeMap<Vec<String>, usize>,
}

/// Where a module is.
struct ModuleEntry {
    /// The number of its file.
    file: usize,
    /// Its number in the file.
    inside: usize,
    /// Its path in the crate.
    path: Vec<String>,
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resolution {
    /// A module, by its number.
    Module(usize),
    /// An item, by the number of the module that defines it, and its name.
    Definition(usize, String),
}

/// Every crate of the tree.
pub fn crates(tree: &Tree) -> Vec<Crate> {
    let mut by_folder: BTreeMap<&str, Vec<&crate::tree::TreeFile>> = BTreeMap::new();
    for file in tree.files.iter().filter(|file| file.has_extension("rs") && !file.is_test()) {
        if let Some((folder, _)) = file.path.split_once("src/") {
            by_folder.entry(folder).or_default().push(file);
        }
    }
    let mut crates = Vec::new();
    for (folder, files) in by_folder {
        let name = folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        crates.push(Crate::new(name, &format!("{folder}src/"), read(&files)));
    }
    crates
}

/// Reads files, on all processors.
fn read(files: &[&crate::tree::TreeFile]) -> Vec<SourceFile> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let part = files.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let read = |files: &[&crate::tree::TreeFile]| -> Vec<SourceFile> {
            files.iter().map(|file| SourceFile::read(&file.path, &file.text)).collect()
        };
        let threads: Vec<_> = files.chunks(part).map(|files| scope.spawn(move || read(files))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no file makes the reader panic")).collect()
    })
}

impl Crate {
    fn new(name: &str, folder: &str, sources: Vec<SourceFile>) -> Self {
        let has_library = sources.iter().any(|source| source.path == format!("{folder}lib.rs"));
        let path_of = |source: &SourceFile| module_path(&source.path[folder.len()..], has_library);
        let tests: BTreeSet<Vec<String>> =
            sources.iter().flat_map(|source| tests_of(&path_of(source), source)).collect();
        let is_test = |source: &SourceFile| {
            let path = path_of(source);
            source.is_test || (1..=path.len()).any(|length| tests.contains(&path[..length]))
        };
        let (mut places, mut by_path) = (Vec::new(), BTreeMap::new());
        let sources: Vec<SourceFile> = sources.into_iter().filter(|source| !is_test(source)).collect();
        for (file, source) in sources.iter().enumerate() {
            for (inside, module) in source.modules.iter().enumerate() {
                let path = [path_of(source), module.path.clone()].concat();
                by_path.insert(path.clone(), places.len());
                places.push(ModuleEntry { file, inside, path });
            }
        }
        Self { name: name.to_owned(), folder: folder.to_owned(), sources, places, by_path }
    }

    /// The path of a file from the folder of the sources.
    pub fn short<'a>(&self, path: &'a str) -> &'a str {
        path.strip_prefix(&self.folder).unwrap_or(path)
    }

    /// Every module with its number and that of its file.
    pub fn modules(&self) -> impl Iterator<Item = (usize, usize, &Module)> {
        self.places.iter().enumerate().map(|(index, place)| (index, place.file, self.module(index)))
    }

    /// The number of the file that a module is in.
    pub fn file_of(&self, module: usize) -> usize {
        self.places[module].file
    }

    /// A module by its number.
    pub fn module(&self, index: usize) -> &Module {
        let place = &self.places[index];
        &self.sources[place.file].modules[place.inside]
    }

    /// What a path that stands in a module leads to, unless it leads out of the crate.
    pub fn resolve(&self, from: usize, names: &[String]) -> Option<Resolution> {
        self.follow(from, names, 0)
    }

    fn follow(&self, from: usize, names: &[String], depth: usize) -> Option<Resolution> {
        if depth > DEEPEST {
            return None;
        }
        let mut target = match names.first()?.as_str() {
            "crate" => Resolution::Module(*self.by_path.get(&self.root(from))?),
            "self" => Resolution::Module(from),
            "super" => Resolution::Module(self.parent(from)?),
            name => self.member(from, name, names.len() == 1, depth)?,
        };
        for (at, name) in names.iter().enumerate().skip(1) {
            let Resolution::Module(module) = target else { return Some(target) };
            target = match name.as_str() {
                "super" => Resolution::Module(self.parent(module)?),
                name => self.member(module, name, at + 1 == names.len(), depth)?,
            };
        }
        Some(target)
    }

    /// What a name means in a module. Where the path ends, an item comes before a module of the same name; elsewhere it
    /// is the other way round.
    fn member(&self, module: usize, name: &str, is_last: bool, depth: usize) -> Option<Resolution> {
        let child = || {
            let mut path = self.places[module].path.clone();
            path.push(name.to_owned());
            self.by_path.get(&path).map(|index| Resolution::Module(*index))
        };
        let item = || self.module(module).items.contains(name).then(|| Resolution::Definition(module, name.to_owned()));
        let imported = || self.imported(module, name, depth);
        if is_last { item().or_else(child).or_else(imported) } else { child().or_else(imported).or_else(item) }
    }

    fn imported(&self, module: usize, name: &str, depth: usize) -> Option<Resolution> {
        let uses = &self.module(module).uses;
        if let Some(found) = uses.iter().find(|found| found.name == name) {
            // `use name;` of another crate would lead back here.
            let is_itself = found.names.len() == 1 && found.names[0] == name;
            return if is_itself { None } else { self.follow(module, &found.names, depth + 1) };
        }
        uses.iter().filter(|found| found.name == "*" && !found.names.is_empty()).find_map(|found| {
            match self.follow(module, &found.names, depth + 1)? {
                Resolution::Module(inside) if inside != module && depth < DEEPEST => {
                    self.member(inside, name, true, depth + 1)
                }
                _ => None,
            }
        })
    }

    fn parent(&self, module: usize) -> Option<usize> {
        let path = &self.places[module].path;
        self.by_path.get(&path[..path.len().checked_sub(1)?]).copied()
    }

    /// The path of the root: a program's beside a library is another.
    fn root(&self, from: usize) -> Vec<String> {
        let first = self.places[from].path.first();
        first.filter(|first| first.contains('.')).cloned().into_iter().collect()
    }
}

/// The path of a file's module in its crate.
fn module_path(file: &str, has_library: bool) -> Vec<String> {
    match file {
        "lib.rs" => Vec::new(),
        "main.rs" if !has_library => Vec::new(),
        "main.rs" => vec![file.to_owned()],
        program if program.starts_with("bin/") => vec![program.to_owned()],
        file => {
            let path = file.strip_suffix("/mod.rs").or_else(|| file.strip_suffix(".rs")).unwrap_or(file);
            path.split('/').map(str::to_owned).collect()
        }
    }
}

/// The paths of modules that a file declares for tests alone.
fn tests_of(path: &[String], source: &SourceFile) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for module in &source.modules {
        for child in module.children.iter().filter(|child| child.is_test) {
            found.push([path, module.path.as_slice(), std::slice::from_ref(&child.name)].concat());
        }
    }
    found
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::tree::TreeFile;

    /// A tree of files with texts.
    pub fn tree(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| TreeFile { path: (*path).to_owned(), text: (*text).to_owned() };
        Tree { files: files.iter().map(file).collect() }
    }

    fn resolved(krate: &Crate, from: &str, path: &str) -> Option<String> {
        let names: Vec<String> = path.split("::").map(str::to_owned).collect();
        let (from, ..) = krate.modules().find(|(_, file, _)| krate.sources[*file].path.ends_with(from))?;
        let (module, name) = match krate.resolve(from, &names)? {
            Resolution::Module(module) => (module, String::new()),
            Resolution::Definition(module, name) => (module, format!(" {name}")),
        };
        let path = &krate.sources[krate.file_of(module)].path;
        Some(format!("{}{name}", krate.short(path)))
    }

    #[test]
    fn names_are_followed_through_imports_to_their_definition() {
        let files = [
            ("crates/a/src/lib.rs", "mod b; mod f; pub use b::*; pub use b::c::C as D; mod inside { pub struct I; }"),
            ("crates/a/src/b.rs", "pub mod c; pub use self::c::C; pub struct B; #[cfg(test)] mod fake;"),
            ("crates/a/src/b/c.rs", "use super::B; use other::Thing; pub struct C;"),
            ("crates/a/src/b/fake.rs", "pub struct Fake;"),
            ("crates/a/src/f.rs", "use crate::b::c; pub fn c() {} use f; use crate::g::*;"),
            ("crates/a/src/g.rs", "pub use crate::f::*;"),
            ("crates/a/tests/all.rs", "struct T;"),
        ];
        let crates = crates(&tree(&files));
        assert_eq!((crates.len(), crates[0].name.as_str(), crates[0].sources.len()), (1, "a", 5));
        let cases = [
            ("f.rs", "crate::b::C", "b/c.rs C"),
            ("f.rs", "crate::C", "b/c.rs C"),
            ("f.rs", "crate::D::new", "b/c.rs C"),
            ("c.rs", "B", "b.rs B"),
            ("c.rs", "super::super::f::c", "f.rs c"),
            ("f.rs", "c::C", "b/c.rs C"),
            ("f.rs", "c", "f.rs c"),
            ("f.rs", "crate::inside::I", "lib.rs I"),
        ];
        for (from, path, expected) in cases {
            assert_eq!(resolved(&crates[0], from, path).as_deref(), Some(expected), "{from} {path}");
        }
        for path in ["Thing", "std::fs", "f::x", "crate::b::fake::Fake", "crate::g::nothing"] {
            assert_eq!(resolved(&crates[0], "f.rs", path), None, "{path}");
        }
    }

    #[test]
    fn a_program_beside_a_library_has_its_own_root() {
        assert_eq!(module_path("main.rs", true), ["main.rs"]);
        assert_eq!(module_path("main.rs", false), [""; 0]);
        assert_eq!(module_path("a/mod.rs", true), ["a"]);
        assert_eq!(module_path("a/b.rs", true), ["a", "b"]);
    }
}
