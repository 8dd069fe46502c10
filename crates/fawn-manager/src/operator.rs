//! Asking managers, for programs that wait for the answer.

use crate::links::dial::Dialler;
use crate::links::stream::{Tls, read_frame};
use fawn_kv::ids::ManagerId;
use fawn_kv::link::frame::put_control;
use fawn_kv::link::{Control, Frame, Frames, Party};
use fawn_kv::status::{Answer, Question};
use fawn_kv::wire::version::OLDEST;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::watch;
use tokio::time::timeout;

/// Between two rounds of tries.
const AGAIN: Duration = Duration::from_millis(100);

/// A manager that was started just now listens within this.
const NOBODY: Duration = Duration::from_secs(3);

/// A name is resolved within this, or not at all.
const RESOLVE: Duration = Duration::from_secs(2);

/// Whoever is no manager says so within this.
const LOOK: Duration = Duration::from_secs(1);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// No address is known.
    #[error("no manager is named: give the address of one")]
    Nobody,
    /// None of the managers has answered in time.
    #[error("no leading manager answered within {time:?}; the last try: {last}")]
    NoAnswer {
        /// How long it was tried.
        time: Duration,
        /// What came of the last try.
        last: String,
    },
    /// Others answer at the addresses, or nobody can: it is of no use to wait.
    #[error("{0}; give the address of a manager, as `fawn manager` prints it when it is ready (--manager ADDR:PORT)")]
    NoManagers(String),
    /// The system refuses something.
    #[error("cannot ask the managers: {0}")]
    System(#[from] io::Error),
}

/// Asks whichever manager leads, by way of another one if need be.
#[derive(Debug)]
pub struct Operator {
    addresses: Vec<String>,
    dialler: Dialler,
    time: Duration,
    /// Where nobody listens at any of the addresses, it is tried no longer.
    nobody: Duration,
}

impl Operator {
    /// One that tries these addresses in turn, for so long in all.
    pub fn new(addresses: Vec<String>, tls: Option<Tls>, time: Duration) -> Self {
        let (_, cluster) = watch::channel(None);
        Self { addresses, dialler: Dialler { from: Party::Operator, cluster, tls }, time, nobody: time }
    }

    /// The same, but it gives up soon where nobody listens at any of the addresses.
    #[must_use]
    pub fn that_gives_up_on_nobody(self) -> Self {
        Self { nobody: NOBODY.min(self.time), ..self }
    }

    /// Asks, and waits for the answer, which is never [`Answer::NotLeader`].
    ///
    /// # Errors
    /// [`OperatorError`]. What was asked may be done all the same.
    pub fn ask(&self, question: &Question) -> Result<Answer, OperatorError> {
        if self.addresses.is_empty() {
            return Err(OperatorError::Nobody);
        }
        block_on(self.find(question))?
    }

