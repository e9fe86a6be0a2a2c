//! Bytes over the wires of a network in several places: `Site::push` takes whatever comes. Half of
//! the networks are on real wires, which are lost and come back (`Site::push_carrier`).
//!
//! The first byte of an input is the network, the others say what is done to its packets.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| forebay_testkit::harm::survives(input));
