//! Processes do something, and what comes of it: messages, reads and syncs of flash; faults that waited for it; and what the
//! checkers see. Processes start and crash.

use fawn_kv::frontend::Front;
use fawn_kv::ids::{Ack, Address};
use fawn_kv::node::Node;
use fawn_kv::store::{RangeStore, Ticket};
use fawn_kv::timing::Now;
use fawn_kv::wire::Message;

use crate::cluster::checkers::coverage::ClusterPath;
use crate::cluster::event::Event;
use crate::cluster::network::party::Party;
use crate::cluster::processes::node::{CrashTrigger, HoldBackTrigger};
use crate::cluster::processes::store::node_store::{NodeStore, Reads};
use crate::cluster::processes::store::read::FlashRead;
use crate::cluster::world::World;

impl World {
    /// A step of a node, with all that comes of it.
    pub fn step(
        &mut self,
        number: usize,
        step: impl FnOnce(&mut Node<NodeStore>, Now, &mut Vec<(Address, Message)>),
    ) -> Result<(), String> {
        let now_us = self.now_us();
        if self.processes.nodes[number].pauses_for(now_us).is_some() {
            // What a paused node does not hear, it hears later: its messages are put off where they are delivered.
            return Ok(());
        }
        self.read_clock(number)?;
        let process = &mut self.processes.nodes[number];
        let (now, run) = (process.clock().now(now_us), process.run());
        let Some(node) = process.node_mut() else { return Ok(()) };
        let mut out = Vec::new();
        step(node, now, &mut out);
        if let Some(invalid) = node.invalid_mut().take() {
            return Err(format!("everybody's state is sound, and yet {invalid}"));
        }
        let look = self.checkers.look_at_node(now_us, (number, run), node)?;
        let store = node.store_mut();
        let mut reads = store.take_reads();
        let (written, durable, failed) = (store.written(), store.durable(), node.has_failed());
        if let Some(ticket) = process.take_bad_read(&mut reads) {
            self.trace.happening(now_us, &format!("bad-read {number}"), &format!("read {ticket} of n{number}"));
        }
        self.checkers.answers.look_at_set_back(&look.set_back)?;
        self.begin_reads(number, run, reads);
        if self.processes.nodes[number].begin_sync(written, durable, failed) {
            // What is acknowledged unsynced is at stake for longer.
            let rests = self.plan.rests && self.plan.node_id(number).is_archive();
            let slow = (self.faults.settings().rules.ack == Ack::Replicated || rests) && self.kernel.chance(1, 4);
            let delay = self.kernel.delay(100, if slow { 200_000 } else { 2000 });
            self.kernel.after(delay, Event::Synced { node: number, run, gate: written });
        }
        if self.say(number, out) {
            return Ok(());
        }
        if let Some(pauses) = &mut self.pauses
            && let Some(node) = self.processes.nodes[number].node()
        {
            pauses.look(now_us, node);
        }
        if look.changed { self.checkers.look_at_rights(now_us, &self.processes, number) } else { Ok(()) }
    }

    /// A node reads from flash, and pauses meanwhile if it is to.
    fn begin_reads(&mut self, number: usize, run: u32, reads: Reads) {
        if reads.is_empty() {
            return;
        }
        let now_us = self.now_us();
        if let Some(for_us) = self.processes.nodes[number].take_pause_at_read(now_us) {
            self.trace.happening(now_us, &format!("pause {number} {for_us}"), &format!("n{number} reads"));
        }
        for (ticket, read) in reads {
            let slow = self.kernel.chance(1, 50);
            let delay = self.kernel.delay(50, if slow { 100_000 } else { 1000 });
            self.kernel.after(delay, Event::Read { node: number, run, ticket, read: Box::new(read) });
        }
    }

