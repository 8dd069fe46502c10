//! An endpoint's node: its inbox, its store's threads, and the time.

use super::message_queue::MessageQueue;
use super::ranges::Ranges;
use crate::runtime::clock::Now;
use crate::shard::operate::log_short;
use crate::shard::stores::Turn;
use fawn_kv::ids::Address;
use fawn_kv::link::Lane;
use fawn_kv::node::Node;
use fawn_kv::node::inbox::Inbox;
use fawn_kv::scan::Found;
use fawn_kv::store::Answer as Read;
use fawn_kv::store::{Gate, RangeStore as _};
use fawn_kv::wire::Message;
use fawn_kv::{chain, timing};

/// What a message takes beside keys and values, about, in bytes.
const MESSAGE_BYTES: usize = 256;

/// A node that runs.
pub struct NodeHost {
    /// The node's address.
    me: Address,
    node: Node<Ranges>,
    inbox: Inbox,
    /// How far its store was durable when the node looked last.
    durable: Gate,
    /// Reads may have come back.
    has_reads: bool,
    /// The loop knows that the store has stopped.
    has_failed: bool,
}

impl NodeHost {
    /// A node with the address `me`, to which nothing has been said.
    pub fn new(me: Address, node: Node<Ranges>) -> Self {
        Self { me, node, inbox: Inbox::default(), durable: Gate(0), has_reads: false, has_failed: false }
    }

    /// The node.
    pub fn node(&self) -> &Node<Ranges> {
        &self.node
    }

    /// The node.
    pub fn node_mut(&mut self) -> &mut Node<Ranges> {
        &mut self.node
    }

    /// The node, when everything else goes.
    pub fn into_node(self) -> Node<Ranges> {
        self.node
    }

    /// Puts a message into the inbox, which had so many bytes on the wire.
    pub fn receive(&mut self, from: Address, message: Message, bytes: Option<usize>) {
        let bytes = bytes.unwrap_or_else(|| weight(&message));
        self.inbox.push(from, message, bytes);
    }

    /// Whether the inbox is empty.
    pub fn is_settled(&self) -> bool {
        self.inbox.is_empty()
    }

    /// Whether clients may say more.
    pub fn takes_clients(&self) -> bool {
        self.inbox.takes_clients()
    }

    /// Messages that wait in a lane of the inbox, and their bytes.
    pub fn waiting(&self, lane: Lane) -> (usize, usize) {
        self.inbox.waiting(lane)
    }

    /// Whether something is under way that only time moves on.
    pub fn is_busy(&self) -> bool {
        let is_open = |replica: &chain::Replica| replica.chain().is_none() || replica.last() > replica.committed();
        self.node.member().is_none()
            || self.node.replicas().any(|(_, replica)| is_open(replica))
            || !self.inbox.is_empty()
    }

    /// Takes one message of the inbox if `left` allows it, or else goes on at once with all that were taken. Returns whether there
    /// may be more to do.
    pub fn step(&mut self, at: timing::Now, left: &mut usize, messages: &mut MessageQueue) -> bool {
        let next = if *left > 0 { self.inbox.pop() } else { None };
        let settles = next.is_none();
        match next {
            Some((from, message)) => {
                *left -= 1;
                self.node.take(at, from, message, messages.draft());
            }
            None => self.node.settle(at, messages.draft()),
        }
        let goes_on = !settles || !messages.draft().is_empty();
        messages.send_draft(self.me);
        goes_on
    }

    /// Lets the node look at the time, when that is due or when something has become durable.
    pub fn tick(&mut self, at: timing::Now, is_due: bool, messages: &mut MessageQueue) {
        let durable = self.node.store().durable();
        if is_due || durable > self.durable {
            self.durable = durable;
            self.node.tick(at, messages.draft());
            messages.send_draft(self.me);
        }
    }

    /// Reads may have come back.
    pub fn note_reads(&mut self) {
        self.has_reads = true;
    }

    /// Hands the node what its store has read.
    pub fn take_reads(&mut self, at: timing::Now, messages: &mut MessageQueue) {
        let (node, out) = (&mut self.node, messages.draft());
        while let Some((ticket, answer)) = node.store_mut().take_answer() {
            match answer {
                Read::Version(kept) => node.read(at, ticket, kept, out),
                Read::Part(part) => node.scanned(at, ticket, part, out),
                Read::Failed(why) => {
                    tracing::error!("cannot read flash: {why}");
                    node.unreadable(at, ticket, out);
                }
                Read::Refused(why) => {
                    log_short(&why);
                    node.not_read(at, ticket, out);
                }
            }
        }
        messages.send_draft(self.me);
    }

    /// Lets the store's threads have what was written.
    pub fn poll_store(&mut self, now: Now, turn: &mut Turn) {
        let store = self.node.store_mut();
        if std::mem::take(&mut self.has_reads)
            && let Err(error) = store.complete()
        {
            turn.failed = Some(format!("reads no longer complete: {error}"));
        }
        if store.has_work(now.ms) {
            turn.more |= store.poll(now.unix, now.ms).more;
        }
        turn.due_ms = Some(now.ms + store.timeout_ms(now.ms));
        if let Some(why) = store.stopped().filter(|_| !self.has_failed) {
            self.has_failed = true;
            turn.failed = Some(format!("the store has stopped: {why}"));
        }
    }

    /// Sends off what was written, and starts the turn's reads.
    ///
    /// # Errors
    /// Reads cannot be started any more.
    pub fn submit(&mut self, now: Now) -> Result<(), String> {
        // What was written since the last turn goes with this batch.
        let store = self.node.store_mut();
        if store.has_work(now.ms) {
            store.poll(now.unix, now.ms);
        }
        store.submit().map_err(|error| format!("cannot start reads any more: {error}"))
    }
}

/// About how many bytes a message would have on the wire.
pub fn weight(message: &Message) -> usize {
    MESSAGE_BYTES
        + match message {
            Message::Request { key, operation, .. } => key.len() + operation.len(),
            Message::Ask { key, operation, .. } => key.len() + operation.as_ref().map_or(0, Vec::len),
            Message::Relayed { message, .. } => message.len(),
            Message::Feed { entries, .. } => entries.iter().map(|entry| entry.bytes()).sum(),
            Message::Scanned { found: Found::Part { kept, .. } | Found::Records { kept, .. }, .. }
            | Message::CopyPart { kept, .. } => kept.iter().map(fawn_kv::range::entry::Kept::bytes).sum(),
            _ => 0,
        }
}
