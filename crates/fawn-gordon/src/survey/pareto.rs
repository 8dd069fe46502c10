//! The Pareto set: the points that no other is better than in everything.

use serde::{Deserialize, Serialize};

/// What points are compared by. Less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SurveyAxis {
    /// Time of the workloads, relative to the reference.
    Time,
    /// Energy of the workloads, likewise.
    Energy,
    /// Price of a node.
    Price,
}

impl SurveyAxis {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Time, Self::Energy, Self::Price];

    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Energy => "energy",
            Self::Price => "price",
        }
    }
}

/// Which points are in the Pareto set. A point is not if another is at most equal on all axes and less on one. A point
/// with an unknown value is `None`: nobody can say.
pub fn pareto_set(points: &[Vec<Option<f64>>]) -> Vec<Option<bool>> {
    let known = |point: &Vec<Option<f64>>| point.iter().copied().collect::<Option<Vec<f64>>>();
    let known: Vec<Option<Vec<f64>>> = points.iter().map(known).collect();
    let dominates = |a: &[f64], b: &[f64]| {
        let mut pairs = a.iter().zip(b);
        pairs.clone().all(|(a, b)| a <= b) && pairs.any(|(a, b)| a < b)
    };
    let is_best = |point: &Vec<f64>| !known.iter().flatten().any(|other| dominates(other, point));
    known.iter().map(|point| point.as_ref().map(is_best)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(points: &[&[f64]]) -> Vec<Option<bool>> {
        pareto_set(&points.iter().map(|point| point.iter().map(|it| Some(*it)).collect()).collect::<Vec<_>>())
    }

    #[test]
    fn a_point_is_left_out_if_another_is_better_or_equal_everywhere() {
        assert_eq!(set(&[&[1.0, 3.0], &[2.0, 2.0], &[3.0, 1.0], &[3.0, 2.0]]), [true, true, true, false].map(Some));
        assert_eq!(set(&[&[1.0, 1.0], &[1.0, 1.0]]), [Some(true); 2], "equals do not exclude each other");
        assert_eq!(set(&[&[1.0, 1.0, 5.0], &[2.0, 2.0, 4.0]]), [Some(true); 2], "a third axis keeps the cheaper");
        assert_eq!(pareto_set(&[vec![Some(1.0), None], vec![Some(2.0), Some(1.0)]]), [None, Some(true)]);
        assert_eq!(pareto_set(&[]), []);
    }

    proptest! {
        #[test]
        fn every_point_outside_is_dominated_by_one_inside(
            points in prop::collection::vec(prop::collection::vec((0u8..6).prop_map(|it| Some(f64::from(it))), 3), 1..30)
        ) {
            let set = pareto_set(&points);
            prop_assert!(set.contains(&Some(true)));
            for (point, _) in points.iter().zip(&set).filter(|(_, is_in)| **is_in == Some(false)) {
                let better = points.iter().zip(&set).filter(|(_, is_in)| **is_in == Some(true));
                prop_assert!(better.into_iter().any(|(other, _)| other.iter().zip(point).all(|(a, b)| a <= b)));
            }
        }
    }
}
