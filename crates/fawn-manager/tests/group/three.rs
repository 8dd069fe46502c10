//! A group of three, in one process.

use crate::caller::{Caller, LONG, Seat, enrolment, until};
use fawn_kv::ids::{Incarnation, ManagerId};
use fawn_kv::link::{Control, Frame, Party};
use fawn_kv::manager::Waits;
use fawn_kv::status::{Answer, NewSettings, Question, Status};
use fawn_kv::wire::version::NEWEST;
use fawn_manager::consensus::stored_types::StoredVote;
use fawn_manager::consensus::types::{LogEntry, LogId};
use fawn_manager::directory;
use fawn_manager::{Operator, Options, Running, recover, start};
use openraft::{BasicNode, CommittedLeaderId, EntryPayload, Membership};
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// Managers by their places; `None`: it does not run.
pub struct Group {
    dir: TempDir,
    /// Where they listen.
    pub addresses: Vec<String>,
    /// Where others reach them, if that is elsewhere.
    advertised: Vec<Option<String>>,
    pub running: Vec<Option<Running>>,
    snapshot_entries: u64,
}

/// Addresses that nobody else has now. Their ports are below those that the system gives to callers: one of these could be taken
/// before a manager listens.
pub fn addresses(count: usize) -> Vec<String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let address = || {
        let number = std::process::id().wrapping_mul(97).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        format!("127.0.0.1:{}", 10_000 + number % 22_000)
    };
    std::iter::repeat_with(address).filter(|address| TcpListener::bind(address).is_ok()).take(count).collect()
}

impl Group {
    /// `count` that begin together, of so many that there may be.
    pub fn start(count: usize, of: usize, snapshot_entries: u64) -> Self {
        Self::start_behind(count, of, snapshot_entries, |_| None)
    }

    /// The same, reached where `advertise` says for the address where one listens.
    pub fn start_behind(
        count: usize,
        of: usize,
        snapshot_entries: u64,
        advertise: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let running = (0..of).map(|_| None).collect();
        let (dir, addresses) = (tempfile::tempdir().unwrap(), addresses(of));
        let advertised = addresses.iter().map(|address| advertise(address)).collect();
        let mut group = Self { dir, addresses, advertised, running, snapshot_entries };
        let reached = |place: usize| group.advertised[place].as_ref().unwrap_or(&group.addresses[place]).clone();
        let peers: Vec<String> = (0..count).map(reached).collect();
        for place in 0..count {
            group.run(place, &peers, &[]);
        }
        until("all are in the group", || group.status().managers.iter().filter(|one| one.is_voter).count() == count);
        group
    }

    fn run(&mut self, place: usize, peers: &[String], join: &[String]) {
        let dir = self.dir.path().join(place.to_string());
        let options = Options {
            listen: Some(self.addresses[place].clone()),
            advertise: self.advertised[place].clone(),
            peers: peers.to_vec(),
            join: join.to_vec(),
            snapshot_entries: self.snapshot_entries,
            ..Options::new(&dir)
        };
        self.running[place] = Some(start(options).unwrap());
    }

    /// As after a crash: it is gone at once.
    pub fn stop(&mut self, place: usize) {
        drop(self.running[place].take().unwrap());
    }

    fn ask(&self, question: &Question) -> Answer {
        Operator::new(self.addresses.clone(), None, LONG).ask(question).unwrap()
    }

    pub fn status(&self) -> Status {
        match self.ask(&Question::Status) {
            Answer::Status(status) => *status,
            other => panic!("{other:?}"),
        }
    }

    pub fn leader(&self) -> usize {
        let status = self.status();
        let leads = |one: &Option<Running>| one.as_ref().is_some_and(|one| one.id() == status.leader);
        self.running.iter().position(leads).unwrap()
    }

    fn set_replicas(&self, replicas: u32) {
        let new = NewSettings { replicas: Some(replicas), ..NewSettings::default() };
        let deadline = std::time::Instant::now() + LONG;
        // A leader that is deposed meanwhile says so.
        while self.ask(&Question::Set(new)) != Answer::Done {
            assert!(std::time::Instant::now() < deadline);
        }
    }

    fn dial_leader(&self, from: Party) -> Caller {
        Caller::dial(&self.addresses[self.leader()], from)
    }
}

