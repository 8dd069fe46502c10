use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use super::layout::{FORMAT, LOCK, MEMBER};
use super::*;

fn new_path() -> (tempfile::TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("a/data");
    (parent, path)
}

#[test]
fn a_new_directory_opens_again_as_it_was_made() {
    let (_parent, path) = new_path();
    let made = Directory::open(&path, 3).unwrap();
    assert!(made.is_new());
    assert_eq!(made.stores(), 3);
    let secret = made.secret();
    drop(made);
    let opened = Directory::open(&path, 8).unwrap();
    assert!(!opened.is_new());
    assert_eq!(opened.stores(), 3, "the number of stores is fixed");
    assert_eq!(opened.secret(), secret);
    assert!(opened.files(2, Caching::Auto).is_ok());
}

#[test]
fn two_directories_have_two_secrets() {
    let ((_keep, first), (_keep_too, second)) = (new_path(), new_path());
    assert!(Directory::open(&first, 1).unwrap().secret() != Directory::open(&second, 1).unwrap().secret());
}

#[test]
fn only_its_owner_may_enter() {
    let (_parent, path) = new_path();
    let _directory = Directory::open(&path, 1).unwrap();
    let mode = |name: &str| fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("."), 0o700);
    assert_eq!(mode("store-0"), 0o700);
    assert_eq!((mode(FORMAT), mode(SECRET), mode(LOCK)), (0o600, 0o600, 0o600));
}

#[test]
fn opening_twice_in_one_process_is_refused() {
    let (_parent, path) = new_path();
    let _first = Directory::open(&path, 1).unwrap();
    let message = Directory::open(&path, 1).unwrap_err().to_string();
    assert!(message.contains("is in use by this process already"), "{message}");
}

#[test]
fn a_second_process_is_told_which_process_owns_the_directory() {
    let (_parent, path) = new_path();
    drop(Directory::open(&path, 1).unwrap());
    let name = path.join(LOCK);
    // Another program that takes the lock as we do and writes its number.
    let script =
        format!("exec 9<>'{0}'; flock -n 9 || exit 1; echo $$ > '{0}'; echo ready; read line; exit 0", name.display());
    let mut child =
        Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let message = Directory::open(&path, 1).unwrap_err().to_string();
    assert!(message.contains(&format!("in use by process {}", child.id())), "{message}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(Directory::open(&path, 1).is_ok(), "the lock goes with its owner");
}

#[test]
fn a_removed_or_replaced_lock_lets_nobody_else_in() {
    let (_parent, path) = new_path();
    let first = Directory::open(&path, 1).unwrap();
    let refused = |what: &str| {
        let opened = [Directory::open(&path, 1).map(drop), Directory::look(&path).map(drop)];
        for error in opened.map(Result::unwrap_err) {
            assert!(matches!(error, DirectoryError::InUse { .. }), "{what}: {error}");
        }
        let member = MemberDirectory::open(&path, 1).unwrap_err();
        assert!(matches!(member, DirectoryError::InUse { .. }), "{what}: {member}");
    };
    fs::remove_file(path.join(LOCK)).unwrap();
    refused("removed");
    fs::write(path.join(LOCK), "1\n").unwrap();
    refused("replaced");
    drop(first);
    assert!(Directory::open(&path, 1).is_ok());
    fs::remove_file(path.join(LOCK)).unwrap();
    let looking = Directory::look(&path).unwrap();
    assert!(!path.join(LOCK).exists(), "looking makes nothing");
    refused("never there");
    drop(looking);
    assert!(Directory::open(&path, 1).is_ok());
}

#[test]
fn a_lock_that_a_forked_child_or_an_ending_process_still_has_is_waited_for() {
    let (_parent, path) = new_path();
    drop(Directory::open(&path, 1).unwrap());
    for look in [false, true] {
        // As a child between fork and exec: it has the lock's descriptor, and lets go of it soon.
        let lock = fs::File::open(path.join(LOCK)).unwrap();
        lock.lock().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(100));
                lock.unlock().unwrap();
            });
            let opened = if look { Directory::look(&path) } else { Directory::open(&path, 1) };
            assert!(opened.is_ok(), "{opened:?}");
        });
    }
}

