//! §6.1: one copy in flash, the others on disks that sleep.
//!
//! Copies are needed when a node is lost. Between losses disk servers sleep, and wake up to take what has changed. The
//! model compares that with all copies in flash: joules and dollars, and the time until a lost node's data is back.

use fawn_plan::SECONDS_A_YEAR;
use serde::Serialize;

use super::copies::{CopiedData, FlashNode, NodeDemand, SleepingServer, disk_servers};
use super::schedule::DaySchedule;

/// One way to keep the copies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CopiesCost {
    /// Flash nodes.
    pub flash_nodes: u64,
    /// What asks for so many flash nodes.
    pub flash_demand: NodeDemand,
    /// Disk servers.
    pub disk_servers: u64,
    /// What asks for so many disk servers; `None` if there are none.
    pub disk_demand: Option<NodeDemand>,
    /// Joules per year.
    pub joules_per_year: f64,
    /// Of these, what the disk servers take.
    pub disk_joules_per_year: f64,
    /// Price of all of them; `None` if unknown.
    pub dollars: Option<f64>,
    /// Seconds until a lost node's bytes are on one new node; infinite if nothing has a copy of them.
    pub recovery_seconds: f64,
    /// The share of time that a disk server is awake. It is 1 where losses overlap with what else keeps it awake.
    pub awake_share: f64,
}

/// All copies in flash. A lost node's bytes are spread over the others, which send them to the new node. One copy alone
/// cannot be recovered.
pub fn all_in_flash(data: &CopiedData, node: &FlashNode) -> CopiesCost {
    let copies = f64::from(data.copies);
    let bytes = data.bytes * copies;
    let (nodes, flash_demand) = node.count(bytes, copies, data.changed_bytes_per_day * copies);
    CopiesCost {
        flash_nodes: nodes as u64,
        flash_demand,
        disk_servers: 0,
        disk_demand: None,
        joules_per_year: nodes * node.watts * SECONDS_A_YEAR,
        disk_joules_per_year: 0.0,
        dollars: node.dollars.map(|dollars| dollars * nodes),
        recovery_seconds: if data.copies > 1 { bytes / nodes / node.bytes_per_second() } else { f64::INFINITY },
        awake_share: 0.0,
    }
}

