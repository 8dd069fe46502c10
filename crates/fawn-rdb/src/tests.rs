use std::io::{self, Read};

use proptest::prelude::*;

use super::*;

/// A file of these records.
fn file(version: u32, records: &[u8]) -> Vec<u8> {
    let mut file = format!("REDIS{version:04}").into_bytes();
    file.extend_from_slice(records);
    file.push(255);
    if version >= 5 {
        let sum = checksum(&file);
        file.extend_from_slice(&sum.to_le_bytes());
    }
    file
}

fn string(text: &[u8]) -> Vec<u8> {
    assert!(text.len() < 1 << 14);
    [&[0x40 | (text.len() >> 8) as u8, text.len() as u8], text].concat()
}

fn record(number: u8, key: &str, value: &[u8]) -> Vec<u8> {
    [&[number][..], &string(key.as_bytes()), value].concat()
}

fn read_by(source: impl RdbSource, most: usize) -> Result<Vec<RdbEntry>, (Vec<RdbEntry>, RdbError)> {
    let mut entries = Vec::new();
    let mut reader = RdbReader::open(source, most).map_err(|error| (Vec::new(), error))?;
    loop {
        match reader.next_entry() {
            Ok(Some(entry)) => entries.push(entry),
            Ok(None) => return Ok(entries),
            Err(error) => {
                assert!(matches!(reader.next_entry(), Ok(None)), "nothing follows an error");
                return Err((entries, error));
            }
        }
    }
}

fn read(file: &[u8]) -> Result<Vec<RdbEntry>, (Vec<RdbEntry>, RdbError)> {
    read_by(file, 1 << 20)
}

fn only(number: u8, value: &[u8]) -> RdbValue {
    let entries = read(&file(11, &record(number, "k", value))).unwrap();
    assert_eq!((entries.len(), entries[0].key.as_slice(), entries[0].key_bytes), (1, &b"k"[..], 1));
    entries[0].value.clone()
}

fn refused(number: u8, value: &[u8]) -> String {
    read(&file(11, &record(number, "k", value))).unwrap_err().1.to_string()
}