#[test]
fn another_leads_when_the_leader_is_gone_and_knows_all_that_was_decided() {
    let mut group = Group::start(3, 3, 1000);
    let mut seat = Seat::join(|party| group.dial_leader(party), "a", 1);
    let member = seat.live(7);
    seat.lease(member.incarnation);
    group.set_replicas(2);
    let before = group.status();
    let leader = group.leader();
    group.stop(leader);
    let after = group.status();
    assert!(after.term > before.term && after.leader != before.leader);
    assert_eq!((after.cluster, after.settings), (before.cluster, before.settings));
    assert_eq!(after.roster.members, before.roster.members);
    // The seat goes on there, in the life that it has.
    let mut link = group.dial_leader(Party::Seat(seat.id));
    std::mem::swap(&mut seat.link, &mut link);
    seat.lease(member.incarnation);
    group.run(leader, &[], &[]);
    until("it is heard again", || group.status().managers.iter().all(|one| one.lag == Some(0)));
}

#[test]
fn without_a_majority_nothing_is_decided_and_nobody_has_a_lease() {
    let mut group = Group::start(3, 3, 1000);
    let mut seat = Seat::join(|party| group.dial_leader(party), "a", 1);
    let member = seat.live(7);
    seat.lease(member.incarnation);
    let leader = group.leader();
    for place in (0..3).filter(|place| *place != leader) {
        group.stop(place);
    }
    // What was asked before they were gone may still be answered.
    while seat.link.hear(Duration::from_millis(500)).is_some() {}
    let beat = fawn_kv::wire::Message::Heartbeat {
        cluster: seat.enrolled.cluster,
        member,
        nonce: 900,
        reports: Vec::new(),
        silent: Vec::new(),
    };
    seat.link.send(fawn_kv::ids::Address::Node(seat.node()), &beat);
    let end = std::time::Instant::now() + Duration::from_secs(2);
    while let Some(frame) = seat.link.hear(end.saturating_duration_since(std::time::Instant::now())) {
        let is_lease =
            matches!(frame, fawn_kv::link::Frame::Message { message: fawn_kv::wire::Message::Lease { .. }, .. });
        assert!(!is_lease, "a lease without a majority");
    }
    for place in (0..3).filter(|place| *place != leader) {
        group.run(place, &[], &[]);
    }
    group.status();
}

#[test]
fn all_start_again_with_what_was_decided() {
    let mut group = Group::start(3, 3, 1000);
    let mut seat = Seat::join(|party| group.dial_leader(party), "a", 1);
    seat.live(7);
    let before = group.status();
    (0..3).for_each(|place| group.stop(place));
    (0..3).for_each(|place| group.run(place, &[], &[]));
    let after = group.status();
    assert_eq!((after.cluster, &after.roster.members), (before.cluster, &before.roster.members));
    assert_eq!(after.seats[0].incarnation, Some(Incarnation(1)));
}

#[test]
fn who_joins_late_or_restarts_begins_with_a_snapshot() {
    let mut group = Group::start(1, 2, 20);
    Seat::join(|party| group.dial_leader(party), "a", 1);
    for round in 0..100 {
        group.set_replicas(1 + round % 5);
    }
    let roster = group.status().roster;
    group.stop(0);
    group.run(0, &[], &[]);
    assert_eq!(group.status().settings.replicas, 5);
    let first = group.addresses[0].clone();
    group.run(1, &[], &[first]);
    until("it is in the group", || group.status().managers.iter().filter(|one| one.is_voter).count() == 2);
    // What the second knows it tells once it leads, alone in the group.
    let out = group.running[0].as_ref().unwrap().id();
    until("the first is out", || group.ask(&Question::RemoveManager { id: out }) == Answer::Done);
    group.stop(0);
    group.stop(1);
    let store = directory::open(&group.dir.path().join("1")).unwrap();
    assert!(store.snapshot().unwrap().is_some(), "it was sent a snapshot");
    assert!(store.all().unwrap().len() < 90, "and not all entries");
    drop(store);
    group.run(1, &[], &[]);
    let after = group.status();
    assert_eq!((after.settings.replicas, &after.roster.members), (5, &roster.members));
    until("the roster knows", || group.status().roster.managers.len() == 1);
}

#[test]
fn managers_come_and_go_while_it_serves() {
    let mut group = Group::start(1, 4, 1000);
    let first = group.addresses[0].clone();
    for place in 1..4 {
        group.run(place, &[], std::slice::from_ref(&first));
    }
    until("four are in the group", || group.status().managers.iter().filter(|one| one.is_voter).count() == 4);
    until("the roster says where", || group.status().roster.managers.len() == 4);
    let Answer::Refused(why) = group.ask(&Question::RemoveManager { id: ManagerId(1) }) else { panic!("who?") };
    assert!(why.contains("there is no manager 1"), "{why}");
    let leader = group.leader();
    let gone = group.running[leader].as_ref().unwrap().id();
    until("the leader is out", || {
        matches!(group.ask(&Question::RemoveManager { id: gone }), Answer::Done)
            || group.status().managers.iter().all(|one| one.id != gone)
    });
    group.stop(leader);
    until("three are left", || group.status().managers.iter().filter(|one| one.is_voter).count() == 3);
}

