//! What the crates depend on: allowed licences, no banned crates, arrows in one direction, and a reason for each.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::licence::is_allowed;
use crate::process::{cargo_command, output};

/// Crates that must not come back, with the reason.
const BANNED: &[(&str, &str)] = &[
    ("rkyv", "repeated memory-safety advisories; frames are zerocopy"),
    ("bincode", "unmaintained and without a stable format"),
    ("protobuf", "advisories; messages are our own"),
    ("openssl-sys", "TLS is rustls"),
    ("native-tls", "TLS is rustls"),
    ("rapl-energy", "GPL-3.0"),
    ("tokio-uring", "dormant"),
    ("async-std", "dormant"),
];

/// The workspace's own crates that each of them may use, tests aside. ARCHITECTURE.md says why.
const ARROWS: &[(&str, &[&str])] = &[
    ("fawn-ring", &[]),
    ("fawn-memcache", &[]),
    ("fawn-resp", &[]),
    ("fawn-rdb", &[]),
    ("fawn-http", &[]),
    ("fawn-files", &[]),
    ("fawn-machine", &[]),
    ("fawn-report", &[]),
    ("fawn-workload", &[]),
    ("fawn-tls", &["fawn-files"]),
    ("fawn-admin", &[]),
    ("fawn-plan", &["fawn-report"]),
    ("fawn-gordon", &["fawn-plan", "fawn-report", "fawn-ring", "fawn-store", "fawn-workload"]),
    ("fawn-meter", &["fawn-files", "fawn-report"]),
    ("fawn-joule", &["fawn-files", "fawn-loadgen", "fawn-machine", "fawn-meter", "fawn-report", "fawn-workload"]),
    ("fawn-loadgen", &["fawn-machine", "fawn-memcache", "fawn-meter", "fawn-report", "fawn-resp", "fawn-workload"]),
    ("fawn-store", &["fawn-ring"]),
    ("fawn-kv", &["fawn-ring", "fawn-store"]),
    ("fawn-flash", &["fawn-files", "fawn-machine", "fawn-ring", "fawn-store"]),
    (
        "fawn-bench",
        &[
            "fawn-files",
            "fawn-flash",
            "fawn-machine",
            "fawn-meter",
            "fawn-report",
            "fawn-ring",
            "fawn-store",
            "fawn-workload",
        ],
    ),
    (
        "fawn-papers",
        &[
            "fawn-bench",
            "fawn-files",
            "fawn-flash",
            "fawn-gordon",
            "fawn-joule",
            "fawn-loadgen",
            "fawn-machine",
            "fawn-meter",
            "fawn-plan",
            "fawn-report",
            "fawn-ring",
            "fawn-store",
            "fawn-workload",
        ],
    ),
    ("fawn-client", &["fawn-kv", "fawn-ring", "fawn-tls"]),
    ("fawn-manager", &["fawn-admin", "fawn-files", "fawn-kv", "fawn-ring", "fawn-tls"]),
    (
        "fawn-node",
        &[
            "fawn-admin",
            "fawn-files",
            "fawn-flash",
            "fawn-http",
            "fawn-kv",
            "fawn-memcache",
            "fawn-resp",
            "fawn-ring",
            "fawn-store",
            "fawn-tls",
        ],
    ),
    ("fawn-check", &[]),
    (
        "fawn-transfer",
        &[
            "fawn-client",
            "fawn-files",
            "fawn-flash",
            "fawn-kv",
            "fawn-memcache",
            "fawn-rdb",
            "fawn-resp",
            "fawn-ring",
            "fawn-store",
            "fawn-tls",
        ],
    ),
    (
        "fawn-sim",
        &[
            "fawn-check",
            "fawn-gordon",
            "fawn-http",
            "fawn-kv",
            "fawn-memcache",
            "fawn-plan",
            "fawn-rdb",
            "fawn-resp",
            "fawn-ring",
            "fawn-store",
        ],
    ),
    (
        "fawn",
        &[
            "fawn-admin",
            "fawn-bench",
            "fawn-client",
            "fawn-files",
            "fawn-flash",
            "fawn-gordon",
            "fawn-joule",
            "fawn-kv",
            "fawn-loadgen",
            "fawn-machine",
            "fawn-manager",
            "fawn-memcache",
            "fawn-meter",
            "fawn-node",
            "fawn-papers",
            "fawn-plan",
            "fawn-report",
            "fawn-ring",
            "fawn-store",
            "fawn-tls",
            "fawn-transfer",
            "fawn-workload",
        ],
    ),
    ("fawn-trial", &["fawn-check", "fawn-client", "fawn-memcache"]),
    ("xtask", &["fawn-check", "fawn-sim"]),
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// `None` for the workspace's own.
    source: Option<String>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `None`, `dev` or `build`.
    kind: Option<String>,
}

