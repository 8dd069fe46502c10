//! The calls of consensus over links to the other managers: one link each, which is dialled when there is something to say,
//! and again after a while if it cannot be.

use super::calls::{APPEND, AppendCall, AppendReply, SNAPSHOT, SnapshotPart, SnapshotReply, VOTE, VoteCall, VoteReply};
use super::types::Types;
use crate::links::dial::{self, Dialler};
use crate::links::stream::read_frame;
use crate::sealed;
use fawn_kv::ids::ManagerId;
use fawn_kv::link::frame::{MOST_BYTES, put_control};
use fawn_kv::link::{Control, Frame, Frames, Party};
use openraft::error::{
    InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError, SnapshotMismatch, Unreachable,
};
use openraft::network::{RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse, VoteRequest,
    VoteResponse,
};
use openraft::{BasicNode, SnapshotSegmentId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, oneshot};

/// Calls to one member that wait, at most: consensus asks few at a time.
const MOST_CALLS: usize = 64;

/// After a dial that failed, the next one waits for so long; calls meanwhile fail at once.
const REDIAL: Duration = Duration::from_millis(200);

/// One call.
#[derive(Debug)]
struct PendingCall {
    kind: u8,
    bytes: Vec<u8>,
    answer: oneshot::Sender<Vec<u8>>,
}

/// The links to all others, by member and address.
type CallQueues = Arc<Mutex<BTreeMap<(u64, String), mpsc::Sender<PendingCall>>>>;

/// When each of the others has answered last, and what it speaks.
#[derive(Clone, Debug, Default)]
pub struct PeerContacts {
    at: Arc<Mutex<BTreeMap<u64, Instant>>>,
    versions: Arc<Mutex<BTreeMap<u64, u8>>>,
}

impl PeerContacts {
    fn note(&self, member: u64) {
        self.at.lock().unwrap_or_else(PoisonError::into_inner).insert(member, Instant::now());
    }

    fn greeted(&self, member: u64, version: u8) {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner).insert(member, version);
    }

    /// The newest version that a member speaks as this one does, as of when it was called last.
    pub fn version_of(&self, member: u64) -> Option<u8> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner).get(&member).copied()
    }

    /// Whether a member has answered within this time.
    pub fn is_within(&self, member: u64, time: Duration) -> bool {
        let heard = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        heard.get(&member).is_some_and(|at| at.elapsed() < time)
    }
}

/// Makes clients of the other members.
#[derive(Debug)]
pub struct Network {
    dialler: Arc<Dialler>,
    lines: CallQueues,
    heard: PeerContacts,
}

impl Network {
    /// Of the member that dials thus.
    pub fn new(dialler: Arc<Dialler>) -> Self {
        Self { dialler, lines: CallQueues::default(), heard: PeerContacts::default() }
    }

    /// When the others have answered.
    pub fn heard(&self) -> PeerContacts {
        self.heard.clone()
    }
}

impl RaftNetworkFactory<Types> for Network {
    type Network = MemberClient;

    async fn new_client(&mut self, target: u64, node: &BasicNode) -> MemberClient {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|_, line| !line.is_closed());
        let line = lines.entry((target, node.addr.clone())).or_insert_with(|| {
            let (line, calls) = mpsc::channel(MOST_CALLS);
            let heard = self.heard.clone();
            tokio::spawn(keep_line(self.dialler.clone(), ManagerId(target), node.addr.clone(), calls, heard));
            line
        });
        MemberClient { target, line: line.clone(), heard: self.heard.clone() }
    }
}

/// Has a link while there is somebody who may call.
async fn keep_line(
    dialler: Arc<Dialler>,
    target: ManagerId,
    address: String,
    mut calls: mpsc::Receiver<PendingCall>,
    heard: PeerContacts,
) {
    // Why there was no link at the last try, which is told once.
    let mut lacking: Option<String> = None;
    while let Some(first) = calls.recv().await {
        let ended = async {
            let link = dialler.dial(&address, Some(Party::Manager(target))).await?;
            heard.greeted(target.0, link.greeted.version);
            if lacking.take().is_some() {
                tracing::info!("manager {} at {address} is reachable again", target.0);
            }
            converse(link, first, &mut calls).await
        };
        if let Err(error) = ended.await {
            let why = error.to_string();
            if lacking.as_ref() != Some(&why) {
                tracing::warn!("manager {} at {address} is unreachable: {why}", target.0);
                lacking = Some(why);
            }
            let pause = tokio::time::sleep(REDIAL);
            tokio::pin!(pause);
            // Whoever calls meanwhile hears at once that there is no link.
            loop {
                tokio::select! {
                    () = &mut pause => break,
                    call = calls.recv() => if call.is_none() { return },
                }
            }
        }
    }
}

