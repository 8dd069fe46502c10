//! `fawn plan` as a user runs it.

use serde_json::Value;

use crate::server::{Run, fawn};

/// A plan on a day on which the catalogue's ages are known.
fn plan(arguments: &[&str]) -> Run {
    fawn(&[&["plan", "--date", "2026-11-24"], arguments].concat())
}

const TEN_TERABYTES: &[&str] = &["--data", "10TB", "--rate", "1M", "--value", "1KB"];

#[track_caller]
fn json(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

#[test]
fn the_papers_ten_terabytes_cost_what_the_paper_makes_of_them() {
    let paper = ["--catalog", "paper-2009", "--replicas", "1", "--util", "100%"];
    let arguments = [TEN_TERABYTES, &paper].concat();
    let plan_ = json(&plan(&[&arguments[..], &["--json"]].concat()));
    let seen: Vec<_> = plan_["ranked"]
        .as_array()
        .unwrap()
        .iter()
        .map(|choice| {
            let total = choice["cost"]["total"]["value"].as_f64().unwrap();
            (choice["name"].as_str().unwrap(), choice["sizing"]["nodes"].as_u64().unwrap(), total.round() as u64)
        })
        .collect();
    let expected = [
        ("FAWN+SSD", 313, 168_838),
        ("Traditional+SSD", 63, 540_424),
        ("Traditional+DRAM", 157, 586_527),
        ("FAWN+DRAM", 5000, 1_447_100),
        ("FAWN+Disk", 4000, 1_610_240),
        ("Traditional+Disk", 667, 1_772_219),
    ];
    assert_eq!(seen, expected);
    let table = plan(&arguments).stdout;
    for what in ["$168,838", "Traditional+SSD is as cheap as FAWN+SSD if", "313 on 7 switches", "the oldest of 2009-10"]
    {
        assert!(table.contains(what), "{what}: {table}");
    }
}

#[test]
fn a_plan_of_todays_machines_says_what_is_unknown() {
    let run = plan(TEN_TERABYTES);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for what in [
        "10 TB in values of 1 KB, 3 copies, at 1 M gets per second; at most 75 % in use, 3 years, $0.15 per \
        kilowatt-hour, PUE 1.4",
        "Raspberry Pi 5 8 GB + NVMe 1 TB",
        "≤: the limit of the known resources",
        "Not ranked",
        "reads a second: Compute Module 5 4 GB + NVMe 1 TB (≥ 42, ≥ $",
        "index: DRAM of the index on a node; give the node that much --memory",
        "note: The processor's rate is unknown",
        "older than a year at 2026-11-24",
        "without adapter for the drive, power supply and case",
    ] {
        assert!(run.stdout.contains(what), "{what}: {}", run.stdout);
    }
}

#[test]
fn energy_years_and_what_may_be_in_use_are_the_users() {
    let total = |more: &[&str]| {
        let plan = json(&plan(&[TEN_TERABYTES, &["--json", "--catalog", "paper-2009"], more].concat()));
        let first = plan["ranked"][0].clone();
        (first["sizing"]["nodes"].as_u64().unwrap(), first["cost"]["energy"]["value"].as_f64().unwrap())
    };
    let (nodes, energy) = total(&["--replicas", "1", "--util", "100%"]);
    let (more_nodes, _) = total(&["--replicas", "3", "--util", "50%"]);
    assert_eq!((nodes, more_nodes), (313, 1875));
    let (_, dearer) = total(&["--replicas", "1", "--util", "100%", "--kwh", "0.2", "--pue", "1.5", "--years", "6"]);
    assert!((dearer / energy - 6.0).abs() < 1e-9, "{energy} {dearer}");
}

#[test]
fn what_the_user_says_of_energy_is_not_said_to_be_assumed() {
    // The very values that are reckoned with where nobody says any.
    for (more, assumed) in [
        (&[][..], "note: $0.15 per kilowatt-hour and a PUE of 1.4 are "),
        (&["--kwh", "0.15"], "note: A PUE of 1.4 is "),
        (&["--pue", "1.4"], "note: $0.15 per kilowatt-hour is "),
        (&["--kwh", "0.15", "--pue", "1.4"], ""),
    ] {
        let run = plan(&[TEN_TERABYTES, more].concat());
        let told = run.stdout.lines().find(|line| line.contains("assumed, without a source")).unwrap_or_default();
        assert!(told.starts_with(assumed) && told.is_empty() == assumed.is_empty(), "{more:?}: {run:?}");
    }
}

#[test]
fn a_measured_node_takes_the_place_of_what_is_unknown() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("node.json");
    let option = "Raspberry Pi 5 8 GB + NVMe 1 TB";
    let node = format!(
        r#"{{"name": "n1", "date": "2026-11-24", "option": "{option}", "value_bytes": 256, "cpu_gets_per_second": 20000}}"#
    );
    // With a byte order mark, as some editors save it.
    std::fs::write(&file, format!("\u{feff}{node}")).unwrap();
    let run = plan(&[TEN_TERABYTES, &["--json", "--node", file.to_str().unwrap()]].concat());
    let plan_ = json(&run);
    let choice = plan_["ranked"].as_array().unwrap().iter().find(|choice| choice["name"] == option).unwrap();
    assert_eq!((&choice["sizing"]["binds"], &choice["sizing"]["nodes"]), (&"cpu".into(), &67.into()));
    let warnings = plan_["warnings"].to_string();
    assert!(warnings.contains("was measured with values of 256 bytes"), "{warnings}");
}

