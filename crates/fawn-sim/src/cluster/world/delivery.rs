//! Messages arrive. Those for a node that pauses wait in its inbox, and are taken in its order once it goes on.

use fawn_kv::ids::Address;
use fawn_kv::wire::Message;

use crate::cluster::event::Event;
use crate::cluster::network::party::Party;
use crate::cluster::time::unix;
use crate::cluster::world::World;

impl World {
    /// Bytes have come to a party, or wait until it goes on.
    pub fn deliver(&mut self, to: Party, from: Address, bytes: Vec<u8>) -> Result<(), String> {
        let now_us = self.now_us();
        if let Party::Front(front) = to
            && let Some(delay) = self.processes.fronts[front].pauses_for(now_us)
        {
            self.kernel.after(delay, Event::Deliver { to, from, bytes });
            return Ok(());
        }
        let message =
            Message::decode(&bytes).map_err(|error| format!("what was encoded cannot be decoded: {error}"))?;
        if !message.may_come_from(from) {
            return Err(format!("{from:?} may not say {message:?}"));
        }
        if let Party::Node(number) = to
            && let Some(delay) = self.processes.nodes[number].pauses_for(now_us)
        {
            match self.processes.nodes[number].wait(from, message, bytes) {
                Ok(true) => self.kernel.after(delay, Event::GoOn(number)),
                Ok(false) => {}
                Err(bytes) => self.kernel.after(delay, Event::Deliver { to, from, bytes }),
            }
            return Ok(());
        }
        self.take(to, from, message, true)
    }

    /// A node takes what has waited for it.
    pub fn go_on(&mut self, number: usize) -> Result<(), String> {
        loop {
            let (now_us, node) = (self.now_us(), &mut self.processes.nodes[number]);
            if let Some(delay) = node.pauses_for(now_us).filter(|_| node.has_waiting()) {
                self.kernel.after(delay, Event::GoOn(number));
                return Ok(());
            }
            let Some((from, message)) = node.take_waiting() else { return Ok(()) };
            // What has waited is taken at once, and gone on with then.
            let is_last = !node.has_waiting();
            self.take(Party::Node(number), from, message, is_last)?;
        }
    }

    fn take(&mut self, to: Party, from: Address, message: Message, settles: bool) -> Result<(), String> {
        let now_us = self.now_us();
        if let Some(pauses) = &mut self.pauses {
            pauses.delivered(now_us, &message);
        }
        self.trace.message(now_us, (from, to), &message, &self.processes);
        let arrived = if self.processes.runs(to, now_us) {
            self.network.arrive(&mut self.kernel, to, from, message)
        } else {
            Some((from, message))
        };
        let Some((from, message)) = arrived else { return Ok(()) };
        match to {
            Party::Manager(number) => {
                self.processes.managers.receive(&mut self.kernel, &mut self.network, number, message);
                Ok(())
            }
            Party::Node(number) => {
                if let Message::Drop { range, .. } = &message {
                    self.checkers.look_at_drop(&self.processes, number, *range)?;
                }
                self.step(number, |node, now, out| {
                    node.take(now, from, message, out);
                    if settles {
                        node.settle(now, out);
                    }
                })
            }
            Party::Front(number) => {
                self.front_step(number, |front, now, out| front.receive(now, message, out));
                Ok(())
            }
            Party::Client(number) => {
                self.checkers.receive_dump(now_us, number, &message);
                match self.clients.receive(number, message, unix(now_us)) {
                    Some(conclusion) => self.ended(number, conclusion),
                    None => Ok(()),
                }
            }
        }
    }

    /// Time has passed for the relay of a node or front-end.
    pub fn tick_relay(&mut self, party: Party) {
        if self.processes.runs(party, self.now_us())
            && let Some(is_cut_off) = self.network.tick_relay(&mut self.kernel, party)
        {
            self.processes.note_cut_off(party, is_cut_off);
        }
    }
}
