//! What fixed power does to efficiency (e-Energy'10 §2, Figure 2).

/// MIPS per watt of a processor that does `mips` with `mips_a_watt` by itself, when the machine around it draws `fixed_watts` at
/// any speed.
pub fn with_fixed_power(mips: f64, mips_a_watt: f64, fixed_watts: f64) -> f64 {
    mips / (mips / mips_a_watt + fixed_watts)
}

/// The share of its efficiency that a machine of `watts` loses by `more_watts` more.
pub fn lost_share(watts: f64, more_watts: f64) -> f64 {
    more_watts / (watts + more_watts)
}

/// What a machine draws at a share of its load, if power rises with load on a straight line.
pub fn watts_at_load(load: f64, idle_watts: f64, full_watts: f64) -> f64 {
    idle_watts + load * (full_watts - idle_watts)
}

/// The place of the highest value; `None`: there is none.
pub fn best(values: impl Iterator<Item = f64>) -> Option<usize> {
    values.enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-9 * other.abs().max(1.0), "{one} {other}");
    }

    #[test]
    fn a_tenth_of_a_watt_dwarfs_a_sensor_and_not_a_server() {
        // 1 MIPS at 0.44 mW: 2,273 MIPS per watt by itself, and 10 with 0.1 W beside it.
        close(with_fixed_power(1.0, 1.0 / 0.000_44, 0.1), 1.0 / 0.100_44);
        // 100 MIPS per watt at 100 W lose a thousandth.
        close(with_fixed_power(10_000.0, 100.0, 0.1), 10_000.0 / 100.1);
        close(with_fixed_power(500.0, 1000.0, 0.0), 1000.0);
        // The paper's two: 1,000 MIPS per watt at a third of the clock of 100 MIPS per watt. The slow one stays ahead.
        assert!(with_fixed_power(1000.0, 1000.0, 0.1) > 9.0 * with_fixed_power(12_000.0, 100.0, 0.1));
    }

    #[test]
    fn what_more_fixed_power_costs_is_the_share_that_the_formula_gives() {
        for (mips, watts, fixed) in [(1.0, 0.000_44, 0.1), (2000.0, 0.3, 0.1), (82_300.0, 130.0, 0.1), (10.0, 5.0, 2.0)]
        {
            let before = mips / watts;
            close(lost_share(watts, fixed), 1.0 - with_fixed_power(mips, before, fixed) / before);
        }
        close(lost_share(0.1, 0.1), 0.5);
    }

    #[test]
    fn a_fifth_of_the_load_at_half_of_the_power_has_two_fifths_of_the_efficiency() {
        // "20 % of its capacity may still consume over 50 % of its peak power": idle at 37.5 % of the peak.
        close(watts_at_load(0.2, 37.5, 100.0), 50.0);
        let peak = 1.0 / watts_at_load(1.0, 37.5, 100.0);
        close(0.2 / watts_at_load(0.2, 37.5, 100.0) / peak, 0.4);
    }

    #[test]
    fn the_best_is_the_highest() {
        assert_eq!(best([1.0, 5.0, 3.0].into_iter()), Some(1));
        assert_eq!(best(std::iter::empty()), None);
    }
}
