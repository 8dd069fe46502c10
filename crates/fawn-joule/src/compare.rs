//! Machines beside each other: who does how much more of which work for a joule, and how sure that is.

use std::collections::{BTreeMap, BTreeSet};

use fawn_report::amount::{digits, percent};
use fawn_report::chart::{Axis, Chart, Row};
use fawn_report::{BenchReport, TextTable, csv};
use serde_json::{Value, json};

use crate::headline::{Headline, HeadlineKey, amount, headlines};
use crate::measure::EfficiencyKind;
use crate::page::{PageOrigin, SuitePage};
use crate::results::SuiteResults;

/// What the charts of a group are headed by, in the order of [`HeadlineKey`].
const GROUPS: [&str; 7] =
    ["Sorting", "Counting phrases", "Digests", "Signatures", "Matrix product", "Integer work", "Key-value queries"];

/// Machines beside each other.
#[derive(Clone, Debug)]
pub struct MachineComparison {
    /// Their names.
    machines: Vec<String>,
    /// All work that two of them did at least.
    rows: Vec<ComparedWork>,
    notes: Vec<String>,
}

/// Work that machines have in common.
#[derive(Clone, Debug)]
struct ComparedWork {
    key: HeadlineKey,
    /// By machine.
    figures: Vec<Option<Headline>>,
    winner: WorkWinner,
}

/// Who does more.
#[derive(Clone, Copy, Debug, PartialEq)]
enum WorkWinner {
    /// A machine does, so many times as much as the next.
    Best {
        machine: usize,
        times: f64,
        /// Whether the errors of the meters leave that open; `None`: they are not known.
        is_open: Option<bool>,
    },
    /// Their joules are of different kinds.
    Kinds,
}

impl MachineComparison {
    /// Compares machines by what at least two of them have done.
    pub fn of(all: &[SuiteResults]) -> Self {
        let figures: Vec<BTreeMap<HeadlineKey, Headline>> = all.iter().map(headlines).collect();
        let keys: BTreeSet<&HeadlineKey> = figures.iter().flat_map(BTreeMap::keys).collect();
        let (mut rows, mut alone) = (Vec::new(), 0);
        for key in keys {
            let figures: Vec<Option<Headline>> = figures.iter().map(|of| of.get(key).copied()).collect();
            match WorkWinner::of(&figures) {
                Some(winner) => rows.push(ComparedWork { key: key.clone(), figures, winner }),
                None => alone += 1,
            }
        }
        let machines = names(all);
        let notes = notes(all, &machines, &rows, alone);
        Self { machines, rows, notes }
    }

    /// Whether nothing can be compared.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What there is to say.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A row for each work, a column for each machine.
    pub fn table(&self) -> TextTable {
        let head = ["work", "counted in"].map(str::to_owned).into_iter();
        let head = head.chain(self.machines.iter().cloned()).chain(["does more".to_owned()]);
        let rows = self.rows.iter().map(|row| {
            let cells = [row.key.work.clone(), row.unit()].into_iter();
            cells.chain(row.figures.iter().map(|figure| row.cell(figure.as_ref()))).chain([self.winner(row)]).collect()
        });
        TextTable { head: head.collect(), rows: rows.collect(), text: vec![0, 1, self.machines.len() + 2] }
    }

    /// Who does more, as a cell of the table.
    fn winner(&self, row: &ComparedWork) -> String {
        match row.winner {
            WorkWinner::Kinds => "-".to_owned(),
            WorkWinner::Best { machine, times, is_open } => {
                let open = if is_open == Some(true) { ", within the meters' error" } else { "" };
                format!("{}, {} times{open}", self.machines[machine], digits(times))
            }
        }
    }

    /// The comparison as rows of figures.
    pub fn report(&self) -> BenchReport {
        let mut report = BenchReport::new("joule compare");
        report.parameter("machines", json!(self.machines));
        for row in &self.rows {
            let figures = self.machines.iter().zip(&row.figures).map(|(machine, figure)| match figure {
                None => json!({ "machine": machine, "value": null }),
                Some(figure) => json!({
                    "machine": machine,
                    "value": figure.value,
                    "per": figure.kind.unit(),
                    "uncertainty_share": figure.uncertainty_share,
                    "a_cpu_second": figure.a_cpu_second,
                    "a_second": figure.a_second,
                }),
            });
            let figures: Vec<Value> = figures.collect();
            let (best, times, is_open) = match row.winner {
                WorkWinner::Best { machine, times, is_open } => (Some(&self.machines[machine]), Some(times), is_open),
                WorkWinner::Kinds => (None, None, None),
            };
            report.row(json!({
                "work": row.key.work, "unit": row.key.unit, "figures": figures,
                "best": best, "times": times, "within_uncertainty": is_open,
            }));
        }
        report.notes.clone_from(&self.notes);
        report
    }

