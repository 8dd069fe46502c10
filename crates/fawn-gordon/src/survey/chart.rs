//! Pictures of a survey: time against energy, and stacked bars. Every mark has a title that a browser shows.

use fawn_report::amount::{counted, digits, dollars};
use fawn_report::markup::Element;
use fawn_report::svg::{Drawing, anchored, polyline, root};

use super::pareto::SurveyAxis;
use super::point::SurveyPoint;
use super::report::SurveyReport;

/// Colours that stay apart for most eyes. Each has a contrast of 3 to white and to black.
const COLOURS: [&str; 6] = ["#4477aa", "#ee6677", "#228833", "#a68500", "#aa3377", "#2299bb"];
/// For what is in no Pareto set.
const GREY: &str = "#888888";

/// Narrow, so that text stays readable where a phone makes it smaller still.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 48.0;

/// A logarithmic axis from one power of two to another.
struct LogAxis {
    low: f64,
    high: f64,
}

impl LogAxis {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let logs = values.filter(|value| *value > 0.0).map(f64::log2);
        let (low, high) = logs.fold((f64::MAX, f64::MIN), |(low, high), it| (low.min(it), high.max(it)));
        if low > high {
            return Self { low: 0.0, high: 1.0 };
        }
        if high - low < 1e-9 {
            // A value that all have stands in the middle, away from the axes.
            return Self { low: (low - 0.5).floor(), high: (high + 0.5).ceil() };
        }
        Self { low: low.floor(), high: high.ceil().max(low.floor() + 1.0) }
    }

    fn share(&self, value: f64) -> f64 {
        (value.log2() - self.low) / (self.high - self.low)
    }

    fn marks(&self) -> impl Iterator<Item = f64> {
        let (low, high) = (self.low as i32, self.high as i32);
        let step = ((high - low) / 7 + 1) as usize;
        (low..=high).step_by(step).map(|power| f64::from(power).exp2())
    }
}

/// The anchor of a design's row.
pub(super) fn row_id(at: usize) -> String {
    format!("design-{at}")
}

/// Time against energy or price of all points, on average or on one workload. Time and energy are relative to the reference.
/// Points of the Pareto set are full and numbered, and joined if the set is of these two axes; marks are circles for the first
/// storage of the survey and squares, triangles and diamonds for others. Each mark is a link to its design's row.
pub fn scatter(report: &SurveyReport, workload: Option<usize>, upward: SurveyAxis) -> String {
    let bound = report.settings.bound;
    let set = workload.map_or(&report.pareto, |at| &report.pareto_by_workload[at]);
    let value = |point: &SurveyPoint, axis| report.value(point, axis, bound, workload).unwrap_or(f64::NAN);
    let places: Vec<(f64, f64)> =
        report.points.iter().map(|point| (value(point, SurveyAxis::Time), value(point, upward))).collect();
    let (across, up) = (LogAxis::of(places.iter().map(|it| it.0)), LogAxis::of(places.iter().map(|it| it.1)));
    let x = |time: f64| LEFT + (WIDTH - LEFT - RIGHT) * across.share(time);
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * up.share(value);
    let what = workload.map_or("all workloads", |at| report.workloads[at].as_str());
    let designs = counted(report.points.len() as u64, "design", "designs");
    let label = format!("Time and {} of {designs}, {what}", upward.word());
    let mut out = opened(HEIGHT, &label);
    axes(&mut out, &across, &up, upward);
    let kinds = kinds(report);
    let mut best: Vec<(f64, f64)> =
        places.iter().zip(set).filter(|(_, is_best)| **is_best == Some(true)).map(|(place, _)| *place).collect();
    best.sort_by(|a, b| a.0.total_cmp(&b.0));
    // With a third axis the set is a surface: a line through it would lead up and down.
    if report.settings.axes.iter().all(|axis| [SurveyAxis::Time, upward].contains(axis)) {
        out.add(polyline(best.iter().map(|(a, b)| (x(*a), y(*b))), GREY).attr("stroke-dasharray", "4 3").empty());
    }
    let numbers = if workload.is_none() { report.numbers() } else { vec![None; report.points.len()] };
    let mut numbered = Vec::new();
    for (at, point) in report.points.iter().enumerate() {
        let (time, value) = places[at];
        if time.is_nan() || value.is_nan() {
            continue;
        }
        let kind = kinds.iter().position(|kind| *kind == point.storage).unwrap_or(0);
        let mark = mark(kind, x(time), y(value), set[at] == Some(true), COLOURS[kind % COLOURS.len()]);
        let energy = report.value(point, SurveyAxis::Energy, bound, workload).unwrap_or(f64::NAN);
        let mark = mark.around(&Element::new("title").text(&title(point, time, energy)));
        out.add(Element::new("a").attr("href", format_args!("#{}", row_id(at))).around(&mark));
        if let Some(number) = numbers[at] {
            // Not above the picture.
            let baseline = (y(value) - 6.0).max(TOP);
            let text = Element::new("text").attr("class", "number").px("x", x(time) + 7.0).px("y", baseline);
            numbered.push(text.text(&number.to_string()));
        }
    }
    // Over all marks.
    for text in numbered {
        out.add(text);
    }
    out.finish()
}

/// The kinds of storage, in the order in which they come.
pub(super) fn kinds(report: &SurveyReport) -> Vec<&str> {
    let mut kinds: Vec<&str> = Vec::new();
    for point in &report.points {
        if !kinds.contains(&point.storage.as_str()) {
            kinds.push(&point.storage);
        }
    }
    kinds
}