    async fn find(&self, question: &Question) -> Result<Answer, OperatorError> {
        let start = Instant::now();
        let end = start + self.time;
        let mut was_somebody = false;
        let mut hint = None;
        // Where nobody has answered: a leader at one of these is asked by way of another manager.
        let mut unreached = BTreeSet::new();
        let mut tries = Attempts::default();
        // What those are who were looked at because they did not answer as managers do.
        let mut looked: BTreeMap<String, Option<String>> = BTreeMap::new();
        let mut unresolved: BTreeMap<String, String> = BTreeMap::new();
        loop {
            tries.begin_round();
            let leader: Option<String> = hint.take();
            let others = self.addresses.iter().filter(|address| Some(*address) != leader.as_ref());
            let addresses: Vec<String> = leader.iter().chain(others).cloned().collect();
            for address in addresses {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(OperatorError::NoAnswer { time: self.time, last: tries.told() });
                }
                let within = self.nobody.saturating_sub(start.elapsed()).clamp(AGAIN, RESOLVE);
                if let Err(why) = resolve(&address, within).await {
                    tries.add(true, why.clone());
                    unreached.insert(address.clone());
                    unresolved.insert(address, why);
                    continue;
                }
                unresolved.remove(&address);
                let asked = timeout(left, self.ask_at(&address, question, &unreached)).await;
                match asked.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                    Ok(Answer::NotLeader { leader: Some(leader) }) => {
                        was_somebody = true;
                        tries.add(false, format!("{address} says that {leader} leads"));
                        hint = Some(leader);
                        break;
                    }
                    Ok(Answer::NotLeader { leader: None }) => {
                        was_somebody = true;
                        tries.add(false, format!("{address} knows no leader"));
                    }
                    Ok(answer) => return Ok(answer),
                    // That whoever is said to lead is not there is worth to be told.
                    Err(error) => {
                        was_somebody |= !is_nobody(&error);
                        if is_strange(&error) && !looked.contains_key(&address) {
                            let other = identify(&address).await;
                            looked.insert(address.clone(), other.map(|other| format!("at {address}, {other}")));
                        }
                        let is_idle = is_silence(&error) && leader.as_ref() != Some(&address);
                        tries.add(is_idle, format!("{address}: {error}"));
                        unreached.insert(address);
                    }
                }
            }
            let other = |address| looked.get(address).cloned().flatten();
            let of = |address| other(address).or_else(|| unresolved.get(address).cloned());
            let others: Vec<String> = self.addresses.iter().filter_map(of).collect();
            // A name may be made known a moment later.
            let is_over =
                start.elapsed() >= self.nobody || self.addresses.iter().all(|address| other(address).is_some());
            if others.len() == self.addresses.len() && is_over {
                return Err(OperatorError::NoManagers(others.join("; ")));
            }
            if !was_somebody && start.elapsed() >= self.nobody {
                return Err(OperatorError::NoAnswer { time: self.nobody, last: tries.told() });
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}

impl Operator {
    /// Asks the manager at an address, or by way of it the one that leads, if that one is `unreached`.
    async fn ask_at(&self, address: &str, question: &Question, unreached: &BTreeSet<String>) -> io::Result<Answer> {
        let (answer, leads) = ask_of(&self.dialler, (address, None), question).await?;
        match (&answer, leads) {
            (Answer::NotLeader { leader: Some(at) }, Some(leader)) if unreached.contains(at) => {
                let (answer, _) = ask_of(&self.dialler, (address, Some(leader)), question).await?;
                Ok(answer)
            }
            _ => Ok(answer),
        }
    }
}

/// Refuses addresses of which none can be a manager's: no name is known, or something else answers.
///
/// # Errors
/// [`OperatorError::NoManagers`]; [`OperatorError::System`].
pub fn refuse_others(addresses: &[String]) -> Result<(), OperatorError> {
    block_on(async {
        let mut others = Vec::new();
        for address in addresses {
            others.push(match resolve(address, RESOLVE).await {
                Err(unresolved) => unresolved,
                Ok(()) => match identify(address).await {
                    Some(other) => format!("at {address}, {other}"),
                    None => return Ok(()),
                },
            });
        }
        if others.is_empty() { Ok(()) } else { Err(OperatorError::NoManagers(others.join("; "))) }
    })?
}

/// Runs it to its end. A name that is still being resolved is not waited for.
fn block_on<T>(task: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(task);
    runtime.shutdown_background();
    Ok(done)
}

/// Looks an address up, if it has a name.
///
/// # Errors
/// A sentence that says that it is unknown.
async fn resolve(address: &str, within: Duration) -> Result<(), String> {
    let lookup = async { Ok::<_, io::Error>(lookup_host(address).await?.next().is_some()) };
    match timeout(within, lookup).await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err(format!("the name in {address} has no address")),
        Ok(Err(error)) => Err(format!("the name in {address} is unknown ({error})")),
        Err(_) => Err(format!("the name in {address} was not resolved in time")),
    }
}

/// What answers at an address, if it speaks another language than managers do.
async fn identify(address: &str) -> Option<&'static str> {
    let look = async {
        let mut stream = TcpStream::connect(address).await.ok()?;
        stream.write_all(b"version\r\n\r\n").await.ok()?;
        let mut said = Vec::new();
        loop {
            let read = stream.read_buf(&mut said).await.ok()?;
            let language = language(&said);
            if language.is_some() || read == 0 || said.len() > 64 {
                return language;
            }
        }
    };
    timeout(LOOK, look).await.ok().flatten()
}

/// Who says this after a line that means something to memcached alone.
fn language(said: &[u8]) -> Option<&'static str> {
    let begins = |words: &[&str]| words.iter().any(|word| said.starts_with(word.as_bytes()));
    if begins(&["VERSION ", "ERROR", "CLIENT_ERROR", "SERVER_ERROR"]) {
        Some("a memcached port answers")
    } else if begins(&["HTTP/", "<!DOCTYPE", "<html"]) {
        Some("an HTTP server answers")
    } else if begins(&["SSH-"]) {
        Some("an SSH server answers")
    } else if begins(&["-ERR", "-NOAUTH", "-DENIED"]) {
        Some("a Redis server answers")
    } else {
        None
    }
}

/// Whether somebody is there who does not speak as managers do, or says nothing.
fn is_strange(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, PermissionDenied, TimedOut, UnexpectedEof};
    matches!(error.kind(), InvalidData | PermissionDenied | TimedOut | UnexpectedEof)
}

