//! What goes wrong, what the operator does, and how all is mended at last.

use fawn_check::random::Random;
use fawn_kv::ids::{Ack, Rules};
use fawn_kv::manager::{Command, Standing};
use fawn_kv::node::Node;

use crate::cluster::event::Event;
use crate::cluster::faults::action::FaultAction;
use crate::cluster::faults::effect::effect_of;
use crate::cluster::network::party::Party;
use crate::cluster::processes::node::{CrashTrigger, HoldBackTrigger};
use crate::cluster::world::World;

impl World {
    /// Something happens.
    pub fn act(&mut self, action: &FaultAction) -> Result<(), String> {
        if self.faults.is_healing() {
            return Ok(());
        }
        let now_us = self.now_us();
        let (effect, remark) = effect_of(action, now_us, &self.processes);
        self.trace.happening(now_us, &action.to_string(), &remark);
        if let Some(kind) = effect {
            self.faults.count(kind);
        }
        match action {
            FaultAction::Lag { for_us } => self.processes.managers.lag(now_us + for_us),
            FaultAction::Lead { manager } => self.processes.managers.elect(&mut self.kernel, *manager),
            FaultAction::RestartManager { manager } => {
                let managers = &mut self.processes.managers;
                managers.restart(&mut self.network, *manager);
                managers.elect(&mut self.kernel, Some((manager + 1) % managers.count()));
            }
            FaultAction::Cut { links, for_us } => self.network.cut(&mut self.kernel, links, *for_us),
            FaultAction::Sever { links } => {
                self.network.links().cut(links);
                self.checkers.answers.note_severed(now_us);
            }
            FaultAction::CrashFront { front, for_us } => self.crash_front(*front, *for_us),
            FaultAction::PauseFront { front, for_us } => self.processes.fronts[*front].pause(now_us + for_us),
            FaultAction::CutFront { slow, for_us, links } => {
                // The next owner hears late of what it has done, while this one may not know yet that it is none.
                self.network.links().slow_down(*slow);
                self.network.cut(&mut self.kernel, links, *for_us);
            }
            FaultAction::Network { lost, doubled, slow } => self.network.links().disturb(*lost, *doubled, *slow),
            FaultAction::HoldBack { node, kind, for_us } => {
                self.network.links().hold_back(Party::Node(*node), kind, now_us + for_us);
            }
            FaultAction::Drain { node } => self.stand(*node, Standing::Draining),
            FaultAction::Stay { node } => self.stand(*node, Standing::Member),
            FaultAction::Replicas { count } => {
                let command = self.faults.set(*count, self.faults.settings().rules);
                self.propose_after(1000, command);
            }
            FaultAction::Rules { least, spread, in_memory } => {
                let ack = if *in_memory { Ack::Replicated } else { Ack::Durable };
                self.checkers.note_acknowledgement(ack);
                let (min_write_replicas, spread_reads, settings) = (*least, *spread, *self.faults.settings());
                let rules = Rules { ack, min_write_replicas, spread_reads, ..settings.rules };
                let command = self.faults.set(settings.replicas, rules);
                self.propose_after(1000, command);
            }
            FaultAction::Join { node } => self.kernel.after(0, Event::Restart(*node)),
            FaultAction::Nothing => {}
            FaultAction::Ask { client, key, operation } => return self.ask(*client, *key, *operation),
            _ => return self.act_on_node(action),
        }
        Ok(())
    }

