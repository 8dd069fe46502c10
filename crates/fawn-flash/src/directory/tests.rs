use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

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
    assert!(message.contains("has format 7") && message.contains("up to 2"), "{message}");
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
