//! `fawn joule matrix`, `crypto` and `fixed` as a user runs them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::server::{Run, fawn, fawn_command};

fn joule(arguments: &[&str]) -> Run {
    fawn(&[&["joule"], arguments].concat())
}

#[track_caller]
fn json(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

fn notes(report: &Value) -> String {
    report["notes"].to_string()
}

/// A tree with caches as recorded, and a counter of the processor's package that moves as long as this lives.
pub struct Machine {
    pub dir: tempfile::TempDir,
    is_over: Arc<AtomicBool>,
    counter: Option<JoinHandle<()>>,
}

impl Machine {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let caches = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fawn-joule/testdata/epyc-vm/sys");
        let cpu = "devices/system/cpu/cpu0/cache";
        for index in 0..4 {
            let to = dir.path().join("sys").join(cpu).join(format!("index{index}"));
            std::fs::create_dir_all(&to).unwrap();
            for name in ["level", "type", "size"] {
                std::fs::copy(caches.join(cpu).join(format!("index{index}")).join(name), to.join(name)).unwrap();
            }
        }
        let package = dir.path().join("sys/class/powercap/intel-rapl:0");
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join("name"), "package-0").unwrap();
        std::fs::write(package.join("max_energy_range_uj"), "262143328850").unwrap();
        write_counter(&package, 0);
        let is_over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_over);
        let counter = std::thread::spawn(move || {
            let began = std::time::Instant::now();
            while !stop.load(Ordering::Relaxed) {
                // 20 W.
                write_counter(&package, 20 * began.elapsed().as_micros() as u64);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Self { dir, is_over, counter: Some(counter) }
    }

    pub fn root(&self) -> &str {
        self.dir.path().to_str().unwrap()
    }
}

/// In one step, as the kernel's files change.
fn write_counter(package: &Path, energy_uj: u64) {
    std::fs::write(package.join("new"), energy_uj.to_string()).unwrap();
    std::fs::rename(package.join("new"), package.join("energy_uj")).unwrap();
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(counter) = self.counter.take() {
            counter.join().unwrap();
        }
    }
}

/// A directory that is nobody's `sys`.
fn nothing() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap().to_owned();
    (dir, root)
}

/// Small matrices, and no check at the last cache, which is unknown below this root.
const SMALL: [&str; 7] = ["matrix", "--smallest", "8K", "--largest", "16K", "--seconds", "0.002"];

#[test]
fn a_sweep_of_matrices_has_rows_for_threads_and_pages_and_a_page() {
    let (dir, root) = nothing();
    let page = dir.path().join("page.html");
    let more = ["--threads", "1,3", "--json", "--meter-root", &root, "--page", page.to_str().unwrap()];
    let report = json(&joule(&[&SMALL[..], &more].concat()));
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 5 * 2 * 2, "{report}");
    for row in rows {
        let expected = row["n"].as_u64().unwrap().pow(2) * 8;
        assert_eq!(row["matrix_bytes"].as_u64(), Some(expected), "{row}");
        assert!(row["mflop_a_cpu_second"].as_f64().unwrap() > 0.0 && row.get("joules").is_none(), "{row}");
    }
    assert_eq!((&report["parameters"]["element"], &report["parameters"]["meter"]), (&"f64".into(), &"none".into()));
    let told = notes(&report);
    for what in ["a FLOP is a multiplication", "was not checked", "no energy was metered", "says nothing about joules"]
    {
        assert!(told.contains(what), "{what}: {told}");
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("<polyline") && page.contains("3 threads, huge pages") && !page.contains("<script"),
        "{page}"
    );
}

