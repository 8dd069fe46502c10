//! The product y = Aᵀ·x of a square matrix in row-major order, by hand.
//!
//! Nothing is blocked, so each column is read with the stride of a row, which is what is measured. A library for linear algebra
//! would block and pack the matrix, and remove that.

/// Partial sums of a dot product. With one sum, each addition would wait for the one before.
const SUMS: usize = 4;

/// Writes the products of the columns from `first` on into `y`, as many as `y` has room for.
///
/// The products do not depend on each other, and neither do the partial sums of one, so that a processor that executes out of
/// order has work while a load waits (e-Energy'10 §3.4.1).
#[inline(never)]
pub fn by_columns(matrix: &[f64], n: usize, x: &[f64], first: usize, y: &mut [f64]) {
    for (place, out) in y.iter_mut().enumerate() {
        *out = column_product(matrix, n, x, first + place);
    }
}

fn column_product(matrix: &[f64], n: usize, x: &[f64], column: usize) -> f64 {
    let (mut sums, mut at) = ([0.0; SUMS], column);
    let mut groups = x.chunks_exact(SUMS);
    for group in &mut groups {
        for (sum, factor) in sums.iter_mut().zip(group) {
            *sum += matrix[at] * factor;
            at += n;
        }
    }
    for (sum, factor) in sums.iter_mut().zip(groups.remainder()) {
        *sum += matrix[at] * factor;
        at += n;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// The same product with the loops the other way round: rows are read from start to end, each scaled and added to `y`. This is what
/// a compiler would make of [`by_columns`] if it interchanged its loops.
#[inline(never)]
pub fn by_rows(matrix: &[f64], n: usize, x: &[f64], y: &mut [f64]) {
    y.fill(0.0);
    for (row, factor) in matrix.chunks_exact(n).zip(x) {
        for (out, value) in y.iter_mut().zip(row) {
            *out += value * factor;
        }
    }
}

/// The most by which two results differ, as a share of the largest value that is possible: `n`, as no value is above 1.
pub fn difference(one: &[f64], other: &[f64]) -> f64 {
    // What is no number differs from everything.
    let differences = one.iter().zip(other).map(|(one, other)| (one - other).abs());
    let differences = differences.map(|each| if each.is_nan() { f64::INFINITY } else { each });
    differences.fold(0.0, f64::max) / one.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the definition has it.
    fn naive(matrix: &[f64], n: usize, x: &[f64]) -> Vec<f64> {
        (0..n).map(|column| (0..n).map(|row| matrix[row * n + column] * x[row]).sum()).collect()
    }

    #[test]
    fn a_transposed_product_is_known_for_a_small_matrix() {
        let matrix = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
        let mut y = [0.0; 3];
        by_columns(&matrix, 3, &[1.0, 10.0, 100.0], 0, &mut y);
        assert_eq!(y.map(|it| it as i64), [741, 852, 963]);
        by_columns(&matrix, 3, &[1.0, 10.0, 100.0], 1, &mut y[..2]);
        assert_eq!(y.map(|it| it as i64), [852, 963, 963]);
    }

    #[test]
    fn both_orders_of_the_loops_give_the_naive_product() {
        for n in [1, 2, 5, 55, 131] {
            let matrix: Vec<f64> = (0..n * n).map(|at| crate::matrix::arena::value(at as u64)).collect();
            let x: Vec<f64> = (0..n).map(|at| crate::matrix::arena::value(1000 + at as u64)).collect();
            let (expected, mut columns, mut rows) = (naive(&matrix, n, &x), vec![0.0; n], vec![9.0; n]);
            by_columns(&matrix, n, &x, 0, &mut columns);
            by_rows(&matrix, n, &x, &mut rows);
            assert!(difference(&expected, &columns) < 1e-12 && difference(&expected, &rows) < 1e-12, "{n}");
            columns[n / 2] += 1e-3 * n as f64;
            assert!(difference(&expected, &columns) > 1e-4, "{n}");
        }
    }
}
