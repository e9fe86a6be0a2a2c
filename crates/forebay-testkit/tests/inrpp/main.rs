//! INRPP as a system: routers, hosts and detours in the simulator.

mod attacks;
mod bottlenecks;
mod company;
mod crowds;
mod custody;
mod depth;
mod dumbbell;
mod ends;
mod hard;
mod lab;
mod latency;
mod long_detours;
mod margin;
mod meshes;
mod model;
mod named;
mod opportunities;
mod partial;
mod provider;
mod random;
mod returns;
