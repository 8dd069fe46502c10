//! How commands are answered that have nothing to do with keys.

use super::error::CommandError;
use super::reply_state::ReplyKind;
use crate::protocol::ServerRequest;
use fawn_resp::reply::RespVersion;

/// What such a command came to.
pub type OwnResult<'a> = Result<Answer<'a>, CommandError>;

/// How a command was answered that has nothing to do with keys.
#[derive(Debug)]
pub enum Answer<'a> {
    /// The reply is written.
    Written,
    /// The reply is written, and the connection is to be closed.
    Close,
    /// The server answers.
    Server(ServerRequest, ReplyKind),
    /// The server says whether this is the user's password. The reply is that of a client of this version.
    Authenticate {
        /// The user's name.
        user: &'a [u8],
        /// The password.
        password: &'a [u8],
        /// The reply if it is.
        reply: ReplyKind,
        /// The version of the protocol of the reply.
        version: RespVersion,
    },
}
