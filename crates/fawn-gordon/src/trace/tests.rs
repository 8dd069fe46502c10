//! The readers on small traces of each format, which were made for these tests, and on damage.

use std::io::BufReader;

use proptest::prelude::*;

use super::compact::mend;
use super::*;

/// A trace of each format that is text. The first four requests of each are those of [`expected`].
fn sample(format: TraceFormat) -> &'static [u8] {
    match format {
        TraceFormat::Msr => include_bytes!("../../testdata/traces/msr.csv"),
        TraceFormat::Alibaba => include_bytes!("../../testdata/traces/alibaba.csv"),
        TraceFormat::Tencent => include_bytes!("../../testdata/traces/tencent.csv"),
        TraceFormat::Spc => include_bytes!("../../testdata/traces/spc.spc"),
        TraceFormat::Fiu => include_bytes!("../../testdata/traces/fiu.blkparse"),
        TraceFormat::DiskSim => include_bytes!("../../testdata/traces/disksim.trace"),
        TraceFormat::Blkparse => include_bytes!("../../testdata/traces/blkparse.txt"),
        TraceFormat::FioV2 => include_bytes!("../../testdata/traces/fio2.iolog"),
        TraceFormat::FioV3 => include_bytes!("../../testdata/traces/fio3.iolog"),
        TraceFormat::Compact => include_bytes!("../../testdata/traces/compact.trace"),
    }
}

const TEXTS: [TraceFormat; 9] = [
    TraceFormat::Msr,
    TraceFormat::Alibaba,
    TraceFormat::Tencent,
    TraceFormat::Spc,
    TraceFormat::Fiu,
    TraceFormat::DiskSim,
    TraceFormat::Blkparse,
    TraceFormat::FioV2,
    TraceFormat::FioV3,
];

fn read(bytes: &[u8], format: TraceFormat) -> (Vec<BlockRequest>, Vec<String>) {
    let (mut requests, mut errors) = (Vec::new(), Vec::new());
    for result in TraceReader::new(BufReader::with_capacity(100, bytes), format) {
        match result {
            Ok(request) => requests.push(request),
            Err(error) => errors.push(error.to_string()),
        }
    }
    (requests, errors)
}

/// The four requests that each sample begins with, 250 us apart (Tencent: seconds).
fn expected(format: TraceFormat) -> Vec<BlockRequest> {
    let (first_ns, step_ns) = match format {
        TraceFormat::Msr => (130_000_000_000_000_000 * 100, 250_000),
        TraceFormat::Alibaba => (1_577_808_000_000_000_000, 250_000),
        TraceFormat::Tencent => (1_538_323_200_000_000_000, 1_000_000_000),
        TraceFormat::Spc => (0, 250_000),
        TraceFormat::Fiu => (1_000_000, 250_000),
        _ => (500_000, 250_000),
    };
    let device = match format {
        TraceFormat::Alibaba | TraceFormat::Tencent => 419,
        TraceFormat::Fiu | TraceFormat::Blkparse => 8 << 20 | 16,
        TraceFormat::Spc | TraceFormat::DiskSim => 1,
        _ => 0,
    };
    let extents = [
        (Access::Read, 8_388_608, 8192),
        (Access::Read, 8_396_800, 122_880),
        (Access::Write, 1_048_576, 4096),
        (Access::Read, 8_388_608, 512),
    ];
    let request = |(n, (access, offset, bytes)): (usize, (Access, u64, u64))| {
        let time_ns = first_ns + n as u64 * step_ns;
        let response_ns = (format == TraceFormat::Msr).then_some(8_000_100 + 100_000 * n as u64);
        BlockRequest { time_ns, device, access, offset, bytes, response_ns }
    };
    extents.into_iter().enumerate().map(request).collect()
}

