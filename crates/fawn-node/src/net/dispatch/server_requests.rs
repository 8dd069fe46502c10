//! Requests for the server itself: flushes, reports, listings.

use super::{Dispatcher, LISTING, NoCredit};
use crate::net::connection::{Flow, Listing, Pause};
use crate::net::key_move::KeyMove;
use crate::net::key_scan::KeyScan;
use crate::net::reply_queue::{FillOutcome, Finish};
use crate::observe::latency::Stamp;
use crate::observe::stats;
use crate::protocol::ServerRequest;
use crate::request::{
    CLOCK_NOT_SET, ListingDetail, ListingForm, ListingPart, ReplyBody, ReplyForm, ReplySlot, ReplyTo, RequestError,
    StatsReport,
};
use crate::runtime::clock::Now;
use crate::runtime::mesh::{Mesh, PeerRequest};
use crate::runtime::shared::SharedState;
use crate::shard::backend::Backend;

/// The tag of figures that are no report of `stats`.
const FIGURES: u8 = u8::MAX;

impl<B: Backend> Dispatcher<B> {
    /// Carries out a request for the server.
    pub(super) fn server_request(
        &mut self,
        flow: &mut Flow,
        request: &ServerRequest,
        reply: &ReplyForm,
    ) -> Result<(), Pause> {
        match *request {
            ServerRequest::FlushAll { at_unix } => return self.flush_all(flow, reply, at_unix),
            ServerRequest::Stats(report) => self.stats(flow, report)?,
            ServerRequest::Figures => self.figures(flow, reply)?,
            ServerRequest::Scan(ref scan) => {
                let scan = KeyScan::new((**scan).clone(), *reply);
                let form = ListingForm { writer: flow.writer, detail: ListingDetail::Typed };
                flow.listing = Some(Listing::gathering(scan, form, &self.router));
            }
            ServerRequest::Move(ref request) => {
                if !flow.answers.are_filled() {
                    return Err(Pause::Order);
                }
                flow.moving = Some(Box::new(KeyMove::new((**request).clone(), *reply)));
            }
            ServerRequest::ResetCounters => {
                self.shared.reset_counters();
                self.answer(flow, reply, &ReplyBody::Reset);
            }
            ServerRequest::List(detail) => {
                flow.listing = Some(Listing::new(ListingForm { writer: flow.writer, detail }));
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
        credit_everywhere(&self.mesh)?;
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
        credit_everywhere(&self.mesh)?;
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
            gather(flow, answer, tag, (&self.shared, self.now));
        }
        Ok(())
    }

    /// Asks all loops for their figures.
    fn figures(&mut self, flow: &mut Flow, reply: &ReplyForm) -> Result<(), NoCredit> {
        credit_everywhere(&self.mesh)?;
        let answer = flow.answers.open(Finish::Gather(FIGURES));
        flow.figures.push((answer, *reply));
        let own = stats::encode(&self.backend.stats(self.now));
        flow.answers.extend(answer, &own, None, self.backend.pool());
        self.ask_everyone(flow, answer, PeerRequest::Stats);
        if let FillOutcome::Gathered(tag) = flow.answers.close(answer) {
            gather(flow, answer, tag, (&self.shared, self.now));
        }
        Ok(())
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
        let &mut Listing { form, from, first, .. } = listing;
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
        let gathers = flow.listing.as_ref().is_some_and(|listing| listing.scan.is_some());
        flow.answers.fill(answer, 0, if gathers { Vec::new() } else { lines.to_vec() }, false);
        let Some(listing) = &mut flow.listing else { return };
        let (place, router) = (listing.place(), &self.router);
        let is_over = match &mut listing.scan {
            Some(scan) => match scan.take(&listed, lines, place, router) {
                Some(next) => {
                    listing.lost += listed.lost;
                    listing.go_on(next);
                    false
                }
                None => true,
            },
            None => listing.advance(&listed, router.stores()),
        };
        if !is_over {
            return;
        }
        let Some(Listing { form, lost, scan, .. }) = flow.listing.take() else { return };
        let lost_keys = format!("{lost} keys cannot be read and are not listed, see the server's log");
        let trouble = if listed.failed {
            Some(RequestError::Server("the keys cannot be listed, see the server's log"))
        } else {
            (lost > 0).then_some(RequestError::Server(&lost_keys))
        };
        let mut end = Vec::new();
        match (scan, trouble) {
            (Some(scan), trouble) => scan.write(trouble.as_ref(), &mut end),
            (None, Some(error)) => flow.writer.write_error(&mut end, &error),
            (None, None) => end.extend_from_slice(flow.writer.listing_end(form.detail)),
        }
        flow.answers.push(&end, None, Stamp::NONE, self.backend.pool());
    }
}

/// Makes the answer to `stats` of what all loops said.
pub(super) fn gather(flow: &mut Flow, answer: u64, tag: u8, (shared, now): (&SharedState, Now)) {
    let figures = stats::merge(&flow.answers.parts(answer));
    let text = if tag == FIGURES {
        let place = flow.figures.iter().position(|(number, _)| *number == answer);
        let (_, form) = flow.figures.swap_remove(place.expect("whoever asks for figures says how they are written"));
        let (figures, mut text) = (stats::figures(&figures, shared), Vec::new());
        form.write(&mut text, b"", &ReplyBody::Figures(&figures));
        text
    } else {
        stats::text(tag, &figures, shared, now, flow.writer)
    };
    flow.answers.gathered(answer, text);
}

/// Whether every other loop has credit for a request.
fn credit_everywhere(mesh: &Mesh) -> Result<(), NoCredit> {
    mesh.without_credit().map_or(Ok(()), |peer| Err(NoCredit(peer)))
}
