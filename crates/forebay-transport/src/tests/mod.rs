//! Two connections against each other, with the numbers that the RFCs ask for.

mod closed;
mod handshake;
mod paths;
mod rates;
mod recovery;
mod signals;
mod transfer;