fn compact(requests: &[BlockRequest]) -> Vec<u8> {
    let mut writer = CompactWriter::new(Vec::new()).unwrap();
    for request in requests {
        writer.push(request).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn each_format_is_read_and_told_from_the_others() {
    for format in TEXTS {
        let (requests, errors) = read(sample(format), format);
        assert_eq!(errors, [""; 0], "{format:?}");
        assert_eq!(requests[..4], expected(format), "{format:?}");
        let found = TraceReader::detect(sample(format)).unwrap();
        assert_eq!(found.format(), format);
        assert_eq!(found.map(Result::unwrap).collect::<Vec<_>>(), requests);
        assert_eq!(TraceFormat::named(format.name()), Some(format));
    }
}

#[test]
fn a_compact_trace_has_the_bytes_that_its_description_says() {
    let bytes = compact(&expected(TraceFormat::DiskSim));
    assert_eq!(bytes, sample(TraceFormat::Compact), "{bytes:02x?}");
    let (requests, errors) = read(&bytes, TraceFormat::Compact);
    assert_eq!((requests, errors), (expected(TraceFormat::DiskSim), Vec::new()));
    assert_eq!(TraceReader::detect(&bytes[..]).unwrap().format(), TraceFormat::Compact);
    // The first request: a read with a device, an offset and bytes in sectors.
    assert_eq!(bytes[32..40], [0x78, 0xc0, 0x84, 0x3d, 0x01, 0x80, 0x80, 0x02]);
}

#[test]
fn what_is_particular_to_a_format_is_read() {
    let requests = |format| read(sample(format), format).0;
    // blkparse: a discard, a flush without an extent, and nothing of its summary.
    let kinds: Vec<Access> = requests(TraceFormat::Blkparse)[4..].iter().map(|request| request.access).collect();
    assert_eq!(kinds, [Access::Write, Access::Flush, Access::Discard]);
    // The driver was given a merged request.
    let options = TraceOptions { blkparse_action: BlkparseAction::Issue, ..TraceOptions::default() };
    let trace = TraceReader::with_options(sample(TraceFormat::Blkparse), TraceFormat::Blkparse, options);
    let issued: Vec<_> = trace.map(|request| request.unwrap().bytes).collect();
    assert_eq!(issued, [131_072, 4096]);
    // fio: waits add up and short ones count for nothing; files are devices with names.
    let mut trace = TraceReader::new(sample(TraceFormat::FioV2), TraceFormat::FioV2);
    let rest: Vec<_> = trace.by_ref().map(Result::unwrap).skip(4).collect();
    assert_eq!(rest.iter().map(|request| (request.time_ns, request.device)).collect::<Vec<_>>(), [(1_250_000, 1); 2]);
    assert_eq!((trace.device_name(0), trace.device_name(1)), (Some("/dev/sdb"), Some("/srv/file")));
    assert_eq!((rest[0].access, rest[1].access), (Access::Discard, Access::Flush));
    // MSR: a host's disks are devices with names.
    let mut trace = TraceReader::new(sample(TraceFormat::Msr), TraceFormat::Msr);
    assert_eq!(trace.by_ref().last().unwrap().unwrap().device, 1);
    assert_eq!((trace.device_name(0), trace.device_name(1)), (Some("web.0"), Some("web.1")));
    // FIU: a process may have a name of two words.
    assert_eq!(requests(TraceFormat::Fiu)[4].bytes, 8 * 512);
    // DiskSim: MQSim's unit, and flags in hexadecimal digits.
    let options = TraceOptions { disksim_time: DiskSimTime::Nanoseconds, ..TraceOptions::default() };
    let mut trace = TraceReader::with_options(&b"480 0 8 16 1\n960 0 8 16 b2\n"[..], TraceFormat::DiskSim, options);
    let both = [trace.next().unwrap().unwrap(), trace.next().unwrap().unwrap()];
    assert_eq!(both.map(|request| (request.time_ns, request.access)), [(480, Access::Read), (960, Access::Write)]);
}

#[test]
fn an_iolog_that_fio_wrote_is_read() {
    let trace = include_bytes!("../../testdata/traces/fio-3.33.iolog");
    let trace = TraceReader::detect(&trace[..]).unwrap();
    assert_eq!(trace.format(), TraceFormat::FioV3);
    let requests: Vec<_> = trace.map(Result::unwrap).collect();
    assert_eq!(requests.len(), 6);
    assert_eq!((requests[0].time_ns, requests[0].offset, requests[0].bytes), (133_000, 61_440, 4096));
}

#[test]
fn each_damaged_line_is_told_with_its_number_and_the_others_are_read() {
    let cases: &[(TraceFormat, &str, &str)] = &[
        (TraceFormat::Msr, "1,web,0,Read,0,512", "it has 6 fields, and should have 7"),
        (TraceFormat::Msr, "1,web,0,Erase,0,512,7", "its operation is unknown"),
        (TraceFormat::Msr, "1,web,0,Read,-8,512,7", "its offset is no number in range"),
        (TraceFormat::Msr, "184467440737095517,web,0,Read,8,512,7", "its timestamp is no number in range"),
        (TraceFormat::Alibaba, "4294967296,R,0,512,7", "its device is no number in range"),
        (TraceFormat::Alibaba, "1,R,18446744073709551615,512,7", "it asks for more than 1 TiB, or for a place past"),
        (TraceFormat::Alibaba, "1,W,8,0,7", "it asks for no bytes"),
        (TraceFormat::Tencent, "1538323200,42,8,2,419", "its operation is unknown"),
        (TraceFormat::Tencent, "1538323200,36028797018963968,8,1,419", "its offset is no number in range"),
        (TraceFormat::Spc, "0,20941264,8192,W", "it has 4 fields, and should have 5 or more"),
        (TraceFormat::Fiu, "1 2 cat 8 8 R 6", "it has 7 fields, and should have 8 or 9"),
        (TraceFormat::Fiu, "1 2 cat 8 8 R 4096 0", "its device is no number in range"),
        (TraceFormat::DiskSim, "0.5 1 8 8 +1", "its flags is no number in range"),
        (TraceFormat::Blkparse, "8,16 1 1 0.5 7 Q ? 8 + 8 [cat]", "its operation is unknown"),
        (TraceFormat::Blkparse, "8.16 1 1 0.5 7 Q R 8 + 8 [cat]", "its device is no number in range"),
        (TraceFormat::FioV2, "/dev/sdb copy 0 4096", "its operation is unknown"),
        (TraceFormat::FioV2, "/dev/sdb read 0", "it has 3 fields, and should have 4 after the time"),
        (TraceFormat::FioV3, "77 /dev/sdb wait 100 0", "its operation is unknown"),
        (TraceFormat::FioV3, "x /dev/sdb read 0 4096", "its timestamp is no number in range"),
    ];
    for (format, line, problem) in cases {
        // Before the last line of the sample's requests.
        let text = String::from_utf8_lossy(sample(*format)).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let damaged = [&lines[..4], &[*line], &lines[4..]].concat().join("\n");
        let (requests, errors) = read(damaged.as_bytes(), *format);
        assert_eq!(requests, read(sample(*format), *format).0, "{line}");
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].starts_with(&format!("line 5: {problem}")), "{errors:?}");
        assert!(errors[0].contains(&format!("`{line}`")), "{errors:?}");
    }
    let (requests, errors) = read(b"/dev/sdb read 0 4096\n", TraceFormat::FioV2);
    assert!(requests.is_empty() && errors[0].contains("must begin with `fio version 2 iolog`"), "{errors:?}");
}

