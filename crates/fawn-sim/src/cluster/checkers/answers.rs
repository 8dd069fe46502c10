//! What clients ask and are answered: each key's history, what expires, flushes, and answers that come too late.

use fawn_check::{KvOperation, KvOutcome};
use fawn_kv::ids::{Consistency, RangeId};
use fawn_kv::manager::State;
use fawn_kv::node::Node;
use fawn_ring::{Interval, Key};

use crate::cluster::checkers::coverage::{ClusterPath, Coverage};
use crate::cluster::checkers::deadlines::Deadlines;
use crate::cluster::checkers::expiries::Expiries;
use crate::cluster::checkers::flushes::DelayedFlushes;
use crate::cluster::checkers::histories::Histories;
use crate::cluster::checkers::weak::WeakChecker;
use crate::cluster::checkers::wrong_clocks::{SetBack, WrongClocks};
use crate::cluster::clients::Clients;
use crate::cluster::clients::operation::{About, Asking, Conclusion};
use crate::cluster::event::Kernel;
use crate::cluster::keys::expires;
use crate::cluster::processes::store::node_store::NodeStore;
use crate::cluster::processes::store::plain::PlainWrite;
use crate::cluster::script::Script;
use crate::cluster::summary::Summary;
use crate::cluster::time::unix;

/// The checker of answers.
pub struct AnswerChecker {
    histories: Histories,
    expiries: Expiries,
    flushes: DelayedFlushes,
    clocks: WrongClocks,
    /// What is known of the cluster, if it is weak.
    weak: Option<WeakChecker>,
    deadlines: Deadlines,
    answered: u64,
    given_up: u64,
    /// Keys of weak clusters that are judged less strictly.
    weakened: u64,
}

impl AnswerChecker {
    /// The checker of a run of a script.
    pub fn new(script: &Script) -> Self {
        let plan = &script.plan;
        Self {
            histories: Histories::new(plan.keys, plan.clients),
            expiries: Expiries::default(),
            flushes: DelayedFlushes::default(),
            clocks: WrongClocks::new(plan.lost_clock),
            weak: (plan.rules.consistency == Consistency::Weak).then(|| WeakChecker::new(plan.keys)),
            deadlines: Deadlines::new(script.severs_alone()),
            answered: 0,
            given_up: 0,
            weakened: 0,
        }
    }

    /// Where the keys lie, by their numbers.
    pub fn positions(&self) -> &[Key] {
        self.histories.positions()
    }

    /// Whether the cluster is weak.
    pub fn is_weak(&self) -> bool {
        self.weak.is_some()
    }

    /// What is known of the cluster, if it is weak.
    pub fn weak(&mut self) -> Option<&mut WeakChecker> {
        self.weak.as_mut()
    }

    /// The ranges of a node, in a life of it, whose time was set back.
    pub fn look_at_times(&mut self, now_us: u64, life: (usize, u32), node: &Node<NodeStore>) -> Vec<SetBack> {
        self.clocks.look(life, node, unix(now_us))
    }

    /// From here on no key's history is judged.
    pub fn judge_no_keys(&mut self) {
        self.histories.give_up_all();
    }

    /// Links are severed from now on.
    pub fn note_severed(&mut self, now_us: u64) {
        self.deadlines.sever(now_us);
    }

    /// Whether requests must be answered in time.
    pub fn have_deadlines(&self) -> bool {
        self.deadlines.is_on()
    }

    /// A request of a client does not wait for too long.
    ///
    /// # Errors
    /// It does.
    pub fn look_at_wait(&self, now_us: u64, client: usize, asking: Option<&Asking>) -> Result<(), String> {
        self.deadlines.look_at_wait(now_us, client, asking)
    }

