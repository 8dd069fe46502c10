//! The end of a trial: every key is read once more from every front-end.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fawn_sim::history::KvOperation;

use crate::load::connection::Connection;
use crate::load::ledger::Ledger;
use crate::load::words::{Dialect, request};

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

fn read_from(ledger: &Ledger, front: SocketAddr, within: Duration) -> Vec<String> {
    let mut unread = Vec::new();
    let mut connection = None;
    let deadline = Instant::now() + within;
    for key in ledger.all() {
        loop {
            let open = connection.take().map_or_else(|| Connection::open(front, PATIENCE), Ok);
            let failure = match open {
                Err(error) => error.to_string(),
                Ok(mut open) => {
                    let (ticket, name, kind) = ledger.begin(&key, |_| KvOperation::Get);
                    let reply = open.call(&request(kind, Dialect::Meta, &name, &ticket.operation, ticket.id), PATIENCE);
                    let said = reply.as_ref().map_or_else(ToString::to_string, |reply| reply.line.clone());
                    let is_error = reply.is_err() || said.starts_with("SERVER_ERROR");
                    connection = ledger.end(&key, None, &ticket, &reply).then_some(open);
                    if !is_error {
                        break;
                    }
                    said
                }
            };
            if Instant::now() >= deadline {
                let name = key.lock().expect("nobody panics with it").name.clone();
                unread.push(format!("{name} cannot be read from {front}: {failure}"));
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