/// One copy in flash, the others on sleeping disks, on a schedule that fits ([`DaySchedule::of`]).
///
/// A node's bytes are spread over all servers, so that all of them wake up when it is lost, and the slower of the new
/// node and of all servers together bounds the recovery. What changes between two wakes takes additional flash, in all
/// copies.
pub fn one_in_flash(
    data: &CopiedData,
    node: &FlashNode,
    server: &SleepingServer,
    schedule: &DaySchedule,
) -> CopiesCost {
    let waiting_bytes = data.waiting_bytes();
    let bytes = data.bytes + data.others() * waiting_bytes;
    let copies_in_flash = if waiting_bytes > 0.0 { f64::from(data.copies) } else { 1.0 };
    let written_per_day = data.changed_bytes_per_day * f64::from(data.copies);
    let (nodes, flash_demand) = node.count(bytes, copies_in_flash, written_per_day);
    let (servers, disk_demand) = disk_servers(data, server);
    let rate = node.bytes_per_second().min(servers * server.bytes_per_second());
    let has_others = servers > 0.0;
    let recovery_seconds = if has_others { server.wake_seconds + bytes / nodes / rate } else { f64::INFINITY };
    let recovering_share =
        if has_others { nodes * node.losses_per_year * recovery_seconds / SECONDS_A_YEAR } else { 0.0 };
    let awake_share = (recovering_share + schedule.awake_share()).min(1.0);
    let server_watts = server.watts_asleep + (server.watts_awake - server.watts_asleep) * awake_share;
    let disk_joules_per_year = servers * server_watts * SECONDS_A_YEAR;
    let disk_dollars = server.dollars.map(|dollars| dollars * servers);
    CopiesCost {
        flash_nodes: nodes as u64,
        flash_demand,
        disk_servers: servers as u64,
        disk_demand: has_others.then_some(disk_demand),
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

    fn sleeping(data: &CopiedData, server: &SleepingServer) -> CopiesCost {
        one_in_flash(data, &node(), server, &DaySchedule::of(data, server).unwrap())
    }

    #[test]
    fn sleeping_disks_take_fewer_joules_and_about_as_long_to_recover() {
        let (flash, disk) = (all_in_flash(&data(), &node()), sleeping(&data(), &server()));
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
        let (flash, disk) = (all_in_flash(&data(), &node()), sleeping(&data(), &server));
        let in_flash = flash.joules_per_year * 2.0 / 3.0;
        assert!(disk.disk_joules_per_year < 0.1 * in_flash, "{disk:?} {flash:?}");
    }

    #[test]
    fn writes_keep_disks_awake_and_take_flash_meanwhile() {
        let busy = CopiedData { changed_bytes_per_day: 6.4e12, wakes_per_day: 4.0, ..data() };
        let cost = sleeping(&busy, &server());
        // Two copies of 1.6 TB wait in flash.
        assert_eq!(cost.flash_nodes, 263);
        let taking = 2.0 * 6.4e12 / (6.0 * 125e6) + 4.0 * 30.0;
        let share = taking / 86_400.0 + 263.0 * 0.04 * cost.recovery_seconds / SECONDS_A_YEAR;
        assert!((cost.awake_share - share).abs() < 1e-9, "{} {share}", cost.awake_share);
        // 32.4 TB fill a day; each loss of a node comes on top.
        let always = CopiedData { changed_bytes_per_day: 32.39e12, ..data() };
        let always = CopiedData { wakes_per_day: 0.8, ..always };
        let often_lost = FlashNode { losses_per_year: 4.0, ..node() };
        let schedule = DaySchedule::of(&always, &server()).unwrap();
        assert!(schedule.awake_share() < 1.0);
        let cost = one_in_flash(&always, &often_lost, &server(), &schedule);
        assert_eq!(cost.awake_share, 1.0, "nothing is left to sleep");
    }

    #[test]
    fn each_copy_is_on_another_node() {
        let byte = CopiedData { bytes: 1.0, ..data() };
        let (flash, disk) = (all_in_flash(&byte, &node()), sleeping(&byte, &server()));
        assert_eq!((flash.flash_nodes, flash.flash_demand), (3, NodeDemand::Copies));
        assert_eq!((disk.flash_nodes, disk.flash_demand), (1, NodeDemand::Space), "one copy is in flash");
        assert_eq!((disk.disk_servers, disk.disk_demand), (2, Some(NodeDemand::Copies)));
        assert!(flash.recovery_seconds < 1e-8, "a byte is soon recovered: {flash:?}");
        assert!((disk.recovery_seconds - 30.0).abs() < 1e-6, "after waking up: {disk:?}");
        // What changes is in flash as often as there are copies, until the disks take it.
        let changing = CopiedData { changed_bytes_per_day: 1.0, wakes_per_day: 1.0, ..byte };
        assert_eq!(sleeping(&changing, &server()).flash_nodes, 3);
        let many = CopiedData { bytes: 64e12, copies: 64, ..data() };
        let (flash, disk) = (all_in_flash(&many, &node()), sleeping(&many, &server()));
        assert_eq!((flash.flash_demand, disk.disk_servers), (NodeDemand::Space, 168));
    }

    #[test]
    fn nodes_are_as_many_as_can_write_what_changes() {
        // 125 MB/s take 10.8 TB in a day.
        let busy = CopiedData { bytes: 1e12, changed_bytes_per_day: 36e12, ..data() };
        let cost = all_in_flash(&busy, &node());
        assert_eq!((cost.flash_nodes, cost.flash_demand), (12, NodeDemand::Space), "they write 129.6 TB a day");
        let busier = CopiedData { changed_bytes_per_day: 50e12, ..busy };
        let cost = all_in_flash(&busier, &node());
        assert_eq!((cost.flash_nodes, cost.flash_demand), (14, NodeDemand::Writes), "150 TB over 10.8");
    }

    #[test]
    fn one_copy_cannot_be_recovered() {
        let alone = CopiedData { copies: 1, ..data() };
        for cost in [all_in_flash(&alone, &node()), sleeping(&alone, &server())] {
            assert_eq!((cost.flash_nodes, cost.recovery_seconds), (250, f64::INFINITY));
            assert_eq!((cost.disk_servers, cost.disk_demand, cost.awake_share), (0, None, 0.0));
        }
    }
}
