//! Connecting to a server: TCP over IPv4 or IPv6, or a Unix socket; and saying who we are.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use fawn_resp::client::push_command;

use crate::error::LoadgenError;
use crate::protocol::LoadProtocol;

/// Longest answer to an authentication.
const LONGEST_ANSWER: usize = 512;

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadTarget {
    /// Over TCP.
    Tcp {
        /// For people.
        name: String,
        /// Its addresses, the first that answers is taken.
        addresses: Vec<SocketAddr>,
    },
    /// A Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for LoadTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { name, .. } => write!(f, "{name}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl From<SocketAddr> for LoadTarget {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp { name: address.to_string(), addresses: vec![address] }
    }
}

impl LoadTarget {
    /// A socket that is connected, authenticated where there is a secret, and does not block.
    ///
    /// # Errors
    /// [`LoadgenError::Connect`], [`LoadgenError::Authentication`].
    pub fn dial(
        &self,
        secret: Option<&str>,
        protocol: LoadProtocol,
        timeout: Duration,
    ) -> Result<OwnedFd, LoadgenError> {
        let unreachable = |source| LoadgenError::Connect { target: self.to_string(), source };
        let socket = self.connect(timeout).map_err(unreachable)?;
        if let Some(secret) = secret {
            let (request, yes) = authentication(secret, protocol);
            let said = authenticate(&socket, &request, timeout).map_err(unreachable)?;
            if said != yes {
                return Err(LoadgenError::Authentication { target: self.to_string(), said });
            }
        }
        let flags = fcntl_getfl(&socket).map_err(|errno| unreachable(errno.into()))?;
        fcntl_setfl(&socket, flags | OFlags::NONBLOCK).map_err(|errno| unreachable(errno.into()))?;
        Ok(socket)
    }

    fn connect(&self, timeout: Duration) -> io::Result<OwnedFd> {
        match self {
            Self::Tcp { addresses, .. } => {
                let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                for address in addresses {
                    match TcpStream::connect_timeout(address, timeout) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            return Ok(stream.into());
                        }
                        Err(error) => failure = error,
                    }
                }
                Err(failure)
            }
            Self::Unix(path) => {
                let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
                // It bounds how long a full queue is waited for.
                sockopt::set_socket_timeout(&socket, Timeout::Send, Some(timeout))?;
                connect(&socket, &SocketAddrUnix::new(path)?)?;
                Ok(socket)
            }
        }
    }
}

/// How a client of a protocol authenticates with `user password`, and what it is answered then.
fn authentication(secret: &str, protocol: LoadProtocol) -> (Vec<u8>, &'static str) {
    match protocol {
        LoadProtocol::Text | LoadProtocol::Meta => {
            (format!("set auth 0 0 {}\r\n{secret}\r\n", secret.len()).into_bytes(), "STORED")
        }
        LoadProtocol::Resp => {
            let (user, password) = secret.split_once(' ').unwrap_or((secret, ""));
            let mut request = Vec::new();
            push_command(&mut request, &[b"AUTH", user.as_bytes(), password.as_bytes()]);
            (request, "+OK")
        }
    }
}

/// Sends an authentication; what the server says.
fn authenticate(socket: &OwnedFd, request: &[u8], timeout: Duration) -> io::Result<String> {
    sockopt::set_socket_timeout(socket, Timeout::Recv, Some(timeout))?;
    let mut stream = std::fs::File::from(socket.as_fd().try_clone_to_owned()?);
    stream.write_all(request)?;
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n") && answer.len() < LONGEST_ANSWER {
        if stream.read(&mut byte)? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "it closed the connection during the authentication",
            ));
        }
        answer.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&answer).trim_end().to_owned())
}
