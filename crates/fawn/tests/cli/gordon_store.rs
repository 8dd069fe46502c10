//! `fawn gordon store` as a user runs it.

use serde_json::Value;

use crate::server::{Run, fawn};

fn store(arguments: &[&str]) -> Run {
    fawn(&[&["gordon", "store", "--records", "20k", "--warm-up", "1", "--measured", "0.5"], arguments].concat())
}

#[test]
fn each_store_is_tried_and_the_table_says_what_a_put_costs() {
    let run = store(&["--memory-per-record", "60", "--full", "25%", "--erases", "3000"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    for what in [
        "20000 records with values of 256 bytes on femu-default, uniform",
        "flash ×",
        "FAWN",
        "indexed",
        "pages in place",
        "LSM tree",
        "note: Years are at 1000 puts per second, of a drive with",
        "Joules are modelled",
    ] {
        assert!(run.stdout.contains(what), "{what}: {}", run.stdout);
    }
}

#[test]
fn json_has_the_same_facts_with_units() {
    let drive = ["--full", "25%", "--trim", "on,off", "--tbw", "600TB"];
    let run = store(&[&["--stores", "fawn", "--memory-per-record", "60", "--json"][..], &drive].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let number = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("{name}: {row}"));
        let product = number("store_amplification") * number("ftl_amplification");
        assert!((product / number("amplification") - 1.0).abs() < 1e-9, "{row}");
        assert!(row["puts"]["p99_us"].as_f64().unwrap() >= row["puts"]["p50_us"].as_f64().unwrap(), "{row}");
        assert!(number("put_j") > 0.0 && number("get_j") > 0.0, "{row}");
        assert!(row["years"]["by_tbw"].as_f64().unwrap() > 0.0 && row["years"]["by_erases"].is_null(), "{row}");
    }
    assert_eq!((rows[0]["trim"].as_bool(), rows[1]["trim"].as_bool()), (Some(true), Some(false)));
    assert_eq!(report["tbw_bytes"].as_f64(), Some(600e12));
}

#[test]
fn what_cannot_be_tried_is_refused_with_what_to_do() {
    for (arguments, says) in [
        (&["--full", "99%"][..], "--full must be from 1% to 95%"),
        (&["--drive", "floppy"], "femu-default"),
        (&["--stores", "lsm", "--memory-per-record", "9"], "--memory-per-record has no effect without fawn"),
        (&["--stores", "fawn", "--memtable", "9M"], "--memtable has no effect without lsm"),
        (&["--memory-per-record", "0"], "write a number from 0.5 to 10000"),
        (&["--value", "64K", "--stores", "fawn"], "--value is 65536; it must be from 8 to"),
        (&["--spare", "0"], "--spare must be above 0% and below 100%"),
    ] {
        let run = store(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:?}");
        assert!(run.stderr.contains(says), "{says}: {}", run.stderr);
    }
}

#[test]
fn every_refusal_names_flags_that_help_has() {
    let help = fawn(&["gordon", "store", "--help"]).stdout;
    let stores = |which: &'static str| ["--stores", which];
    for arguments in [
        &["--records", "10"][..],
        &["--value", "70000"],
        &["--zipf", "100"],
        &["--rate", "0"],
        &["--full", "95%", "--records", "1000"],
        &["--spare", "99%", "--records", "1000"],
        &["--spare", "0"],
        &["--records", "900M", "--value", "60K"],
        &[&stores("lsm")[..], &["--memtable", "1G", "--records", "20k"]].concat(),
    ] {
        let run = fawn(&[&["gordon", "store"], arguments].concat());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:?}");
        let error = run.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or_else(|| panic!("{run:?}"));
        let flags: Vec<&str> = error
            .split(|part: char| !(part.is_ascii_lowercase() || part == '-'))
            .filter(|word| word.starts_with("--") && word.len() > 2)
            .collect();
        assert!(!flags.is_empty(), "{error}");
        for flag in flags {
            assert!(help.contains(&format!("{flag} ")), "{flag}: {error}");
        }
    }
}

#[test]
fn a_comparison_of_which_no_store_takes_all_puts_is_no_success() {
    let run = store(&["--stores", "fawn", "--memory-per-record", "16", "--full", "95%", "--spare", "20%", "--json"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{run:?}");
    assert!(run.stderr.contains("takes no more puts") && run.stderr.contains("lower --full"), "{run:?}");
}
