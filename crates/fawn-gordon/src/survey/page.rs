//! A survey as one page of HTML that needs nothing else: no script, no font, no picture from elsewhere.

use std::fmt::Write as _;

use fawn_report::html::{FIGURES_STYLE, HtmlPage, list, table, table_with_ids};
use fawn_report::markup::{Element, escape, prose};

use super::chart::{kinds, legend, part_colour, row_id, scatter, stacked_bars};
use super::figures::{Figure7Row, Figure8Row, figure_7, figure_8};
use super::pareto::SurveyAxis;
use super::point::SurveyPoint;
use super::report::SurveyReport;
use super::settings::SurveyBound;
use super::tables::{self, balance, what_if};

/// Legends are lines of text. The tables have twelve columns, which fit side by side on a screen of 1,200 pixels.
const STYLE: &str = "\
table{font-size:.8rem}th,td{padding:.3rem .4rem}svg.chart{display:block;max-width:36rem}svg a:focus>*{stroke-width:4}
svg .number{font-weight:600;paint-order:stroke;stroke:Canvas;stroke-width:3px;stroke-linejoin:round}
ul.legend{list-style:none;padding:0}ul.legend li{display:inline-block;margin-right:1.2em}
tr:target td{background:#ffd54a66}summary{margin-top:.5rem}";

/// The page.
pub fn page(report: &SurveyReport) -> String {
    let title = &report.title;
    let mut out = HtmlPage::new(&format!("fawn gordon survey: {title}"), &format!("{FIGURES_STYLE}\n{STYLE}"));
    out.add(format!("<h1>{}</h1>", escape(title)));
    out.add(format!("<p><small>{}</small></p>", escape(&report.heading())));
    out.add("<h2>The Pareto set</h2>");
    out.add(format!("<p>{}</p>", escape(&explanation(report))));
    out.add(table(&tables::points(report, true), ""));
    out.add("<h2>Time and energy</h2>");
    out.add(scatter(report, None, SurveyAxis::Energy));
    out.add(marks(report));
    for (at, workload) in report.workloads.iter().enumerate().filter(|_| report.workloads.len() > 1) {
        let picture = scatter(report, Some(at), SurveyAxis::Energy);
        out.add(format!("<details><summary>{}</summary>\n{picture}</details>", escape(workload)));
    }
    if report.settings.axes.contains(&SurveyAxis::Price) {
        out.add("<h2>Time and price</h2>");
        out.add(scatter(report, None, SurveyAxis::Price));
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
    let (rows, order) = tables::points_in_order(report, false);
    out.add(table_with_ids(&rows, "plain", |row| row_id(order[row])));
    out.add("<details><summary>Amdahl's balance</summary><p>A balanced node has 1 everywhere.</p>");
    out.add(table(&balance(report), "plain"));
    out.add("</details>");
    out.add(notes(report));
    out.finish()
}

/// How the Pareto set is to be read.
fn explanation(report: &SurveyReport) -> String {
    let axes: Vec<&str> = report.settings.axes.iter().map(|axis| axis.word()).collect();
    format!(
        "No other design is at least as good in {} and better in one. Time and energy are relative to {}, from the lower to \
         the upper bound; seconds and kilojoules are of all nodes and workloads. Energy is modelled. “Busy” is the resource \
         that time is lost to: if it were infinitely fast, the time would fall by the share beside, and by so much more \
         than with the next one.",
        axes.join(" and "),
        report.points[report.reference].name,
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
        + "<p><small>Full marks with numbers are the Pareto set. Point at a mark for its design, or follow it to its row \
           below.</small></p>"
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
    const PARTS: [&str; 6] = ["processor", "storage", "network", "several", "none", "waiting for nodes or work"];
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
fn notes(report: &SurveyReport) -> String {
    let items = tables::notes(report);
    if items.is_empty() {
        return String::new();
    }
    format!("<h2>Notes</h2>\n{}", list("ul", None, items.iter().map(|item| prose(item))))
}
