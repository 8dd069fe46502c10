//! What a store hands back later, because flash had to be read.

use fawn_kv::range::entry::Kept;
use fawn_kv::store::Part;

/// What was read from flash.
#[derive(Clone, Debug)]
pub enum FlashRead {
    Key(Option<Kept>),
    Part(Part),
    /// Nothing: flash cannot be read there.
    Failed,
    /// Nothing, this time.
    Refused,
}
