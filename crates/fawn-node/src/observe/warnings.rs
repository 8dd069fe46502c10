//! What the log tells an operator before and while puts are refused: that the device fills up, that there is no room on it for
//! more, and that the index has reached its budget. Looked at once a second, told when it changes, at most once a minute. And
//! how often it tells what clients can cause as often as they like.

use crate::options::ServeOptions;
use fawn_store::flash::Space;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Milliseconds between looks.
const LOOK_MS: u64 = 1000;
/// Milliseconds between repetitions.
pub(crate) const REPEAT_MS: u64 = 60_000;

/// How full a device is, in steps that matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fullness {
    /// Below 80 %.
    #[default]
    Fine,
    /// From 80 %.
    Filling,
    /// From 90 %.
    Full,
}

impl Fullness {
    /// That of a device of `total` bytes, of which `free` are left; a size of 0 is not known.
    pub fn of(total: u64, free: u64) -> Self {
        let used = u128::from(total.saturating_sub(free)) * 100;
        match used {
            used if total > 0 && used >= u128::from(total) * 90 => Self::Full,
            used if total > 0 && used >= u128::from(total) * 80 => Self::Filling,
            _ => Self::Fine,
        }
    }

    /// What `stats` says.
    pub fn text(self) -> &'static str {
        match self {
            Self::Fine => "no",
            Self::Filling => "80 % of the device is used",
            Self::Full => "90 % of the device is used, puts will be refused",
        }
    }
}

/// Used share of a device in percent, rounded up as `df` does; 0 while it is not known.
pub fn used_percent(total: u64, free: u64) -> u64 {
    if total == 0 { 0 } else { (u128::from(total.saturating_sub(free)) * 100).div_ceil(u128::from(total)) as u64 }
}

/// What was told last.
#[derive(Debug, Default)]
pub struct OperatorWarnings {
    next_look_ms: u64,
    fullness: Fullness,
    space: Refusals,
    memory: Refusals,
}

/// Refusals of one kind when they were told of last, and when that was.
#[derive(Debug, Default)]
struct Refusals {
    count: u64,
    reported_ms: Option<u64>,
}

impl Refusals {
    /// How many are new, if that is to be told, where there are `count` by now.
    fn untold(&mut self, count: u64, now_ms: u64) -> Option<u64> {
        let is_due = self.reported_ms.is_none_or(|told| now_ms >= told + REPEAT_MS);
        if count <= self.count || !is_due {
            return None;
        }
        self.reported_ms = Some(now_ms);
        Some(count - std::mem::replace(&mut self.count, count))
    }
}

impl OperatorWarnings {
    /// Whether it is time to look.
    pub fn is_due(&mut self, now_ms: u64) -> bool {
        let due = now_ms >= self.next_look_ms;
        if due {
            self.next_look_ms = now_ms + LOOK_MS;
        }
        due
    }

    /// Looks at the device, as far as the stores know it; the message, if there is something new to tell.
    pub fn on_space(&mut self, space: Option<Space>, options: &ServeOptions) -> Option<String> {
        let Space { total, free } = space.unwrap_or(Space { total: 0, free: 0 });
        let fullness = Fullness::of(total, free);
        let before = std::mem::replace(&mut self.fullness, fullness);
        (fullness > before).then(|| {
            let (dir, percent) = (options.dir.display(), used_percent(total, free));
            format!(
                "the device of {dir} is {percent} % full ({} MiB left); when it is full, the store refuses puts and \
                evicts nothing: delete something, or enlarge it",
                free >> 20
            )
        })
    }

    /// Looks at the number of puts refused for want of space, on the device of which `space` tells or on another node's; the
    /// message, if there is something new to tell.
    pub fn on_refused_space(&mut self, refusals: u64, now_ms: u64, space: Option<Space>) -> Option<String> {
        let new = self.space.untold(refusals, now_ms)?;
        // Who passes puts on has no device.
        let place = match space {
            None => "the nodes' logs name the device".to_owned(),
            Some(space) => format!("{} MiB of this device are left", space.free >> 20),
        };
        Some(format!(
            "{new} puts were refused because a device is full, here or on a node downstream ({place}): the rest of \
            its space is reserved for deletes and merges; delete something, or enlarge it; reads and deletes \
            continue"
        ))
    }

