//! Whether a value is what is printed: rounded or cut off at the last digit that is there. A printed value that others are
//! computed from may have been any that is rounded to it.

use std::ops::{Div, Mul};

/// Whether `value` rounds, or is cut off, to what is printed: digits, maybe a point, maybe K for thousands.
pub fn agrees(printed: &str, value: f64) -> bool {
    let (shown, step) = digits(printed);
    let scaled = value / step;
    // Half of a millionth for what floating point does to a value such as 0.13 * 100.
    let (shown, least) = (shown / step, 5e-7);
    (scaled.round() - shown).abs() < least || ((scaled + least).floor() - shown).abs() < least
}

/// What is printed, and one unit of its last digit.
fn digits(printed: &str) -> (f64, f64) {
    let (number, unit) = match printed.strip_suffix('K') {
        Some(number) => (number, 1000.0),
        None => (printed, 1.0),
    };
    let plain = number.replace(',', "");
    let places = plain.split_once('.').map_or(0, |(_, places)| places.len());
    let shown: f64 = plain.parse().expect("the papers' cells are numbers");
    (shown * unit, unit / [1.0, 10.0, 100.0, 1000.0][places])
}

/// A value that was printed, or that printed values give, with the least and the most that it may have been before they were
/// rounded. All are more than 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    value: f64,
    least: f64,
    most: f64,
}

impl Reading {
    /// A printed value.
    pub fn of(printed: &str) -> Self {
        let (value, step) = digits(printed);
        Self { value, least: value - step / 2.0, most: value + step / 2.0 }
    }

    /// A value that was not rounded.
    pub fn exactly(value: f64) -> Self {
        Self { value, least: value, most: value }
    }

    /// The value as printed, or as printed values give it.
    pub fn value(self) -> f64 {
        self.value
    }

    /// Whether one of the values that it may have been is rounded, or cut off, to what is printed.
    pub fn may_be(self, printed: &str) -> bool {
        let (shown, step) = digits(printed);
        agrees(printed, self.value) || (self.least < shown + step && shown - step / 2.0 <= self.most)
    }

    /// The mean of some.
    pub fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        Self { value: mean(|it| it.value), least: mean(|it| it.least), most: mean(|it| it.most) }
    }

    /// The standard deviation of a sample. It is a convex function of its values, so it is greatest at ends of their ranges. Whatever is
    /// between two of its values there can be had; less than the least of these is not looked for.
    pub fn deviation(all: &[Self]) -> Self {
        let deviation = |values: &[f64]| {
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt()
        };
        let printed = deviation(&all.iter().map(|it| it.value).collect::<Vec<_>>());
        let ends = (0..1u32 << all.len()).map(|choice| {
            let end = |(at, it): (usize, &Self)| if (choice >> at) & 1 == 0 { it.least } else { it.most };
            deviation(&all.iter().enumerate().map(end).collect::<Vec<_>>())
        });
        ends.fold(Self::exactly(printed), |range, end| Self {
            least: range.least.min(end),
            most: range.most.max(end),
            ..range
        })
    }
}

impl Mul for Reading {
    type Output = Self;

    fn mul(self, by: Self) -> Self {
        Self { value: self.value * by.value, least: self.least * by.least, most: self.most * by.most }
    }
}

impl Div for Reading {
    type Output = Self;

    fn div(self, by: Self) -> Self {
        Self { value: self.value / by.value, least: self.least / by.most, most: self.most / by.least }
    }
}

#[cfg(test)]
mod tests {
    use super::{Reading, agrees};

    #[test]
    fn rounding_and_cutting_off_agree_and_nothing_else_does() {
        for (printed, value) in
            [("3.5K", 3571.4), ("0.26", 0.2657), ("59", 59.4), ("191,520", 191_520.0), ("0.13", 0.13), ("360", 359.6)]
        {
            assert!(agrees(printed, value), "{printed} {value}");
        }
        for (printed, value) in [("59", 58.37), ("134", 144.71), ("3.5K", 3449.0), ("1.2", 1.5), ("0.004", 0.0029)] {
            assert!(!agrees(printed, value), "{printed} {value}");
        }
    }

    #[test]
    fn what_rounded_values_give_may_be_anything_that_rounds_to_them_and_no_more() {
        let joules = Reading::of("21.278") * Reading::of("105.4");
        assert!(joules.may_be("2242.5") && joules.may_be("2243.8"), "{joules:?}");
        assert!(!joules.may_be("2241.4") && !joules.may_be("2243.9"), "{joules:?}");
        let share = Reading::exactly(1000.0) / Reading::of("2");
        assert!(
            share.may_be("400") && share.may_be("666") && !share.may_be("399") && !share.may_be("668"),
            "{share:?}"
        );
        let mean = Reading::mean(&["1", "2"].map(Reading::of));
        assert!(mean.may_be("1.0") && mean.may_be("2.0") && !mean.may_be("0.8") && !mean.may_be("2.1"), "{mean:?}");
    }

    #[test]
    fn a_deviation_may_be_another_one_than_that_of_the_values_as_printed() {
        let deviation = Reading::deviation(&["1", "2", "3"].map(Reading::of));
        assert!(["0.6", "1.0", "1.5"].into_iter().all(|printed| deviation.may_be(printed)), "{deviation:?}");
        // Of 0.5, 1.5 and 3.5 it is 1.53, of 1.5, 1.5 and 2.5 it is 0.58.
        assert!(!deviation.may_be("1.6") && !deviation.may_be("0.4"), "{deviation:?}");
    }
}
