//! The task that owns a client's connections: requests in, answers out. Whom to ask, and when again, `fawn_kv::client` decides.

use crate::dump::{DumpStart, Dumps};
use crate::links::{Dialler, LinkEvent, LinkHandle, LinkId, Whom};
use crate::lookout::Lookout;
use fawn_kv::client::{Client as Machine, Limits, RequestOutcome, Want, set_asker};
use fawn_kv::ids::{Address, ClusterId, FrontId, NodeId, SeatId};
use fawn_kv::link::{Control, Frame, Party, frame};
use fawn_kv::timing::Now;
use fawn_kv::wire::Message;
use fawn_kv::wire::version::{CONTINUATIONS, NEWEST};
use fawn_ring::Secret;
use rustix::rand::{GetRandomFlags, getrandom};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{Notify, OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

/// Events that wait for the driver, at most: then connections are not read.
const MOST_EVENTS: usize = 64;

/// Requests that are taken on in one turn.
const REQUESTS_A_TURN: usize = 1024;

/// While it connects, the driver looks so often what is to be done.
const LOOK: Duration = Duration::from_millis(50);

/// What the driver is asked for.
#[derive(Debug)]
pub(crate) enum DriverTask {
    /// Something of a key.
    Request(DriverRequest),
    /// All that there is.
    Dump(DumpStart),
}

/// Something that is asked.
#[derive(Debug)]
pub(crate) struct DriverRequest {
    pub(crate) key: Vec<u8>,
    pub(crate) want: Want,
    pub(crate) deadline: Instant,
    pub(crate) done: oneshot::Sender<RequestOutcome>,
    /// What it takes of what is allowed to be under way.
    pub(crate) room: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

/// A connection to a seat.
#[derive(Debug)]
struct SeatConnection {
    link: LinkHandle,
    /// What it calls this client, and the version that is spoken; `None`: it has yet to say.
    me: Option<(u32, u8)>,
    /// Until then.
    held: Vec<(Address, Message)>,
    output: Vec<u8>,
}

impl SeatConnection {
    /// Says something; whether the other side can read it.
    fn put(&mut self, to: Address, mut message: Message) -> bool {
        let Some((me, version)) = self.me else {
            self.held.push((to, message));
            return true;
        };
        if let Message::Ask { continuation, .. } = &mut message
            && version < CONTINUATIONS
        {
            // It is asked as ever, and its front-end remembers it.
            *continuation = None;
        }
        let (me, is_read) = (Address::Client(me), message.since() <= version);
        if is_read {
            set_asker(&mut message, me);
            frame::put_message(&mut self.output, to, me, &message);
        }
        is_read
    }
}

/// The task.
#[derive(Debug)]
pub(crate) struct Driver {
    dialler: Arc<Dialler>,
    report: mpsc::Sender<(LinkId, LinkEvent)>,
    events: mpsc::Receiver<(LinkId, LinkEvent)>,
    links: u64,
    cluster: Option<ClusterId>,
    lookout: Lookout,
    machine: Option<Machine>,
    secret: Option<Secret>,
    peers: BTreeMap<SeatId, SeatConnection>,
    by_link: HashMap<LinkId, SeatId>,
    waiting: HashMap<u64, (oneshot::Sender<RequestOutcome>, (OwnedSemaphorePermit, OwnedSemaphorePermit))>,
    dumps: Dumps,
    out: Vec<(Address, Message)>,
    began: Instant,
    last_failure: String,
}

impl Driver {
    /// One of a cluster that is found at these addresses.
    pub(crate) fn new(addresses: Vec<String>, dialler: Dialler) -> Self {
        let (report, events) = mpsc::channel(MOST_EVENTS);
        Self {
            dialler: Arc::new(dialler),
            report,
            events,
            links: 0,
            cluster: None,
            lookout: Lookout::new(addresses),
            machine: None,
            secret: None,
            peers: BTreeMap::new(),
            by_link: HashMap::new(),
            waiting: HashMap::new(),
            dumps: Dumps::default(),
            out: Vec::new(),
            began: Instant::now(),
            last_failure: "no answer yet".to_owned(),
        }
    }

    /// Why the last connection was over.
    pub(crate) fn last_failure(self) -> String {
        self.last_failure
    }

    /// Where keys lie, once it has connected.
    pub(crate) fn secret(&self) -> Option<Secret> {
        self.secret
    }

    /// Which cluster it is of, if that was told.
    pub(crate) fn cluster(&self) -> Option<ClusterId> {
        self.cluster
    }

    /// Is to be told when an event of a dump was taken.
    pub(crate) fn taken(&self) -> Arc<Notify> {
        self.dumps.taken()
    }

    /// Finds the cluster: where keys lie, and whom to ask.
    pub(crate) async fn connect(&mut self) {
        while self.machine.is_none() || self.fronts().next().is_none() {
            self.lookout.ask_for_the_rest(self.machine.is_some());
            self.settle();
            tokio::select! {
                Some(event) = self.events.recv() => self.hear(event),
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        self.learn_fronts();
    }

    /// Asks what is requested until nobody can request anything any more.
    pub(crate) async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<DriverTask>) {
        let mut requests = Vec::new();
        loop {
            self.settle();
            let due = self.due();
            let taken = self.dumps.taken();
            tokio::select! {
                count = inbox.recv_many(&mut requests, REQUESTS_A_TURN) => if count == 0 { return },
                Some(event) = self.events.recv() => self.hear(event),
                () = taken.notified() => {}
                () = sleep_until(due) => {}
            }
            for _ in 0..MOST_EVENTS {
                let Ok(event) = self.events.try_recv() else { break };
                self.hear(event);
            }
            for task in requests.drain(..) {
                match task {
                    DriverTask::Request(request) => self.take_on(request),
                    DriverTask::Dump(begun) => self.dumps.begin(begun),
                }
            }
        }
    }

    fn now(&self) -> Now {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Now::at(self.began.elapsed().as_micros() as u64 + 1, unix.min(u32::MAX.into()) as u32)
    }

    /// When there is something to do next.
    fn due(&self) -> Instant {
        let machine = self.machine.as_ref().and_then(Machine::due_us).into_iter().chain(self.dumps.due_us()).min();
        let machine = machine.map(|due_us| self.began + Duration::from_micros(due_us));
        machine.map_or(self.lookout.due(), |due| due.min(self.lookout.due()))
    }

    fn take_on(&mut self, DriverRequest { key, want, deadline, done, room }: DriverRequest) {
        let now = self.now();
        let Some(machine) = &mut self.machine else { return };
        let deadline_us = deadline.saturating_duration_since(self.began).as_micros() as u64;
        let ticket = machine.ask(now, key, want, deadline_us, &mut self.out);
        self.waiting.insert(ticket, (done, room));
    }

    /// Does what is due, and sends and tells what there is.
    fn settle(&mut self) {
        let (dialler, report, links) = (&self.dialler, &self.report, &mut self.links);
        self.lookout.look(self.cluster, |whom| call(links, dialler, whom, report));
        let now = self.now();
        if let Some(machine) = &mut self.machine {
            machine.tick(now, &mut self.out);
        }
        self.dumps.tick(now, &mut self.out);
        for (to, message) in std::mem::take(&mut self.out) {
            self.send(to, message, now);
        }
        while let Some((ticket, ended)) = self.machine.as_mut().and_then(Machine::next_ended) {
            if let Some((done, _)) = self.waiting.remove(&ticket) {
                // Whoever asked may have gone.
                let _ = done.send(ended);
            }
        }
        self.lookout.flush();
        for SeatConnection { link, output, .. } in self.peers.values_mut() {
            link.outbox().take_from(output);
        }
    }

    fn send(&mut self, to: Address, mut message: Message, now: Now) {
        match SeatId::of(to) {
            Some(seat) => self.send_to_seat(seat, to, message, now),
            None => {
                if let Some((output, me)) = self.lookout.output() {
                    set_asker(&mut message, Address::Client(me));
                    frame::put_message(output, Address::Manager, Address::Client(me), &message);
                }
            }
        }
    }

    fn send_to_seat(&mut self, seat: SeatId, to: Address, message: Message, now: Now) {
        if !self.peers.contains_key(&seat) {
            let Some((name, member)) = self.lookout.roster.member_of(seat) else {
                return self.unreached(seat, &[(to, message)], now);
            };
            let (address, member, cluster) = (member.said.address.clone(), Some(name.to_owned()), self.cluster);
            let whom = Whom { address, member, seat: Some(seat), leader: None, cluster };
            let link = call(&mut self.links, &self.dialler, whom, &self.report);
            self.by_link.insert(link.id, seat);
            if let Some(machine) = &mut self.machine {
                machine.called(FrontId(seat.0), now);
            }
            self.peers.insert(seat, SeatConnection { link, me: None, held: Vec::new(), output: Vec::new() });
        }
        if self.peers.get_mut(&seat).is_some_and(|peer| !peer.put(to, message)) {
            self.dumps.too_old();
        }
    }

    /// A connection to a seat is over, or was never made: then what waited for it was not sent.
    fn lost(&mut self, seat: SeatId, now: Now) {
        let peer = self.peers.remove(&seat);
        if let Some(peer) = &peer {
            self.by_link.remove(&peer.link.id);
        }
        if let Some(SeatConnection { me: None, held, .. }) = peer {
            return self.unreached(seat, &held, now);
        }
        if let Some(machine) = &mut self.machine {
            machine.lost(FrontId(seat.0), now);
        }
        self.dumps.lost(NodeId(u64::from(seat.0)), now);
    }

    fn unreached(&mut self, seat: SeatId, unsent: &[(Address, Message)], now: Now) {
        if let Some(machine) = &mut self.machine {
            machine.unreached(FrontId(seat.0), unsent, now);
        }
        self.dumps.lost(NodeId(u64::from(seat.0)), now);
    }

    fn hear(&mut self, (id, event): (LinkId, LinkEvent)) {
        let is_kept = self.lookout.has(id);
        let seat = self.by_link.get(&id).copied();
        if !is_kept && seat.is_none() {
            // Of a connection that was left.
            return;
        }
        match event {
            LinkEvent::Up(greeted) => {
                self.cluster = self.cluster.or(greeted.cluster);
                match seat {
                    Some(seat) => self.up(seat, greeted.you, greeted.version),
                    None => self.lookout.up(greeted.from, greeted.you),
                }
            }
            LinkEvent::Heard(frames) => {
                let now = self.now();
                let peer = seat.and_then(|seat| self.peers.get(&seat));
                let version = peer.and_then(|peer| peer.me).map_or(NEWEST, |(_, version)| version);
                for frame in frames {
                    self.heard((frame, version), is_kept, now);
                }
            }
            LinkEvent::Over(why) => {
                tracing::debug!("a connection ended: {why}");
                self.last_failure = why;
                match seat {
                    Some(seat) => self.lost(seat, self.now()),
                    None => self.lookout.leave(),
                }
            }
        }
    }

    fn up(&mut self, seat: SeatId, you: Party, version: u8) {
        let Some(peer) = self.peers.get_mut(&seat) else { return };
        peer.me = Some((if let Party::Client(me) = you { me } else { 0 }, version));
        if let Some(machine) = &mut self.machine {
            machine.up(FrontId(seat.0));
        }
        let mut all_read = true;
        for (to, message) in std::mem::take(&mut peer.held) {
            all_read &= peer.put(to, message);
        }
        if !all_read {
            self.dumps.too_old();
        }
    }

    fn heard(&mut self, (frame, version): (Frame, u8), is_kept: bool, now: Now) {
        match frame {
            Frame::Message { message: message @ Message::View { .. }, .. } if is_kept => {
                self.lookout.answered();
                self.dumps.receive(&message, now);
                self.receive((message, version), now);
            }
            Frame::Message { message: message @ Message::Reply { .. }, .. } if !is_kept => {
                self.receive((message, version), now);
            }
            Frame::Message { message: message @ Message::Scanned { .. }, .. } if !is_kept => {
                self.dumps.receive(&message, now);
            }
            Frame::Control(Control::Leads { leader, .. }) if is_kept => self.lookout.leads(leader),
            Frame::Control(Control::Roster(roster)) if is_kept && self.lookout.heard(&roster) => self.learn_fronts(),
            Frame::Control(Control::Secret(secret)) if is_kept && self.machine.is_none() => self.begin(secret),
            // A later release may say what this one does not know.
            _ => {}
        }
    }

    /// What somebody has said who speaks this version.
    fn receive(&mut self, message: (Message, u8), now: Now) {
        if let Some(machine) = &mut self.machine {
            machine.receive(now, message, &mut self.out);
        }
    }

    fn begin(&mut self, secret: Secret) {
        let mut low = [0; 4];
        if let Err(error) = getrandom(&mut low, GetRandomFlags::empty()) {
            self.last_failure = format!("the system has no random numbers: {error}");
            return;
        }
        // Each connection has another name for this client, which takes the place of this one.
        let me = Address::Client(0);
        self.machine = Some(Machine::new(me, u32::from_le_bytes(low), Limits::default(), secret));
        self.secret = Some(secret);
    }

    /// The front-ends that the roster has.
    fn fronts(&self) -> impl Iterator<Item = FrontId> {
        let serving = self.lookout.roster.members.values().filter(|member| member.said.is_front);
        serving.flat_map(fawn_kv::manager::roster::Member::seats).map(|seat| FrontId(seat.0))
    }

    /// The roster has changed: who has gone, or moved, is not asked there any more.
    fn learn_fronts(&mut self) {
        let fronts: Vec<FrontId> = self.fronts().collect();
        let now = self.now();
        let is_gone = |seat: &SeatId| self.lookout.roster.member_of(*seat).is_none();
        let gone: Vec<SeatId> = self.peers.keys().copied().filter(is_gone).collect();
        for seat in gone {
            self.lost(seat, now);
        }
        if let Some(machine) = &mut self.machine {
            machine.set_fronts(fronts);
        }
    }
}

fn call(links: &mut u64, dialler: &Arc<Dialler>, whom: Whom, report: &mpsc::Sender<(LinkId, LinkEvent)>) -> LinkHandle {
    *links += 1;
    LinkHandle::call(LinkId(*links), Arc::clone(dialler), whom, report.clone())
}
