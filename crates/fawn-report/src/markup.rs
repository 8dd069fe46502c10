//! Elements of SVG and HTML, written attribute by attribute.

use std::fmt::{Display, Write as _};

/// Text as it is, whatever characters it has.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
    out
}

/// A sentence as markup. What is in backticks and names of flags are code, of which no line begins in the middle.
pub fn prose(text: &str) -> String {
    let code = |text: &str| Element::new("code").text(text);
    // Backticks without a partner are text.
    let (paired, rest) = match text.rsplit_once('`') {
        Some((_, rest)) if text.matches('`').count() % 2 == 1 => text.split_at(text.len() - rest.len() - 1),
        _ => (text, ""),
    };
    let is_flag =
        |word: &str| word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()));
    let words = |text: &str| {
        let marked = text.split_inclusive(' ').map(|word| {
            let inner = word.trim_start_matches(['(', '"', '“']);
            let name = inner.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            let (before, after) = (&word[..word.len() - inner.len()], &inner[name.len()..]);
            if is_flag(name) { escape(before) + &code(name) + &escape(after) } else { escape(word) }
        });
        marked.collect::<String>()
    };
    let parts = paired.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { code(part) } else { words(part) }).collect::<String>() + &escape(rest)
}

/// An element: its name and its attributes, in the order in which they are added.
#[derive(Clone, Debug)]
pub struct Element {
    name: &'static str,
    /// `<NAME ATTRIBUTES`.
    head: String,
}

impl Element {
    /// An element without attributes.
    pub fn new(name: &'static str) -> Self {
        Self { name, head: format!("<{name}") }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attr(mut self, name: &str, value: impl Display) -> Self {
        let value = escape(&value.to_string());
        write!(self.head, " {name}=\"{value}\"").expect("writing to a string cannot fail");
        self
    }

    /// Adds a length, to a tenth.
    #[must_use]
    pub fn px(self, name: &str, value: f64) -> Self {
        self.attr(name, format_args!("{value:.1}"))
    }

    /// The opening tag alone.
    pub fn open(self) -> String {
        self.head + ">"
    }

    /// The element without content, as SVG writes it.
    pub fn empty(self) -> String {
        self.head + "/>"
    }

    /// The element with a text, which is escaped.
    pub fn text(self, text: &str) -> String {
        self.around(&escape(text))
    }

    /// The element around markup.
    pub fn around(self, markup: &str) -> String {
        let name = self.name;
        format!("{}>{markup}</{name}>", self.head)
    }
}

/// Markup, line by line.
#[derive(Clone, Debug, Default)]
pub struct Lines(String);

impl Lines {
    /// Adds a line.
    pub fn add(&mut self, line: impl AsRef<str>) {
        self.0.push_str(line.as_ref());
        self.0.push('\n');
    }

    /// All of it.
    pub fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_its_flags_and_quotes_as_code() {
        assert_eq!(
            prose("`store ×` < 1: give --kwh and --pue. With --node FILE, -- and -x are text"),
            "<code>store ×</code> &lt; 1: give <code>--kwh</code> and <code>--pue</code>. With <code>--node</code> FILE, \
             -- and -x are text"
        );
        assert_eq!(
            prose("no meter (--meter), \"--memory\""),
            "no meter (<code>--meter</code>), &quot;<code>--memory</code>&quot;"
        );
        assert_eq!(prose("`a` and `b, without an end"), "<code>a</code> and `b, without an end");
        assert_eq!([prose(""), prose("`"), prose("--é")], ["", "`", "--é"]);
    }

    #[test]
    fn an_element_is_written_as_it_was_put_together() {
        let line = Element::new("line").attr("class", "axis").px("x1", 1.25).attr("x2", 3.0);
        assert_eq!(line.empty(), "<line class=\"axis\" x1=\"1.2\" x2=\"3\"/>");
        assert_eq!(
            Element::new("p").attr("id", "a\"b").text("1 < 2 & \"3\""),
            "<p id=\"a&quot;b\">1 &lt; 2 &amp; &quot;3&quot;</p>"
        );
        assert_eq!(Element::new("ul").around("<li>a</li>"), "<ul><li>a</li></ul>");
    }
}
