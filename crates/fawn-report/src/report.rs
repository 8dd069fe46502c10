//! What a measurement came to: rows of figures by name, for a table or as JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::column::Column;
use crate::table::TextTable;

/// The result of one experiment. As JSON its fields are the keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    /// The experiment.
    pub experiment: String,
    /// What it was asked to do.
    pub parameters: Map<String, Value>,
    /// Its figures. Units are the ends of their names; what is not known is null.
    pub rows: Vec<Map<String, Value>>,
    /// DRAM at its end.
    pub memory: Option<StoreMemory>,
    /// What else there is to say.
    pub notes: Vec<String>,
    /// Latencies by time, for a plot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<Timeline>,
}

/// DRAM of the store and of the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoreMemory {
    /// `--memory`.
    pub budget_bytes: u64,
    /// Live keys.
    pub entries: u64,
    /// The index of sealed records: tables, page directories and filters.
    pub index_bytes: u64,
    /// Of these, page directories.
    #[serde(default)]
    pub directory_bytes: u64,
    /// Of these, filters.
    #[serde(default)]
    pub filter_bytes: u64,
    /// The same for each live key that is sealed.
    pub index_bytes_an_entry: f64,
    /// Write buffers, with their hash indexes.
    pub buffer_bytes: u64,
    /// The record cache.
    pub cache_bytes: u64,
    /// Resident memory of the process; null where the system does not tell.
    pub rss_bytes: Option<u64>,
    /// The most that it was since the process began.
    pub most_rss_bytes: Option<u64>,
    /// Resident memory without the record cache, for each live key.
    pub rss_without_cache_bytes_an_entry: Option<f64>,
    /// Share of the entries that have index slots; null where the store does not tell.
    pub phi: Option<f64>,
}

impl StoreMemory {
    /// One line for people.
    pub fn line(&self) -> String {
        let mib = |bytes: u64| format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20));
        let known = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), mib);
        let each = self.rss_without_cache_bytes_an_entry.map_or_else(|| "unknown".to_owned(), |b| format!("{b:.1} B"));
        format!(
            "{} entries; index {:.2} B each; buffers {}, cache {}, resident {} (at most {}), without the cache {each} \
             an entry; --memory {}",
            self.entries,
            self.index_bytes_an_entry,
            mib(self.buffer_bytes),
            mib(self.cache_bytes),
            known(self.rss_bytes),
            known(self.most_rss_bytes),
            mib(self.budget_bytes),
        )
    }
}

/// Latencies of one stretch of time, in tenths of a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// What was measured.
    pub name: String,
    /// Whether it is what the others are compared with, as nothing is done to the store: they are shaded.
    pub idle: bool,
    /// For each tenth of a second.
    pub tenths: Vec<Tenth>,
}

/// A tenth of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tenth {
    /// Gets answered in it.
    pub gets: u64,
    /// Half of them took no longer than this, microseconds.
    pub p50_us: u64,
    /// 99 of 100, likewise.
    pub p99_us: u64,
    /// The longest.
    pub longest_us: u64,
    /// The longest step of the store on the event loop.
    pub longest_step_us: u64,
}

impl BenchReport {
    /// A report without figures.
    pub fn new(experiment: &str) -> Self {
        Self { experiment: experiment.to_owned(), ..Self::default() }
    }

    /// Adds a parameter.
    pub fn parameter(&mut self, name: &str, value: impl Into<Value>) {
        self.parameters.insert(name.to_owned(), value.into());
    }

    /// Adds a row, an object.
    pub fn row(&mut self, row: Value) {
        let Value::Object(row) = row else { unreachable!("rows are objects") };
        self.rows.push(row);
    }

    /// Says how the energy of the rows was metered: by which meter, and what that covers.
    pub fn metered(&mut self, (meter, notes): (&str, Vec<String>)) {
        self.parameter("meter", meter);
        self.notes.extend(notes);
    }

    /// The rows as a table of these columns, without those of which no row has a figure.
    pub fn table<'c>(&self, columns: impl IntoIterator<Item = &'c Column>) -> TextTable {
        let is_known =
            |column: &&Column| self.rows.iter().any(|row| row.get(column.name).is_some_and(|value| !value.is_null()));
        let columns: Vec<&Column> = columns.into_iter().filter(is_known).collect();
        let cells = |row: &Map<String, Value>| columns.iter().map(|column| column.text(row.get(column.name))).collect();
        TextTable {
            head: columns.iter().map(|column| column.title.to_owned()).collect(),
            rows: self.rows.iter().map(cells).collect(),
            text: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::column::{Form, column};

    #[test]
    fn a_table_has_the_columns_that_are_known() {
        let columns = [
            column("keys", "hot keys", Form::Number(0)),
            column("gets_a_second", "gets/s", Form::Number(0)),
            column("cpu_us_a_get", "CPU-us a hit", Form::Number(3)),
            column("generator_cpu_us", "of these ours", Form::Number(3)),
            column("from_dram", "from DRAM", Form::Percent),
        ];
        let mut report = BenchReport::new("hit");
        report.row(json!({ "keys": 10, "gets_a_second": 1234.5, "cpu_us_a_get": 0.25, "from_dram": 0.5 }));
        report.row(json!({ "keys": 20, "gets_a_second": null }));
        let table = report.table(&columns);
        assert_eq!(table.head, ["hot keys", "gets/s", "CPU-us a hit", "from DRAM"]);
        assert_eq!(table.rows, [["10", "1234", "0.250", "50.00 %"], ["20", "-", "-", "-"]]);
        assert!(table.markdown().starts_with("| hot keys | gets/s |"), "{}", table.markdown());
        assert_eq!(table.markdown().lines().count(), 4);
    }
}
