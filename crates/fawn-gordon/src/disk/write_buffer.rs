//! The buffer's room for writes that were reported as done and are not on the platters.

/// Adjacent sectors that wait for the platters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteExtent {
    /// The first sector.
    pub first: u64,
    /// The sector after the last.
    pub end: u64,
    /// From when on it can be written to the platters, in nanoseconds.
    pub ready_ns: u64,
    /// The number of the oldest write in it.
    pub oldest: u64,
}

/// Extents, no two of which touch, in bounded room.
#[derive(Clone, Debug)]
pub struct WriteBuffer {
    extents: Vec<WriteExtent>,
    /// What is on its way to the platters and still takes room.
    draining: Option<WriteExtent>,
    most_extents: usize,
    most_sectors: u64,
}

impl WriteBuffer {
    /// A buffer with so much room. With none, it takes nothing.
    pub fn new(most_sectors: u32, most_extents: u32) -> Self {
        let (most_sectors, most_extents) = (u64::from(most_sectors), most_extents as usize);
        Self { extents: Vec::new(), draining: None, most_extents, most_sectors }
    }

    /// Whether a write of so many sectors could ever be taken.
    pub fn can_take(&self, sectors: u64) -> bool {
        sectors <= self.most_sectors
    }

    /// Takes a write, with what it touches. `false` if there is no room.
    pub fn push(&mut self, write: WriteExtent) -> bool {
        let touches = |extent: &WriteExtent| extent.first <= write.end && write.first <= extent.end;
        let mut merged = write;
        let (mut others, mut sectors) = (0, self.draining.map_or(0, sectors_of));
        for extent in &self.extents {
            if touches(extent) {
                // An extent is ready with its first sector: the interface is faster than the head.
                if extent.first <= merged.first {
                    (merged.first, merged.ready_ns) = (extent.first, extent.ready_ns);
                }
                merged.end = merged.end.max(extent.end);
                merged.oldest = merged.oldest.min(extent.oldest);
            } else {
                others += 1;
                sectors += sectors_of(*extent);
            }
        }
        others += usize::from(self.draining.is_some());
        if others >= self.most_extents || sectors + sectors_of(merged) > self.most_sectors {
            return false;
        }
        self.extents.retain(|extent| !touches(extent));
        self.extents.push(merged);
        true
    }

    /// Whether one extent has all of these sectors.
    pub fn has(&self, first: u64, end: u64) -> bool {
        self.extents.iter().chain(&self.draining).any(|extent| extent.first <= first && end <= extent.end)
    }

    /// What waits for the platters, oldest place first.
    pub fn extents(&self) -> &[WriteExtent] {
        &self.extents
    }

    /// Begins to bring the first `most_sectors` of an extent to the platters. They take room until
    /// [`drained`](Self::drained).
    pub fn drain(&mut self, index: usize, most_sectors: u64) -> WriteExtent {
        assert!(self.draining.is_none(), "one extent drains at a time");
        let extent = &mut self.extents[index];
        let end = extent.end.min(extent.first + most_sectors);
        let piece = WriteExtent { end, ..*extent };
        extent.first = end;
        if extent.first == extent.end {
            self.extents.remove(index);
        }
        self.draining = Some(piece);
        piece
    }

    /// Whether an extent is on its way to the platters.
    pub fn is_draining(&self) -> bool {
        self.draining.is_some()
    }

    /// What was on its way has arrived.
    pub fn drained(&mut self) {
        self.draining = None;
    }

    /// The number of the oldest write that is not on the platters.
    pub fn oldest(&self) -> Option<u64> {
        self.extents.iter().chain(&self.draining).map(|extent| extent.oldest).min()
    }
}

fn sectors_of(extent: WriteExtent) -> u64 {
    extent.end - extent.first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(first: u64, end: u64, oldest: u64) -> WriteExtent {
        WriteExtent { first, end, ready_ns: oldest, oldest }
    }

    #[test]
    fn writes_that_touch_become_one_extent() {
        let mut buffer = WriteBuffer::new(100, 2);
        assert!(buffer.push(write(0, 10, 1)) && buffer.push(write(20, 30, 2)));
        assert!(!buffer.push(write(40, 50, 3)), "a third extent has no room");
        assert!(buffer.push(write(10, 20, 4)));
        assert_eq!(buffer.extents(), [WriteExtent { first: 0, end: 30, ready_ns: 1, oldest: 1 }]);
        assert!(buffer.has(5, 25) && !buffer.has(25, 31));
        // Writing the same again takes no room.
        assert!(buffer.push(write(40, 110, 5)) && buffer.push(write(50, 60, 6)) && !buffer.push(write(30, 31, 7)));
    }

    #[test]
    fn what_drains_takes_room_and_can_be_read_until_it_has_drained() {
        let mut buffer = WriteBuffer::new(10, 4);
        assert!(buffer.push(write(0, 10, 1)));
        assert_eq!(buffer.drain(0, 99), write(0, 10, 1));
        assert!(buffer.has(0, 10) && buffer.is_draining() && !buffer.push(write(20, 21, 2)));
        assert_eq!(buffer.oldest(), Some(1));
        buffer.drained();
        assert_eq!((buffer.oldest(), buffer.push(write(20, 26, 2))), (None, true));
        assert_eq!(buffer.drain(0, 4), write(20, 24, 2));
        assert_eq!(buffer.extents(), [write(24, 26, 2)]);
        assert!(buffer.can_take(10) && !buffer.can_take(11));
    }
}
