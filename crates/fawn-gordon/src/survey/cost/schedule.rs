//! A day of the disk servers: when they wake up, and what they take meanwhile.
//!
//! A day has room for waking up and for moving what has changed, or the question has no answer. Recoveries are not
//! scheduled: they come when a node is lost, and may overlap with everything.

use fawn_report::amount::{bytes, counted, seconds};
use thiserror::Error;

use super::copies::{CopiedData, SECONDS_A_DAY, SleepingServer, disk_servers};

/// How long each disk server is awake per day, without recoveries. It is at most a day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DaySchedule {
    /// Seconds in which it wakes up.
    waking_seconds: f64,
    /// Seconds in which it takes what has changed.
    taking_seconds: f64,
}

/// Why disk servers cannot sleep in between.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ScheduleError {
    /// What changes has no time at which disks take it.
    #[error(
        "disk servers that never wake up take none of the {} that change per day; give --wakes-per-day 1 or more, or \
         leave --changed-per-day out",
        bytes(*changed_bytes_per_day)
    )]
    NoWake {
        /// Bytes that change per day.
        changed_bytes_per_day: f64,
    },
    /// Waking up alone takes longer than a day.
    #[error(
        "disk servers that take {} to wake up cannot do so {} per day; {}",
        seconds(*wake_seconds),
        counted(*wakes_per_day as u64, "time", "times"),
        remedy(*wakes_per_day, *wake_seconds)
    )]
    Waking {
        /// Times per day.
        wakes_per_day: f64,
        /// Seconds of each.
        wake_seconds: f64,
    },
    /// What changes takes longer than is left of a day.
    #[error(
        "{} cannot take {} of the {} that change per day; a day has time for at most {} beside waking up, so lower \
         --changed-per-day, --wakes-per-day or --wake-time",
        counted(*servers as u64, "disk server", "disk servers"),
        counted(*others as u64, "copy", "copies"),
        bytes(*changed_bytes_per_day),
        bytes(rounded_down(*most_bytes_per_day))
    )]
    Taking {
        /// Disk servers.
        servers: f64,
        /// Copies on them.
        others: f64,
        /// Bytes that change per day.
        changed_bytes_per_day: f64,
        /// Bytes of which a day has room.
        most_bytes_per_day: f64,
    },
}

/// How often servers may wake up instead, or how long they may take.
fn remedy(wakes_per_day: f64, wake_seconds: f64) -> String {
    let longest = format!("give --wake-time {}s or less", (SECONDS_A_DAY / wakes_per_day).floor());
    match (SECONDS_A_DAY / wake_seconds).floor() as u64 {
        0 => longest,
        most => format!("{longest}, or --wakes-per-day {most} or less"),
    }
}

/// No more than this, in three digits: what is offered must fit.
fn rounded_down(amount: f64) -> f64 {
    if amount <= 0.0 {
        return 0.0;
    }
    let unit = 10_f64.powf(amount.log10().floor() - 2.0);
    (amount / unit).floor() * unit
}

impl DaySchedule {
    /// The day of servers that keep the copies beside the first. It is empty if there are none.
    ///
    /// # Errors
    /// A day is too short for it, or what changes is never taken.
    pub fn of(data: &CopiedData, server: &SleepingServer) -> Result<Self, ScheduleError> {
        let (servers, others) = (disk_servers(data, server).0, data.others());
        if others <= 0.0 {
            return Ok(Self { waking_seconds: 0.0, taking_seconds: 0.0 });
        }
        let CopiedData { changed_bytes_per_day, wakes_per_day, .. } = *data;
        if changed_bytes_per_day > 0.0 && wakes_per_day <= 0.0 {
            return Err(ScheduleError::NoWake { changed_bytes_per_day });
        }
        let waking_seconds = wakes_per_day * server.wake_seconds;
        if waking_seconds > SECONDS_A_DAY {
            return Err(ScheduleError::Waking { wakes_per_day, wake_seconds: server.wake_seconds });
        }
        let rate = servers * server.bytes_per_second() / others;
        let most_bytes_per_day = (SECONDS_A_DAY - waking_seconds) * rate;
        if changed_bytes_per_day > most_bytes_per_day {
            return Err(ScheduleError::Taking { servers, others, changed_bytes_per_day, most_bytes_per_day });
        }
        Ok(Self { waking_seconds, taking_seconds: changed_bytes_per_day / rate })
    }

