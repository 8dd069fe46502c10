//! What a figure of power or energy covers.

use serde::{Deserialize, Serialize};

/// What watts and joules are of, from the narrowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The processors' packages, with their DRAM where it has a counter of its own; no disk, no network, no power supply.
    Package,
    /// The board with all that it feeds, behind the power supply.
    Board,
    /// What is drawn from the wall, power supply included.
    Wall,
}

impl Scope {
    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::Board => "board",
            Self::Wall => "wall",
        }
    }

    /// As a file has it.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Package, Self::Board, Self::Wall].into_iter().find(|scope| scope.name() == word)
    }
}
