//! e-Energy 2010, §3.6.2: a search for very many phrases, exact and with one-sided errors, beside grep and ripgrep.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use fawn_joule::caches::CpuCache;
use fawn_joule::cost::{Cost, CostMeter};
use fawn_joule::measure::EfficiencyKind;
use fawn_joule::phrases::{
    LineOutput, Matcher, MatcherOptions, PhraseList, SearchGoal, SearchOutcome, TextInput, cache_bytes, sample, search,
};
use fawn_machine::host::available_memory;
use fawn_report::amount::number;
use serde_json::{Value, json};

use crate::efficiency::note_provenance;
use crate::error::Error;
use crate::finding::{Axis, Chart, Finding, Row};
use crate::run::Run;
use crate::testbed::peer;

/// Bits of the second filter for each phrase, by which one-sided errors are predicted and seen: usual ones, and few.
const FILTER_BITS: [usize; 2] = [16, 4];
/// Watts of the paper's Alix3c2 in its Table 1, and the MB a second at which it searches for one pattern.
const ALIX: (f64, f64) = (3.75, 25.0);

/// Searches of the head of the text, as grep does it.
const EXACT_HEAD: &str = "exact, lines of the head";
const ONE_SIDED_HEAD: &str = "one-sided, lines of the head";

/// A program of others.
struct SearchPeer {
    name: &'static str,
    program: &'static str,
    flags: &'static [&'static str],
    package: &'static str,
    /// Memory that it takes for each phrase of this kind, about, bytes; measured for the book.
    bytes_a_phrase: u64,
}

const PEERS: [SearchPeer; 2] = [
    SearchPeer {
        name: "GNU grep",
        program: "grep",
        flags: &["-F", "-c", "-f"],
        package: "grep",
        bytes_a_phrase: 2_500,
    },
    SearchPeer {
        name: "ripgrep",
        program: "rg",
        flags: &["-F", "-c", "-j1", "-a", "--no-config", "-f"],
        package: "ripgrep",
        bytes_a_phrase: 14_000,
    },
];

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = Finding::of(&[
        ("what", "search", None),
        ("phrases", "phrases", Some(0)),
        ("text_mb", "text, MB", Some(1)),
        ("threads", "threads", None),
        ("work_a_second", "MB/s", Some(1)),
        ("watts", "watts", Some(2)),
        ("operations_a_joule", "MB a joule", Some(2)),
        ("modelled_watts", "watts, modelled", Some(2)),
        ("operations_a_modelled_joule", "MB a modelled joule", Some(2)),
        ("operations_a_cpu_second", "MB a CPU second", Some(1)),
        ("beside_phrases_mib", "MiB beside the phrases", Some(1)),
        ("lines", "lines found", Some(0)),
        ("false_lines", "of these false", Some(0)),
        ("false_share", "windows that pass falsely", Some(7)),
        ("predicted_false_share", "predicted", Some(7)),
        ("false_phrases", "phrases found falsely", Some(0)),
    ]);
    finding.parameter("cache_bytes", cache_bytes(&CpuCache::all(Path::new("/sys"))));
    let text = SampleText::write(run, &mut finding)?;
    for count in run.pick(&[1_000, 10_000][..], &[10_000, 100_000], &[10_000, 100_000, 1_000_000]) {
        let phrases = PhraseBench::new(run, &text, *count)?;
        phrases.measure(&mut finding)?;
        let lines = phrases.measure_head(&mut finding)?;
        for peer in &PEERS {
            phrases.measure_peer(peer, lines, &mut finding)?;
        }
    }
    publish(&mut finding);
    note(&mut finding, run);
    Ok(finding)
}

/// A text that is made, and the head of it, which the slower programs search.
struct SampleText {
    whole: PathBuf,
    head: PathBuf,
    bytes: u64,
    head_bytes: u64,
    lines: u64,
}

