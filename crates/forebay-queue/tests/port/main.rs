//! A port through its public interface: the stages in order, and the scheme of Kick-Ass.

mod bench;
mod kickass;
mod ports;
