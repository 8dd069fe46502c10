//! Tables of the papers that follow from their own inputs: `fawn-plan` recomputes them.

pub(crate) mod dht_cache;
pub(crate) mod dht_sizing;
pub(crate) mod sosp_figure_16;
pub(crate) mod sosp_table_4;

use fawn_plan::paper::PaperTable;
use serde_json::json;

use crate::finding::{Finding, RowOrigin};

/// The finding of a table.
pub fn finding(table: &PaperTable) -> Finding {
    let mut finding = Finding::of(&[
        ("what", "what", None),
        ("printed", "the paper prints", None),
        ("recomputed", "from its own inputs", Some(3)),
        ("agrees", "the same", None),
        ("note", "why not", None),
    ]);
    finding.state = RowOrigin::Computed;
    for cell in &table.cells {
        finding.row(json!({
            "what": cell.what, "printed": cell.printed, "recomputed": cell.recomputed, "agrees": cell.agrees,
            "note": cell.note,
        }));
    }
    let printed = table.cells.iter().filter(|cell| cell.printed.is_some()).count();
    let differing = table.discrepancies().count();
    let follow = match printed {
        0 => "the paper prints no cell of it".to_owned(),
        _ => format!("of {printed} cells that the paper prints, {} follow from its own inputs", printed - differing),
    };
    finding.note(format!(
        "nothing is measured here: {follow}; `fawn plan --paper {}` is the same, and `fawn plan --node FILE` plans \
        a cluster of machines that were measured",
        table.name
    ));
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_follow_is_counted() {
        let table = fawn_plan::paper::cost();
        let finding = finding(&table);
        assert_eq!(finding.rows.len(), table.cells.len());
        assert!(finding.notes[0].contains("of 24 cells that the paper prints, 22 follow"), "{:?}", finding.notes);
        assert_eq!(finding.who(), "computed");
    }
}
