//! The managers: one log that all agree on, as a consensus library would run it, and leaders that may not know yet that
//! they no longer lead.

use fawn_kv::ids::{ClusterId, Incarnation};
use fawn_kv::manager::{Command, Effects, Manager, Settings, Standing, State};
use fawn_kv::timing::Timing;
use fawn_kv::wire::Message;
use fawn_kv::wire::version::NEWEST;

use crate::cluster::event::{Event, Kernel};
use crate::cluster::network::SimNetwork;
use crate::cluster::network::party::Party;

/// Managers over one agreed log.
#[derive(Debug)]
pub struct Managers {
    members: Vec<Manager>,
    /// The agreed log.
    log: Vec<Command>,
    /// How much of the log each manager has been told.
    told: Vec<usize>,
    /// Who leads: whose proposals are taken, and of whom it is confirmed.
    leader: Option<usize>,
    /// Grows with every change of the leader.
    term: u64,
    /// The term in which each manager heard last that it leads: its proposals and questions are of that term.
    led: Vec<u64>,
    /// Until then only the leader hears what is agreed.
    lag_until_us: u64,
    timing: Timing,
}

impl Managers {
    /// `count` managers without a leader.
    pub fn new(count: usize, timing: Timing, settings: Settings, wedges: u32) -> Self {
        let begin = |number| {
            let manager = Manager::new(timing, settings, proposed_id(number));
            let mut manager = manager.expect("a plan's settings are checked").with_wedges(wedges);
            manager.everybody_speaks(NEWEST);
            manager
        };
        Self {
            members: (0..count).map(begin).collect(),
            log: Vec::new(),
            told: vec![0; count],
            leader: None,
            term: 0,
            led: vec![0; count],
            lag_until_us: 0,
            timing,
        }
    }

    /// How many managers there are.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Who leads.
    pub fn leader(&self) -> Option<usize> {
        self.leader
    }

    /// The number of the last change of the leader.
    pub fn term(&self) -> u64 {
        self.term
    }

    /// The agreed log.
    pub fn log(&self) -> &[Command] {
        &self.log
    }

    /// What each manager takes the cluster to be.
    pub fn states(&self) -> impl Iterator<Item = &State> {
        self.members.iter().map(Manager::state)
    }

    /// What the leader takes the cluster to be.
    pub fn leaders_state(&self) -> Option<&State> {
        self.leader.map(|leader| self.members[leader].state())
    }

    /// The same, if it has heard all that is agreed.
    pub fn newest_state(&self) -> Option<&State> {
        let leader = self.leader.filter(|leader| self.told[*leader] == self.log.len())?;
        Some(self.members[leader].state())
    }

    /// Whether some manager has no change under way.
    pub fn is_settled(&self) -> bool {
        self.members.iter().any(Manager::is_settled)
    }

    /// Whether the cluster has begun with what a plain directory holds.
    pub fn has_adopted(&self) -> bool {
        self.log.iter().any(|command| matches!(command, Command::Adopt { .. }))
    }

    /// The life of a node that the operator may have leave, or stay; or why not. Some stay always.
    pub fn may_stand(&self, node: usize, standing: Standing) -> Result<Incarnation, String> {
        let state = self.leaders_state().ok_or("no manager leads")?;
        let registered = state.nodes.iter().find(|(id, _)| id.number() as usize == node);
        let (_, registered) = registered.ok_or("no manager knows the node")?;
        let members = state.nodes.values().filter(|node| node.standing == Standing::Member).count();
        if standing == Standing::Member || members > 1 + state.settings.replicas as usize {
            Ok(registered.incarnation)
        } else {
            Err(format!("{members} nodes are too few for one to leave"))
        }
    }

    /// Time has passed for a manager.
    pub fn tick(&mut self, kernel: &mut Kernel, network: &mut SimNetwork, number: usize) {
        let now_us = kernel.now_us();
        self.step(kernel, network, number, |manager, effects| manager.tick(now_us, effects));
    }

    /// A message has come to a manager.
    pub fn receive(&mut self, kernel: &mut Kernel, network: &mut SimNetwork, number: usize, message: Message) {
        let now_us = kernel.now_us();
        self.step(kernel, network, number, |manager, effects| manager.receive(now_us, message, effects));
    }

    /// A command comes into the log. Every manager hears of it later, the leader at once if `at_once`.
    pub fn agree(&mut self, kernel: &mut Kernel, command: &Command, at_once: bool) {
        let kept = command.encode();
        self.log.push(Command::decode(&kept).expect("what was encoded can be decoded"));
        for number in 0..self.members.len() {
            let at_once = at_once && self.leader == Some(number);
            let delay = if at_once { 0 } else { kernel.delay(100, 3000) };
            kernel.after(delay, Event::Tell(number));
        }
    }