fn fields(value: &RdbValue) -> Vec<(String, String)> {
    let RdbValue::Hash(fields) = value else { panic!("{value:?}") };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let list: Vec<_> = fields.iter().map(|(name, value)| (text(name), text(value))).collect();
    assert_eq!(list.len(), fields.len());
    list
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The block of a listpack with these elements, encoded, each without its length.
fn listpack(elements: &[&[u8]]) -> Vec<u8> {
    let mut block = vec![0; 4];
    block.extend_from_slice(&(elements.len() as u16).to_le_bytes());
    for element in elements {
        block.extend_from_slice(element);
        if element.len() < 128 {
            block.push(element.len() as u8);
        } else {
            block.extend_from_slice(&[(element.len() >> 7) as u8, element.len() as u8 | 0x80]);
        }
    }
    block.push(255);
    let len = block.len() as u32;
    block[..4].copy_from_slice(&len.to_le_bytes());
    block
}

/// The block of a ziplist with these elements, encoded, each without the length of the one before.
fn ziplist(elements: &[&[u8]]) -> Vec<u8> {
    let (mut block, mut last, mut before) = (vec![0; 10], 10, 0);
    for element in elements {
        last = block.len();
        if before < 254 {
            block.push(before as u8);
        } else {
            block.push(254);
            block.extend_from_slice(&(before as u32).to_le_bytes());
        }
        block.extend_from_slice(element);
        before = block.len() - last;
    }
    block.push(255);
    let len = block.len() as u32;
    block[..4].copy_from_slice(&len.to_le_bytes());
    block[4..8].copy_from_slice(&(last as u32).to_le_bytes());
    block[8..10].copy_from_slice(&(elements.len() as u16).to_le_bytes());
    block
}

#[test]
fn the_checksum_is_that_of_redis() {
    assert_eq!(checksum(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
}

#[test]
fn strings_come_in_every_form_of_their_lengths() {
    let long = vec![b'x'; 70_000];
    let length_of_32 = [&[0x80][..], &70_000_u32.to_be_bytes(), &long].concat();
    let length_of_64 = [&[0x81][..], &70_000_u64.to_be_bytes(), &long].concat();
    for (value, expected) in [
        (&b"\x03abc"[..], &b"abc"[..]),
        (b"\x00", b""),
        (b"\x40\x03a\0\xff", b"a\0\xff"),
        (&length_of_32, &long),
        (&length_of_64, &long),
        (b"\xc0\x80", b"-128"),
        (b"\xc1\x39\x30", b"12345"),
        (b"\xc2\xff\xff\xff\xff", b"-1"),
        (b"\xc3\x05\x40\x0a\x00a\xe0\x00\x00", b"aaaaaaaaaa"),
    ] {
        assert_eq!(only(0, value), RdbValue::String(expected.to_vec()));
    }
    for value in [&b"\xc4"[..], b"\x82", b"\xbf", b"\xc3\x05\x03\x00a\xe0\x00\x00"] {
        assert!(refused(0, value).contains("it is damaged at byte "), "{value:?}");
    }
}

#[test]
fn databases_expiries_and_what_is_no_key_are_told_apart() {
    let records = [
        &[250][..],
        &string(b"redis-ver"),
        &string(b"7.2.0"),
        &[250, 3, b'b', b'i', b't', 0xc0, 64],
        &[245],
        &string(b"#!lua name=f"),
        &[247, 0x81, 0, 0, 0, 0, 0, 0, 4, 0, 2, 1, 1, 7, 3, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 5, 1, b'x', 0],
        &[254, 0, 251, 2, 1, 244, 5, 2, 1],
        &[252],
        &1_900_000_000_123_i64.to_le_bytes(),
        &[249, 9],
        &record(0, "ms", &string(b"1")),
        &[253],
        &1_900_000_000_u32.to_le_bytes(),
        &[248, 0x41, 0],
        &record(0, "s", &string(b"2")),
        &[252],
        &(-5_i64).to_le_bytes(),
        &record(0, "before 1970", &string(b"3")),
        &[254, 0x41, 0],
        &record(0, "none", &string(b"4")),
    ]
    .concat();
    let told: Vec<_> = read(&file(10, &records))
        .unwrap()
        .into_iter()
        .map(|entry| (entry.database, String::from_utf8(entry.key).unwrap(), entry.expires_ms))
        .collect();
    assert_eq!(
        told,
        [
            (0, "ms".to_owned(), Some(1_900_000_000_123)),
            (0, "s".to_owned(), Some(1_900_000_000_000)),
            (0, "before 1970".to_owned(), Some(0)),
            (256, "none".to_owned(), None),
        ]
    );
}

#[test]
fn hashes_come_in_each_form_of_any_version() {
    let table = [&[2][..], &string(b"a"), &string(b"1"), &string(b"b"), &[0xc0, 7]].concat();
    assert_eq!(fields(&only(4, &table)), pairs(&[("a", "1"), ("b", "7")]));

    // With a length of five bytes, and unused bytes behind a value.
    let zipmap = b"\x02\x01a\x03\x02one..\xfe\x01\0\0\0b\x00\x00\xff";
    assert_eq!(fields(&only(9, &string(zipmap))), pairs(&[("a", "one"), ("b", "")]));

    let long = "y".repeat(300);
    let middle = [&[0x41, 0x2c][..], long.as_bytes()].concat();
    let large = [&[0x80, 0, 0, 1, 0x2c][..], long.as_bytes()].concat();
    let block = ziplist(&[
        b"\x01a",
        b"\xf1",
        b"\x01b",
        &middle,
        b"\x01c",
        &large,
        b"\x01d",
        b"\xc0\xfe\xff",
        b"\x01e",
        b"\xd0\x00\x00\x00\x80",
        b"\x01f",
        b"\xe0\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x01g",
        b"\xf0\x00\x00\x80",
        b"\xfe\x80",
        b"\xfd",
    ]);
    let expected = pairs(&[
        ("a", "0"),
        ("b", &long),
        ("c", &long),
        ("d", "-2"),
        ("e", "-2147483648"),
        ("f", "9223372036854775807"),
        ("g", "-8388608"),
        ("-128", "12"),
    ]);
    assert_eq!(fields(&only(13, &string(&block))), expected);

    let middle = [&[0xe1, 0x2c][..], long.as_bytes()].concat();
    let large = [&[0xf0, 0x2c, 1, 0, 0][..], long.as_bytes()].concat();
    let block = listpack(&[
        b"\x81a",
        b"\x7f",
        b"\x81b",
        &middle,
        b"\x81c",
        &large,
        b"\x81d",
        b"\xf1\xfe\xff",
        b"\x81e",
        b"\xf3\x00\x00\x00\x80",
        b"\x81f",
        b"\xf4\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x81g",
        b"\xf2\x00\x00\x80",
        b"\xdf\xff",
        b"\xcf\xff",
        b"\xd0\x00",
        b"\x80",
    ]);
    let expected = pairs(&[
        ("a", "127"),
        ("b", &long),
        ("c", &long),
        ("d", "-2"),
        ("e", "-2147483648"),
        ("f", "9223372036854775807"),
        ("g", "-8388608"),
        ("-1", "4095"),
        ("-4096", ""),
    ]);
    assert_eq!(fields(&only(16, &string(&block))), expected);
}

#[test]
fn hashes_that_cannot_be_are_refused() {
    for (number, value, what) in [
        (
            4,
            [&[2][..], &string(b"a"), &string(b"1"), &string(b"a"), &string(b"2")].concat(),
            "a hash has one field twice",
        ),
        (16, string(&listpack(&[b"\x81a", b"\x01", b"\x81b"])), "a hash has a name without a value"),
        (16, string(b"\x07\0\0\0"), "a listpack is too short"),
        (13, string(b"\x07\0\0\0"), "a ziplist is too short"),
        (9, string(b"\x01\x01a"), "a zipmap is cut off"),
        (9, string(b"\x02\x01a\x01\x00b\xff"), "a zipmap has another number of pairs than it says"),
        (16, string(&listpack(&[b"\x81a", b"\xf5"])), "a listpack's element is cut off"),
        (13, string(&ziplist(&[b"\x01a", b"\xff"])), "a ziplist's element is cut off"),
    ] {
        assert!(refused(number, &value).ends_with(what), "{number}: {}", refused(number, &value));
    }
    // A hash without fields is none, for Redis as well.
    assert_eq!(read(&file(11, &record(4, "k", &[0]))).unwrap(), []);
}

#[test]
fn values_of_other_types_are_passed_over_by_their_lengths() {
    let (a, b) = (string(b"a"), string(b"b"));
    let list = [&[2][..], &a, &b].concat();
    let old_scores = [&[4][..], &a, &[253], &b, &[254], &a, &[255], &b, &[3], b"1.5"].concat();
    let scores = [&[1][..], &a, &1.5_f64.to_le_bytes()].concat();
    let quicklist = [&[2, 1][..], &a, &[2], &b].concat();
    let stream = |form: u8| {
        let later = if form > 1 { &[1, 1, 1, 1, 1][..] } else { &[] };
        let read = if form > 1 { &[5][..] } else { &[] };
        let active = if form > 2 { &[7; 8][..] } else { &[] };
        let (pending, consumer) = ([[1, 2].repeat(12), vec![3]].concat(), [[9; 8].as_slice(), active].concat());
        [
            &[1][..],
            &[16],
            &[7; 16],
            &b,
            &[1, 2, 3],
            later,
            &[1],
            &a,
            &[4, 4],
            read,
            &[1],
            &pending,
            &[1],
            &b,
            &consumer,
            &[1],
            &[8; 16],
        ]
        .concat()
    };
    let id = 1_u64 << 52 | 26 << 46 | 62 << 40 | 63 << 34 | 2 << 28 | 3 << 22 | 4 << 16 | 5 << 10 | 1;
    let module =
        [&[0x81][..], &id.to_be_bytes(), &[1, 3, 2, 4, 3, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 5], &a, &[0]].concat();
    for (number, value, kind) in [
        (1, list.clone(), "list"),
        (2, list.clone(), "set"),
        (3, old_scores, "zset"),
        (5, scores, "zset"),
        (7, module, "ABa-_CDEF"),
        (10, a.clone(), "list"),
        (11, a.clone(), "set"),
        (12, a.clone(), "zset"),
        (14, list, "list"),
        (15, stream(1), "stream"),
        (17, a.clone(), "zset"),
        (18, quicklist, "list"),
        (19, stream(2), "stream"),
        (20, a.clone(), "set"),
        (21, stream(3), "stream"),
    ] {
        let records = [record(number, "k", &value), record(0, "behind", &b)].concat();
        let entries = read(&file(11, &records)).unwrap_or_else(|error| panic!("{number}: {error:?}"));
        let RdbValue::Other(found) = entries[0].value else { panic!("{number}: {entries:?}") };
        assert_eq!((found.to_string().as_str(), entries.len()), (kind, 2), "{number}");
        assert_eq!(entries[1].value, RdbValue::String(b"b".to_vec()));
    }
    for number in [8, 22, 100, 243] {
        assert!(refused(number, &a).ends_with("there is no such type of value"));
    }
    assert!(refused(6, &a).contains("release candidates of Redis 4.0"));
}

#[test]
fn values_and_keys_that_are_too_large_are_passed_over() {
    let packed = b"\xc3\x05\x40\x0a\x00a\xe0\x00\x00";
    let table =
        [&[3][..], &string(b"name"), &string(b"value"), &string(b"x"), &string(b"y"), &string(b"z"), &[0]].concat();
    let block = string(&listpack(&[b"\x84name", b"\x85value"]));
    let long_key = vec![b'k'; MOST_KEY_BYTES + 1];
    let long_key = [&[0, 0x80, 0, 1, 0, 0][..], &long_key, &string(b"v")].concat();
    let records = [
        record(0, "a", &string(&[b'x'; 9])),
        record(0, "b", &string(&[b'x'; 8])),
        record(0, "c", packed),
        record(4, "d", &table),
        record(16, "e", &block),
        record(0, "f", b"\xc2\x00\x00\x00\x80"),
        long_key,
        record(0, "g", &string(b"last")),
    ]
    .concat();
    let entries = read_by(file(11, &records).as_slice(), 8).unwrap();
    let is_too_large: Vec<bool> = entries.iter().map(|entry| entry.value == RdbValue::TooLarge).collect();
    assert_eq!(is_too_large, [true, false, true, true, true, true, false, false]);
    assert!(entries[6].key.is_empty() && entries[6].key_bytes > MOST_KEY_BYTES as u64);
    assert_eq!(entries[7].value, RdbValue::String(b"last".to_vec()));
}

#[test]
fn a_header_says_what_can_be_read() {
    let refused = |bytes: &[u8]| read(bytes).unwrap_err().1;
    assert!(matches!(refused(b""), RdbError::Truncated { offset: 0 }));
    assert!(matches!(refused(b"REDIS00"), RdbError::Truncated { offset: 7 }));
    assert!(matches!(refused(b"\x1f\x8b\x08\0\0\0\0\0\0"), RdbError::NoRdb));
    assert!(matches!(refused(b"REDIS00x1"), RdbError::NoRdb));
    assert!(matches!(refused(b"REDIS0012"), RdbError::Version(12)));
    assert!(matches!(refused(b"REDIS0000"), RdbError::Version(0)));
    assert!(matches!(refused(b"VALKEY080"), RdbError::Version(80)));
    let mut reader = RdbReader::open(&b"REDIS0004\xffmore"[..], 1).unwrap();
    assert!(matches!(reader.next_entry(), Ok(None)));
    assert_eq!(
        (reader.version(), reader.rest(3).unwrap(), reader.rest(9).unwrap()),
        (4, b"mor".to_vec(), b"e".to_vec())
    );
}

#[test]
fn a_checksum_of_zero_is_none() {
    let mut bytes = file(11, &record(0, "k", &string(b"v")));
    let at = bytes.len() - 8;
    bytes[at..].fill(0);
    assert_eq!(read(&bytes).unwrap().len(), 1);
    bytes[at] = 1;
    let error = read(&bytes).unwrap_err().1;
    assert!(matches!(error, RdbError::Checksum { offset, stored: 1, .. } if offset == at as u64), "{error}");
}

/// A file with each kind of record.
fn small_file() -> Vec<u8> {
    let records = [
        &[250][..],
        &string(b"redis-ver"),
        &string(b"7.2.0"),
        &[254, 0, 251, 2, 1, 252],
        &1_900_000_000_123_i64.to_le_bytes(),
        &record(0, "text", &string(b"some text")),
        &record(0, "number", &[0xc0, 7]),
        &record(0, "packed", b"\xc3\x05\x40\x0a\x00a\xe0\x00\x00"),
        &record(4, "table", &[&[1][..], &string(b"a"), &string(b"1")].concat()),
        &record(9, "zipmap", &string(b"\x01\x01a\x01\x02b..\xff")),
        &record(13, "ziplist", &string(&ziplist(&[b"\x01a", b"\xf1"]))),
        &record(16, "listpack", &string(&listpack(&[b"\x81a", b"\xf1\xfe\xff"]))),
        &record(5, "scores", &[&[1][..], &string(b"a"), &1.5_f64.to_le_bytes()].concat()),
        &record(20, "set", &string(b"opaque")),
    ]
    .concat();
    file(11, &records)
}

#[test]
fn a_flipped_bit_is_found_or_changes_nothing() {
    let bytes = small_file();
    let entries = read(&bytes).unwrap();
    assert_eq!(entries.len(), 9);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            match read(&damaged) {
                Err(_) => {}
                // Of a version without a checksum, which is then found behind the end.
                Ok(found) => assert!(found == entries && at == 7, "bit {bit} of byte {at}"),
            }
        }
    }
}

#[test]
fn a_file_that_is_cut_off_tells_where_and_gives_the_keys_before() {
    let bytes = small_file();
    let entries = read(&bytes).unwrap();
    for len in 0..bytes.len() {
        let (before, error) = read(&bytes[..len]).unwrap_err();
        assert!(matches!(error, RdbError::Truncated { offset } if offset == len as u64), "{len}: {error}");
        assert_eq!(before, entries[..before.len()]);
    }
}

/// Gives bytes in pieces of the given sizes, in turn, and keeps what it is told.
struct Pieces<'a> {
    bytes: &'a [u8],
    sizes: Vec<usize>,
    turn: usize,
    passed: Vec<u8>,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes[self.turn % self.sizes.len()].min(buffer.len()).min(self.bytes.len());
        self.turn += 1;
        let (piece, rest) = self.bytes.split_at(size);
        buffer[..size].copy_from_slice(piece);
        self.bytes = rest;
        Ok(size)
    }
}

