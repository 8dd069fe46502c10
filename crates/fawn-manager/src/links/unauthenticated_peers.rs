//! Those who call a manager, before they have said who they are: so many and no more ([`fawn_kv::link::unauthenticated_limit`]).

use fawn_kv::link::unauthenticated_limit::worst;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::AbortHandle;

#[derive(Debug)]
struct UnauthenticatedQueue {
    /// No more than this.
    most: usize,
    last: u64,
    /// In the order in which they called; from where, and how to hang up.
    all: BTreeMap<u64, (IpAddr, AbortHandle)>,
}

/// All of them. Clones are the same.
#[derive(Clone, Debug)]
pub struct UnauthenticatedPeers(Arc<Mutex<UnauthenticatedQueue>>);

/// One of them, until this is dropped.
#[derive(Debug)]
pub struct UnauthenticatedPeer {
    number: u64,
    all: UnauthenticatedPeers,
    /// Where it calls from.
    pub host: IpAddr,
}

impl Drop for UnauthenticatedPeer {
    fn drop(&mut self) {
        self.all.waiting().all.remove(&self.number);
    }
}

impl UnauthenticatedPeers {
    /// None, and never more than `most`.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Mutex::new(UnauthenticatedQueue { most, last: 0, all: BTreeMap::new() })))
    }

    fn waiting(&self) -> MutexGuard<'_, UnauthenticatedQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a connection served in a task of its own, which drops the peer once it knows who has called. Until then it may end at
    /// any time.
    pub fn serve<F: Future<Output = ()> + Send + 'static>(
        &self,
        host: IpAddr,
        serve: impl FnOnce(UnauthenticatedPeer) -> F,
    ) {
        if let Some(worst) = self.worst() {
            worst.abort();
        }
        let mut waiting = self.waiting();
        waiting.last += 1;
        let number = waiting.last;
        let task = tokio::spawn(serve(UnauthenticatedPeer { number, all: self.clone(), host }));
        waiting.all.insert(number, (host, task.abort_handle()));
    }

    /// Takes the one that has to go, if there is no room.
    fn worst(&self) -> Option<AbortHandle> {
        let mut waiting = self.waiting();
        if waiting.all.len() < waiting.most {
            return None;
        }
        let all: Vec<_> = waiting.all.iter().map(|(number, (host, _))| (*number, *host, *number)).collect();
        waiting.all.remove(&worst(&all)?).map(|(_, task)| task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::link::unauthenticated_limit::STRANGERS;
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
        let (peers, [one, many]) =
            (UnauthenticatedPeers::new(STRANGERS), [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from));
        let call = |host, number| {
            let call = Call(number, ended.clone());
            peers.serve(host, |peer| async move {
                let _held = (peer, call);
                pending::<()>().await;
            });
        };
        call(one, 0);
        (1..=STRANGERS as u32).for_each(|number| call(many, number));
        assert_eq!(ends.recv().await, Some(1));
        call(one, 1000);
        assert_eq!(ends.recv().await, Some(2), "there is room for who comes from elsewhere");
        assert_eq!(peers.waiting().all.len(), STRANGERS);
    }

    #[tokio::test]
    async fn whoever_has_said_who_it_is_stays() {
        let (ended, mut ends) = unbounded_channel();
        let (peers, host) = (UnauthenticatedPeers::new(STRANGERS), IpAddr::from([10, 0, 0, 1]));
        let call = Call(0, ended.clone());
        let (greeted, greets) = tokio::sync::oneshot::channel();
        peers.serve(host, |peer| async move {
            drop(peer);
            let _ = greeted.send(());
            let _held = call;
            pending::<()>().await;
        });
        greets.await.unwrap();
        for number in 1..=STRANGERS as u32 + 1 {
            let call = Call(number, ended.clone());
            peers.serve(host, |peer| async move {
                let _held = (peer, call);
                pending::<()>().await;
            });
        }
        assert_eq!(ends.recv().await, Some(1));
    }
}
