//! A server that is slow, silent or broken on purpose.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// How the fake behaves.
#[derive(Clone, Copy, Debug)]
pub enum Manner {
    /// Waits this long before the answer to each `ms`.
    Slow(Duration),
    /// Takes everything and answers no `ms`.
    Silent,
    /// Answers every `ms` with this line.
    Says(&'static str),
}

/// A server that speaks as much as `fawn load` needs and remembers which keys it acknowledged.
pub struct Fake {
    pub address: String,
    acknowledged: Arc<Mutex<HashSet<String>>>,
}

impl Fake {
    /// Starts it. Its threads end with the test process.
    pub fn start(manner: Manner) -> Self {
        Self::start_with(manner, |stream| stream)
    }

    /// Starts it behind TLS, with this certificate and key.
    pub fn start_tls(manner: Manner, certified: &rcgen::CertifiedKey<rcgen::KeyPair>) -> Self {
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![certified.cert.der().clone()], key).unwrap();
        let config = Arc::new(config);
        Self::start_with(manner, move |stream| {
            StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream)
        })
    }

    /// Starts it with a wrapping around each connection.
    fn start_with<S: Read + Write>(manner: Manner, wrap: impl Fn(TcpStream) -> S + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let acknowledged = Arc::new(Mutex::new(HashSet::new()));
        let (shared, wrap) = (Arc::clone(&acknowledged), Arc::new(wrap));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (shared, wrap) = (Arc::clone(&shared), Arc::clone(&wrap));
                // A client that is killed breaks its connection.
                std::thread::spawn(move || drop(serve(wrap(stream.unwrap()), manner, &shared)));
            }
        });
        Self { address, acknowledged }
    }

    /// The keys acknowledged so far.
    pub fn acknowledged(&self) -> HashSet<String> {
        self.acknowledged.lock().unwrap().clone()
    }

    /// Forgets the keys.
    pub fn forget(&self) {
        self.acknowledged.lock().unwrap().clear();
    }
}

/// Serves one connection until it ends.
fn serve(stream: impl Read + Write, manner: Manner, acknowledged: &Mutex<HashSet<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        let tokens: Vec<&str> = line.split_whitespace().collect();
        if tokens[0] == "version" {
            reader.get_mut().write_all(b"VERSION 1.6.0\r\n")?;
        } else if tokens[0] == "mn" {
            reader.get_mut().write_all(b"MN\r\n")?;
        } else if tokens[0] == "stats" {
            reader.get_mut().write_all(b"END\r\n")?;
        } else {
            assert_eq!(tokens[0], "ms", "the fake knows no other command");
            reader.read_exact(&mut vec![0; tokens[2].parse::<usize>().unwrap() + 2])?;
            match manner {
                Manner::Slow(delay) => {
                    std::thread::sleep(delay);
                    acknowledged.lock().unwrap().insert(tokens[1].to_owned());
                    reader.get_mut().write_all(b"HD\r\n")?;
                }
                Manner::Silent => {}
                Manner::Says(answer) => reader.get_mut().write_all(format!("{answer}\r\n").as_bytes())?,
            }
        }
        line.clear();
    }
    Ok(())
}
