//! Energy in the report of an experiment.

use std::path::Path;

use fawn_bench::{Experiment, Setup};
use fawn_meter::{Meter, MeterChoice, SystemRoots};

use crate::{hit, measured, setup};

/// A sensor that shows 3.622 W.
fn hwmon() -> Meter {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fawn-meter/testdata/pi-ina219");
    let meter = Meter::open(&MeterChoice::Hwmon(None), &SystemRoots::under(&root)).unwrap();
    meter.expect("a meter was chosen")
}

#[test]
fn an_experiment_tells_joules_and_keeps_them() {
    let dir = tempfile::tempdir().unwrap();
    let plain = setup(&dir.path().join("bench"), 3000);
    let report = measured(&plain, &Experiment::Hit(hit()));
    assert!(report.rows[0]["operations_a_cpu_second"].as_f64().unwrap() > 0.0, "{report:?}");
    assert!(
        report.rows[0].get("joules").is_none()
            && report.notes.iter().any(|note| note.starts_with("no energy was metered"))
    );

    let meter = hwmon();
    let with_meter = Setup { meter: Some(meter), ..plain.clone() };
    let report = measured(&with_meter, &Experiment::Hit(hit()));
    let of = |name: &str| report.rows[0][name].as_f64().unwrap_or_else(|| panic!("no {name}: {:?}", report.rows[0]));
    assert!((of("watts") - 3.622).abs() < 1e-5, "{:?}", report.rows[0]);
    assert!(of("joules") > 0.0 && of("uncertainty_joules") > 0.03 * of("joules"));
    // By all rounds together, of which the rate is the middle one's.
    assert!((of("operations_a_joule") / (of("gets_a_second") / 3.622)).ln().abs() < 1.0, "{:?}", report.rows[0]);
    assert_eq!(report.rows[0]["energy"]["scope"], "board");
    assert!(report.notes.iter().any(|note| note.contains("measured of the board by ina219 sensor")), "{report:?}");
    // Told again with the meter, and without it as it was.
    assert_eq!(measured(&with_meter, &Experiment::Hit(hit())), report);
    assert!(measured(&plain, &Experiment::Hit(hit())).rows[0].get("joules").is_none());
}