/// Whether the machine or the network says that nobody listens there.
fn is_nobody(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable};
    matches!(error.kind(), ConnectionRefused | HostUnreachable | NetworkUnreachable)
}

/// Whether nobody was there.
fn is_silence(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, TimedOut};
    matches!(error.kind(), ConnectionRefused | HostUnreachable | NetworkUnreachable | TimedOut)
}

/// What came of tries, in this round and the one before: what somebody answered says more than that others are not there.
#[derive(Debug, Default)]
struct Attempts {
    now: Option<Attempt>,
    before: Option<Attempt>,
}

#[derive(Debug)]
struct Attempt {
    is_silence: bool,
    told: String,
}

impl Attempts {
    fn begin_round(&mut self) {
        if let Some(now) = self.now.take() {
            self.before = Some(now);
        }
    }

    fn add(&mut self, is_silence: bool, told: String) {
        if !is_silence || self.now.as_ref().is_none_or(|now| now.is_silence) {
            self.now = Some(Attempt { is_silence, told });
        }
    }

    /// The last that says something; else the last. The round may not be over yet.
    fn told(self) -> String {
        let tries = || [&self.now, &self.before].into_iter().flatten();
        let best = tries().find(|one| !one.is_silence).or_else(|| tries().next());
        best.map(|one| one.told.clone()).unwrap_or_default()
    }
}

/// Asks the manager at an address.
///
/// # Errors
/// Nobody answers there, or not as a manager does.
pub async fn ask_at(dialler: &Dialler, address: &str, question: &Question) -> io::Result<Answer> {
    Ok(ask_of(dialler, (address, None), question).await?.0)
}

/// Asks the manager at an address, or by way of it the one that is named; who leads, if that is said, too.
async fn ask_of(
    dialler: &Dialler,
    (address, to): (&str, Option<ManagerId>),
    question: &Question,
) -> io::Result<(Answer, Option<ManagerId>)> {
    let mut link = dialler.dial(address, to.map(Party::Manager)).await?;
    let (speaks, least) = (link.greeted.version, question.since());
    if speaks < least {
        let what =
            format!("it speaks version {speaks}, and this command needs version {least}: upgrade the managers first");
        return Err(io::Error::new(io::ErrorKind::Unsupported, what));
    }
    let mut frame = Vec::new();
    put_control(&mut frame, &Control::Ask { number: 1, question: question.clone() });
    link.stream.write_all(&frame).await?;
    let (mut version, mut details, mut leads) = (None, BTreeMap::new(), None);
    loop {
        match read_frame(&mut link.stream, &mut link.rest, Frames::trusted()).await? {
            Frame::Control(Control::Speaks { version: said }) => version = Some(said),
            Frame::Control(Control::Leads { leader, .. }) => leads = leader,
            Frame::Control(Control::Details(said)) => details = said,
            Frame::Control(Control::Answer { answer: Answer::Status(mut status), .. }) => {
                status.details = details;
                // One that does not say it speaks nothing newer.
                status.version = version.or(Some(OLDEST));
                return Ok((Answer::Status(status), leads));
            }
            Frame::Control(Control::Answer { answer, .. }) => return Ok((answer, leads)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_speaks_another_language_is_named() {
        let is = |said: &[u8], what: &str| language(said).is_some_and(|language| language.contains(what));
        assert!(is(b"VERSION 1.6.38\r\n", "memcached") && is(b"CLIENT_ERROR unauthenticated\r\n", "memcached"));
        assert!(is(b"HTTP/1.1 400 Bad Request", "HTTP") && is(b"-ERR unknown command", "Redis"));
        // A greeting, an alert of TLS, and nothing.
        for other in [&b"\x10\0\0\0abcd"[..], b"\x15\x03\x03\0\x02", b""] {
            assert_eq!(language(other), None);
        }
    }

    #[test]
    fn an_answer_is_told_rather_than_that_others_are_not_there() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert!(is_silence(&refused) && !is_silence(&io::Error::other("no certificate")));
        let mut tries = Attempts::default();
        tries.begin_round();
        tries.add(true, "a: refused".to_owned());
        tries.add(false, "b knows no leader".to_owned());
        tries.add(true, "c: refused".to_owned());
        tries.begin_round();
        tries.add(true, "a: refused".to_owned());
        assert_eq!(tries.told(), "b knows no leader", "this round has not come to b yet");
        let mut tries = Attempts::default();
        for told in ["b knows no leader", "b is silent", "b is silent still"] {
            tries.begin_round();
            tries.add(told.contains("silent"), told.to_owned());
        }
        assert_eq!(tries.told(), "b is silent still", "what was answered long ago is no news");
    }
}
