//! A group of one.

use crate::caller::{Caller, LONG, Seat, enrolment, greeting, until};
use fawn_kv::ids::{Address, ClusterId, Incarnation, ManagerId, SeatId};
use fawn_kv::link::control::Enrolled;
use fawn_kv::link::{Control, Frame, Greeting, Party};
use fawn_kv::manager::roster::Enrolment;
use fawn_kv::manager::{Standing, Waits};
use fawn_kv::status::{Answer, NewSettings, Question, SeatDetails, SeatTotals};
use fawn_kv::wire::Message;
use fawn_kv::wire::version::{NEWEST, TOTALS};
use fawn_manager::{Backup, ManagerError, Options, Running, start};
use fawn_ring::Secret;
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;

pub fn listening(dir: &Path) -> Options {
    Options { listen: Some("127.0.0.1:0".to_owned()), ..Options::new(dir) }
}

fn address(running: &Running) -> String {
    running.address().unwrap().to_string()
}

fn dial(running: &Running, from: Party) -> Caller {
    Caller::dial(&address(running), from)
}

fn local(running: &Running, from: Party) -> Caller {
    Caller::call(running.connect().unwrap(), greeting(from)).unwrap()
}

fn refused(said: Control) -> String {
    match said {
        Control::Refused { why } => why,
        other => panic!("it is not refused: {other:?}"),
    }
}

fn enrolled(said: Control) -> Enrolled {
    match said {
        Control::Enrolled(enrolled) => enrolled,
        other => panic!("it is not enrolled: {other:?}"),
    }
}

#[test]
fn a_seat_is_enrolled_lives_and_has_a_lease() {
    let dir = tempfile::tempdir().unwrap();
    let manager = start(listening(dir.path())).unwrap();
    let mut seat = Seat::join(|party| dial(&manager, party), "a", 1);
    assert_eq!(seat.id, SeatId(1));
    let member = seat.live(77);
    assert_eq!(member.incarnation, Incarnation(1));
    assert_eq!(seat.lease(member.incarnation), 1_980_000);
    let status = dial(&manager, Party::Operator).status();
    assert_eq!((status.cluster, status.managers.len()), (Some(seat.enrolled.cluster), 1));
    assert_eq!(status.seats[0].incarnation, Some(Incarnation(1)));
    assert!(status.seats[0].heard_ms.is_some());
    let mut operator = dial(&manager, Party::Operator);
    until("there is a range for its place, and one at the top", || operator.status().ranges.len() == 2);
}

#[test]
fn what_is_decided_outlives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (before, member);
    {
        let manager = start(Options::new(dir.path())).unwrap();
        let mut seat = Seat::join(|party| local(&manager, party), "a", 1);
        (member, before) = (seat.live(77), seat.enrolled);
        manager.stop();
        manager.wait().unwrap();
    }
    let manager = start(Options::new(dir.path())).unwrap();
    let mut seat = Seat::join(|party| local(&manager, party), "a", 1);
    assert_eq!((&seat.enrolled.cluster, &seat.enrolled.secret), (&before.cluster, &before.secret));
    assert_eq!(seat.live(77), member, "the same start");
    assert_eq!(seat.live(78).incarnation, Incarnation(2), "another");
}

#[test]
fn a_directory_has_one_manager_at_a_time_and_no_one_else_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("manager");
    let _manager = start(Options::new(&path)).unwrap();
    let second = start(Options::new(&path)).unwrap_err();
    assert!(matches!(second, ManagerError::InUse(_)), "{second}");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&path.join("manager.log"))), (0o700, 0o600));
}

#[test]
fn a_directory_whose_manager_is_about_to_end_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let before = start(Options::new(dir.path())).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            drop(before);
        });
        assert!(start(Options::new(dir.path())).is_ok());
    });
}

