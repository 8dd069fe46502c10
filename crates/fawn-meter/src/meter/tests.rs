use std::fs;

use super::*;
use crate::instrument::InstrumentSample;

/// A machine with these files of one word below `/sys/class`.
fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, SystemRoots) {
    let dir = tempfile::tempdir().unwrap();
    for (file, word) in files {
        let path = dir.path().join("sys/class").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, word).unwrap();
    }
    let machine = SystemRoots::under(dir.path());
    (dir, machine)
}

const LAPTOP: &[(&str, &str)] = &[
    ("power_supply/AC/type", "Mains"),
    ("power_supply/AC/online", "0"),
    ("power_supply/BAT0/type", "Battery"),
    ("power_supply/BAT0/status", "Discharging"),
    ("power_supply/BAT0/power_now", "8000000"),
];

#[test]
fn power_that_comes_out_of_a_machine_is_no_reading() {
    let (_dir, file) = negative();
    let info = csv_info(&Series::read(&file).unwrap(), &file, 0.1);
    assert!(refuse_negative(&info, 0.0).is_ok());
    let error = refuse_negative(&info, -3.0).unwrap_err().to_string();
    assert!(error.contains("shows -3 W") && error.contains("wired the other way round"), "{error}");
    // Of a file when it is opened, and once it is laid over a stretch.
    let choice = MeterChoice::Csv(file.clone());
    let error = Meter::open(&choice, &SystemRoots::default()).unwrap_err().to_string();
    assert!(error.contains("as if the machine supplied power"), "{error}");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(",-2", ",2")).unwrap();
    let metering = Meter::open(&choice, &SystemRoots::default()).unwrap().unwrap().start().unwrap();
    fs::write(&file, text).unwrap();
    // In less than the step of Unix time as a number nothing is drawn.
    thread::sleep(Duration::from_millis(1));
    let error = metering.stop().unwrap_err().to_string();
    assert!(error.contains("as if the machine supplied power"), "{error}");
}

#[test]
fn no_power_at_all_is_no_reading() {
    let (_dir, file) = negative();
    let choice = MeterChoice::Csv(file.clone());
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(",-2", ",0")).unwrap();
    let refused = |error: MeterError| error.to_string().contains("shows 0 W, and a machine that runs draws more");
    assert!(refused(Meter::open(&choice, &SystemRoots::default()).unwrap_err()));
    // It shows some when it is opened, and none later.
    fs::write(&file, text.replace(",-2", ",2")).unwrap();
    let metering = Meter::open(&choice, &SystemRoots::default()).unwrap().unwrap().start().unwrap();
    fs::write(&file, text.replace(",-2", ",0")).unwrap();
    thread::sleep(Duration::from_millis(30));
    assert!(refused(metering.stop().unwrap_err()));
}

#[test]
fn a_processor_s_counter_that_stops_in_the_middle_is_no_measurement() {
    let zone = "powercap/intel-rapl:0";
    let name = |file: &str| format!("{zone}/{file}");
    let (names, word) = ([name("name"), name("max_energy_range_uj"), name("energy_uj")], "262143328850");
    let (_dir, machine) = machine(&[(&names[0], "package-0"), (&names[1], word), (&names[2], "1000000")]);
    let info = Rapl::open(&machine.sys).unwrap().info().clone();
    let measured = |joules: &[f64]| {
        let mut integral = Integral::every(info.period);
        for (at, joules) in (0..).map(f64::from).zip(joules) {
            let sample = InstrumentSample { counted_joules: Some(*joules), ..InstrumentSample::default() };
            integral.add(at, InstrumentSample { part_joules: vec![*joules], ..sample });
        }
        of_readings(&info, &integral)
    };
    assert!(measured(&[0.0, 9.0, 20.0]).is_ok_and(|energy| (19.9..20.1).contains(&energy.joules)));
    let error = measured(&[0.0, 9.0, 20.0, 20.0]).unwrap_err().to_string();
    assert!(error.contains("for 1.0 s of the measurement (a counter that had moved stood still)"), "{error}");
}

/// A file of a meter that shows less than nothing, from an hour ago until in an hour.
fn negative() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("meter.csv");
    let now = unix_seconds();
    fs::write(&file, format!("# scope: wall\n{},-2\n{},-2\n", now - 3600.0, now + 3600.0)).unwrap();
    (dir, file)
}

