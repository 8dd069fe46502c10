//! Those who are not of the cluster, or no longer, or show nothing, are refused by the other side.

use crate::cluster::{cluster, dial, links_of, make, member, wanted};
use fawn_tls::authority::{Authority, CertificateRequest};
use fawn_tls::certificate::{Validity, now};
use fawn_tls::directory::init;
use fawn_tls::files::{read_chain, read_key, read_roots};
use fawn_tls::{Material, Role, for_clients, links};
use rustls::crypto::ring::default_provider;
use rustls::{CertificateError, ClientConfig, ServerConfig};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// A caller who does not look at its own certificate, as ours does: with that of `cert` and `key`, or none.
fn careless(ca: &Path, own: Option<&Material>) -> Arc<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(read_roots(ca).unwrap());
    Arc::new(match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            builder.with_client_auth_cert(read_chain(&own.cert).unwrap(), read_key(&own.key).unwrap()).unwrap()
        }
    })
}

/// One who answers with a certificate that it has not looked at, and asks for none.
fn careless_server(own: &Material) -> Arc<ServerConfig> {
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    Arc::new(builder.with_single_cert(read_chain(&own.cert).unwrap(), read_key(&own.key).unwrap()).unwrap())
}

/// A certificate of the cluster's authority for member a that is good at another time.
fn at_another_time(dir: &TempDir, name: &str, validity: Validity) -> Material {
    let ca = Material::in_dir(dir.path(), "ca");
    let authority = Authority::open(&ca.cert, &ca.key).unwrap();
    let request = CertificateRequest {
        subject: name.to_owned(),
        names: vec![member("a").dns_name()],
        hosts: Vec::new(),
        validity,
        serves: true,
    };
    let own = Material::in_dir(dir.path(), name);
    std::fs::copy(dir.path().join("a-key.pem"), &own.key).unwrap();
    std::fs::write(&own.cert, authority.issue_for(&request, &own.key).unwrap()).unwrap();
    own
}

fn refusal(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, role: &Role) -> rustls::Error {
    dial(client, server, role).map(|_| ()).unwrap_err()
}

#[test]
fn those_of_another_cluster_are_refused_by_both_sides() {
    let (ours, theirs) = (cluster(), cluster());
    let our_manager = links_of(&ours, "m");
    for name in ["a", "m", "operator", "client"] {
        let stranger = links_of(&theirs, name);
        let error = refusal(&stranger.client, &our_manager.server, &Role::Manager);
        assert!(matches!(error, rustls::Error::InvalidCertificate(_)), "a caller refuses: {error}");
        // One who would talk to anybody, with the certificate of another cluster.
        let reckless = careless(&ours.path().join("ca.pem"), Some(&Material::in_dir(theirs.path(), name)));
        let error = refusal(&reckless, &our_manager.server, &Role::Manager);
        assert!(matches!(error, rustls::Error::InvalidCertificate(_)), "the called one refuses: {error}");
    }
}

#[test]
fn who_shows_no_certificate_is_refused() {
    let dir = cluster();
    let nobody = careless(&dir.path().join("ca.pem"), None);
    for (name, role) in [("m", Role::Manager), ("a", member("a"))] {
        let error = refusal(&nobody, &links_of(&dir, name).server, &role);
        assert_eq!(error, rustls::Error::NoCertificatesPresented);
    }
}

#[test]
fn certificates_that_have_expired_or_are_not_valid_yet_are_refused() {
    let dir = cluster();
    let (now, day) = (now(), 86_400);
    let expired = at_another_time(&dir, "old", Validity { from: now - 9 * day, until: now - day });
    let early = at_another_time(&dir, "early", Validity { from: now + day, until: now + 9 * day });
    let ca = dir.path().join("ca.pem");
    for (own, is_expired) in [(&expired, true), (&early, false)] {
        let is_right = |error: &rustls::Error| match error {
            rustls::Error::InvalidCertificate(CertificateError::ExpiredContext { .. }) => is_expired,
            rustls::Error::InvalidCertificate(CertificateError::NotValidYetContext { .. }) => !is_expired,
            _ => false,
        };
        let error = refusal(&careless(&ca, Some(own)), &links_of(&dir, "m").server, &Role::Manager);
        assert!(is_right(&error), "the called one refuses: {error:?}");
        let error = refusal(&links_of(&dir, "m").client, &careless_server(own), &member("a"));
        assert!(is_right(&error), "the caller refuses: {error:?}");
    }
    // A process with such a certificate says so before it talks to anybody.
    let error = links(&expired).unwrap_err().to_string();
    assert!(error.contains("old.pem") && error.contains("it expired on 2") && error.contains("certs renew"), "{error}");
    assert!(links(&early).is_ok(), "a clock that is behind may come right");
}

