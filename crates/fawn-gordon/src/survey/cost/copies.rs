//! Data in copies, the nodes and servers that keep them, and how many of those it takes.
//!
//! Each copy is on another node or server, so that there are at least as many of them as copies.

use serde::Serialize;

use super::petabyte::{DIMM, PROCESSOR, StorageServer};

/// Seconds of a day.
pub const SECONDS_A_DAY: f64 = 86_400.0;

/// A flash node in such a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FlashNode {
    /// Bytes that it stores.
    pub bytes: f64,
    /// Bytes per second that it can write.
    pub write_bytes_per_second: f64,
    /// Bytes per second of its network each way.
    pub network_bytes_per_second: f64,
    /// Watts on average.
    pub watts: f64,
    /// Price; `None` if unknown.
    pub dollars: Option<f64>,
    /// Losses per year.
    pub losses_per_year: f64,
}

impl FlashNode {
    /// Bytes per second that it takes in.
    pub(super) fn bytes_per_second(&self) -> f64 {
        self.write_bytes_per_second.min(self.network_bytes_per_second)
    }

    /// Nodes for so many bytes, which are in so many copies, and so many bytes written per day.
    pub(super) fn count(&self, bytes: f64, copies: f64, written_per_day: f64) -> (f64, NodeDemand) {
        NodeDemand::largest(bytes / self.bytes, copies, written_per_day / (SECONDS_A_DAY * self.bytes_per_second()))
    }
}

/// A disk server in such a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SleepingServer {
    /// Disks.
    pub disks: u32,
    /// Bytes of a disk.
    pub disk_bytes: f64,
    /// Bytes per second of a disk.
    pub disk_bytes_per_second: f64,
    /// Bytes per second of its network each way.
    pub network_bytes_per_second: f64,
    /// Watts while it is awake.
    pub watts_awake: f64,
    /// Watts in deep sleep with its disks spun down.
    pub watts_asleep: f64,
    /// Seconds until it serves after a call.
    pub wake_seconds: f64,
    /// Price; `None` if unknown.
    pub dollars: Option<f64>,
}

impl SleepingServer {
    /// A server of Tables 7 and 8 full of disks. How fast a disk and the network are, what the server draws asleep and how
    /// long it takes to wake up is not in the paper.
    pub fn of(server: &StorageServer, disk_bytes_per_second: f64, network_bytes_per_second: f64) -> Self {
        let media = f64::from(server.media);
        let (processors, modules) = (f64::from(server.processors), f64::from(server.modules));
        let other_watts = server.enclosure.watts + processors * PROCESSOR.watts + modules * DIMM.watts;
        let other_dollars = server.enclosure.dollars + processors * PROCESSOR.dollars + modules * DIMM.dollars;
        Self {
            disks: server.media,
            disk_bytes: server.medium.gb.unwrap_or(0.0) * 1e9,
            disk_bytes_per_second,
            network_bytes_per_second,
            watts_awake: other_watts + media * server.medium.watts,
            watts_asleep: 0.0,
            wake_seconds: 0.0,
            dollars: Some(other_dollars + media * server.medium.dollars),
        }
    }

    /// Bytes that it stores.
    pub(super) fn bytes(&self) -> f64 {
        f64::from(self.disks) * self.disk_bytes
    }

    /// Bytes per second that it moves, in or out.
    pub(super) fn bytes_per_second(&self) -> f64 {
        (f64::from(self.disks) * self.disk_bytes_per_second).min(self.network_bytes_per_second)
    }
}

/// Data with copies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CopiedData {
    /// Bytes of one copy.
    pub bytes: f64,
    /// Copies.
    pub copies: u32,
    /// Bytes that change per day. They stay in flash, as many copies as there are, until the servers wake up.
    pub changed_bytes_per_day: f64,
    /// Times per day that the servers wake up to take them.
    pub wakes_per_day: f64,
}

impl CopiedData {
    /// Copies beside the first.
    pub fn others(&self) -> f64 {
        f64::from(self.copies.saturating_sub(1))
    }

    /// Bytes that change between two wakes.
    pub(super) fn waiting_bytes(&self) -> f64 {
        if self.wakes_per_day > 0.0 { self.changed_bytes_per_day / self.wakes_per_day } else { 0.0 }
    }
}

/// What asks for as many nodes as there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeDemand {
    /// Their space.
    Space,
    /// Copies, each of which is on another node.
    Copies,
    /// What changes, which they have to write.
    Writes,
}

impl NodeDemand {
    /// The largest of the demands, as a whole number of nodes, and which one it is.
    fn largest(space: f64, copies: f64, writes: f64) -> (f64, Self) {
        let demands = [(copies, Self::Copies), (writes.ceil(), Self::Writes)];
        let larger = |most: (f64, Self), it: (f64, Self)| if it.0 > most.0 { it } else { most };
        demands.into_iter().fold((space.ceil(), Self::Space), larger)
    }
}

/// Disk servers for the copies beside the first, and what asks for so many.
pub(super) fn disk_servers(data: &CopiedData, server: &SleepingServer) -> (f64, NodeDemand) {
    NodeDemand::largest(data.bytes * data.others() / server.bytes(), data.others(), 0.0)
}
