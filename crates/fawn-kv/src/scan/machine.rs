//! The machine: whom it asks for what next, and what came of it.

use super::{Bookmark, Cut, Event, Stretch, What};
use crate::ids::{Address, Asker, Chain, Member, NodeId, Position, RangeId, RequestId};
use crate::range::chain_map::Map;
use crate::scan::{Found, Sought};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::Now;
use crate::wire::Message;
use fawn_ring::Interval;
use std::collections::VecDeque;

/// However long a node says that it needs, it is asked again after this, in microseconds.
const MOST_WAIT_US: u64 = 60_000_000;

/// When it asks again, in microseconds, and how much it asks for before it is taken.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// What is not answered is asked of another member after this.
    pub retry_us: u64,
    /// After somebody said to ask elsewhere.
    pub elsewhere_us: u64,
    /// While more events wait to be taken, nothing is asked.
    pub events: usize,
    /// Only one pass is made of each stretch: it is of no one record, and keys that come and go meanwhile may lack.
    pub once: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { retry_us: 3_000_000, elsewhere_us: 50_000, events: 2, once: false }
    }
}

/// Somebody who reads all that is in a cluster.
#[derive(Debug)]
pub struct Scanner {
    asker: Asker,
    limits: Limits,
    map: Map,
    bookmark: Bookmark,
    /// Number of the last question, and whom it was asked of, until it is answered.
    asked: u64,
    waits_for: Option<NodeId>,
    /// Tries since the last answer that brought anything.
    tries: usize,
    due_us: u64,
    events: VecDeque<Event>,
    /// Why the last try came to nothing.
    trouble: Option<&'static str>,
}

impl Scanner {
    /// One that is answered as `asker`, and goes on from a bookmark. No two that are answered at one address have one tag.
    pub fn new(asker: Asker, limits: Limits, bookmark: Bookmark) -> Self {
        Self {
            asker,
            limits,
            map: Map::default(),
            bookmark,
            asked: 0,
            waits_for: None,
            tries: 0,
            due_us: 0,
            events: VecDeque::new(),
            trouble: None,
        }
    }

    /// Begins with what is known of chains, where otherwise it would ask for that first.
    #[must_use]
    pub fn knowing(self, map: Map) -> Self {
        Self { map, ..self }
    }

    /// The next thing that has come.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether everything has come, and was taken.
    pub fn is_over(&self) -> bool {
        self.events.is_empty() && self.bookmark.is_over()
    }

    /// When [`tick`](Self::tick) has something to do next.
    pub fn due_us(&self) -> Option<u64> {
        (!self.bookmark.is_over() && self.events.len() < self.limits.events).then_some(self.due_us)
    }