#[test]
fn what_is_of_no_format_is_refused_with_advice() {
    let packed = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3];
    for bytes in [&b""[..], b"\n\n", b"hello, world\n1,2\n", &packed, &[0; 1000]] {
        let error = TraceReader::detect(bytes).unwrap_err().to_string();
        assert!(error.contains("unpack the trace first, or name its format"), "{error}");
    }
    assert!(TraceReader::detect(BufReader::new(std::io::repeat(b'7'))).is_err());
}

#[test]
fn a_trace_with_more_names_of_devices_than_are_kept_is_told_so() {
    let lines: Vec<String> = (0..=MAX_DEVICE_NAMES).map(|name| format!("1,host{name},0,Read,0,512,7")).collect();
    let text = lines.join("\n");
    let (requests, errors) = read(text.as_bytes(), TraceFormat::Msr);
    assert_eq!(requests.len(), MAX_DEVICE_NAMES);
    assert!(errors.len() == 1 && errors[0].contains("it names one device more than 4096"), "{errors:?}");
}

/// A compact trace of some blocks.
fn large() -> (Vec<BlockRequest>, Vec<u8>) {
    let pattern = TracePattern { requests: 60_000, ..TracePattern::paper_random(Access::Write, 1 << 40, 3) };
    let pattern = TracePattern { arrivals: Arrivals::Poisson(5e4), ..pattern };
    let requests: Vec<_> = pattern.trace().unwrap().collect();
    let bytes = compact(&requests);
    (requests, bytes)
}

