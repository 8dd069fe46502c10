//! Who owns which wedge: front-ends register, hold leases, and lose wedges to others when they are gone, or when others
//! have too few (FAWN SOSP'09 §3.4.1: the key space is allocated to front-ends by a single management node).
//!
//! A wedge passes on in two steps of the log. A *release* ends the leases: whoever leads from then on grants its owner
//! none. When the last one that anybody may have granted is over, a *grant* gives the wedge to another front-end, in the
//! next wedge epoch. Between the two, the owner goes on without its cache.

use super::effects::Effects;
use super::frontends::FrontContacts;
use super::notices::show_view;
use super::questions::QuestionCounter;
use super::state::{Command, State};
use super::view::LeaderView;
use super::wedge_lease::WedgeLeases;
use super::wedge_locality::WedgeLocality;
use crate::ids::{Address, FrontId, FrontMember, Wedge, WedgeId, numbered};
use crate::testing::coverage::{Path, took};
use crate::wire::Message;
use std::collections::BTreeMap;

/// What a leader does for front-ends: it hears them, grants leases and passes wedges on.
#[derive(Debug, Default)]
pub(super) struct WedgeOwners {
    contacts: FrontContacts,
    leases: WedgeLeases,
    locality: WedgeLocality,
    /// When something was last proposed.
    proposed_us: Option<u64>,
    /// A wedge has another owner, and nobody else was told.
    passed_on: bool,
}

impl WedgeOwners {
    /// Nothing is known, nor granted.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether all have been told who owns what.
    pub(super) fn are_known(&self) -> bool {
        !self.passed_on
    }

    /// A message of a front-end has come.
    pub(super) fn receive(
        &mut self,
        message: &Message,
        questions: &mut QuestionCounter,
        view: &LeaderView,
        now_us: u64,
        effects: &mut Effects,
    ) {
        let wedges = &view.state().wedges;
        match *message {
            Message::FrontHello { front, nonce } if wedges.is_given(front, nonce) => {
                welcome(front, nonce, view.state(), effects);
            }
            Message::FrontHello { front, nonce } => effects.propose.push(Command::FrontRegister { front, nonce }),
            Message::FrontHeartbeat { member, nonce } if wedges.lives(member) => {
                self.contacts.note_heartbeat(member, view, now_us);
                self.leases.ask((member, nonce), questions, view, now_us, effects);
            }
            Message::FrontCutOff { member }
                if wedges.lives(member) && self.contacts.has_others_heard_long(member.front, view, now_us) =>
            {
                took(Path::FrontCutOff);
                self.contacts.note_cut_off(member, now_us);
            }
            // It owns nothing any more: its wedges are released, and its leases are no longer waited for.
            Message::FrontFarewell { member } if wedges.lives(member) => {
                self.contacts.forget(member.front);
                self.leases.end(member);
            }
            Message::FrontHeartbeat { member: FrontMember { front, incarnation }, .. }
                if wedges.life_of(front).is_some_and(|known| known > incarnation) =>
            {
                effects.send.push((Address::Front(front), Message::FrontSuperseded { incarnation }));
            }
            _ => {}
        }
    }

    /// It led when, or after, it asked this question.
    pub(super) fn confirmed(&mut self, question: u64, view: &LeaderView, now_us: u64, effects: &mut Effects) {
        self.leases.confirmed(question, view, now_us, effects);
    }

    /// A wedge was granted: its owner is told at once, so that it knows when the others send it what they have.
    pub(super) fn granted(&mut self, owner: FrontId, state: &State, effects: &mut Effects) {
        self.passed_on = true;
        show_wedges(owner, state, effects);
    }

    /// Tells all front-ends who owns what, if that has changed: they need not be refused before they ask.
    pub(super) fn tell(&mut self, state: &State, effects: &mut Effects) {
        if std::mem::take(&mut self.passed_on) {
            for front in self.contacts.fronts() {
                show_wedges(front, state, effects);
            }
        }
    }

    /// Looks whether every wedge has an owner that lives, and none has too many. `is_settled`: nothing is to be done for
    /// nodes.
    pub(super) fn plan(&mut self, is_settled: bool, view: &LeaderView, now_us: u64, effects: &mut Effects) {
        if self.proposed_us.is_some_and(|at| now_us < at + view.timing().resend_us) {
            return;
        }
        let state = view.state();
        let mut loads = self.contacts.loads(view, now_us);
        let mut proposals = Vec::new();
        let are_owned = self.plan_owners(&mut loads, &mut proposals, view, now_us);
        if are_owned {
            proposals = even_out(loads.clone(), state);
        }
        if are_owned && proposals.is_empty() && is_settled {
            proposals = self.locality.draw_near_when_calm(&loads, state, now_us);
        } else {
            self.locality.disturb();
        }
        if !proposals.is_empty() {
            self.proposed_us = Some(now_us);
            effects.propose.append(&mut proposals);
        }
    }

