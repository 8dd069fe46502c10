//! What can be asked of a cluster.

use crate::batch::{Batch, BatchOutcome};
use crate::driver::{Driver, DriverRequest, DriverTask};
use crate::dump::Dump;
use crate::error::{ConnectError, Error};
use crate::links::Dialler;
use crate::options::Options;
use crate::value::{Item, Removal, Swap, Value, unix_in};
use fawn_kv::client::{MOST_CONTINUATION_BYTES, MOST_WRITE_BYTES, RequestOutcome, Want};
use fawn_kv::ids::ClusterId;
use fawn_kv::operation::{Arithmetic, Delete, Mode, Operation, Outcome};
use fawn_kv::scan::Bookmark;
use fawn_ring::Secret;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

/// The longest key, in bytes.
const MOST_KEY_BYTES: usize = 65_535;

/// No operation takes longer, whatever [`Options::timeout`] says: the clock's end is beyond that.
const LONGEST: Duration = Duration::from_hours(30 * 365 * 24);

/// What the driver may take, after a deadline, to say that it has passed.
const SLACK: Duration = Duration::from_secs(1);

/// A client of a cluster. Clones share its connections, and what is allowed to be under way at a time.
///
/// A future that is dropped has asked all the same: its write may be carried out.
#[derive(Clone, Debug)]
pub struct Client {
    requests: mpsc::UnboundedSender<DriverTask>,
    room: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    most_bytes: usize,
    timeout: Duration,
    secret: Secret,
    cluster: Option<ClusterId>,
    taken: Arc<Notify>,
}

/// An operation that is under way.
pub(crate) struct PendingOperation {
    answer: oneshot::Receiver<RequestOutcome>,
    deadline: Instant,
    is_get: bool,
}

impl PendingOperation {
    /// Waits for its outcome. Those that mean a failure are errors.
    pub(crate) async fn ended(self) -> Result<RequestOutcome, Error> {
        let unknown = if self.is_get { Error::TimedOut } else { Error::Unknown };
        match timeout_at(self.deadline + SLACK, self.answer).await {
            Ok(Ok(RequestOutcome::Refused(answer))) => Err(Error::refused(&answer)),
            Ok(Ok(RequestOutcome::Unreached)) => Err(Error::Unreached),
            Ok(Ok(RequestOutcome::Unknown) | Err(_)) | Err(_) => Err(unknown),
            Ok(Ok(ended)) => Ok(ended),
        }
    }
}

