//! Points of the analysis: how fast a processor or a machine is, and what it draws, each with its source.

use std::path::Path;

use fawn_report::Date;
use serde::{Deserialize, Serialize};

/// The catalogue that is built in.
const BUILT_IN: &str = include_str!("../../catalogues/fixed-power.toml");

/// A catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointCatalogue {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub title: String,
    /// In any order.
    pub points: Vec<OperatingPoint>,
}

/// A processor or a machine at one speed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatingPoint {
    /// Which.
    pub name: String,
    /// Millions of instructions a second.
    pub mips: f64,
    /// Watts meanwhile.
    pub watts: f64,
    /// What the watts are of.
    pub covers: PowerCover,
    /// How its instructions were counted.
    pub measure: String,
    /// How it was come by.
    pub kind: PointKind,
    /// Who says so.
    pub source: String,
    /// When.
    pub date: Date,
}

/// What watts of a point are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PowerCover {
    /// The core alone, without memory.
    Core,
    /// The processor's package.
    Package,
    /// The whole machine at the wall.
    Wall,
}

impl PowerCover {
    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Package => "package",
            Self::Wall => "wall",
        }
    }
}

/// How a point was come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PointKind {
    /// Somebody measured it.
    Measured,
    /// Who sells it says so.
    Vendor,
    /// It follows from figures of several sources.
    Derived,
}

/// Why a catalogue was not understood.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}", path = .path.display())]
pub struct CatalogueError {
    path: std::path::PathBuf,
    reason: String,
}

impl PointCatalogue {
    /// The one that is built in.
    pub fn built_in() -> Self {
        Self::parse(BUILT_IN).expect("the catalogue that is built in is good")
    }

    /// A file.
    ///
    /// # Errors
    /// What is wrong with it, with what to do.
    pub fn read(path: &Path) -> Result<Self, CatalogueError> {
        let wrong = |reason: String| CatalogueError { path: path.to_owned(), reason };
        let text = fawn_files::text::read(path)
            .map_err(|error| wrong(format!("cannot be read ({error}): name a file of points")))?;
        Self::parse(&text).map_err(wrong)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut catalogue: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            let at = line.map_or_else(String::new, |line| format!("line {line}: "));
            format!("{at}{}", error.message().replace('\n', " "))
        })?;
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        if let Some(wrong) = catalogue.points.iter().find(|point| !is_positive(point.mips) || !is_positive(point.watts))
        {
            return Err(format!("{}: correct mips and watts, which are more than 0", wrong.name));
        }
        if let Some(unsourced) = catalogue.points.iter().find(|point| point.source.trim().is_empty()) {
            return Err(format!("{}: say in source where its figures are from", unsourced.name));
        }
        if catalogue.points.is_empty() {
            return Err("it has no points: give at least one [[points]]".to_owned());
        }
        catalogue.points.sort_by(|one, other| one.mips.total_cmp(&other.mips));
        Ok(catalogue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_points_span_five_decades_and_all_have_sources() {
        let points = PointCatalogue::built_in().points;
        assert!(points.len() >= 15 && points[0].mips <= 1.0 && points.last().unwrap().mips > 200_000.0);
        assert!(points.windows(2).all(|pair| pair[0].mips <= pair[1].mips));
        let of = |name: &str| points.iter().find(|point| point.name.starts_with(name)).unwrap();
        // What the paper's text says of its own points: in-order cores have more than 1,000 MIPS per watt.
        assert!(of("Cortex-A8").mips / of("Cortex-A8").watts > 1000.0);
        assert!(of("Core 2 QX6700").mips / of("Core 2 QX6700").watts < 1000.0);
        // Where two figures of a point are from two places, both are named.
        for point in points.iter().filter(|point| point.name.starts_with("Core ")) {
            let names_both = point.source.contains("MIPS: ") && point.source.contains("thermal design power: https://");
            assert!(names_both, "{}: {}", point.name, point.source);
        }
    }

    #[test]
    fn catalogues_that_cannot_be_are_refused_with_what_to_do() {
        let good = "name = 'a'\ntitle = 'b'\n[[points]]\nname = 'board'\nmips = 10\nwatts = 2\ncovers = 'wall'\n\
                    measure = '7-Zip'\nkind = 'measured'\nsource = 'me'\ndate = '2026-11'\n";
        assert_eq!(PointCatalogue::parse(good).unwrap().points[0].watts.to_bits(), 2f64.to_bits());
        for (text, says) in [
            (good.replace("watts = 2", "watts = 0"), "board: correct mips and watts"),
            (good.replace("'me'", "' '"), "say in source"),
            (good.replace("'wall'", "'table'"), "line 7: "),
            (good.replace("watts", "wats"), "wats"),
            (good.split("[[points]]").next().unwrap().replace("'b'", "'b'\npoints = []"), "at least one [[points]]"),
        ] {
            let error = PointCatalogue::parse(&text).unwrap_err();
            assert!(error.contains(says) && !error.contains('\n'), "{says}: {error}");
        }
    }
}
