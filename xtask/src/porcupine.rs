//! Our linearizability checker and [Porcupine](https://github.com/anishathalye/porcupine) on the same random histories:
//! `cargo xtask porcupine [--histories N] [--from SEED]`, or `--seed N` for one history, which is shown.
//!
//! Porcupine is another algorithm's code by other people, and its model of the key (`tests/porcupine`) is written from
//! the words of ours. Of a history that is wrong the shortest wrong prefix is compared, too: Porcupine must find it wrong,
//! and the prefix that is one line shorter right.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use fawn_check::generate::history;
use fawn_check::{Verdict, check};

use crate::command::PorcupineArguments;
use crate::ended::TaskEnd;
use crate::process::root;
use crate::tell::say;

/// Most operations of a history: small ones, in which every order can be wrong, and longer ones.
const SIZES: [u64; 4] = [6, 10, 20, 60];

/// Of so many histories at most one may be too hard for either.
const UNDECIDED: usize = 20;

/// What a text is, where it is counted.
const HISTORY: &str = "the history";
const PREFIX: &str = "the shortest wrong prefix";

/// A text to be judged, and what is expected.
struct Question {
    seed: u64,
    /// What it is.
    what: &'static str,
    text: String,
    ours: Verdict,
}

/// What came of it.
#[derive(Default)]
struct HistoryCounts {
    kinds: BTreeMap<String, KindVerdicts>,
    right: usize,
    /// Of those, the ones that are not as they were drawn.
    right_though_changed: usize,
    wrong: usize,
    prefixes: usize,
    undecided: usize,
}

/// What both say of the histories that have an operation of one kind.
#[derive(Default)]
struct KindVerdicts {
    right: usize,
    wrong: usize,
    /// Of those, the ones whose shortest wrong prefix ends with the operation's outcome.
    last: usize,
}

impl HistoryCounts {
    /// Takes note that both say of a text that it is right or wrong.
    fn agree(&mut self, what: &'static str, text: &str, right: bool) {
        // TIME, "invoke" or "complete", NUMBER, ID, and what it is.
        let lines = || text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let invoked =
            lines().filter(|words| words[1] == "invoke").map(|words| (words[2].to_owned(), words[4].to_owned()));
        match what {
            HISTORY => {
                for kind in invoked.map(|(_, kind)| kind).collect::<BTreeSet<_>>() {
                    let count = self.kinds.entry(kind).or_default();
                    *(if right { &mut count.right } else { &mut count.wrong }) += 1;
                }
            }
            PREFIX => {
                self.prefixes += 1;
                let last = lines().next_back().expect("a prefix that is wrong has a line");
                let kind = { invoked }.find(|(number, _)| number == last[2]).map(|(_, kind)| kind);
                self.kinds.entry(kind.expect("what completes was invoked")).or_default().last += 1;
            }
            _ => {}
        }
    }
}

/// Runs what the arguments say.
pub fn run_task(arguments: &PorcupineArguments) -> anyhow::Result<()> {
    let PorcupineArguments { histories, from, seed } = *arguments;
    let (from, histories, shown) = seed.map_or((from, histories, false), |seed| (seed, 1, true));
    let Some(end) = from.checked_add(histories) else {
        return Err(TaskEnd::Usage("--from or --seed leaves too few seeds: give a smaller one".to_owned()).into());
    };
    let program = build()?;
    let mut counts = HistoryCounts::default();
    let mut questions = Vec::new();
    for seed in from..end {
        ask(seed, &mut questions, &mut counts)?;
    }
    let verdicts = judge(&program, &questions)?;
    if shown {
        for (Question { what, text, ours, .. }, verdict) in questions.iter().zip(&verdicts) {
            say(format_args!("{what}\n{text}ours: {ours:?}\nPorcupine: {verdict}\n"))?;
        }
    }
    compare(&questions, &verdicts, &mut counts)?;
    let HistoryCounts { kinds, right, right_though_changed, wrong, prefixes, undecided } = counts;
    say(format_args!("histories       {histories:>8}  seeds {from}..{end}"))?;
    say(format_args!("linearizable    {right:>8}  ({right_though_changed} of them changed after they were drawn)"))?;
    say(format_args!("not             {wrong:>8}  ({prefixes} with the same shortest wrong prefix)"))?;
    say(format_args!("undecided       {undecided:>8}  by one of the two"))?;
    say(format_args!("Porcupine says the same of all others:"))?;
    say(format_args!("with            linearizable     not  where its outcome is the first that is wrong"))?;
    for (kind, KindVerdicts { right, wrong, last }) in kinds {
        say(format_args!("{kind:<12}        {right:>8}{wrong:>8}{last:>8}"))?;
    }
    if undecided > 1 + histories as usize / UNDECIDED {
        bail!("too many histories are too hard to draw a conclusion");
    }
    if histories >= 100 && right.min(wrong) < histories as usize / 4 {
        bail!("too few histories of one kind to draw a conclusion");
    }
    Ok(())
}

