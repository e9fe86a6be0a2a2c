//! What tests share: small networks in a few lines, duels, random scenarios, toy tenants. Not part
//! of the product.
#![forbid(unsafe_code)]

pub mod duel;
pub mod harm;
pub mod lives;
pub mod places;
pub mod pool;
pub mod random;
pub mod random_crowd;
pub mod random_pool;
pub mod reading;
pub mod realtime;
pub mod tap;
pub mod world;
