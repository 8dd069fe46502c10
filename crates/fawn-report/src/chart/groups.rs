//! Bars in groups: a text, and below it a bar for each series. The bars have all of the width, however long the texts are.

use super::canvas::{AxisScale, BEHIND, TOP, WIDTH, colour, figure, opened, scrolled, short, text};
use super::model::{Chart, ChartRows};
use crate::html::list;
use crate::markup::{Element, escape};
use crate::svg::anchored;

/// Of the text above a group, with the room before it.
const HEAD: f64 = 26.0;
/// Of a bar with its room.
const BAR: f64 = 18.0;
const BOTTOM: f64 = 48.0;

/// Bars of one text.
struct BarGroup {
    name: String,
    /// The number of the series, and how long.
    bars: Vec<(usize, f64)>,
}

/// The picture with its legend; `None`: there is nothing to draw. Rows of the reference are not drawn.
pub(super) fn draw(chart: &Chart, rows: &ChartRows<'_>) -> Option<String> {
    let mut series: Vec<String> = chart.series_order.clone();
    let mut groups: Vec<BarGroup> = Vec::new();
    for row in rows.own {
        let Some(value) = figure(row, &chart.y) else { continue };
        let of = chart.series.as_ref().map(|column| text(row, column)).unwrap_or_default();
        let at = series.iter().position(|known| *known == of).unwrap_or_else(|| {
            series.push(of);
            series.len() - 1
        });
        let name = text(row, &chart.x.column);
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.bars.push((at, value)),
            None => groups.push(BarGroup { name, bars: vec![(at, value)] }),
        }
    }
    let values = || groups.iter().flat_map(|group| group.bars.iter().map(|(_, value)| *value));
    values().next()?;
    let scale = AxisScale::of(chart.y.law, values());
    let x = |value: f64| 1.0 + (WIDTH - 1.0 - BEHIND) * scale.share(value);
    let height = TOP + BOTTOM + groups.iter().map(|group| HEAD + BAR * group.bars.len() as f64).sum::<f64>();
    let bottom = height - BOTTOM;
    let mut out = opened(height, &chart.title);
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
        for (series, value) in &group.bars {
            let end = x(*value);
            let bar = Element::new("rect").attr("x", 1.0).px("y", top).px("width", (end - 1.0).max(1.0));
            out.add(bar.attr("height", BAR - 4.0).attr("fill", colour(*series)).empty());
            out.add(Element::new("text").px("x", end + 6.0).px("y", top + 11.5).text(&short(*value)));
            top += BAR;
        }
    }
    out.add(Element::new("text").attr("x", 1.0).attr("y", height - 8.0).text(&chart.y.title));
    // Only what is drawn is explained.
    let drawn = series
        .iter()
        .enumerate()
        .filter(|(at, _)| groups.iter().any(|group| group.bars.iter().any(|bar| bar.0 == *at)));
    let items = drawn.map(|(at, name)| {
        let colour = format!("color:{}", colour(at));
        Element::new("span").attr("class", "swatch full").attr("style", colour).text("") + &escape(name)
    });
    Some(list("ul", Some("legend"), items) + "\n" + &scrolled(&out.finish()))
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
    fn the_axis_ends_at_a_round_greatest_value() {
        let picture = drawn(&[("a", "board", Some(100.000_000_000_01))]).unwrap();
        assert!(picture.contains(">100<") && !picture.contains(">120<"), "{picture}");
    }
}
