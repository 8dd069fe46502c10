//! `docs/scripts.md` has every setting, act and kind of line that a script may have, as the code reads them.

use fawn_sim::cluster::{ACTIONS, SETTINGS, Script};

use crate::wire_doc::rows;

const PAGE: &str = include_str!("../../../../docs/scripts.md");

fn unquoted(cell: &str) -> &str {
    cell.trim_matches('`')
}

#[test]
fn every_act_stands_in_the_document_with_its_arguments() {
    let described: Vec<(&str, &str)> =
        rows(PAGE, "act").iter().map(|cells| (unquoted(cells[0]), unquoted(cells[1]))).collect();
    assert_eq!(described, ACTIONS);
}

#[test]
fn every_setting_stands_in_the_document_with_its_default_and_its_bounds() {
    let plain = "".parse::<Script>().unwrap().to_string();
    let described: Vec<String> = rows(PAGE, "setting")
        .iter()
        .map(|cells| format!("{}={}: {}", unquoted(cells[0]), cells[1], cells[2]))
        .collect();
    let read: Vec<String> = SETTINGS
        .iter()
        .map(|(name, bounds)| {
            let default = plain.split_whitespace().find(|word| word.split('=').next() == Some(name)).unwrap();
            let bounds = bounds.map_or("true or false".into(), |(least, most)| format!("{least} to {most}"));
            format!("{default}: {bounds}")
        })
        .collect();
    assert_eq!(described, read);
}

#[test]
fn the_bounds_of_the_document_are_those_that_are_refused_beyond() {
    for cells in rows(PAGE, "setting") {
        let (name, Some((least, most))) = (unquoted(cells[0]), cells[2].split_once(" to ")) else { continue };
        let plan = |value: u64| format!("plan replicas=16 nodes=16 {name}={value}").parse::<Script>();
        let (least, most): (u64, u64) = (least.parse().unwrap(), most.parse().unwrap());
        assert!(plan(least).is_ok() && plan(most).is_ok(), "{name}");
        let error = plan(most + 1).unwrap_err();
        assert!(error.contains(&format!("line 1: `{}`", most + 1)) && error.contains(&most.to_string()), "{error}");
    }
}

#[test]
fn the_script_of_the_document_tells_the_lines_of_the_document() {
    let blocks: Vec<&str> = PAGE.split("```text\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let (result, told) = blocks[0].parse::<Script>().unwrap().tell();
    result.unwrap();
    for line in blocks[1].lines().take(2) {
        assert!(told.lines().any(|one| one == line), "{line}\n{told}");
    }
}
