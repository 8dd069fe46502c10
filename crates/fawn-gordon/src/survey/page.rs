//! A survey as one page of HTML that needs nothing else: no script, no font, no picture from elsewhere.

use std::fmt::Write as _;

use fawn_report::amount::grouped;
use fawn_report::html::{FIGURES_STYLE, HtmlPage, list, table};
use fawn_report::markup::{Element, escape};

use super::catalogue::UnsurveyedOption;
use super::chart::{kinds, legend, part_colour, scatter, stacked_bars};
use super::figures::{Figure7Row, Figure8Row, figure_7, figure_8};
use super::point::SurveyPoint;
use super::report::SurveyReport;
use super::settings::SurveyBound;
use super::tables::{balance, points, what_if};

/// Legends are lines of text.
const STYLE: &str = "\
ul.legend{list-style:none;padding:0}ul.legend li{display:inline-block;margin-right:1.2em}
summary{margin-top:.5rem}";

/// The page. `title` says what was surveyed; `unsurveyed` are options of which too little is known.
pub fn page(title: &str, report: &SurveyReport, unsurveyed: &[UnsurveyedOption]) -> String {
    let mut out = HtmlPage::new(&format!("fawn gordon: {title}"), &format!("{FIGURES_STYLE}\n{STYLE}"));
    out.add(format!("<h1>{}</h1>", escape(title)));
    out.add(format!("<p><small>{}</small></p>", escape(&summary(report))));
    out.add("<h2>The Pareto set</h2>");
    out.add("<p>No other design is better in everything. Ranges go from the lower to the upper bound.</p>");
    out.add(table(&points(report, true), ""));
    out.add("<h2>Time and energy</h2>");
    out.add(scatter(report, None));
    out.add(marks(report));
    for (at, workload) in report.workloads.iter().enumerate() {
        let picture = scatter(report, Some(at));
        out.add(format!("<details><summary>{}</summary>\n{picture}</details>", escape(workload)));
    }
    let best = report.best();
    out.add("<h2>Where the time goes</h2>");
    out.add(time_by_component(&best, report.settings.bound));
    out.add("<h2>Where the energy goes</h2>");
    out.add(energy_by_component(&best, report));
    out.add("<h2>If one resource were infinitely fast</h2>");
    for point in &best {
        let rows = table(&what_if(point, report.settings.bound), "plain");
        out.add(format!("<details><summary>{}</summary>{rows}</details>", escape(&point.name)));
    }
    out.add("<h2>All designs</h2>");
    out.add(format!("<details><summary>{} designs</summary>", grouped(report.points.len() as u64)));
    out.add(table(&points(report, false), "plain"));
    out.add("</details>");
    out.add("<details><summary>Amdahl's balance</summary><p>A balanced node has 1 everywhere.</p>");
    out.add(table(&balance(report), "plain"));
    out.add("</details>");
    out.add(notes(report, unsurveyed));
    out.finish()
}

fn summary(report: &SurveyReport) -> String {
    format!(
        "{} designs, {} workloads, {} nodes; relative to {}; compared under {}",
        grouped(report.points.len() as u64),
        report.workloads.len(),
        report.nodes,
        report.points[report.reference].name,
        report.settings.bound.word(),
    )
}

fn marks(report: &SurveyReport) -> String {
    let items = kinds(report).into_iter().enumerate().map(|(at, kind)| {
        let (colour, shape) = legend(at);
        let style = format!("background:{colour}");
        let swatch = Element::new("span").attr("class", "swatch").attr("style", style).text("");
        format!("{swatch}{} ({shape})", escape(kind))
    });
    list("ul", Some("legend"), items)
        + "<p><small>Full marks are the Pareto set. Point at a mark for its design.</small></p>"
}

fn parts_legend(parts: &[&str]) -> String {
    let items = parts.iter().enumerate().map(|(at, part)| {
        let style = format!("background:{}", part_colour(at));
        let swatch = Element::new("span").attr("class", "swatch").attr("style", style).text("");
        format!("{swatch}{}", escape(part))
    });
    list("ul", Some("legend"), items)
}

/// Figure 7 for these designs.
fn time_by_component(points: &[&SurveyPoint], bound: SurveyBound) -> String {
    const PARTS: [&str; 6] = ["processor", "storage", "network", "several", "none", "waiting for nodes"];
    let mut out = parts_legend(&PARTS);
    for point in points {
        let bar = |row: Figure7Row| {
            let shares = vec![row.processor, row.storage, row.network, row.several, row.none, row.waiting];
            (row.workload, shares)
        };
        let bars: Vec<_> = figure_7(&[point], bound).into_iter().map(bar).collect();
        let picture = stacked_bars(&format!("Time by component of {}", point.name), &PARTS, &bars);
        let name = escape(&point.name);
        write!(out, "<details open><summary>{name}</summary>\n{picture}</details>").expect("strings take all text");
    }
    out
}

/// Figure 8 for these designs, relative to the reference.
fn energy_by_component(points: &[&SurveyPoint], report: &SurveyReport) -> String {
    const PARTS: [&str; 4] = ["processor", "memory", "storage", "overhead"];
    let (reference, bound) = (&report.points[report.reference], report.settings.bound);
    let mut bars = Vec::new();
    for point in points {
        let rows = figure_8(point, reference, bound);
        let average = rows.into_iter().next_back();
        bars.extend(
            average.map(|row: Figure8Row| {
                (point.name.clone(), vec![row.processor, row.memory, row.storage, row.overhead])
            }),
        );
    }
    let picture = stacked_bars("Energy by component, relative to the reference", &PARTS, &bars);
    parts_legend(&PARTS) + &picture
}

/// What has to be known beside the figures.
fn notes(report: &SurveyReport, unsurveyed: &[UnsurveyedOption]) -> String {
    let mut items: Vec<String> = Vec::new();
    for (column, traces) in &report.unmeasured {
        items.push(format!(
            "{column} was not measured in {traces} of {} traces, and takes no time",
            report.workloads.len()
        ));
    }
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for point in &report.points {
        for note in &point.notes {
            match said.iter_mut().find(|(known, _)| *known == note) {
                Some((_, names)) => names.push(&point.name),
                None => said.push((note, vec![&point.name])),
            }
        }
    }
    for (note, names) in said {
        let whose = if names.len() == report.points.len() { "all designs".to_owned() } else { names.join(", ") };
        items.push(format!("{whose}: {note}"));
    }
    items.extend(unsurveyed.iter().map(|it| format!("{}: not surveyed, unknown: {}", it.name, it.missing.join(", "))));
    if items.is_empty() {
        return String::new();
    }
    format!("<h2>Notes</h2>\n{}", list("ul", None, items.iter().map(|item| escape(item))))
}
