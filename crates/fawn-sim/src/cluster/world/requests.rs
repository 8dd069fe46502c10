//! Clients ask, are answered, and dump the cluster; the checkers hear of all of it.

use fawn_check::KvOperation;
use fawn_kv::node::Node;

use crate::cluster::clients::operation::{About, Conclusion};
use crate::cluster::event::Event;
use crate::cluster::network::party::Party;
use crate::cluster::time::unix;
use crate::cluster::world::World;

impl World {
    /// Time has passed for a client.
    pub fn client_tick(&mut self, number: usize) -> Result<(), String> {
        let now_us = self.now_us();
        let is_healing = self.faults.is_healing();
        if self.clients.asking(number).is_none() && !is_healing && !self.plan.fixed {
            self.ask_anything(number)?;
        }
        if is_healing
            && self.clients.asking(number).is_none()
            && let Some((key, operation)) = self.checkers.next_question(now_us, number)
        {
            self.ask(number, key, operation)?;
        }
        let mut out = Vec::new();
        let conclusion = self.clients.tick(number, now_us, &mut out);
        self.network.send_all(&mut self.kernel, Party::Client(number), out);
        let mut out = Vec::new();
        let events = self.checkers.tick_dump(&mut self.kernel, number, !is_healing, &mut out);
        self.network.send_all(&mut self.kernel, Party::Client(number), out);
        self.checkers.look_at_dump(number, events)?;
        if self.must_be_answered(number) {
            self.checkers.answers.look_at_wait(now_us, number, self.clients.asking(number))?;
        }
        let delay = self.kernel.delay(500, 15_000);
        self.kernel.after(delay, Event::ClientTick(number));
        match conclusion {
            Some(conclusion) => self.ended(number, conclusion),
            None => Ok(()),
        }
    }

    /// A client begins an operation of its own choice.
    fn ask_anything(&mut self, number: usize) -> Result<(), String> {
        let now_us = self.now_us();
        let asking = self.clients.begin(number, now_us, unix(now_us));
        self.checkers.answers.begun(&mut self.kernel, &self.clients, number, &asking)?;
        if let (About::Key(key), KvOperation::Put { value }, 1..) = (asking.about, asking.operation, asking.expiry) {
            self.checkers.answers.note_expiry(&mut self.kernel, (key, value, asking.expiry))?;
        }
        Ok(())
    }

    /// A client asks what the script says.
    pub fn ask(&mut self, number: usize, key: u64, operation: KvOperation) -> Result<(), String> {
        if self.clients.asking(number).is_some() {
            return Err(format!(
                "client {number} still waits for an answer when it is to ask {operation}: have another ask"
            ));
        }
        let now_us = self.now_us();
        let asking = self.clients.begin_with(number, (key, operation), now_us, unix(now_us));
        self.checkers.answers.begun(&mut self.kernel, &self.clients, number, &asking)
    }

    /// What a client asked has ended.
    pub fn ended(&mut self, number: usize, conclusion: Conclusion) -> Result<(), String> {
        let must_be_answered = self.must_be_answered(number);
        self.checkers.ended(self.now_us(), number, conclusion, must_be_answered)
    }

    /// Whether a client's requests must be answered in time: nothing goes wrong that keeps it, or whom it asks, from others.
    fn must_be_answered(&self, number: usize) -> bool {
        let is_severed = |front| self.network.is_severed(self.now_us(), number, front);
        self.checkers.answers.have_deadlines()
            && !self.faults.is_healing()
            && !self.clients.only_front(number).is_some_and(is_severed)
    }

    /// By all clocks a value is expired.
    pub fn expired(&mut self, key: u64, value: u64, (expiry, operation): (u32, u64)) -> Result<(), String> {
        // While no chain has the key, nobody has seen that it is gone: a clock that is wrong by then may bring it back.
        let lies = self.checkers.answers.positions()[key as usize];
        let mut replicas = self.processes.running().flat_map(Node::replicas);
        let is_served = replicas.any(|(_, replica)| replica.chain().is_some_and(|chain| chain.keys.contains(&lies)));
        // A put that comes late is gone at once.
        if !is_served || self.clients.is_any_asking(|asking| asking.operation == KvOperation::Put { value }) {
            self.kernel.after(100_000, Event::Expired { key, value, expiry, operation });
            return Ok(());
        }
        self.checkers.answers.expired(self.now_us(), (key, value, expiry, operation))
    }
}
