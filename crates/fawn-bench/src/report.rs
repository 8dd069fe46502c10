//! What a measurement came to: rows of figures by name, for a table or as JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::history::{History, Order};
use fawn_machine::process::resident_bytes;
use fawn_store::{Ack, Stats};

/// The result of one experiment. As JSON its fields are the keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The experiment.
    pub experiment: String,
    /// What it was asked to do.
    pub parameters: Map<String, Value>,
    /// Its figures. Units are the ends of their names; what is not known is null.
    pub rows: Vec<Map<String, Value>>,
    /// DRAM at its end.
    pub memory: Option<Memory>,
    /// What else there is to say.
    pub notes: Vec<String>,
    /// Latencies by time, for a plot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<Timeline>,
}

/// DRAM of the store and of the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
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

/// The share of the entries that are still in an index; `None`: the store does not tell, and all are.
pub fn phi(stats: &Stats) -> Option<f64> {
    Some(stats.phi)
}

/// The write amplification that the design expects of uniform overwrites: log and seal, and merges by `phi`. Where puts
/// are acknowledged in memory there is no log.
pub fn expected_amplification(phi: f64, ack: Ack) -> f64 {
    let log_and_seal = if ack == Ack::Memory { 1.0 } else { 2.0 };
    log_and_seal + 1.0 / (2.0 * phi)
}

/// How often everything was written: once for each version, for the newest by the share of the entries that have it.
/// Skewed overwrites in a row are one version, which counts as a whole.
pub fn versions(history: &History) -> f64 {
    history.last().map_or(0.0, |phase| {
        let newest = match phase.order {
            Order::Shuffled => phase.certain as f64 / history.entries() as f64,
            Order::Drawn => 1.0,
        };
        f64::from(phase.version - 1) + newest
    })
}

impl Memory {
    /// What there is now.
    pub fn now(stats: &Stats) -> Self {
        let resident = resident_bytes();
        let without_cache =
            |(rss, _): (u64, u64)| rss.saturating_sub(stats.cache_bytes) as f64 / stats.entries.max(1) as f64;
        Self {
            budget_bytes: stats.memory_limit,
            entries: stats.entries,
            index_bytes: stats.index_bytes,
            directory_bytes: stats.directory_bytes,
            filter_bytes: stats.filter_bytes,
            index_bytes_an_entry: stats.index_bytes_per_entry,
            buffer_bytes: stats.buffer_bytes,
            cache_bytes: stats.cache_bytes,
            rss_bytes: resident.map(|(now, _)| now),
            most_rss_bytes: resident.map(|(_, most)| most),
            rss_without_cache_bytes_an_entry: resident.map(without_cache),
            phi: phi(stats),
        }
    }

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

impl Report {
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

    /// The header and the cells of the experiment's table.
    pub fn table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let columns: Vec<&Column> = columns(&self.experiment)
            .iter()
            .chain(ENERGY)
            .filter(|column| self.rows.iter().any(|row| row.get(column.name).is_some_and(|value| !value.is_null())))
            .collect();
        let cells = |row: &Map<String, Value>| columns.iter().map(|column| column.text(row.get(column.name))).collect();
        (columns.iter().map(|column| column.title).collect(), self.rows.iter().map(cells).collect())
    }

    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let (header, rows) = self.table();
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rule = line(header.iter().map(|_| "---".to_owned()).collect());
        let head = line(header.into_iter().map(str::to_owned).collect());
        head + &rule + &rows.into_iter().map(line).collect::<String>()
    }
}

/// How a figure is written.
#[derive(Clone, Copy, Debug)]
enum Form {
    Text,
    /// With so many decimals.
    Number(usize),
    /// A number of bytes, in MiB.
    MiB,
    /// A share, in percent.
    Percent,
}

/// A column of a table.
struct Column {
    name: &'static str,
    title: &'static str,
    form: Form,
}

const fn column(name: &'static str, title: &'static str, form: Form) -> Column {
    Column { name, title, form }
}

