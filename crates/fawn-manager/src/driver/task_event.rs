//! What the tasks that this member has begun report to it.

use crate::links::table::LinkId;
use fawn_kv::link::Control;
use tokio::sync::mpsc;

/// Where tasks report to.
pub type TaskSender = mpsc::UnboundedSender<TaskEvent>;

/// A task has come to its end.
#[derive(Debug)]
pub enum TaskEvent {
    /// This member leads in this term, and has applied all that was decided before.
    Led {
        /// The term.
        term: u64,
    },
    /// Whether this member led in this term after these questions were asked.
    Checked {
        /// The term.
        term: u64,
        /// The questions of the protocol's manager.
        questions: Vec<u64>,
        /// Whether it led.
        led: bool,
    },
    /// What it has proposed in this term is decided, or will not be.
    Wrote {
        /// The term.
        term: u64,
    },
    /// What a newcomer has waited for is decided.
    Enrolled {
        /// The newcomer's link.
        link: LinkId,
        /// Its name.
        name: String,
    },
    /// What a newcomer has waited for will not be decided.
    NotEnrolled {
        /// The newcomer's link.
        link: LinkId,
        /// The reason, in a sentence.
        why: String,
    },
    /// An answer is ready.
    Say {
        /// Over which link.
        link: LinkId,
        /// The answer.
        control: Box<Control>,
    },
}
