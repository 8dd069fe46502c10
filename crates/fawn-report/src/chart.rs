//! Charts: rows as a picture, in the page's own ink, so that it is legible by day and by night.
//!
//! Own points are full and joined by lines that go through; those of a reference are hollow, and their lines are dashed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::amount::number;
use crate::html::list;
use crate::markup::{Element, escape};
use crate::svg::{Drawing, anchored, polyline, root};

/// Figures by name. Units are the ends of names; what is not known is null.
pub type Row = Map<String, Value>;

/// A drawing of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// How.
    pub kind: ChartKind,
    /// To the right; of bars, the text beside each.
    pub x: Axis,
    /// Upwards; of bars, their length.
    pub y: Axis,
    /// The column whose values part rows into lines, or bars into colours.
    pub series: Option<String>,
    /// Upright lines with their names, e.g. the sizes of caches; not of bars.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ChartLimit>,
    /// The column whose text stands beside each point; not of bars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// An upright line through a chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChartLimit {
    /// Where it is, as a value of the axis to the right.
    pub at: f64,
    /// Its name.
    pub name: String,
}

/// How rows are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChartKind {
    /// Points that lines join.
    Lines,
    /// Points that nothing joins.
    Points,
    /// A bar a row.
    Bars,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The column that it shows.
    pub column: String,
    /// What it says.
    pub title: String,
    /// How values lie on it.
    pub law: Law,
}

/// How values lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// From 0, evenly.
    Linear,
    /// By powers of ten; what is not above 0 is not drawn.
    Log,
    /// By powers of two, as numbers of bytes; what is not above 0 is not drawn.
    Bytes,
}

impl Axis {
    /// From 0, evenly.
    pub fn linear(column: &str, title: &str) -> Self {
        Self { column: column.to_owned(), title: title.to_owned(), law: Law::Linear }
    }

    /// By powers of ten.
    pub fn log(column: &str, title: &str) -> Self {
        Self { law: Law::Log, ..Self::linear(column, title) }
    }

    /// By powers of two, as numbers of bytes.
    pub fn bytes(column: &str, title: &str) -> Self {
        Self { law: Law::Bytes, ..Self::linear(column, title) }
    }
}

impl Chart {
    /// Points that lines join.
    pub fn lines(title: &str, x: Axis, y: Axis) -> Self {
        Self { title: title.to_owned(), kind: ChartKind::Lines, x, y, series: None, limits: Vec::new(), label: None }
    }

    /// Points that nothing joins.
    pub fn points(title: &str, x: Axis, y: Axis) -> Self {
        Self { kind: ChartKind::Points, ..Self::lines(title, x, y) }
    }

    /// With the text of a column beside each point.
    #[must_use]
    pub fn labelled(self, column: &str) -> Self {
        Self { label: Some(column.to_owned()), ..self }
    }

    /// A bar a row, with the text of column `of` beside it.
    pub fn bars(title: &str, of: &str, y: Axis) -> Self {
        Self { kind: ChartKind::Bars, ..Self::lines(title, Axis::linear(of, ""), y) }
    }

    /// A line, or a colour of bars, for each value of a column.
    #[must_use]
    pub fn by(self, column: &str) -> Self {
        Self { series: Some(column.to_owned()), ..self }
    }

    /// With upright lines.
    #[must_use]
    pub fn with_limits(self, limits: Vec<ChartLimit>) -> Self {
        Self { limits, ..self }
    }
}

/// The rows of a chart.
#[derive(Clone, Copy, Debug)]
pub struct ChartRows<'a> {
    /// What is shown.
    pub own: &'a [Row],
    /// Its name.
    pub own_label: &'a str,
    /// What it is compared with.
    pub reference: &'a [Row],
    /// Its name.
    pub reference_label: &'a str,
    /// One word for it, behind the names of its bars.
    pub reference_word: &'a str,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 84.0;
/// Half of the longest text below a mark.
const RIGHT: f64 = 24.0;
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

/// Colours that stay apart for most eyes. Each has a contrast of 3 to white and to black.
const COLOURS: &[&str] = &["#4477aa", "#ee6677", "#228833", "#a68500", "#2299bb", "#aa3377", "#dd7744", "#888888"];

/// A line of a chart.
struct Series {
    name: String,
    is_reference: bool,
    points: Vec<(f64, f64)>,
    labels: Vec<String>,
}

