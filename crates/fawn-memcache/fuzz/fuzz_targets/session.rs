//! Any bytes, cut anywhere: no panic, no request for more memory than an item and a line, the same events as uncut, and
//! an answer for each request.

#![no_main]

use fawn_memcache::{Answer, Command, Event, Hit, Limits, MAX_LINE_BYTES, Number, Request, Session};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits { item_bytes: 300 };

fuzz_target!(|data: &[u8]| {
    let Some((&first, input)) = data.split_first() else { return };
    let piece = usize::from(first & 63) + 1;
    let new = if first & 64 == 0 { Session::new } else { Session::with_authentication };
    let whole = run(new(LIMITS), [input].into_iter());
    assert_eq!(run(new(LIMITS), input.chunks(piece)), whole);
});

/// What the input says and what answers it.
fn run<'a>(mut session: Session, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let (mut out, mut pending) = (Vec::new(), Vec::new());
    for piece in pieces {
        pending.extend_from_slice(piece);
        loop {
            let step = session.next(&pending);
            let consumed = step.consumed;
            match step.event {
                Event::Request(request) => {
                    out.extend_from_slice(format!("{request:?}").as_bytes());
                    request.responder.write(&mut out, request.key, &answer(&request));
                    if let Command::Authenticate { password: b"p", .. } = request.command {
                        session.authenticated();
                    }
                }
                Event::Reply(line) | Event::Abandon(line) => out.extend_from_slice(line.as_bytes()),
                Event::NeedMore { total } => {
                    let most = LIMITS.item_bytes.max(16_384) + MAX_LINE_BYTES + 4;
                    assert!(total > pending.len() - consumed && total <= most);
                    pending.drain(..consumed);
                    break;
                }
                Event::Close => return out,
            }
            assert!(consumed > 0);
            pending.drain(..consumed);
        }
    }
    out
}

fn answer<'a>(request: &Request<'a>) -> Answer<'a> {
    match request.command {
        Command::Get | Command::GetAndTouch(_) | Command::MetaGet(_) => Answer::Hit(Hit::of(request.key)),
        Command::Store(store) => Answer::Stored { cas: 1, size: store.value.len() },
        Command::Delete(_) => Answer::Deleted,
        Command::Touch(_) => Answer::Touched,
        Command::Arithmetic(step) => {
            Answer::Number(Number { value: step.delta, cas: 1, ttl_before: None, ttl: Some(1), created: false })
        }
        Command::ValueTooLarge(_) => Answer::TooLarge,
        Command::MetaDebug => Answer::Miss,
        _ => Answer::Ok,
    }
}
