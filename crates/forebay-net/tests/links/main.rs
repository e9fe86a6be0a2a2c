//! Links, channels and reassembly through the public interface.

mod held;
mod links;
mod mahimahi;
mod pieces;
