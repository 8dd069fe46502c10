//! The allocator of the process, and how long it keeps what was freed.
//!
//! A merge frees what the next one allocates, and seals, loads and merges take turns: what each has freed is kept for a
//! second by default, which makes a small store's process half as large again (46 MiB instead of 34 at `--memory 12M`).
//! Ten milliseconds cost 2 % more processor time under a load of nothing but puts.
//!
//! It is built not to ask for huge pages (`no_thp`): it asks for all that it may ever hand out, so that whatever is touched takes
//! 2 MiB, and two loops with `--memory 24M` took 57 MiB more after a load and two dumps. What gains from huge pages asks for them
//! itself: the open segment.
#![allow(unsafe_code)]

use libmimalloc_sys::{mi_option_set, mi_option_t};

/// What goes through a cluster is a great many small allocations that one thread makes and ends.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The option `mi_option_purge_delay`, in milliseconds.
const PURGE_DELAY: mi_option_t = 15;
const PURGE_DELAY_MS: std::ffi::c_long = 10;

/// Has freed memory go back to the system soon. To be called before there are threads.
pub fn give_back_soon() {
    // SAFETY: the option is a number that the allocator reads when it frees; no other thread sets options.
    unsafe { mi_option_set(PURGE_DELAY, PURGE_DELAY_MS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_the_one_that_is_meant() {
        // SAFETY: as above, but for other tests, of which none sets options.
        let before = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(before, 1000, "the delay by default, of this release of the allocator");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn no_huge_pages_are_asked_for() {
        let value = Box::new(0_u64);
        let address = std::ptr::from_ref(&*value) as usize;
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let is_of_value = |line: &str| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let hex = |text| usize::from_str_radix(text, 16).ok();
            let ends = range.and_then(|(low, high)| Some((hex(low)?, hex(high)?)));
            ends.is_some_and(|(low, high)| (low..high).contains(&address))
        };
        let mapping = maps.lines().skip_while(|line| !is_of_value(line));
        let flags = mapping.into_iter().find_map(|line| line.strip_prefix("VmFlags:")).expect("the system tells flags");
        assert!(!flags.split(' ').any(|flag| flag == "hg"), "{flags}");
    }
}
