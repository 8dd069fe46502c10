//! The files of the project.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::process::output;

/// Every text file that is, or is about to be, in the repository.
pub struct Tree {
    /// The files, sorted by path.
    pub files: Vec<TreeFile>,
}

/// One file.
pub struct TreeFile {
    /// Path from the root, with `/`.
    pub path: String,
    /// Its contents.
    pub text: String,
}

impl Tree {
    /// Reads what git tracks, and what it neither tracks nor ignores.
    ///
    /// # Errors
    /// Git cannot be asked or a file cannot be read.
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let names = output(Command::new("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]))?;
        let mut files = Vec::new();
        for path in names.lines() {
            let bytes = match std::fs::read(root.join(path)) {
                Ok(bytes) => bytes,
                // Deleted, and git has not been told yet.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                // A symbolic link to a directory, whose files are listed where they are.
                Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => continue,
                Err(error) => return Err(error).with_context(|| format!("cannot read {path}")),
            };
            // Binary files have no lines to judge.
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(TreeFile { path: path.to_owned(), text });
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// Whether there is such a file or directory.
    pub fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let inside =
            |file: &TreeFile| file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        path.is_empty() || self.files.iter().any(inside)
    }

    /// The file at this path.
    pub fn file(&self, path: &str) -> Option<&TreeFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl TreeFile {
    /// Whether the name ends with `.` and `extension`.
    pub fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    /// The lines with their numbers.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Whether all of it is tests, by its name.
    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs") || self.path.ends_with("_tests.rs")
    }

    /// The code before the tests at the end of the file; nothing if all of it is tests.
    pub fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_test = self.is_test();
        self.lines().take_while(move |(_, line)| !is_test && line.trim() != "#[cfg(test)]")
    }
}
