//! stub
/// stub
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    pattern == name
}