#[test]
fn a_plan_says_how_each_value_of_a_node_was_come_by() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("node.toml");
    let node = "name = \"n1\"\ndate = \"2026-11-24\"\nprice_dollars = { value = 100, kind = \"declared\" }\n\
                network_mbit = { value = 940, kind = \"declared\" }\ngb = 900\nread_4k_per_second = 90000\n\
                dram_gib = 8\n\
                cpu_gets_per_second = { value = 50000, kind = \"derived\", source = \"4 processors\" }\n\
                watts_stress = { value = 6, kind = \"measured\", source = \"rapl\", scope = \"package\" }\n";
    std::fs::write(&file, node).unwrap();
    let arguments = [TEN_TERABYTES, &["--node", file.to_str().unwrap()]].concat();
    let plan_ = json(&plan(&[&arguments[..], &["--json"]].concat()));
    let choice = plan_["ranked"].as_array().unwrap().iter().find(|choice| choice["name"] == "n1").unwrap();
    let figures = choice["figures"].as_object().unwrap();
    let expected = [
        ("cpu_gets_per_second", "derived"),
        ("dram_gib", "measured"),
        ("gb", "measured"),
        ("network_mbit", "declared"),
        ("price_dollars", "declared"),
        ("read_4k_per_second", "measured"),
        ("watts_stress", "measured"),
    ];
    let mut seen: Vec<_> = figures.iter().map(|(name, it)| (name.as_str(), it["kind"].as_str().unwrap())).collect();
    seen.sort_unstable();
    assert_eq!(seen, expected);
    let watts = &choice["figures"]["watts_stress"];
    assert_eq!(watts["scope"], "package");
    assert_eq!(watts["source"], "n1: rapl (of the processor alone, not at the wall)");
    let told = plan(&arguments).stdout;
    assert!(told.contains("note: Watts of n1 are of the processor alone, not at the wall"), "{told}");
}

#[test]
fn racks_that_hold_no_node_and_a_page_without_a_file_are_told() {
    let weak = plan(&[TEN_TERABYTES, &["--catalog", "paper-2009", "--rack-watts", "10"]].concat());
    assert!(weak.code == 0 && weak.stdout.contains("note: A rack of 10 W cannot supply a node of "), "{weak:?}");
    // What the hungriest node takes is enough.
    let usual = plan(&[TEN_TERABYTES, &["--catalog", "paper-2009", "--rack-watts", "280"]].concat());
    assert!(!usual.stdout.contains("cannot supply a node"), "{usual:?}");
    let page = plan(&[TEN_TERABYTES, &["--html", "-"]].concat());
    assert!(page.code == 2 && page.stderr.contains("--html writes a file: name one"), "{page:?}");
}

