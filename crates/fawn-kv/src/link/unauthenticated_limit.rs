//! Those who call a process of the cluster, before they have said who they are.
//!
//! Anybody may be one: no certificate is needed to say nothing. So there are only so many at a time, and when there is no room it
//! is one of those that goes, and not the next, who may be a member: members say who they are at once.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Connections that have yet to say who they are, at most.
pub const STRANGERS: usize = 256;

/// Which of them goes: of those from the host that most are from, the one that has waited longest. Each is given by its
/// name, its host, and when it called.
pub fn worst<N: Copy, H: Ord, W: Ord + Copy>(strangers: &[(N, H, W)]) -> Option<N> {
    let mut from = BTreeMap::new();
    for (_, host, _) in strangers {
        *from.entry(host).or_insert(0) += 1;
    }
    strangers.iter().max_by_key(|(_, host, called)| (from[host], Reverse(*called))).map(|(name, ..)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_host_that_most_are_from_the_one_that_has_waited_longest_goes() {
        assert_eq!(worst::<u8, u8, u8>(&[]), None);
        assert_eq!(worst(&[('a', "one", 1), ('b', "many", 3), ('c', "many", 2)]), Some('c'));
    }
}
