//! Versions of what is said in a cluster, so that its processes can be upgraded one by one
//! ([decision 14](../../../docs/decisions/0014-versions.md)).
//!
//! A version is a number, and a release speaks several in a row. A newer one adds kinds of messages and of what managers
//! decide, and changes none that there are.
//!
//! * Over a *link* both sides say what the newest allows that both speak.
//! * What is not for one link alone, such as what managers decide, comes into use once the managers have decided that
//!   everybody speaks the version that brought it: the *cluster's version*. It only grows, and from then on releases that do
//!   not speak it are refused.

/// The oldest version that this release speaks.
pub const OLDEST: u8 = 3;

/// The newest. Built with `previous-version`, this is the release before, as far as others can tell.
pub const NEWEST: u8 = if cfg!(feature = "previous-version") { 3 } else { 8 };

/// Since this version members that stop say so, and managers decide that a life is over.
pub const FAREWELLS: u8 = 4;

/// Since this version members show what is in a range to those who are no members.
pub const SCANS: u8 = 5;

/// Since this version managers remember the names of members that were removed.
pub const STRUCK_NAMES: u8 = 5;

/// Since this version managers that go on without lost decisions skip what those may have numbered in the roster, too.
pub const SKIPPED_SEATS: u8 = 5;

/// Since this version front-ends refuse what a weak cluster cannot hold.
pub const WEAK_CLUSTERS: u8 = 6;

/// Since this version front-ends take gets of clients that they remember nothing of.
pub const CONTINUATIONS: u8 = 6;

/// Since this version managers give an operator all that they have decided, to be kept elsewhere.
pub const BACKUPS: u8 = 6;

/// Since this version seats tell managers what adds up over a cluster, and managers tell operators.
pub const TOTALS: u8 = 6;

/// Since this version managers say what time it is, and heads refuse what would expire at once by a range's time that is
/// ahead.
pub const TIMES: u8 = 6;

/// Since this version front-ends answer `Unknown` only if nothing was done, nor will be.
pub const SURE_UNKNOWNS: u8 = 6;

/// Since this version seats pass on what others cannot say to each other.
pub const RELAYS: u8 = 6;

/// Since this version managers connect callers with the leader that do not reach it, and answer pings.
pub const PROXIES: u8 = 6;

/// Since this version nodes may be archives, and readers of chains ask heads for barriers.
pub const ARCHIVES: u8 = 7;

/// Since this version operations read and change [parts of values](crate::operation::View), once it is the cluster's.
pub const PARTS: u8 = 8;

/// Versions that somebody speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionRange {
    /// The oldest.
    pub oldest: u8,
    /// The newest.
    pub newest: u8,
}

impl VersionRange {
    /// What this release speaks.
    pub const OWN: Self = Self { oldest: OLDEST, newest: NEWEST };

    /// The newest version that both speak, if there is one.
    pub fn common(self, other: Self) -> Option<u8> {
        let newest = self.newest.min(other.newest);
        (newest >= self.oldest.max(other.oldest)).then_some(newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_speak_the_newest_that_both_know() {
        let spoken = |oldest, newest| VersionRange { oldest, newest };
        assert_eq!(spoken(3, 5).common(spoken(3, 4)), Some(4));
        assert_eq!(spoken(3, 4).common(spoken(4, 9)), Some(4));
        assert_eq!(spoken(3, 4).common(spoken(5, 9)), None, "the one has forgotten what the other has yet to learn");
        assert_eq!(spoken(5, 9).common(spoken(3, 4)), None);
        assert_eq!(VersionRange::OWN.common(VersionRange::OWN), Some(NEWEST));
    }
}