    /// A process goes by a clock that is wrong: whatever has an expiry may be gone from now on, and nothing needs to be. What
    /// was gone comes back where the time of its range has not come so far, which is `reached`.
    ///
    /// # Errors
    /// The history of a key is not linearizable.
    pub fn note_wrong_clock(&mut self, kernel: &mut Kernel, reached: impl Fn(&Key) -> u32) -> Result<(), String> {
        if self.clocks.note_wrong() {
            for key in self.histories.gone_unseen(reached) {
                self.histories.give_up(key);
            }
            self.expiries.may_all_expire(kernel, &mut self.histories, &self.clocks)?;
            self.flushes.may_all_be_due(kernel, &mut self.histories, &self.clocks)?;
        }
        Ok(())
    }

    /// The time of ranges was set back, to what time it is or later. What expires is judged no more.
    ///
    /// # Errors
    /// It was set back further.
    pub fn look_at_set_back(&mut self, all: &[SetBack]) -> Result<(), String> {
        for set_back in all {
            let keys = set_back.keys()?;
            for key in self.histories.keys_of(About::Range(RangeId(0), keys)).into_iter().filter(|key| expires(*key)) {
                self.histories.give_up(key);
            }
        }
        Ok(())
    }

    /// From here on these keys are judged less strictly.
    pub fn weaken(&mut self, lost: &[Interval]) {
        for keys in lost {
            for key in self.histories.keys_of(About::Range(RangeId(0), *keys)) {
                self.weakened += u64::from(self.histories.give_up(key));
            }
        }
    }

    /// A client asks something. The checkers of its keys are told, unless it is a flush with a delay.
    ///
    /// # Errors
    /// The history of a key is not linearizable.
    pub fn begun(
        &mut self,
        kernel: &mut Kernel,
        clients: &Clients,
        number: usize,
        asking: &Asking,
    ) -> Result<(), String> {
        let (now_us, operation) = (kernel.now_us(), self.histories.open(number));
        let keys = self.histories.keys_of(asking.about);
        if let Some(weak) = &mut self.weak {
            weak.note_asked(&keys, asking.operation);
        }
        if self.flushes.begin(kernel, &self.clocks, (operation, asking), clients.do_others_flush(number)) {
            return Ok(());
        }
        for key in keys {
            self.histories.tell(key, |checker| checker.invoke(now_us, operation, asking.operation))?;
        }
        Ok(())
    }

    /// A value is put that expires.
    ///
    /// # Errors
    /// The history of its key is not linearizable.
    pub fn note_expiry(&mut self, kernel: &mut Kernel, value: (u64, u64, u32)) -> Result<(), String> {
        self.expiries.put(kernel, &mut self.histories, &self.clocks, value)
    }

    /// What a client asked has ended; where it `must_be_answered`, not because nobody answers.
    ///
    /// # Errors
    /// The answer is wrong, or comes too late.
    pub fn ended(
        &mut self,
        now_us: u64,
        number: usize,
        (conclusion, must_be_answered): (Conclusion, bool),
        coverage: &mut Coverage,
    ) -> Result<(), String> {
        let operation = self.histories.close(number);
        if let Some(weak) = &mut self.weak {
            weak.look_at_last(now_us, number, &conclusion)?;
        }
        if must_be_answered {
            self.deadlines.look_at_given_up(now_us, number, &conclusion)?;
        }
        let (asking, outcomes) = match conclusion {
            Conclusion::Answered(asking, outcomes) => (asking, outcomes),
            Conclusion::GivenUp(asking) => (asking, Vec::new()),
            Conclusion::ShownNoMore(asking) => {
                coverage.see(ClusterPath::ShownNoMore);
                (asking, Vec::new())
            }
        };
        if let (true, KvOperation::Put { value }) = (outcomes.is_empty(), asking.operation) {
            self.expiries.give_up(value);
        }
        self.answered += u64::from(!outcomes.is_empty());
        self.given_up += u64::from(outcomes.is_empty());
        if self.flushes.end(operation, &asking, !outcomes.is_empty()) {
            return Ok(());
        }
        for (at, key) in self.histories.keys_of(asking.about).into_iter().enumerate() {
            // What is about a whole range has one outcome for all keys.
            let outcome = outcomes.get(at).or(outcomes.first()).copied();
            if let Some(weak) = self.weak.as_ref().filter(|_| asking.operation != KvOperation::Measure) {
                weak.look_at_answer(key, outcome)?;
            }
            self.histories.tell(key, |checker| match outcome {
                Some(outcome) => checker.complete(now_us, operation, outcome),
                None => checker.unknown(operation),
            })?;
        }
        Ok(())
    }