impl SampleText {
    fn write(run: &Run<'_>, finding: &mut Finding) -> Result<Self, Error> {
        let wanted: u64 = run.pick(1_000_000, 50_000_000, 1_000_000_000);
        let head_wanted = wanted / run.pick(2, 5, 20);
        let (whole, head) = (run.dir.join("text"), run.dir.join("head"));
        run.watch.progress(0, 1, "making a text");
        let write = |path: &Path, bytes: u64| -> Result<(u64, u64), Error> {
            let mut file = BufWriter::new(File::create(path).map_err(Error::io(path))?);
            let lines = sample::write_text(&mut file, bytes).map_err(Error::io(path))?;
            let file = file.into_inner().map_err(|error| Error::io(path)(error.into_error()))?;
            file.sync_all().map_err(Error::io(path))?;
            Ok((lines, file.metadata().map_err(Error::io(path))?.len()))
        };
        let (lines, bytes) = write(&whole, wanted)?;
        let (_, head_bytes) = write(&head, head_wanted)?;
        // What is read is in the page cache from now on, for all programs alike.
        let mut reader = BufReader::new(File::open(&whole).map_err(Error::io(&whole))?);
        std::io::copy(&mut reader, &mut std::io::sink()).map_err(Error::io(&whole))?;
        finding.parameter("text_bytes", bytes);
        finding.parameter("head_bytes", head_bytes);
        finding.parameter("text_lines", lines);
        Ok(Self { whole, head, bytes, head_bytes, lines })
    }
}

/// A list of phrases, and what is done with it.
struct PhraseBench<'r> {
    run: &'r Run<'r>,
    text: &'r SampleText,
    count: u64,
    phrases: Vec<u8>,
    file: PathBuf,
    threads: NonZeroUsize,
}

impl<'r> PhraseBench<'r> {
    fn new(run: &'r Run<'r>, text: &'r SampleText, count: u64) -> Result<Self, Error> {
        run.watch.progress(0, 1, "making phrases");
        let (phrases, file) = (sample::phrases(count, text.lines), run.dir.join("phrases"));
        File::create(&file).and_then(|mut out| out.write_all(&phrases)).map_err(Error::io(&file))?;
        Ok(Self { run, text, count, phrases, file, threads: fawn_machine::cores().0 })
    }

    fn matcher(&self, one_sided: bool, filter_bits: usize) -> Result<Matcher, Error> {
        let list = PhraseList::parse(self.phrases.clone())?;
        let cache_bytes = cache_bytes(&CpuCache::all(Path::new("/sys")));
        Ok(Matcher::build(list, MatcherOptions { one_sided, filter_bits, cache_bytes, ..MatcherOptions::default() }))
    }

    /// The search of a text with a matcher that is there, and what it took, the matcher's making included.
    fn search(
        &self,
        (one_sided, filter_bits): (bool, usize),
        (text, bytes): (&Path, u64),
        goal: SearchGoal<'_>,
        threads: NonZeroUsize,
    ) -> Result<(Matcher, SearchOutcome, Cost), Error> {
        let what = format!("searching for {} phrases", number(self.count as f64, 0));
        let cost = CostMeter::start(self.run.tools.meter.as_ref())?;
        let matcher = self.matcher(one_sided, filter_bits)?;
        let input = [TextInput::File(text.to_owned())];
        let outcome = search(&matcher, input, goal, threads, &|done| {
            self.run.watch.progress(done, bytes, &what);
        });
        let cost = cost.stop()?;
        Ok((matcher, outcome?, cost))
    }

    fn whole(&self) -> (&Path, u64) {
        (&self.text.whole, self.text.bytes)
    }

