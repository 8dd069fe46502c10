//! A plan as one page of HTML that needs nothing else: no script, no font, no picture from elsewhere.

use std::fmt::Write as _;

use fawn_report::TextTable;
use fawn_report::amount::{bytes, count, dollars, percent};
use fawn_report::html::{FIGURES_STYLE, HtmlPage, list, table};
use fawn_report::markup::{Element, escape, prose};

use crate::svg::{colour, svg, whereabouts};
use crate::tables::{losses, question, ranking, unranked, wear, wear_notes};
use crate::{Figure, Map, PurchasePlan, Quantity};

/// The best option's row stands out.
const STYLE: &str = "\
table{font-size:.82rem}td.text{white-space:normal;min-width:8rem}
tbody tr:first-child td{font-weight:600}.plain tbody tr:first-child td{font-weight:inherit}
ol.legend,ul{padding-left:1.4rem}";

/// The page; with a map if there is one, which must be of the same catalogue.
pub fn page(plan: &PurchasePlan, map: Option<&Map>) -> String {
    let mut out = HtmlPage::new(&format!("fawn plan: {}", question(plan)), &format!("{FIGURES_STYLE}\n{STYLE}"));
    let mut add = |what: &str| out.add(what);
    add(&format!("<h1>{}</h1>", escape(&question(plan))));
    add(&format!("<p><small>{}: {}</small></p>", escape(&plan.catalogue), escape(&plan.title)));
    add(&table(&ranking(plan), ""));
    for flip in crate::tables::flips(plan) {
        add(&format!("<p>{}</p>", escape(&flip)));
    }
    if let Some(map) = map {
        add(&mapped(plan, map));
    }
    if !plan.ranked.is_empty() {
        add("<h2>One node, and the effect of losing it</h2>");
        add(&table(&losses(plan), "plain"));
    }
    if plan.puts_per_second.is_some() && !plan.ranked.is_empty() {
        add("<h2>Years of the drives</h2>");
        add(&table(&wear(plan), "plain"));
        for note in wear_notes(plan) {
            add(&format!("<p>{}</p>", prose(&note)));
        }
    }
    if !plan.warnings.is_empty() {
        let items = list("ul", None, plan.warnings.iter().map(|it| prose(it)));
        add(&format!("<h2>Notes</h2>\n{items}"));
    }
    if !plan.unranked.is_empty() {
        add("<h2>Not ranked</h2>");
        add(&table(&unranked(plan), "plain"));
    }
    add(&sources(plan));
    out.finish()
}

/// The map with its legend.
fn mapped(plan: &PurchasePlan, map: &Map) -> String {
    let mut out = format!(
        "<h2>The cheapest option by data and rate</h2>\n<p>Values of {}, {} of each; {}.</p>\n{}",
        bytes(plan.workload.value_bytes),
        copies(plan.workload.replicas),
        whereabouts(&plan.workload),
        svg(map, Some(&plan.workload))
    );
    let shares = map.shares.iter().enumerate().map(|(place, share)| {
        let style = format!("background:{}", colour(place));
        let swatch = Element::new("span").attr("class", "swatch").attr("style", style).text("");
        format!("{swatch}{}: {}", escape(&share.name), percent(share.share))
    });
    out.push_str(&list("ol", Some("legend"), shares));
    if !map.boundaries.is_empty() {
        let boundaries = map
            .boundaries
            .iter()
            .map(|it| format!("from {} to {} at {}", escape(&it.below), escape(&it.above), count(it.gets_a_gb)));
        out.push_str("<p>Its gets per second per GB of data, without rounding nodes up, change</p>");
        out.push_str(&list("ul", None, boundaries));
    }
    out
}

fn copies(replicas: u32) -> String {
    if replicas == 1 { "one copy".to_owned() } else { format!("{replicas} copies") }
}