    /// A value may be gone from now on, by one clock or another.
    ///
    /// # Errors
    /// The history of its key is not linearizable.
    pub fn may_expire(&mut self, kernel: &mut Kernel, value: (u64, u64, u32)) -> Result<(), String> {
        self.expiries.may_expire(kernel, &mut self.histories, &self.clocks, value)
    }

    /// By all clocks a value, which a put may not have brought yet, is expired.
    ///
    /// # Errors
    /// The history of its key is not linearizable.
    pub fn expired(&mut self, now_us: u64, value: (u64, u64, u32, u64)) -> Result<(), String> {
        self.expiries.expired(now_us, &mut self.histories, &self.clocks, value)
    }

    /// By one clock or another a flush is due.
    ///
    /// # Errors
    /// The history of a key is not linearizable.
    pub fn may_flush(&mut self, kernel: &mut Kernel, operation: u64) -> Result<(), String> {
        self.flushes.may_be_due(kernel, &mut self.histories, &self.clocks, operation)
    }

    /// By all clocks a flush is due.
    ///
    /// # Errors
    /// The history of a key is not linearizable.
    pub fn flushed(&mut self, kernel: &mut Kernel, operation: u64) -> Result<(), String> {
        self.flushes.due(kernel, &mut self.histories, &self.clocks, operation)
    }

    /// The keys in an interval, by their numbers; and whether a store of them may have been told to flush later.
    pub fn keys_in(&self, keys: Interval) -> (Vec<u64>, bool) {
        (self.histories.keys_of(About::Range(RangeId(0), keys)), self.weak.is_none())
    }

    /// A plain store of an interval of keys was asked to write, and told `cas`, before the cluster began.
    pub fn note_plain(&mut self, kernel: &mut Kernel, at_us: u64, (write, cas): (PlainWrite, u64), of: Interval) {
        let operation = self.histories.new_operation();
        let all = About::Range(RangeId(0), of);
        let (about, asked, outcome) = match write {
            PlainWrite::Put { key, value, expiry } => {
                if expiry > 0 {
                    self.note_expiry(kernel, (key, value, expiry)).expect("clocks are right at first");
                }
                (About::Key(key), KvOperation::Put { value }, KvOutcome::Stored { version: Some(cas) })
            }
            PlainWrite::Delete { key } => (About::Key(key), KvOperation::Delete, KvOutcome::Deleted),
            PlainWrite::Flush { due: 0 } => (all, KvOperation::Delete, KvOutcome::Gone),
            PlainWrite::Flush { due } => {
                return self.flushes.acknowledged(kernel, &self.clocks, (operation, all, due));
            }
        };
        let keys = self.histories.keys_of(about);
        if let Some(weak) = &mut self.weak {
            weak.note_asked(&keys, asked);
        }
        for key in keys {
            let told = self.histories.tell(key, |checker| {
                checker.invoke(at_us, operation, asked)?;
                checker.complete(at_us, operation, outcome)
            });
            told.expect("what one client does is linearizable");
        }
    }

    /// What a client that is idle asks in the last look at a weak cluster.
    pub fn next_question(&mut self, now_us: u64, client: usize, agreed: &State) -> Option<(u64, KvOperation)> {
        self.weak.as_mut()?.next_question(now_us, client, agreed)
    }

    /// Nothing follows: all histories must be linearizable.
    ///
    /// # Errors
    /// One is not.
    pub fn finish(&mut self) -> Result<(), String> {
        self.histories.end()
    }

    /// What it adds to what a run came to.
    pub fn summarize(&self, summary: &mut Summary) {
        (summary.operations, summary.given_up) = (self.answered, self.given_up);
        (summary.weakened, summary.undecided) = (self.weakened, self.histories.undecided());
        summary.flushes_came_due = self.flushes.came_due();
    }
}
