//! What tests share: small networks in a few lines, duels, random scenarios, toy tenants. Not part of the product.
#![forbid(unsafe_code)]

pub mod duel;
pub mod random;
pub mod realtime;
pub mod tap;
pub mod world;
