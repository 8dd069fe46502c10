//! Seek times of a disk beside published ones.

use fawn_report::TextTable;
use serde::Serialize;

use crate::disk::{DiskModel, SeekCurve};

/// Seek times agree if they differ by no more, in milliseconds: half a digit of what is printed.
const GRAIN_MS: f64 = 0.005;

/// A seek time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeekCheck {
    /// Which.
    pub what: String,
    /// What the model has, in milliseconds.
    pub model_ms: f64,
    /// What is published.
    pub published_ms: Option<f64>,
    /// Whether both agree; absent if nothing is published.
    pub agrees: Option<bool>,
}

impl SeekCheck {
    fn new(what: String, model_ms: f64, published: Option<(f64, f64)>) -> Self {
        let agrees = published.map(|(ms, within)| (model_ms - ms).abs() <= within);
        Self { what, model_ms, published_ms: published.map(|(ms, _)| ms), agrees }
    }
}

/// Distances whose times are published: of the HP 97560, whose curve Ruemmler and Wilkes measured.
const HP_97560: [(u32, f64); 4] = [(1, 3.64), (382, 11.06), (383, 11.06), (1961, 23.69)];

/// The mean over random seeks of that curve.
const HP_97560_MEAN_MS: f64 = 12.84;

/// The seek times of a disk with what is published of them.
pub fn seek_checks(model: &DiskModel) -> Vec<SeekCheck> {
    let cylinders: u32 = model.zones.iter().map(|zone| zone.cylinders).sum();
    let full = cylinders - 1;
    let seek = &model.seek;
    let over = |distance: u32, published: Option<(f64, f64)>| {
        let unit = if distance == 1 { "cylinder" } else { "cylinders" };
        let what = format!("over {} {unit}", fawn_report::amount::grouped(u64::from(distance)));
        SeekCheck::new(what, seek.time_ms(distance), published)
    };
    let mean = |published| SeekCheck::new("mean of random seeks".to_owned(), seek.mean_random_ms(cylinders), published);
    match seek {
        curve if *curve == SeekCurve::hp_97560() => {
            let published = |&(distance, ms): &(u32, f64)| over(distance, Some((ms, GRAIN_MS)));
            HP_97560.iter().map(published).chain([mean(Some((HP_97560_MEAN_MS, GRAIN_MS)))]).collect()
        }
        SeekCurve::ThreePoints { single_ms, mean_ms, full_ms, .. } => vec![
            over(1, Some((*single_ms, GRAIN_MS))),
            over(cylinders / 3, None),
            // The curve's end lies one cylinder beyond the last seek.
            over(full, Some((*full_ms, full_ms * 0.001))),
            mean(Some((*mean_ms, mean_ms * 0.001))),
        ],
        SeekCurve::Table(points) => {
            let ends = points.first().into_iter().chain(points.last());
            let published = ends.map(|&(distance, ms)| over(distance, Some((ms, GRAIN_MS))));
            published.chain([over(cylinders / 3, None), mean(None)]).collect()
        }
        SeekCurve::RootAndLine { first_ms, .. } => {
            let published = (1..).zip(first_ms).map(|(distance, ms)| over(distance, Some((*ms, GRAIN_MS))));
            published.chain([over(cylinders / 3, None), over(full, None), mean(None)]).collect()
        }
    }
}

/// The checks as a table.
pub fn table(checks: &[SeekCheck]) -> TextTable {
    let rows = checks.iter().map(|check| {
        let published = check.published_ms.map_or_else(String::new, |ms| format!("{ms:.2}"));
        let verdict = match check.agrees {
            Some(true) => "agrees",
            Some(false) => "differs",
            None => "",
        };
        vec![check.what.clone(), format!("{:.2}", check.model_ms), published, verdict.to_owned()]
    });
    TextTable::of(&["seek", "model, ms", "published, ms", ""], &[3], rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::presets;

    #[test]
    fn the_seeks_of_every_preset_agree_with_what_is_published() {
        for preset in presets::named() {
            let checks = seek_checks(&preset.model);
            assert!(checks.iter().any(|check| check.agrees == Some(true)), "{}", preset.name);
            assert!(checks.iter().all(|check| check.agrees != Some(false)), "{}: {checks:?}", preset.name);
        }
    }

    #[test]
    fn a_seek_that_differs_is_told() {
        let model = presets::hp_97560();
        let mut checks = seek_checks(&model);
        assert_eq!(checks.len(), 5);
        checks[0] = SeekCheck::new("x".to_owned(), 3.0, Some((3.64, GRAIN_MS)));
        assert_eq!(table(&checks).rows[0], ["x", "3.00", "3.64", "differs"].map(str::to_owned));
    }
}
