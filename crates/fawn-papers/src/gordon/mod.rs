//! Gordon, ASPLOS 2009: simulated by `fawn-gordon`, or computed from the paper's own inputs. Archives ([`section_6_1`]) alone
//! are measured on this machine.
//!
//! What needs workloads takes recordings, or synthetic traces ([`traces`]).

pub(crate) mod figure_4;
pub(crate) mod figure_5;
pub(crate) mod figure_6;
pub(crate) mod figure_7;
pub(crate) mod figure_8;
pub(crate) mod section_4_1;
pub(crate) mod section_5_3;
pub(crate) mod section_6_1;
pub(crate) mod section_6_3;
pub(crate) mod survey;
pub(crate) mod table_1;
pub(crate) mod table_2;
pub(crate) mod table_3;
pub(crate) mod table_4;
pub(crate) mod table_5;
pub(crate) mod table_6;
pub(crate) mod tables_7_8;
pub(crate) mod traces;

use crate::finding::{Finding, RowOrigin};

const MIB: f64 = 1_048_576.0;

/// A finding of simulations.
fn simulated(columns: &[(&str, &str, Option<usize>)]) -> Finding {
    Finding { state: RowOrigin::Simulated, ..Finding::of(columns) }
}

/// A finding of the paper's own inputs.
fn computed(columns: &[(&str, &str, Option<usize>)]) -> Finding {
    Finding { state: RowOrigin::Computed, ..Finding::of(columns) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fawn_bench::DeviceReader;
    use fawn_report::Nobody;

    use super::*;
    use crate::list::{LIST, Paper};
    use crate::run::{Run, Scale, Tools};
    use crate::traces::GordonTraces;

    /// All of them, at the smallest scale: they need neither files nor servers.
    #[test]
    fn every_experiment_has_its_rows_the_papers_and_says_what_it_is() {
        every_experiment(&tools(GordonTraces::Synthetic));
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(GordonTraces::FOLDER);
        every_experiment(&tools(GordonTraces::Recorded(recorded)));
    }

    fn tools(traces: GordonTraces) -> Tools {
        Tools { fawn: "fawn".into(), peers: None, device: DeviceReader::Own, meter: None, traces }
    }

    fn every_experiment(tools: &Tools) {
        let is_synthetic = tools.traces == GordonTraces::Synthetic;
        let mut count = 0;
        // §6.1 is measured, on servers.
        let needs_servers = |name: &str| name == "gordon-section-6-1";
        for entry in LIST.iter().filter(|entry| entry.paper == Paper::Gordon && !needs_servers(entry.name)) {
            let needs_traces = entry.what.contains("traces");
            if !is_synthetic && !needs_traces {
                continue;
            }
            let run = Run { scale: Scale::Tiny, dir: "nowhere".into(), tools, watch: &Nobody };
            let finding = (entry.run)(&run).unwrap();
            count += 1;
            if is_synthetic && entry.name == "gordon-section-5-3" {
                assert!(finding.is_skipped(), "nobody has measured the time of synthetic jobs");
                continue;
            }
            assert!(finding.rows.len() >= entry.rows(Scale::Tiny), "{}: {} rows", entry.name, finding.rows.len());
            let is_recorded = !is_synthetic && entry.name == "gordon-table-2";
            assert_eq!(finding.who() == "measured", is_recorded, "{}", entry.name);
            let drawn_without_numbers =
                ["gordon-figure-6", "gordon-figure-7", "gordon-section-5-3"].contains(&entry.name);
            assert_eq!(finding.published.is_empty(), drawn_without_numbers, "{}", entry.name);
            assert!(!finding.notes.is_empty(), "{}", entry.name);
            let named = finding.parameters.get("traces").and_then(|it| it.as_str()).unwrap_or_default();
            let expected = if is_synthetic { "synthetic" } else { "recorded in " };
            assert!(needs_traces == named.starts_with(expected), "{}: {named}", entry.name);
            let is_said = |note: &String| note.contains(if is_synthetic { "synthetic" } else { "record" });
            assert!(!needs_traces || finding.notes.iter().any(is_said), "{}", entry.name);
            for row in finding.rows.iter().chain(&finding.published) {
                for name in row.keys() {
                    assert!(finding.columns.iter().any(|column| column.name == *name), "{}: {name}", entry.name);
                }
            }
            for picture in &finding.pictures {
                assert!(picture.contains("<svg"), "{}", entry.name);
            }
        }
        assert_eq!(count, if is_synthetic { 15 } else { 7 });
    }

    /// What is printed beside what comes out, where both are the same by the paper's own inputs.
    #[test]
    fn table_1_and_section_4_1_come_out_as_printed() {
        let tools = tools(GordonTraces::Synthetic);
        let run = Run { scale: Scale::Tiny, dir: "nowhere".into(), tools: &tools, watch: &Nobody };
        for (finding, column, percent) in
            [(table_1::run(&run).unwrap(), "mib_a_second", 1.0), (section_4_1::run(&run).unwrap(), "value", 2.0)]
        {
            for (own, printed) in finding.rows.iter().zip(&finding.published) {
                let what = own["what"].as_str().unwrap();
                assert_eq!(own["what"], printed["what"]);
                let off = own[column].as_f64().unwrap() / printed[column].as_f64().unwrap() - 1.0;
                // A year has 365 days, and the paper's pins do not add up.
                let differs = what == "at 900 MB/s" || what.contains("pins");
                assert_eq!(off.abs() * 100.0 <= percent, !differs, "{what}: {off}");
            }
        }
    }
}
