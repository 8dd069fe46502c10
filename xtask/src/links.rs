//! Links between the project's documents lead somewhere.

use crate::tree::{Tree, TreeFile};

/// Symbolic links by which the book has folders of the project, and those folders.
const LINKED: [(&str, &str); 2] = [("book/src/internals", "docs"), ("book/src/results", "results")];

/// Every link of a Markdown file that leads to no file, or to no heading of it.
pub fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in tree.files.iter().filter(|file| file.has_extension("md")) {
        for (number, target) in links(file) {
            if let Some(problem) = problem(tree, file, target) {
                complaints.push(format!("{}:{number}: {problem}", file.path));
            }
        }
    }
    complaints
}

/// The targets of `[text](target)` outside of code blocks, with their lines.
fn links(file: &TreeFile) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (number, line) in file.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let mut rest = if is_code { "" } else { line };
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, after)) = after.split_once(')') else { break };
            found.push((number, target));
            rest = after;
        }
    }
    found
}

/// What is wrong with a link, if anything.
fn problem(tree: &Tree, from: &TreeFile, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, heading) = target.split_once('#').map_or((target, None), |(path, heading)| (path, Some(heading)));
    let path = if path.is_empty() { from.path.clone() } else { resolve(&from.path, path) };
    if !tree.has(&path) {
        return Some(format!("the link to {target} leads nowhere"));
    }
    let heading = heading?;
    let is_there = tree.file(&path).is_some_and(|file| headings(file).any(|found| found == heading));
    (!is_there).then(|| format!("{path} has no heading #{heading}"))
}

/// The path that `link` means in a file at `from`.
fn resolve(from: &str, link: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    let linked = LINKED.iter().find_map(|(link, folder)| Some(format!("{folder}{}", path.strip_prefix(link)?)));
    linked.unwrap_or(path)
}

/// The anchors of a file's headings: lower case, blanks as dashes, punctuation dropped.
fn headings(file: &TreeFile) -> impl Iterator<Item = String> {
    let titles = file.text.lines().filter_map(|line| line.strip_prefix('#')).map(|rest| rest.trim_start_matches('#'));
    titles.map(|title| {
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Tree {
        let file = |path: &str, text: &str| TreeFile { path: path.to_owned(), text: text.to_owned() };
        Tree { files: vec![file("README.md", "# Set up, quickly\n"), file("docs/a.md", text)] }
    }

    #[test]
    fn links_to_files_directories_and_headings_are_followed() {
        let good = "[a](../README.md) [b](../README.md#set-up-quickly) [c](a.md) [d](../docs/) [e](https://x.org/y)\n";
        assert_eq!(check(&tree(good)), [""; 0]);
        assert_eq!(check(&tree("```\n[a](nowhere.md)\n```\n")), [""; 0]);
        assert_eq!(check(&tree("[a](../book/src/internals/a.md)\n")), [""; 0]);
    }

    #[test]
    fn links_that_lead_nowhere_are_named_with_their_line() {
        assert_eq!(check(&tree("\n[a](b.md)\n")), ["docs/a.md:2: the link to b.md leads nowhere"]);
        assert_eq!(check(&tree("[a](../README.md#nothing)")), ["docs/a.md:1: README.md has no heading #nothing"]);
    }

    #[test]
    fn a_page_of_the_book_links_to_the_results() {
        assert_eq!(resolve("book/src/papers/a.md", "../results/history/a.md"), "results/history/a.md");
    }
}