#[test]
fn a_compact_trace_loses_the_block_that_is_damaged_and_no_other() {
    let (requests, bytes) = large();
    assert!(bytes.len() < 12 * requests.len(), "{} bytes", bytes.len());
    assert_eq!(read(&bytes, TraceFormat::Compact), (requests.clone(), Vec::new()));
    let mut damaged = bytes.clone();
    damaged[70_000] ^= 1;
    let (left, errors) = read(&damaged, TraceFormat::Compact);
    assert!(errors.len() == 1 && errors[0].starts_with("block 2: the checksum of its requests"), "{errors:?}");
    let lost = requests.len() - left.len();
    assert!((5_000..10_000).contains(&lost), "{lost} are lost");
    let first = left.iter().zip(&requests).take_while(|(left, request)| left == request).count();
    assert_eq!(left[first..], requests[first + lost..]);
    // Mended checksums let the damage through, and it is one request or a block.
    mend(&mut damaged);
    assert_ne!(read(&damaged, TraceFormat::Compact).0, requests);
}

#[test]
fn a_compact_trace_that_is_cut_or_lacks_a_block_is_told_so() {
    let (_, bytes) = large();
    for length in [0, 7, 15, 16, 20, 31, 32, 70_000, bytes.len() - 24, bytes.len() - 1] {
        let (_, errors) = read(&bytes[..length], TraceFormat::Compact);
        assert!(errors.len() == 1 && errors[0].contains("the trace ends too early"), "{length}: {errors:?}");
    }
    let first = 16 + 16 + u32::from_le_bytes(bytes[16..20].try_into().unwrap()) as usize;
    let (_, errors) = read(&[&bytes[..16], &bytes[first..]].concat(), TraceFormat::Compact);
    assert!(errors.len() == 1 && errors[0].contains("it has lost whole blocks"), "{errors:?}");
    let (_, errors) = read(&[&bytes[..], &bytes[16..]].concat(), TraceFormat::Compact);
    assert!(errors.len() == 1 && errors[0].contains("something follows its last block"), "{errors:?}");
    let mut other = bytes.clone();
    other[8] = 2;
    mend(&mut other);
    let (_, errors) = read(&other, TraceFormat::Compact);
    assert!(errors.len() == 1 && errors[0].contains("its version is 2"), "{errors:?}");
    let (_, errors) = read(b"FAWNTRACE, or so it seems", TraceFormat::Compact);
    assert!(errors.len() == 1 && errors[0].contains("this is no compact trace"), "{errors:?}");
}

#[test]
fn requests_that_are_none_are_not_written() {
    let request = expected(TraceFormat::DiskSim)[0];
    let mut writer = CompactWriter::new(Vec::new()).unwrap();
    assert!(writer.push(&BlockRequest { bytes: 0, ..request }).is_err());
    assert!(writer.push(&BlockRequest { offset: u64::MAX, ..request }).is_err());
    assert!(writer.push(&BlockRequest { offset: 0, bytes: u64::MAX, ..request }).is_err());
    assert!(writer.push(&BlockRequest { offset: MAX_END, ..request }).is_err());
    writer.push(&BlockRequest { bytes: 0, access: Access::Flush, ..request }).unwrap();
    assert_eq!(read(&writer.finish().unwrap(), TraceFormat::Compact).0.len(), 1);
}

#[test]
fn a_request_that_no_device_has_room_for_is_a_damaged_line() {
    let line = |offset: u64, bytes: u64| format!("128166372003061629,hm,0,Read,{offset},{bytes},71579\n");
    let text = [line(0, 512), line(0, u64::MAX), line(MAX_END - 511, 512), line(512, 512)].concat();
    let (requests, errors) = read(text.as_bytes(), TraceFormat::Msr);
    assert_eq!(requests.iter().map(|request| request.offset).collect::<Vec<_>>(), [0, 512]);
    assert_eq!(errors.len(), 2);
    for (error, number) in errors.iter().zip([2, 3]) {
        assert!(error.starts_with(&format!("line {number}: it asks for more than 1 TiB")), "{error}");
    }
}

