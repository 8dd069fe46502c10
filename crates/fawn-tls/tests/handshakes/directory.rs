//! What is made, added, renewed and shown of a directory.

use crate::cluster::{cluster, dial, links_of, make, member, wanted};
use fawn_tls::certificate::{Facts, Validity, date, now};
use fawn_tls::directory::{Keys, Which, add, host, init, renew, show};
use fawn_tls::{Material, Role, TlsError, links};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const DAY: i64 = 86_400;

fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())).collect()
}

fn facts(dir: &Path, name: &str) -> Facts {
    show(dir).unwrap().into_iter().find(|shown| shown.name == name).unwrap().facts.unwrap()
}

#[test]
fn keys_are_for_their_owner_alone() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("deep/certs");
    make(&dir);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    let files = contents(&dir);
    assert_eq!(files.len(), 14);
    for name in files.keys() {
        let expected = if name.ends_with("-key.pem") { 0o600 } else { 0o644 };
        // A strict umask may take more.
        assert_eq!(mode(&dir.join(name)) | (expected & 0o044), expected, "{name}");
    }
    renew(&dir, &Which::All, Keys::New, 90, now()).unwrap();
    assert_eq!(mode(&dir.join("a-key.pem")), 0o600);
}

#[test]
fn nothing_is_ever_written_over() {
    let dir = cluster();
    let before = contents(dir.path());
    let error = init(dir.path(), &[wanted("c", &[member("c")], &[])], 90, now()).unwrap_err();
    assert!(matches!(&error, TlsError::Exists { .. }) && error.to_string().contains("fawn certs add"), "{error}");
    // All or none: the first of the two would be new.
    let error = add(dir.path(), &[wanted("c", &[member("c")], &[]), wanted("a", &[member("a")], &[])], 90, now());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("a.pem already exists") || error.contains("a-key.pem already exists"), "{error}");
    assert_eq!(contents(dir.path()), before);
}

#[test]
fn what_cannot_be_named_is_refused_before_anything_is_made() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("certs");
    for (name, hosts, says) in [
        ("ca", &[][..], "choose another"),
        ("a-key", &[], "choose another"),
        ("A", &[], "lower-case"),
        ("../a", &[], "lower-case"),
        ("a", &["b.member.fawn"], "roles, not hosts"),
        ("a", &["B.Member.FAWN"], "roles, not hosts"),
        ("a", &["10.0.0.1:11211"], "without a port"),
        ("a", &[""], "a host name"),
    ] {
        let error = init(&dir, &[wanted(name, &[Role::Manager], hosts)], 90, now()).unwrap_err().to_string();
        assert!(error.contains(says), "{name} {hosts:?}: {error}");
        assert!(!dir.exists());
    }
}

#[test]
fn somebody_who_is_added_later_talks_to_those_who_were_there() {
    let dir = cluster();
    let made = add(dir.path(), &[wanted("late", &[member("late")], &["10.0.0.9", "late.example"])], 30, now()).unwrap();
    assert_eq!(made[0].facts.hosts, [host("late.example"), host("10.0.0.9")]);
    let (late, a) = (links_of(&dir, "late"), links_of(&dir, "a"));
    assert!(dial(&late.client, &a.server, &member("a")).is_ok());
    assert!(dial(&a.client, &late.server, &member("late")).is_ok());
}

#[test]
fn adding_needs_the_authoritys_key() {
    let dir = cluster();
    let wanted = [wanted("late", &[member("late")], &[])];
    std::fs::copy(dir.path().join("a-key.pem"), dir.path().join("ca-key.pem")).unwrap();
    let error = add(dir.path(), &wanted, 30, now()).unwrap_err().to_string();
    assert!(error.contains("ca-key.pem for TLS: it is not the key of "), "{error}");
    std::fs::remove_file(dir.path().join("ca-key.pem")).unwrap();
    let error = add(dir.path(), &wanted, 30, now()).unwrap_err().to_string();
    assert!(error.contains("ca-key.pem for TLS: No such file"), "{error}");
    assert!(!dir.path().join("late.pem").exists());
}

#[test]
fn only_what_ends_soon_is_renewed_and_says_the_same_again() {
    let dir = cluster();
    add(dir.path(), &[wanted("short", &[member("short"), Role::Manager], &["s.example"])], 20, now()).unwrap();
    let before = contents(dir.path());
    let old = facts(dir.path(), "short");
    let renewed = renew(dir.path(), &Which::Expiring, Keys::Keep, 90, now()).unwrap();
    assert_eq!(renewed.iter().map(|made| made.name.as_str()).collect::<Vec<_>>(), ["short"]);
    let new = facts(dir.path(), "short");
    assert_eq!(Facts { validity: old.validity, ..new.clone() }, old);
    assert!((89..=90).contains(&new.validity.days_left(now())));
    let changed: Vec<String> = contents(dir.path())
        .into_iter()
        .filter(|(name, text)| before.get(name) != Some(text))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(changed, ["short.pem"], "the key stays");
    assert!(renew(dir.path(), &Which::Expiring, Keys::Keep, 90, now()).unwrap().is_empty());
}

#[test]
fn keys_are_replaced_when_that_is_asked_for() {
    let dir = cluster();
    let before = contents(dir.path());
    let made = renew(dir.path(), &Which::Named(vec!["a".into()]), Keys::New, 90, now()).unwrap();
    assert!(made[0].has_new_key);
    let after = contents(dir.path());
    assert!(after["a.pem"] != before["a.pem"] && after["a-key.pem"] != before["a-key.pem"]);
    assert_eq!(after["b.pem"], before["b.pem"]);
    assert!(links(&Material::in_dir(dir.path(), "a")).is_ok());
    let error = renew(dir.path(), &Which::Named(vec!["z".into()]), Keys::Keep, 90, now()).unwrap_err().to_string();
    assert!(error.ends_with("has no certificate \"z\": it has ca, a, b, both, client, m, operator"), "{error}");
}

