//! How long a drive lasts under a rate of puts.

/// Seconds of a year of 365.25 days.
pub const SECONDS_A_YEAR: f64 = 31_557_600.0;

/// Years until each block has been erased as often as it is rated for, if wear is even.
///
/// `raw_bytes` is all flash of the drive, `amplification` the bytes programmed for each byte of `user_bytes_per_s`.
pub fn years_by_erases(raw_bytes: f64, rated_erases: u32, user_bytes_per_s: f64, amplification: f64) -> f64 {
    raw_bytes * f64::from(rated_erases) / (user_bytes_per_s * amplification) / SECONDS_A_YEAR
}

/// Years until a drive was written as much as its maker warrants (TBW), at the least.
///
/// The maker counts bytes that the host writes, under a workload of its own with some amplification inside of the drive. Nobody says
/// how much, so that all of ours is charged against the rating: the drive lasts so long or longer.
pub fn years_by_tbw(tbw_bytes: f64, user_bytes_per_s: f64, amplification: f64) -> f64 {
    tbw_bytes / (user_bytes_per_s * amplification) / SECONDS_A_YEAR
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Gordon paper: 256 GB of SLC at 900 MB/s last about a year.
    #[test]
    fn the_paper_s_array_lasts_a_year_at_900_mb_a_second() {
        let years = years_by_erases(256e9, 100_000, 900e6, 1.0);
        assert!((years - 329.0 / 365.25).abs() < 0.01, "{years}");
    }

    #[test]
    fn a_rating_of_600_tb_lasts_as_long_as_division_says() {
        let years = years_by_tbw(600e12, 1e6, 5.0);
        assert!((years - 3.8).abs() < 0.01, "{years}");
    }
}
