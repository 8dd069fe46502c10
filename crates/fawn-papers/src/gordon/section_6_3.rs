//! Gordon, §6.3: a slice of a cluster that jobs take in turn.

use fawn_gordon::survey::cost::slices::{PAPER_SLICE, SliceJob, hiding_seconds_per_gb, run_jobs};
use serde_json::json;

use super::computed;
use crate::finding::Finding;

/// Computes it.
pub fn finding() -> Finding {
    let mut finding =
        computed(&[("what", "what", None), ("value", "value", Some(2)), ("unit", "", None), ("note", "", None)]);
    let mut add = |what: &str, unit: &str, value: f64, printed: Option<f64>, note: &str| {
        finding.row(json!({ "what": what, "value": value, "unit": unit, "note": note }));
        if let Some(printed) = printed {
            finding.printed(json!({ "what": what, "value": printed, "unit": unit }));
        }
    };
    let job = SliceJob { input_bytes: 10e12, output_bytes: 0.0, scratch_bytes: 0.0, compute_seconds: 40_000.0 };
    let in_turn = run_jobs(&PAPER_SLICE, &job, false);
    add("storage of 64 nodes", "TB", PAPER_SLICE.bytes() / 1e12, Some(16.0), "");
    add("loading 10 TB", "h", in_turn.load_seconds / 3600.0, Some(11.1), "over two links of 1 Gbit/s");
    add("computing that hides the load", "s/GB", hiding_seconds_per_gb(&PAPER_SLICE), Some(4.0), "");
    add("share of the bandwidth that the links use", "%", 100.0 * PAPER_SLICE.link_share(), Some(0.43), "");
    let note = "a difference: 64 times 900 MB/s";
    add("bandwidth of the slice", "GB/s", PAPER_SLICE.bytes_per_second() / 1e9, Some(112.0), note);
    let half = SliceJob { input_bytes: 5e12, compute_seconds: 20_000.0, ..job };
    for (what, overlapped) in [("one job after the other", false), ("loading beside computing", true)] {
        let run = run_jobs(&PAPER_SLICE, &half, overlapped);
        let note = "5 TB that compute for 4 s a GB";
        add(&format!("each job, {what}"), "h", run.seconds_per_job / 3600.0, None, note);
        add(&format!("the same, modelled energy, {what}"), "MJ", run.joules_per_job / 1e6, None, "at 19 W a node");
        add(&format!("share of the time that computes, {what}"), "%", 100.0 * run.compute_share, None, "");
    }
    finding.note("flash of one node costs $1,280: 256 GB at $5 a GB");
    finding
}
