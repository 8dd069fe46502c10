use crate::client::{MalformedReply, Reply, push_command, whole_reply};
use crate::reply::{self, RespVersion};
use crate::{CommandEvent, CommandReader, CommandStep, Excess, ProtocolError, ReaderLimits};
use proptest::prelude::*;

const LIMITS: ReaderLimits = ReaderLimits { words: 8, command_bytes: 200 };

/// What a reader says of an input that comes in pieces which end at these places, and what it has left of it.
fn read(input: &[u8], ends: &[usize], is_locked: bool) -> (Vec<String>, usize) {
    let mut reader = CommandReader::new(LIMITS, is_locked);
    let (mut events, mut at, mut wanted) = (Vec::new(), 0, 0);
    for end in ends.iter().copied().chain([input.len()]) {
        while end - at >= wanted {
            let CommandStep { consumed, event } = reader.next(&input[at..end]);
            let text = match event {
                CommandEvent::Command(words) => {
                    let words: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
                    words.join("|")
                }
                CommandEvent::Excess(why) => format!("{why:?}"),
                CommandEvent::Broken(error) => {
                    events.push(format!("broken: {error}"));
                    return (events, 0);
                }
                CommandEvent::NeedMore { total } => {
                    at += consumed;
                    assert!(total > end - at, "what it waits for is not there");
                    wanted = total;
                    continue;
                }
            };
            (at, wanted) = (at + consumed, 0);
            events.push(text);
        }
    }
    (events, input.len() - at)
}

fn whole(input: &[u8]) -> Vec<String> {
    let (events, left) = read(input, &[], false);
    let all: Vec<usize> = (0..input.len()).collect();
    assert_eq!((&events, left), (&read(input, &all, false).0, left), "byte by byte it is the same");
    events
}

