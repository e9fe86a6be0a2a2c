//! INRPP as a system: routers, hosts and detours in the simulator.

mod bottlenecks;
mod company;
mod dumbbell;
mod hard;
mod lab;
mod random;
