//! Certificates are renewed while links are open.

use crate::cluster::{cluster, dial, links_of, member};
use fawn_tls::certificate::now;
use fawn_tls::directory::{Keys, Which, renew};
use fawn_tls::{Identity, Links, Material, Reloading, Role};
use tempfile::TempDir;

fn reloading(dir: &TempDir, name: &str) -> Reloading<Links> {
    Reloading::links(&Material::in_dir(dir.path(), name)).unwrap()
}

#[test]
fn open_links_go_on_while_new_ones_show_the_renewed_certificate() {
    let dir = cluster();
    let (a, m) = (reloading(&dir, "a"), reloading(&dir, "m"));
    let mut open = dial(&a.current().client, &m.current().server, &Role::Manager).unwrap();
    let before = open.caller.peer_certificates().unwrap()[0].clone().into_owned();

    renew(dir.path(), &Which::All, Keys::New, 90, now()).unwrap();
    m.reload().unwrap();
    assert_eq!(open.say("still here"), "still here");
    // The one that has not looked yet, and the one that has.
    let mut new = dial(&a.current().client, &m.current().server, &Role::Manager).unwrap();
    assert_ne!(new.caller.peer_certificates().unwrap()[0], before);
    a.reload().unwrap();
    assert_eq!(new.say("and here"), "and here");
    let newer = dial(&a.current().client, &m.current().server, &Role::Manager).unwrap();
    assert_eq!(newer.called_by(), a.current().identity);
    assert_eq!(open.say("and still"), "and still");
}

#[test]
fn links_are_made_with_the_old_files_while_the_new_ones_are_bad() {
    let dir = cluster();
    let m = reloading(&dir, "m");
    let a = links_of(&dir, "a");
    let files = Material::in_dir(dir.path(), "m");
    let good = std::fs::read(&files.cert).unwrap();
    for bad in [&b"rubbish"[..], b"", &std::fs::read(dir.path().join("a.pem")).unwrap(), &good[..good.len() / 2]] {
        std::fs::write(&files.cert, bad).unwrap();
        assert!(m.reload().is_err());
        let mut pair = dial(&a.client, &m.current().server, &Role::Manager).unwrap();
        assert_eq!(pair.say("hello"), "hello");
    }
    std::fs::remove_file(&files.cert).unwrap();
    assert!(m.reload().is_err());
    assert!(dial(&a.client, &m.current().server, &Role::Manager).is_ok());
    std::fs::write(&files.cert, good).unwrap();
    m.reload().unwrap();
    assert!(dial(&a.client, &m.current().server, &Role::Manager).is_ok());
}

#[test]
fn who_was_given_another_role_has_it_on_links_to_come() {
    let dir = cluster();
    let a = reloading(&dir, "a");
    let m = links_of(&dir, "m");
    let mut old = dial(&a.current().client, &m.server, &Role::Manager).unwrap();
    for file in ["{}.pem", "{}-key.pem"] {
        let path = |name: &str| dir.path().join(file.replace("{}", name));
        std::fs::copy(path("both"), path("a")).unwrap();
    }
    a.reload().unwrap();
    let new = dial(&a.current().client, &m.server, &Role::Manager).unwrap();
    assert!(new.called_by().is_member("both") && !new.called_by().is_member("a"));
    assert!(old.called_by().has(&member("a")), "what a link began with, it keeps");
    assert_eq!(old.say("hello"), "hello");
    assert_eq!(a.current().identity, Identity::of(new.called.peer_certificates().unwrap()).unwrap());
}
