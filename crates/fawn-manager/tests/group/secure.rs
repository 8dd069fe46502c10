//! Links with certificates.

use crate::caller::{Bytes, Caller, LONG, Seat, greeting, until};
use crate::three::addresses;
use fawn_kv::ids::SeatId;
use fawn_kv::link::{Greeting, Party};
use fawn_kv::status::{Answer, Question};
use fawn_manager::{Operator, OperatorError, Options, Tls, start};
use fawn_tls::certificate::now;
use fawn_tls::directory::{Applicant, init};
use fawn_tls::{Material, Role, server_name_for};
use std::collections::BTreeSet;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;
use tokio_rustls::rustls::{ClientConnection, StreamOwned};

fn certificates(dir: &Path) {
    let wanted =
        |name: &str, role| Applicant { name: name.to_owned(), roles: BTreeSet::from([role]), hosts: BTreeSet::new() };
    let member = Role::Member("a".to_owned());
    let all = [wanted("manager", Role::Manager), wanted("operator", Role::Operator), wanted("a", member)];
    init(dir, &all, 90, now()).unwrap();
}

fn operator(certs: &Path, name: &str, addresses: &[String], time: Duration) -> Operator {
    let tls = Tls::of(&Material::in_dir(certs, name)).unwrap();
    Operator::new(addresses.to_vec(), Some(tls), time)
}

#[test]
fn managers_find_each_other_and_operators_ask_with_certificates_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (certs, other) = (dir.path().join("certs"), dir.path().join("other"));
    certificates(&certs);
    certificates(&other);
    let addresses = addresses(2);
    let start_one = |place: usize| {
        start(Options {
            listen: Some(addresses[place].clone()),
            peers: addresses.clone(),
            tls: Some(Material::in_dir(&certs, "manager")),
            ..Options::new(&dir.path().join(place.to_string()))
        })
    };
    let _running = [start_one(0).unwrap(), start_one(1).unwrap()];
    let asks = operator(&certs, "operator", &addresses, LONG);
    until("two are in the group", || match asks.ask(&Question::Status).unwrap() {
        Answer::Status(status) => status.managers.iter().filter(|one| one.is_voter).count() == 2,
        _ => false,
    });
    let refused = |operator: Operator| match operator.ask(&Question::Status).unwrap_err() {
        OperatorError::NoAnswer { last, .. } => last,
        other => panic!("{other}"),
    };
    let short = Duration::from_millis(500);
    let member = refused(operator(&certs, "a", &addresses, short));
    assert!(member.contains("the certificate of the other side is not for an operator"), "{member}");
    let stranger = refused(operator(&other, "operator", &addresses, short));
    assert!(stranger.contains("certificate"), "{stranger}");
    let bare = refused(Operator::new(addresses.clone(), None, short));
    assert!(!bare.is_empty(), "nobody answers who is not greeted with a certificate");
}

impl Bytes for StreamOwned<ClientConnection, TcpStream> {
    fn wait_for_bytes(&self, time: Duration) {
        self.sock.set_read_timeout(Some(time)).unwrap();
    }
}

#[test]
fn a_caller_is_taken_by_way_of_another_manager_for_whom_its_certificate_shows() {
    let dir = tempfile::tempdir().unwrap();
    let certs = dir.path().join("certs");
    certificates(&certs);
    let addresses = addresses(2);
    let start_one = |place: usize| {
        start(Options {
            listen: Some(addresses[place].clone()),
            peers: addresses.clone(),
            tls: Some(Material::in_dir(&certs, "manager")),
            ..Options::new(&dir.path().join(place.to_string()))
        })
    };
    let running = [start_one(0).unwrap(), start_one(1).unwrap()];
    let asks = operator(&certs, "operator", &addresses, LONG);
    let mut leader = None;
    until("two are in the group", || match asks.ask(&Question::Status).unwrap() {
        Answer::Status(status) => {
            leader = Some(status.leader);
            status.managers.iter().filter(|one| one.is_voter).count() == 2
        }
        _ => false,
    });
    let leader = leader.unwrap();
    let way = &addresses[usize::from(running[0].id() == leader)];
    let call = |name: &str, party| {
        let client = fawn_tls::links(&Material::in_dir(&certs, name)).unwrap().client;
        let session = ClientConnection::new(client, server_name_for(&Role::Manager).unwrap()).unwrap();
        let greeting = Greeting { to: Some(Party::Manager(leader)), ..greeting(party) };
        Caller::call(StreamOwned::new(session, TcpStream::connect(way).unwrap()), greeting)
    };
    let mut seat = Seat::join(|party| call("a", party).unwrap(), "a", 1);
    let member = seat.live(7);
    seat.lease(member.incarnation);
    call("operator", Party::Operator).unwrap().status();
    let own = Party::Seat(seat.id);
    for (name, party) in [("a", Party::Operator), ("operator", own), ("operator", Party::Newcomer)] {
        let why = call(name, party).err().expect("it is somebody else");
        assert!(why.contains("the certificate of the other side is not for"), "{name} as {party}: {why}");
    }
}

#[test]
fn whoever_calls_as_a_seat_of_nobody_hears_that_and_nothing_of_certificates() {
    let dir = tempfile::tempdir().unwrap();
    let certs = dir.path().join("certs");
    certificates(&certs);
    let [address] = &addresses(1)[..] else { panic!("one was asked for") };
    let tls = Some(Material::in_dir(&certs, "manager"));
    let _manager = start(Options { listen: Some(address.clone()), tls, ..Options::new(dir.path()) }).unwrap();
    let call = |party| {
        let client = fawn_tls::links(&Material::in_dir(&certs, "a")).unwrap().client;
        let session = ClientConnection::new(client, server_name_for(&Role::Manager).unwrap()).unwrap();
        Caller::call(StreamOwned::new(session, TcpStream::connect(address).unwrap()), greeting(party))
    };
    let why = |seat| call(Party::Seat(seat)).err().expect("it is in no member");
    let early = why(SeatId(9));
    assert!(early.contains("that this manager knows"), "{early}");
    let seat = Seat::join(|party| call(party).unwrap(), "a", 1);
    let remove = Question::Remove { name: "a".to_owned(), force: true };
    let asks = operator(&certs, "operator", std::slice::from_ref(address), LONG);
    assert_eq!(asks.ask(&remove).unwrap(), Answer::Done);
    let removed = why(seat.id);
    assert!(removed.contains("it was removed"), "{removed}");
}
