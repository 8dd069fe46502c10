//! What all parts of the protocol name: numbers, addresses, the members of chains, seats and wedges.
//!
//! # Layout
//!
//! * `numbers`: [`Epoch`], [`Seq`], [`Position`], [`Member`], [`RequestId`], [`Address`] and their like.
//! * `configuration`: the [`Chain`] of a range and its [`Rules`].
//! * `seat`: event loops and managers by number. `wedge`: parts of the key space, each with the front-end that owns it.

mod configuration;
mod numbers;
mod seat;
mod wedge;

pub use configuration::{Ack, Chain, Consistency, Health, Rules};
pub use fawn_ring::NodeId;
pub use numbers::{
    Address, Asker, Attempt, ClusterId, Epoch, FrontId, FrontMember, Incarnation, Member, Position, RangeId, RequestId,
    Seq, WedgeEpoch, WedgeId,
};
pub use seat::{ManagerId, SeatId};
pub use wedge::Wedge;
pub(crate) use wedge::{numbered, wedge_at};
