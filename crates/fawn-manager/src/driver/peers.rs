//! What is said over links.

use super::Driver;
use super::enrol::{Newcomer, other_cluster};
use crate::clock::now_us;
use crate::links::listen::LinkEvent;
use crate::links::table::{LinkId, Peer, may_be};
use fawn_kv::link::{Control, Greeted, Greeting, NO_MEMBER, Party, was_removed};
use fawn_tls::Identity;

/// Whether a party takes no part in what is decided: it may be older than the cluster.
pub(super) fn is_outside(party: Party) -> bool {
    matches!(party, Party::Operator | Party::Client(_))
}

impl Driver {
    /// Something has come over a link.
    pub(super) fn link(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Called { link, greeting, version, identity, host, outbox, answer } => {
                let admitted = self.admit(&greeting, identity.as_ref());
                if let Err(why) = &admitted {
                    // Whoever is refused may not tell its operator, or not be the operator's.
                    self.told.warn(&format!("a caller is refused: {why}"));
                }
                if let Ok(you) = admitted {
                    let cluster = self.facts.begun.map(|begun| begun.cluster);
                    let from = Party::Manager(self.me.id);
                    outbox.say(&Control::Greeted(Greeted { version, cluster, from, you }));
                    outbox.say(&self.leads_control());
                    let peer = Peer { party: you, version, outbox, identity, host, hears_roster: false };
                    peer.tell_version(self.facts.version);
                    self.table.add(link, peer);
                }
                // Whoever has called may have gone already: then it is closed at once.
                let _ = answer.send(admitted);
            }
            LinkEvent::Message { link, message } => {
                self.table.heard(link);
                self.receive(message);
            }
            LinkEvent::Control { link, control } => {
                self.table.heard(link);
                self.control(link, control);
            }
            LinkEvent::Closed(link) => self.table.remove(link),
        }
    }

    /// Who a caller is from here on; `Err`: why it may not be.
    fn admit(&mut self, greeting: &Greeting, identity: Option<&Identity>) -> Result<Party, String> {
        let from = greeting.from;
        if let Some(to) = greeting.to.filter(|to| *to != Party::Manager(self.me.id)) {
            return Err(format!("the call was for {to}, but this is manager {}: check its address", self.me.id.0));
        }
        let least = self.facts.version;
        if greeting.highest < least && !is_outside(from) {
            return Err(format!(
                "all processes of this cluster speak version {least}, and {from} speaks no version above {}: \
                upgrade it",
                greeting.highest
            ));
        }
        let ours = self.facts.begun.map(|begun| begun.cluster);
        if let (Some(ours), Some(theirs)) = (ours, greeting.cluster)
            && ours != theirs
        {
            return Err(other_cluster(&from.to_string(), theirs, ours));
        }
        if let Party::Seat(seat) = from
            && self.facts.roster.member_of(seat).is_none()
        {
            // No certificate is one of nobody's seat.
            return Err(if self.facts.roster.has_taken(seat) {
                NO_MEMBER.to_owned()
            } else {
                format!("{from} belongs to no member of this cluster that this manager knows")
            });
        }
        if !may_be(identity, from, &self.facts) {
            if let Some(name) = identity.filter(|_| from == Party::Newcomer).and_then(|it| self.struck_of(it)) {
                return Err(was_removed(name));
            }
            let shown = identity.map(Identity::to_string).unwrap_or_default();
            return Err(format!(
                "the certificate of the other side is not for {from}, but for {shown}: see fawn certs"
            ));
        }
        match from {
            Party::Client(_) => Ok(Party::Client(self.table.next_client())),
            other => Ok(other),
        }
    }

    fn control(&mut self, link: LinkId, control: Control) {
        let Some(peer) = self.table.peer(link) else { return };
        let party = peer.party;
        match (control, party) {
            (Control::AskRoster { known }, party) if party != Party::Newcomer => {
                peer.hears_roster = true;
                if self.facts.roster.number != known {
                    peer.outbox.say(&Control::Roster(self.facts.roster.clone()));
                }
            }
            (Control::AskSecret, Party::Client(_)) => {
                // It asks again until the first member has brought it.
                if let Some(secret) = self.facts.secret {
                    peer.outbox.say(&Control::Secret(secret));
                }
            }
            (Control::Enrol { who, cluster, secret }, Party::Newcomer) => {
                self.newcomer(Newcomer { link, who, cluster, secret });
            }
            (Control::Figures(figures), Party::Seat(seat)) if figures.seat == seat => {
                let known = self.seats.entry(seat).or_default();
                known.hear();
                known.figures = Some(figures);
            }
            (Control::Totals { seat: of, totals }, Party::Seat(seat)) if of == seat => {
                self.seats.entry(seat).or_default().take_totals(totals, now_us());
            }
            (Control::Clock { unix_ms }, Party::Seat(seat)) => self.clock(link, seat, unix_ms),
            (Control::Ping { number }, Party::Seat(_)) => peer.outbox.say(&Control::Pong { number }),
            (Control::Ask { number, question }, Party::Operator | Party::Manager(_)) => {
                self.ask(link, number, question);
            }
            (control, party) => {
                // A later release may say what this one does not know.
                tracing::debug!("{party} sent a message that is not for a manager: {control:?}");
            }
        }
    }
}
