//! What a status says of members that are there and of those that are not.

use fawn_kv::ids::{
    Attempt, Chain, ClusterId, Epoch, Incarnation, ManagerId, Member as Replica, NodeId, Position, RangeId, Rules, Seq,
};
use fawn_kv::manager::roster::{Change, Enrolment, NodeClass, Roster};
use fawn_kv::manager::{Leases, Settings};
use fawn_kv::status::{RangeFigures, SeatDetails};

use super::*;

/// A level cluster of members n1 and so on, of one seat each, whose ranges all have as many replicas.
pub fn status(members: u32) -> Status {
    let mut roster = Roster::default();
    for number in 1..=members {
        roster.apply(&Change::Enrol(enrolment(number)));
    }
    let figures = |seat| SeatFigures {
        seat,
        lease_ms: 1900,
        items: 25_003,
        live_bytes: 1 << 20,
        free_bytes: 1 << 30,
        ranges: vec![figures_of(RangeId(1))],
        links: vec![LinkFigures { to: SeatId(1), is_up: true, waiting_bytes: 0, dropped: 0 }],
        ..SeatFigures::default()
    };
    let seats = (1..=members).map(SeatId).map(|seat| SeatStatus {
        seat,
        incarnation: Some(Incarnation(1)),
        standing: Some(Standing::Member),
        heard_ms: Some(100),
        figures: Some(figures(seat)),
    });
    let chain: Vec<Replica> =
        (1..=members).map(|number| Replica { node: NodeId(number.into()), incarnation: Incarnation(1) }).collect();
    let rules = Rules { min_write_replicas: 1, ..Rules::default() };
    let manager =
        |id| ManagerStatus { id: ManagerId(id), address: format!("10.0.0.{id}:7400"), is_voter: true, lag: Some(0) };
    let mut status = Status {
        cluster: Some(ClusterId([7; 16])),
        leader: ManagerId(1),
        term: 3,
        managers: vec![manager(1), manager(2)],
        settings: Settings { replicas: members, first_nodes: 1, rules, leases: Leases::default() },
        roster,
        seats: seats.collect(),
        ranges: Vec::new(),
        wedges: Vec::new(),
        is_settled: true,
        version: None,
        details: BTreeMap::new(),
    };
    status.ranges = vec![range(chain)];
    status
}

/// The status of a seat.
pub fn seat(status: &mut Status, number: u32) -> &mut SeatStatus {
    status.seats.iter_mut().find(|seat| seat.seat == SeatId(number)).unwrap()
}

fn enrolment(number: u32) -> Enrolment {
    Enrolment {
        name: format!("n{number}"),
        directory: [number as u8; 16],
        address: format!("10.0.0.{number}:7401"),
        clients: None,
        node: NodeClass::Serving,
        is_front: true,
        seats: 1,
        machine: format!("m{number}"),
        domain: None,
        virtual_ids: 4,
        release: "1".to_owned(),
    }
}

/// What an active member says of a range.
fn figures_of(range: RangeId) -> RangeFigures {
    RangeFigures {
        range,
        keys: Interval::ALL,
        epoch: Epoch(1),
        role: Role::Mid,
        last: Position::default(),
        committed: Position::default(),
        synced: Seq(0),
        copy: None,
    }
}

fn range(members: Vec<Replica>) -> RangeStatus {
    let chain = Chain { members, epoch: Epoch(1), ..Chain::none(Interval::ALL) };
    RangeStatus { range: RangeId(1), chain, learner: None, attempt: Attempt(1), is_changing: false }
}

/// The line of a member in the table, cut at blanks.
fn row(text: &str, name: &str) -> Vec<String> {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(name));
    let line = line.unwrap_or_else(|| panic!("{name} has a line in\n{text}"));
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
}

fn lacking(status: &Status) -> Vec<String> {
    lacks(status, &status.unserved())
}

fn checked(status: &Status) -> (String, bool) {
    check(status, &status.unserved())
}

fn shown(status: &Status) -> String {
    text(status, &status.unserved(), &Rates::new(), false)
}

fn stop(status: &mut Status, number: u32) {
    status.details.insert(SeatId(number), SeatDetails { is_stopped: true, ..SeatDetails::default() });
    seat(status, number).heard_ms = Some(60_000);
}

#[test]
fn what_a_dead_member_said_last_is_not_shown_as_of_now() {
    let mut status = status(3);
    let before = row(&shown(&status), "n3");
    assert_eq!(
        before[1..],
        ["up", "10.0.0.3:7401", "0/0/1", "0", "-", "1900 ms", "0", "1 MiB", "1 GiB", "~25,003", "1/1"]
    );
    seat(&mut status, 3).heard_ms = Some(12_400);
    // Trouble of one that is dead is none any more.
    seat(&mut status, 3).figures.as_mut().unwrap().trouble = Some("it is ill".to_owned());
    let told = shown(&status);
    assert_eq!(
        row(&told, "n3")[1..],
        ["silent 12 s", "10.0.0.3:7401", "0/0/1", "-", "-", "-", "-", "-", "-", "-", "-"]
    );
    assert!(!told.contains("it is ill"), "{told}");
    let json = json(&status, &status.unserved(), &Rates::new());
    assert_eq!((&json["members"][1]["lag"], &json["members"][2]["lag"]), (&0.into(), &Value::Null));
    assert_eq!(json["members"][2]["seats"][0]["figures"], Value::Null);
    assert_eq!(json["members"][1]["seats"][0]["figures"]["items"], 25_003);
}

