//! INRPP: in-network resource pooling (Rene, Ascigil, Psaras, Pavlou, IEEE/ACM Transactions on Networking 2021,
//! doi:10.1109/TNET.2021.3128384).

mod settings;

pub use settings::{CacheLimits, CacheSize, Settings};
