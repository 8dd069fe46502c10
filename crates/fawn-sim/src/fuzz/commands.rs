//! What a client of Redis's protocol sends, and what a server answers it.

use fawn_check::random::Random;
use fawn_resp::client::{push_command, whole_reply};
use fawn_resp::reply::{self, RespVersion};
use fawn_resp::{CommandEvent, CommandReader, ReaderLimits};

use super::pieces;
use super::target::{Input, Target};

const LIMITS: ReaderLimits = ReaderLimits { words: 64, command_bytes: 4096 };

/// [`CommandReader`]. In whatever pieces commands come, they are those that the whole input has.
pub(super) struct Commands;

/// [`whole_reply`].
pub(super) struct Replies;

/// The events of an input that comes in pieces, as text, until no more can be understood.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, is_locked: bool) -> Vec<String> {
    let (mut reader, mut held, mut events) = (CommandReader::new(LIMITS, is_locked), Vec::new(), Vec::new());
    for piece in pieces {
        held.extend_from_slice(piece);
        loop {
            let step = reader.next(&held);
            let consumed = step.consumed;
            assert!(consumed <= held.len(), "no more is consumed than there is");
            let event = match step.event {
                CommandEvent::NeedMore { total } => {
                    assert!(total > held.len() - consumed, "what it waits for is not there");
                    held.drain(..consumed);
                    break;
                }
                CommandEvent::Command(words) => {
                    assert!(
                        (1..=LIMITS.words).contains(&words.len()),
                        "a command has a name, and no more words than it may"
                    );
                    format!("{:?}", words.iter().collect::<Vec<_>>())
                }
                CommandEvent::Excess(why) => format!("{why:?}"),
                CommandEvent::Broken(error) => {
                    events.push(error.to_string());
                    return events;
                }
            };
            events.push(event);
            held.drain(..consumed);
        }
    }
    events
}

impl Target for Commands {
    fn name(&self) -> &'static str {
        "redis-command"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let mut bytes = Vec::new();
        for _ in 0..random.within(1, 6) {
            let longest = if random.chance(1, 8) { 5000 } else { 40 };
            let most = if random.chance(1, 8) { 80 } else { 6 };
            let mut words = vec![Vec::new(); random.within(1, most) as usize];
            for word in &mut words {
                word.resize(random.below(longest) as usize, 0);
                random.fill(word);
            }
            if random.chance(3, 4) {
                push_command(&mut bytes, &words.iter().map(Vec::as_slice).collect::<Vec<_>>());
            } else {
                bytes.extend_from_slice(b"SET key \"a \\x41\\n\" 'b'\r\n");
            }
        }
        pieces::cut(random, bytes)
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        // The events as text are longer than the words, and a word takes a place.
        64 * input.iter().map(Vec::len).sum::<usize>() as u64 + (64 << 10)
    }

    fn execute(&self, input: &Input) -> bool {
        let whole = input.concat();
        let mut is_decoded = false;
        for is_locked in [true, false] {
            let events = read(input.iter().map(Vec::as_slice), is_locked);
            assert_eq!(events, read([whole.as_slice()], is_locked), "it makes no difference how the bytes come");
            is_decoded |= !events.is_empty();
        }
        is_decoded
    }
}

impl Target for Replies {
    fn name(&self) -> &'static str {
        "redis-reply"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let mut bytes = Vec::new();
        let mut lacking = 1;
        while lacking > 0 {
            lacking -= 1;
            let version = if random.chance(1, 2) { RespVersion::Two } else { RespVersion::Three };
            let more = if lacking < 20 { random.below(4) as usize } else { 0 };
            match random.below(9) {
                0 => reply::simple(&mut bytes, "OK"),
                1 => reply::error(&mut bytes, b"ERR no"),
                2 => reply::integer(&mut bytes, random.word().cast_signed()),
                3 => reply::bulk(&mut bytes, &vec![b'v'; random.below(300) as usize]),
                4 => reply::null(&mut bytes, version),
                5 => reply::text(&mut bytes, "a:1", version),
                6 => {
                    reply::array(&mut bytes, more);
                    lacking += more;
                }
                7 => {
                    reply::map(&mut bytes, more, version);
                    lacking += 2 * more;
                }
                _ => {
                    reply::set(&mut bytes, more, version);
                    lacking += more;
                }
            }
        }
        vec![bytes]
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        2 * input.iter().map(Vec::len).sum::<usize>() as u64 + (16 << 10)
    }

    fn execute(&self, input: &Input) -> bool {
        let whole = input.concat();
        let Ok(found) = whole_reply(&whole) else { return false };
        let Some(bytes) = found else { return false };
        assert!((3..=whole.len()).contains(&bytes), "a reply has a kind and a line's end");
        assert_eq!(whole_reply(&whole[..bytes]), Ok(Some(bytes)), "what follows it makes no difference");
        assert_eq!(whole_reply(&whole[..bytes - 1]), Ok(None), "a reply that is cut is no other");
        true
    }
}
