//! Ranges that nobody serves: which, why, and what brings them back.
//!
//! A range is served while a member of its chain is there, in the life that the chain names, and takes part in it. A node
//! that has started again has another life: it may have lost its data, and serves nothing until a chain has it again.

use crate::ids::{Chain, Epoch, Incarnation, Member, RangeId, SeatId};
use crate::status::{Role, SeatFigures, Status};
use std::collections::{BTreeMap, BTreeSet};

/// Milliseconds of silence after which a seat does not count as there.
pub const SILENT_MS: u64 = 1000;

/// The last resort, as an order.
pub const DUMP: &str = "stop the nodes and load what `fawn store dump DIR DIR` prints into a new cluster";

/// What to do where managers have forgotten what they decided, as an order.
const PUT_BACK: &str = "stop the managers, and put the newer log back or run `fawn manager recover`";

/// What is known of a seat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// It was heard lately, and has not stopped.
    pub is_there: bool,
    /// The life of its node.
    pub life: Option<Incarnation>,
    /// The ranges of whose chains it is an active member; `None`: it has not said yet.
    pub active: Option<BTreeSet<RangeId>>,
    /// The newest chain of each of its ranges that its node knows of.
    pub newest: BTreeMap<RangeId, Epoch>,
}

impl Presence {
    /// What a seat's figures say of it.
    pub fn new(is_there: bool, life: Option<Incarnation>, figures: Option<&SeatFigures>) -> Self {
        let is_active = |role| matches!(role, Role::Head | Role::Mid | Role::Tail | Role::Alone);
        let active = |figures: &SeatFigures| {
            figures.ranges.iter().filter(|range| is_active(range.role)).map(|range| range.range).collect()
        };
        let newest = figures.into_iter().flat_map(|figures| &figures.ranges);
        // A chain begins with a record.
        let newest = newest.map(|range| (range.range, range.epoch.max(range.last.epoch))).collect();
        Self { is_there, life, active: figures.map(active), newest }
    }

    fn serves(&self, range: RangeId, member: &Member) -> bool {
        let is_member = self.is_there && self.life == Some(member.incarnation);
        is_member && self.active.as_ref().is_none_or(|active| active.contains(&range))
    }
}

/// Why nobody serves a range.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cause {
    /// Members of its chain that are away, or have another life.
    lacking: Vec<SeatId>,
    /// Members of its chain that are there, in the life that the chain names, and take no part.
    waiting: Vec<SeatId>,
    /// Its chain is being changed.
    is_changing: bool,
    /// A node knows a newer chain than the managers, who have decided on each: their log was replaced by an older one.
    is_forgotten: bool,
}

/// Ranges that nobody serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnservedRanges {
    ranges: BTreeMap<RangeId, Cause>,
}

