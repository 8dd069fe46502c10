//! Lists that operations have computed, as replies, and how Redis would store a value.

use fawn_kv::operation::hash::MAGIC;
use fawn_kv::operation::items::Items;
use fawn_resp::number;
use fawn_resp::reply::{self, RespVersion};

/// The items of a list that an operation of this server made.
fn items(list: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    Items::of(list).map_while(Result::ok)
}

fn write_item(out: &mut Vec<u8>, item: Option<&[u8]>, version: RespVersion) {
    match item {
        Some(bytes) => reply::bulk(out, bytes),
        None => reply::null(out, version),
    }
}

/// An array of the list's items.
pub fn write_list(out: &mut Vec<u8>, list: &[u8], version: RespVersion) {
    reply::array(out, items(list).count());
    items(list).for_each(|item| write_item(out, item, version));
}

/// An array of the numbers whose texts the list has.
pub fn write_numbers(out: &mut Vec<u8>, list: &[u8], version: RespVersion) {
    reply::array(out, items(list).count());
    for item in items(list) {
        match item.map(number::integer) {
            Some(number) => reply::integer(out, number.unwrap_or_default()),
            None => reply::null(out, version),
        }
    }
}

/// A map of names and values.
pub fn write_map(out: &mut Vec<u8>, list: &[u8], version: RespVersion) {
    reply::map(out, items(list).count() / 2, version);
    items(list).for_each(|item| write_item(out, item, version));
}

/// Names with their values: an array of pairs, or of both in turn before version 3.
pub fn write_pairs(out: &mut Vec<u8>, list: &[u8], version: RespVersion) {
    let count = items(list).count();
    reply::array(out, if version == RespVersion::Two { count } else { count / 2 });
    for (place, item) in items(list).enumerate() {
        if version == RespVersion::Three && place % 2 == 0 {
            reply::array(out, 2);
        }
        write_item(out, item, version);
    }
}

/// The first item, or nothing.
pub fn write_first(out: &mut Vec<u8>, list: &[u8], version: RespVersion) {
    write_item(out, items(list).next().flatten(), version);
}

/// All that there is to scan.
pub fn write_scan(out: &mut Vec<u8>, list: &[u8]) {
    reply::array(out, 2);
    reply::bulk(out, b"0");
    write_list(out, list, RespVersion::Two);
}

/// Bytes of a string that Redis keeps beside what it knows of it.
const EMBEDDED_BYTES: usize = 44;
/// Fields of a hash that Redis keeps in one block, and bytes of a name or value in one.
const LISTPACK: (usize, usize) = (128, 64);

/// The name of how Redis would store a value.
pub fn encoding(value: &[u8], is_hash: bool) -> &'static str {
    if is_hash {
        let list = value.get(MAGIC.len() + 4..).unwrap_or_default();
        let (fields, bytes) = LISTPACK;
        let is_small = items(list).count() <= 2 * fields && items(list).flatten().all(|item| item.len() <= bytes);
        return if is_small { "listpack" } else { "hashtable" };
    }
    match value.len() {
        0..=20 if number::integer(value).is_some() => "int",
        0..=EMBEDDED_BYTES => "embstr",
        _ => "raw",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::operation::items::push;

    fn list(of: &[Option<&str>]) -> Vec<u8> {
        let mut list = Vec::new();
        for item in of {
            push(&mut list, item.map(str::as_bytes));
        }
        list
    }

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lists_are_written_in_either_version() {
        use RespVersion::{Three, Two};
        let two = list(&[Some("a"), None]);
        assert_eq!(written(|out| write_list(out, &two, Two)), "*2\r\n$1\r\na\r\n$-1\r\n");
        assert_eq!(written(|out| write_map(out, &two, Three)), "%1\r\n$1\r\na\r\n_\r\n");
        assert_eq!(written(|out| write_map(out, &two, Two)), "*2\r\n$1\r\na\r\n$-1\r\n");
        let pair = list(&[Some("a"), Some("b")]);
        assert_eq!(written(|out| write_pairs(out, &pair, Three)), "*1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n");
        assert_eq!(written(|out| write_pairs(out, &pair, Two)), "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
        assert_eq!(written(|out| write_first(out, b"", Two)), "$-1\r\n");
        assert_eq!(written(|out| write_scan(out, b"")), "*2\r\n$1\r\n0\r\n*0\r\n");
        assert_eq!(written(|out| write_numbers(out, &list(&[Some("-7"), None]), Two)), "*2\r\n:-7\r\n$-1\r\n");
    }

    #[test]
    fn values_are_stored_as_redis_names_it() {
        assert_eq!(encoding(b"12", false), "int");
        assert_eq!(encoding(b"012", false), "embstr");
        assert_eq!(encoding(&[b'x'; 45], false), "raw");
        let hash = |list: &[u8]| [&MAGIC[..], &[1, 0, 0, 0], list].concat();
        assert_eq!(encoding(&hash(&list(&[Some("a"), Some("b")])), true), "listpack");
        assert_eq!(encoding(&hash(&list(&[Some("a"), Some(&"b".repeat(65))])), true), "hashtable");
    }
}
