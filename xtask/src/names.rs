//! Names of types: none in three crates or more, and none that is a bare participle.

use std::collections::{BTreeMap, BTreeSet};

use crate::exceptions::{Exceptions, Name};
use crate::modules::Crate;

/// Crates that share a name for types at most.
const CRATES: usize = 2;

/// Participles and past tenses that do not end in `ed`.
const IRREGULAR: &[&str] = &[
    "Been",
    "Begun",
    "Bound",
    "Bought",
    "Broken",
    "Brought",
    "Built",
    "Came",
    "Caught",
    "Chosen",
    "Did",
    "Done",
    "Drawn",
    "Driven",
    "Fallen",
    "Felt",
    "Forgotten",
    "Found",
    "Gave",
    "Given",
    "Gone",
    "Got",
    "Grown",
    "Had",
    "Heard",
    "Held",
    "Hidden",
    "Kept",
    "Known",
    "Laid",
    "Led",
    "Left",
    "Lent",
    "Let",
    "Lost",
    "Made",
    "Meant",
    "Met",
    "Paid",
    "Put",
    "Ran",
    "Risen",
    "Said",
    "Sat",
    "Saw",
    "Seen",
    "Sent",
    "Shown",
    "Shut",
    "Sold",
    "Sought",
    "Spent",
    "Split",
    "Spoken",
    "Stood",
    "Stuck",
    "Swept",
    "Taken",
    "Taught",
    "Thought",
    "Thrown",
    "Told",
    "Took",
    "Torn",
    "Understood",
    "Went",
    "Won",
    "Worn",
    "Written",
    "Wrote",
];

/// Nouns and proper names that end in `ed`.
const NOUNS: &[&str] = &["Bed", "Breed", "Deed", "Feed", "Memcached", "Need", "Seed", "Shed", "Speed"];

/// The crates that have a type of a name, by name.
pub type CrateLists = BTreeMap<String, Vec<String>>;

/// Where types of a name are: `path:line`, by crate.
type Places = BTreeMap<String, BTreeMap<String, String>>;

/// Names that are used too often or say too little, and exceptions that are none any more.
pub fn check(crates: &[Crate], exceptions: &Exceptions) -> Vec<String> {
    let places = places(crates);
    let mut complaints = Vec::new();
    for (name, found) in &places {
        let place = found.values().next().map_or("", String::as_str);
        let crates: BTreeSet<&str> = found.keys().map(String::as_str).collect();
        if crates.len() > CRATES && !is_allowed(&exceptions.name, name, &crates) {
            let places: Vec<&str> = found.values().map(String::as_str).collect();
            complaints.push(format!(
                "{place}: {name} is a type of {} crates ({}); give each the name of what it is",
                crates.len(),
                places.join(", ")
            ));
        }
        if is_participle(name) && !is_allowed(&exceptions.participle, name, &crates) {
            complaints.push(format!("{place}: {name} is no noun; name the thing, e.g. Completion for Done"));
        }
    }
    let crates_of = |name: &str| places.get(name).map_or(0, BTreeMap::len);
    for name in exceptions.name.keys().filter(|name| crates_of(name) <= CRATES) {
        complaints.push(exceptions.unneeded(name, &format!("{name} is no type of three crates any more")));
    }
    for name in exceptions.participle.keys().filter(|name| crates_of(name) == 0) {
        complaints.push(exceptions.unneeded(name, &format!("{name} is no type any more")));
    }
    for (name, allowed) in exceptions.name.iter().chain(&exceptions.participle) {
        let Some(found) = places.get(name) else { continue };
        for krate in allowed.crates.iter().filter(|krate| !found.contains_key(*krate)) {
            complaints.push(exceptions.unneeded(name, &format!("{name} is no type of {krate} any more")));
        }
    }
    complaints
}

