//! Requests as the kernel traces them: the text of `trace_pipe` with the events `block_rq_issue` and `block_rq_complete`.
//!
//! ```text
//!   fio-77  [001] d..1.  123.456789: block_rq_issue: 8,0 W 4096 () 2048 + 8 none,0,0 [fio]
//! <idle>-0  [001] d.h1.  123.457001: block_rq_complete: 8,0 W () 2048 + 8 none,0,0 [0]
//! ```

use std::collections::{BTreeMap, VecDeque};

use super::fields::{SECTOR_BYTES, device_of, parse_decimal, parse_number};
use super::formats::blkparse_access;
use super::request::{Access, BlockRequest};

/// Requests that may wait for their completion; the oldest are then given without a response time. The kernel may lose
/// events, and memory is bounded.
const MOST_WAITING: usize = 1 << 16;

/// Nanoseconds that a request waits for its completion while others are issued. Linux gives a disk half of that by default.
const MOST_WAITING_NS: u64 = 60_000_000_000;

/// Where flushes are among the open requests: they have no place on the device.
const FLUSH_OFFSET: u64 = u64::MAX;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockEvent {
    /// A request goes to the driver.
    Issue(BlockRequest),
    /// A request is done.
    Completion {
        /// When.
        time_ns: u64,
        /// Its device.
        device: u32,
        /// Its first byte; [`u64::MAX`] of a flush.
        offset: u64,
    },
    /// The kernel had no room for so many events.
    Loss(u64),
}

impl BlockEvent {
    /// The event of a line. `None` if it is none, or one that moves no data and flushes nothing.
    pub fn parse(line: &[u8]) -> Option<Self> {
        if let Some(lost) = after(line, b"[LOST ") {
            return parse_number(lost.split(|byte| *byte == b' ').next()?).map(Self::Loss);
        }
        let (head, text, is_issue) = match (split(line, b": block_rq_issue: "), split(line, b": block_rq_complete: ")) {
            (Some((head, text)), _) => (head, text, true),
            (None, Some((head, text))) => (head, text, false),
            (None, None) => return None,
        };
        let time = head.rsplit(u8::is_ascii_whitespace).next()?;
        let time_ns = parse_decimal(time, 1_000_000_000)?;
        let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let (device, letters) = (words.next()?, words.next()?);
        let comma = device.iter().position(|byte| *byte == b',')?;
        let number = |text: &[u8]| u32::try_from(parse_number(text)?).ok();
        let device = device_of(number(&device[..comma])?, number(&device[comma + 1..])?).ok()?;
        // `SECTOR + SECTORS`, wherever they are: kernels differ in what they print before and after.
        let rest: Vec<&[u8]> = words.collect();
        let plus = rest.iter().position(|word| *word == b"+")?;
        let sector = parse_number(rest.get(plus.checked_sub(1)?)?)?;
        let bytes = parse_number(rest.get(plus + 1)?)?.checked_mul(SECTOR_BYTES)?;
        // A flush has no place; kernels print 0 or the last sector there is.
        let offset = if bytes == 0 { 0 } else { sector.checked_mul(SECTOR_BYTES)? };
        if !is_issue {
            let is_flush = letters.starts_with(b"F");
            // A write that asked for a flush completes twice, the second time without a byte.
            let is_second = bytes == 0 && !is_flush;
            return (!is_second).then_some(Self::Completion { time_ns, device, offset: open_offset(is_flush, offset) });
        }
        let access = blkparse_access(letters, bytes).ok()??;
        let bytes = if access == Access::Flush { 0 } else { bytes };
        let request = BlockRequest { time_ns, device, access, offset, bytes, response_ns: None };
        request.has_place().then_some(Self::Issue(request))
    }
}

/// Pairs issues with completions, and gives requests in the order in which they were issued.
#[derive(Debug, Default)]
pub struct BlockEvents {
    /// Requests in the order of issue, each with whether it is done.
    waiting: VecDeque<(BlockRequest, bool)>,
    /// The number of the first of them.
    first: u64,
    /// Numbers of requests that are not done, by device and first byte.
    open: BTreeMap<(u32, u64), u64>,
    lost: u64,
}

