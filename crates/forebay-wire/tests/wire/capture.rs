//! A capture, read back by a parser that shares nothing with the writer.

use forebay_base::Time;
use forebay_wire::pcapng::{Capture, Direction, Interface, PcapngWriter};

struct Block<'a> {
    kind: u32,
    body: &'a [u8],
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(bytes[at]) | usize::from(bytes[at + 1]) << 8
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    (u16_at(bytes, at) | u16_at(bytes, at + 2) << 16) as u32
}

/// Blocks of a file, each with its length before and after it.
fn blocks(mut file: &[u8]) -> Vec<Block<'_>> {
    let mut blocks = vec![];
    while !file.is_empty() {
        let len = u32_at(file, 4) as usize;
        assert!(len.is_multiple_of(4) && len >= 12);
        assert_eq!(u32_at(file, len - 4) as usize, len);
        blocks.push(Block { kind: u32_at(file, 0), body: &file[8..len - 4] });
        file = &file[len..];
    }
    blocks
}

/// Options as (code, value), up to the end mark, after which nothing may follow.
fn options(mut bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let mut options = vec![];
    loop {
        let (code, len) = (u16_at(bytes, 0), u16_at(bytes, 2));
        if code == 0 {
            assert_eq!((len, bytes.len()), (0, 4));
            return options;
        }
        let padded = len.div_ceil(4) * 4;
        assert!(bytes[4 + len..4 + padded].iter().all(|&b| b == 0));
        options.push((code, &bytes[4..4 + len]));
        bytes = &bytes[4 + padded..];
    }
}

fn at(interface: Interface, ns: u64, direction: Direction, comment: Option<&str>) -> Capture<'_> {
    Capture { interface, at: Time::from_nanos(ns), direction, comment }
}

#[test]
fn a_capture_reads_back() {
    let mut writer = PcapngWriter::new(vec![], "forebay").unwrap();
    let left = writer.interface("left>core").unwrap();
    writer.packet(&at(left, 5, Direction::Outbound, None), &[0x45, 1, 2, 3, 4]).unwrap();
    let right = writer.interface("r").unwrap();
    let late = 0x1234_5678_9abc_def0;
    writer.packet(&at(right, late, Direction::Inbound, Some("drop: full")), &[0x60; 8]).unwrap();
    let file = writer.into_sink();

    let blocks = blocks(&file);
    let kinds: Vec<u32> = blocks.iter().map(|b| b.kind).collect();
    assert_eq!(kinds, [0x0a0d_0d0a, 1, 6, 1, 6]);

    let section = blocks[0].body;
    assert_eq!(section[..8], [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0]);
    assert_eq!(section[8..16], [0xff; 8]);
    assert_eq!(options(&section[16..]), [(4, &b"forebay"[..])]);

    assert_eq!(blocks[1].body[..8], [101, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(options(&blocks[1].body[8..]), [(2, &b"left>core"[..]), (9, &[9][..])]);
    assert_eq!(options(&blocks[3].body[8..]), [(2, &b"r"[..]), (9, &[9][..])]);

    let words = |block: &Block<'_>| [0, 4, 8, 12, 16].map(|at| u32_at(block.body, at));
    assert_eq!(words(&blocks[2]), [0, 0, 5, 5, 5]);
    assert_eq!(blocks[2].body[20..28], [0x45, 1, 2, 3, 4, 0, 0, 0]);
    assert_eq!(options(&blocks[2].body[28..]), [(2, &[2, 0, 0, 0][..])]);

    assert_eq!(words(&blocks[4]), [1, 0x1234_5678, 0x9abc_def0, 8, 8]);
    assert_eq!(blocks[4].body[20..28], [0x60; 8]);
    assert_eq!(options(&blocks[4].body[28..]), [(1, &b"drop: full"[..]), (2, &[1, 0, 0, 0][..])]);
}

#[test]
#[should_panic(expected = "another capture")]
fn an_interface_belongs_to_its_capture() {
    let mut other = PcapngWriter::new(vec![], "a").unwrap();
    let interface = other.interface("a").unwrap();
    let mut writer = PcapngWriter::new(vec![], "b").unwrap();
    writer.packet(&at(interface, 0, Direction::Inbound, None), &[]).unwrap();
}
