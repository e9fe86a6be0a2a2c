//! The properties of the wire, each against an oracle of its own.

mod capture;
mod foreign;
mod fragments;
mod make;
mod options;
mod pieces;
mod robustness;
mod round_trip;
mod tshark;