#[test]
fn work_goes_on_without_a_meter_that_nobody_asked_for() {
    let (_dir, machine) = machine(LAPTOP);
    let plug_in = |online: &str| fs::write(machine.sys.join("class/power_supply/AC/online"), online).unwrap();
    let asked = Meter::open(&MeterChoice::Auto, &machine).unwrap().unwrap();
    let unasked = Meter::unasked(&machine).unwrap().at_rest_for(Duration::from_mins(10));
    assert_eq!((unasked.is_asked(), asked.is_asked(), unasked.loss()), (false, true, None));
    assert!(stop(start(Some(&unasked)).unwrap()).unwrap().is_some_and(|energy| (7.9..8.1).contains(&energy.watts)));
    let stretches = [&asked, &unasked].map(|meter| start(Some(meter)).unwrap());
    plug_in("1");
    let [of_asked, of_unasked] = stretches.map(stop);
    assert!(matches!(of_asked, Err(MeterError::OnMains(_))), "{of_asked:?}");
    assert_eq!(of_unasked.unwrap(), None);
    let loss = unasked.loss().unwrap();
    assert!(loss.starts_with("battery BAT0 should report joules, but could not be read: the battery is not"), "{loss}");
    assert!(unasked.owed_rest().is_zero() && unasked.rest().is_ok(), "nobody waits for it");
    // Neither is it read again: rows of one report are of one meter, or of none.
    plug_in("0");
    assert!(start(Some(&unasked)).unwrap().is_none() && start(Some(&asked)).unwrap().is_some());
}

#[test]
fn an_instrument_is_opened_once_unless_it_fails() {
    let (_dir, machine) = machine(LAPTOP);
    let dir = machine.sys.join("class/power_supply");
    let write = |file: &str, word: &str| fs::write(dir.join(file), word).unwrap();
    let meter = Meter::open(&MeterChoice::Battery, &machine).unwrap().unwrap();
    // It could not be opened a second time, and is read for each stretch, of whichever meter of it.
    write("BAT0/type", "UPS");
    for meter in [meter.clone(), meter.clone(), meter.clone().accurate_to(0.01)] {
        assert!(meter.start().unwrap().stop().is_ok());
    }
    let metering = meter.start().unwrap();
    write("AC/online", "1");
    assert!(matches!(metering.stop(), Err(MeterError::OnMains(_))));
    write("AC/online", "0");
    assert!(matches!(meter.start(), Err(MeterError::Absent(_))));
}

#[test]
fn gaps_between_readings_are_told_of() {
    let (_dir, machine) = machine(LAPTOP);
    let meter = Meter::open(&MeterChoice::Battery, &machine).unwrap().unwrap();
    let is_told = |gap: f64| {
        let mut integral = Integral::every(meter.info().period);
        for at in [0.0, 1.0, 1.0 + gap] {
            integral.add(at, InstrumentSample { watts: Some(8.0), ..InstrumentSample::default() });
        }
        let notes = of_readings(meter.info(), &integral).unwrap().notes;
        notes.iter().any(|note| note.starts_with("an interval has gaps between readings of more than 3 times"))
    };
    assert_eq!([3.0, 9.0].map(is_told), [false, true]);
}

#[test]
fn a_meter_that_fails_at_rest_is_lost_only_if_nobody_asked_for_it() {
    let (_dir, machine) = machine(LAPTOP);
    let rest = Duration::from_millis(1);
    let asked = Meter::open(&MeterChoice::Battery, &machine).unwrap().unwrap().at_rest_for(rest);
    let unasked = Meter::unasked(&machine).unwrap().at_rest_for(rest);
    fs::write(machine.sys.join("class/power_supply/BAT0/status"), "Full").unwrap();
    assert!(asked.rest().is_err() && unasked.rest().is_ok() && unasked.loss().is_some());
}

#[test]
fn counters_that_root_alone_may_read_are_told_of() {
    // Not even root may read this one.
    let unreadable = Path::new("/proc/sys/vm/compact_memory");
    if !fs::read(unreadable).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied) {
        return;
    }
    let package = [("powercap/intel-rapl:0/name", "package-0"), ("powercap/intel-rapl:0/max_energy_range_uj", "9")];
    let (_dir, machine) = machine(&package);
    assert!(Meter::unasked(&machine).is_none(), "a counter that is not there is none");
    std::os::unix::fs::symlink(unreadable, machine.sys.join("class/powercap/intel-rapl:0/energy_uj")).unwrap();
    let meter = Meter::unasked(&machine).unwrap();
    assert!(start(Some(&meter)).unwrap().is_none());
    let loss = meter.loss().unwrap();
    assert!(
        loss.starts_with("RAPL (package-0) should report joules, but could not be read: only root may read")
            && loss.contains("sudo chmod a+r "),
        "{loss}"
    );
    assert!(
        matches!(Meter::open(&MeterChoice::Rapl, &machine), Err(MeterError::RootAlone(_))),
        "asked for, it is an error"
    );
    assert!(Meter::open(&MeterChoice::Auto, &machine).unwrap().is_none());
}
