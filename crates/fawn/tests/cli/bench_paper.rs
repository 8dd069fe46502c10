//! `fawn bench paper` and `fawn bench node` as a user runs them. That all experiments work is what `cargo xtask bench-small` tries.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::server::{Run, fawn, fawn_command, interrupted, wait_for};

fn paper(arguments: &[&str]) -> Run {
    fawn(&[&["bench", "paper"], arguments].concat())
}

#[track_caller]
fn json(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

/// A program that the shell carries out. Another process writes it, as none can be started that this one may have open.
fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    let mut shell = Command::new("sh");
    let mut shell =
        shell.args(["-c", "cat > \"$0\" && chmod +x \"$0\""]).arg(&path).stdin(Stdio::piped()).spawn().unwrap();
    shell.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{text}").as_bytes()).unwrap();
    assert!(shell.wait().unwrap().success());
    path
}

/// The `rows` of an experiment, or the `published` ones, of the paper.
fn rows(found: &Value, at: usize, which: &str) -> Vec<Value> {
    found["experiments"][at]["finding"][which].as_array().unwrap().clone()
}

fn notes(found: &Value, at: usize) -> String {
    found["experiments"][at]["finding"]["notes"].to_string()
}

/// The row that has this in a column.
#[track_caller]
fn row<'r>(rows: &'r [Value], column: &str, is: &str) -> &'r Value {
    rows.iter().find(|row| row[column] == is).unwrap_or_else(|| panic!("no row of {is}: {rows:?}"))
}

