//! Who a seat is, and what it knows of its cluster: the roster, the version, and by them who may call.

use crate::cluster::link::{LinkState, PeerLink};
use crate::net::tls::Secure;
use fawn_kv::ids::{Address, ClusterId, SeatId};
use fawn_kv::link::{Control, Greeted, Greeting, Lane, Party, control};
use fawn_kv::manager::roster::{Member, Roster};
use fawn_kv::wire::version::{OLDEST, VersionRange};
use fawn_tls::certificate::Expiry;
use fawn_tls::{Reloading, Role, server_name_for};
use std::sync::Arc;

/// The member that a seat belongs to.
#[derive(Debug)]
struct OwnMember {
    name: String,
    directory: [u8; 16],
}

/// A seat's place in its cluster.
#[derive(Debug)]
pub struct Membership {
    me: SeatId,
    cluster: ClusterId,
    own: Option<OwnMember>,
    roster: Roster,
    /// The cluster's version, as far as managers have said.
    version: u8,
    /// The roster or the version is another than when that was looked at last.
    has_changed: bool,
    /// Why the seat's process has to end.
    ousted: Option<String>,
    /// How links are protected; `None`: not at all.
    secure: Option<Arc<Reloading<fawn_tls::Links>>>,
}

impl Membership {
    /// Seat `me` of a cluster, whose roster was this when the seat enrolled.
    pub fn new(
        me: SeatId,
        cluster: ClusterId,
        roster: Roster,
        secure: Option<Arc<Reloading<fawn_tls::Links>>>,
    ) -> Self {
        let own = roster
            .member_of(me)
            .map(|(name, member)| OwnMember { name: name.to_owned(), directory: member.said.directory });
        Self { me, cluster, own, roster, version: OLDEST, has_changed: true, ousted: None, secure }
    }

    /// The seat.
    pub fn me(&self) -> SeatId {
        self.me
    }

    /// The newest roster that managers have sent.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// The cluster's version, as far as is known.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// The name of the member that this seat belongs to.
    pub fn name(&self) -> &str {
        self.roster.member_of(self.me).map_or("", |(name, _)| name)
    }

    /// The name of the member that a seat belongs to.
    pub fn name_of(&self, seat: SeatId) -> &str {
        self.roster.member_of(seat).map_or("a seat of no member", |(name, _)| name)
    }

    /// One seat of each other member.
    pub fn helpers(&self) -> Vec<Address> {
        let others = self.roster.members.iter().filter(|(name, _)| *name != self.name());
        let helper = |member: &Member| if member.said.is_front { member.first.front() } else { member.first.node() };
        others.map(|(_, member)| helper(member)).collect()
    }

    /// A manager has sent a roster that is no older. It says whether this seat's member is still a part of the cluster.
    pub fn set_roster(&mut self, roster: Roster) {
        self.roster = roster;
        self.has_changed = true;
        self.ousted = self.reason_to_end();
    }

    /// A manager has named the cluster's version. It never goes back, whatever a manager knows that lags.
    pub fn set_version(&mut self, version: u8) {
        self.has_changed |= version > self.version;
        self.version = self.version.max(version);
    }

    /// Whether members or the cluster's version have changed since the last call.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// A manager has said that this seat's member is none.
    pub fn note_removed(&mut self) {
        self.ousted = self.reason_if_removed();
    }

    /// Takes the reason why the seat's process has to end, if it has.
    pub fn take_ousted(&mut self) -> Option<String> {
        self.ousted.take()
    }

    /// Why the seat's member is no longer the one that the roster names, if so: it would go on asking to be heard, and with
    /// another process that has its name they would end each other's lives.
    fn reason_to_end(&self) -> Option<String> {
        let OwnMember { name, directory } = self.own.as_ref()?;
        match self.roster.members.get(name) {
            Some(member) if member.said.directory == *directory => None,
            Some(_) => Some(format!("another process, with another directory, has the name {name} now")),
            None => self.reason_if_removed(),
        }
    }

    fn reason_if_removed(&self) -> Option<String> {
        let OwnMember { name, .. } = self.own.as_ref()?;
        Some(format!(
            "{name} is no longer a member of the cluster: it was removed, or the managers that knew it are lost \
            (fawn manager recover). To join again, start this process with another --name and another --dir, and \
            keep this one until no data are missing"
        ))
    }

    /// The version that both sides speak if somebody may call; `Err`: why not.
    pub fn check(&self, greeting: &Greeting) -> Result<u8, String> {
        if greeting.magic != control::MAGIC {
            return Err("this is the cluster port of a FAWN node: memcached clients use its --listen address".into());
        }
        let Some(version) = VersionRange::OWN.common(greeting.spoken()) else {
            let (VersionRange { oldest, newest }, from, to) = (VersionRange::OWN, greeting.lowest, greeting.highest);
            return Err(format!(
                "this side speaks versions {oldest} to {newest}, and you speak {from} to {to}: run releases with a \
                common version"
            ));
        };
        if greeting.cluster.is_some_and(|cluster| cluster != self.cluster) {
            return Err(format!("this is cluster {}, and you belong to another", self.cluster));
        }
        if greeting.to.is_some_and(|to| to != Party::Seat(self.me)) {
            return Err("the call was for another process: the roster may have changed".into());
        }
        match greeting.from {
            Party::Seat(seat) if seat == self.me => Err("this is the calling seat itself".into()),
            Party::Seat(_) | Party::Client(_) => Ok(version),
            Party::Manager(_) | Party::Newcomer | Party::Operator => Err("only managers answer that, not nodes".into()),
        }
    }