    /// A manager hears what is agreed.
    pub fn hear(&mut self, kernel: &mut Kernel, network: &mut SimNetwork, number: usize) {
        let now_us = kernel.now_us();
        if now_us < self.lag_until_us && self.leader != Some(number) {
            kernel.after(self.lag_until_us - now_us, Event::Tell(number));
            return;
        }
        let mut effects = Effects::default();
        while let Some(command) = self.log.get(self.told[number]) {
            self.members[number].committed(now_us, command, &mut effects);
            self.told[number] += 1;
        }
        self.carry_out(kernel, network, number, effects);
    }

    /// A majority has answered whether a manager led in a term, when it asked.
    pub fn confirmed(
        &mut self,
        kernel: &mut Kernel,
        network: &mut SimNetwork,
        number: usize,
        (term, question): (u64, u64),
    ) {
        // It led when it was asked, and still did later: at the time when the majority answered.
        if self.term == term {
            let now_us = kernel.now_us();
            self.step(kernel, network, number, |manager, effects| manager.confirmed(now_us, question, effects));
        }
    }

    /// A manager hears whether it leads.
    pub fn lead(&mut self, kernel: &mut Kernel, network: &mut SimNetwork, number: usize, term: u64) {
        let leads = self.leader == Some(number);
        if self.term != term && leads {
            // Old news.
            return;
        }
        if leads {
            self.led[number] = term;
            // A leader knows all that is agreed before it acts.
            self.hear(kernel, network, number);
        }
        // Whoever leads again without having heard that another did meanwhile begins anew.
        if leads || self.members[number].leads() {
            self.members[number].lead(kernel.now_us(), leads);
            self.tell_network(network);
        }
    }

    /// Another manager leads, or none. Whoever led learns of it later.
    pub fn elect(&mut self, kernel: &mut Kernel, leader: Option<usize>) {
        self.term += 1;
        self.leader = leader;
        let term = self.term;
        for manager in 0..self.members.len() {
            let slow = kernel.chance(1, 4);
            let delay = kernel.delay(1000, if slow { 6_000_000 } else { 50_000 });
            let delay = if leader == Some(manager) { 1000 } else { delay };
            kernel.after(delay, Event::Lead { manager, term });
        }
    }

    /// A manager starts anew: it knows what it kept, and leads no more.
    pub fn restart(&mut self, network: &mut SimNetwork, number: usize) {
        let kept = self.members[number].state().encode();
        let state = State::decode(&kept).expect("what was encoded can be decoded");
        self.members[number] = Manager::restored(self.timing, state, proposed_id(number));
        self.members[number].everybody_speaks(NEWEST);
        if self.leader == Some(number) {
            self.leader = None;
        }
        self.tell_network(network);
    }

    /// Until then only the leader hears what is agreed.
    pub fn lag(&mut self, until_us: u64) {
        self.lag_until_us = until_us;
    }

    fn step(
        &mut self,
        kernel: &mut Kernel,
        network: &mut SimNetwork,
        number: usize,
        step: impl FnOnce(&mut Manager, &mut Effects),
    ) {
        let mut effects = Effects::default();
        step(&mut self.members[number], &mut effects);
        self.carry_out(kernel, network, number, effects);
    }

    /// Does what a manager wants done.
    fn carry_out(&mut self, kernel: &mut Kernel, network: &mut SimNetwork, number: usize, effects: Effects) {
        let invalid = self.members[number].invalid_mut().take();
        assert_eq!(invalid, None, "everybody's state is sound");
        self.tell_network(network);
        for (to, message) in effects.send {
            network.send(kernel, Party::Manager(number), to, &message);
        }
        // Who was deposed unawares, and elected again, is not believed what it says before it has heard of that.
        let term = self.led[number];
        let leads = self.leader == Some(number) && self.term == term;
        for command in effects.propose {
            if leads {
                let delay = kernel.delay(200, 5000);
                kernel.after(delay, Event::Propose { term, command: Box::new(command) });
            }
        }
        for question in effects.confirm {
            if leads {
                let delay = kernel.delay(100, 3000);
                kernel.after(delay, Event::Confirmed { manager: number, term, question });
            }
        }
    }

    /// What is addressed to the managers reaches those that believe that they lead.
    fn tell_network(&self, network: &mut SimNetwork) {
        let leading = self.members.iter().enumerate().filter(|(_, manager)| manager.leads());
        network.set_leading(leading.map(|(number, _)| number));
    }
}

/// The name that each would give the cluster: another one.
fn proposed_id(number: usize) -> ClusterId {
    ClusterId([number as u8 + 1; 16])
}
