//! One end of a link to a manager, and a node that has no data.

use fawn_kv::ids::{Address, ClusterId, Incarnation, Member, NodeId, SeatId};
use fawn_kv::link::control::MAGIC;
use fawn_kv::link::frame::{put_control, put_message};
use fawn_kv::link::{Control, Frame, Frames, Greeted, Greeting, Lane, Party};
use fawn_kv::manager::roster::{Enrolment, NodeClass};
use fawn_kv::status::{Answer, Question, Status};
use fawn_kv::wire::Message;
use fawn_kv::wire::version::{NEWEST, OLDEST};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Nothing that a test waits for takes longer.
pub const LONG: Duration = Duration::from_secs(20);

pub trait Bytes: Read + Write {
    fn wait_for_bytes(&self, time: Duration);
}

impl Bytes for TcpStream {
    fn wait_for_bytes(&self, time: Duration) {
        self.set_read_timeout(Some(time)).unwrap();
    }
}

impl Bytes for UnixStream {
    fn wait_for_bytes(&self, time: Duration) {
        self.set_read_timeout(Some(time)).unwrap();
    }
}

/// One end of a link.
pub struct Caller {
    stream: Box<dyn Bytes>,
    buffer: Vec<u8>,
    pub greeted: Option<Greeted>,
}

pub fn greeting(from: Party) -> Greeting {
    let (magic, lane) = (MAGIC, Lane::Chain);
    Greeting { magic, lowest: OLDEST, highest: NEWEST, cluster: None, from, to: None, lane }
}

impl Caller {
    /// Calls, and is greeted; `Err`: why it is refused.
    pub fn call(stream: impl Bytes + 'static, greeting: Greeting) -> Result<Self, String> {
        let mut caller = Self { stream: Box::new(stream), buffer: Vec::new(), greeted: None };
        caller.say(&Control::Greeting(greeting));
        match caller.control() {
            Control::Greeted(greeted) => {
                caller.greeted = Some(greeted);
                Ok(caller)
            }
            Control::Refused { why } => Err(why),
            other => panic!("no answer to a greeting: {other:?}"),
        }
    }

    pub fn dial(address: &str, from: Party) -> Self {
        Self::call(TcpStream::connect(address).unwrap(), greeting(from)).unwrap()
    }

    pub fn say(&mut self, control: &Control) {
        let mut frame = Vec::new();
        put_control(&mut frame, control);
        self.stream.write_all(&frame).unwrap();
    }

    pub fn send(&mut self, from: Address, message: &Message) {
        let mut frame = Vec::new();
        put_message(&mut frame, Address::Manager, from, message);
        self.stream.write_all(&frame).unwrap();
    }

