//! A reader of captures, written from the format's draft (draft-ietf-opsawg-pcapng), for
//! comparison.

use std::path::Path;

/// One packet of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Name of its interface.
    pub interface: String,
    /// Nanoseconds since 1970.
    pub at_ns: u64,
    /// From the IP header on.
    pub bytes: Vec<u8>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The value of option `code` in a list of options.
fn option(mut list: &[u8], code: u16) -> Option<&[u8]> {
    while list.len() >= 4 {
        let kind = u16::from_le_bytes([list[0], list[1]]);
        let len = usize::from(u16::from_le_bytes([list[2], list[3]]));
        if kind == code {
            return Some(&list[4..4 + len]);
        }
        list = &list[4 + len.next_multiple_of(4)..];
    }
    None
}

/// Interfaces and packets of a capture.
pub fn read(path: &Path) -> (Vec<String>, Vec<Record>) {
    let file = std::fs::read(path).unwrap();
    let (mut interfaces, mut records, mut rest) = (Vec::new(), Vec::new(), &file[..]);
    while !rest.is_empty() {
        let len = word(rest, 4) as usize;
        let (block, behind) = rest.split_at(len);
        assert_eq!(word(block, len - 4) as usize, len, "length before and behind a block");
        match word(block, 0) {
            1 => {
                let options = &block[16..len - 4];
                assert_eq!(option(options, 9), Some(&[9u8][..]), "nanoseconds");
                interfaces.push(String::from_utf8(option(options, 2).unwrap().to_vec()).unwrap());
            }
            6 => {
                let at_ns = u64::from(word(block, 12)) << 32 | u64::from(word(block, 16));
                let bytes = block[28..28 + word(block, 20) as usize].to_vec();
                let interface = interfaces[word(block, 8) as usize].clone();
                records.push(Record { interface, at_ns, bytes });
            }
            kind => assert_eq!(kind, 0x0a0d_0d0a, "a block that no one wrote"),
        }
        rest = behind;
    }
    (interfaces, records)
}

impl Record {
    /// Sequence number and payload length of the TCP segment.
    pub fn tcp(&self) -> (u32, u32) {
        assert_eq!(self.bytes[0], 0x45, "IPv4 without options");
        let header = 20 + usize::from(self.bytes[32] >> 4) * 4;
        let seq = u32::from_be_bytes(self.bytes[24..28].try_into().unwrap());
        (seq, (self.bytes.len() - header) as u32)
    }
}
