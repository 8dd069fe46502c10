//! A power cut under a workload: what is on flash then, how long recovery takes, and whether it finds what was acknowledged.

use std::collections::BTreeMap;

use rand::SeedableRng as _;
use rand::rngs::Xoshiro256PlusPlus;
use serde::Serialize;

use crate::flash::FlashDesign;
use crate::ftl::recovery::{RecoveryReport, recover_timed};
use crate::ftl::table::Location;
use crate::ftl::{Device, FtlError, FtlSettings, HostKind, HostRequest, Medium, TornPage, Translation};

/// A power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// It comes once so many requests are acknowledged.
    pub after_requests: u64,
    /// Whether every page was written before.
    pub is_filled: bool,
    /// Seeds how pages read that were being programmed.
    pub seed: u64,
}

/// What a power cut left, and what recovery made of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PowerCutReport {
    /// Requests that were acknowledged.
    pub acknowledged: u64,
    /// Requests that were not.
    pub under_way: u64,
    /// When the power failed, in simulated seconds.
    pub at_s: f64,
    /// Super-pages that were being programmed.
    pub torn_pages: u64,
    /// Super-pages of the host.
    pub pages: u64,
    /// Those of which recovery found neither the last acknowledged write or trim nor a later one. 0, or a bug.
    pub pages_lost: u64,
    /// What recovery read.
    pub recovery: RecoveryReport,
    /// How long it takes on the array, in simulated seconds.
    pub recovery_s: f64,
}

/// What the host knows of a page. Versions are the numbers of requests, from 1.
#[derive(Clone, Copy, Default)]
struct KnownPage {
    acknowledged: u32,
    trimmed: u32,
    written: u32,
}

impl KnownPage {
    fn fits(self, found: Option<u32>, is_filled: bool) -> bool {
        match found {
            Some(version) => version >= self.acknowledged && version <= self.written,
            None if self.trimmed > 0 => self.trimmed >= self.acknowledged,
            None => self.acknowledged == 0 && !is_filled,
        }
    }
}

/// Requests under way: version, pages, and whether they change them.
type UnderWay = BTreeMap<u64, (u32, std::ops::Range<u32>, bool)>;

impl PowerCut {
    /// Serves requests as fast as the device takes them, cuts the power, and recovers.
    ///
    /// # Errors
    /// The device is worn out before.
    ///
    /// # Panics
    /// The device keeps no medium, or a request lies outside of it.
    pub fn run(
        self,
        mut device: Device,
        design: &FlashDesign,
        settings: FtlSettings,
        mut requests: impl Iterator<Item = HostRequest>,
    ) -> Result<PowerCutReport, FtlError> {
        let page_bytes = u64::from(device.translation().layout().page_bytes);
        let mut known = vec![KnownPage::default(); device.translation().logical_pages() as usize];
        let mut under_way = UnderWay::new();
        let (mut version, mut acknowledged) = (0_u32, 0_u64);
        while acknowledged < self.after_requests {
            while device.has_room()
                && let Some(request) = requests.next()
            {
                version += 1;
                let at = device.array().now();
                let pages = touched(&request, page_bytes);
                let number = device.admit(HostRequest { at, stamp: version, ..request });
                for page in pages.clone() {
                    let known = &mut known[page as usize];
                    match request.kind {
                        HostKind::Read | HostKind::Flush => {}
                        HostKind::Write => known.written = version,
                        HostKind::Trim => known.trimmed = version,
                    }
                }
                under_way.insert(number, (version, pages, matches!(request.kind, HostKind::Write | HostKind::Trim)));
            }
            let goes_on = device.step()?;
            while let Some(reply) = device.take_reply() {
                acknowledged += 1;
                let Some((version, pages, true)) = under_way.remove(&reply.number) else { continue };
                for page in pages {
                    let known = &mut known[page as usize];
                    known.acknowledged = known.acknowledged.max(version);
                }
            }
            if !goes_on && under_way.is_empty() {
                break;
            }
        }
        let (medium, torn_pages) = self.cut(&device);
        let recovered = recover_timed(design, settings, &medium)?;
        let is_lost = |(page, known): &(u32, &KnownPage)| {
            !known.fits(found(&recovered.translation, &medium, *page), self.is_filled)
        };
        let pages_lost = (0..).zip(&known).filter(is_lost).count() as u64;
        Ok(PowerCutReport {
            acknowledged,
            under_way: under_way.len() as u64,
            at_s: device.array().now().seconds(),
            torn_pages,
            pages: known.len() as u64,
            pages_lost,
            recovery: recovered.report,
            recovery_s: recovered.report.time.seconds(),
        })
    }

    /// What is on flash now. Each page that is being programmed reads in one of the ways that it may.
    fn cut(self, device: &Device) -> (Medium, u64) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut torn_pages = 0;
        let medium = device.cut_power(|program| {
            torn_pages += 1;
            TornPage::drawn(program, &mut random)
        });
        (medium, torn_pages)
    }
}

/// The pages that a request changes or reads; of a trim those that lie in it as a whole.
fn touched(request: &HostRequest, page_bytes: u64) -> std::ops::Range<u32> {
    let end = request.offset + request.bytes;
    let (first, last) = match request.kind {
        HostKind::Trim => (request.offset.div_ceil(page_bytes), end / page_bytes),
        HostKind::Read | HostKind::Write | HostKind::Flush => (request.offset / page_bytes, end.div_ceil(page_bytes)),
    };
    first as u32..last.max(first) as u32
}

/// The version of a page that recovery found.
fn found(translation: &Translation, medium: &Medium, page: u32) -> Option<u32> {
    match translation.location(page) {
        Location::At(at) => Some(medium.stamp(at).unwrap_or(u32::MAX)),
        Location::Never | Location::Trimmed(_) => None,
    }
}
