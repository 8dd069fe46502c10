//! When a seat lets memcached clients in: once the managers have taken it in, and a get in each part of the key space was
//! answered. A client that connects before is refused by the system, and so goes to another front-end.
//!
//! Where some parts answer and others do not for [`PARTIAL_MS`], the seat serves what there is: a range that is lost is no
//! reason to keep clients from all others.

use super::requests::LOCAL;
use crate::observe::warnings::RateLimitedLog;
use fawn_kv::frontend::{Front, Lack};
use fawn_kv::ids::{Asker, RequestId};
use fawn_kv::wire::{Answer, Message};
use fawn_ring::Key;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// The seat serves without the parts that do not answer, so long after others have.
const PARTIAL_MS: u64 = 15_000;

/// Between two rounds of gets.
const AGAIN_MS: u64 = 100;

/// Nothing is logged about a wait that is shorter.
const QUIET_MS: u64 = 3000;

/// Tags of these gets; clients' requests have none so high before the seat is ready.
const TAG: u64 = 1 << 63;

/// What is known outside the front-end.
#[derive(Clone, Copy, Debug)]
pub struct ReadinessInputs {
    /// A manager that leads is connected.
    pub has_leader: bool,
    /// The managers have taken the node in, if there is one.
    pub is_member: bool,
}

/// Whether a seat can serve, and what it waits for.
#[derive(Debug, Default)]
pub struct Readiness {
    is_over: bool,
    /// Gets under way: the lowest places of their parts, by their tags.
    asked: BTreeMap<u64, Key>,
    /// Parts that have answered.
    answered: BTreeSet<Key>,
    next_tag: u64,
    /// Of the round that is under way.
    parts: usize,
    unanswered: usize,
    is_whole: bool,
    round_ms: Option<u64>,
    began_ms: Option<u64>,
    /// When the first get was answered.
    answered_ms: Option<u64>,
    lack: Option<Lack>,
}

impl Readiness {
    /// Whether clients may come.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Goes on; what the front-end is to be asked.
    pub fn step(&mut self, front: Option<&Front>, inputs: ReadinessInputs, now_ms: u64) -> Vec<Message> {
        let began_ms = *self.began_ms.get_or_insert(now_ms);
        if self.is_over || !inputs.is_member {
            self.log(inputs, now_ms - began_ms);
            return Vec::new();
        }
        let Some(front) = front else {
            self.is_over = true;
            return Vec::new();
        };
        if self.round_ms.is_some() && self.asked.is_empty() && self.unanswered == 0 && self.is_whole {
            self.is_over = true;
            return Vec::new();
        }
        if self.answered_ms.is_some_and(|at| now_ms >= at + PARTIAL_MS) {
            tracing::warn!("clients are served, but not for all keys: {}", self.waits_for(inputs));
            self.is_over = true;
            return Vec::new();
        }
        self.log(inputs, now_ms - began_ms);
        if !self.asked.is_empty() || self.round_ms.is_some_and(|at| now_ms < at + AGAIN_MS) {
            return Vec::new();
        }
        self.begin_round(front, now_ms)
    }

    fn begin_round(&mut self, front: &Front, now_ms: u64) -> Vec<Message> {
        let parts = match front.parts() {
            Ok(parts) => parts,
            Err(lack) => {
                (self.lack, self.round_ms) = (Some(lack), None);
                return Vec::new();
            }
        };
        (self.lack, self.round_ms, self.is_whole) = (None, Some(now_ms), parts.is_whole);
        self.parts = parts.keys.len();
        let left: Vec<_> = parts.keys.into_iter().filter(|(low, _)| !self.answered.contains(low)).collect();
        self.unanswered = left.len();
        let get = |(low, key): (Key, Vec<u8>)| {
            let tag = TAG | self.next_tag;
            self.next_tag += 1;
            self.asked.insert(tag, low);
            Message::Ask {
                id: RequestId { session: 0, number: tag },
                answered: None,
                asker: Asker { address: LOCAL, tag },
                forwarded: false,
                key,
                place: None,
                operation: None,
                continuation: None,
            }
        };
        left.into_iter().map(get).collect()
    }

    /// The front-end has answered; whether that was asked here.
    pub fn answered(&mut self, tag: u64, answer: &Answer, now_ms: u64) -> bool {
        let Some(low) = self.asked.remove(&tag) else { return false };
        // A chain that cannot read its flash there answers as it will later.
        if matches!(answer, Answer::Found(_) | Answer::Unreadable) {
            self.answered.insert(low);
            self.unanswered -= 1;
            self.answered_ms.get_or_insert(now_ms);
        }
        true
    }

    /// What it waits for, in a clause.
    pub fn waits_for(&self, inputs: ReadinessInputs) -> String {
        let what = match self.lack {
            _ if !inputs.has_leader => "it has not heard from a leading manager yet",
            _ if !inputs.is_member => "the managers have not admitted its node yet",
            Some(Lack::Manager) => "the managers have not admitted its front-end yet",
            Some(Lack::Owner) => "no front-end owns any keys yet",
            Some(Lack::Chain) => "no chain exists yet: the cluster begins once it has enough nodes",
            None if self.parts == 0 => "it does not know the chains yet",
            None if self.unanswered == 0 => "some keys have no chain yet",
            None => {
                return format!(
                    "{} of {} parts of the keys do not answer yet: their nodes are away or have lost data, or \
                    leases must end first (see `fawn status`)",
                    self.unanswered, self.parts
                );
            }
        };
        what.to_owned()
    }

