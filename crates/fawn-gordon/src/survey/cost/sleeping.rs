//! §6.1: one copy in flash, the others on disks that sleep.
//!
//! Copies are needed when a node is lost. Between losses disk servers sleep, and wake up to take what has changed. The
//! model compares that with all copies in flash: joules and dollars, and the time until a lost node's data is back.

use fawn_plan::SECONDS_A_YEAR;
use serde::Serialize;

use super::petabyte::{DIMM, PROCESSOR, StorageServer};

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

    /// Bytes per second that it moves, in or out.
    fn bytes_per_second(&self) -> f64 {
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

/// One way to keep the copies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CopiesCost {
    /// Flash nodes.
    pub flash_nodes: u64,
    /// Disk servers.
    pub disk_servers: u64,
    /// Joules per year.
    pub joules_per_year: f64,
    /// Of these, what the disk servers take.
    pub disk_joules_per_year: f64,
    /// Price of all of them; `None` if unknown.
    pub dollars: Option<f64>,
    /// Seconds until a lost node's bytes are on one new node.
    pub recovery_seconds: f64,
    /// The share of time that a disk server is awake.
    pub awake_share: f64,
}

/// All copies in flash. A lost node's bytes are spread over the others, which send them to the new node.
pub fn all_in_flash(data: &CopiedData, node: &FlashNode) -> CopiesCost {
    let nodes = (data.bytes * f64::from(data.copies) / node.bytes).ceil();
    let rate = node.write_bytes_per_second.min(node.network_bytes_per_second);
    CopiesCost {
        flash_nodes: nodes as u64,
        disk_servers: 0,
        joules_per_year: nodes * node.watts * SECONDS_A_YEAR,
        disk_joules_per_year: 0.0,
        dollars: node.dollars.map(|dollars| dollars * nodes),
        recovery_seconds: node.bytes / rate,
        awake_share: 0.0,
    }
}

