//! What nodes say to each other, and the operation inside a request.

use std::fmt::Debug;

use fawn_check::random::Random;
use fawn_kv::operation::{Item, Operation, evaluate};
use fawn_kv::wire::Message;
use fawn_kv::wire::version::NEWEST;
use fawn_kv::wire::version::OLDEST;

use super::generate::generate;
use super::target::{Input, Target};

/// Bytes of memory that a byte of a message may take: a session with one request is seven bytes on the wire and two
/// nodes of B-trees in memory.
pub(super) const BYTES_PER_BYTE: u64 = 192;

/// Bytes that texts and errors take.
pub(super) const BYTES_MORE: u64 = 4096;

pub(super) fn pool(random: &mut Random) -> [u8; 64] {
    let mut pool = [0; 64];
    random.fill(&mut pool);
    pool
}

/// Mostly, the right version.
pub(super) fn set_version(random: &mut Random, input: &mut Input, right: u8) {
    if let Some(version) = input.first_mut().and_then(|part| part.first_mut())
        && !random.chance(1, 16)
    {
        *version = right;
    }
}

/// One of those that there are: nearly everything came with the oldest.
fn a_version(random: &mut Random) -> u8 {
    if random.chance(7, 8) { OLDEST } else { NEWEST }
}

/// The same of an input each part of which is a message.
pub(super) fn set_versions(random: &mut Random, input: &mut Input) {
    for version in input.iter_mut().filter_map(|part| part.first_mut()) {
        if !random.chance(1, 16) {
            *version = a_version(random);
        }
    }
}

/// Memory of those who take a few messages, with what they remember of them: for each byte (a key of a multi-get is two, and in
/// flight, asked for, read and answered), and beside.
pub(super) fn most_bytes_of_takers(input: &Input) -> u64 {
    2048 * input.iter().map(|part| part.len() as u64).sum::<u64>() + (256 << 10)
}

/// Memory for what is decoded, what that is encoded to, and what that is decoded to.
pub(super) fn most_bytes_there_and_back(input: &Input) -> u64 {
    let length = input.iter().map(|part| part.len() as u64).sum::<u64>();
    2 * BYTES_PER_BYTE * length + BYTES_MORE
}

/// Whether `decode` takes the bytes; what it makes of them reads back as itself.
pub(super) fn reads_back<T: PartialEq + Debug, E: PartialEq + Debug>(
    bytes: &[u8],
    decode: impl Fn(&[u8]) -> Result<T, E>,
    encode: impl Fn(&T) -> Vec<u8>,
) -> bool {
    let Ok(value) = decode(bytes) else { return false };
    assert_eq!(decode(&encode(&value)), Ok(value), "what is decoded reads back as itself");
    true
}

/// [`Message::decode`]. What is decoded reads back as itself.
pub(super) struct Messages;

impl Target for Messages {
    fn name(&self) -> &'static str {
        "message"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let pool = pool(random);
        vec![generate::<Message>(random, &pool).encode()]
    }

    fn mend(&self, random: &mut Random, input: &mut Input) {
        let version = a_version(random);
        set_version(random, input, version);
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        most_bytes_there_and_back(input)
    }

    fn execute(&self, input: &Input) -> bool {
        reads_back(&input.concat(), Message::decode, Message::encode)
    }
}

/// Bytes of the largest value that an operation may make.
const MOST_VALUE_BYTES: usize = 16 << 10;

/// The operation of a [`Message::Request`], and its evaluation.
pub(super) struct Operations;

impl Target for Operations {
    fn name(&self) -> &'static str {
        "operation"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let pool = pool(random);
        let operation = generate::<Operation<'_>>(random, &pool);
        let value = if random.chance(1, 2) { random.word().to_string().into_bytes() } else { pool[..40].to_vec() };
        vec![postcard::to_allocvec(&operation).expect("an operation can be encoded"), value]
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        // A value that is made of two; an edit behind the end of a string makes the bytes before it.
        4 * input.iter().map(|part| part.len() as u64).sum::<u64>() + 2 * MOST_VALUE_BYTES as u64 + BYTES_MORE
    }

    fn execute(&self, input: &Input) -> bool {
        let [bytes, rest @ ..] = input.as_slice() else { return false };
        let Ok(operation) = postcard::from_bytes::<Operation<'_>>(bytes) else { return false };
        let value = rest.first().map_or(&[][..], Vec::as_slice);
        let item = Item { value, flags: 1, expiry: 0, cas: 2, stale: value.len() % 2 == 1, won: value.len() % 3 == 1 };
        evaluate(&operation, None, 1_800_000_000, MOST_VALUE_BYTES);
        let decision = evaluate(&operation, Some(item), 1_800_000_000, MOST_VALUE_BYTES);
        let again = postcard::to_allocvec(&decision.outcome).expect("an outcome can be encoded");
        assert_eq!(postcard::from_bytes(&again), Ok(decision.outcome), "an outcome reads back as itself");
        true
    }
}
