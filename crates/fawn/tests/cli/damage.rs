//! A data directory in which pages cannot be read.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::server::{Server, fawn, numbered};

const RECORDS: usize = 60_000;

/// The largest segment of a data directory.
fn largest_segment(dir: &Path) -> PathBuf {
    let stores = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = stores.flat_map(|store| std::fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path()));
    let segments = files.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("segment-"));
    segments.max_by_key(|path| std::fs::metadata(path).unwrap().len()).unwrap()
}

/// Flips bits of one byte.
fn flip(path: &Path, at: u64) {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x55], at).unwrap();
}

fn count(text: &str, before: &str, after: &str) -> usize {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{before:?} is in {text}"));
    let (number, _) = rest.split_once(after).unwrap_or_else(|| panic!("{after:?} is in {text}"));
    number.trim().parse().unwrap()
}

/// The key in a line of `key<tab>value`.
fn name(line: &str) -> &str {
    line.split('\t').next().unwrap()
}

#[test]
fn dumps_leave_out_what_cannot_be_read_and_say_so_and_overwriting_it_heals_the_store() {
    let Some(mut server) = Server::fawn(&["--threads", "1", "--memory", "8M"]) else { return };
    let records = server.file("in.tsv", numbered(RECORDS));
    server.stop();
    let data = server.data();
    let bulk = fawn(&["load", "--bulk", "--dir", &data, "--memory", "8M", records.to_str().unwrap()]);
    assert_eq!(bulk.code, 0, "{}", bulk.stderr);
    let segment = largest_segment(Path::new(&data));
    let length = std::fs::metadata(&segment).unwrap().len();
    for part in [3, 5, 7] {
        flip(&segment, length * part / 11);
    }

    let check = fawn(&["store", "check", "--json", &data]);
    assert_eq!(check.code, 1);
    let found: serde_json::Value = serde_json::from_str(&check.stdout).unwrap();
    let lost = found["stores"][0]["lost_records"].as_u64().unwrap() as usize;
    assert_eq!(found["stores"][0]["records"].as_u64().unwrap() as usize, RECORDS - lost);
    assert!((3..1000).contains(&lost), "{}", check.stdout);

    let dump = fawn(&["store", "dump", &data]);
    assert_eq!((dump.code, dump.stdout.lines().count()), (1, RECORDS - lost), "{}", dump.stderr);
    assert!(
        dump.stderr.contains(&format!("the dump is not complete: {lost} records cannot be read")),
        "{}",
        dump.stderr
    );

    server.start_again();
    let out = server.dir().join("out.tsv");
    let dump = fawn(&["dump", "--from", &server.address, "--json", out.to_str().unwrap()]);
    assert_eq!(dump.code, 1, "{}", dump.stderr);
    let report: serde_json::Value = serde_json::from_str(&dump.stdout).unwrap();
    assert_eq!(
        (report["records"].as_u64(), report["unreadable"].as_u64()),
        (Some((RECORDS - lost) as u64), Some(lost as u64))
    );
    assert_eq!(std::fs::read_to_string(&out).unwrap().lines().count(), RECORDS - lost, "all others are there");

    // A delete of what cannot be read deletes it.
    let dumped = std::fs::read_to_string(&out).unwrap();
    let dumped: BTreeSet<&str> = dumped.lines().map(name).collect();
    let all = numbered(RECORDS);
    let unreadable: Vec<&str> = all.lines().map(name).filter(|name| !dumped.contains(name)).collect();
    assert_eq!(unreadable.len(), lost);
    let key = unreadable[1];
    assert!(server.say(&format!("get {key}"), "\r\n").starts_with("SERVER_ERROR the item cannot be read"));
    assert!(server.say(&format!("touch {key} 0"), "\r\n").starts_with("SERVER_ERROR the item cannot be read"));
    assert_eq!(server.say(&format!("delete {key}"), "\r\n"), "DELETED\r\n");
    assert_eq!(server.say(&format!("get {key}"), "\r\n"), "END\r\n");
    assert_eq!(server.say(&format!("delete {key}"), "\r\n"), "NOT_FOUND\r\n");

    // Half of it is overwritten often enough that everything is merged over the damage.
    let half: Vec<String> = numbered(RECORDS).lines().step_by(2).map(|line| format!("{line} anew")).collect();
    let half = server.file("half.tsv", half.join("\n"));
    for _ in 0..6 {
        assert_eq!(server.load(&half, &[]).code, 0);
    }
    let stats = server.say("stats", "END\r\n");
    assert_eq!(count(&stats, "fawn_merge_failures ", "\r\n"), 0, "{stats}");
    let told = count(&stats, "fawn_lost_records ", "\r\n");
    assert!(told > 0 && told < lost, "those written anew are not lost: {told} of {lost}");
    server.log_with("gets fail until the lost records are written again");

    assert_eq!(server.load(&records, &[]).code, 0);
    let dump = fawn(&["dump", "--from", &server.address, out.to_str().unwrap()]);
    assert_eq!(dump.code, 0, "{}", dump.stderr);
    assert!(dump.stdout.starts_with("dumped 60,000 records"), "{}", dump.stdout);
}

