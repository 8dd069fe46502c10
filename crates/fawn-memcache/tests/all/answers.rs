//! Requests, answers, and the bytes they become.

use fawn_memcache::{
    CommandOutcome, CounterValue, Debug, Hit, Responder, Session, SessionEvent, SessionLimits, report,
};

/// The responder and key of the first request in `input`.
fn responder(input: &str) -> (Responder, Vec<u8>) {
    let mut session = Session::new(SessionLimits::default());
    match session.next(input.as_bytes()).event {
        SessionEvent::Request(request) => (request.responder, request.key.to_vec()),
        other => panic!("{other:?} for {input:?}"),
    }
}

fn answered(input: &str, answer: &CommandOutcome<'_>) -> String {
    let (responder, key) = responder(input);
    let mut out = Vec::new();
    responder.write(&mut out, &key, answer);
    String::from_utf8(out).unwrap()
}

#[test]
fn classic_stores_answer_a_word_or_nothing() {
    for (answer, line) in [
        (CommandOutcome::Stored { cas: 1, size: 1 }, "STORED\r\n"),
        (CommandOutcome::NotStored { size: 1 }, "NOT_STORED\r\n"),
        (CommandOutcome::Exists { size: 1 }, "EXISTS\r\n"),
        (CommandOutcome::NotFound { size: 1 }, "NOT_FOUND\r\n"),
        (CommandOutcome::TooLarge, "SERVER_ERROR object too large for cache\r\n"),
        (CommandOutcome::OutOfMemory, "SERVER_ERROR out of memory storing object\r\n"),
        (CommandOutcome::Error("SERVER_ERROR no space"), "SERVER_ERROR no space\r\n"),
    ] {
        assert_eq!(answered("set k 0 0 1\r\na\r\n", &answer), line);
        assert_eq!(answered("set k 0 0 1 noreply\r\na\r\n", &answer), "");
    }
}

#[test]
fn a_value_line_shows_the_cas_when_asked_and_the_last_key_ends() {
    let hit = CommandOutcome::Hit(Hit { flags: 7, cas: 99, ..Hit::of(b"abc") });
    assert_eq!(answered("get k\r\n", &hit), "VALUE k 7 3\r\nabc\r\nEND\r\n");
    assert_eq!(answered("gats 0 k\r\n", &hit), "VALUE k 7 3 99\r\nabc\r\nEND\r\n");
    assert_eq!(answered("get k l\r\n", &hit), "VALUE k 7 3\r\nabc\r\n");
    assert_eq!(answered("get k l\r\n", &CommandOutcome::Miss), "");
    assert_eq!(answered("get k\r\n", &CommandOutcome::Miss), "END\r\n");
}

#[test]
fn a_value_can_be_sent_apart_from_its_head_and_tail() {
    let (responder, key) = responder("get k\r\n");
    let hit = Hit::of(b"abc");
    let mut parts = Vec::new();
    assert!(responder.start_hit(&mut parts, &key, &hit));
    parts.extend_from_slice(b"abc\r\n");
    responder.finish_hit(&mut parts);
    assert_eq!(String::from_utf8(parts).unwrap(), answered("get k\r\n", &CommandOutcome::Hit(hit)));
}

#[test]
fn a_meta_hit_shows_its_flags_in_order_and_its_marks_last() {
    let hit = Hit {
        flags: 5,
        cas: 9,
        ttl_before: None,
        ttl: Some(60),
        idle: 4,
        fetched: true,
        stale: true,
        already_won: true,
        ..Hit::of(b"abc")
    };
    let answer = CommandOutcome::Hit(hit);
    assert_eq!(answered("mg k\r\n", &answer), "HD Z X\r\n");
    assert_eq!(answered("mg k t T60 t_ v\r\n".replace("t_ ", "").as_str(), &answer), "VA 3 t-1 Z X\r\nabc\r\n");
    assert_eq!(answered("mg k O1 T60 t s f c l h k v\r\n", &answer), "VA 3 O1 t60 s3 f5 c9 l4 h1 kk Z X\r\nabc\r\n");
    let won = CommandOutcome::Hit(Hit { won: true, created: true, ttl: Some(30), ..Hit::of(b"") });
    assert_eq!(answered("mg k N30 t v q\r\n", &won), "VA 0 t30 W\r\n\r\n");
    let same = CommandOutcome::Hit(Hit { hide_value: true, ..Hit::of(b"abc") });
    assert_eq!(answered("mg k C1 v s\r\n", &same), "HD s3\r\n");
}

