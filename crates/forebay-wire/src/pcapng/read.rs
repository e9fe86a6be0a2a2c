//! Reading a capture, block by block: what [`super::PcapngWriter`] writes, and blocks of other
//! kinds, which are passed over.

use super::{
    BYTE_ORDER_MAGIC, END_OF_OPTIONS, ENHANCED_PACKET, IF_NAME, IF_TSRESOL, INTERFACE_DESCRIPTION,
    INTERFACE_STATISTICS, LINKTYPE_RAW, NANOSECONDS, OPT_COMMENT, SECTION_HEADER,
};
use core::fmt;
use forebay_base::Time;

/// Longer blocks are not read.
pub const MAX_BLOCK_BYTES: usize = 1 << 20;
/// Type, length, and length again.
const LEAST_BLOCK_BYTES: usize = 12;

/// A block of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block<'a> {
    /// The first of a capture, with its comment.
    Section(Option<&'a [u8]>),
    /// An interface of raw IP packets whose times are in nanoseconds: its name.
    Interface(&'a [u8]),
    /// A packet that is there as a whole.
    Packet {
        /// The number of its interface, in order of their descriptions.
        interface: u32,
        /// When it was seen.
        at: Time,
        /// From the IP header on.
        bytes: &'a [u8],
    },
    /// Statistics of an interface: the comment.
    Statistics(Option<&'a [u8]>),
    /// Any other.
    Other,
}

/// Why bytes are no such capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockError {
    /// A length that no block has, or two lengths of one block that differ.
    Length,
    /// The capture was written on a machine of another byte order.
    ByteOrder,
    /// An interface of other packets than raw IP, or with other times than nanoseconds.
    Interface,
    /// A packet of which a part is missing.
    Cut,
}

impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BlockError::Length => "a block whose length is wrong",
            BlockError::ByteOrder => "the byte order is not little-endian",
            BlockError::Interface => "an interface that has not raw IP packets with times in ns",
            BlockError::Cut => "a packet of which a part is missing",
        })
    }
}

impl core::error::Error for BlockError {}

/// The length of the block at the beginning of `bytes`; None if fewer than 8 bytes are there.
pub fn block_bytes(bytes: &[u8]) -> Option<Result<usize, BlockError>> {
    let len = u32_at(bytes, 4)? as usize;
    let sound = (LEAST_BLOCK_BYTES..=MAX_BLOCK_BYTES).contains(&len) && len.is_multiple_of(4);
    Some(if sound { Ok(len) } else { Err(BlockError::Length) })
}

/// The block in `bytes`, which must hold exactly one.
pub fn block(bytes: &[u8]) -> Result<Block<'_>, BlockError> {
    let whole = block_bytes(bytes).transpose()?.filter(|&len| len == bytes.len());
    let len = whole.ok_or(BlockError::Length)?;
    if u32_at(bytes, len - 4) != Some(len as u32) {
        return Err(BlockError::Length);
    }
    let body = &bytes[8..len - 4];
    let need = |bytes: Option<u32>| bytes.ok_or(BlockError::Length);
    Ok(match u32_at(bytes, 0) {
        Some(SECTION_HEADER) if need(u32_at(body, 0))? != BYTE_ORDER_MAGIC => {
            return Err(BlockError::ByteOrder);
        }
        Some(SECTION_HEADER) => Block::Section(option(body, 16, OPT_COMMENT)),
        Some(INTERFACE_DESCRIPTION) => {
            let resolution = option(body, 8, IF_TSRESOL);
            let raw = need(u32_at(body, 0))? & 0xffff == u32::from(LINKTYPE_RAW);
            if !raw || resolution != Some(&[NANOSECONDS]) {
                return Err(BlockError::Interface);
            }
            Block::Interface(option(body, 8, IF_NAME).unwrap_or_default())
        }
        Some(ENHANCED_PACKET) => packet(body)?,
        Some(INTERFACE_STATISTICS) => Block::Statistics(option(body, 12, OPT_COMMENT)),
        _ => Block::Other,
    })
}

fn packet(body: &[u8]) -> Result<Block<'_>, BlockError> {
    let word = |index: usize| u32_at(body, 4 * index).ok_or(BlockError::Length);
    let (interface, high, low, kept, len) = (word(0)?, word(1)?, word(2)?, word(3)?, word(4)?);
    if kept != len {
        return Err(BlockError::Cut);
    }
    let bytes = body[20..].get(..kept as usize).ok_or(BlockError::Length)?;
    let at = Time::from_nanos(u64::from(high) << 32 | u64::from(low));
    Ok(Block::Packet { interface, at, bytes })
}

/// The value of the first option with this code, of the options from byte `at` of a body on.
fn option(body: &[u8], at: usize, wanted: u16) -> Option<&[u8]> {
    let mut rest = body.get(at..)?;
    loop {
        let head = u32_at(rest, 0)?;
        let (code, len) = (head as u16, (head >> 16) as usize);
        let value = rest.get(4..4 + len)?;
        match code {
            END_OF_OPTIONS => return None,
            code if code == wanted => return Some(value),
            _ => rest = rest.get(4 + len.next_multiple_of(4)..)?,
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(word.try_into().expect("four bytes")))
}

#[cfg(test)]
mod tests {
    use super::super::{Capture, Direction, PcapngWriter};
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    fn capture() -> Vec<u8> {
        let mut writer = PcapngWriter::with_comment(Vec::new(), "test", "of a node").unwrap();
        let interface = writer.interface("a-b").unwrap();
        let at = Time::from_nanos(5_000_000_123);
        let capture = Capture { interface, at, direction: Direction::Inbound, comment: Some("x") };
        writer.packet(&capture, &[0x45, 1, 2]).unwrap();
        writer.statistics(interface, "the end").unwrap();
        writer.into_sink()
    }

    fn blocks(mut bytes: &[u8]) -> Result<Vec<Block<'_>>, BlockError> {
        let mut all = vec![];
        while let Some(len) = block_bytes(bytes).transpose()? {
            let (first, rest) = bytes.split_at_checked(len).ok_or(BlockError::Length)?;
            all.push(block(first)?);
            bytes = rest;
        }
        Ok(all)
    }

    #[test]
    fn what_was_written_is_read() {
        let packet = Block::Packet {
            interface: 0,
            at: Time::from_nanos(5_000_000_123),
            bytes: &[0x45, 1, 2],
        };
        assert_eq!(
            blocks(&capture()).unwrap(),
            [
                Block::Section(Some(b"of a node")),
                Block::Interface(b"a-b"),
                packet,
                Block::Statistics(Some(b"the end")),
            ]
        );
    }

    /// Every byte changed in several ways, and every length cut: a block or an error, no panic.
    #[test]
    fn any_bytes_are_a_capture_or_an_error() {
        let good = capture();
        for place in 0..good.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[place] ^= flip;
                let _ = blocks(&bytes);
            }
            let _ = blocks(&good[..place]);
            let _ = block(&good[place..]);
        }
        assert_eq!(block(&[]), Err(BlockError::Length));
        let mut other = good.clone();
        other[8..12].reverse();
        assert_eq!(blocks(&other), Err(BlockError::ByteOrder));
    }
}
