//! A manager in memory: the protocol's own, alone in its group and forgetful, over real connections.

use fawn_kv::ids::{Address, ClusterId, ManagerId, Rules, SeatId};
use fawn_kv::link::control::{Enrolled, Greeted};
use fawn_kv::link::{Control, Frame, Frames, Party, control, frame};
use fawn_kv::manager::roster::{Change, Roster};
use fawn_kv::manager::{Command, Effects, Leases, Manager, Settings};
use fawn_kv::status::SeatFigures;
use fawn_kv::timing::Timing;
use fawn_kv::wire::Message;
use fawn_kv::wire::version::NEWEST;
use fawn_ring::Secret;
use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub const CLUSTER: ClusterId = ClusterId([7; 16]);

enum Event {
    Frame(usize, Box<Frame>),
    Connected(usize, TcpStream),
    Gone(usize),
    /// A member is to leave.
    Command(Command),
}

/// What tests look at.
#[derive(Default)]
pub struct Seen {
    pub is_settled: bool,
    pub chains: Vec<Vec<u64>>,
    pub figures: BTreeMap<SeatId, SeatFigures>,
}

/// The manager; its threads end with the test.
pub struct Managers {
    pub address: String,
    pub seen: Arc<Mutex<Seen>>,
    events: Sender<Event>,
}

impl Managers {
    /// A manager of a cluster with so many replicas a chain, which begins with so many nodes.
    pub fn start(replicas: u32, first_nodes: u32, rules: Rules) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (events, inbox) = channel();
        let settings = Settings { replicas, first_nodes, rules, leases: Leases::default() };
        let manager = Manager::new(Timing::default(), settings, CLUSTER).unwrap().with_wedges(32);
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut roster = Roster::default();
        roster.apply(&Change::Manager { id: ManagerId(1), address: Some(address.clone()) });
        let secret = None;
        let driver =
            Driver { secret, manager, roster, links: BTreeMap::new(), begun: Instant::now(), seen: Arc::clone(&seen) };
        std::thread::spawn(move || driver.run(&inbox));
        let its_events = events.clone();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (stream, events) = (stream.unwrap(), its_events.clone());
                stream.set_nodelay(true).unwrap();
                events.send(Event::Connected(number, stream.try_clone().unwrap())).unwrap();
                std::thread::spawn(move || read(number, stream, &events));
            }
        });
        Self { address, seen, events }
    }

    pub fn command(&self, command: Command) {
        self.events.send(Event::Command(command)).unwrap();
    }
}

fn read(number: usize, mut stream: TcpStream, events: &Sender<Event>) {
    let (mut input, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        input.extend_from_slice(&buffer[..count]);
        while let Ok((frame, used)) = Frames::trusted().next(&input).unwrap() {
            input.drain(..used);
            if events.send(Event::Frame(number, Box::new(frame))).is_err() {
                return;
            }
        }
    }
    let _ = events.send(Event::Gone(number));
}

struct Link {
    stream: TcpStream,
    party: Option<Party>,
}

struct Driver {
    manager: Manager,
    /// Where keys lie: that of the first directory with any, or one of its own.
    secret: Option<Secret>,
    roster: Roster,
    links: BTreeMap<usize, Link>,
    begun: Instant,
    seen: Arc<Mutex<Seen>>,
}

impl Driver {
    fn now_us(&self) -> u64 {
        // Leaders wait for leases that others may have granted: there were none.
        self.begun.elapsed().as_micros() as u64 + 1
    }

    fn run(mut self, inbox: &Receiver<Event>) {
        self.manager.lead(self.now_us(), true);
        loop {
            let mut effects = Effects::default();
            match inbox.recv_timeout(Duration::from_millis(5)) {
                Ok(event) => self.handle(event, &mut effects),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.manager.tick(self.now_us(), &mut effects);
            self.carry_out(effects);
            let chains = self.manager.state().ranges.values();
            let mut seen = self.seen.lock().unwrap();
            seen.is_settled = self.manager.is_settled();
            seen.chains =
                chains.map(|range| range.chain.members.iter().map(|member| member.node.0).collect()).collect();
        }
    }

    fn handle(&mut self, event: Event, effects: &mut Effects) {
        let now_us = self.now_us();
        match event {
            Event::Connected(number, stream) => {
                self.links.insert(number, Link { stream, party: None });
            }
            Event::Gone(number) => {
                self.links.remove(&number);
            }
            Event::Command(command) => effects.propose.push(command),
            Event::Frame(number, frame) => match *frame {
                Frame::Control(control) => self.control(number, control),
                Frame::Message { from, message, .. } => {
                    assert!(message.may_come_from(from), "{from:?} says {message:?}");
                    self.manager.receive(now_us, message, effects);
                }
            },
        }
    }

    fn control(&mut self, number: usize, control: Control) {
        match control {
            Control::Greeting(greeting) => {
                assert_eq!(greeting.magic, control::MAGIC);
                self.links.get_mut(&number).unwrap().party = Some(greeting.from);
                let (version, from) = (NEWEST, Party::Manager(ManagerId(1)));
                let greeted = Greeted { version, cluster: Some(CLUSTER), from, you: greeting.from };
                self.say(number, &Control::Greeted(greeted));
                self.say(number, &Control::Leads { term: 1, leader: Some(ManagerId(1)) });
            }
            Control::AskRoster { known } if known < self.roster.number => {
                self.say(number, &Control::Roster(self.roster.clone()));
            }
            Control::Enrol { who, secret, .. } => {
                let secret = *self.secret.get_or_insert(secret.unwrap_or(Secret([9; 32])));
                if let Err(error) = self.roster.check(&who) {
                    return self.say(number, &Control::Refused { why: error.to_string() });
                }
                self.roster.apply(&Change::Enrol(who.clone()));
                let member = self.roster.members[&who.name].clone();
                let (cluster, roster) = (CLUSTER, self.roster.clone());
                let (first, machine, domain) = (member.first, member.machine, member.domain);
                let enrolled = Enrolled { cluster, secret, first, machine, domain, roster };
                self.say(number, &Control::Enrolled(enrolled));
                for number in self.links.keys().copied().collect::<Vec<_>>() {
                    self.say(number, &Control::Roster(self.roster.clone()));
                }
            }
            Control::Figures(figures) => {
                self.seen.lock().unwrap().figures.insert(figures.seat, figures);
            }
            _ => {}
        }
    }

    fn say(&mut self, number: usize, control: &Control) {
        let mut bytes = Vec::new();
        frame::put_control(&mut bytes, control);
        let _ = self.links.get_mut(&number).unwrap().stream.write_all(&bytes);
    }

    fn carry_out(&mut self, effects: Effects) {
        let mut todo = VecDeque::from([effects]);
        while let Some(Effects { send, propose, confirm }) = todo.pop_front() {
            for (to, message) in send {
                self.send(to, &message);
            }
            for command in propose {
                let mut effects = Effects::default();
                self.manager.committed(self.now_us(), &command, &mut effects);
                todo.push_back(effects);
            }
            for question in confirm {
                let mut effects = Effects::default();
                self.manager.confirmed(self.now_us(), question, &mut effects);
                todo.push_back(effects);
            }
        }
    }

    fn send(&mut self, to: Address, message: &Message) {
        let party = SeatId::of(to).map(Party::Seat);
        let Some(link) = self.links.values_mut().rev().find(|link| link.party.is_some() && link.party == party) else {
            return;
        };
        let mut bytes = Vec::new();
        frame::put_message(&mut bytes, to, Address::Manager, message);
        let _ = link.stream.write_all(&bytes);
    }
}