#[test]
fn a_flush_has_no_place_whatever_blkparse_prints() {
    let line = b"  8,16   0        1     0.000000001   123  Q FWS 18446744073709551615 + 0 [fawn]\n";
    let (requests, errors) = read(line, TraceFormat::Blkparse);
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!((requests[0].access, requests[0].offset, requests[0].bytes), (Access::Flush, 0, 0));
}

fn any_request() -> impl Strategy<Value = BlockRequest> {
    let access = prop::sample::select(vec![Access::Read, Access::Write, Access::Discard, Access::Flush]);
    let number = || prop_oneof![any::<u64>(), 0u64..5000, (0u64..5000).prop_map(|sectors| sectors * 512)];
    (number(), any::<u32>(), access, number(), number(), prop::option::of(number())).prop_map(
        |(time_ns, device, access, offset, bytes, response_ns)| {
            let bytes = bytes.clamp(u64::from(access != Access::Flush), MAX_REQUEST_BYTES);
            let offset = offset.min(MAX_END - bytes);
            BlockRequest { time_ns, device, access, offset, bytes, response_ns }
        },
    )
}

/// A line as the formats have them, or nearly.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        any::<u64>().prop_map(|number| number.to_string()),
        (0u64..300).prop_map(|number| number.to_string()),
        prop::sample::select(vec![
            "R",
            "W",
            "Read",
            "Write",
            "read",
            "wait",
            "trim",
            "sync",
            "Q",
            "D",
            "FWS",
            "+",
            "8,16",
            "0.25",
            "-",
            "/f",
            "fio version 2 iolog",
            "fio version 3 iolog",
            "CPU0",
            "9e9",
            "18446744073709551615",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,6}",
    ];
    (prop::collection::vec(word, 0..12), prop::sample::select(vec![",", " ", "  ", "\t", ", "]))
        .prop_map(|(words, separator)| words.join(separator).into_bytes())
}

proptest! {
    #[test]
    fn what_is_written_is_read(requests in prop::collection::vec(any_request(), 0..200)) {
        prop_assert_eq!(read(&compact(&requests), TraceFormat::Compact), (requests, Vec::new()));
    }

    #[test]
    fn no_reader_panics_and_each_line_is_a_request_or_an_error_or_passed_over(
        lines in prop::collection::vec(any_line(), 0..20), format in prop::sample::select(TEXTS.to_vec()),
    ) {
        let (requests, errors) = read(&lines.join(&b'\n'), format);
        prop_assert!(requests.len() + errors.len() <= lines.len());
        prop_assert!(requests.iter().all(BlockRequest::has_place));
    }

    #[test]
    fn no_reader_panics_on_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        for format in TraceFormat::ALL {
            read(&bytes, format);
        }
        let _ = TraceReader::detect(&bytes[..]);
        let _ = RecordingReader::new(&bytes[..]).map(Iterator::count);
    }

    #[test]
    fn a_damaged_compact_trace_is_read_as_far_as_it_goes(
        requests in prop::collection::vec(any_request(), 1..50), at in any::<prop::sample::Index>(), flip in 1u8..,
        is_mended: bool,
    ) {
        let mut bytes = compact(&requests);
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        if is_mended {
            mend(&mut bytes);
        }
        let (_, errors) = read(&bytes, TraceFormat::Compact);
        prop_assert!(is_mended || !errors.is_empty());
    }
}

mod recordings {
    use super::*;

    fn head() -> RecordingHead {
        let mut sources = [const { None }; COLUMNS];
        sources[TraceColumn::CpuSeconds as usize] = Some("/proc/stat".to_owned());
        sources[TraceColumn::DiskReads as usize] = Some("/proc/diskstats".to_owned());
        RecordingHead { machine: "pi 3".to_owned(), period_ms: 1000, sources }
    }

    fn sample(time_ms: u64, cpu: Option<f64>, reads: Option<f64>) -> RecordingSample {
        let mut values = [None; COLUMNS];
        values[TraceColumn::CpuSeconds as usize] = cpu;
        values[TraceColumn::DiskReads as usize] = reads;
        RecordingSample { time_ms, values }
    }

