//! Memory for matrices, on pages of the usual size or on huge ones.

use std::io;

use fawn_workload::mix;
use memmap2::MmapMut;
use zerocopy::FromBytes;

/// Of which size the pages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// The usual ones.
    Base,
    /// Huge ones, as far as the kernel gives them (transparent huge pages).
    Huge,
}

impl PageSize {
    /// As reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Huge => "huge",
        }
    }
}

/// Where a kernel does not say how large a huge page is.
const USUAL_HUGE_BYTES: usize = 2 << 20;

/// Memory that holds any matrix up to a size, filled with values from -1 to 1.
#[derive(Debug)]
pub struct Arena {
    map: MmapMut,
    /// Where the first huge page may begin.
    start: usize,
    bytes: usize,
    /// What the kernel said to the wish for these pages.
    refusal: Option<String>,
}

impl Arena {
    /// Memory for matrices of up to `values` values.
    ///
    /// # Errors
    /// The system has not so much memory.
    pub fn new(values: usize, pages: PageSize) -> io::Result<Self> {
        let (bytes, huge) = (values * size_of::<f64>(), huge_bytes());
        let mut map = MmapMut::map_anon(bytes + huge)?;
        let refusal = advise(&map, pages).err().map(|error| error.to_string());
        let start = map.as_ptr().align_offset(huge).min(huge);
        let slots = <[f64]>::mut_from_bytes(&mut map[start..start + bytes]).expect("a page begins at an f64");
        slots.iter_mut().zip(0..).for_each(|(slot, at)| *slot = value(at));
        Ok(Self { map, start, bytes, refusal })
    }

    /// A matrix of `n` rows and columns.
    pub fn matrix(&self, n: usize) -> &[f64] {
        let bytes = n * n * size_of::<f64>();
        assert!(bytes <= self.bytes, "the arena holds the largest matrix");
        <[f64]>::ref_from_bytes(&self.map[self.start..self.start + bytes]).expect("a page begins at an f64")
    }

    /// What the kernel said if it refused the wish for pages of this kind.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// The share of this memory that lies on huge pages; `None`: the system does not say.
    pub fn huge_share(&self) -> Option<f64> {
        let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let address = self.map.as_ptr() as usize + self.start;
        Some((huge_bytes_at(&smaps, address)? as f64 / self.bytes as f64).min(1.0))
    }
}

/// Asks the kernel for pages of this kind, before the memory is touched.
fn advise(map: &MmapMut, pages: PageSize) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return map.advise(match pages {
        PageSize::Base => memmap2::Advice::NoHugePage,
        PageSize::Huge => memmap2::Advice::HugePage,
    });
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (map, pages);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Bytes of a huge page.
fn huge_bytes() -> usize {
    let told = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").ok();
    told.and_then(|text| text.trim().parse().ok()).unwrap_or(USUAL_HUGE_BYTES)
}

/// Bytes on huge pages of the mapping at this address.
fn huge_bytes_at(smaps: &str, address: usize) -> Option<usize> {
    let range = |line: &str| -> Option<(usize, usize)> {
        let (from, to) = line.split_whitespace().next()?.split_once('-')?;
        Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
    };
    let mut lines = smaps.lines();
    lines.find(|line| range(line).is_some_and(|(from, to)| (from..to).contains(&address)))?;
    let kibibytes =
        lines.take_while(|line| range(line).is_none()).find_map(|line| line.strip_prefix("AnonHugePages:"))?;
    Some(kibibytes.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()? << 10)
}

/// The value with this number: from -1 to 1, and the same in each run.
pub fn value(number: u64) -> f64 {
    (mix(number) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_holds_the_same_values_on_pages_of_each_size() {
        let arenas = [PageSize::Base, PageSize::Huge].map(|pages| Arena::new(600 * 600, pages).unwrap());
        let [base, huge] = arenas.each_ref().map(|arena| arena.matrix(600));
        assert_eq!(base, huge);
        assert!(base.iter().all(|value| (-1.0..=1.0).contains(value)));
        let mean: f64 = base.iter().sum::<f64>() / base.len() as f64;
        assert!(mean.abs() < 0.01, "{mean}");
        // Where the kernel tells, none of the one lies on huge pages.
        assert!(arenas[0].huge_share().is_none_or(|share| share == 0.0), "{:?}", arenas[0].huge_share());
    }

    #[test]
    fn huge_pages_are_those_of_the_mapping_at_the_address() {
        let smaps = "\
7f0000000000-7f0000400000 rw-p 00000000 00:00 0
Size:               4096 kB
AnonHugePages:      2048 kB
VmFlags: rd wr mr mw me ac sd
7f0000400000-7f0000800000 rw-p 00000000 00:00 0
Size:               4096 kB
AnonHugePages:         0 kB
";
        assert_eq!(huge_bytes_at(smaps, 0x7f00_0000_0008), Some(2 << 20));
        assert_eq!(huge_bytes_at(smaps, 0x7f00_0040_0000), Some(0));
        assert_eq!(huge_bytes_at(smaps, 0x1000), None);
    }
}
