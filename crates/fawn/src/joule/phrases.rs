//! `fawn joule phrases`: how often each of very many phrases occurs in texts.

use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Command, ValueEnum};
use comfy_table::CellAlignment;
use fawn_joule::CostMeter;
use fawn_joule::caches::CpuCache;
use fawn_joule::phrases::report::{columns, report};
use fawn_joule::phrases::{
    Case, LineOutput, Matcher, MatcherOptions, PhraseList, SearchGoal, SearchOutcome, TextInput, cache_bytes, search,
};
use fawn_meter::SystemRoots;
use fawn_report::BenchReport;
use fawn_report::amount::counted;
use serde_json::json;

use super::energy::EnergyArguments;
use crate::outcome::{CommandStatus, UsageError, answer};
use crate::progress::TerminalBar;
use crate::resources::{cores, parse_threads};
use crate::table::terminal;
use crate::tell::{tell, unless_closed};
use crate::values::{Size, number};

/// Arguments of `fawn joule phrases`.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[derive(Debug, Args)]
#[command(after_help = "\
The command prints a line for each phrase that occurs: the count, a tab, and the phrase. Phrases and texts are \
compared byte by byte. Occurrences that overlap count, also of one phrase. A phrase is a line of the patterns file \
without its end (LF or CR LF), and does not go beyond a line of a text. Empty lines are no phrases; a line that is \
there twice is one phrase.

