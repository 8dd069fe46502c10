//! Input and what it is taken for.

use crate::transcript::{told, transcript};
use fawn_memcache::{
    Arithmetic, Command, Delete, Exptime, MAX_LINE_BYTES, MetaGet, MetaRecache, Mode, Session, SessionEvent,
    SessionLimits, StoreRequest,
};

/// Asserts that the input is these commands on the key `k`, and nothing else.
fn assert_commands(input: &str, commands: &[Command<'_>]) {
    let expected: Vec<String> = commands.iter().map(|command| format!("k {command:?}")).collect();
    assert_eq!(told(input.as_bytes()), expected, "{input:?}");
}

const STORE: StoreRequest<'static> = StoreRequest {
    mode: Mode::Set,
    value: b"ab",
    flags: 0,
    exptime: Exptime(0),
    compare: None,
    new_cas: None,
    invalidate: false,
};

#[test]
fn classic_stores_carry_flags_expiry_and_cas() {
    let store = StoreRequest { flags: 5, exptime: Exptime(-1), ..STORE };
    for (word, mode) in [
        ("set", Mode::Set),
        ("add", Mode::Add),
        ("replace", Mode::Replace),
        ("append", Mode::Append { vivify: None }),
        ("prepend", Mode::Prepend { vivify: None }),
    ] {
        let input = format!("{word} k 5 -1 2\r\nab\r\n");
        assert_commands(&input, &[Command::Store(StoreRequest { mode, ..store })]);
    }
    let cas = StoreRequest { mode: Mode::Cas, compare: Some(9), ..store };
    assert_commands("cas k 5 -1 2 9\r\nab\r\n", &[Command::Store(cas)]);
}

#[test]
fn meta_stores_choose_their_mode_by_letter_and_cas() {
    let some = Some(Exptime(30));
    for (flags, store) in [
        ("", STORE),
        ("MS F4294967295 T60", StoreRequest { flags: u32::MAX, exptime: Exptime(60), ..STORE }),
        ("ME", StoreRequest { mode: Mode::Add, ..STORE }),
        ("MR", StoreRequest { mode: Mode::Replace, ..STORE }),
        ("MA", StoreRequest { mode: Mode::Append { vivify: None }, ..STORE }),
        ("MA N30", StoreRequest { mode: Mode::Append { vivify: some }, ..STORE }),
        ("MP N30 C0", StoreRequest { mode: Mode::Prepend { vivify: some }, compare: Some(0), ..STORE }),
        ("C7 E8 I", StoreRequest { mode: Mode::Cas, compare: Some(7), new_cas: Some(8), invalidate: true, ..STORE }),
        ("MR C7", StoreRequest { mode: Mode::Cas, compare: Some(7), ..STORE }),
        ("E0", STORE),
    ] {
        let input = format!("ms k 2 {flags}\r\nab\r\n");
        assert_commands(&input, &[Command::Store(store)]);
    }
}

#[test]
fn meta_gets_keep_the_order_of_touch_and_threshold() {
    let get = MetaGet::default();
    let recache = |after_touch| Some(MetaRecache { threshold: Exptime(30), after_touch });
    for (flags, expected) in [
        ("v k s t f c h l u q Oabc", MetaGet { wants_value: true, untraced: true, ..get }),
        ("T60 R30", MetaGet { touch: Some(Exptime(60)), recache: recache(true), ..get }),
        ("R30 T60", MetaGet { touch: Some(Exptime(60)), recache: recache(false), ..get }),
        ("N5 E9 C3", MetaGet { vivify: Some(Exptime(5)), new_cas: Some(9), compare: Some(3), ..get }),
        // What is made has the expiry that was written last; what is found, that of T.
        ("N5 T60", MetaGet { vivify: Some(Exptime(60)), touch: Some(Exptime(60)), ..get }),
        ("T60 N5", MetaGet { vivify: Some(Exptime(5)), touch: Some(Exptime(60)), ..get }),
    ] {
        assert_commands(&format!("mg k {flags}\r\n"), &[Command::MetaGet(expected)]);
    }
}

