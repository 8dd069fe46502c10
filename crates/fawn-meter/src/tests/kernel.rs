//! What the kernel shows: RAPL, sensors, batteries.

use std::path::Path;

use super::{Moving, a_while, close, copy, metered, open, open_rapl, refused, tree, write};
use crate::{Meter, MeterChoice, MeterKind, Scope, SystemRoots, find};

/// The counters of the trees turn round here, microjoules.
const PACKAGE_RANGE: u64 = 262_143_328_850;

#[test]
fn a_package_and_its_dram_are_counted_once_and_over_the_turn_of_the_counter() {
    let dir = copy("intel");
    let root = dir.path();
    let energy = metered(&open_rapl(root), || {
        // 0.32885 J until it turns round, and 2 J after that.
        write(root, "powercap/intel-rapl:0/energy_uj", 2_000_000);
        write(root, "powercap/intel-rapl-mmio:0/energy_uj", 2_000_000);
        write(root, "powercap/intel-rapl:0:0/energy_uj", 51_234_567_890u64 + 1_500_000);
        write(root, "powercap/intel-rapl:0:2/energy_uj", 7_000_000_000u64 + 500_000);
        write(root, "powercap/intel-rapl:1/energy_uj", 99_000_000_000u64 + 9_000_000);
        a_while();
    });
    close(energy.joules, 0.328_85 + 2.0 + 0.5);
    assert_eq!(
        (energy.kind, energy.scope, energy.measured, energy.is_counter),
        (MeterKind::Rapl, Scope::Package, true, true)
    );
    let parts: Vec<(&str, f64, bool)> =
        energy.parts.iter().map(|part| (part.name.as_str(), (part.joules * 1e3).round(), part.is_counted)).collect();
    let expected = [
        ("package-0", 2329.0, true),
        ("psys", 9000.0, false),
        ("package-0/core", 1500.0, false),
        ("package-0/uncore", 0.0, false),
        ("package-0/dram", 500.0, true),
    ];
    assert_eq!(parts, expected);
    assert_eq!(energy.instrument, "RAPL (package-0, package-0/dram)");
    // Their units are 2^-14 J and 2^-16 J; and each may be a millisecond old.
    let units = PACKAGE_RANGE as f64 / 1e6 / 2f64.powi(32) + 65_712.999_613 / 2f64.powi(32);
    close(energy.uncertainty.resolution_joules, units + 0.001 * energy.watts);
    assert_eq!(
        (energy.uncertainty.joules, energy.uncertainty.sampling_joules),
        (None, 0.0),
        "nobody states an accuracy"
    );
    close(energy.watts, energy.joules / energy.seconds);
    assert!(energy.notes.is_empty(), "a counter needs no more than two: {energy:?}");
}

#[test]
fn all_packages_of_a_server_are_counted() {
    let dir = copy("server");
    let root = dir.path();
    let energy = metered(&open_rapl(root), || {
        for (zone, joules) in [("intel-rapl:0", 100_003), ("intel-rapl:1", 100_005)] {
            write(root, &format!("powercap/{zone}/energy_uj"), joules * 1_000_000u64);
        }
        write(root, "powercap/intel-rapl:1:0/energy_uj", 20_001_000_001u64);
    });
    close(energy.joules, 3.0 + 4.999_999 + 1.0);
}

#[test]
fn amd_s_cores_are_a_part_of_their_package() {
    let dir = copy("amd");
    let root = dir.path();
    let energy = metered(&open_rapl(root), || {
        write(root, "powercap/intel-rapl:0/energy_uj", 12_004_000_000u64);
        write(root, "powercap/intel-rapl:0:0/energy_uj", 901_000_000);
    });
    close(energy.joules, 4.0);
}

#[test]
fn a_counter_that_cannot_be_read_is_said_to_be_so() {
    assert!(refused("rapl", &tree("pi-ina219")).contains("load the module intel_rapl_msr"), "there is none");
    assert!(refused("rapl", &tree("amd")).starts_with("RAPL (package-0) does not change, as in some virtual machines"));
    let dir = copy("intel");
    write(dir.path(), "powercap/intel-rapl:0/energy_uj", "many");
    assert!(refused("rapl", dir.path()).contains("energy_uj says \"many\", which is not a whole number"));
    std::fs::remove_file(dir.path().join("sys/class/powercap/intel-rapl:0/energy_uj")).unwrap();
    assert!(refused("rapl", dir.path()).contains("energy_uj (No such file or directory"));
}

#[test]
fn an_ina219_s_watts_and_step_are_read() {
    let dir = copy("pi-ina219");
    let root = dir.path();
    let meter = open("hwmon", root).unwrap();
    let energy = metered(&meter, a_while);
    close(energy.watts, 3.622);
    assert_eq!((energy.scope, energy.is_counter), (Scope::Board, false));
    assert_eq!(energy.instrument, "ina219 sensor hwmon2/power1");
    // 10 uV over 0.1 ohm, 20 times: 2 mW.
    close(energy.uncertainty.resolution_joules, 0.001 * energy.seconds);
    assert_eq!((energy.uncertainty.stated_share, energy.uncertainty.sampling_joules), (Some(0.03), 0.0));
    close(energy.uncertainty.joules.unwrap(), 0.03 * energy.joules + 0.001 * energy.seconds);
    assert!(energy.notes.iter().any(|note| note.starts_with("an interval has fewer than 10 readings")), "{energy:?}");
    // Of a power that changes, what may have happened between the readings counts, too.
    let energy = metered(&meter, || {
        write(root, "hwmon/hwmon2/power1_input", 5_000_000);
        a_while();
    });
    assert!(energy.uncertainty.sampling_joules > 0.0, "{energy:?}");
    assert!((3.622..5.0).contains(&energy.watts), "{energy:?}");
}

