//! What is wrong with a seat, in sentences for its operator; and the log, where something begins to be wrong or is over.

use super::ranges::Ranges;
use fawn_kv::chain::Replica;
use fawn_kv::ids::RangeId;
use fawn_kv::node::Node;
use fawn_kv::store::RangeStore as _;
use fawn_kv::timing;

/// By how many seconds a machine's clock may differ from the cluster's time before its operator is told.
const CLOCK_OFF_S: i64 = 5;

/// What is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Troubles {
    /// The node's store has no room for values.
    is_full: bool,
    /// Ranges that take no writes, as their chains are too short.
    too_short: usize,
    /// A range whose time is ahead, by how many seconds, and how many such ranges there are.
    ahead: Option<(RangeId, u32, usize)>,
    /// By how many seconds the system's clock is ahead of the process's time, if by too many.
    clock_off_s: Option<i64>,
    /// The system's clock was never set.
    is_unset: bool,
    /// No other member answers it.
    is_cut_off: bool,
}

impl Troubles {
    /// What is wrong with a seat's node, if it has one, and with its clock, which is ahead by `off_s` seconds.
    pub fn of(node: Option<&Node<Ranges>>, at: timing::Now, off_s: i64) -> Self {
        let replicas = node.into_iter().flat_map(Node::replicas);
        let ahead =
            replicas.map(|(range, replica)| (replica.ahead_s(at.unix), range)).filter(|(ahead_s, _)| *ahead_s > 0);
        let (furthest, count) =
            ahead.fold((None, 0), |(furthest, count), ahead| (furthest.max(Some(ahead)), count + 1));
        Self {
            too_short: node.into_iter().flat_map(Node::replicas).filter(|(_, replica)| is_too_short(replica)).count(),
            is_full: node.is_some_and(|node| node.store().is_full()),
            ahead: furthest.map(|(ahead_s, range)| (range, ahead_s, count)),
            clock_off_s: Some(off_s).filter(|off_s| off_s.abs() > CLOCK_OFF_S),
            is_unset: at.unix <= timing::Now::UNKNOWN,
            is_cut_off: false,
        }
    }

    /// The same of a seat that no other member answers, or some do.
    pub fn with_cut_off(self, is_cut_off: bool) -> Self {
        Self { is_cut_off, ..self }
    }

    /// A sentence for each that keeps the seat from serving as it should.
    pub fn of_health(&self) -> Vec<String> {
        // Whoever is left of all members is well, and its front-end owns wedges.
        Self { clock_off_s: None, is_cut_off: false, ..*self }.sentences()
    }

    /// A sentence for each that managers do not know by themselves.
    pub fn for_managers(&self) -> Vec<String> {
        Self { too_short: 0, ..*self }.sentences()
    }

    /// A sentence for each.
    fn sentences(&self) -> Vec<String> {
        let full = self.is_full.then(|| {
            "its disk is full, so it refuses puts of its ranges: delete something, or make room on the disk".to_owned()
        });
        let too_short = (self.too_short > 0).then(|| {
            format!(
                "it refuses puts of {} of its ranges, which have fewer replicas than --min-write-replicas: start \
                the nodes that are away, or lower it",
                self.too_short
            )
        });
        let ahead = self.ahead.map(|(range, ahead_s, count)| {
            format!(
                "the expiry clock of {count} of its ranges is ahead of the system clock, that of range {} by \
                {ahead_s} s: it refuses puts that would expire too soon; if the system clock is right, restart the \
                node, which sets the expiry clock back ten minutes later",
                range.0
            )
        });
        let off = self.clock_off_s.map(|off_s| {
            let way = if off_s > 0 { "ahead of" } else { "behind" };
            let off_s = off_s.unsigned_abs();
            format!("its system clock is {off_s} s {way} the time that this process uses: set the clock")
        });
        let unset = self
            .is_unset
            .then(|| "its system clock is not set, so it refuses puts with a time to live: set the clock".to_owned());
        let cut_off = self
            .is_cut_off
            .then(|| "no other member answers it: check the network and the firewalls between them".to_owned());
        [full, too_short, ahead, off, unset, cut_off].into_iter().flatten().collect()
    }

    /// Logs what has changed since it was looked at last; `seat` names it.
    pub fn log_changes(&self, before: &Self, seat: u32) {
        match (before.is_full, self.is_full) {
            (false, true) => tracing::warn!("seat {seat}: the disk is full: puts are refused until there is room"),
            (true, false) => tracing::info!("seat {seat}: the disk has room again: puts are accepted"),
            _ => {}
        }
        match (before.ahead, self.ahead) {
            (None, Some((range, ahead_s, count))) => tracing::warn!(
                "seat {seat}: the expiry clock of {count} ranges is ahead of the system clock, that of range {} by \
                {ahead_s} s: puts that would expire too soon are refused until it is set back; if the system clock \
                is right, restart the node",
                range.0
            ),
            (Some(_), None) => {
                tracing::warn!("seat {seat}: the expiry clock of its ranges is no longer ahead of the system clock");
            }
            _ => {}
        }
        match (before.is_cut_off, self.is_cut_off) {
            (false, true) => tracing::warn!("seat {seat}: no other member answers it"),
            (true, false) => tracing::info!("seat {seat}: other members answer it again"),
            _ => {}
        }
    }
}

fn is_too_short(replica: &Replica) -> bool {
    replica.chain().is_some_and(|chain| !chain.takes_writes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_in_sentences_that_say_what_to_do() {
        let well = Troubles::of(None, timing::Now::at(1, 1_800_000_000), 3);
        assert_eq!(well, Troubles::default());
        assert_eq!(well.sentences(), [""; 0]);
        let off = Troubles::of(None, timing::Now::at(1, 1_800_000_000), -31_536_000);
        assert_eq!(off.of_health(), [""; 0], "it serves all the same");
        assert_eq!(
            off.sentences(),
            ["its system clock is 31536000 s behind the time that this process uses: set the clock"]
        );
        let ill = Troubles { is_full: true, ahead: Some((RangeId(7), 100, 2)), ..off };
        let sentences = ill.sentences().join("; ");
        assert!(
            sentences.contains("its disk is full") && sentences.contains("that of range 7 by 100 s"),
            "{sentences}"
        );
        let short = Troubles { too_short: 4, ..well };
        assert!(short.of_health().join("; ").starts_with("it refuses puts of 4 of its ranges"));
        assert_eq!(short.for_managers(), [""; 0], "they know");
        assert!(well.with_cut_off(true).for_managers().join("; ").starts_with("no other member answers it"));
        let unset = Troubles::of(None, timing::Now::at(1, timing::Now::UNKNOWN), 0);
        assert!(unset.sentences().join("; ").contains("is not set"));
    }
}
