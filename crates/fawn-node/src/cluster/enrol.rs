//! Asking the managers to be let in: once, at the start, before there is an event loop.

use crate::error::ServeError;
use fawn_kv::ids::ClusterId;
use fawn_kv::inbox::Lane;
use fawn_kv::link::control::{self, Enrolled};
use fawn_kv::link::{Control, Frame, Frames, Greeting, Party, frame};
use fawn_kv::roster::Enrolment;
use fawn_kv::status::Answer;
use fawn_kv::version::Spoken;
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
enum Said {
    Enrolled(Box<Enrolled>),
    /// It will never be otherwise.
    Refused(String),
    /// Ask there, or again.
    Elsewhere(Option<String>),
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
    let say = || Control::Enrol { who: who.clone(), cluster, secret };
    let (mut told, mut hint): (Option<Instant>, Option<String>) = (None, None);
    while !stop.load(Ordering::SeqCst) {
        let mut last = String::new();
        for address in hint.take().iter().chain(addresses) {
            let said = connect(address).and_then(|mut stream| {
                let deadline = Instant::now() + ANSWER;
                let Some(secure) = secure else {
                    return ask(&mut stream, cluster, &say(), deadline).map_err(advice::plain);
                };
                let name = server_name_for(&Role::Manager).map_err(io::Error::other)?;
                let links = secure.current();
                let session = ClientConnection::new(links.client, name).map_err(io::Error::other)?;
                let said = ask(&mut StreamOwned::new(session, stream), cluster, &say(), deadline);
                said.map_err(|error| advice::secure(error, &links.ca, "a manager"))
            });
            match said {
                Ok(Said::Enrolled(enrolled)) => return Ok(*enrolled),
                Ok(Said::Refused(why)) => return Err(ServeError::Refused(why)),
                Ok(Said::Elsewhere(Some(leader))) => {
                    hint = Some(leader);
                    break;
                }
                Ok(Said::Elsewhere(None)) => last = format!("{address} knows of no manager that leads"),
                Ok(Said::NotYet(why)) => {
                    last = format!("{address}: {why}");
                    break;
                }
                Err(error) => last = format!("{address}: {error}"),
            }
        }
        if hint.is_none() && told.is_none_or(|told| told.elapsed() > TELL) {
            told = Some(Instant::now());
            tracing::warn!("no manager lets this process in yet ({last}): asking on");
        }
        std::thread::sleep(PAUSE);
    }
    Err(ServeError::Interrupted)
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
    cluster: Option<ClusterId>,
    say: &Control,
    deadline: Instant,
) -> io::Result<Said> {
    let (from, magic) = (Party::Newcomer, control::MAGIC);
    let Spoken { oldest: lowest, newest: highest } = Spoken::OWN;
    let mut out = Vec::new();
    let greeting = Greeting { magic, lowest, highest, cluster, from, to: None, lane: Lane::Client };
    frame::put_control(&mut out, &Control::Greeting(greeting));
    frame::put_control(&mut out, say);
    stream.write_all(&out)?;
    let (mut input, mut buffer, mut leader) = (Vec::new(), [0; 4096], None);
    let (mut addresses, mut has_spoken) = (None, false);
    while Instant::now() < deadline {
        let wrong =
            |error| io::Error::new(io::ErrorKind::InvalidData, format!("it does not speak as a manager: {error}"));
        while let Ok((frame, used)) = Frames::trusted().next(&input).map_err(wrong)? {
            input.drain(..used);
            has_spoken = true;
            match frame {
                Frame::Control(Control::Enrolled(enrolled)) => return Ok(Said::Enrolled(Box::new(enrolled))),
                Frame::Control(Control::Refused { why }) => return Ok(Said::Refused(why)),
                Frame::Control(Control::Leads { leader: now, .. }) => leader = now,
                Frame::Control(Control::Roster(roster)) => addresses = Some(roster.managers),
                Frame::Control(Control::Answer { answer: Answer::NotLeader { leader }, .. }) => {
                    return Ok(Said::Elsewhere(leader));
                }
                Frame::Control(Control::Answer { answer: Answer::Refused(why), .. }) => return Ok(Said::NotYet(why)),
                _ => {}
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) if !has_spoken => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(0) => {
                let at = leader.and_then(|leader| addresses.as_ref().and_then(|at| at.get(&leader).cloned()));
                return Ok(Said::Elsewhere(at));
            }
            Ok(count) => input.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Whoever has spoken did not hang up for want of TLS.
            Err(error) if has_spoken => return Err(io::Error::other(error.to_string())),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time"))
}
