//! Operations for what they took: a joule where a meter tells, a second of a processor where none does.
//!
//! This is the one place where either is computed. Without a meter nothing here is in joules.

use serde_json::{Value, json};

use super::finding::Row;
use super::run::Run;
use crate::error::Error;

/// What operations took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// How many there were.
    pub operations: u64,
    /// For how long.
    pub seconds: f64,
    /// CPU time of those who carried them out, microseconds; `None` where the system does not tell.
    pub cpu_us: Option<f64>,
    /// Energy that a meter has counted meanwhile; `None`: there is no meter.
    pub joules: Option<f64>,
}

/// What is said where there is no meter.
pub const NO_METER: &str = "there is no power meter: what stands for queries a joule is operations a second of CPU time, of those \
                            who carry them out, which says nothing of what a machine draws while it waits";

/// A stretch of work that is metered where there is a meter.
#[derive(Debug)]
pub struct Metered;

impl Metered {
    /// Begins.
    ///
    /// # Errors
    /// None: there is no meter yet.
    pub fn begin(_: &Run<'_>) -> Result<Self, Error> {
        Ok(Self)
    }

    /// Ends, with what was done in it.
    ///
    /// # Errors
    /// None: there is no meter yet.
    pub fn end(self, operations: u64, seconds: f64, cpu_us: Option<f64>) -> Result<Taken, Error> {
        Ok(Taken { operations, seconds, cpu_us, joules: None })
    }
}

impl Taken {
    /// Operations a joule; `None`: there is no meter.
    pub fn a_joule(&self) -> Option<f64> {
        self.joules.filter(|joules| *joules > 0.0).map(|joules| self.operations as f64 / joules)
    }

    /// Operations a second of CPU time.
    pub fn a_cpu_second(&self) -> Option<f64> {
        self.cpu_us.filter(|us| *us > 0.0).map(|us| self.operations as f64 * 1e6 / us)
    }

    /// Watts on the average; `None`: there is no meter.
    pub fn watts(&self) -> Option<f64> {
        self.joules.map(|joules| joules / self.seconds)
    }

    /// Adds all of it to a row.
    pub fn tell(&self, row: &mut Row) {
        for (name, value) in [
            ("queries_a_second", json!(self.operations as f64 / self.seconds)),
            ("queries_a_joule", json!(self.a_joule())),
            ("queries_a_cpu_second", json!(self.a_cpu_second())),
            ("watts", json!(self.watts())),
        ] {
            row.insert(name.to_owned(), value);
        }
    }

    /// A row that begins with what these operations were.
    pub fn row(&self, what: &str) -> Value {
        let mut row = Row::new();
        row.insert("what".to_owned(), what.into());
        self.tell(&mut row);
        Value::Object(row)
    }
}

/// The columns of [`Taken::row`].
pub const COLUMNS: &[(&str, &str, Option<usize>)] = &[
    ("what", "system", None),
    ("queries_a_second", "queries/s", Some(0)),
    ("watts", "watts", Some(2)),
    ("queries_a_joule", "queries a joule", Some(1)),
    ("queries_a_cpu_second", "queries a CPU-second", Some(0)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_meter_nothing_is_in_joules() {
        let taken = Taken { operations: 1000, seconds: 2.0, cpu_us: Some(500_000.0), joules: None };
        let row = taken.row("x");
        assert_eq!((&row["queries_a_joule"], &row["watts"]), (&Value::Null, &Value::Null));
        assert_eq!(
            (row["queries_a_second"].as_f64(), row["queries_a_cpu_second"].as_f64()),
            (Some(500.0), Some(2000.0))
        );
        let metered = Taken { joules: Some(10.0), ..taken };
        assert_eq!((metered.a_joule(), metered.watts()), (Some(100.0), Some(5.0)));
    }
}