    /// The figures as comma-separated values, a line for each machine and work.
    pub fn csv(&self) -> String {
        let mut out = csv::line(["work", "unit", "machine", "value", "per", "uncertainty_share"]);
        for row in &self.rows {
            for (machine, figure) in self.machines.iter().zip(&row.figures) {
                let Some(figure) = figure else { continue };
                let share = figure.uncertainty_share.map_or_else(String::new, |share| share.to_string());
                let value = figure.value.to_string();
                out += &csv::line([&row.key.work, row.key.unit, machine, &value, figure.kind.unit(), &share]);
            }
        }
        out
    }

    /// A page with a chart for each kind of work.
    pub fn page(&self, origin: &PageOrigin) -> String {
        let about = "Bars show the work of each machine for each joule, or for each second of CPU time, as a share of the \
                     machine that does most.";
        let mut page = SuitePage::new("Machines beside each other", about, origin);
        for (place, title) in (0..).zip(GROUPS) {
            let bars: Vec<Row> =
                self.rows.iter().filter(|row| row.key.place.0 == place).flat_map(|row| self.bars(row)).collect();
            let axis = Axis::linear("percent", "% of the best machine");
            let chart = Chart::groups(title, "work", "machine", axis).coloured(&self.machines);
            page.chart(&chart, (&bars, ""), (&[], ""));
        }
        page.table("Figures", &self.table());
        page.notes(&self.notes);
        page.finish()
    }

    /// A bar for each machine, if they can be compared.
    fn bars(&self, row: &ComparedWork) -> Vec<Row> {
        let WorkWinner::Best { machine, .. } = row.winner else { return Vec::new() };
        let most = row.figures[machine].map_or(0.0, |figure| figure.value);
        let bars = self.machines.iter().zip(&row.figures).filter_map(|(machine, figure)| {
            let percent = 100.0 * figure.as_ref()?.value / most;
            let bar = json!({ "work": row.key.work, "machine": machine, "percent": percent });
            bar.as_object().cloned()
        });
        bars.collect()
    }
}

impl WorkWinner {
    /// Of figures by machine; `None`: fewer than two machines have one.
    fn of(figures: &[Option<Headline>]) -> Option<Self> {
        let mut known: Vec<(usize, Headline)> =
            figures.iter().enumerate().filter_map(|(at, figure)| Some((at, (*figure)?))).collect();
        if known.len() < 2 {
            return None;
        }
        if known.iter().any(|(_, figure)| figure.kind != known[0].1.kind) {
            return Some(Self::Kinds);
        }
        known.sort_by(|(_, a), (_, b)| b.value.total_cmp(&a.value));
        let ((machine, first), (_, next)) = (known[0], known[1]);
        let share = |figure: Headline| figure.uncertainty_share.map(|share| share.min(1.0));
        let is_open = share(first)
            .zip(share(next))
            .map(|(of_first, of_next)| first.value * (1.0 - of_first) <= next.value * (1.0 + of_next));
        Some(Self::Best { machine, times: first.value / next.value, is_open })
    }
}

impl ComparedWork {
    /// What the figures count, and for each of what, if that is the same for all.
    fn unit(&self) -> String {
        let kind = self.figures.iter().flatten().next().map_or("J", |figure| figure.kind.unit());
        match self.winner {
            WorkWinner::Best { .. } => format!("{} per {kind}", self.key.unit),
            WorkWinner::Kinds => self.key.unit.to_owned(),
        }
    }

    /// A figure, with how far it may be off, and with its kind where the others' differ.
    fn cell(&self, figure: Option<&Headline>) -> String {
        let Some(figure) = figure else { return "-".to_owned() };
        let kind = match self.winner {
            WorkWinner::Kinds => format!(" per {}", figure.kind.unit()),
            WorkWinner::Best { .. } => String::new(),
        };
        let error = figure.uncertainty_share.map_or_else(String::new, |share| format!(" ± {}", percent(share)));
        format!("{}{kind}{error}", amount(figure.value))
    }
}

