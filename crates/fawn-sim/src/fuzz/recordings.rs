//! Readers of recordings by the second: as samples, and as a node's trace, whose sums are those of the samples.

use fawn_check::random::Random;
use fawn_gordon::node::{ResourceSample, read_node_trace};
use fawn_gordon::trace::{COLUMNS, RecordingHead, RecordingReader, RecordingSample, RecordingWriter, TraceColumn};

use super::pieces::Pieces;
use super::{Input, Target};

/// Bytes of memory that a reader may hold besides what its input justifies: a line, a parser.
const MOST_BYTES: u64 = 160 << 10;

/// Seconds of a node's trace for one line: a sample lasts an hour at most.
const MOST_SECONDS: u64 = 3601;

/// The reader of recordings by the second.
pub struct Recordings;

impl Target for Recordings {
    fn name(&self) -> &'static str {
        "recording"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let source = |random: &mut Random| random.chance(2, 3).then(|| "/proc/diskstats".to_owned());
        let sources = std::array::from_fn(|_| source(random));
        let measured: [bool; COLUMNS] = std::array::from_fn(|column: usize| sources[column].is_some());
        let head = RecordingHead { machine: "pi 3".to_owned(), period_ms: 1000, sources };
        let mut writer = RecordingWriter::new(Vec::new(), &head).expect("memory takes bytes");
        for second in 0..random.within(1, 6) {
            let value = |column: TraceColumn| {
                (measured[column as usize] && random.chance(4, 5)).then(|| random.below(1 << 40) as f64)
            };
            let sample = RecordingSample { time_ms: second * 1000, values: TraceColumn::ALL.map(value) };
            writer.push(&sample).expect("memory takes bytes");
        }
        vec![writer.finish().expect("memory takes bytes")]
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        MOST_BYTES + 8 * input.iter().map(|part| part.len() as u64).sum::<u64>()
    }

    fn execute(&self, input: &Input) -> bool {
        let Ok(mut reader) = RecordingReader::new(Pieces::new(input)) else { return false };
        let head = reader.head().clone();
        let mut samples = 0;
        for result in reader.by_ref() {
            let Ok(sample) = result else { continue };
            samples += 1;
            let pairs = sample.values.iter().zip(&head.sources);
            assert!(
                pairs.into_iter().all(|(value, source)| value.is_none() || source.is_some()),
                "a value has no source"
            );
        }
        assert!(reader.next().is_none(), "a reader that has ended goes on");
        samples > 0
    }
}

/// The reader of a node's trace.
pub struct NodeTraces;

impl Target for NodeTraces {
    fn name(&self) -> &'static str {
        "node-trace"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let mut input = Recordings.valid(random);
        let at = random.below(input[0].len() as u64) as usize;
        let rest = input[0].split_off(at);
        input.push(rest);
        input
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        let lines = input.iter().flatten().filter(|byte| **byte == b'\n').count() as u64 + 1;
        // A list has room for twice as much and grows from half of that, beside the list of the other reading.
        let seconds = 6 * MOST_SECONDS * lines * size_of::<ResourceSample>() as u64;
        MOST_BYTES + seconds + 8 * input.iter().map(|part| part.len() as u64).sum::<u64>()
    }

    fn execute(&self, input: &Input) -> bool {
        let whole = input.concat();
        let trace = read_node_trace(Pieces::new(input)).map_err(|error| error.to_string());
        assert_eq!(trace, read_node_trace(&whole[..]).map_err(|error| error.to_string()), "pieces matter");
        let Ok((seconds, sources)) = trace else { return false };
        let reader = RecordingReader::new(&whole[..]).expect("a trace that can be read is a recording");
        let mut sums = [0.0; COLUMNS];
        for sample in reader {
            let sample = sample.expect("a trace that can be read has no damage");
            sums.iter_mut().zip(sample.values).for_each(|(sum, value)| *sum += value.unwrap_or(0.0));
        }
        for column in TraceColumn::ALL {
            let sum = sums[column as usize];
            let spread: f64 = seconds.iter().map(|second| second.value(column)).sum();
            assert!((spread - sum).abs() <= 1e-9 * sum, "{column:?}: {spread} of {sum}");
            assert!(sum == 0.0 || sources.contains_key(&column), "a value has no source");
        }
        !seconds.is_empty()
    }
}