#[test]
fn quiet_hides_the_expected_answer_only() {
    let stored = CommandOutcome::Stored { cas: 8, size: 1 };
    for (input, answer, line) in [
        ("mg k q k\r\n", CommandOutcome::Miss, ""),
        ("mg k k O7\r\n", CommandOutcome::Miss, "EN kk O7\r\n"),
        ("mg k q\r\n", CommandOutcome::Error("SERVER_ERROR x"), "SERVER_ERROR x\r\n"),
        ("ms k 1 q\r\na\r\n", stored, ""),
        ("ms k 1 c s k\r\na\r\n", stored, "HD c8 s1 kk\r\n"),
        ("ms k 1 q c s\r\na\r\n", CommandOutcome::NotStored { size: 1 }, "NS c0 s1\r\n"),
        ("ms k 1 q\r\na\r\n", CommandOutcome::Exists { size: 1 }, "EX\r\n"),
        ("ms k 1 q\r\na\r\n", CommandOutcome::NotFound { size: 1 }, "NF\r\n"),
        ("ms k 1 q\r\na\r\n", CommandOutcome::TooLarge, "SERVER_ERROR object too large for cache\r\n"),
        ("md k q O1\r\n", CommandOutcome::Deleted, ""),
        ("md k q O1\r\n", CommandOutcome::NotFound { size: 0 }, "NF O1\r\n"),
        ("md k k c s t\r\n", CommandOutcome::Deleted, "HD kk\r\n"),
        ("ma k q k\r\n", CommandOutcome::NotFound { size: 0 }, "NF kk\r\n"),
    ] {
        assert_eq!(answered(input, &answer), line, "{input}");
    }
}

#[test]
fn a_base64_key_is_echoed_in_base64() {
    assert_eq!(answered("mg AGFi b k\r\n", &CommandOutcome::Miss), "EN kAGFi b\r\n");
    assert_eq!(answered("md Zm9v b k O1\r\n", &CommandOutcome::Deleted), "HD kZm9v b O1\r\n");
}

#[test]
fn counters_answer_their_number() {
    let number = CounterValue { value: 15, cas: 4, ttl_before: Some(9), ttl: Some(30), created: false };
    let answer = CommandOutcome::Number(number);
    assert_eq!(answered("incr k 5\r\n", &answer), "15\r\n");
    assert_eq!(answered("incr k 5 noreply\r\n", &answer), "");
    assert_eq!(answered("ma k\r\n", &answer), "HD\r\n");
    assert_eq!(answered("ma k q v\r\n", &answer), "");
    assert_eq!(answered("ma k t T30 v c O2 k\r\n", &answer), "VA 2 t9 c4 O2 kk\r\n15\r\n");
    assert_eq!(answered("ma k T30 t N5\r\n", &answer), "HD t30\r\n");
    let refusal = "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
    assert_eq!(answered("ma k q\r\n", &CommandOutcome::NonNumeric), refusal);
    assert_eq!(answered("decr k 1 noreply\r\n", &CommandOutcome::NonNumeric), "");
}

#[test]
fn the_servers_own_answers() {
    for (input, answer, line) in [
        ("mn\r\n", CommandOutcome::Noop, "MN\r\n"),
        ("version\r\n", CommandOutcome::Version("1.6.45"), "VERSION 1.6.45\r\n"),
        ("flush_all\r\n", CommandOutcome::Ok, "OK\r\n"),
        ("flush_all noreply\r\n", CommandOutcome::Ok, ""),
        ("verbosity 1 noreply\r\n", CommandOutcome::Ok, ""),
        ("stats reset\r\n", CommandOutcome::Reset, "RESET\r\n"),
        ("touch k 0\r\n", CommandOutcome::Touched, "TOUCHED\r\n"),
        ("delete k\r\n", CommandOutcome::Deleted, "DELETED\r\n"),
        ("me k\r\n", CommandOutcome::Miss, "EN\r\n"),
    ] {
        assert_eq!(answered(input, &answer), line);
    }
}

#[test]
fn items_are_described_for_people_and_for_tools() {
    let item = Debug { expiry: None, access: 3, cas: 7, fetched: true, class: 1, size: 65, flags: 9 };
    let mut out = Vec::new();
    report::metadump(&mut out, b"a b\xff~", &item);
    report::metadump(&mut out, b"k", &Debug { expiry: Some(1_900_000_000), fetched: false, ..item });
    report::mgdump(&mut out, b"key");
    report::mgdump(&mut out, b"foo bar");
    report::stat(&mut out, "version", "1.6.45");
    report::stat_number(&mut out, "curr_items", 12);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "key=a%20b%FF~ exp=-1 la=3 cas=7 fetch=yes cls=1 size=65 flags=9 \n\
         key=k exp=1900000000 la=3 cas=7 fetch=no cls=1 size=65 flags=9 \n\
         mg key\r\nmg Zm9vIGJhcg== b\r\nSTAT version 1.6.45\r\nSTAT curr_items 12\r\n"
    );
    assert_eq!(
        answered("me k\r\n", &CommandOutcome::Debug(item)),
        "ME k exp=-1 la=3 cas=7 fetch=yes cls=1 size=65\r\n"
    );
    assert_eq!(answered("me Zm9v b\r\n", &CommandOutcome::Debug(item))[..8], *"ME Zm9v ");
}
