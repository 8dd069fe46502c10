//! A load into a server.

use std::path::Path;

use super::ack_tracker::AckTracker;
use super::options::LoadOptions;
use crate::client::Endpoint;
use crate::ui::Notes;

/// A load into a server.
pub struct LoadJob<'a> {
    /// How records are loaded.
    pub options: &'a LoadOptions,
    /// The server.
    pub endpoint: &'a Endpoint,
    /// The file that is loaded.
    pub input: Option<&'a Path>,
    /// How far into the input every record is acknowledged.
    pub acks: &'a AckTracker,
    /// Who is told of what.
    pub notes: &'a Notes<'a>,
}