    /// Rows of counts, of lines, and of lines with one-sided errors.
    fn measure(&self, finding: &mut Finding) -> Result<(), Error> {
        let [usual, _] = FILTER_BITS;
        let (matcher, counted, cost) = self.search((false, usual), self.whole(), SearchGoal::Counts, self.threads)?;
        let mut row = self.row("exact, counts of phrases", self.text.bytes, self.threads.get(), &cost);
        tell_memory(&mut row, &matcher, &counted);
        tell_windows(&mut row, &matcher, &counted);
        finding.rows.push(row);
        let found = counted.counts.iter().filter(|count| **count > 0).count();

        let (matcher, exact, cost) =
            self.search((false, usual), self.whole(), SearchGoal::Lines(LineOutput::Count), self.threads)?;
        let mut row = self.row("exact, lines with a phrase", self.text.bytes, self.threads.get(), &cost);
        tell_memory(&mut row, &matcher, &exact);
        tell_windows(&mut row, &matcher, &exact);
        row.insert("lines".to_owned(), json!(exact.lines));
        row.insert("false_lines".to_owned(), json!(0));
        finding.rows.push(row);

        for bits in FILTER_BITS {
            let (matcher, outcome, cost) =
                self.search((true, bits), self.whole(), SearchGoal::Lines(LineOutput::Count), self.threads)?;
            let what = format!("one-sided, {bits} bits a phrase");
            let mut row = self.row(&what, self.text.bytes, self.threads.get(), &cost);
            tell_memory(&mut row, &matcher, &outcome);
            let Some(false_lines) = outcome.lines.checked_sub(exact.lines) else {
                return Err(Error::Wrong(format!(
                    "a one-sided search missed lines with one of {} phrases",
                    self.count
                )));
            };
            row.insert("lines".to_owned(), json!(outcome.lines));
            row.insert("false_lines".to_owned(), json!(false_lines));
            row.insert("predicted_false_share".to_owned(), json!(matcher.predicted_false_share()));
            row.insert("false_share".to_owned(), json!(self.false_share_of(bits)?));
            row.insert("false_phrases".to_owned(), json!(self.false_phrases(&matcher, &outcome, found)?));
            finding.rows.push(row);
        }
        Ok(())
    }

    /// Windows that pass these filters and begin no phrase, as an exact search of the same filters sees them.
    fn false_share_of(&self, bits: usize) -> Result<f64, Error> {
        let (_, outcome, _) = self.search((false, bits), self.whole(), SearchGoal::Counts, self.threads)?;
        Ok(seen_false_share(&outcome))
    }

    /// Phrases that the marks of a one-sided search leave, beyond those that occur.
    fn false_phrases(&self, matcher: &Matcher, outcome: &SearchOutcome, found: usize) -> Result<u64, Error> {
        let Some(marks) = &outcome.marks else { return Ok(0) };
        let left = matcher.list().iter().filter(|(_, phrase)| matcher.may_be_in(marks, phrase));
        let mut different: Vec<&[u8]> = left.map(|(_, phrase)| phrase).collect();
        different.sort_unstable();
        different.dedup();
        let missed = || Error::Wrong(format!("a one-sided search missed some of {} phrases", self.count));
        (different.len() as u64).checked_sub(found as u64).ok_or_else(missed)
    }

    fn row(&self, what: &str, bytes: u64, threads: usize, cost: &Cost) -> Row {
        let mut row = Row::new();
        cost.write(&mut row, bytes as f64 / 1e6);
        for (name, value) in [
            ("what", json!(what)),
            ("phrases", json!(self.count)),
            ("text_mb", json!(bytes as f64 / 1e6)),
            ("threads", json!(threads)),
            ("searched_for", json!(format!("{} phrases", number(self.count as f64, 0)))),
        ] {
            row.insert(name.to_owned(), value);
        }
        row
    }

    /// Rows of the head of the text, with one thread as other programs have it. How many lines of it have a phrase.
    fn measure_head(&self, finding: &mut Finding) -> Result<u64, Error> {
        let mut exact_lines = 0;
        for (what, one_sided) in [(EXACT_HEAD, false), (ONE_SIDED_HEAD, true)] {
            let head = (self.text.head.as_path(), self.text.head_bytes);
            let goal = SearchGoal::Lines(LineOutput::Count);
            let (matcher, outcome, cost) = self.search((one_sided, FILTER_BITS[0]), head, goal, NonZeroUsize::MIN)?;
            let mut row = self.row(what, self.text.head_bytes, 1, &cost);
            tell_memory(&mut row, &matcher, &outcome);
            row.insert("lines".to_owned(), json!(outcome.lines));
            finding.rows.push(row);
            if !one_sided {
                exact_lines = outcome.lines;
            }
        }
        Ok(exact_lines)
    }

