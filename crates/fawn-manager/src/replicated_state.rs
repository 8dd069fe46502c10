//! What managers have decided beside the protocol's state, and with it: a deterministic state machine over the log's entries.
//!
//! A decision is made in a term, and counts only if its entry came into the log in that very term: what a leader has
//! proposed without knowing that it leads no longer does nothing.

use fawn_kv::ids::ClusterId;
use fawn_kv::manager::roster::{Change, Roster};
use fawn_kv::manager::{Command, KeptError, Manager, Settings, State, Waits};
use fawn_kv::timing::Timing;
use fawn_kv::wire::version::{OLDEST, SKIPPED_SEATS, STRUCK_NAMES};
use fawn_ring::Secret;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One thing that is decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// The cluster begins; only the first counts.
    Begin(Genesis),
    /// Where keys lie, for life; only the first counts.
    Secret(Secret),
    /// A command of the protocol's managers: [`Command::encode`].
    Command(Vec<u8>),
    /// A change of who is in the cluster.
    Roster(Change),
    /// The group goes on from what one of it had kept: [`State::recovered`].
    Recovered {
        /// How many decisions may be lost.
        lost: u32,
        /// Whether chains wait for all who were in them.
        waits: Waits,
    },
    /// Everybody speaks this version, and whoever does not is no longer let in: the cluster's. Since version 4.
    Version(u8),
}

impl Decision {
    /// A command's.
    pub fn command(command: &Command) -> Self {
        Self::Command(command.encode())
    }
}

/// What a cluster begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Genesis {
    /// Its name for life, drawn at random.
    pub cluster: ClusterId,
    /// Its first settings.
    pub settings: Settings,
    /// Stretches that the key space is cut into for front-ends.
    pub wedges: u32,
}

impl Genesis {
    /// The manager that each begins with; it does not lead.
    ///
    /// # Panics
    /// No cluster can go by the settings: nobody proposes such.
    pub fn manager(&self, timing: Timing) -> Manager {
        let manager =
            Manager::new(timing, self.settings, self.cluster).expect("settings were checked before they began");
        manager.with_wedges(self.wedges)
    }

    /// Names the cluster: the first command.
    pub fn found(&self) -> Command {
        Command::Found(self.cluster)
    }
}

/// What is decided beside the protocol's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What the cluster began with; `None`: it has yet to begin.
    pub genesis: Option<Genesis>,
    /// Where keys lie.
    pub secret: Option<Secret>,
    /// Who is in it.
    pub roster: Roster,
    /// The cluster's version.
    pub version: u8,
    /// Names of members that were removed: nobody has one of them again, whatever certificate it shows.
    pub struck: BTreeSet<String>,
}

impl Default for Facts {
    fn default() -> Self {
        Self { genesis: None, secret: None, roster: Roster::default(), version: OLDEST, struck: BTreeSet::new() }
    }
}

impl Facts {
    /// Carries out what is not about the protocol's state; whether it did anything.
    pub fn apply(&mut self, decision: &Decision) -> bool {
        match decision {
            Decision::Begin(genesis) => {
                let is_first = self.genesis.is_none() && genesis.settings.check().is_ok();
                if is_first {
                    self.genesis = Some(*genesis);
                }
                is_first
            }
            Decision::Secret(secret) => {
                let is_first = self.secret.is_none();
                if is_first {
                    self.secret = Some(*secret);
                }
                is_first
            }
            Decision::Roster(Change::Enrol(who)) if self.struck.contains(&who.name) => false,
            Decision::Roster(change) => {
                let did = self.roster.apply(change);
                if let Change::Strike { name } = change
                    && did
                    && self.version >= STRUCK_NAMES
                {
                    self.struck.insert(name.clone());
                }
                did
            }
            Decision::Version(version) => {
                let is_newer = *version > self.version;
                self.version = self.version.max(*version);
                is_newer
            }
            Decision::Recovered { lost, .. } => {
                if self.version >= SKIPPED_SEATS {
                    self.roster.recovered(*lost);
                }
                false
            }
            Decision::Command(_) => false,
        }
    }
}

/// All that is decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicatedState {
    /// Beside the protocol's state.
    pub facts: Facts,
    /// The protocol's state, from when the cluster has begun.
    pub state: Option<State>,
}

/// [`ReplicatedState`] as it is kept. The cluster's version follows, once it is above the first, and then the names that nobody
/// gets again, if there are any.
#[derive(Serialize, Deserialize)]
struct StoredState {
    genesis: Option<Genesis>,
    secret: Option<Secret>,
    roster: Roster,
    state: Option<Vec<u8>>,
}

impl ReplicatedState {
    /// Carries a decision out; whether it did anything.
    ///
    /// # Errors
    /// A command that cannot be read.
    pub fn apply(&mut self, decision: &Decision) -> Result<bool, KeptError> {
        let mut did = self.facts.apply(decision);
        match decision {
            Decision::Begin(genesis) if did => {
                let mut state = genesis.manager(Timing::default()).state().clone();
                state.apply(&genesis.found());
                self.state = Some(state);
            }
            Decision::Command(bytes) => {
                let command = Command::decode(bytes)?;
                did = self.state.as_mut().is_some_and(|state| state.apply(&command).is_some());
            }
            Decision::Recovered { lost, waits } => {
                did = self.state.is_some();
                if let Some(state) = &mut self.state {
                    state.recovered(*lost, *waits);
                }
            }
            _ => {}
        }
        Ok(did)
    }

    /// Its bytes, without a checksum.
    pub fn encode(&self) -> Vec<u8> {
        let Facts { genesis, secret, roster, version, struck } = self.facts.clone();
        let kept = StoredState { genesis, secret, roster, state: self.state.as_ref().map(State::encode) };
        let mut bytes = postcard::to_allocvec(&kept).expect("what can be encoded at all can be into memory");
        // Version 3 had no more, and reads no more; nor does version 4 know of names that nobody gets again.
        if version > OLDEST {
            bytes.push(version);
        }
        if !struck.is_empty() {
            bytes = postcard::to_extend(&struck, bytes).expect("what can be encoded at all can be into memory");
        }
        bytes
    }

    /// What [`encode`](Self::encode) made the bytes of.
    ///
    /// # Errors
    /// Another version, or bytes that make no sense.
    pub fn decode(bytes: &[u8]) -> Result<Self, KeptError> {
        let malformed = |error: postcard::Error| KeptError::Malformed(error.to_string());
        let (StoredState { genesis, secret, roster, state }, rest) =
            postcard::take_from_bytes(bytes).map_err(malformed)?;
        let (version, rest) = rest.split_first().map_or((OLDEST, rest), |(version, rest)| (*version, rest));
        let (struck, rest) = match rest {
            [] => (BTreeSet::new(), rest),
            _ => postcard::take_from_bytes(rest).map_err(malformed)?,
        };
        if !rest.is_empty() {
            return Err(KeptError::Malformed(format!("{} bytes too many", rest.len())));
        }
        let state = state.map(|state| State::decode(&state)).transpose()?;
        Ok(Self { facts: Facts { genesis, secret, roster, version, struck }, state })
    }
}
