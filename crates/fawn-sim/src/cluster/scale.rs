//! Large clusters without faults but those asked for: what it costs to form one, and to change it.
//!
//! The nodes, managers and messages are those of every other run. What differs is that times fit the size, as whoever runs
//! a large cluster would set them, and that nothing is looked at after each step that takes longer the more nodes there
//! are: a change is looked at once it is over.

use fawn_kv::frontend::Limits;
use fawn_kv::ids::{Address, Asker, FrontId, NodeId, RequestId, Rules};
use fawn_kv::manager::{Command, Standing, State};
use fawn_kv::operation::{Operation, Store};
use fawn_kv::timing::Timing;
use fawn_kv::wire::Message;

use super::client::name;
use super::events::Event;
use super::place::Place;
use super::plan::Plan;
use super::script::Script;
use super::world::{BEGIN_UNIX, Party, World};

/// Between two looks whether everything is at rest.
const LOOK_US: u64 = 100_000;
/// What is not at rest after this never will be.
const LIMIT_US: u64 = 300_000_000;
/// By then wedges have come as near their keys as they may: that is not to count with the next change.
const NEAR_US: u64 = 60_000_000;
/// Keys that are loaded in a millisecond.
const LOADED_AT_ONCE: u64 = 16;
/// Front-ends, through which all clients ask.
const FRONTS: u32 = 10;

/// What has been sent in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    messages: u64,
    bytes: u64,
    taken: u64,
    sent: u64,
    beats: u64,
    views: u64,
    view_bytes: u64,
    fences: u64,
    forwards: u64,
}

impl Traffic {
    pub(super) fn count(&mut self, from: Party, to: Party, message: &Message, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
        match (message, from, to) {
            (
                Message::Heartbeat { .. }
                | Message::Lease { .. }
                | Message::FrontHeartbeat { .. }
                | Message::FrontLease { .. },
                ..,
            ) => self.beats += 1,
            (Message::AskView { .. } | Message::View { .. }, ..) => {
                self.views += 1;
                self.view_bytes += bytes as u64;
            }
            (Message::Fence { .. } | Message::FenceHolds { .. }, ..) => self.fences += 1,
            (_, Party::Front(_), Party::Front(_)) => self.forwards += 1,
            (_, _, Party::Manager(_)) => self.taken += 1,
            (_, Party::Manager(_), _) => self.sent += 1,
            _ => {}
        }
    }
}

/// What a phase has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Microseconds until everything was at rest, found out to a tenth of a second.
    pub simulated_us: u64,
    /// Messages between all, clients included, and their bytes.
    pub messages: u64,
    /// See `messages`.
    pub bytes: u64,
    /// Commands in the managers' log.
    pub commands: u64,
    /// Messages that the managers took, but for heartbeats and questions who is in which chain.
    pub taken: u64,
    /// Messages that the managers sent, but for leases and answers to those questions.
    pub sent: u64,
    /// Heartbeats and leases, of nodes and front-ends.
    pub beats: u64,
    /// Front-ends' questions who is in which chain, and the answers, and their bytes.
    pub views: u64,
    /// See `views`.
    pub view_bytes: u64,
    /// Fences asked for, and told of; not what they cost in the chains.
    pub fences: u64,
    /// Requests that a front-end has sent on to another, and the answers.
    pub forwards: u64,
}

/// A large cluster, with clients that ask its front-ends all the time.
pub struct Cluster {
    world: World,
    keys: u64,
    /// When the phase began, how long the log was then, and what had been sent.
    began: (u64, usize, Traffic),
}

impl Cluster {
    /// A cluster of so many nodes that have just been started, with clients that ask for so many keys.
    pub fn new(nodes: u32, keys: u64) -> Self {
        let plan = Plan {
            nodes,
            late: 0,
            shared: false,
            replicas: 3,
            virtual_ids: 8,
            rules: Rules::default(),
            lost_clock: false,
            on_flash: false,
            fronts: FRONTS,
            hasty: false,
            clients: 4,
            keys,
            managers: 3,
            faults: false,
            ..Plan::of(1)
        };
        let timing = Timing {
            resend_us: 500_000,
            heartbeat_us: 1_000_000,
            dead_us: 5_000_000,
            attempt_us: 10_000_000,
            gone_us: 20_000_000,
            silent_us: 3_000_000,
            ..Timing::default()
        };
        let mut world = World::with(&Script::of(u64::from(nodes), &plan), timing, 5_000_000);
        world.tick_us = 100_000;
        world.looks = false;
        for place in &mut world.fronts {
            place.limits = Limits::default();
        }
        for client in &mut world.clients {
            client.removes = false;
        }
        Self { world, keys, began: (0, 0, Traffic::default()) }
    }

    fn state(&self) -> &State {
        self.world.managers.members[self.world.managers.leader.expect("nobody deposes the leader")].state()
    }

    /// Ranges, and replicas of them at nodes that run.
    pub fn size(&self) -> (usize, usize) {
        let nodes = self.world.places.iter().filter_map(|place| place.node.as_ref());
        (self.state().ranges.len(), nodes.map(|node| node.replicas().count()).sum())
    }

