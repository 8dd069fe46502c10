//! Readers of block traces and of recordings, on bytes that arrive in pieces: the same requests and errors as in one
//! piece, no line counted twice, no extent that ends past the largest offset.

use std::io::{self, BufRead, Read};

use fawn_check::random::Random;
use fawn_gordon::trace::compact::mend;
use fawn_gordon::trace::{
    Access, BlockRequest, COLUMNS, CompactWriter, RecordingHead, RecordingReader, RecordingSample, RecordingWriter,
    TraceColumn, TraceFormat, TraceReader,
};

use super::{Input, Target};

/// A reader of one format.
pub struct Traces {
    /// The target's name.
    pub name: &'static str,
    /// The format; `None`: any, which the reader has to find out.
    pub format: Option<TraceFormat>,
}

/// The readers of each format.
pub const READERS: [Traces; 11] = [
    Traces { name: "trace-msr", format: Some(TraceFormat::Msr) },
    Traces { name: "trace-alibaba", format: Some(TraceFormat::Alibaba) },
    Traces { name: "trace-tencent", format: Some(TraceFormat::Tencent) },
    Traces { name: "trace-spc", format: Some(TraceFormat::Spc) },
    Traces { name: "trace-fiu", format: Some(TraceFormat::Fiu) },
    Traces { name: "trace-disksim", format: Some(TraceFormat::DiskSim) },
    Traces { name: "trace-blkparse", format: Some(TraceFormat::Blkparse) },
    Traces { name: "trace-fio-v2", format: Some(TraceFormat::FioV2) },
    Traces { name: "trace-fio-v3", format: Some(TraceFormat::FioV3) },
    Traces { name: "trace-compact", format: Some(TraceFormat::Compact) },
    Traces { name: "trace-detect", format: None },
];

/// Bytes of memory that a reader may hold besides what its input justifies: a block, a line, a parser.
const MOST_BYTES: u64 = 160 << 10;

/// Parts of an input, each of which arrives by itself.
struct Pieces<'a> {
    parts: &'a [Vec<u8>],
    read: usize,
}

impl<'a> Pieces<'a> {
    fn new(parts: &'a [Vec<u8>]) -> Self {
        Self { parts, read: 0 }
    }
}

impl BufRead for Pieces<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while let Some((part, rest)) = self.parts.split_first()
            && self.read >= part.len()
        {
            (self.parts, self.read) = (rest, 0);
        }
        Ok(self.parts.first().map_or(&[], |part| &part[self.read..]))
    }

    fn consume(&mut self, bytes: usize) {
        self.read += bytes;
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let piece = self.fill_buf()?;
        let bytes = piece.len().min(into.len());
        into[..bytes].copy_from_slice(&piece[..bytes]);
        self.consume(bytes);
        Ok(bytes)
    }
}

/// What was read: requests, errors, and a sum over all that they say.
type Outcome = (u64, u64, u64);

fn outcome<R: BufRead>(mut reader: TraceReader<R>) -> Outcome {
    let (mut requests, mut errors, mut sum) = (0, 0, 0u64);
    let mut add = |number: u64| sum = (sum ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    for result in reader.by_ref() {
        match result {
            Ok(request) => {
                requests += 1;
                assert!(request.offset.checked_add(request.bytes).is_some(), "an extent ends past the largest offset");
                assert!(request.bytes > 0 || request.access == Access::Flush, "an extent is empty");
                let BlockRequest { time_ns, device, access, offset, bytes, response_ns } = request;
                [time_ns, u64::from(device), access as u64, offset, bytes, response_ns.unwrap_or(7)]
                    .into_iter()
                    .for_each(&mut add);
            }
            Err(error) => {
                errors += 1;
                add(error.to_string().len() as u64);
            }
        }
    }
    assert!(reader.next().is_none(), "a reader that has ended goes on");
    (requests, errors, sum)
}

impl Traces {
    fn read<R: BufRead>(&self, input: R) -> Outcome {
        match self.format {
            Some(format) => outcome(TraceReader::new(input, format)),
            None => TraceReader::detect(input).map_or((0, 1, 0), outcome),
        }
    }
}

impl Target for Traces {
    fn name(&self) -> &'static str {
        self.name
    }

    fn valid(&self, random: &mut Random) -> Input {
        let format = self.format.unwrap_or_else(|| *random.pick(&TraceFormat::ALL));
        let requests: Vec<_> = (0..random.within(1, 12)).map(|_| request(random)).collect();
        let bytes = encode(format, &requests);
        let cut = random.below(bytes.len() as u64) as usize;
        if self.format.is_some() { vec![bytes[..cut].to_vec(), bytes[cut..].to_vec()] } else { vec![bytes] }
    }

    fn mend(&self, random: &mut Random, input: &mut Input) {
        if self.format == Some(TraceFormat::Compact) && random.chance(3, 4) {
            let mut whole = input.concat();
            mend(&mut whole);
            *input = vec![whole];
        }
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        // Names are held twice and may grow where they are no UTF-8; the input is joined to be read once more.
        MOST_BYTES + 24 * input.iter().map(|part| part.len() as u64).sum::<u64>()
    }

    fn execute(&self, input: &Input) -> bool {
        let in_pieces = self.read(Pieces::new(input));
        let whole = input.concat();
        assert_eq!(in_pieces, self.read(&whole[..]), "pieces matter");
        let lines = whole.split(|&byte| byte == b'\n').count() as u64;
        let (requests, errors, _) = in_pieces;
        let is_text = !matches!(self.format, None | Some(TraceFormat::Compact));
        assert!(!is_text || requests + errors <= lines, "a line is read twice");
        requests > 0
    }
}