/// Every violation; `architecture` is the text of ARCHITECTURE.md.
///
/// # Errors
/// Cargo cannot be asked.
pub fn check(architecture: &str) -> anyhow::Result<Vec<String>> {
    let metadata: Metadata =
        serde_json::from_str(&output(cargo_command().args(["metadata", "--format-version", "1", "--locked"]))?)?;
    Ok(complaints(&metadata, architecture))
}

fn complaints(metadata: &Metadata, architecture: &str) -> Vec<String> {
    let arrows: BTreeMap<_, _> = ARROWS.iter().copied().collect();
    let mut complaints = Vec::new();
    for package in &metadata.packages {
        let Package { name, version, license, .. } = package;
        if let Some((_, reason)) = BANNED.iter().find(|(banned, _)| banned == name) {
            complaints.push(format!("{name} {version} is banned: {reason}"));
        }
        let license = license.as_deref().unwrap_or_default();
        if !is_allowed(license) {
            complaints.push(format!("{name} {version}: its licence `{license}` is not allowed"));
        }
        if package.source.is_none() {
            complaints.extend(wrong_arrows(package, &arrows));
            complaints.extend(unexplained(package, &arrows, architecture));
        }
    }
    complaints
}

/// The edges from one of our crates that the layout does not know.
fn wrong_arrows(package: &Package, arrows: &BTreeMap<&str, &[&str]>) -> Vec<String> {
    let name = &package.name;
    let Some(allowed) = arrows.get(name.as_str()) else {
        return vec![format!("{name} is a new crate: add it to the arrows here and to ARCHITECTURE.md")];
    };
    let ours = |dependency: &&Dependency| arrows.contains_key(dependency.name.as_str());
    let edges = package.dependencies.iter().filter(|dependency| dependency.kind.as_deref() != Some("dev")).filter(ours);
    let wrong = edges.filter(|dependency| !allowed.contains(&dependency.name.as_str()));
    wrong.map(|dependency| format!("{name} must not depend on {}: see ARCHITECTURE.md", dependency.name)).collect()
}

/// What one of our crates takes from outside without a line in ARCHITECTURE.md that says why.
fn unexplained(package: &Package, arrows: &BTreeMap<&str, &[&str]>, architecture: &str) -> Vec<String> {
    let outside = package.dependencies.iter().filter(|dependency| !arrows.contains_key(dependency.name.as_str()));
    let missing = outside.filter(|dependency| !architecture.contains(&format!("`{}`", dependency.name)));
    missing
        .map(|dependency| format!("ARCHITECTURE.md does not say why {} uses {}", package.name, dependency.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, license: &str, ours: bool, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependency = |(name, kind): &(&str, Option<&str>)| Dependency {
            name: (*name).to_owned(),
            kind: kind.map(str::to_owned),
        };
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: Some(license.to_owned()),
            source: (!ours).then(|| "registry".to_owned()),
            dependencies: dependencies.iter().map(dependency).collect(),
        }
    }

    #[test]
    fn good_dependencies_pass() {
        let packages = vec![
            package(
                "fawn-store",
                "Apache-2.0",
                true,
                &[("fawn-ring", None), ("fawn-sim", Some("dev")), ("crc32c", None)],
            ),
            package("serde", "MIT OR Apache-2.0", false, &[]),
        ];
        assert_eq!(complaints(&Metadata { packages }, "| `crc32c` | store | checksum |"), [""; 0]);
    }

    #[test]
    fn banned_foreign_unexplained_and_wrong_dependencies_are_named() {
        let cases = [
            (package("bincode", "MIT", false, &[]), "is banned"),
            (package("copyleft", "GPL-3.0", false, &[]), "licence `GPL-3.0`"),
            (package("fawn-store", "Apache-2.0", true, &[("fawn-flash", None)]), "must not depend on fawn-flash"),
            (package("fawn-ring", "Apache-2.0", true, &[("left-pad", None)]), "why fawn-ring uses left-pad"),
            (package("fawn-surprise", "Apache-2.0", true, &[]), "new crate"),
        ];
        for (package, expected) in cases {
            let found = complaints(&Metadata { packages: vec![package] }, "");
            assert!(found.len() == 1 && found[0].contains(expected), "{expected}: {found:?}");
        }
    }
}
