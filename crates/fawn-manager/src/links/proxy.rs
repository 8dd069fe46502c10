//! Connections to the leader by way of another manager, for callers that do not reach it themselves
//! ([decision 42](../../../../docs/decisions/0042-ways-around-to-the-leader.md)).
//!
//! A caller greets a follower, and names the leader as the party that it calls. The follower calls the leader, says
//! [`Control::Proxied`] with the caller's greeting and what the caller's certificate has shown, and from there on copies bytes in
//! both directions. The leader treats the connection as the caller's own.

use super::dial::{Dialler, OutgoingLink};
use super::stream::{BoxedStream, SILENCE, STALLED, read_frame};
use crate::consensus::Group;
use fawn_kv::ids::ManagerId;
use fawn_kv::link::frame::put_control;
use fawn_kv::link::{Control, Frame, Frames, Greeting, Party, Proxied};
use fawn_kv::wire::version::PROXIES;
use fawn_tls::{Identity, Role};
use std::io;
use std::net::IpAddr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// The leader answers a caller's greeting within this, or the caller is refused.
const ANSWER: Duration = Duration::from_secs(2);

/// Bytes that are copied at once.
const COPIED_BYTES: usize = 16 << 10;

/// Somebody who has greeted.
#[derive(Debug)]
pub struct Caller {
    /// What it has said.
    pub greeting: Greeting,
    /// Who its certificate says that it is; `None`: it was asked for none.
    pub identity: Option<Identity>,
    /// Where it calls from; `None`: within the process.
    pub host: Option<IpAddr>,
}

/// The leader and its address, if somebody calls it here, and it is another manager. Managers call each other themselves.
pub fn leader_called(group: &Group, greeting: &Greeting) -> Option<(ManagerId, String)> {
    let Some(Party::Manager(to)) = greeting.to else { return None };
    let metrics = group.metrics();
    let metrics = metrics.borrow();
    if matches!(greeting.from, Party::Manager(_)) || metrics.id == to.0 || metrics.current_leader != Some(to.0) {
        return None;
    }
    let address = metrics.membership_config.membership().get_node(&to.0)?.addr.clone();
    (!address.is_empty()).then_some((to, address))
}

/// Calls the leader for somebody, who has said `rest` after its greeting. What the leader answers is still to be read.
///
/// # Errors
/// Why the leader is not reached, in a sentence.
pub async fn call(
    dialler: &Dialler,
    (leader, address): &(ManagerId, String),
    Caller { greeting, identity, host }: Caller,
    rest: &[u8],
) -> Result<OutgoingLink, String> {
    let ended = async {
        let mut link = dialler.dial(address, Some(Party::Manager(*leader))).await?;
        if link.greeted.version < PROXIES {
            return Err(io::Error::other(format!("it speaks no version above {}: upgrade it", link.greeted.version)));
        }
        let roles = identity.map(|identity| identity.roles().map(Role::dns_name).collect());
        let host = host.map(|host| host.to_string());
        let mut frames = Vec::new();
        put_control(&mut frames, &Control::Proxied(Proxied { greeting, roles, host }));
        frames.extend_from_slice(rest);
        link.stream.write_all(&frames).await?;
        // Up to the answer to the caller, it has spoken to this manager.
        let answer = async {
            loop {
                let frame = read_frame(&mut link.stream, &mut link.rest, Frames::trusted()).await?;
                if let Frame::Control(answer @ (Control::Greeted(_) | Control::Refused { .. })) = frame {
                    return Ok::<_, io::Error>(answer);
                }
            }
        };
        let answer = timeout(ANSWER, answer).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        let mut first = Vec::new();
        put_control(&mut first, &answer);
        link.rest.splice(..0, first);
        Ok(link)
    };
    ended
        .await
        .map_err(|error| format!("manager {} at {address} leads, but cannot be reached from here: {error}", leader.0))
}

/// Copies what the caller and the leader say to each other, until one of them has hung up.
pub async fn carry(caller: BoxedStream, link: OutgoingLink) {
    let OutgoingLink { stream, rest, .. } = link;
    let (from_caller, mut to_caller) = tokio::io::split(caller);
    let (from_leader, to_leader) = tokio::io::split(stream);
    let down = async {
        timeout(STALLED, to_caller.write_all(&rest)).await??;
        copy(from_leader, to_caller).await
    };
    let ended = tokio::select! {
        ended = down => ended,
        ended = copy(from_caller, to_leader) => ended,
    };
    if let Err(error) = ended {
        tracing::debug!("a connection forwarded by this manager ended: {error}");
    }
}

/// Copies up to the end. Both sides say [`Control::Alive`] now and then.
async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut bytes = vec![0; COPIED_BYTES];
    loop {
        let count = timeout(SILENCE, from.read(&mut bytes)).await??;
        let write = async {
            if count == 0 {
                return to.shutdown().await;
            }
            to.write_all(&bytes[..count]).await?;
            to.flush().await
        };
        timeout(STALLED, write).await??;
        if count == 0 {
            return Ok(());
        }
    }
}

/// Whom another manager speaks for. `is_secured`: certificates are asked for, and that manager has shown its own.
///
/// # Errors
/// What is wrong, in a sentence.
pub fn caller_of(proxied: Proxied, is_secured: bool) -> Result<Caller, String> {
    let Proxied { greeting, roles, host } = proxied;
    let identity = roles.as_deref().and_then(Identity::of_names);
    if is_secured && identity.is_none() {
        return Err(format!("{} has shown no certificate to the manager that speaks for it", greeting.from));
    }
    if matches!(greeting.from, Party::Manager(_)) {
        return Err(format!("{} tried to call itself", greeting.from));
    }
    let host = host.and_then(|host| host.parse().ok());
    // Where nobody is asked for a certificate here, roles say nothing.
    Ok(Caller { greeting, identity: identity.filter(|_| is_secured), host })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::ids::SeatId;
    use fawn_kv::link::Lane;
    use fawn_kv::link::control::MAGIC;

    fn proxied(from: Party, roles: Option<&[&str]>) -> Proxied {
        let (magic, to, lane) = (MAGIC, Some(Party::Manager(ManagerId(1))), Lane::Chain);
        let greeting = Greeting { magic, lowest: 3, highest: 6, cluster: None, from, to, lane };
        let roles = roles.map(|roles| roles.iter().map(ToString::to_string).collect());
        Proxied { greeting, roles, host: Some("10.0.0.9".to_owned()) }
    }

    #[test]
    fn a_manager_speaks_for_those_alone_who_have_shown_a_certificate_where_that_is_asked_for() {
        let seat = Party::Seat(SeatId(3));
        let caller = caller_of(proxied(seat, Some(&["a.member.fawn"])), true).unwrap();
        assert!(caller.identity.is_some_and(|identity| identity.is_member("a") && !identity.is_member("b")));
        assert_eq!(caller.host, Some(IpAddr::from([10, 0, 0, 9])));
        for roles in [None, Some(&[][..]), Some(&["of.no.role"][..])] {
            assert!(caller_of(proxied(seat, roles), true).is_err(), "{roles:?}");
            assert!(caller_of(proxied(seat, roles), false).unwrap().identity.is_none());
        }
        let manager = Party::Manager(ManagerId(2));
        assert!(caller_of(proxied(manager, Some(&["manager.fawn"])), true).is_err(), "managers call themselves");
    }
}
