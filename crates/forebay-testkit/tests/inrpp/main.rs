//! INRPP as a system: routers, hosts and detours in the simulator.

mod dumbbell;
mod random;
