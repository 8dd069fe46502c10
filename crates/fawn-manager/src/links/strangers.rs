//! Those who call a manager, before they have said who they are: so many and no more ([`fawn_kv::link::unauthenticated`]).

use fawn_kv::link::unauthenticated::{STRANGERS, worst};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::AbortHandle;

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    /// In the order in which they called; from where, and how to hang up.
    all: BTreeMap<u64, (IpAddr, AbortHandle)>,
}

/// All of them. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Strangers(Arc<Mutex<Waiting>>);

/// One of them, until this is dropped.
#[derive(Debug)]
pub struct Stranger {
    number: u64,
    strangers: Strangers,
    /// Where it calls from.
    pub host: IpAddr,
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.strangers.waiting().all.remove(&self.number);
    }
}

impl Strangers {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a connection served in a task of its own, which drops the stranger once it knows who has called. Until then it may end at
    /// any time.
    pub fn serve<F: Future<Output = ()> + Send + 'static>(&self, host: IpAddr, serve: impl FnOnce(Stranger) -> F) {
        if let Some(worst) = self.worst() {
            worst.abort();
        }
        let mut waiting = self.waiting();
        waiting.last += 1;
        let number = waiting.last;
        let task = tokio::spawn(serve(Stranger { number, strangers: self.clone(), host }));
        waiting.all.insert(number, (host, task.abort_handle()));
    }

    /// Takes the one that has to go, if there is no room.
    fn worst(&self) -> Option<AbortHandle> {
        let mut waiting = self.waiting();
        if waiting.all.len() < STRANGERS {
            return None;
        }
        let all: Vec<_> = waiting.all.iter().map(|(number, (host, _))| (*number, *host, *number)).collect();
        waiting.all.remove(&worst(&all)?).map(|(_, task)| task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    /// Says its number when it is hung up on.
    struct Call(u32, UnboundedSender<u32>);

    impl Drop for Call {
        fn drop(&mut self) {
            let _ = self.1.send(self.0);
        }
    }

    #[tokio::test]
    async fn of_the_host_that_most_are_from_the_one_that_has_waited_longest_goes() {
        let (ended, mut ends) = unbounded_channel();
        let (strangers, [one, many]) = (Strangers::default(), [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from));
        let call = |host, number| {
            let call = Call(number, ended.clone());
            strangers.serve(host, |stranger| async move {
                let _held = (stranger, call);
                pending::<()>().await;
            });
        };
        call(one, 0);
        (1..=STRANGERS as u32).for_each(|number| call(many, number));
        assert_eq!(ends.recv().await, Some(1));
        call(one, 1000);
        assert_eq!(ends.recv().await, Some(2), "there is room for who comes from elsewhere");
        assert_eq!(strangers.waiting().all.len(), STRANGERS);
    }

    #[tokio::test]
    async fn whoever_has_said_who_it_is_stays() {
        let (ended, mut ends) = unbounded_channel();
        let (strangers, host) = (Strangers::default(), IpAddr::from([10, 0, 0, 1]));
        let call = Call(0, ended.clone());
        let (greeted, greets) = tokio::sync::oneshot::channel();
        strangers.serve(host, |stranger| async move {
            drop(stranger);
            let _ = greeted.send(());
            let _held = call;
            pending::<()>().await;
        });
        greets.await.unwrap();
        for number in 1..=STRANGERS as u32 + 1 {
            let call = Call(number, ended.clone());
            strangers.serve(host, |stranger| async move {
                let _held = (stranger, call);
                pending::<()>().await;
            });
        }
        assert_eq!(ends.recv().await, Some(1));
    }
}
