//! Gordon, ASPLOS 2009: simulated by `fawn-gordon`, or computed from the paper's own inputs. Nothing is measured on this machine.

pub(crate) mod figure_4;
pub(crate) mod figure_5;
pub(crate) mod figure_6;
pub(crate) mod figure_7;
pub(crate) mod figure_8;
pub(crate) mod section_4_1;
pub(crate) mod section_6_3;
pub(crate) mod survey;
pub(crate) mod table_1;
pub(crate) mod table_2;
pub(crate) mod table_3;
pub(crate) mod table_4;
pub(crate) mod table_5;
pub(crate) mod table_6;
pub(crate) mod tables_7_8;

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

/// What every finding says that runs on traces.
fn synthetic(finding: &mut Finding) {
    finding.note(
        "the paper's traces are lost. These runs use synthetic traces with the bytes of Table 2, whose processor \
         activity is fitted to the speeds of Table 6",
    );
}

#[cfg(test)]
mod tests {
    use fawn_bench::DeviceReader;
    use fawn_report::Nobody;

    use super::*;
    use crate::list::{LIST, Paper};
    use crate::run::{Run, Scale, Tools};

    /// All of them, at the smallest scale: they need neither files nor servers.
    #[test]
    fn every_experiment_has_its_rows_the_papers_and_says_what_it_is() {
        let tools = Tools { fawn: "fawn".into(), peers: None, device: DeviceReader::Own, meter: None };
        let mut count = 0;
        for entry in LIST.iter().filter(|entry| entry.paper == Paper::Gordon) {
            let run = Run { scale: Scale::Tiny, dir: "nowhere".into(), tools: &tools, watch: &Nobody };
            let finding = (entry.run)(&run).unwrap();
            assert!(finding.rows.len() >= entry.rows(Scale::Tiny), "{}: {} rows", entry.name, finding.rows.len());
            assert!(["simulated", "computed"].contains(&finding.who()), "{}", entry.name);
            let drawn_without_numbers = entry.name == "gordon-figure-6" || entry.name == "gordon-figure-7";
            assert_eq!(finding.published.is_empty(), drawn_without_numbers, "{}", entry.name);
            assert!(!finding.notes.is_empty(), "{}", entry.name);
            let says_synthetic =
                finding.notes.iter().any(|note| note.contains("synthetic") || note.contains("traces are lost"));
            assert_eq!(says_synthetic, entry.what.contains("synthetic"), "{}", entry.name);
            for row in finding.rows.iter().chain(&finding.published) {
                for name in row.keys() {
                    assert!(finding.columns.iter().any(|column| column.name == *name), "{}: {name}", entry.name);
                }
            }
            for picture in &finding.pictures {
                assert!(picture.contains("<svg"), "{}", entry.name);
            }
            count += 1;
        }
        assert_eq!(count, 14);
    }

    /// What is printed beside what comes out, where both are the same by the paper's own inputs.
    #[test]
    fn table_1_and_section_4_1_come_out_as_printed() {
        let tools = Tools { fawn: "fawn".into(), peers: None, device: DeviceReader::Own, meter: None };
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
