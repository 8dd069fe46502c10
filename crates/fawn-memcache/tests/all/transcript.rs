//! What a session makes of its input, as text.

use fawn_memcache::{Command, Session, SessionEvent, SessionLimits};

/// Most bytes that a session may ask for beyond the item limit: a line, and a data block's line break.
const LINE: usize = fawn_memcache::MAX_LINE_BYTES + 4;

/// Feeds the input piece by piece, as a connection does, and tells each event but `NeedMore`.
pub fn transcript<'a>(
    mut session: Session,
    limits: SessionLimits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<String> {
    let (mut events, mut pending) = (Vec::new(), Vec::new());
    for piece in pieces {
        pending.extend_from_slice(piece);
        loop {
            let step = session.next(&pending);
            let consumed = step.consumed;
            assert!(consumed <= pending.len(), "a step consumes what there is");
            let progress = consumed > 0;
            match step.event {
                SessionEvent::Request(request) => {
                    events.push(format!("{} {:?}", request.key.escape_ascii(), request.command));
                    if !request.responder.is_last() {
                        events.push("more keys".to_string());
                    }
                    if matches!(request.command, Command::Authenticate { password: b"right", .. }) {
                        session.authenticated();
                    }
                }
                SessionEvent::Reply(line) => events.push(line.trim_end().to_string()),
                SessionEvent::Abandon(line) => events.push(format!("abandon: {}", line.trim_end())),
                SessionEvent::NeedMore { total } => {
                    let rest = pending.len() - consumed;
                    assert!(total > rest, "what is there is not enough");
                    assert!(total <= limits.item_bytes + LINE, "no more is asked for than an item takes");
                    pending.drain(..consumed);
                    break;
                }
                SessionEvent::Close => {
                    events.push("close".to_string());
                    return events;
                }
            }
            assert!(progress, "an event takes bytes");
            pending.drain(..consumed);
        }
    }
    events
}

/// The whole input at once, with memcached's limits.
pub fn told(input: &[u8]) -> Vec<String> {
    transcript(Session::new(SessionLimits::default()), SessionLimits::default(), [input])
}
