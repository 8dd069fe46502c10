//! What a run tells of itself: messages as a script asks for them, everything where a trace is wanted, and what only the whole
//! cluster shows.

use std::fmt::Write as _;
use std::io::Write as _;

use fawn_kv::ids::Address;
use fawn_kv::manager::{Command, Into};
use fawn_kv::message::Message;

use super::coverage::Seen;
use super::events::Event;
use super::lines;
use super::world::{Party, World};

impl World {
    /// What only the whole cluster shows of a command.
    pub(super) fn see(&mut self, command: &Command) {
        let Command::Activate { into, .. } = command else { return };
        if !self.places.iter().any(|place| place.run > 0 && place.node.is_none()) {
            return;
        }
        match into {
            Into::Split { .. } => self.summary.coverage.see(Seen::SplitWhileDown),
            Into::Merge { .. } => self.summary.coverage.see(Seen::MergeWhileDown),
            Into::Itself | Into::MergedBy { .. } => {}
        }
    }

    /// Tells a message that is delivered, if it is to be told.
    pub(super) fn show(&mut self, from: Address, to: Party, message: &Message) {
        if self.show.names.is_empty() || self.healing {
            return;
        }
        let line = lines::line(message);
        if self.show.shows(self.now_us, lines::name(message), &line) {
            let from = match from {
                Address::Manager => "m".into(),
                Address::Node(node) => Party::Node(node.0 as usize).to_string(),
                Address::Front(front) => Party::Front(front.0 as usize).to_string(),
                Address::Client(client) => Party::Client(client as usize).to_string(),
            };
            let to = if let Party::Manager(_) = to { "m".into() } else { to.to_string() };
            let at_ms = self.now_us as f64 / 1000.0;
            writeln!(self.told, "{at_ms:>10.3} {from} -> {to}  {line}").expect("a string takes whatever is written");
        }
    }

    pub(super) fn tell(&self, event: &Event) {
        let what = match event {
            Event::Deliver { to, from, bytes } => format!("{from:?} -> {to:?}: {:?}", Message::decode(bytes)),
            Event::Tick(_) | Event::ManagerTick(_) | Event::ClientTick(_) | Event::FrontTick(_) => return,
            event => format!("{event:?}"),
        };
        // Where nobody listens any more, as of `| head`, the run goes on.
        let _ = std::io::stderr().lock().write_all(format!("{:>10} {what}\n", self.now_us).as_bytes());
    }
}
