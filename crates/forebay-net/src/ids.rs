//! Numbers of what only this crate numbers.

use forebay_base::FlowId;
use forebay_transport::Role;

/// One end of a flow: two times the flow's number, one more for the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EndId(pub u32);

impl EndId {
    /// The end of `flow` that has this role.
    #[inline]
    pub const fn of(flow: FlowId, role: Role) -> EndId {
        EndId(2 * flow.0 + matches!(role, Role::Server) as u32)
    }
    /// The flow.
    #[inline]
    pub const fn flow(self) -> FlowId {
        FlowId(self.0 / 2)
    }
    /// Its role there.
    #[inline]
    pub const fn role(self) -> Role {
        if self.0.is_multiple_of(2) { Role::Client } else { Role::Server }
    }
    /// As an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
