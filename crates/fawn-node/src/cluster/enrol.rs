//! Asking the managers to be let in: once, at the start, before there is an event loop.

use crate::error::ServeError;
use fawn_kv::ids::{ClusterId, ManagerId};
use fawn_kv::link::control::Enrolled;
use fawn_kv::link::{Control, Frame, Frames, Greeting, Lane, Party, control, frame};
use fawn_kv::manager::roster::Enrolment;
use fawn_kv::status::Answer;
use fawn_kv::wire::version::VersionRange;
use fawn_ring::Secret;
use fawn_tls::{Reloading, Role, advice, server_name_for};
use rustls::{ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a manager may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(200);

/// Between two lines in the log while nobody answers.
const TELL: Duration = Duration::from_secs(5);

/// What one manager said.
enum EnrolReply {
    Enrolled(Box<Enrolled>),
    /// It will never be otherwise.
    Refused(String),
    /// Ask the leader there, or again.
    Elsewhere(Option<(ManagerId, String)>),
    /// Not yet, and why: ask again.
    NotYet(String),
}

/// Asks until a manager lets the process in. Managers are at these addresses, one or more of all, protected if that is on.
///
/// # Errors
/// [`ServeError::Refused`] when they will not; [`ServeError::Interrupted`] when `stop` was set meanwhile.
pub fn enrol(
    (addresses, secure): (&[String], Option<&Reloading<fawn_tls::Links>>),
    who: &Enrolment,
    (cluster, secret): (Option<ClusterId>, Option<Secret>),
    stop: &AtomicBool,
) -> Result<Enrolled, ServeError> {
    let say = Control::Enrol { who: who.clone(), cluster, secret };
    let (mut told, mut hint): (Option<Instant>, Option<String>) = (None, None);
    let elsewhere =
        format!(" at {}; if managers have other addresses now, start it with these (--manager)", addresses.join(", "));
    while !stop.load(Ordering::SeqCst) {
        let (mut last, hinted) = (String::new(), hint.take());
        let (mut is_unreached, mut is_answered) = (false, false);
        for address in hinted.iter().chain(addresses) {
            let mut said = call(address, None, secure, cluster, &say);
            if let Ok(EnrolReply::Elsewhere(Some((leader, at)))) = &said
                && is_unreached
                && hinted.as_ref() == Some(at)
            {
                // The leader does not answer: by way of this one it may.
                said = call(address, Some(*leader), secure, cluster, &say);
            }
            is_answered |= said.is_ok();
            match said {
                Ok(EnrolReply::Enrolled(enrolled)) => return Ok(*enrolled),
                Ok(EnrolReply::Refused(why)) => return Err(ServeError::Refused(why)),
                Ok(EnrolReply::Elsewhere(Some((_, leader)))) => {
                    hint = Some(leader);
                    break;
                }
                Ok(EnrolReply::Elsewhere(None)) => last = format!("{address} knows no leading manager"),
                Ok(EnrolReply::NotYet(why)) => {
                    last = format!("{address}: {why}");
                    break;
                }
                Err(error) => {
                    is_unreached |= hinted.as_ref() == Some(address);
                    last = format!("{address}: {error}");
                }
            }
        }
        if hint.is_none() && told.is_none_or(|told| told.elapsed() > TELL) {
            told = Some(Instant::now());
            tracing::warn!(
                "no manager admits this process yet ({last}): retrying{}",
                if is_answered { "" } else { &elsewhere }
            );
        }
        std::thread::sleep(PAUSE);
    }
    Err(ServeError::Interrupted)
}

/// Calls the manager at an address, or by way of it the one that is named, and says something; what the answer is.
fn call(
    address: &str,
    to: Option<ManagerId>,
    secure: Option<&Reloading<fawn_tls::Links>>,
    cluster: Option<ClusterId>,
    say: &Control,
) -> io::Result<EnrolReply> {
    let mut stream = connect(address)?;
    let deadline = Instant::now() + ANSWER;
    let Some(secure) = secure else {
        return ask(&mut stream, (cluster, to), say, deadline).map_err(advice::plain);
    };
    let name = server_name_for(&Role::Manager).map_err(io::Error::other)?;
    let links = secure.current();
    let session = ClientConnection::new(links.client, name).map_err(io::Error::other)?;
    let said = ask(&mut StreamOwned::new(session, stream), (cluster, to), say, deadline);
    said.map_err(|error| advice::secure(error, &links.ca, "a manager"))
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut tried = Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
    for address in address.to_socket_addrs()? {
        tried = TcpStream::connect_timeout(&address, ANSWER);
        if tried.is_ok() {
            break;
        }
    }
    let stream = tried?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    Ok(stream)
}

/// Greets a manager and says something; what it answers.
fn ask(
    stream: &mut (impl Read + Write),
    (cluster, to): (Option<ClusterId>, Option<ManagerId>),
    say: &Control,
    deadline: Instant,
) -> io::Result<EnrolReply> {
    let (from, to, magic) = (Party::Newcomer, to.map(Party::Manager), control::MAGIC);
    let VersionRange { oldest: lowest, newest: highest } = VersionRange::OWN;
    let mut out = Vec::new();
    let greeting = Greeting { magic, lowest, highest, cluster, from, to, lane: Lane::Client };
    frame::put_control(&mut out, &Control::Greeting(greeting));
    frame::put_control(&mut out, say);
    stream.write_all(&out)?;
    let (mut input, mut buffer, mut leader) = (Vec::new(), [0; 4096], None);
    let (mut addresses, mut has_spoken, mut is_greeted) = (None, false, false);
    while Instant::now() < deadline {
        let wrong =
            |error| io::Error::new(io::ErrorKind::InvalidData, format!("it does not answer like a manager: {error}"));
        while let Ok((frame, used)) = Frames::trusted().next(&input).map_err(wrong)? {
            input.drain(..used);
            has_spoken = true;
            match frame {
                Frame::Control(Control::Enrolled(enrolled)) => return Ok(EnrolReply::Enrolled(Box::new(enrolled))),
                // What comes before it is known who answers is not the leader's: it is not reached, or leads no longer.
                Frame::Control(Control::Refused { why }) if to.is_some() && !is_greeted => {
                    return Err(io::Error::other(why));
                }
                Frame::Control(Control::Refused { why }) => return Ok(EnrolReply::Refused(why)),
                Frame::Control(Control::Greeted(_)) => is_greeted = true,
                Frame::Control(Control::Leads { leader: now, .. }) => leader = now,
                Frame::Control(Control::Roster(roster)) => addresses = Some(roster.managers),
                Frame::Control(Control::Answer { answer: Answer::NotLeader { leader: at }, .. }) => {
                    return Ok(EnrolReply::Elsewhere(leader.zip(at)));
                }
                Frame::Control(Control::Answer { answer: Answer::Refused(why), .. }) => {
                    return Ok(EnrolReply::NotYet(why));
                }
                _ => {}
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) if !has_spoken => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(0) => {
                let at = leader.and_then(|leader| Some((leader, addresses.as_ref()?.get(&leader)?.clone())));
                return Ok(EnrolReply::Elsewhere(at));
            }
            Ok(count) => input.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => break,
            // Whoever has spoken did not hang up for want of TLS.
            Err(error) if has_spoken => return Err(io::Error::other(error.to_string())),
            Err(error) => return Err(error),
        }
    }
    let what = if has_spoken { "no answer in time" } else { "it does not answer: is it the address of a manager?" };
    Err(io::Error::new(io::ErrorKind::TimedOut, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::ids::SeatId;
    use fawn_kv::link::Greeted;
    use fawn_kv::manager::roster::{Change, NodeClass, Roster};
    use std::net::TcpListener;

    fn enrolled(roster: &Roster) -> Enrolled {
        let (machine, first) = (fawn_ring::MachineId(1), SeatId(4));
        let (cluster, secret) = (ClusterId([7; 16]), Secret([9; 32]));
        Enrolled { cluster, secret, first, machine, domain: None, roster: roster.clone() }
    }

    #[test]
    fn a_leader_that_is_not_reached_lets_a_process_in_by_way_of_another_manager() {
        let follower = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = follower.local_addr().unwrap().to_string();
        // Nobody listens there.
        let leader = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let mut roster = Roster::default();
        roster.apply(&Change::Manager { id: ManagerId(1), address: Some(leader) });
        let server = std::thread::spawn(move || {
            let mut wanted = Vec::new();
            while wanted.last() != Some(&Some(Party::Manager(ManagerId(1)))) {
                let (mut caller, mut said, mut buffer) = (follower.accept().unwrap().0, Vec::new(), [0; 4096]);
                let greeting = loop {
                    let count = caller.read(&mut buffer).unwrap();
                    said.extend_from_slice(&buffer[..count]);
                    if let Ok((Frame::Control(Control::Greeting(greeting)), _)) = Frames::default().next(&said).unwrap()
                    {
                        break greeting;
                    }
                };
                wanted.push(greeting.to);
                let from = greeting.to.unwrap_or(Party::Manager(ManagerId(2)));
                let (version, you) = (greeting.highest, greeting.from);
                let end = match greeting.to {
                    None => Control::Roster(roster.clone()),
                    Some(_) => Control::Enrolled(enrolled(&roster)),
                };
                let mut answer = Vec::new();
                for control in [
                    Control::Greeted(Greeted { version, cluster: None, from, you }),
                    Control::Leads { term: 1, leader: Some(ManagerId(1)) },
                    end,
                ] {
                    frame::put_control(&mut answer, &control);
                }
                caller.write_all(&answer).unwrap();
            }
            wanted
        });
        let who = Enrolment {
            name: "a".to_owned(),
            directory: [1; 16],
            address: "127.0.0.1:1".to_owned(),
            clients: None,
            node: NodeClass::Serving,
            is_front: true,
            seats: 1,
            machine: "a".to_owned(),
            domain: None,
            virtual_ids: 1,
            release: "0.1.0".to_owned(),
        };
        let given = enrol((&[address], None), &who, (None, None), &AtomicBool::new(false)).unwrap();
        assert_eq!(given.first, SeatId(4));
        let wanted = server.join().unwrap();
        assert_eq!(wanted, [None, None, Some(Party::Manager(ManagerId(1)))], "it is called itself first");
    }
}
