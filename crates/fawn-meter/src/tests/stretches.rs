//! Files of other meters, models, machines at rest, and sums of stretches.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{a_while, close, copy, metered, open, refused, tree, write};
use crate::{MeterKind, Scope, sum};

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

#[test]
fn a_file_that_is_written_meanwhile_is_laid_over_the_measurement() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("watts.csv");
    let mut text = "# scope: wall\n# meter: WattsUp Pro\ntime,watts\n".to_owned();
    let began = now();
    for half in 0..20 {
        writeln!(text, "{},6.5", began - 10.0 + f64::from(half) / 2.0).unwrap();
    }
    fs::write(&path, text).unwrap();
    let meter = open(&format!("csv:{}", path.display()), Path::new("/")).unwrap();
    let metering = meter.start().unwrap();
    let writer = thread::spawn(move || {
        // It comes late: its last line is written after the measurement has ended.
        for _ in 0..8 {
            thread::sleep(Duration::from_millis(100));
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            writeln!(file, "{},6.5", now()).unwrap();
        }
    });
    thread::sleep(Duration::from_millis(400));
    let energy = metering.stop().unwrap();
    writer.join().unwrap();
    close(energy.joules, 6.5 * energy.seconds);
    assert!((0.4..0.8).contains(&energy.seconds), "{energy:?}");
    assert_eq!((energy.kind, energy.scope, energy.measured), (MeterKind::Csv, Scope::Wall, true));
    assert!(energy.instrument.ends_with("watts.csv of WattsUp Pro") && energy.samples >= 5, "{energy:?}");
}

#[test]
fn a_file_that_ends_too_early_is_no_measurement() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.csv");
    fs::write(&path, "# scope: board\n1000,5\n1000.1,5\n").unwrap();
    let choice = format!("csv:{}", path.display());
    let metering = open(&choice, Path::new("/")).unwrap().start().unwrap();
    let error = metering.stop().unwrap_err().to_string();
    assert!(
        error.contains("old.csv: it ends ")
            && error.contains("start the meter before and stop it after the measurement"),
        "{error}"
    );
    fs::write(&path, "1000,5\n1001,5\n").unwrap();
    assert!(refused(&choice, Path::new("/")).contains("begin it with a line `# scope: wall`"));
}

/// A `/proc` in which so much was done: ticks busy and idle, reads and sectors read.
fn did(root: &Path, busy: u64, idle: u64, reads: u64, sectors: u64) {
    fs::create_dir_all(root.join("proc")).unwrap();
    fs::write(root.join("proc/stat"), format!("cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1\n")).unwrap();
    fs::write(root.join("proc/diskstats"), format!(" 8 0 sda {reads} 0 {sectors} 9 0 0 0 0 0 0 0\n")).unwrap();
}

const MODEL: &str = "machine = 'a Pi'\nscope = 'wall'\nsource = 'a wall meter'\ndate = '2026-11-20'\naccuracy = 0.2\n\
                     idle_watts = 3.0\nfull_cpu_watts = 7.0\n[device]\nname = 'sda'\nwatts_per_io_a_second = 0.001\n";

#[test]
fn a_model_s_joules_are_never_called_measured() {
    let dir = tempfile::tempdir().unwrap();
    let (root, file) = (dir.path(), dir.path().join("pi.toml"));
    fs::write(&file, MODEL).unwrap();
    did(root, 1000, 9000, 50, 400);
    let meter = open(&format!("model:{}", file.display()), root).unwrap();
    let energy = metered(&meter, || {
        a_while();
        // A quarter of the time busy; 200 reads.
        did(root, 1025, 9075, 250, 2000);
    });
    assert_eq!((energy.measured, energy.kind, energy.scope), (false, MeterKind::Model, Scope::Wall));
    // 3 W, a quarter of 4 W, and 200 times a millijoule.
    close(energy.joules, 4.0 * energy.seconds + 0.2);
    close(energy.dynamic_joules.unwrap(), energy.seconds + 0.2);
    close(energy.uncertainty.joules.unwrap(), 0.2 * energy.joules + 4.0 * 0.01 * energy.seconds);
    assert_eq!(energy.to_string(), "modelled, not measured, at the wall by a model of a Pi (a wall meter, 2026-11-20)");
    let json = serde_json::to_value(&energy).unwrap();
    assert_eq!((&json["measured"], &json["kind"], &json["scope"]), (&false.into(), &"model".into(), &"wall".into()));
    fs::write(&file, MODEL.replace("sda", "sdz")).unwrap();
    assert!(refused(&format!("model:{}", file.display()), root).contains("has no device sdz"));
}

#[test]
fn what_is_drawn_above_rest_is_told() {
    let dir = copy("pi-ina219");
    let root = dir.path();
    let meter = open("hwmon", root).unwrap().at_rest_for(Duration::from_millis(150));
    assert_eq!(meter.owed_rest().as_millis(), 150);
    meter.rest().unwrap();
    assert!(meter.owed_rest().is_zero(), "once is enough");
    write(root, "hwmon/hwmon2/power1_input", 5_000_000);
    let energy = metered(&meter, a_while);
    let idle = energy.idle.unwrap();
    close(idle.watts, 3.622);
    assert!(idle.seconds >= 0.15, "{idle:?}");
    close(energy.dynamic_joules.unwrap(), (5.0 - 3.622) * energy.seconds);
    // The chip's share of the difference, and a milliwatt of steps in both.
    let expected = 0.03 * 1.378 * energy.seconds + 0.002 * energy.seconds;
    close(energy.dynamic_uncertainty_joules.unwrap(), expected);
    assert_eq!(metered(&open("hwmon", root).unwrap(), a_while).dynamic_joules, None);
}

#[test]
fn stretches_add_up() {
    let meter = open("hwmon", &tree("pi-ina219")).unwrap();
    let (one, other) = (metered(&meter, a_while), metered(&meter, a_while));
    let both = sum([Some(&one), Some(&other)]).unwrap();
    close(both.joules, one.joules + other.joules);
    close(both.seconds, one.seconds + other.seconds);
    close(both.watts, 3.622);
    assert_eq!(both.samples, one.samples + other.samples);
    close(both.uncertainty.joules.unwrap(), one.uncertainty.joules.unwrap() + other.uncertainty.joules.unwrap());
    assert!(sum([Some(&one), None]).is_none(), "what was metered in part is not known");
}