/// Whether memcached is where the shell looks.
fn has_memcached() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join("memcached").is_file())
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_list_has_every_paper() {
    let run = paper(&["list"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for what in
        ["sosp-table-1", "dht-figure-10", "energy-table-1", "gordon-figure-4", "FAWN-DHT", "Figure 14", "full, s"]
    {
        assert!(run.stdout.contains(what), "{what}: {}", run.stdout);
    }
    assert!(paper(&["--help"]).stdout.contains("clusters are smaller"));
    let list = json(&paper(&["list", "--json"]));
    let list = list.as_array().unwrap();
    assert!(list.len() >= 40 && list.iter().all(|it| it["scales"]["small"]["rows"].as_u64().unwrap() > 0), "{list:?}");
}

#[test]
fn an_experiment_becomes_a_page_a_table_and_json_and_is_told_again() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    let arguments = ["sosp-figure-10", "dht-sizing", "--scale", "tiny", "--json"];
    let places = ["--dir", data.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let first = json(&paper(&[&arguments[..], &places].concat()));
    let experiments = first["experiments"].as_array().unwrap();
    let names: Vec<_> = experiments.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sosp-figure-10", "dht-sizing"]);
    let rows = experiments[0]["finding"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 9);
    for row in rows {
        let (gets, puts) = (row["gets_a_second"].as_f64().unwrap(), row["puts_a_second"].as_f64().unwrap());
        let share = puts / (gets + puts);
        // A put that is due may wait for the end.
        assert!((share - row["put_share"].as_f64().unwrap()).abs() < 0.05, "{row}");
    }
    assert!(first["machine"]["cores"].as_u64().unwrap() > 0, "{first}");
    assert!(first["program"]["command"].as_str().unwrap().starts_with("fawn bench paper sosp-figure-10"), "{first}");
    assert!(!data.join("data").exists(), "what was measured on is gone");
    let page = read(&out.join("index.html"));
    for what in ["<svg", "id=\"sosp-figure-10\"", "only checks that", "191,520.000", "2008 to 2010"] {
        assert!(page.contains(what), "{what}");
    }
    assert_eq!(
        serde_json::from_str::<Value>(&read(&out.join("paper.json"))).unwrap()["experiments"],
        first["experiments"]
    );
    let csv = read(&out.join("sosp-figure-10.csv"));
    assert!(
        csv.starts_with("who,put_share,") && csv.lines().filter(|line| line.starts_with("measured,")).count() == 9,
        "{csv}"
    );
    assert!(read(&out.join("dht-sizing.csv")).contains("\ncomputed,back-ends a front-end,115,"));
    let again = json(&paper(&[&arguments[..], &places].concat()));
    assert_eq!(again["experiments"], first["experiments"], "what was measured is told again");
    let anew = json(&paper(&[&arguments[..], &places, &["--again"]].concat()));
    assert_ne!(anew["experiments"][0]["finding"], first["experiments"][0]["finding"], "it is measured anew");
    // One alone leaves the other on the page.
    let one = json(&paper(&[&["dht-sizing", "--scale", "tiny", "--json"][..], &places].concat()));
    assert_eq!(one["experiments"].as_array().unwrap().len(), 1);
    assert!(read(&out.join("index.html")).contains("id=\"sosp-figure-10\""));
    // A report of another directory replaces it, and what was not in it stays.
    std::fs::write(out.join("sosp-load.csv"), "mine").unwrap();
    let other = dir.path().join("other");
    let run =
        paper(&["dht-sizing", "--scale", "tiny", "--dir", other.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert!(
        run.code == 0
            && run.stderr.contains("removed files of the previous report in ")
            && run.stderr.contains(": sosp-figure-10.csv"),
        "{run:?}"
    );
    assert!(!out.join("sosp-figure-10.csv").exists() && out.join("dht-sizing.csv").exists());
    assert_eq!(read(&out.join("sosp-load.csv")), "mine");
}

#[test]
fn what_was_measured_without_the_meter_that_is_named_is_told_so() {
    let dir = tempfile::tempdir().unwrap();
    let model = dir.path().join("model.toml");
    let text = "machine='m'\nscope='wall'\nsource='s'\ndate='2026-11-20'\nidle_watts=3.0\nfull_cpu_watts=6.0\n";
    std::fs::write(&model, text).unwrap();
    let (data, meter) = (dir.path().join("data"), format!("model:{}", model.display()));
    let run = |more: &[&str]| {
        let fixed = ["energy-table-1", "--scale", "tiny", "--dir", data.to_str().unwrap()];
        let run = paper(&[&fixed[..], more].concat());
        assert_eq!(run.code, 0, "{run:?}");
        run.stderr
    };
    run(&["--meter", "none"]);
    let said = run(&["--meter", &meter]);
    let says =
        "energy-table-1 is printed as measured before, metered by nothing: --again measures it with a model of m (s, ";
    assert!(said.contains(says), "{said}");
    for said in [run(&["--meter", &meter, "--again"]), run(&["--meter", &meter]), run(&[])] {
        assert!(!said.contains("is printed as measured before"), "{said}");
    }
    // Another one of the same kind.
    std::fs::write(&model, text.replace("'m'", "'other'")).unwrap();
    let said = run(&["--meter", &meter]);
    let says = "metered by a model of m (s, 2026-11-20): --again measures it with a model of other";
    assert!(said.contains(says), "{said}");
}

#[test]
fn a_server_and_a_cluster_are_measured_and_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let fixed = ["dht-table-2", "dht-figure-6", "--scale", "tiny", "--json", "--meter", "none"];
    let arguments = [&fixed[..], &["--dir", data.to_str().unwrap()]].concat();
    let found = json(&paper(&arguments));
    let is_ours = |row: &Value| row["what"].as_str().unwrap().starts_with("this machine");
    let (ours, beside): (Vec<_>, Vec<_>) = rows(&found, 0, "rows").into_iter().partition(is_ours);
    let expected = if has_memcached() { 2 } else { 0 };
    assert_eq!((ours.len(), beside.len(), rows(&found, 1, "rows").len()), (2, expected, 2), "{found}");
    let is_memcacheds = |row: &Value| row["what"].as_str().unwrap().starts_with("memcached, values in DRAM");
    assert!(beside.iter().all(is_memcacheds), "{beside:?}");
    for row in ours.iter().chain(&beside) {
        assert!(row["queries_a_second"].as_f64().unwrap() > 0.0 && row["queries_a_joule"].is_null(), "{row}");
        assert!(row["queries_a_cpu_second"].as_f64().unwrap() > 0.0, "{row}");
    }
    let said = notes(&found, 0);
    assert!(said.contains("there is no power meter"), "{said}");
    let nodes: Vec<_> = rows(&found, 1, "rows").iter().map(|row| row["nodes"].as_u64().unwrap()).collect();
    assert_eq!(nodes, [1, 2]);
    let mut names: Vec<_> = std::fs::read_dir(&data).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["paper.json", "report"]);
    // Processes name their directory, or have it in their environment.
    let text = data.display().to_string();
    let left = std::fs::read_dir("/proc").unwrap().flatten().filter(|process| {
        let names = |file: &str| {
            let line = std::fs::read(process.path().join(file)).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&text)
        };
        names("cmdline") || names("environ")
    });
    assert_eq!(left.count(), 0, "no process is left");
}

#[test]
fn a_cluster_tells_its_queries_for_what_they_took_and_its_size() {
    let dir = tempfile::tempdir().unwrap();
    let found = json(&paper(&["sosp-figure-12", "--scale", "tiny", "--json", "--dir", dir.path().to_str().unwrap()]));
    // Rows with a time are of a moment.
    let phases: Vec<_> = rows(&found, 0, "rows").into_iter().filter(|row| row.get("seconds").is_none()).collect();
    for phase in ["gets", "puts"] {
        assert!(row(&phases, "phase", phase)["queries_a_cpu_second"].as_f64().unwrap() > 0.0, "{phases:?}");
    }
    let at_rest = row(&phases, "phase", "rest");
    assert!(at_rest["queries_a_cpu_second"].is_null() && at_rest["queries_a_joule"].is_null(), "{at_rest}");
    let printed = rows(&found, 0, "published");
    let gets = row(&printed, "phase", "gets");
    assert_eq!((gets["queries_a_joule"].as_f64(), gets["watts"].as_f64()), (Some(364.0), Some(99.0)));
    assert!((gets["operations_a_second"].as_f64().unwrap() / 99.0 - 364.0).abs() < 1.0, "{gets}");
    assert_eq!(row(&printed, "phase", "gets, with front-ends")["queries_a_joule"], 330.0);
    let said = notes(&found, 0);
    assert!(said.contains("21 nodes with 20 GB") && said.contains("3 nodes and 2 MiB"), "{said}");
}

#[test]
fn rows_say_whether_anything_is_cleaned_and_when_writes_are_synced() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["sosp-table-1", "sosp-cleaning", "--scale", "tiny", "--json", "--dir"];
    let found = json(&paper(&[&arguments[..], &[dir.path().to_str().unwrap()]].concat()));
    row(&rows(&found, 0, "rows"), "what", "file: random writes, one sync at the end");
    assert!(notes(&found, 0).contains("Random writes are not synced one by one"), "{found}");
    let cleaning = rows(&found, 1, "rows");
    assert_eq!(cleaning.len(), 5);
    for what in ["puts of new keys, nothing to clean", "gets, nothing to clean"] {
        assert_eq!(row(&cleaning, "what", what)["merges"], 0, "{cleaning:?}");
    }
    row(&cleaning, "what", "puts over others, cleaned as is due");
}

