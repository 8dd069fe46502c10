//! Who is kept out of chains with others because one of the two does not hear the other: said in the log when it begins and when
//! it is over, and in the status meanwhile.

use super::Driver;
use super::operate::{node_of, seat_of};
use fawn_kv::ids::NodeId;
use fawn_kv::manager::Manager;
use fawn_kv::status::SeatFigures;

impl Driver {
    /// Says what has changed.
    pub(super) fn tell_apart(&mut self) {
        let now = self.manager.as_ref().map(Manager::kept_out).unwrap_or_default();
        for (node, other) in now.difference(&self.apart) {
            tracing::warn!("{} {}", self.name_of(*node), self.reason(*other));
        }
        for (node, other) in self.apart.difference(&now) {
            tracing::info!("{} may share chains with {} again", self.name_of(*node), self.name_of(*other));
        }
        self.apart = now;
    }

    /// What a seat said of itself, and if it knows of no trouble, why it is in no chain with another.
    pub(super) fn with_reason(&self, mut figures: SeatFigures) -> SeatFigures {
        let apart = || self.apart.iter().find(|(node, _)| *node == node_of(figures.seat));
        figures.trouble = figures.trouble.take().or_else(|| Some(format!("it {}", self.reason(apart()?.1))));
        figures
    }

    fn reason(&self, other: NodeId) -> String {
        format!("is kept out of chains with {}, because one of them does not reach the other", self.name_of(other))
    }

    pub(super) fn name_of(&self, node: NodeId) -> String {
        let mut members = self.facts.roster.members.iter();
        let of = members.find(|(_, member)| member.seats().any(|seat| node_of(seat) == node));
        of.map_or_else(|| format!("seat {}", seat_of(node).0), |(name, _)| name.clone())
    }
}
