//! e-Energy 2010, Table 4: SHA-1 and RSA, with all threads and with one.

use std::time::Duration;

use fawn_joule::crypto::openssl::Openssl;
use fawn_joule::crypto::{CryptoPlan, run as measure};
use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding, Row};
use crate::run::{Run, Scale};

/// The largest block of `openssl speed` in 2010, whose rate the paper has.
const BLOCK_BYTES: u64 = 8192;

/// What the paper prints: machine, work, threads, work a second, watts.
const PRINTED: [(&str, &str, &str, f64, f64); 8] = [
    ("Core i7 desktop", "SHA-1, MB", "1", 360.0, 75.0),
    ("Atom", "SHA-1, MB", "1", 107.0, 19.1),
    ("Core i7 desktop", "SHA-1, MB", "all", 1187.0, 117.0),
    ("Atom", "SHA-1, MB", "all", 259.0, 20.7),
    ("Core i7 desktop", "RSA, signatures", "all", 8748.0, 124.0),
    ("Atom", "RSA, signatures", "all", 1173.5, 21.0),
    ("Core i7 desktop", "RSA, verifications", "all", 170_248.0, 124.0),
    ("Atom", "RSA, verifications", "all", 21_279.0, 21.0),
];

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = Finding::of(&[
        ("what", "work", None),
        ("by", "by", None),
        ("threads", "threads", None),
        ("work_a_second", "per second", Some(1)),
        ("operations_a_cpu_second", "per CPU second", Some(1)),
        ("watts", "watts", Some(2)),
        ("operations_a_joule", "per joule", Some(2)),
        ("modelled_watts", "watts, modelled", Some(2)),
        ("operations_a_modelled_joule", "per modelled joule", Some(2)),
    ]);
    let all = fawn_machine::cores().0.get();
    let plan = CryptoPlan {
        threads: if all > 1 { vec![1, all] } else { vec![1] },
        time: run.pick(Duration::from_millis(1), Duration::from_millis(200), Duration::from_secs(3)),
        blocks: vec![BLOCK_BYTES],
        openssl: if run.scale == Scale::Tiny {
            Err("openssl counts whole seconds, so this scale leaves it out".to_owned())
        } else {
            Openssl::find(&"openssl".into()).map_err(|why| format!("{why}, so its figures are missing"))
        },
    };
    let report = measure(&plan, run.tools.meter.as_ref(), run.watch)?;
    (finding.parameters, finding.notes) = (report.parameters, report.notes);
    finding.rows = report.rows.into_iter().map(row).collect();
    for (who, what, threads, rate, watts) in PRINTED {
        finding.printed(json!({
            "what": what, "by": who, "threads": threads, "work_a_second": rate, "watts": watts,
            "operations_a_joule": rate / watts,
        }));
    }
    let of = if finding.rows.iter().any(|row| row.contains_key("operations_a_joule")) {
        Axis::log("operations_a_joule", "per joule")
    } else {
        Axis::log("operations_a_cpu_second", "per CPU second")
    };
    finding.charts.push(Chart::bars("digests in MB, and signatures", "name_by", of));
    finding.note(
        "the paper names no key size; its rates fit 1024 bits. Digests are of blocks of 8,192 bytes, in MB of 1,000,000 bytes",
    );
    Ok(finding)
}

/// A row of this table: digests count MB, not bytes.
fn row(mut row: Row) -> Row {
    let text = |row: &Row, name: &str| row.get(name).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
    let (name, what, library) = (text(&row, "name"), text(&row, "what"), text(&row, "library"));
    let is_digest = what == "digest";
    let instructions = if text(&row, "instructions") == "none" { ", without SHA instructions" } else { "" };
    let work = if is_digest { format!("{name}, MB") } else { format!("{name}, {what}") };
    if is_digest {
        let names: Vec<String> =
            row.keys().filter(|name| name.starts_with("operations_a_") || *name == "work_a_second").cloned().collect();
        for name in names {
            let mb = row.get(&name).and_then(serde_json::Value::as_f64).map(|bytes| bytes / 1e6);
            row.insert(name, json!(mb));
        }
    }
    let threads = row.get("threads").and_then(serde_json::Value::as_u64).unwrap_or(0);
    row.insert("name_by".to_owned(), json!(format!("{work} by {library}{instructions}, {threads} thr.")));
    row.insert("what".to_owned(), json!(work));
    row.insert("by".to_owned(), json!(format!("{library}{instructions}")));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_told_in_megabytes_and_signatures_as_they_are() {
        let of = |what: &str| {
            let serde_json::Value::Object(it) = json!({
                "name": "SHA-1", "what": what, "library": "sha1", "instructions": "none", "threads": 2,
                "work_a_second": 3e6, "operations_a_cpu_second": 2e6,
            }) else {
                unreachable!("rows are objects")
            };
            row(it)
        };
        let digest = of("digest");
        assert_eq!((&digest["work_a_second"], &digest["operations_a_cpu_second"]), (&3.0.into(), &2.0.into()));
        assert_eq!((&digest["what"], &digest["by"]), (&"SHA-1, MB".into(), &"sha1, without SHA instructions".into()));
        assert_eq!(of("sign")["work_a_second"], 3e6);
    }

    #[test]
    fn the_paper_s_figures_per_joule_are_those_that_it_prints() {
        let per_joule: Vec<f64> = PRINTED.iter().map(|(_, _, _, rate, watts)| rate / watts).collect();
        for (ours, printed) in per_joule.iter().zip([4.8, 5.6, 10.1, 12.51, 70.6, 55.9, 1373.0, 1013.0]) {
            assert!((ours / printed - 1.0).abs() < 0.005, "{ours} {printed}");
        }
    }
}
