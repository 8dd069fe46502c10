//! A server process and a plain client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running `fawn serve`.
pub struct Server {
    pub child: Child,
    pub address: String,
}

impl Server {
    /// Starts `command` (which ends in the binary) as a server on `dir`.
    pub fn start(mut command: Command, dir: &Path, arguments: &[&str]) -> Self {
        command.args(["serve", "--listen", "127.0.0.1:0", "--dir"]).arg(dir).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap_or_default().to_owned();
        assert!(address.contains(':'), "the server says where it serves, not {line:?}");
        Self { child, address }
    }

    pub fn connect(&self) -> Client {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        Client { reader: BufReader::new(stream.try_clone().unwrap()), stream }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that writes text and reads lines.
pub struct Client {
    reader: BufReader<TcpStream>,
    stream: TcpStream,
}

impl Client {
    /// Sends bytes; an error when the server is gone.
    pub fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// One line without its end; `None` when the server is gone.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => line.ends_with('\n').then(|| line.trim_end().to_owned()),
        }
    }

    /// Value and cas of a key.
    pub fn gets(&mut self, key: &str) -> Option<(Vec<u8>, u64)> {
        self.send(format!("gets {key}\r\n").as_bytes()).unwrap();
        let head = self.line().unwrap();
        if head == "END" {
            return None;
        }
        let fields: Vec<&str> = head.split(' ').collect();
        assert_eq!(fields[..2], ["VALUE", key], "{head}");
        let mut value = vec![0; fields[3].parse::<usize>().unwrap() + 2];
        self.reader.read_exact(&mut value).unwrap();
        value.truncate(value.len() - 2);
        assert_eq!(self.line().as_deref(), Some("END"));
        Some((value, fields[4].parse().unwrap()))
    }
}