/// The picture with its legend, in which a narrow page scrolls it (class `wide`); `None`: there is nothing to draw.
pub fn draw(chart: &Chart, rows: &ChartRows<'_>) -> Option<String> {
    match chart.kind {
        ChartKind::Lines | ChartKind::Points => lines(chart, rows),
        ChartKind::Bars => bars(chart, rows),
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
fn series(chart: &Chart, rows: &ChartRows<'_>) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for (is_reference, rows) in [(false, rows.own), (true, rows.reference)] {
        for row in rows {
            let (Some(x), Some(y)) = (figure(row, &chart.x), figure(row, &chart.y)) else { continue };
            let name = chart.series.as_ref().map(|column| text(row, column)).unwrap_or_default();
            let label = chart.label.as_ref().map(|column| text(row, column)).unwrap_or_default();
            match all.iter_mut().find(|series| series.name == name && series.is_reference == is_reference) {
                Some(series) => {
                    series.points.push((x, y));
                    series.labels.push(label);
                }
                None => all.push(Series { name, is_reference, points: vec![(x, y)], labels: vec![label] }),
            }
        }
    }
    all
}

/// From values to places, with the values at which there is a mark.
struct AxisScale {
    law: Law,
    low: f64,
    high: f64,
    marks: Vec<f64>,
}

impl AxisScale {
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
            Law::Bytes => {
                let (first, last) = (low.log2().floor(), high.log2().ceil().max(low.log2().floor() + 1.0));
                // No more marks than have room beside each other.
                let step = ((last - first) / 8.0).ceil().max(1.0);
                let marks = (0..=((last - first) / step) as u32).map(|at| 2f64.powf(first + step * f64::from(at)));
                Self { law, low: first, high: last, marks: marks.collect() }
            }
        }
    }

    /// From 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let value = match self.law {
            Law::Linear => value,
            Law::Log => value.log10(),
            Law::Bytes => value.log2(),
        };
        (value - self.low) / (self.high - self.low)
    }

    /// A value beside its mark.
    fn label(&self, value: f64) -> String {
        if self.law == Law::Bytes { binary(value) } else { short(value) }
    }
}

/// 1, 2 or 5 times a power of ten, not below `least`.
fn nice(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|it| it * power).find(|it| *it >= least * 0.999_999).unwrap_or(10.0 * power)
}