#[test]
fn the_order_of_the_loops_is_checked_beyond_the_last_cache_and_joules_are_of_one_window_a_point() {
    let machine = Machine::new();
    let fixed =
        ["matrix", "--smallest", "2M", "--largest", "2M", "--seconds", "0.2", "--threads", "1", "--pages", "base"];
    let run = joule(&[&fixed[..], &["--json", "--meter", "rapl", "--meter-root", machine.root()]].concat());
    let report = json(&run);
    // Four times 32 MiB.
    let check = &report["parameters"]["interchange_check"];
    assert!(check["matrix_bytes"].as_u64().unwrap() > 127 << 20 && check["passed"] == true, "{check}");
    assert!(check["factor"].as_f64().unwrap() >= 2.0, "{check}");
    let row = &report["rows"][0];
    let of = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("no {name}: {row}"));
    assert!((10.0..40.0).contains(&of("watts")) && row["energy"]["scope"] == "package", "{row}");
    let kflops = of("work_a_second") / 1e3 / of("watts");
    assert!((of("kflops_a_watt") - kflops).abs() < 1e-6 * kflops, "{row}");
    let caches = report["parameters"]["caches"].as_array().unwrap();
    assert_eq!(caches.iter().map(|cache| cache["level"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_system_that_tells_no_caches_needs_sizes() {
    let (_dir, root) = nothing();
    let run = joule(&["matrix", "--meter-root", &root]);
    assert!(run.code == 2 && run.stderr.contains("give --smallest and --largest, e.g. 16K and 64M"), "{run:?}");
    let run = joule(&["matrix", "--meter-root", &root, "--smallest", "16M", "--largest", "1M"]);
    assert!(run.code == 2 && run.stderr.contains("give a larger --largest"), "{run:?}");
    let run = joule(&["matrix", "--meter-root", &root, "--smallest", "0", "--largest", "1M"]);
    assert!(run.code == 2 && run.stderr.contains("give --smallest 8 or more"), "{run:?}");
}

#[test]
fn watts_of_a_plug_have_a_name_of_their_own_and_go_with_no_meter() {
    let (_dir, root) = nothing();
    let one = ["--threads", "1", "--pages", "base", "--meter-root", &root];
    let by_hand = ["--watts", "9.7", "--idle-watts", "2.8"];
    let report = json(&joule(&[&SMALL[..], &one, &by_hand, &["--json"]].concat()));
    let row = &report["rows"][0];
    let of = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("no {name}: {row}"));
    assert!((of("hand_read_watts") - 9.7).abs() < 1e-9, "{row}");
    assert!((of("kflops_a_hand_read_watt") - of("work_a_second") / 9700.0).abs() < 1.0, "{row}");
    assert!(row.get("joules").is_none() && row.get("modelled_joules").is_none(), "{row}");
    assert_eq!((&row["energy"]["measured"], &row["energy"]["kind"]), (&false.into(), &"hand".into()));
    assert_eq!(report["parameters"]["meter"], "hand");
    let run = joule(&[&SMALL[..], &one, &by_hand].concat());
    for what in ["KFLOPS per W by hand", "note: plug read by hand", "read by hand, not metered, at the wall"] {
        assert!(run.stdout.contains(what), "{what}: {run:?}");
    }
    for (more, says) in [
        (&["--watts", "5", "--meter", "rapl"][..], "'--watts <W>' cannot be used with '--meter <METER>'"),
        (&["--watts", "5", "--meter-idle", "1s"], "cannot be used with '--meter-idle"),
        (&["--idle-watts", "5"], "give --watts, too"),
        (&["--watts", "5", "--idle-watts", "6"], "no more than when it works"),
        (&["--watts", "0"], "more than 0 W"),
        (&["--watts", "5", "--threads", "1,2"], "give one number of threads"),
    ] {
        let run = joule(&[&SMALL[..], more].concat());
        assert!(run.code == 2 && run.stderr.contains(says), "{says}: {run:?}");
    }
}

/// A program that answers as OpenSSL 3 does to `-mr`.
fn openssl(dir: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let file = dir.join("openssl");
    let text = "#!/bin/sh\n[ $1 = version ] && echo OpenSSL 3.0.19 && exit\nshift $(($# - 1))\ncase $1 in\nsha1) echo \
                +F:4:sha1:2176359537.78; echo +R:239102:sha1:0.90 >&2;;\nsha256) exit 1;;\n*) echo \
                +F2:1:1024:16806.25:279138.0;;\nesac\n";
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    file
}

const CRYPTO: [&str; 5] = ["crypto", "--seconds", "0.002", "--threads", "1"];

#[test]
fn digests_and_signatures_stand_beside_those_of_openssl() {
    let (dir, root) = nothing();
    let (program, page) = (openssl(dir.path()), dir.path().join("page.html"));
    let more = ["--blocks", "64,1024", "--meter-root", &root, "--openssl", program.to_str().unwrap(), "--json"];
    let report = json(&joule(&[&CRYPTO[..], &more, &["--page", page.to_str().unwrap()]].concat()));
    let rows = report["rows"].as_array().unwrap();
    let of = |name: &str, library: &str, what: &str| -> Vec<&Value> {
        let is_it = |row: &&Value| row["name"] == name && row["library"] == library && row["what"] == what;
        rows.iter().filter(is_it).collect()
    };
    // With the processor's instructions and without, for two sizes.
    assert_eq!(of("SHA-1", "sha1", "digest").len(), 4);
    for (name, library) in [("RSA-1024", "rsa"), ("RSA-2048", "rsa"), ("RSA-2048", "ring"), ("Ed25519", "ring")] {
        for what in ["sign", "verify"] {
            let row = of(name, library, what);
            assert!(row.len() == 1 && row[0]["work_a_second"].as_f64().unwrap() > 0.0, "{name} {library} {what}");
        }
    }
    let theirs = of("SHA-1", "openssl", "digest");
    assert!((theirs[0]["operations_a_cpu_second"].as_f64().unwrap() - 2_176_359_537.78).abs() < 1.0, "{theirs:?}");
    assert_eq!(of("RSA-1024", "openssl", "verify").len(), 1);
    assert!(
        notes(&report).contains("`openssl speed sha256` failed (no message), so its figures are missing"),
        "{report}"
    );
    let page = std::fs::read_to_string(page).unwrap();
    for what in ["SHA-1 by sha1, without SHA instructions", "MB per CPU-s", "Table 4", "1,187 MB"] {
        assert!(page.contains(what), "{what}");
    }
}

#[test]
fn openssl_that_is_absent_is_noted_unless_somebody_has_named_it() {
    let (_dir, root) = nothing();
    let more = ["--blocks", "64", "--meter-root", &root, "--openssl"];
    let run = joule(&[&CRYPTO[..], &more, &["none"]].concat());
    assert!(run.code == 0 && run.stdout.contains("note: openssl was left out"), "{run:?}");
    assert!(run.stdout.contains("MB per CPU-s") && !run.stdout.contains("per J"), "{run:?}");
    for (program, says) in [("no-such-openssl", "no-such-openssl cannot be run ("), ("true", "`true version` failed")] {
        let run = joule(&[&CRYPTO[..], &more, &[program]].concat());
        assert!(run.code == 1 && run.stderr.contains(says) && run.stderr.contains("--openssl none"), "{says}: {run:?}");
    }
    let mut command = fawn_command(&[&["joule"], &CRYPTO[..], &more[..4]].concat());
    let run = Run::from(command.env("PATH", "/nowhere").output().unwrap());
    let says = "note: openssl cannot be run (No such file or directory (os error 2)), so its figures are missing";
    assert!(run.code == 0 && run.stdout.contains(says), "nobody has named it: {run:?}");
}

#[test]
fn fixed_power_is_analysed_for_the_catalogue_and_for_this_machine() {
    let machine = Machine::new();
    let page = machine.dir.path().join("page.html");
    let metered = ["--meter", "rapl", "--meter-root", machine.root(), "--meter-idle", "200ms", "--seconds", "0.2"];
    let run = joule(&[&["fixed", "--json", "--page", page.to_str().unwrap()][..], &metered].concat());
    let report = json(&run);
    let rows = report["rows"].as_array().unwrap();
    let best: Vec<&str> = rows
        .iter()
        .filter(|row| row["is_best"] == true && row["origin"] == "catalogue")
        .map(|row| row["point"].as_str().unwrap())
        .collect();
    assert_eq!(best, ["Cortex-A8 at 1 GHz, 65 nm", "two Cortex-A9 at 2 GHz, 40 nm"]);
    let own: Vec<&Value> = rows.iter().filter(|row| row["origin"] == "this machine").collect();
    let row = own.last().unwrap();
    assert!(row["mips_a_watt"].as_f64().unwrap() > 0.0 && row["watts_kind"] == "rapl", "{row}");
    assert!(notes(&report).contains("best operating point of this machine is"), "{report}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Points of this machine") && page.contains("<circle"), "{page}");
}

#[test]
fn points_of_a_file_take_the_place_of_those_that_are_built_in() {
    let (dir, root) = nothing();
    let file = dir.path().join("points.toml");
    let text = "name = 'mine'\ntitle = 'my boards'\n[[points]]\nname = 'board'\nmips = 100\nwatts = 0.4\ncovers = 'wall'\n\
                measure = '7-Zip'\nkind = 'measured'\nsource = 'me'\ndate = '2026-11'\n";
    std::fs::write(&file, text).unwrap();
    let fixed = ["fixed", "--seconds", "0", "--fixed-watts", "0.6", "--meter-root", &root, "--points"];
    let run = joule(&[&fixed[..], &[file.to_str().unwrap()]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    // 100 MIPS at 0.4 W, and at 1 W.
    assert!(run.stdout.contains("250") && run.stdout.contains("60 %"), "{run:?}");
    assert!(!run.stdout.contains("this machine"), "{run:?}");
    std::fs::write(&file, text.replace("watts = 0.4", "watts = -1")).unwrap();
    let run = joule(&[&fixed[..], &[file.to_str().unwrap()]].concat());
    assert!(run.code == 1 && run.stderr.contains("points.toml: board: correct mips and watts"), "{run:?}");
    let page = ["--page", file.to_str().unwrap()];
    let run = joule(&[&fixed[..], &[file.to_str().unwrap()], &page].concat());
    assert!(run.code != 0 && run.stderr.contains("name another file"), "{run:?}");
}

#[test]
fn the_paper_s_experiments_of_computing_have_their_rows_and_those_of_the_paper() {
    let (dir, root) = nothing();
    let data = dir.path().join("data");
    let names =
        ["bench", "paper", "energy-figure-2", "energy-figures-4-5", "energy-table-4", "--scale", "tiny", "--json"];
    let found = json(&fawn(&[&names[..], &["--dir", data.to_str().unwrap(), "--meter-root", &root]].concat()));
    let findings: Vec<&Value> = found["experiments"].as_array().unwrap().iter().map(|it| &it["finding"]).collect();
    let rows = |at: usize, kind: &str| findings[at][kind].as_array().unwrap();
    assert_eq!((rows(0, "rows").len(), rows(0, "published").len()), (30, 2));
    assert!(rows(1, "rows").len() >= 8 && rows(1, "rows").iter().all(|row| row["mflop_a_cpu_second"].is_number()));
    // Digests in MB: no processor makes a terabyte a second.
    let sha1 = rows(2, "rows").iter().find(|row| row["what"] == "SHA-1, MB").unwrap();
    assert!((1.0..1e6).contains(&sha1["operations_a_cpu_second"].as_f64().unwrap()), "{sha1}");
    assert_eq!((rows(2, "published").len(), &findings[2]["parameters"]["meter"]), (8, &"none".into()));
    assert!(data.join("report/energy-table-4.csv").is_file());
}
