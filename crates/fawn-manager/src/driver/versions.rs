//! The cluster's version: the newest that everybody speaks, once the leader has seen that and it is decided.
//!
//! Everybody: all managers of the group, and all members of the roster, whether they live or not: one that is away must not
//! come back to what it does not know. A member that is gone for good is removed, and no longer counts.

use super::Driver;
use super::peers::is_outside;
use crate::decided::Decision;
use crate::links::table::Peer;
use fawn_kv::link::Control;
use fawn_kv::manager::roster::Member;
use fawn_kv::wire::version::{FAREWELLS, NEWEST};
use std::time::Duration;

/// A manager that has answered within this is the one that was greeted.
const HEARD: Duration = Duration::from_secs(1);

impl Driver {
    /// Proposes a newer version when everybody speaks it.
    pub(super) fn look_at_versions(&mut self) {
        if self.facts.version >= NEWEST || !self.leads() {
            return;
        }
        let members = self.group_members();
        let others = members.membership().nodes().map(|(id, _)| *id).filter(|id| *id != self.me.id.0);
        let managers = others.map(|id| self.heard.version_of(id).filter(|_| self.heard.is_within(id, HEARD)));
        let seats = self.facts.roster.members.values().flat_map(Member::seats);
        let seats = seats.map(|seat| self.table.version_of(seat));
        let newest = managers.chain(seats).try_fold(NEWEST, |newest, version| Some(newest.min(version?)));
        if let Some(newest) = newest.filter(|newest| *newest > self.facts.version) {
            self.proposals.add(Decision::Version(newest));
        }
    }

    /// The cluster's version is another: whoever is connected is told, and whoever does not speak it is shown out.
    pub(super) fn version_changed(&mut self) {
        let version = self.facts.version;
        // Said where it is decided, and not each time that it is read back.
        if self.leads() {
            tracing::info!("all processes speak version {version}, which is the cluster's from now on");
        }
        self.with_manager(|manager, _, _| manager.everybody_speaks(version));
        let mut behind = Vec::new();
        for (link, peer) in self.table.peers() {
            peer.tell_version(version);
            if peer.version < version && !is_outside(peer.party) {
                behind.push(link);
            }
        }
        for link in behind {
            self.table.close(link);
        }
    }
}

impl Peer {
    /// Tells of the cluster's version whoever has a word for it.
    pub fn tell_version(&self, version: u8) {
        if self.version >= FAREWELLS {
            self.outbox.say(&Control::Speaks { version });
        }
    }
}
