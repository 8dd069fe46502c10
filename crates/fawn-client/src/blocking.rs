//! The same for programs without an asynchronous runtime: each call waits for its answer. A thread of the client's own owns the
//! connections; many threads may ask through one client.

use crate::batch::{Batch, BatchOutcome};
use crate::error::{ConnectError, Error};
use crate::options::Options;
use crate::value::{Item, Removal, Swap, Value};
use fawn_kv::ids::ClusterId;
use fawn_kv::scan::{Bookmark, Event};
use fawn_ring::Key;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The thread with the connections, which ends with the last client.
#[derive(Debug)]
struct Thread {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A client whose calls wait. Clones share its connections. Not to be called from asynchronous code, where it panics: there
/// is [`crate::Client`].
#[derive(Clone, Debug)]
pub struct Client {
    inner: crate::Client,
    handle: Handle,
    _thread: std::sync::Arc<Thread>,
}

impl Client {
    /// Connects to a cluster.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn connect(options: Options) -> Result<Self, ConnectError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let body = move || {
            let _ = runtime.block_on(stopped);
            // A name that is still being resolved is not waited for.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("fawn-client".to_owned()).spawn(body)?;
        let thread = std::sync::Arc::new(Thread { stop: Some(stop), thread: Some(thread) });
        let inner = handle.block_on(crate::Client::connect(options))?;
        Ok(Self { inner, handle, _thread: thread })
    }

    /// As [`crate::Client::get`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>, Error> {
        self.handle.block_on(self.inner.get(key))
    }

    /// As [`crate::Client::get_with`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn get_with(
        &self,
        key: impl AsRef<[u8]>,
        continuation: impl Into<Vec<u8>>,
    ) -> Result<(Option<Value>, Vec<u8>), Error> {
        self.handle.block_on(self.inner.get_with(key, continuation))
    }

    /// As [`crate::Client::get_many`].
    ///
    /// # Errors
    /// [`Error`], of the first that has none.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<Option<Value>>, Error> {
        self.handle.block_on(self.inner.get_many(keys))
    }

    /// As [`crate::Client::put`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn put<'a>(&self, key: impl AsRef<[u8]>, item: impl Into<Item<'a>>) -> Result<u64, Error> {
        self.handle.block_on(self.inner.put(key, item))
    }

    /// As [`crate::Client::add`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn add<'a>(&self, key: impl AsRef<[u8]>, item: impl Into<Item<'a>>) -> Result<Option<u64>, Error> {
        self.handle.block_on(self.inner.add(key, item))
    }

    /// As [`crate::Client::replace`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn replace<'a>(&self, key: impl AsRef<[u8]>, item: impl Into<Item<'a>>) -> Result<Option<u64>, Error> {
        self.handle.block_on(self.inner.replace(key, item))
    }

    /// As [`crate::Client::cas`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn cas<'a>(&self, key: impl AsRef<[u8]>, item: impl Into<Item<'a>>, cas: u64) -> Result<Swap, Error> {
        self.handle.block_on(self.inner.cas(key, item, cas))
    }

    /// As [`crate::Client::append`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn append(&self, key: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Result<Option<u64>, Error> {
        self.handle.block_on(self.inner.append(key, bytes))
    }

    /// As [`crate::Client::prepend`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn prepend(&self, key: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Result<Option<u64>, Error> {
        self.handle.block_on(self.inner.prepend(key, bytes))
    }

    /// As [`crate::Client::increment`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn increment(&self, key: impl AsRef<[u8]>, by: u64) -> Result<Option<u64>, Error> {
        self.handle.block_on(self.inner.increment(key, by))
    }

    /// As [`crate::Client::decrement`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn decrement(&self, key: impl AsRef<[u8]>, by: u64) -> Result<Option<u64>, Error> {
        self.handle.block_on(self.inner.decrement(key, by))
    }

    /// As [`crate::Client::touch`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn touch(&self, key: impl AsRef<[u8]>, expires_in: Option<Duration>) -> Result<bool, Error> {
        self.handle.block_on(self.inner.touch(key, expires_in))
    }

    /// As [`crate::Client::delete`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<bool, Error> {
        self.handle.block_on(self.inner.delete(key))
    }

    /// As [`crate::Client::delete_cas`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn delete_cas(&self, key: impl AsRef<[u8]>, cas: u64) -> Result<Removal, Error> {
        self.handle.block_on(self.inner.delete_cas(key, cas))
    }

    /// As [`crate::Client::flush_all`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn flush_all(&self) -> Result<(), Error> {
        self.handle.block_on(self.inner.flush_all())
    }

    /// The cluster that the client talks to, as [`crate::Client::cluster`].
    pub fn cluster(&self) -> Option<ClusterId> {
        self.inner.cluster()
    }

    /// Begins or resumes a dump of the cluster, as [`crate::Client::dump`].
    pub fn dump(&self, bookmark: Option<Bookmark>) -> Dump<'_> {
        Dump { inner: self.inner.dump(bookmark), handle: &self.handle }
    }

    /// Runs all operations of a batch, as [`crate::Client::run`].
    pub fn run(&self, batch: Batch) -> Vec<Result<BatchOutcome, Error>> {
        self.handle.block_on(self.inner.run(batch))
    }
}

/// A dump of a cluster that is under way, as [`crate::Dump`].
#[derive(Debug)]
pub struct Dump<'a> {
    inner: crate::Dump,
    handle: &'a Handle,
}

impl Dump<'_> {
    /// As [`crate::Dump::next_event`].
    ///
    /// # Errors
    /// [`Error::Stalled`].
    pub fn next_event(&mut self) -> Result<Option<Event>, Error> {
        self.handle.block_on(self.inner.next_event())
    }

    /// As [`crate::Dump::next_event_or_word`].
    ///
    /// # Errors
    /// [`Error::Stalled`].
    pub fn next_event_or_word(&mut self, tell: impl FnOnce(&'static str)) -> Result<Option<Event>, Error> {
        self.handle.block_on(self.inner.next_event_or_word(tell))
    }

    /// The position of a key, as [`crate::Dump::place`].
    pub fn place(&self, key: &[u8]) -> Key {
        self.inner.place(key)
    }
}
