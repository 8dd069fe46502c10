//! What nodes, the manager and clients say to each other, and its bytes.
//!
//! A message is one version byte and then [postcard](https://postcard.jamesmunns.com/wire-format)'s encoding of
//! [`Message`], whose variants are numbered in the order in which they stand here: new ones go to the end, and belong to
//! the next [version](crate::wire::version). `docs/wire.md` gives every byte.

use super::answer::Answer;
use crate::ids::{
    Address, Asker, Attempt, Chain, ClusterId, Consistency, Epoch, FrontId, FrontMember, Health, Incarnation, Member,
    NodeId, Position, RangeId, RequestId, Seq, Wedge, WedgeEpoch, WedgeId,
};
use crate::range::entry::{Entry, Kept};
use crate::range::meta::Meta;
use crate::scan::{Found, Sought};
use crate::store::Plain;
use fawn_ring::{DomainId, Interval, Key, MachineId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a node says of one of its ranges with every heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The range.
    pub range: RangeId,
    /// The end of its log.
    pub last: Position,
    /// The attempt as of which its log was last made level, if all of it is there.
    pub held: Option<Attempt>,
    /// It follows as a learner, and lacks little.
    pub caught_up: bool,
    /// The chain that it is active in; 0: none.
    pub epoch: Epoch,
    /// What is wrong with the node's copy.
    pub health: Health,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// To the head: carry this operation out.
    Request {
        /// The key's range.
        range: RangeId,
        /// Names the request, the same at every try.
        id: RequestId,
        /// All requests of the session up to this number have been answered.
        answered: u64,
        /// Who is to be answered.
        asker: Asker,
        /// The epoch in which the asker owns the key's wedge.
        wedge: WedgeEpoch,
        /// The epoch of the chain that the asker knows. Members of a weak chain take requests of its own only: so that
        /// whoever asks the owner has asked all the others.
        epoch: Epoch,
        /// The key.
        #[serde(with = "serde_bytes")]
        key: Vec<u8>,
        /// Where the key lies; only within one process.
        #[serde(skip)]
        place: Option<Key>,
        /// The operation, as postcard has it.
        #[serde(with = "serde_bytes")]
        operation: Vec<u8>,
    },
    /// To the head: of these keys everything is gone, `flush_all`. Keys that this request has reached already are passed
    /// over.
    Flush {
        /// The range.
        range: RangeId,
        /// Names the request, the same at every try, for all keys and every range.
        id: RequestId,
        /// All requests of the session up to this number have been answered.
        answered: u64,
        /// Who is to be answered.
        asker: Asker,
        /// The epoch in which the asker owns the wedge of the keys.
        wedge: WedgeEpoch,
        /// Keys of the range.
        keys: Interval,
        /// Unix second at which it is gone; 0 for now.
        due: u32,
    },
    /// To the reader, or a member before it where reads are spread: show this key.
    Get {
        /// The key's range.
        range: RangeId,
        /// Names the request.
        id: RequestId,
        /// Who is to be answered.
        asker: Asker,
        /// The epoch in which the asker owns the key's wedge.
        wedge: WedgeEpoch,
        /// The key.
        #[serde(with = "serde_bytes")]
        key: Vec<u8>,
        /// Where the key lies; only within one process.
        #[serde(skip)]
        place: Option<Key>,
        /// Comes back with the answer, as it is, so that the asker need remember nothing.
        continuation: Option<Continuation>,
    },
    /// To whoever asked.
    Reply {
        /// What it asked.
        id: RequestId,
        /// See [`Asker::tag`].
        tag: u64,
        /// See [`Message::Get`].
        continuation: Option<Continuation>,
        /// Unix second from when on the answer may not be shown from a cache any more, because the key is flushed then; 0:
        /// none.
        until: u32,
        /// The answer.
        answer: Answer,
    },
    /// Down the chain: records, and how far everybody before has synced.
    Feed {
        /// The range.
        range: RangeId,
        /// The chain's epoch.
        epoch: Epoch,
        /// The receiver's life.
        to: Incarnation,
        /// Records in order, without gaps; perhaps none.
        #[serde(deserialize_with = "crate::range::entry::shared")]
        entries: Vec<Arc<Entry>>,
        /// Every member up to the sender has synced the log up to here.
        mark: Seq,
    },
    /// Up the chain: what has come, and what is committed.
    Have {
        /// The range.
        range: RangeId,
        /// The chain's epoch.
        epoch: Epoch,
        /// The receiver's life.
        to: Incarnation,
        /// The end of the sender's log.
        last: Seq,
        /// Every member has synced the log up to here.
        committed: Seq,
        /// The sender, or a member after it, has no room for more values.
        full: bool,
    },
    /// To the head, from a reader without a lease: append a record that does nothing.
    Barrier {
        /// The range.
        range: RangeId,
        /// The chain's epoch.
        epoch: Epoch,
        /// Names the barrier.
        number: u64,
    },
    /// To the reader: once this record is committed, what was asked before the barrier may be answered.
    BarrierAt {
        /// The range.
        range: RangeId,
        /// The chain's epoch.
        epoch: Epoch,
        /// Names the barrier.
        number: u64,
        /// The record.
        seq: Seq,
    },
    /// To a member: the next part of everything that is in the range.
    Copy {
        /// The range.
        range: RangeId,
        /// Who copies.
        learner: Member,
        /// Where the part begins; `None`: the first.
        from: Option<Key>,
        /// The learner has everything up to here.
        since: Position,
        /// What was committed when the copy began: who knows of less cannot go on with it.
        least: Position,
    },
    /// A part of a copy, in the order of positions.
    CopyPart {
        /// The range.
        range: RangeId,
        /// The learner's life.
        to: Incarnation,
        /// Who sends it.
        from: Member,
        /// What was asked for.
        asked: Option<Key>,
        /// See `asked`; 0 if what the learner has is too old, or not in this log, and it must empty the range.
        since: Position,
        /// The newest version of each key, deleted ones included.
        kept: Vec<Kept>,
        /// Where the next part begins; `None`: this is the last.
        next: Option<Key>,
        /// What was committed before the part was read.
        at: Position,
        /// Deletions up to here are no longer kept, and not in the copy.
        forgotten: Seq,
        /// What is committed, with the first part.
        meta: Option<Box<Meta>>,
    },
    /// To a member: the records that follow what is here.
    Fetch {
        /// The range.
        range: RangeId,
        /// To be made level for this attempt; `None`: to follow as a learner.
        attempt: Option<Attempt>,
        /// Who asks.
        learner: Member,
        /// What the learner knows to be committed.
        committed: Position,
        /// The ends of each epoch's records in what follows, oldest first.
        ends: Vec<Position>,
    },
    /// Records that follow.
    Fetched {
        /// The range.
        range: RangeId,
        /// As it was asked for.
        attempt: Option<Attempt>,
        /// The learner's life.
        to: Incarnation,
        /// Who sends it.
        from: Member,
        /// The records.
        records: Given,
    },
    /// To the manager: a node has started.
    Hello {
        /// The cluster that what it has belongs to; `None`: it has nothing of any.
        cluster: Option<ClusterId>,
        /// The node.
        node: NodeId,
        /// Names this start.
        nonce: u64,
        /// The machine that it runs on.
        machine: MachineId,
        /// What fails together with the machine, if that is known.
        domain: Option<DomainId>,
        /// Number of its places on the ring.
        virtual_ids: u32,
    },
    /// To a node: its life.
    Welcome {
        /// The cluster, which what the node has from here on belongs to. One with something of another takes no part.
        cluster: ClusterId,
        /// The start that it is for.
        nonce: u64,
        /// The life.
        incarnation: Incarnation,
    },
    /// To a node: another life of it has begun, as far as the manager knows. If this one lives, it begins another.
    Superseded {
        /// The life that is over.
        incarnation: Incarnation,
    },
    /// To the manager.
    Heartbeat {
        /// The cluster that it lives in.
        cluster: ClusterId,
        /// Who lives.
        member: Member,
        /// Names the heartbeat.
        nonce: u64,
        /// Its ranges.
        reports: Vec<Report>,
        /// Neighbours in its chains that it has not heard for long.
        silent: Vec<NodeId>,
    },
    /// To a node: from when it sent that heartbeat it may answer reads for so long.
    Lease {
        /// The node's life.
        incarnation: Incarnation,
        /// The heartbeat.
        nonce: u64,
        /// By the node's clock: whoever grants it has allowed for what that may be wrong.
        lease_us: u64,
    },
    /// To a node: copy this range from that member, and follow it.
    Learn {
        /// The node's life.
        incarnation: Incarnation,
        /// The range.
        range: RangeId,
        /// The range's keys.
        keys: Interval,
        /// Where from.
        source: Member,
        /// Attempts up to this one are over.
        over: Attempt,
        /// What the range's members are to each other.
        consistency: Consistency,
    },
    /// To a node: the range's chain is about to change.
    Seal {
        /// The node's life.
        incarnation: Incarnation,
        /// The range.
        range: RangeId,
        /// Its keys.
        keys: Interval,
        /// The attempt.
        attempt: Attempt,
        /// Whose log the receiver's is to be like, if that is certain already: it need not wait for the order.
        source: Option<Member>,
    },
    /// To the manager: the node takes and answers no more in the range until a new chain is active.
    Sealed {
        /// Who has sealed.
        member: Member,
        /// The range.
        range: RangeId,
        /// For which attempt.
        attempt: Attempt,
        /// The end of its log.
        last: Position,
        /// See [`Report::held`].
        held: Option<Attempt>,
        /// It was prepared, and all of its log is synced: if the source's ends there, too, it is level.
        synced: bool,
    },
    /// To a node: make the log just like the source's.
    Equalise {
        /// The node's life.
        incarnation: Incarnation,
        /// The range.
        range: RangeId,
        /// The attempt.
        attempt: Attempt,
        /// Whose log; `None`: a range that begins, empty.
        source: Option<Member>,
        /// The end of the source's log.
        last: Position,
    },
    /// To the manager: the log is like the source's, and synced.
    Level {
        /// Whose.
        member: Member,
        /// The range.
        range: RangeId,
        /// For which attempt.
        attempt: Attempt,
    },
    /// To a node: an attempt has come to its end, these are the chains now.
    Activate {
        /// The node's life.
        incarnation: Incarnation,
        /// The attempt.
        attempt: Attempt,
        /// Ranges that are no more: one that was split, or two that were merged.
        over: Vec<RangeId>,
        /// The chains.
        chains: Vec<(RangeId, Chain)>,
    },
    /// To a node: the range is in good hands, or is no more; what the node has of it may go.
    Drop {
        /// The node's life.
        incarnation: Incarnation,
        /// The range.
        range: RangeId,
        /// The epoch of its chain, without the node; the highest number if the range is no more.
        epoch: Epoch,
        /// Attempts up to this one are over.
        over: Attempt,
    },
    /// To a neighbour: are you there?
    Ping,
    /// To a neighbour: yes.
    Pong,
    /// To the manager: who is in which chain?
    AskView {
        /// Who asks.
        asker: Address,
        /// What changed up to this number it knows.
        known: u64,
    },
    /// To a client or front-end: the active chains that have changed since, and the wedges.
    View {
        /// What changed up to this number is left out.
        since: u64,
        /// As of which change.
        number: u64,
        /// By range.
        chains: Vec<(RangeId, Chain)>,
        /// All wedges, in the order of their keys; none in a cluster without front-ends.
        wedges: Vec<Wedge>,
    },
    /// To a head, from a front-end that takes a wedge over: refuse whoever asks as of a lower epoch.
    Fence {
        /// The range.
        range: RangeId,
        /// Who is told when it holds.
        front: Address,
        /// The wedge.
        keys: Interval,
        /// The epoch.
        epoch: WedgeEpoch,
    },
    /// To a front-end: the fence is committed.
    FenceHolds {
        /// The range.
        range: RangeId,
        /// As it was asked for.
        keys: Interval,
        /// See `keys`.
        epoch: WedgeEpoch,
    },
    /// To a front-end: do this.
    Ask {
        /// Names the request.
        id: RequestId,
        /// All requests of the session up to this number have been answered; `None`: whoever asks keeps no session and
        /// asks once, and the front-end numbers the request in its own.
        answered: Option<u64>,
        /// Who is to be answered.
        asker: Asker,
        /// It comes from another front-end, and goes no further.
        forwarded: bool,
        /// The key.
        #[serde(with = "serde_bytes")]
        key: Vec<u8>,
        /// Where the key lies; only within one process.
        #[serde(skip)]
        place: Option<Key>,
        /// The operation, as postcard has it; `None`: show the key.
        #[serde(with = "serde_bytes")]
        operation: Option<Vec<u8>>,
        /// See [`Message::Get`]; for gets only.
        #[serde(with = "serde_bytes")]
        continuation: Option<Vec<u8>>,
    },
    /// To a front-end: show these keys, all or none.
    AskMany {
        /// Names the request.
        id: RequestId,
        /// Who is to be answered.
        asker: Asker,
        /// The keys.
        keys: Vec<Vec<u8>>,
    },
    /// To a front-end: all is gone, `flush_all`.
    AskFlush {
        /// Names the request.
        id: RequestId,
        /// As in [`Message::Ask`].
        answered: Option<u64>,
        /// Who is to be answered.
        asker: Asker,
        /// It comes from another front-end, and is about the keys of this wedge; `None`: about all keys.
        wedge: Option<WedgeId>,
        /// Unix second at which all is gone; 0 for now.
        due: u32,
    },
    /// To the manager: a front-end has started.
    FrontHello {
        /// The front-end.
        front: FrontId,
        /// Names this start.
        nonce: u64,
    },
    /// To a front-end: its life.
    FrontWelcome {
        /// The start that it is for.
        nonce: u64,
        /// The life.
        incarnation: Incarnation,
    },
    /// To a front-end: another life of it has begun, as far as the manager knows.
    FrontSuperseded {
        /// The life that is over.
        incarnation: Incarnation,
    },
    /// To the manager.
    FrontHeartbeat {
        /// Who lives.
        member: FrontMember,
        /// Names the heartbeat.
        nonce: u64,
    },
    /// To a front-end: from when it sent that heartbeat it owns these wedges, in these epochs, for so long.
    FrontLease {
        /// Its life.
        incarnation: Incarnation,
        /// The heartbeat.
        nonce: u64,
        /// As in [`Message::Lease`].
        lease_us: u64,
        /// The wedges.
        wedges: Vec<(WedgeId, WedgeEpoch)>,
    },
    /// To a member that is to stay when its chain changes: write now what has to be durable before that, and go on serving.
    Prepare {
        /// The node's life.
        incarnation: Incarnation,
        /// The range.
        range: RangeId,
        /// The attempt that begins.
        attempt: Attempt,
    },
    /// To the manager: it is.
    Prepared {
        /// Who is prepared.
        member: Member,
        /// The range.
        range: RangeId,
        /// For which attempt.
        attempt: Attempt,
    },
    /// To a node: what it has is not of the managers' cluster.
    OtherCluster {
        /// That one; `None`: it has yet to begin.
        cluster: Option<ClusterId>,
    },
    /// From a node in place of `Hello`, while its store has keys that are of no cluster.
    Offer {
        /// The node.
        node: NodeId,
        /// Names this start.
        nonce: u64,
        /// The machine that it runs on.
        machine: MachineId,
        /// What fails together with the machine.
        domain: Option<DomainId>,
        /// Number of its places on the ring.
        virtual_ids: u32,
        /// What it has.
        plain: Plain,
    },
    /// The answer, once it is decided that what the node has is a range: its life, and what it is to adopt.
    Adopt {
        /// What it has belongs to this cluster from here on.
        cluster: ClusterId,
        /// The start that it is for.
        nonce: u64,
        /// The life.
        incarnation: Incarnation,
        /// The range.
        range: RangeId,
    },
    /// The other answer: the cluster has ranges, and what the node has is none of them.
    Occupied {
        /// The cluster.
        cluster: ClusterId,
    },
    /// From a node that is about to stop: it answers nothing any more, so that nobody need wait for its lease.
    Farewell {
        /// The cluster that it lived in.
        cluster: ClusterId,
        /// The life that is over.
        member: Member,
    },
    /// The same from a front-end.
    FrontFarewell {
        /// The life that is over.
        member: FrontMember,
    },
    /// To a member: show what is in a range, a part at a time, to one who is no member.
    Scan {
        /// The range.
        range: RangeId,
        /// Names the question.
        id: RequestId,
        /// Who is to be answered.
        asker: Asker,
        /// Keys of the range, from where the part begins.
        keys: Interval,
        /// The newest position that the asker has seen there: who knows of less does not answer, nor who does not go on
        /// from it. The lowest: it has seen nothing, and is to see whatever was acknowledged before it asks.
        least: Position,
        /// What.
        sought: Sought,
    },
    /// To whoever asked.
    Scanned {
        /// What it asked.
        id: RequestId,
        /// See [`Asker::tag`].
        tag: u64,
        /// Who answers.
        from: Member,
        /// What it has.
        found: Found,
    },
    /// To a seat that both reach: pass this on. To the one that it is for: this was passed on.
    Relayed {
        /// Whom it is for.
        to: Address,
        /// Who says it.
        from: Address,
        /// The message's bytes, with its version.
        #[serde(with = "serde_bytes")]
        message: Vec<u8>,
    },
    /// To another seat: does the link work both ways?
    Probe {
        /// Comes back with the answer.
        number: u64,
    },
    /// The answer.
    Echo {
        /// The probe's.
        number: u64,
    },
    /// To the manager, along with a heartbeat: no other member answers this front-end, so that it should own nothing.
    FrontCutOff {
        /// Who says so.
        member: FrontMember,
    },
    /// To the manager, along with a heartbeat: no other member answers this node, so that it should be in no chain with others.
    NodeCutOff {
        /// The sender.
        member: Member,
    },
}

