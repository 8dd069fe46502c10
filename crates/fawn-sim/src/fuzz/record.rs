//! Records. What is decoded reads back as itself.

use fawn_check::random::Random;
use fawn_store::large::Stub;
use fawn_store::record::{Kind, Marks, Record};

use super::target::{Input, Target};

/// A random record.
pub(super) fn encoded(random: &mut Random, key: &[u8], seq: u64) -> Vec<u8> {
    let longest = 1 << random.below(8);
    let mut value = vec![random.word() as u8; random.below(longest) as usize];
    let kind = *random.pick(&[Kind::Value, Kind::Value, Kind::Delete, Kind::Stub]);
    if kind == Kind::Stub {
        value = Stub::of(seq, &value).encode().to_vec();
    }
    let record = Record {
        kind,
        marks: Marks { stale: random.chance(1, 8), won: random.chance(1, 8) },
        epoch: random.below(3) as u32,
        seq,
        client_flags: if random.chance(1, 3) { random.word() as u32 } else { 0 },
        expiry: if random.chance(1, 3) { random.word() as u32 } else { 0 },
        client_cas: random.chance(1, 3).then(|| random.word()),
        key,
        value: &value,
    };
    let mut bytes = Vec::new();
    record.encode(&mut bytes);
    bytes
}

/// [`Record::decode`] and its relatives.
pub(super) struct Records;

impl Target for Records {
    fn name(&self) -> &'static str {
        "record"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let key = vec![b'k'; random.within(1, 30) as usize];
        let seq = random.word();
        vec![encoded(random, &key, seq)]
    }

    fn mend(&self, random: &mut Random, input: &mut Input) {
        let Some(bytes) = input.first_mut().filter(|bytes| bytes.len() >= 24) else { return };
        if random.chance(1, 8) {
            return;
        }
        let length = Record::peek_len(bytes).unwrap_or(bytes.len()).min(bytes.len());
        let checksum = crc32c::crc32c(&bytes[4..length]);
        bytes[..4].copy_from_slice(&checksum.to_le_bytes());
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        3 * input.iter().map(|part| part.len() as u64).sum::<u64>() + 256
    }

    fn execute(&self, input: &Input) -> bool {
        let bytes = input.concat();
        let trusted = Record::decode_trusted(&bytes);
        let Ok((record, length)) = Record::decode(&bytes) else { return false };
        assert_eq!(trusted, Ok(record), "a checksum changes nothing of what is read");
        assert!(length <= bytes.len(), "a record lies within its bytes");
        if let Some(stub) = Stub::decode(record.value) {
            assert_eq!(stub.encode(), record.value, "a stub reads back as itself");
        }
        let mut again = Vec::new();
        record.encode(&mut again);
        assert_eq!(Record::decode(&again), Ok((record, again.len())), "a record reads back as itself");
        true
    }
}
