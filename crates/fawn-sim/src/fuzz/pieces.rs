//! An input that arrives in pieces, as a pipe's does.

use std::io::{self, BufRead, Read};

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