/// The machines' names, numbered where several have the same.
fn names(all: &[SuiteResults]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for results in all {
        let name = |number: usize| match number {
            1 => results.machine.clone(),
            _ => format!("{} ({number})", results.machine),
        };
        let free = (1..=all.len()).map(name).find(|name| !names.contains(name));
        names.push(free.expect("some number is free"));
    }
    names
}

fn notes(all: &[SuiteResults], machines: &[String], rows: &[ComparedWork], alone: usize) -> Vec<String> {
    let mut notes: Vec<String> = all
        .iter()
        .zip(machines)
        .map(|(results, machine)| {
            format!("{machine}: {}, measured on {} by {}", results.processor, results.date, results.program)
        })
        .collect();
    let figures = || rows.iter().flat_map(|row| row.figures.iter().flatten());
    if rows.iter().any(|row| row.winner == WorkWinner::Kinds) {
        notes.push("joules that were measured, modelled and read by hand are not compared with each other".to_owned());
    }
    if figures().any(|figure| figure.kind == EfficiencyKind::CpuSecond) {
        notes.push("work per CPU second says nothing of joules: a machine with fast cores may draw more".to_owned());
    }
    if figures().any(|figure| figure.kind == EfficiencyKind::Modelled) {
        notes.push("modelled joules are what a model of the machine says, not what an instrument measured".to_owned());
    }
    if alone > 0 {
        let what =
            fawn_report::amount::counted(alone as u64, "figure of one machine has", "figures of one machine have");
        notes.push(format!("{what} no other beside it, and are left out"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::tests::machine;

    #[test]
    fn the_machine_that_does_more_is_named_with_how_much_more() {
        let all = [machine("board", 1.0, Some(("", 2.0))), machine("server", 3.0, Some(("", 1.0)))];
        let comparison = MachineComparison::of(&all);
        let table = comparison.table();
        assert_eq!(table.head, ["work", "counted in", "board", "server", "does more"]);
        let sort = &table.rows[0];
        assert_eq!(sort[..2], ["sort 1,000 records", "records per J"].map(str::to_owned));
        assert_eq!(sort[2..4], ["10,000,000 ± 10 %", "15,000,000 ± 10 %"].map(str::to_owned));
        assert_eq!(sort[4], "server, 1.5 times");
        let near = MachineComparison::of(&[machine("a", 1.0, Some(("", 1.0))), machine("b", 1.1, Some(("", 1.0)))]);
        assert_eq!(near.table().rows[0][4], "b, 1.1 times, within the meters' error");
        assert_eq!(near.report().rows[0]["within_uncertainty"], true);
    }

    #[test]
    fn joules_of_different_kinds_stand_beside_each_other_with_their_marks_and_nobody_wins() {
        let all = [machine("board", 1.0, Some(("modelled_", 2.0))), machine("board", 3.0, Some(("", 1.0)))];
        let comparison = MachineComparison::of(&all);
        let sort = &comparison.table().rows[0];
        assert_eq!(
            sort[1..],
            ["records", "10,000,000 per modelled J ± 10 %", "15,000,000 per J ± 10 %", "-"].map(str::to_owned)
        );
        assert!(comparison.notes().iter().any(|note| note.contains("not compared with each other")));
        let report = comparison.report();
        assert_eq!((&report.rows[0]["best"], &report.rows[0]["times"]), (&Value::Null, &Value::Null));
        assert_eq!(report.parameters["machines"], json!(["board", "board (2)"]));
        assert!(comparison.csv().contains("sort 1,000 records\",records,board,10000000,modelled J,0.1\n"));
    }

    #[test]
    fn without_meters_machines_are_compared_by_cpu_seconds_and_what_one_alone_did_is_left_out() {
        let mut other = machine("b", 0.5, None);
        other.reports.truncate(1);
        let comparison = MachineComparison::of(&[machine("a", 1.0, None), other]);
        assert_eq!(comparison.rows.len(), 1);
        assert_eq!(
            comparison.table().rows[0][1..],
            ["records per CPU-s", "5,000,000", "2,500,000", "a, 2 times"].map(str::to_owned)
        );
        assert!(
            comparison.notes().iter().any(|note| note.contains("4 figures of one machine have no other beside it"))
        );
        let origin =
            PageOrigin { machine: String::new(), program: String::new(), command: String::new(), date: String::new() };
        let page = comparison.page(&origin);
        assert!(page.contains("<svg") && page.contains("Sorting") && page.contains("does more"), "{page}");
        assert!(MachineComparison::of(&[machine("a", 1.0, None)]).is_empty());
    }
}