/// `64 KiB`.
fn binary(bytes: f64) -> String {
    let units = [(2f64.powi(30), "GiB"), (2f64.powi(20), "MiB"), (1024.0, "KiB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{} {name}", short(bytes / unit)),
        None => format!("{} B", short(bytes)),
    }
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

fn lines(chart: &Chart, rows: &ChartRows<'_>) -> Option<String> {
    let all = series(chart, rows);
    // The reference alone is no picture.
    all.iter().find(|series| !series.is_reference)?;
    let points = || all.iter().flat_map(|series| series.points.iter().copied());
    let across = AxisScale::of(chart.x.law, points().map(|(x, _)| x));
    let up = AxisScale::of(chart.y.law, points().map(|(_, y)| y));
    let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * across.share(value);
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * up.share(value);
    let mut out = opened(HEIGHT, &chart.title);
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let line = |class: &str| Element::new("line").attr("class", class);
    for mark in &up.marks {
        let at = y(*mark);
        out.add(line("grid").attr("x1", LEFT).attr("x2", right).px("y1", at).px("y2", at).empty());
        out.add(anchored(Element::new("text").attr("x", LEFT - 8.0).px("y", at + 4.5), "end").text(&up.label(*mark)));
    }
    for mark in &across.marks {
        let at = x(*mark);
        out.add(line("axis").px("x1", at).px("x2", at).attr("y1", bottom).attr("y2", bottom + 5.0).empty());
        out.add(
            anchored(Element::new("text").px("x", at).attr("y", bottom + 20.0), "middle").text(&across.label(*mark)),
        );
    }
    out.add(line("axis").attr("x1", LEFT).attr("x2", right).attr("y1", bottom).attr("y2", bottom).empty());
    let (middle, low, centre) = (f64::midpoint(LEFT, right), HEIGHT - 10.0, f64::midpoint(TOP, bottom));
    out.add(anchored(Element::new("text").attr("x", middle).attr("y", low), "middle").text(&chart.x.title));
    let upright = Element::new("text").attr("transform", format_args!("translate(16 {centre}) rotate(-90)"));
    out.add(anchored(upright, "middle").text(&chart.y.title));
    // Names of lines that are close to each other take turns in height.
    let is_inside = |limit: &&ChartLimit| (0.0..=1.0).contains(&across.share(limit.at));
    for (place, limit) in chart.limits.iter().filter(is_inside).enumerate() {
        let at = x(limit.at);
        out.add(line("limit").px("x1", at).px("x2", at).attr("y1", TOP).attr("y2", bottom).empty());
        let (end, beside) = if at > right - 70.0 { ("end", at - 4.0) } else { ("start", at + 4.0) };
        let name = Element::new("text").px("x", beside).px("y", TOP + 12.0 + 16.0 * (place % 2) as f64);
        out.add(anchored(name, end).text(&limit.name));
    }
    for series in &all {
        let colour = colour_of(&all, series);
        let places: Vec<(f64, f64)> = series.points.iter().map(|(a, b)| (x(*a), y(*b))).collect();
        let joined = polyline(places.iter().copied(), colour).attr("stroke-width", 2);
        let is_joined = chart.kind == ChartKind::Lines;
        if is_joined {
            out.add(if series.is_reference { joined.attr("stroke-dasharray", "6 4") } else { joined }.empty());
        }
        // Those of neighbours take turns beside and above, so that they do not lie upon each other.
        for (at, ((a, b), label)) in places.iter().zip(&series.labels).enumerate().filter(|(_, (_, it))| !it.is_empty())
        {
            let (x, y, anchor) = if at % 2 == 0 { (a + 7.0, b + 4.5, "start") } else { (*a, b - 8.0, "middle") };
            out.add(anchored(Element::new("text").px("x", x).px("y", y), anchor).text(label));
        }
        // Where there are many, the line says it all.
        let few = places.len() <= 40;
        for (a, b) in places.iter().filter(|_| few || !is_joined) {
            let fill = if series.is_reference { "none" } else { colour };
            let point = Element::new("circle").px("cx", *a).px("cy", *b).attr("r", 4).attr("fill", fill);
            out.add(point.attr("stroke", colour).attr("stroke-width", 2).empty());
        }
    }
    Some(scrolled(&out.finish()) + &legend(&all, rows))
}

fn opened(height: f64, title: &str) -> Drawing {
    Drawing::open(root(Some("chart"), WIDTH, height).attr("role", "img").attr("aria-label", title))
}

/// A picture that keeps its size on a narrow page.
fn scrolled(picture: &str) -> String {
    Element::new("div").attr("class", "wide").around(picture) + "\n"
}

/// The reference's line has the colour of the own one with the same name.
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

fn legend(all: &[Series], rows: &ChartRows<'_>) -> String {
    let items = all.iter().map(|series| {
        let (class, who) =
            if series.is_reference { ("hollow", rows.reference_label) } else { ("full", rows.own_label) };
        let colour = format!("color:{}", colour_of(all, series));
        let swatch = Element::new("span").attr("class", format_args!("swatch {class}")).attr("style", colour).text("");
        let is_said = series.name.is_empty() || series.name == who;
        let name = match (is_said, who.is_empty()) {
            (true, _) => String::new(),
            (false, true) => escape(&series.name),
            (false, false) => format!("{}: ", escape(&series.name)),
        };
        format!("{swatch}{name}{who}")
    });
    list("ul", Some("legend"), items) + "\n"
}

/// The number of a colour for each bar by its name: bars of one series have one, or else those of one name.
fn colours_of_bars<'n>(chart: &Chart, rows: &ChartRows<'_>, names: impl Iterator<Item = &'n str>) -> Vec<usize> {
    let mut known: Vec<String> = Vec::new();
    let series_of = |name: &str| {
        let row = rows.own.iter().chain(rows.reference).find(|row| text(row, &chart.x.column) == name);
        chart.series.as_ref().zip(row).map_or_else(|| name.to_owned(), |(column, row)| text(row, column))
    };
    let place = |series: String| {
        known.iter().position(|other| *other == series).unwrap_or_else(|| {
            known.push(series);
            known.len() - 1
        })
    };
    names.map(series_of).map(place).collect()
}

