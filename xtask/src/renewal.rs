//! The lists of exceptions as they have to be now, and how long they are.

use std::cmp::Reverse;
use std::fmt::Write as _;

use crate::exceptions::{Circle, Exceptions, TypeSize};
use crate::modules::Crate;
use crate::{circles, names, sizes};

/// What stands above the lists.
const HEAD: &str = "# What `cargo xtask tidy` lets pass for now. `cargo xtask tidy --renew-exceptions` writes this file as it has to be, and
# keeps the reasons. An entry that is not needed is an error.
";

/// The file as it has to be for these crates, with the reasons of the old one.
pub fn renewed(old: &Exceptions, crates: &[Crate]) -> String {
    let mut text = HEAD.to_owned();
    for circle in crates.iter().flat_map(circles::needed) {
        let reason = old_circle(old, &circle).map_or("", |known| known.reason.as_str());
        let files: Vec<String> = circle.files.iter().map(|file| format!("    {},\n", quoted(file))).collect();
        append(
            &mut text,
            "circle",
            &[("crate", quoted(&circle.of)), ("reason", quoted(reason)), ("files", format!("[\n{}]", files.concat()))],
        );
    }
    for size in crates.iter().flat_map(sizes::needed) {
        let name = |size: &TypeSize| size.of.rsplit("::").next().map(str::to_owned);
        let exact = old.size.iter().find(|known| known.of == size.of);
        let known = exact.or_else(|| old.size.iter().find(|known| name(known) == name(&size)));
        let reason = known.map_or("", |known| known.reason.as_str());
        let (methods, fields) = (size.methods.to_string(), size.fields.to_string());
        append(
            &mut text,
            "size",
            &[("type", quoted(&size.of)), ("methods", methods), ("fields", fields), ("reason", quoted(reason))],
        );
    }
    let (names, participles) = names::needed(crates);
    for (list, key, old) in [(names, "name", &old.name), (participles, "participle", &old.participle)] {
        let _ = write!(text, "\n[{key}]\n");
        for (name, crates) in list {
            let known = old.get(&name);
            let crates: Vec<String> = crates.iter().map(|name| quoted(name)).collect();
            let is_limited = known.is_none_or(|known| !known.crates.is_empty());
            let crates = if is_limited { format!("crates = [{}], ", crates.join(", ")) } else { String::new() };
            let reason = quoted(known.map_or("", |known| known.reason.as_str()));
            let _ = writeln!(text, "{name} = {{ {crates}reason = {reason} }}");
        }
    }
    text
}

/// The old entry of a circle: that of its crate with most of its files. If files have moved, at least half of them have kept
/// their names.
fn old_circle<'a>(old: &'a Exceptions, circle: &Circle) -> Option<&'a Circle> {
    let shared = |known: &&Circle| circle.files.iter().filter(|file| known.files.contains(file)).count();
    let known = old.circle.iter().filter(|known| known.of == circle.of && shared(known) > 0).max_by_key(shared);
    let name = |file: &str| file.rsplit('/').next().map(str::to_owned);
    let has_kept = |known: &&Circle| {
        let is_known = |file: &&String| known.files.iter().any(|known| name(known) == name(file));
        2 * circle.files.iter().filter(is_known).count() >= circle.files.len()
    };
    known.or_else(|| old.circle.iter().find(has_kept))
}

/// How long each list is.
pub fn summary(exceptions: &Exceptions) -> String {
    let files: usize = exceptions.circle.iter().map(|circle| circle.files.len()).sum();
    let mut lines = format!("{files} files in {} circles of modules\n", exceptions.circle.len());
    let mut circles: Vec<&Circle> = exceptions.circle.iter().collect();
    circles.sort_by_key(|circle| Reverse(circle.files.len()));
    for circle in circles {
        let _ = writeln!(lines, "  {:4} files of {}: {}, …", circle.files.len(), circle.of, circle.files[0]);
    }
    let mut sizes: Vec<&TypeSize> = exceptions.size.iter().collect();
    sizes.sort_by_key(|size| Reverse(size.methods + size.fields));
    let _ = writeln!(lines, "{} large types", sizes.len());
    for size in sizes {
        let _ = writeln!(lines, "  {:4} methods, {:3} fields: {}", size.methods, size.fields, size.of);
    }
    let names = |are_for_all: bool| {
        let found = exceptions.name.iter().filter(|(_, name)| name.crates.is_empty() == are_for_all);
        found.map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    let (shared, allowed) = (names(false), names(true));
    let _ = writeln!(lines, "{} names for types in three crates or more: {}", shared.len(), shared.join(" "));
    let _ = writeln!(lines, "{} more that any crate may have: {}", allowed.len(), allowed.join(" "));
    let participles: Vec<&str> = exceptions.participle.keys().map(String::as_str).collect();
    let _ = write!(lines, "{} names that are participles: {}", participles.len(), participles.join(" "));
    lines
}

fn append(text: &mut String, table: &str, lines: &[(&str, String)]) {
    let _ = writeln!(text, "\n[[{table}]]");
    for (key, value) in lines {
        let _ = writeln!(text, "{key} = {value}");
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::crates;
    use crate::modules::tests::tree;

    #[test]
    fn a_reason_follows_files_that_have_moved() {
        let known = "[[circle]]\ncrate = \"z\"\nreason = \"r\"\nfiles = [\"x/b.rs\", \"x/c.rs\", \"x/d.rs\"]\n";
        let text = renewed(&Exceptions::parse(known).unwrap(), &crates(&tree(CIRCLE)));
        assert_eq!(Exceptions::parse(&text).unwrap().circle[0].reason, "r");
    }

    const CIRCLE: &[(&str, &str)] = &[
        ("crates/a/src/lib.rs", "mod b; mod c;"),
        ("crates/a/src/b.rs", "use crate::c::Kept; pub struct B(Kept);"),
        ("crates/a/src/c.rs", "use crate::b::B; pub struct Kept(B);"),
    ];

    #[test]
    fn what_is_written_is_what_the_checks_let_pass() {
        let crates = crates(&tree(CIRCLE));
        let known = "[[circle]]\ncrate = \"a\"\nreason = \"they \\\"grew\\\"\"\nfiles = [\"b.rs\", \"gone.rs\"]\n";
        let text = renewed(&Exceptions::parse(known).unwrap(), &crates);
        let found = Exceptions::parse(&text).unwrap();
        assert_eq!(
            (found.circle[0].reason.as_str(), found.circle[0].files.join(" ")),
            ("they \"grew\"", "b.rs c.rs".to_owned())
        );
        assert_eq!(found.participle["Kept"].crates, ["a"]);
        assert_eq!(circles::check(&crates[0], &found), [""; 0]);
        assert_eq!(names::check(&crates, &found), [""; 0]);
        let complaints = found.check(&crates);
        assert!(complaints.len() == 1 && complaints[0].contains("say why"), "{complaints:?}");
        assert_eq!(renewed(&Exceptions::parse(&text).unwrap(), &crates), text);
    }
}