    /// Releases wedges of front-ends that are gone, and grants those that nobody can have a lease on. Returns whether all
    /// have owners that live.
    fn plan_owners(
        &self,
        loads: &mut BTreeMap<FrontMember, usize>,
        proposals: &mut Vec<Command>,
        view: &LeaderView,
        now_us: u64,
    ) -> bool {
        let (state, mut are_owned) = (view.state(), true);
        let share = state.wedges.wedges().len().div_ceil(loads.len().max(1));
        for (id, wedge) in numbered(state.wedges.wedges()) {
            let Wedge { epoch, owner, released, .. } = *wedge;
            match owner {
                Some(owner) if !released => {
                    if !loads.contains_key(&owner) {
                        proposals.push(Command::WedgeRelease { wedge: id, epoch });
                        are_owned = false;
                    }
                }
                Some(owner) if !self.leases.has_none(id, owner, view, now_us) => are_owned = false,
                _ => {
                    are_owned = false;
                    let near = state.nearest(&wedge.keys, loads).filter(|near| loads[near] < share);
                    let least = || loads.iter().min_by_key(|(member, load)| (**load, **member));
                    let Some(owner) = near.or_else(|| least().map(|(owner, _)| *owner)) else { continue };
                    *loads.entry(owner).or_default() += 1;
                    proposals.push(Command::WedgeGrant { wedge: id, epoch: epoch.next(), owner });
                }
            }
        }
        are_owned
    }

    /// The front-ends that live, with the number of wedges that each owns.
    #[cfg(test)]
    fn loads(&self, view: &LeaderView, now_us: u64) -> BTreeMap<FrontMember, usize> {
        self.contacts.loads(view, now_us)
    }
}

/// Gives a front-end its life, if it was given to this start.
pub(super) fn welcome(front: FrontId, nonce: u64, state: &State, effects: &mut Effects) {
    let Some(incarnation) = state.wedges.life_of(front) else { return };
    if state.wedges.is_given(front, nonce) {
        effects.send.push((Address::Front(front), Message::FrontWelcome { nonce, incarnation }));
    }
}

/// Of many ranges, a front-end knows most or asks for them: it is told of wedges alone.
fn show_wedges(front: FrontId, state: &State, effects: &mut Effects) {
    show_view(Address::Front(front), state.changes, state, effects);
}