For example:
  fawn joule phrases --patterns phrases.txt corpus/*.txt
  zcat corpus.gz | fawn joule phrases --patterns phrases.txt --sort count | head
  fawn joule phrases --patterns phrases.txt --lines corpus.txt

A million phrases take some 24 MB beside the phrases themselves. --one-sided takes less and verifies nothing: its \
result has all that is there, and may have a little that is not.

The exit code is 0 if a phrase occurs, 1 if none does, and 2 if the command line is wrong or something failed.")]
pub struct PhrasesArguments {
    /// Texts to search, `-` for standard input [default: standard input]
    #[arg(value_name = "FILE")]
    pub texts: Vec<PathBuf>,
    /// File with a phrase on each line, `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub patterns: PathBuf,
    /// Print the lines that have a phrase, instead of counts
    #[arg(long)]
    pub lines: bool,
    /// Print the number of lines that have a phrase
    #[arg(long)]
    pub count_lines: bool,
    /// Print the phrases that occur, without counts
    #[arg(long)]
    pub found: bool,
    /// Print phrases that do not occur, too, with a count of 0
    #[arg(long)]
    pub zeros: bool,
    /// Order of the phrases
    #[arg(long, value_name = "ORDER", default_value = "file")]
    pub sort: SortOrder,
    /// Take letters of ASCII for the same in upper and lower case
    #[arg(long)]
    pub ignore_case: bool,
    /// Count a phrase only if no letter, digit, `_` or byte beyond ASCII is next to it; not with --one-sided
    #[arg(long)]
    pub words: bool,
    /// Verify nothing: less memory, and some false answers, whose share is predicted
    #[arg(long)]
    pub one_sided: bool,
    /// Bits of the second Bloom filter for each phrase
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = number::<u16>(4..=64))]
    pub filter_bits: u16,
    /// Bytes of cache for the first Bloom filter [default: a thread's part of the second-level cache, or 1M if the system
    /// does not tell]
    #[arg(long, value_name = "SIZE")]
    pub cache: Option<Size>,
    /// Threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<NonZeroUsize>,
    /// Print JSON: the counts, and a report of rates, memory and filters
    #[arg(long)]
    pub json: bool,
    /// Print the report on standard error
    #[arg(long)]
    pub stats: bool,
    #[command(flatten)]
    pub energy: EnergyArguments,
}

/// The order in which phrases are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SortOrder {
    /// As in the patterns file
    File,
    /// The most frequent first
    Count,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PhraseOutput {
    Counts,
    Found,
    Lines,
    LineCount,
}

/// Says in the help of `--cache` what is taken on this machine. Manual pages, which are of no machine, do not have it.
pub fn with_cache_of_this_machine(command: Command) -> Command {
    let bytes = cache_bytes(&CpuCache::all(&SystemRoots::default().sys));
    let help = format!(
        "Bytes of cache for the first Bloom filter [default: {}, of this machine]",
        Size { bytes: bytes as u64 }
    );
    let tell = |arg: clap::Arg| arg.help(help).long_help(None);
    command.mut_subcommand("joule", |joule| joule.mut_subcommand("phrases", |it| it.mut_arg("cache", tell)))
}

impl PhrasesArguments {
    fn cache_bytes(&self) -> usize {
        let Some(given) = self.cache else {
            return cache_bytes(&CpuCache::all(&SystemRoots::under(&self.energy.meter.meter_root).sys));
        };
        usize::try_from(given.bytes).unwrap_or(usize::MAX >> 3).min(usize::MAX >> 3)
    }

    /// What is printed.
    ///
    /// # Errors
    /// [`UsageError`]: flags that do not go together.
    fn output(&self) -> Result<PhraseOutput, UsageError> {
        let chosen: Vec<(&str, PhraseOutput)> = [
            (self.lines, ("--lines", PhraseOutput::Lines)),
            (self.count_lines, ("--count-lines", PhraseOutput::LineCount)),
            (self.found, ("--found", PhraseOutput::Found)),
        ]
        .into_iter()
        .filter_map(|(is_given, output)| is_given.then_some(output))
        .collect();
        let refused = |what: String| Err(UsageError(what));
        let output = match chosen[..] {
            [] if self.one_sided => {
                return refused("--one-sided keeps no counts: add --found, --lines or --count-lines".to_owned());
            }
            [] => PhraseOutput::Counts,
            [(_, output)] => output,
            [(one, _), (other, _), ..] => {
                return refused(format!("{one} and {other} print different things: leave one out"));
            }
        };
        let of_counts = [(self.zeros, "--zeros"), (self.sort == SortOrder::Count, "--sort count")];
        if let (Some((_, flag)), true) =
            (of_counts.iter().find(|(is_given, _)| *is_given), output != PhraseOutput::Counts)
        {
            return refused(format!("{flag} is for counts: leave it out, or leave {} out", chosen[0].0));
        }
        if self.json && output == PhraseOutput::Lines {
            return refused("--lines prints the lines as they are: leave --json out, or use --count-lines".to_owned());
        }
        if self.words && self.one_sided {
            return refused("--one-sided does not know where a phrase ends: leave --words out".to_owned());
        }
        let stdin = self.texts.iter().filter(|text| is_stdin(text)).count() + usize::from(self.texts.is_empty());
        if stdin > 1 {
            return refused("standard input can be read once: name `-` once among the texts".to_owned());
        }
        if stdin > 0 && is_stdin(&self.patterns) {
            return refused("standard input has the phrases: name files to search".to_owned());
        }
        Ok(output)
    }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Counts, and prints.
///
/// # Errors
/// The phrases or a text cannot be read, the meter cannot, or flags do not go together.
pub fn run(arguments: &PhrasesArguments) -> anyhow::Result<CommandStatus> {
    answer(carry_out(arguments))
}

fn carry_out(arguments: &PhrasesArguments) -> anyhow::Result<CommandStatus> {
    let output = arguments.output()?;
    let total = size_of_texts(&arguments.texts)?;
    let meter = arguments.energy.open()?;
    let list = read_patterns(&arguments.patterns)?;
    let threads = arguments.threads.unwrap_or_else(cores);
    let options = MatcherOptions {
        case: if arguments.ignore_case { Case::AsciiInsensitive } else { Case::Exact },
        words: arguments.words,
        one_sided: arguments.one_sided,
        cache_bytes: arguments.cache_bytes(),
        filter_bits: usize::from(arguments.filter_bits),
    };
    let cost = CostMeter::start(None)?;
    let matcher = Matcher::build(list, options);
    let preparation = cost.stop()?;
    let goal = match output {
        PhraseOutput::Counts => SearchGoal::Counts,
        PhraseOutput::Found => SearchGoal::Phrases,
        PhraseOutput::LineCount => SearchGoal::Lines(LineOutput::Count),
        PhraseOutput::Lines => SearchGoal::Lines(LineOutput::Write {
            out: Box::new(BufWriter::with_capacity(1 << 16, io::stdout())),
            spool: tempfile::tempfile,
        }),
    };
    // Lines on a terminal say how far it is.
    let bar = (output != PhraseOutput::Lines || !io::stdout().is_terminal()).then(|| TerminalBar::searched(total));
    let cost = CostMeter::start(meter.as_ref())?;
    let outcome = search(&matcher, inputs(&arguments.texts), goal, threads, &|bytes| {
        if let Some(bar) = &bar {
            bar.update(bytes, String::new());
        }
    });
    let cost = cost.stop()?;
    bar.iter().for_each(TerminalBar::finish);
    let outcome = match outcome {
        // The reader has what it wanted.
        Err(fawn_joule::phrases::SearchError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            return Ok(CommandStatus::Done);
        }
        outcome => outcome?,
    };
    outcome.notes.iter().for_each(|note| tell(format_args!("fawn: {note}")));
    let is_reported = arguments.json || arguments.stats;
    let report = is_reported.then(|| report(&matcher, &outcome, threads, &preparation, &cost));
    unless_closed(print(arguments, output, &matcher, &outcome, report.as_ref()))?;
    if let Some(report) = report.as_ref().filter(|_| arguments.stats) {
        tell(terminal(&report.table(columns()), CellAlignment::Left));
        report.notes.iter().for_each(|note| tell(format_args!("note: {note}")));
    }
    let is_found = match output {
        PhraseOutput::Counts => outcome.counts.iter().any(|count| *count > 0),
        PhraseOutput::Found => PhraseFindings::of(&matcher, &outcome).iter().any(|(_, count)| count > 0),
        PhraseOutput::Lines | PhraseOutput::LineCount => outcome.lines > 0,
    };
    if !is_found {
        tell(match matcher.phrases() as u64 {
            1 => "fawn: the phrase does not occur".to_owned(),
            phrases => format!("fawn: none of {} occurs", counted(phrases, "phrase", "phrases")),
        });
    }
    Ok(if is_found { CommandStatus::Done } else { CommandStatus::Missing })
}

/// Bytes of the texts, if they are files; refuses what cannot be searched before anything is.
fn size_of_texts(texts: &[PathBuf]) -> anyhow::Result<Option<u64>> {
    let mut total = Some(0);
    for text in texts {
        if is_stdin(text) {
            total = None;
            continue;
        }
        let cannot_read = || format!("cannot read {}", text.display());
        let file = fs::metadata(text).with_context(cannot_read)?;
        if file.is_dir() {
            anyhow::bail!("cannot read {}: it is a directory: name the files in it", text.display());
        }
        // A pipe is opened once: who writes into it would end when it is closed.
        if file.is_file() {
            fs::File::open(text).with_context(cannot_read)?;
        }
        total = total.filter(|_| file.is_file()).map(|total| total + file.len());
    }
    Ok(total.filter(|_| !texts.is_empty()))
}

fn read_patterns(path: &Path) -> anyhow::Result<PhraseList> {
    let name = if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() };
    let cannot_read = || format!("cannot read the phrases of {name}");
    if path.is_dir() {
        anyhow::bail!("{}: it is a directory: name a file with a phrase on each line", cannot_read());
    }
    let bytes = if is_stdin(path) {
        PhraseList::read(io::stdin().lock(), None)
    } else {
        fs::File::open(path).and_then(|file| {
            let found = file.metadata()?;
            PhraseList::read(file, found.is_file().then_some(found.len()))
        })
    };
    PhraseList::parse(bytes.with_context(cannot_read)?).with_context(cannot_read)
}

fn inputs(texts: &[PathBuf]) -> Vec<TextInput> {
    let stdin = || TextInput::Reader("standard input".to_owned(), Box::new(io::stdin()));
    if texts.is_empty() {
        return vec![stdin()];
    }
    texts.iter().map(|text| if is_stdin(text) { stdin() } else { TextInput::File(text.clone()) }).collect()
}

/// What was found of each phrase.
struct PhraseFindings<'f> {
    matcher: &'f Matcher,
    outcome: &'f SearchOutcome,
}

impl<'f> PhraseFindings<'f> {
    fn of(matcher: &'f Matcher, outcome: &'f SearchOutcome) -> Self {
        Self { matcher, outcome }
    }

    /// Each phrase in the order of the file, with its count; a phrase that may occur, of a one-sided search, has a count of 1.
    fn iter(&self) -> impl Iterator<Item = (&'f [u8], u64)> {
        let Self { matcher, outcome } = self;
        matcher.list().iter().filter_map(move |(offset, phrase)| {
            if let Some(marks) = &outcome.marks {
                return Some((phrase, u64::from(matcher.may_be_in(marks, phrase))));
            }
            let number = matcher.number_of(phrase);
            // Duplicates have the number of the first of them.
            (matcher.offset(number) == offset).then(|| (phrase, outcome.counts[number as usize]))
        })
    }
}

fn print(
    arguments: &PhrasesArguments,
    output: PhraseOutput,
    matcher: &Matcher,
    outcome: &SearchOutcome,
    report: Option<&BenchReport>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let findings = PhraseFindings::of(matcher, outcome);
    let mut phrases: Box<dyn Iterator<Item = (&[u8], u64)>> =
        Box::new(findings.iter().filter(|(_, count)| *count > 0 || arguments.zeros));
    if arguments.sort == SortOrder::Count {
        let mut sorted: Vec<_> = phrases.collect();
        sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        phrases = Box::new(sorted.into_iter());
    }
    match (output, report) {
        (PhraseOutput::Lines, _) => {}
        (PhraseOutput::LineCount, Some(report)) if arguments.json => {
            writeln!(out, "{}", json!({ "lines": outcome.lines, "report": report }))?;
        }
        (PhraseOutput::LineCount, _) => writeln!(out, "{}", outcome.lines)?,
        (PhraseOutput::Counts | PhraseOutput::Found, Some(report)) if arguments.json => {
            // Too many for a value of their own.
            write!(out, "{{\"phrases\":[")?;
            for (at, (phrase, count)) in phrases.enumerate() {
                let (name, phrase) = match str::from_utf8(phrase) {
                    Ok(text) => ("phrase", text.to_owned()),
                    Err(_) => ("phrase_base64", STANDARD.encode(phrase)),
                };
                let comma = if at > 0 { ",\n" } else { "\n" };
                match output {
                    PhraseOutput::Counts => write!(out, "{comma}{}", json!({ name: phrase, "count": count }))?,
                    _ => write!(out, "{comma}{}", json!({ name: phrase }))?,
                }
            }
            writeln!(out, "\n],\"report\":{}}}", json!(report))?;
        }
        (PhraseOutput::Counts, _) => {
            for (phrase, count) in phrases {
                write!(out, "{count}\t")?;
                write_phrase(&mut out, phrase)?;
            }
        }
        (PhraseOutput::Found, _) => {
            phrases.map(|(phrase, _)| phrase).try_for_each(|phrase| write_phrase(&mut out, phrase))?;
        }
    }
    out.flush()
}

fn write_phrase(out: &mut impl Write, phrase: &[u8]) -> io::Result<()> {
    out.write_all(phrase)?;
    out.write_all(b"\n")
}