    /// A node sends messages, on which faults may have waited; whether it crashes then.
    fn say(&mut self, number: usize, out: Vec<(Address, Message)>) -> bool {
        let (now_us, process) = (self.kernel.now_us(), &mut self.processes.nodes[number]);
        let held = process.take_hold_back(&out);
        let crash = process.take_crash(&out);
        if let Some(HoldBackTrigger { said, kind, for_us }) = held {
            self.trace.happening(
                now_us,
                &format!("hold-back {number} {kind} {for_us}"),
                &format!("n{number} says {said}"),
            );
            self.network.links().hold_back(Party::Node(number), kind, now_us + for_us);
            self.kernel.after(for_us / 8, Event::Leave(number));
        }
        self.network.send_all(&mut self.kernel, Party::Node(number), out);
        let Some(CrashTrigger { kind, for_us, dice }) = crash else { return false };
        self.trace.happening(now_us, &format!("crash {number} {for_us} {dice}"), &format!("n{number} says {kind}"));
        self.crash(number, false, for_us, dice);
        true
    }

    /// What a node read from flash has come.
    pub fn read(&mut self, number: usize, run: u32, ticket: Ticket, read: FlashRead) -> Result<(), String> {
        if self.processes.nodes[number].run() != run {
            return Ok(());
        }
        if let Some(delay) = self.processes.nodes[number].pauses_for(self.now_us()) {
            self.kernel.after(delay, Event::Read { node: number, run, ticket, read: Box::new(read) });
            return Ok(());
        }
        self.step(number, |node, now, out| {
            match read {
                FlashRead::Key(kept) => node.read(now, ticket, kept, out),
                FlashRead::Part(part) => node.scanned(now, ticket, part, out),
                FlashRead::Failed => node.unreadable(now, ticket, out),
                FlashRead::Refused => node.not_read(now, ticket, out),
            }
            node.settle(now, out);
        })
    }

    /// A node reads its clock, and may follow a jump of it.
    pub fn read_clock(&mut self, number: usize) -> Result<(), String> {
        let now_us = self.now_us();
        let reading = self.processes.nodes[number].clock_mut().read(now_us);
        if reading.followed {
            self.checkers.see(ClusterPath::JumpFollowed);
        }
        if !reading.wrong {
            return Ok(());
        }
        let nodes = &self.processes;
        self.checkers.answers.note_wrong_clock(&mut self.kernel, |key| nodes.time_at(key))
    }

    /// A node starts, with what its store has.
    pub fn restart(&mut self, number: usize) {
        let now_us = self.now_us();
        let Some(run) = self.processes.nodes[number].start(number, &self.plan, self.timing, now_us) else { return };
        if run == 1 {
            self.kernel.after(0, Event::Tick(number));
        }
        self.network.start_relay(Party::Node(number), &self.timing, self.processes.seats());
    }

    /// A node crashes, and starts again after a while.
    pub fn crash(&mut self, number: usize, wiped: bool, for_us: u64, dice: u64) {
        if self.processes.nodes[number].crash(wiped, dice, self.plan.on_flash) {
            self.checkers.note_failure();
            self.kernel.after(for_us, Event::Restart(number));
        }
    }

    /// A step of a front-end, with all that comes of it.
    pub fn front_step(&mut self, number: usize, step: impl FnOnce(&mut Front, Now, &mut Vec<(Address, Message)>)) {
        let out = self.processes.fronts[number].step(self.kernel.now_us(), step);
        self.network.send_all(&mut self.kernel, Party::Front(number), out);
    }

    /// A front-end starts.
    pub fn restart_front(&mut self, number: usize) {
        if self.processes.fronts[number].start(number, self.timing) {
            self.network.start_relay(Party::Front(number), &self.timing, self.processes.seats());
        }
    }

    /// A front-end crashes, and starts again after a while.
    pub fn crash_front(&mut self, number: usize, for_us: u64) {
        // One of eight is asked to stop, and says so.
        if let Some(out) = self.processes.fronts[number].crash(for_us % 8 == 7) {
            self.network.send_all(&mut self.kernel, Party::Front(number), out);
            self.kernel.after(for_us, Event::FrontRestart(number));
        }
    }
}