#[test]
fn one_that_was_stopped_in_good_order_is_not_silent() {
    let mut status = status(3);
    stop(&mut status, 3);
    assert_eq!(row(&shown(&status), "n3")[1], "stopped");
    assert!(lacking(&status).contains(&"n3 is stopped".to_owned()), "{:?}", lacking(&status));
    seat(&mut status, 3).standing = Some(Standing::Draining);
    status.ranges[0].chain.members.pop();
    status.settings.replicas = 2;
    assert_eq!(row(&shown(&status), "n3")[1], "drained, stopped");
    assert_eq!(lacking(&status), [""; 0], "it was to leave");
}

#[test]
fn with_how_few_copies_writes_go_on_is_said() {
    let mut status = status(3);
    assert_eq!(checked(&status), ("ok: 3 members, 1 range with 3 replicas\n".to_owned(), true));
    status.ranges[0].chain.members.truncate(1);
    stop(&mut status, 2);
    seat(&mut status, 3).heard_ms = Some(9000);
    let (line, is_well) = checked(&status);
    assert_eq!(
        line,
        "not ok: n2 is stopped; n3 is silent 9 s; 1 of 1 ranges have fewer than 3 replicas; writes continue with 1 \
        copy of 3\n"
    );
    assert!(!is_well);
    assert!(shown(&status).contains("writes continue with 1 copy of 3"));
    status.settings.rules.min_write_replicas = 2;
    let (line, _) = checked(&status);
    assert!(
        line.contains("1 of 1 ranges refuse writes, which need 2 replicas") && !line.contains("writes continue"),
        "{line}"
    );
}

#[test]
fn managers_go_by_their_addresses() {
    let mut status = status(1);
    status.managers[1].lag = None;
    assert_eq!(checked(&status).0, "not ok: the manager at 10.0.0.2:7400 does not respond\n");
    let told = shown(&status);
    assert_eq!(row(&told, "10.0.0.1:7400"), ["10.0.0.1:7400", "leader, term 3", "0 entries", "1"]);
}

#[test]
fn the_columns_are_explained() {
    let told = shown(&status(1));
    for column in ["LAG", "COPIES", "LEASE", "WEDGES", "LIVE", "FREE", "ITEMS", "LINKS", "HEAD/MID/TAIL"] {
        assert!(told.contains(&format!("{column}: ")), "{column} is explained in\n{told}");
    }
}

#[test]
fn the_rate_of_a_seats_copies_is_what_came_since() {
    let (one, other) = (SeatId(1), SeatId(2));
    let before = BTreeMap::from([((one, 1), 1000), ((one, 2), 5000), ((one, 3), 9000)]);
    let now = [((one, 1), 3000), ((one, 2), 400), ((other, 1), 600)];
    let rates = rates(&before, now.into_iter(), 2.0);
    assert_eq!(rates, Rates::from([(one, 1000 + 200), (other, 300)]), "one that begins anew, and one that is new");
}

#[test]
fn writes_do_not_go_on_where_nobody_serves() {
    let mut status = status(3);
    status.ranges[0].chain.members.truncate(1);
    stop(&mut status, 1);
    let (line, is_well) = checked(&status);
    assert!(!is_well && !line.contains("writes continue"), "{line}");
    let step = "1 of 1 ranges is out of service: start n1 with its latest data directory, or stop the nodes";
    assert!(line.contains(step), "{line}");
    // All are there, in other lives: their directories were emptied.
    let mut status = super::tests::status(3);
    (1..=3).for_each(|number| seat(&mut status, number).incarnation = Some(Incarnation(2)));
    let (line, is_well) = checked(&status);
    assert!(!is_well && line.starts_with("not ok: 1 of 1 ranges is out of service: start n1, n2, n3 "), "{line}");
    assert!(shown(&status).contains("is out of service"));
    assert_eq!(json(&status, &status.unserved(), &Rates::new())["ranges"][0]["served"], false);
    // One that has trouble, such as a full disk, serves all the same.
    let mut status = super::tests::status(1);
    seat(&mut status, 1).figures.as_mut().unwrap().trouble = Some("its disk is full".to_owned());
    assert_eq!(checked(&status).0, "not ok: n1 has trouble; n1: its disk is full\n");
    let told = |status: &Status| json(status, &status.unserved(), &Rates::new());
    assert_eq!(told(&status)["healthy"], false);
    assert_eq!(told(&status)["lacks"], serde_json::json!(["n1 has trouble", "n1: its disk is full"]));
    seat(&mut status, 1).figures.as_mut().unwrap().trouble = None;
    assert_eq!((&told(&status)["healthy"], told(&status)["lacks"].to_string()), (&true.into(), "[]".to_owned()));
}

#[test]
fn links_to_members_that_were_removed_do_not_count() {
    let mut status = status(1);
    assert_eq!(checked(&status).0, "ok: 1 member, 1 range with 1 replica\n");
    let gone = LinkFigures { to: SeatId(9), is_up: false, waiting_bytes: 0, dropped: 4 };
    seat(&mut status, 1).figures.as_mut().unwrap().links.push(gone);
    assert_eq!(row(&shown(&status), "n1").last().map(String::as_str), Some("1/1"));
    status.settings.rules.min_write_replicas = 0;
    assert!(shown(&status).contains("writes need 1,"), "a write needs one replica");
}
