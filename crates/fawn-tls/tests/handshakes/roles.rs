//! Those of one cluster talk to each other, and each knows who the other is.

use crate::cluster::{cluster, dial, links_of, member};
use fawn_tls::Role;

#[test]
fn every_pair_of_roles_talks_and_knows_each_other() {
    let dir = cluster();
    let dialed = [
        ("a", member("a")),
        ("b", member("b")),
        ("m", Role::Manager),
        ("both", Role::Manager),
        ("both", member("both")),
    ];
    for caller in ["a", "b", "m", "both", "operator", "client"] {
        let caller = links_of(&dir, caller);
        for (called, role) in &dialed {
            let called = links_of(&dir, called);
            let mut pair = dial(&caller.client, &called.server, role).unwrap();
            assert_eq!(pair.say("hello"), "hello");
            assert_eq!(pair.called_by(), caller.identity);
            assert_eq!(pair.answered(), called.identity);
            assert!(pair.answered().has(role));
            assert_eq!(pair.caller.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
        }
    }
}

#[test]
fn a_certificate_says_exactly_its_roles() {
    let dir = cluster();
    for (name, told) in [
        ("a", "member a"),
        ("m", "manager"),
        ("both", "member both, manager"),
        ("operator", "operator"),
        ("client", "client"),
    ] {
        assert_eq!(links_of(&dir, name).identity.to_string(), told);
    }
    let a = links_of(&dir, "a").identity;
    assert!(
        a.is_member("a") && !a.is_member("b") && !a.is_member("") && !a.has(&Role::Manager) && !a.has(&Role::Operator)
    );
}

#[test]
fn whoever_answers_in_anothers_place_is_refused() {
    let dir = cluster();
    let caller = links_of(&dir, "a");
    for (answers, role) in [
        ("b", member("a")),
        ("b", Role::Manager),
        ("m", member("m")),
        ("both", member("b")),
        ("operator", Role::Manager),
        // In its own role, which nobody dials: its certificate is for calling alone.
        ("operator", Role::Operator),
        ("client", Role::Client),
    ] {
        let called = links_of(&dir, answers);
        let error = dial(&caller.client, &called.server, &role).map(|_| ()).unwrap_err();
        assert!(matches!(error, rustls::Error::InvalidCertificate(_)), "{answers} as {role}: {error}");
    }
}

#[test]
fn every_link_shows_its_certificates_anew() {
    let dir = cluster();
    let (caller, called) = (links_of(&dir, "a"), links_of(&dir, "m"));
    for _ in 0..3 {
        let pair = dial(&caller.client, &called.server, &Role::Manager).unwrap();
        assert_eq!(pair.caller.handshake_kind(), Some(rustls::HandshakeKind::Full));
        assert_eq!(pair.called_by().to_string(), "member a");
    }
}
