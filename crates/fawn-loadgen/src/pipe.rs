//! A connected socket that never blocks, with what was received of an answer that is not complete, and what the socket
//! has not taken yet. Buffers are the loop's: a connection at rest holds next to nothing.

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// One connection.
#[derive(Debug)]
pub struct Pipe {
    socket: OwnedFd,
    /// What epoll says of it.
    token: u64,
    partial: Vec<u8>,
    unsent: Vec<u8>,
}

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveOutcome {
    /// The buffer holds so many bytes that are not parsed, those that were kept first.
    Bytes(usize),
    /// Nothing.
    Nothing,
    /// The other side will send no more.
    End,
}

impl Pipe {
    /// Takes a socket that does not block, and has `epoll` tell of it as `token`.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(socket: OwnedFd, epoll: impl AsFd, token: u64) -> Result<Self, Errno> {
        epoll::add(epoll, &socket, EventData::new_u64(token), EventFlags::IN)?;
        Ok(Self { socket, token, partial: Vec::new(), unsent: Vec::new() })
    }

    /// Receives once into `buffer`, which must have room for more than was kept.
    ///
    /// # Errors
    /// What the system says of a broken connection.
    #[inline]
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<ReceiveOutcome, Errno> {
        let kept = self.partial.len();
        buffer[..kept].copy_from_slice(&self.partial);
        match recv(&self.socket, &mut buffer[kept..], RecvFlags::empty()) {
            Ok((0, _)) => Ok(ReceiveOutcome::End),
            Ok((count, _)) => {
                self.partial.clear();
                Ok(ReceiveOutcome::Bytes(kept + count))
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(ReceiveOutcome::Nothing),
            Err(errno) => Err(errno),
        }
    }

    /// Keeps what is not complete for the next [`Pipe::receive`].
    #[inline]
    pub fn keep(&mut self, rest: &[u8]) {
        if !rest.is_empty() {
            self.partial.extend_from_slice(rest);
        }
    }

    /// What was kept.
    pub fn kept(&self) -> &[u8] {
        &self.partial
    }

    /// Sends as much as the socket takes, and the rest when it takes more.
    ///
    /// # Errors
    /// What the system says of a broken connection.
    #[inline]
    pub fn send(&mut self, epoll: impl AsFd, bytes: &[u8]) -> Result<(), Errno> {
        if self.is_blocked() {
            self.unsent.extend_from_slice(bytes);
            return Ok(());
        }
        let sent = send_once(&self.socket, bytes)?;
        if sent < bytes.len() {
            self.unsent.extend_from_slice(&bytes[sent..]);
            let both = EventFlags::IN | EventFlags::OUT;
            epoll::modify(epoll, &self.socket, EventData::new_u64(self.token), both)?;
        }
        Ok(())
    }

    /// Whether something waits for the socket.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends more of what waits, as the socket takes some; whether anything moved.
    ///
    /// # Errors
    /// What the system says of a broken connection.
    pub fn send_more(&mut self, epoll: impl AsFd) -> Result<bool, Errno> {
        let sent = send_once(&self.socket, &self.unsent)?;
        self.unsent.drain(..sent);
        if self.unsent.is_empty() {
            epoll::modify(epoll, &self.socket, EventData::new_u64(self.token), EventFlags::IN)?;
        }
        Ok(sent > 0)
    }
}

/// How much of it the socket takes at once.
#[inline]
fn send_once(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    match send(socket, bytes, SendFlags::NOSIGNAL) {
        Ok(sent) => Ok(sent),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(errno) => Err(errno),
    }
}
