//! Nodes that are kept out of chains with others because one of the two does not hear the other. The log says so when that begins
//! and when it is over, and the status meanwhile.

use super::committed::CommittedState;
use super::seats::node_of;
use fawn_kv::ids::NodeId;
use fawn_kv::manager::Manager;
use fawn_kv::status::SeatFigures;
use std::collections::BTreeSet;

/// Nodes that are kept out of chains with others, and with which, as the log said last.
#[derive(Debug, Default)]
pub struct Separations {
    pairs: BTreeSet<(NodeId, NodeId)>,
}

impl Separations {
    /// Looks at the separations of now, and logs what has changed.
    pub fn log_changes(&mut self, committed: &CommittedState) {
        let now = committed.manager().map(Manager::kept_out).unwrap_or_default();
        for (node, other) in now.difference(&self.pairs) {
            tracing::warn!("{} {}", committed.name_of(*node), reason(committed, *other));
        }
        for (node, other) in self.pairs.difference(&now) {
            let (node, other) = (committed.name_of(*node), committed.name_of(*other));
            tracing::info!("{node} may share chains with {other} again");
        }
        self.pairs = now;
    }

    /// The figures of a seat. If it reports no trouble of its own, they say why it is in no chain with another.
    pub fn with_reason(&self, mut figures: SeatFigures, committed: &CommittedState) -> SeatFigures {
        let pair = || self.pairs.iter().find(|(node, _)| *node == node_of(figures.seat));
        figures.trouble = figures.trouble.take().or_else(|| Some(format!("it {}", reason(committed, pair()?.1))));
        figures
    }
}

fn reason(committed: &CommittedState, other: NodeId) -> String {
    format!("is kept out of chains with {}, because one of them does not reach the other", committed.name_of(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::ids::SeatId;

    #[test]
    fn a_seats_own_trouble_is_shown_before_that_it_is_kept_out_of_chains() {
        let separations = Separations { pairs: BTreeSet::from([(NodeId(3), NodeId(4))]) };
        let committed = CommittedState::default();
        let figures = |seat, trouble: Option<&str>| {
            let trouble = trouble.map(str::to_owned);
            let figures = SeatFigures { seat: SeatId(seat), trouble, ..SeatFigures::default() };
            separations.with_reason(figures, &committed).trouble
        };
        assert_eq!(figures(3, Some("its device is full")).as_deref(), Some("its device is full"));
        assert!(figures(3, None).is_some_and(|why| why.starts_with("it is kept out of chains with seat 4")));
        assert_eq!(figures(4, None), None);
    }
}
