//! `fawn gordon flash` and `fawn gordon disk` as a user runs them.

use serde_json::Value;

use crate::server::{Run, fawn};

/// The paper's array, small.
const SMALL: &[&str] = &["gordon", "flash", "--blocks", "32", "--spare", "25%"];

#[track_caller]
fn json(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

#[test]
fn an_array_is_simulated_and_the_report_says_where_the_time_went() {
    let arguments =
        [SMALL, &["--workload", "sequential", "--bytes", "256K", "--reads", "100%", "--requests", "2k"]].concat();
    let run = fawn(&arguments);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    for what in [
        "gordon-slc-133: Gordon (ASPLOS 2009) Table 1",
        "FTL: super-pages of 4 x 4 x 2",
        "First state: every page was written once, in order",
        "bandwidth",
        "of it waiting for a bus",
        "busiest (1)",
        "note: Energy is modelled: 0.003 W a die at rest",
    ] {
        assert!(run.stdout.contains(what), "{what}: {}", run.stdout);
    }
    let report = json(&fawn(&[&arguments[..], &["--json"]].concat()));
    let rate = report["bytes_per_s"].as_f64().unwrap();
    assert!((rate / 900e6 - 1.0).abs() < 0.05, "{rate}");
    assert_eq!(report["throughput"]["requests"], 2_000);
    assert!(report["resources"][0]["busy_share"].as_f64().unwrap() > 0.8, "{report}");
}

#[test]
fn writes_are_amplified_as_theory_has_it_and_the_first_state_is_told() {
    let mqsim =
        ["gordon", "flash", "--array", "mqsim-default", "--page-bytes", "4096", "--blocks", "64", "--pages", "64"];
    let workload = ["--spare", "20%", "--queue-depth", "256", "--reads", "0", "--requests", "300k", "--json"];
    let report = json(&fawn(&[&mqsim[..], &workload].concat()));
    assert_eq!(report["first_state"]["way"], "closed-form");
    let amplification = &report["write_amplification"];
    let (is, theory) = (amplification["pages_per_page"].as_f64().unwrap(), amplification["theory"].as_f64().unwrap());
    // Theory is of thousands of blocks; each of these sets has 64.
    assert!((is / theory - 1.0).abs() < 0.1, "{is} {theory}");
    assert_eq!(report["energy"], Value::Null, "nobody states the power of its dies");
    let zipf = json(&fawn(&[&mqsim[..], &workload, &["--workload", "zipf"]].concat()));
    assert_eq!((&zipf["first_state"]["way"], &zipf["first_state"]["passes"]), (&"bounded-fill".into(), &4.into()));
    assert_eq!(zipf["write_amplification"]["theory"], Value::Null);
    // The closed form and theory are of writes to all of the device.
    let part = json(&fawn(&[&mqsim[..], &workload, &["--span", "16M"]].concat()));
    assert_eq!(part["first_state"]["way"], "bounded-fill", "{part}");
    let discards = json(&fawn(&[&mqsim[..], &workload, &["--trims", "30%"]].concat()));
    let amplification = &discards["write_amplification"];
    assert_eq!(amplification["theory"], Value::Null, "{amplification}");
    assert!(amplification["theory_source"].as_str().unwrap().contains("discards"), "{amplification}");
}

#[test]
fn recovery_after_a_power_cut_loses_nothing() {
    let arguments =
        [SMALL, &["--bytes", "64K", "--requests", "4k", "--trims", "5%", "--write-points", "2", "--power-cut"]];
    let run = fawn(&arguments.concat());
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("summary pages read") && run.stdout.contains("recovery takes"), "{}", run.stdout);
    let report = json(&fawn(&[&arguments.concat()[..], &["1k", "--json"]].concat()));
    let cut = &report["power_cut"];
    assert_eq!(cut["pages_lost"], 0, "{cut}");
    assert!(cut["acknowledged"].as_u64().unwrap() >= 1_000 && cut["recovery_s"].as_f64().unwrap() > 0.0, "{cut}");
}

#[test]
fn presets_and_table_1_are_printed() {
    let presets = fawn(&["gordon", "flash", "--presets"]);
    assert!(presets.stdout.contains("gordon-mlc-133") && presets.stdout.contains("SimpleSSD/SimpleSSD"), "{presets:?}");
    let rows = json(&fawn(&["gordon", "flash", "--raw", "--array", "samsung-970-pro", "--json"]));
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 7);
    for row in &rows[..6] {
        let of = |name: &str| row[name].as_f64().unwrap();
        for (is, printed) in [
            ("simulated_read_bytes_per_s", "printed_read_bytes_per_s"),
            ("simulated_program_bytes_per_s", "printed_program_bytes_per_s"),
        ] {
            assert!((of(is) / of(printed) - 1.0).abs() < 0.01, "{row}");
        }
    }
    let table = fawn(&["gordon", "flash", "--raw"]).stdout;
    assert!(table.contains("SLC, 133 MHz, 8 bits") && table.contains("126.4"), "{table}");
}

