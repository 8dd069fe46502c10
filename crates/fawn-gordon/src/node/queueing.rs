//! What waiting between the resources of a node adds to a sample.
//!
//! The paper takes the longest of the three times: perfect overlap. Real work is a limited number of requests that use
//! one resource after the other. This is a closed queueing network with that many customers. Mean-value analysis gives
//! its throughput exactly for exponential service, and the sample's time with it.

/// Seconds for work that takes `demands` seconds of each resource, with `in_flight` requests under way at a time.
///
/// With one in flight nothing overlaps, so that the time is the sum; with ever more it falls to the longest demand. At
/// least 1 in flight is assumed.
pub fn closed_network_seconds(demands: [f64; 3], in_flight: u32) -> f64 {
    let mut queue = [0.0; 3];
    let mut seconds = 0.0;
    for customers in 1..=in_flight.max(1) {
        let mut residence = [0.0; 3];
        let mut cycle = 0.0;
        for (at, demand) in demands.iter().enumerate() {
            residence[at] = demand * (1.0 + queue[at]);
            cycle += residence[at];
        }
        if cycle <= 0.0 {
            return 0.0;
        }
        let throughput = f64::from(customers) / cycle;
        for at in 0..3 {
            queue[at] = throughput * residence[at];
        }
        seconds = 1.0 / throughput;
    }
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_overlaps_with_nothing_and_many_overlap_fully() {
        let demands = [0.2, 0.5, 0.3];
        assert!((closed_network_seconds(demands, 1) - 1.0).abs() < 1e-12);
        let many = closed_network_seconds(demands, 100_000);
        assert!((many - 0.5).abs() < 1e-6, "{many}");
        assert_eq!(closed_network_seconds([0.0; 3], 4), 0.0);
    }

    #[test]
    fn equal_demands_have_the_known_closed_form() {
        // Balanced network of K stations and N customers: X = N / (D × (N + K − 1)).
        for customers in 1..20 {
            let seconds = closed_network_seconds([0.1; 3], customers);
            let expected = 0.1 * f64::from(customers + 2) / f64::from(customers);
            assert!((seconds - expected).abs() < 1e-12, "{customers}: {seconds} {expected}");
        }
    }

    #[test]
    fn more_requests_in_flight_never_take_longer() {
        let mut before = f64::INFINITY;
        for in_flight in 1..64 {
            let seconds = closed_network_seconds([0.7, 0.1, 0.6], in_flight);
            assert!(seconds <= before && seconds >= 0.7, "{in_flight}: {seconds}");
            before = seconds;
        }
    }
}
