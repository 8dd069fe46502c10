//! What the log of a leader says of its cluster as that changes: members that come, go, drain and are not heard, and with how many
//! copies writes go on.

use super::committed::CommittedState;
use super::seats::{Seats, node_of};
use fawn_kv::ids::{FrontId, SeatId};
use fawn_kv::manager::{Standing, State, roster};
use fawn_kv::status::unserved::{Presence as SeatPresence, UnservedRanges};
use std::collections::BTreeMap;

/// A member that was not heard for so long is told of.
const SILENT_US: u64 = 1_000_000;

/// After another manager was elected, or a member was let in, members have so long to be heard.
const FIRST_US: u64 = 3_000_000;

/// Ranges that nobody serves for so long are told of: a chain that loses a member waits for leases first.
const UNSERVED_US: u64 = 5_000_000;

/// What is over sooner is not told of: two ranges change places all the time.
const BRIEF_US: u64 = 1_000_000;

/// Whether a member is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It was heard lately.
    Heard,
    /// It was not heard lately.
    Silent {
        /// When it was heard last.
        since_us: u64,
    },
    /// It was stopped in good order.
    Stopped,
    /// Not since this manager leads.
    Unheard,
}

/// How a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberView {
    /// Whether it is there.
    pub presence: Presence,
    /// Another at each start of its first event loop; 0: it has no life yet.
    pub life: u64,
    /// It is to leave.
    pub is_draining: bool,
    /// The managers have given up waiting for it.
    pub is_gone: bool,
    /// It is in a chain, or learns to be.
    pub has_ranges: bool,
}

/// How a cluster is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterView {
    /// By name.
    pub members: BTreeMap<String, MemberView>,
    /// Ranges.
    pub ranges: usize,
    /// Those with fewer replicas than they are to have.
    pub short: usize,
    /// Replicas of the range that has the fewest, of those that are served.
    pub least: usize,
    /// Those that each range is to have.
    pub replicas: usize,
    /// Those without which a range takes no writes.
    pub min_write: usize,
    /// All who live are where they should be.
    pub is_settled: bool,
    /// Ranges that nobody serves, in a sentence with what to do, if there are any.
    pub unserved: Option<String>,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LogLine {
    /// For those who want to know.
    Info(String),
    /// Somebody should look.
    Warn(String),
}

/// What was seen last.
#[derive(Debug, Default)]
pub struct ClusterLog {
    seen: Option<ClusterView>,
    /// Since when members are known that were not heard yet.
    unheard: BTreeMap<String, u64>,
    /// Who was said not to be heard, and since when that is so.
    told_silent: BTreeMap<String, u64>,
    /// Since when not all ranges are level, and whether that was told.
    uneven: Option<(u64, bool)>,
    /// The copies with which writes go on, as it was told last; `None`: all.
    told_copies: Option<usize>,
    /// Since when there are ranges that nobody serves, and whether that was told.
    unserved: Option<(u64, bool)>,
}

impl ClusterLog {
    /// What was told last of ranges that nobody serves, while that is so.
    pub fn unserved(&self) -> Option<&str> {
        self.unserved.filter(|(_, told)| *told).and(self.seen.as_ref()?.unserved.as_deref())
    }

    /// Looks at the cluster as it is now, and logs what has changed.
    pub fn log_changes(&mut self, now_us: u64, now: &ClusterView) {
        for line in self.look(now_us, now) {
            match line {
                LogLine::Info(line) => tracing::info!("{line}"),
                LogLine::Warn(line) => tracing::warn!("{line}"),
            }
        }
    }

    /// Looks at the cluster as it is now; what is to be said.
    fn look(&mut self, now_us: u64, now: &ClusterView) -> Vec<LogLine> {
        let mut lines = Vec::new();
        let before = self.seen.replace(now.clone());
        for (name, member) in &now.members {
            let was = before.as_ref().and_then(|before| before.members.get(name));
            if before.is_some() && was.is_none() {
                lines.push(LogLine::Info(format!("{name} has joined the cluster")));
            }
            self.presence(now_us, name, was, member, &mut lines);
            if let Some(was) = was {
                changes(name, was, member, &mut lines);
            }
        }
        for name in
            before.iter().flat_map(|before| before.members.keys()).filter(|name| !now.members.contains_key(*name))
        {
            self.told_silent.remove(name);
            self.unheard.remove(name);
            lines.push(LogLine::Info(format!("{name} was removed from the cluster")));
        }
        self.unserved_ranges(now_us, now, &mut lines);
        self.copies(now, &mut lines);
        self.level(now_us, now, &mut lines);
        lines
    }