impl Column {
    fn text(&self, value: Option<&Value>) -> String {
        match (value, self.form) {
            (None | Some(Value::Null), _) => "-".to_owned(),
            (Some(Value::String(text)), _) => text.clone(),
            (Some(value), form) => match (value.as_f64(), form) {
                (Some(number), Form::Number(decimals)) => format!("{number:.decimals$}"),
                (Some(number), Form::MiB) => format!("{:.1} MiB", number / f64::from(1 << 20)),
                (Some(number), Form::Percent) => format!("{:.2} %", number * 100.0),
                _ => value.to_string(),
            },
        }
    }
}

use Form::{MiB, Number, Percent, Text};

const LOAD: &[Column] = &[
    column("engine", "engine", Text),
    column("ack", "ack", Text),
    column("puts", "puts", Number(0)),
    column("puts_a_second", "puts/s", Number(0)),
    column("user_mb_a_second", "user MB/s", Number(1)),
    column("settled_mb_a_second", "with settling", Number(1)),
    column("cpu_us_a_put", "CPU-us a put", Number(2)),
    column("generator_cpu_us", "of these ours", Number(2)),
    column("written_over_user", "written / user (system)", Number(3)),
    column("store_written_over_user", "(store)", Number(3)),
    column("settle_seconds", "s until idle", Number(2)),
    column("settle_cpu_seconds", "CPU-s until idle", Number(2)),
    column("most_space_over_live", "most space / live", Number(2)),
    column("most_rss_bytes", "most resident", MiB),
];

const GET: &[Column] = &[
    column("engine", "engine", Text),
    column("versions", "times written before", Number(2)),
    column("depth", "depth", Number(0)),
    column("gets_a_second", "gets/s", Number(0)),
    column("from_dram", "from DRAM", Percent),
    column("reads_a_second", "flash reads/s", Number(0)),
    column("device_reads_a_second", "device reads/s", Number(0)),
    column("ratio", "ratio", Number(3)),
    column("cpu_us_a_get", "CPU-us a get", Number(2)),
    column("generator_cpu_us", "of these ours", Number(2)),
    column("device_cpu_us_a_read", "device's CPU-us", Number(2)),
    column("reads_a_get", "reads a get", Number(4)),
    column("pages_a_get", "pages a get", Number(4)),
    column("system_pages_a_get", "(system)", Number(4)),
    column("device_pages_a_get", "device pages a get", Number(4)),
    column("p50_us", "p50 us", Number(0)),
    column("p99_us", "p99 us", Number(0)),
    column("p999_us", "p99.9 us", Number(0)),
    column("most_rss_bytes", "most resident", MiB),
];

const HIT: &[Column] = &[
    column("keys", "hot keys", Number(0)),
    column("gets_a_second", "gets/s", Number(0)),
    column("cpu_us_a_get", "CPU-us a hit", Number(3)),
    column("generator_cpu_us", "of these ours", Number(3)),
    column("from_dram", "from DRAM", Percent),
];

const OVERWRITE: &[Column] = &[
    column("engine", "engine", Text),
    column("versions", "times written before", Number(2)),
    column("pass", "pass", Number(0)),
    column("puts_a_second", "puts/s", Number(0)),
    column("user_mb_a_second", "user MB/s", Number(1)),
    column("cpu_us_a_put", "CPU-us a put", Number(2)),
    column("generator_cpu_us", "of these ours", Number(2)),
    column("write_amplification", "written / user (system)", Number(2)),
    column("store_write_amplification", "(store)", Number(2)),
    column("expected_write_amplification", "expected", Number(2)),
    column("phi", "phi", Number(3)),
    column("index_bytes_an_entry", "index B an entry", Number(2)),
    column("seals", "seals", Number(0)),
    column("merges", "merges", Number(0)),
    column("most_space_over_live", "most space / live", Number(2)),
    column("settle_seconds", "s until idle", Number(2)),
    column("most_rss_bytes", "most resident", MiB),
];

