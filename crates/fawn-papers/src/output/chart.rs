//! Rows as a picture: SVG that needs nothing else, in the page's own ink, so that it is legible by day and by night.
//!
//! This machine's points are full and joined by lines that go through; the paper's are hollow, and their lines are dashed.

use std::fmt::Write as _;

use fawn_plan::escape;
use fawn_report::amount::number;
use serde_json::Value;

use crate::finding::{Axis, Chart, Finding, Kind, Law, Row};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 52.0;
/// Of a bar with its room.
const BAR: f64 = 26.0;
/// Room for the texts beside bars: for each of their characters, whatever font there is, and at most.
const CHARACTER: f64 = 7.2;
const MOST_BESIDE: f64 = 460.0;
/// Room for the value behind a bar.
const BEHIND: f64 = 90.0;
/// Between a bar and its text.
const GAP: f64 = 8.0;

/// Colours that stay apart for most eyes, on white and on black.
const COLOURS: &[&str] = &["#4477aa", "#ee6677", "#228833", "#bb9911", "#33a8cc", "#aa3377", "#ee8866", "#888888"];

/// A line of a chart.
struct Series {
    name: String,
    is_papers: bool,
    points: Vec<(f64, f64)>,
}

/// The picture, with its legend; `None`: there is nothing to draw.
pub fn draw(chart: &Chart, finding: &Finding) -> Option<String> {
    match chart.kind {
        Kind::Lines => lines(chart, finding),
        Kind::Bars => bars(chart, finding),
    }
}

fn figure(row: &Row, axis: &Axis) -> Option<f64> {
    let value = row.get(&axis.column)?.as_f64()?;
    let is_drawn = value.is_finite() && (axis.law == Law::Linear || value > 0.0);
    is_drawn.then_some(value)
}

fn text(row: &Row, column: &str) -> String {
    match row.get(column) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Rows by line, in the order in which they come.
fn series(chart: &Chart, finding: &Finding) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for (is_papers, rows) in [(false, &finding.rows), (true, &finding.published)] {
        for row in rows {
            let (Some(x), Some(y)) = (figure(row, &chart.x), figure(row, &chart.y)) else { continue };
            let name = chart.series.as_ref().map(|column| text(row, column)).unwrap_or_default();
            match all.iter_mut().find(|series| series.name == name && series.is_papers == is_papers) {
                Some(series) => series.points.push((x, y)),
                None => all.push(Series { name, is_papers, points: vec![(x, y)] }),
            }
        }
    }
    all
}

/// From values to places, with the values at which there is a mark.
struct Scaled {
    law: Law,
    low: f64,
    high: f64,
    marks: Vec<f64>,
}

impl Scaled {
    fn of(law: Law, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), it| (low.min(it), high.max(it)));
        match law {
            Law::Linear => {
                let (low, high) = (low.min(0.0), if high > low.min(0.0) { high } else { low.min(0.0) + 1.0 });
                let step = nice((high - low) / 6.0);
                let (first, last) = ((low / step).floor(), (high / step).ceil());
                let marks = (0..=(last - first) as u32).map(|at| (first + f64::from(at)) * step).collect();
                Self { law, low: first * step, high: last * step, marks }
            }
            Law::Log => {
                let first = low.log10().floor();
                let last = high.log10().ceil().max(first + 1.0);
                let marks = (0..=(last - first) as u32).map(|at| 10f64.powf(first + f64::from(at))).collect();
                Self { law, low: first, high: last, marks }
            }
        }
    }

    /// From 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let value = if self.law == Law::Log { value.log10() } else { value };
        (value - self.low) / (self.high - self.low)
    }
}

/// 1, 2 or 5 times a power of ten, not below `least`.
fn nice(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|it| it * power).find(|it| *it >= least * 0.999_999).unwrap_or(10.0 * power)
}

