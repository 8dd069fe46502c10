//! Sockets of connections to other parties.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with, sockopt};
use std::net::SocketAddr;
use std::time::Duration;

/// A peer that takes nothing for so long is gone.
const USER_TIMEOUT_MS: u32 = 3000;

/// Begins a connection.
pub fn dial(address: SocketAddr) -> Option<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP)).ok()?;
    prepare(&socket);
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Some(socket),
        Err(error) => {
            tracing::debug!("cannot call {address}: {error}");
            None
        }
    }
}

/// Makes a socket send at once, and notice when the other side is gone.
pub fn prepare(socket: &OwnedFd) {
    let _ = sockopt::set_tcp_nodelay(socket, true);
    let _ = sockopt::set_tcp_user_timeout(socket, USER_TIMEOUT_MS);
    let _ = sockopt::set_socket_keepalive(socket, true);
    let _ = sockopt::set_tcp_keepidle(socket, Duration::from_secs(2));
    let _ = sockopt::set_tcp_keepintvl(socket, Duration::from_secs(1));
    let _ = sockopt::set_tcp_keepcnt(socket, 3);
}