    /// A row of a program of others that searches the head, if it is there and has the memory.
    fn measure_peer(&self, peer: &SearchPeer, exact_lines: u64, finding: &mut Finding) -> Result<(), Error> {
        let named = format!("{} for {} phrases", peer.name, number(self.count as f64, 0));
        let Some(program) = peer::find(peer.program, std::env::var_os("PATH").as_deref()) else {
            let missing = format!("{} was left out: it is not in PATH (apt-get install {})", peer.name, peer.package);
            note_once(finding, missing);
            return Ok(());
        };
        let needed = peer.bytes_a_phrase * self.count;
        let free = available_memory().map_or(u64::MAX, |free| free / 4 * 3);
        if needed > free {
            let (needed, free) = (number(needed as f64 / 1e9, 1), number(free as f64 / 1e9, 1));
            finding.note(format!("{named} was left out: it takes some {needed} GB, and {free} GB may be taken here"));
            return Ok(());
        }
        self.run.watch.progress(0, 1, &format!("searching by {named}"));
        let mut command = Command::new(&program);
        command.args(peer.flags).args([&self.file, &self.text.head]);
        let taken = peer::run_metered(self.run, command)?;
        let lines: u64 = taken.printed.trim().parse().unwrap_or(0);
        if lines != exact_lines {
            return Err(Error::Wrong(format!("{named} finds {lines} lines, and the exact search {exact_lines}")));
        }
        let mut row = self.row(peer.name, self.text.head_bytes, 1, &taken.cost);
        row.insert("lines".to_owned(), json!(lines));
        let beside = taken.most_bytes.map(|most| mib(most as f64 - self.phrases.len() as f64));
        row.insert("beside_phrases_mib".to_owned(), json!(beside));
        finding.rows.push(row);
        if let Some(version) = peer::version(&program) {
            finding.parameter(peer.program, version);
        }
        Ok(())
    }
}

/// What filters, tables, counts and threads take.
fn tell_memory(row: &mut Row, matcher: &Matcher, outcome: &SearchOutcome) {
    let memory = matcher.memory();
    let beside = memory.first_filters + memory.second_filters + memory.tables + outcome.memory_bytes;
    row.insert("beside_phrases_mib".to_owned(), json!(mib(beside as f64)));
}

fn mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}

/// How many windows pass both filters of a search in error, seen and predicted.
fn tell_windows(row: &mut Row, matcher: &Matcher, outcome: &SearchOutcome) {
    row.insert("predicted_false_share".to_owned(), json!(matcher.predicted_false_share()));
    row.insert("false_share".to_owned(), json!(seen_false_share(outcome)));
}

/// Of the windows with which no phrase begins, the share that passed, of a search that has verified them.
fn seen_false_share(outcome: &SearchOutcome) -> f64 {
    let windows = outcome.windows;
    let others = windows.windows - (windows.passed_second - windows.false_passes);
    windows.false_passes as f64 / (others as f64).max(1.0)
}

fn note_once(finding: &mut Finding, note: String) {
    if !finding.notes.contains(&note) {
        finding.note(note);
    }
}