/// Who is refused, and what the sentence says.
#[test]
fn who_cannot_be_a_member_is_told_why() {
    let dir = tempfile::tempdir().unwrap();
    let manager = start(Options::new(dir.path())).unwrap();
    let mut seat = Seat::join(|party| local(&manager, party), "a", 1);
    let life = seat.live(77);
    seat.lease(life.incarnation);
    let enrol = |who: &Enrolment, cluster, secret| local(&manager, Party::Newcomer).enrol(who, cluster, secret);
    let why = |who: &Enrolment, cluster, secret| refused(enrol(who, cluster, secret));
    let (a, b) = (enrolment("a", 1), enrolment("b", 2));
    let other = why(&b, Some(ClusterId([9; 16])), None);
    assert!(other.contains("the directory of b belongs to cluster 0909") && other.contains("are lost"), "{other}");
    assert!(why(&b, None, Some(Secret([9; 32]))).contains("made for another cluster, with another key order"));
    assert!(why(&Enrolment { virtual_ids: 0, ..b.clone() }, None, None).contains("from 1 to 1024 virtual IDs"));
    assert!(why(&Enrolment { virtual_ids: 1025, ..b.clone() }, None, None).contains("not 1025"));
    assert!(why(&enrolment("b", 1), None, None).contains("is already the address of a:"));
    let (cluster, secret) = (Some(seat.enrolled.cluster), Some(seat.enrolled.secret));
    let taken = why(&Enrolment { directory: a.directory, ..b.clone() }, cluster, secret);
    assert!(taken.contains("the directory of b belongs to the member a: start this process with --name a"), "{taken}");
    let gone = why(&b, cluster, secret);
    assert!(gone.contains("the directory of b belongs to a member that is no longer in this cluster"), "{gone}");
    let again = enrolled(enrol(&a, cluster, secret));
    assert_eq!(again.first, SeatId(1), "whoever is a member goes on as one");
    assert_eq!(enrolled(enrol(&b, None, None)).first, SeatId(2));
    let other = Enrolment { directory: [9; 16], ..b };
    assert!(not_yet(enrol(&other, None, None)).contains("another process was b until now"), "it was enrolled just now");
}

/// Why a newcomer is to ask again.
fn not_yet(said: Control) -> String {
    match said {
        Control::Answer { answer: Answer::Refused(why), .. } => why,
        other => panic!("it is not put off: {other:?}"),
    }
}

#[test]
fn a_member_with_another_directory_waits_while_the_one_before_may_live_and_comes_in_once_it_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let manager = start(Options::new(dir.path())).unwrap();
    let mut seat = Seat::join(|party| local(&manager, party), "a", 1);
    let life = seat.live(77);
    seat.lease(life.incarnation);
    let wiped = Enrolment { directory: [9; 16], ..enrolment("a", 1) };
    let comes = || local(&manager, Party::Newcomer).enrol(&wiped, None, None);
    assert!(not_yet(comes()).contains("another process was a until now"));
    drop(seat);
    until("it is let in", || match comes() {
        Control::Enrolled(enrolled) => enrolled.first == SeatId(1),
        other => not_yet(other).is_empty(),
    });
}

#[test]
fn a_second_process_with_the_name_of_one_that_lives_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let manager = start(Options::new(dir.path())).unwrap();
    let mut seat = Seat::join(|party| local(&manager, party), "a", 1);
    let life = seat.live(77);
    let second = Enrolment { directory: [9; 16], ..enrolment("a", 1) };
    until("it is refused", || {
        seat.lease(life.incarnation);
        match local(&manager, Party::Newcomer).enrol(&second, None, None) {
            Control::Refused { why } => {
                assert!(why.contains("a already runs, with another directory"), "{why}");
                true
            }
            other => {
                assert!(not_yet(other).contains("another process was a"));
                std::thread::sleep(std::time::Duration::from_millis(100));
                false
            }
        }
    });
}

#[test]
fn the_first_member_that_has_keys_says_where_they_lie() {
    let dir = tempfile::tempdir().unwrap();
    let manager = start(Options::new(dir.path())).unwrap();
    let enrol = |who: &Enrolment, secret| enrolled(local(&manager, Party::Newcomer).enrol(who, None, secret));
    let secret = Secret([7; 32]);
    assert_eq!(enrol(&enrolment("a", 1), Some(secret)).secret, secret);
    assert_eq!(enrol(&enrolment("b", 2), None).secret, secret);
}

#[test]
fn who_greets_wrongly_is_told_why() {
    let dir = tempfile::tempdir().unwrap();
    let manager = start(listening(dir.path())).unwrap();
    let mut seat = Seat::join(|party| dial(&manager, party), "a", 1);
    seat.live(1);
    let why = |greeting| {
        let stream = TcpStream::connect(address(&manager)).unwrap();
        Caller::call(stream, greeting).err().expect("it is refused")
    };
    let operator = greeting(Party::Operator);
    let version = fawn_kv::link::Greeting { lowest: 200, highest: 201, ..operator.clone() };
    assert!(why(version).contains("speaks 200 to 201"));
    let cluster = Some(ClusterId([9; 16]));
    assert!(why(fawn_kv::link::Greeting { cluster, ..operator.clone() }).contains("belongs to cluster 0909"));
    let to = Some(Party::Manager(ManagerId(1)));
    assert!(why(fawn_kv::link::Greeting { to, ..operator.clone() }).contains("the call was for manager 1"));
    assert!(why(greeting(Party::Seat(SeatId(9)))).contains("seat 9 belongs to no member"));
    assert!(why(fawn_kv::link::Greeting { magic: *b"FOWL", ..operator }).contains("not FAWN's"));
}

