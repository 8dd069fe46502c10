//! The file in which the suite's results of one machine are kept.

use fawn_report::BenchReport;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::measure::EfficiencyKind;

/// The version of the file's format that is written.
const FORMAT: u32 = 1;

/// What the suite has found on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuiteResults {
    /// The version of the format.
    pub format: u32,
    /// The machine, as its people call it.
    pub machine: String,
    /// Its processor and cores.
    pub processor: String,
    /// The program, with its version and commit.
    pub program: String,
    /// The command, as it was typed.
    pub command: String,
    /// The day.
    pub date: String,
    /// The workloads' reports.
    pub reports: Vec<BenchReport>,
}

/// Why a file has no results.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// It is something else, or damaged.
    #[error("it has no results of `fawn joule all` ({0}): name a file that this command has written with --out")]
    Unknown(#[from] serde_json::Error),
    /// A later release has written it.
    #[error("it has format {0}, and this release reads format {FORMAT}: compare with the release that wrote it")]
    Format(u32),
    /// A figure that no machine has.
    #[error(
        "row {row} of its report {report:?} has {value} as {column}, which is no figure of work: write the file again \
         with `fawn joule all --out`"
    )]
    Figure {
        /// The workload.
        report: String,
        /// The row, from 1.
        row: usize,
        /// The figure's name.
        column: &'static str,
        /// What it is.
        value: String,
    },
}

impl SuiteResults {
    /// Results without reports.
    pub fn new(machine: String, processor: String, (program, command): (String, String), date: String) -> Self {
        Self { format: FORMAT, machine, processor, program, command, date, reports: Vec::new() }
    }

    /// Those in the text of a file.
    ///
    /// # Errors
    /// [`ResultsError`].
    pub fn parse(text: &str) -> Result<Self, ResultsError> {
        // A format to come may have other fields.
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let Head { format } = serde_json::from_str(text)?;
        if format != FORMAT {
            return Err(ResultsError::Format(format));
        }
        let results: Self = serde_json::from_str(text)?;
        results.check_figures()?;
        Ok(results)
    }

    /// Refuses figures by which no machine can be compared. One that is null is not known.
    fn check_figures(&self) -> Result<(), ResultsError> {
        for report in &self.reports {
            for (row, figures) in (1..).zip(&report.rows) {
                for column in EfficiencyKind::ALL.map(EfficiencyKind::column) {
                    let value = figures.get(column).unwrap_or(&Value::Null);
                    if !value.is_null() && value.as_f64().is_none_or(|value| value < 0.0) {
                        let report = report.experiment.clone();
                        return Err(ResultsError::Figure { report, row, column, value: value.to_string() });
                    }
                }
            }
        }
        Ok(())
    }

    /// The report of a workload.
    pub fn report(&self, experiment: &str) -> Option<&BenchReport> {
        self.reports.iter().find(|report| report.experiment == experiment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written_and_others_are_refused() {
        let program = ("fawn 1".to_owned(), "fawn joule all".to_owned());
        let mut results =
            SuiteResults::new("a board".to_owned(), "a chip".to_owned(), program, "2026-11-29".to_owned());
        results.reports.push(BenchReport::new("sort"));
        let text = serde_json::to_string(&results).unwrap();
        assert_eq!(SuiteResults::parse(&text).unwrap(), results);
        assert!(results.report("sort").is_some() && results.report("matrix").is_none());
        for value in ["-5", "\"many\"", "[]"] {
            let mut damaged = results.clone();
            damaged.reports[0].row(serde_json::json!({
                "operations_a_cpu_second": 0, "operations_a_joule": null,
                "operations_a_modelled_joule": serde_json::from_str::<Value>(value).unwrap()
            }));
            let error = SuiteResults::parse(&serde_json::to_string(&damaged).unwrap()).unwrap_err().to_string();
            let says = format!("row 1 of its report \"sort\" has {value} as operations_a_modelled_joule, ");
            assert!(error.starts_with(&says), "{error}");
        }
        let later = text.replace("\"format\":1", "\"format\":2");
        assert!(SuiteResults::parse(&later).unwrap_err().to_string().contains("it has format 2"));
        for text in ["", "{}", "[1]", "{\"format\":1}"] {
            assert!(
                SuiteResults::parse(text).unwrap_err().to_string().contains("no results of `fawn joule all`"),
                "{text}"
            );
        }
    }
}
