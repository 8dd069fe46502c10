//! Table 6: the paper's best designs, as printed and as the survey has them.

use serde::Serialize;

use super::point::SurveyPoint;
use super::report::SurveyReport;
use super::settings::SurveyBound;

/// A pair of figures of Table 6.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BoundPair {
    /// Without barriers.
    pub nosync: f64,
    /// With a barrier after each sample.
    pub sync: f64,
}

const fn pair(nosync: f64, sync: f64) -> BoundPair {
    BoundPair { nosync, sync }
}

/// A row of Table 6.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table6Row {
    /// The paper's name, if it has one.
    pub label: &'static str,
    /// The design's name in the survey.
    pub design: String,
    /// Average power of a node in watts.
    pub watts: BoundPair,
    /// The same over that of the disk design with the least.
    pub watts_ratio: BoundPair,
    /// Performance per watt over that of the disk design with the most.
    pub efficiency_ratio: BoundPair,
    /// Speed over that of the fastest disk design.
    pub speedup: BoundPair,
}

const fn printed(
    label: &'static str,
    watts: BoundPair,
    watts_ratio: BoundPair,
    efficiency_ratio: BoundPair,
    speedup: BoundPair,
) -> Table6Row {
    Table6Row { label, design: String::new(), watts, watts_ratio, efficiency_ratio, speedup }
}

/// The designs of Table 6 by their names in the survey, in its order.
pub const DESIGNS: [&str; 6] = [
    "1 Atom 0.8 GHz, 1 flash array",
    "1 Atom 1.9 GHz, 1 flash array",
    "1 Core 2 2.4 GHz, 1 flash array",
    "2 Core 2 2.4 GHz, 1 flash array",
    "4 Core 2 1.8 GHz, 1 flash array",
    "4 Core 2 2.4 GHz, 1 flash array",
];

/// Table 6 as it is printed. `label` is empty where the paper has no name.
pub const PRINTED: [Table6Row; 6] = [
    printed("MinP", pair(1.43, 3.91), pair(0.33, 0.32), pair(1.74, 1.12), pair(0.07, 0.07)),
    printed("MaxE", pair(2.32, 4.81), pair(0.54, 0.39), pair(2.54, 2.15), pair(0.16, 0.16)),
    printed("", pair(9.14, 19.89), pair(2.11, 1.63), pair(2.31, 1.88), pair(0.59, 0.56)),
    printed("", pair(23.82, 45.66), pair(5.51, 3.74), pair(1.64, 1.45), pair(1.09, 1.00)),
    printed("", pair(47.56, 92.74), pair(11.00, 7.59), pair(1.11, 0.92), pair(1.48, 1.29)),
    printed("MinT", pair(58.50, 106.18), pair(13.54, 8.69), pair(1.08, 0.93), pair(1.77, 1.49)),
];

/// The three disk designs that Table 6 compares with.
#[derive(Clone, Copy, Debug)]
pub struct DiskDesigns<'r> {
    /// The one with the least average power.
    pub least_power: &'r SurveyPoint,
    /// The one with the most performance per watt, which is the least energy.
    pub most_efficient: &'r SurveyPoint,
    /// The fastest.
    pub fastest: &'r SurveyPoint,
}

/// The disk designs of a survey that are best under a bound; `None` if it has no disk design.
pub fn disk_designs(report: &SurveyReport, bound: SurveyBound) -> Option<DiskDesigns<'_>> {
    let reference = &report.points[report.reference];
    let least = |figure: &dyn Fn(&SurveyPoint) -> f64| {
        let disks = report.points.iter().filter(|point| point.storage == "disk");
        disks.min_by(|a, b| figure(a).total_cmp(&figure(b)))
    };
    Some(DiskDesigns {
        least_power: least(&|point| point.mean(bound, |run| run.average_watts))?,
        most_efficient: least(&|point| point.mean_ratio(bound, reference, |run| run.joules))?,
        fastest: least(&|point| point.mean_ratio(bound, reference, |run| run.seconds))?,
    })
}

/// A row for each design that Table 6 has. `None` if the survey lacks one.
pub fn rows(report: &SurveyReport) -> Option<Vec<Table6Row>> {
    let (sync, nosync) = (disk_designs(report, SurveyBound::Sync)?, disk_designs(report, SurveyBound::Nosync)?);
    let row = |(label, name): (&'static str, &str)| {
        let point = report.points.iter().find(|point| point.name == name)?;
        let both = |figure: &dyn Fn(SurveyBound, &DiskDesigns<'_>) -> f64| {
            pair(figure(SurveyBound::Nosync, &nosync), figure(SurveyBound::Sync, &sync))
        };
        let watts = |point: &SurveyPoint, bound| point.mean(bound, |run| run.average_watts);
        Some(Table6Row {
            label,
            design: name.to_owned(),
            watts: both(&|bound, _| watts(point, bound)),
            watts_ratio: both(&|bound, disks| watts(point, bound) / watts(disks.least_power, bound)),
            efficiency_ratio: both(&|bound, disks| disks.most_efficient.mean_ratio(bound, point, |run| run.joules)),
            speedup: both(&|bound, disks| disks.fastest.mean_ratio(bound, point, |run| run.seconds)),
        })
    };
    PRINTED.iter().map(|row| row.label).zip(DESIGNS).map(row).collect()
}
