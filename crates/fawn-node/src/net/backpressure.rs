//! Reservations for large replies, which their client's loop grants.
//!
//! Only the owner of a key knows how large its value is, and only the loop of a client knows how much its clients have not
//! taken yet. So the owner of a large value asks first, and the client's loop says when the reply may come: at once, unless
//! its clients hold half of what they may. Then those clients get on that take their replies. The next reply of a
//! connection with nothing left to send is granted a reservation as long as what is on its way to clients stays within
//! bounds. Their reading makes room, or else the stall time-out does. No two connections ever wait for each other.

use crate::net::connection::{ClientConnection, ReservationRequest};
use crate::net::worker::ConnectionWorker;
use crate::runtime::slab::Token;
use crate::shard::backend::Backend;

/// A reply that has waited for this many milliseconds is next to come, if its client takes its replies: another
/// connection's put may wait for it, and a reply of this connection for that put.
const LONG_MS: u64 = 1000;

impl<B: Backend> ConnectionWorker<B> {
    /// A reply to the connection is large.
    pub fn wanted(&mut self, conn: &mut ClientConnection, request: ReservationRequest) {
        let reservations = &mut conn.flow.reservations;
        let order = |request: &ReservationRequest| (request.slot.answer, request.slot.part);
        reservations.insert(reservations.partition_point(|other| order(other) < order(&request)), request);
        self.grant_again(conn);
    }

    /// Grants a reservation for the connection's first large reply if there is memory.
    pub fn grant_again(&mut self, conn: &mut ClientConnection) {
        if self.dispatcher().admission().memory().may_reserve_any()
            && let Some(request) = conn.flow.reservations.pop_front()
        {
            self.dispatcher_mut().answer_reservation(&request, true);
        }
        self.grant_next(conn);
        if !conn.flow.reservations.is_empty() && !conn.waits_for_reservation {
            conn.waits_for_reservation = true;
            self.queues.reservations.push_back(conn.flow.token);
        }
    }

    /// Grants a reservation for the connection's next reply if the connection waits for that alone.
    pub fn grant_next(&mut self, conn: &mut ClientConnection) {
        let flow = &mut conn.flow;
        let Some(request) = flow.reservations.front() else { return };
        let long = self.dispatcher().now().ms >= request.since_ms + LONG_MS;
        let next = long || flow.answers.is_next(request.slot.answer, request.slot.part);
        if flow.unsent_bytes > 0 || !next {
            return;
        }
        if self.dispatcher().admission().memory().may_reserve_next() {
            let request = flow.reservations.pop_front().expect("the front was just seen");
            self.dispatcher_mut().answer_reservation(&request, true);
        } else {
            self.next_refused = true;
        }
    }

    /// Whether some connection may be granted a reservation that was refused.
    pub fn may_grant(&self) -> bool {
        let may_reserve = self.dispatcher().admission().memory().may_reserve_any()
            || (self.next_refused && self.dispatcher().admission().memory().may_reserve_next());
        may_reserve && !self.queues.reservations.is_empty()
    }

    /// Begins a round over the connections that were refused a reservation; returns how many there are to look at.
    pub fn begin_round(&mut self) -> usize {
        if !self.may_grant() {
            return 0;
        }
        self.next_round = std::mem::take(&mut self.next_refused);
        self.queues.reservations.len()
    }

    /// The next connection of the round, for [`grant_again`](Self::grant_again).
    pub fn next_in_round(&mut self) -> Option<Token> {
        if self.dispatcher().admission().memory().may_reserve_any()
            || (self.next_round && self.dispatcher().admission().memory().may_reserve_next())
        {
            return self.queues.reservations.pop_front();
        }
        self.next_refused |= self.next_round;
        None
    }

    /// The connection goes: nobody waits for its large replies any more.
    pub fn refuse_all(&mut self, conn: &mut ClientConnection) {
        for request in std::mem::take(&mut conn.flow.reservations) {
            self.dispatcher_mut().answer_reservation(&request, false);
        }
    }
}
