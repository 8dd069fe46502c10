//! Link emulation: which messages are lost, doubled or late, and which links are cut.

use std::collections::BTreeMap;

use fawn_kv::wire::Message;

use crate::cluster::event::Kernel;
use crate::cluster::network::party::{LinkSet, Party};
use crate::cluster::trace::formatter;

/// What the links between parties do to messages.
#[derive(Default)]
pub struct LinkEmulation {
    /// Of a thousand messages.
    lost: u64,
    doubled: u64,
    slow: u64,
    /// Who does not reach whom, by the partition's number.
    cuts: BTreeMap<u64, LinkSet>,
    next_cut: u64,
    held_back: Option<HoldBack>,
}

/// Messages of one kind, to or from one party, come only at a time.
#[derive(Clone, Copy)]
struct HoldBack {
    party: Party,
    kind: &'static str,
    until_us: u64,
}

impl LinkEmulation {
    /// Of a thousand messages so many are lost, doubled and slow from here on.
    pub fn disturb(&mut self, lost: u64, doubled: u64, slow: u64) {
        (self.lost, self.doubled, self.slow) = (lost, doubled, slow);
    }

    /// Of a thousand messages so many are slow from here on.
    pub fn slow_down(&mut self, slow: u64) {
        self.slow = slow;
    }

    /// Cuts links until [`mend`](Self::mend) is called with the number that this returns.
    pub fn cut(&mut self, links: &LinkSet) -> u64 {
        let number = self.next_cut;
        self.next_cut += 1;
        self.cuts.insert(number, links.clone());
        number
    }

    /// The links of a cut are sound again, unless another cut has them as well.
    pub fn mend(&mut self, cut: u64) {
        self.cuts.remove(&cut);
    }

    /// Messages of one kind, to or from a party, come at `until_us` or later.
    pub fn hold_back(&mut self, party: Party, kind: &'static str, until_us: u64) {
        self.held_back = Some(HoldBack { party, kind, until_us });
    }

    /// From here on all links are sound.
    pub fn heal(&mut self) {
        self.cuts.clear();
        self.held_back = None;
        self.disturb(0, 0, 0);
    }

    /// Whether any link to or from a party is cut.
    pub fn is_touched(&self, party: Party) -> bool {
        self.cuts.values().flatten().any(|(from, to)| *from == party || *to == party)
    }

    /// How many copies of a message arrive; one that goes over a connection, `once`, is not doubled.
    pub fn copies(&self, kernel: &mut Kernel, link: (Party, Party), once: bool) -> u64 {
        if self.cuts.values().any(|cut| cut.contains(&link)) || kernel.chance(self.lost, 1000) {
            return 0;
        }
        1 + u64::from(kernel.chance(self.doubled, 1000) && !once)
    }

    /// How long one copy of a message takes.
    pub fn delay(&self, kernel: &mut Kernel, (from, to): (Party, Party), message: &Message) -> u64 {
        let late = kernel.chance(self.slow, 1000);
        let mut latest = if late { *kernel.random().pick(&[50_000, 300_000, 300_000, 3_000_000]) } else { 1500 };
        let mut held = self.held_back.filter(|held| held.party == to || held.party == from);
        held = held.filter(|held| formatter::is_kind(held.kind, message));
        // Of a copy some parts come in time, so that it goes on.
        let held = held.filter(|held| held.kind != "copy-part" || kernel.chance(1, 2));
        let held_us = held.map_or(0, |held| held.until_us.saturating_sub(kernel.now_us()));
        if held_us > 0 && kernel.chance(1, 2) {
            // What was said earlier may come much later.
            latest = 1_000_000;
        }
        held_us + kernel.delay(50, latest)
    }
}

#[cfg(test)]
mod tests {
    use fawn_check::random::Random;

    use super::*;
    use crate::cluster::script::plan::Plan;

    const LINK: (Party, Party) = (Party::Node(0), Party::Node(1));

    #[test]
    fn a_cut_link_carries_nothing_until_it_is_mended() {
        let (mut links, mut kernel) = (LinkEmulation::default(), Kernel::new(Random::new(1), true));
        let one = links.cut(&[LINK].into());
        let other = links.cut(&[LINK, (LINK.1, LINK.0)].into());
        assert!(links.is_touched(LINK.0) && !links.is_touched(Party::Node(2)));
        links.mend(one);
        assert_eq!(links.copies(&mut kernel, LINK, false), 0);
        links.mend(other);
        assert_eq!(links.copies(&mut kernel, LINK, false), 1);
    }

    #[test]
    fn messages_over_a_connection_are_not_doubled() {
        let (mut links, mut kernel) = (LinkEmulation::default(), Kernel::new(Random::new(1), false));
        links.disturb(0, 1000, 0);
        assert_eq!((links.copies(&mut kernel, LINK, false), links.copies(&mut kernel, LINK, true)), (2, 1));
    }

    #[test]
    fn a_held_back_kind_comes_late_and_others_in_time() {
        let (mut links, mut kernel) = (LinkEmulation::default(), Kernel::new(Random::new(1), true));
        links.hold_back(LINK.1, "heartbeat", 5000);
        let ping = Message::AskView { asker: LINK.0.address(&Plan::plain()), known: 0 };
        assert_eq!(links.delay(&mut kernel, LINK, &ping), 50);
        links.hold_back(LINK.1, "ask-view", 5000);
        assert_eq!(links.delay(&mut kernel, LINK, &ping), 5050);
        assert_eq!(links.delay(&mut kernel, (LINK.0, Party::Node(2)), &ping), 50);
        links.heal();
        assert_eq!(links.delay(&mut kernel, LINK, &ping), 50);
    }
}
