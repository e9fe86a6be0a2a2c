//! Captures in pcapng, written block by block (draft-ietf-opsawg-pcapng).
//!
//! All numbers are little-endian on every machine, so that the same run writes the same file. A
//! file is one section header, one interface description for each interface before its first
//! packet, and enhanced packets:
//!
//! ```text
//! Section header block          Interface description block    Enhanced packet block
//!  0 type 0x0a0d0d0a             0 type 1                       0 type 6
//!  4 total length                4 total length                 4 total length
//!  8 magic 0x1a2b3c4d            8 link type 101 (raw IP)       8 interface number
//! 12 version 1.0                10 reserved 0                  12 ns since 1970, high 32 bits
//! 16 section length -1:         12 snap length, 0: no limit    16 low 32 bits
//!    not stated                 16 options                     20 captured length
//! 24 options                     n total length                24 original length
//!  n total length                                              28 bytes of the packet, zeros to 4
//!                                                               m options
//!                                                               n total length
//! ```
//!
//! The last block may hold the statistics of an interface, of which only the comment is used:
//! `8 interface number, 12 ns since 1970 (high, low), 20 options`.
//!
//! Options used, each `code(2) length(2) value, zeros to 4`, ended by four zero bytes:
//! `shb_userappl` 4; `if_name` 2, `if_tsresol` 9 (value 9: nanoseconds); `opt_comment` 1,
//! `epb_flags` 2 (bits 0 and 1: direction).

pub mod read;

use alloc::vec::Vec;
use core::convert::Infallible;
use forebay_base::Time;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
/// Each packet begins with its IPv4 or IPv6 header.
const LINKTYPE_RAW: u16 = 101;
const NANOSECONDS: u8 = 9;

const END_OF_OPTIONS: u16 = 0;
const OPT_COMMENT: u16 = 1;
const IF_NAME: u16 = 2;
const EPB_FLAGS: u16 = 2;
const SHB_USERAPPL: u16 = 4;
const IF_TSRESOL: u16 = 9;

/// Where a capture goes: a file, a pipe, memory.
pub trait Sink {
    /// What can go wrong.
    type Error;
    /// Append `block`, one whole block of the file.
    fn append(&mut self, block: &[u8]) -> Result<(), Self::Error>;
}

impl Sink for Vec<u8> {
    type Error = Infallible;
    fn append(&mut self, block: &[u8]) -> Result<(), Infallible> {
        self.extend_from_slice(block);
        Ok(())
    }
}

/// The number of an interface within its capture.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Interface(u32);

/// Which way a packet passed the interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Received.
    Inbound = 1,
    /// Sent.
    Outbound = 2,
}

/// What a capture says about a packet besides its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Capture<'a> {
    /// Where it was seen.
    pub interface: Interface,
    /// When it was seen. Time 0 of a simulation is shown as 1970-01-01.
    pub at: Time,
    /// Which way it passed.
    pub direction: Direction,
    /// A remark, such as why it was dropped there.
    pub comment: Option<&'a str>,
}

/// Writes a capture. Nothing is held back: after each call the sink has whole blocks.
#[derive(Debug)]
pub struct PcapngWriter<S> {
    sink: S,
    block: Vec<u8>,
    /// Most bytes that are kept of a packet, by interface; 0: all.
    snap_bytes: Vec<u32>,
}

impl<S: Sink> PcapngWriter<S> {
    /// Begin a capture made by `application`.
    pub fn new(sink: S, application: &str) -> Result<PcapngWriter<S>, S::Error> {
        PcapngWriter::with_comment(sink, application, "")
    }

    /// The same with a comment, at most 65 535 bytes long, if it is not empty.
    pub fn with_comment(
        sink: S,
        application: &str,
        comment: &str,
    ) -> Result<PcapngWriter<S>, S::Error> {
        let mut writer = PcapngWriter { sink, block: Vec::new(), snap_bytes: Vec::new() };
        writer.begin(SECTION_HEADER);
        writer.put(&BYTE_ORDER_MAGIC.to_le_bytes());
        writer.put(&1u16.to_le_bytes());
        writer.put(&0u16.to_le_bytes());
        writer.put(&(-1i64).to_le_bytes());
        if !comment.is_empty() {
            writer.option(OPT_COMMENT, comment.as_bytes());
        }
        writer.option(SHB_USERAPPL, application.as_bytes());
        writer.end()?;
        Ok(writer)
    }

