//! Nanoseconds to parse a request, and to answer it: `cargo bench -p fawn-memcache`. Under `cargo test --benches` it runs
//! a few rounds, so that it never rots.

use fawn_memcache::{CommandOutcome, Hit, Session, SessionEvent, SessionLimits};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let rounds = if std::env::args().any(|argument| argument == "--bench") { 200_000 } else { 10 };
    let keys = (0..100).map(|at| format!("object:{at:08}")).collect::<Vec<_>>();
    let value = "v".repeat(100);
    let hit = CommandOutcome::Hit(Hit { flags: 7, cas: 1 << 40, ..Hit::of(value.as_bytes()) });
    let stored = CommandOutcome::Stored { cas: 1, size: value.len() };
    let pipeline = |request: &dyn Fn(&String) -> String| keys.iter().map(request).collect::<String>();
    for (name, input, answer) in [
        ("get key", pipeline(&|key| format!("get {key}\r\n")), hit),
        ("get of 100 keys", format!("get {}\r\n", keys.join(" ")), hit),
        ("set of 100 B", pipeline(&|key| format!("set {key} 0 0 100\r\n{value}\r\n")), stored),
        ("mg key v", pipeline(&|key| format!("mg {key} v\r\n")), hit),
        ("mg key s c t v q k O1", pipeline(&|key| format!("mg {key} s c t v q k O1\r\n")), hit),
        ("ms key 100 T60 F3", pipeline(&|key| format!("ms {key} 100 T60 F3\r\n{value}\r\n")), stored),
    ] {
        let parse = measure(input.as_bytes(), rounds, None);
        let both = measure(input.as_bytes(), rounds, Some(&answer));
        println!("{name:<24} parse {parse:6.1} ns   parse and answer {both:6.1} ns");
    }
}

/// Nanoseconds per request of the input.
fn measure(input: &[u8], rounds: u32, answer: Option<&CommandOutcome<'_>>) -> f64 {
    let mut session = Session::new(SessionLimits::default());
    let mut out = Vec::with_capacity(1 << 16);
    let mut requests = 0u64;
    let start = Instant::now();
    for _ in 0..=rounds / 100 {
        let mut rest = black_box(input);
        out.clear();
        loop {
            let step = session.next(rest);
            rest = &rest[step.consumed..];
            match step.event {
                SessionEvent::Request(request) => {
                    requests += 1;
                    match answer {
                        Some(answer) => request.responder.write(&mut out, request.key, answer),
                        None => _ = black_box(request),
                    }
                }
                SessionEvent::NeedMore { .. } => break,
                other => panic!("{other:?} is no request"),
            }
        }
        black_box(&out);
    }
    start.elapsed().as_secs_f64() * 1e9 / requests as f64
}