    /// Why nothing has come for a while, if nothing has.
    pub fn trouble(&self) -> Option<&'static str> {
        self.trouble
    }

    /// A node cannot be reached, or not any more.
    pub fn lost(&mut self, node: NodeId, now: Now) {
        if self.waits_for == Some(node) {
            self.waits_for = None;
            self.trouble = Some("a node cannot be reached");
            self.due_us = now.us + self.limits.elsewhere_us;
        }
    }

    /// Time has passed, or an event was taken.
    pub fn tick(&mut self, now: Now, out: &mut Vec<(Address, Message)>) {
        if self.due_us().is_none_or(|due_us| now.us < due_us) {
            return;
        }
        if self.waits_for.take().is_some() {
            self.trouble = Some("a node does not answer");
        }
        self.due_us = now.us + self.limits.retry_us;
        if self.tries > 0 || self.map.is_empty() {
            out.push((Address::Manager, Message::AskView { asker: self.asker.address, known: self.map.number() }));
        }
        let Some((range, chain)) = self.find() else {
            self.trouble = Some("no node of the next keys is known");
            self.tries += 1;
            self.due_us = now.us + self.limits.elsewhere_us;
            return;
        };
        let Some(stretch) = self.bookmark.stretches.last() else { return };
        let to = self.whom(stretch, &chain);
        let (low, high) = (stretch.from.unwrap_or(stretch.keys.low), stretch.keys.high);
        let Stretch { since, began, least, .. } = *stretch;
        let sought = match stretch.from {
            Some(_) => Sought::Part { since, began },
            None => Sought::Records { after: began.unwrap_or(since) },
        };
        self.tries += 1;
        self.asked += 1;
        self.waits_for = Some(to.node);
        let (id, asker, keys) = (self.name(), self.asker, Interval::new(low, high));
        out.push((Address::Node(to.node), Message::Scan { range, id, asker, keys, least, sought }));
    }

    /// What the last question is called.
    fn name(&self) -> RequestId {
        RequestId { session: self.asker.tag, number: self.asked }
    }

    /// The range that the stretch under way is in: one is begun where there is none, and cut where it is in several.
    fn find(&mut self) -> Option<(RangeId, Chain)> {
        let low = self.bookmark.low()?;
        let (range, chain) = self.map.lookup(&low)?;
        if self.bookmark.stretches.is_empty() {
            let last = self.bookmark.last;
            let high = chain.keys.high.min(last);
            self.bookmark.rest = high.successor().filter(|next| *next <= last);
            self.bookmark.stretches.push(Stretch::new(Interval::new(low, high)));
        }
        let stretch = self.bookmark.stretches.last_mut()?;
        if stretch.keys.high > chain.keys.high
            && let Some(rest) = stretch.cut(&chain.keys.high)
        {
            took(Path::ScanCut);
            let at = self.bookmark.stretches.len() - 1;
            self.bookmark.stretches.insert(at, rest);
        }
        Some((range, chain.clone()))
    }

    /// Whom to ask: who answers gets of the range where nothing has come yet, another member after each try that came to
    /// nothing; an archive only where there are no others.
    fn whom(&self, stretch: &Stretch, chain: &Chain) -> Member {
        if stretch.least == Position::default() || chain.is_weak() {
            return if planted(Bug::ScanOfAnyMember) { chain.head() } else { chain.reader() };
        }
        let serving = chain.members.iter().filter(|member| !member.node.is_archive()).copied();
        let mut members: Vec<Member> = serving.collect();
        if members.is_empty() {
            members.clone_from(&chain.members);
        }
        let last = members.iter().position(|member| Some(*member) == stretch.source).unwrap_or(members.len() - 1);
        members[(last + self.tries) % members.len()]
    }

    /// A message has come.
    pub fn receive(&mut self, now: Now, message: Message) {
        match message {
            Message::View { since, number, chains, .. } => {
                let is_first = self.map.is_empty();
                self.map.learn_changes((since, number), chains);
                if is_first && self.waits_for.is_none() {
                    self.due_us = now.us;
                }
            }
            Message::Scanned { id, from, found, .. } if id == self.name() && self.waits_for == Some(from.node) => {
                self.waits_for = None;
                self.due_us = now.us;
                self.found(from, found, now);
            }
            _ => {}
        }
    }

    fn found(&mut self, from: Member, found: Found, now: Now) {
        if self.is_other_log(from) {
            return self.anew();
        }
        let found = match self.check(found) {
            Ok(found) => found,
            Err(trouble) => {
                (self.trouble, self.due_us) = (Some(trouble), now.us + self.limits.elsewhere_us);
                return;
            }
        };
        let wait_us = match found {
            Found::NotMine => Some((self.limits.elsewhere_us, "the nodes do not have the requested keys")),
            Found::Later { wait_us } => Some((wait_us.min(MOST_WAIT_US), "a node has no lease, or is busy, or lags")),
            Found::Unreadable => Some((self.limits.elsewhere_us, "a node cannot read its disk")),
            _ => None,
        };
        if let Some((wait_us, trouble)) = wait_us {
            self.trouble = Some(trouble);
            self.due_us = now.us + wait_us;
            return;
        }
        let Some(stretch) = self.bookmark.stretches.last_mut() else { return };
        if stretch.source.replace(from).is_some_and(|before| before != from) {
            took(Path::ScanGoesOn);
        }
        (self.tries, self.trouble) = (0, None);
        match found {
            Found::Part { kept, next, at, upto } => {
                stretch.began.get_or_insert(at);
                stretch.least = stretch.least.max(upto);
                stretch.from = next;
                self.say(What::Part(kept));
                if self.limits.once || planted(Bug::ScanNotFollowed) {
                    self.end_if_passed();
                }
            }
            Found::Records { kept, upto, ended } => {
                stretch.began = Some(upto);
                let least = stretch.least;
                stretch.least = least.max(upto);
                if !kept.is_empty() {
                    self.say(What::Records(kept));
                }
                match ended {
                    Some(alive) if upto >= least => self.over(upto, *alive),
                    // It knows of less than was seen: it will know of more.
                    Some(_) => self.due_us = now.us + self.limits.elsewhere_us,
                    None => {}
                }
            }
            Found::TooOld if stretch.from.is_none() => stretch.pass_again(),
            Found::TooOld => self.anew(),
            Found::NotMine | Found::Later { .. } | Found::Unreadable => unreachable!("it was looked for above"),
        }
    }
}

