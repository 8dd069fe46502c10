//! Readers of block traces, on bytes that arrive in pieces: the same requests and errors as in one piece, no line counted
//! twice, no extent that ends past the largest offset. And the kernel's events of block devices, of which each request
//! that was issued comes out once.

use std::fmt::Write as _;
use std::io::BufRead;

use fawn_check::random::Random;
use fawn_gordon::trace::compact::mend;
use fawn_gordon::trace::{Access, BlockEvent, BlockEvents, BlockRequest, CompactWriter, TraceFormat, TraceReader};

use super::pieces::Pieces;
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

/// What was read: requests, errors, and a sum over all that they say.
type Outcome = (u64, u64, u64);

fn outcome<R: BufRead>(mut reader: TraceReader<R>) -> Outcome {
    let (mut requests, mut errors, mut sum) = (0, 0, 0u64);
    let mut add = |number: u64| sum = (sum ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    for result in reader.by_ref() {
        match result {
            Ok(request) => {
                requests += 1;
                assert!(request.has_place(), "no device has what a request asks for");
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

/// The kernel's events of block devices, line by line.
pub struct BlockEventLines;

impl Target for BlockEventLines {
    fn name(&self) -> &'static str {
        "block-event"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let mut text = "# tracer: nop\n".to_owned();
        for number in 0..random.within(1, 12) {
            let request = request(random);
            let (sector, sectors) = (request.offset / 512, request.bytes / 512);
            let letters = *random.pick(&["R", "W", "RA", "WS", "WFS", "FF", "D", "N"]);
            let (seconds, micros) = (number, random.below(1_000_000));
            let mut line = |event: &str, bytes: &str, task: &str| {
                let place = format!("{bytes}() {sector} + {sectors} none,0,0 [{task}]");
                writeln!(text, "  fio-7 [001] d..1. {seconds}.{micros:06}: {event}: 8,16 {letters} {place}")
                    .expect("memory takes text");
            };
            line("block_rq_issue", "4096 ", "fio");
            if random.chance(4, 5) {
                line("block_rq_complete", "", "0");
            }
            if random.chance(1, 8) {
                writeln!(text, "CPU:1 [LOST {} EVENTS]", random.below(100)).expect("memory takes text");
            }
        }
        vec![text.into_bytes()]
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        // A request waits in 56 bytes and its key in 24, from lines of 40 bytes and more; a line is a list of its words.
        MOST_BYTES + 24 * input.iter().map(|part| part.len() as u64).sum::<u64>()
    }

    fn execute(&self, input: &Input) -> bool {
        let whole = input.concat();
        let mut events = BlockEvents::default();
        let (mut issued, mut given) = (0u64, 0u64);
        let mut take = |events: &mut BlockEvents| {
            while let Some(request) = events.take() {
                given += 1;
                let BlockRequest { access, bytes, .. } = request;
                assert!(request.has_place(), "no device has what a request asks for");
                assert!(bytes > 0 || access == Access::Flush, "an extent is empty");
            }
        };
        for event in whole.split(|byte| *byte == b'\n').filter_map(BlockEvent::parse) {
            issued += u64::from(matches!(event, BlockEvent::Issue(_)));
            events.add(event);
            take(&mut events);
        }
        events.finish_all();
        take(&mut events);
        assert_eq!(given, issued, "requests that were issued, and requests that came out");
        issued > 0
    }
}
