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
        "disk servers that never wake up take none of the {} that change per day",
        bytes(*changed_bytes_per_day)
    )]
    NoWake {
        /// Bytes that change per day.
        changed_bytes_per_day: f64,
    },
    /// Waking up alone takes longer than a day.
    #[error(
        "disk servers that take {} to wake up cannot do so {} per day",
        seconds(*wake_seconds),
        counted(*wakes_per_day as u64, "time", "times")
    )]
    Waking {
        /// Times per day.
        wakes_per_day: f64,
        /// Seconds of each.
        wake_seconds: f64,
        /// Whole seconds that each may take so often.
        most_wake_seconds: f64,
        /// Times per day that have room at that length; 0 if one has none.
        most_wakes_per_day: u64,
    },
    /// What changes takes longer than is left of a day.
    #[error(
        "{} cannot take {} of the {} that change per day; a day has time for at most {} beside waking up",
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
            let wake_seconds = server.wake_seconds;
            return Err(ScheduleError::Waking {
                wakes_per_day,
                wake_seconds,
                most_wake_seconds: (SECONDS_A_DAY / wakes_per_day).floor(),
                most_wakes_per_day: (SECONDS_A_DAY / wake_seconds).floor() as u64,
            });
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

    fn refusal(data: CopiedData, wake_seconds: f64) -> ScheduleError {
        DaySchedule::of(&data, &server(wake_seconds)).unwrap_err()
    }

    fn most_of_waking(error: ScheduleError) -> Option<(f64, u64)> {
        match error {
            ScheduleError::Waking { most_wake_seconds, most_wakes_per_day, .. } => {
                Some((most_wake_seconds, most_wakes_per_day))
            }
            _ => None,
        }
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
            refusal(data(100e15, 1.0), 0.0).to_string(),
            "84 disk servers cannot take 2 copies of the 100 PB that change per day; a day has time for at most 453 TB \
             beside waking up"
        );
        assert_eq!(
            refusal(data(1e12, 0.0), 30.0).to_string(),
            "disk servers that never wake up take none of the 1 TB that change per day"
        );
        let slow = refusal(data(0.0, 1.0), 8.64e6);
        assert_eq!(slow.to_string(), "disk servers that take 100 days to wake up cannot do so 1 time per day");
        assert_eq!(most_of_waking(slow), Some((86_400.0, 0)));
        let often = refusal(data(0.0, 10_000.0), 30.0);
        assert_eq!(often.to_string(), "disk servers that take 30 s to wake up cannot do so 10,000 times per day");
        assert_eq!(most_of_waking(often), Some((8.0, 2_880)));
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