    fn presence(
        &mut self,
        now_us: u64,
        name: &str,
        was: Option<&MemberView>,
        now: &MemberView,
        lines: &mut Vec<LogLine>,
    ) {
        let has_begun = was.is_some_and(|was| was.life != now.life && was.life != 0);
        let silent_since_us = match now.presence {
            Presence::Silent { since_us } => Some(since_us).filter(|since_us| now_us >= since_us + SILENT_US),
            Presence::Unheard => {
                let since_us = *self.unheard.entry(name.to_owned()).or_insert(now_us);
                Some(since_us).filter(|since_us| now_us >= since_us + FIRST_US)
            }
            Presence::Heard | Presence::Stopped => None,
        };
        match now.presence {
            Presence::Silent { .. } | Presence::Unheard => {
                if let Some(since_us) = silent_since_us
                    && self.told_silent.insert(name.to_owned(), since_us).is_none()
                {
                    let seconds = (now_us - since_us) / 1_000_000;
                    lines.push(LogLine::Warn(format!("{name} has been silent for {seconds} s")));
                }
            }
            Presence::Stopped => {
                self.told_silent.remove(name);
                if was.is_some_and(|was| was.presence != Presence::Stopped) {
                    lines.push(LogLine::Info(format!("{name} has stopped cleanly")));
                }
            }
            Presence::Heard => {
                self.unheard.remove(name);
                let silent = self.told_silent.remove(name).map(|since_us| now_us.saturating_sub(since_us) / 1_000_000);
                let was_stopped = was.is_some_and(|was| was.presence == Presence::Stopped);
                if let Some(seconds) = silent {
                    lines.push(LogLine::Info(format!("{name} responds again, after {seconds} s of silence")));
                }
                if has_begun || was_stopped {
                    lines.push(LogLine::Info(format!("{name} has restarted")));
                }
            }
        }
    }

    /// Whether there are ranges that nobody serves.
    fn unserved_ranges(&mut self, now_us: u64, now: &ClusterView, lines: &mut Vec<LogLine>) {
        let Some(sentence) = &now.unserved else {
            if let Some((since_us, true)) = self.unserved.take() {
                let seconds = (now_us - since_us) / 1_000_000;
                lines.push(LogLine::Info(format!("all {} ranges are served again, after {seconds} s", now.ranges)));
            }
            return;
        };
        let (since_us, told) = self.unserved.get_or_insert((now_us, false));
        if now_us >= *since_us + UNSERVED_US && !std::mem::replace(told, true) {
            lines.push(LogLine::Warn(sentence.clone()));
        }
    }

    /// With how many copies writes go on.
    fn copies(&mut self, now: &ClusterView, lines: &mut Vec<LogLine>) {
        let copies = (now.ranges > 0 && now.least > 0 && now.least < now.replicas).then_some(now.least);
        let before = std::mem::replace(&mut self.told_copies, copies);
        let Some(copies) = copies.filter(|copies| before.is_none_or(|before| *copies < before)) else { return };
        let ClusterView { short, ranges, replicas, min_write, .. } = *now;
        lines.push(LogLine::Warn(if copies < min_write {
            format!(
                "ranges with {} of {replicas} refuse writes, which need {min_write}: {short} of {ranges} ranges are \
                short",
                counted(copies)
            )
        } else {
            let more = if copies == 1 { "another failure loses the latest writes" } else { "more failures lose data" };
            format!(
                "writes continue with {} of {replicas}, because {short} of {ranges} ranges are short: {more} (`fawn \
                cluster set --min-write-replicas` sets the least number)",
                counted(copies)
            )
        }));
    }

