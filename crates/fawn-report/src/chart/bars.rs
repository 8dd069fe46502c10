//! A bar for each row, its text beside it.

use super::canvas::{AxisScale, BEHIND, TOP, WIDTH, colour, figure, opened, scrolled, short, text};
use super::model::{Chart, ChartRows};
use crate::markup::Element;
use crate::svg::anchored;

const BOTTOM: f64 = 52.0;
/// Of a bar with its room.
const BAR: f64 = 26.0;
/// Room for the texts beside bars: for each of their characters, whatever font there is, and at most.
const CHARACTER: f64 = 7.6;
const MOST_BESIDE: f64 = 460.0;
/// Between a bar and its text.
const GAP: f64 = 8.0;

/// The picture; `None`: there is nothing to draw.
pub(super) fn draw(chart: &Chart, rows: &ChartRows<'_>) -> Option<String> {
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
        let colour = colour(names.iter().position(|known| known == name).unwrap_or_default());
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