const MIXED: &[Column] = &[
    column("engine", "engine", Text),
    column("versions", "times written before", Number(2)),
    column("depth", "depth", Number(0)),
    column("operations_a_second", "operations/s", Number(0)),
    column("gets_a_second", "gets/s", Number(0)),
    column("puts_a_second", "puts/s", Number(0)),
    column("cpu_us_an_operation", "CPU-us each", Number(2)),
    column("generator_cpu_us", "of these ours", Number(2)),
    column("reads_a_get", "reads a get", Number(4)),
    column("write_amplification", "written / user", Number(2)),
    column("seals", "seals", Number(0)),
    column("merges", "merges", Number(0)),
    column("device_pages_a_get", "device pages a get", Number(4)),
    column("p50_us", "get p50 us", Number(0)),
    column("p99_us", "p99 us", Number(0)),
    column("p999_us", "p99.9 us", Number(0)),
    column("longest_put_us", "longest put us", Number(0)),
    column("most_rss_bytes", "most resident", MiB),
];

const ABSENT: &[Column] = &[
    column("engine", "engine", Text),
    column("versions", "times written before", Number(2)),
    column("depth", "depth", Number(0)),
    column("gets_a_second", "gets/s", Number(0)),
    column("cpu_us_a_get", "CPU-us a get", Number(2)),
    column("generator_cpu_us", "of these ours", Number(2)),
    column("reads_a_get", "reads a get", Number(5)),
    column("filter_bits_a_record", "filter bits a record", Number(2)),
    column("filter_false_positives", "false positives", Percent),
    column("device_pages_a_get", "device pages a get", Number(4)),
    column("p50_us", "p50 us", Number(0)),
    column("p99_us", "p99 us", Number(0)),
    column("p999_us", "p99.9 us", Number(0)),
    column("most_rss_bytes", "most resident", MiB),
];

const PACE: &[Column] = &[
    column("share", "load", Percent),
    column("what", "maintenance", Text),
    column("gets_asked_a_second", "gets/s asked", Number(0)),
    column("gets_a_second", "gets/s", Number(0)),
    column("puts_a_second", "puts/s", Number(0)),
    column("p50_us", "p50 us", Number(0)),
    column("p99_us", "p99 us", Number(0)),
    column("p999_us", "p99.9 us", Number(0)),
    column("p999_over_idle", "p99.9 / idle", Number(2)),
    column("longest_us", "longest us", Number(0)),
    column("longest_step_us", "longest step us", Number(0)),
    column("longest_step_cpu_us", "(CPU)", Number(0)),
    column("seals", "seals", Number(0)),
    column("merges", "merges", Number(0)),
    column("cpu_share", "CPUs", Number(2)),
];

const SPLIT: &[Column] = &[
    column("what", "what", Text),
    column("rounds", "rounds", Number(0)),
    column("ms_to_done", "ms until done", Number(2)),
    column("maintenance_cpu_ms", "maintenance CPU-ms", Number(2)),
    column("cpu_ms", "CPU-ms", Number(2)),
    column("written_bytes", "bytes written", Number(0)),
    column("read_bytes", "bytes read", Number(0)),
    column("longest_step_us", "longest step us", Number(0)),
    column("longest_step_cpu_us", "(CPU)", Number(0)),
    column("gets_a_second", "gets/s", Number(0)),
    column("puts_a_second", "puts/s", Number(0)),
    column("p50_us", "get p50 us", Number(0)),
    column("p99_us", "p99 us", Number(0)),
    column("p999_us", "p99.9 us", Number(0)),
    column("p999_over_before", "p99.9 / before", Number(2)),
    column("longest_us", "longest get us", Number(0)),
    column("longest_put_us", "longest put us", Number(0)),
    column("seals", "seals", Number(0)),
    column("merges", "compactions", Number(0)),
];

const RESTART: &[Column] = &[
    column("user_bytes", "user data", MiB),
    column("entries", "entries", Number(0)),
    column("replayed", "replayed", Number(0)),
    column("open_seconds", "s to open", Number(3)),
    column("first_read_seconds", "s to first get", Number(3)),
    column("loaded_seconds", "s to full speed", Number(3)),
    column("loaded_cpu_seconds", "CPU-s", Number(2)),
    column("verified", "verified", Number(0)),
];

const TABLE: &[Column] = &[
    column("value_bytes", "value B", Number(0)),
    column("memory", "memory", MiB),
    column("entries", "entries", Number(0)),
    column("experiment", "experiment", Text),
    column("a_second", "/s", Number(0)),
    column("cpu_us", "CPU-us", Number(2)),
    column("reads_a_get", "reads a get", Number(4)),
    column("write_amplification", "written / user", Number(2)),
    column("index_bytes_an_entry", "index B an entry", Number(2)),
    column("p99_us", "p99 us", Number(0)),
    column("what", "", Text),
];