    /// Something happens to nodes.
    fn act_on_node(&mut self, action: &FaultAction) -> Result<(), String> {
        let (now_us, nodes) = (self.now_us(), &mut self.processes.nodes);
        match action {
            FaultAction::Crash { node, for_us, dice } => {
                // One of eight is asked to stop, and says so. What it has written and not synced is in doubt all the same.
                if dice >> 61 == 7 {
                    let out = nodes[*node].farewell();
                    self.network.send_all(&mut self.kernel, Party::Node(*node), out);
                }
                self.crash(*node, false, *for_us, *dice);
            }
            FaultAction::PowerFailure { dice } => {
                let mut random = Random::new(*dice);
                for node in 0..nodes.len() {
                    let long = random.chance(1, 4);
                    let for_us = random.within(1000, if long { 5_000_000 } else { 500_000 });
                    self.crash(node, false, for_us, random.word());
                }
            }
            FaultAction::LoseDisk { node, for_us, dice } => {
                self.crash(*node, self.processes.may_lose_disk(*node), *for_us, *dice);
            }
            FaultAction::OtherDisk { node, for_us, dice } => self.start_with_other_disk(*node, *for_us, *dice),
            FaultAction::CrashAt { node, kind, for_us, dice } => {
                nodes[*node].crash_at(CrashTrigger { kind, for_us: *for_us, dice: *dice });
            }
            FaultAction::HoldBackAt { node, said, kind, for_us } => {
                nodes[*node].hold_back_at(HoldBackTrigger { said, kind, for_us: *for_us });
            }
            FaultAction::Pause { node, for_us } => nodes[*node].pause(now_us + for_us),
            FaultAction::PauseAtRead { node, for_us } => nodes[*node].pause_at_read(*for_us),
            FaultAction::Clock { node, ahead_us } => nodes[*node].clock_mut().set_ahead(*ahead_us),
            FaultAction::ClockJump { node, off_s, for_us } if !nodes[*node].clock().is_behind(now_us) => {
                nodes[*node].clock_mut().jump(now_us, *off_s, *for_us);
                self.read_clock(*node)?;
            }
            FaultAction::Full { node, for_us } => nodes[*node].fill_disk(now_us + for_us),
            FaultAction::BadRead { node } => nodes[*node].spoil_read(),
            FaultAction::FailDisk { node, for_us, dice } => {
                if let Some(run) = nodes[*node].fail_disk() {
                    self.kernel.after(*for_us, Event::Repair { node: *node, run, dice: *dice });
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The operator has a node leave, or stay.
    fn stand(&mut self, number: usize, standing: Standing) {
        if let Ok(incarnation) = self.processes.managers.may_stand(number, standing) {
            self.propose_after(1000, Command::Stand { node: self.plan.node_id(number), incarnation, standing });
        }
    }

    /// A node crashes, and starts with a disk of another cluster, which has ranges of the same names.
    fn start_with_other_disk(&mut self, number: usize, for_us: u64, dice: u64) {
        if self.processes.nodes[number].has_other_disk() {
            return;
        }
        self.crash(number, false, for_us, dice);
        if let Some(own) = self.processes.nodes[number].insert_other_disk(dice, self.plan.on_flash) {
            self.restart(number);
            self.processes.nodes[number].set_own_disk(own);
        }
    }

    /// From here on nothing goes wrong any more, and what did is mended.
    pub fn heal_all(&mut self) {
        let now_us = self.now_us();
        for (number, node) in self.processes.nodes.iter().enumerate() {
            for action in node.waiting_faults(number) {
                self.trace.happening(now_us, &action, "it never came to that");
            }
        }
        self.trace.end();
        self.faults.set_healing(true);
        self.network.links().heal();
        self.processes.managers.lag(0);
        for number in 0..self.processes.nodes.len() {
            let node = &mut self.processes.nodes[number];
            node.heal();
            if node.node().is_some_and(Node::has_failed) {
                self.crash(number, false, 1000, number as u64);
            } else if node.node().is_none() || node.has_other_disk() {
                self.kernel.after(1000, Event::Restart(number));
            }
        }
        for number in 0..self.processes.fronts.len() {
            if self.processes.fronts[number].heal() {
                self.kernel.after(1000, Event::FrontRestart(number));
            }
        }
        if self.processes.managers.leader().is_none() {
            self.processes.managers.elect(&mut self.kernel, Some(0));
        }
    }
}
