//! Bars in groups: a text, and below it a bar for each series. The bars have all of the width, however long the texts are, and a
//! narrow page shows all of it.

use super::canvas::{AxisScale, TOP, colour, figure, picture, short, text};
use super::model::{Chart, ChartRows};
use crate::html::list;
use crate::markup::{Element, escape};
use crate::svg::anchored;

const WIDTH: f64 = 480.0;
/// Room for the value behind a bar.
const BEHIND: f64 = 52.0;
/// Of the text above a group, with the room before it.
const HEAD: f64 = 26.0;
/// Of a bar with its room.
const BAR: f64 = 18.0;
const BOTTOM: f64 = 48.0;

/// A bar.
struct GroupedBar {
    /// The number of its series.
    series: usize,
    is_reference: bool,
    value: f64,
}

/// Bars of one text.
struct BarGroup {
    name: String,
    bars: Vec<GroupedBar>,
}

/// The picture with its legend; `None`: there is nothing to draw. Bars of the reference are hollow, below those of their text.
pub(super) fn draw(chart: &Chart, rows: &ChartRows<'_>) -> Option<String> {
    let mut names: Vec<String> = chart.series_order.clone();
    let mut groups: Vec<BarGroup> = Vec::new();
    let all = rows.own.iter().map(|row| (false, row)).chain(rows.reference.iter().map(|row| (true, row)));
    for (is_reference, row) in all {
        let Some(value) = figure(row, &chart.y) else { continue };
        let of = chart.series.as_ref().map(|column| text(row, column)).unwrap_or_default();
        let of = if is_reference { format!("{of} ({})", rows.reference_word) } else { of };
        let series = names.iter().position(|known| *known == of).unwrap_or_else(|| {
            names.push(of);
            names.len() - 1
        });
        let bar = GroupedBar { series, is_reference, value };
        let name = text(row, &chart.x.column);
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.bars.push(bar),
            None => groups.push(BarGroup { name, bars: vec![bar] }),
        }
    }
    let bars = || groups.iter().flat_map(|group| &group.bars);
    // The reference alone is no picture.
    bars().find(|bar| !bar.is_reference)?;
    let scale = AxisScale::of(chart.y.law, bars().map(|bar| bar.value));
    let x = |value: f64| 1.0 + (WIDTH - 1.0 - BEHIND) * scale.share(value);
    let height = TOP + BOTTOM + groups.iter().map(|group| HEAD + BAR * group.bars.len() as f64).sum::<f64>();
    let bottom = height - BOTTOM;
    let mut out = picture("chart narrow", (WIDTH, height), &chart.title);
    for mark in &scale.marks {
        let at = x(*mark);
        let line = Element::new("line").attr("class", "grid").px("x1", at).px("x2", at);
        out.add(line.attr("y1", TOP).attr("y2", bottom).empty());
        // The text of the first mark would begin before the picture.
        let anchor = if at < 20.0 { "start" } else { "middle" };
        out.add(anchored(Element::new("text").px("x", at).attr("y", bottom + 20.0), anchor).text(&short(*mark)));
    }
    let mut top = TOP;
    for group in &groups {
        out.add(Element::new("text").attr("x", 1.0).px("y", top + 19.0).text(&group.name));
        top += HEAD;
        for bar in &group.bars {
            let (end, colour) = (x(bar.value), colour(bar.series));
            let drawn = Element::new("rect").attr("x", 1.0).px("y", top).px("width", (end - 1.0).max(1.0));
            let drawn = drawn.attr("height", BAR - 4.0).attr("fill", if bar.is_reference { "none" } else { colour });
            let dashed = |it: Element| it.attr("stroke", colour).attr("stroke-dasharray", "5 3");
            out.add(if bar.is_reference { dashed(drawn) } else { drawn }.empty());
            out.add(Element::new("text").px("x", end + 6.0).px("y", top + 11.5).text(&short(bar.value)));
            top += BAR;
        }
    }
    out.add(Element::new("text").attr("x", 1.0).attr("y", height - 8.0).text(&chart.y.title));
    // Only what is drawn is explained.
    let drawn =
        names.iter().enumerate().filter_map(|(at, name)| Some((at, name, bars().find(|bar| bar.series == at)?)));
    let items = drawn.map(|(at, name, bar)| {
        let colour = format!("color:{}", colour(at));
        let class = if bar.is_reference { "swatch hollow" } else { "swatch full" };
        Element::new("span").attr("class", class).attr("style", colour).text("") + &escape(name)
    });
    Some(list("ul", Some("legend"), items) + "\n" + &out.finish())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::chart::canvas::COLOURS;
    use crate::chart::model::{Axis, Row};

    fn row(value: Value) -> Row {
        let Value::Object(row) = value else { unreachable!("rows are objects") };
        row
    }

    fn drawn(rows: &[(&str, &str, Option<f64>)]) -> Option<String> {
        let rows: Vec<Row> = rows.iter().map(|(work, by, y)| row(json!({ "work": work, "by": by, "y": y }))).collect();
        let shown = ChartRows { own: &rows, own_label: "", reference: &[], reference_label: "", reference_word: "" };
        let order = ["board", "phone", "server"].map(str::to_owned);
        draw(&Chart::groups("t", "work", "by", Axis::linear("y", "%")).coloured(&order), &shown)
    }

    #[test]
    fn a_machine_has_its_colour_also_where_another_one_is_missing() {
        let both = drawn(&[("sort", "board", Some(100.0)), ("sort", "server", Some(50.0))]).unwrap();
        let alone = drawn(&[("sort", "server", Some(100.0)), ("sort", "board", None)]).unwrap();
        for (picture, colours) in [(&both, [true, true]), (&alone, [false, true])] {
            let has = |at: usize| picture.contains(&format!("fill=\"{}\"", COLOURS[at]));
            assert_eq!([has(0), has(2)], colours, "{picture}");
            assert!(!has(1) && !picture.contains("phone"), "{picture}");
        }
        assert!(both.find("board") < both.find("<svg"), "the legend comes first: {both}");
        assert_eq!(drawn(&[("sort", "board", None)]), None);
    }

    #[test]
    fn bars_of_one_work_lie_below_its_name_which_may_be_long() {
        let long = "a very long name of some work with <all> that belongs to it, and more";
        let picture = drawn(&[(long, "board", Some(3.0)), ("b", "board", Some(2.0)), (long, "server", Some(1.0))]);
        let picture = picture.unwrap();
        assert_eq!((picture.matches("with &lt;all&gt;").count(), picture.matches("<rect").count()), (1, 3));
        let places: Vec<usize> = picture.match_indices("<rect").map(|(at, _)| at).collect();
        let second = picture.find(">b<").unwrap();
        assert!(places[1] < second && second < places[2], "{picture}");
        assert_eq!(picture.matches("<rect x=\"1\"").count(), 3, "{picture}");
    }

    #[test]
    fn what_is_compared_with_is_hollow_and_no_picture_alone() {
        let own = [row(json!({ "work": "a", "by": "board", "y": 2 }))];
        let other = [row(json!({ "work": "b", "by": "board", "y": 1 }))];
        let drawn = |own: &[Row]| {
            let shown =
                ChartRows { own, own_label: "", reference: &other, reference_label: "", reference_word: "paper" };
            draw(&Chart::groups("t", "work", "by", Axis::linear("y", "%")), &shown)
        };
        let picture = drawn(&own).unwrap();
        assert_eq!((picture.matches("<rect").count(), picture.matches("fill=\"none\"").count()), (2, 1), "{picture}");
        assert!(picture.contains("board (paper)") && picture.contains("swatch hollow"), "{picture}");
        assert_eq!(drawn(&[]), None);
    }

    #[test]
    fn the_axis_ends_at_a_round_greatest_value() {
        let picture = drawn(&[("a", "board", Some(100.000_000_000_01))]).unwrap();
        assert!(picture.contains(">100<") && !picture.contains(">120<"), "{picture}");
    }
}
