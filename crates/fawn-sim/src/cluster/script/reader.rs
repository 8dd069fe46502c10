//! Reads scripts. Whatever cannot be meant is refused, with its line and word: a run that is not the one that was asked for
//! teaches something wrong.

use std::str::FromStr;

use crate::cluster::faults::action::FaultAction;
use crate::cluster::script::lexer::{Lexer, number};
use crate::cluster::script::plan::Plan;
use crate::cluster::script::settings::{self, MOST_US, set};
use crate::cluster::script::{Script, TOLD};
use crate::cluster::trace::formatter;
use crate::cluster::trace::show::Show;

/// What has been read, and where what can only be judged at the end.
struct Reading {
    script: Script,
    actions: Vec<(usize, u64, FaultAction)>,
    plan_line: usize,
    /// The last line about what is told, without saying of what.
    narrows: Option<(usize, &'static str)>,
}

impl FromStr for Script {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let script = Self { seed: 0, plan: Plan::plain(), actions: Vec::new(), show: Show::default() };
        let mut reading = Reading { script, actions: Vec::new(), plan_line: 0, narrows: None };
        for (at, line) in (1..).zip(text.lines().take_while(|line| line.trim() != TOLD)) {
            let line = line.split('#').next().unwrap_or_default().trim();
            reading.line(at, line).map_err(|error| on(at, &error))?;
        }
        reading.end()
    }
}

fn on(line: usize, error: &str) -> String {
    format!("line {line}: {error}")
}

impl Reading {
    fn line(&mut self, at: usize, line: &str) -> Result<(), String> {
        let mut words = Lexer::of(line);
        let Some(name) = words.next() else { return Ok(()) };
        let Script { seed, plan, show, .. } = &mut self.script;
        match name {
            "seed" => *seed = words.number("seed", 0..=u64::MAX)?,
            "plan" => {
                each(&mut words, "a setting", |setting| set(plan, setting))?;
                self.plan_line = at;
            }
            "show" => each(&mut words, "a kind of message", |name| {
                show.names.insert(formatter::kind(name)?);
                Ok(())
            })?,
            "only" => {
                each(&mut words, "a range", |word| {
                    let digits = word.strip_prefix('r').unwrap_or_default();
                    let range =
                        number(digits, "", 0..=u64::MAX).map_err(|_| format!("`{word}` is no range such as r7"))?;
                    show.ranges.insert(format!("r{range}"));
                    Ok(())
                })?;
                self.narrows = Some((at, "only"));
            }
            "from" => {
                show.from_us = words.number("time in microseconds", 0..=MOST_US)?;
                self.narrows = Some((at, "from"));
            }
            "at" => {
                let at_us = words.number("time in microseconds", 0..=MOST_US)?;
                let action: Vec<&str> = std::iter::from_fn(|| words.next()).collect();
                self.actions.push((at, at_us, action.join(" ").parse()?));
            }
            other => return Err(format!("no line begins with `{other}`")),
        }
        words.end()
    }

    /// Whether all of it goes together, and all that the actions name is there.
    fn end(self) -> Result<Script, String> {
        let Self { mut script, mut actions, plan_line, narrows } = self;
        settings::check(&script.plan).map_err(|error| on(plan_line, &error))?;
        let until_us = script.plan.faults_us;
        if let Some((line, name)) = narrows {
            if script.show.names.is_empty() {
                return Err(on(line, &format!("`{name}` without `show` tells nothing")));
            }
            if script.show.from_us >= until_us {
                return Err(on(line, &format!("nothing is told from {} on: until={until_us}", script.show.from_us)));
            }
        }
        actions.sort_by_key(|(_, at_us, _)| *at_us);
        for (line, at_us, action) in actions {
            if at_us >= until_us && action != FaultAction::Nothing {
                return Err(on(line, &format!("`{action}` at {at_us} comes too late: until={until_us}")));
            }
            action.check(&script.plan).map_err(|error| on(line, &format!("`{action}`: {error}")))?;
            script.actions.push((at_us, action));
        }
        Ok(script)
    }
}

/// Reads all words that are left, of which there are some.
fn each(words: &mut Lexer<'_>, what: &str, mut read: impl FnMut(&str) -> Result<(), String>) -> Result<(), String> {
    read(words.word(what)?)?;
    while let Some(word) = words.next() {
        read(word)?;
    }
    Ok(())
}
