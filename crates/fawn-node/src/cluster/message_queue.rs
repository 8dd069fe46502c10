//! Messages that parties of an endpoint have said in a turn, in their order, until they are delivered.

use fawn_kv::ids::Address;
use fawn_kv::wire::Message;
use std::collections::VecDeque;

/// To whom, from whom, what.
pub type Envelope = (Address, Address, Message);

/// What was said and is not delivered yet.
#[derive(Debug, Default)]
pub struct MessageQueue {
    queue: VecDeque<Envelope>,
    /// What the party at hand says; empty in between.
    draft: Vec<(Address, Message)>,
}

impl MessageQueue {
    /// Whether everything is delivered.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Adds a message.
    pub fn push(&mut self, to: Address, from: Address, message: Message) {
        self.queue.push_back((to, from, message));
    }

    /// The next message.
    pub fn pop(&mut self) -> Option<Envelope> {
        self.queue.pop_front()
    }

    /// Where the party at hand puts what it says, for [`send_draft`](Self::send_draft).
    pub fn draft(&mut self) -> &mut Vec<(Address, Message)> {
        &mut self.draft
    }

    /// Adds what the party `from` has said.
    pub fn send_draft(&mut self, from: Address) {
        self.queue.extend(self.draft.drain(..).map(|(to, message)| (to, from, message)));
    }
}

impl Extend<Envelope> for MessageQueue {
    fn extend<I: IntoIterator<Item = Envelope>>(&mut self, messages: I) {
        self.queue.extend(messages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::ids::NodeId;

    #[test]
    fn a_draft_goes_behind_what_was_said_before_in_the_name_of_its_party() {
        let [a, b] = [1, 2].map(|node| Address::Node(NodeId(node)));
        let mut messages = MessageQueue::default();
        messages.push(a, b, Message::Ping);
        messages.draft().push((b, Message::Ping));
        messages.send_draft(a);
        assert_eq!([messages.pop(), messages.pop()], [Some((a, b, Message::Ping)), Some((b, a, Message::Ping))]);
        assert!(messages.is_empty() && messages.draft().is_empty());
    }
}