#[test]
fn an_array_of_ones_own_is_read_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("drive.toml");
    let path = file.to_str().unwrap();
    let text = "name = \"my drive\"\nsource = \"its data sheet\"\npreset = \"mqsim-default\"\nblocks_per_plane = 32\n\
                die_idle_w = 0.01\ndie_active_w = 0.05\nrated_erases = 3000\n";
    std::fs::write(&file, text).unwrap();
    let report = json(&fawn(&["gordon", "flash", "--array", path, "--spare", "20%", "--requests", "5k", "--json"]));
    assert_eq!((&report["name"], &report["source"]), (&"my drive".into(), &"its data sheet; changed".into()));
    assert!(report["energy"]["modelled_j"].as_f64().unwrap() > 0.0, "{report}");
    assert!(report["wear"]["years_at_this_rate"].as_f64().unwrap() > 0.0, "{report}");
    std::fs::write(&file, text.replace("blocks_per_plane", "blocks")).unwrap();
    let run = fawn(&["gordon", "flash", "--array", path]);
    assert!(run.code == 1 && run.stderr.contains("line 4: unknown field `blocks`"), "{run:?}");
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_can() {
    for (arguments, says) in [
        (&["--stripe", "3x1x1"][..], "a stripe of 3 buses does not divide the array's 4"),
        (&["--stripe", "4x4"], "e.g. 4x4x2"),
        (&["--policy", "best"], "e.g. d:10"),
        (&["--first-state", "full"], "e.g. fill:3"),
        (&["--bus-bits", "12"], "write 8 or 16"),
        (&["--spare", "100%"], "--spare is 1, and must be above 0 and below 1"),
        (
            &["--die-idle-w", "0.02", "--die-active-w", "0.01"],
            "--die-active-w is 0.01, and must be watts from --die-idle-w",
        ),
        (&["--dram", "1M"], "--dram is 1048576: give more"),
        (&["--array", "mqsim-default", "--wear-out"], "--rated-erases"),
        (&["--bytes", "8K..4K"], "e.g. 2K..256K"),
        (&["--workload", "zipf", "--bytes", "4K..8K"], "give one size"),
        (&["--workload", "paper-random", "--span", "64K"], "do not fit --span of 64 KiB: make it larger"),
        (&["--blocks", "4"], "leaves cleaning no room"),
        (&["--raw", "--presets"], "cannot be used with"),
        (&["--power-cut", "0"], "give 1 or more"),
        (
            &["--power-cut", "2k", "--requests", "1k", "--blocks", "64", "--spare", "20%"],
            "is after the last of 1,000 requests",
        ),
        (&["--power-cut", "--rate", "5"], "--rate has no effect with --power-cut"),
        (&["--presets", "--blocks", "64"], "--blocks has no effect with --presets"),
        (&["--raw", "--policy", "fifo"], "--policy has no effect with --raw"),
        (&["--raw", "--reads", "0"], "--reads has no effect with --raw"),
        (&["--exponent", "1.2"], "--exponent has no effect without --workload zipf"),
        (&["--workload", "pairs", "--bytes", "8K"], "--bytes has no effect on a workload of the paper"),
        (&["--spacing", "fixed"], "--spacing has no effect without --rate"),
        (&["--array", "mqsim-default", "--die-idle-w", "1"], "--die-idle-w needs --die-active-w too"),
        (&["--erase-us", "NaN"], "write a number from 0 to 1000000000"),
        (&["--bus-mt", "0"], "write a number from 0.001 to 1000000"),
    ] {
        let run = fawn(&[&["gordon", "flash"], arguments].concat());
        assert!(run.code == 2 && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
    let run = fawn(&["gordon", "flash", "--array", "nowhere.toml"]);
    assert!(run.code == 1 && run.stderr.contains("--presets"), "{run:?}");
}

#[test]
fn a_disk_seeks_as_published_and_serves_requests() {
    let disk = ["gordon", "disk", "--reads", "100%", "--requests", "2k", "--outstanding", "1"];
    let report = json(&fawn(&[&disk[..], &["--json"]].concat()));
    let rate = report["requests_per_s"].as_f64().unwrap();
    assert!((75.0..81.0).contains(&rate), "{rate}");
    let table = fawn(&disk).stdout;
    for what in ["SATA disk of 1 TB, 2008: data sheets", "of it rotation", "arm (seeks)", "W at rest"] {
        assert!(table.contains(what), "{what}: {table}");
    }
    for name in ["hp-97560", "hp-c2247a", "cheetah-9lp", "sata-1tb-2008", "sata-2tb-2010"] {
        let run = fawn(&["gordon", "disk", "--disk", name, "--seeks"]);
        assert!(run.code == 0 && run.stdout.contains("agrees") && !run.stdout.contains("differs"), "{run:?}");
    }
    let seeks = fawn(&["gordon", "disk", "--disk", "hp-97560", "--seeks"]).stdout;
    assert!(seeks.contains("12.84") && seeks.contains("23.69"), "{seeks}");
    let presets = fawn(&["gordon", "disk", "--presets"]).stdout;
    assert!(presets.contains("cheetah-9lp") && presets.contains("DiskSim"), "{presets}");
    let refused = fawn(&["gordon", "disk", "--seek-ms", "3,2,1"]);
    assert!(refused.code == 2 && refused.stderr.contains("e.g. 0.8, 8.5 and 17"), "{refused:?}");
}

#[test]
fn a_disk_of_ones_own_is_read_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("disk.toml");
    let disk = |more: &[&str]| fawn(&[&["gordon", "disk", "--disk", file.to_str().unwrap()], more].concat());
    let doc = include_str!("../../../../book/src/nodes/disk.md");
    let example = doc.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    std::fs::write(&file, example).unwrap();
    let report = json(&disk(&["--requests", "2k", "--json"]));
    assert_eq!((&report["name"], &report["source"]), (&"a disk".into(), &"its data sheet".into()));
    assert!(report["energy"]["modelled_j"].as_f64().unwrap() > 0.0, "{report}");
    // Without its preset it has everything that a disk needs.
    std::fs::write(&file, example.replace("preset =", "# preset =")).unwrap();
    assert_eq!(json(&disk(&["--requests", "2k", "--json"]))["latency"], report["latency"]);
    let seeks = disk(&["--seeks"]);
    assert!(seeks.code == 0 && seeks.stdout.contains("8.5"), "{seeks:?}");
    let changed = disk(&["--rpm", "15000", "--requests", "100"]).stdout;
    assert!(changed.contains("a disk: its data sheet; changed"), "{changed}");
    for (from, to, says) in [
        ("rpm = 7200", "rpm = -1", "line "),
        ("heads = 8", "heads = 0", "`heads` must be from 1 to 256"),
        ("rpm = 7200", "speed = 7200", "unknown field `speed`"),
        ("inner_track_sectors = 958", "", "it lacks `inner_track_sectors`, which goes with `cylinders`"),
    ] {
        std::fs::write(&file, example.replace(from, to)).unwrap();
        let run = disk(&[]);
        assert!(run.code == 1 && run.stderr.contains(says) && run.stderr.lines().count() == 1, "{to}: {run:?}");
    }
}

#[test]
fn a_disk_refuses_flags_without_an_effect() {
    for (arguments, says) in [
        (&["--volume", "web.0"][..], "--volume has no effect without --trace"),
        (&["--saturated"], "--saturated has no effect without --trace"),
        (&["--trace", "x.csv", "--reads", "0"], "--reads has no effect with --trace"),
        (&["--seeks", "--requests", "5"], "--requests has no effect with --seeks"),
        (&["--presets", "--rpm", "5400"], "--rpm has no effect with --presets"),
        (&["--rate", "5", "--outstanding", "2"], "--outstanding has no effect with --rate"),
        (&["--seek-ms", "1,1,10"], "no longer seek takes less"),
    ] {
        let run = fawn(&[&["gordon", "disk"], arguments].concat());
        assert!(run.code == 2 && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
    let run = fawn(&["gordon", "disk", "--disk", "floppy"]);
    assert!(run.code == 1 && run.stderr.contains("built in are hp-97560, "), "{run:?}");
}

#[track_caller]
fn refused(arguments: &[&str], says: &str) {
    let run = fawn(&[&["gordon"], arguments].concat());
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:?}");
    assert!(run.stderr.contains(says), "{says}: {}", run.stderr);
}

#[test]
fn what_an_array_or_a_workload_cannot_be_is_told_with_its_flag_its_value_and_what_to_use() {
    refused(&["flash", "--blocks", "8"], "--blocks 8 with --spare 7 % leaves cleaning no room: give --blocks ");
    refused(&["flash", "--blocks", "200000", "--power-cut"], "are too many: give fewer than --blocks 200000");
    refused(&["flash", "--bus-bits", "7"], "invalid value '7' for '--bus-bits <N>': write 8 or 16");
    refused(&["flash", "--blocks", "64", "--spare", "0"], "--spare is 0, and must be above 0 and below 1");
    refused(&["flash", "--blocks", "64", "--dram", "64K"], "--dram is 65536: give more");
    refused(
        &["flash", "--array", "mqsim-default", "--die-idle-w", "0.003"],
        "--die-idle-w needs --die-active-w too, as the array does not state it",
    );
    refused(&["flash", "--blocks", "64", "--bytes", "1T"], "--bytes of up to 1 TiB do not fit the device of ");
    for (device, says) in [("flash", "the device has"), ("disk", "the device has")] {
        refused(&[device, "--span", "900T"], says);
        refused(&[device, "--span", "0"], says);
    }
}

#[test]
fn the_blocks_and_the_spare_that_are_advised_suffice() {
    let run = fawn(&["gordon", "flash", "--blocks", "8"]);
    let after = |what: &str| {
        let rest = run.stderr.split(what).nth(1).unwrap_or_else(|| panic!("{what}: {run:?}"));
        rest.split(' ').next().unwrap().to_owned()
    };
    let (blocks, spare) = (after("give --blocks "), after("or --spare "));
    let fewer = (blocks.parse::<u32>().unwrap() - 1).to_string();
    let quick = ["gordon", "flash", "--requests", "10", "--first-state", "empty"];
    let code = |more: &[&str]| fawn(&[&quick[..], more].concat()).code;
    assert_eq!(code(&["--blocks", &blocks]), 0, "{run:?}");
    assert_eq!(code(&["--blocks", &fewer]), 2, "{run:?}");
    assert_eq!(code(&["--blocks", "8", "--spare", &spare]), 0, "{run:?}");
}

#[test]
fn reads_of_what_was_never_written_have_no_rates() {
    let empty = [SMALL, &["--first-state", "empty", "--requests", "100"]].concat();
    refused(
        &[&empty[1..], &["--reads", "100%"]].concat(),
        "--reads 100% with --first-state empty reads what was never",
    );
    let run = fawn(&[&empty[..], &["--reads", "100%", "--unmapped-read-us", "3"]].concat());
    assert!(run.code == 0 && !run.stdout.contains("no simulated time"), "{run:?}");
    let run = fawn(&[&empty[..], &["--reads", "0", "--trims", "100%", "--bytes", "512"]].concat());
    assert!(run.code == 0 && run.stdout.contains("no simulated time passed"), "{run:?}");
}

#[test]
fn a_negative_number_is_refused_by_the_flag_that_it_is_for() {
    refused(&["flash", "--rate", "-1"], "invalid value '-1' for '--rate <N>'");
    refused(&["flash", "--buses", "-4"], "invalid value '-4' for '--buses <N>': write a whole number from 1 to 4096");
    refused(&["flash", "--spare", "-5%"], "invalid value '-5%' for '--spare <SHARE>'");
    refused(&["disk", "--seek-ms", "-1,2,3"], "invalid value '-1,2,3' for '--seek-ms <MS>'");
    refused(&["store", "--memory-per-record", "16,-1"], "write a number from 0.5 to 10000");
    refused(&["cost", "--sleep-watts", "-3"], "invalid value '-3' for '--sleep-watts <WATTS>'");
    refused(&["replay", "a.csv", "--speed", "-1"], "invalid value '-1' for '--speed <FACTOR>'");
}

#[test]
fn a_file_of_an_array_names_what_it_lacks() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("drive.toml");
    for (text, says) in [
        ("preset = 'mqsim-default'\ndie_idle_w = 0.003", "it lacks `die_active_w`, which goes with `die_idle_w`"),
        ("preset = 'mqsim-default'\nname = ''", "`name` must be a text"),
        ("preset = 'sata-1tb-2008'\nname = ' '", "`name` must be a text"),
    ] {
        std::fs::write(&file, text).unwrap();
        let command = if text.contains("sata") { "disk" } else { "flash" };
        let run = fawn(&[
            "gordon",
            command,
            &format!("--{}", if command == "disk" { "disk" } else { "array" }),
            file.to_str().unwrap(),
        ]);
        assert!(run.code == 1 && run.stderr.contains(says), "{says}: {run:?}");
    }
}
