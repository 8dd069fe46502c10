//! What a search was asked for, has found and has cost, as a report.

use std::num::NonZeroUsize;

use fawn_machine::process::resident_bytes;
use fawn_meter::report::COLUMNS;
use fawn_report::{BenchReport, Column, Form, column};
use serde_json::{Map, json};

use super::matcher::Matcher;
use super::search::SearchOutcome;
use crate::Cost;

/// The experiment's name.
pub const EXPERIMENT: &str = "joule phrases";

/// The columns of its table, beside those of energy.
const OWN_COLUMNS: &[Column] = &[
    column("step", "step", Form::Text),
    column("bytes", "bytes", Form::Number(0)),
    column("seconds", "s", Form::Number(2)),
    column("cpu_seconds", "CPU-s", Form::Number(2)),
    column("work_a_second", "bytes/s", Form::Number(0)),
    column("windows", "windows", Form::Number(0)),
    column("passed_first", "passed first", Form::Number(0)),
    column("passed_second", "passed second", Form::Number(0)),
    column("false_passes", "of these false", Form::Number(0)),
    column("predicted_false_passes", "predicted", Form::Number(0)),
    column("occurrences", "occurrences", Form::Number(0)),
    column("lines", "lines", Form::Number(0)),
];

/// The columns of its table.
pub fn columns() -> impl Iterator<Item = &'static Column> {
    OWN_COLUMNS.iter().chain(COLUMNS)
}

/// Reports a search that took `search`, after a preparation that took `preparation`.
pub fn report(
    matcher: &Matcher,
    outcome: &SearchOutcome,
    threads: NonZeroUsize,
    preparation: &Cost,
    search: &Cost,
) -> BenchReport {
    let mut report = BenchReport::new(EXPERIMENT);
    let options = matcher.options();
    report.parameter("phrases", matcher.phrases());
    let list = matcher.list();
    report.parameter("pattern_lines", list.count() + list.duplicates + list.empty_lines);
    report.parameter("one_sided", options.one_sided);
    report.parameter("cache_bytes", options.cache_bytes);
    report.parameter("filter_bits", options.filter_bits);
    report.parameter("threads", threads.get());
    let classes = matcher.classes().map(|class| {
        json!({ "shortest": class.shortest, "longest": class.longest, "phrases": class.phrases, "window": class.window() })
    });
    report.parameter("classes", classes.collect::<Vec<_>>());

    let phrase_bytes = matcher.list().bytes();
    let mut row = Map::new();
    row.insert("step".to_owned(), json!("prepare"));
    row.insert("bytes".to_owned(), json!(phrase_bytes));
    preparation.write(&mut row, phrase_bytes as f64);
    report.rows.push(row);
    report.rows.push(search_row(matcher, outcome, search));
    report.metered(fawn_meter::provenance(&report.rows, search.energy.as_ref()));
    report
}

fn search_row(matcher: &Matcher, outcome: &SearchOutcome, cost: &Cost) -> Map<String, serde_json::Value> {
    let (windows, memory) = (outcome.windows, matcher.memory());
    let is_one_sided = matcher.options().one_sided;
    let false_share = matcher.predicted_false_share();
    // Phrases begin with the others. How many these are is known if windows are verified.
    let others = windows.windows - if is_one_sided { 0 } else { windows.passed_second - windows.false_passes };
    let verified = |count: u64| (!is_one_sided).then_some(count);
    let own = json!({
        "step": "search",
        "bytes": outcome.bytes,
        "windows": windows.windows,
        "passed_first": windows.passed_first,
        "passed_second": windows.passed_second,
        "false_passes": verified(windows.false_passes),
        "predicted_false_passes": (others as f64 * false_share).round(),
        "predicted_false_share": false_share,
        "false_share": (!is_one_sided).then(|| windows.false_passes as f64 / (others as f64).max(1.0)),
        "occurrences": (!outcome.counts.is_empty()).then(|| outcome.counts.iter().sum::<u64>()),
        "phrases_found": (!outcome.counts.is_empty()).then(|| outcome.counts.iter().filter(|count| **count > 0).count()),
        "lines": outcome.counts.is_empty().then_some(outcome.lines),
        "phrase_bytes": memory.phrases,
        "first_filter_bytes": memory.first_filters,
        "second_filter_bytes": memory.second_filters,
        "table_bytes": memory.tables,
        "search_bytes": outcome.memory_bytes,
        "most_rss_bytes": resident_bytes().map(|(_, most)| most),
    });
    let serde_json::Value::Object(mut row) = own else { unreachable!("it is an object") };
    cost.write(&mut row, outcome.bytes as f64);
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phrases::{MatcherOptions, PhraseList, SearchGoal, TextInput, search};

    fn search_for_nothing(matcher: &Matcher) -> SearchOutcome {
        search(matcher, [], SearchGoal::Phrases, NonZeroUsize::MIN, &|_| ()).unwrap()
    }

    #[test]
    fn a_report_has_what_came_how_far() {
        let list = PhraseList::parse(b"deer\nfawns\ndeer\n\n".to_vec()).unwrap();
        let one_sided = Matcher::build(list.clone(), MatcherOptions { one_sided: true, ..MatcherOptions::default() });
        let matcher = Matcher::build(list, MatcherOptions::default());
        let text = TextInput::Reader("a text".to_owned(), Box::new(&b"a deer and fawns, and deer\n"[..]));
        let outcome = search(&matcher, [text], SearchGoal::Counts, NonZeroUsize::MIN, &|_| ()).unwrap();
        let cost = Cost { seconds: 1.0, cpu_seconds: 0.5, energy: None };
        let report = report(&matcher, &outcome, NonZeroUsize::MIN, &cost, &cost);
        assert_eq!((&report.parameters["phrases"], &report.parameters["pattern_lines"]), (&json!(2), &json!(4)));
        let marked = search_for_nothing(&one_sided);
        let counted = super::report(&one_sided, &marked, NonZeroUsize::MIN, &cost, &cost).parameters;
        assert_eq!((&counted["phrases"], &counted["pattern_lines"]), (&json!(2), &json!(4)));
        let row = &report.rows[1];
        for (name, value) in
            [("bytes", 27), ("windows", 24), ("passed_second", 3), ("false_passes", 0), ("occurrences", 3)]
        {
            assert_eq!(row[name], value, "{name}");
        }
        assert_eq!(row["work_a_second"], 27.0);
        assert_eq!(report.parameters["classes"][0]["window"], 4);
        let table = report.table(columns());
        assert!(
            table.head.contains(&"occurrences".to_owned()) && !table.head.contains(&"lines".to_owned()),
            "{table:?}"
        );
    }
}