#[test]
fn older_versions_of_tls_are_refused_on_links() {
    let dir = cluster();
    let own = Material::in_dir(dir.path(), "a");
    let old = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_root_certificates(read_roots(&own.ca).unwrap())
        .with_client_auth_cert(read_chain(&own.cert).unwrap(), read_key(&own.key).unwrap())
        .unwrap();
    let error = refusal(&Arc::new(old), &links_of(&dir, "m").server, &Role::Manager);
    assert!(matches!(error, rustls::Error::PeerIncompatible(_)), "{error}");
}

#[test]
fn files_that_do_not_belong_together_are_refused_in_a_sentence() {
    let (ours, theirs) = (cluster(), cluster());
    let own = Material::in_dir(ours.path(), "a");
    let of = |ca: &TempDir, cert: &str, key: &str| Material {
        ca: ca.path().join("ca.pem"),
        cert: ours.path().join(cert),
        key: ours.path().join(key),
    };
    for (files, says) in [
        (of(&theirs, "a.pem", "a-key.pem"), "a.pem for TLS: no authority of "),
        (of(&ours, "a.pem", "b-key.pem"), "b-key.pem for TLS: key and certificate "),
        (of(&ours, "ca.pem", "ca-key.pem"), "ca.pem for TLS: "),
        (of(&ours, "none.pem", "a-key.pem"), "none.pem for TLS: No such file"),
        (of(&ours, "a-key.pem", "a-key.pem"), "a-key.pem for TLS: it has no certificate in PEM form"),
        (of(&ours, "a.pem", "a.pem"), "have access (mode 0644): chmod 600 "),
    ] {
        let error = links(&files).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert!(!error.contains("BEGIN"), "{error}");
    }
    assert!(links(&own).is_ok());
}

#[test]
fn a_certificate_without_a_role_makes_no_links() {
    let dir = tempfile::tempdir().unwrap();
    init(dir.path(), &[wanted("web", &[], &["web.example"])], 90, now()).unwrap();
    let error = links(&Material::in_dir(dir.path(), "web")).unwrap_err().to_string();
    assert!(error.contains("has no role"), "{error}");
}

#[test]
fn two_authorities_are_trusted_while_one_replaces_the_other() {
    let dir = cluster();
    let old = std::fs::read_to_string(dir.path().join("ca.pem")).unwrap();
    let newer = tempfile::tempdir().unwrap();
    make(newer.path());
    let new = std::fs::read_to_string(newer.path().join("ca.pem")).unwrap();
    assert!(dial(&links_of(&newer, "a").client, &links_of(&dir, "m").server, &Role::Manager).is_err());
    for dir in [&dir, &newer] {
        std::fs::write(dir.path().join("ca.pem"), format!("{new}{old}")).unwrap();
    }
    for (caller, called) in [(&dir, &newer), (&newer, &dir)] {
        let mut pair = dial(&links_of(caller, "a").client, &links_of(called, "m").server, &Role::Manager).unwrap();
        assert_eq!(pair.say("hello"), "hello");
    }
}

#[test]
fn clients_of_the_memcached_port_verify_a_member_by_its_hosts() {
    let dir = cluster();
    let own = Material::in_dir(dir.path(), "a");
    let server = for_clients(&own.cert, &own.key).unwrap();
    let client = careless(&own.ca, None);
    for (host, is_good) in [("a.example", true), ("127.0.0.1", true), ("b.example", false), ("127.0.0.2", false)] {
        let name = rustls::pki_types::ServerName::try_from(host).unwrap();
        assert_eq!(crate::cluster::dial_host(&client, &server, name).is_ok(), is_good, "{host}");
    }
}
