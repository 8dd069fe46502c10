//! A continuation of a client inside of that of a front-end that passes its get on.

use crate::ids::Address;
use crate::wire::Continuation;

/// The continuation for another front-end of a get that a client asked this one for.
pub(super) fn wrapped(of_client: &Continuation) -> Vec<u8> {
    let mut blob = Vec::new();
    crate::wire::encoding::append(&mut blob, of_client);
    blob
}

/// The client's continuation in one that was made so. A front-end in it would pass the answer on without end.
pub(super) fn unwrapped(blob: &[u8]) -> Option<Continuation> {
    let of_client: Continuation = postcard::from_bytes(blob).ok()?;
    matches!(of_client.asker.address, Address::Client(_)).then_some(of_client)
}
