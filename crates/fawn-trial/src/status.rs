//! What `fawn status --json` says of a cluster, as far as a trial wants to know it.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A cluster.
#[derive(Clone, Debug, Deserialize)]
pub struct Status {
    /// All who live are where they should be.
    pub settled: bool,
    /// What everybody speaks, if the managers say.
    pub version: Option<u8>,
    /// Who decides.
    pub managers: Vec<Manager>,
    /// Who takes part.
    pub members: Vec<MemberStatus>,
    /// The ranges.
    pub ranges: Vec<RangeStatus>,
}

/// A manager.
#[derive(Clone, Debug, Deserialize)]
pub struct Manager {
    /// Where it is.
    pub address: String,
    /// It leads.
    pub leads: bool,
}

/// A member.
#[derive(Clone, Debug, Deserialize)]
pub struct MemberStatus {
    /// Its name; each process of a trial has one loop, so that it is its node's, too.
    pub name: String,
    /// Its loops.
    pub seats: Vec<LoopStatus>,
}

/// A loop.
#[derive(Clone, Debug, Deserialize)]
pub struct LoopStatus {
    /// What it said last.
    pub figures: Option<Figures>,
}

/// What a loop says.
#[derive(Clone, Debug, Deserialize)]
pub struct Figures {
    /// Why it takes no part.
    pub trouble: Option<String>,
    /// What it has of ranges.
    pub ranges: Vec<NodeRange>,
}

/// What a node has of a range.
#[derive(Clone, Debug, Deserialize)]
pub struct NodeRange {
    /// Which.
    pub range: u64,
    /// The end of its log.
    pub last: u64,
    /// How much of that is committed.
    pub committed: u64,
}

/// A range.
#[derive(Clone, Debug, Deserialize)]
pub struct RangeStatus {
    /// Which.
    pub range: u64,
    /// The names of its members, head first.
    pub chain: Vec<String>,
    /// Who learns it.
    pub learner: Option<String>,
    /// Its chain is changing.
    pub changing: bool,
}

/// Whether clients are at work, so that the ends of logs move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientPace {
    /// They are.
    Busy,
    /// They are not: logs must agree.
    Quiet,
    /// They are not, but members of a weak chain have logs of their own: each must have committed all of it.
    QuietWeak,
}

impl Status {
    /// What is not as it should be when nothing is broken, if something is not: the first thing.
    pub fn complaint(&self, replicas: usize, pace: ClientPace) -> Option<String> {
        for member in &self.members {
            let mut troubles = member.seats.iter().filter_map(|seat| seat.figures.as_ref()?.trouble.as_ref());
            if let Some(trouble) = troubles.next() {
                return Some(format!("{} is out of service: {trouble}", member.name));
            }
        }
        let held = self.held();
        for RangeStatus { range, chain, learner, changing } in &self.ranges {
            if let Some(learner) = learner {
                return Some(format!("{learner} still copies range {range}"));
            }
            if *changing {
                return Some(format!("range {range} is changing"));
            }
            if chain.len() != replicas {
                return Some(format!("range {range} has {} members instead of {replicas}", chain.len()));
            }
            let ends: Vec<_> = chain.iter().map(|name| held.get(&(name.as_str(), *range)).copied()).collect();
            let is_level = |end: &Option<(u64, u64)>| {
                (pace == ClientPace::QuietWeak || *end == ends[0]) && end.is_some_and(|(last, done)| last == done)
            };
            if pace != ClientPace::Busy && !ends.iter().all(is_level) {
                return Some(format!("the copies of range {range} at {chain:?} differ: {ends:?}"));
            }
        }
        (!self.settled).then(|| "the managers report that ranges still move".to_owned())
    }

    /// Whether a member is in a chain, or learns to be.
    pub fn has_ranges(&self, name: &str) -> bool {
        let is_in = |range: &RangeStatus| range.chain.iter().chain(&range.learner).any(|other| other == name);
        self.ranges.iter().any(is_in)
    }

    /// By member and range: the end of the log, and of what is committed.
    fn held(&self) -> BTreeMap<(&str, u64), (u64, u64)> {
        let mut held = BTreeMap::new();
        for member in &self.members {
            let figures = member.seats.iter().filter_map(|seat| seat.figures.as_ref());
            for NodeRange { range, last, committed } in figures.flat_map(|figures| &figures.ranges) {
                held.insert((member.name.as_str(), *range), (*last, *committed));
            }
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        serde_json::from_str(
            r#"{"settled": true, "term": 4, "managers": [{"address": "h:7400", "leads": true}],
            "members": [
              {"name": "n1", "seats": [{"figures": {"trouble": null,
                "ranges": [{"range": 7, "last": 9, "committed": 9, "role": "head"}]}}]},
              {"name": "n2", "seats": [{"figures": {"trouble": null,
                "ranges": [{"range": 7, "last": 9, "committed": 9, "role": "tail"}]}}]},
              {"name": "f1", "seats": [{"figures": null}]}],
            "ranges": [{"range": 7, "chain": ["n1", "n2"], "learner": null, "changing": false}]}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_level_cluster_is_not_complained_about() {
        assert_eq!(status().complaint(2, ClientPace::Quiet), None);
        assert!(status().has_ranges("n2") && !status().has_ranges("f1"));
    }

    #[test]
    fn whatever_is_not_level_is_told() {
        let wrong = |change: fn(&mut Status)| {
            let mut status = status();
            change(&mut status);
            status.complaint(2, ClientPace::Quiet).unwrap()
        };
        assert!(status().complaint(3, ClientPace::Busy).unwrap().contains("2 members instead of 3"));
        assert!(wrong(|status| status.settled = false).contains("ranges still move"));
        assert!(wrong(|status| status.ranges[0].learner = Some("n3".to_owned())).contains("n3 still copies"));
        assert!(wrong(|status| status.ranges[0].changing = true).contains("changing"));
        assert!(wrong(|status| status.members.truncate(1)).contains(" differ: "));
        let behind = |status: &mut Status| status.members[1].seats[0].figures.as_mut().unwrap().ranges[0].last = 8;
        assert!(wrong(behind).contains(" differ: "));
        let uncommitted = |status: &mut Status| {
            for member in &mut status.members[..2] {
                member.seats[0].figures.as_mut().unwrap().ranges[0].committed = 8;
            }
        };
        assert!(wrong(uncommitted).contains(" differ: "));
    }

    #[test]
    fn logs_of_a_weak_chain_may_differ_but_are_committed_at_rest() {
        let mut status = status();
        let end = |status: &mut Status, last, committed| {
            let held = &mut status.members[1].seats[0].figures.as_mut().unwrap().ranges[0];
            (held.last, held.committed) = (last, committed);
        };
        end(&mut status, 8, 8);
        assert_eq!(status.complaint(2, ClientPace::QuietWeak), None);
        assert!(status.complaint(2, ClientPace::Quiet).unwrap().contains("differ"));
        end(&mut status, 9, 8);
        assert!(status.complaint(2, ClientPace::QuietWeak).unwrap().contains("differ"));
    }
}