impl UnservedRanges {
    /// Those of these ranges, each with its chain and whether that is being changed. Seats that are not named are no members
    /// any more.
    pub fn of<'a>(
        ranges: impl Iterator<Item = (RangeId, &'a Chain, bool)>,
        seats: &BTreeMap<SeatId, Presence>,
    ) -> Self {
        let mut unserved = BTreeMap::new();
        for (range, chain, is_changing) in ranges.filter(|(_, chain, _)| !chain.members.is_empty()) {
            let known =
                || chain.members.iter().filter_map(|member| Some((member, seats.get_key_value(&seat(member))?)));
            if known().any(|(member, (_, presence))| presence.serves(range, member)) {
                continue;
            }
            let is_lacking =
                |member: &Member, presence: &Presence| !presence.is_there || presence.life != Some(member.incarnation);
            let those = |lack: bool| -> Vec<SeatId> {
                let seats = known().filter(|(member, (_, presence))| is_lacking(member, presence) == lack);
                seats.map(|(_, (seat, _))| *seat).collect()
            };
            let (lacking, waiting) = (those(true), those(false));
            let is_forgotten =
                seats.values().filter_map(|seat| seat.newest.get(&range)).any(|epoch| *epoch > chain.epoch);
            unserved.insert(range, Cause { lacking, waiting, is_changing, is_forgotten });
        }
        Self { ranges: unserved }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether this is one of them.
    pub fn contains(&self, range: RangeId) -> bool {
        self.ranges.contains_key(&range)
    }

    /// Without those that were served a moment ago: what seats report is a second old, and chains change all the time.
    #[must_use]
    pub fn that_were_before(mut self, before: &Self) -> Self {
        self.ranges.retain(|range, _| before.contains(*range));
        self
    }

    /// One sentence for all, of so many ranges, with what to do; `None` if there are none.
    pub fn sentence(&self, of: usize, mut name: impl FnMut(SeatId) -> String) -> Option<String> {
        let count = self.len();
        (count > 0).then(|| {
            let is = if count == 1 { "is" } else { "are" };
            format!("{count} of {of} ranges {is} out of service: {}", self.next_step(&mut name))
        })
    }

    fn next_step(&self, name: &mut impl FnMut(SeatId) -> String) -> String {
        let causes = || self.ranges.values();
        if causes().any(|cause| cause.is_forgotten) {
            return format!("the managers' log is older than what their nodes know: {PUT_BACK}");
        }
        let gone = || causes().filter(|cause| cause.waiting.is_empty());
        let lacking: BTreeSet<String> = gone().flat_map(|cause| &cause.lacking).map(|seat| name(*seat)).collect();
        if !lacking.is_empty() {
            let count = lacking.len();
            let names = lacking.into_iter().collect::<Vec<_>>().join(", ");
            let which = if count == 1 { "its latest data directory" } else { "their latest data directories" };
            return format!("start {names} with {which}, or {DUMP}");
        }
        // What is so of some of the ranges is not said of all.
        let whose = |some: usize, of_all: &str, of_some: &str| match some {
            some if some == self.len() => of_all.to_owned(),
            some => format!("{of_some} of {some} of them"),
        };
        let count = gone().count();
        if count > 0 {
            return format!(
                "only removed members had {}: {DUMP}",
                whose(count, "their latest data", "the latest data")
            );
        }
        let count = causes().filter(|cause| cause.is_changing).count();
        if count > 0 {
            return format!("{} are changing", whose(count, "their chains", "the chains"));
        }
        let waiting: BTreeSet<String> = causes().flat_map(|cause| &cause.waiting).map(|seat| name(*seat)).collect();
        let (verb, which) = if waiting.len() == 1 { ("runs and takes", "it") } else { ("run and take", "them") };
        let names = waiting.into_iter().collect::<Vec<_>>().join(", ");
        format!("{names} {verb} no part in their chains: if that lasts, see the log and restart {which}")
    }
}

impl Status {
    /// Ranges that nobody serves.
    pub fn unserved(&self) -> UnservedRanges {
        let seats = self.seats.iter().map(|seat| {
            let is_stopped = self.details.get(&seat.seat).is_some_and(|details| details.is_stopped);
            let is_there = !is_stopped && seat.heard_ms.is_some_and(|ms| ms <= SILENT_MS);
            (seat.seat, Presence::new(is_there, seat.incarnation, seat.figures.as_ref()))
        });
        let ranges = self.ranges.iter().map(|range| (range.range, &range.chain, range.is_changing));
        UnservedRanges::of(ranges, &seats.collect())
    }

    /// Ranges whose latest data a member alone has, which runs in these seats.
    pub fn held_alone(&self, is_its: impl Fn(SeatId) -> bool) -> usize {
        let is_known = |seat| self.seats.iter().any(|known| known.seat == seat);
        held_alone(self.ranges.iter().map(|range| &range.chain), is_its, is_known)
    }
}

/// Chains of seats of one member, and perhaps of seats that are not known any more.
pub fn held_alone<'a>(
    chains: impl Iterator<Item = &'a Chain>,
    is_its: impl Fn(SeatId) -> bool,
    is_known: impl Fn(SeatId) -> bool,
) -> usize {
    let is_alone = |chain: &&Chain| {
        let seats = || chain.members.iter().map(seat);
        seats().any(&is_its) && seats().all(|seat| is_its(seat) || !is_known(seat))
    };
    chains.filter(is_alone).count()
}

