//! Gordon, Tables 7 and 8: what a petabyte costs.

use fawn_gordon::survey::cost::petabyte::{PETABYTE_GB, PRINTED_TABLE_8, PetabyteCost, TABLE_7, servers};
use serde_json::json;

use super::computed;
use crate::finding::{Axis, Chart, Finding};

/// Computes it.
pub fn finding() -> Finding {
    let mut finding = computed(&[
        ("medium", "medium", None),
        ("servers", "servers", Some(1)),
        ("media_dollars", "media, $", Some(0)),
        ("other_dollars", "everything else, $", Some(0)),
        ("other_cost_share", "its share of the cost", Some(3)),
        ("other_power_share", "its share of the power", Some(3)),
        ("server", "a server", None),
    ]);
    for (printed, server) in PRINTED_TABLE_8.iter().zip(servers()) {
        let cost = PetabyteCost::of(&server, PETABYTE_GB);
        let plural = |count: u32, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        let parts = format!(
            "{}, {}, {}",
            plural(server.media, "medium"),
            plural(server.processors, "processor"),
            plural(server.modules, "module")
        );
        finding.row(json!({
            "medium": printed.medium, "servers": cost.servers, "media_dollars": cost.media_dollars,
            "other_dollars": cost.other_dollars, "other_cost_share": cost.other_cost_share(),
            "other_power_share": cost.other_power_share(), "server": parts.replace("mediums", "media"),
        }));
        finding.printed(json!({
            "medium": printed.medium, "servers": printed.servers, "media_dollars": printed.media_dollars,
            "other_dollars": printed.other_dollars, "other_cost_share": printed.other_cost_share,
            "other_power_share": printed.other_power_share,
        }));
    }
    let parts = TABLE_7.iter().map(|part| format!("{} ${:.0}, {:.0} W", part.name, part.dollars, part.watts));
    finding.note(format!("Table 7: {}", parts.collect::<Vec<_>>().join("; ")));
    finding.charts =
        vec![Chart::bars("Everything but the medium", "medium", Axis::log("other_dollars", "dollars a petabyte"))];
    finding.note(
        "the paper states neither processors nor modules: these reproduce its costs. Differences: three flash cards a server \
         instead of the four stated, $90.8 K of SATA disks instead of $100 K, and no printed share of the power",
    );
    finding
}
