//! The lease under which a node answers reads, and whether it covers a chain.
//!
//! Managers grant it (`manager/lease.rs`); [`Node`](crate::node::Node) asks for it and keeps it. Without it a reader answers no read
//! by itself: `gets.rs` first sends a barrier through the chain.

use crate::testing::injected_bugs::{Bug, planted};

/// The right of a node to answer reads, by its own clock. It covers the chains that the node was active in when it asked:
/// whoever granted it has looked at them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// When it was asked for.
    pub asked_us: u64,
    /// When it ends.
    pub until_us: u64,
}

impl Lease {
    /// Whether it lets a member that is active since then answer reads.
    pub fn covers(&self, since_us: u64, now_us: u64) -> bool {
        now_us < self.until_us && (since_us <= self.asked_us || planted(Bug::LeaseCoversAll))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_covers_chains_that_were_active_before_it_was_asked_for_until_it_ends() {
        let lease = Lease { asked_us: 10, until_us: 20 };
        assert!(lease.covers(10, 19));
        assert!(!lease.covers(11, 19), "whoever granted it had not looked at that chain");
        assert!(!lease.covers(10, 20), "it has ended");
        assert!(!Lease::default().covers(0, 0));
    }
}