impl RdbSource for Pieces<'_> {
    fn passed(&mut self, bytes: &[u8]) {
        self.passed.extend_from_slice(bytes);
    }
}

proptest! {
    #[test]
    fn it_makes_no_difference_in_what_pieces_a_file_comes(
        sizes in prop::collection::vec(1_usize..40, 1..5),
        at in any::<prop::sample::Index>(),
        damage in any::<Option<u8>>(),
    ) {
        let mut bytes = small_file();
        if let Some(byte) = damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let whole = read(&bytes).map_err(|(before, error)| (before, error.to_string()));
        let pieces = Pieces { bytes: &bytes, sizes, turn: 0, passed: Vec::new() };
        let mut found = Vec::new();
        let outcome = (|| {
            let mut reader = RdbReader::open(pieces, 1 << 20)?;
            while let Some(entry) = reader.next_entry()? {
                found.push(entry);
                assert_eq!(reader.source().passed, &bytes[..reader.offset() as usize]);
            }
            Ok::<_, RdbError>(())
        })();
        prop_assert_eq!(outcome.map(|()| found.clone()).map_err(|error| (found, error.to_string())), whole);
    }

    #[test]
    fn any_records_are_read_or_refused(records in prop::collection::vec(any::<u8>(), 0..200), number in 0_u8..22) {
        for records in [records.clone(), record(number, "k", &records), record(number, "k", &string(&records))] {
            if let Ok(entries) = read(&file(11, &records)) {
                prop_assert!(entries.len() <= records.len());
            }
        }
    }
}
