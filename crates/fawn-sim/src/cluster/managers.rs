//! The managers: one log that all agree on, and leaders that may not know yet that they no longer lead.

use fawn_kv::chain::Timing;
use fawn_kv::ids::ClusterId;
use fawn_kv::manager::{Command, Manager, Settings};

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
    settings: Settings,
    wedges: u32,
}

impl Managers {
    /// `count` managers without a leader.
    pub fn new(count: usize, timing: Timing, settings: Settings, wedges: u32) -> Self {
        let mut managers = Self {
            members: Vec::new(),
            log: Vec::new(),
            told: vec![0; count],
            leader: None,
            term: 0,
            led: vec![0; count],
            timing,
            settings,
            wedges,
        };
        managers.members = (0..count).map(|number| managers.begin(number)).collect();
        managers
    }

    /// A manager that knows nothing yet. Each would give the cluster another name.
    fn begin(&self, number: usize) -> Manager {
        let draw = ClusterId([number as u8 + 1; 16]);
        let manager = Manager::new(self.timing, self.settings, draw);
        manager.expect("a plan's settings are checked").with_wedges(self.wedges)
    }

    /// A manager starts anew: it knows what the log says, and leads no more.
    pub fn restart(&mut self, number: usize, now_us: u64) {
        let mut manager = self.begin(number);
        let mut effects = fawn_kv::manager::Effects::default();
        for command in &self.log[..self.told[number]] {
            manager.committed(now_us, command, &mut effects);
        }
        self.members[number] = manager;
        if self.leader == Some(number) {
            self.leader = None;
        }
    }
}
