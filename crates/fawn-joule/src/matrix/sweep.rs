//! Products of matrices of all sizes, each for a fixed time.

use std::hint::black_box;
use std::time::Duration;

use fawn_meter::{Energy, Meter, provenance_without_idle};
use fawn_report::{BenchReport, Watch};
use serde_json::{Map, json};

use super::MatrixError;
use super::arena::{Arena, PageSize, value};
use super::interchange::InterchangeCheck;
use super::product;
use crate::caches::CpuCache;
use crate::threads::work_for;

/// Sizes of matrices grow by this factor.
const STEP: f64 = 1.189_207_115_002_721;
/// A thread looks at the clock after so many multiplications, or after a product if that has more.
const MULTIPLICATIONS_A_LOOK: usize = 50_000;
/// Results in another order of summation differ by no more than this, as a share of the largest that is possible.
const ROUNDING: f64 = 1e-12;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct MatrixPlan {
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Sizes of pages.
    pub pages: Vec<PageSize>,
    /// For so long each.
    pub time: Duration,
    /// Bytes of the smallest matrix.
    pub smallest_bytes: u64,
    /// Bytes of the largest.
    pub largest_bytes: u64,
    /// The processor's caches; empty: not known, and the order of the loops is not checked.
    pub caches: Vec<CpuCache>,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct MatrixSweep {
    /// A row for each size, number of threads and size of pages.
    pub report: BenchReport,
    /// Whether the compiler kept the order of the loops; `None`: the last cache is not known.
    pub check: Option<InterchangeCheck>,
}

/// Rows and columns of matrices from `smallest` bytes to `largest`, in steps of the fourth root of two. All are odd: rows of a
/// power of two would put a column into a few sets of a cache, which would be another experiment.
pub fn sizes(smallest: u64, largest: u64) -> Vec<usize> {
    let rows = |bytes: f64| ((bytes / size_of::<f64>() as f64).sqrt() as usize).max(1) | 1;
    let steps = (0..).map(|step| smallest.max(8) as f64 * STEP.powi(step));
    let mut sizes: Vec<usize> = steps.take_while(|bytes| *bytes <= largest as f64 * 1.000_001).map(rows).collect();
    sizes.dedup();
    sizes
}

/// Measures.
///
/// # Errors
/// [`MatrixError`].
pub fn run(plan: &MatrixPlan, meter: Option<&Meter>, watch: &dyn Watch) -> Result<MatrixSweep, MatrixError> {
    let sizes = sizes(plan.smallest_bytes, plan.largest_bytes);
    let Some(last) = sizes.last().copied() else {
        let (smallest, largest) = (plan.smallest_bytes, plan.largest_bytes);
        return Err(MatrixError::Sizes { smallest, largest });
    };
    if let Some(meter) = meter {
        meter.rest()?;
    }
    let mut report = describe(plan, &sizes);
    let beyond = plan.caches.last().map(|cache| sizes_beyond(cache.bytes));
    let (mut check, mut energies) = (None, Vec::new());
    let points = plan.pages.len() * sizes.len() * plan.threads.len();
    for (place, pages) in plan.pages.iter().enumerate() {
        // The first arena has room for the check, too.
        let rows = if place == 0 { beyond.map_or(last, |beyond| beyond.max(last)) } else { last };
        let bytes = (rows * rows * size_of::<f64>()) as u64;
        let arena = Arena::new(rows * rows, *pages).map_err(|source| MatrixError::Memory { bytes, source })?;
        report.notes.extend(pages_note(&arena, *pages));
        if place == 0 {
            check = beyond.map(|n| InterchangeCheck::of(&arena, n));
        }
        for n in &sizes {
            for threads in &plan.threads {
                watch.progress(report.rows.len() as u64, points as u64, "products");
                let mut row = Map::new();
                energies.push(point(&mut row, &arena, *n, *threads, plan.time, meter)?);
                row.insert("pages".to_owned(), json!(pages.name()));
                report.rows.push(row);
            }
        }
    }
    report.notes.push(match &check {
        Some(check) => check.describe(),
        None => "the last cache is not known, so whether the compiler kept the order of the loops was not checked"
            .to_owned(),
    });
    if let Some(check) = &check {
        report.parameter("interchange_check", json!(check));
    }
    let energy = fawn_meter::sum(energies.iter().map(Option::as_ref));
    report.metered(provenance_without_idle(&report.rows, energy.as_ref()));
    report.notes.extend(meter.and_then(Meter::loss));
    report.notes.extend(crate::build_note());
    Ok(MatrixSweep { report, check })
}

/// Rows of a matrix that is four times as large as the last cache, which leaves a quarter of it at most in that cache.
fn sizes_beyond(last_cache_bytes: u64) -> usize {
    ((4 * last_cache_bytes) as f64 / size_of::<f64>() as f64).sqrt() as usize | 1
}

fn describe(plan: &MatrixPlan, sizes: &[usize]) -> BenchReport {
    let mut report = BenchReport::new("matrix");
    report.parameter("element", "f64");
    report.parameter("seconds_a_point", plan.time.as_secs_f64());
    report.parameter("threads", json!(plan.threads));
    report.parameter("pages", json!(plan.pages.iter().map(|pages| pages.name()).collect::<Vec<_>>()));
    report.parameter("rows_and_columns", json!(sizes));
    report.parameter("caches", json!(plan.caches));
    report.notes.push(
        "y = A^T x of 64-bit floating-point values, row by row in memory, so that each column is read with the stride of a row; \
         a FLOP is a multiplication, additions are not counted"
            .to_owned(),
    );
    report
        .notes
        .push("threads share the matrix, each has its columns, and none waits for another between products".to_owned());
    report
}

fn pages_note(arena: &Arena, pages: PageSize) -> Option<String> {
    let name = pages.name();
    match (arena.refusal(), arena.huge_share(), pages) {
        (Some(refusal), _, _) => {
            Some(format!("the kernel refused the wish for {name} pages ({refusal}): it chose the pages by itself"))
        }
        (None, Some(share), PageSize::Huge) => {
            let percent = share * 100.0;
            let hint = if share < 0.99 { "; see /sys/kernel/mm/transparent_hugepage/enabled" } else { "" };
            Some(format!("huge pages hold {percent:.0} % of the memory that was to be on them{hint}"))
        }
        _ => None,
    }
}

/// Measures one size and writes its row; gives its energy.
fn point(
    row: &mut Map<String, serde_json::Value>,
    arena: &Arena,
    n: usize,
    threads: usize,
    time: Duration,
    meter: Option<&Meter>,
) -> Result<Option<Energy>, MatrixError> {
    let matrix = arena.matrix(n);
    let x: Vec<f64> = (0..n as u64).map(|at| value(at + (1 << 40))).collect();
    verify(matrix, n, &x)?;
    let (work, cost) = work_for(threads, time, meter, |thread| {
        let (first, end) = (n * thread / threads, n * (thread + 1) / threads);
        let (mut y, x) = (vec![0.0; end - first], &x);
        let multiplications = n * (end - first);
        let products = (MULTIPLICATIONS_A_LOOK / multiplications.max(1)).max(1);
        move || {
            for _ in 0..products {
                product::by_columns(black_box(matrix), n, black_box(x), first, black_box(&mut y));
            }
            (products * multiplications) as u64
        }
    })?;
    row.insert("matrix_bytes".to_owned(), json!(size_of_val(matrix)));
    row.insert("n".to_owned(), json!(n));
    row.insert("threads".to_owned(), json!(threads));
    cost.write(row, work as f64);
    for (of, to) in [
        ("operations_a_joule", "kflops_a_watt"),
        ("operations_a_modelled_joule", "kflops_a_modelled_watt"),
        ("operations_a_hand_read_joule", "kflops_a_hand_read_watt"),
    ] {
        if let Some(each) = row.get(of).and_then(serde_json::Value::as_f64) {
            row.insert(to.to_owned(), json!(each / 1e3));
        }
    }
    row.insert("mflops".to_owned(), json!(work as f64 / cost.seconds.max(1e-9) / 1e6));
    row.insert("mflop_a_cpu_second".to_owned(), json!(work as f64 / cost.cpu_seconds.max(1e-9) / 1e6));
    Ok(cost.energy)
}

fn verify(matrix: &[f64], n: usize, x: &[f64]) -> Result<(), MatrixError> {
    let (mut columns, mut rows) = (vec![0.0; n], vec![0.0; n]);
    product::by_columns(matrix, n, x, 0, &mut columns);
    product::by_rows(matrix, n, x, &mut rows);
    let difference = product::difference(&columns, &rows);
    // Whatever is no number is wrong, too.
    if difference <= ROUNDING { Ok(()) } else { Err(MatrixError::Wrong { n, difference }) }
}

#[cfg(test)]
mod tests {
    use fawn_report::Nobody;

    use super::*;

    #[test]
    fn sizes_are_odd_and_rise_by_the_fourth_root_of_two() {
        let sizes = sizes(24 << 10, 128 << 20);
        assert_eq!((sizes[0], sizes.len()), (55, 50));
        assert!(sizes.iter().all(|n| n % 2 == 1));
        let bytes = |n: usize| (n * n * 8) as f64;
        for pair in sizes.windows(2).skip(8) {
            let step = bytes(pair[1]) / bytes(pair[0]);
            assert!((1.12..1.26).contains(&step), "{pair:?}: {step}");
        }
        let last = bytes(*sizes.last().unwrap());
        assert!(last > 0.85 * f64::from(128 << 20) && last < 1.01 * f64::from(128 << 20), "{last}");
        assert_eq!(super::sizes(4096, 1024), [0usize; 0]);
    }

    #[test]
    fn a_sweep_has_a_row_for_each_size_threads_and_pages() {
        let caches = vec![CpuCache { level: 1, bytes: 16 << 10, shared_by: None }];
        let plan = MatrixPlan {
            threads: vec![1, 3],
            pages: vec![PageSize::Base, PageSize::Huge],
            time: Duration::from_millis(2),
            smallest_bytes: 8 << 10,
            largest_bytes: 12 << 10,
            caches,
        };
        let sweep = run(&plan, None, &Nobody).unwrap();
        let rows = &sweep.report.rows;
        assert_eq!(rows.len(), 3 * 2 * 2);
        for row in rows {
            let of = |name: &str| row[name].as_f64().unwrap();
            assert!(of("mflop_a_cpu_second") > 0.0 && of("seconds") >= 0.002, "{row:?}");
            assert!(!row.contains_key("kflops_a_watt"), "{row:?}");
            // Whole products of each thread's share of the columns.
            let work = of("work_a_second") * of("seconds");
            assert!((work / of("n") - (work / of("n")).round()).abs() < 1e-3, "{row:?}");
        }
        assert_eq!(sweep.check.unwrap().matrix_bytes, 91 * 91 * 8);
        assert!(
            sweep.report.notes.iter().any(|note| note.contains("no energy was metered")),
            "{:?}",
            sweep.report.notes
        );
    }

    #[test]
    fn a_wrong_product_is_found() {
        let n = 9;
        let matrix: Vec<f64> = (0..81).map(value).collect();
        let x: Vec<f64> = (0..9).map(value).collect();
        assert!(verify(&matrix, n, &x).is_ok());
        let mut broken = matrix;
        broken[40] = f64::NAN;
        assert!(matches!(verify(&broken, n, &x), Err(MatrixError::Wrong { n: 9, .. })));
    }
}
