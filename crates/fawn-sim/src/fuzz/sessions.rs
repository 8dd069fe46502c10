//! A connection's bytes, cut anywhere: the same events as uncut, no request for more than an item and a line, an answer
//! for each request.

use std::io::Write as _;

use fawn_check::random::Random;
use fawn_memcache::{
    Command, CommandOutcome, CommandRequest, CounterValue, Hit, MAX_LINE_BYTES, Session, SessionEvent, SessionLimits,
};

use super::{Input, Target};

const LIMITS: SessionLimits = SessionLimits { item_bytes: 300 };

/// Longest `user password`.
const MOST_CREDENTIALS: usize = 16_384;

const WORDS: &[&str] = &[
    "get",
    "gets",
    "gat",
    "gats",
    "set",
    "add",
    "replace",
    "append",
    "prepend",
    "cas",
    "delete",
    "incr",
    "decr",
    "touch",
    "ms",
    "mg",
    "md",
    "ma",
    "me",
    "mn",
    "flush_all",
    "stats",
    "version",
    "verbosity",
    "lru_crawler",
    "metadump",
    "all",
    "noreply",
    "quit",
    "cache_memlimit",
    "slabs",
    "watch",
    "debug",
    "k",
    "key",
    "Zm9v",
    "b",
    "q",
    "v",
    "t",
    "f",
    "s",
    "c",
    "I",
    "T5",
    "N0",
    "N30",
    "O1",
    "E9",
    "C7",
    "MA",
    "M+",
    "MZ",
    "D18446744073709551615",
    "J5",
    "F7",
    "S3",
    "R30",
    "0",
    "1",
    "5",
    "90",
    "-1",
    "18446744073709551616",
    "4294967295",
    "GET",
    "HTTP/1.1",
    "tell user p",
];

/// [`Session::next`]. The input's parts are what each receive brings, but for the first: its first byte says whether
/// the client has to authenticate.
pub(super) struct Sessions;

impl Target for Sessions {
    fn name(&self) -> &'static str {
        "session"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let mut input = vec![vec![u8::from(random.chance(1, 4))]];
        let mut bytes = Vec::new();
        for _ in 0..random.within(1, 12) {
            command(random, &mut bytes);
            if random.chance(1, 2) {
                input.push(std::mem::take(&mut bytes));
            }
        }
        input.push(bytes);
        input
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        // The input, whole and as far as it has come; and the longest line, told and answered.
        4 * input.iter().map(|part| part.len() as u64).sum::<u64>() + (32 << 10)
    }

    fn execute(&self, input: &Input) -> bool {
        let [first, pieces @ ..] = input.as_slice() else { return false };
        let new =
            if first.first().is_some_and(|byte| byte & 1 == 1) { Session::with_authentication } else { Session::new };
        let whole = pieces.concat();
        let told = transcript(new(LIMITS), [whole.as_slice()].into_iter());
        let told_of_pieces = transcript(new(LIMITS), pieces.iter().map(Vec::as_slice));
        assert_eq!(told, told_of_pieces, "where bytes are cut changes nothing");
        told.requests > 0
    }
}

/// Something that looks like a command, with its block if it announces one.
fn command(random: &mut Random, bytes: &mut Vec<u8>) {
    let words: Vec<&str> = (0..random.within(1, 7)).map(|_| *random.pick(WORDS)).collect();
    let end = *random.pick(&["\r\n", "\r\n", "\r\n", "\n", " \r\n"]);
    match random.below(5) {
        0 => {
            let (verb, length) = (*random.pick(&["set", "add", "append", "replace"]), random.below(60));
            bytes.extend(format!("{verb} key {} 0 {length}\r\n", random.below(3)).bytes());
            bytes.extend((0..length).map(|_| random.word() as u8));
            bytes.extend(b"\r\n");
        }
        1 => {
            let length = random.below(60);
            bytes.extend(format!("ms key {length} {}{end}", words.join(" ")).bytes());
            bytes.extend((0..length).map(|_| b'v'));
            bytes.extend(b"\r\n");
        }
        2 => bytes.extend(format!("{} key {}{end}", random.pick(WORDS), words.join(" ")).bytes()),
        3 => bytes.extend(format!("get {}{end}", words.join(" ")).bytes()),
        _ => bytes.extend(format!("{}{end}", words.join(" ")).bytes()),
    }
}

/// What the bytes say and what answers them, as one checksum, so that what is held is the session's doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Transcript {
    checksum: u32,
    requests: u64,
}

fn transcript<'a>(mut session: Session, pieces: impl Iterator<Item = &'a [u8]>) -> Transcript {
    let (mut told, mut pending, mut text) = (Transcript::default(), Vec::new(), Vec::new());
    for piece in pieces {
        pending.extend_from_slice(piece);
        loop {
            session.upcoming(&pending).for_each(drop);
            let step = session.next(&pending);
            let consumed = step.consumed;
            text.clear();
            match step.event {
                SessionEvent::Request(request) => {
                    told.requests += 1;
                    write!(text, "{request:?}").expect("memory takes text");
                    request.responder.write(&mut text, request.key, &answer(&request));
                    if let Command::Authenticate { password: b"p", .. } = request.command {
                        session.authenticated();
                    }
                }
                SessionEvent::Reply(line) | SessionEvent::Abandon(line) => text.extend_from_slice(line.as_bytes()),
                SessionEvent::NeedMore { total } => {
                    let most = LIMITS.item_bytes.max(MOST_CREDENTIALS) + MAX_LINE_BYTES + 4;
                    assert!(total > pending.len() - consumed && total <= most, "it waits for {total} bytes");
                    pending.drain(..consumed);
                    break;
                }
                SessionEvent::Close => {
                    told.checksum = crc32c::crc32c_append(told.checksum, b"closed");
                    return told;
                }
            }
            told.checksum = crc32c::crc32c_append(told.checksum, &text);
            assert!(consumed > 0, "a step takes bytes");
            pending.drain(..consumed);
        }
    }
    told
}

fn answer<'a>(request: &CommandRequest<'a>) -> CommandOutcome<'a> {
    match request.command {
        Command::Get | Command::GetAndTouch(_) | Command::MetaGet(_) => CommandOutcome::Hit(Hit::of(request.key)),
        Command::Store(store) => CommandOutcome::Stored { cas: 1, size: store.value.len() },
        Command::Delete(_) => CommandOutcome::Deleted,
        Command::Touch(_) => CommandOutcome::Touched,
        Command::Arithmetic(step) => CommandOutcome::Number(CounterValue {
            value: step.delta,
            cas: 1,
            ttl_before: None,
            ttl: Some(1),
            created: false,
        }),
        Command::ValueTooLarge(_) => CommandOutcome::TooLarge,
        Command::MetaDebug => CommandOutcome::Miss,
        _ => CommandOutcome::Ok,
    }
}
