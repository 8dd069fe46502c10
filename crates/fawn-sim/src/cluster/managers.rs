//! The managers: one log that all agree on, and leaders that may not know yet that they no longer lead.

use fawn_kv::ids::ClusterId;
use fawn_kv::manager::{Command, Manager, Settings, State};
use fawn_kv::timing::Timing;
use fawn_kv::wire::version::NEWEST;

/// Managers over one agreed log, as a consensus library would run them.
#[derive(Debug)]
pub struct Managers {
    /// The managers.
    pub members: Vec<Manager>,
    /// The agreed log.
    pub log: Vec<Command>,
    /// How much of the log each manager has been told.
    pub told: Vec<usize>,
    /// Who leads: whose proposals are taken, and of whom it is confirmed.
    pub leader: Option<usize>,
    /// Grows with every change of the leader.
    pub term: u64,
    /// The term in which each manager heard last that it leads: its proposals and questions are of that term.
    pub led: Vec<u64>,
    timing: Timing,
}

impl Managers {
    /// `count` managers without a leader.
    pub fn new(count: usize, timing: Timing, settings: Settings, wedges: u32) -> Self {
        let begin = |number| {
            let manager = Manager::new(timing, settings, draw(number));
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
            timing,
        }
    }

    /// A manager starts anew: it knows what it kept, and leads no more.
    pub fn restart(&mut self, number: usize) {
        let kept = self.members[number].state().encode();
        let state = State::decode(&kept).expect("what was encoded can be decoded");
        self.members[number] = Manager::restored(self.timing, state, draw(number));
        self.members[number].everybody_speaks(NEWEST);
        if self.leader == Some(number) {
            self.leader = None;
        }
    }

    /// A command comes into the log.
    pub fn agree(&mut self, command: &Command) {
        let kept = command.encode();
        self.log.push(Command::decode(&kept).expect("what was encoded can be decoded"));
    }
}

/// The name that each would give the cluster: another one.
fn draw(number: usize) -> ClusterId {
    ClusterId([number as u8 + 1; 16])
}