/// A request with numbers that every format can hold.
fn request(random: &mut Random) -> BlockRequest {
    let access = *random.pick(&[Access::Read, Access::Write]);
    BlockRequest {
        time_ns: random.below(1 << 40) * 1000,
        device: 8 << 20 | random.below(20) as u32,
        access,
        offset: random.below(1 << 34) * 512,
        bytes: random.within(1, 512) * 512,
        response_ns: random.chance(1, 2).then(|| random.below(1 << 30)),
    }
}

fn encode(format: TraceFormat, requests: &[BlockRequest]) -> Vec<u8> {
    if format == TraceFormat::Compact {
        let mut writer = CompactWriter::new(Vec::new()).expect("memory takes bytes");
        for request in requests {
            writer.push(request).expect("memory takes bytes");
        }
        return writer.finish().expect("memory takes bytes");
    }
    let header = match format {
        TraceFormat::FioV2 => "fio version 2 iolog\n/dev/sdb add\n/dev/sdb wait 700 0\n",
        TraceFormat::FioV3 => "fio version 3 iolog\n0 /dev/sdb add\n",
        _ => "",
    };
    let lines = requests.iter().enumerate().map(|(number, request)| line(format, number, request));
    std::iter::once(header.to_owned()).chain(lines).collect::<String>().into_bytes()
}

/// A request as a line of a format that is text.
fn line(format: TraceFormat, number: usize, request: &BlockRequest) -> String {
    let BlockRequest { time_ns, device, access, offset, bytes, response_ns } = *request;
    let is_read = access == Access::Read;
    let (letter, word) = if is_read { ("R", "Read") } else { ("W", "Write") };
    let (sector, sectors) = (offset / 512, bytes / 512);
    let (seconds, fraction) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
    match format {
        TraceFormat::Msr => {
            format!("{},web,{},{word},{offset},{bytes},{}\n", time_ns / 100, number % 3, response_ns.unwrap_or(0) / 100)
        }
        TraceFormat::Alibaba => format!("{device},{letter},{offset},{bytes},{}\n", time_ns / 1000),
        TraceFormat::Tencent => format!("{seconds},{sector},{sectors},{},{device}\n", u8::from(!is_read)),
        TraceFormat::Spc => format!("{},{sector},{bytes},{letter},{seconds}.{fraction:09}\n", number % 4),
        TraceFormat::Fiu => format!("{time_ns} 77 kjournald {sector} {sectors} {letter} 8 16 {offset:032x}\n"),
        TraceFormat::DiskSim => {
            format!("{}.{:06} {} {sector} {sectors} {}\n", time_ns / 1_000_000, 5, number % 4, u8::from(is_read))
        }
        TraceFormat::Blkparse => {
            let action = if number % 5 == 4 { 'D' } else { 'Q' };
            let tail = if number % 7 == 6 { "CPU0 (8,16):\n Reads Queued: 3\n" } else { "" };
            format!(
                "  8,16  1 {number} {seconds}.{fraction:09} 77  {action}  {letter}S {sector} + {sectors} [cat]\n{tail}"
            )
        }
        TraceFormat::FioV2 => format!("/dev/sdb {} {offset} {bytes}\n", word.to_lowercase()),
        TraceFormat::FioV3 => format!("{} /dev/sdb {} {offset} {bytes}\n", time_ns / 1000, word.to_lowercase()),
        TraceFormat::Compact => unreachable!("a compact trace has no lines"),
    }
}

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
