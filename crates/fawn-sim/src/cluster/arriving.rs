//! Messages arrive. Those for a node that pauses wait in its inbox, and are taken in its order once it goes on.

use fawn_kv::ids::Address;
use fawn_kv::link::Lane;
use fawn_kv::manager::Effects;
use fawn_kv::node::inbox::Inbox;
use fawn_kv::wire::Message;

use super::events::Event;
use super::world::{Party, World};

impl World {
    pub(super) fn deliver(&mut self, to: Party, from: Address, bytes: Vec<u8>) -> Result<(), String> {
        if let Party::Front(front) = to
            && self.now_us < self.fronts[front].paused_until_us
        {
            let delay = self.fronts[front].paused_until_us - self.now_us;
            self.after(delay, Event::Deliver { to, from, bytes });
            return Ok(());
        }
        let message =
            Message::decode(&bytes).map_err(|error| format!("what was encoded cannot be decoded: {error}"))?;
        if !message.may_come_from(from) {
            return Err(format!("{from:?} may not say {message:?}"));
        }
        if let Party::Node(node) = to
            && self.now_us < self.places[node].paused_until_us
        {
            self.wait(node, from, message, bytes);
            return Ok(());
        }
        self.take(to, from, message, true)
    }

    /// A message waits for a node to go on.
    fn wait(&mut self, node: usize, from: Address, message: Message, bytes: Vec<u8>) {
        let delay = self.places[node].paused_until_us - self.now_us;
        let inbox = &mut self.places[node].inbox;
        if !inbox.takes_clients() && Lane::of(from, &message) == Lane::Client {
            // Nobody reads it from its connection.
            return self.after(delay, Event::Deliver { to: Party::Node(node), from, bytes });
        }
        let is_first = inbox.is_empty();
        inbox.push(from, message, bytes.len());
        if is_first {
            self.after(delay, Event::GoOn(node));
        }
    }

    /// A node takes what has waited for it.
    pub(super) fn go_on(&mut self, node: usize) -> Result<(), String> {
        loop {
            if self.now_us < self.places[node].paused_until_us && !self.places[node].inbox.is_empty() {
                self.after(self.places[node].paused_until_us - self.now_us, Event::GoOn(node));
                return Ok(());
            }
            let Some((from, message)) = self.places[node].inbox.pop() else { return Ok(()) };
            // What has waited is taken at once, and gone on with then.
            let is_last = self.places[node].inbox.is_empty();
            self.take(Party::Node(node), from, message, is_last)?;
        }
    }

    fn take(&mut self, to: Party, from: Address, message: Message, settles: bool) -> Result<(), String> {
        if let Some(pauses) = &mut self.pauses {
            pauses.delivered(self.now_us, &message);
        }
        let unix = self.unix();
        self.show(from, to, &message);
        let Some((from, message)) = self.arrive(to, from, message) else { return Ok(()) };
        match to {
            Party::Manager(number) => {
                let mut effects = Effects::default();
                self.managers.members[number].receive(self.now_us, message, &mut effects);
                self.do_effects(number, effects);
                Ok(())
            }
            Party::Node(number) => {
                if let Message::Drop { range, .. } = &message {
                    self.look_at_drop(number, *range)?;
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
                self.tell_dump(number, &message);
                match self.clients[number].receive(message, unix) {
                    Some(ended) => self.ended(number, ended),
                    None => Ok(()),
                }
            }
        }
    }
}

/// An inbox so small that it meets its bounds.
pub(super) fn inbox() -> Inbox {
    Inbox::new(fawn_kv::node::inbox::Bounds { messages: 4, bytes: 16 << 10, chain_bytes: 32 << 10 })
}
