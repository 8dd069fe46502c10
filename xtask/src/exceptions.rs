//! What the checks of structure let pass for now: `xtask/exceptions.toml`, each entry with its reason.
//!
//! The lists shrink: what is in them and not needed is an error, too. `cargo xtask tidy --renew-exceptions` writes the file
//! as it has to be; reasons are kept, and those of new entries have to be written by hand.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::modules::Crate;
use crate::tree::Tree;

/// Where the lists are.
pub const PATH: &str = "xtask/exceptions.toml";

/// The lists.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exceptions {
    /// Circles between modules.
    pub circle: Vec<Circle>,
    /// Types that are large.
    pub size: Vec<TypeSize>,
    /// Names for types in three crates or more.
    pub name: BTreeMap<String, Name>,
    /// Names for types that are participles.
    pub participle: BTreeMap<String, Name>,
    /// The file, to find lines.
    #[serde(skip)]
    text: String,
}

/// The files of a crate that use each other, from the folder of its sources.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circle {
    /// The crate.
    #[serde(rename = "crate")]
    pub of: String,
    /// Why they may.
    pub reason: String,
    /// The files.
    pub files: Vec<String>,
}

/// A large type, and how large it may be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypeSize {
    /// `path::Name`
    #[serde(rename = "type")]
    pub of: String,
    /// Methods at most.
    pub methods: usize,
    /// Fields at most.
    pub fields: usize,
    /// Why it may be so large.
    pub reason: String,
}

/// Where a name for types may be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Name {
    /// The crates that may have it; none: all.
    #[serde(default)]
    pub crates: Vec<String>,
    /// Why they may.
    pub reason: String,
}

impl Exceptions {
    /// The lists of a project.
    ///
    /// # Errors
    /// The file is no TOML, or has other keys.
    pub fn read(tree: &Tree) -> anyhow::Result<Self> {
        Self::parse(tree.file(PATH).map_or("", |file| file.text.as_str()))
    }

    /// The lists in a text.
    ///
    /// # Errors
    /// It is no TOML, or has other keys.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let lists: Self = toml::from_str(text).map_err(|error| anyhow::anyhow!("{PATH}: {error}"))?;
        Ok(Self { text: text.to_owned(), ..lists })
    }

    /// Entries without a reason, and those of crates and files that do not exist.
    pub fn check(&self, crates: &[Crate]) -> Vec<String> {
        let mut complaints = Vec::new();
        for (number, _) in self.lines().filter(|(_, line)| line.contains("reason = \"\"")) {
            complaints.push(format!("{PATH}:{number}: say why this exception is needed"));
        }
        for circle in self.circle.iter().filter(|circle| !crates.iter().any(|krate| krate.name == circle.of)) {
            complaints.push(self.unneeded(&circle.of, &format!("there is no crate {}", circle.of)));
        }
        let is_file = |path: &str| crates.iter().flat_map(|krate| &krate.sources).any(|source| source.path == path);
        for size in self.size.iter().filter(|size| !is_file(size.path())) {
            complaints.push(self.unneeded(&size.of, &format!("there is no file {}", size.path())));
        }
        complaints
    }

    /// The complaint about the entry that has `key` as its name, or as a value.
    pub fn unneeded(&self, key: &str, why: &str) -> String {
        let (value, name) = (format!("\"{key}\""), format!("{key} ="));
        let line = self
            .lines()
            .find(|(_, line)| line.contains(&value) || line.starts_with(&name))
            .map_or(1, |(number, _)| number);
        format!("{PATH}:{line}: {why}; remove the exception, or run cargo xtask tidy --renew-exceptions")
    }

    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

impl TypeSize {
    /// The file of the type.
    pub fn path(&self) -> &str {
        self.of.split("::").next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::crates;
    use crate::modules::tests::tree;

    const CIRCLE: &[(&str, &str)] = &[
        ("crates/a/src/lib.rs", "mod b; mod c;"),
        ("crates/a/src/b.rs", "use crate::c::Kept; pub struct B(Kept);"),
        ("crates/a/src/c.rs", "use crate::b::B; pub struct Kept(B);"),
    ];

    #[test]
    fn entries_of_what_does_not_exist_are_refused() {
        let text = "[[circle]]\ncrate = \"b\"\nreason = \"r\"\nfiles = []\n\
                    [[size]]\ntype = \"crates/a/src/x.rs::X\"\nmethods = 50\nfields = 1\nreason = \"r\"\n";
        let complaints = Exceptions::parse(text).unwrap().check(&crates(&tree(CIRCLE)));
        assert_eq!(
            complaints,
            [
                "xtask/exceptions.toml:2: there is no crate b; remove the exception, or run cargo xtask tidy --renew-exceptions",
                "xtask/exceptions.toml:6: there is no file crates/a/src/x.rs; remove the exception, or run cargo xtask tidy \
                 --renew-exceptions",
            ]
        );
    }
}
