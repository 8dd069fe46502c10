//! Types that nobody can hold in their head.
//!
//! Methods are the functions of all `impl Type { … }` of the crate, constructors included, or those of a trait. What
//! implements a trait, and what is for tests, does not count. An enum has the fields of its largest variant.

use std::collections::BTreeMap;

use crate::exceptions::{Exceptions, TypeSize};
use crate::modules::{Crate, Resolution};

/// Methods of a type at most.
pub const METHODS: usize = 40;

/// Fields of a type at most.
pub const FIELDS: usize = 25;

/// The types of a crate that are too large, and exceptions that are none any more.
pub fn check(krate: &Crate, exceptions: &Exceptions) -> Vec<String> {
    let mut complaints = Vec::new();
    let sizes = sizes(krate);
    for (size, line) in &sizes {
        let allowed = exceptions.size.iter().find(|allowed| allowed.of == size.of);
        let (methods, fields) =
            allowed.map_or((METHODS, FIELDS), |allowed| (allowed.methods.max(METHODS), allowed.fields.max(FIELDS)));
        let (path, name) = size.of.split_once("::").unwrap_or_default();
        if size.methods > methods {
            complaints.push(format!(
                "{path}:{line}: {name} has {} methods, and may have {methods}; move some into parts that own their fields",
                size.methods
            ));
        }
        if size.fields > fields {
            complaints.push(format!(
                "{path}:{line}: {name} has {} fields, and may have {fields}; put those that change together into a struct",
                size.fields
            ));
        }
    }
    let is_needed = |allowed: &TypeSize| sizes.iter().any(|(size, _)| size.of == allowed.of && is_large(size));
    for allowed in
        exceptions.size.iter().filter(|allowed| krate.sources.iter().any(|source| source.path == allowed.path()))
    {
        if !is_needed(allowed) {
            complaints.push(exceptions.unneeded(&allowed.of, &format!("{} is not large any more", allowed.of)));
        }
    }
    complaints
}

/// The exceptions that a crate needs at present.
pub fn needed(krate: &Crate) -> Vec<TypeSize> {
    sizes(krate).into_iter().map(|(size, _)| size).filter(is_large).collect()
}

fn is_large(size: &TypeSize) -> bool {
    size.methods > METHODS || size.fields > FIELDS
}

/// Every type with its line.
fn sizes(krate: &Crate) -> Vec<(TypeSize, usize)> {
    let mut methods: BTreeMap<Resolution, usize> = BTreeMap::new();
    for (index, _, module) in krate.modules() {
        for block in &module.impls {
            if let Some(target @ Resolution::Definition(..)) = krate.resolve(index, &block.of) {
                *methods.entry(target).or_default() += block.methods;
            }
        }
    }
    let mut sizes = Vec::new();
    for (index, file, module) in krate.modules() {
        for found in &module.types {
            let of = format!("{}::{}", krate.sources[file].path, found.name);
            let own = methods.get(&Resolution::Definition(index, found.name.clone())).copied().unwrap_or_default();
            let size = TypeSize { of, methods: own + found.methods, fields: found.fields, reason: String::new() };
            sizes.push((size, found.line));
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::crates;
    use crate::modules::tests::tree;

    /// A type whose methods are in two files.
    fn complaints(methods: usize, fields: usize, allowed: &str) -> Vec<String> {
        let methods: Vec<String> = (0..methods / 2).map(|at| format!("fn m{at}() {{}} ")).collect();
        let methods = methods.concat();
        let fields: Vec<String> = (0..fields).map(|at| format!("f{at}: u8, ")).collect();
        let fields = fields.concat();
        let first = format!("mod b;\npub struct A {{ {fields} }}\nimpl A {{ {methods} }}\nstruct Other;");
        let second = format!("use super::A;\nimpl A {{ {methods} }}\nimpl Default for A {{ fn default() -> A {{ }} }}");
        let files = [("crates/a/src/lib.rs", first.as_str()), ("crates/a/src/b.rs", second.as_str())];
        check(&crates(&tree(&files))[0], &Exceptions::parse(allowed).unwrap())
    }

    fn allowed(methods: usize, fields: usize) -> String {
        format!("[[size]]\ntype = \"crates/a/src/lib.rs::A\"\nmethods = {methods}\nfields = {fields}\nreason = \"r\"\n")
    }

    #[test]
    fn methods_of_all_files_and_fields_are_counted() {
        assert_eq!(complaints(METHODS, FIELDS, ""), [""; 0]);
        assert_eq!(
            complaints(42, 26, ""),
            [
                "crates/a/src/lib.rs:2: A has 42 methods, and may have 40; move some into parts that own their fields",
                "crates/a/src/lib.rs:2: A has 26 fields, and may have 25; put those that change together into a struct",
            ]
        );
    }

    #[test]
    fn an_exception_is_a_ceiling_and_must_be_needed() {
        assert_eq!(complaints(42, 26, &allowed(42, 26)), [""; 0]);
        assert_eq!(complaints(42, 3, &allowed(44, 3)), [""; 0]);
        assert!(complaints(44, 26, &allowed(42, 26))[0].contains("44 methods, and may have 42"));
        assert!(complaints(40, 25, &allowed(42, 26))[0].contains("A is not large any more"));
    }
}