    fn level(&mut self, now_us: u64, now: &ClusterView, lines: &mut Vec<LogLine>) {
        let is_level = now.ranges > 0 && now.short == 0 && now.is_settled;
        if !is_level {
            let (_, told) = self.uneven.get_or_insert((now_us, false));
            if now.short > 0 && now.least > 0 && !std::mem::replace(told, true) {
                let ClusterView { short, ranges, replicas, .. } = now;
                lines.push(LogLine::Warn(format!("{short} of {ranges} ranges have fewer than {replicas} replicas")));
            }
            return;
        }
        if let Some((since_us, told)) = self.uneven.take()
            && (told || now_us >= since_us + BRIEF_US)
        {
            let seconds = (now_us - since_us) as f64 / 1e6;
            let again = if told { " again" } else { "" };
            lines.push(LogLine::Info(format!(
                "all {} ranges are at full strength{again}, after {seconds:.1} s",
                now.ranges
            )));
        }
    }
}

/// What becomes of a member that is to leave, or is given up.
fn changes(name: &str, was: &MemberView, now: &MemberView, lines: &mut Vec<LogLine>) {
    match (was.is_draining, now.is_draining) {
        (false, true) => lines.push(LogLine::Info(format!("{name} is draining: others copy its data"))),
        (true, false) if !now.is_gone => lines.push(LogLine::Info(format!("{name} stays: its drain was cancelled"))),
        (true, true) if was.has_ranges && !now.has_ranges => {
            lines.push(LogLine::Info(format!("{name} is drained: stop it, and then run `fawn node remove {name}`")));
        }
        _ => {}
    }
    if now.is_gone && !was.is_gone {
        lines.push(LogLine::Warn(format!("{name} is replaced for now: others copy its data")));
    }
}

/// `1 copy`, `2 copies`.
fn counted(copies: usize) -> String {
    format!("{copies} {}", if copies == 1 { "copy" } else { "copies" })
}

impl ClusterView {
    /// The cluster as its leader sees it now; `None`: it has not begun.
    pub fn of(committed: &CommittedState, seats: &Seats, now_us: u64) -> Option<Self> {
        let manager = committed.manager()?;
        let state = manager.state();
        let unserved = unserved(committed, state, seats, now_us);
        let served = state.ranges.iter().filter(|(id, _)| !unserved.contains(**id));
        let least = served.map(|(_, range)| range.chain.members.len()).min().unwrap_or(0);
        let chains = || state.ranges.values().map(|range| range.chain.members.len());
        let replicas = state.settings.replicas as usize;
        let members = committed.facts().roster.members.iter();
        let members = members.map(|(name, member)| (name.clone(), MemberView::of(member, state, seats, now_us)));
        Some(Self {
            members: members.collect(),
            ranges: state.ranges.len(),
            short: chains().filter(|members| *members < replicas).count(),
            least,
            replicas,
            min_write: usize::from(state.settings.rules.min_write_replicas),
            is_settled: manager.is_settled(),
            unserved: unserved.sentence(state.ranges.len(), |seat| committed.name_of(node_of(seat))),
        })
    }
}

impl MemberView {
    fn of(member: &roster::Member, state: &State, seats: &Seats, now_us: u64) -> Self {
        let nodes = || member.seats().filter_map(|seat| state.nodes.get(&node_of(seat)));
        let stands = |standing| nodes().any(|node| node.standing == standing);
        let front = || Some(state.wedges.life_of(FrontId(member.first.0))?.0);
        let of_node = state.nodes.get(&node_of(member.first)).map(|node| node.incarnation.0);
        // The seat that was heard least lately.
        let heard_us = member.seats().map(|seat| seats.heard_us(seat)).min().flatten();
        let presence = match heard_us {
            _ if member.seats().any(|seat| seats.is_stopped(seat)) => Presence::Stopped,
            Some(at_us) if now_us.saturating_sub(at_us) < SILENT_US => Presence::Heard,
            Some(at_us) => Presence::Silent { since_us: at_us },
            None => Presence::Unheard,
        };
        let has_ranges = |seat| state.by_node.get(&node_of(seat)).is_some_and(|ranges| !ranges.is_empty());
        Self {
            presence,
            life: of_node.or_else(front).map_or(0, u64::from),
            is_draining: stands(Standing::Draining),
            is_gone: stands(Standing::Gone),
            has_ranges: member.seats().any(has_ranges),
        }
    }
}