/// Draws a history, judges it, and adds what Porcupine is to be asked.
fn ask(seed: u64, questions: &mut Vec<Question>, counts: &mut HistoryCounts) -> anyhow::Result<()> {
    let (history, changed) = history(seed, SIZES[(seed % SIZES.len() as u64) as usize]);
    let (text, ours) = (history.to_text(), check(&history));
    match &ours {
        Verdict::Linearizable => {
            counts.right += 1;
            counts.right_though_changed += usize::from(changed);
        }
        Verdict::NotLinearizable { prefix, .. } => {
            if !changed {
                bail!("seed {seed}: our checker rejects the history of a real register\n{text}{ours:?}");
            }
            counts.wrong += 1;
            let lines = |count: usize| text.split_inclusive('\n').take(count).collect::<String>();
            let question = |what, text, ours| Question { seed, what, text, ours };
            questions.push(question(PREFIX, lines(*prefix), ours.clone()));
            questions.push(question("one line less", lines(*prefix - 1), Verdict::Linearizable));
        }
        Verdict::TooHard => {}
    }
    questions.push(Question { seed, what: HISTORY, text, ours });
    Ok(())
}

/// Builds the Go program; returns its path.
fn build() -> anyhow::Result<PathBuf> {
    if Command::new("go").arg("version").stdout(Stdio::null()).status().is_err() {
        bail!("Go is not installed: sudo apt-get install golang-go");
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let program = target.join("porcupine");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg(".").current_dir(root().join("tests/porcupine"));
    if !build.status().context("cannot start go")?.success() {
        bail!("`go build` fails in tests/porcupine");
    }
    Ok(program)
}

/// Porcupine's verdicts: `ok`, `illegal` or `unknown`.
fn judge(program: &PathBuf, questions: &[Question]) -> anyhow::Result<Vec<String>> {
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (mut input, output) = (child.stdin.take().context("no input")?, child.stdout.take().context("no output")?);
    let (sent, verdicts) = std::thread::scope(|scope| {
        let send =
            scope.spawn(move || questions.iter().try_for_each(|Question { text, .. }| writeln!(input, "{text}end")));
        let verdicts: Result<Vec<String>, _> = BufReader::new(output).lines().collect();
        (send.join(), verdicts)
    });
    let status = child.wait()?;
    let is_sent = matches!(sent, Ok(Ok(())));
    let verdicts = verdicts?;
    if !is_sent || !status.success() || verdicts.len() != questions.len() {
        bail!("tests/porcupine fails: {status}, {} verdicts of {} histories", verdicts.len(), questions.len());
    }
    Ok(verdicts)
}

/// Fails when the two do not say the same.
fn compare(questions: &[Question], verdicts: &[String], counts: &mut HistoryCounts) -> anyhow::Result<()> {
    let mut differ = 0;
    for (Question { seed, what, text, ours }, verdict) in questions.iter().zip(verdicts) {
        match (ours, verdict.as_str()) {
            (Verdict::Linearizable, "ok") => counts.agree(what, text, true),
            (Verdict::NotLinearizable { .. }, "illegal") => counts.agree(what, text, false),
            (Verdict::TooHard, _) | (_, "unknown") => counts.undecided += 1,
            _ => {
                differ += 1;
                say(format_args!("seed {seed}, {what}:\n{text}ours: {ours:?}\nPorcupine: {verdict}\n"))?;
            }
        }
    }
    if differ > 0 {
        bail!("{differ} verdicts differ: show one with cargo xtask porcupine --seed N");
    }
    Ok(())
}