impl Client {
    /// Connects to a cluster: it is there when this returns, and has told where keys lie. Needs tokio's time and I/O; the
    /// connections are a task's, which ends with the last clone.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(options: Options) -> Result<Self, ConnectError> {
        if options.addresses.is_empty() {
            return Err(ConnectError::Nobody);
        }
        let dialler = Dialler::new(options.certificates.as_ref())?;
        let (requests, inbox) = mpsc::unbounded_channel();
        let most_bytes = options.in_flight_bytes.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        let room = Arc::new(Semaphore::new(options.in_flight.clamp(1, Semaphore::MAX_PERMITS)));
        let bytes = Arc::new(Semaphore::new(most_bytes));
        let mut driver = Driver::new(options.addresses, dialler);
        let connected = timeout(options.connect_timeout, driver.connect()).await;
        let Some(secret) = connected.ok().and_then(|()| driver.secret()) else {
            return Err(ConnectError::NoAnswer { time: options.connect_timeout, last: driver.last_failure() });
        };
        let (taken, cluster) = (driver.taken(), driver.cluster());
        tokio::spawn(driver.run(inbox));
        let timeout = options.timeout.min(LONGEST);
        Ok(Self { requests, room, bytes, most_bytes, timeout, secret, cluster, taken })
    }

    /// Has something asked as soon as there is room; it is under way when this returns.
    pub(crate) async fn begin(&self, key: Vec<u8>, want: Want) -> Result<PendingOperation, Error> {
        let is_of_key = !matches!(want, Want::Flush { .. });
        if is_of_key && (key.is_empty() || key.len() > MOST_KEY_BYTES) {
            return Err(Error::Key(key.len()));
        }
        let is_get = matches!(want, Want::Get | Want::GetWith(_));
        let deadline = Instant::now() + self.timeout;
        let given = match &want {
            Want::Write(given) | Want::GetWith(given) => given.len(),
            Want::Get | Want::Flush { .. } => 0,
        };
        let bytes = key.len() + given;
        if bytes > MOST_WRITE_BYTES {
            return Err(Error::Oversize(bytes));
        }
        // What is larger than all that is allowed waits until it is alone.
        let bytes = bytes.min(self.most_bytes) as u32;
        let room = async {
            let bytes = self.bytes.clone().acquire_many_owned(bytes).await.ok()?;
            Some((bytes, self.room.clone().acquire_owned().await.ok()?))
        };
        let Ok(Some(room)) = timeout_at(deadline, room).await else { return Err(Error::Busy) };
        let (done, answer) = oneshot::channel();
        let request = DriverRequest { key, want, deadline, done, room };
        // Nobody takes it only when the runtime ends.
        self.requests.send(DriverTask::Request(request)).map_err(|_| Error::Unreached)?;
        Ok(PendingOperation { answer, deadline, is_get })
    }

    async fn write(&self, key: impl AsRef<[u8]>, operation: Vec<u8>) -> Result<(Outcome, u64), Error> {
        let asked = self.begin(key.as_ref().to_vec(), Want::Write(operation)).await?;
        match asked.ended().await? {
            RequestOutcome::Done { outcome, position, .. } => Ok((outcome, position.seq.0)),
            _ => Err(Error::Malformed),
        }
    }

    /// Which cluster it is of, if that was told.
    pub fn cluster(&self) -> Option<ClusterId> {
        self.cluster
    }

    /// All that there is, range by range, each exactly as one record left it: see [`Dump`]. `bookmark` is where another dump
    /// of the cluster came to; `None`: from the beginning.
    pub fn dump(&self, bookmark: Option<Bookmark>) -> Dump {
        let (begun, dump) = Dump::begin(bookmark, self.secret, Arc::clone(&self.taken));
        // Nobody takes it only when the runtime ends: the dump says so.
        let _ = self.requests.send(DriverTask::Dump(begun));
        dump
    }

    /// What is there; `None`: nothing.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>, Error> {
        match self.begin(key.as_ref().to_vec(), Want::Get).await?.ended().await? {
            RequestOutcome::Found(kept) => Ok(kept.and_then(Value::of)),
            _ => Err(Error::Malformed),
        }
    }

    /// As [`get`](Self::get), with a continuation: bytes of the program's own that travel with the request to whoever has the
    /// key, and come back with what is there. No front-end on the way remembers anything of the request, so that its memory
    /// does not bound how many are under way. Where a front-end is of an older release, it is asked without.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Continuation`] if it has more than [`MOST_CONTINUATION_BYTES`].
    pub async fn get_with(
        &self,
        key: impl AsRef<[u8]>,
        continuation: impl Into<Vec<u8>>,
    ) -> Result<(Option<Value>, Vec<u8>), Error> {
        let continuation = continuation.into();
        if continuation.len() > MOST_CONTINUATION_BYTES {
            return Err(Error::Continuation(continuation.len()));
        }
        match self.begin(key.as_ref().to_vec(), Want::GetWith(continuation)).await?.ended().await? {
            RequestOutcome::FoundWith(kept, continuation) => Ok((kept.and_then(Value::of), continuation)),
            _ => Err(Error::Malformed),
        }
    }

    /// What is there of many keys, in their order: each as of some time between the question and the answer, not all as of
    /// the same. [`run`](Self::run) tells what was found where not all could be got.
    ///
    /// # Errors
    /// [`Error`], of the first that has none.
    pub async fn get_many<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<Value>>, Error> {
        let batch = keys.into_iter().fold(Batch::new(), Batch::get);
        let got = self.run(batch).await.into_iter();
        got.map(|done| if let BatchOutcome::Got(value) = done? { Ok(value) } else { Err(Error::Malformed) }).collect()
    }

    /// Carries many operations out side by side; what came of each, in their order.
    pub async fn run(&self, batch: Batch) -> Vec<Result<BatchOutcome, Error>> {
        let operations = batch.into_operations();
        let mut asked: Vec<Result<PendingOperation, Error>> = Vec::with_capacity(operations.len());
        for (key, want) in operations {
            asked.push(self.begin(key, want).await);
        }
        let mut done = Vec::with_capacity(asked.len());
        for asked in asked {
            let ended = match asked {
                Ok(asked) => asked.ended().await,
                Err(error) => Err(error),
            };
            done.push(ended.and_then(BatchOutcome::of));
        }
        done
    }

    /// Puts a value, whatever is there. Returns what names its version.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn put<'a>(&self, key: impl AsRef<[u8]>, item: impl Into<Item<'a>>) -> Result<u64, Error> {
        let stored = self.store(key, item.into().store(Mode::Set, None)).await?;
        stored.ok_or(Error::Malformed)
    }

    /// Puts a value if nothing is there; `None`: something is.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn add<'a>(&self, key: impl AsRef<[u8]>, item: impl Into<Item<'a>>) -> Result<Option<u64>, Error> {
        self.store(key, item.into().store(Mode::Add, None)).await
    }

    /// Puts a value if something is there; `None`: nothing is.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn replace<'a>(&self, key: impl AsRef<[u8]>, item: impl Into<Item<'a>>) -> Result<Option<u64>, Error> {
        self.store(key, item.into().store(Mode::Replace, None)).await
    }

    /// Puts a value if the version that is there is the one that was [got](Value::cas), or put.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn cas<'a>(&self, key: impl AsRef<[u8]>, item: impl Into<Item<'a>>, cas: u64) -> Result<Swap, Error> {
        match self.write(key, item.into().store(Mode::Cas, Some(cas))).await? {
            (Outcome::Stored { cas, .. }, seq) => Ok(Swap::Stored(cas.resolve(seq))),
            (Outcome::Exists, _) => Ok(Swap::Changed),
            (Outcome::NotFound, _) => Ok(Swap::NotFound),
            _ => Err(Error::Malformed),
        }
    }

    /// Adds bytes after the value that is there; `None`: none is, or it would become longer than the cluster takes.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn append(&self, key: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Result<Option<u64>, Error> {
        self.store(key, Item::new(&bytes).store(Mode::Append { vivify: None }, None)).await
    }

    /// Adds bytes before the value that is there; `None`: as [`append`](Self::append).
    ///
    /// # Errors
    /// [`Error`].
    pub async fn prepend(&self, key: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Result<Option<u64>, Error> {
        self.store(key, Item::new(&bytes).store(Mode::Prepend { vivify: None }, None)).await
    }

    async fn store(&self, key: impl AsRef<[u8]>, operation: Vec<u8>) -> Result<Option<u64>, Error> {
        match self.write(key, operation).await? {
            (Outcome::Stored { cas, .. }, seq) => Ok(Some(cas.resolve(seq))),
            (Outcome::NotStored | Outcome::NotFound, _) => Ok(None),
            _ => Err(Error::Malformed),
        }
    }

    /// Counts the number that is there up, as decimal digits of at most 64 bits, and returns it; it wraps round. `None`:
    /// nothing is there; [`add`](Self::add) makes a counter.
    ///
    /// # Errors
    /// [`Error`]; [`Error::NotANumber`] if something else is there.
    pub async fn increment(&self, key: impl AsRef<[u8]>, by: u64) -> Result<Option<u64>, Error> {
        self.count(key, by, false).await
    }

    /// Counts the number that is there down, but never below 0, and returns it; `None`: nothing is there.
    ///
    /// # Errors
    /// [`Error`]; [`Error::NotANumber`] if something else is there.
    pub async fn decrement(&self, key: impl AsRef<[u8]>, by: u64) -> Result<Option<u64>, Error> {
        self.count(key, by, true).await
    }

    async fn count(&self, key: impl AsRef<[u8]>, delta: u64, decrement: bool) -> Result<Option<u64>, Error> {
        let (vivify, touch, compare, new_cas) = (None, None, None, None);
        let count = Arithmetic { decrement, delta, initial: 0, vivify, touch, compare, new_cas };
        match self.write(key, Operation::Arithmetic(count).encode()).await? {
            (Outcome::Number(number), _) => Ok(Some(number.value)),
            (Outcome::NotFound, _) => Ok(None),
            (Outcome::NonNumeric, _) => Err(Error::NotANumber),
            _ => Err(Error::Malformed),
        }
    }

    /// Has what is there expire after so long, or never; whether something is.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn touch(&self, key: impl AsRef<[u8]>, expires_in: Option<Duration>) -> Result<bool, Error> {
        let expiry = expires_in.map_or(0, unix_in);
        match self.write(key, Operation::Touch { expiry }.encode()).await? {
            (Outcome::Touched, _) => Ok(true),
            (Outcome::NotFound, _) => Ok(false),
            _ => Err(Error::Malformed),
        }
    }

    /// Deletes what is there; whether something was.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn delete(&self, key: impl AsRef<[u8]>) -> Result<bool, Error> {
        match self.write(key, Operation::Delete(Delete::default()).encode()).await? {
            (Outcome::Deleted, _) => Ok(true),
            (Outcome::NotFound, _) => Ok(false),
            _ => Err(Error::Malformed),
        }
    }

    /// Deletes what is there if its version is the one that was [got](Value::cas), or put.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn delete_cas(&self, key: impl AsRef<[u8]>, cas: u64) -> Result<Removal, Error> {
        let delete = Delete { compare: Some(cas), ..Delete::default() };
        match self.write(key, Operation::Delete(delete).encode()).await? {
            (Outcome::Deleted, _) => Ok(Removal::Deleted),
            (Outcome::Exists, _) => Ok(Removal::Changed),
            (Outcome::NotFound, _) => Ok(Removal::NotFound),
            _ => Err(Error::Malformed),
        }
    }

    /// Deletes all that there is in the cluster, whoever put it. What is put after this has returned stays; of what is put
    /// meanwhile some may go.
    ///
    /// # Errors
    /// [`Error`]; after [`Error::Unknown`] some keys may be gone and others not, or not yet.
    pub async fn flush_all(&self) -> Result<(), Error> {
        match self.begin(Vec::new(), Want::Flush { due: 0 }).await?.ended().await? {
            RequestOutcome::Flushed => Ok(()),
            _ => Err(Error::Malformed),
        }
    }
}