#[test]
fn deletes_and_counters_in_both_dialects() {
    let step =
        Arithmetic { decrement: false, delta: 3, initial: 0, vivify: None, touch: None, compare: None, new_cas: None };
    let full = Delete {
        compare: Some(1),
        new_cas: Some(2),
        invalidate: true,
        exptime: Some(Exptime(3)),
        drop_value: true,
        flags: 4,
    };
    assert_commands("delete k\r\nmd k\r\n", &[Command::Delete(Delete::default()); 2]);
    assert_commands("md k C1 E2 I T3 x F4\r\n", &[Command::Delete(full)]);
    assert_commands("incr k 3\r\nma k D3\r\nma k MI D3 C0\r\n", &[Command::Arithmetic(step); 3]);
    let down = Arithmetic { decrement: true, ..step };
    assert_commands("decr k 3\r\nma k MD D3\r\nma k M- D3\r\n", &[Command::Arithmetic(down); 3]);
    let made = Arithmetic { initial: 7, vivify: Some(Exptime(9)), delta: 1, ..step };
    assert_commands("ma k N9 J7\r\n", &[Command::Arithmetic(made)]);
    assert_commands("touch k 5\r\n", &[Command::Touch(Exptime(5))]);
}

#[test]
fn a_line_of_keys_gives_one_request_a_key() {
    assert_eq!(told(b"get a  bb c \r\nmn\r\n"), ["a Get", "more keys", "bb Get", "more keys", "c Get", " Noop"]);
    assert_eq!(told(b"gats 5 a b\n"), ["a GetAndTouch(Exptime(5))", "more keys", "b GetAndTouch(Exptime(5))"]);
}

#[test]
fn ten_thousand_keys_need_the_memory_of_one() {
    let key = "k".repeat(240);
    let line = format!("get {}\r\n", vec![key.as_str(); 10_000].join(" "));
    let limits = SessionLimits { item_bytes: 1000 };
    let events = transcript(Session::new(limits), limits, line.as_bytes().chunks(1500));
    assert_eq!(events.iter().filter(|event| event.ends_with("Get")).count(), 10_000);
    assert_eq!(events.last().unwrap(), &format!("{key} Get"));
}

#[test]
fn a_bad_key_refuses_its_whole_line_and_no_more() {
    let long = "k".repeat(251);
    let refused = "CLIENT_ERROR bad command line format";
    assert_eq!(told(format!("get {long} a\r\nmn\r\n").as_bytes()), [refused, " Noop"]);
    let abandoned = format!("abandon: {refused}");
    assert_eq!(told(format!("get a {long}\r\nmn\r\n").as_bytes()), ["a Get", "more keys", abandoned.as_str(), " Noop"]);
    let longest = "k".repeat(250);
    assert_eq!(told(format!("get {longest}\r\n").as_bytes()), [format!("{longest} Get")]);
}

#[test]
fn a_value_above_the_limit_is_skipped_without_being_buffered() {
    let limits = SessionLimits { item_bytes: 100 };
    let told = |input: &str| transcript(Session::new(limits), limits, input.as_bytes().chunks(7));
    let block = "x".repeat(5000);
    let delete = "k ValueTooLarge(ValueTooLarge { delete: true })";
    let keep = "k ValueTooLarge(ValueTooLarge { delete: false })";
    assert_eq!(told(&format!("set k 0 0 5000\r\n{block}\r\nmn\r\n")), [delete, " Noop"]);
    assert_eq!(told(&format!("ms k 5000 MA q\r\n{block}\r\nmn\r\n")), [delete, " Noop"]);
    assert_eq!(told(&format!("add k 0 0 5000 noreply\r\n{block}\r\nmn\r\n")), [keep, " Noop"]);
    assert_eq!(told("set k 0 0 41\r\n"), [delete]);
    assert_eq!(told(&format!("set k 0 0 40\r\n{}\r\n", &block[..40])).len(), 1);
}

#[test]
fn a_session_says_how_much_a_data_block_wants() {
    let mut session = Session::new(SessionLimits::default());
    let line = b"set k 0 0 1000\r\nabc";
    assert_eq!(session.next(line).event, SessionEvent::NeedMore { total: line.len() - 3 + 1000 + 2 });
    assert_eq!(session.next(line).consumed, 0);
}