impl BlockEvents {
    /// Takes an event.
    pub fn add(&mut self, event: BlockEvent) {
        match event {
            BlockEvent::Issue(request) => {
                let number = self.first + self.waiting.len() as u64;
                if let Some(before) = self.open.insert(open_key(&request), number) {
                    // It was issued again, or its completion was lost.
                    self.finish(before, None);
                }
                self.waiting.push_back((request, false));
                let oldest_ns = self.waiting.front().map_or(request.time_ns, |(oldest, _)| oldest.time_ns);
                let waited_ns = request.time_ns.saturating_sub(oldest_ns);
                if self.waiting.len() > MOST_WAITING || waited_ns > MOST_WAITING_NS {
                    self.finish(self.first, None);
                }
            }
            BlockEvent::Completion { time_ns, device, offset } => {
                if let Some(number) = self.open.remove(&(device, offset)) {
                    self.finish(number, Some(time_ns));
                }
            }
            BlockEvent::Loss(events) => self.lost = self.lost.saturating_add(events),
        }
    }

    /// The next request whose response is known, with all those issued before it.
    pub fn take(&mut self) -> Option<BlockRequest> {
        let (request, _) = *self.waiting.front().filter(|(_, is_done)| *is_done)?;
        self.waiting.pop_front();
        self.first += 1;
        let key = open_key(&request);
        if self.open.get(&key).is_some_and(|number| *number < self.first) {
            self.open.remove(&key);
        }
        Some(request)
    }

    /// Nothing follows: what is not done is given without a response time.
    pub fn finish_all(&mut self) {
        self.open.clear();
        self.waiting.iter_mut().for_each(|(_, is_done)| *is_done = true);
    }

    /// Events that the kernel had no room for.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn finish(&mut self, number: u64, at_ns: Option<u64>) {
        let Some(at) = number.checked_sub(self.first) else { return };
        let Some((request, is_done)) = self.waiting.get_mut(at as usize) else { return };
        *is_done = true;
        request.response_ns = at_ns.map(|at_ns| at_ns.saturating_sub(request.time_ns));
    }
}

/// A request among those that are open.
fn open_key(request: &BlockRequest) -> (u32, u64) {
    (request.device, open_offset(request.access == Access::Flush, request.offset))
}

fn open_offset(is_flush: bool, offset: u64) -> u64 {
    if is_flush { FLUSH_OFFSET } else { offset }
}

fn split<'a>(line: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = line.windows(mark.len()).position(|window| window == mark)?;
    Some((&line[..at], &line[at + mark.len()..]))
}

fn after<'a>(line: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    split(line, mark).map(|(_, after)| after)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
             fio-77      [001] d..1.   123.000001: block_rq_issue: 8,0 W 4096 () 2048 + 8 none,0,0 [fio]
             fio-77      [001] d..1.   123.000002: block_rq_issue: 8,0 RA 8192 () 64 + 16 [fio]
          <idle>-0       [001] d.h1.   123.000030: block_rq_complete: 8,0 RA () 64 + 16 [0]
CPU:1 [LOST 42 EVENTS]
     kworker/0:1H-9  [000] .....   123.000031: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 none,0,0 [kworker/0:1H]
             rm-80      [000] .....   123.000032: block_rq_issue: 8,0 D 1048576 () 4096 + 2048 none,0,0 [rm]
          <idle>-0       [001] d.h1.   123.000061: block_rq_complete: 8,0 W () 2048 + 8 none,0,0 [0]
             cat-5       [001] .....   123.000070: sched_switch: prev_comm=cat
          <idle>-0       [001] d.h1.   123.000080: block_rq_complete: 8,0 FF () 0 + 0 none,0,0 [0]
