//! The port that other processes of the cluster call.
//!
//! A call that cannot be taken stays where it is, and the port stays ready: while there is no descriptor for it, nobody looks at
//! the port for a moment, as otherwise the loop would do nothing else.

use crate::observe::warnings::RateLimitedLog;
use fawn_flash::descriptors;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

/// Calls taken in one turn.
const ACCEPTS_A_TURN: usize = 16;

/// How long nobody looks at the port after a call could not be taken.
const DEAF_MS: u64 = 100;

/// The port.
#[derive(Debug)]
pub struct Listening {
    socket: OwnedFd,
    epoll: Arc<OwnedFd>,
    /// What epoll says of it.
    data: u64,
    /// Nobody looks at it until this millisecond.
    deaf_until_ms: Option<u64>,
}

impl Listening {
    /// A socket that listens, watched in `epoll` from here on as `data`.
    ///
    /// # Errors
    /// What the system says to that.
    pub fn new(socket: OwnedFd, epoll: Arc<OwnedFd>, data: u64) -> Result<Self, Errno> {
        epoll::add(&*epoll, &socket, EventData::new_u64(data), EventFlags::IN)?;
        Ok(Self { socket, epoll, data, deaf_until_ms: None })
    }

    /// Takes the calls that have come, no more than one turn's worth; each from whom.
    pub fn accept(&mut self, now_ms: u64, mut take: impl FnMut(OwnedFd, Option<IpAddr>)) {
        for _ in 0..ACCEPTS_A_TURN {
            match acceptfrom_with(&self.socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok((socket, _)) if !descriptors::leaves_room(&socket) => refused(),
                Ok((socket, from)) => {
                    let from = from.and_then(|from| SocketAddr::try_from(from).ok());
                    take(socket, from.map(|from| from.ip().to_canonical()));
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => {}
                Err(error) => {
                    deaf(error);
                    let _ = epoll::delete(&*self.epoll, &self.socket);
                    self.deaf_until_ms = Some(now_ms + DEAF_MS);
                    return;
                }
            }
        }
    }

    /// Looks at the port again, if it is time to; if not, when that is.
    pub fn listen_again(&mut self, now_ms: u64) -> Option<u64> {
        if self.deaf_until_ms? > now_ms {
            return self.deaf_until_ms;
        }
        self.deaf_until_ms = match epoll::add(&*self.epoll, &self.socket, EventData::new_u64(self.data), EventFlags::IN)
        {
            Ok(()) | Err(Errno::EXIST) => None,
            Err(error) => {
                deaf(error);
                Some(now_ms + DEAF_MS)
            }
        };
        self.deaf_until_ms
    }
}

/// Logs, now and then, that nobody who calls is heard for a moment.
fn deaf(error: Errno) {
    static LOG: RateLimitedLog = RateLimitedLog::new();
    if let Some(more) = LOG.happened(Instant::now()) {
        tracing::warn!("cannot accept connections of the cluster for {DEAF_MS} ms: {error}{more}");
    }
}

/// Logs, now and then, that somebody who called was hung up on for want of descriptors.
fn refused() {
    static LOG: RateLimitedLog = RateLimitedLog::new();
    if let Some(more) = LOG.happened(Instant::now()) {
        tracing::warn!(
            "a connection to the cluster port was refused, because the stores need the remaining open files{more}; \
            raise the hard limit (ulimit -Hn, LimitNOFILE=)"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketType, socket};
    use std::net::{TcpListener, TcpStream};

    /// What epoll says without waiting.
    fn ready(epoll: &OwnedFd) -> Vec<u64> {
        let (mut room, at_once) = ([const { std::mem::MaybeUninit::uninit() }; 4], rustix::time::Timespec::default());
        let (events, _) = epoll::wait(epoll, &mut room, Some(&at_once)).unwrap();
        events.iter().map(|event| event.data.u64()).collect()
    }

    fn epoll() -> Arc<OwnedFd> {
        Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC).unwrap())
    }

    #[test]
    fn a_port_of_which_no_call_can_be_taken_is_not_looked_at_for_a_moment() {
        let epoll = epoll();
        // Nothing can be accepted from a socket that does not listen, and it is always ready to say so.
        let broken = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        let mut listening = Listening::new(broken, Arc::clone(&epoll), 7).unwrap();
        assert_eq!(ready(&epoll), [7]);
        listening.accept(1000, |_, _| panic!("nobody calls"));
        assert_eq!(ready(&epoll), [0; 0], "the loop may sleep");
        assert_eq!(listening.listen_again(1099), Some(1100));
        assert_eq!(ready(&epoll), [0; 0]);
        assert_eq!(listening.listen_again(1100), None);
        assert_eq!(ready(&epoll), [7]);
    }

    #[test]
    fn a_port_that_cannot_be_looked_at_yet_is_tried_again() {
        let epoll = epoll();
        let broken = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        let no_epoll = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        let mut listening = Listening::new(broken, Arc::clone(&epoll), 7).unwrap();
        listening.accept(1000, |_, _| panic!("nobody calls"));
        listening.epoll = Arc::new(no_epoll);
        assert_eq!(listening.listen_again(1100), Some(1200));
        assert_eq!(listening.listen_again(1199), Some(1200));
        listening.epoll = Arc::clone(&epoll);
        assert_eq!(ready(&epoll), [0; 0]);
        assert_eq!(listening.listen_again(1200), None);
        assert_eq!(ready(&epoll), [7]);
    }

    #[test]
    fn a_call_comes_with_the_address_of_who_calls() {
        let (epoll, port) = (epoll(), TcpListener::bind("127.0.0.1:0").unwrap());
        port.set_nonblocking(true).unwrap();
        let _caller = TcpStream::connect(port.local_addr().unwrap()).unwrap();
        let (mut listening, mut callers) = (Listening::new(port.into(), epoll, 7).unwrap(), Vec::new());
        while callers.is_empty() {
            listening.accept(0, |_, from| callers.push(from));
        }
        assert_eq!(callers, ["127.0.0.1".parse().ok()]);
        assert_eq!(listening.listen_again(0), None);
    }
}