    #[test]
    fn a_recording_is_read_as_it_was_written_and_what_was_not_measured_is_absent() {
        let samples = [sample(0, Some(0.812), Some(5.0)), sample(1000, None, Some(7.0)), sample(2000, Some(0.0), None)];
        let mut writer = RecordingWriter::new(Vec::new(), &head()).unwrap();
        for sample in &samples {
            writer.push(sample).unwrap();
        }
        let text = writer.finish().unwrap();
        assert_eq!(String::from_utf8_lossy(&text), include_str!("../../testdata/traces/recording.txt"));
        let reader = RecordingReader::new(&text[..]).unwrap();
        assert_eq!(reader.head(), &head());
        let read: Vec<_> = reader.map(Result::unwrap).collect();
        assert_eq!(read, samples);
        assert_eq!((read[1].value(TraceColumn::CpuSeconds), read[2].value(TraceColumn::CpuSeconds)), (None, Some(0.0)));
        assert_eq!(read[0].value(TraceColumn::Instructions), None);
    }

    #[test]
    fn a_value_without_a_source_is_not_written() {
        let mut writer = RecordingWriter::new(Vec::new(), &head()).unwrap();
        let mut sample = sample(0, None, None);
        sample.values[TraceColumn::Instructions as usize] = Some(1.0);
        assert!(writer.push(&sample).is_err());
        sample = self::sample(0, Some(-1.0), None);
        assert!(writer.push(&sample).is_err());
        assert!(RecordingWriter::new(Vec::new(), &RecordingHead { machine: "a\nb".to_owned(), ..head() }).is_err());
        assert!(RecordingWriter::new(Vec::new(), &RecordingHead { period_ms: 0, ..head() }).is_err());
    }

    #[test]
    fn a_damaged_sample_is_told_with_its_number_and_the_others_are_read() {
        let text =
            include_str!("../../testdata/traces/recording.txt").replace("1000 - 7", "1000 - 7 9\n\n1000 - x\n0 1 1");
        let results: Vec<_> = RecordingReader::new(text.as_bytes()).unwrap().collect();
        let errors: Vec<_> =
            results.iter().filter_map(|result| result.as_ref().err()).map(ToString::to_string).collect();
        assert_eq!(results.len() - errors.len(), 2);
        assert!(errors[0].starts_with("line 15: it has another number of values than columns"), "{errors:?}");
        assert!(errors[1].starts_with("line 17: one of its values is no number from 0 to 10^18"), "{errors:?}");
        assert!(errors[2].starts_with("line 18: it comes twice or late"), "{errors:?}");
    }

    #[test]
    fn a_head_that_makes_no_sense_is_refused_with_its_line() {
        let begin = "fawn recording 1\nmachine a\nperiod_ms 1000\n";
        let cases = [
            ("fawn recording 2\n".to_owned(), 1),
            (format!("{begin}column speed from /proc\nsamples\n"), 4),
            (format!("{begin}column cpu_seconds 7\nsamples\n"), 4),
            (format!("{begin}column cpu_seconds not measured\ncolumn cpu_seconds not measured\nsamples\n"), 5),
            (format!("{begin}column cpu_seconds from /proc/stat\n"), 4),
            ("fawn recording 1\nperiod_ms 0\nsamples\n".to_owned(), 2),
            ("fawn recording 1\nmachine a\nsamples\n".to_owned(), 3),
        ];
        for (text, expected) in cases {
            let error = RecordingReader::new(text.as_bytes()).map(|_| ()).unwrap_err();
            assert!(matches!(error, RecordingError::Head { line, .. } if line == expected), "{text}: {error}");
        }
    }
}

mod synthetic_traces {
    use super::*;

    fn pattern(addresses: AddressPattern) -> TracePattern {
        let arrivals = Arrivals::Every(1000);
        TracePattern { addresses, arrivals, read_share: 0.7, capacity_bytes: 1 << 30, requests: 20_000, seed: 5 }
    }

    #[test]
    fn equal_seeds_give_equal_traces_and_other_seeds_give_others() {
        for addresses in [
            AddressPattern::Uniform { least_bytes: 4096, most_bytes: 65536 },
            AddressPattern::Zipf { bytes: 4096, exponent: 0.99 },
            AddressPattern::Sequential { bytes: 65536 },
            AddressPattern::Pairs { is_sequential: false },
        ] {
            let one: Vec<_> = pattern(addresses).trace().unwrap().collect();
            let other: Vec<_> = TracePattern { seed: 6, ..pattern(addresses) }.trace().unwrap().collect();
            assert!(one.iter().copied().eq(pattern(addresses).trace().unwrap()));
            assert_ne!(one, other);
            let mut summary = TraceSummary::default();
            for request in &one {
                summary.add(request);
            }
            assert_eq!(summary.requests.iter().sum::<u64>(), 20_000);
            let reads = summary.requests[Access::Read as usize];
            assert!((13_700..14_300).contains(&reads), "{reads} reads");
            assert!(summary.end <= 1 << 30 && summary.unordered == 0);
            assert_eq!(summary.times_ns, Some((0, 19_999_000)));
        }
    }