/// The crates that have types of a name, for names of many crates and for participles.
pub fn needed(crates: &[Crate]) -> (CrateLists, CrateLists) {
    let places = places(crates);
    let name = |(name, found): (&String, &BTreeMap<String, String>)| (name.clone(), found.keys().cloned().collect());
    let names = places.iter().filter(|(_, found)| found.len() > CRATES).map(name).collect();
    let participles = places.iter().filter(|(name, _)| is_participle(name)).map(name).collect();
    (names, participles)
}

/// Whether the list has the name, in these crates; where it names none, in any.
fn is_allowed(list: &BTreeMap<String, Name>, name: &str, crates: &BTreeSet<&str>) -> bool {
    list.get(name).is_some_and(|allowed| {
        allowed.crates.is_empty() || crates.iter().all(|found| allowed.crates.iter().any(|allowed| allowed == found))
    })
}

fn is_participle(name: &str) -> bool {
    let is_one_word = name.chars().filter(char::is_ascii_uppercase).count() == 1;
    let is_regular = name.len() > 3 && name.ends_with("ed") && !NOUNS.contains(&name);
    is_one_word && (is_regular || IRREGULAR.contains(&name))
}

fn places(crates: &[Crate]) -> Places {
    let mut places = Places::new();
    for krate in crates {
        for (_, file, module) in krate.modules() {
            for found in &module.types {
                let place = format!("{}:{}", krate.sources[file].path, found.line);
                places.entry(found.name.clone()).or_default().entry(krate.name.clone()).or_insert(place);
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::crates;
    use crate::modules::tests::tree;

    fn complaints(text: &str, allowed: &str) -> Vec<String> {
        let files = [("crates/a/src/lib.rs", text), ("crates/b/src/lib.rs", text), ("xtask/src/main.rs", text)];
        check(&crates(&tree(&files)), &Exceptions::parse(allowed).unwrap())
    }

    #[test]
    fn a_name_of_three_crates_is_refused() {
        assert_eq!(
            complaints("\npub struct Place;\n#[cfg(test)] mod tests { struct Fake; }", ""),
            ["crates/a/src/lib.rs:2: Place is a type of 3 crates (crates/a/src/lib.rs:2, crates/b/src/lib.rs:2, \
              xtask/src/main.rs:2); give each the name of what it is"]
        );
    }

    #[test]
    fn exceptions_are_for_all_crates_or_for_some_and_must_be_needed() {
        let list = |more: &str| format!("[name]\nError = {{ reason = \"r\"{more} }}\n");
        assert_eq!(complaints("type Error = u8;", &list("")), [""; 0]);
        assert_eq!(complaints("type Error = u8;", &list(", crates = [\"a\", \"b\", \"xtask\"]")), [""; 0]);
        assert_eq!(complaints("type Error = u8;", &list(", crates = [\"a\", \"b\"]")).len(), 1);
        let crates = list(", crates = [\"a\", \"b\", \"c\", \"xtask\"]");
        assert!(complaints("type Error = u8;", &crates)[0].contains("Error is no type of c any more"));
        let unneeded = complaints("", &list(""));
        assert!(unneeded[0].contains(".toml:2: Error is no type of three crates any more"), "{unneeded:?}");
    }

    #[test]
    fn participles_are_refused_and_nouns_are_not() {
        for name in ["Told", "Asked", "Ran"] {
            assert!(is_participle(name), "{name}");
        }
        for name in ["Seed", "Speed", "Thread", "AskedFor", "Reader"] {
            assert!(!is_participle(name), "{name}");
        }
        let files = [("crates/a/src/lib.rs", "enum Told {}")];
        let found = check(&crates(&tree(&files)), &Exceptions::default());
        assert_eq!(found, ["crates/a/src/lib.rs:1: Told is no noun; name the thing, e.g. Completion for Done"]);
        let allowed = Exceptions::parse("[participle]\nTold = { crates = [\"a\"], reason = \"r\" }").unwrap();
        assert_eq!(check(&crates(&tree(&files)), &allowed), [""; 0]);
    }
}
