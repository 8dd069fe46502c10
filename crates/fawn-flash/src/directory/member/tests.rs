use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::directory::Directory;
use crate::directory::layout::LOCK;

const CLUSTER: [u8; 16] = [7; 16];
const SECRET_OF_CLUSTER: Secret = Secret([9; 32]);

fn new_path() -> (tempfile::TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("data");
    (parent, path)
}

#[test]
fn a_new_member_learns_its_secret_when_it_enrols_and_keeps_all_for_life() {
    let (_parent, path) = new_path();
    let mut made = MemberDirectory::open(&path, 2).unwrap();
    assert!(made.is_new() && !made.is_plain());
    assert_eq!((made.stores(), made.secret(), made.name(), made.cluster()), (2, None, None, None));
    let directory = made.directory_id();
    made.set_name("first").unwrap();
    made.set_name("node-a").unwrap();
    drop(made);
    let mut opened = MemberDirectory::open(&path, 5).unwrap();
    assert_eq!((opened.is_new(), opened.stores(), opened.directory_id()), (false, 2, directory));
    assert_eq!((opened.name(), opened.secret()), (Some("node-a"), None));
    opened.set_enrolled(CLUSTER, SECRET_OF_CLUSTER, "node-a", 3).unwrap();
    drop(opened);
    let mut again = MemberDirectory::open(&path, 5).unwrap();
    assert_eq!((again.secret(), again.cluster()), (Some(SECRET_OF_CLUSTER), Some((CLUSTER, 3))));
    assert_eq!(again.directory_id(), directory);
    again.set_enrolled(CLUSTER, SECRET_OF_CLUSTER, "node-a", 3).unwrap();
    assert!(again.files(1, Caching::Auto).is_ok());
}

#[test]
fn it_becomes_nobody_elses() {
    let (_parent, path) = new_path();
    let mut member = MemberDirectory::open(&path, 1).unwrap();
    member.set_enrolled(CLUSTER, SECRET_OF_CLUSTER, "a", 1).unwrap();
    let text = fs::read_to_string(path.join(MEMBER)).unwrap();
    for (cluster, secret, name, seat, named) in [
        ([8; 16], SECRET_OF_CLUSTER, "a", 1, "08080808"),
        (CLUSTER, Secret([1; 32]), "a", 1, "another key order"),
        (CLUSTER, SECRET_OF_CLUSTER, "b", 1, "node b"),
        (CLUSTER, SECRET_OF_CLUSTER, "a", 2, "seat 2"),
    ] {
        let refused = member.set_enrolled(cluster, secret, name, seat).unwrap_err();
        assert!(matches!(refused, DirectoryError::OtherMember { .. }) && refused.to_string().contains(named));
    }
    assert!(member.set_name("b").is_err());
    assert_eq!(fs::read_to_string(path.join(MEMBER)).unwrap(), text);
}

#[test]
fn a_plain_directory_stays_one_until_its_node_has_enrolled() {
    let (_parent, path) = new_path();
    let secret = Directory::open(&path, 3).unwrap().secret();
    let member = MemberDirectory::open(&path, 1).unwrap();
    let directory = member.directory_id();
    assert!(member.is_plain() && !member.is_new());
    assert_eq!((member.stores(), member.secret(), member.cluster()), (3, Some(secret), None));
    assert_eq!(member.interval(1), interval_of(1, 3));
    drop(member);
    assert_eq!(Directory::open(&path, 1).unwrap().secret(), secret, "it serves as before");
    let mut member = MemberDirectory::open(&path, 1).unwrap();
    assert_eq!(member.directory_id(), directory);
    assert!(member.set_enrolled(CLUSTER, SECRET_OF_CLUSTER, "a", 1).is_err(), "its keys another key order");
    member.set_enrolled(CLUSTER, secret, "a", 1).unwrap();
    drop(member);
    assert!(MemberDirectory::is_member(&path).unwrap());
    let refused = Directory::open(&path, 1).unwrap_err();
    assert!(matches!(refused, DirectoryError::Member { .. }) && refused.to_string().contains("fawn node --dir"));
    let member = MemberDirectory::open(&path, 1).unwrap();
    assert!(member.is_plain(), "what it held has to be adopted, unless that was done");
    assert_eq!((member.secret(), member.cluster()), (Some(secret), Some((CLUSTER, 1))));
}