    #[test]
    fn the_papers_random_trace_has_200_000_accesses_of_2_to_256_kb() {
        let requests: Vec<_> = TracePattern::paper_random(Access::Write, 256 << 30, 1).trace().unwrap().collect();
        assert_eq!(requests.len(), 200_000);
        let sizes: std::collections::BTreeSet<u64> = requests.iter().map(|request| request.bytes).collect();
        assert!(sizes.iter().copied().eq((1..=128).map(|units| units * 2048)));
        assert!(requests.iter().all(|request| request.access == Access::Write && request.offset % 2048 == 0));
        let mean = requests.iter().map(|request| request.bytes as f64).sum::<f64>() / 2e5;
        assert!((mean / 1024.0 - 129.0).abs() < 1.0, "{mean}");
    }

    #[test]
    fn the_papers_pairs_are_half_of_8_kb_and_hold_94_percent_of_their_bytes_in_120_kb() {
        let requests: Vec<_> = TracePattern::paper_pairs(1.0, 1 << 30, 10_000, 1).trace().unwrap().collect();
        for (n, pair) in requests.chunks(2).enumerate() {
            let region = n as u64 % 8192 * (128 << 10);
            assert_eq!((pair[0].offset, pair[0].bytes), (region, 8 << 10));
            assert_eq!((pair[1].offset, pair[1].bytes), (region + (8 << 10), 120 << 10));
        }
        // The paper measured 88 to 93 % in its applications, whose other accesses these traces lack.
        assert!((120.0f64 / 128.0 - 0.9375).abs() < 1e-12);
        let mut drawn = TracePattern { read_share: 0.5, ..pattern(AddressPattern::Pairs { is_sequential: false }) };
        drawn.requests = 1001;
        let requests: Vec<_> = drawn.trace().unwrap().collect();
        assert!(
            requests.chunks_exact(2).all(|pair| pair[0].end() == pair[1].offset && pair[0].access == pair[1].access)
        );
    }

    #[test]
    fn zipf_is_uneven_and_poisson_keeps_its_mean() {
        let mut counts = std::collections::BTreeMap::<u64, u32>::new();
        let zipf = pattern(AddressPattern::Zipf { bytes: 1 << 20, exponent: 0.99 });
        zipf.trace().unwrap().for_each(|request| *counts.entry(request.offset).or_default() += 1);
        // By the law, with 1,024 places: 13.2 %.
        let most = counts.values().max().unwrap();
        assert!((2400..2900).contains(most), "{most}");
        let poisson = TracePattern { arrivals: Arrivals::Poisson(5e5), ..zipf };
        let last = poisson.trace().unwrap().last().unwrap().time_ns as f64;
        assert!((last / 20_000.0 / 5e5 - 1.0).abs() < 0.03, "{last}");
    }

    #[test]
    fn a_pattern_that_makes_no_sense_is_refused() {
        let uniform = |least_bytes, most_bytes| pattern(AddressPattern::Uniform { least_bytes, most_bytes });
        let wrong = |pattern: TracePattern| pattern.trace().map(|_| ()).unwrap_err();
        assert_eq!(wrong(uniform(0, 4096)), PatternError::Size);
        assert_eq!(wrong(uniform(8192, 4096)), PatternError::Size);
        assert_eq!(wrong(uniform(4096, 1 << 31)), PatternError::Size);
        assert_eq!(wrong(TracePattern { read_share: 1.5, ..uniform(4096, 4096) }), PatternError::Share);
        assert_eq!(wrong(TracePattern { arrivals: Arrivals::Poisson(f64::NAN), ..uniform(1, 1) }), PatternError::Mean);
        let zipf = pattern(AddressPattern::Zipf { bytes: 1, exponent: -1.0 });
        assert_eq!(wrong(zipf), PatternError::Exponent);
    }
}