/// Adds what the paper states, and the charts.
fn publish(finding: &mut Finding) {
    let (watts, rate) = ALIX;
    finding.printed(json!({
        "what": "Alix3c2, grep for one pattern", "searched_for": "one pattern", "phrases": 1, "work_a_second": rate,
        "watts": watts, "operations_a_joule": rate / watts,
    }));
    // A search has the same colour in all charts.
    let mut searches: Vec<String> = Vec::new();
    for what in finding.rows.iter().filter_map(|row| row.get("what")?.as_str()) {
        if !searches.iter().any(|known| known == what) {
            searches.push(what.to_owned());
        }
    }
    for (kind, title, axis) in [
        (EfficiencyKind::Measured, "Text a joule", "MB a joule"),
        (EfficiencyKind::Modelled, "Text a modelled joule", "MB a modelled joule"),
        (EfficiencyKind::CpuSecond, "Text a second of CPU time", "MB a CPU second"),
    ] {
        let chart = Chart::groups(title, "searched_for", "what", Axis::log(kind.column(), axis));
        finding.charts.push(chart.coloured(&searches));
    }
    let memory = Axis::log("beside_phrases_mib", "MiB");
    let chart = Chart::groups("Memory beside the phrases", "searched_for", "what", memory);
    finding.charts.push(chart.coloured(&searches));
}

/// How many times as much of the text each program searches for its CPU time as grep, with the most phrases that both searched for.
fn beside_grep(rows: &[Row]) -> Option<String> {
    let is_of = |row: &&Row, what: &str, count: &Value| {
        row.get("what").is_some_and(|it| it == what) && row.get("phrases") == Some(count)
    };
    let figure = |row: &Row| EfficiencyKind::CpuSecond.figure(row);
    let grep = rows.iter().rfind(|row| row.get("what").is_some_and(|what| what == PEERS[0].name))?;
    let count = grep.get("phrases")?;
    let ours = |what: &str| rows.iter().find(|row| is_of(row, what, count)).and_then(figure);
    let times = |what: &str| Some(number(ours(what)? / figure(grep)?, 1));
    Some(format!(
        "with {} phrases, per CPU second of one machine, the exact search reads {} times as much text as grep, and the \
         one-sided one {} times",
        number(count.as_f64()?, 0),
        times(EXACT_HEAD)?,
        times(ONE_SIDED_HEAD)?
    ))
}

/// Says how the energy came about, and what follows from the paper's figures.
fn note(finding: &mut Finding, run: &Run<'_>) {
    note_provenance(finding, run);
    if let Some(times) = beside_grep(&finding.rows) {
        finding.note(times);
    }
    finding.note(
        "grep and ripgrep search the head of the text with one thread, as two of our rows do, and count the same lines. Their \
         memory is that of the process, without the phrases; ours is that of filters, tables, counts and threads. All figures \
         include the preparation of the phrases, which weighs more with a short text",
    );
    finding.note(
        "a window that passes falsely costs an exact search a look, and a one-sided one maybe a line. What a one-sided search \
         sees is taken from an exact search with the same filters. The text and the phrases are made, and are no language",
    );
    finding.note(
        "the paper states \"roughly twice\" the bytes a second a watt of a conventional node without either's rate or watts, so \
         this cannot be recomputed. The joules of its grep follow from 25 MB/s and the 3.75 W of its Table 1, where the node \
         answers queries",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(what: &str, phrases: u64, a_cpu_second: f64) -> Row {
        let Value::Object(row) = json!({ "what": what, "phrases": phrases, "operations_a_cpu_second": a_cpu_second })
        else {
            unreachable!("rows are objects")
        };
        row
    }

    #[test]
    fn grep_is_compared_at_the_most_phrases_that_it_searched_for() {
        let mut rows = Vec::new();
        for (phrases, grep) in [(1000, 50.0), (10_000, 10.0)] {
            rows.push(row(EXACT_HEAD, phrases, 200.0));
            rows.push(row(ONE_SIDED_HEAD, phrases, 300.0));
            rows.push(row("GNU grep", phrases, grep));
        }
        let said = beside_grep(&rows).unwrap();
        assert!(
            said.contains("with 10,000 phrases") && said.contains(" 20.0 times") && said.contains(" 30.0 times"),
            "{said}"
        );
        assert_eq!(beside_grep(&rows[..2]), None);
    }
}
