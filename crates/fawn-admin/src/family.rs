//! What a metric is called, and what it means.

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows, and begins at 0 with the process.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Counts of what took no longer than each of several bounds.
    Histogram,
}

impl MetricKind {
    /// As the text format has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A metric; with each set of its labels it is one number, or one histogram.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name: `fawn_`, what it is of, and its unit; counters end in `_total`.
    pub name: &'static str,
    /// How it behaves.
    pub kind: MetricKind,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// What it means, in a sentence.
    pub help: &'static str,
}

/// Declares metrics as statics, and `FAMILIES`, the list of them: `NAME = Kind "name" ["label"] "meaning";`.
#[macro_export]
macro_rules! families {
    ($($name:ident = $kind:ident $text:literal [$($label:literal),*] $help:literal;)*) => {
        $(
            #[doc = $help]
            pub static $name: $crate::Family =
                $crate::Family { name: $text, kind: $crate::MetricKind::$kind, labels: &[$($label),*], help: $help };
        )*
        /// All metrics that are told of here.
        pub static FAMILIES: &[&$crate::Family] = &[$(&$name),*];
    };
}
