//! Circles between the modules of a crate.
//!
//! The files of a crate are the points of a graph. An arrow leads from a file to every file that defines something which it
//! names, through any re-export: in `use`, or in a path (`super::reply::write(…)`). The circles are the strongly connected
//! components of more than one file. So that the parts of a folder can be told from each other,
//!
//! - `mod child;` and `pub use child::Thing;` alone are no arrows: a parent depends on a child whose things it names in code;
//! - a child that uses a type of its parent's file depends on the parent;
//! - a file that only declares modules and re-exports is no point;
//! - calls of methods count by the import of their type or trait, not by themselves;
//! - what is for tests does not count.

use std::collections::BTreeMap;

use crate::exceptions::{Circle, Exceptions};
use crate::modules::{Crate, Resolution};

/// Arrows between files by their numbers, each with a line that makes it.
type Arrows = BTreeMap<usize, BTreeMap<usize, usize>>;

/// What is wrong with a crate's circles.
pub fn check(krate: &Crate, exceptions: &Exceptions) -> Vec<String> {
    let arrows = arrows(krate);
    let circles = circles(krate, &arrows);
    let allowed: Vec<&Circle> = exceptions.circle.iter().filter(|allowed| allowed.of == krate.name).collect();
    let mut complaints = Vec::new();
    for circle in &circles {
        let names: Vec<&str> = circle.iter().map(|file| krate.short(&krate.sources[*file].path)).collect();
        let known =
            |allowed: &&&Circle| names.iter().filter(|name| allowed.files.iter().any(|file| file == *name)).count();
        let best = allowed.iter().max_by_key(known);
        let is_new = |name: &&str| best.is_none_or(|best| !best.files.iter().any(|file| file == name));
        // A file that is not in the list, or the first of all if there is no list.
        if let Some(at) = names.iter().position(is_new) {
            complaints.push(complaint(krate, &arrows, circle, circle[at]));
        }
    }
    let is_in_one = |name: &str| circles.iter().flatten().any(|file| krate.short(&krate.sources[*file].path) == name);
    for allowed in allowed {
        for name in allowed.files.iter().filter(|name| !is_in_one(name)) {
            complaints.push(exceptions.unneeded(name, &format!("{}: {name} is in no circle any more", krate.name)));
        }
    }
    complaints
}

/// The exceptions that a crate needs at present.
pub fn needed(krate: &Crate) -> Vec<Circle> {
    let name = |file: usize| krate.short(&krate.sources[file].path).to_owned();
    let circles = circles(krate, &arrows(krate));
    let circle = |files: Vec<usize>| Circle {
        of: krate.name.clone(),
        files: files.into_iter().map(name).collect(),
        reason: String::new(),
    };
    circles.into_iter().map(circle).collect()
}

fn complaint(krate: &Crate, arrows: &Arrows, circle: &[usize], file: usize) -> String {
    let way = shortest(arrows, circle, file);
    let step = |at: usize| {
        let (from, to) = (way[at], way[(at + 1) % way.len()]);
        let path = |file: usize| krate.short(&krate.sources[file].path);
        format!("{}:{} uses {}", path(from), arrows[&from][&to], path(to))
    };
    let steps: Vec<String> = (0..way.len()).map(step).collect();
    let line = arrows[&way[0]][&way[1 % way.len()]];
    format!(
        "{}:{line}: a circle of modules ({}); move what both need into a module below them",
        krate.sources[file].path,
        steps.join(", ")
    )
}

/// The shortest way from a file of a circle back to it.
fn shortest(arrows: &Arrows, circle: &[usize], file: usize) -> Vec<usize> {
    let mut ways = std::collections::VecDeque::from([vec![file]]);
    let mut seen = std::collections::BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let last = way[way.len() - 1];
        for next in arrows.get(&last).into_iter().flat_map(BTreeMap::keys).filter(|next| circle.contains(next)) {
            if *next == file {
                return way;
            }
            if seen.insert(*next) {
                ways.push_back([way.as_slice(), &[*next]].concat());
            }
        }
    }
    unreachable!("every file of a circle has a way back")
}

fn arrows(krate: &Crate) -> Arrows {
    let mut arrows = Arrows::new();
    let has_code: Vec<bool> =
        krate.sources.iter().map(|source| source.modules.iter().any(|module| module.has_code)).collect();
    for (index, file, module) in krate.modules() {
        let mut add = |target: usize, line: usize| {
            let to = krate.file_of(target);
            if to != file && has_code[file] && has_code[to] {
                arrows.entry(file).or_default().entry(to).or_insert(line);
            }
        };
        for import in &module.uses {
            match krate.resolve(index, &import.names) {
                Some(Resolution::Definition(target, name)) => {
                    let is_trait = krate.module(target).traits.contains(&name);
                    if is_trait || import.name == "*" || module.words.contains(&import.name) {
                        add(target, import.line);
                    }
                }
                Some(Resolution::Module(target)) if import.name == "*" => add(target, import.line),
                // What is used of the module has paths of its own.
                Some(Resolution::Module(_)) | None => {}
            }
        }
        for path in &module.paths {
            match krate.resolve(index, &path.names) {
                Some(Resolution::Definition(target, _) | Resolution::Module(target)) => add(target, path.line),
                None => {}
            }
        }
    }
    arrows
}

