//! Pages of HTML with the suite's charts and tables: no script, no font, no picture from elsewhere.

use std::path::Path;

use fawn_report::TextTable;
use fawn_report::chart::{self, Chart, ChartRows, Row};
use fawn_report::html::{CHART_STYLE, FIGURES_STYLE, HtmlPage, list, table};
use fawn_report::markup::{Element, escape, prose};

/// Where figures are from.
#[derive(Clone, Debug)]
pub struct PageOrigin {
    /// The machine that was measured.
    pub machine: String,
    /// The program, with its version and commit.
    pub program: String,
    /// The command, as it was typed.
    pub command: String,
    /// The day.
    pub date: String,
}

/// The processor of the machine with this `/proc`, as the kernel names it.
pub fn processor(proc: &Path) -> Option<String> {
    let board = std::fs::read_to_string(proc.join("device-tree/model")).ok();
    let board = board.map(|model| model.trim_end_matches('\0').trim().to_owned()).filter(|model| !model.is_empty());
    board.or_else(|| processor_in(&std::fs::read_to_string(proc.join("cpuinfo")).ok()?))
}

fn processor_in(cpuinfo: &str) -> Option<String> {
    let value = |line: &str| line.split_once(':').map(|(_, value)| value.trim().to_owned());
    cpuinfo.lines().find(|line| line.starts_with("model name")).and_then(value)
}

/// A page, part by part.
#[derive(Debug)]
pub struct SuitePage(HtmlPage);

/// Names break where a page is narrow, and figures do not. A last column of sentences takes what room there is.
const STYLE: &str = "\
.warning{border-left:4px solid #ee6677;padding-left:.8rem}
th,td.text{white-space:normal}td.text{min-width:6.5rem}
.sentences td.text:last-child{white-space:normal;overflow-wrap:anywhere;min-width:22rem}";

/// More rows than these are folded away.
const FOLDED: usize = 30;

impl SuitePage {
    /// A page with a title, what it is about, and where its figures are from.
    pub fn new(title: &str, about: &str, origin: &PageOrigin) -> Self {
        let mut page = HtmlPage::new(title, &format!("{FIGURES_STYLE}\n{CHART_STYLE}\n{STYLE}"));
        page.add(Element::new("h1").text(title));
        let PageOrigin { machine, program, command, date } = origin;
        page.add(format!(
            "<p><small>{}, {}, {}, <code style=\"white-space:normal\">{}</code></small></p>",
            escape(machine),
            escape(date),
            escape(program),
            escape(command)
        ));
        page.add(format!("<p>{}</p>", prose(about)));
        Self(page)
    }

    /// Adds a sentence that stands out.
    pub fn warning(&mut self, text: &str) {
        self.0.add(format!("<p class=\"warning\">{}</p>", prose(text)));
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.0.add(format!("<p>{}</p>", prose(text)));
    }

    /// Adds a chart with its title, if there is anything to draw.
    pub fn chart(&mut self, chart: &Chart, own: (&[Row], &str), reference: (&[Row], &str)) {
        let rows = ChartRows {
            own: own.0,
            own_label: own.1,
            reference: reference.0,
            reference_label: reference.1,
            reference_word: reference.1,
        };
        if let Some(drawn) = chart::draw(chart, &rows) {
            self.0.add(format!("<h2>{}</h2>\n{drawn}", escape(&chart.title)));
        }
    }

    /// Adds a table under a heading. A long one is folded.
    pub fn table(&mut self, heading: &str, rows: &TextTable) {
        let drawn = table(rows, "");
        let drawn = if rows.rows.len() > FOLDED {
            format!("<details><summary>{} rows</summary>{drawn}</details>", rows.rows.len())
        } else {
            drawn
        };
        self.0.add(format!("<h2>{}</h2>\n{drawn}", escape(heading)));
    }

    /// Adds a table whose last column has sentences, such as sources.
    pub fn sentences(&mut self, heading: &str, rows: &TextTable) {
        self.0.add(format!("<h2>{}</h2>\n{}", escape(heading), table(rows, "sentences")));
    }

    /// Adds notes.
    pub fn notes(&mut self, notes: &[String]) {
        if !notes.is_empty() {
            let notes = notes.iter().map(|note| format!("{}.", prose(note.trim_end_matches('.'))));
            self.0.add(format!("<h2>Notes</h2>\n{}", list("ul", None, notes)));
        }
    }

    /// The page.
    pub fn finish(self) -> String {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use fawn_report::chart::Axis;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_says_where_it_is_from_and_needs_nothing_else() {
        let origin = PageOrigin {
            machine: "a <board>".to_owned(),
            program: "fawn 0".to_owned(),
            command: "fawn joule".to_owned(),
            date: "2026-11-29".to_owned(),
        };
        let mut page = SuitePage::new("Work", "What `--json` has", &origin);
        let serde_json::Value::Object(row) = json!({ "x": 3, "y": 4 }) else { unreachable!() };
        let chart = Chart::lines("A curve", Axis::linear("x", "x"), Axis::linear("y", "y"));
        page.chart(&chart, (&[row], "this machine"), (&[], ""));
        page.table("Figures", &TextTable::of(&["x"], &[], (0..40).map(|x| vec![x.to_string()])));
        page.warning("not so");
        page.notes(&["a note".to_owned()]);
        let page = page.finish();
        for what in [
            "a &lt;board&gt;",
            "<svg",
            "A curve",
            "<summary>40 rows",
            "a note.",
            "class=\"warning\"",
            "<code>--json</code>",
        ] {
            assert!(page.contains(what), "{what}: {page}");
        }
        for what in ["<script", "src=", "@import", "url("] {
            assert!(!page.contains(what), "{what}");
        }
    }

    #[test]
    fn a_processor_is_named_as_its_kernel_names_it() {
        let intel = "processor\t: 0\nmodel name\t: AMD EPYC\n";
        assert_eq!(processor_in(intel).as_deref(), Some("AMD EPYC"));
        assert_eq!(processor_in("processor\t: 0\n"), None);
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("device-tree")).unwrap();
        std::fs::write(dir.path().join("device-tree/model"), "Raspberry Pi 5 Model B Rev 1.0\0").unwrap();
        assert_eq!(processor(dir.path()).as_deref(), Some("Raspberry Pi 5 Model B Rev 1.0"));
    }
}
