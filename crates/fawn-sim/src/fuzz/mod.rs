//! Every decoder on bytes that nobody wrote: no panic, no more memory than the bytes justify, and what each target
//! promises besides.
//!
//! Coverage-guided fuzzers need a nightly compiler; this one runs on any machine. What it lacks in guidance it makes up
//! in knowledge of the formats: it starts from valid encodings, damages and splices them ([`mutate`]), and then mends
//! checksums, so that damage gets past them ([`Target::mend`]).
//!
//! An execution is wholly determined by the target, the seed and the execution's number, so that one that fails is
//! found again by itself. An input is a list of parts, whose meaning is the target's: the pages of a file, the pieces in
//! which a connection's bytes arrive.
//!
//! # Layout
//!
//! * `target`: what a target is. [`generate`]: any value of a type that serde can read. [`mutate`]: damage.
//! * [`pages`]: a flash of one file, made of an input's parts.
//! * `messages` (targets `message` and `operation`), `oversize`, `managers`, `sessions`, `log`, `manifest`, `segment`, `record`,
//!   `writes`: the targets, each named as one of what it decodes. `hostile`: a node and a front-end that take messages with
//!   whatever they say. `strangers`: a manager that hears those who are no members. `peers`: a whole cluster at work, in which
//!   single fields of messages are changed on their way ([`edit`]).
//! * `traces`: readers of block traces, a target each, and of the kernel's events. `recordings`: of recordings, as samples
//!   and as a node's trace. `counters`: of `/proc` and control groups. `designs`: of what people write for surveys and
//!   simulators. `pieces`: an input that arrives in pieces. `commands`: Redis's protocol, of a client and of a server.
//!   `snapshots`: Redis's files.
//!   `http`: requests of HTTP.

mod commands;
mod counters;
mod designs;
mod edit;
pub mod generate;
mod hostile;
mod http;
mod log;
mod managers;
mod manifest;
mod messages;
pub mod mutate;
mod oversize;
pub mod pages;
mod peers;
mod pieces;
mod record;
mod recordings;
mod segment;
mod sessions;
mod snapshots;
mod strangers;
mod target;
#[cfg(test)]
mod tests;
mod traces;
mod writes;

use std::fmt::{self, Write as _};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fawn_check::random::Random;

use crate::quiet::said;

pub use target::{Input, Target};

/// All targets.
pub const TARGETS: &[&dyn Target] = &[
    &messages::Messages,
    &messages::Operations,
    &oversize::OversizeFrames,
    &commands::Commands,
    &commands::Replies,
    &snapshots::Snapshots,
    &http::Requests,
    &managers::Managers,
    &sessions::Sessions,
    &log::CommitLog,
    &manifest::ManifestFile,
    &record::Records,
    &segment::Segments,
    &writes::Writes,
    &hostile::Hostile,
    &strangers::Strangers,
    &peers::Peers,
    &traces::READERS[0],
    &traces::READERS[1],
    &traces::READERS[2],
    &traces::READERS[3],
    &traces::READERS[4],
    &traces::READERS[5],
    &traces::READERS[6],
    &traces::READERS[7],
    &traces::READERS[8],
    &traces::READERS[9],
    &traces::READERS[10],
    &traces::BlockEventLines,
    &recordings::Recordings,
    &recordings::NodeTraces,
    &counters::Counters,
    &designs::SurveyFiles,
    &designs::Ratings,
    &designs::Catalogues,
    &designs::FlashFiles,
    &designs::DiskFiles,
];

/// Runs a closure and tells how many bytes it held at most.
pub type Measure = dyn Fn(&mut dyn FnMut()) -> u64;

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The target.
    pub target: &'static str,
    /// The seed.
    pub seed: u64,
    /// The number of the execution.
    pub number: u64,
    /// What is wrong.
    pub what: String,
    /// The input, as [`to_hex`] writes it.
    pub hex: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, seed, number, what, hex } = self;
        writeln!(f, "{target}: {what}\ninput: {hex}")?;
        write!(f, "again: cargo xtask fuzz --target {target} --seed {seed} --from {number} --executions 1")
    }
}

impl std::error::Error for Failure {}

/// How many executions share a set of valid inputs.
const ROUND: u64 = 1 << 16;

/// Valid inputs of a round.
const SEEDS: usize = 256;

/// Of so many executions one gets a valid input as it is.
const UNTOUCHED: u64 = 32;

/// One target's inputs, by their numbers.
pub struct Inputs<'t> {
    target: &'t dyn Target,
    seed: u64,
    round: Option<u64>,
    valid: Vec<Input>,
}

impl<'t> Inputs<'t> {
    /// The inputs of `seed`.
    pub fn new(target: &'t dyn Target, seed: u64) -> Self {
        Self { target, seed, round: None, valid: Vec::new() }
    }

    /// The input of execution `number`.
    pub fn at(&mut self, number: u64) -> Input {
        let round = number / ROUND;
        if self.round != Some(round) {
            let mut random = Random::new(Random::new(self.seed ^ round.rotate_left(40)).word());
            self.valid = (0..SEEDS).map(|_| self.target.valid(&mut random)).collect();
            self.round = Some(round);
        }
        let mut random = Random::new(Random::new(self.seed).word() ^ number.rotate_left(20));
        let mut input = random.pick(&self.valid).clone();
        if !random.chance(1, UNTOUCHED) {
            mutate::mutate(&mut random, &mut input, &self.valid);
            self.target.mend(&mut random, &mut input);
        }
        input
    }
}

/// Runs the executions `numbers` of `seed`. `about_to` is told each number before it runs, for failures that end the
/// process.
///
/// # Errors
/// The first [`Failure`].
pub fn run(
    target: &dyn Target,
    seed: u64,
    numbers: Range<u64>,
    measure: &Measure,
    about_to: &mut dyn FnMut(u64),
) -> Result<(), Box<Failure>> {
    let mut inputs = Inputs::new(target, seed);
    for number in numbers {
        let input = inputs.at(number);
        about_to(number);
        if let Err(what) = execute(target, &input, measure) {
            let hex = to_hex(&input);
            return Err(Box::new(Failure { target: target.name(), seed, number, what, hex }));
        }
    }
    Ok(())
}

/// Runs one input. Whether anything of it was decoded; a refusal is as right an answer.
///
/// # Errors
/// What is wrong.
pub fn execute(target: &dyn Target, input: &Input, measure: &Measure) -> Result<bool, String> {
    let mut outcome = Ok(false);
    let held = measure(&mut || outcome = catch_unwind(AssertUnwindSafe(|| target.execute(input))));
    let decoded = outcome.map_err(|panic| format!("it panics: {}", said(panic.as_ref())))?;
    let most = target.most_bytes(input);
    if held > most {
        return Err(format!("it holds {held} bytes, {most} at most are justified"));
    }
    Ok(decoded)
}

/// An input as text: the parts' bytes in hexadecimal digits, apart by dots.
pub fn to_hex(input: &Input) -> String {
    let mut text = String::new();
    for (n, part) in input.iter().enumerate() {
        text.push_str(if n == 0 { "" } else { "." });
        for byte in part {
            write!(text, "{byte:02x}").expect("text takes text");
        }
    }
    text
}

/// The input that `text` is; `None` when it is none.
pub fn from_hex(text: &str) -> Option<Input> {
    let part = |part: &str| {
        let digits: Option<Vec<u8>> = part.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
        let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
        Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
    };
    text.split('.').map(part).collect()
}
