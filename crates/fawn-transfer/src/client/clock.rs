//! A server's clock: expiries are Unix seconds by it, whatever this machine's clock shows.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use fawn_store::timekeeper::{EARLIEST, LATEST};

use super::{ClientError, ServerConnection};

/// Seconds by which two clocks may differ without a word.
const SMALL_S: u32 = 5;

/// What a server's clock shows. It goes on evenly when this machine's clock is set.
#[derive(Clone, Copy, Debug)]
pub struct ServerClock {
    unix: u32,
    read: Instant,
    /// Seconds by which it was ahead of this machine's clock; negative: behind.
    ahead_s: i64,
}

impl ServerClock {
    /// Asks a server. This machine's clock stands for that of a server that does not tell the time, as some proxies.
    ///
    /// # Errors
    /// The connection broke; or neither clock is set.
    pub fn of(connection: &mut ServerConnection) -> Result<Self, ClientError> {
        let told = connection.stat("time")?.and_then(|unix| u32::try_from(unix).ok());
        let (read, own) = (Instant::now(), unix_now());
        if told.is_none() && set_now().is_none() {
            let shows = fawn_tls::certificate::date(i64::from(own));
            return Err(ClientError::NoClock { address: connection.address().clone(), shows });
        }
        let unix = told.unwrap_or(own);
        Ok(Self { unix, read, ahead_s: i64::from(unix) - i64::from(own) })
    }

    /// The Unix second now.
    pub fn now(self) -> u32 {
        self.unix.saturating_add(u32::try_from(self.read.elapsed().as_secs()).unwrap_or(u32::MAX))
    }

    /// A sentence for whom this machine's clock and the server's differ.
    pub fn difference(self) -> Option<String> {
        let seconds = self.ahead_s.unsigned_abs();
        let what = if self.ahead_s < 0 { "behind" } else { "ahead of" };
        (seconds > u64::from(SMALL_S)).then(|| {
            format!(
                "the server's clock is {seconds} s {what} this machine's: expiries are by the server's clock; set the \
                 one that is wrong"
            )
        })
    }
}

/// Seconds since 1970 by this machine's clock.
pub fn unix_now() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| u32::try_from(age.as_secs()).unwrap_or(u32::MAX))
}

/// The same; none if the clock shows a time that cannot be, as where nobody has set it: then nothing has expired by it.
pub fn set_now() -> Option<u32> {
    Some(unix_now()).filter(|unix| (EARLIEST..=LATEST).contains(unix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_differ_are_told() {
        let told = |ahead_s| ServerClock { unix: 0, read: Instant::now(), ahead_s }.difference();
        assert_eq!((told(5), told(-5)), (None, None));
        assert!(told(6).unwrap().starts_with("the server's clock is 6 s ahead of this machine's: "));
        assert!(told(-31_536_000).unwrap().starts_with("the server's clock is 31536000 s behind this machine's: "));
    }
}
