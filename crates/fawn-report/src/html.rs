//! A page of HTML that needs nothing else: no script, no font, no picture from elsewhere.

use crate::markup::{Element, Lines, escape};
use crate::table::TextTable;

/// A style for pages of figures: readable in the dark and on a phone; wide tables scroll by themselves.
pub const FIGURES_STYLE: &str = "\
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin-bottom:.2rem}h2{font-size:1.15rem;margin-top:2rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}
th,td{padding:.3rem .5rem;text-align:right;border-bottom:1px solid #8884;vertical-align:top;white-space:nowrap}
th:first-child,td:first-child,th.text,td.text{text-align:left}th{border-bottom:2px solid #888}
svg{width:100%;max-width:52rem;height:auto}
code{font-size:.9em;white-space:nowrap}
.swatch{display:inline-block;width:.9em;height:.9em;margin-right:.4em;vertical-align:-.1em}
small{opacity:.75}summary{cursor:pointer}";

/// What charts need beside [`FIGURES_STYLE`]: they keep a legible size, and a narrow page scrolls them.
pub const CHART_STYLE: &str = "\
svg.chart{min-width:38rem;font-family:system-ui,sans-serif;font-size:13px}svg.narrow{min-width:0;max-width:34rem}.chart text{fill:currentColor}
.grid{stroke:currentColor;stroke-opacity:.15}.axis{stroke:currentColor}
.limit{stroke:#228833;stroke-width:1.5;stroke-dasharray:3 3}
.legend{list-style:none;padding:0;margin:.2rem 0;font-size:.9rem}.legend li{display:inline-block;margin-right:1.4rem}
.swatch{border:2px solid currentColor;border-radius:50%;box-sizing:border-box}
.swatch.full{background:currentColor}.swatch.hollow{border-style:dashed}";

/// A page.
#[derive(Clone, Debug)]
pub struct HtmlPage(Lines);

impl HtmlPage {
    /// A page with a title and a style, and nothing in its body.
    pub fn new(title: &str, style: &str) -> Self {
        let mut lines = Lines::default();
        lines.add("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
        lines.add("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
        lines.add(format!("<title>{}</title><style>\n{style}\n</style></head><body>", escape(title)));
        Self(lines)
    }

    /// Adds markup to the body, as a line.
    pub fn add(&mut self, markup: impl AsRef<str>) {
        self.0.add(markup);
    }

    /// The page.
    pub fn finish(mut self) -> String {
        self.0.add("</body></html>");
        self.0.finish()
    }
}

/// A cell of a table, `th` or `td`. Numbers are at the right, and text is not.
pub fn cell(tag: &'static str, is_text: bool, text: &str) -> String {
    let cell = Element::new(tag);
    if is_text { cell.attr("class", "text") } else { cell }.text(text)
}

/// A table of this class, which the page shows whole however narrow it is. The style puts the first column at the left.
pub fn table(table: &TextTable, class: &str) -> String {
    written(table, class, None)
}

/// The same, with an anchor for each row, which links can name.
pub fn table_with_ids(table: &TextTable, class: &str, id: impl Fn(usize) -> String) -> String {
    written(table, class, Some(&id))
}

fn written(table: &TextTable, class: &str, id: Option<&dyn Fn(usize) -> String>) -> String {
    let cells = |tag: &'static str, cells: &[String]| {
        let cells = cells.iter().enumerate().map(|(at, text)| cell(tag, table.text.contains(&at), text));
        cells.collect::<String>()
    };
    let row = |(at, row): (usize, &Vec<String>)| {
        let line = Element::new("tr");
        id.map_or_else(|| line.clone(), |id| line.clone().attr("id", id(at))).around(&cells("td", row))
    };
    let body: String = table.rows.iter().enumerate().map(row).collect();
    let head = Element::new("tr").around(&cells("th", &table.head));
    format!("<div class=\"wide\"><table class=\"{class}\"><thead>{head}</thead><tbody>{body}</tbody></table></div>")
}

/// A list of items, which are markup.
pub fn list(tag: &'static str, class: Option<&str>, items: impl Iterator<Item = String>) -> String {
    let list = Element::new(tag);
    let items = items.map(|item| Element::new("li").around(&item));
    if let Some(class) = class { list.attr("class", class) } else { list }.around(&items.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_and_a_table_escapes_its_cells() {
        let mut page = HtmlPage::new("a < b", "p{}");
        let rows = [vec!["<x>".to_owned(), "1".to_owned(), "y".to_owned()]];
        page.add(table(&TextTable::of(&["name", "n", "what"], &[2], rows.into_iter()), "plain"));
        page.add(list("ul", None, ["a".to_owned(), "b".to_owned()].into_iter()));
        let rows = [vec!["z".to_owned()]];
        page.add(table_with_ids(&TextTable::of(&["name"], &[], rows.into_iter()), "", |row| format!("row-{row}")));
        let page = page.finish();
        for part in [
            "<title>a &lt; b</title>",
            "<td>&lt;x&gt;</td><td>1</td><td class=\"text\">y</td>",
            "<ul><li>a</li><li>b</li></ul>",
            "<tr id=\"row-0\"><td>z</td></tr>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(page.starts_with("<!DOCTYPE html>\n") && page.ends_with("</body></html>\n"));
    }
}
