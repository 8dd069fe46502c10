//! Gordon, Table 5: the design space.

use fawn_gordon::survey::paper;
use serde_json::json;

use super::computed;
use crate::finding::Finding;

/// Computes it.
pub fn finding() -> Finding {
    let mut finding = computed(&[
        ("what", "processor and storage", None),
        ("frequencies", "GHz", None),
        ("processors", "processors", None),
        ("devices", "arrays or disks", None),
        ("configurations", "configurations", None),
    ]);
    let space = paper::space();
    let designs = space.designs();
    let counts = |values: &[u32]| values.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    for processor in &space.processors {
        for storage in &space.storages {
            let is_one = |design: &&fawn_gordon::node::NodeDesign| {
                design.processor.name == processor.model.name && design.storage.name == storage.storage.name
            };
            let ghz: Vec<String> = processor.hz.iter().map(|hz| (hz / 1e9).to_string()).collect();
            finding.row(json!({
                "what": format!("{}, {}", processor.model.name, storage.storage.name),
                "frequencies": ghz.join(", "),
                "processors": counts(&processor.counts),
                "devices": counts(&storage.counts),
                "configurations": designs.iter().filter(is_one).count(),
            }));
        }
    }
    finding.row(json!({ "what": "all", "configurations": designs.len() }));
    finding.printed(json!({ "what": "all", "configurations": paper::STATED_CONFIGURATIONS }));
    let most = designs.iter().map(|design| design.watts().active).fold(0.0, f64::max);
    finding.note(format!(
        "a difference: the table multiplies out to {}, and {} are stated. The budget of 300 W excludes none: the largest \
         node draws {most:.0} W",
        designs.len(),
        paper::STATED_CONFIGURATIONS
    ));
    finding
}
