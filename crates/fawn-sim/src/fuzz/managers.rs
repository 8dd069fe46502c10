//! What managers keep: a command of their log, and the state.

use fawn_check::random::Random;
use fawn_kv::manager::{Command, NEWEST, State, VERSION};

use super::generate::generate;
use super::messages::{most_bytes_there_and_back, pool, reads_back, set_version};
use super::target::{Input, Target};

/// [`Command::decode`] and [`State::decode`]. What is decoded reads back as itself.
pub(super) struct Managers;

impl Target for Managers {
    fn name(&self) -> &'static str {
        "manager"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let pool = pool(random);
        let is_state = random.chance(1, 2);
        vec![if is_state {
            generate::<State>(random, &pool).encode()
        } else {
            generate::<Command>(random, &pool).encode()
        }]
    }

    fn mend(&self, random: &mut Random, input: &mut Input) {
        let version = if random.chance(7, 8) { VERSION } else { NEWEST };
        set_version(random, input, version);
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        most_bytes_there_and_back(input)
    }

    fn execute(&self, input: &Input) -> bool {
        let bytes = input.concat();
        let is_command = reads_back(&bytes, Command::decode, Command::encode);
        reads_back(&bytes, State::decode, State::encode) || is_command
    }
}