/// Bytes of what a client gives along with a get, at most.
pub const MOST_CONTINUATION_BYTES: usize = 4096;

/// What a front-end that remembers nothing of a get is told with its answer. Where another front-end was asked for it, that is
/// the asker, and the blob holds the continuation of the client: so the answer goes back the way that the question came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continuation {
    /// Who asked the front-end.
    pub asker: Asker,
    /// The client's own; it means nothing to anybody else.
    #[serde(with = "serde_bytes")]
    pub blob: Vec<u8>,
}

/// What a member has for one that follows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Given {
    /// These.
    Records(Records),
    /// What the learner lacks is no longer in memory: it has to copy what was written since.
    TooOld,
    /// What the learner has is not what this log goes on from: it has to copy everything.
    Another,
}

/// What a member sends to one that follows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Records {
    /// The end of what both have in common: whatever the learner has after it goes.
    pub common: Position,
    /// What follows.
    #[serde(deserialize_with = "crate::range::entry::shared")]
    pub entries: Vec<Arc<Entry>>,
    /// The end of the sender's log, or of what is committed when the learner only follows.
    pub last: Position,
}

impl Message {
    /// What a client asks a front-end: to carry an operation out, or else to show the key.
    pub fn ask(id: RequestId, answered: Option<u64>, asker: Asker, key: Vec<u8>, operation: Option<Vec<u8>>) -> Self {
        Self::Ask { id, answered, asker, forwarded: false, key, place: None, operation, continuation: None }
    }