#[test]
fn a_page_stands_alone_with_its_map() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plan.html");
    let run = plan(&[TEN_TERABYTES, &["--html", file.to_str().unwrap()]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let page = std::fs::read_to_string(file).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<svg") && !page.contains("<script"), "{page}");
}

#[test]
fn a_page_overwrites_nothing_that_the_plan_reads() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    for input in ["nodes.toml", "n1.toml"] {
        std::fs::write(path(input), "as it was").unwrap();
    }
    std::os::unix::fs::symlink("nodes.toml", path("page.html")).unwrap();
    let (catalog, node) = (path("nodes.toml"), path("n1.toml"));
    let inputs = ["--catalog", catalog.to_str().unwrap(), "--node", node.to_str().unwrap()];
    for page in ["nodes.toml", "page.html", "n1.toml"] {
        let run = plan(&[TEN_TERABYTES, &inputs, &["--html", path(page).to_str().unwrap()]].concat());
        assert!(run.code == 2 && run.stderr.contains("would overwrite"), "{page}: {run:?}");
    }
    for input in ["nodes.toml", "n1.toml"] {
        assert_eq!(std::fs::read_to_string(path(input)).unwrap(), "as it was");
    }
}

#[test]
fn a_catalogue_of_ones_own_is_used_and_a_wrong_one_is_told_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.toml");
    let path = file.to_str().unwrap();
    let doc = include_str!("../../../../book/src/reference/planning.md");
    let example = doc.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    std::fs::write(&file, example).unwrap();
    let plan_ = json(&plan(&[TEN_TERABYTES, &["--json", "--catalog", path]].concat()));
    assert_eq!(plan_["ranked"][0]["name"], "Board + 1 TB");
    assert_eq!((&plan_["assumptions"]["kwh_dollars"], &plan_["assumptions"]["pue"]), (&0.22.into(), &1.2.into()));

    std::fs::write(&file, example.replace("gb = ", "gigabytes = ")).unwrap();
    let run = plan(&[TEN_TERABYTES, &["--catalog", path]].concat());
    assert!(run.code == 1 && run.stderr.contains("line 27: unknown variant `gigabytes`"), "{run:?}");
    assert_eq!(run.stderr.lines().count(), 1, "{run:?}");

    std::fs::write(&file, example.replace("watts_stress", "watts_idle_too")).unwrap();
    assert_eq!(plan(&[TEN_TERABYTES, &["--catalog", path]].concat()).code, 1);
    let without_watts: Vec<_> = example.lines().filter(|line| !line.starts_with("watts")).collect();
    std::fs::write(&file, without_watts.join("\n")).unwrap();
    let run = plan(&[TEN_TERABYTES, &["--catalog", path]].concat());
    assert!(run.code == 1 && run.stdout.contains("watts: Board + 1 TB"), "nothing can be ranked: {run:?}");
}

#[test]
fn the_node_files_of_the_documentation_are_understood() {
    let doc = include_str!("../../../../book/src/reference/planning.md");
    let dir = tempfile::tempdir().unwrap();
    for (fence, place) in [("```toml\n", 2), ("```json\n", 1)] {
        let example = doc.split(fence).nth(place).unwrap().split("```").next().unwrap();
        let file = dir.path().join("node");
        std::fs::write(&file, example).unwrap();
        let plan = json(&plan(&[TEN_TERABYTES, &["--json", "--node", file.to_str().unwrap()]].concat()));
        let ranked = plan["ranked"].as_array().unwrap();
        let measured = ranked.iter().find(|choice| choice["name"] == "Raspberry Pi 5 8 GB + NVMe 1 TB").unwrap();
        assert_eq!(measured["figures"]["cpu_gets_per_second"]["value"], 150_000.0, "{fence}");
        assert_eq!(measured["unknown"], Value::Array(Vec::new()), "{fence}");
    }
}