    /// Looks at the number of puts refused for want of memory; the message, if there is something new to tell.
    pub fn on_refused_memory(&mut self, refusals: u64, now_ms: u64, options: &ServeOptions) -> Option<String> {
        let new = self.memory.untold(refusals, now_ms)?;
        let memory = options.memory_bytes >> 20;
        Some(format!(
            "{new} puts were refused because the index has reached the memory budget of {memory} MiB; restart with \
            a larger --memory, or delete something; reads and deletes continue"
        ))
    }
}

/// One kind of event that is told at most once a minute, however often clients cause it.
#[derive(Debug)]
pub struct RateLimitedLog {
    /// When it was told last, and how many were not told since.
    told: Mutex<(Option<Instant>, u64)>,
}

impl RateLimitedLog {
    /// Nothing has happened yet.
    pub const fn new() -> Self {
        Self { told: Mutex::new((None, 0)) }
    }

    /// It has happened. When it is to be told: what to add to the line, about those that were not told.
    pub fn happened(&self, now: Instant) -> Option<String> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = told.0.is_some_and(|last| now.saturating_duration_since(last) < Duration::from_millis(REPEAT_MS));
        if recent {
            told.1 += 1;
            return None;
        }
        match std::mem::replace(&mut *told, (Some(now), 0)).1 {
            0 => Some(String::new()),
            more => Some(format!(" (and {more} more since the last such line)")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_often_is_told_once_a_minute_with_its_number() {
        let (seldom, start) = (RateLimitedLog::new(), Instant::now());
        let told = |seconds| seldom.happened(start + Duration::from_secs(seconds));
        assert_eq!(told(0).as_deref(), Some(""));
        assert_eq!((told(1), told(59)), (None, None));
        assert_eq!(told(60).as_deref(), Some(" (and 2 more since the last such line)"));
        assert_eq!(told(119), None);
    }

    fn space(free: u64) -> Space {
        Space { total: 1000 << 20, free: free << 20 }
    }

    #[test]
    fn a_filling_device_is_told_of_at_80_and_90_percent_once_each() {
        let (mut advice, options) = (OperatorWarnings::default(), ServeOptions::new("data"));
        let mut told = |free: u64| advice.on_space(Some(space(free)), &options);
        assert_eq!(told(201), None);
        assert!(told(200).unwrap().contains("data is 80 % full (200 MiB left)"));
        assert_eq!(told(150), None);
        assert!(told(99).unwrap().contains("91 %"), "90.1 %, as df has it");
        assert_eq!((told(50), told(500)), (None, None));
        assert!(told(100).is_some(), "it filled up again");
        assert_eq!(OperatorWarnings::default().on_space(None, &options), None);
    }

    #[test]
    fn a_full_index_is_told_of_once_a_minute_with_a_way_out() {
        let (mut advice, options) = (OperatorWarnings::default(), ServeOptions::new("data"));
        assert_eq!(advice.on_refused_memory(0, 1, &options), None);
        let text = advice.on_refused_memory(5, 2, &options).unwrap();
        assert!(text.starts_with("5 puts") && text.contains("64 MiB") && text.contains("--memory"), "{text}");
        assert_eq!(advice.on_refused_memory(9, 3, &options), None);
        assert!(advice.on_refused_memory(9, 60_002, &options).unwrap().starts_with("4 puts"));
        assert_eq!(advice.on_refused_memory(9, 200_000, &options), None);
    }

    #[test]
    fn puts_that_find_no_space_are_told_of_with_what_is_left() {
        let (mut advice, space) = (OperatorWarnings::default(), Some(space(260)));
        assert_eq!(advice.on_refused_space(0, 1, space), None);
        // Of a device that is not 80 % full.
        let text = advice.on_refused_space(7, 2, space).unwrap();
        assert!(text.starts_with("7 puts were refused because a device is full") && text.contains("260 MiB"), "{text}");
        assert_eq!(advice.on_refused_space(8, 3, space), None);
        // A front-end has no device.
        let text = OperatorWarnings::default().on_refused_space(1, 1, None).unwrap();
        assert!(!text.contains("MiB") && text.contains("the nodes' logs name"), "{text}");
        // Each kind by itself.
        assert!(advice.on_refused_memory(1, 3, &ServeOptions::new("data")).is_some());
    }
}
