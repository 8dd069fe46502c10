//! What a target of the fuzzer is.

use fawn_check::random::Random;

/// What a target decodes.
pub type Input = Vec<Vec<u8>>;

/// One decoder.
pub trait Target: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// An input as the product writes it.
    fn valid(&self, random: &mut Random) -> Input;

    /// Makes checksums (and what else would end decoding at once) right again, or some of it.
    fn mend(&self, _random: &mut Random, _input: &mut Input) {}

    /// How many executions of another target take as long as one of this: it gets so many times fewer of them.
    fn cost(&self) -> u64 {
        1
    }

    /// Bytes of memory that one execution may hold at a time.
    fn most_bytes(&self, input: &Input) -> u64;

    /// Decodes, and panics when a promise is broken. Whether anything was decoded; otherwise all of it was refused.
    fn execute(&self, input: &Input) -> bool;
}
