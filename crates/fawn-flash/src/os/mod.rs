//! What the operating system gives: clocks, descriptors, eventfds, futexes, threads, random numbers, whole pages.
//!
//! Nothing here knows of a store's files.

pub mod clock;
pub mod descriptors;
pub mod eventfd;
pub mod file_system;
pub mod notify;
pub mod open_file;
pub mod page_io;
pub mod random;
pub mod retry;
pub mod threads;
