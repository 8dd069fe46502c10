//! One connection to another party of the cluster: its socket, frames that are not whole yet, frames that are not sent yet.

use crate::net::tls::Secure;
use fawn_kv::link::{Control, Frame, FrameError, Frames, Lane, OversizeFrame, OversizeRequest, Party, frame};
use fawn_kv::wire::version::OLDEST;
use fawn_tls::Identity;
use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::net::IpAddr;

/// A buffer that is empty keeps no more than this, in bytes.
const KEEP_BYTES: usize = 1 << 20;

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It is being made.
    Connecting,
    /// This side has called, and waits for the answer.
    Calling,
    /// This side was called, and waits to hear by whom.
    Called,
    /// Both know each other.
    Up,
}

/// What receiving came to.
#[derive(Debug)]
pub enum ReceiveProgress {
    /// There may be more.
    More,
    /// There is no more now.
    Drained,
    /// The connection is over.
    Over,
}

/// One connection.
#[derive(Debug)]
pub struct PeerLink {
    socket: OwnedFd,
    /// How far it is.
    pub state: LinkState,
    /// Who is at the other end; of one that was called, whoever should be.
    pub party: Option<Party>,
    /// What goes over it, if it is one of two.
    pub lane: Lane,
    /// The newest version that both sides speak, once they know each other.
    pub version: u8,
    secure: Option<Box<Secure>>,
    frames: Frames,
    /// A client's frame that is too long, while it is passed over.
    oversize: Option<Box<OversizeFrame>>,
    /// Requests in such frames that were passed over.
    refused: Vec<OversizeRequest>,
    input: Vec<u8>,
    output: Vec<u8>,
    /// What is sent of `output` with TLS.
    cipher: Vec<u8>,
    /// Bytes that are sent, of `cipher` with TLS and else of `output`.
    sent: usize,
    /// When bytes came last, in milliseconds.
    pub heard_ms: u64,
    /// Since when part of a frame has been there, in milliseconds.
    part_since_ms: Option<u64>,
    /// When it began, in milliseconds.
    pub began_ms: u64,
    /// Where whoever has called is.
    pub host: Option<IpAddr>,
    /// What epoll watches for.
    pub interest: EventFlags,
    /// It has something to send, and is in the list of those.
    pub dirty: bool,
}

impl PeerLink {
    /// A connection that was made, or is being made, at `now_ms`.
    pub fn new(socket: OwnedFd, state: LinkState, party: Option<Party>, lane: Lane, now_ms: u64) -> Self {
        Self {
            socket,
            state,
            party,
            lane,
            version: OLDEST,
            secure: None,
            frames: Frames::default(),
            oversize: None,
            refused: Vec::new(),
            input: Vec::new(),
            output: Vec::new(),
            cipher: Vec::new(),
            sent: 0,
            heard_ms: now_ms,
            part_since_ms: None,
            began_ms: now_ms,
            host: None,
            interest: EventFlags::empty(),
            dirty: false,
        }
    }

    /// The same, called from this host.
    #[must_use]
    pub fn from(self, host: Option<IpAddr>) -> Self {
        Self { host, ..self }
    }

    /// The same with TLS.
    #[must_use]
    pub fn secured(self, secure: Secure) -> Self {
        Self { secure: Some(Box::new(secure)), ..self }
    }

    /// Who the other side has shown itself to be, where TLS is on.
    pub fn identity(&self) -> Option<Identity> {
        Identity::of(self.secure.as_ref()?.peer()).ok()
    }

    /// The socket.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Both know each other from here on, and what both speak. A client says nothing longer than `longest` bytes.
    pub fn stands(&mut self, party: Party, version: u8, longest: usize) {
        self.state = LinkState::Up;
        self.version = version;
        self.party = Some(party);
        let is_client = matches!(party, Party::Client(_));
        self.frames = if is_client { Frames { most: longest } } else { Frames::trusted() };
    }

    /// Bytes of a frame that is not whole yet.
    pub fn part_bytes(&self) -> usize {
        self.input.len() + self.oversize.as_ref().map_or(0, |frame| frame.held_bytes())
    }

    /// Takes the requests that were too long and have been passed over since the last call.
    pub fn take_refused(&mut self) -> Vec<OversizeRequest> {
        std::mem::take(&mut self.refused)
    }

    /// Since when there has been one.
    pub fn part_since_ms(&self) -> Option<u64> {
        self.part_since_ms
    }

    /// Bytes that are not sent yet.
    pub fn waiting_bytes(&self) -> usize {
        self.output.len() + self.cipher.len() - self.sent
    }

    /// Where frames are appended that are to be sent.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Appends a control frame.
    pub fn say(&mut self, control: &Control) {
        frame::put_control(&mut self.output, control);
    }

