//! Two connections against each other, with the numbers that the RFCs ask for.

mod handshake;
mod paths;
mod recovery;
mod transfer;
