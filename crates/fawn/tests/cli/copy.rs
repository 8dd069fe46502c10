//! `fawn load --from-memcached`: moving from a running memcached.

use crate::server::{Kind, Server, assert_same_lines, fawn, on_each_server};

on_each_server!(a_running_memcached_is_copied_with_flags_expiry_and_binary_keys, copying_into_a_dead_server_fails);

fn a_running_memcached_is_copied_with_flags_expiry_and_binary_keys(kind: Kind) {
    let (Some(from), Some(to)) = (Server::memcached(&[]), Server::start(kind)) else { return };
    let mut lines: Vec<String> = (0..20_000)
        .map(|n| format!("{{\"key\":\"key-{n}\",\"value\":\"{}\",\"flags\":{n}}}", "é".repeat(n % 99)))
        .collect();
    lines.push(r#"{"key_base64":"dHdvIHdvcmRz","value_base64":"/wA="}"#.to_owned());
    assert_eq!(from.load(&from.file("in.jsonl", lines.join("\n")), &[]).code, 0);
    fawn(&["set", "--to", &from.address, "--expire", "1h", "short-lived", "v"]);

    let run = fawn(&["load", "--to", &to.address, "--from-memcached", &from.address]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with("loaded 20,002 records"), "{}", run.stdout);

    let (was, is) = (from.dump_lines("jsonl"), to.dump_lines("jsonl"));
    let permanent = |lines: Vec<String>| lines.into_iter().filter(|line| !line.contains("exptime")).collect::<Vec<_>>();
    assert_same_lines(&permanent(is), &permanent(was));
    let left = |server: &Server| -> u32 {
        server.say("mg short-lived t", "\r\n").trim().strip_prefix("HD t").unwrap().parse().unwrap()
    };
    let (was, is) = (left(&from), left(&to));
    assert!(was > 1800 && was.abs_diff(is) <= 10, "{was} {is}");
}

fn copying_into_a_dead_server_fails(kind: Kind) {
    let (Some(from), Some(mut to)) = (Server::memcached(&[]), Server::start(kind)) else { return };
    to.kill();
    let run = fawn(&["load", "--to", &to.address, "--from-memcached", &from.address]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("cannot connect"), "{}", run.stderr);
}
