//! What the FTL keeps of each super-block.

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockPhase {
    /// Erased.
    Erased,
    /// A write point fills it.
    Open,
    /// Full, or left by its write point.
    Closed,
    /// Its valid pages are copied, then it is erased.
    Victim,
    /// Worn out.
    Retired,
}

impl BlockPhase {
    /// Whether its pages can be read.
    pub fn holds_pages(self) -> bool {
        !matches!(self, Self::Erased | Self::Retired)
    }
}

/// A super-block.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Gordon's sequence number: larger for blocks that were opened later.
    pub sequence: u64,
    /// The last program that made one of its pages invalid.
    pub superseded_by: u64,
    /// Pages that the table refers to.
    pub valid: u32,
    /// How often it was erased.
    pub erases: u32,
    /// Its index among the closed blocks of its set, while it is one.
    pub place: u32,
    /// What it is used for.
    pub phase: BlockPhase,
    /// Reads as erased, or its erase was cut: it is erased again before it is used.
    pub needs_erase: bool,
}

/// All super-blocks.
#[derive(Debug)]
pub struct BlockTable(Vec<Block>);

impl BlockTable {
    /// Erased blocks.
    pub fn new(blocks: u32) -> Self {
        let block = Block {
            sequence: 0,
            superseded_by: 0,
            valid: 0,
            erases: 0,
            place: 0,
            phase: BlockPhase::Erased,
            needs_erase: false,
        };
        Self(vec![block; blocks as usize])
    }

    /// A block.
    #[inline]
    pub fn get(&self, block: u32) -> &Block {
        &self.0[block as usize]
    }

    /// A block, to change.
    #[inline]
    pub fn get_mut(&mut self, block: u32) -> &mut Block {
        &mut self.0[block as usize]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Block> {
        self.0.iter()
    }

    /// Whether no block with data is older than this one.
    pub fn is_oldest(&self, block: u32) -> bool {
        let sequence = self.get(block).sequence;
        self.0.iter().all(|other| other.sequence >= sequence || !other.phase.holds_pages())
    }
}
