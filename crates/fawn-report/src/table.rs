//! A table of text, for a terminal, for Markdown and for a page.

/// A table of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextTable {
    /// The titles of its columns.
    pub head: Vec<String>,
    /// Rows, with as many cells as the head has.
    pub rows: Vec<Vec<String>>,
    /// Columns that are text, besides the first; all others are numbers.
    pub text: Vec<usize>,
}

impl TextTable {
    /// A table with these titles, of whose columns `text` are text.
    pub fn of(head: &[&str], text: &[usize], rows: impl Iterator<Item = Vec<String>>) -> Self {
        Self { head: head.iter().map(|it| (*it).to_owned()).collect(), rows: rows.collect(), text: text.to_vec() }
    }

    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = vec!["---".to_owned(); self.head.len()];
        line(&self.head) + &line(&rule) + &self.rows.iter().map(|row| line(row)).collect::<String>()
    }
}