/// Calls, and hands out the answers as they come.
async fn converse(
    link: dial::OutgoingLink,
    first: PendingCall,
    calls: &mut mpsc::Receiver<PendingCall>,
) -> io::Result<()> {
    let (mut reads, mut writes) = tokio::io::split(link.stream);
    let mut buffer = link.rest;
    let waiting: Arc<Mutex<BTreeMap<u64, oneshot::Sender<Vec<u8>>>>> = Arc::default();
    let answers = waiting.clone();
    let listen = async move {
        let frames = Frames { most: MOST_BYTES };
        loop {
            if let Frame::Control(Control::ConsensusAnswer { number, bytes }) =
                read_frame(&mut reads, &mut buffer, frames).await?
            {
                let answer = answers.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
                // Whoever asked may have given up.
                let _ = answer.map(|answer| answer.send(bytes));
            }
        }
    };
    let ask = async move {
        let mut next = Some(first);
        let mut number = 0;
        loop {
            let call = match next.take() {
                Some(call) => Some(call),
                None => calls.recv().await,
            };
            let Some(PendingCall { kind, bytes, answer }) = call else { return Ok(()) };
            number += 1;
            {
                let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.retain(|_, answer| !answer.is_closed());
                waiting.insert(number, answer);
            }
            let mut frame = Vec::with_capacity(bytes.len() + 64);
            put_control(&mut frame, &Control::Consensus { number, kind, bytes });
            writes.write_all(&frame).await?;
        }
    };
    tokio::select! { ended = listen => ended, ended = ask => ended }
}

/// Calls one member.
#[derive(Debug)]
pub struct MemberClient {
    target: u64,
    line: mpsc::Sender<PendingCall>,
    heard: PeerContacts,
}

type CallError<E> = RPCError<u64, BasicNode, RaftError<u64, E>>;

impl MemberClient {
    async fn call<T: DeserializeOwned, E: std::error::Error>(
        &self,
        kind: u8,
        asked: &impl Serialize,
    ) -> Result<T, CallError<E>> {
        let (answer, answered) = oneshot::channel();
        let call = PendingCall { kind, bytes: sealed::seal(asked), answer };
        if self.line.try_send(call).is_err() {
            return Err(unreachable("too many calls wait for it"));
        }
        let bytes = answered.await.map_err(|_| unreachable("there is no link to it"))?;
        self.heard.note(self.target);
        sealed::open(&bytes).map_err(|error| RPCError::Network(NetworkError::new(&error)))
    }
}

impl MemberClient {
    /// What no member of the group answers: as if it had not.
    fn invalid<E: std::error::Error>(&self) -> CallError<E> {
        tracing::warn!("manager {} sent an impossible reply; check its memory and its release", self.target);
        unreachable("its reply is invalid")
    }
}

fn unreachable<E: std::error::Error>(why: &str) -> CallError<E> {
    RPCError::Unreachable(Unreachable::new(&io::Error::other(why.to_owned())))
}

/// The other cannot go on: as if it was not there.
fn failed<E: std::error::Error>(why: String) -> CallError<E> {
    RPCError::Unreachable(Unreachable::new(&io::Error::other(why)))
}

impl RaftNetwork<Types> for MemberClient {
    async fn append_entries(
        &mut self,
        asked: AppendEntriesRequest<Types>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, RPCError<u64, BasicNode, RaftError<u64>>> {
        let sent = asked.entries.last().map(|entry| entry.log_id).max(asked.prev_log_id);
        let answer: AppendReply = self.call(APPEND, &AppendCall::from(asked)).await?;
        if !answer.is_possible(sent) {
            return Err(self.invalid());
        }
        answer.result().map_err(failed)
    }

    async fn install_snapshot(
        &mut self,
        asked: InstallSnapshotRequest<Types>,
        _: RPCOption,
    ) -> Result<InstallSnapshotResponse<u64>, RPCError<u64, BasicNode, RaftError<u64, InstallSnapshotError>>> {
        match self.call(SNAPSHOT, &SnapshotPart::from(asked)).await? {
            SnapshotReply::Vote(vote) if !vote.is_possible() => Err(self.invalid()),
            SnapshotReply::Vote(vote) => Ok(InstallSnapshotResponse { vote: vote.into() }),
            SnapshotReply::Mismatch { expected, came } => {
                let segment = |(id, offset)| SnapshotSegmentId { id, offset };
                let error = SnapshotMismatch { expect: segment(expected), got: segment(came) };
                let error = RaftError::APIError(InstallSnapshotError::SnapshotMismatch(error));
                Err(RPCError::RemoteError(RemoteError::new(self.target, error)))
            }
            SnapshotReply::Failed(why) => Err(failed(why)),
        }
    }

    async fn vote(
        &mut self,
        asked: VoteRequest<u64>,
        _: RPCOption,
    ) -> Result<VoteResponse<u64>, RPCError<u64, BasicNode, RaftError<u64>>> {
        let answer: VoteReply = self.call(VOTE, &VoteCall::from(asked)).await?;
        if !answer.is_possible() {
            return Err(self.invalid());
        }
        answer.result().map_err(failed)
    }

    fn backoff(&self) -> openraft::network::Backoff {
        openraft::network::Backoff::new(std::iter::repeat(REDIAL))
    }
}