/// Ranges that nobody serves.
pub fn unserved(committed: &CommittedState, state: &State, seats: &Seats, now_us: u64) -> UnservedRanges {
    let of_members = committed.facts().roster.members.values().flat_map(roster::Member::seats);
    let presence = |seat: SeatId| {
        let is_heard = seats.heard_us(seat).is_some_and(|at| now_us.saturating_sub(at) < SILENT_US);
        let life = state.nodes.get(&node_of(seat)).map(|node| node.incarnation);
        (seat, SeatPresence::new(is_heard && !seats.is_stopped(seat), life, seats.figures(seat)))
    };
    let ranges = state.ranges.iter().map(|(id, range)| (*id, &range.chain, range.pending.is_some()));
    UnservedRanges::of(ranges, &of_members.map(presence).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    fn member() -> MemberView {
        MemberView { presence: Presence::Heard, life: 1, is_draining: false, is_gone: false, has_ranges: true }
    }

    fn cluster() -> ClusterView {
        let members = ["n1", "n2", "n3"].map(|name| (name.to_owned(), member()));
        let (members, unserved) = (members.into(), None);
        ClusterView { members, ranges: 8, short: 0, least: 3, replicas: 3, min_write: 1, is_settled: true, unserved }
    }

    fn with(change: impl FnOnce(&mut ClusterView)) -> ClusterView {
        let mut cluster = cluster();
        change(&mut cluster);
        cluster
    }

    fn n3(change: impl Fn(&mut MemberView)) -> ClusterView {
        with(|cluster| change(cluster.members.get_mut("n3").unwrap()))
    }

    fn texts(lines: Vec<LogLine>) -> Vec<String> {
        lines.into_iter().map(|(LogLine::Info(text) | LogLine::Warn(text))| text).collect()
    }

    /// What is said at each of these seconds.
    fn told(steps: &[(u64, ClusterView)]) -> Vec<Vec<String>> {
        let mut log = ClusterLog::default();
        steps.iter().map(|(second, cluster)| texts(log.look(second * SECOND, cluster))).collect()
    }

    #[test]
    fn a_member_that_is_killed_is_said_not_to_be_heard_once_and_that_it_is_back() {
        let silent = || n3(|n3| n3.presence = Presence::Silent { since_us: 10 * SECOND });
        let back = || n3(|n3| n3.life = 2);
        let steps = [(9, cluster()), (10, silent()), (11, silent()), (12, silent()), (22, back()), (23, back())];
        let said = told(&steps);
        assert_eq!(said[..2], [[""; 0]; 2], "all is well, and then it is too early");
        assert_eq!(said[2], ["n3 has been silent for 1 s"]);
        assert_eq!(said[3], [""; 0]);
        assert_eq!(said[4], ["n3 responds again, after 12 s of silence", "n3 has restarted"]);
        assert_eq!(said[5], [""; 0]);
        let said = told(&[steps[0].clone(), steps[2].clone(), (15, cluster())]);
        assert_eq!(said[2], ["n3 responds again, after 5 s of silence"]);
    }

    #[test]
    fn one_that_was_never_heard_has_some_time_before_it_counts_as_silent() {
        let unheard = || n3(|n3| n3.presence = Presence::Unheard);
        let said = told(&[(50, unheard()), (52, unheard()), (53, unheard()), (54, unheard()), (55, cluster())]);
        assert_eq!((&said[0][..], &said[1][..]), (&[][..] as &[String], &[][..] as &[String]));
        assert_eq!(said[2], ["n3 has been silent for 3 s"]);
        assert_eq!(said[3], [""; 0]);
        assert_eq!(said[4], ["n3 responds again, after 5 s of silence"]);
    }

    #[test]
    fn a_member_that_stops_in_good_order_and_starts_again_is_not_silent() {
        let stopped = || n3(|n3| (n3.presence, n3.life) = (Presence::Stopped, 2));
        let said = told(&[
            (1, cluster()),
            (2, stopped()),
            (60, stopped()),
            (61, n3(|n3| n3.life = 3)),
            (62, n3(|n3| n3.life = 3)),
        ]);
        assert_eq!(said[1], ["n3 has stopped cleanly"]);
        assert_eq!(said[2], [""; 0]);
        assert_eq!(said[3], ["n3 has restarted"]);
        assert_eq!(said[4], [""; 0]);
        assert_eq!(told(&[(1, stopped())])[0], [""; 0], "the leader before has said it");
    }

    #[test]
    fn members_that_come_drain_and_go_are_told_of() {
        let four = |change: fn(&mut MemberView)| {
            with(|cluster| {
                let mut n4 = member();
                change(&mut n4);
                cluster.members.insert("n4".to_owned(), n4);
            })
        };
        let said = told(&[
            (1, cluster()),
            (2, four(|_| {})),
            (3, four(|n4| n4.is_draining = true)),
            (4, four(|n4| (n4.is_draining, n4.has_ranges) = (true, false))),
            (5, cluster()),
        ]);
        assert_eq!(said[1], ["n4 has joined the cluster"]);
        assert_eq!(said[2], ["n4 is draining: others copy its data"]);
        assert_eq!(said[3], ["n4 is drained: stop it, and then run `fawn node remove n4`"]);
        assert_eq!(said[4], ["n4 was removed from the cluster"]);
        let said = told(&[(1, n3(|n3| n3.is_draining = true)), (2, cluster()), (3, n3(|n3| n3.is_gone = true))]);
        assert_eq!(said[1], ["n3 stays: its drain was cancelled"]);
        assert_eq!(said[2], ["n3 is replaced for now: others copy its data"]);
    }

    #[test]
    fn with_how_few_copies_writes_go_on_and_when_all_is_level_again_is_said() {
        let short = |least, min_write| {
            with(|cluster| (cluster.short, cluster.least, cluster.min_write) = (8, least, min_write))
        };
        let said = told(&[
            (1, cluster()),
            (2, short(2, 1)),
            (3, short(1, 1)),
            (4, short(2, 1)),
            (16, cluster()),
            (17, cluster()),
        ]);
        assert!(
            said[1][0].starts_with("writes continue with 2 copies of 3, because 8 of 8 ranges are short"),
            "{said:?}"
        );
        assert_eq!(said[1][1], "8 of 8 ranges have fewer than 3 replicas");
        assert!(said[2][0].starts_with("writes continue with 1 copy of 3"), "{said:?}");
        assert_eq!(said[3], [""; 0]);
        assert_eq!(said[4], ["all 8 ranges are at full strength again, after 14.0 s"]);
        assert_eq!(said[5], [""; 0]);
        let said = told(&[(1, cluster()), (2, short(1, 2))]);
        assert!(said[1][0].starts_with("ranges with 1 copy of 3 refuse writes, which need 2"), "{said:?}");
    }

    #[test]
    fn ranges_that_nobody_serves_are_told_of_once_and_once_that_they_are_served_again() {
        let lost = || with(|cluster| cluster.unserved = Some("8 of 8 ranges are out of service: start n1".to_owned()));
        let said = told(&[(1, cluster()), (2, lost()), (6, lost()), (7, lost()), (60, lost()), (62, cluster())]);
        assert_eq!(said[..3], [[""; 0]; 3], "leases may have to end first");
        assert_eq!(said[3], ["8 of 8 ranges are out of service: start n1"]);
        assert_eq!(said[4], [""; 0]);
        assert_eq!(said[5], ["all 8 ranges are served again, after 60 s"]);
        assert_eq!(told(&[(1, lost()), (5, cluster())])[1], [""; 0], "it was not told");
        let mut log = ClusterLog::default();
        for (second, is_told) in [(1, false), (6, true), (7, true)] {
            log.look(second * SECOND, &lost());
            assert_eq!(log.unserved().is_some(), is_told, "after {second} s");
        }
        log.look(8 * SECOND, &cluster());
        assert_eq!(log.unserved(), None);
    }

    #[test]
    fn a_range_that_changes_places_for_a_moment_is_not_told_of() {
        let moving = || with(|cluster| cluster.is_settled = false);
        let mut log = ClusterLog::default();
        log.look(SECOND, &cluster());
        log.look(2 * SECOND, &moving());
        assert_eq!(log.look(2 * SECOND + BRIEF_US / 2, &cluster()), []);
        log.look(4 * SECOND, &moving());
        assert_eq!(texts(log.look(9 * SECOND, &cluster())), ["all 8 ranges are at full strength, after 5.0 s"]);
    }
}
