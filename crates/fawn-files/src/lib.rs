//! Files that people write and name.
//!
//! | module | what it is |
//! |---|---|
//! | [`text`] | text as editors and spreadsheets save it: byte order marks, UTF-16 |
//! | [`lines`] | lines within a bound, however long the file has them |
//! | [`links`] | files that are replaced, behind symbolic links that stay |

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod lines;
pub mod links;
pub mod text;
