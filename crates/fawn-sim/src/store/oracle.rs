//! What a store must answer: every version of every key in the order they were issued, and how much of that order is
//! promised to survive.
//!
//! A store has one order of changes. Whatever a power cut does, what is recovered is a *prefix* of that order, and it
//! contains everything that was acknowledged ([`Oracle::recover`] checks both). A get that runs beside other changes
//! may see any version that was the newest at some moment while it ran ([`Oracle::admits`]).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fawn_store::record::Marks;

/// What a key holds: one version, with everything that a client can see of it.
#[derive(Clone, PartialEq, Eq)]
pub struct OracleItem {
    /// The value.
    pub value: Arc<[u8]>,
    /// The client's flags.
    pub client_flags: u32,
    /// Unix second from which the item is absent; 0 for never.
    pub expiry: u32,
    /// Stale and won.
    pub marks: Marks,
    /// cas that the client chose.
    pub client_cas: Option<u64>,
    /// Sequence number.
    pub seq: u64,
}

impl OracleItem {
    /// The item as a reader at `now` sees it: `None` once it has expired.
    pub fn alive(&self, now: u32) -> Option<&Self> {
        (self.expiry == 0 || self.expiry > now).then_some(self)
    }
}

impl fmt::Debug for OracleItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = String::from_utf8_lossy(&self.value[..self.value.len().min(24)]);
        write!(f, "OracleItem(seq {}, {} bytes {start:?}", self.seq, self.value.len())?;
        for (name, number) in [("flags", self.client_flags), ("expiry", self.expiry)] {
            if number != 0 {
                write!(f, ", {name} {number}")?;
            }
        }
        write!(f, ")")
    }
}

/// One version of a key: current from change number `from` on, until the next.
#[derive(Clone, Debug)]
struct ItemVersion {
    from: u64,
    item: Option<OracleItem>,
}

/// The versions that were issued to one store.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    versions: BTreeMap<Vec<u8>, Vec<ItemVersion>>,
    /// Changes issued. Change `n` is in effect in every state `> n`.
    issued: u64,
    /// Changes that must survive a power cut.
    safe: u64,
    /// The state that the last flush made.
    flushed: u64,
}

impl Oracle {
    /// Number of changes issued; also the name of the newest state.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// Changes that must survive a power cut.
    pub fn safe(&self) -> u64 {
        self.safe
    }

    /// A change of one key; `None` deletes it. Returns the state's number.
    pub fn change(&mut self, name: &[u8], item: Option<OracleItem>) -> u64 {
        let version = ItemVersion { from: self.issued, item };
        match self.versions.get_mut(name) {
            Some(versions) => versions.push(version),
            None => drop(self.versions.insert(name.to_vec(), vec![version])),
        }
        self.issued += 1;
        self.issued
    }

    /// A change that deletes every key that holds a version for which `covers` says so.
    pub fn flush(&mut self, covers: impl Fn(&OracleItem) -> bool) -> u64 {
        let from = self.issued;
        for versions in self.versions.values_mut() {
            if versions.last().and_then(|version| version.item.as_ref()).is_some_and(&covers) {
                versions.push(ItemVersion { from, item: None });
            }
        }
        self.issued += 1;
        self.flushed = self.issued;
        self.issued
    }

    /// The changes up to state `state` have been acknowledged as durable.
    pub fn acknowledge(&mut self, state: u64) {
        assert!(state <= self.issued, "only what was issued is acknowledged");
        self.safe = self.safe.max(state);
    }