#[test]
fn nobody_speaks_for_another() {
    let dir = tempfile::tempdir().unwrap();
    let manager = start(Options::new(dir.path())).unwrap();
    let mut one = Seat::join(|party| local(&manager, party), "a", 1);
    let other = Seat::join(|party| local(&manager, party), "b", 2);
    let (node, machine) = (other.node(), other.enrolled.machine);
    let hello = Message::Hello { cluster: None, node, nonce: 5, machine, domain: None, virtual_ids: 1 };
    one.link.send(Address::Node(node), &hello);
    one.link.send(Address::Node(one.node()), &hello);
    one.live(6);
    let status = local(&manager, Party::Operator).status();
    assert_eq!(status.seats.iter().map(|seat| seat.incarnation.is_some()).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn the_roster_is_told_with_each_change() {
    let dir = tempfile::tempdir().unwrap();
    let manager = start(Options::new(dir.path())).unwrap();
    let mut listener = local(&manager, Party::Client(0));
    listener.say(&Control::AskRoster { known: 0 });
    Seat::join(|party| local(&manager, party), "a", 1);
    Seat::join(|party| local(&manager, party), "b", 2);
    listener.wait(|frame| match frame {
        Frame::Control(Control::Roster(roster)) if roster.members.len() == 2 => Some(()),
        _ => None,
    });
}

#[test]
fn operators_set_what_a_cluster_can_go_by() {
    let dir = tempfile::tempdir().unwrap();
    let manager = start(Options::new(dir.path())).unwrap();
    let mut operator = local(&manager, Party::Operator);
    operator.status();
    let set = |replicas, least| {
        let new = NewSettings { replicas: Some(replicas), min_write_replicas: Some(least), ..NewSettings::default() };
        Question::Set(new)
    };
    assert_eq!(operator.ask(set(2, 2)), Answer::Done);
    assert_eq!(operator.ask(set(2, 2)), Answer::Done, "nothing to do");
    let Answer::Refused(why) = operator.ask(set(2, 3)) else { panic!("none can go by it") };
    assert!(why.contains("min_write_replicas is 3"), "{why}");
    assert_eq!(operator.status().settings.replicas, 2);
}

#[test]
fn who_lives_is_not_removed_and_the_last_machine_is_not_drained() {
    let dir = tempfile::tempdir().unwrap();
    let manager = start(Options::new(dir.path())).unwrap();
    let mut seat = Seat::join(|party| local(&manager, party), "a", 1);
    let life = seat.live(1);
    seat.lease(life.incarnation);
    let mut operator = local(&manager, Party::Operator);
    let name = || "a".to_owned();
    let Answer::Refused(why) = operator.ask(Question::Drain { name: name(), leave: true }) else { panic!("the last") };
    assert!(why.contains("there are 0 machines that keep data, and writes need 1"), "{why}");
    let Answer::Refused(why) = operator.ask(Question::Remove { name: name(), force: false }) else {
        panic!("it lives")
    };
    assert!(why.contains("a still runs: stop it first"), "{why}");
    let mut other = Seat::join(|party| local(&manager, party), "b", 2);
    let life = other.live(1);
    other.lease(life.incarnation);
    assert_eq!(operator.ask(Question::Drain { name: name(), leave: true }), Answer::Done);
    let standing = |operator: &mut Caller| operator.status().seats[0].standing;
    assert_eq!(standing(&mut operator), Some(Standing::Draining));
    assert_eq!(operator.ask(Question::Drain { name: name(), leave: false }), Answer::Done);
    assert_eq!(standing(&mut operator), Some(Standing::Member));
    assert_eq!(operator.ask(Question::Remove { name: name(), force: true }), Answer::Done);
    let status = operator.status();
    assert_eq!(status.roster.members.keys().map(String::as_str).collect::<Vec<_>>(), ["b"]);
    while seat.link.hear(LONG).is_some() {}
    let stream = manager.connect().unwrap();
    let again = Caller::call(stream, greeting(Party::Seat(seat.id))).err().expect("it belongs to no member");
    assert!(again.contains("it was removed"), "{again}");
}

#[test]
fn nobody_comes_back_as_a_member_that_was_removed() {
    let dir = tempfile::tempdir().unwrap();
    let manager = start(Options::new(dir.path())).unwrap();
    let _seat = Seat::join(|party| local(&manager, party), "a", 1);
    let mut operator = local(&manager, Party::Operator);
    // Everybody speaks the newest version.
    let is_newest = |frame| matches!(frame, Frame::Control(Control::Speaks { version: NEWEST })).then_some(());
    operator.wait(is_newest);
    assert_eq!(operator.ask(Question::Remove { name: "a".to_owned(), force: true }), Answer::Done);
    assert_eq!(operator.ask(Question::Remove { name: "a".to_owned(), force: false }), Answer::Done, "it is");
    let cluster = operator.status().cluster;
    let comes = |name: &str, cluster| {
        let (link, who) = (local(&manager, Party::Newcomer), Enrolment { directory: [9; 16], ..enrolment(name, 1) });
        link.enrol(&who, cluster, None)
    };
    let refused = |control| match control {
        Control::Refused { why } => why,
        other => panic!("{other:?}"),
    };
    let why = refused(comes("a", None));
    assert!(why.contains("a was removed from this cluster") && why.contains("another --name"), "{why}");
    let why = refused(comes("b", cluster));
    assert!(why.contains("Keep the old directory"), "the directory of a member that is gone: {why}");
    assert!(matches!(comes("b", None), Control::Enrolled(_)));
    drop(operator);
    drop(manager);
    let manager = start(Options::new(dir.path())).unwrap();
    let (link, who) = (local(&manager, Party::Newcomer), enrolment("a", 2));
    assert!(refused(link.enrol(&who, None, None)).contains("a was removed"), "nor after a restart");
}

/// What is said of a seat beside a status, if it is.
fn details(operator: &mut Caller, seat: SeatId) -> Option<SeatDetails> {
    operator.say(&Control::Ask { number: 7, question: Question::Status });
    let mut details = None;
    operator.wait(|frame| match frame {
        Frame::Control(Control::Details(said)) => {
            details = said.get(&seat).copied();
            None
        }
        Frame::Control(Control::Answer { number: 7, answer: Answer::Status(_) }) => Some(()),
        _ => None,
    });
    details
}

#[test]
fn what_adds_up_and_who_was_stopped_is_told_to_operators_that_know_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let manager = start(Options::new(dir.path())).unwrap();
    let mut seat = Seat::join(|party| local(&manager, party), "a", 1);
    let (member, cluster, id) = (seat.live(1), seat.enrolled.cluster, seat.id);
    seat.lease(member.incarnation);
    let mut operator = local(&manager, Party::Operator);
    operator.status();
    let totals = |operations| SeatTotals { operations, tail_items: 70, tail_bytes: 7000, device: 9 };
    for operations in [1000, 5000] {
        seat.link.say(&Control::Totals { seat: id, totals: totals(operations) });
        until("it is told", || details(&mut operator, id).is_some_and(|told| told.totals == Some(totals(operations))));
    }
    let told = details(&mut operator, id).unwrap();
    assert!(told.operations_per_s.is_some_and(|rate| rate > 0) && !told.is_stopped, "{told:?}");
    // Nobody speaks for another.
    seat.link.say(&Control::Totals { seat: SeatId(id.0 + 1), totals: totals(9) });
    seat.link.send(Address::Node(member.node), &Message::Farewell { cluster, member });
    until("it has stopped", || details(&mut operator, id).is_some_and(|told| told.is_stopped));
    assert_eq!(details(&mut operator, SeatId(id.0 + 1)), None);
    let older = Greeting { highest: TOTALS - 1, ..greeting(Party::Operator) };
    let mut older = Caller::call(manager.connect().unwrap(), older).unwrap();
    assert_eq!(details(&mut older, id), None, "it could not read them");
    // The next life begins: it has not stopped any more.
    seat.live(2);
    until("it has restarted", || details(&mut operator, id).is_some_and(|told| !told.is_stopped));
}

#[test]
fn a_newcomer_is_told_no_roster_and_does_not_stay() {
    let dir = tempfile::tempdir().unwrap();
    let manager = start(Options::new(dir.path())).unwrap();
    let _seat = Seat::join(|party| local(&manager, party), "a", 1);
    let (mut newcomer, end) = (local(&manager, Party::Newcomer), Instant::now() + LONG);
    newcomer.say(&Control::AskRoster { known: 0 });
    while let Some(frame) = newcomer.hear(end.saturating_duration_since(Instant::now())) {
        assert!(!matches!(frame, Frame::Control(Control::Roster(_))), "{frame:?}");
    }
    assert!(Instant::now() < end, "it is hung up on, although it is told that the manager lives");
}

#[test]
fn beyond_the_loopback_nobody_listens_without_protection() {
    let dir = tempfile::tempdir().unwrap();
    let open = Options { listen: Some("0.0.0.0:0".to_owned()), ..Options::new(dir.path()) };
    let refused = start(open.clone()).unwrap_err().to_string();
    assert!(refused.contains("--insecure"), "{refused}");
    start(Options { insecure: true, ..open }).unwrap();
}

/// The manager goes on from a backup, with another number: nobody gets a seat twice, and whoever was a member is one.
#[test]
fn a_cluster_goes_on_from_a_backup_after_its_managers_are_lost() {
    let parent = tempfile::tempdir().unwrap();
    let (lost, new) = (parent.path().join("lost"), parent.path().join("new"));
    let manager = start(listening(&lost)).unwrap();
    let mut seat = Seat::join(|party| dial(&manager, party), "a", 1);
    let life = seat.live(77);
    let mut operator = dial(&manager, Party::Operator);
    let before = operator.status();
    let set = NewSettings { replicas: Some(2), ..NewSettings::default() };
    assert_eq!(operator.ask(Question::Set(set)), Answer::Done);
    let Answer::Backup(bytes) = operator.ask(Question::Backup) else { panic!("it is asked for a backup") };
    drop((operator, seat, manager));
    let backup = Backup::decode(&bytes).unwrap();
    assert_eq!((Some(backup.cluster), &backup.members[..]), (before.cluster, &["a".to_owned()][..]));
    let id = backup.restore(&new, Waits::ForAll).unwrap();
    let again = backup.restore(&new, Waits::ForAll).unwrap_err().to_string();
    assert!(again.contains("restore into an empty directory"), "{again}");
    let manager = start(listening(&new)).unwrap();
    let after = dial(&manager, Party::Operator).status();
    assert_eq!((after.cluster, after.settings.replicas, after.leader), (before.cluster, 2, ManagerId(id)));
    assert_ne!(after.leader, before.leader, "nobody has the votes of the one that is lost");
    let mut seat = Seat::join(|party| dial(&manager, party), "a", 1);
    assert_eq!(seat.id, SeatId(1));
    assert!(seat.live(77).incarnation > life.incarnation, "numbers that may have been given since are skipped");
    until("the roster says where it is", || {
        let managers = dial(&manager, Party::Operator).status().roster.managers;
        managers.into_iter().eq([(ManagerId(id), address(&manager))])
    });
}

#[test]
fn a_backup_that_was_changed_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let manager = start(Options::new(dir.path())).unwrap();
    let mut operator = local(&manager, Party::Operator);
    operator.status();
    let Answer::Backup(bytes) = operator.ask(Question::Backup) else { panic!("it is asked for a backup") };
    for at in (0..bytes.len() * 8).step_by(7) {
        let mut bytes = bytes.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        assert!(Backup::decode(&bytes).is_err(), "bit {at}");
    }
    assert!(Backup::decode(&bytes[..bytes.len() - 1]).is_err());
    assert!(Backup::decode(b"{}").unwrap_err().to_string().contains("not a manager's backup"));
}

#[test]
fn a_sole_manager_that_is_reached_elsewhere_says_so_in_the_roster() {
    let dir = tempfile::tempdir().unwrap();
    let at = |manager: &Running| dial(manager, Party::Operator).status().roster.managers;
    let before = start(listening(dir.path())).unwrap();
    until("it is where it listens", || at(&before).into_values().eq([address(&before)]));
    let was = address(&before);
    drop(before);
    // Another process has the port meanwhile.
    let _taken = std::net::TcpListener::bind(&was).unwrap();
    let after = start(listening(dir.path())).unwrap();
    assert_ne!(address(&after), was);
    until("it is where it listens now", || at(&after).into_values().eq([address(&after)]));
    drop(after);
    let anywhere = Options { listen: Some("0.0.0.0:0".to_owned()), insecure: true, ..Options::new(dir.path()) };
    let anywhere = start(anywhere).unwrap();
    let port = anywhere.address().unwrap().port();
    let status = || Caller::dial(&format!("127.0.0.1:{port}"), Party::Operator).status();
    until("nobody is told to call 0.0.0.0", || status().roster.managers.is_empty());
}