#[test]
fn both_methods_of_berkeleydb_stand_beside_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let text = "echo \"$@\" >> \"$(dirname \"$0\")/asked\"
case \"$*\" in *'--engine bdb-btree '*) rate=2;; *) rate=1;; esac
cat << END
{\"experiment\": \"load\", \"parameters\": {}, \"memory\": null, \"notes\": [\"memory: some\"], \"rows\": [{\"entries\": 5000,
\"seconds\": 0.5, \"user_mb_a_second\": $rate, \"settled_mb_a_second\": $rate, \"written_over_user\": 9, \"cpu_us_a_put\": 3}]}
END
";
    let peers = script(dir.path(), "peers", text);
    let run = |peers: &Path, data: &str| {
        let data = dir.path().join(data);
        let arguments = ["sosp-bdb", "dht-figures-7-8", "--scale", "tiny", "--json"];
        let more = ["--dir", data.to_str().unwrap(), "--peer-program", peers.to_str().unwrap()];
        json(&paper(&[&arguments[..], &more].concat()))
    };
    let found = run(&peers, "data");
    let measured = rows(&found, 0, "rows");
    let names: Vec<_> = measured.iter().map(|row| row["what"].as_str().unwrap()).collect();
    assert_eq!(names, ["the store", "BerkeleyDB, B-tree", "BerkeleyDB, hash"]);
    assert_eq!((&measured[1]["mb_a_second"], &measured[2]["mb_a_second"]), (&2.into(), &1.into()));
    let printed = rows(&found, 0, "published");
    let rate = |what: &str| row(&printed, "what", what)["mb_a_second"].as_f64().unwrap();
    let (tree, hash) = (rate("BerkeleyDB, B-tree"), rate("BerkeleyDB, hash"));
    assert!((tree - 0.07).abs() < 1e-9 && (hash - 0.0144).abs() < 1e-4, "{printed:?}");
    assert!(notes(&found, 0).contains("its rate is derived here"), "{found}");
    let inserted = rows(&found, 1, "rows");
    let berkeley = row(&inserted, "what", "BerkeleyDB");
    assert_eq!((inserted.len(), &berkeley["files"], &berkeley["records"]), (4, &1.into(), &10_000.into()));
    // Keys of 20 bytes and values of 237, at 2 MB/s.
    assert!((berkeley["seconds"].as_f64().unwrap() - 1.285).abs() < 1e-6, "{berkeley}");
    let asked = read(&dir.path().join("asked"));
    for what in ["--engine bdb-btree ", "--engine bdb ", "--entries 10000 --value-bytes 237"] {
        assert!(asked.contains(what), "{what}: {asked}");
    }
    let without = script(dir.path(), "without", "echo 'fawn-peers: built without it' >&2\nexit 1\n");
    let found = run(&without, "without-data");
    let skipped = found["experiments"][0]["finding"]["state"]["skipped"].as_str().unwrap();
    assert!(skipped.starts_with("bdb-btree: built without it"), "{skipped}");
    assert_eq!(rows(&found, 1, "rows").len(), 3);
    assert!(notes(&found, 1).contains("BerkeleyDB was not measured: built without it. To measure it"), "{found}");
    // What else goes wrong is told, and nothing is taken for measured.
    let broken = script(dir.path(), "broken", "echo 'fawn-peers: no space left on device' >&2\nexit 1\n");
    let data = dir.path().join("broken-data");
    let arguments = ["sosp-bdb", "--scale", "tiny", "--dir", data.to_str().unwrap(), "--peer-program"];
    let refused = paper(&[&arguments[..], &[broken.to_str().unwrap()]].concat());
    assert!(refused.code == 1 && refused.stderr.contains("no space left on device"), "{refused:?}");
}

