//! e-Energy 2010, Table 1: queries a joule of values of 1 KB from flash, over the network.

use crate::dht::table_2::measure;
use crate::efficiency::note;
use crate::error::Error;
use crate::finding::Finding;
use crate::run::Run;
use crate::sosp::table_3::printed;

/// What the paper prints: system, queries a second, watts, queries a joule.
const PRINTED: [(&str, f64, f64, f64); 4] = [
    ("Alix3c2, CompactFlash", 1298.0, 3.75, 346.0),
    ("Server i7, Fusion-io", 61_494.0, 194.0, 317.0),
    ("Desktop i7, six X25-E", 59_448.0, 98.0, 606.6),
    ("Atom, X25-E", 10_760.0, 22.3, 482.5),
];

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = measure(run, 1024)?;
    note(&mut finding, run);
    printed(&mut finding, &PRINTED);
    Ok(finding)
}
