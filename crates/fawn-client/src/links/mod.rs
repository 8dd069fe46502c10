//! Connections to managers and seats: a task each, which calls, reads and writes.
//!
//! What is to be sent waits in an [`Outbox`], which the task empties with one write: what a turn of the driver has to say to one
//! party leaves together, and nothing waits for more to come.
//!
//! # Layout
//!
//! * This file: the task. `dial`: making a connection, and who has to be at its other end.

mod dial;

pub(crate) use dial::{Dialler, Whom};

use fawn_kv::link::{Control, Frame, Frames, Greeted, frame};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// Bytes that are read at once, about.
const READ_BYTES: usize = 64 << 10;

/// A buffer that is empty keeps no more than this.
const KEEP_BYTES: usize = 1 << 20;

/// A party that takes nothing for so long is gone.
const STALLED: Duration = Duration::from_secs(10);

/// We say that we are there after so long.
const ALIVE: Duration = Duration::from_secs(10);

/// Names a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LinkId(pub u64);

/// What happens to a connection.
#[derive(Debug)]
pub(crate) enum LinkEvent {
    /// It stands.
    Up(Greeted),
    /// These have come.
    Heard(Vec<Frame>),
    /// It is over, or could not be made: why.
    Over(String),
}

/// What waits to be sent. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    waiting: Arc<Mutex<Vec<u8>>>,
    changed: Arc<Notify>,
}

impl Outbox {
    fn waiting(&self) -> MutexGuard<'_, Vec<u8>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has these sent, and leaves none of them.
    pub(crate) fn take_from(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let mut waiting = self.waiting();
        if waiting.is_empty() {
            std::mem::swap(&mut *waiting, bytes);
        } else {
            waiting.append(bytes);
        }
        bytes.clear();
        bytes.shrink_to(KEEP_BYTES);
        self.changed.notify_one();
    }

    /// Puts what waits in the place of `bytes`, which were sent.
    fn empty_into(&self, bytes: &mut Vec<u8>) {
        bytes.clear();
        bytes.shrink_to(KEEP_BYTES);
        std::mem::swap(&mut *self.waiting(), bytes);
    }
}

/// A connection, or one that is being made: it ends when this goes.
#[derive(Debug)]
pub(crate) struct LinkHandle {
    pub(crate) id: LinkId,
    outbox: Outbox,
    task: AbortHandle,
}

impl LinkHandle {
    /// Calls somebody; `events` are told what comes of it.
    pub(crate) fn call(
        id: LinkId,
        dialler: Arc<Dialler>,
        whom: Whom,
        events: mpsc::Sender<(LinkId, LinkEvent)>,
    ) -> Self {
        let outbox = Outbox::default();
        let to_send = outbox.clone();
        let task = tokio::spawn(async move {
            let why = match run(id, &dialler, &whom, &to_send, &events).await {
                Ok(()) => "the other side closed the connection".to_owned(),
                Err(error) => error.to_string(),
            };
            let _ = events.send((id, LinkEvent::Over(format!("{}: {why}", whom.address)))).await;
        });
        Self { id, outbox, task: task.abort_handle() }
    }

    /// What waits to be sent over it.
    pub(crate) fn outbox(&self) -> &Outbox {
        &self.outbox
    }
}

impl Drop for LinkHandle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run(
    id: LinkId,
    dialler: &Dialler,
    whom: &Whom,
    outbox: &Outbox,
    events: &mpsc::Sender<(LinkId, LinkEvent)>,
) -> io::Result<()> {
    let (stream, greeted, rest) = dialler.dial(whom).await?;
    if events.send((id, LinkEvent::Up(greeted))).await.is_err() {
        return Ok(());
    }
    let (reads, writes) = tokio::io::split(stream);
    tokio::select! {
        ended = read(id, reads, rest, events) => ended,
        ended = write(writes, outbox) => ended,
    }
}

async fn read(
    id: LinkId,
    mut reads: impl AsyncRead + Unpin,
    mut buffer: Vec<u8>,
    events: &mpsc::Sender<(LinkId, LinkEvent)>,
) -> io::Result<()> {
    loop {
        let (heard, used) = frames(&buffer)?;
        buffer.drain(..used);
        if !heard.is_empty() && events.send((id, LinkEvent::Heard(heard))).await.is_err() {
            return Ok(());
        }
        if buffer.is_empty() {
            buffer.shrink_to(KEEP_BYTES);
        }
        buffer.reserve(READ_BYTES);
        if reads.read_buf(&mut buffer).await? == 0 {
            return Ok(());
        }
    }
}

/// The frames that are whole, and how many bytes they are.
fn frames(bytes: &[u8]) -> io::Result<(Vec<Frame>, usize)> {
    let (mut heard, mut used) = (Vec::new(), 0);
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    while let Ok((frame, length)) = Frames::trusted().next(&bytes[used..]).map_err(invalid)? {
        heard.push(frame);
        used += length;
    }
    Ok((heard, used))
}

async fn write(mut writes: impl AsyncWrite + Unpin, outbox: &Outbox) -> io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        outbox.empty_into(&mut bytes);
        if bytes.is_empty() {
            if timeout(ALIVE, outbox.changed.notified()).await.is_ok() {
                continue;
            }
            frame::put_control(&mut bytes, &Control::Alive);
        }
        // Of a long write each part has so long.
        let mut left = &bytes[..];
        while !left.is_empty() {
            let written = timeout(STALLED, writes.write(left)).await.map_err(|_| io::ErrorKind::TimedOut)??;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            left = &left[written..];
        }
        writes.flush().await?;
    }
}