impl Scanner {
    /// Whether an answer can be one to the last question: what it shows goes on, within what was asked for.
    fn check(&self, found: Found) -> Result<Found, &'static str> {
        let Some(stretch) = self.bookmark.stretches.last() else { return Ok(found) };
        match &found {
            Found::Part { next, at, upto, .. } => {
                let low = stretch.from.unwrap_or(stretch.keys.low);
                let goes_on = next.is_none_or(|next| low < next && next <= stretch.keys.high);
                if stretch.from.is_none() || !goes_on || !at.is_possible() || !upto.is_possible() {
                    return Err("a node's reply is invalid: it does not continue from the requested position");
                }
            }
            Found::Records { upto, ended, .. } => {
                let after = stretch.began.unwrap_or(stretch.since);
                let goes_on = *upto > after || (*upto == after && ended.is_some());
                if stretch.from.is_some() || !goes_on || !upto.is_possible() {
                    return Err("a node's reply is invalid: it is not about the next keys");
                }
            }
            Found::NotMine | Found::Later { .. } | Found::TooOld | Found::Unreadable => {}
        }
        Ok(found)
    }

    fn say(&mut self, what: What) {
        let bookmark = self.bookmark.clone();
        self.events.push_back(Event { what, bookmark });
    }

    /// Whether what a member shows goes with nothing of what has come: in a weak range each has a log of its own.
    fn is_other_log(&self, from: Member) -> bool {
        let Some(stretch) = self.bookmark.stretches.last() else { return false };
        let is_weak = self.map.lookup(&stretch.keys.low).is_some_and(|(_, chain)| chain.is_weak());
        is_weak && stretch.source.is_some_and(|before| before != from)
    }

    /// The stretch begins anew.
    fn anew(&mut self) {
        took(Path::ScanAnew);
        let Some(stretch) = self.bookmark.stretches.last_mut() else { return };
        let (keys, passes) = (stretch.keys, stretch.passes + 1);
        *stretch = Stretch { passes, ..Stretch::new(keys) };
        self.say(What::Anew(keys));
    }

    fn over(&mut self, at: Position, alive: crate::range::meta::Alive) {
        let Some(Stretch { keys, passes, .. }) = self.bookmark.stretches.pop() else { return };
        let range = self.map.lookup(&keys.low).map(|(range, _)| range).unwrap_or_default();
        let cut = Box::new(Cut { keys, range, at, passes, alive });
        self.say(What::Over(cut));
    }

    /// Where one pass is all, it is over with that.
    fn end_if_passed(&mut self) {
        let Some(stretch) = self.bookmark.stretches.last() else { return };
        if stretch.from.is_none() {
            let at = stretch.began.unwrap_or_default();
            self.over(at, crate::range::meta::Alive::default());
        }
    }
}
