//! Moves of a value from one key to another, step by step.

use super::{Dispatcher, MOVE, NoCredit};
use crate::net::connection::Flow;
use crate::net::router::KeyPlace;
use crate::observe::latency::Stamp;
use crate::request::{KeyRequest, ReplySlot, RequestError};
use crate::runtime::mesh::PeerRequest;
use crate::shard::backend::Backend;

impl<B: Backend> Dispatcher<B> {
    /// Asks for the next step of the connection's move, if it has one that was not asked for.
    ///
    /// # Errors
    /// [`NoCredit`]: to be called again.
    pub fn move_on(&mut self, flow: &mut Flow) -> Result<(), NoCredit> {
        let Some(moving) = flow.moving.as_mut().filter(|moving| !moving.is_asked) else { return Ok(()) };
        let KeyRequest { name, action, view, reply, .. } = moving.next_request();
        let KeyPlace { key, home, store } = self.router.locate(name);
        if home != self.number && !self.mesh.may_send(home) {
            return Err(NoCredit(home));
        }
        let (action, value) = action.split();
        let request = PeerRequest::Key { key, store: store as u16, name_bytes: name.len() as u16, action, view, reply };
        let answer = flow.answers.wait_for_one();
        let slot = ReplySlot { connection: flow.token, answer, part: MOVE, stamp: Stamp::NONE };
        if home == self.number {
            let bytes = [name, value].concat();
            moving.is_asked = true;
            self.serve_peer(home, slot, &request, &bytes);
        } else {
            self.mesh.request(home, slot, request, &[name, value]);
            moving.is_asked = true;
        }
        Ok(())
    }
}

/// The reply of a step has come; `error` takes its place.
pub(super) fn moved(flow: &mut Flow, answer: u64, step: &[u8], error: Option<RequestError<'_>>) {
    let mut reply = Vec::new();
    let is_over = match (&mut flow.moving, error) {
        (Some(moving), Some(error)) => moving.fail(error, &mut reply),
        (Some(moving), None) => moving.take(step, &mut reply),
        (None, _) => true,
    };
    if is_over {
        flow.moving = None;
    }
    flow.answers.fill(answer, 0, reply, false);
}