#[test]
fn an_interrupted_creation_is_begun_anew() {
    // Every state that a crash while making a directory may leave.
    let (_parent, path) = new_path();
    let parts: [(&str, Option<&str>); 5] = [
        (LOCK, Some("1\n")),
        ("store-0", None),
        ("store-1", None),
        (SECRET, Some("0123")),
        ("FORMAT.new", Some("FAW")),
    ];
    for count in 0..=parts.len() {
        fs::create_dir_all(&path).unwrap();
        for (name, text) in &parts[..count] {
            match text {
                Some(text) => fs::write(path.join(name), text).unwrap(),
                None => fs::create_dir(path.join(name)).unwrap(),
            }
        }
        let directory = Directory::open(&path, 2).unwrap();
        assert!(directory.is_new(), "after {count} parts");
        assert_eq!(directory.stores(), 2);
        drop(directory);
        fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn a_directory_of_something_else_is_refused_and_left_alone() {
    let (_parent, path) = new_path();
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("thesis.tex"), "years of work").unwrap();
    let refused = Directory::open(&path, 1).unwrap_err();
    assert!(matches!(&refused, DirectoryError::Foreign { found, .. } if found == "thesis.tex"), "{refused}");
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
}

#[test]
fn stores_with_content_but_no_format_are_not_begun_anew() {
    let (_parent, path) = new_path();
    drop(Directory::open(&path, 1).unwrap());
    fs::write(path.join("store-0/manifest-0000000000000001"), "x").unwrap();
    fs::remove_file(path.join(FORMAT)).unwrap();
    assert!(matches!(Directory::open(&path, 1).unwrap_err(), DirectoryError::Foreign { .. }));
}

#[test]
fn a_newer_format_is_refused_with_both_numbers() {
    let (_parent, path) = new_path();
    drop(Directory::open(&path, 1).unwrap());
    fs::write(path.join(FORMAT), "FAWN data directory\nformat 7\nsomething new\n").unwrap();
    let message = Directory::open(&path, 1).unwrap_err().to_string();
    assert!(message.contains("has format 7") && message.contains("up to 3"), "{message}");
}

#[test]
fn damage_is_named() {
    let (_parent, path) = new_path();
    let refused = |path: &Path, file: &str| {
        let error = Directory::open(path, 2).unwrap_err();
        assert!(matches!(&error, DirectoryError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains(file), "{error}");
    };
    drop(Directory::open(&path, 2).unwrap());
    let (format, secret) = (fs::read(path.join(FORMAT)).unwrap(), fs::read(path.join(SECRET)).unwrap());
    for len in 0..format.len() - 1 {
        fs::write(path.join(FORMAT), &format[..len]).unwrap();
        refused(&path, FORMAT);
    }
    fs::write(path.join(FORMAT), [0xff, 0xfe]).unwrap();
    refused(&path, FORMAT);
    fs::write(path.join(FORMAT), &format).unwrap();
    for len in 0..secret.len() - 1 {
        fs::write(path.join(SECRET), &secret[..len]).unwrap();
        refused(&path, SECRET);
    }
    fs::write(path.join(SECRET), &secret).unwrap();
    fs::remove_dir(path.join("store-1")).unwrap();
    refused(&path, "store-1 is missing");
}

#[test]
fn a_file_in_place_of_the_directory_is_an_error() {
    let (_parent, path) = new_path();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    let message = Directory::open(&path, 1).unwrap_err().to_string();
    assert!(message.contains("data"), "{message}");
}

#[test]
fn stores_cut_the_key_space_without_gap_or_overlap() {
    for stores in [1, 2, 3, 4, 5, 7, 8, 96, MAX_STORES] {
        assert_eq!(interval_of(0, stores).low, Key::MIN);
        assert_eq!(interval_of(stores - 1, stores).high, Key::MAX);
        for index in 0..stores {
            let interval = interval_of(index, stores);
            assert_eq!(store_of(&interval.low, stores), index);
            assert_eq!(store_of(&interval.high, stores), index);
            if index + 1 < stores {
                assert_eq!(interval.high.successor(), Some(interval_of(index + 1, stores).low));
            }
        }
    }
}

/// The small files of a directory that was closed, with the bytes of each.
fn small_files(path: &Path) -> Vec<(&'static str, Vec<u8>)> {
    let read = |name: &'static str| fs::read(path.join(name)).ok().map(|bytes| (name, bytes));
    [FORMAT, SECRET, MEMBER, LOCK].into_iter().filter_map(read).collect()
}

/// Flips every bit of every small file: what is opened is as it was, or refused by the name of the file.
fn flips_are_told(path: &Path, open: impl Fn() -> Result<String, DirectoryError>) {
    let whole = open().unwrap();
    for (name, bytes) in small_files(path) {
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(path.join(name), &flipped).unwrap();
            match open() {
                Ok(opened) => assert_eq!(opened, whole, "bit {bit} of {name}"),
                Err(error) => {
                    let text = error.to_string();
                    let is_newer = matches!(error, DirectoryError::NewerFormat { .. });
                    assert!(text.contains(name) || is_newer, "bit {bit} of {name}: {text}");
                }
            }
            // Nothing that was opened may have been mended, or made worse.
            for (name, bytes) in small_files(path).iter().filter(|(name, _)| *name != LOCK) {
                assert_eq!(fs::read(path.join(name)).unwrap(), *bytes);
            }
            fs::write(path.join(name), &bytes).unwrap();
        }
    }
}

#[test]
fn every_flipped_bit_of_a_small_file_is_told_by_the_files_name() {
    let (_parent, path) = new_path();
    drop(Directory::open(&path, 2).unwrap());
    flips_are_told(&path, || {
        Directory::open(&path, 2).map(|opened| format!("{} {:02x?}", opened.stores(), opened.secret().0))
    });
    let (_parent, path) = new_path();
    let mut member = MemberDirectory::open(&path, 2).unwrap();
    let told = |opened: &MemberDirectory| {
        let (name, cluster, secret) = (opened.name(), opened.cluster(), opened.secret().map(|secret| secret.0));
        format!("{} {:02x?} {name:?} {cluster:?} {secret:?}", opened.stores(), opened.directory_id())
    };
    member.set_enrolled([7; 16], Secret([9; 32]), "n1", 4).unwrap();
    drop(member);
    flips_are_told(&path, || MemberDirectory::open(&path, 2).as_ref().map_err(clone).map(told));
}

/// An error like this one.
fn clone(error: &DirectoryError) -> DirectoryError {
    match error {
        DirectoryError::NewerFormat { path, found } => {
            DirectoryError::NewerFormat { path: path.clone(), found: *found }
        }
        other => DirectoryError::Damaged { path: PathBuf::new(), what: other.to_string() },
    }
}

/// Writes a directory's files as format 1 had them.
fn downgrade(path: &Path, stores: usize, secret: &Secret) {
    fs::write(path.join(FORMAT), format!("FAWN data directory\nformat 1\nstores {stores}\n")).unwrap();
    fs::write(path.join(SECRET), secret_text(secret)).unwrap();
}

#[test]
fn a_directory_of_an_older_format_is_proved_by_its_stores_and_gets_checksums() {
    let (_parent, path) = new_path();
    let options = || crate::DbOptions { stores: 2, ..crate::DbOptions::default() };
    let db = crate::Db::open(&path, options()).unwrap();
    db.put(b"key", b"value").unwrap();
    db.close().unwrap();
    drop(db);
    let secret = Directory::open(&path, 1).unwrap().secret();
    let old = |secret: &Secret, stores: usize| downgrade(&path, stores, secret);
    for bit in [0, 77, 255] {
        let mut flipped = secret;
        flipped.0[bit / 8] ^= 1 << (bit % 8);
        old(&flipped, 2);
        let refused = Directory::open(&path, 1).unwrap_err().to_string();
        assert!(refused.contains("SECRET") && refused.contains("not the key"), "{refused}");
        assert!(Directory::look(&path).is_err());
    }
    for stores in [1, 3] {
        old(&secret, stores);
        assert!(Directory::open(&path, 1).unwrap_err().to_string().contains("FORMAT"));
    }
    old(&secret, 2);
    drop(Directory::look(&path).unwrap());
    assert!(!fs::read_to_string(path.join(SECRET)).unwrap().contains("checksum"), "looking changes nothing");
    let db = crate::Db::open(&path, options()).unwrap();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    for name in [FORMAT, SECRET] {
        assert!(fs::read_to_string(path.join(name)).unwrap().contains("checksum"), "{name}");
    }
}

#[test]
fn what_a_file_system_keeps_at_its_root_is_no_stranger() {
    let (_parent, path) = new_path();
    fs::create_dir_all(path.join("lost+found")).unwrap();
    assert!(Directory::open(&path, 1).unwrap().is_new());
    assert!(path.join("lost+found").exists());
}

#[test]
fn a_store_that_does_not_fit_leaves_nothing_and_says_what_it_wants() {
    let (_parent, path) = new_path();
    let directory = Directory::open(&path, 2).unwrap();
    let huge = Options { log_pages: 1 << 50, ..Options::new(directory.secret(), 64 << 20) };
    let refused = directory.make_room(&huge).unwrap_err();
    let DirectoryError::NoRoom { wanted, .. } = refused else { panic!("{refused}") };
    let told = refused.to_string();
    let says = format!("{} has no room for a new store: ", path.display());
    assert!(
        told.starts_with(&says) && told.contains(&format!(" take {} MiB, and ", wanted.div_ceil(1 << 20))),
        "{told}"
    );
    assert!(told.contains(" MiB are free; give a smaller --memory"), "{told}");
    drop(directory);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0, "nothing is left");
    // What an earlier start has left half-made is made anew.
    let directory = Directory::open(&path, 2).unwrap();
    let files = directory.files(0, Caching::Buffered).unwrap();
    fs::write(path.join("store-0/manifest-0000000000000001"), "").unwrap();
    let fits = Options::new(directory.secret(), 64 << 20);
    directory.make_room(&fits).unwrap();
    assert!(fawn_store::flash::Flash::list(&files).unwrap().is_empty());
    // What was written to stays.
    drop(directory);
    let db = crate::Db::open(&path, crate::DbOptions::default()).unwrap();
    db.put(b"key", b"value").unwrap();
    db.close().unwrap();
    drop(db);
    Directory::open(&path, 2).unwrap().make_room(&huge).unwrap();
    let db = crate::Db::open(&path, crate::DbOptions::default()).unwrap();
    assert!(db.get(b"key").unwrap().is_some());
}
