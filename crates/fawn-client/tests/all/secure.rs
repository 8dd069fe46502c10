//! A cluster with certificates.

use crate::cluster::{Cluster, run};
use fawn_client::{Client, ConnectError, Options};
use fawn_tls::certificate::now;
use fawn_tls::directory::{Applicant, init};
use fawn_tls::{Material, Role};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

fn certificates(dir: &Path) {
    let member = |name: &str| (name.to_owned(), Role::Member(name.to_owned()));
    let others = [("manager", Role::Manager), ("operator", Role::Operator), ("client", Role::Client)];
    let all: Vec<Applicant> = ["a", "b"]
        .map(member)
        .into_iter()
        .chain(others.map(|(name, role)| (name.to_owned(), role)))
        .map(|(name, role)| Applicant { name, roles: BTreeSet::from([role]), hosts: BTreeSet::new() })
        .collect();
    init(dir, &all, 90, now()).unwrap();
}

#[test]
fn a_client_with_a_certificate_is_served_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let (certs, other) = (dir.path().join("certs"), dir.path().join("other"));
    certificates(&certs);
    certificates(&other);
    let cluster = Cluster::with(2, Some(certs));
    run(async {
        let certificates = cluster.material("client");
        let client = Client::connect(Options { certificates, ..cluster.options() }).await.unwrap();
        for n in 0..50 {
            client.put(format!("key{n}"), "v").await.unwrap();
        }
        let by_member = Options {
            addresses: vec![format!("b={}", cluster.address_of("b"))],
            certificates: cluster.material("client"),
            ..cluster.options()
        };
        let second = Client::connect(by_member).await.unwrap();
        assert_eq!(second.get("key7").await.unwrap().unwrap().bytes, b"v");

        let connect_timeout = Duration::from_millis(800);
        for certificates in [None, Some(Material::in_dir(&other, "client"))] {
            let options = Options { certificates, connect_timeout, ..cluster.options() };
            let refused = Client::connect(options).await.unwrap_err();
            assert!(matches!(refused, ConnectError::NoAnswer { .. }), "{refused}");
        }
        let missing = Options { certificates: Some(Material::in_dir(dir.path(), "none")), ..cluster.options() };
        assert!(matches!(Client::connect(missing).await.unwrap_err(), ConnectError::Tls(_)));
    });
}