    /// Whether a link's certificate is one of this party.
    pub fn is_shown(&self, link: &PeerLink, party: Party) -> bool {
        let Some(identity) = link.identity() else { return self.secure.is_none() };
        match party {
            Party::Seat(seat) => self.roster.member_of(seat).is_some_and(|(name, _)| identity.is_member(name)),
            Party::Client(_) => identity.may_ask(|name| self.roster.members.contains_key(name)),
            Party::Manager(_) | Party::Newcomer | Party::Operator => false,
        }
    }

    /// Whether the party of an established link is no longer, by the roster, who it says.
    pub fn is_expelled(&self, link: &PeerLink) -> bool {
        match link.party {
            Some(party @ (Party::Seat(_) | Party::Client(_))) if link.state == LinkState::Up => {
                let is_member = !matches!(party, Party::Seat(seat) if self.roster.member_of(seat).is_none());
                !is_member || !self.is_shown(link, party)
            }
            _ => false,
        }
    }

    /// What the seat says first over a link that it makes.
    pub fn greeting(&self, to: Option<Party>, lane: Lane) -> Control {
        Control::Greeting(Greeting {
            magic: control::MAGIC,
            lowest: VersionRange::OWN.oldest,
            highest: VersionRange::OWN.newest,
            cluster: Some(self.cluster),
            from: Party::Seat(self.me),
            to,
            lane,
        })
    }

    /// What the seat answers somebody who has called.
    pub fn greeted(&self, version: u8, you: Party) -> Control {
        Control::Greeted(Greeted { version, cluster: Some(self.cluster), from: Party::Seat(self.me), you })
    }

    /// Whether somebody who was called speaks a version of this seat, and belongs to its cluster as far as it says.
    pub fn accepts(&self, greeted: &Greeted) -> bool {
        let VersionRange { oldest, newest } = VersionRange::OWN;
        let is_spoken = (oldest..=newest).contains(&greeted.version);
        is_spoken && greeted.cluster.is_none_or(|cluster| cluster == self.cluster)
    }

    /// A link that this side makes, with TLS if that is on.
    pub fn secure_outgoing(&self, link: PeerLink) -> Option<PeerLink> {
        let Some(secure) = &self.secure else { return Some(link) };
        let role = match link.party {
            Some(Party::Seat(seat)) => Role::Member(self.roster.member_of(seat)?.0.to_owned()),
            _ => Role::Manager,
        };
        let name = server_name_for(&role).ok()?;
        Some(link.secured(Secure::calling(&secure.current().client, name).ok()?))
    }

    /// A link that somebody else has made, with TLS if that is on.
    pub fn secure_incoming(&self, link: PeerLink) -> Option<PeerLink> {
        let Some(secure) = &self.secure else { return Some(link) };
        match Secure::called(&secure.current().server) {
            Ok(secure) => Some(link.secured(secure)),
            Err(error) => {
                tracing::warn!("cannot start TLS for a connection: {error}");
                None
            }
        }
    }

    /// When the certificate ends that is shown on links.
    pub fn certificate_expiry(&self) -> Option<Expiry> {
        self.secure.as_ref().and_then(|secure| secure.expiry())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: SeatId = SeatId(1);

    fn membership() -> Membership {
        Membership::new(ME, ClusterId([7; 16]), Roster::default(), None)
    }

    /// What seat 2 says that calls this one.
    fn greeting() -> Greeting {
        let Control::Greeting(greeting) = Membership::new(SeatId(2), ClusterId([7; 16]), Roster::default(), None)
            .greeting(Some(Party::Seat(ME)), Lane::Chain)
        else {
            unreachable!("a greeting is one")
        };
        greeting
    }

    #[test]
    fn who_may_call_is_of_the_same_cluster_and_means_this_seat() {
        let membership = membership();
        assert_eq!(membership.check(&greeting()), Ok(VersionRange::OWN.newest));
        let refused = |change: fn(&mut Greeting)| {
            let mut greeting = greeting();
            change(&mut greeting);
            membership.check(&greeting).unwrap_err()
        };
        assert!(refused(|greeting| greeting.cluster = Some(ClusterId([8; 16]))).contains("you belong to another"));
        assert!(refused(|greeting| greeting.to = Some(Party::Seat(SeatId(3)))).contains("for another process"));
        assert!(refused(|greeting| greeting.from = Party::Seat(ME)).contains("the calling seat itself"));
        assert!(refused(|greeting| greeting.from = Party::Operator).contains("only managers answer that"));
        assert!(refused(|greeting| (greeting.lowest, greeting.highest) = (254, 255)).contains("a common version"));
    }

    #[test]
    fn the_version_of_the_cluster_never_goes_back() {
        let mut membership = membership();
        assert!(membership.take_changed(), "nobody has looked yet");
        membership.set_version(OLDEST + 1);
        assert!(membership.take_changed());
        membership.set_version(OLDEST);
        assert_eq!((membership.version(), membership.take_changed()), (OLDEST + 1, false));
    }
}
