//! Charts: rows as a picture, in the page's own ink, so that it is legible by day and by night.
//!
//! Own points are full and joined by lines that go through; those of a reference are hollow, and their lines are dashed.

mod bars;
mod canvas;
mod groups;
mod lines;
mod model;

pub use model::{Axis, Chart, ChartKind, ChartLimit, ChartRows, Law, Row};

/// The picture with its legend, in which a narrow page scrolls it (class `wide`); `None`: there is nothing to draw.
pub fn draw(chart: &Chart, rows: &ChartRows<'_>) -> Option<String> {
    match chart.kind {
        ChartKind::Lines | ChartKind::Points => lines::draw(chart, rows),
        ChartKind::Bars => bars::draw(chart, rows),
        ChartKind::Groups => groups::draw(chart, rows),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::canvas::{AxisScale, BEHIND, COLOURS, WIDTH, short};
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
    fn bars_of_one_name_have_one_colour_and_others_one_each() {
        let rows: Vec<Row> = ["a", "b", "a"].iter().map(|bar| row(json!({ "bar": bar, "y": 3 }))).collect();
        let shown = ChartRows { own: &rows, own_label: "", reference: &[], reference_label: "", reference_word: "" };
        let drawn = draw(&Chart::bars("work", "bar", Axis::linear("y", "y")), &shown).unwrap();
        let bars = |colour: &&str| drawn.matches(&format!("fill=\"{colour}\"")).count();
        assert_eq!(COLOURS.iter().map(bars).take(3).collect::<Vec<_>>(), [2, 1, 0]);
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
