//! Lists of processors as Linux writes them, such as `0-3,8`.

/// Numbers of processors are below this one.
const MOST_CPUS: usize = 1 << 16;

/// The numbers of a list such as `0-3,8`, in its order. `None` if it is no such list.
pub fn parse(list: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.trim().parse::<usize>().ok()?, last.trim().parse::<usize>().ok()?);
        if last >= MOST_CPUS {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// The processors that the machine runs. `None` if the system does not say.
pub fn online() -> Option<Vec<usize>> {
    parse(&std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed_in_ranges() {
        assert_eq!(parse("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(parse("0\n"), Some(vec![0]));
        assert_eq!(parse("3-1"), Some(Vec::new()));
        for nonsense in ["", "x", "0,", "0,x", "0-18446744073709551615", "65536"] {
            assert_eq!(parse(nonsense), None, "{nonsense}");
        }
    }
}
