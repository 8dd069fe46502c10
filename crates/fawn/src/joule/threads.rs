//! Numbers of threads, as flags have them.

use std::str::FromStr;

/// A number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadCount {
    /// As many as this process has cores.
    All,
    /// So many.
    Exactly(usize),
}

impl FromStr for ThreadCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            _ => match text.parse() {
                Ok(count @ 1..=4096) => Ok(Self::Exactly(count)),
                _ => Err("write a number of threads from 1 to 4096, or all".to_owned()),
            },
        }
    }
}

impl ThreadCount {
    /// Each number once, in the order in which they were asked for.
    pub fn resolve(counts: &[Self]) -> Vec<usize> {
        let mut numbers = Vec::new();
        for count in counts {
            let number = match count {
                Self::All => fawn_machine::cores().0.get(),
                Self::Exactly(number) => *number,
            };
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_threads_are_read_and_each_is_measured_once() {
        let of = |text: &str| text.parse::<ThreadCount>();
        assert_eq!((of("all"), of("3")), (Ok(ThreadCount::All), Ok(ThreadCount::Exactly(3))));
        for text in ["0", "-1", "many", "", "5000"] {
            assert!(of(text).unwrap_err().contains("from 1 to 4096, or all"), "{text}");
        }
        let all = fawn_machine::cores().0.get();
        let counts = [ThreadCount::Exactly(all), ThreadCount::All, ThreadCount::Exactly(all)];
        assert_eq!(ThreadCount::resolve(&counts), [all]);
    }
}