/// Takes wedges from those who own most, as long as somebody owns fewer by two or more; the others stay where they are,
/// rather those that are near their keys.
fn even_out(mut loads: BTreeMap<FrontMember, usize>, state: &State) -> Vec<Command> {
    if loads.values().max().is_none_or(|most| loads.values().all(|load| most <= &(load + 1))) {
        return Vec::new();
    }
    let mut releases = Vec::new();
    let mut wedges: Vec<(WedgeId, &Wedge)> = numbered(state.wedges.wedges()).rev().collect();
    wedges.sort_by_key(|(_, wedge)| wedge.owner.is_some() && wedge.owner == state.nearest(&wedge.keys, &loads));
    for (wedge, Wedge { epoch, owner, .. }) in wedges {
        let Some((least, fewest)) = loads.iter().min_by_key(|(member, load)| (**load, **member)) else { break };
        let (least, fewest) = (*least, *fewest);
        let Some(load) = owner.and_then(|owner| loads.get_mut(&owner)).filter(|load| **load > fewest + 1) else {
            continue;
        };
        *load -= 1;
        *loads.get_mut(&least).expect("it was just found") += 1;
        releases.push(Command::WedgeRelease { wedge, epoch: *epoch });
    }
    releases
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::wedge_state::Wedges;
    use super::*;
    use crate::ids::{Attempt, ClusterId, Incarnation, Member, NodeId, Position, RangeId, Rules, Seq, WedgeEpoch};
    use crate::manager::Manager;
    use crate::manager::{Into, Leases, Settings};
    use crate::timing::Timing;
    use fawn_ring::MachineId;
    use std::collections::BTreeSet;

    const SECOND: u64 = 1_000_000;

    /// A leader whose proposals are agreed on at once, and who is confirmed at once.
    pub(in super::super) struct Bench {
        pub(in super::super) manager: Manager,
        pub(in super::super) now_us: u64,
        sent: Vec<(Address, Message)>,
        beats: u64,
    }

    impl Bench {
        pub(in super::super) fn new(count: u32) -> Self {
            let settings = Settings { replicas: 1, first_nodes: 1, rules: Rules::default(), leases: Leases::default() };
            let mut manager = Manager::new(Timing::default(), settings, ClusterId([1; 16])).unwrap().with_wedges(count);
            manager.lead(0, true);
            Self { manager, now_us: 0, sent: Vec::new(), beats: 0 }
        }

        fn work(&mut self, now_us: u64, mut effects: Effects) {
            while !effects.propose.is_empty() || !effects.confirm.is_empty() {
                let mut next = Effects::default();
                for command in &effects.propose {
                    self.manager.committed(now_us, command, &mut next);
                }
                for question in &effects.confirm {
                    self.manager.confirmed(now_us, *question, &mut next);
                }
                self.sent.append(&mut effects.send);
                effects = next;
            }
            self.sent.append(&mut effects.send);
        }

        fn hear(&mut self, now_us: u64, message: Message) {
            let mut effects = Effects::default();
            self.manager.receive(now_us, message, &mut effects);
            self.work(now_us, effects);
        }

        pub(in super::super) fn start(&mut self, now_us: u64, front: u32, nonce: u64) {
            self.hear(now_us, Message::FrontHello { front: FrontId(front), nonce });
        }

        fn member(&self, front: u32) -> FrontMember {
            let incarnation = self.manager.state().wedges.fronts[&FrontId(front)].0;
            FrontMember { front: FrontId(front), incarnation }
        }

        /// These commands are agreed on.
        pub(in super::super) fn decide(&mut self, propose: Vec<Command>) {
            self.work(self.now_us, Effects { propose, ..Effects::default() });
        }

        pub(in super::super) fn run(&mut self, from_us: u64, to_us: u64, alive: &[u32]) {
            for now_us in (from_us..to_us).step_by(100_000) {
                self.now_us = now_us;
                for front in alive {
                    self.beats += 1;
                    let message = Message::FrontHeartbeat { member: self.member(*front), nonce: self.beats };
                    self.hear(now_us, message);
                }
                let mut effects = Effects::default();
                self.manager.tick(now_us, &mut effects);
                self.work(now_us, effects);
            }
        }

        pub(in super::super) fn owners(&self) -> Vec<Option<u32>> {
            let wedges = self.manager.state().wedges.wedges();
            wedges.iter().map(|wedge| wedge.owner.map(|owner| owner.front.0)).collect()
        }

        pub(in super::super) fn loads(&self) -> BTreeMap<FrontMember, usize> {
            self.manager.owners.loads(&self.manager.view, self.now_us)
        }

        fn epochs(&self) -> BTreeSet<u64> {
            self.manager.state().wedges.wedges().iter().map(|wedge| wedge.epoch.0).collect()
        }

        /// The wedges that the last lease of a front-end names.
        fn leased(&self, front: u32) -> usize {
            let mut sent = self.sent.iter().rev().filter(|(to, _)| *to == Address::Front(FrontId(front)));
            let lease = sent.find_map(|(_, message)| match message {
                Message::FrontLease { wedges, .. } => Some(wedges.len()),
                _ => None,
            });
            lease.unwrap_or(0)
        }
    }

    #[test]
    fn wedges_are_dealt_out_evenly_and_stay_where_they_are() {
        let mut bench = Bench::new(8);
        bench.start(0, 0, 1);
        bench.start(0, 1, 2);
        bench.run(0, 10 * SECOND, &[0, 1]);
        let owners = bench.owners();
        assert_eq!(owners.iter().filter(|owner| **owner == Some(0)).count(), 4, "{owners:?}");
        assert_eq!(bench.epochs(), BTreeSet::from([1]), "nothing moved after the first grant");
        bench.start(10 * SECOND, 2, 3);
        bench.run(10 * SECOND, 20 * SECOND, &[0, 1, 2]);
        let moved: Vec<usize> = (0..8).filter(|at| bench.owners()[*at] != owners[*at]).collect();
        assert_eq!(moved.len(), 2, "as many as even it out: {:?}", bench.owners());
        assert!(moved.iter().all(|at| bench.owners()[*at] == Some(2)));
    }

    #[test]
    fn a_wedge_of_one_that_is_gone_goes_on_when_its_lease_is_over() {
        let mut bench = Bench::new(2);
        bench.start(0, 0, 1);
        bench.run(0, 3 * SECOND, &[0]);
        assert_eq!(bench.owners(), [Some(0), Some(0)]);
        bench.start(3 * SECOND, 1, 2);
        // The last heartbeat of 0 was at 2.9 s, its lease lasts no longer than until 4.92 s.
        bench.run(3 * SECOND, 4_900_000, &[1]);
        assert_eq!(bench.owners(), [Some(0), Some(0)], "its lease is not over");
        assert!(bench.manager.state().wedges.wedges().iter().all(|wedge| wedge.released));
        bench.run(4_950_000, 6 * SECOND, &[1]);
        assert_eq!(bench.owners(), [Some(1), Some(1)]);
        assert_eq!(bench.epochs(), BTreeSet::from([2]));
        assert_eq!(bench.leased(1), 2);
    }

    #[test]
    fn all_are_told_who_owns_what_and_of_chains_when_they_ask() {
        let mut bench = Bench::new(2);
        let (node, incarnation) = (NodeId(7), Incarnation(1));
        let (range, attempt, target) = (RangeId(2), Attempt(1), vec![Member { node, incarnation }]);
        let (into, after, first) = (Into::Itself, Position::default(), Seq(1));
        let propose = vec![
            Command::Register { node, nonce: 1, machine: MachineId(7), domain: None, virtual_ids: 1 },
            Command::Form,
            Command::Begin { range, attempt, target, source: None, into },
            Command::Activate { range, attempt, into, after, first },
        ];
        bench.work(0, Effects { propose, ..Effects::default() });
        bench.start(0, 0, 1);
        bench.run(0, SECOND, &[0]);
        let views = |bench: &Bench, front| -> Vec<(u64, usize, usize)> {
            let views = bench.sent.iter().filter(|(to, _)| *to == Address::Front(FrontId(front)));
            let view = |message: &Message| match message {
                Message::View { since, chains, wedges, .. } => Some((*since, chains.len(), wedges.len())),
                _ => None,
            };
            views.filter_map(|(_, message)| view(message)).collect()
        };
        assert_eq!(views(&bench, 0), [(1, 0, 2); 3], "each grant as the owner, and both as one of all");
        bench.hear(SECOND, Message::AskView { asker: Address::Front(FrontId(0)), known: 0 });
        assert_eq!(views(&bench, 0)[3], (0, 1, 2));
        bench.start(SECOND, 1, 2);
        bench.run(SECOND, 5 * SECOND, &[0, 1]);
        assert_eq!(views(&bench, 0)[4..], [(1, 0, 2)], "one of them is another's now");
        assert_eq!(views(&bench, 1), [(1, 0, 2); 2]);
    }

    #[test]
    fn wedges_of_one_that_nobody_answers_pass_on_unless_that_is_so_of_all() {
        let mut bench = Bench::new(12);
        (0..3).for_each(|front| bench.start(0, front, u64::from(front)));
        let mut now_us = 0;
        let mut run = |bench: &mut Bench, cut_off: &[u32]| {
            for _ in 0..20 {
                for front in cut_off {
                    let member = bench.member(*front);
                    bench.hear(now_us, Message::FrontCutOff { member });
                }
                bench.run(now_us, now_us + SECOND / 2, &[0, 1, 2]);
                now_us += SECOND / 2;
            }
            [0, 1, 2].map(|front| bench.owners().iter().filter(|owner| **owner == Some(front)).count())
        };
        assert_eq!(run(&mut bench, &[]), [4, 4, 4]);
        assert_eq!(run(&mut bench, &[1]), [6, 0, 6]);
        assert_eq!(run(&mut bench, &[0, 1, 2]), [4, 4, 4], "nobody is better");
        assert_eq!(run(&mut bench, &[0, 2]), [0, 12, 0]);
        assert_eq!(run(&mut bench, &[]), [4, 4, 4]);
    }

    #[test]
    fn whoever_was_alone_keeps_its_wedges_until_a_newcomer_can_have_been_reached() {
        let mut bench = Bench::new(4);
        bench.start(0, 0, 1);
        bench.run(0, 10 * SECOND, &[0]);
        bench.start(10 * SECOND, 1, 2);
        // The roster names a newcomer to which no link is up yet: nobody answers the first front-end.
        let mut now_us = 10 * SECOND;
        let mut pass = |bench: &mut Bench, us: u64| {
            for _ in 0..us / 100_000 {
                let member = bench.member(0);
                bench.hear(now_us, Message::FrontCutOff { member });
                bench.run(now_us, now_us + 100_000, &[0, 1]);
                now_us += 100_000;
            }
            let first = |wedge: &&Wedge| wedge.owner == Some(bench.member(0)) && !wedge.released;
            bench.manager.state().wedges.wedges().iter().filter(first).count()
        };
        let long_us = 2 * Timing::default().silent_us;
        assert_eq!(pass(&mut bench, long_us), 2, "half of them, as always with a newcomer");
        assert_eq!(pass(&mut bench, 10 * SECOND), 0, "now it is cut off");
    }

    #[test]
    fn a_released_wedge_is_in_no_lease() {
        let mut bench = Bench::new(1);
        bench.start(0, 0, 1);
        bench.run(0, SECOND, &[0]);
        assert_eq!(bench.leased(0), 1);
        let release = Command::WedgeRelease { wedge: WedgeId(0), epoch: WedgeEpoch(1) };
        bench.manager.committed(SECOND, &release, &mut Effects::default());
        let message = Message::FrontHeartbeat { member: bench.member(0), nonce: 999 };
        bench.hear(SECOND, message);
        assert_eq!(bench.leased(0), 0);
    }

    #[test]
    fn a_new_leader_waits_for_leases_that_it_did_not_grant() {
        let mut bench = Bench::new(1);
        bench.start(0, 0, 1);
        bench.start(0, 1, 2);
        bench.run(0, 3 * SECOND, &[0, 1]);
        let owner = bench.owners()[0].expect("the wedge has an owner");
        let other = 1 - owner;
        bench.manager.lead(3 * SECOND, false);
        bench.manager.lead(4 * SECOND, true);
        bench.run(4 * SECOND, 6 * SECOND, &[other]);
        assert_eq!(bench.owners(), [Some(owner)]);
        bench.run(6_100_000, 7 * SECOND, &[other]);
        assert_eq!(bench.owners(), [Some(other)]);
    }

    #[test]
    fn a_restart_is_another_front_end_that_owns_nothing_yet() {
        let mut bench = Bench::new(1);
        bench.start(0, 0, 1);
        bench.run(0, 3 * SECOND, &[0]);
        let before = bench.member(0);
        bench.start(3 * SECOND, 0, 2);
        bench.start(3 * SECOND, 0, 2);
        assert_eq!(bench.member(0).incarnation, before.incarnation.next(), "once a start");
        bench.run(3 * SECOND, 4 * SECOND, &[0]);
        assert_eq!(bench.leased(0), 0, "the lease of its life before is not over");
        bench.run(4 * SECOND, 6 * SECOND, &[0]);
        assert_eq!((bench.leased(0), bench.epochs()), (1, BTreeSet::from([2])));
        bench.hear(6 * SECOND, Message::FrontHeartbeat { member: before, nonce: 77 });
        let incarnation = before.incarnation;
        assert_eq!(bench.sent.last(), Some(&(Address::Front(FrontId(0)), Message::FrontSuperseded { incarnation })));
    }

    #[test]
    fn what_no_longer_fits_does_nothing() {
        let mut wedges = Wedges::new(2);
        assert!(wedges.register(FrontId(0), 5) && !wedges.register(FrontId(0), 5));
        let owner = FrontMember { front: FrontId(0), incarnation: Incarnation(1) };
        assert!(!wedges.grant(WedgeId(0), WedgeEpoch(2), owner), "not the next epoch");
        assert!(!wedges.release(WedgeId(0), WedgeEpoch(0)), "nobody owns it");
        assert!(wedges.grant(WedgeId(0), WedgeEpoch(1), owner));
        assert!(!wedges.grant(WedgeId(0), WedgeEpoch(2), owner), "it was not released");
        assert!(wedges.release(WedgeId(0), WedgeEpoch(1)) && !wedges.release(WedgeId(0), WedgeEpoch(1)));
        assert!(wedges.register(FrontId(0), 6));
        assert!(!wedges.grant(WedgeId(0), WedgeEpoch(2), owner), "that life is over");
        assert!(!wedges.grant(WedgeId(7), WedgeEpoch(1), owner), "there is no such wedge");
    }
}
