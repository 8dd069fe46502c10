//! Addresses of hosts' names, looked up by a thread of their own.
//!
//! While a name server is away, asking it takes seconds, and an event loop has none to spare: leases are shorter. So a loop takes
//! what is known of a name, and asks again with its next call where that is nothing yet. A name is looked up anew after a call
//! that came to nothing; until there is an answer, what was known before counts.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Names that are remembered, at most.
const MOST_NAMES: usize = 1024;

/// Names that wait to be looked up, at most.
const MOST_WAITING: usize = 64;

/// Looks up `HOST:PORT`, and takes as long as that takes.
type LookUp = Arc<dyn Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

/// Where somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAddress {
    /// There.
    At(SocketAddr),
    /// It is being looked up.
    Unknown,
    /// Nowhere, as far as could be found out.
    Nowhere,
}

/// What is known of a name.
#[derive(Debug, Default)]
struct HostEntry {
    /// As of the last time that there was an answer.
    addresses: Vec<SocketAddr>,
    /// It waits to be looked up, or is being looked up.
    is_asked: bool,
    /// The last time there was no answer.
    failed: bool,
}

type Book = Mutex<HashMap<String, HostEntry>>;

/// All names of a process.
pub struct Names {
    look_up: LookUp,
    book: Arc<Book>,
    /// To the thread, once there was anything to look up; it ends with this.
    asked: Mutex<Option<SyncSender<String>>>,
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Names").field("book", &self.book).finish_non_exhaustive()
    }
}

impl Default for Names {
    /// Those that the system knows.
    fn default() -> Self {
        Self::new(|name| Ok(name.to_socket_addrs()?.collect()))
    }
}

impl Names {
    /// Those that `look_up` knows.
    pub fn new(look_up: impl Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static) -> Self {
        Self { look_up: Arc::new(look_up), book: Arc::default(), asked: Mutex::default() }
    }

    /// The `turn`-th of the addresses of `HOST:PORT`, counted round and round. It never waits. `in_doubt`: the last call came to
    /// nothing, so it is looked up anew.
    pub fn find(&self, name: &str, turn: usize, in_doubt: bool) -> HostAddress {
        if let Ok(address) = name.parse() {
            return HostAddress::At(address);
        }
        let mut book = lock(&self.book);
        if book.len() >= MOST_NAMES && !book.contains_key(name) {
            book.retain(|_, known| known.is_asked);
        }
        let known = book.entry(name.to_owned()).or_default();
        if (in_doubt || known.addresses.is_empty()) && !known.is_asked {
            known.is_asked = self.ask(name);
        }
        match known.addresses.get(turn % known.addresses.len().max(1)) {
            Some(address) => HostAddress::At(*address),
            None if known.failed => HostAddress::Nowhere,
            None => HostAddress::Unknown,
        }
    }

    /// Has a name looked up, if there is room.
    fn ask(&self, name: &str) -> bool {
        let mut asked = lock(&self.asked);
        if asked.is_none() {
            let (sender, names) = sync_channel(MOST_WAITING);
            let (look_up, book) = (Arc::clone(&self.look_up), Arc::clone(&self.book));
            let thread = std::thread::Builder::new().name("fawn-names".to_owned());
            match thread.spawn(move || run(&names, &look_up, &book)) {
                Ok(_) => *asked = Some(sender),
                Err(error) => tracing::warn!("cannot start the thread that resolves names: {error}"),
            }
        }
        asked.as_ref().is_some_and(|asked| asked.try_send(name.to_owned()).is_ok())
    }
}

fn run(names: &Receiver<String>, look_up: &LookUp, book: &Book) {
    while let Ok(name) = names.recv() {
        let found = look_up(&name);
        let mut book = lock(book);
        let known = book.entry(name.clone()).or_default();
        known.is_asked = false;
        let why = match found {
            Ok(addresses) if !addresses.is_empty() => {
                (known.addresses, known.failed) = (addresses, false);
                continue;
            }
            Ok(_) => "it has no address".to_owned(),
            Err(error) => error.to_string(),
        };
        if !std::mem::replace(&mut known.failed, true) {
            tracing::warn!("cannot resolve {name}: {why}");
        }
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    const NAME: &str = "manager.example:7000";

    /// Names that are looked up when the test says what there is.
    fn names() -> (Names, Sender<io::Result<Vec<SocketAddr>>>) {
        let (answers, given) = channel::<io::Result<Vec<SocketAddr>>>();
        let given = Mutex::new(given);
        let look_up = move |name: &str| {
            assert_eq!(name, NAME);
            lock(&given).recv().unwrap_or_else(|_| Err(io::ErrorKind::NotFound.into()))
        };
        (Names::new(look_up), answers)
    }

    /// Asks until it is answered so.
    fn until(names: &Names, turn: usize, in_doubt: bool, place: HostAddress) {
        while names.find(NAME, turn, in_doubt) != place {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, last], 7000))
    }

    #[test]
    fn nobody_waits_for_a_name_server_that_is_away() {
        let (names, answers) = names();
        // The server answers nothing before all this was asked.
        for turn in 0..1000 {
            assert_eq!(names.find(NAME, turn, turn > 0), HostAddress::Unknown);
            assert_eq!(names.find("192.0.2.9:7000", turn, true), HostAddress::At(address(9)), "this needs no server");
        }
        answers.send(Ok(vec![address(1)])).unwrap();
        until(&names, 0, false, HostAddress::At(address(1)));
    }

    #[test]
    fn all_addresses_of_a_name_are_tried_in_turn_and_new_ones_once_calls_fail() {
        let (names, answers) = names();
        answers.send(Ok(vec![address(1), address(2)])).unwrap();
        until(&names, 0, false, HostAddress::At(address(1)));
        assert_eq!(
            [1, 2, 3].map(|turn| names.find(NAME, turn, false)),
            [2, 1, 2].map(|last| HostAddress::At(address(last)))
        );
        assert_eq!(
            names.find(NAME, 1, true),
            HostAddress::At(address(2)),
            "what is known counts until there is an answer"
        );
        answers.send(Err(io::ErrorKind::TimedOut.into())).unwrap();
        answers.send(Ok(vec![address(3)])).unwrap();
        until(&names, 1, true, HostAddress::At(address(3)));
    }

    #[test]
    fn a_name_that_nobody_knows_is_nowhere_and_looked_up_again() {
        let (names, answers) = names();
        answers.send(Err(io::ErrorKind::NotFound.into())).unwrap();
        until(&names, 0, false, HostAddress::Nowhere);
        answers.send(Ok(Vec::new())).unwrap();
        answers.send(Ok(vec![address(1)])).unwrap();
        until(&names, 0, true, HostAddress::At(address(1)));
    }
}
