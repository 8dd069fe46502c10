//! The cluster's version: the newest that everybody speaks, once the leader has seen that and it is decided.
//!
//! Everybody: all managers of the group, and all members of the roster, whether they live or not: one that is away must not
//! come back to what it does not know. A member that is gone for good is removed, and no longer counts.

use fawn_kv::wire::version::NEWEST;

/// The newest version that all of these speak; `None`: it is not known of one of them.
pub fn newest_of_all(spoken: impl IntoIterator<Item = Option<u8>>) -> Option<u8> {
    spoken.into_iter().try_fold(NEWEST, |newest, version| Some(newest.min(version?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_not_heard_holds_the_version_back() {
        assert_eq!(newest_of_all([Some(NEWEST), Some(NEWEST - 1)]), Some(NEWEST - 1));
        assert_eq!(newest_of_all([Some(NEWEST), None]), None);
        assert_eq!(newest_of_all([]), Some(NEWEST), "nobody else is there");
    }
}
