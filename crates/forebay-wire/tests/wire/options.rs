//! Each scheme's largest set of TCP options fits into 40 bytes, and one more block does not.

use crate::make::*;
use forebay_base::{Arena, IpVersion, MAX_OPTION_BYTES, OptionList, Packet, TcpFields, kind};

/// Bytes of each option, kind and length included.
const TIMESTAMPS: usize = 10;
const BACK_PRESSURE: usize = 10;
const BACK_PRESSURE_WITH_MAC: usize = 14;
const ECHO: usize = 8;
const EX_ID: u16 = 0xf0be;

fn sack(blocks: usize) -> usize {
    2 + 8 * blocks
}

fn experiment(options: &mut OptionList, len: usize) {
    options.push_experiment(EX_ID, &[0xab; 40][..len - 4]).unwrap();
}

fn with_sack(mut options: OptionList, blocks: usize) -> OptionList {
    options.push(kind::SACK, &[0xcd; 40][..8 * blocks]).unwrap();
    options
}

/// Puts the options after timestamps through the wire, and returns all option bytes in the header.
fn option_bytes(options: OptionList) -> Option<usize> {
    let mut arena = Arena::default();
    let fields = TcpFields { timestamps: Some((1, 2)), ..TcpFields::default() };
    let mut packet = Packet::tcp(IpVersion::V4, end(1, 2), end(3, 4), fields, 0);
    packet.set_tcp_options(options, &mut arena).ok()?;
    let bytes = bytes_of(&packet, &arena);
    let back = parsed(&bytes, &mut arena);
    assert_same(&packet, &back, &arena);
    assert_eq!(bytes.len(), 20 + usize::from(bytes[32] >> 4) * 4);
    Some(TIMESTAMPS + options.len())
}

#[test]
fn tcp_carries_three_sack_blocks_beside_timestamps() {
    assert_eq!(option_bytes(with_sack(OptionList::EMPTY, 3)), Some(TIMESTAMPS + sack(3)));
    assert_eq!(TIMESTAMPS + sack(3), 36);
    assert_eq!(option_bytes(with_sack(OptionList::EMPTY, 4)), None);
}

#[test]
fn back_pressure_leaves_two_sack_blocks() {
    let mut options = OptionList::EMPTY;
    experiment(&mut options, BACK_PRESSURE);
    let two = option_bytes(with_sack(options, 2));
    assert_eq!(two, Some(TIMESTAMPS + BACK_PRESSURE + sack(2)));
    assert_eq!(two, Some(38));
    assert_eq!(option_bytes(with_sack(options, 3)), None);
}

#[test]
fn back_pressure_with_mac_leaves_one_sack_block() {
    let mut options = OptionList::EMPTY;
    experiment(&mut options, BACK_PRESSURE_WITH_MAC);
    let one = option_bytes(with_sack(options, 1));
    assert_eq!(one, Some(TIMESTAMPS + BACK_PRESSURE_WITH_MAC + sack(1)));
    assert_eq!(one, Some(34));
    assert_eq!(option_bytes(with_sack(options, 2)), None);
}

#[test]
fn data_in_both_directions_carries_echo_back_pressure_and_one_sack_block() {
    let mut options = OptionList::EMPTY;
    experiment(&mut options, ECHO);
    assert_eq!(option_bytes(options), Some(TIMESTAMPS + ECHO));
    experiment(&mut options, BACK_PRESSURE);
    assert_eq!(option_bytes(with_sack(options, 1)), Some(38));
    assert_eq!(option_bytes(with_sack(options, 2)), None);
    // With MAC the SACK blocks must stay out of such a segment.
    let mut with_mac = OptionList::EMPTY;
    experiment(&mut with_mac, ECHO);
    experiment(&mut with_mac, BACK_PRESSURE_WITH_MAC);
    assert_eq!(option_bytes(with_mac), Some(32));
    assert_eq!(option_bytes(with_sack(with_mac, 1)), None);
}

#[test]
fn a_syn_carries_all_four_usual_options() {
    let mut options = OptionList::EMPTY;
    options.push(kind::MSS, &1460u16.to_be_bytes()).unwrap();
    options.push(kind::WINDOW_SCALE, &[14]).unwrap();
    options.push(kind::SACK_PERMITTED, &[]).unwrap();
    assert_eq!(option_bytes(options), Some(19));
    const { assert!(19 <= MAX_OPTION_BYTES) };
}