/// What a command that must refuse the directory says.
fn refused(arguments: &[&str]) -> String {
    let run = fawn(arguments);
    assert_eq!(run.code, 1, "{arguments:?}: {} {}", run.stdout, run.stderr);
    run.stderr
}

/// Flips a byte of every page of a file that holds anything.
fn flip_all(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    for (page, bytes) in bytes.chunks(4096).enumerate().filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0)) {
        flip(path, (page * 4096 + bytes.iter().position(|byte| *byte != 0).unwrap()) as u64);
    }
}

#[test]
fn a_dump_goes_on_behind_a_damaged_store_and_says_which_it_is() {
    const SEALED: usize = 4000;
    let Some(mut server) = Server::fawn(&["--threads", "2", "--memory", "16M"]) else { return };
    let records = server.file("in.tsv", numbered(SEALED));
    server.stop();
    let data = server.data();
    let bulk = fawn(&["load", "--bulk", "--dir", &data, "--memory", "16M", records.to_str().unwrap()]);
    assert_eq!(bulk.code, 0, "{}", bulk.stderr);
    server.start_again();
    for number in 0..40 {
        assert_eq!(server.say(&format!("set new-{number} 0 0 1\r\nx"), "\r\n"), "STORED\r\n");
    }
    server.stop();
    // The lines of a dump, of them those that are in a log alone, and what else it says.
    let dump = |dir: &str| {
        let run = fawn(&["store", "dump", dir]);
        let new = run.stdout.lines().filter(|line| line.contains("\"new-")).count();
        (run.code, run.stdout.lines().count(), new, run.stderr)
    };
    let (code, all, new, told) = dump(&data);
    assert_eq!((code, all, new), (0, SEALED + 40, 40), "{told}");
    let log = Path::new(&data).join("store-0/commit-log");
    flip_all(&log);
    let log = log.to_str().unwrap();
    let (code, all, new, told) = dump(&data);
    assert!(code == 1 && (1..40).contains(&new) && all == SEALED + new, "{code} {all} {new} {told}");
    let named = format!("the dump is not complete: {log} is damaged at byte");
    assert!(told.contains(&named) && told.contains("lacks newer writes of this store"), "{told}");
    let serve = ["serve", "--dir", &data, "--listen", "127.0.0.1:0"];
    assert!(refused(&serve).contains(&format!("{log} is damaged at byte")));

    let manifests = std::fs::read_dir(Path::new(&data).join("store-0")).unwrap().map(|entry| entry.unwrap().path());
    let manifest = manifests.max_by_key(|path| path.to_str().unwrap().contains("/manifest-")).unwrap();
    flip_all(&manifest);
    let (code, all, other, told) = dump(&data);
    assert_eq!((code, other), (1, new), "{told}");
    assert!((SEALED / 4..SEALED * 3 / 4).contains(&all), "{all}: those of the other store");
    let named = format!("{} is damaged at byte", manifest.display());
    assert!(told.contains(&named), "{told}");
    assert!(refused(&serve).contains(&named));
}

