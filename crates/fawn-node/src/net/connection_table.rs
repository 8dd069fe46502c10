//! The connections of one loop by token, and which of them are to be serviced or have yet to say who they are.

use crate::net::connection::ClientConnection;
use crate::runtime::slab::{Slab, Token};
use std::collections::VecDeque;

/// All connections of a loop.
#[derive(Debug, Default)]
pub struct ConnectionTable {
    all: Slab<ClientConnection>,
    /// Connections to be serviced in this turn.
    dirty: Vec<Token>,
    /// Connections that had not said who they are when they came, in that order.
    unauthenticated: VecDeque<Token>,
}

impl ConnectionTable {
    /// Number of connections.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Number of slots: the bound of [`at`](Self::at).
    pub fn slots(&self) -> usize {
        self.all.slots()
    }

    /// The token of the connection in a slot, if there is one.
    pub fn at(&self, slot: usize) -> Option<Token> {
        self.all.at(slot)
    }

    /// All connections.
    pub fn iter(&self) -> impl Iterator<Item = &ClientConnection> {
        self.all.iter()
    }

    /// The connection of a token, unless it was closed.
    pub fn get(&self, token: Token) -> Option<&ClientConnection> {
        self.all.at_token(token)
    }

    /// The connection of a token, unless it was closed.
    #[inline]
    pub fn get_mut(&mut self, token: Token) -> Option<&mut ClientConnection> {
        self.all.get_mut(token)
    }

    /// Adds a connection, which learns its token.
    pub fn insert(&mut self, conn: ClientConnection) -> (Token, &ClientConnection) {
        let token = self.all.insert(conn);
        let conn = self.all.get_mut(token).expect("the connection was just added");
        conn.flow.token = token;
        if conn.is_unauthenticated() {
            self.unauthenticated.push_back(token);
        }
        (token, conn)
    }

    /// Takes a connection out.
    pub fn remove(&mut self, token: Token) -> Option<ClientConnection> {
        self.all.remove(token)
    }

    /// The connection of a token, which is to be serviced in this turn.
    #[inline]
    pub fn mark(&mut self, token: Token) -> Option<&mut ClientConnection> {
        let conn = self.all.get_mut(token)?;
        if !conn.dirty {
            conn.dirty = true;
            self.dirty.push(token);
        }
        Some(conn)
    }

    /// Whether some connection is to be serviced.
    pub fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Takes the connections to be serviced. The list is to be given back empty ([`reuse`](Self::reuse)).
    pub fn take_dirty(&mut self) -> Vec<Token> {
        std::mem::take(&mut self.dirty)
    }

    /// Takes an empty list back for its memory.
    pub fn reuse(&mut self, list: Vec<Token>) {
        if self.dirty.is_empty() {
            self.dirty = list;
        }
    }

    /// The connection that is to be closed so that another unauthenticated one has room: of those the one that has been silent
    /// longest, if they are more than their `share`, or if all connections are taken.
    pub fn evict_unauthenticated(&mut self, share: usize, is_full: bool) -> Option<Token> {
        if !is_full && self.unauthenticated.len() < share {
            return None;
        }
        // Most of them have become clients since, or have gone.
        let Self { unauthenticated, all, .. } = self;
        unauthenticated.retain(|token| all.at_token(*token).is_some_and(ClientConnection::is_unauthenticated));
        if !is_full && unauthenticated.len() < share {
            return None;
        }
        let silent_since = |token: &Token| all.at_token(*token).map_or(0, |conn| conn.received_ms);
        let at = (0..unauthenticated.len()).min_by_key(|at| silent_since(&unauthenticated[*at]))?;
        unauthenticated.remove(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::memcached::MEMCACHED;
    use crate::protocol::{ParserOptions, Protocol};
    use std::os::unix::net::UnixStream;

    /// Adds a connection that came at `now_ms` and has to say who it is if `authenticates`.
    fn insert(table: &mut ConnectionTable, authenticates: bool, now_ms: u64) -> Token {
        let parser =
            MEMCACHED.parser(ParserOptions { max_item_bytes: 1 << 20, authenticates, peer: None, local: None });
        let (ours, _) = UnixStream::pair().unwrap();
        table.insert(ClientConnection::new(ours.into(), None, (parser, &MEMCACHED), now_ms)).0
    }

    #[test]
    fn a_connection_is_serviced_once_however_often_it_is_marked() {
        let mut table = ConnectionTable::default();
        let token = insert(&mut table, false, 0);
        assert!(table.mark(token).is_some() && table.mark(token).is_some());
        assert_eq!(table.take_dirty(), [token]);
        table.remove(token);
        assert!(table.mark(token).is_none() && !table.is_dirty());
    }

    #[test]
    fn of_too_many_unauthenticated_connections_the_one_goes_that_is_silent_longest() {
        let mut table = ConnectionTable::default();
        insert(&mut table, false, 0);
        let [_, silent, gone] = [3, 1, 0].map(|now_ms| insert(&mut table, true, now_ms));
        assert_eq!(table.evict_unauthenticated(4, false), None);
        table.remove(gone);
        assert_eq!(table.evict_unauthenticated(3, false), None, "two are left");
        assert_eq!(table.evict_unauthenticated(2, false), Some(silent));
        assert!(table.evict_unauthenticated(4, true).is_some(), "all connections are taken");
        assert_eq!(table.evict_unauthenticated(4, true), None, "clients are never closed for it");
    }
}
