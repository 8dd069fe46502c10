//! Members that stop and say so: nobody waits until they are missed, or for their leases to run out.
//!
//! A node that is asked to stop would be out of its chains as late as one that was killed: it is missed a second later, and
//! could then have a lease for another. But it knows that it answers nothing any more. Its farewell ends the life by a
//! command, so that whoever leads next knows, too; before all managers know that command, it does nothing, and the node is
//! missed like any other. What is lost or comes late does no harm.

use super::leader::{Effects, Manager};
use super::state::Command;
use crate::ids::Member;
use crate::testing::coverage::{Path, took};
use crate::wire::version::FAREWELLS;

impl Manager {
    /// The cluster's version is this: everybody speaks it.
    pub fn everybody_speaks(&mut self, version: u8) {
        self.version = self.version.max(version);
    }

    /// A node that lives says that it will not any more.
    pub(super) fn farewell(&mut self, member: Member, effects: &mut Effects) {
        if self.version >= FAREWELLS {
            effects.propose.push(Command::End { member });
        }
    }

    /// Its life is over, and so is its lease, whoever granted it.
    pub(super) fn ended(&mut self, member: Member) {
        took(Path::LifeEnded);
        self.asked.retain(|_, asked| asked.member != member);
        self.leases.remove(&member);
    }
}