fn bars(chart: &Chart, rows: &ChartRows<'_>) -> Option<String> {
    let all = rows.own.iter().map(|row| (false, row)).chain(rows.reference.iter().map(|row| (true, row)));
    let mut drawn: Vec<(bool, String, f64)> = all
        .filter_map(|(is_reference, row)| Some((is_reference, text(row, &chart.x.column), figure(row, &chart.y)?)))
        .collect();
    // The reference's beside the own one of the same name.
    let mut names: Vec<String> = Vec::new();
    for (_, name, _) in &drawn {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    drawn.sort_by_key(|(is_reference, name, _)| (names.iter().position(|known| known == name), *is_reference));
    // The reference alone is no picture.
    drawn.iter().find(|(is_reference, _, _)| !is_reference)?;
    let colours = colours_of_bars(chart, rows, drawn.iter().map(|(_, name, _)| name.as_str()));
    let up = AxisScale::of(chart.y.law, drawn.iter().map(|(_, _, it)| *it));
    let height = TOP + BAR * drawn.len() as f64 + BOTTOM;
    let word = rows.reference_word;
    let who = |is_reference: bool, name: &str| if is_reference { format!("{name} ({word})") } else { name.to_owned() };
    let longest =
        drawn.iter().map(|(is_reference, name, _)| who(*is_reference, name).chars().count()).max().unwrap_or(0);
    let beside = (longest as f64 * CHARACTER + GAP).min(MOST_BESIDE);
    let x = |value: f64| beside + (WIDTH - beside - BEHIND) * up.share(value);
    let mut out = opened(height, &chart.title);
    let bottom = height - BOTTOM;
    // Marks that would lie upon each other are left out.
    let step = up.marks.len().div_ceil(8).max(1);
    for mark in up.marks.iter().step_by(step) {
        let at = x(*mark);
        let line = Element::new("line").attr("class", "grid").px("x1", at).px("x2", at);
        out.add(line.attr("y1", TOP).attr("y2", bottom).empty());
        out.add(anchored(Element::new("text").px("x", at).attr("y", bottom + 20.0), "middle").text(&short(*mark)));
    }
    for (at, (is_reference, name, value)) in drawn.iter().enumerate() {
        let (top, end) = (TOP + BAR * at as f64 + 4.0, x(*value));
        let (wide, high, middle) = ((end - beside).max(1.0), BAR - 8.0, top + 13.5);
        let colour = COLOURS[colours[at] % COLOURS.len()];
        let label = Element::new("text").px("x", beside - GAP).px("y", middle);
        out.add(anchored(label, "end").text(&who(*is_reference, name)));
        let bar = Element::new("rect").px("x", beside).px("y", top).px("width", wide).attr("height", high);
        let bar = bar
            .attr("fill", if *is_reference { "none" } else { colour })
            .attr("stroke", colour)
            .attr("stroke-width", 1.5);
        out.add(if *is_reference { bar.attr("stroke-dasharray", "5 3") } else { bar }.empty());
        out.add(Element::new("text").px("x", end + 6.0).px("y", middle).text(&short(*value)));
    }
    let (middle, low) = (f64::midpoint(beside, WIDTH - BEHIND), height - 10.0);
    out.add(anchored(Element::new("text").attr("x", middle).attr("y", low), "middle").text(&chart.y.title));
    let mut out = scrolled(&out.finish());
    if drawn.iter().any(|(is_reference, _, _)| *is_reference) {
        let legend = format!("Full: {}. Dashed: {}.", rows.own_label, rows.reference_label);
        out += &(Element::new("p").attr("class", "legend").around(&legend) + "\n");
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(row: Value) -> Row {
        let Value::Object(row) = row else { unreachable!("rows are objects") };
        row
    }

    fn own() -> Vec<Row> {
        let known = [(1, 10, "a"), (10, 1000, "a"), (1, 20, "<b>")];
        let mut rows: Vec<Row> = known.iter().map(|(x, y, of)| row(json!({ "x": x, "y": y, "of": of }))).collect();
        rows.push(row(json!({ "x": 5, "y": null, "of": "a" })));
        rows
    }

    fn drawn(chart: &Chart, own: &[Row]) -> Option<String> {
        let reference = [row(json!({ "x": 10, "y": 1, "of": "a" }))];
        let rows = ChartRows {
            own,
            own_label: "this machine",
            reference: &reference,
            reference_label: "machines of 2008",
            reference_word: "paper",
        };
        draw(chart, &rows)
    }

    #[test]
    fn bars_of_one_series_have_one_colour_and_others_one_each() {
        let rows: Vec<Row> = [("sort: a", "a"), ("sort: b", "b"), ("search: a", "a")]
            .iter()
            .map(|(bar, machine)| row(json!({ "bar": bar, "machine": machine, "y": 3 })))
            .collect();
        let shown = ChartRows { own: &rows, own_label: "", reference: &[], reference_label: "", reference_word: "" };
        let chart = Chart::bars("work", "bar", Axis::linear("y", "y"));
        let colours = |chart: &Chart| {
            let drawn = draw(chart, &shown).unwrap();
            COLOURS
                .iter()
                .map(|colour| drawn.matches(&format!("fill=\"{colour}\"")).count())
                .take(3)
                .collect::<Vec<_>>()
        };
        assert_eq!((colours(&chart), colours(&chart.clone().by("machine"))), (vec![1, 1, 1], vec![2, 1, 0]));
    }

    #[test]
    fn limits_are_drawn_inside_and_bytes_have_binary_units() {
        let rows: Vec<Row> =
            [(24_000, 9), (134_000_000, 1)].iter().map(|(x, y)| row(json!({ "x": x, "y": y }))).collect();
        let limit = |at: f64, name: &str| ChartLimit { at, name: name.to_owned() };
        let limits = vec![limit(49_152.0, "L1 <d>"), limit(1e12, "beyond")];
        let chart = Chart::lines("caches", Axis::bytes("x", "matrix"), Axis::linear("y", "y")).with_limits(limits);
        let shown = ChartRows { own: &rows, own_label: "", reference: &[], reference_label: "", reference_word: "" };
        let drawn = draw(&chart, &shown).unwrap();
        for what in ["class=\"limit\"", "L1 &lt;d&gt;", ">16 KiB<", ">64 MiB<"] {
            assert!(drawn.contains(what), "{what}: {drawn}");
        }
        assert!(!drawn.contains("beyond"), "{drawn}");
        assert_eq!(drawn.matches("class=\"limit\"").count(), 1);
    }

    #[test]
    fn lines_have_a_point_a_row_and_the_reference_is_told_apart() {
        let chart = Chart::lines("t", Axis::log("x", "x"), Axis::log("y", "y")).by("of");
        let drawn = drawn(&chart, &own()).unwrap();
        assert_eq!(drawn.matches("<circle").count(), 4, "what is not known is not drawn");
        assert_eq!((drawn.matches("<polyline").count(), drawn.matches("stroke-dasharray").count()), (3, 1));
        assert_eq!(drawn.matches("2008").count(), 1, "the reference is named: {drawn}");
        assert!(drawn.contains("&lt;b&gt;") && !drawn.contains("<b>"));
    }

    #[test]
    fn bars_lie_beside_those_of_their_name() {
        let chart = Chart::bars("t", "of", Axis::log("y", "y"));
        let drawn = drawn(&chart, &own()).unwrap();
        assert_eq!((drawn.matches("<rect").count(), drawn.matches("stroke-dasharray").count()), (4, 1));
        let (ours, papers, other) = (drawn.find(">a<"), drawn.find(">a (paper)<"), drawn.find(">&lt;b&gt;<"));
        assert!(ours < papers && papers < other, "{drawn}");
    }

    #[test]
    fn a_bar_begins_behind_its_name() {
        let chart = Chart::bars("t", "of", Axis::log("y", "y"));
        let began = |name: &str| {
            let mut rows = own();
            rows.push(row(json!({ "of": name, "y": 10.0 })));
            let drawn = drawn(&chart, &rows).unwrap();
            let at = drawn.split("<rect x=\"").nth(1).unwrap();
            at[..at.find('"').unwrap()].parse::<f64>().unwrap()
        };
        assert!(began(&"n".repeat(50)) > 350.0 && began(&"n".repeat(200)) < WIDTH - BEHIND && began("n") < 100.0);
    }

    #[test]
    fn nothing_is_not_drawn() {
        let chart = Chart::lines("t", Axis::linear("x", "x"), Axis::linear("none", "y"));
        assert!(drawn(&chart, &own()).is_none());
        assert!(drawn(&Chart::bars("t", "of", Axis::log("none", "y")), &own()).is_none());
        for chart in
            [Chart::bars("t", "of", Axis::log("y", "y")), Chart::lines("t", Axis::log("x", "x"), Axis::log("y", "y"))]
        {
            assert!(drawn(&chart, &[]).is_none(), "the reference alone is no picture");
        }
    }

    #[test]
    fn marks_are_round_numbers_around_all_values() {
        let scaled = AxisScale::of(Law::Linear, [3.0, 47.0].into_iter());
        assert_eq!(scaled.marks.first().zip(scaled.marks.last()), Some((&0.0, &50.0)));
        let scaled = AxisScale::of(Law::Log, [3.0, 4700.0].into_iter());
        assert_eq!((scaled.marks.len(), scaled.share(1.0), scaled.share(1e4)), (5, 0.0, 1.0));
        let one = AxisScale::of(Law::Linear, [0.0].into_iter());
        assert!(one.share(0.0).is_finite());
        for (value, expected) in
            [(0.0, "0"), (0.25, "0.25"), (0.1, "0.1"), (1500.0, "1,500"), (36_000.0, "36k"), (2.5e6, "2.5M")]
        {
            assert_eq!(short(value), expected);
        }
    }
}
