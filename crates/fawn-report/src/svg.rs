//! Pictures as SVG that needs nothing else.

use crate::markup::{Element, Lines};

/// A picture, element by element.
#[derive(Clone, Debug)]
pub struct Drawing(Lines);

/// The root of a picture of this size, before its other attributes.
pub fn root(class: Option<&str>, width: f64, height: f64) -> Element {
    let svg = Element::new("svg");
    let svg = if let Some(class) = class { svg.attr("class", class) } else { svg };
    svg.attr("xmlns", "http://www.w3.org/2000/svg").attr("viewBox", format_args!("0 0 {width} {height}"))
}

/// A text that begins, ends or has its middle at its place, as `anchor` says: `start`, `end`, `middle`.
pub fn anchored(text: Element, anchor: &str) -> Element {
    text.attr("text-anchor", anchor)
}

/// A line through points that nothing fills.
pub fn polyline(points: impl Iterator<Item = (f64, f64)>, colour: &str) -> Element {
    let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    Element::new("polyline").attr("points", points.join(" ")).attr("fill", "none").attr("stroke", colour)
}

impl Drawing {
    /// A picture whose root is this element.
    pub fn open(root: Element) -> Self {
        Self::over(root, "")
    }

    /// The same over a background.
    pub fn over(root: Element, background: &str) -> Self {
        let mut lines = Lines::default();
        lines.add(root.open() + background);
        Self(lines)
    }

    /// Adds an element.
    pub fn add(&mut self, element: impl AsRef<str>) {
        self.0.add(element);
    }

    /// The picture.
    pub fn finish(mut self) -> String {
        self.0.add("</svg>");
        self.0.finish()
    }
}