    /// The next frame, if one comes in this time.
    pub fn hear(&mut self, time: Duration) -> Option<Frame> {
        let until = Instant::now() + time;
        loop {
            if let Ok((frame, used)) = Frames::trusted().next(&self.buffer).unwrap() {
                self.buffer.drain(..used);
                return Some(frame);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            self.stream.wait_for_bytes(left);
            let mut bytes = [0; 8192];
            match self.stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(count) => self.buffer.extend_from_slice(&bytes[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Waits until the other end has hung up.
    pub fn wait_for_end(&mut self) {
        let until = Instant::now() + LONG;
        while self.hear(LONG).is_some() {}
        assert!(Instant::now() < until, "it does not hang up");
    }

    /// What is said next that is no message and tells something.
    pub fn control(&mut self) -> Control {
        let until = Instant::now() + LONG;
        while Instant::now() < until {
            match self.hear(LONG) {
                Some(Frame::Control(Control::Alive) | Frame::Message { .. }) => {}
                Some(Frame::Control(control)) => return control,
                None => panic!("nothing is said"),
            }
        }
        panic!("nothing is said")
    }

    /// The first of what is said that `wanted` takes.
    pub fn wait<T>(&mut self, mut wanted: impl FnMut(Frame) -> Option<T>) -> T {
        let until = Instant::now() + LONG;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let frame = self.hear(left).expect("what is waited for comes");
            if let Some(found) = wanted(frame) {
                return found;
            }
        }
    }

    pub fn ask(&mut self, question: Question) -> Answer {
        self.say(&Control::Ask { number: 7, question });
        self.wait(|frame| match frame {
            Frame::Control(Control::Answer { number: 7, answer }) => Some(answer),
            _ => None,
        })
    }

    /// The status, once this one leads.
    pub fn status(&mut self) -> Status {
        let until = Instant::now() + LONG;
        while Instant::now() < until {
            if let Answer::Status(status) = self.ask(Question::Status) {
                return *status;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not lead")
    }

    /// Asks to be a member; the answer, which is a `Leads` where another is to be asked, and an `Answer` where it is too early.
    pub fn enrol(mut self, who: &Enrolment, cluster: Option<ClusterId>, secret: Option<fawn_ring::Secret>) -> Control {
        self.say(&Control::Enrol { who: who.clone(), cluster, secret });
        let mut last = None;
        while let Some(frame) = self.hear(LONG) {
            match frame {
                Frame::Control(said @ (Control::Enrolled(_) | Control::Refused { .. } | Control::Answer { .. })) => {
                    return said;
                }
                Frame::Control(said @ Control::Leads { .. }) => last = Some(said),
                _ => {}
            }
        }
        last.expect("it says something")
    }
}

/// Waits until something is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "not so: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn enrolment(name: &str, port: u16) -> Enrolment {
    Enrolment {
        name: name.to_owned(),
        directory: [port as u8; 16],
        address: format!("127.0.0.1:{port}"),
        clients: None,
        node: NodeClass::Serving,
        is_front: true,
        seats: 1,
        machine: name.to_owned(),
        domain: None,
        virtual_ids: 1,
        release: "0.1.0".to_owned(),
    }
}

/// A seat whose node says hello and keeps a life.
pub struct Seat {
    pub link: Caller,
    pub id: SeatId,
    pub enrolled: fawn_kv::link::control::Enrolled,
}

impl Seat {
    /// Enrols and calls.
    pub fn join(mut dial: impl FnMut(Party) -> Caller, name: &str, port: u16) -> Self {
        let Control::Enrolled(enrolled) = dial(Party::Newcomer).enrol(&enrolment(name, port), None, None) else {
            panic!("{name} is refused")
        };
        Self { link: dial(Party::Seat(enrolled.first)), id: enrolled.first, enrolled }
    }

    pub fn node(&self) -> NodeId {
        NodeId(u64::from(self.id.0))
    }

    /// Says hello until it has a life.
    pub fn live(&mut self, nonce: u64) -> Member {
        let (node, machine) = (self.node(), self.enrolled.machine);
        let hello = Message::Hello { cluster: None, node, nonce, machine, domain: None, virtual_ids: 1 };
        let until = Instant::now() + LONG;
        while Instant::now() < until {
            self.link.send(Address::Node(node), &hello);
            let until = Instant::now() + Duration::from_millis(200);
            while let Some(frame) = self.link.hear(until.saturating_duration_since(Instant::now())) {
                if let Frame::Message { message: Message::Welcome { incarnation, nonce: of, .. }, .. } = frame
                    && of == nonce
                {
                    return Member { node, incarnation };
                }
            }
        }
        panic!("no life")
    }

    /// Asks for a lease until it has one.
    pub fn lease(&mut self, incarnation: Incarnation) -> u64 {
        let (node, cluster) = (self.node(), self.enrolled.cluster);
        let member = Member { node, incarnation };
        for nonce in 1..100 {
            let (reports, silent) = (Vec::new(), Vec::new());
            let beat = Message::Heartbeat { cluster, member, nonce, reports, silent };
            self.link.send(Address::Node(node), &beat);
            let until = Instant::now() + Duration::from_millis(200);
            while let Some(frame) = self.link.hear(until.saturating_duration_since(Instant::now())) {
                if let Frame::Message { message: Message::Lease { lease_us, .. }, .. } = frame {
                    return lease_us;
                }
            }
        }
        panic!("no lease")
    }
}
