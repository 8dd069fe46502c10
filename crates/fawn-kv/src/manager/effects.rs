//! What a manager wants done.

use super::state::Command;
use crate::ids::Address;
use crate::wire::Message;

/// What a step of the manager wants done.
#[derive(Debug, Default)]
pub struct Effects {
    /// Messages to be sent.
    pub send: Vec<(Address, Message)>,
    /// Commands to be put into the managers' log.
    pub propose: Vec<Command>,
    /// Questions whether it leads still, to be answered with [`Manager::confirmed`](super::Manager::confirmed).
    pub confirm: Vec<u64>,
}