#[test]
fn the_papers_tables_are_recomputed() {
    let all = json(&fawn(&["plan", "--paper", "all", "--json"]));
    let differs =
        |table: &Value| table["cells"].as_array().unwrap().iter().filter(|cell| cell["agrees"] == false).count();
    let seen: Vec<_> =
        all.as_array().unwrap().iter().map(|table| (table["name"].as_str().unwrap(), differs(table))).collect();
    let expected = [
        ("table-3", 2),
        ("table-4", 2),
        ("figure-16", 0),
        ("dht-table-1", 2),
        ("dht-table-2", 1),
        ("dht-cluster", 1),
        ("dht-cache", 1),
        ("energy-table-1", 0),
        ("energy-tables-2-3", 1),
        ("energy-table-4", 0),
    ];
    assert_eq!(seen, expected);
    let table = fawn(&["plan", "--paper", "figure-16"]).stdout;
    assert!(table.contains("FAWN+SSD, % of the map") && table.contains("47.52"), "{table}");
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_can() {
    for (arguments, says) in [
        (&["--rate", "1M"][..], "--data"),
        (&["--data", "lots", "--rate", "1M"], "e.g. 10TB"),
        (&["--data", "10TB", "--rate", "1MB"], "e.g. 1.5M"),
        (&["--data", "10TB", "--rate", "1M", "--util", "0.75"], "e.g. 75%"),
        (&["--data", "10TB", "--rate", "1M", "--util", "0.05%"], "from 0.1% to 100%"),
        (&["--data", "2000PB", "--rate", "1M"], "up to 1000PB"),
        (&["--data", "1KB", "--rate", "1M", "--value", "2KB"], "a value is larger than all values together"),
        (&["--data", "10TB", "--rate", "1M", "--value", "200MB"], "has at most 128 MiB"),
        (&["--data", "10TB", "--rate", "1M", "--pue", "0.5"], "e.g. 1.4"),
        (&["--data", "10TB", "--rate", "1M", "--replicas", "0"], "write a whole number from 1 to"),
        (&["--data", "10TB", "--rate", "1M", "--date", "today"], "e.g. 2026-11-24"),
        (&["--paper", "table-5"], "table-4"),
    ] {
        let run = fawn(&[&["plan"], arguments].concat());
        assert!(run.code == 2 && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
    let run = plan(&[TEN_TERABYTES, &["--catalog", "tomorrow"]].concat());
    assert!(run.code == 1 && run.stderr.contains("built in are today, paper-2009"), "{run:?}");
    let run = plan(&[TEN_TERABYTES, &["--node", "nowhere.toml"]].concat());
    assert!(run.code == 1 && run.stderr.contains("cannot read nowhere.toml"), "{run:?}");
}

#[test]
fn years_of_the_drives_follow_from_puts_and_a_rating() {
    let unknown = plan(&[TEN_TERABYTES, &["--put-rate", "100k"]].concat());
    assert_eq!(unknown.code, 0, "{unknown:?}");
    for what in [
        "Years of the drives:",
        "not known",
        "give it with --tbw",
        "at 100 K puts per second all the time",
        "drained: both factors",
    ] {
        assert!(unknown.stdout.contains(what), "{what}: {}", unknown.stdout);
    }
    let rated =
        json(&plan(&[TEN_TERABYTES, &["--put-rate", "100k", "--tbw", "600TB", "--util", "50%", "--json"]].concat()));
    assert_eq!(rated["puts_per_second"].as_f64(), Some(100_000.0));
    let wear = &rated["ranked"][0]["drive_wear"];
    assert!(wear["years"].as_f64().unwrap() > 0.0 && wear["rating_bytes"].as_f64() == Some(600e12), "{wear}");
    assert_eq!(wear["index"].as_str(), rated["ranked"][0]["sizing"]["index"].as_str(), "{wear}");
    assert!(!plan(TEN_TERABYTES).stdout.contains("Years of the drives"));
    let alone = plan(&[TEN_TERABYTES, &["--tbw", "600TB"]].concat());
    assert_eq!(alone.code, 2, "a rating without puts says nothing: {alone:?}");
}
