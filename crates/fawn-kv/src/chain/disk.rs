//! What a member does when its disk is full, or cannot be read.
//!
//! **Full.** Members tell their predecessors, so that the head takes no values while one of them has no room; what comes down
//! the chain is written still, from the store's reserve, and deletions make room. A learner waits with its copy.
//!
//! **Cannot be read.** Whoever waits for the read is told so. The manager is told that the copy is damaged: the chain goes on
//! without it if there is another member, and the node copies the whole range anew. A sole member serves what it can.
//!
//! **Short of something.** A read that the system had no descriptor or memory for says nothing of the copy: it is refused, and
//! whoever waits for it tries again.
//!
//! Once *writing* has failed the node says nothing any more ([`RangeStore::has_failed`]): for the others it has crashed.

use super::context::Context;
use super::replica::{Active, Phase, Replica};
use super::scan::LATER_US;
use super::tail::answer;
use crate::ids::Health;
use crate::scan::Found;
use crate::store::{RangeStore, Ticket};
use crate::testing::coverage::{Path, took};
use crate::wire::Answer;

impl Active {
    /// Whether this member, or one after it, has no room for more values.
    pub(super) fn has_no_room<S: RangeStore>(&self, context: &Context<'_, S>) -> bool {
        self.full_below || context.store.is_full()
    }
}

impl Replica {
    /// Whether the head takes no values, since a member has no room for them.
    pub(super) fn takes_no_values<S: RangeStore>(&self, context: &Context<'_, S>) -> bool {
        let full = matches!(&self.phase, Phase::Active(active) if active.has_no_room(context));
        if full {
            took(Path::Full);
        }
        full
    }

    /// How this copy is; `full`: the node has no room for more values.
    pub(super) fn health(&self, full: bool) -> Health {
        match (self.damaged, full) {
            (true, _) => Health::Damaged,
            (false, true) => Health::Full,
            (false, false) => Health::Sound,
        }
    }

    /// Whether some of what is here could not be read.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Some of what is here cannot be read.
    pub(crate) fn damage(&mut self) {
        self.damaged = true;
    }

    /// A lookup or a scan cannot be answered.
    pub fn unreadable<S: RangeStore>(&mut self, ticket: Ticket, context: &mut Context<'_, S>) {
        took(Path::Unreadable);
        self.damage();
        self.give_up_read(ticket, (&Answer::Unreadable, Found::Unreadable), context);
    }

    /// A lookup or a scan was refused, since the system is short of something. Whoever waits for it tries again.
    pub fn not_read<S: RangeStore>(&mut self, ticket: Ticket, context: &mut Context<'_, S>) {
        self.give_up_read(ticket, (&Answer::Busy, Found::Later { wait_us: LATER_US }), context);
    }

    /// Whoever waits for this lookup or scan is told so; a learner asks again by itself.
    fn give_up_read<S: RangeStore>(
        &mut self,
        ticket: Ticket,
        (refusal, found): (&Answer, Found),
        context: &mut Context<'_, S>,
    ) {
        self.copies.remove(&ticket);
        self.give_up_scan(ticket, found, context);
        let Phase::Active(active) = &mut self.phase else { return };
        if let Some(get) = active.gets.take_read(ticket) {
            answer(get, refusal.clone(), context);
        }
        let Phase::Active(active) = &mut self.phase else { return };
        for request in active.queue.pop(ticket) {
            // What was carried out before is known without what it has shown.
            let known = if self.log.is_fenced(&request.lies, request.wedge) {
                Some(Answer::Fenced)
            } else {
                self.answered(request.id, request.answered, context)
            };
            self.reply(request.asker, request.id, known.unwrap_or_else(|| refusal.clone()), context);
        }
    }
}

#[cfg(test)]
mod tests;