    /// Describe one more interface, whose packets are captured whole.
    pub fn interface(&mut self, name: &str) -> Result<Interface, S::Error> {
        self.interface_with_snap_length(name, 0)
    }

    /// Describe one more interface, of whose packets the first `snap_bytes` bytes are captured; 0:
    /// all.
    pub fn interface_with_snap_length(
        &mut self,
        name: &str,
        snap_bytes: u32,
    ) -> Result<Interface, S::Error> {
        self.begin(INTERFACE_DESCRIPTION);
        self.put(&LINKTYPE_RAW.to_le_bytes());
        self.put(&[0; 2]);
        self.put(&snap_bytes.to_le_bytes());
        self.option(IF_NAME, name.as_bytes());
        self.option(IF_TSRESOL, &[NANOSECONDS]);
        self.end()?;
        self.snap_bytes.push(snap_bytes);
        Ok(Interface(self.snap_bytes.len() as u32 - 1))
    }

    /// Write the packet `bytes`, from the IP header on, as much of it as the interface captures.
    /// Panics on an interface of another capture, and on a
    /// comment longer than 65 535 bytes.
    pub fn packet(&mut self, capture: &Capture<'_>, bytes: &[u8]) -> Result<(), S::Error> {
        let snap_bytes = self.snap_bytes.get(capture.interface.0 as usize);
        let snap_bytes = *snap_bytes.expect("interface of another capture");
        let len = u32::try_from(bytes.len()).expect("an IP packet");
        let kept = if snap_bytes == 0 { len } else { len.min(snap_bytes) };
        let ns = capture.at.as_nanos();
        self.begin(ENHANCED_PACKET);
        self.put(&capture.interface.0.to_le_bytes());
        self.put(&((ns >> 32) as u32).to_le_bytes());
        self.put(&(ns as u32).to_le_bytes());
        self.put(&kept.to_le_bytes());
        self.put(&len.to_le_bytes());
        self.put(&bytes[..kept as usize]);
        self.pad();
        if let Some(comment) = capture.comment {
            self.option(OPT_COMMENT, comment.as_bytes());
        }
        self.option(EPB_FLAGS, &(capture.direction as u32).to_le_bytes());
        self.end()
    }

    /// Write a comment, at most 65 535 bytes long, as statistics of an interface.
    pub fn statistics(&mut self, interface: Interface, comment: &str) -> Result<(), S::Error> {
        self.begin(INTERFACE_STATISTICS);
        self.put(&interface.0.to_le_bytes());
        self.put(&[0; 8]);
        self.option(OPT_COMMENT, comment.as_bytes());
        self.end()
    }
    /// What it writes to. Blocks are written whole.
    pub fn sink(&mut self) -> &mut S {
        &mut self.sink
    }

    /// The sink, with the whole capture.
    pub fn into_sink(self) -> S {
        self.sink
    }

    fn begin(&mut self, block_type: u32) {
        self.block.clear();
        self.put(&block_type.to_le_bytes());
        self.put(&[0; 4]);
    }
    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }
    fn option(&mut self, code: u16, value: &[u8]) {
        let len = u16::try_from(value.len()).expect("option value longer than 65535 bytes");
        self.put(&code.to_le_bytes());
        self.put(&len.to_le_bytes());
        self.put(value);
        self.pad();
    }
    /// End the options and the block: its total length stands after it and at byte 4.
    fn end(&mut self) -> Result<(), S::Error> {
        self.option(END_OF_OPTIONS, &[]);
        let total = (self.block.len() + 4) as u32;
        self.put(&total.to_le_bytes());
        self.block[4..8].copy_from_slice(&total.to_le_bytes());
        self.sink.append(&self.block)
    }
}
