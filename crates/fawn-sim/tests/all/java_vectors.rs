//! Test vectors for clients in other languages: bytes of each message, operation and control, as this code writes them.

use std::fmt::Write as _;

use fawn_kv::ids::{Address, ManagerId};
use fawn_kv::link::control::{Greeted, Greeting};
use fawn_kv::link::{Control, frame};
use fawn_kv::manager::roster::Roster;
use fawn_kv::operation::Operation;
use fawn_kv::scan::Bookmark;
use fawn_kv::wire::Message;
use fawn_kv::wire::version::{NEWEST, OLDEST};
use fawn_ring::Secret;

use crate::filler::values;
use crate::java;
use crate::schema::Schema;

/// Where they are kept, from the root of the repository.
const FILE: &str = "integrations/java/fawn-client/src/test/resources/vectors.txt";

const HEAD: &str = "\
# Made from the Rust code by crates/fawn-sim/tests/all/java_vectors.rs. One vector a line: kind, name, bytes in hexadecimal.
# message, operation, control, bookmark: read, and written back byte for byte. frame: a whole frame of a link.
# long: numbers that are longer than they have to be are read; after the bytes the same written short.
# refused: bytes that are no message. position: of a key of so many bytes, byte i being i mod 251, under the secret 0, 1, 2 to 31.
";

/// Lengths of keys around which their hash takes another way: blocks of 64 bytes, chunks of 1024, a tree of those.
const KEY_BYTES: [usize; 16] = [1, 2, 63, 64, 65, 127, 128, 1023, 1024, 1025, 2048, 2049, 3072, 5000, 31_744, 65_535];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("text takes text");
        text
    })
}

/// The lines of one kind, each once.
#[derive(Default)]
struct Lines(Vec<String>);

impl Lines {
    fn add(&mut self, kind: &str, name: &str, bytes: &[u8]) {
        let line = format!("{kind} {name} {}", hex(bytes));
        if !self.0.contains(&line) {
            self.0.push(line);
        }
    }
}

fn controls() -> Vec<(&'static str, Control)> {
    let mut controls = Vec::new();
    controls.extend(values::<Greeting>(None).into_iter().map(|greeting| ("Greeting", Control::Greeting(greeting))));
    controls.extend(values::<Greeted>(None).into_iter().map(|greeted| ("Greeted", Control::Greeted(greeted))));
    controls
        .extend(["", "start it anew, with another name"].map(|why| ("Refused", Control::Refused { why: why.into() })));
    for (term, leader) in [(0, None), (u64::MAX, Some(ManagerId(u64::MAX))), (7, Some(ManagerId(1)))] {
        controls.push(("Leads", Control::Leads { term, leader }));
    }
    controls.extend([0, 127, 128, u64::MAX].map(|known| ("AskRoster", Control::AskRoster { known })));
    controls.extend(values::<Roster>(None).into_iter().map(|roster| ("Roster", Control::Roster(roster))));
    controls.extend([("Alive", Control::Alive), ("AskSecret", Control::AskSecret)]);
    controls.extend([[0; 32], [0xff; 32]].map(|secret| ("Secret", Control::Secret(Secret(secret)))));
    controls
}

/// A message with one number written longer than it has to be: its own.
fn lengthened(bytes: &[u8]) -> Option<Vec<u8>> {
    let (&version, rest) = bytes.split_first()?;
    let (&number, rest) = rest.split_first()?;
    (number < 0x80).then(|| [&[version, number | 0x80, 0x80, 0][..], rest].concat())
}

fn vectors() -> String {
    let mut schema = Schema::default();
    schema.add::<Message>();
    schema.add::<Operation<'static>>();
    let mut lines = Lines::default();
    for (number, (name, _)) in &schema.enums["Message"] {
        let messages: Vec<Vec<u8>> = values::<Message>(Some(*number)).iter().map(Message::encode).collect();
        for bytes in &messages {
            assert!(Message::decode(bytes).is_ok(), "{name} is read: {}", hex(bytes));
            lines.add("message", name, bytes);
        }
        let most = &messages[1];
        let long = lengthened(most).expect("messages have numbers below 128");
        assert_eq!(Message::decode(&long).map(|message| message.encode()).as_ref(), Ok(most), "{name}");
        lines.0.push(format!("long {name} {} {}", hex(&long), hex(most)));
        let mut damaged = vec![[&most[..], &[0]].concat(), most[..most.len() - 1].to_vec()];
        let other = if most[0] == NEWEST { OLDEST } else { NEWEST };
        damaged.extend([OLDEST - 1, other, NEWEST + 1].map(|version| [&[version], &most[1..]].concat()));
        if name == "Flush" {
            // The upper end of its keys is before `due`, five bytes: now it is below the lower end.
            let mut keys = most.clone();
            keys[most.len() - 25] = 0;
            damaged.push(keys);
        }
        for bytes in damaged.iter().filter(|bytes| Message::decode(bytes).is_err()) {
            lines.add("refused", name, bytes);
        }
    }
    lines.add("refused", "NoSuchMessage", &[OLDEST, schema.enums["Message"].len() as u8]);
    for (number, (name, _)) in &schema.enums["Operation"] {
        for operation in values::<Operation<'static>>(Some(*number)) {
            lines.add("operation", name, &operation.encode());
        }
    }
    for (name, control) in controls() {
        let mut bytes = Vec::new();
        frame::put_control(&mut bytes, &control);
        lines.add("control", name, &bytes[frame::HEADER_BYTES + 1..]);
        lines.add("frame", "Control", &bytes);
    }
    for (to, from) in values::<(Address, Address)>(None) {
        let mut bytes = Vec::new();
        frame::put_message(&mut bytes, to, from, &Message::Ping);
        lines.add("frame", "Message", &bytes);
    }
    for bookmark in values::<Bookmark>(None) {
        lines.add("bookmark", "Bookmark", &postcard::to_allocvec(&bookmark).expect("a bookmark can be encoded"));
    }
    let secret = Secret(std::array::from_fn(|at| at as u8));
    for length in KEY_BYTES {
        let key: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        lines.0.push(format!("position {length} {}", hex(&secret.position(&key).0)));
    }
    format!("{HEAD}versions {OLDEST} {NEWEST}\n{}\n", lines.0.join("\n"))
}

#[test]
fn the_vectors_of_clients_in_java_are_what_this_code_writes() {
    java::compare(FILE, &vectors());
}
