//! All that there is in a cluster: what `fawn_kv::scan` makes of it, over a client's connections.

use crate::error::Error;
use fawn_kv::ids::{Address, Asker, NodeId};
use fawn_kv::scan::{Bookmark, Event, Limits, Scanner};
use fawn_kv::timing::Now;
use fawn_kv::wire::Message;
use fawn_ring::{Interval, Key, Secret};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

/// Events that wait to be taken: each holds a part of a range, some 256 KiB.
const EVENTS: usize = 2;

/// A dump of which nothing has come for so long has stalled.
const STALLED: Duration = Duration::from_mins(1);

/// Whoever takes events may want to know that none has come for so long.
const SLOW: Duration = Duration::from_secs(5);

/// Why nothing has come for a while.
type Trouble = Arc<Mutex<&'static str>>;

/// A dump of a cluster under way: it goes no faster than its [events](Event) are taken.
///
/// Each says what has come of a stretch of keys, which begins as one range: parts and records, of which for each key the version
/// with the highest position counts; or that what has come of it is of no use any more; or that it is [over](fawn_kv::scan::Cut),
/// and then which of them were there as of one record. Chains may change meanwhile, and what one node does not answer another
/// does.
///
/// With each comes the [`Bookmark`] from which a dump goes on after it, in this process or in another. It can be serialised.
#[derive(Debug)]
pub struct Dump {
    events: mpsc::Receiver<Event>,
    taken: Arc<Notify>,
    trouble: Trouble,
    secret: Secret,
    /// It was over when it began.
    is_over: bool,
}

/// A dump that the driver is to begin.
#[derive(Debug)]
pub(crate) struct DumpStart {
    bookmark: Bookmark,
    events: mpsc::Sender<Event>,
    trouble: Trouble,
}

impl Dump {
    /// `taken` is told when an event was taken.
    pub(crate) fn begin(bookmark: Option<Bookmark>, secret: Secret, taken: Arc<Notify>) -> (DumpStart, Self) {
        let bookmark = bookmark.unwrap_or_else(|| Bookmark::new(Interval::ALL));
        let (events, receiver) = mpsc::channel(EVENTS);
        let trouble = Arc::new(Mutex::new("no node was asked yet"));
        let is_over = bookmark.is_over();
        let begun = DumpStart { bookmark, events, trouble: Arc::clone(&trouble) };
        (begun, Self { events: receiver, taken, trouble, secret, is_over })
    }

    /// What comes next; `None`: that was all.
    ///
    /// # Errors
    /// [`Error::Stalled`]: nothing comes for a minute. It may be asked for again, and goes on when it can.
    pub async fn next_event(&mut self) -> Result<Option<Event>, Error> {
        self.next_event_or_word(|_| ()).await
    }

    /// As [`next_event`](Self::next_event). If nothing comes for some seconds, `tell` is given the reason, once.
    ///
    /// # Errors
    /// As [`next_event`](Self::next_event).
    pub async fn next_event_or_word(&mut self, tell: impl FnOnce(&'static str)) -> Result<Option<Event>, Error> {
        if self.is_over {
            return Ok(None);
        }
        let why = || *self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let event = if let Ok(event) = timeout(SLOW, self.events.recv()).await {
            event
        } else {
            tell(why());
            let Ok(event) = timeout(STALLED.saturating_sub(SLOW), self.events.recv()).await else {
                return Err(Error::Stalled { seconds: STALLED.as_secs(), why: why() });
            };
            event
        };
        self.taken.notify_one();
        match event {
            Some(event) => {
                self.is_over = event.bookmark.is_over();
                Ok(Some(event))
            }
            None => Err(Error::Stalled { seconds: 0, why: "the client's runtime has ended" }),
        }
    }

    /// Where a key lies: what parts are ordered by, and [`Cut::shows`](fawn_kv::scan::Cut::shows) wants to know.
    pub fn place(&self, key: &[u8]) -> Key {
        self.secret.position(key)
    }
}

/// Those under way.
#[derive(Debug, Default)]
pub(crate) struct Dumps {
    by_tag: BTreeMap<u64, (Scanner, mpsc::Sender<Event>, Trouble)>,
    begun: u64,
    taken: Arc<Notify>,
}

impl Dumps {
    /// Is told when an event was taken.
    pub(crate) fn taken(&self) -> Arc<Notify> {
        Arc::clone(&self.taken)
    }

    pub(crate) fn begin(&mut self, DumpStart { bookmark, events, trouble }: DumpStart) {
        self.begun += 1;
        let asker = Asker { address: Address::Client(0), tag: self.begun };
        let scanner = Scanner::new(asker, Limits { events: EVENTS, ..Limits::default() }, bookmark);
        self.by_tag.insert(self.begun, (scanner, events, trouble));
    }

    /// When there is something to do next.
    pub(crate) fn due_us(&self) -> Option<u64> {
        self.by_tag.values().filter_map(|(scanner, ..)| scanner.due_us()).min()
    }

    /// Asks for more, and hands on what has come.
    pub(crate) fn tick(&mut self, now: Now, out: &mut Vec<(Address, Message)>) {
        self.by_tag.retain(|_, (scanner, events, trouble)| {
            while events.capacity() > 0
                && let Some(event) = scanner.next_event()
            {
                // Whoever wanted it may have gone.
                let _ = events.try_send(event);
            }
            scanner.tick(now, out);
            if let Some(why) = scanner.trouble() {
                *trouble.lock().unwrap_or_else(PoisonError::into_inner) = why;
            }
            !events.is_closed() && !scanner.is_over()
        });
    }

    pub(crate) fn receive(&mut self, message: &Message, now: Now) {
        for (scanner, ..) in self.by_tag.values_mut() {
            scanner.receive(now, message.clone());
        }
    }

    /// A node cannot be reached.
    pub(crate) fn lost(&mut self, node: NodeId, now: Now) {
        for (scanner, ..) in self.by_tag.values_mut() {
            scanner.lost(node, now);
        }
    }

    /// A node cannot read what it is asked.
    pub(crate) fn too_old(&mut self) {
        for (_, _, trouble) in self.by_tag.values() {
            let why = "a node runs a release without dumps for clients: upgrade it";
            *trouble.lock().unwrap_or_else(PoisonError::into_inner) = why;
        }
    }
}
