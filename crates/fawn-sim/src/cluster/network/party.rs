//! The parties of a cluster, as scripts write them, and links between them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use fawn_kv::ids::{Address, FrontId};

use crate::cluster::script::plan::Plan;

/// Whoever sends and receives messages, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    Manager(usize),
    Node(usize),
    Front(usize),
    Client(usize),
}

/// Links by sender and receiver.
pub type LinkSet = BTreeSet<(Party, Party)>;

impl Party {
    /// The address that messages to it have in a cluster of that plan.
    pub fn address(self, plan: &Plan) -> Address {
        match self {
            Self::Manager(_) => Address::Manager,
            Self::Node(node) => Address::Node(plan.node_id(node)),
            Self::Front(front) => Address::Front(FrontId(front as u32)),
            Self::Client(client) => Address::Client(client as u32),
        }
    }

    /// The seat that a node shares with the front-end of its number.
    pub fn seat(self) -> Option<usize> {
        match self {
            Self::Node(number) | Self::Front(number) => Some(number),
            Self::Manager(_) | Self::Client(_) => None,
        }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manager(number) => write!(f, "m{number}"),
            Self::Node(number) => write!(f, "n{number}"),
            Self::Front(number) => write!(f, "f{number}"),
            Self::Client(number) => write!(f, "c{number}"),
        }
    }
}

impl FromStr for Party {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let nobody = || format!("`{text}` names nobody: write n1, m1, f1 or c1");
        let (letter, digits) = text.split_at_checked(1).ok_or_else(nobody)?;
        let number = digits.parse().map_err(|_| nobody())?;
        match letter {
            "m" => Ok(Self::Manager(number)),
            "n" => Ok(Self::Node(number)),
            "f" => Ok(Self::Front(number)),
            "c" => Ok(Self::Client(number)),
            _ => Err(nobody()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_is_read_as_it_is_written() {
        for party in [Party::Manager(0), Party::Node(12), Party::Front(3), Party::Client(7)] {
            assert_eq!(party.to_string().parse(), Ok(party));
        }
        for text in ["", "n", "x1", "n-1"] {
            assert_eq!(text.parse::<Party>(), Err(format!("`{text}` names nobody: write n1, m1, f1 or c1")));
        }
    }
}
