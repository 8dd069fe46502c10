//! The buffer's segments for reads: the last sectors of each sequential stream.

/// Sectors of one stream that the buffer has.
#[derive(Clone, Copy, Debug)]
struct ReadSegment {
    first: u64,
    end: u64,
    /// When it was used last, by the cache's clock.
    used: u64,
}

/// Segments, of which the least recently used one is given up.
#[derive(Clone, Debug)]
pub struct ReadCache {
    segments: Vec<ReadSegment>,
    most_segments: usize,
    segment_sectors: u64,
    clock: u64,
}

impl ReadCache {
    /// A cache of so many segments. With none, it holds nothing.
    pub fn new(most_segments: u32, segment_sectors: u32) -> Self {
        let (most_segments, segment_sectors) = (most_segments as usize, u64::from(segment_sectors));
        Self { segments: Vec::new(), most_segments, segment_sectors, clock: 0 }
    }

    /// Whether a segment has all of these sectors. It counts as used then.
    pub fn has(&mut self, first: u64, end: u64) -> bool {
        self.clock += 1;
        let clock = self.clock;
        let found = self.segments.iter_mut().find(|segment| segment.first <= first && end <= segment.end);
        found.map(|segment| segment.used = clock).is_some()
    }

    /// How many of these sectors, from the first one on, a segment has.
    pub fn leading(&self, first: u64, end: u64) -> u64 {
        let leading = |segment: &ReadSegment| {
            let has_first = (segment.first..segment.end).contains(&first);
            if has_first { segment.end.min(end) - first } else { 0 }
        };
        self.segments.iter().map(leading).max().unwrap_or(0)
    }

    /// Takes sectors that were read: into the segment that they continue, or into the least recently used one.
    pub fn insert(&mut self, first: u64, end: u64) {
        if self.most_segments == 0 || first >= end {
            return;
        }
        self.clock += 1;
        let continues = |segment: &ReadSegment| (segment.first..=segment.end).contains(&first);
        let index = self.segments.iter().position(continues);
        let (index, from) = match index {
            Some(index) => (index, self.segments[index].first),
            None if self.segments.len() < self.most_segments => {
                self.segments.push(ReadSegment { first, end, used: 0 });
                (self.segments.len() - 1, first)
            }
            None => {
                let oldest = self.segments.iter().enumerate().min_by_key(|(_, segment)| segment.used);
                (oldest.map_or(0, |(index, _)| index), first)
            }
        };
        let end = if from == first { end } else { end.max(self.segments[index].end) };
        let from = from.max(end.saturating_sub(self.segment_sectors));
        self.segments[index] = ReadSegment { first: from, end, used: self.clock };
    }

    /// Forgets segments with any of these sectors.
    pub fn forget(&mut self, first: u64, end: u64) {
        self.segments.retain(|segment| segment.end <= first || end <= segment.first);
    }

    /// Where the segment begins that ends with this sector or holds it.
    pub fn first_of(&self, sector: u64) -> Option<u64> {
        let holds = |segment: &&ReadSegment| (segment.first..=segment.end).contains(&sector);
        self.segments.iter().find(holds).map(|segment| segment.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_grows_with_its_stream_and_keeps_its_last_sectors() {
        let mut cache = ReadCache::new(2, 100);
        cache.insert(0, 60);
        cache.insert(60, 120);
        assert!(cache.has(20, 120) && !cache.has(19, 21) && !cache.has(110, 121));
        assert_eq!((cache.leading(110, 150), cache.leading(120, 150), cache.leading(0, 150)), (10, 0, 0));
        assert_eq!((cache.first_of(120), cache.first_of(121)), (Some(20), None));
    }

    #[test]
    fn the_least_recently_used_segment_is_given_up() {
        let mut cache = ReadCache::new(2, 100);
        cache.insert(0, 10);
        cache.insert(1000, 1010);
        assert!(cache.has(0, 10));
        cache.insert(2000, 2010);
        assert!(cache.has(0, 10) && cache.has(2000, 2010) && !cache.has(1000, 1010));
    }

    #[test]
    fn writes_make_segments_forgotten_and_no_segments_hold_nothing() {
        let mut cache = ReadCache::new(2, 100);
        cache.insert(0, 10);
        cache.insert(50, 60);
        cache.forget(9, 20);
        assert!(!cache.has(0, 5) && cache.has(50, 60));
        let mut none = ReadCache::new(0, 0);
        none.insert(0, 10);
        assert!(!none.has(0, 10));
    }
}