#[test]
fn an_ina226_is_read_as_often_as_it_has_something_new() {
    let energy = metered(&open("hwmon:ina226", &tree("pi-ina226")).unwrap(), a_while);
    close(energy.watts, 6.031_25);
    // 2.5 uV over 0.002 ohm, 25 times: 31.25 mW.
    close(energy.uncertainty.resolution_joules, 0.015_625 * energy.seconds);
    let period = |name: &str| open("hwmon", &tree(name)).unwrap().info().period.as_millis();
    assert_eq!((period("pi-ina226"), period("pi-ina219"), period("server")), (141, 100, 1000));
}

#[test]
fn of_several_sensors_one_is_named() {
    let root = tree("rails");
    let energy = metered(&open("hwmon:VDD_IN", &root).unwrap(), a_while);
    close(energy.watts, 5.04 * 0.88);
    assert!(
        energy.uncertainty.joules.is_none() && energy.notes.iter().any(|note| note.contains("volts times amperes"))
    );
    close(metered(&open("hwmon:ina3221/in2", &root).unwrap(), a_while).watts, 5.032 * 0.24);
    assert!(refused("hwmon", &root).contains("choose one of hwmon3/in1, hwmon3/in2, hwmon3/in3"));
    assert!(
        refused("hwmon:ina3221", &root).contains("hwmon:ina3221 matches several sensors: choose one of hwmon3/in1")
    );
    assert!(refused("hwmon:VDD_GPU", &root).starts_with("no power sensor is called VDD_GPU: choose one of hwmon3/in1"));
    assert!(refused("hwmon", &tree("intel")).contains("has no power sensor"));
}

#[test]
fn a_battery_shows_what_the_machine_draws_while_it_is_discharged() {
    let energy = metered(&open("battery", &tree("laptop")).unwrap(), a_while);
    close(energy.watts, 8.35);
    assert_eq!((energy.scope, energy.instrument.as_str()), (Scope::Board, "battery BAT0 and BAT1"));
    close(metered(&open("battery", &tree("laptop-amperes")).unwrap(), a_while).watts, 9.0);

    let dir = copy("laptop");
    write(dir.path(), "power_supply/AC/online", 1);
    assert!(
        refused("battery", dir.path()).contains("(AC is online)")
            && refused("battery", dir.path()).ends_with("unplug the machine")
    );
    write(dir.path(), "power_supply/AC/online", 0);
    write(dir.path(), "power_supply/BAT0/status", "Full");
    assert!(refused("battery", dir.path()).contains("no status is Discharging"));
    write(dir.path(), "power_supply/BAT1/status", "Charging");
    assert!(refused("battery", dir.path()).contains("its status is Charging"));
    assert!(refused("battery", &tree("amd")).contains("has no battery that feeds this machine"));
}

#[test]
fn a_laptop_that_is_plugged_in_meanwhile_is_not_metered() {
    let dir = copy("laptop");
    let metering = open("battery", dir.path()).unwrap().start().unwrap();
    write(dir.path(), "power_supply/AC/online", 1);
    assert!(metering.stop().unwrap_err().to_string().contains("AC is online"));
}

#[test]
fn auto_takes_what_covers_most() {
    let auto = |root: &Path| {
        let meter = Meter::open(&MeterChoice::Auto, &SystemRoots::under(root)).unwrap();
        meter.map(|meter| (meter.info().kind, meter.info().scope))
    };
    let moving = |name: &str| {
        let dir = copy(name);
        let _moving = Moving::start(dir.path());
        auto(dir.path())
    };
    assert_eq!(moving("laptop"), Some((MeterKind::Battery, Scope::Board)));
    assert_eq!(moving("server"), Some((MeterKind::Hwmon, Scope::Board)));
    assert_eq!(auto(&tree("pi-ina226")), Some((MeterKind::Hwmon, Scope::Board)));
    assert_eq!(moving("intel"), Some((MeterKind::Rapl, Scope::Package)));
    assert_eq!(moving("amd"), Some((MeterKind::Rapl, Scope::Package)), "a graphics card is not the machine");
    assert_eq!(auto(&tree("amd")), None, "a counter that does not move is none");
    assert_eq!(auto(&tree("rails")), None, "nobody knows which rail is the board's");
    let dir = copy("laptop");
    write(dir.path(), "power_supply/AC/online", 1);
    let _moving = Moving::start(dir.path());
    assert_eq!(auto(dir.path()), Some((MeterKind::Rapl, Scope::Package)), "on mains");
}

#[test]
fn what_there_is_is_listed_with_what_is_wrong_with_it() {
    let dir = copy("server");
    let server = {
        let _moving = Moving::start(dir.path());
        find(&SystemRoots::under(dir.path()))
    };
    let usable: Vec<(&str, bool)> = server.iter().map(|found| (found.meter.as_str(), found.usable)).collect();
    assert_eq!(usable, [("rapl", true), ("battery", false), ("hwmon:hwmon10/power1", true)]);
    close(server[2].watts.unwrap(), 187.0);
    assert!(server[1].problem.as_ref().unwrap().contains("has no battery") && server[0].problem.is_none());
    let none = find(&SystemRoots::under(&tree("no such tree")));
    assert_eq!(none.len(), 3);
    for found in none {
        assert!(!found.usable && found.problem.unwrap().contains("choose another meter") && found.watts.is_none());
    }
}
