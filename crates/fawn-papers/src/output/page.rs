//! Everything as one page of HTML that needs nothing else: no script, no font, no picture from elsewhere.

use std::fmt::Write as _;

use fawn_report::amount::number;
use fawn_report::chart;
use fawn_report::html::{CHART_STYLE, HtmlPage, cell, list};
use fawn_report::markup::{Element, escape, prose};
use serde_json::Value;

use crate::finding::{Column, Finding, PAPERS, Row, RowOrigin};
use crate::list::ExperimentEntry;
use crate::result_cache::StoredFinding;
use crate::run::Scale;
use crate::testbed::machine::{MachineInfo, Program};

/// Readable in the dark, too; wide tables scroll by themselves.
const STYLE: &str = "\
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin-bottom:.2rem}h2{font-size:1.2rem;margin:2.5rem 0 .2rem}h3{font-size:1rem;margin-bottom:.3rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .7rem;text-align:right;border-bottom:1px solid #8884;vertical-align:top}
th.text,td.text{text-align:left}td:first-child{white-space:nowrap}.wide td.text+td.text{min-width:9rem}th{border-bottom:2px solid #888}
tr.paper td{font-style:italic;background:#8881}
svg{width:100%;max-width:52rem;height:auto}
.swatch{display:inline-block;width:.9em;height:.9em;margin-right:.4em}
small,.quiet{opacity:.75}.warning{border-left:4px solid #ee6677;padding-left:.8rem}
details{font-size:.9rem}summary{cursor:pointer}nav ul{columns:2 20rem;padding-left:1.2rem;font-size:.9rem}code{font-size:.9em}";

/// What the page tells of.
pub struct PageContent<'a> {
    /// What was measured on.
    pub machine: &'a MachineInfo,
    /// What measured.
    pub program: &'a Program,
    /// When the page was made.
    pub date: &'a str,
    /// At which scale.
    pub scale: Scale,
    /// What was found, in the list's order.
    pub found: &'a [(&'a ExperimentEntry, &'a StoredFinding)],
}

/// The page.
pub fn page(told: &PageContent<'_>) -> String {
    let title = format!("The papers' experiments on {}", told.machine.host);
    let mut out = HtmlPage::new(&title, &format!("{STYLE}\n{CHART_STYLE}"));
    let mut add = |what: &str| out.add(what);
    add(&format!("<h1>{}</h1>", escape(&title)));
    add(&format!(
        "<p class=\"quiet\">Scale {}, printed on {}, fawn {} (commit {}), <code>{}</code></p>",
        told.scale,
        told.date,
        escape(&told.program.version),
        escape(&told.program.commit),
        escape(&told.program.command)
    ));
    match told.scale {
        Scale::Tiny => {
            add("<p class=\"warning\">This scale only checks that everything works. Its figures mean nothing.</p>");
        }
        Scale::Small => add(
            "<p class=\"warning\">This scale is for a first look: stores are small, and each figure is of a second or two.</p>",
        ),
        Scale::Full => {}
    }
    add("<p>The papers' own figures stand beside those of this machine. They are of other machines, of 2008 to \
        2010: compare the shape of a curve, not its height.</p>");
    add(&machine(told.machine));
    let items = told.found.iter().map(|(entry, _)| {
        format!("<a href=\"#{}\">{}, {}: {}</a>", entry.name, entry.paper.title(), entry.place, entry.what)
    });
    add(&Element::new("nav").around(&list("ul", None, items)));
    for (entry, kept) in told.found {
        add(&section(entry, kept));
    }
    out.finish()
}

fn machine(machine: &MachineInfo) -> String {
    let rows = machine
        .lines()
        .into_iter()
        .map(|(what, which)| Element::new("tr").around(&(cell("td", true, what) + &cell("td", true, &which))));
    format!("<table><tbody>{}</tbody></table>", rows.collect::<String>())
}

fn section(entry: &ExperimentEntry, kept: &StoredFinding) -> String {
    let finding = &kept.finding;
    let mut out = format!(
        "<section id=\"{}\"><h2>{}, {}: {}</h2>\n<p class=\"quiet\">{}, {}, in {:.1} s, by fawn {} (commit {}); \
         <code>{}.csv</code></p>\n",
        entry.name,
        entry.paper.title(),
        entry.place,
        entry.what,
        finding.who(),
        escape(&kept.date),
        kept.seconds,
        escape(&kept.version),
        escape(&kept.commit),
        entry.name
    );
    if let RowOrigin::Skipped(why) = &finding.state {
        add(&mut out, format_args!("<p class=\"warning\">Not measured: {}</p>\n", escape(why)));
    }
    for chart in &finding.charts {
        if let Some(drawn) = chart::draw(chart, &finding.chart_rows()) {
            add(&mut out, format_args!("<h3>{}</h3>\n{drawn}", escape(&chart.title)));
        }
    }
    for picture in &finding.pictures {
        out.push_str(picture);
    }
    if !finding.rows.is_empty() || !finding.published.is_empty() {
        out.push_str(&table(finding));
    }
    let notes = finding.notes.iter().map(|note| format!("{}.", prose(note.trim_end_matches('.'))));
    out.push_str(&list("ul", Some("quiet"), notes));
    out.push_str(&parameters(&finding.parameters));
    out.push_str("</section>");
    out
}

fn add(out: &mut String, what: std::fmt::Arguments<'_>) {
    out.write_fmt(what).expect("writing to a string cannot fail");
}

/// More rows than these are folded away.
const FOLDED: usize = 24;

fn table(finding: &Finding) -> String {
    // What nobody has figures of is left out here; the CSV has it.
    let is_known = |column: &&Column| {
        let mut cells = finding.rows.iter().chain(&finding.published).filter_map(|row| row.get(&column.name));
        cells.any(|cell| !cell.is_null())
    };
    let columns: Vec<&Column> = finding.columns.iter().filter(is_known).collect();
    let is_text = |at: usize| {
        let name = &columns[at].name;
        let mut cells = finding.rows.iter().chain(&finding.published).filter_map(|row| row.get(name));
        cells.any(Value::is_string)
    };
    let are_text: Vec<bool> = (0..columns.len()).map(is_text).collect();
    let head = columns.iter().zip(&are_text).map(|(it, is_text)| cell("th", *is_text, &it.title));
    let line = |who: &str, class: &str, row: &Row| {
        let cells = columns.iter().zip(&are_text);
        let cells = cells.map(|(column, is_text)| cell("td", *is_text, &column.text(row)));
        format!("<tr{class}><td class=\"text\">{who}</td>{}</tr>\n", cells.collect::<String>())
    };
    let rows = finding.rows.iter().map(|row| line(finding.own_label(), "", row));
    let printed = finding.published.iter().map(|row| line("paper", " class=\"paper\"", row));
    let body: String = rows.chain(printed).collect();
    let table = format!(
        "<div class=\"wide\"><table><thead><tr><th class=\"text\">of</th>{}</tr></thead><tbody>{body}</tbody></table></div>",
        head.collect::<String>()
    );
    let caption = if finding.published.is_empty() {
        String::new()
    } else {
        format!("<p><small>Rows of the paper: {PAPERS}.</small></p>")
    };
    if finding.rows.len() > FOLDED {
        format!("<details><summary>{} rows</summary>{table}</details>{caption}\n", finding.rows.len())
    } else {
        table + &caption + "\n"
    }
}

fn parameters(parameters: &Row) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    let text = |value: &Value| match (value, value.as_f64().filter(|_| value.is_f64())) {
        (_, Some(figure)) => number(figure, 2),
        (Value::String(text), _) => text.clone(),
        (other, _) => other.to_string(),
    };
    let told = parameters.iter().map(|(name, value)| format!("{} {}", escape(name), escape(&text(value))));
    let told: Vec<String> = told.collect();
    format!("<p><small>With {}.</small></p>", told.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::finding::{Axis, Chart};
    use crate::list::LIST;

    fn kept(finding: Finding) -> StoredFinding {
        StoredFinding { date: "2026".into(), seconds: 1.0, version: "0".into(), commit: "<c>".into(), finding }
    }

    #[test]
    fn a_page_has_what_was_found_and_nothing_from_elsewhere() {
        let mut finding = Finding::of(&[("x", "x & y", None), ("y", "y", Some(1))]);
        (0..30).for_each(|x| finding.row(json!({ "x": x, "y": 1000 * x })));
        finding.printed(json!({ "x": 3, "y": 7 }));
        finding.charts.push(Chart::lines("rise", Axis::linear("x", "x"), Axis::linear("y", "y")));
        finding.note("a note");
        let skipped = kept(Finding::skipped("no <program>".to_owned()));
        let (one, machine, program) = (kept(finding), MachineInfo::here(std::path::Path::new("/")), Program::default());
        let found = [(&LIST[0], &one), (&LIST[1], &skipped)];
        let told =
            PageContent { machine: &machine, program: &program, date: "today", scale: Scale::Small, found: &found };
        let page = page(&told);
        for what in
            ["<svg", "<details>", "29,000.0", "a note.", "no &lt;program&gt;", "&lt;c&gt;", "first look", "2008"]
        {
            assert!(page.contains(what), "{what}");
        }
        for what in ["<script", "src=", "http", "@import", "url(", "<program>"] {
            let rest = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!rest.contains(what), "{what}");
        }
        for tag in ["section", "table", "svg", "ul", "li", "tr", "details"] {
            let (opened, closed) = (format!("<{tag}"), format!("</{tag}>"));
            let begun = page.matches(&format!("{opened}>")).count() + page.matches(&format!("{opened} ")).count();
            assert_eq!(begun, page.matches(&closed).count(), "{tag}");
        }
    }
}
