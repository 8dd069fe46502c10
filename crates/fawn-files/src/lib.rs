//! Files that people write and name, and their locks.
//!
//! | module | what it is |
//! |---|---|
//! | [`text`] | text as editors and spreadsheets save it: byte order marks, UTF-16 |
//! | [`lines`] | lines within a bound, however long the file has them |
//! | [`lock`] | locks that another process may be about to let go of |
//! | [`links`] | files that are replaced, behind symbolic links that stay |

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod lines;
pub mod links;
pub mod lock;
pub mod text;