/// Every value of every option, and where it is from.
fn sources(plan: &PurchasePlan) -> String {
    let ranked = plan.ranked.iter().map(|it| (&it.name, &it.note, &it.figures));
    let all = ranked.chain(plan.unranked.iter().map(|it| (&it.name, &it.note, &it.figures)));
    let mut out = "<h2>Sources of the values</h2>\n".to_owned();
    for (name, note, figures) in all {
        let rows = figures.iter().map(|(quantity, figure)| source_row(*quantity, figure));
        let head = ["value", "", "kind", "date", "source"].map(str::to_owned).to_vec();
        let rows = TextTable { head, rows: rows.collect(), text: vec![2, 3, 4] };
        let note = note.as_ref().map_or(String::new(), |note| format!("<p><small>{}</small></p>", escape(note)));
        write!(out, "<details><summary>{}</summary>{note}{}</details>", escape(name), table(&rows, "plain"))
            .expect("writing to a string cannot fail");
    }
    out
}

fn source_row(quantity: Quantity, figure: &Figure) -> Vec<String> {
    let told = |value: f64| match quantity {
        Quantity::PriceDollars => dollars(value),
        _ => fawn_report::amount::plain(value),
    };
    let value = if figure.low < figure.high {
        format!("{} to {}", told(figure.low), told(figure.high))
    } else {
        told(figure.value)
    };
    let kind = figure.kind.word().to_owned();
    vec![quantity.words().to_owned(), value, kind, figure.date.to_string(), figure.source.clone()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::CELL;
    use crate::{Assumptions, Catalogue, Workload};

    fn paper() -> (PurchasePlan, Map) {
        let mut catalogue = Catalogue::built_in("paper-2009").unwrap();
        catalogue.options[4].name = "<FAWN & SSD>".to_owned();
        let workload = Workload { data_bytes: 10e12, gets_per_second: 1e6, value_bytes: 1e3, replicas: 1 };
        let assumptions = Assumptions { utilisation: 1.0, ..Assumptions::of(&catalogue, "2009-11".parse().unwrap()) };
        let map = Map::of(&catalogue, &workload, &assumptions).unwrap();
        (PurchasePlan::of(&catalogue, &workload, &assumptions), map)
    }

    #[test]
    fn a_page_has_its_tables_its_map_and_nothing_from_elsewhere() {
        let (plan, map) = paper();
        let page = page(&plan, Some(&map));
        for what in ["$168,838", "<svg", "47.5 %", "&lt;FAWN &amp; SSD&gt;", "<circle", "at 3.79 K", "Table 4", "data:"]
        {
            assert_eq!(page.contains(what), what != "data:", "{what}");
        }
        for what in ["<FAWN", "<script", "src=", "href=", "@import", "url("] {
            assert!(!page.contains(what), "{what}");
        }
        assert_eq!(page.matches("<table").count(), page.matches("</table>").count());
    }

    #[test]
    fn a_page_says_where_the_plan_is_and_on_which_side_of_the_map() {
        let (plan, map) = paper();
        let said = |data_bytes: f64, gets_per_second: f64| {
            let workload = Workload { data_bytes, gets_per_second, ..plan.workload };
            let page = page(&PurchasePlan { workload, ..plan.clone() }, Some(&map));
            assert_eq!(page.contains("<circle"), page.contains("the circle marks this plan"));
            page.lines().find(|line| line.starts_with("<p>Values of")).unwrap().to_owned()
        };
        for (data, rate, says) in [
            (100e9, 100e3, "the circle marks this plan."),
            (10e15, 1e9, "the circle marks this plan."),
            (99e9, 1e6, "outside the map: it has less data than the map shows."),
            (11e15, 1e6, "it has more data than"),
            (10e12, 99e3, "it has fewer gets a second than"),
            (11e15, 2e9, "it has more data and more gets a second than"),
        ] {
            assert!(said(data, rate).contains(says), "{data} {rate}: {}", said(data, rate));
        }
    }

    #[test]
    fn every_cell_of_a_map_is_drawn_once() {
        let (plan, map) = paper();
        let drawn = svg(&map, Some(&plan.workload));
        let width = |rect: &str| rect.split("width=\"").nth(1)?.split('"').next()?.parse::<f64>().ok();
        let cells: f64 = drawn
            .lines()
            .filter(|line| line.starts_with("<rect"))
            .filter_map(width)
            .map(|it| ((it - 0.3) / CELL).round())
            .sum();
        assert_eq!(cells as usize, map.cells.len());
        assert!(drawn.len() < 200_000, "runs are drawn as one: {}", drawn.len());
    }
}
