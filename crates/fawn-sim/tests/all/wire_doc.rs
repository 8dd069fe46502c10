//! `docs/wire.md` says what the code does: every message and type with its number and fields, and an example.

use std::collections::BTreeMap;
use std::path::Path;

use fawn_kv::ids::{Address, Asker, Epoch, FrontId, Incarnation, Position, RangeId, RequestId, Seq};
use fawn_kv::manager::Command;
use fawn_kv::operation::bit_field::BitFieldStep;
use fawn_kv::operation::{Cas, Operation, Outcome};
use fawn_kv::range::entry::{Asked, Change, Entry, Version};
use fawn_kv::wire::Message;
use fawn_kv::wire::version::NEWEST;
use fawn_kv::wire::version::OLDEST;

use crate::schema::Schema;
use std::sync::Arc;

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/wire.md");
    std::fs::read_to_string(path).unwrap()
}

/// The rows of the tables whose first heading is `subject`, cut into cells.
pub fn rows<'d>(document: &'d str, subject: &str) -> Vec<Vec<&'d str>> {
    let (mut found, mut here, mut before) = (Vec::new(), false, "");
    for line in document.lines() {
        if line.starts_with('|') {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            if !before.starts_with('|') {
                here = cells[0] == subject;
            } else if here && !cells[0].starts_with("---") {
                found.push(cells);
            }
        }
        before = line;
    }
    found
}

/// The fields of a cell, without what is said of them.
fn fields(cell: &str) -> String {
    let fields = cell.split(';').map(|field| field.split(": ").next().unwrap_or(field).trim());
    fields.collect::<Vec<_>>().join("; ")
}

fn unquoted(cell: &str) -> String {
    let name = cell.strip_prefix('`').and_then(|cell| cell.strip_suffix('`'));
    name.unwrap_or_else(|| panic!("{cell} is the name of a type or variant, in backticks")).to_owned()
}

#[test]
fn every_message_and_type_stands_in_the_document_with_its_number_and_its_fields_in_order() {
    let mut schema = Schema::default();
    schema.add::<Message>();
    schema.add::<Operation<'static>>();
    schema.add::<BitFieldStep>();
    schema.add::<Command>();
    assert!(schema.enums["Message"].len() > 30 && schema.structs.len() > 30, "the types were looked through");
    let document = document();

    let structs: BTreeMap<String, String> =
        rows(&document, "type").iter().map(|cells| (unquoted(cells[0]), fields(cells[1]))).collect();
    for (name, expected) in &schema.structs {
        assert_eq!(structs.get(name), Some(expected), "the type {name}");
    }
    let unknown = structs.keys().find(|name| !schema.structs.contains_key(*name));
    assert_eq!(unknown, None, "a type that nothing is made of");

    for (name, variants) in &schema.enums {
        let described: BTreeMap<u32, (String, String)> = rows(&document, &format!("`{name}`"))
            .iter()
            .map(|cells| (cells[0].parse().unwrap(), (unquoted(cells[1]), fields(cells[2]))))
            .collect();
        for (number, expected) in variants {
            assert_eq!(described.get(number), Some(expected), "number {number} of {name}");
        }
        assert_eq!(described.len(), variants.len(), "{name} has no other variants");
    }
    let versions = format!("Versions {OLDEST} to {NEWEST} are spoken.");
    assert!(document.contains(&versions), "the document says: {versions}");
}

/// The message of the document's example.
fn example() -> Message {
    let position = Position { epoch: Epoch(3), seq: Seq(300) };
    let version = Version { value: b"hello".to_vec(), flags: 0, expiry: 0, stale: false, won: false, client_cas: None };
    let asked = Asked {
        id: RequestId { session: 1_800_000_000 << 32 | 5, number: 9 },
        answered: 8,
        asker: Asker { address: Address::Front(FrontId(2)), tag: (1 << 40) + 1 },
        outcome: Outcome::Stored { cas: Cas::Appended, size: 5 },
        shown: None,
    };
    let change = Change::Value(version);
    let entry = Entry { position, time: 1_800_000_060, key: b"user:1".to_vec(), change, asked: Some(asked) };
    Message::Feed {
        range: RangeId(7),
        epoch: Epoch(3),
        to: Incarnation(2),
        entries: vec![Arc::new(entry)],
        mark: Seq(299),
    }
}

#[test]
fn the_example_of_the_document_is_the_message_that_it_says() {
    let document = document();
    let digits: Vec<&str> = rows(&document, "bytes").iter().flat_map(|cells| cells[0].split(' ')).collect();
    let bytes: Vec<u8> = digits.iter().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    assert_eq!(Message::decode(&bytes).unwrap(), example());
    assert_eq!(example().encode(), bytes);
    let said = format!("is {} bytes:", bytes.len());
    assert!(document.contains(&said), "the document says of the example that it {said}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = words(&format!("{:?}", example()));
    assert!(words(&document).contains(&told), "the document has the example as text: {told}");
}