/// A value beside a mark.
fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        it if it >= 1e9 => (value / 1e9, "G"),
        it if it >= 1e6 => (value / 1e6, "M"),
        it if it >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let decimals = match scaled.abs() {
        it if it >= 100.0 || it.fract().abs() < 1e-9 => 0,
        it if it >= 1.0 => 1,
        it if it >= 0.1 => 2,
        _ => return format!("{value}"),
    };
    let text = number(scaled, decimals);
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

fn lines(chart: &Chart, finding: &Finding) -> Option<String> {
    let all = series(chart, finding);
    // The paper's alone are in the table.
    all.iter().find(|series| !series.is_papers)?;
    let points = || all.iter().flat_map(|series| series.points.iter().copied());
    let across = Scaled::of(chart.x.law, points().map(|(x, _)| x));
    let up = Scaled::of(chart.y.law, points().map(|(_, y)| y));
    let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * across.share(value);
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * up.share(value);
    let mut out = opened(HEIGHT, &chart.title);
    let mut add = |what: String| writeln!(out, "{what}").expect("writing to a string cannot fail");
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for mark in &up.marks {
        let (at, name) = (y(*mark), short(*mark));
        let (beside, middle) = (LEFT - 8.0, at + 4.5);
        add(format!("<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>"));
        add(format!("<text x=\"{beside}\" y=\"{middle:.1}\" text-anchor=\"end\">{name}</text>"));
    }
    for mark in &across.marks {
        let (at, name, end, below) = (x(*mark), short(*mark), bottom + 5.0, bottom + 20.0);
        add(format!("<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{end}\"/>"));
        add(format!("<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{name}</text>"));
    }
    add(format!("<line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/>"));
    let (middle, low, centre) = (f64::midpoint(LEFT, right), HEIGHT - 10.0, f64::midpoint(TOP, bottom));
    add(format!("<text x=\"{middle}\" y=\"{low}\" text-anchor=\"middle\">{}</text>", escape(&chart.x.title)));
    add(format!(
        "<text transform=\"translate(16 {centre}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        escape(&chart.y.title)
    ));
    for series in &all {
        let colour = colour_of(&all, series);
        let places: Vec<(f64, f64)> = series.points.iter().map(|(a, b)| (x(*a), y(*b))).collect();
        let joined: Vec<String> = places.iter().map(|(a, b)| format!("{a:.1},{b:.1}")).collect();
        let dash = if series.is_papers { " stroke-dasharray=\"6 4\"" } else { "" };
        add(format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>",
            joined.join(" ")
        ));
        // Where there are many, the line says it all.
        let few = places.len() <= 40;
        for (a, b) in places.iter().filter(|_| few) {
            let fill = if series.is_papers { "none" } else { colour };
            add(format!(
                "<circle cx=\"{a:.1}\" cy=\"{b:.1}\" r=\"4\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"2\"/>"
            ));
        }
    }
    add("</svg>".to_owned());
    out.push_str(&legend(&all, finding));
    Some(out)
}

fn opened(height: f64, title: &str) -> String {
    format!(
        "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n",
        escape(title)
    )
}

/// The paper's line has the colour of ours with the same name.
fn colour_of(all: &[Series], series: &Series) -> &'static str {
    let mut names: Vec<&str> = Vec::new();
    for series in all {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    let place = names.iter().position(|name| *name == series.name).unwrap_or(0);
    COLOURS[place % COLOURS.len()]
}

fn legend(all: &[Series], finding: &Finding) -> String {
    let items = all.iter().map(|series| {
        let colour = colour_of(all, series);
        let (class, who) = if series.is_papers { ("hollow", PAPERS) } else { ("full", ours(finding)) };
        let is_said = series.name.is_empty() || series.name == who;
        let name = if is_said { String::new() } else { format!("{}: ", escape(&series.name)) };
        format!("<li><span class=\"swatch {class}\" style=\"color:{colour}\"></span>{name}{who}</li>")
    });
    format!("<ul class=\"legend\">{}</ul>\n", items.collect::<String>())
}

