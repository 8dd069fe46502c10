//! The guide's real data: the index of Debian's packages, converted, loaded, and read back by a stock client.

use std::collections::HashMap;
use std::process::Command;

use crate::server::{Kind, Server, on_each_server};

on_each_server!(debians_package_index_is_loaded_and_read_back_by_a_stock_client);

/// Keys that one run of memccat asks for.
const KEYS_A_RUN: usize = 1000;

fn debians_package_index_is_loaded_and_read_back_by_a_stock_client(kind: Kind) {
    let Some(mut server) = Server::start(kind) else { return };
    if Command::new("memccat").arg("--version").output().is_err() {
        return eprintln!("skipped: memccat is not installed (apt-get install libmemcached-tools)");
    }
    let page = include_str!("../../../../book/src/guide/real-data.md");
    let command = page.lines().find(|line| line.starts_with("apt-cache dumpavail")).expect("the guide has it");
    let converted = Command::new("sh").args(["-c", command]).current_dir(server.dir()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&converted.stderr).as_ref(), "", "{command}");
    let path = server.dir().join("packages.tsv");
    let tsv = std::fs::read_to_string(&path).unwrap();
    if tsv.lines().count() < 1000 {
        return eprintln!("skipped: there is no package index here (apt-get update)");
    }
    let packages = unescaped(&tsv);
    assert!(packages.len() >= 50_000, "{} packages", packages.len());

    let run = server.load(&path, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let names: Vec<&str> = packages.keys().copied().collect();
    if kind.keeps_data() {
        // What is there afterwards was there before.
        read_back(&server, &packages, &names[..KEYS_A_RUN]);
        server.restart();
    }
    read_back(&server, &packages, &names);
}

/// Name and stanza of every package.
fn unescaped(tsv: &str) -> HashMap<&str, String> {
    let unescape = |text: &str| {
        let mut out = String::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            out.push(match char {
                '\\' => match chars.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('\\') => '\\',
                    other => panic!("the conversion wrote an escape {other:?}"),
                },
                char => char,
            });
        }
        out
    };
    tsv.lines().map(|line| line.split_once('\t').unwrap()).map(|(name, stanza)| (name, unescape(stanza))).collect()
}

/// Compares values with what memccat prints: the values, each with a line end behind it.
fn read_back(server: &Server, packages: &HashMap<&str, String>, names: &[&str]) {
    for names in names.chunks(KEYS_A_RUN) {
        let servers = format!("--servers={}", server.address);
        let output = Command::new("memccat").arg(servers).args(names).output().unwrap();
        let expected: String = names.iter().flat_map(|name| [packages[name].as_str(), "\n"]).collect();
        assert!(output.stdout == expected.as_bytes(), "memccat read something else among {names:?}");
    }
}