#[test]
fn a_crash_while_it_enrols_leaves_what_was_or_what_is_to_be() {
    for plain in [false, true] {
        let (_parent, path) = new_path();
        let secret = if plain { Directory::open(&path, 1).unwrap().secret() } else { SECRET_OF_CLUSTER };
        drop(MemberDirectory::open(&path, 1).unwrap());
        let names = [SECRET, MEMBER, FORMAT];
        let read = || names.map(|name| fs::read(path.join(name)).ok());
        let before = read();
        MemberDirectory::open(&path, 1).unwrap().set_enrolled(CLUSTER, secret, "a", 1).unwrap();
        let after = read();
        // They are replaced in this order, each as a whole.
        for replaced in 0..=names.len() {
            for (number, name) in names.iter().enumerate() {
                let text = if number < replaced { &after[number] } else { &before[number] };
                match text {
                    Some(text) => fs::write(path.join(name), text).unwrap(),
                    None => fs::remove_file(path.join(name)).unwrap_or_default(),
                }
            }
            fs::write(path.join("MEMBER.new"), "FAWN mem").unwrap();
            let mut member = MemberDirectory::open(&path, 1).unwrap();
            assert_eq!(member.cluster().is_some(), replaced >= 2, "{replaced} files, plain: {plain}");
            assert_eq!(member.is_plain(), plain);
            member.set_enrolled(CLUSTER, secret, "a", 1).unwrap();
            drop(member);
            assert!(read() == after, "{replaced} files, plain: {plain}");
        }
    }
}

#[test]
fn an_interrupted_creation_of_a_members_directory_is_begun_anew() {
    let (_parent, path) = new_path();
    let parts: [(&str, Option<&str>); 5] = [
        (LOCK, Some("1\n")),
        ("store-0", None),
        ("MEMBER.new", Some("FA")),
        (MEMBER, Some("FAWN")),
        ("FORMAT.new", Some("F")),
    ];
    for count in 0..=parts.len() {
        fs::create_dir_all(&path).unwrap();
        for (name, text) in &parts[..count] {
            match text {
                Some(text) => fs::write(path.join(name), text).unwrap(),
                None => fs::create_dir(path.join(name)).unwrap(),
            }
        }
        assert!(MemberDirectory::open(&path, 1).unwrap().is_new(), "after {count} parts");
        fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn damage_is_named_and_only_the_owner_may_look() {
    let (_parent, path) = new_path();
    let mut member = MemberDirectory::open(&path, 1).unwrap();
    member.set_enrolled(CLUSTER, SECRET_OF_CLUSTER, "a", 12).unwrap();
    drop(member);
    fs::write(path.join("store-0/manifest-0000000000000001"), "x").unwrap();
    for name in [MEMBER, SECRET, FORMAT] {
        assert_eq!(fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777, 0o600);
        let whole = fs::read(path.join(name)).unwrap();
        for len in 0..whole.len() - 1 {
            fs::write(path.join(name), &whole[..len]).unwrap();
            match MemberDirectory::open(&path, 1) {
                Err(DirectoryError::Damaged { path, .. }) => assert!(path.ends_with(name)),
                other => panic!("{len} bytes of {name}: {other:?}"),
            }
        }
        fs::remove_file(path.join(name)).unwrap();
        assert!(MemberDirectory::open(&path, 1).is_err());
        fs::write(path.join(name), &whole).unwrap();
    }
    assert!(MemberDirectory::open(&path, 1).is_ok());
}
