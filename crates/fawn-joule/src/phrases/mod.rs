//! Counting phrases: how often each of thousands to millions of phrases occurs in a text, in little memory (section 3.6.2).
//!
//! An automaton for all phrases takes gigabytes and misses the cache at each byte. Here a rolling hash of each window of the text, as
//! long as the shortest phrase, is looked up in two Bloom filters, of which the first fits the cache. What passes both is verified in a
//! table of the phrases. A one-sided search verifies nothing: it may find too much, and never too little. Its windows mark their bits in
//! a third filter that thins the phrases out afterwards ("feed-forward Bloom filters", Moraru and Andersen, ALENEX 2011).
//!
//! # Layout
//!
//! * [`patterns`]: the list of phrases. [`plan`]: which of them are looked for together.
//! * [`hash`]: the rolling hash. [`filter`]: the filters. [`table`]: the table. [`scan`]: the loop over windows.
//! * [`matcher`]: all of these for one list, and what it finds in a piece of text.
//! * [`source`]: texts in pieces. [`lines`]: lines with a phrase. [`mod@search`]: threads that search the pieces.
//! * [`mod@report`]: what a search has found and has cost. [`sample`]: a text and phrases for machines without a corpus.

pub mod filter;
pub mod hash;
pub mod lines;
pub mod matcher;
pub mod patterns;
pub mod plan;
pub mod report;
pub mod sample;
pub mod scan;
pub mod search;
pub mod source;
pub mod table;

#[cfg(test)]
mod tests;

pub use hash::Case;
pub use lines::LineOutput;
pub use matcher::{Matcher, MatcherOptions, cache_bytes};
pub use patterns::{PatternError, PhraseList};
pub use search::{SearchError, SearchGoal, SearchOutcome, search};
pub use source::{PIECE_BYTES, TextInput};