#[test]
fn a_manager_that_has_lost_its_directory_takes_the_place_of_the_one_that_it_was() {
    let mut group = Group::start(3, 3, 1000);
    let lost = (group.leader() + 1) % 3;
    let before = group.running[lost].as_ref().unwrap().id();
    group.stop(lost);
    std::fs::remove_dir_all(group.dir.path().join(lost.to_string())).unwrap();
    let peers = group.addresses.clone();
    // Started as at first: it finds that there is a group.
    group.run(lost, &peers, &[]);
    let now = group.running[lost].as_ref().unwrap().id();
    assert_ne!(before, now);
    until("it is in the group, and the one that it was is not", || {
        let managers = group.status().managers;
        managers.len() == 3 && managers.iter().all(|one| one.is_voter && one.id != before)
    });
}

#[test]
fn managers_that_are_reached_elsewhere_tell_the_others_one_after_the_other() {
    let mut group = Group::start(3, 3, 1000);
    for moves_leader in [false, true] {
        let place = if moves_leader { group.leader() } else { (group.leader() + 1) % 3 };
        let id = group.running[place].as_ref().unwrap().id();
        group.stop(place);
        group.addresses[place] = addresses(1).remove(0);
        group.run(place, &[], &[]);
        let at = group.addresses[place].clone();
        until("the others know, and reach it", || {
            let managers = group.status().managers;
            let knows = managers.iter().any(|one| one.id == id && one.address == at && one.lag.is_some());
            knows && managers.len() == 3 && managers.iter().all(|one| one.is_voter)
        });
        until("the roster knows", || group.status().roster.managers.get(&id) == Some(&at));
    }
}

#[test]
fn a_manager_of_several_does_not_start_where_none_can_reach_it() {
    let mut group = Group::start(3, 3, 1000);
    let place = group.leader();
    let at = group.addresses[place].clone();
    group.stop(place);
    let port = at.rsplit_once(':').unwrap().1;
    let nowhere = Options {
        listen: Some(format!("0.0.0.0:{port}")),
        insecure: true,
        ..Options::new(&group.dir.path().join(place.to_string()))
    };
    let refused = start(nowhere).expect_err("it has no address").to_string();
    assert!(refused.contains("--advertise"), "{refused}");
    group.run(place, &[], &[]);
    until("it is in the group as before", || {
        let managers = group.status().managers;
        managers.len() == 3 && managers.iter().any(|one| one.address == at) && managers.iter().all(|one| one.is_voter)
    });
}

#[test]
fn a_replacement_whose_second_step_did_not_happen_is_brought_to_its_end() {
    let mut group = Group::start(3, 3, 1000);
    let voters: BTreeMap<u64, BasicNode> =
        group.status().managers.into_iter().map(|one| (one.id.0, BasicNode::new(one.address))).collect();
    (0..3).for_each(|place| group.stop(place));
    // Two that were replaced still vote: with five, all three that there are have to agree.
    let mut nodes = voters.clone();
    for (ghost, id) in group.addresses[1..].iter().zip(1..) {
        nodes.insert(id, BasicNode::new(ghost));
    }
    let stores: Vec<_> =
        (0..3).map(|place| directory::open(&group.dir.path().join(place.to_string())).unwrap()).collect();
    let ends = stores.iter().map(|store| store.last().unwrap().unwrap());
    let last = ends.max_by_key(|last| (last.leader_id.term, last.index)).unwrap();
    let term = last.leader_id.term + 1;
    let members = Membership::new(vec![nodes.keys().copied().collect()], nodes);
    for store in &stores {
        let mut entries = stores.iter().map(|store| store.all().unwrap()).max_by_key(Vec::len).unwrap();
        let log_id = LogId::new(CommittedLeaderId::new(term, 0), last.index + 1);
        entries.push(LogEntry { log_id, payload: EntryPayload::Membership(members.clone()) });
        store.rewrite(StoredVote { term, voted_for: None, is_leader: false }, entries).unwrap();
    }
    drop(stores);
    (0..3).for_each(|place| group.run(place, &[], &[]));
    until("those that were replaced are gone", || {
        let left: BTreeSet<u64> = group.status().managers.iter().map(|one| one.id.0).collect();
        left.iter().eq(voters.keys())
    });
    until("the roster knows", || group.status().roster.managers.len() == 3);
    (0..3).for_each(|place| group.stop(place));
    let entries = directory::open(&group.dir.path().join("0")).unwrap().all().unwrap();
    let begun =
        entries.iter().filter(|entry| matches!(&entry.payload, EntryPayload::Membership(all) if *all == members));
    assert_eq!(begun.count(), 1, "all of them have voted");
}

