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

use crate::cluster::checkers::why_not_settled;
use crate::cluster::event::Event;
use crate::cluster::keys::name;
use crate::cluster::network::party::Party;
use crate::cluster::network::traffic::MessageCounts;
use crate::cluster::processes::node::NodeProcess;
use crate::cluster::script::Script;
use crate::cluster::script::plan::Plan;
use crate::cluster::time::BEGIN_UNIX;
use crate::cluster::world::World;

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
    began: (u64, usize, MessageCounts),
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
        world.checkers.look_at_no_steps();
        for front in &mut world.processes.fronts {
            front.set_limits(Limits::default());
        }
        world.clients.remove_nothing();
        Self { world, keys, began: (0, 0, MessageCounts::default()) }
    }

    fn state(&self) -> &State {
        self.world.processes.managers.leaders_state().expect("nobody deposes the leader")
    }

    /// Ranges, and replicas of them at nodes that run.
    pub fn size(&self) -> (usize, usize) {
        (self.state().ranges.len(), self.world.processes.running().map(|node| node.replicas().count()).sum())
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
        self.world.checkers.answers.judge_no_keys();
        let operation =
            postcard::to_allocvec(&Operation::Store(Store::set(b"1"))).expect("an operation can be encoded");
        for key in 0..self.keys {
            let id = RequestId { session: u64::from(BEGIN_UNIX) << 32 | 0xffff_ffff, number: key + 1 };
            let (front, operation) = (FrontId(key as u32 % FRONTS), Some(operation.clone()));
            let (key, asker) = (name(key), Asker { address: Address::Client(0), tag: 0 });
            let message = Message::ask(id, None, asker, key, operation);
            self.world.network.send(&mut self.world.kernel, Party::Client(0), Address::Front(front), &message);
            if id.number.is_multiple_of(LOADED_AT_ONCE) {
                self.run_until(self.world.now_us() + 1000)?;
            }
        }
        let work = self.until_rest()?;
        let held: usize = self.world.processes.running().filter_map(|node| node.store().keys()).sum();
        let wanted = self.keys * u64::from(self.world.plan.replicas);
        if held as u64 == wanted { Ok(work) } else { Err(format!("{held} keys are held instead of {wanted}")) }
    }

    /// One node more.
    ///
    /// # Errors
    /// Why it does not come to rest.
    pub fn join(&mut self) -> Result<Work, String> {
        self.begin();
        let node = NodeProcess::new(self.world.kernel.random(), false, &self.world.plan);
        self.world.processes.nodes.push(node);
        self.world.kernel.after(1000, Event::Restart(self.world.processes.nodes.len() - 1));
        self.until_rest()
    }

    /// A node is no more, without a word.
    ///
    /// # Errors
    /// Why it does not come to rest.
    pub fn fail(&mut self) -> Result<Work, String> {
        self.begin();
        self.world.processes.nodes[1].remove();
        self.world.checkers.note_failure();
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
        let standing = Standing::Draining;
        self.world.propose_after(1000, Command::Stand { node, incarnation, standing });
        self.until_rest()
    }

    /// A front-end is no more, without a word; others take its wedges over.
    ///
    /// # Errors
    /// Why it does not come to rest.
    pub fn fail_front(&mut self) -> Result<Work, String> {
        self.begin();
        self.world.processes.fronts[1].remove();
        self.until_rest()
    }

    fn run_until(&mut self, at_us: u64) -> Result<(), String> {
        while self.world.now_us() < at_us {
            self.world.handle_next()?;
        }
        Ok(())
    }

    /// How many commands are in the managers' log.
    fn commands(&self) -> usize {
        self.world.processes.managers.log().len()
    }

    /// Why the chains are not as the ring says; empty if they are.
    fn why_not_settled(&self) -> String {
        why_not_settled(self.world.now_us(), &self.world.processes, false)
    }

    fn begin(&mut self) {
        self.began = (self.world.now_us(), self.commands(), self.world.network.traffic());
    }

    /// Runs until every chain is as it should be, and every wedge is served; then makes sure that clients get their answers and all
    /// is committed.
    fn until_rest(&mut self) -> Result<Work, String> {
        let (began_us, commands, before) = self.began;
        loop {
            self.run_until(self.world.now_us() + LOOK_US)?;
            let settled = self.world.processes.managers.is_settled();
            if settled && self.why_not_settled().is_empty() {
                break;
            }
            if self.world.now_us() > began_us + LIMIT_US {
                return Err(format!("it never comes to rest: {}", self.why_not_settled()));
            }
        }
        let after = self.world.network.traffic();
        let work = Work {
            simulated_us: self.world.now_us() - began_us,
            messages: after.messages - before.messages,
            bytes: after.bytes - before.bytes,
            commands: (self.commands() - commands) as u64,
            taken: after.taken - before.taken,
            sent: after.sent - before.sent,
            beats: after.beats - before.beats,
            views: after.views - before.views,
            view_bytes: after.view_bytes - before.view_bytes,
            fences: after.fences - before.fences,
            forwards: after.forwards - before.forwards,
        };
        // Clients ask nothing new meanwhile.
        self.world.faults.set_healing(true);
        let limit_us = self.world.now_us() + LIMIT_US;
        while !self.world.why_not_quiet().is_empty() {
            self.run_until(self.world.now_us() + LOOK_US)?;
            if self.world.now_us() > limit_us {
                return Err(format!("it never falls quiet: {}", self.world.why_not_quiet()));
            }
        }
        self.run_until(self.world.now_us() + NEAR_US)?;
        self.world.faults.set_healing(false);
        Ok(work)
    }
}