#[test]
fn a_flipped_bit_of_a_small_file_is_refused_by_its_name() {
    let Some(mut server) = Server::fawn(&["--threads", "1", "--memory", "8M"]) else { return };
    assert_eq!(server.load(&server.file("in.tsv", numbered(100)), &[]).code, 0);
    server.stop();
    let data = server.data();
    for (name, at) in [("SECRET", 5), ("FORMAT", 40)] {
        let path = Path::new(&data).join(name);
        let whole = std::fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        std::fs::write(&path, flipped).unwrap();
        for arguments in [
            &["store", "check", &data][..],
            &["store", "dump", &data],
            &["store", "stats", &data],
            &["serve", "--dir", &data, "--listen", "127.0.0.1:0"],
        ] {
            let told = refused(arguments);
            assert!(told.contains(name), "{arguments:?}: {told}");
        }
        std::fs::write(&path, whole).unwrap();
    }
    assert_eq!(fawn(&["store", "dump", &data]).stdout.lines().count(), 100);
}

#[test]
fn looking_at_a_store_changes_nothing() {
    let Some(mut server) = Server::fawn(&["--threads", "1", "--memory", "8M"]) else { return };
    assert_eq!(server.load(&server.file("in.tsv", numbered(100)), &[]).code, 0);
    server.kill();
    let data = server.data();
    let contents = || {
        [Path::new(&data).to_owned(), Path::new(&data).join("store-0")].map(|dir| {
            let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
            entries
                .filter(|path| path.is_file() && !path.ends_with("LOCK"))
                .map(|path| {
                    let bytes = std::fs::read(&path).unwrap();
                    (path, bytes)
                })
                .collect::<std::collections::BTreeMap<_, _>>()
        })
    };
    let before = contents();
    assert_eq!(fawn(&["store", "dump", &data]).stdout.lines().count(), 100);
    for command in ["check", "stats"] {
        assert_eq!(fawn(&["store", command, &data]).code, 0);
    }
    assert!(contents() == before, "a file has changed");
}

type Contents = std::collections::BTreeMap<String, Vec<u8>>;

/// The files of a directory's only store.
fn store_files(data: &str) -> Contents {
    let entries = std::fs::read_dir(Path::new(data).join("store-0")).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect::<Contents>()
}

/// Gives the store these files that begin so, and no others that do.
fn put_back(data: &str, files: &Contents, prefix: &str) {
    let store = Path::new(data).join("store-0");
    for name in store_files(data).keys().filter(|name| name.starts_with(prefix)) {
        std::fs::remove_file(store.join(name)).unwrap();
    }
    for (name, bytes) in files.iter().filter(|(name, _)| name.starts_with(prefix)) {
        std::fs::write(store.join(name), bytes).unwrap();
    }
}

/// Puts the files of `other` that begin so in the place of the directory's own: every command refuses them by name, and
/// changes nothing. Then they are put back.
fn refused_by_name(data: &str, other: &Contents, prefix: &str, named: &str) {
    let own = store_files(data);
    put_back(data, other, prefix);
    let mixed = store_files(data);
    let records = Path::new(data).with_file_name("records.tsv");
    std::fs::write(&records, "key\tvalue\n").unwrap();
    assert!(mixed != own, "{prefix}: they differ");
    for arguments in [
        &["store", "dump", data][..],
        &["store", "stats", data],
        &["serve", "--dir", data, "--listen", "127.0.0.1:0"],
        &["load", "--bulk", "--dir", data, "--memory", "8M", records.to_str().unwrap()],
    ] {
        let told = refused(arguments);
        assert!(told.contains(named), "{prefix}: {arguments:?}: {told}");
        let says_how = told.contains("put back the") || told.contains("restore this store");
        assert!(says_how, "{prefix}: {arguments:?}: {told}");
    }
    let check = fawn(&["store", "check", data]);
    assert_eq!(check.code, 1, "{prefix}: {}", check.stdout);
    assert!(check.stdout.contains(named), "{prefix}: {}", check.stdout);
    assert!(store_files(data) == mixed, "{prefix}: a file was changed");
    put_back(data, &own, prefix);
}