#[test]
fn arrays_and_lines_are_commands() {
    assert_eq!(whole(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n"), ["GET|k", "PING"]);
    assert_eq!(whole(b"PING\r\n\r\n  \r\nset \"a b\" c\n"), ["PING", "set|a b|c"]);
    assert_eq!(whole(b"*0\r\n*-5\r\n*1\r\n$0\r\n\r\nPING\n"), ["", "PING"]);
    // As in Redis, what ends a line or a word is counted and not looked at.
    assert_eq!(whole(b"*1\r.$4\r.PING.."), ["PING"]);
}

#[test]
fn what_is_no_command_is_refused_in_the_words_of_redis() {
    let broken = |input: &[u8], text: &str| assert_eq!(whole(input), [format!("broken: {text}")]);
    broken(b"*x\r\n", "invalid multibulk length");
    broken(b"*2147483648\r\n", "invalid multibulk length");
    broken(b"*1\r\n:4\r\n", "expected '$', got ':'");
    broken(b"*1\r\n$-1\r\n", "invalid bulk length");
    broken(b"*1\r\n$536870913\r\n", "invalid bulk length");
    broken(b"*1\r\n$1x\r\n", "invalid bulk length");
    broken(b"\"a\r\n", "unbalanced quotes in request");
    let long = vec![b'7'; (64 << 10) + 2];
    broken(&long, "too big inline request");
    broken(&[b"*", &long[..]].concat(), "too big mbulk count string");
    broken(&[b"*1\r\n$", &long[..]].concat(), "too big bulk count string");
    let locked = |input: &[u8]| read(input, &[], true).0;
    assert_eq!(locked(b"*11\r\n"), [format!("broken: {}", ProtocolError::LockedWordCount)]);
    assert_eq!(locked(b"*1\r\n$16385\r\n"), [format!("broken: {}", ProtocolError::LockedWordLength)]);
    assert_eq!(locked(b"*1\r\n$4\r\nPING\r\n"), ["PING"]);
}

#[test]
fn a_command_that_is_too_large_is_passed_over_and_the_next_one_read() {
    let mut input = Vec::new();
    push_command(&mut input, &[b"SET", b"k", &[b'v'; 500][..]]);
    push_command(&mut input, &[b"PING"]);
    push_command(&mut input, &[&b"w"[..]; 9]);
    push_command(&mut input, &[&b"w"[..]; 8]);
    input.extend_from_slice(b"a b c d e f g h i\r\n");
    input.extend_from_slice(&[b"a ", &[b'v'; 200][..], b"\r\n"].concat());
    push_command(&mut input, &[&[b'v'; 90][..]; 3]);
    push_command(&mut input, &[b"GET", b"k"]);
    let said = ["Bytes", "PING", "Words", "w|w|w|w|w|w|w|w", "Words", "Bytes", "Bytes", "GET|k"];
    assert_eq!(whole(&input), said);
    let mut reader = CommandReader::new(LIMITS, false);
    let CommandStep { consumed, event } = reader.next(&input[..450]);
    assert_eq!((consumed, event), (450, CommandEvent::NeedMore { total: 1 }), "nothing of it is kept");
    assert_eq!(reader.next(&input[450..]).event, CommandEvent::Excess(Excess::Bytes));
}

#[test]
fn the_last_command_can_be_seen_again_until_the_next_is_read() {
    let mut reader = CommandReader::new(LIMITS, false);
    let input = b"*0\r\n*2\r\n$4\r\nMGET\r\n$1\r\na\r\nMGET b\r\n";
    let CommandStep { consumed, event: CommandEvent::Command(words) } = reader.next(input) else { panic!("a command") };
    let begins = consumed - words.input_bytes();
    assert_eq!((begins, words.get(1)), (4, Some(&b"a"[..])));
    // The connection's bytes have moved.
    let moved = input[begins..].to_vec();
    let again = reader.last_command(&moved);
    assert_eq!((again.len(), again.get(1), again.input_bytes()), (2, Some(&b"a"[..]), consumed - begins));
    let CommandStep { event: CommandEvent::Command(words), .. } = reader.next(&moved[consumed - begins..]) else {
        panic!("a line is a command")
    };
    assert_eq!(words.input_bytes(), 0);
    assert_eq!(reader.last_command(b"").get(1), Some(&b"b"[..]));
}

#[test]
fn replies_are_read_as_they_are_written() {
    let mut out = Vec::new();
    for version in [RespVersion::Two, RespVersion::Three] {
        reply::simple(&mut out, "OK");
        reply::error(&mut out, b"ERR a\r\nb");
        reply::integer(&mut out, i64::MIN);
        reply::bulk(&mut out, b"a\r\nb");
        reply::null(&mut out, version);
        reply::null_array(&mut out, version);
        reply::array(&mut out, 1);
        reply::map(&mut out, 1, version);
        reply::set(&mut out, 3, version);
        reply::text(&mut out, "a:b", version);
    }
    let (mut at, mut read) = (0, Vec::new());
    while at < out.len() {
        let (reply, bytes) = Reply::parse(&out[at..]).expect("it is a reply").expect("it is whole");
        at += bytes;
        read.push(reply);
    }
    let common = [
        Reply::Simple(b"OK"),
        Reply::Error(b"ERR a  b"),
        Reply::Integer(i64::MIN),
        Reply::Bulk(b"a\r\nb"),
        Reply::Null,
        Reply::Null,
        Reply::Array(1),
    ];
    let two = [Reply::Array(2), Reply::Array(3), Reply::Bulk(b"a:b")];
    let three = [Reply::Map(1), Reply::Array(3), Reply::Bulk(b"a:b")];
    assert_eq!(read, [&common[..], &two, &common, &three].concat());
}

#[test]
fn a_reply_ends_with_all_that_is_in_it() {
    let input = b"*2\r\n%1\r\n+a\r\n:1\r\n|1\r\n+ttl\r\n:2\r\n$1\r\nx\r\n";
    for cut in 0..input.len() {
        assert_eq!(whole_reply(&input[..cut]), Ok(None));
    }
    assert_eq!(whole_reply(&[&input[..], b"+more\r\n"].concat()), Ok(Some(input.len())));
    assert_eq!(whole_reply(&b"*1\r\n".repeat(100)), Err(MalformedReply));
    for no_reply in
        ["?\r\n", "\r\n", ":x\r\n", "#x\r\n", "$1\r\nabc\r\n", "+a\rb", "$-2\r\n", "*-2\r\n", "=2\r\nab\r\n"]
    {
        assert_eq!(whole_reply(no_reply.as_bytes()), Err(MalformedReply), "{no_reply:?}");
    }
    assert_eq!(whole_reply(b"$99999999999\r\n"), Err(MalformedReply));
}

proptest! {
    #[test]
    fn the_same_bytes_say_the_same_however_they_are_cut(
        commands in prop::collection::vec(prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..12), 0..8),
        junk in prop::collection::vec(prop::sample::select(b"*$:-19\r\n\"' ab".to_vec()), 0..40),
        mut ends in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut input = Vec::new();
        for command in &commands {
            push_command(&mut input, &command.iter().map(Vec::as_slice).collect::<Vec<_>>());
        }
        input.extend_from_slice(&junk);
        let mut places: Vec<usize> = ends.drain(..).map(|end| end.index(input.len() + 1)).collect();
        places.sort_unstable();
        let all = read(&input, &[], false).0;
        prop_assert_eq!(&all, &read(&input, &places, false).0);
        prop_assert!(all.len() >= commands.len());
    }

    #[test]
    fn no_bytes_harm_a_client(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(Some(whole)) = whole_reply(&bytes) {
            prop_assert!(whole <= bytes.len());
        }
    }
}
