//! A server that lies: it passes requests on to a right one, and tampers with some.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Nothing.
    None,
    /// Some gets show what another get was shown before.
    Stale,
    /// Some sets are answered and not carried out.
    Forgotten,
    /// Some values have a wrong byte.
    Torn,
    /// Some deletions are carried out twice, the second time later.
    Repeated,
}

/// One of so many requests that could be tampered with is.
const EVERY: u64 = 40;

/// What all connections of a proxy know.
#[derive(Debug, Default)]
struct Known {
    count: u64,
    shown: HashMap<Vec<u8>, Vec<u8>>,
    deletions: Vec<Vec<u8>>,
}

/// Starts a proxy before a server.
pub fn start(server: SocketAddr, lie: Lie) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let known = Arc::new(Mutex::new(Known::default()));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, known) = (client.unwrap(), Arc::clone(&known));
            std::thread::spawn(move || serve(client, server, lie, &known));
        }
    });
    address
}

fn serve(mut client: TcpStream, server: SocketAddr, lie: Lie, known: &Mutex<Known>) {
    let mut server = TcpStream::connect(server).unwrap();
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let mut requests = BufReader::new(client.try_clone().unwrap());
    let mut answers = BufReader::new(server.try_clone().unwrap());
    while let Some(request) = block(&mut requests) {
        if lie == Lie::Forgotten && request.starts_with(b"set ") && tampers(known) {
            client.write_all(b"STORED\r\n").unwrap();
            continue;
        }
        server.write_all(&request).unwrap();
        let Some(mut answer) = block(&mut answers) else { return };
        match lie {
            Lie::Stale if request.starts_with(b"gets ") => stale(known, &request, &mut answer),
            Lie::Torn if answer.starts_with(b"VA") && tampers(known) => {
                let end = if answer.starts_with(b"VALUE") { answer.len() - 8 } else { answer.len() - 3 };
                answer[end] ^= 1;
            }
            Lie::Repeated if request.starts_with(b"delete ") => known.lock().unwrap().deletions.push(request),
            Lie::Repeated if tampers(known) => {
                let again = known.lock().unwrap().deletions.pop();
                if let Some(again) = again {
                    server.write_all(&again).unwrap();
                    block(&mut answers);
                }
            }
            _ => {}
        }
        if client.write_all(&answer).is_err() {
            return;
        }
    }
}

fn tampers(known: &Mutex<Known>) -> bool {
    let mut known = known.lock().unwrap();
    known.count += 1;
    known.count.is_multiple_of(EVERY)
}

fn stale(known: &Mutex<Known>, request: &[u8], answer: &mut Vec<u8>) {
    let tampers = tampers(known);
    let mut known = known.lock().unwrap();
    match known.shown.get(request) {
        Some(old) if tampers => answer.clone_from(old),
        _ => {
            known.shown.insert(request.to_vec(), answer.clone());
        }
    }
}

/// A request or an answer with the value that belongs to it; `None`: there are no more.
fn block(from: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    from.read_until(b'\n', &mut bytes).ok().filter(|&length| length > 0)?;
    let line = String::from_utf8(bytes.clone()).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let length: Option<usize> = match words.as_slice() {
        ["set" | "add" | "replace" | "append" | "prepend" | "cas", _, _, _, length, ..]
        | ["VALUE", _, _, length, ..]
        | ["ms", _, length, ..]
        | ["VA", length, ..] => Some(length.parse().unwrap()),
        _ => None,
    };
    let mut value = vec![0; length.map_or(0, |length| length + 2)];
    from.read_exact(&mut value).ok()?;
    bytes.extend(value);
    if words[0] == "VALUE" {
        from.read_until(b'\n', &mut bytes).ok()?;
    }
    Some(bytes)
}
