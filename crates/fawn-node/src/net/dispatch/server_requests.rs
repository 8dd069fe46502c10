//! Requests for the server itself: flushes, reports, listings.

use super::{Dispatcher, LISTING, NoCredit};
use crate::net::connection::{Flow, Listing, Pause};
use crate::net::reply_queue::{FillOutcome, Finish};
use crate::observe::latency::Stamp;
use crate::observe::stats;
use crate::protocol::ServerRequest;
use crate::request::{
    CLOCK_NOT_SET, ListingForm, ListingPart, ReplyBody, ReplyForm, ReplySlot, ReplyTo, RequestError, StatsReport,
};
use crate::runtime::mesh::PeerRequest;
use crate::shard::backend::Backend;

impl<B: Backend> Dispatcher<B> {
    /// Carries out a request for the server.
    pub(super) fn server_request(
        &mut self,
        flow: &mut Flow,
        request: &ServerRequest,
        reply: &ReplyForm,
    ) -> Result<(), Pause> {
        match request {
            ServerRequest::FlushAll { at_unix } => return self.flush_all(flow, reply, *at_unix),
            ServerRequest::Stats(report) => self.stats(flow, *report)?,
            ServerRequest::ResetCounters => {
                self.shared.reset_counters();
                self.answer(flow, reply, &ReplyBody::Reset);
            }
            ServerRequest::List(detail) => {
                flow.listing = Some(Listing::new(ListingForm { writer: flow.writer, detail: *detail }));
            }
            ServerRequest::CountKeys
            | ServerRequest::Scan(_)
            | ServerRequest::Keys { .. }
            | ServerRequest::RandomKey
            | ServerRequest::Info { .. } => {
                self.answer(flow, reply, &ReplyBody::Error(RequestError::Server("not supported yet")));
            }
            ServerRequest::RefreshCertificates => match self.shared.refresh_certificates() {
                Ok(()) => self.answer(flow, reply, &ReplyBody::Ok),
                Err(why) => {
                    tracing::error!("the certificates were not reloaded: {why}");
                    let error = RequestError::Server("cannot read the certificates, see the log");
                    self.answer(flow, reply, &ReplyBody::Error(error));
                }
            },
        }
        Ok(())
    }

    /// Whether every other loop has credit for a request.
    fn credit_everywhere(&self) -> Result<(), NoCredit> {
        self.mesh.without_credit().map_or(Ok(()), |peer| Err(NoCredit(peer)))
    }

    /// Asks all other loops for their parts of a reply.
    fn ask_everyone(&mut self, flow: &mut Flow, answer: u64, ask: PeerRequest) {
        for peer in self.mesh.peers() {
            let part = flow.answers.wait_for_part(answer);
            let slot = ReplySlot { connection: flow.token, answer, part, stamp: Stamp::NONE };
            self.mesh.request(peer, slot, ask, &[]);
        }
    }

    /// Flushes all stores, after everything that the connection asked before and before everything that it asks after:
    /// a request that waits (for flash, for a buffer, for its value's file) would else be carried out after the flush, or
    /// shown what is newer than it.
    fn flush_all(&mut self, flow: &mut Flow, reply: &ReplyForm, at_unix: u32) -> Result<(), Pause> {
        if !self.shared.flush_enabled {
            self.answer(flow, reply, &ReplyBody::Error(RequestError::Client("flush_all not allowed")));
            return Ok(());
        }
        if at_unix > 0 && !self.now.time.is_set() {
            self.answer(flow, reply, &ReplyBody::Error(CLOCK_NOT_SET));
            return Ok(());
        }
        if !flow.answers.are_filled() {
            return Err(Pause::Order);
        }
        self.credit_everywhere()?;
        self.counters.cmd_flush.add(1);
        let start = self.output.len();
        reply.write(self.output.bytes_mut(), b"", &ReplyBody::Ok);
        let quiet = self.output.len() == start;
        let answer = flow.answers.open(Finish::Suffix(b""));
        let part = flow.answers.wait_for_part(answer);
        if !self.backend.flushes_for_all_loops() {
            self.ask_everyone(flow, answer, PeerRequest::FlushAll { at_unix, quiet });
        }
        self.output.queue_rest(&mut self.backend, flow, answer, start);
        flow.answers.close(answer);
        let slot = ReplySlot { connection: flow.token, answer, part, stamp: Stamp::NONE };
        let to = ReplyTo { home: self.number as u16, slot, request_bytes: 0 };
        self.backend.flush_all(to, at_unix, quiet, self.now);
        flow.flushing = true;
        Ok(())
    }

