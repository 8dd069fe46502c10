//! Machines beside each other: who does how much more of which work for a joule, and how sure that is.

use std::collections::{BTreeMap, BTreeSet};

use fawn_report::amount::{digits, percent};
use fawn_report::chart::{Axis, Chart, Row};
use fawn_report::{BenchReport, Scope, TextTable, csv};
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
#[derive(Clone, Debug, PartialEq)]
enum WorkWinner {
    /// A machine does.
    Best {
        machine: usize,
        /// So many times as much as the next; `None`: all others do none.
        times: Option<f64>,
        /// Whether the errors of the meters leave that open; `None`: they are not known.
        is_open: Option<bool>,
    },
    /// These machines do the same, and no other does more.
    Equal(Vec<usize>),
    /// Their joules are of different kinds, or cover different parts of the machines.
    Unlike,
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
        match &row.winner {
            WorkWinner::Unlike => "-".to_owned(),
            WorkWinner::Equal(machines) if machines.len() == row.known() => "equal".to_owned(),
            WorkWinner::Equal(machines) => {
                let names: Vec<&str> = machines.iter().map(|machine| self.machines[*machine].as_str()).collect();
                format!("{}, equal", names.join(" and "))
            }
            WorkWinner::Best { machine, times, is_open } => {
                let open = if *is_open == Some(true) { ", within the meters' error" } else { "" };
                let times =
                    times.map_or_else(|| "no other does any".to_owned(), |times| format!("{} times", digits(times)));
                format!("{}, {times}{open}", self.machines[*machine])
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
                    "scope": figure.scope.map(Scope::name),
                    "uncertainty_share": figure.uncertainty_share,
                    "a_cpu_second": figure.a_cpu_second,
                    "a_second": figure.a_second,
                }),
            });
            let figures: Vec<Value> = figures.collect();
            let (best, times, is_open) = match &row.winner {
                WorkWinner::Best { machine, times, is_open } => (Some(&self.machines[*machine]), *times, *is_open),
                WorkWinner::Equal(_) => (None, Some(1.0), None),
                WorkWinner::Unlike => (None, None, None),
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
        let mut out = csv::line(["work", "unit", "machine", "value", "per", "uncertainty_share", "scope"]);
        for row in &self.rows {
            for (machine, figure) in self.machines.iter().zip(&row.figures) {
                let Some(figure) = figure else { continue };
                let share = figure.uncertainty_share.map_or_else(String::new, |share| share.to_string());
                let value = figure.value.to_string();
                let scope = figure.scope.map_or("", Scope::name);
                out += &csv::line([&row.key.work, row.key.unit, machine, &value, figure.kind.unit(), &share, scope]);
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
        if row.winner == WorkWinner::Unlike {
            return Vec::new();
        }
        let most = row.figures.iter().flatten().fold(0.0, |most, figure| figure.value.max(most));
        if most == 0.0 {
            return Vec::new();
        }
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
        let (_, one) = known[0];
        if known.iter().any(|(_, figure)| (figure.kind, figure.scope) != (one.kind, one.scope)) {
            return Some(Self::Unlike);
        }
        known.sort_by(|(_, a), (_, b)| b.value.total_cmp(&a.value));
        let ((machine, first), (_, next)) = (known[0], known[1]);
        // What people are shown as once as much is no more.
        let is_same = |value: f64| value.total_cmp(&first.value).is_eq() || digits(first.value / value) == "1";
        if is_same(next.value) {
            let mut machines: Vec<usize> =
                known.iter().filter(|(_, figure)| is_same(figure.value)).map(|(machine, _)| *machine).collect();
            machines.sort_unstable();
            return Some(Self::Equal(machines));
        }
        let share = |figure: Headline| figure.uncertainty_share.map(|share| share.min(1.0));
        let is_open = share(first)
            .zip(share(next))
            .map(|(of_first, of_next)| first.value * (1.0 - of_first) <= next.value * (1.0 + of_next));
        let times = (next.value > 0.0).then(|| first.value / next.value);
        Some(Self::Best { machine, times, is_open })
    }
}

impl ComparedWork {
    /// How many machines have a figure.
    fn known(&self) -> usize {
        self.figures.iter().flatten().count()
    }

    /// What the figures count, and for each of what, if that is the same for all.
    fn unit(&self) -> String {
        match self.figures.iter().flatten().next() {
            Some(figure) if self.winner != WorkWinner::Unlike => format!("{} per {}", self.key.unit, divisor(figure)),
            _ => self.key.unit.to_owned(),
        }
    }

    /// A figure, with how far it may be off, and with its kind and scope where the others' differ.
    fn cell(&self, figure: Option<&Headline>) -> String {
        let Some(figure) = figure else { return "-".to_owned() };
        let each = if self.winner == WorkWinner::Unlike { format!(" per {}", divisor(figure)) } else { String::new() };
        let error = figure.uncertainty_share.map_or_else(String::new, |share| format!(" ± {}", percent(share)));
        format!("{}{each}{error}", amount(figure.value))
    }
}

/// `J (wall)`, `modelled J (package)`, `CPU-s`.
fn divisor(figure: &Headline) -> String {
    let scope = figure.scope.map_or_else(String::new, |scope| format!(" ({})", scope.name()));
    format!("{}{scope}", figure.kind.unit())
}

/// The machines' names, numbered where several have the same.
fn names(all: &[SuiteResults]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for results in all {
        let machine = if results.machine.trim().is_empty() { "unnamed machine" } else { &results.machine };
        let name = |number: usize| match number {
            1 => machine.to_owned(),
            _ => format!("{machine} ({number})"),
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
    let differ = |is_other: fn(&Headline, &Headline) -> bool| {
        rows.iter().any(|row| {
            let mut figures = row.figures.iter().flatten();
            figures.next().is_some_and(|first| figures.any(|figure| is_other(first, figure)))
        })
    };
    if differ(|first, figure| first.kind != figure.kind) {
        notes.push("joules that were measured, modelled and read by hand are not compared with each other".to_owned());
    }
    if differ(|first, figure| first.kind == figure.kind && first.scope != figure.scope) {
        notes.push("joules of different scopes (package, board, wall) are not compared with each other".to_owned());
    }
    let has_unknown_error = |row: &ComparedWork| {
        let is_of_joules = row.figures.iter().flatten().all(|figure| figure.kind != EfficiencyKind::CpuSecond);
        is_of_joules && matches!(row.winner, WorkWinner::Best { is_open: None, .. })
    };
    if rows.iter().any(has_unknown_error) {
        notes.push(
            "where a figure has no error (±), its meter's accuracy is unknown, and the machine that does more may be \
             another: measure with --meter-accuracy"
                .to_owned(),
        );
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
        assert_eq!(sort[..2], ["sort 1,000 records", "records per J (wall)"].map(str::to_owned));
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
            ["records", "10,000,000 per modelled J (wall) ± 10 %", "15,000,000 per J (wall) ± 10 %", "-"]
                .map(str::to_owned)
        );
        assert!(comparison.notes().iter().any(|note| note.contains("not compared with each other")));
        let report = comparison.report();
        assert_eq!((&report.rows[0]["best"], &report.rows[0]["times"]), (&Value::Null, &Value::Null));
        assert_eq!(report.parameters["machines"], json!(["board", "board (2)"]));
        assert!(comparison.csv().contains("sort 1,000 records\",records,board,10000000,modelled J,0.1,wall\n"));
    }

    /// The row of the sort, of each machine's records per joule.
    fn sorted(comparison: &MachineComparison) -> String {
        comparison.table().rows[0].last().unwrap().clone()
    }

    /// Changes the last row of the sort.
    fn changed(mut machine: SuiteResults, column: &str, value: Value) -> SuiteResults {
        machine.reports[0].rows.last_mut().unwrap().insert(column.to_owned(), value);
        machine
    }

    #[test]
    fn joules_of_different_scopes_stand_beside_each_other_and_nobody_wins() {
        let pkg = changed(machine("pkg", 2.4, Some(("", 1.0))), "energy", json!({ "scope": "package" }));
        let comparison = MachineComparison::of(&[machine("wall", 1.0, Some(("", 1.0))), pkg]);
        let sort = &comparison.table().rows[0];
        let expected = ["records", "5,000,000 per J (wall) ± 10 %", "12,000,000 per J (package) ± 10 %", "-"];
        assert_eq!(sort[1..], expected.map(str::to_owned));
        assert!(comparison.notes().iter().any(|note| note.starts_with("joules of different scopes")));
        assert_eq!(comparison.report().rows[0]["best"], Value::Null);
        assert_eq!(comparison.report().rows[0]["figures"][1]["scope"], "package");
    }

    #[test]
    fn nobody_wins_a_tie_and_what_does_none_is_no_divisor() {
        let of = |scales: &[f64]| {
            let machines: Vec<SuiteResults> = ["a", "b", "c"]
                .iter()
                .zip(scales)
                .map(|(name, scale)| machine(name, *scale, Some(("", 1.0))))
                .collect();
            sorted(&MachineComparison::of(&machines))
        };
        assert_eq!(of(&[1.0, 1.0]), "equal");
        assert_eq!(of(&[1.0, 1.001]), "equal");
        assert_eq!(of(&[1.0, 0.5, 1.0]), "a and c, equal");
        assert_eq!(of(&[0.0, 1.0]), "b, no other does any");
        assert_eq!(of(&[0.0, 0.0]), "equal");
        let unnamed = MachineComparison::of(&[machine("", 1.0, None), machine(" ", 2.0, None)]);
        assert_eq!(unnamed.machines, ["unnamed machine", "unnamed machine (2)"]);
        let tie = MachineComparison::of(&[machine("a", 1.0, None), machine("b", 1.0, None)]).report();
        assert_eq!((&tie.rows[0]["best"], &tie.rows[0]["times"]), (&Value::Null, &json!(1.0)));
    }

    #[test]
    fn an_error_that_is_unknown_is_noted() {
        let unknown = changed(machine("b", 2.0, Some(("", 1.0))), "uncertainty_joules", Value::Null);
        let comparison = MachineComparison::of(&[machine("a", 1.0, Some(("", 1.0))), unknown]);
        assert_eq!(comparison.report().rows[0]["within_uncertainty"], Value::Null);
        assert!(comparison.notes().iter().any(|note| note.contains("accuracy is unknown")), "{:?}", comparison.notes());
        let known = MachineComparison::of(&[machine("a", 1.0, Some(("", 1.0))), machine("b", 2.0, Some(("", 1.0)))]);
        assert!(known.notes().iter().all(|note| !note.contains("accuracy is unknown")));
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