    /// Every key that was ever issued.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.versions.keys().map(Vec::as_slice)
    }

    /// The newest version of `name` for a reader at `now`.
    pub fn get(&self, name: &[u8], now: u32) -> Option<&OracleItem> {
        self.at(name, self.issued, now)
    }

    /// All keys that a reader at `now` sees, in order.
    pub fn alive(&self, now: u32) -> BTreeMap<Vec<u8>, OracleItem> {
        let alive = |name: &[u8]| self.get(name, now).cloned();
        self.versions.keys().filter_map(|name| Some((name.clone(), alive(name)?))).collect()
    }

    /// Whether a get of `name` that began in state `since`, when the time was `began`, and is decided now may answer
    /// `found`: the oldest state in which that is the answer, `None` when it never was.
    pub fn admits(&self, name: &[u8], found: Option<&OracleItem>, since: u64, began: u32, now: u32) -> Option<u64> {
        let Some(versions) = self.versions.get(name) else {
            return found.is_none().then_some(0);
        };
        let first = versions.iter().rposition(|version| version.from < since);
        if first.is_none() && found.is_none() {
            return Some(0);
        }
        let admitted = |version: &&ItemVersion| match (&version.item, found) {
            (None, None) => true,
            // It expired while the get ran, or before.
            (Some(item), None) => item.alive(now).is_none(),
            (Some(item), Some(found)) => item == found && item.alive(began).is_some(),
            (None, Some(_)) => false,
        };
        let start = first.unwrap_or(0);
        let at = start + versions[start..].iter().position(|version| admitted(&version))?;
        if found.is_some() {
            return Some(versions[at].from + 1);
        }
        // What has expired by now looks the same as what was deleted after that.
        let absent = |version: &&ItemVersion| version.item.as_ref().is_none_or(|item| item.alive(now).is_none());
        let since_absent = at + 1 - versions[..=at].iter().rev().take_while(absent).count();
        Some(match versions.get(since_absent) {
            Some(ItemVersion { from, item: None }) if since_absent > 0 => from + 1,
            _ => 0,
        })
    }

    /// Whether a reader at `now` may see in state `state` the version numbered `found`, or none: what was newest then, or
    /// nothing because it has expired or was flushed since.
    pub fn admits_as_of(&self, name: &[u8], found: Option<u64>, state: u64, now: u32) -> bool {
        let then = self.versions.get(name).and_then(|all| all.iter().rev().find(|version| version.from < state));
        let then = then.and_then(|version| version.item.as_ref());
        match found {
            Some(seq) => then.is_some_and(|item| item.seq == seq),
            None => then.is_none_or(|item| item.alive(now).is_none()) || self.flushed > state,
        }
    }

    /// Every version of `name` with the state it appeared in, for people.
    pub fn versions(&self, name: &[u8]) -> Vec<(u64, Option<OracleItem>)> {
        let versions = self.versions.get(name).into_iter().flatten();
        versions.map(|version| (version.from + 1, version.item.clone())).collect()
    }

    /// Finds the state that `recovered` (all keys that a reader at `now` sees after a restart) is, makes it the newest,
    /// and returns it. All of it is safe from then on.
    ///
    /// # Errors
    /// Why it is no state that may be left: something acknowledged is gone, something deleted is back, something was
    /// never issued, or the order has a gap.
    pub fn recover(&mut self, recovered: &BTreeMap<Vec<u8>, OracleItem>, now: u32) -> Result<u64, String> {
        if let Some(name) = recovered.keys().find(|name| !self.versions.contains_key(*name)) {
            return Err(format!("{:?} was never issued", String::from_utf8_lossy(name)));
        }
        // The newest state that fits: several do when changes expired or deleted what was absent.
        let fits = |state: u64| self.first_difference(recovered, state, now).is_none();
        let Some(state) = (self.safe..=self.issued).rev().find(|&state| fits(state)) else {
            return Err(self.explain(recovered, now));
        };
        for versions in self.versions.values_mut() {
            versions.retain(|version| version.from < state);
        }
        self.issued = state;
        self.safe = state;
        Ok(state)
    }

    /// The version of `name` in `state`, for a reader at `now`.
    fn at(&self, name: &[u8], state: u64, now: u32) -> Option<&OracleItem> {
        let version = self.versions.get(name)?.iter().rev().find(|version| version.from < state)?;
        version.item.as_ref()?.alive(now)
    }

    fn first_difference(&self, recovered: &BTreeMap<Vec<u8>, OracleItem>, state: u64, now: u32) -> Option<&[u8]> {
        self.names().find(|name| self.at(name, state, now) != recovered.get(*name))
    }

    fn explain(&self, recovered: &BTreeMap<Vec<u8>, OracleItem>, now: u32) -> String {
        let mut lines =
            vec![format!("no state from {} (acknowledged) to {} (issued) is what was found", self.safe, self.issued)];
        for name in self.names() {
            let found = recovered.get(name);
            let fitting: Vec<u64> =
                (self.safe..=self.issued).filter(|&state| self.at(name, state, now) == found).collect();
            if fitting.len() as u64 <= self.issued - self.safe {
                lines.push(format!(
                    "{:?}: found {found:?}, which fits states {fitting:?}; acknowledged {:?}, newest {:?}",
                    String::from_utf8_lossy(&name[..name.len().min(16)]),
                    self.at(name, self.safe, now),
                    self.at(name, self.issued, now),
                ));
            }
        }
        lines.join("\n  ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(seq: u64) -> OracleItem {
        OracleItem {
            value: seq.to_string().as_bytes().into(),
            client_flags: 0,
            expiry: 0,
            marks: Marks::default(),
            client_cas: None,
            seq,
        }
    }

    fn found(pairs: &[(&[u8], u64)]) -> BTreeMap<Vec<u8>, OracleItem> {
        pairs.iter().map(|&(name, seq)| (name.to_vec(), item(seq))).collect()
    }

    /// a=1, b=2, a=3, delete b; the first two are acknowledged.
    fn sample() -> Oracle {
        let mut oracle = Oracle::default();
        oracle.change(b"a", Some(item(1)));
        oracle.change(b"b", Some(item(2)));
        oracle.acknowledge(2);
        oracle.change(b"a", Some(item(3)));
        oracle.change(b"b", None);
        oracle
    }

    #[test]
    fn every_prefix_from_the_acknowledged_on_is_a_state_that_may_be_left() {
        assert_eq!(sample().recover(&found(&[(b"a", 1), (b"b", 2)]), 0), Ok(2));
        assert_eq!(sample().recover(&found(&[(b"a", 3), (b"b", 2)]), 0), Ok(3));
        let mut oracle = sample();
        assert_eq!(oracle.recover(&found(&[(b"a", 3)]), 0), Ok(4));
        assert_eq!((oracle.safe(), oracle.issued()), (4, 4));
    }

    #[test]
    fn losses_gaps_and_inventions_are_named() {
        assert!(sample().recover(&found(&[(b"a", 1)]), 0).is_err(), "the delete without the put before it");
        assert!(sample().recover(&found(&[(b"b", 2)]), 0).is_err(), "an acknowledged put is gone");
        assert!(sample().recover(&found(&[(b"a", 3), (b"b", 2), (b"c", 9)]), 0).is_err(), "never issued");
        let mut oracle = sample();
        oracle.acknowledge(4);
        let error = oracle.recover(&found(&[(b"a", 3), (b"b", 2)]), 0).unwrap_err();
        assert!(error.contains("\"b\""), "{error}");
    }

    #[test]
    fn a_get_may_see_what_was_newest_while_it_ran_and_nothing_else() {
        let oracle = sample();
        assert_eq!(oracle.admits(b"a", Some(&item(1)), 2, 0, 0), Some(1));
        assert_eq!(oracle.admits(b"a", Some(&item(3)), 2, 0, 0), Some(3));
        assert_eq!(oracle.admits(b"a", Some(&item(1)), 3, 0, 0), None);
        assert_eq!(oracle.admits(b"a", None, 2, 0, 0), None);
        assert_eq!(oracle.admits(b"a", None, 0, 0, 0), Some(0), "it was absent when the get began");
        assert_eq!(oracle.admits(b"b", None, 2, 0, 0), Some(4));
        assert_eq!(oracle.admits(b"b", Some(&item(2)), 4, 0, 0), None);
        assert_eq!(oracle.admits(b"never", None, 0, 0, 0), Some(0));
    }

    #[test]
    fn expired_and_flushed_items_are_absent() {
        let mut oracle = Oracle::default();
        oracle.change(b"a", Some(OracleItem { expiry: 10, ..item(1) }));
        oracle.change(b"b", Some(item(2)));
        assert!(oracle.get(b"a", 9).is_some() && oracle.get(b"a", 10).is_none());
        assert_eq!((oracle.admits(b"a", None, 2, 9, 10), oracle.admits(b"a", None, 2, 9, 9)), (Some(0), None));
        oracle.flush(|item| item.seq <= 2);
        assert!(oracle.alive(0).is_empty());
        assert_eq!(oracle.issued(), 3);
        assert_eq!(oracle.admits(b"b", None, 3, 0, 0), Some(3), "the flush is seen");
        assert_eq!(oracle.admits(b"a", None, 3, 10, 10), Some(0), "it may be the expiry that is seen");
    }
}
