//! Gordon, Table 3: the power model, and what nodes draw by it.

use fawn_gordon::node::{NodeDesign, WattRange};
use fawn_gordon::survey::paper;
use serde_json::json;

use super::computed;
use crate::finding::Finding;

/// Components as the paper prints them: name, watts at rest and active.
const PRINTED: [(&str, f64, f64); 7] = [
    ("Core 2, one core at 2.4 GHz", 12.0, 20.8),
    ("Atom", 0.16, 2.4),
    ("2 GB DDR2", 3.0, 5.3),
    ("disk, reading", 9.0, 13.0),
    ("disk, writing", 9.0, 17.0),
    ("4 GB SLC flash die", 0.003, 0.04),
    ("flash controller and its 512 MB", 0.86, 3.5),
];

/// Computes it.
pub fn finding() -> Finding {
    let mut finding = computed(&[
        ("what", "what", None),
        ("idle_w", "at rest, W", Some(3)),
        ("active_w", "active, W", Some(3)),
        ("note", "", None),
    ]);
    let (flash, disk) = (paper::flash(), paper::disk());
    let die = |watts: f64| watts / paper::FLASH_DIES;
    let parts = [
        paper::core2().watts,
        paper::atom().watts,
        paper::memory().watts,
        WattRange::new(disk.watts.idle, disk.watts.read),
        WattRange::new(disk.watts.idle, disk.watts.write),
        WattRange::new(die(flash.watts.idle), die(flash.watts.read)),
        flash.watts_controller,
    ];
    for ((what, idle, active), watts) in PRINTED.into_iter().zip(parts) {
        finding.row(json!({ "what": what, "idle_w": watts.idle, "active_w": watts.active }));
        finding.printed(json!({ "what": what, "idle_w": idle, "active_w": active }));
    }
    let mut node = |what: &str, design: &NodeDesign, note: &str| {
        let watts = design.watts();
        finding.row(json!({ "what": what, "idle_w": watts.idle, "active_w": watts.active, "note": note }));
    };
    node("a Gordon node", &paper::max_efficiency(), "with the overhead that makes its 13.76 W the paper's 19 W");
    node("four Core 2 with one disk", &paper::reference(), "a difference: the paper has 81 W for a full-blown server");
    finding.printed(json!({ "what": "a Gordon node", "active_w": 19.0 }));
    finding.printed(json!({ "what": "four Core 2 with one disk", "active_w": 81.0 }));
    finding.note(format!(
        "the paper does not say how large the overhead is. Ours is {:.1} % of a node's power, which follows from its 19 W; \
         with it the server draws more than the paper states, as its four cores alone draw 83.2 W when active",
        100.0 * paper::OVERHEAD_SHARE
    ));
    finding
}