/// The strongly connected components of more than one file (Tarjan's algorithm), each sorted by path, the largest first.
fn circles(krate: &Crate, arrows: &Arrows) -> Vec<Vec<usize>> {
    let mut search =
        Search { arrows, order: BTreeMap::new(), lowest: BTreeMap::new(), stack: Vec::new(), found: Vec::new() };
    for file in 0..krate.sources.len() {
        if !search.order.contains_key(&file) {
            search.visit(file);
        }
    }
    let mut found = search.found;
    for circle in &mut found {
        circle.sort_by_key(|file| &krate.sources[*file].path);
    }
    found.sort_by_key(|circle| (std::cmp::Reverse(circle.len()), krate.sources[circle[0]].path.clone()));
    found
}

/// The state of Tarjan's algorithm.
struct Search<'a> {
    arrows: &'a Arrows,
    /// When a file was visited first.
    order: BTreeMap<usize, usize>,
    /// The earliest of the files on the stack that are reached from it.
    lowest: BTreeMap<usize, usize>,
    stack: Vec<usize>,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, file: usize) {
        let number = self.order.len();
        self.order.insert(file, number);
        self.lowest.insert(file, number);
        self.stack.push(file);
        for next in self.arrows.get(&file).into_iter().flat_map(BTreeMap::keys) {
            if !self.order.contains_key(next) {
                self.visit(*next);
                self.lower(file, self.lowest[next]);
            } else if self.stack.contains(next) {
                self.lower(file, self.order[next]);
            }
        }
        if self.lowest[&file] == number {
            let at = self.stack.iter().position(|found| *found == file).expect("a visited file is on the stack");
            let circle = self.stack.split_off(at);
            if circle.len() > 1 {
                self.found.push(circle);
            }
        }
    }

    fn lower(&mut self, file: usize, to: usize) {
        let lowest = self.lowest.entry(file).or_insert(to);
        *lowest = (*lowest).min(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::crates;
    use crate::modules::tests::tree;

    fn complaints(files: &[(&str, &str)], allowed: &str) -> Vec<String> {
        let exceptions = Exceptions::parse(allowed).unwrap();
        check(&crates(&tree(files))[0], &exceptions)
    }

    const CIRCLE: &[(&str, &str)] = &[
        ("crates/a/src/lib.rs", "mod b; mod c; mod d;"),
        ("crates/a/src/b.rs", "use crate::c::C;\npub struct B(C);"),
        ("crates/a/src/c.rs", "pub struct C;\nfn f() { super::d::g() }"),
        ("crates/a/src/d.rs", "pub fn g() -> super::b::B {}"),
    ];

    #[test]
    fn a_circle_is_shown_with_every_line_that_makes_it() {
        assert_eq!(
            complaints(CIRCLE, ""),
            ["crates/a/src/b.rs:1: a circle of modules (b.rs:1 uses c.rs, c.rs:2 uses d.rs, d.rs:1 uses b.rs); \
              move what both need into a module below them"]
        );
    }

    #[test]
    fn an_exception_covers_its_files_and_must_be_needed() {
        let list = |files: &str| format!("[[circle]]\ncrate = \"a\"\nreason = \"r\"\nfiles = [{files}]\n");
        assert_eq!(complaints(CIRCLE, &list("\"b.rs\", \"c.rs\", \"d.rs\"")), [""; 0]);
        assert!(complaints(CIRCLE, &list("\"b.rs\", \"c.rs\""))[0].starts_with("crates/a/src/d.rs:1: a circle"));
        let unneeded = complaints(CIRCLE, &list("\"b.rs\", \"c.rs\", \"d.rs\", \"e.rs\""));
        assert!(unneeded.len() == 1 && unneeded[0].contains("a: e.rs is in no circle any more"), "{unneeded:?}");
    }

    #[test]
    fn facades_declarations_and_tests_are_no_arrows() {
        let files = [
            // Only modules and re-exports: its children may import through it.
            ("crates/a/src/lib.rs", "mod b; mod c; pub use b::B; pub use c::C;"),
            // Re-exports a child without using it, and the child uses it.
            (
                "crates/a/src/b.rs",
                "mod child; pub use child::Child; pub struct B;\n#[cfg(test)] mod tests { use crate::C; }",
            ),
            ("crates/a/src/b/child.rs", "use super::B; pub struct Child(B);"),
            ("crates/a/src/c.rs", "use crate::B; pub struct C(B);"),
        ];
        assert_eq!(complaints(&files, ""), [""; 0]);
    }

    #[test]
    fn a_parent_that_uses_a_child_which_uses_it_is_a_circle() {
        let files = [
            ("crates/a/src/lib.rs", "mod b;"),
            ("crates/a/src/b.rs", "mod child; pub use child::Child; pub struct B(Child);"),
            ("crates/a/src/b/child.rs", "impl super::B { fn f() {} } pub struct Child;"),
        ];
        assert_eq!(complaints(&files, "").len(), 1);
    }
}
