//! The machines of a scenario on real Linux interfaces, in real time.
//!
//! No machine reads a clock here either: an input is executed at the kernel's timestamp, an event
//! at its nominal time. Only packets that leave are late, and how late is measured.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "forebay-live needs Linux: network namespaces and AF_PACKET. Build the other crates: \
     `cargo build -p forebay-cli`."
);

mod isolate;
mod lab;
mod netlink;
mod os;

pub use isolate::{IsolateError, grant_user_namespaces, isolate, seal};
pub use lab::{Cable, CableEnd, Lab, LabError, NODE_MAC, Occupant, switch_offloads};
pub use os::Mac;
mod clock;
pub mod wire;
pub use clock::{Clock, Stamps};
mod check;
mod demand;
mod saturation;
mod scheduling;
pub use check::{Check, Right, check};
pub use demand::{Capacity, Demand, Overload};
pub use saturation::{
    Arrivals, Crossing, Saturation, SaturationError, kernel_saturation, measured_capacity,
    router_saturation,
};
pub use scheduling::{Priority, hurry};
mod turn;
pub use turn::{BEHIND, Next, Port, PortReport, Record, TooSlow, Turns};
mod kernel;
mod node;
mod plan;
mod session;
pub use kernel::KernelError;
pub use node::NodeReport;
pub use plan::{KernelHost, LivePlan, os_secret, place_of};
pub use session::{LiveError, LiveReport, address_of, interface, run_live};