#[test]
fn memcached_is_left_out_where_it_is_not_and_stopped_by_an_interruption() {
    let dir = tempfile::tempdir().unwrap();
    let nothing = dir.path().join("nothing");
    std::fs::create_dir(&nothing).unwrap();
    let command = |data: &str| {
        let data = dir.path().join(data);
        fawn_command(&["bench", "paper", "dht-table-2", "--scale", "tiny", "--json", "--dir", data.to_str().unwrap()])
    };
    let found = json(&command("data").env("PATH", &nothing).output().unwrap().into());
    assert_eq!(rows(&found, 0, "rows").len(), 2);
    assert!(notes(&found, 0).contains("memcached was not measured: it is not in PATH"), "{found}");
    // One that never says its port.
    let text = "[ \"$1\" = -V ] && exec echo memcached 0\necho $$ > \"$(dirname \"$0\")/pid\"\nexec sleep 60\n";
    script(dir.path(), "memcached", text);
    let path = std::env::var_os("PATH").unwrap();
    let places = std::iter::once(dir.path().to_owned()).chain(std::env::split_paths(&path));
    let mut command = command("more");
    command.env("PATH", std::env::join_paths(places).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let pid_file = dir.path().join("pid");
    let started = || std::fs::read_to_string(&pid_file).ok()?.trim().parse::<u32>().ok();
    let has_ended = |pid: u32| {
        let process = PathBuf::from(format!("/proc/{pid}"));
        wait_for("the end of memcached", || (!process.exists()).then_some(()));
    };
    let child = command.spawn().unwrap();
    let pid = wait_for("a memcached", started);
    let said = interrupted(child);
    assert!(said.contains("run the same command again"), "{said}");
    has_ended(pid);
    // One that a killed process leaves behind keeps the directory from others.
    std::fs::remove_file(&pid_file).unwrap();
    let mut child = command.spawn().unwrap();
    let pid = wait_for("a memcached", started);
    child.kill().unwrap();
    child.wait().unwrap();
    let refused: Run = command.output().unwrap().into();
    assert!(refused.code == 1 && refused.stderr.contains("a server that a killed one left behind"), "{refused:?}");
    kill(pid);
    has_ended(pid);
    // It goes on when they have ended.
    std::fs::remove_file(&pid_file).unwrap();
    let child = command.spawn().unwrap();
    let pid = wait_for("a memcached", started);
    interrupted(child);
    has_ended(pid);
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, says) in [
        (&["paper", "sosp-table-1"][..], "--dir"),
        (&["paper", "sosp-table-99", "--dir", "x"], "sosp-table-1"),
        (&["paper", "all", "--dir", "x", "--scale", "huge"], "small"),
        (&["node", "--memory", "1M"], "8M or more"),
        (&["node", "--data", "64M", "--memory", "64M"], "4 times as much"),
        (&["node", "--data", "1K"], "32M or more"),
        (&["node", "--price", "0"], "of dollars from 0.001 to 10^12, e.g. 120"),
        (&["node", "--price=-5"], "of dollars from 0.001 to 10^12, e.g. 120"),
        (&["node", "--network-mbit", "0"], "from 0.001 to 10^12, e.g. 940"),
        (&["node", "--network-mbit=-1"], "from 0.001 to 10^12, e.g. 940"),
        (&["node", "--network-mbit", "1G"], "from 0.001 to 10^12, e.g. 940"),
        (&["node", "--watts-idle", "10", "--watts-stress", "5"], "more at rest than under load"),
        (&["node", "--meter", "model:x.toml"], "give them as --watts-idle"),
    ] {
        let run = fawn(&[&["bench"], arguments].concat());
        assert!(run.code == 2 && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
    std::fs::write(dir.path().join("mine"), "x").unwrap();
    let run = paper(&["dht-cache", "--dir", dir.path().to_str().unwrap()]);
    assert!(run.code == 1 && run.stderr.contains("choose an empty or a new directory"), "{run:?}");
    let data = dir.path().join("new");
    let run = paper(&["sosp-bdb", "--dir", data.to_str().unwrap(), "--peer-program", "no-such-program"]);
    assert!(run.code == 1 && run.stderr.contains("peers/Cargo.toml") && !data.exists(), "{run:?}");
}

#[test]
fn this_machine_is_measured_for_a_plan() {
    let dir = tempfile::tempdir().unwrap();
    let (place, file) = (dir.path().join("place"), dir.path().join("node.toml"));
    let run = fawn(&[
        "bench",
        "node",
        "--dir",
        place.to_str().unwrap(),
        "--data",
        "32M",
        "--memory",
        "8M",
        "--time",
        "100ms",
        "--name",
        "mine",
        "--watts-stress",
        "9.5",
        "--out",
        file.to_str().unwrap(),
        "--json",
    ]);
    let figures = json(&run);
    for name in ["gb", "read_4k_per_second", "puts_per_second", "network_gets_per_second", "cpu_us_a_put"] {
        assert!(figures[name].as_f64().unwrap() > 0.0, "{name}: {figures}");
    }
    assert!(figures["watts_idle"].is_null() && figures["watts_stress"]["watts"] == 9.5, "{figures}");
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0, "nothing is left");
    let per_get = figures["cpu_us_a_network_get"].as_f64().unwrap();
    let cores = figures["machine"]["cores"].as_f64().unwrap();
    let reckoned = figures["cpu_gets_per_second"].as_f64().unwrap();
    assert!((reckoned * per_get / (cores * 1e6) - 1.0).abs() < 1e-6, "it is of gets from flash: {figures}");
    let text = read(&file);
    assert!(text.contains("\n# cpu_dram_gets_per_second = "), "{text}");
    let plan = fawn(&["plan", "--data", "1TB", "--rate", "10k", "--node", file.to_str().unwrap(), "--json"]);
    let plan = json(&plan);
    let mine = plan["unranked"].as_array().unwrap().iter().find(|it| it["name"] == "mine").unwrap();
    assert_eq!(mine["missing"], serde_json::json!(["price", "network rate"]), "nobody has said them");
    let kind = |name: &str| &mine["figures"][name]["kind"];
    for (name, expected) in [
        ("gb", "measured"),
        ("read_4k_per_second", "measured"),
        ("cpu_gets_per_second", "derived"),
        ("watts_stress", "declared"),
    ] {
        assert_eq!(kind(name), expected, "{name}: {text}");
    }
}

#[test]
fn a_file_that_cannot_be_written_and_data_that_do_not_fit_are_told_of_before_anything_is_measured() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("place");
    // More than any disk has.
    let fixed = ["bench", "node", "--dir", place.to_str().unwrap(), "--data", "1000T"];
    let node = |more: &[&str]| fawn(&[&fixed[..], more].concat());
    let nowhere = dir.path().join("nowhere/node.toml");
    for (file, why) in [(nowhere.as_path(), "No such file"), (dir.path(), "is a directory")] {
        let run = node(&["--out", file.to_str().unwrap()]);
        assert!(run.code == 1 && run.stdout.is_empty(), "{run:?}");
        let says = format!("cannot write {}: ", file.display());
        assert!(run.stderr.contains(&says) && run.stderr.contains(why), "{run:?}");
    }
    let file = dir.path().join("node.toml");
    let run = node(&["--out", file.to_str().unwrap()]);
    assert!(run.code == 1 && run.stderr.contains("--data 1000T may take 1.69 PB, and "), "{run:?}");
    assert!(run.stderr.contains(" are free where --dir is: give less --data, or another --dir"), "{run:?}");
    let left = |dir: &Path| std::fs::read_dir(dir).unwrap().count();
    assert_eq!((left(&place), left(dir.path())), (0, 1), "nothing is left, and nothing was made but --dir");
}

