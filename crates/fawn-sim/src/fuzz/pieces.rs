//! An input that arrives in pieces, as a pipe's does.

use fawn_check::random::Random;
use std::io::{self, BufRead, Read};

/// Cuts an input anywhere, as a connection's bytes may come.
pub fn cut(random: &mut Random, mut bytes: Vec<u8>) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let rest = bytes.split_off(random.within(1, bytes.len() as u64) as usize);
        pieces.push(std::mem::replace(&mut bytes, rest));
    }
    pieces
}

/// Parts of an input, each of which arrives by itself.
pub struct Pieces<'a> {
    parts: &'a [Vec<u8>],
    read: usize,
}

impl<'a> Pieces<'a> {
    /// All parts, none of which has been read.
    pub fn new(parts: &'a [Vec<u8>]) -> Self {
        Self { parts, read: 0 }
    }
}

impl BufRead for Pieces<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while let Some((part, rest)) = self.parts.split_first()
            && self.read >= part.len()
        {
            (self.parts, self.read) = (rest, 0);
        }
        Ok(self.parts.first().map_or(&[], |part| &part[self.read..]))
    }

    fn consume(&mut self, bytes: usize) {
        self.read += bytes;
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let piece = self.fill_buf()?;
        let bytes = piece.len().min(into.len());
        into[..bytes].copy_from_slice(&piece[..bytes]);
        self.consume(bytes);
        Ok(bytes)
    }
}
