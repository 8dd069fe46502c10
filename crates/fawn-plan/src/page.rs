//! A plan as a page.
use crate::{Map, Plan};

/// A plan as a page.
pub fn page(_plan: &Plan, _map: Option<&Map>) -> String {
    String::new()
}
