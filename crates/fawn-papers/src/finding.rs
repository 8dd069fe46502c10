//! What an experiment has found: rows of figures of this machine, those that the paper prints, and which of them are drawn.

use fawn_report::amount::number;
pub use fawn_report::chart::{Axis, Chart, ChartRows, Row};
use fawn_report::csv;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The result of one experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Where its rows are from.
    pub state: RowOrigin,
    /// What was done, in names and values.
    pub parameters: Row,
    /// The columns of its table, in their order.
    pub columns: Vec<Column>,
    /// This machine's rows, or what was computed.
    pub rows: Vec<Row>,
    /// The paper's rows, with the same columns: of other machines, of 2008 to 2010.
    pub published: Vec<Row>,
    /// What of it is drawn.
    pub charts: Vec<Chart>,
    /// Pictures that are no charts, each an SVG.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<String>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// What the paper's rows are called.
pub const PAPERS: &str = "the paper, on its own machines of 2008 to 2010";

/// Where rows are from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOrigin {
    /// Measured on this machine.
    #[default]
    Measured,
    /// Computed from the paper's own inputs.
    Computed,
    /// Simulated.
    Simulated,
    /// Not measured: why, and what to do.
    Skipped(String),
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The name in rows, and at the head of the CSV.
    pub name: String,
    /// For people.
    pub title: String,
    /// Decimals of a number; `None`: text, or a number as it is.
    pub decimals: Option<usize>,
}

impl Finding {
    /// One that is measured, with these columns: name, title, decimals.
    pub fn of(columns: &[(&str, &str, Option<usize>)]) -> Self {
        let column = |&(name, title, decimals): &(&str, &str, Option<usize>)| Column {
            name: name.to_owned(),
            title: title.to_owned(),
            decimals,
        };
        Self { columns: columns.iter().map(column).collect(), ..Self::default() }
    }

    /// One that was not made.
    pub fn skipped(why: String) -> Self {
        Self { state: RowOrigin::Skipped(why), ..Self::default() }
    }

    /// Whether it is one that was not made.
    pub fn is_skipped(&self) -> bool {
        matches!(self.state, RowOrigin::Skipped(_))
    }

    /// The instrument that its energy is of, if it tells energy and that is not this instrument: `nothing` where it had none.
    pub fn metered_otherwise(&self, instrument: &str) -> Option<&str> {
        self.parameters.get("meter")?;
        let other = self.rows.iter().find_map(|row| row.get("energy")?.get("instrument")?.as_str());
        (other != Some(instrument)).then(|| other.unwrap_or("nothing"))
    }

    /// Adds a parameter.
    pub fn parameter(&mut self, name: &str, value: impl Into<Value>) {
        self.parameters.insert(name.to_owned(), value.into());
    }

    /// Adds a row, an object.
    pub fn row(&mut self, row: Value) {
        self.rows.push(object(row));
    }

    /// Adds a row that the paper prints, an object.
    pub fn printed(&mut self, row: Value) {
        self.published.push(object(row));
    }

    /// Adds a sentence.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Who the rows of this finding are from, as the CSV has it.
    pub fn who(&self) -> &'static str {
        match self.state {
            RowOrigin::Measured => "measured",
            RowOrigin::Computed => "computed",
            RowOrigin::Simulated => "simulated",
            RowOrigin::Skipped(_) => "skipped",
        }
    }

    /// What its own rows are called on the page.
    pub fn own_label(&self) -> &'static str {
        match self.state {
            RowOrigin::Computed | RowOrigin::Simulated => self.who(),
            RowOrigin::Measured | RowOrigin::Skipped(_) => "this machine",
        }
    }

    /// What its charts show.
    pub fn chart_rows(&self) -> ChartRows<'_> {
        ChartRows {
            own: &self.rows,
            own_label: self.own_label(),
            reference: &self.published,
            reference_label: PAPERS,
            reference_word: "paper",
        }
    }

    /// All of it as comma-separated values: who a row is from, then the columns.
    pub fn csv(&self) -> String {
        let head = std::iter::once("who").chain(self.columns.iter().map(|column| column.name.as_str()));
        let mut out = csv::line(head);
        for (who, rows) in [(self.who(), &self.rows), ("paper", &self.published)] {
            for row in rows {
                let cells = self.columns.iter().map(|column| match row.get(&column.name) {
                    None | Some(Value::Null) => String::new(),
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                });
                out.push_str(&csv::line(std::iter::once(who.to_owned()).chain(cells)));
            }
        }
        out
    }
}

impl Column {
    /// The cell of a row, for people.
    pub fn text(&self, row: &Row) -> String {
        match (row.get(&self.name), self.decimals) {
            (None | Some(Value::Null), _) => String::new(),
            (Some(Value::String(text)), _) => text.clone(),
            (Some(Value::Bool(is)), _) => if *is { "yes" } else { "no" }.to_owned(),
            (Some(value), Some(decimals)) => {
                value.as_f64().map_or_else(|| value.to_string(), |it| number(it, decimals))
            }
            (Some(value), None) => value.to_string(),
        }
    }
}

fn object(row: Value) -> Row {
    let Value::Object(row) = row else { unreachable!("rows are objects") };
    row
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_csv_says_who_each_row_is_from() {
        let mut finding = Finding::of(&[("what", "", None), ("mb", "MB/s", Some(1))]);
        finding.row(json!({ "what": "a, \"b\"", "mb": 1.25, "else": 3 }));
        finding.printed(json!({ "what": "c", "mb": null }));
        assert_eq!(finding.csv(), "who,what,mb\nmeasured,\"a, \"\"b\"\"\",1.25\npaper,c,\n");
    }

    #[test]
    fn cells_are_written_as_their_column_says() {
        let finding = Finding::of(&[("a", "", Some(2)), ("b", "", None)]);
        let row = object(json!({ "a": 3, "b": true }));
        let cells: Vec<String> = finding.columns.iter().map(|column| column.text(&row)).collect();
        assert_eq!(cells, ["3.00", "yes"]);
        assert_eq!(finding.columns[0].text(&Row::new()), "");
    }
}