    fn log(&self, inputs: ReadinessInputs, waited_ms: u64) {
        static LOG: RateLimitedLog = RateLimitedLog::new();
        if !self.is_over && waited_ms >= QUIET_MS && LOG.happened(Instant::now()).is_some() {
            tracing::warn!("clients are not served yet: {}", self.waits_for(inputs));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::frontend::Limits;
    use fawn_kv::ids::{
        Address, Attempt, Chain, Epoch, FrontId, FrontMember, Incarnation, Member, NodeId, Position, RangeId, Rules,
        Seq, Wedge, WedgeEpoch,
    };
    use fawn_kv::timing::{Now, Timing};
    use fawn_ring::{Interval, Secret};

    const IN: ReadinessInputs = ReadinessInputs { has_leader: true, is_member: true };

    fn hear(front: &mut Front, message: Message) {
        front.receive(Now::at(0, 0), message, &mut Vec::new());
    }

    /// A front-end of a cluster whose ranges have these keys.
    fn front(keys: &[Interval]) -> Front {
        let (me, nonce, incarnation) = (FrontId(0), 7, Incarnation(1));
        let mut front = Front::new(me, nonce, Timing::default(), Limits::default(), Secret([3; 32]));
        hear(&mut front, Message::FrontWelcome { nonce, incarnation });
        let owner = Some(FrontMember { front: me, incarnation });
        let wedges = vec![Wedge { keys: Interval::ALL, epoch: WedgeEpoch(1), owner, released: false }];
        let chain = |keys: &Interval| Chain {
            keys: *keys,
            epoch: Epoch(1),
            attempt: Attempt(1),
            members: vec![Member { node: NodeId(1), incarnation }],
            after: Position::default(),
            first: Seq(1),
            rules: Rules::default(),
        };
        let chains = keys.iter().zip(0..).map(|(keys, range)| (RangeId(range), chain(keys))).collect();
        hear(&mut front, Message::View { since: 0, number: 1, chains, wedges });
        front
    }

    /// The tags of gets that are asked.
    fn tags(asked: &[Message]) -> Vec<u64> {
        let tag = |message: &Message| match message {
            Message::Ask { asker: Asker { address: LOCAL, tag }, operation: None, .. } => *tag,
            other => panic!("{other:?} is no get"),
        };
        asked.iter().map(tag).collect()
    }

    #[test]
    fn a_seat_is_ready_once_each_part_of_the_keys_has_answered() {
        let front = front(&Interval::ALL.divide(2));
        let mut ready = Readiness::default();
        let asked = tags(&ready.step(Some(&front), IN, 0));
        assert_eq!((asked.len(), ready.is_over()), (2, false));
        assert!(ready.answered(asked[0], &Answer::Found(None), 10));
        assert!(ready.answered(asked[1], &Answer::TimedOut, 10));
        assert!(!ready.answered(asked[1], &Answer::Found(None), 10), "it was answered");
        assert!(ready.step(Some(&front), IN, 20).is_empty() && !ready.is_over());
        assert!(
            ready
                .waits_for(IN)
                .starts_with("1 of 2 parts of the keys do not answer yet: their nodes are away or have lost data")
        );
        let again = tags(&ready.step(Some(&front), IN, 200));
        for tag in &again {
            ready.answered(*tag, &Answer::Found(None), 210);
        }
        assert!(ready.step(Some(&front), IN, 220).is_empty() && ready.is_over());
        assert_eq!(again.len(), 1, "the other has answered");
    }

    #[test]
    fn a_part_that_never_answers_keeps_clients_from_the_others_for_a_while_alone() {
        let whole = Interval::ALL.divide(2);
        let (front, mut ready) = (front(&whole[..1]), Readiness::default());
        let asked = tags(&ready.step(Some(&front), IN, 0));
        ready.answered(asked[0], &Answer::Found(None), 10);
        ready.step(Some(&front), IN, 20);
        assert_eq!((ready.is_over(), ready.waits_for(IN).as_str()), (false, "some keys have no chain yet"));
        ready.step(Some(&front), IN, 10 + PARTIAL_MS);
        assert!(ready.is_over());
    }

    #[test]
    fn what_a_seat_waits_for_is_told() {
        let mut ready = Readiness::default();
        let outside = ReadinessInputs { has_leader: false, is_member: false };
        assert!(ready.step(None, outside, 0).is_empty() && !ready.is_over());
        assert_eq!(ready.waits_for(outside), "it has not heard from a leading manager yet");
        assert!(ready.waits_for(ReadinessInputs { has_leader: true, ..outside }).ends_with("admitted its node yet"));
        let begun = Front::new(FrontId(0), 7, Timing::default(), Limits::default(), Secret([3; 32]));
        ready.step(Some(&begun), IN, 10);
        assert!(ready.waits_for(IN).ends_with("admitted its front-end yet"));
        ready.step(Some(&front(&[])), IN, 20);
        assert!(ready.waits_for(IN).starts_with("no chain exists yet"));
        assert!(!ready.is_over());
        let mut alone = Readiness::default();
        alone.step(None, IN, 0);
        assert!(alone.is_over(), "a node without a front-end has nobody to keep waiting");
    }

    #[test]
    fn the_gets_are_answered_to_the_seats_own_address() {
        let front = front(&[Interval::ALL]);
        let asked = Readiness::default().step(Some(&front), IN, 0);
        assert!(matches!(&asked[..], [Message::Ask { asker, .. }] if asker.address == Address::Client(0)));
    }
}
