//! Which stretches of the key space a load is put into a store in, and how.

use fawn_ring::Interval;

use crate::maintenance::Maintenance;

/// What an interval's new records are merged with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inputs {
    /// With nothing: they become the newest part of its slices.
    None,
    /// With everything that its one slice holds.
    All,
}

/// An interval of whole slices, which the manifest takes over at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlannedMerge {
    pub interval: Interval,
    pub inputs: Inputs,
    /// Bytes of new records in it, about.
    pub bytes: u64,
    /// Bytes at which a run of it ends, its slice too, and the next begins.
    pub run_bytes: u64,
}

/// What is known of a slice.
#[derive(Clone, Copy, Debug)]
struct Load {
    interval: Interval,
    /// Bytes that it holds.
    held: u64,
    /// Bytes that are new.
    new: u64,
}

/// All stretches with new records, in the order of keys. `new` has the bytes of new records by slice.
pub(super) fn plan(maintenance: &Maintenance, new: &[u64]) -> Vec<PlannedMerge> {
    let slices = maintenance.state().slices.iter().zip(new);
    let loads =
        slices.map(|(slice, new)| Load { interval: slice.interval, held: maintenance.bytes_held(slice), new: *new });
    stretches(loads, maintenance.slice_bytes())
}

/// What a slice holds is rewritten if as much is new, or nearly: then the merge writes at most twice what is new, and only
/// once what was loaded before already.
fn is_merged(load: &Load) -> bool {
    load.held > 0 && load.held <= load.new + load.new / 8
}

/// Bytes above which new records of a slice become several runs, each a slice: none is cut off for the last eighth.
fn most(slice_bytes: u64) -> u64 {
    slice_bytes + slice_bytes / 8
}

/// The same where a slice is merged with what it holds. How much of it is the same keys nobody knows, and what is new is
/// reckoned too high where keys come again: a slice that is loaded once more is not to be cut further.
fn most_merged(slice_bytes: u64) -> u64 {
    slice_bytes + slice_bytes / 2
}

fn stretches(loads: impl Iterator<Item = Load>, slice_bytes: u64) -> Vec<PlannedMerge> {
    let mut done: Vec<PlannedMerge> = Vec::new();
    // Whether slices may still be added to the last stretch.
    let mut is_open = false;
    for load in loads {
        if load.new == 0 {
            is_open = false;
            continue;
        }
        let inputs = if is_merged(&load) { Inputs::All } else { Inputs::None };
        let small = inputs == Inputs::None && load.new <= most(slice_bytes);
        if let Some(last) =
            done.last_mut().filter(|last| is_open && small && last.bytes + load.new <= most(slice_bytes))
        {
            last.interval.high = load.interval.high;
            last.bytes += load.new;
            continue;
        }
        is_open = small;
        done.push(PlannedMerge {
            interval: load.interval,
            inputs,
            bytes: load.new,
            run_bytes: match inputs {
                _ if small => u64::MAX,
                Inputs::None => even(load.new, most(slice_bytes)),
                // A quarter more, so that no small rest is left over if all is the same keys.
                Inputs::All => even(load.new.max(load.held), most_merged(slice_bytes)) / 4 * 5,
            },
        });
    }
    done
}

/// The size of runs, all alike and of at most `most`, that hold `bytes` together.
fn even(bytes: u64, most: u64) -> u64 {
    bytes / bytes.div_ceil(most).max(1) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(slices: &[(u64, u64)]) -> Vec<(usize, Inputs, u64, u64)> {
        let intervals = Interval::ALL.divide(slices.len() as u32);
        let loads = intervals.iter().zip(slices).map(|(interval, (held, new))| Load {
            interval: *interval,
            held: *held,
            new: *new,
        });
        let place =
            |stretch: &PlannedMerge| intervals.iter().position(|slice| slice.low == stretch.interval.low).unwrap();
        let stretches = stretches(loads, 100);
        for pair in stretches.windows(2) {
            assert!(pair[0].interval.high < pair[1].interval.low);
        }
        stretches.iter().map(|stretch| (place(stretch), stretch.inputs, stretch.bytes, stretch.run_bytes)).collect()
    }

    #[test]
    fn small_slices_share_a_run_and_large_ones_are_cut_evenly() {
        let (none, whole) = (Inputs::None, u64::MAX);
        assert_eq!(planned(&[(0, 30), (0, 30), (0, 30), (0, 30)]), [(0, none, 90, whole), (3, none, 30, whole)]);
        assert_eq!(planned(&[(0, 30), (0, 0), (0, 30)]), [(0, none, 30, whole), (2, none, 30, whole)]);
        assert_eq!(
            planned(&[(0, 30), (0, 250), (0, 30)]),
            [(0, none, 30, whole), (1, none, 250, 84), (2, none, 30, whole)]
        );
    }

    #[test]
    fn what_is_there_is_rewritten_only_where_as_much_is_new() {
        let (none, all) = (Inputs::None, Inputs::All);
        assert_eq!(planned(&[(80, 80), (90, 80), (91, 80), (1000, 80)]).len(), 4);
        let found = planned(&[(40, 40), (46, 40), (1000, 40)]);
        assert_eq!(found.iter().map(|stretch| stretch.1).collect::<Vec<_>>(), [all, none]);
        assert_eq!(found[1].2, 80, "two slices that are not merged share a run");
    }
}
