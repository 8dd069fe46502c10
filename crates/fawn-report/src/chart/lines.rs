//! Lines and points over two axes.

use super::canvas::{AxisScale, TOP, WIDTH, colour, figure, opened, scrolled, text};
use super::model::{Chart, ChartKind, ChartLimit, ChartRows};
use crate::html::list;
use crate::markup::{Element, escape};
use crate::svg::{anchored, polyline};

const HEIGHT: f64 = 380.0;
const LEFT: f64 = 84.0;
/// Half of the longest text below a mark.
const RIGHT: f64 = 24.0;
const BOTTOM: f64 = 52.0;

/// A line of a chart.
struct Series {
    name: String,
    is_reference: bool,
    points: Vec<(f64, f64)>,
    labels: Vec<String>,
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

/// The picture with its legend; `None`: there is nothing to draw.
pub(super) fn draw(chart: &Chart, rows: &ChartRows<'_>) -> Option<String> {
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
        let colour = colour_of(chart, &all, series);
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
    Some(scrolled(&out.finish()) + &legend(chart, &all, rows))
}

/// The reference's line has the colour of the own one with the same name.
fn colour_of(chart: &Chart, all: &[Series], series: &Series) -> &'static str {
    let mut names: Vec<&str> = chart.series_order.iter().map(String::as_str).collect();
    for series in all {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    let place = names.iter().position(|name| *name == series.name).unwrap_or(0);
    colour(place)
}

fn legend(chart: &Chart, all: &[Series], rows: &ChartRows<'_>) -> String {
    let items = all.iter().map(|series| {
        let (class, who) =
            if series.is_reference { ("hollow", rows.reference_label) } else { ("full", rows.own_label) };
        let colour = format!("color:{}", colour_of(chart, all, series));
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