#[test]
fn one_that_is_left_goes_on_alone_and_takes_others_in() {
    let mut group = Group::start(3, 4, 1000);
    let mut seat = Seat::join(|party| group.dial_leader(party), "a", 1);
    let (member, secret) = (seat.live(7), seat.enrolled.secret);
    let before = group.status();
    let left = (group.leader() + 1) % 3;
    (0..3).for_each(|place| group.stop(place));
    let dir = group.dir.path().join(left.to_string());
    let recovered = recover(&dir, Waits::ForAll).unwrap();
    assert_eq!((&recovered.address, recovered.others.len()), (&group.addresses[left], 2));
    group.run(left, &[], &[]);
    let after = group.status();
    assert_eq!((after.cluster, after.settings), (before.cluster, before.settings));
    assert_eq!(after.roster.members, before.roster.members);
    assert!(after.term > before.term + 1000 && after.managers.len() == 1);
    // The life that the seat had is over, and the next has a number that none had.
    let mut seat = Seat::join(|party| group.dial_leader(party), "a", 1);
    assert_eq!(seat.enrolled.secret, secret);
    let next = seat.live(8);
    assert!(next.incarnation.0 > member.incarnation.0 + 1000);
    seat.lease(next.incarnation);
    let address = group.addresses[left].clone();
    group.run(3, &[], &[address]);
    until("another is in the group", || group.status().managers.iter().filter(|one| one.is_voter).count() == 2);
    until("the roster has no other", || group.status().roster.managers.len() == 2);
}

#[test]
fn a_member_that_lost_managers_had_taken_is_told_to_keep_what_it_has_and_nobody_gets_its_seat() {
    let mut group = Group::start(1, 1, 1000);
    let seat = Seat::join(|party| group.dial_leader(party), "a", 1);
    group
        .dial_leader(Party::Operator)
        .wait(|frame| matches!(frame, Frame::Control(Control::Speaks { version: NEWEST })).then_some(()));
    let before = group.status().roster;
    group.stop(0);
    recover(&group.dir.path().join("0"), Waits::ForAll).unwrap();
    group.run(0, &[], &[]);
    let cluster = Some(seat.enrolled.cluster);
    // What the lost managers have taken after that.
    let said = group.dial_leader(Party::Newcomer).enrol(&enrolment("b", 2), cluster, None);
    let Control::Refused { why } = said else { panic!("it has a seat that nobody knows: {said:?}") };
    assert!(why.contains("fawn manager recover") && why.contains("Keep the old directory"), "{why}");
    assert!(!why.contains("empty"), "{why}");
    let later = Seat::join(|party| group.dial_leader(party), "c", 3);
    assert!(later.id.0 > seat.id.0 + 1000, "{:?}", later.id);
    assert!(group.status().roster.number > before.number + 1000);
}

#[test]
fn what_is_no_manager_cannot_be_recovered_and_what_runs_neither() {
    let dir = tempfile::tempdir().unwrap();
    assert!(recover(dir.path(), Waits::ForAll).unwrap_err().to_string().contains("no manager's log"));
    let _running = start(Options::new(dir.path())).unwrap();
    assert!(recover(dir.path(), Waits::ForAll).unwrap_err().to_string().contains("in use"));
}

#[test]
fn a_newcomer_that_has_gone_is_not_enrolled_later() {
    let mut group = Group::start(3, 3, 1000);
    let leader = group.leader();
    (0..3).filter(|place| *place != leader).for_each(|place| group.stop(place));
    let address = group.addresses[leader].clone();
    let mut operator = Caller::dial(&address, Party::Operator);
    until("nobody leads", || matches!(operator.ask(Question::Status), Answer::NotLeader { .. }));
    let mut newcomer = Caller::dial(&address, Party::Newcomer);
    newcomer.say(&Control::Enrol { who: enrolment("a", 1), cluster: None, secret: None });
    assert!(newcomer.hear(Duration::from_millis(200)).is_some(), "who leads, as far as is known");
    drop(newcomer);
    (0..3).filter(|place| *place != leader).for_each(|place| group.run(place, &[], &[]));
    Seat::join(|party| group.dial_leader(party), "b", 2);
    assert!(!group.status().roster.members.contains_key("a"));
}

#[test]
fn a_newcomer_that_asks_the_wrong_one_is_told_who_leads() {
    let group = Group::start(3, 3, 1000);
    let leader = group.leader();
    let other = Caller::dial(&group.addresses[(leader + 1) % 3], Party::Newcomer);
    let said = other.enrol(&enrolment("a", 1), None, None);
    assert!(matches!(said, Control::Leads { leader: Some(id), .. } if id == group.status().leader), "{said:?}");
}