    /// The range that the message is about, and for those from the manager the life of the node that it is for.
    pub fn about(&self) -> Option<(RangeId, Option<Incarnation>)> {
        match self {
            Self::Request { range, .. }
            | Self::Flush { range, .. }
            | Self::Get { range, .. }
            | Self::Fence { range, .. }
            | Self::Feed { range, .. }
            | Self::Have { range, .. }
            | Self::Barrier { range, .. }
            | Self::BarrierAt { range, .. }
            | Self::Copy { range, .. }
            | Self::CopyPart { range, .. }
            | Self::Fetch { range, .. }
            | Self::Scan { range, .. }
            | Self::Fetched { range, .. } => Some((*range, None)),
            Self::Learn { range, incarnation, .. }
            | Self::Prepare { range, incarnation, .. }
            | Self::Seal { range, incarnation, .. }
            | Self::Equalise { range, incarnation, .. } => Some((*range, Some(*incarnation))),
            _ => None,
        }
    }

    /// Sends it to whoever writes in a chain, copied only where they are several.
    pub fn to_writers(self, chain: &Chain, out: &mut Vec<(Address, Self)>) {
        let (last, others) = chain.writers().split_last().expect("an active chain has members");
        out.extend(others.iter().map(|to| (Address::Node(to.node), self.clone())));
        out.push((Address::Node(last.node), self));
    }
}