const NET: &[Column] = &[
    column("what", "", Text),
    column("operations", "operations", Number(0)),
    column("operations_a_second", "/s", Number(0)),
    column("asked_a_second", "asked /s", Number(0)),
    column("hit_share", "hits", Percent),
    column("p50_us", "p50 us", Number(0)),
    column("p90_us", "p90 us", Number(0)),
    column("p99_us", "p99 us", Number(0)),
    column("p999_us", "p99.9 us", Number(0)),
    column("longest_us", "longest us", Number(0)),
    column("late_p99_us", "sent late p99 us", Number(0)),
    column("unsent", "unsent", Number(0)),
    column("server_cpu_us", "server CPU-us", Number(3)),
    column("generator_cpu_us", "ours", Number(3)),
    column("machine_cpu_us", "machine's", Number(3)),
    column("stolen_share", "stolen", Percent),
    column("headroom", "headroom", Number(2)),
    column("refused", "refused", Number(0)),
    column("wrong", "wrong", Number(0)),
];

/// Of every experiment. What is modelled says so.
const ENERGY: &[Column] = &[
    column("operations_a_cpu_second", "per CPU-s", Number(0)),
    column("joules", "J", Number(2)),
    column("uncertainty_joules", "± J", Number(2)),
    column("watts", "W", Number(2)),
    column("operations_a_joule", "per J", Number(1)),
    column("operations_a_dynamic_joule", "per J above idle", Number(1)),
    column("modelled_joules", "modelled J", Number(2)),
    column("uncertainty_modelled_joules", "± modelled J", Number(2)),
    column("modelled_watts", "modelled W", Number(2)),
    column("operations_a_modelled_joule", "per modelled J", Number(1)),
    column("operations_a_dynamic_modelled_joule", "per modelled J above idle", Number(1)),
];

fn columns(experiment: &str) -> &'static [Column] {
    match experiment {
        "load" => LOAD,
        "get" => GET,
        "hit" => HIT,
        "overwrite" => OVERWRITE,
        "mixed" => MIXED,
        "absent" => ABSENT,
        "pace" => PACE,
        "restart" => RESTART,
        "split" => SPLIT,
        "table" => TABLE,
        "net" | "ycsb" => NET,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_table_has_the_columns_that_are_known() {
        let mut report = Report::new("hit");
        report.row(json!({ "keys": 10, "gets_a_second": 1234.5, "cpu_us_a_get": 0.25, "from_dram": 0.5 }));
        report.row(json!({ "keys": 20, "gets_a_second": null }));
        let (header, rows) = report.table();
        assert_eq!(header, ["hot keys", "gets/s", "CPU-us a hit", "from DRAM"]);
        assert_eq!(rows, [["10", "1234", "0.250", "50.00 %"], ["20", "-", "-", "-"]]);
        assert!(report.markdown().starts_with("| hot keys | gets/s |"), "{}", report.markdown());
        assert_eq!(report.markdown().lines().count(), 4);
    }

    #[test]
    fn the_design_expects_what_it_says() {
        assert!((expected_amplification(0.5, Ack::Durable) - 3.0).abs() < 1e-9);
        assert!((expected_amplification(0.085, Ack::Interval { ms: 10 }) - 7.88).abs() < 0.01);
        assert!((expected_amplification(0.085, Ack::Memory) - 6.88).abs() < 0.01, "there is no log");
    }

    #[test]
    fn each_version_was_written_once_and_the_newest_in_part() {
        let mut history = History::new(4, Vec::new());
        let empty = versions(&history);
        history.begin(Order::Shuffled);
        (0..4).for_each(|_| history.wrote());
        let loaded = versions(&history);
        history.begin(Order::Shuffled);
        history.wrote();
        let begun = versions(&history);
        history.begin(Order::Drawn);
        history.drew();
        assert_eq!((empty, loaded, begun, versions(&history)), (0.0, 1.0, 1.25, 3.0));
    }
}