    /// The first chains.
    ///
    /// # Errors
    /// Why it does not come to rest.
    pub fn form(&mut self) -> Result<Work, String> {
        self.begin();
        self.until_rest()
    }

    /// Every key gets a value.
    ///
    /// # Errors
    /// Why it does not come to rest, or that keys are lacking.
    pub fn load(&mut self) -> Result<Work, String> {
        self.begin();
        // The checkers are not told of these.
        self.world.checkers.fill_with(|| None);
        let operation =
            postcard::to_allocvec(&Operation::Store(Store::set(b"1"))).expect("an operation can be encoded");
        for key in 0..self.keys {
            let id = RequestId { session: u64::from(BEGIN_UNIX) << 32 | 0xffff_ffff, number: key + 1 };
            let (front, operation) = (FrontId(key as u32 % FRONTS), Some(operation.clone()));
            let (key, asker) = (name(key), Asker { address: Address::Client(0), tag: 0 });
            let message = Message::ask(id, None, asker, key, operation);
            self.world.send(Party::Client(0), Address::Front(front), &message);
            if id.number.is_multiple_of(LOADED_AT_ONCE) {
                self.run_until(self.world.now_us + 1000)?;
            }
        }
        let work = self.until_rest()?;
        let held: usize = self.world.places.iter().filter_map(|place| place.node.as_ref()?.store().keys()).sum();
        let wanted = self.keys * u64::from(self.world.plan.replicas);
        if held as u64 == wanted { Ok(work) } else { Err(format!("{held} keys are held instead of {wanted}")) }
    }

    /// One node more.
    ///
    /// # Errors
    /// Why it does not come to rest.
    pub fn join(&mut self) -> Result<Work, String> {
        self.begin();
        let place = Place::new(&mut self.world.random, false, &self.world.plan);
        self.world.places.push(place);
        self.world.after(1000, Event::Restart(self.world.places.len() - 1));
        self.until_rest()
    }

    /// A node is no more, without a word.
    ///
    /// # Errors
    /// Why it does not come to rest.
    pub fn fail(&mut self) -> Result<Work, String> {
        self.begin();
        let place = &mut self.world.places[1];
        // As one that was never started.
        (place.node, place.left, place.run) = (None, None, 0);
        self.world.spares_members = false;
        self.until_rest()
    }

    /// A node is to leave, and does.
    ///
    /// # Errors
    /// Why it does not come to rest.
    pub fn drain(&mut self) -> Result<Work, String> {
        self.begin();
        let node = NodeId(2);
        let incarnation = self.state().nodes[&node].incarnation;
        let (term, standing) = (self.world.managers.term, Standing::Draining);
        let command = Command::Stand { node, incarnation, standing };
        self.world.after(1000, Event::Propose { term, command: Box::new(command) });
        self.until_rest()
    }

    /// A front-end is no more, without a word; others take its wedges over.
    ///
    /// # Errors
    /// Why it does not come to rest.
    pub fn fail_front(&mut self) -> Result<Work, String> {
        self.begin();
        let place = &mut self.world.fronts[1];
        // As one that was never started.
        (place.front, place.run) = (None, 0);
        self.until_rest()
    }

    fn run_until(&mut self, at_us: u64) -> Result<(), String> {
        while self.world.now_us < at_us {
            let event = self.world.next().expect("ticks never end");
            self.world.handle(event)?;
        }
        Ok(())
    }

    fn begin(&mut self) {
        self.began = (self.world.now_us, self.world.managers.log.len(), self.world.traffic);
    }

    /// Runs until every chain is as it should be, and every wedge is served; then makes sure that clients get their answers and all is committed.
    fn until_rest(&mut self) -> Result<Work, String> {
        let (began_us, commands, before) = self.began;
        loop {
            self.run_until(self.world.now_us + LOOK_US)?;
            let settled = self.world.managers.members.iter().any(fawn_kv::manager::Manager::is_settled);
            if settled && self.world.why_not_settled(false).is_empty() {
                break;
            }
            if self.world.now_us > began_us + LIMIT_US {
                return Err(format!("it never comes to rest: {}", self.world.why_not_settled(false)));
            }
        }
        let after = self.world.traffic;
        let work = Work {
            simulated_us: self.world.now_us - began_us,
            messages: after.messages - before.messages,
            bytes: after.bytes - before.bytes,
            commands: (self.world.managers.log.len() - commands) as u64,
            taken: after.taken - before.taken,
            sent: after.sent - before.sent,
            beats: after.beats - before.beats,
            views: after.views - before.views,
            view_bytes: after.view_bytes - before.view_bytes,
            fences: after.fences - before.fences,
            forwards: after.forwards - before.forwards,
        };
        // Clients ask nothing new meanwhile.
        self.world.healing = true;
        let limit_us = self.world.now_us + LIMIT_US;
        while !self.world.is_quiet() {
            self.run_until(self.world.now_us + LOOK_US)?;
            if self.world.now_us > limit_us {
                return Err(format!("it never falls quiet: {}", self.world.why_not_quiet()));
            }
        }
        self.run_until(self.world.now_us + NEAR_US)?;
        self.world.healing = false;
        Ok(work)
    }
}