#[test]
fn the_example_of_the_help_ranks_this_machine() {
    let dir = tempfile::tempdir().unwrap();
    let help = fawn(&["bench", "node", "--help"]).stdout;
    let lines: Vec<_> = help.lines().filter_map(|line| line.strip_prefix("  fawn ")).collect();
    let [bench, plan] = lines.as_slice() else { panic!("{lines:?}") };
    let run = |line: &str, more: &[&str]| -> Run {
        let words: Vec<_> = line.split_whitespace().chain(more.iter().copied()).collect();
        fawn_command(&words).current_dir(dir.path()).output().unwrap().into()
    };
    // As it is written, but smaller.
    let run_bench = run(bench, &["--data", "32M", "--memory", "8M", "--time", "100ms", "--name", "mine"]);
    assert_eq!(run_bench.code, 0, "{run_bench:?}");
    let plan = json(&run(plan, &["--json"]));
    let mine = plan["ranked"].as_array().unwrap().iter().find(|choice| choice["name"] == "mine");
    let mine = mine.unwrap_or_else(|| panic!("{}", plan["unranked"]));
    assert_eq!(
        (&mine["figures"]["price_dollars"]["kind"], &mine["unknown"]),
        (&"declared".into(), &serde_json::json!([]))
    );
}

/// Findings of other traces are not told as those of these.
#[test]
fn the_workloads_of_gordon_are_recorded_or_synthetic_and_the_output_says_which() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/gordon-traces");
    let run = |traces: &[&str]| {
        let fixed = ["gordon-table-2", "gordon-section-5-3", "--scale", "tiny", "--dir", data.to_str().unwrap()];
        paper(&[&fixed[..], traces].concat())
    };
    let synthetic = run(&["--traces", "synthetic"]);
    assert_eq!(synthetic.code, 0, "{synthetic:?}");
    assert!(synthetic.stdout.contains("the workloads of the Gordon paper: synthetic\n"), "{synthetic:?}");
    assert!(synthetic.stdout.contains("gordon-section-5-3 was skipped") && synthetic.stdout.contains("--traces DIR"));
    let found = run(&["--traces", recorded]);
    assert_eq!(found.code, 0, "{found:?}");
    assert!(found.stdout.contains("the workloads of the Gordon paper: recorded in "), "{found:?}");
    assert!(!found.stdout.contains("skipped") && !found.stdout.contains("paper: synthetic"), "{found:?}");
    let page = std::fs::read_to_string(data.join("report/gordon-table-2.csv")).unwrap();
    assert!(page.contains("HDFS to HDFS") && !page.contains("synthetic"), "{page}");
    // By default it is what is here; this directory has no recordings.
    let usual = run(&[]);
    assert!(usual.code == 0 && usual.stdout.contains("the workloads of the Gordon paper: synthetic\n"), "{usual:?}");
    for (traces, says) in
        [("recorded", "results/gordon-traces has no recordings"), ("/", "/ has no recordings: name a")]
    {
        let refused = run(&["--traces", traces]);
        assert!(refused.code == 1 && refused.stderr.contains(says), "{traces}: {refused:?}");
    }
}
