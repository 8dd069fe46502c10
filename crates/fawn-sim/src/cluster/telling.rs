//! What a run tells of itself: messages and acts as a script asks for them, everything where a trace is wanted, and what
//! only the whole cluster shows.

use std::fmt::Write as _;
use std::io::Write as _;

use fawn_kv::ids::Address;
use fawn_kv::manager::{Command, Into};
use fawn_kv::node::Node;
use fawn_kv::wire::Message;

use super::acts::Act;
use super::coverage::Seen;
use super::events::Event;
use super::lines;
use super::world::{Party, World};

impl World {
    /// What only the whole cluster shows of a command.
    pub(super) fn see(&mut self, command: &Command) {
        if self.meets_take_over(command) {
            self.summary.coverage.see(Seen::MergeInTakeOver);
        }
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

    /// Tells a message that comes, if it is to be told; one that comes to nobody as lost.
    pub(super) fn show(&mut self, from: Address, to: Party, message: &Message) {
        if self.show.names.is_empty() || self.healing {
            return;
        }
        let line = lines::line(message);
        if self.show.shows(self.now_us, message, &line) {
            let from = match from {
                Address::Manager => "m".into(),
                Address::Node(node) => Party::Node(node.0 as usize).to_string(),
                Address::Front(front) => Party::Front(front.0 as usize).to_string(),
                Address::Client(client) => Party::Client(client as usize).to_string(),
            };
            let (is_down, over) = match to {
                Party::Node(number) => {
                    let node = self.places[number].node.as_ref();
                    let lives = node.and_then(Node::member).map(|member| member.incarnation);
                    (node.is_none(), lines::life(message).filter(|life| node.is_some() && lives != Some(*life)))
                }
                Party::Front(number) => (self.fronts[number].front.is_none(), None),
                Party::Manager(_) | Party::Client(_) => (false, None),
            };
            let to = if let Party::Manager(_) = to { "m".into() } else { to.to_string() };
            let lost = if is_down { format!(" (lost: {to} is down)") } else { String::new() };
            let life = over.map_or_else(String::new, |life| format!("'{}", life.0));
            self.tell_line(&format!("{from} -> {to}{life}  {line}{lost}"));
        }
    }

    /// Tells that an act happens, and what there is to be said of it.
    pub(super) fn tell_act(&mut self, act: &Act, remark: &str) {
        if remark.is_empty() {
            self.tell_now(&act.to_string());
        } else {
            self.tell_now(&format!("{act} ({remark})"));
        }
    }

    /// Tells what happens, beside messages.
    pub(super) fn tell_now(&mut self, what: &str) {
        if !self.show.names.is_empty() && !self.healing && self.now_us >= self.show.from_us {
            self.tell_line(&format!("* {what}"));
        }
    }

    /// Tells which acts have waited for something in vain.
    pub(super) fn tell_what_never_came(&mut self) {
        for number in 0..self.places.len() {
            let place = &self.places[number];
            let crash = place.crash_at.map(|(kind, ..)| format!("crash-at {number} {kind}"));
            let held = place.hold_back_at.map(|(said, kind, _)| format!("hold-back-at {number} {said} {kind}"));
            let pause = (place.pause_at_read_us > 0).then(|| format!("pause-at-read {number}"));
            for act in [crash, held, pause].into_iter().flatten() {
                self.tell_now(&format!("{act} (it never came to that)"));
            }
        }
    }

    fn tell_line(&mut self, line: &str) {
        let at_ms = self.now_us as f64 / 1000.0;
        writeln!(self.told, "{at_ms:>10.3} {line}").expect("a string takes whatever is written");
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