#[test]
fn a_line_that_is_too_long_closes() {
    let fits = format!("foo {}\r\nmn\r\n", "x".repeat(MAX_LINE_BYTES - 4));
    assert_eq!(told(fits.as_bytes()), ["ERROR", " Noop"]);
    let too_long = format!("foo {}\r\nmn\r\n", "x".repeat(MAX_LINE_BYTES - 3));
    assert_eq!(told(too_long.as_bytes()), ["close"]);
    assert_eq!(told(&[b'x'; MAX_LINE_BYTES + 2]), ["close"]);
    assert_eq!(told(&[b"get k".as_slice(), &[b' '; 3000]].concat()), ["close"]);
    assert_eq!(told(&[b"gat ".as_slice(), &[b'1'; 3000]].concat()), ["close"]);
}

#[test]
fn the_binary_protocol_and_web_browsers_are_hung_up_on() {
    assert_eq!(told(b"\x80\x01\x00\x00"), ["close"]);
    assert_eq!(told(b"\x80"), ["close"]);
    // Later it is a byte like any other.
    assert_eq!(told(b"mn\r\n\x80abc\r\n"), [" Noop", "ERROR"]);
    assert_eq!(told(b"GET /stats HTTP/1.1\r\nHost: x\r\n\r\n"), ["close"]);
}

#[test]
fn nothing_follows_a_quit() {
    let mut session = Session::new(SessionLimits::default());
    assert_eq!(session.next(b"quit\r\nget k\r\n").event, SessionEvent::Close);
    assert_eq!(session.next(b"get k\r\n").event, SessionEvent::Close);
}

#[test]
fn reports_and_dumps_are_told_apart() {
    for (input, told_as) in [
        ("stats", "Stats(General)"),
        ("stats ", "Stats(General)"),
        ("stats items", "Stats(Items)"),
        ("stats conns", "Stats(Connections)"),
        ("stats cachedump 1 0", "Stats(Cachedump { class: 1, limit: 0 })"),
        ("stats detail dump", "Stats(Detail(Dump))"),
        ("lru_crawler metadump all", "Dump(Metadump)"),
        ("lru_crawler metadump hash", "Dump(Metadump)"),
        ("lru_crawler metadump 1", "Dump(Metadump)"),
        ("lru_crawler metadump 3,1", "Dump(Metadump)"),
        ("lru_crawler mgdump 1", "Dump(Mgdump)"),
        ("lru_crawler mgdump all", "Dump(Mgdump)"),
        ("flush_all 10 noreply", "FlushAll(Exptime(10))"),
        ("cache_memlimit 64", "MemoryLimit { megabytes: 64 }"),
        ("verbosity 1", "Verbosity { level: 1 }"),
        ("refresh_certs", "RefreshCertificates"),
        ("me k", "MetaDebug"),
    ] {
        let key = if input.starts_with("me") { "k" } else { "" };
        assert_eq!(told(format!("{input}\r\n").as_bytes()), [format!("{key} {told_as}")]);
    }
    // Other classes have no items; beyond memcached's there are none.
    assert_eq!(told(b"lru_crawler metadump 2,63\r\n"), ["END"]);
    assert_eq!(told(b"lru_crawler mgdump 2\r\n"), ["EN"]);
    for none in ["0", "64", "1,9999", "", "1,", "x"] {
        let answer = if none.is_empty() { "ERROR" } else { "BADCLASS invalid class id" };
        assert_eq!(told(format!("lru_crawler metadump {none}\r\n").as_bytes()), [answer], "{none}");
    }
    assert_eq!(told(b"stats extstore\r\n"), ["END"]);
    assert_eq!(told(b"watch fetchers\r\n"), ["CLIENT_ERROR watch commands not allowed"]);
}

#[test]
fn a_base64_key_is_decoded() {
    assert_eq!(told(b"mg AGFi b\r\nme Zm9v b\r\nms Zm9v 1 b\r\nx\r\n").len(), 3);
    assert!(told(b"md AGFi b k\r\n")[0].starts_with("\\x00ab Delete"));
    assert_eq!(told(b"me Zm9v b\r\n"), ["foo MetaDebug"]);
    assert_eq!(told(b"ma k O12345678901234567890123456789012\r\n"), ["CLIENT_ERROR opaque token too long"]);
}

#[test]
fn a_session_is_small() {
    assert!(size_of::<Session>() <= 300, "a connection's parser takes {} bytes", size_of::<Session>());
}