    /// Takes off the frames that have come whole, and returns how many bytes they were. While the other side is not known, only
    /// the first: it decides how long those may be that came with it. A client's frames that are too long are passed over.
    fn take_from(&mut self, bytes: &[u8], take: &mut impl FnMut(Frame, usize)) -> Result<usize, FrameError> {
        let is_client = matches!(self.party, Some(Party::Client(_)));
        let mut used = 0;
        loop {
            if let Some(frame) = &mut self.oversize {
                let (passed, request) = frame.pass(&bytes[used..])?;
                used += passed;
                let Some(request) = request else { return Ok(used) };
                self.refused.push(request);
                self.oversize = None;
            }
            match self.frames.next(&bytes[used..]) {
                Ok(Ok((frame, length))) => {
                    take(frame, length);
                    used += length;
                    if self.state != LinkState::Up {
                        return Ok(used);
                    }
                }
                Ok(Err(_)) => return Ok(used),
                Err(error @ FrameError::TooLong(..)) if is_client && self.state == LinkState::Up => {
                    self.oversize = Some(Box::new(OversizeFrame::begin(&bytes[used..]).ok_or(error)?));
                    used += frame::HEADER_BYTES;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The same of what has been received.
    fn take(&mut self, take: &mut impl FnMut(Frame, usize)) -> Result<(), FrameError> {
        let mut input = std::mem::take(&mut self.input);
        let used = self.take_from(&input, take);
        input.drain(..*used.as_ref().unwrap_or(&0));
        self.input = input;
        used.map(|_| ())
    }

    /// Receives once, and takes off the frames that are whole. `buffer` is scratch.
    ///
    /// # Errors
    /// [`FrameError`]: the other side does not speak as it should.
    pub fn receive(
        &mut self,
        buffer: &mut [u8],
        now_ms: u64,
        mut take: impl FnMut(Frame, usize),
    ) -> Result<ReceiveProgress, FrameError> {
        let count = match recv(&self.socket, &mut *buffer, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return Ok(ReceiveProgress::Over),
            Ok((_, count)) => count,
            Err(Errno::AGAIN | Errno::INTR) => {
                // What came with the greeting.
                self.take(&mut take)?;
                return Ok(ReceiveProgress::Drained);
            }
            Err(_) => return Ok(ReceiveProgress::Over),
        };
        self.heard_ms = now_ms;
        let mut frames = 0;
        let mut take = |frame, bytes| {
            frames += 1;
            take(frame, bytes);
        };
        let (filled, mut over) = (count == buffer.len(), false);
        if let Some(secure) = &mut self.secure {
            let received = secure.receive(&buffer[..count], &mut self.input);
            secure.take_output(&mut self.cipher);
            over = !received.map_err(|error| FrameError::Malformed(error.to_string()))?;
            self.take(&mut take)?;
        } else if self.input.is_empty() && self.state == LinkState::Up {
            let used = self.take_from(&buffer[..count], &mut take)?;
            self.input.extend_from_slice(&buffer[used..count]);
        } else {
            self.input.extend_from_slice(&buffer[..count]);
            self.take(&mut take)?;
        }
        if over {
            return Ok(ReceiveProgress::Over);
        }
        if self.input.is_empty() && self.input.capacity() > KEEP_BYTES {
            self.input = Vec::new();
        }
        if self.input.is_empty() && self.oversize.is_none() {
            self.part_since_ms = None;
        } else if frames > 0 || self.part_since_ms.is_none() {
            self.part_since_ms = Some(now_ms);
        }
        let is_left = self.state != LinkState::Up && !self.input.is_empty();
        Ok(if filled || is_left { ReceiveProgress::More } else { ReceiveProgress::Drained })
    }

    /// Sends what the socket takes.
    ///
    /// # Errors
    /// The connection is over.
    pub fn flush(&mut self) -> Result<(), Errno> {
        let bytes = match &mut self.secure {
            None => &mut self.output,
            Some(secure) => {
                secure.send(&self.output, &mut self.cipher);
                self.output.clear();
                self.output.shrink_to(KEEP_BYTES);
                &mut self.cipher
            }
        };
        while self.sent < bytes.len() {
            match send(&self.socket, &bytes[self.sent..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(count) => self.sent += count,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        if self.sent == bytes.len() {
            bytes.clear();
            self.sent = 0;
            bytes.shrink_to(KEEP_BYTES);
        } else if self.sent > bytes.len() / 2 {
            bytes.drain(..std::mem::take(&mut self.sent));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::ids::{Address, Asker, NodeId, RequestId, SeatId};
    use fawn_kv::link::Greeted;
    use fawn_kv::wire::Message;
    use fawn_kv::wire::version::NEWEST;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    /// The frames that one receiving brings, as the loop over them sees it.
    fn receive(link: &mut PeerLink) -> (Vec<Frame>, ReceiveProgress) {
        let mut frames = Vec::new();
        let received = link.receive(&mut vec![0; 1 << 16], 1, |frame, _| frames.push(frame)).unwrap();
        (frames, received)
    }

    #[test]
    fn what_comes_with_the_answer_to_a_call_may_be_as_long_as_from_anyone_known() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let party = Party::Seat(SeatId(2));
        let mut link = PeerLink::new(ours.into(), LinkState::Calling, Some(party), Lane::Chain, 0);
        let mut bytes = Vec::new();
        let greeted =
            Control::Greeted(Greeted { version: NEWEST, cluster: None, from: party, you: Party::Seat(SeatId(1)) });
        frame::put_control(&mut bytes, &greeted);
        let [from, to] = [1, 2].map(|node| Address::Node(NodeId(node)));
        let asker = Asker { address: from, tag: 1 };
        let id = RequestId { session: 1, number: 1 };
        let long = Message::AskMany { id, asker, keys: vec![vec![7; 2 * frame::MOST_GREETING_BYTES]] };
        frame::put_message(&mut bytes, to, from, &long);
        theirs.write_all(&bytes).unwrap();
        let (frames, received) = receive(&mut link);
        assert_eq!(frames, [Frame::Control(greeted)]);
        assert!(matches!(received, ReceiveProgress::More), "the rest is asked for at once");
        link.stands(party, NEWEST, 0);
        assert_eq!(receive(&mut link).0, [Frame::Message { to, from, message: long }]);
    }
}
