//! Readers of `/proc` and of control groups: totals that are numbers, whatever the text.

use fawn_check::random::Random;
use fawn_gordon::recorder::{ResourceCounters, cgroup, proc};
use fawn_gordon::trace::TraceColumn;

use super::{Input, Target};

/// Bytes of memory that readers may hold: the fields of one line as numbers, and parts that are no UTF-8 a second time.
const MOST_BYTES: u64 = 64 << 10;

/// Files of one reading: each part of an input is one of them, the next reading's follow.
const FILES: usize = 8;

/// Totals of a machine and of a control group.
pub struct Counters;

/// A reading of files in the order in which [`Counters`] writes them.
fn read(files: &[String], is_chosen: impl Fn(&str) -> bool + Copy) -> [ResourceCounters; 3] {
    let file = |at: usize| files.get(at).map_or("", String::as_str);
    let mut readings = [ResourceCounters::default(); 3];
    let [machine, second, first] = &mut readings;
    machine.set(TraceColumn::CpuSeconds, proc::cpu_seconds(file(0), 100.0));
    machine.set_network(proc::network(file(1), is_chosen));
    machine.set_disks(proc::disks(file(2), is_chosen));
    second.set(TraceColumn::CpuSeconds, cgroup::cpu_seconds_v2(file(3)));
    second.set_disks(Some(cgroup::disks_v2(file(4), is_chosen)));
    first.set(TraceColumn::CpuSeconds, cgroup::cpu_seconds_v1(file(5)));
    first.set_disks(Some(cgroup::disks_v1(file(6), file(7), is_chosen)));
    readings
}

impl Target for Counters {
    fn name(&self) -> &'static str {
        "counters"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let mut files = Vec::new();
        for _ in 0..2 {
            let mut count = || random.below(1 << 50);
            let cpu: Vec<String> = (0..10).map(|_| count().to_string()).collect();
            let row = |counts: usize, count: &mut dyn FnMut() -> u64| {
                (0..counts).map(|_| count().to_string()).collect::<Vec<_>>().join(" ")
            };
            files.extend([
                format!("cpu  {}\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n", cpu.join(" ")),
                format!(
                    "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes packets\n  lo: {}\neth0: {}\n",
                    row(16, &mut count),
                    row(16, &mut count)
                ),
                format!(
                    " 8  0 sda {}\n 8  1 sda1 {}\n 7 0 loop0 1 0 2 0 0 0 0 0 0 0 0\n",
                    row(17, &mut count),
                    row(11, &mut count)
                ),
                format!("usage_usec {}\nuser_usec 1\nsystem_usec 2\n", count()),
                format!(
                    "8:0 rbytes={} wbytes={} rios={} wios={} dbytes=0 dios=0\n253:0 rbytes=4096\n",
                    count(),
                    count(),
                    count(),
                    count()
                ),
                format!("{}\n", count()),
                format!("8:0 Read {}\n8:0 Write {}\n8:0 Sync 0\n8:0 Total 1\nTotal 7\n", count(), count()),
                format!("8:0 Read {}\n8:0 Write {}\n8:0 Total 3\nTotal 3\n", count(), count()),
            ]);
        }
        files.into_iter().map(String::into_bytes).collect()
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        // A field of two bytes is a number of eight, in a list that has room for as many again; a byte that is no text is
        // three bytes once it is.
        MOST_BYTES + 16 * input.iter().map(|part| part.len() as u64).sum::<u64>()
    }

    fn execute(&self, input: &Input) -> bool {
        let files: Vec<String> = input.iter().map(|part| String::from_utf8_lossy(part).into_owned()).collect();
        let (before, after) = files.split_at(files.len().min(FILES));
        let is_chosen = |name: &str| name != "lo" && !name.starts_with("loop");
        let mut any = false;
        for (before, after) in read(before, is_chosen).iter().zip(&read(after, is_chosen)) {
            for column in TraceColumn::ALL {
                for total in [before.get(column), after.get(column)].into_iter().flatten() {
                    assert!((0.0..1e30).contains(&total), "a total of {total}");
                    any |= total > 0.0;
                }
            }
            let used = after.since(before);
            assert!(used.iter().flatten().all(|used| (0.0..1e30).contains(used)), "{used:?} were used");
        }
        any
    }
}
