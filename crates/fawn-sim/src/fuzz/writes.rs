//! What a node's ranges have written to their store's log, as recovery reads it.

use fawn_check::random::Random;
use fawn_kv::ids::Position;
use fawn_kv::store::Write;

use super::generate::generate;
use super::messages::{most_bytes_there_and_back, pool, reads_back, set_version};
use super::target::{Input, Target};

/// [`Write::decode`]. What is decoded reads back as itself.
pub(super) struct Writes;

impl Target for Writes {
    fn name(&self) -> &'static str {
        "write"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let pool = pool(random);
        let (committed, write) = (generate::<Position>(random, &pool), generate::<Write<'static>>(random, &pool));
        vec![write.encode(committed)]
    }

    fn mend(&self, random: &mut Random, input: &mut Input) {
        let version = if random.chance(7, 8) { Write::OLDEST } else { Write::NEWEST };
        set_version(random, input, version);
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        most_bytes_there_and_back(input)
    }

    fn execute(&self, input: &Input) -> bool {
        reads_back(&input.concat(), Write::decode, |(committed, write)| write.encode(*committed))
    }
}
