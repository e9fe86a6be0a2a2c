//! Early transit: it changes nothing that can be read, and each of its conditions is needed.

mod engine;
mod guards;
mod horizon;
mod in_place;
mod networks;
mod plan;
mod random;
mod turns;
