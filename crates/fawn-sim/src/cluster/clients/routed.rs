//! Clients that know who owns what: what `fawn-client` runs on (`fawn_kv::client`) asks for them, in the place of the simulated
//! client's own tries.
//!
//! What it says was refused is asked for once more, as another request: if anything had been done all the same, it would be done
//! twice, and the checkers would see it.

use std::sync::Arc;

use fawn_kv::client::{Client, Limits, RequestOutcome, Want};
use fawn_kv::ids::{Address, FrontId};
use fawn_kv::timing::Now;
use fawn_kv::wire::Answer;
use fawn_kv::wire::Message;
use fawn_kv::wire::version::NEWEST;

use crate::cluster::keys::SECRET;
use crate::cluster::network::sessions::ROUTED_SESSIONS;

/// A request is given up after this, and perhaps asked for once more.
const DEADLINE_US: u64 = 6_000_000;

/// A front-end that seems to be gone cannot be called for so long: longer than it is left alone.
const AWAY_US: u64 = 700_000;

/// What became of what was asked.
#[derive(Debug)]
pub enum RoutedOutcome {
    /// It is answered.
    Answered(Answer),
    /// Nothing was done.
    Nothing,
    /// Nobody knows.
    Unknown,
}

/// One client's machine.
#[derive(Debug)]
pub struct RoutedClient {
    machine: Client,
    /// What it waits for.
    ticket: Option<u64>,
    /// As of when it was last told the time.
    now: Now,
    /// What it has to say with the next tick.
    held: Vec<(Address, Message)>,
    /// Who cannot be called, and until when.
    away: Option<(FrontId, u64)>,
}

impl RoutedClient {
    /// That of client `number`, in a cluster with so many front-ends, whose ranges remember sessions for so long.
    pub fn new(number: u32, fronts: u32, session_idle_s: u32) -> Self {
        let low = ROUTED_SESSIONS as u32 | number << 8;
        let mut machine =
            Client::new(Address::Client(number), low, Limits { session_idle_s, ..Limits::default() }, SECRET);
        machine.set_fronts((0..fronts).map(FrontId));
        Self { machine, ticket: None, now: Now::at(0, 0), held: Vec::new(), away: None }
    }

    /// Whether it waits for anything.
    pub fn is_asking(&self) -> bool {
        self.ticket.is_some()
    }

    /// What the clock of the day says.
    pub fn tell_unix(&mut self, unix: u32) {
        self.now.unix = unix;
    }

    /// Asks for something.
    pub fn ask(&mut self, now_us: u64, key: Vec<u8>, want: Want, out: &mut Vec<(Address, Message)>) {
        self.now.us = now_us;
        self.ticket = Some(self.machine.ask(self.now, key, want, now_us + DEADLINE_US, out));
        self.keep_back(out);
    }

    /// Nobody waits for it any more.
    pub fn give_up(&mut self) {
        self.ticket = None;
    }

    /// Time has passed; a front-end may seem to be gone.
    pub fn tick(
        &mut self,
        now_us: u64,
        lost: Option<FrontId>,
        out: &mut Vec<(Address, Message)>,
    ) -> Option<RoutedOutcome> {
        self.now.us = now_us;
        out.append(&mut self.held);
        if let Some(front) = lost {
            self.machine.lost(front, self.now);
            self.away = Some((front, now_us + AWAY_US));
        }
        self.machine.tick(self.now, out);
        self.keep_back(out);
        self.became()
    }

    /// What is for whom cannot be called is never sent; the machine is told so.
    fn keep_back(&mut self, out: &mut Vec<(Address, Message)>) {
        let Some((front, _)) = self.away.filter(|(_, until_us)| self.now.us < *until_us) else { return };
        let unsent: Vec<_> = out.extract_if(.., |(to, _)| *to == Address::Front(front)).collect();
        if !unsent.is_empty() {
            self.machine.unreached(front, &unsent, self.now);
        }
    }

    /// A message has come.
    pub fn receive(&mut self, message: Message) -> Option<RoutedOutcome> {
        self.machine.receive(self.now, (message, NEWEST), &mut self.held);
        self.became()
    }

    fn became(&mut self) -> Option<RoutedOutcome> {
        while let Some((ticket, ended)) = self.machine.next_ended() {
            if self.ticket == Some(ticket) {
                self.ticket = None;
                return Some(match ended {
                    RequestOutcome::Found(kept) | RequestOutcome::FoundWith(kept, _) => {
                        RoutedOutcome::Answered(Answer::Found(kept.map(Arc::new)))
                    }
                    RequestOutcome::Done { outcome, position, shown } => {
                        RoutedOutcome::Answered(Answer::Done { outcome, position, again: false, shown })
                    }
                    RequestOutcome::Flushed => RoutedOutcome::Answered(Answer::Flushed),
                    // A weak cluster takes none, however often it is asked.
                    RequestOutcome::Refused(refusal @ Answer::Conditional) => RoutedOutcome::Answered(refusal),
                    RequestOutcome::Refused(_) | RequestOutcome::Unreached => RoutedOutcome::Nothing,
                    RequestOutcome::Unknown => RoutedOutcome::Unknown,
                });
            }
        }
        None
    }
}