#[test]
fn a_file_of_an_earlier_run_is_refused_by_its_name_and_the_right_one_has_everything() {
    let Some(mut server) = Server::fawn(&["--threads", "1", "--memory", "8M"]) else { return };
    let data = server.data();
    let set = |server: &Server, key: usize, value: &str| {
        assert_eq!(server.say(&format!("set k{key} 0 0 {}\r\n{value}", value.len()), "\r\n"), "STORED\r\n");
    };
    for key in 0..20 {
        set(&server, key, "old");
    }
    let running = store_files(&data);
    server.stop();
    let stopped = store_files(&data);
    server.start_again();
    for key in 10..30 {
        set(&server, key, "newer");
    }
    server.kill();
    for old in [&running, &stopped] {
        refused_by_name(&data, old, "commit-log", "commit-log is older than manifest-0");
        let name = old.keys().find(|name| name.starts_with("manifest-")).unwrap();
        refused_by_name(&data, old, "manifest-", name);
    }
    server.start_again();
    for key in 0..30 {
        let value = if key < 10 { "old" } else { "newer" };
        let told = server.say(&format!("get k{key}"), "END\r\n");
        assert_eq!(told, format!("VALUE k{key} 0 {}\r\n{value}\r\nEND\r\n", value.len()));
    }
    // After a clean stop, too.
    server.stop();
    refused_by_name(&data, &stopped, "commit-log", "commit-log");
    refused_by_name(&data, &stopped, "manifest-", "manifest-0");
    assert_eq!(fawn(&["store", "check", &data]).code, 0);
}

#[test]
fn a_file_of_a_copied_directory_is_refused_by_its_name() {
    let Some(mut server) = Server::fawn(&["--threads", "1", "--memory", "8M"]) else { return };
    server.stop();
    let data = server.data();
    let bulk = |dir: &str, value: &str| {
        let lines: Vec<String> = (0..2000).map(|key| format!("key-{key}\t{value}-{key}")).collect();
        let lines = server.file("in.tsv", lines.join("\n"));
        let run = fawn(&["load", "--bulk", "--dir", dir, "--memory", "8M", lines.to_str().unwrap()]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    bulk(&data, "one");
    let empty = store_files(&data);
    let twin = server.dir().join("twin");
    for folder in ["", "store-0"] {
        std::fs::create_dir(twin.join(folder)).unwrap();
        for entry in std::fs::read_dir(Path::new(&data).join(folder)).unwrap().map(|entry| entry.unwrap()) {
            if entry.path().is_file() {
                std::fs::copy(entry.path(), twin.join(folder).join(entry.file_name())).unwrap();
            }
        }
    }
    // Both go on alike: the same keys, numbers and sizes.
    bulk(&data, "two");
    bulk(twin.to_str().unwrap(), "TWO");
    let twin = store_files(twin.to_str().unwrap());
    let own = store_files(&data);
    let segment = own.keys().find(|name| name.starts_with("segment-") && !empty.contains_key(*name)).unwrap();
    assert!(twin.contains_key(segment));
    refused_by_name(&data, &twin, segment, segment);
    refused_by_name(&data, &twin, "commit-log", "commit-log is older than manifest-0");
    refused_by_name(&data, &twin, "manifest-", "of that name in the manifest");
    // What the load found is not put back with the manifest alone.
    refused_by_name(&data, &empty, "manifest-", "manifest-0");
    let dump = fawn(&["store", "dump", &data]);
    assert_eq!((dump.code, dump.stdout.lines().count()), (0, 2000), "{}", dump.stderr);
    assert!(dump.stdout.contains("two-7"));
}
