//! In which figure work is compared: work per joule where joules are known, and work per CPU second elsewhere.

use fawn_report::chart::Row;

/// The figure that the rows of a report are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EfficiencyKind {
    /// An instrument measured the joules during the work.
    Measured,
    /// A model of the machine has them.
    Modelled,
    /// Somebody read the watts off a plug.
    HandRead,
    /// There are no joules.
    CpuSecond,
}

impl EfficiencyKind {
    /// Each of them.
    pub const ALL: [Self; 4] = [Self::Measured, Self::Modelled, Self::HandRead, Self::CpuSecond];

    /// That of these rows, as [`Cost::write`](crate::Cost::write) has written them.
    pub fn of(rows: &[Row]) -> Self {
        let kinds = [Self::Measured, Self::Modelled, Self::HandRead];
        let has = |kind: &Self| rows.iter().any(|row| kind.figure(row).is_some());
        kinds.into_iter().find(has).unwrap_or(Self::CpuSecond)
    }

    /// The column that it is in.
    pub fn column(self) -> &'static str {
        match self {
            Self::Measured => "operations_a_joule",
            Self::Modelled => "operations_a_modelled_joule",
            Self::HandRead => "operations_a_hand_read_joule",
            Self::CpuSecond => "operations_a_cpu_second",
        }
    }

    /// Of a row.
    pub fn figure(self, row: &Row) -> Option<f64> {
        row.get(self.column())?.as_f64()
    }

    /// How far the joules of a row may be off, as a share of them; `None`: not known, or there are none.
    pub fn uncertainty_share(self, row: &Row) -> Option<f64> {
        let word = match self {
            Self::Measured => "",
            Self::Modelled => "modelled_",
            Self::HandRead => "hand_read_",
            Self::CpuSecond => return None,
        };
        let of = |name: String| row.get(&name)?.as_f64();
        let joules = of(format!("{word}joules")).filter(|joules| *joules > 0.0)?;
        Some(of(format!("uncertainty_{word}joules"))? / joules)
    }

    /// What work is divided by, for people.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Measured => "J",
            Self::Modelled => "modelled J",
            Self::HandRead => "J by hand",
            Self::CpuSecond => "CPU-s",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn joules_come_before_cpu_seconds_and_each_kind_has_its_name() {
        let row = |value: Value| {
            let Value::Object(row) = value else { unreachable!("rows are objects") };
            row
        };
        let bare = row(json!({ "operations_a_cpu_second": 3.0 }));
        let modelled = row(json!({ "operations_a_cpu_second": 3.0, "operations_a_modelled_joule": 2.0 }));
        assert_eq!(EfficiencyKind::of(std::slice::from_ref(&bare)), EfficiencyKind::CpuSecond);
        let kind = EfficiencyKind::of(&[bare, modelled.clone()]);
        assert_eq!((kind, kind.figure(&modelled), kind.unit()), (EfficiencyKind::Modelled, Some(2.0), "modelled J"));
    }
}