/// The seat that a member of a chain runs in.
fn seat(member: &Member) -> SeatId {
    SeatId(u32::try_from(member.node.0).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use fawn_ring::Interval;

    const RANGE: RangeId = RangeId(7);

    fn chain(members: &[u64]) -> Chain {
        let member = |node: &u64| Member { node: NodeId(*node), incarnation: Incarnation(1) };
        Chain { members: members.iter().map(member).collect(), ..Chain::none(Interval::ALL) }
    }

    fn active() -> Presence {
        Presence { is_there: true, life: Some(Incarnation(1)), active: Some([RANGE].into()), newest: BTreeMap::new() }
    }

    fn away() -> Presence {
        Presence { is_there: false, ..active() }
    }

    /// It has started again, and copies or waits.
    fn again() -> Presence {
        Presence { life: Some(Incarnation(2)), active: Some(BTreeSet::new()), ..active() }
    }

    fn sealed() -> Presence {
        Presence { active: Some(BTreeSet::new()), ..active() }
    }

    /// What is said of a range with this chain.
    fn said(members: &[u64], is_changing: bool, seats: &[(u32, Presence)]) -> String {
        let (chain, seats) = (chain(members), seats.iter().map(|(seat, there)| (SeatId(*seat), there.clone())));
        let unserved = UnservedRanges::of([(RANGE, &chain, is_changing)].into_iter(), &seats.collect());
        unserved.sentence(25, |seat| format!("n{}", seat.0)).unwrap_or_default()
    }

    #[test]
    fn a_range_is_served_while_a_member_of_its_chain_takes_part_in_it() {
        assert_eq!(said(&[1, 2, 3], false, &[(1, active()), (2, away()), (3, again())]), "");
        assert_eq!(said(&[1], false, &[(1, active())]), "");
        let silent = Presence { active: None, ..active() };
        assert_eq!(said(&[1], false, &[(1, silent)]), "", "it has not said yet, and may");
        assert_eq!(said(&[], false, &[]), "", "no chain was formed yet");
        let other = Presence { active: Some([RangeId(8)].into()), ..active() };
        assert_ne!(said(&[1], false, &[(1, other)]), "", "of another range");
    }

    #[test]
    fn nodes_that_are_away_or_came_back_empty_are_named() {
        let start = |names: &str| {
            let which = if names.len() > 2 { "their latest data directories" } else { "its latest data directory" };
            format!("1 of 25 ranges is out of service: start {names} with {which}, or {DUMP}")
        };
        assert_eq!(said(&[1], false, &[(1, away()), (2, active()), (3, again())]), start("n1"));
        assert_eq!(said(&[1], false, &[(1, again()), (2, again())]), start("n1"), "the others were not in the chain");
        assert_eq!(said(&[1, 2, 3], false, &[(1, again()), (2, again()), (3, away())]), start("n1, n2, n3"));
        assert_eq!(said(&[4, 1], false, &[(1, away())]), start("n1"), "n4 was removed");
    }

    #[test]
    fn members_that_were_removed_older_managers_and_a_change_under_way_are_told_apart() {
        assert!(
            said(&[1], false, &[(2, again())]).contains("only removed members had their latest data: stop the nodes")
        );
        // Nobody knows a newer chain: nothing is wrong with the managers' log.
        let idle = said(&[1, 2], false, &[(1, sealed()), (2, sealed())]);
        assert!(
            idle.ends_with(
                ": n1, n2 run and take no part in their chains: if that lasts, see the log and restart them"
            ),
            "{idle}"
        );
        let idle = said(&[1, 2], false, &[(1, sealed()), (2, away())]);
        assert!(
            idle.contains(": n1 runs and takes no part in their chains: ") && idle.ends_with("restart it"),
            "{idle}"
        );
        let changing = said(&[1, 2], true, &[(1, sealed()), (2, away())]);
        assert!(changing.ends_with("their chains are changing"), "{changing}");
    }

    #[test]
    fn what_is_so_of_some_ranges_is_not_said_of_all() {
        let chains = [(RANGE, chain(&[1]), true), (RangeId(8), chain(&[1]), false), (RangeId(9), chain(&[4]), false)];
        let said = |of: usize| {
            let ranges = chains[..of].iter().map(|(range, chain, is_changing)| (*range, chain, *is_changing));
            let unserved = UnservedRanges::of(ranges, &[(SeatId(1), sealed())].into());
            unserved.sentence(25, |seat| format!("n{}", seat.0)).unwrap_or_default()
        };
        assert_eq!(said(1), "1 of 25 ranges is out of service: their chains are changing");
        assert_eq!(said(2), "2 of 25 ranges are out of service: the chains of 1 of them are changing");
        let removed = format!("only removed members had the latest data of 1 of them: {DUMP}");
        assert_eq!(said(3), format!("3 of 25 ranges are out of service: {removed}"));
    }

    #[test]
    fn managers_that_have_forgotten_a_chain_are_told_apart_from_all_else() {
        let knows = |epoch| Presence { newest: [(RANGE, Epoch(epoch))].into(), ..sealed() };
        let (older, same) = (chain(&[1]).epoch.0 + 1, chain(&[1]).epoch.0);
        let told =
            "the managers' log is older than what their nodes know: stop the managers, and put the newer log back";
        for seats in
            [[(1, knows(older)), (2, away())], [(1, away()), (3, knows(older))], [(1, knows(older)), (2, again())]]
        {
            assert!(said(&[1, 2], true, &seats).contains(told), "{}", said(&[1, 2], true, &seats));
            assert!(said(&[1, 2], false, &seats).contains(told));
        }
        assert!(said(&[1, 2], true, &[(1, knows(same)), (2, away())]).ends_with("their chains are changing"));
    }

    #[test]
    fn a_member_holds_alone_what_no_other_member_is_in_the_chain_of() {
        let chains = [chain(&[1]), chain(&[1, 2]), chain(&[1, 4]), chain(&[2]), chain(&[4]), chain(&[])];
        let alone = held_alone(chains.iter(), |seat| seat == SeatId(1), |seat| seat != SeatId(4));
        assert_eq!(alone, 2, "its own, and one whose other member was removed");
    }

    #[test]
    fn what_was_served_a_moment_ago_does_not_count() {
        let chain = chain(&[1]);
        let of = |there: Presence| {
            UnservedRanges::of([(RANGE, &chain, false)].into_iter(), &BTreeMap::from([(SeatId(1), there)]))
        };
        assert!(of(sealed()).that_were_before(&of(active())).is_empty());
        assert_eq!(of(sealed()).that_were_before(&of(sealed())).len(), 1);
    }
}