/// The colour of a kind of storage and the name of its mark.
pub(super) fn legend(kind: usize) -> (&'static str, &'static str) {
    let shape = ["circle", "square", "triangle", "diamond"][kind % 4];
    (COLOURS[kind % COLOURS.len()], shape)
}

fn title(point: &SurveyPoint, time: f64, energy: f64) -> String {
    let price = point.price_dollars.map_or_else(String::new, |price| format!(", {}", dollars(price)));
    let times = |value: f64| if value.is_nan() { "unknown".to_owned() } else { digits(value) };
    format!("{}: time × {}, energy × {}{price}", point.name, times(time), times(energy))
}

/// A mark of a kind: a circle, a square, a triangle or a diamond.
fn mark(kind: usize, x: f64, y: f64, is_best: bool, colour: &'static str) -> Element {
    let polygon = |points: [(f64, f64); 4]| {
        let points: Vec<String> = points.iter().map(|(a, b)| format!("{:.1},{:.1}", x + a, y + b)).collect();
        Element::new("polygon").attr("points", points.join(" "))
    };
    let shape = match kind % 4 {
        0 => Element::new("circle").px("cx", x).px("cy", y).attr("r", 4.5),
        1 => polygon([(-4.5, -4.5), (4.5, -4.5), (4.5, 4.5), (-4.5, 4.5)]),
        2 => polygon([(0.0, -6.0), (5.5, 4.5), (-5.5, 4.5), (0.0, -6.0)]),
        _ => polygon([(0.0, -6.0), (6.0, 0.0), (0.0, 6.0), (-6.0, 0.0)]),
    };
    // A mark that is not filled shows its title on its whole area all the same.
    let shape = shape.attr("pointer-events", "all").attr("stroke", colour).attr("stroke-width", 1.6);
    if is_best { shape.attr("fill", colour) } else { shape.attr("fill", "none") }
}

fn opened(height: f64, label: &str) -> Drawing {
    let root = root(Some("chart"), WIDTH, height).attr("role", "img").attr("aria-label", label);
    Drawing::open(root.attr("font-family", "sans-serif").attr("font-size", 13).attr("fill", "currentColor"))
}

fn axes(out: &mut Drawing, across: &LogAxis, up: &LogAxis, upward: SurveyAxis) {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let line = |x1: f64, x2: f64, y1: f64, y2: f64, opacity: f64| {
        let line = Element::new("line").px("x1", x1).px("x2", x2).px("y1", y1).px("y2", y2);
        line.attr("stroke", "currentColor").attr("stroke-opacity", opacity).empty()
    };
    for mark in across.marks() {
        let at = LEFT + (right - LEFT) * across.share(mark);
        out.add(line(at, at, TOP, bottom, 0.15));
        out.add(anchored(Element::new("text").px("x", at).px("y", bottom + 18.0), "middle").text(&digits(mark)));
    }
    for mark in up.marks() {
        let at = bottom - (bottom - TOP) * up.share(mark);
        out.add(line(LEFT, right, at, at, 0.15));
        let text = if upward == SurveyAxis::Price { dollars(mark) } else { digits(mark) };
        out.add(anchored(Element::new("text").px("x", LEFT - 6.0).px("y", at + 4.5), "end").text(&text));
    }
    out.add(line(LEFT, right, bottom, bottom, 1.0));
    out.add(line(LEFT, LEFT, TOP, bottom, 1.0));
    let middle = f64::midpoint(LEFT, right);
    let below = Element::new("text").px("x", middle).px("y", HEIGHT - 8.0);
    out.add(anchored(below, "middle").text("time, relative to the reference"));
    let centre = f64::midpoint(TOP, bottom);
    let upright = Element::new("text").attr("transform", format_args!("translate(13 {centre}) rotate(-90)"));
    let text = match upward {
        SurveyAxis::Price => "price of a node".to_owned(),
        axis => format!("{}, relative to the reference", axis.word()),
    };
    out.add(anchored(upright, "middle").text(&text));
}

/// Bars of shares, each from the left to the right below its name. `parts` are the names of the shares; each bar has one of
/// each.
pub fn stacked_bars(label: &str, parts: &[&str], bars: &[(String, Vec<f64>)]) -> String {
    const NAME: f64 = 17.0;
    const BAR: f64 = 14.0;
    const ROW: f64 = NAME + BAR + 6.0;
    let most = bars.iter().map(|(_, shares)| shares.iter().sum::<f64>()).fold(1e-9, f64::max);
    let mut out = opened(ROW * bars.len() as f64 + 4.0, label);
    for (row, (name, shares)) in bars.iter().enumerate() {
        let top = ROW * row as f64 + NAME;
        out.add(Element::new("text").px("x", 0.0).px("y", top - 4.0).text(name));
        let mut from = 0.0;
        for (at, share) in shares.iter().enumerate() {
            let wide = WIDTH * share / most;
            if wide < 0.05 {
                continue;
            }
            let bar = Element::new("rect").px("x", from).px("y", top).px("width", wide).attr("height", BAR);
            let part = parts.get(at).copied().unwrap_or_default();
            let title =
                Element::new("title").text(&format!("{name}, {part}: {}", fawn_report::amount::percent(*share)));
            out.add(bar.attr("fill", part_colour(at)).around(&title));
            from += wide;
        }
    }
    out.finish()
}

/// The colour of a part of stacked bars. From the fifth on, parts are what nobody works in: grey.
pub(super) fn part_colour(at: usize) -> &'static str {
    if at < 4 { COLOURS[at] } else { [GREY, "#bbbbbb"][at % 2] }
}