/// One copy in flash, the others on sleeping disks.
///
/// A node's bytes are spread over all servers, so that all of them wake up when it is lost, and the slower of the new
/// node and of all servers together bounds the recovery. What changes between two wakes takes additional flash.
pub fn one_in_flash(data: &CopiedData, node: &FlashNode, server: &SleepingServer) -> CopiesCost {
    let others = f64::from(data.copies.saturating_sub(1));
    let waiting_bytes = if data.wakes_per_day > 0.0 { data.changed_bytes_per_day / data.wakes_per_day } else { 0.0 };
    let nodes = ((data.bytes + others * waiting_bytes) / node.bytes).ceil();
    let servers = (data.bytes * others / (f64::from(server.disks) * server.disk_bytes)).ceil();
    let all_servers = servers * server.bytes_per_second();
    let into_node = node.write_bytes_per_second.min(node.network_bytes_per_second);
    let recovery_seconds =
        if servers > 0.0 { server.wake_seconds + node.bytes / into_node.min(all_servers) } else { f64::INFINITY };
    let losses_per_year = nodes * node.losses_per_year;
    let recovering = if servers > 0.0 { losses_per_year * recovery_seconds } else { 0.0 };
    let taking = if servers > 0.0 {
        let moved = others * data.changed_bytes_per_day / all_servers + data.wakes_per_day * server.wake_seconds;
        moved * SECONDS_A_YEAR / 86_400.0
    } else {
        0.0
    };
    let awake_share = ((recovering + taking) / SECONDS_A_YEAR).min(1.0);
    let server_watts = server.watts_asleep + (server.watts_awake - server.watts_asleep) * awake_share;
    let disk_joules_per_year = servers * server_watts * SECONDS_A_YEAR;
    let disk_dollars = server.dollars.map(|dollars| dollars * servers);
    CopiesCost {
        flash_nodes: nodes as u64,
        disk_servers: servers as u64,
        joules_per_year: nodes * node.watts * SECONDS_A_YEAR + disk_joules_per_year,
        disk_joules_per_year,
        dollars: node.dollars.map(|dollars| dollars * nodes).zip(disk_dollars).map(|(flash, disk)| flash + disk),
        recovery_seconds,
        awake_share,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> FlashNode {
        FlashNode {
            bytes: 256e9,
            write_bytes_per_second: 900e6,
            network_bytes_per_second: 125e6,
            watts: 10.0,
            dollars: Some(1500.0),
            losses_per_year: 0.04,
        }
    }

    fn server() -> SleepingServer {
        SleepingServer {
            disks: 16,
            disk_bytes: 1.5e12,
            disk_bytes_per_second: 80e6,
            network_bytes_per_second: 125e6,
            watts_awake: 400.0,
            watts_asleep: 5.0,
            wake_seconds: 30.0,
            dollars: Some(4500.0),
        }
    }

    fn data() -> CopiedData {
        CopiedData { bytes: 64e12, copies: 3, changed_bytes_per_day: 0.0, wakes_per_day: 0.0 }
    }

    #[test]
    fn sleeping_disks_take_fewer_joules_and_about_as_long_to_recover() {
        let (flash, disk) = (all_in_flash(&data(), &node()), one_in_flash(&data(), &node(), &server()));
        assert_eq!((flash.flash_nodes, disk.flash_nodes, disk.disk_servers), (750, 250, 6));
        assert!((flash.recovery_seconds - 2048.0).abs() < 1e-9, "256 GB at 125 MB/s");
        assert!((disk.recovery_seconds - 2078.0).abs() < 1e-9, "the same after waking up");
        // 250 nodes lose ten a year; each keeps the servers awake for 2,078 s.
        let awake = 10.0 * 2078.0 / SECONDS_A_YEAR;
        assert!((disk.awake_share - awake).abs() < 1e-12);
        let expected = (250.0 * 10.0 + 6.0 * (5.0 + 395.0 * awake)) * SECONDS_A_YEAR;
        assert!((disk.joules_per_year / expected - 1.0).abs() < 1e-12);
        assert!((flash.joules_per_year / (7500.0 * SECONDS_A_YEAR) - 1.0).abs() < 1e-12);
        assert_eq!((flash.dollars, disk.dollars), (Some(1_125_000.0), Some(402_000.0)));
    }

    #[test]
    fn the_papers_sata_server_draws_446_watts_awake() {
        let paper = crate::survey::cost::petabyte::servers()[3];
        let server =
            SleepingServer { watts_asleep: 5.0, wake_seconds: 30.0, ..SleepingServer::of(&paper, 80e6, 125e6) };
        assert_eq!((server.disks, server.disk_bytes, server.watts_awake), (16, 1.5e12, 446.0));
        assert_eq!(server.dollars, Some(1600.0 + 500.0 + 4.0 * 193.0 + 16.0 * 129.0));
        // Three copies of 64 TB: two of them asleep take less than a tenth of what they take in flash.
        let (flash, disk) = (all_in_flash(&data(), &node()), one_in_flash(&data(), &node(), &server));
        let in_flash = flash.joules_per_year * 2.0 / 3.0;
        assert!(disk.disk_joules_per_year < 0.1 * in_flash, "{disk:?} {flash:?}");
    }

    #[test]
    fn writes_keep_disks_awake_and_take_flash_meanwhile() {
        let busy = CopiedData { changed_bytes_per_day: 6.4e12, wakes_per_day: 4.0, ..data() };
        let cost = one_in_flash(&busy, &node(), &server());
        // Two copies of 1.6 TB wait in flash.
        assert_eq!(cost.flash_nodes, 263);
        let taking = 2.0 * 6.4e12 / (6.0 * 125e6) + 4.0 * 30.0;
        let share = taking / 86_400.0 + 263.0 * 0.04 * cost.recovery_seconds / SECONDS_A_YEAR;
        assert!((cost.awake_share - share).abs() < 1e-9, "{} {share}", cost.awake_share);
        let always = CopiedData { changed_bytes_per_day: 640e12, wakes_per_day: 24.0, ..data() };
        assert_eq!(one_in_flash(&always, &node(), &server()).awake_share, 1.0, "too much to sleep");
    }

    #[test]
    fn one_copy_cannot_be_recovered() {
        let alone = CopiedData { copies: 1, ..data() };
        let cost = one_in_flash(&alone, &node(), &server());
        assert_eq!((cost.disk_servers, cost.recovery_seconds), (0, f64::INFINITY));
    }
}