/// What the paper's rows are called.
pub const PAPERS: &str = "the paper, on its own machines of 2008 to 2010";

/// What the other rows are called.
pub fn ours(finding: &Finding) -> &'static str {
    if finding.who() == "computed" { "computed" } else { "this machine" }
}

fn bars(chart: &Chart, finding: &Finding) -> Option<String> {
    let rows = finding.rows.iter().map(|row| (false, row)).chain(finding.published.iter().map(|row| (true, row)));
    let mut drawn: Vec<(bool, String, f64)> = rows
        .filter_map(|(is_papers, row)| Some((is_papers, text(row, &chart.x.column), figure(row, &chart.y)?)))
        .collect();
    // The paper's beside ours of the same name.
    let mut names: Vec<String> = Vec::new();
    for (_, name, _) in &drawn {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    drawn.sort_by_key(|(is_papers, name, _)| (names.iter().position(|known| known == name), *is_papers));
    // The paper's alone are in the table.
    drawn.iter().find(|(is_papers, _, _)| !is_papers)?;
    let up = Scaled::of(chart.y.law, drawn.iter().map(|(_, _, it)| *it));
    let height = TOP + BAR * drawn.len() as f64 + BOTTOM;
    let who = |is_papers: bool, name: &str| if is_papers { format!("{name} (paper)") } else { name.to_owned() };
    let longest = drawn.iter().map(|(is_papers, name, _)| who(*is_papers, name).chars().count()).max().unwrap_or(0);
    let beside = (longest as f64 * CHARACTER + GAP).min(MOST_BESIDE);
    let x = |value: f64| beside + (WIDTH - beside - BEHIND) * up.share(value);
    let mut out = opened(height, &chart.title);
    let mut add = |what: String| writeln!(out, "{what}").expect("writing to a string cannot fail");
    let bottom = height - BOTTOM;
    // Marks that would lie upon each other are left out.
    let step = up.marks.len().div_ceil(8).max(1);
    for mark in up.marks.iter().step_by(step) {
        let (at, below, name) = (x(*mark), bottom + 20.0, short(*mark));
        add(format!("<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>"));
        add(format!("<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{name}</text>"));
    }
    for (at, (is_papers, name, value)) in drawn.iter().enumerate() {
        let (top, end) = (TOP + BAR * at as f64 + 4.0, x(*value));
        let (wide, high, middle) = ((end - beside).max(1.0), BAR - 8.0, top + 13.5);
        let colour = COLOURS[names.iter().position(|known| known == name).unwrap_or(0) % COLOURS.len()];
        let fill = if *is_papers { "none" } else { colour };
        let dash = if *is_papers { " stroke-dasharray=\"5 3\"" } else { "" };
        let (before, behind, who) = (beside - GAP, end + 6.0, who(*is_papers, name));
        add(format!("<text x=\"{before:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>", escape(&who)));
        add(format!(
            "<rect x=\"{beside:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{high}\" fill=\"{fill}\" stroke=\"{colour}\" \
             stroke-width=\"1.5\"{dash}/>"
        ));
        add(format!("<text x=\"{behind:.1}\" y=\"{middle:.1}\">{}</text>", short(*value)));
    }
    let (middle, low) = (f64::midpoint(beside, WIDTH - BEHIND), height - 10.0);
    add(format!("<text x=\"{middle}\" y=\"{low}\" text-anchor=\"middle\">{}</text>", escape(&chart.y.title)));
    add("</svg>".to_owned());
    if drawn.iter().any(|(is_papers, _, _)| *is_papers) {
        writeln!(out, "<p class=\"legend\">Full: {}. Dashed: {PAPERS}.</p>", ours(finding))
            .expect("writing to a string cannot fail");
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn finding() -> Finding {
        let mut finding = Finding::of(&[("x", "x", None), ("y", "y", None), ("of", "of", None)]);
        for (x, y, of) in [(1, 10, "a"), (10, 1000, "a"), (1, 20, "<b>")] {
            finding.row(json!({ "x": x, "y": y, "of": of }));
        }
        finding.row(json!({ "x": 5, "y": null, "of": "a" }));
        finding.printed(json!({ "x": 10, "y": 1, "of": "a" }));
        finding
    }

    #[test]
    fn lines_have_a_point_a_row_and_the_papers_are_told_apart() {
        let chart = Chart::lines("t", Axis::log("x", "x"), Axis::log("y", "y")).by("of");
        let drawn = draw(&chart, &finding()).unwrap();
        assert_eq!(drawn.matches("<circle").count(), 4, "what is not known is not drawn");
        assert_eq!((drawn.matches("<polyline").count(), drawn.matches("stroke-dasharray").count()), (3, 1));
        assert_eq!(drawn.matches("2008").count(), 1, "the paper's machines are named: {drawn}");
        assert!(drawn.contains("&lt;b&gt;") && !drawn.contains("<b>"));
    }

    #[test]
    fn bars_lie_beside_those_of_their_name() {
        let chart = Chart::bars("t", "of", Axis::log("y", "y"));
        let drawn = draw(&chart, &finding()).unwrap();
        assert_eq!((drawn.matches("<rect").count(), drawn.matches("stroke-dasharray").count()), (4, 1));
        let (ours, papers, other) = (drawn.find(">a<"), drawn.find(">a (paper)<"), drawn.find(">&lt;b&gt;<"));
        assert!(ours < papers && papers < other, "{drawn}");
    }

    #[test]
    fn a_bar_begins_behind_its_name() {
        let chart = Chart::bars("t", "of", Axis::log("y", "y"));
        let began = |name: &str| {
            let mut finding = finding();
            finding.row(serde_json::json!({ "of": name, "y": 10.0 }));
            let drawn = draw(&chart, &finding).unwrap();
            let at = drawn.split("<rect x=\"").nth(1).unwrap();
            at[..at.find('"').unwrap()].parse::<f64>().unwrap()
        };
        assert!(began(&"n".repeat(50)) > 350.0 && began(&"n".repeat(200)) < WIDTH - BEHIND && began("n") < 100.0);
    }

    #[test]
    fn nothing_is_not_drawn() {
        let chart = Chart::lines("t", Axis::linear("x", "x"), Axis::linear("none", "y"));
        assert!(draw(&chart, &finding()).is_none());
        assert!(draw(&Chart::bars("t", "of", Axis::log("none", "y")), &finding()).is_none());
        let papers = Finding { rows: Vec::new(), ..finding() };
        for chart in
            [Chart::bars("t", "of", Axis::log("y", "y")), Chart::lines("t", Axis::log("x", "x"), Axis::log("y", "y"))]
        {
            assert!(draw(&chart, &papers).is_none(), "what only the paper has is no picture of this machine");
        }
    }

    #[test]
    fn marks_are_round_numbers_around_all_values() {
        let scaled = Scaled::of(Law::Linear, [3.0, 47.0].into_iter());
        assert_eq!(scaled.marks.first().zip(scaled.marks.last()), Some((&0.0, &50.0)));
        let scaled = Scaled::of(Law::Log, [3.0, 4700.0].into_iter());
        assert_eq!((scaled.marks.len(), scaled.share(1.0), scaled.share(1e4)), (5, 0.0, 1.0));
        let one = Scaled::of(Law::Linear, [0.0].into_iter());
        assert!(one.share(0.0).is_finite());
        for (value, expected) in
            [(0.0, "0"), (0.25, "0.25"), (0.1, "0.1"), (1500.0, "1,500"), (36_000.0, "36k"), (2.5e6, "2.5M")]
        {
            assert_eq!(short(value), expected);
        }
    }
}
