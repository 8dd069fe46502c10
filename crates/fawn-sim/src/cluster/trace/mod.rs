//! The trace of a run: messages and fault actions as a script asks for them, or every event on standard error.

pub mod formatter;
pub mod show;

use std::fmt::Write as _;
use std::io::Write as _;

use fawn_kv::ids::Address;
use fawn_kv::node::Node;
use fawn_kv::wire::Message;

use crate::cluster::event::Event;
use crate::cluster::network::party::Party;
use crate::cluster::processes::Processes;
use crate::cluster::trace::show::Show;

/// What a run prints.
pub struct Trace {
    show: Show,
    /// The lines so far.
    text: String,
    /// Nothing goes wrong any more: no line follows.
    is_over: bool,
}

impl Trace {
    /// A trace of what a script asks for.
    pub fn new(show: Show) -> Self {
        Self { show, text: String::new(), is_over: false }
    }

    /// The lines so far.
    pub fn into_text(self) -> String {
        self.text
    }

    /// No line follows.
    pub fn end(&mut self) {
        self.is_over = true;
    }

    fn is_off(&self) -> bool {
        self.show.names.is_empty() || self.is_over
    }

    /// Prints a message that comes, if the script asks for it; one that comes to nobody as lost.
    pub fn message(&mut self, now_us: u64, (from, to): (Address, Party), message: &Message, processes: &Processes) {
        if self.is_off() {
            return;
        }
        let line = formatter::line(message);
        if self.show.shows(now_us, message, &line) {
            let from = match from {
                Address::Manager => "m".into(),
                Address::Node(node) => Party::Node(node.number() as usize).to_string(),
                Address::Front(front) => Party::Front(front.0 as usize).to_string(),
                Address::Client(client) => Party::Client(client as usize).to_string(),
            };
            let (is_down, over) = match to {
                Party::Node(number) => {
                    let node = processes.nodes[number].node();
                    let lives = node.and_then(Node::member).map(|member| member.incarnation);
                    (node.is_none(), formatter::life(message).filter(|life| node.is_some() && lives != Some(*life)))
                }
                Party::Front(number) => (processes.fronts[number].front().is_none(), None),
                Party::Manager(_) | Party::Client(_) => (false, None),
            };
            let to = if let Party::Manager(_) = to { "m".into() } else { to.to_string() };
            let lost = if is_down { format!(" (lost: {to} is down)") } else { String::new() };
            let life = over.map_or_else(String::new, |life| format!("'{}", life.0));
            self.line(now_us, &format!("{from} -> {to}{life}  {line}{lost}"));
        }
    }

    /// Prints what happens beside messages, and a remark if there is one.
    pub fn happening(&mut self, now_us: u64, what: &str, remark: &str) {
        if self.is_off() || now_us < self.show.from_us {
            return;
        }
        let remark = if remark.is_empty() { String::new() } else { format!(" ({remark})") };
        self.line(now_us, &format!("* {what}{remark}"));
    }

    fn line(&mut self, now_us: u64, line: &str) {
        let at_ms = now_us as f64 / 1000.0;
        writeln!(self.text, "{at_ms:>10.3} {line}").expect("a string takes whatever is written");
    }
}

/// Prints an event on standard error.
pub fn print_event(now_us: u64, event: &Event) {
    let what = match event {
        Event::Deliver { to, from, bytes } => format!("{from:?} -> {to:?}: {:?}", Message::decode(bytes)),
        Event::Tick(_) | Event::ManagerTick(_) | Event::ClientTick(_) | Event::FrontTick(_) => return,
        event => format!("{event:?}"),
    };
    // Where nobody listens any more, as of `| head`, the run goes on.
    let _ = std::io::stderr().lock().write_all(format!("{now_us:>10} {what}\n").as_bytes());
}
