//! The file formats of `load` and `dump`: one record a line, as tab-separated text or as JSON.

mod jsonl;
mod record;
mod tsv;

use std::path::Path;

use crate::key::{Binary, check_key, check_stored_key};
pub use record::{BadLine, Record};

/// How records are written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Key TAB value, one a line; no flags, no expiry.
    Tsv,
    /// One JSON object a line, which also carries binary keys and values, flags and expiry.
    Jsonl,
}

/// Where a record is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To a server, by memcached's protocol.
    Server,
    /// Into a directory at rest.
    Store,
}

impl Format {
    /// The format that a file's name tells, else JSON.
    pub fn of_name(path: &Path) -> Self {
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv")) {
            Self::Tsv
        } else {
            Self::Jsonl
        }
    }

    /// Whether a line holds nothing but blanks. Where keys may consist of blanks, one with such a key is a record.
    pub fn is_blank(self, line: &[u8], binary: Binary) -> bool {
        // Most lines begin with something else.
        let is_blank = line.first().is_none_or(u8::is_ascii_whitespace) && line.trim_ascii().is_empty();
        let has_key =
            self == Self::Tsv && binary == Binary::Take && line.iter().position(|byte| *byte == b'\t') > Some(0);
        is_blank && !has_key
    }

    /// Parses one line, without its end, into `record`, whose buffers are used again. `into`: what its key is to fit.
    ///
    /// # Errors
    /// Says why the line is no record, or why its key cannot be loaded; `record` then holds nothing useful.
    pub fn parse(self, line: &[u8], binary: Binary, into: Destination, record: &mut Record) -> Result<(), BadLine> {
        let meant = match self {
            Self::Tsv => tsv::parse(line, record)?,
            Self::Jsonl => jsonl::parse(line, record)?,
        };
        let binary = if meant == Binary::Take { meant } else { binary };
        Ok(match into {
            Destination::Server => check_key(&record.key, binary),
            Destination::Store => check_stored_key(&record.key, binary),
        }?)
    }

    /// Appends `record` as one line.
    pub fn push(self, out: &mut Vec<u8>, record: &Record) {
        match self {
            Self::Tsv => tsv::push(out, record),
            Self::Jsonl => jsonl::push(out, record),
        }
    }

    /// Whether a line tells all about this record.
    pub fn carries_all_of(self, record: &Record) -> bool {
        self == Self::Jsonl || (record.flags == 0 && record.exptime == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyError;

    /// Bytes that every format has to escape somehow.
    fn awkward() -> Vec<Record> {
        let all_bytes: Vec<u8> = (0..=255).collect();
        let values: [&[u8]; 6] = [b"", b"plain", b"a\tb\nc\rd\\e", b"\r", "caf\u{e9} \u{1f98c}".as_bytes(), &all_bytes];
        let record = |value: &&[u8]| Record { key: b"k".to_vec(), value: value.to_vec(), flags: 0, exptime: 0, cas: 0 };
        let mut records: Vec<_> = values.iter().map(record).collect();
        let keys: [&[u8]; 5] =
            [b"two words", b"\xff\xfe", "caf\u{e9}".as_bytes(), "\u{feff}marked".as_bytes(), &[b'\r'; 250]];
        let plain = records[1].clone();
        records.extend(keys.iter().map(|key| Record { key: key.to_vec(), ..plain.clone() }));
        records
    }

    #[test]
    fn every_format_reads_back_what_it_writes() {
        for format in [Format::Tsv, Format::Jsonl] {
            for record in awkward() {
                let mut line = Vec::new();
                format.push(&mut line, &record);
                assert_eq!(line.pop(), Some(b'\n'));
                assert!(!line.contains(&b'\n') && !line.contains(&b'\r'), "one record is one line");
                let mut read = Record { flags: 9, exptime: 9, cas: 9, key: vec![9], value: vec![9] };
                format.parse(&line, Binary::Take, Destination::Server, &mut read).unwrap();
                assert_eq!(read, record, "{format:?} {}", String::from_utf8_lossy(&line));
            }
        }
    }

    #[test]
    fn json_carries_flags_expiry_and_cas_and_tsv_says_that_it_does_not() {
        let (key, value) = (b"k".to_vec(), b"v".to_vec());
        let record = Record { key, value, flags: u32::MAX, exptime: 1_900_000_000, cas: u64::MAX };
        let mut line = Vec::new();
        Format::Jsonl.push(&mut line, &record);
        let mut read = Record::default();
        Format::Jsonl.parse(line.trim_ascii_end(), Binary::Refuse, Destination::Server, &mut read).unwrap();
        assert_eq!(read, record);
        assert!(!Format::Tsv.carries_all_of(&record));
    }

    #[test]
    fn keys_with_blanks_are_mistakes_unless_they_are_meant() {
        let parse = |format: Format, line: &str, binary| {
            format
                .parse(line.as_bytes(), binary, Destination::Server, &mut Record::default())
                .map_err(|error| error.to_string())
        };
        for (format, line) in [(Format::Tsv, "a b\tv"), (Format::Jsonl, r#"{"key":"a b","value":"v"}"#)] {
            assert!(parse(format, line, Binary::Refuse).unwrap_err().contains("--binary-keys"));
            assert!(parse(format, line, Binary::Take).is_ok());
        }
        assert!(parse(Format::Jsonl, r#"{"key_base64":"YSBi","value":"v"}"#, Binary::Refuse).is_ok());
    }

    #[test]
    fn lines_of_blanks_are_no_records_unless_a_key_of_blanks_is_meant() {
        for format in [Format::Tsv, Format::Jsonl] {
            for line in [&b""[..], b" ", b"\t", b"\t\t ", b"\x0c"] {
                assert!(format.is_blank(line, Binary::Refuse) && format.is_blank(line, Binary::Take));
            }
            assert!(!format.is_blank(b" a", Binary::Refuse));
        }
        assert!(Format::Tsv.is_blank(b"  \t ", Binary::Refuse));
        assert!(!Format::Tsv.is_blank(b"  \t ", Binary::Take));
    }

    #[test]
    fn no_line_of_a_dump_begins_with_a_byte_order_mark() {
        let record = Record { key: "\u{feff}k".into(), value: b"v".to_vec(), ..Record::default() };
        let mut line = Vec::new();
        Format::Tsv.push(&mut line, &record);
        assert_eq!(line, b"\\xef\\xbb\\xbfk\tv\n");
        let refused =
            Format::Tsv.parse("\u{feff}k\tv".as_bytes(), Binary::Take, Destination::Server, &mut Record::default());
        assert!(matches!(refused, Err(BadLine::ByteOrderMark)));
    }

    #[test]
    fn keys_that_only_stores_take_are_spelt_so_that_they_are_meant() {
        let record = Record { key: vec![b'k'; 251], value: b"v".to_vec(), ..Record::default() };
        let mut line = Vec::new();
        Format::Jsonl.push(&mut line, &record);
        let parse = |into| Format::Jsonl.parse(line.trim_ascii_end(), Binary::Refuse, into, &mut Record::default());
        assert!(parse(Destination::Store).is_ok());
        assert!(matches!(parse(Destination::Server), Err(BadLine::Key(KeyError::TooLong(251)))));
    }

    #[test]
    fn the_format_is_told_by_the_name() {
        assert_eq!(Format::of_name(Path::new("a.TSV")), Format::Tsv);
        assert_eq!(Format::of_name(Path::new("a.jsonl")), Format::Jsonl);
        assert_eq!(Format::of_name(Path::new("-")), Format::Jsonl);
    }
}
