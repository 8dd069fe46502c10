//! How many messages were sent, and of which kinds.

use fawn_kv::wire::Message;

use crate::cluster::network::party::Party;

/// What has been sent in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCounts {
    pub messages: u64,
    pub bytes: u64,
    pub taken: u64,
    pub sent: u64,
    pub beats: u64,
    pub views: u64,
    pub view_bytes: u64,
    pub fences: u64,
    pub forwards: u64,
}

impl MessageCounts {
    /// Counts a message.
    pub fn count(&mut self, from: Party, to: Party, message: &Message, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
        match (message, from, to) {
            (
                Message::Heartbeat { .. }
                | Message::Lease { .. }
                | Message::FrontHeartbeat { .. }
                | Message::FrontLease { .. },
                ..,
            ) => self.beats += 1,
            (Message::AskView { .. } | Message::View { .. }, ..) => {
                self.views += 1;
                self.view_bytes += bytes as u64;
            }
            (Message::Fence { .. } | Message::FenceHolds { .. }, ..) => self.fences += 1,
            (_, Party::Front(_), Party::Front(_)) => self.forwards += 1,
            (_, _, Party::Manager(_)) => self.taken += 1,
            (_, Party::Manager(_), _) => self.sent += 1,
            _ => {}
        }
    }
}
