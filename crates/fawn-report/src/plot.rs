//! Latencies by time as a picture.

use crate::markup::Element;
use crate::report::{Tenth, Timeline};
use crate::svg::{Drawing, anchored, polyline, root};

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 420.0;
/// Room for the legend above and the numbers to the left.
const LEFT: f64 = 70.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 40.0;
/// Decades of microseconds, from 10 to 10 seconds.
const DECADES: (f64, f64) = (1.0, 7.0);

/// A figure of a tenth of a second.
type Figure = fn(&Tenth) -> u64;

/// An SVG of all timelines one after another, latency by powers of ten; stretches that are not idle are shaded, and `shaded`
/// says what they are.
pub fn svg(timelines: &[Timeline], shaded: &str) -> String {
    let total: usize = timelines.iter().map(|line| line.tenths.len()).sum();
    let x = |at: usize| LEFT + (WIDTH - LEFT - 10.0) * at as f64 / total.max(1) as f64;
    let root = root(None, WIDTH, HEIGHT).attr("font-family", "sans-serif").attr("font-size", 11);
    let white = Element::new("rect").attr("width", WIDTH).attr("height", HEIGHT).attr("fill", "white");
    let mut out = Drawing::over(root, &white.empty());
    let middled = |x: Element| anchored(x, "middle");
    let mut first = 0;
    for line in timelines {
        let (from, to) = (x(first), x(first + line.tenths.len()));
        if !line.idle {
            let shade = Element::new("rect").px("x", from).attr("y", TOP).px("width", to - from);
            out.add(shade.attr("height", HEIGHT - TOP - BOTTOM).attr("fill", "#eee").empty());
        }
        let (middle, below) = (f64::midpoint(from, to), HEIGHT - BOTTOM + 28.0);
        let name = line.name.split(' ').take(2).collect::<String>();
        out.add(middled(Element::new("text").px("x", middle).attr("y", below)).text(&name));
        first += line.tenths.len();
    }
    for decade in DECADES.0 as u32..=DECADES.1 as u32 {
        let (at, right) = (y(10f64.powi(decade.cast_signed())), WIDTH - 10.0);
        let name = ["", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s", "10 s"][decade as usize];
        let line = Element::new("line").attr("x1", LEFT).attr("x2", right).px("y1", at).px("y2", at);
        out.add(line.attr("stroke", "#ccc").empty());
        out.add(anchored(Element::new("text").attr("x", LEFT - 6.0).px("y", at + 4.0), "end").text(name));
    }
    let figures: [(&str, &str, Figure); 4] = [
        ("longest", "#d62728", |tenth| tenth.longest_us),
        ("p99", "#ff7f0e", |tenth| tenth.p99_us),
        ("p50", "#1f77b4", |tenth| tenth.p50_us),
        ("longest step of the store", "#777", |tenth| tenth.longest_step_us),
    ];
    for (number, (name, colour, of)) in figures.into_iter().enumerate() {
        let at = LEFT + 130.0 * number as f64;
        out.add(Element::new("text").attr("x", at).attr("y", 18).attr("fill", colour).text(name));
        let tenths = timelines.iter().flat_map(|line| &line.tenths).map(of).enumerate();
        let points = tenths.filter(|(_, us)| *us > 0).map(|(number, us)| (x(number), y(us as f64)));
        out.add(polyline(points, colour).empty());
    }
    let (middle, below) = (f64::midpoint(LEFT, WIDTH), HEIGHT - BOTTOM + 14.0);
    let text = format!("per tenth of a second; grey: {shaded}");
    out.add(middled(Element::new("text").attr("x", middle).attr("y", below)).attr("fill", "#555").text(&text));
    out.finish()
}

fn y(us: f64) -> f64 {
    let share = (us.log10().clamp(DECADES.0, DECADES.1) - DECADES.0) / (DECADES.1 - DECADES.0);
    HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_a_point_for_each_tenth() {
        let tenth = Tenth { gets: 5, p50_us: 90, p99_us: 800, longest_us: 20_000, longest_step_us: 0 };
        let line = |idle| Timeline { name: "50 % at rest".to_owned(), idle, tenths: vec![tenth; 3] };
        let picture = svg(&[line(true), line(false)], "with puts");
        let points = picture.lines().filter(|line| line.starts_with("<polyline")).map(|line| line.matches(',').count());
        assert_eq!(points.collect::<Vec<_>>(), [6, 6, 6, 0]);
        assert_eq!(picture.matches("#eee").count(), 1, "one stretch is shaded");
        assert!(picture.contains("grey: with puts"), "{picture}");
        assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
        assert!(y(1e3) > y(1e4) && (y(1.0) - y(10.0)).abs() < 1e-9, "what is out of range is at its border");
    }
}
