use fawn_report::Nobody;
use proptest::prelude::*;
use proptest::test_runner::Config;

use super::*;
use crate::sort::gensort::{RECORD_BYTES, RecordGenerator, RecordText};

/// A sort of files with these bytes; the outputs' bytes come back.
struct Trial {
    shape: RecordShape,
    inputs: Vec<Vec<u8>>,
    outputs: usize,
    memory: u64,
    threads: usize,
}

impl Trial {
    fn run(&self) -> (Vec<Vec<u8>>, SortOutcome) {
        let dir = tempfile::tempdir().unwrap();
        let name = |kind: &str, number: usize| dir.path().join(format!("{kind}-{number}"));
        for (number, bytes) in self.inputs.iter().enumerate() {
            std::fs::write(name("input", number), bytes).unwrap();
        }
        let options = SortOptions {
            inputs: (0..self.inputs.len()).map(|number| name("input", number)).collect(),
            outputs: (0..self.outputs).map(|number| name("output", number)).collect(),
            shape: self.shape,
            memory: self.memory,
            threads: self.threads,
            spool: None,
        };
        let outcome = sort(&options, None, &Nobody, &Leftovers::default()).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), self.inputs.len() + self.outputs);
        for (number, bytes) in self.inputs.iter().enumerate() {
            assert!(std::fs::read(name("input", number)).unwrap() == *bytes, "an input has changed");
        }
        ((0..self.outputs).map(|number| std::fs::read(name("output", number)).unwrap()).collect(), outcome)
    }

    /// Sorts, and compares what comes out with a stable sort by std.
    fn check(&self) -> SortOutcome {
        let (outputs, outcome) = self.run();
        let all = self.inputs.concat();
        let mut expected: Vec<&[u8]> = all.chunks_exact(self.shape.record_bytes()).collect();
        expected.sort_by(|first, second| self.shape.compare(first, second));
        assert!(outputs.iter().all(|output| output.len() % self.shape.record_bytes() == 0));
        assert!(outputs.concat() == expected.concat(), "not sorted as by std");
        outcome
    }
}

fn records(count: u64, text: RecordText, is_skewed: bool) -> Vec<u8> {
    let mut generator = RecordGenerator::starting_at(0, text, is_skewed);
    let mut bytes = vec![0; count as usize * RECORD_BYTES];
    bytes.as_chunks_mut::<RECORD_BYTES>().0.iter_mut().for_each(|record| generator.write_next(record));
    bytes
}

#[test]
fn the_benchmarks_records_are_sorted_in_one_pass_and_in_two() {
    for (text, is_skewed) in [(RecordText::Ascii, false), (RecordText::Binary, true)] {
        let inputs = vec![records(100_000, text, is_skewed)];
        let mut trial = Trial { shape: RecordShape::BENCHMARK, inputs, outputs: 1, memory: 64 << 20, threads: 2 };
        let outcome = trial.check();
        assert_eq!(outcome.plan.second, None);
        trial.memory = 2 << 20;
        let outcome = trial.check();
        assert!(outcome.plan.second.unwrap().runs >= 16, "{outcome:?}");
        (trial.outputs, trial.threads) = (3, 5);
        trial.memory = 6 << 20;
        let (outputs, _) = trial.run();
        assert!(outputs.iter().all(|output| output.len() > 3_000_000), "files of about a size");
        trial.check();
    }
}

#[test]
fn records_of_equal_keys_stay_in_the_order_of_the_input() {
    // All keys are equal, and the records' numbers tell them apart.
    let input: Vec<u8> = (0..200_000u32).flat_map(|number| [[7; 4], number.to_be_bytes()].concat()).collect();
    let shape = RecordShape::new(8, 0, 4).unwrap();
    let mut trial = Trial { shape, inputs: vec![input], outputs: 4, memory: 16 << 20, threads: 2 };
    assert_eq!(trial.check().plan.second, None);
    trial.memory = 1200 << 10;
    assert!(trial.check().plan.second.is_some());
    let (outputs, _) = trial.run();
    assert!(outputs.iter().all(|output| output.len() > 350_000), "equal keys are divided, too");
}

#[test]
fn no_records_and_one_record_are_sorted() {
    for count in [0, 1] {
        let inputs = vec![records(count, RecordText::Binary, false), Vec::new()];
        Trial { shape: RecordShape::BENCHMARK, inputs, outputs: 2, memory: 4 << 20, threads: 2 }.check();
    }
}

#[test]
fn records_are_larger_than_reads() {
    let shape = RecordShape::new(30_011, 29_000, 1_000).unwrap();
    let byte = |at: usize| (at.wrapping_mul(0x9E37_79B9) >> 13) as u8 & 3;
    let inputs = vec![(0..30_011 * 1200).map(byte).collect()];
    let outcome = Trial { shape, inputs, outputs: 1, memory: 3 << 20, threads: 1 }.check();
    assert!(outcome.plan.second.unwrap().block < 30_011, "{outcome:?}");
}

#[test]
fn what_memory_is_too_little_for_is_told() {
    let demand = SortDemand { shape: RecordShape::BENCHMARK, records: 1 << 36, memory: 64 << 20, threads: 2 };
    let Err(SortError::Memory { needed }) = SortPlan::of(&demand) else { panic!("64 MiB for 7 TB") };
    assert!(SortPlan::of(&SortDemand { memory: needed, ..demand }).is_ok());
    let error = SortError::Memory { needed: 1_500_000_000 }.to_string();
    assert_eq!(
        error,
        "these records need 1.5 GB of memory for two passes: give --memory that much, or fewer --threads"
    );
}

proptest! {
    #![proptest_config(Config { cases: 32, ..Config::default() })]

    #[test]
    fn any_records_are_sorted_as_by_std(
        record_bytes in 1usize..300,
        key in (0.0..1.0f64, 0.0..1.0f64),
        counts in prop::collection::vec(0usize..20_000, 1..4),
        alphabet in 1u8..=255,
        outputs in 1usize..5,
        threads in 1usize..5,
        memory_kib in 1024u64..8192,
        seed in any::<u64>(),
    ) {
        let key_offset = (key.0 * record_bytes as f64) as usize;
        let key_bytes = 1 + (key.1 * (record_bytes - key_offset - 1) as f64) as usize;
        let shape = RecordShape::new(record_bytes, key_offset, key_bytes).unwrap();
        let mut state = seed | 1;
        let mut byte = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8 % alphabet
        };
        let inputs: Vec<Vec<u8>> =
            counts.iter().map(|count| (0..count * record_bytes).map(|_| byte()).collect()).collect();
        let demand = SortDemand { shape, records: counts.iter().sum::<usize>() as u64, memory: memory_kib << 10, threads };
        let memory = match SortPlan::of(&demand) {
            Err(SortError::Memory { needed }) => needed,
            _ => demand.memory,
        };
        Trial { shape, inputs, outputs, memory, threads }.check();
    }
}