    /// The share of a day that it is awake.
    pub fn awake_share(&self) -> f64 {
        (self.waking_seconds + self.taking_seconds) / SECONDS_A_DAY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::cost::petabyte::servers;

    fn server(wake_seconds: f64) -> SleepingServer {
        SleepingServer { wake_seconds, ..SleepingServer::of(&servers()[3], 80e6, 125e6) }
    }

    /// A petabyte in three copies, two of them on 84 servers, which move 10.5 GB/s.
    fn data(changed_bytes_per_day: f64, wakes_per_day: f64) -> CopiedData {
        CopiedData { bytes: 1e15, copies: 3, changed_bytes_per_day, wakes_per_day }
    }

    fn refusal(data: CopiedData, wake_seconds: f64) -> String {
        DaySchedule::of(&data, &server(wake_seconds)).unwrap_err().to_string()
    }

    #[test]
    fn a_day_has_room_for_waking_up_and_for_what_has_changed() {
        // 453.6 TB fill a day in two copies; three wakes of 24,000 s leave a sixth of it.
        assert_eq!(DaySchedule::of(&data(453.6e12, 1.0), &server(0.0)).unwrap().awake_share(), 1.0);
        assert!(DaySchedule::of(&data(453.7e12, 1.0), &server(0.0)).is_err());
        let day = DaySchedule::of(&data(75e12, 3.0), &server(24_000.0)).unwrap();
        assert!((day.awake_share() - (72_000.0 + 150e12 / 10.5e9) / 86_400.0).abs() < 1e-12, "{day:?}");
        assert!(DaySchedule::of(&data(76e12, 3.0), &server(24_000.0)).is_err());
        assert_eq!(DaySchedule::of(&data(0.0, 0.0), &server(8.64e6)).unwrap().awake_share(), 0.0);
        let alone = CopiedData { copies: 1, ..data(1e18, 0.0) };
        assert_eq!(DaySchedule::of(&alone, &server(30.0)).unwrap().awake_share(), 0.0, "nothing is on disks");
    }

    #[test]
    fn what_does_not_fit_a_day_is_refused_with_what_would() {
        assert_eq!(
            refusal(data(100e15, 1.0), 0.0),
            "84 disk servers cannot take 2 copies of the 100 PB that change per day; a day has time for at most 453 TB \
             beside waking up, so lower --changed-per-day, --wakes-per-day or --wake-time"
        );
        assert_eq!(
            refusal(data(1e12, 0.0), 30.0),
            "disk servers that never wake up take none of the 1 TB that change per day; give --wakes-per-day 1 or more, \
             or leave --changed-per-day out"
        );
        assert_eq!(
            refusal(data(0.0, 1.0), 8.64e6),
            "disk servers that take 100 days to wake up cannot do so 1 time per day; give --wake-time 86400s or less"
        );
        assert_eq!(
            refusal(data(0.0, 10_000.0), 30.0),
            "disk servers that take 30 s to wake up cannot do so 10,000 times per day; give --wake-time 8s or less, \
             or --wakes-per-day 2880 or less"
        );
        for wake_seconds in [0.0, 7.0, 1234.5, 86_399.0] {
            let Err(ScheduleError::Taking { most_bytes_per_day, .. }) =
                DaySchedule::of(&data(1e18, 1.0), &server(wake_seconds))
            else {
                panic!("an exabyte fits no day")
            };
            let offered = data(rounded_down(most_bytes_per_day), 1.0);
            DaySchedule::of(&offered, &server(wake_seconds)).expect("what is offered fits");
        }
    }
}
