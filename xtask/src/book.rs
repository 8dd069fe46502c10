//! The book's table of contents names every page, and nothing else.

use std::collections::BTreeSet;

use crate::tree::{Tree, TreeFile};

/// The table of contents.
const SUMMARY: &str = "book/src/SUMMARY.md";

/// Folders of the book that are symbolic links, and where they lead.
const LINKED: &[(&str, &str)] = &[("internals/", "docs/"), ("results/", "results/")];

/// Pages that the table does not name, and names without a page.
pub fn check(tree: &Tree) -> Vec<String> {
    let Some(summary) = tree.file(SUMMARY) else { return Vec::new() };
    let (mut listed, mut complaints) = (BTreeSet::new(), Vec::new());
    for (number, line) in summary.lines() {
        let Some(target) = line.split_once("](").and_then(|(_, rest)| rest.split_once(')')).map(|(target, _)| target)
        else {
            continue;
        };
        // A title without a page.
        if target.is_empty() {
            continue;
        }
        let path = path(target);
        if tree.file(&path).is_none() {
            complaints
                .push(format!("{SUMMARY}:{number}: there is no page {target}; write {path}, or take the line out"));
        }
        if !listed.insert(path) {
            complaints.push(format!("{SUMMARY}:{number}: {target} is listed twice; take one line out"));
        }
    }
    for file in tree.files.iter().filter(|file| is_page(file) && !listed.contains(&file.path)) {
        complaints.push(format!("{}:1: no line of {SUMMARY} leads to this page; add one", file.path));
    }
    complaints
}

/// The path of a page that the table names.
fn path(target: &str) -> String {
    let linked = LINKED.iter().find_map(|(name, folder)| Some(format!("{folder}{}", target.strip_prefix(name)?)));
    linked.unwrap_or_else(|| format!("book/src/{target}"))
}

fn is_page(file: &TreeFile) -> bool {
    let is_inside = ["book/src/", "docs/", "results/"].iter().any(|folder| file.path.starts_with(folder));
    is_inside && file.has_extension("md") && file.path != SUMMARY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::tests::tree;

    #[test]
    fn every_page_is_listed_once_and_is_there() {
        let good = "# Summary\n\n[A](a.md)\n\n- [B](internals/b.md)\n- [Title]()\n  - [C](results/c.md)\n";
        let pages = [("book/src/a.md", ""), ("docs/b.md", ""), ("results/c.md", ""), ("README.md", "")];
        let with = |summary| check(&tree(&[pages.as_slice(), &[(SUMMARY, summary)]].concat()));
        assert_eq!(with(good), [""; 0]);
        assert_eq!(
            with("- [A](a.md)\n- [B](internals/b.md)\n- [A](a.md)\n- [D](d.md)\n"),
            [
                "book/src/SUMMARY.md:3: a.md is listed twice; take one line out",
                "book/src/SUMMARY.md:4: there is no page d.md; write book/src/d.md, or take the line out",
                "results/c.md:1: no line of book/src/SUMMARY.md leads to this page; add one",
            ]
        );
    }
}
