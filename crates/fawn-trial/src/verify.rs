//! The end of a trial: every key is read once more from every front-end; of a weak cluster it is put before.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fawn_check::KvOperation;
use fawn_memcache::client::Dialect;

use crate::load::connection::TrialConnection;
use crate::load::ledger::{Ledger, SharedKey};
use crate::load::words::request;

/// A front-end that has nothing to do answers within this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reads all keys from every front-end; `within` a time for each of them, a front-end that does not answer is asked
/// again. What is read is checked like everything else. Returns what could not be read.
pub fn read_everything(ledger: &Ledger, fronts: &[SocketAddr], within: Duration) -> Vec<String> {
    let unread = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for front in fronts {
            let unread = &unread;
            scope.spawn(move || {
                let mut missing = read_from(ledger, *front, within);
                unread.lock().expect("nobody panics with it").append(&mut missing);
            });
        }
    });
    unread.into_inner().expect("nobody panics with it")
}

/// Puts every key through one front-end, `within` a time: what was put is what must be read from then on. Returns what could
/// not be put.
pub fn put_everything(ledger: &Ledger, front: SocketAddr, within: Duration) -> Vec<String> {
    let mut unput = Vec::new();
    let mut connection = None;
    let deadline = Instant::now() + within;
    for key in ledger.all() {
        // The same at every try: whichever is carried out, it is this.
        let value = ledger.unique();
        loop {
            let said = ask(ledger, &key, KvOperation::Put { value }, front, &mut connection);
            let Err(failure) = said.and_then(|line| if line.starts_with("HD") { Ok(()) } else { Err(line) }) else {
                key.lock().expect("nobody panics with it").was_put_last(value);
                break;
            };
            if Instant::now() >= deadline {
                let name = key.lock().expect("nobody panics with it").name.clone();
                unput.push(format!("cannot write {name} through {front}: {failure}"));
                return unput;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    unput
}

/// Asks one thing of a key; the answer's line, or what went wrong.
fn ask(
    ledger: &Ledger,
    key: &SharedKey,
    operation: KvOperation,
    front: SocketAddr,
    connection: &mut Option<TrialConnection>,
) -> Result<String, String> {
    let open = connection.take().map_or_else(|| TrialConnection::open(front, PATIENCE), Ok);
    let mut open = open.map_err(|error| error.to_string())?;
    let (ticket, name, kind) = ledger.begin(key, |_| operation);
    let reply = open.call(&request(kind, Dialect::Meta, &name, &ticket.operation, ticket.id), PATIENCE);
    *connection = ledger.end(key, None, &ticket, &reply).then_some(open);
    match reply {
        Ok(reply) if reply.line.starts_with("SERVER_ERROR") => Err(reply.line),
        Ok(reply) => Ok(reply.line),
        Err(error) => Err(error.to_string()),
    }
}

fn read_from(ledger: &Ledger, front: SocketAddr, within: Duration) -> Vec<String> {
    let mut unread = Vec::new();
    let mut connection = None;
    let deadline = Instant::now() + within;
    for key in ledger.all() {
        while let Err(failure) = ask(ledger, &key, KvOperation::Get, front, &mut connection) {
            if Instant::now() >= deadline {
                let name = key.lock().expect("nobody panics with it").name.clone();
                unread.push(format!("cannot read {name} from {front}: {failure}"));
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        // One that does not answer at all is told once, not for every key.
        if unread.len() >= 10 {
            break;
        }
    }
    unread
}