    fn stats(&mut self, flow: &mut Flow, report: StatsReport) -> Result<(), NoCredit> {
        self.credit_everywhere()?;
        if report == StatsReport::Connections {
            let ask = PeerRequest::Connections { writer: flow.writer };
            let answer = flow.answers.open(Finish::Suffix(flow.writer.stats_end()));
            let part = flow.answers.wait_for_part(answer);
            let slot = ReplySlot { connection: flow.token, answer, part, stamp: Stamp::NONE };
            self.own_reports.push((slot, flow.writer));
            self.ask_everyone(flow, answer, ask);
            flow.answers.close(answer);
            return Ok(());
        }
        let answer = flow.answers.open(Finish::Gather(report as u8));
        let own = stats::encode(&self.backend.stats(self.now));
        flow.answers.extend(answer, &own, None, self.backend.pool());
        self.ask_everyone(flow, answer, PeerRequest::Stats);
        if let FillOutcome::Gathered(tag) = flow.answers.close(answer) {
            self.gather(flow, answer, tag);
        }
        Ok(())
    }

    /// Makes the answer to `stats` of what all loops said.
    pub(super) fn gather(&mut self, flow: &mut Flow, answer: u64, tag: u8) {
        let figures = stats::merge(&flow.answers.parts(answer));
        let text = stats::text(tag, &figures, &self.shared, self.now, flow.writer);
        flow.answers.gathered(answer, text);
    }

    /// Asks for the next part of a listing once the client has taken the one before.
    ///
    /// # Errors
    /// [`NoCredit`]: to be called again.
    pub fn list_on(&mut self, flow: &mut Flow) -> Result<(), NoCredit> {
        let settled = flow.answers.is_empty() && flow.unsent_bytes == 0;
        let Some(listing) = flow.listing.as_mut().filter(|listing| settled && !listing.asked) else { return Ok(()) };
        let (home, store) = self.router.of_store(listing.store);
        if home != self.number && !self.mesh.may_send(home) {
            return Err(NoCredit(home));
        }
        listing.asked = true;
        let Listing { form, from, first, .. } = *listing;
        let (answer, stamp) = (flow.answers.wait_for_one(), Stamp::NONE);
        let slot = ReplySlot { connection: flow.token, answer, part: LISTING, stamp };
        if home == self.number {
            let to = ReplyTo { home: home as u16, slot, request_bytes: 0 };
            self.backend.list(to, store, from, first, form, self.now);
        } else {
            self.mesh.request(home, slot, PeerRequest::List { store: store as u16, from, first, form }, &[]);
        }
        Ok(())
    }

    /// Part of a listing has come.
    pub(super) fn listed(&mut self, flow: &mut Flow, answer: u64, bytes: &[u8]) {
        let (listed, lines) = ListingPart::decode(bytes);
        flow.answers.fill(answer, 0, lines.to_vec(), false);
        let Some(listing) = &mut flow.listing else { return };
        if !listing.advance(&listed, self.router.stores()) {
            return;
        }
        let (Listing { form, lost, .. }, writer, mut end) = (*listing, flow.writer, Vec::new());
        if listed.failed {
            let error = RequestError::Server("the keys cannot be listed, see the server's log");
            writer.write_error(&mut end, &error);
        } else if lost > 0 {
            let text = format!("{lost} keys cannot be read and are not listed, see the server's log");
            writer.write_error(&mut end, &RequestError::Server(&text));
        } else {
            end.extend_from_slice(writer.listing_end(form.detail));
        }
        flow.listing = None;
        flow.answers.push(&end, None, Stamp::NONE, self.backend.pool());
    }
}
