//! Questions to the managers of a cluster, and their answers.

use std::time::Duration;

use anyhow::bail;
use fawn_kv::status::{Answer, Question, Status};
use fawn_manager::{Operator, Tls};

use super::arguments::{MANAGER, ManagersArguments};
use crate::tell::SlowNotice;

/// Where nothing else is said, an answer is waited for as long.
const PATIENCE: Duration = Duration::from_secs(10);

impl ManagersArguments {
    /// Who asks the managers.
    fn operator(&self) -> anyhow::Result<Operator> {
        let operator = self.operator_within(self.patience())?;
        // Whoever says how long to wait may wait for managers to start.
        Ok(if self.timeout.is_none() { operator.that_gives_up_on_nobody() } else { operator })
    }

    /// For how long an answer is waited for.
    pub(super) fn patience(&self) -> Duration {
        self.timeout.map_or(PATIENCE, |timeout| timeout.0)
    }

    /// What the managers answer.
    pub fn ask(&self, question: &Question) -> anyhow::Result<Answer> {
        self.ask_as(&self.operator()?, question)
    }

    /// Asks, and says what it waits for if that takes long.
    pub(super) fn ask_as(&self, operator: &Operator, question: &Question) -> anyhow::Result<Answer> {
        let addresses = self.managers.join(", ");
        let default = if self.managers == [MANAGER] { " (the default; choose others with --manager)" } else { "" };
        let _slow = SlowNotice::begin(format!("waiting for a manager at {addresses}{default} to answer"));
        Ok(operator.ask(question)?)
    }

    /// The same, with patience.
    pub(super) fn operator_within(&self, time: Duration) -> anyhow::Result<Operator> {
        let tls = self.certs.operator()?.map(|files| Tls::of(&files)).transpose()?;
        Ok(Operator::new(self.managers.clone(), tls, time))
    }

    /// Asks something that is done or refused.
    pub fn order(&self, question: &Question) -> anyhow::Result<()> {
        done(self.ask(question)?)
    }

    /// Everything that is known.
    pub fn status(&self) -> anyhow::Result<Status> {
        match self.ask(&Question::Status)? {
            Answer::Status(status) => Ok(*status),
            other => unexpected(other),
        }
    }
}

/// What the answer to an order is.
pub(super) fn done(answer: Answer) -> anyhow::Result<()> {
    match answer {
        Answer::Done => Ok(()),
        other => unexpected(other),
    }
}

/// An answer that is not the one that was asked for.
pub fn unexpected<T>(answer: Answer) -> anyhow::Result<T> {
    match answer {
        Answer::Refused(why) => bail!("{why}"),
        _ => bail!("the manager sent a reply of another kind than requested: does it run the same release?"),
    }
}