";

    #[test]
    fn requests_come_in_the_order_of_issue_with_their_responses() {
        let mut events = BlockEvents::default();
        TEXT.lines().filter_map(|line| BlockEvent::parse(line.as_bytes())).for_each(|event| events.add(event));
        let mut requests: Vec<BlockRequest> = std::iter::from_fn(|| events.take()).collect();
        assert_eq!(requests.len(), 3, "the discard is not done");
        events.finish_all();
        requests.extend(std::iter::from_fn(|| events.take()));
        let seen: Vec<_> = requests.iter().map(|it| (it.access, it.offset, it.bytes, it.response_ns)).collect();
        assert_eq!(
            seen,
            [
                (Access::Write, 2048 * 512, 4096, Some(60_000)),
                (Access::Read, 64 * 512, 8192, Some(28_000)),
                (Access::Flush, 0, 0, Some(49_000)),
                (Access::Discard, 4096 * 512, 1 << 20, None),
            ]
        );
        assert_eq!((requests[0].time_ns, requests[0].device, events.lost()), (123_000_001_000, 8 << 20, 42));
    }

    #[test]
    fn completions_that_are_lost_take_no_memory() {
        let mut events = BlockEvents::default();
        for at in 0..100_000_u64 {
            let request = BlockRequest {
                time_ns: at,
                device: 1,
                access: Access::Read,
                offset: at * 512,
                bytes: 512,
                response_ns: None,
            };
            events.add(BlockEvent::Issue(request));
            while events.take().is_some() {}
        }
        assert!(events.waiting.len() <= MOST_WAITING && events.open.len() <= MOST_WAITING);
    }

    #[test]
    fn the_second_completion_of_a_durable_write_ends_no_flush() {
        let text = "\
            fawn-log-1-2746    [001] .....     1.000000: block_rq_issue: 254,0 WSM 4096 () 0 + 8 be,0,4 [fawn-log-1]
           fawn-loop-1-2753    [001] ..s..     1.000010: block_rq_complete: 254,0 WSM () 0 + 8 be,0,4 [0]
          kworker/1:1H-53      [001] .....     1.000020: block_rq_issue: 254,0 FF 0 () 0 + 0 none,0,0 [kworker/1:1H]
           fawn-loop-1-2753    [001] d.s1.     1.000030: block_rq_complete: 254,0 WS () 0 + 0 be,0,4 [0]
           fawn-loop-1-2753    [001] ..s..     1.000050: block_rq_complete: 254,0 FF () 18446744073709551615 + 0 none,0,0 [0]
";
        let mut events = BlockEvents::default();
        text.lines().filter_map(|line| BlockEvent::parse(line.as_bytes())).for_each(|event| events.add(event));
        let seen: Vec<_> = std::iter::from_fn(|| events.take()).map(|it| (it.access, it.response_ns)).collect();
        assert_eq!(seen, [(Access::Write, Some(10_000)), (Access::Flush, Some(30_000))]);
    }

    #[test]
    fn a_completion_that_is_lost_holds_up_others_for_a_minute_at_most() {
        let issue = |seconds: u64| {
            let (time_ns, offset) = (seconds * 1_000_000_000, seconds * 4096);
            BlockRequest { time_ns, device: 1, access: Access::Read, offset, bytes: 4096, response_ns: None }
        };
        let mut events = BlockEvents::default();
        let mut taken = Vec::new();
        for second in 0..=61 {
            events.add(BlockEvent::Issue(issue(second)));
            if second > 0 {
                let (time_ns, offset) = (second * 1_000_000_000 + 5, second * 4096);
                events.add(BlockEvent::Completion { time_ns, device: 1, offset });
            }
            taken.extend(std::iter::from_fn(|| events.take()).map(|it| (second, it.response_ns)));
        }
        assert_eq!(taken.len(), 62);
        assert_eq!(taken[..2], [(61, None), (61, Some(5))], "the first completion was lost");
    }

    #[test]
    fn other_lines_are_no_events() {
        for line in ["", "# tracer: nop", "a: block_rq_issue: ", "x 1.0: block_rq_issue: 8 W 1 () 1 + 1", "[LOST x"] {
            assert_eq!(BlockEvent::parse(line.as_bytes()), None, "{line}");
        }
    }
}