#[test]
fn an_authority_is_renewed_without_new_certificates_for_others() {
    let dir = cluster();
    let (old, m) = (links_of(&dir, "a"), links_of(&dir, "m"));
    // What is trusted beside it stays.
    let other = cluster();
    let ca = dir.path().join("ca.pem");
    let both = format!(
        "{}{}",
        std::fs::read_to_string(&ca).unwrap(),
        std::fs::read_to_string(other.path().join("ca.pem")).unwrap()
    );
    std::fs::write(&ca, both).unwrap();
    let before = facts(dir.path(), "ca");
    let renewed = renew(dir.path(), &Which::Named(vec!["ca".into()]), Keys::Keep, 90, now() + 9 * 365 * DAY).unwrap();
    assert!(renewed[0].facts.validity.until > before.validity.until + 8 * 365 * DAY);
    assert_eq!(fawn_tls::files::read_roots(&ca).unwrap().len(), 2);
    assert_ne!(facts(dir.path(), "ca"), before);
    renew(dir.path(), &Which::Named(vec!["ca".into()]), Keys::Keep, 90, now()).unwrap();
    let new = links_of(&dir, "a");
    assert!(dial(&new.client, &m.server, &Role::Manager).is_ok(), "who has the new one and who has not");
    assert!(dial(&old.client, &links_of(&dir, "m").server, &Role::Manager).is_ok());
    assert!(dial(&links_of(&other, "a").client, &links_of(&dir, "m").server, &Role::Manager).is_err());
}

#[test]
fn a_certificate_never_outlives_its_authority() {
    let dir = cluster();
    let made = add(dir.path(), &[wanted("long", &[member("long")], &[])], 40_000, now()).unwrap();
    assert_eq!(made[0].facts.validity.until, facts(dir.path(), "ca").validity.until);
}

#[test]
fn what_cannot_be_used_is_shown_with_the_reason() {
    let dir = cluster();
    let path = |name: &str| dir.path().join(name);
    std::fs::set_permissions(path("a-key.pem"), PermissionsExt::from_mode(0o640)).unwrap();
    std::fs::copy(path("both-key.pem"), path("b-key.pem")).unwrap();
    std::fs::write(path("m.pem"), "rubbish").unwrap();
    std::fs::remove_file(path("client-key.pem")).unwrap();
    let shown = show(dir.path()).unwrap();
    let problem =
        |name: &str| shown.iter().find(|shown| shown.name == name).unwrap().problem.clone().unwrap_or_default();
    assert_eq!(shown[0].name, "ca");
    assert!(problem("a").contains("mode 0640"), "{}", problem("a"));
    assert!(problem("b").contains("do not match"), "{}", problem("b"));
    assert!(problem("m").contains("no certificate in PEM form"), "{}", problem("m"));
    let of_client = problem("client");
    assert!(of_client.contains("client-key.pem") && of_client.contains("missing"), "{of_client}");
    for name in ["ca", "both", "operator"] {
        assert_eq!(problem(name), "", "{name}");
    }
    assert!(!shown.iter().find(|shown| shown.name == "client").unwrap().has_key);
    let error = show(&path("none")).unwrap_err().to_string();
    assert!(error.contains("No such file"), "{error}");
}

#[test]
fn no_certificate_is_made_by_a_clock_that_nobody_has_set() {
    let dir = cluster();
    let before = facts(dir.path(), "a").validity;
    let other = dir.path().join("other");
    for refused in [
        init(&other, &[], 90, 1000),
        add(dir.path(), &[wanted("late", &[member("late")], &[])], 90, 1000),
        renew(dir.path(), &Which::All, Keys::Keep, 90, 1000),
    ] {
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("clock shows 1970-01-01") && why.ends_with(": set the clock first"), "{why}");
    }
    assert!(!other.exists());
    assert_eq!(facts(dir.path(), "a").validity, before);
}

#[test]
fn a_certificate_says_what_it_was_made_with() {
    let dir = cluster();
    let a = facts(dir.path(), "a");
    assert_eq!((a.subject.as_str(), a.is_authority), ("a", false));
    assert_eq!(a.names, ["a.member.fawn"]);
    assert_eq!(a.hosts, [host("a.example"), host("127.0.0.1")]);
    assert_eq!(facts(dir.path(), "both").names, ["both.member.fawn", "manager.fawn", "both.manager.fawn"]);
    assert!(a.validity.from < now() && (89..=90).contains(&a.validity.days_left(now())));
    assert!(facts(dir.path(), "ca").is_authority);
    assert_eq!(date(Validity::days(1_800_000_000, 1).unwrap().until), "2027-01-16");
}

#[test]
fn a_key_is_not_replaced_where_its_certificate_cannot_be() {
    let dir = cluster();
    let files = Material::in_dir(dir.path(), "a");
    let key = std::fs::read(&files.key).unwrap();
    let new = |path: &Path| path.with_extension("pem.new");
    // In the way of the certificate, as a full device is.
    std::fs::create_dir(new(&files.cert)).unwrap();
    let renewed = || renew(dir.path(), &Which::Named(vec!["a".into()]), Keys::New, 90, now());
    renewed().unwrap_err();
    assert!(std::fs::read(&files.key).unwrap() == key && !new(&files.key).exists());
    links(&files).unwrap();
    std::fs::remove_dir(new(&files.cert)).unwrap();
    renewed().unwrap();
    assert!(std::fs::read(&files.key).unwrap() != key);
    links(&files).unwrap();
}
