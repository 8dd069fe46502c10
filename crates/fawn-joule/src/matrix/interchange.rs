//! Whether the compiler kept the order of the loops.
//!
//! A compiler may interchange the loops of a product, after which the matrix is read from start to end, and no cache is measured.
//! Beyond the last cache that shows: by columns, each line of a cache is fetched for each of the eight values in it, from a cache
//! that holds a line of each row or from memory, and each row has an entry of the TLB of its own. By rows, each line is fetched
//! once, ahead of its use, and a vector instruction takes all of it. So by columns a product takes several times as long. If the
//! loops were interchanged, both take the same time.

use serde::Serialize;

use super::arena::{Arena, value};
use super::product;
use fawn_machine::process::thread_cpu_us;

/// By columns a product has to take so many times as long as by rows. Interchanged loops have a factor of 1.
pub const LEAST_FACTOR: f64 = 2.0;
/// Each order is timed so often, in turn; the best time counts, as nothing makes a product faster.
const ROUNDS: usize = 5;

/// What both orders took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterchangeCheck {
    /// Bytes of the matrix.
    pub matrix_bytes: u64,
    /// CPU seconds of a product by columns.
    pub by_columns_cpu_seconds: f64,
    /// CPU seconds of the same by rows.
    pub by_rows_cpu_seconds: f64,
    /// The first over the second.
    pub factor: f64,
    /// Whether the factor shows that the loops were not interchanged.
    pub passed: bool,
}

impl InterchangeCheck {
    /// Times both orders on a matrix of `n` rows, which is larger than the last cache.
    pub fn of(arena: &Arena, n: usize) -> Self {
        let (matrix, mut y) = (arena.matrix(n), vec![0.0; n]);
        let x: Vec<f64> = (0..n as u64).map(value).collect();
        let mut best = [f64::MAX; 2];
        for _ in 0..ROUNDS {
            best[0] = best[0].min(timed(|| product::by_columns(matrix, n, &x, 0, &mut y)));
            std::hint::black_box(&mut y);
            best[1] = best[1].min(timed(|| product::by_rows(matrix, n, &x, &mut y)));
            std::hint::black_box(&mut y);
        }
        Self::judge(size_of_val(matrix) as u64, best)
    }

    fn judge(matrix_bytes: u64, [by_columns_cpu_seconds, by_rows_cpu_seconds]: [f64; 2]) -> Self {
        let factor = by_columns_cpu_seconds / by_rows_cpu_seconds.max(1e-9);
        let passed = factor >= LEAST_FACTOR;
        Self { matrix_bytes, by_columns_cpu_seconds, by_rows_cpu_seconds, factor, passed }
    }

    /// A sentence about it.
    pub fn describe(&self) -> String {
        let mib = self.matrix_bytes as f64 / f64::from(1 << 20);
        if self.passed {
            format!(
                "the compiler kept the order of the loops: at {mib:.0} MiB a product by columns takes {:.1} times as long as \
                 by rows (at least {LEAST_FACTOR})",
                self.factor
            )
        } else {
            format!(
                "the compiler interchanged the loops, or no cache matters on this machine: at {mib:.0} MiB a product by \
                 columns takes only {:.2} times as long as by rows, less than {LEAST_FACTOR}, so the curve shows no caches; \
                 build with another compiler",
                self.factor
            )
        }
    }
}

fn timed(mut work: impl FnMut()) -> f64 {
    let began = thread_cpu_us();
    work();
    (thread_cpu_us() - began) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_that_were_interchanged_are_found_by_their_factor() {
        let kept = InterchangeCheck::judge(128 << 20, [0.03, 0.01]);
        assert!(kept.passed && kept.describe().contains("takes 3.0 times as long"), "{kept:?}");
        let interchanged = InterchangeCheck::judge(128 << 20, [0.0101, 0.01]);
        assert!(!interchanged.passed && interchanged.describe().contains("interchanged the loops"), "{interchanged:?}");
    }
}
