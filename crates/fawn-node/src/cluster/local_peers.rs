//! Between the seats of one process: messages as they are, without encoding or socket, and connections that came to the
//! wrong one.

use super::link::PeerLink;
use fawn_kv::ids::{Address, SeatId};
use fawn_kv::link::{Frame, Greeting};
use fawn_kv::wire::Message;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Messages that wait for one seat, at most; more are lost.
const MOST_WAITING: usize = 1 << 16;

/// A connection that has said whom it wants.
#[derive(Debug)]
pub struct HandedLink {
    /// The connection.
    pub link: PeerLink,
    /// What it said.
    pub greeting: Greeting,
    /// What came after that.
    pub frames: Vec<(Frame, usize)>,
}

/// What one seat has for another.
#[derive(Debug)]
pub enum Mail {
    /// A message.
    Message(Box<(Address, Address, Message)>),
    /// A connection.
    Link(Box<HandedLink>),
}

/// Where a seat finds what others have for it.
#[derive(Debug)]
pub struct Mailbox {
    mail: Mutex<Vec<Mail>>,
    raised: AtomicBool,
    event: OwnedFd,
}

impl Mailbox {
    /// An empty one.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub fn new() -> Result<Self, Errno> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { mail: Mutex::default(), raised: AtomicBool::new(false), event })
    }

    /// Becomes readable when there is mail, and is never read: to be watched edge-triggered.
    pub fn event(&self) -> &OwnedFd {
        &self.event
    }

    /// Puts mail in, all of it or what there is room for.
    pub fn post(&self, mail: &mut Vec<Mail>) {
        if mail.is_empty() {
            return;
        }
        {
            let mut held = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
            let room = MOST_WAITING.saturating_sub(held.len());
            mail.truncate(room);
            held.append(mail);
        }
        if !self.raised.swap(true, Ordering::AcqRel) {
            // It is full only when it is raised already.
            let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
        }
    }

    /// Takes what there is.
    pub fn take(&self) -> Vec<Mail> {
        if !self.raised.load(Ordering::Acquire) {
            return Vec::new();
        }
        self.raised.store(false, Ordering::SeqCst);
        std::mem::take(&mut *self.mail.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether there is mail.
    pub fn has_mail(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }
}

/// The seats of this process as one of them sees them.
#[derive(Debug, Default)]
pub struct LocalPeers {
    others: Vec<(SeatId, Arc<Mailbox>, Vec<Mail>)>,
}

impl LocalPeers {
    /// All `seats` but `me`.
    pub fn new(me: SeatId, seats: &[(SeatId, Arc<Mailbox>)]) -> Self {
        let others = seats.iter().filter(|(seat, _)| *seat != me);
        Self { others: others.map(|(seat, mailbox)| (*seat, Arc::clone(mailbox), Vec::new())).collect() }
    }

    /// Whether a seat is of this process.
    pub fn has(&self, seat: SeatId) -> bool {
        self.others.iter().any(|(other, ..)| *other == seat)
    }

    /// Something for a seat of this process, to be posted with all else.
    pub fn put(&mut self, seat: SeatId, mail: Mail) {
        if let Some((.., waiting)) = self.others.iter_mut().find(|(other, ..)| *other == seat) {
            waiting.push(mail);
        }
    }

    /// Posts what was put.
    pub fn post(&mut self) {
        for (_, mailbox, waiting) in &mut self.others {
            mailbox.post(waiting);
            waiting.clear();
        }
    }
}
