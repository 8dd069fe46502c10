//! A map as a picture.

use fawn_report::amount::{bytes, count};
use fawn_report::markup::Element;
use fawn_report::svg::{Drawing, anchored, root};

use crate::map::{COLUMNS, ROWS, column_bytes, row_rate};
use crate::{Map, Workload};

/// Pixels of a cell.
pub const CELL: f64 = 3.6;
/// Room for the numbers to the left, and for those below.
const LEFT: f64 = 78.0;
const TOP: f64 = 12.0;
const BELOW: f64 = 52.0;

/// Colours that stay apart for most eyes; what comes after the last is grey.
const COLOURS: &[&str] = &["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee8866", "#777777"];

/// The colour of an option, by its place among the shares.
pub(crate) fn colour(place: usize) -> &'static str {
    COLOURS.get(place).copied().unwrap_or("#bbbbbb")
}

impl Map {
    /// It as an SVG: data to the right, rates upwards, each option's area with its place among the shares, from 1.
    pub fn picture(&self) -> String {
        svg(self, None)
    }
}

/// The map: data to the right, rates upwards, both by powers of ten; where there is room, a number names the option, by its
/// place among the shares from 1; a circle stands where the workload is, if there is one.
pub(crate) fn svg(map: &Map, workload: Option<&Workload>) -> String {
    let (width, height) = (LEFT + CELL * COLUMNS as f64 + 24.0, TOP + CELL * ROWS as f64 + BELOW);
    let root = root(None, width, height).attr("role", "img");
    let root = root.attr("aria-label", "The cheapest option by data and rate").attr("font-family", "sans-serif");
    // Narrow, so that text stays readable where a phone makes it smaller, and no larger than the page's where there is room.
    let mut out = Drawing::open(root.attr("font-size", 13).attr("style", "max-width:36rem"));
    let place = |option: usize| {
        let name = &map.names[option];
        map.shares.iter().position(|share| share.name == *name).unwrap_or(COLOURS.len())
    };
    for (row, cells) in map.cells.chunks(COLUMNS).enumerate() {
        let mut column = 0;
        for run in cells.chunk_by(|a, b| a == b) {
            let (x, y) = (LEFT + CELL * column as f64, TOP + CELL * (ROWS - 1 - row) as f64);
            // A little more than a cell, so that no gap shows between rows.
            let (wide, high, fill) = (CELL * run.len() as f64 + 0.3, CELL + 0.3, colour(place(run[0])));
            let rect = Element::new("rect").px("x", x).px("y", y).px("width", wide).px("height", high);
            out.add(rect.attr("fill", fill).attr("shape-rendering", "crispEdges").empty());
            column += run.len();
        }
    }
    axes(&mut out);
    for (at, share) in map.shares.iter().enumerate().filter(|(_, share)| share.share > 0.01) {
        let option = map.names.iter().position(|name| *name == share.name);
        if let Some((row, column)) = option.and_then(|option| middle(&map.cells, option)) {
            let (x, y) = (x_of(column as f64), y_of(row as f64) + 5.0);
            let number = anchored(Element::new("text").px("x", x).px("y", y), "middle").attr("fill", "#fff");
            let number = number.attr("stroke", "#000").attr("stroke-width", 3).attr("paint-order", "stroke");
            out.add(number.attr("font-weight", "bold").attr("font-size", 17).text(&(at + 1).to_string()));
        }
    }
    if let Some(workload) = workload {
        mark(workload, &mut out);
    }
    out.finish()
}

/// The middle of a cell.
fn x_of(column: f64) -> f64 {
    LEFT + CELL * (column + 0.5)
}

fn y_of(row: f64) -> f64 {
    TOP + CELL * ((ROWS - 1) as f64 - row + 0.5)
}

fn axes(out: &mut Drawing) {
    let (right, bottom) = (LEFT + CELL * COLUMNS as f64, TOP + CELL * ROWS as f64);
    let line = |x1: f64, x2: f64, y1: f64, y2: f64| {
        let line = Element::new("line").px("x1", x1).px("x2", x2).px("y1", y1).px("y2", y2);
        line.attr("stroke", "currentColor").empty()
    };
    let text =
        |place: Element, anchor: &str, text: &str| anchored(place, anchor).attr("fill", "currentColor").text(text);
    let at = |x: f64, y: f64| Element::new("text").px("x", x).px("y", y);
    for column in (0..COLUMNS).step_by(20) {
        let x = x_of(column as f64);
        out.add(line(x, x, bottom, bottom + 5.0));
        out.add(text(at(x, bottom + 20.0), "middle", &bytes(column_bytes(column))));
    }
    for row in (0..ROWS).step_by(20) {
        let y = y_of(row as f64);
        out.add(line(LEFT - 5.0, LEFT, y, y));
        out.add(text(at(LEFT - 9.0, y + 4.5), "end", &count(row_rate(row))));
    }
    out.add(text(at(f64::midpoint(LEFT, right), bottom + 42.0), "middle", "data"));
    let up = f64::midpoint(TOP, bottom);
    let upright = Element::new("text").attr("transform", format_args!("translate(16 {up:.1}) rotate(-90)"));
    out.add(text(upright, "middle", "gets a second"));
}

/// The cell of an option that is nearest to the middle of all of its cells.
fn middle(cells: &[usize], option: usize) -> Option<(usize, usize)> {
    let own = || cells.iter().enumerate().filter(|(_, it)| **it == option).map(|(at, _)| (at / COLUMNS, at % COLUMNS));
    let number = own().count().max(1) as f64;
    let (rows, columns) = own().fold((0.0, 0.0), |sum, (row, column)| (sum.0 + row as f64, sum.1 + column as f64));
    let (row, column) = (rows / number, columns / number);
    let distance = |cell: &(usize, usize)| (cell.0 as f64 - row).hypot(cell.1 as f64 - column);
    own().min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// The column and the row of a workload, also beside the map.
fn place(workload: &Workload) -> (f64, f64) {
    let column = 20.0 * (workload.data_bytes / column_bytes(0)).log10();
    let row = 20.0 * (workload.gets_per_second / row_rate(0)).log10();
    (column, row)
}

/// Where a workload lies, in words: at the circle that the map has for it, or on which side of the map.
pub(crate) fn whereabouts(workload: &Workload) -> String {
    let (column, row) = place(workload);
    let beside = |at: f64, count: usize, [less, more]: [&'static str; 2]| match at {
        at if at < 0.0 => Some(less),
        at if at > (count - 1) as f64 => Some(more),
        _ => None,
    };
    let data = beside(column, COLUMNS, ["less data", "more data"]);
    let rate = beside(row, ROWS, ["fewer gets a second", "more gets a second"]);
    let sides: Vec<&str> = data.into_iter().chain(rate).collect();
    if sides.is_empty() {
        return "the circle marks this plan".to_owned();
    }
    format!("this plan is outside the map: it has {} than the map shows", sides.join(" and "))
}

/// Where the workload is, if that is on the map.
fn mark(workload: &Workload, out: &mut Drawing) {
    let (column, row) = place(workload);
    let is_on_map = (0.0..=(COLUMNS - 1) as f64).contains(&column) && (0.0..=(ROWS - 1) as f64).contains(&row);
    if is_on_map {
        let (x, y) = (x_of(column), y_of(row));
        for (colour, width) in [("#000", 5), ("#fff", 2)] {
            let circle = Element::new("circle").px("cx", x).px("cy", y).attr("r", 8).attr("fill", "none");
            out.add(circle.attr("stroke", colour).attr("stroke-width", width).empty());
        }
    }
}
