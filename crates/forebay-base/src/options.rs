//! TCP and IP options: kept verbatim as bytes, read through typed accessors.

use core::fmt;

/// The most option bytes that a TCP or IPv4 header can hold.
pub const MAX_OPTION_BYTES: usize = 40;

/// Option kinds that Forebay writes or reads.
pub mod kind {
    /// End of option list.
    pub const END: u8 = 0;
    /// No operation.
    pub const NOP: u8 = 1;
    /// Maximum segment size (RFC 9293), on SYN.
    pub const MSS: u8 = 2;
    /// Window scale (RFC 7323), on SYN.
    pub const WINDOW_SCALE: u8 = 3;
    /// SACK permitted (RFC 2018), on SYN.
    pub const SACK_PERMITTED: u8 = 4;
    /// SACK blocks (RFC 2018).
    pub const SACK: u8 = 5;
    /// Timestamps (RFC 7323).
    pub const TIMESTAMPS: u8 = 8;
    /// Multipath TCP (RFC 8684).
    pub const MPTCP: u8 = 30;
    /// Shared experimental kind with a 16-bit ExID (RFC 6994).
    pub const EXPERIMENT: u8 = 253;
}

/// An option does not fit into the 40 bytes, or is malformed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionError;

/// Up to 40 bytes of options, verbatim, without the final padding.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)] // short lists lie together with what stands before them
pub struct OptionList {
    len: u8,
    bytes: [u8; MAX_OPTION_BYTES],
}

impl Default for OptionList {
    fn default() -> Self {
        OptionList { len: 0, bytes: [0; MAX_OPTION_BYTES] }
    }
}

impl OptionList {
    /// No options.
    pub const EMPTY: OptionList = OptionList { len: 0, bytes: [0; MAX_OPTION_BYTES] };

    /// Options verbatim from the wire. Errors if longer than 40 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<OptionList, OptionError> {
        let mut list = OptionList::EMPTY;
        list.bytes.get_mut(..bytes.len()).ok_or(OptionError)?.copy_from_slice(bytes);
        list.len = bytes.len() as u8;
        Ok(list)
    }
    /// The bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len as usize]
    }
    /// The bytes as 64-bit words, the first byte in the low bits, filled up with zeros.
    #[inline]
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        // Bytes after the options are zero: equality of lists depends on it.
        let (words, _) = self.bytes.as_chunks::<8>();
        words[..self.len().div_ceil(8)].iter().map(|&word| u64::from_le_bytes(word))
    }
    /// The bytes, to overwrite in place: routers overwrite, they never insert.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len as usize]
    }
    /// Number of bytes, without padding.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }
    /// True if there is no option.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Append an option of `kind` with `data`. Errors, and changes nothing, if it does not fit.
    pub fn push(&mut self, kind: u8, data: &[u8]) -> Result<(), OptionError> {
        let start = self.len();
        let end = start + 2 + data.len();
        if end > MAX_OPTION_BYTES {
            return Err(OptionError);
        }
        self.bytes[start] = kind;
        self.bytes[start + 1] = (2 + data.len()) as u8;
        self.bytes[start + 2..end].copy_from_slice(data);
        self.len = end as u8;
        Ok(())
    }
    /// Append an experimental option (RFC 6994): kind 253 with `ex_id` before `data`.
    pub fn push_experiment(&mut self, ex_id: u16, data: &[u8]) -> Result<(), OptionError> {
        let start = self.len();
        let end = start + 4 + data.len();
        let Some(place) = self.bytes.get_mut(start..end) else { return Err(OptionError) };
        let [high, low] = ex_id.to_be_bytes();
        place[..4].copy_from_slice(&[kind::EXPERIMENT, (end - start) as u8, high, low]);
        place[4..].copy_from_slice(data);
        self.len = end as u8;
        Ok(())
    }
    /// The options in order. Stops at END and at the first malformed one.
    pub fn iter(&self) -> TcpOptions<'_> {
        TcpOptions { bytes: self.as_bytes() }
    }
    /// The data of the first option of `kind`.
    pub fn find(&self, kind: u8) -> Option<&[u8]> {
        self.iter().find(|o| o.kind == kind).map(|o| o.data)
    }
    /// The data (without ExID) of the first experimental option with `ex_id`.
    #[inline]
    pub fn find_experiment(&self, ex_id: u16) -> Option<&[u8]> {
        // Most lists begin with it, or are of one other option.
        let bytes = self.as_bytes();
        if let [kind::EXPERIMENT, len, a, b, ..] = *bytes {
            if u16::from_be_bytes([a, b]) == ex_id
                && let Some(data) = bytes.get(4..len as usize)
            {
                return Some(data);
            }
            if len as usize == bytes.len() {
                return None;
            }
        }
        self.search_experiment(ex_id)
    }
    #[inline(never)]
    fn search_experiment(&self, ex_id: u16) -> Option<&[u8]> {
        self.iter()
            .filter(|o| o.kind == kind::EXPERIMENT)
            .find_map(|o| o.data.strip_prefix(&ex_id.to_be_bytes()))
    }
    /// Overwrite the data of the first experimental option with `ex_id`, from their beginning.
    /// False, and nothing changes, if there is none, or it has fewer.
    pub fn overwrite_experiment(&mut self, ex_id: u16, data: &[u8]) -> bool {
        let Some(found) = self.find_experiment(ex_id).filter(|found| found.len() >= data.len())
        else {
            return false;
        };
        let at = found.as_ptr().addr() - self.bytes.as_ptr().addr();
        self.bytes[at..at + data.len()].copy_from_slice(data);
        true
    }
    /// The value and the echo of the first timestamps option (RFC 7323 section 3.2), wherever it
    /// stands. None if there is none, or one of another length.
    pub fn timestamps(&self) -> Option<(u32, u32)> {
        let (value, echo) = self.find(kind::TIMESTAMPS)?.split_first_chunk()?;
        let word = u32::from_be_bytes;
        Some((word(*value), word(echo.try_into().ok()?)))
    }
    /// The SACK blocks of the first SACK option, first block first.
    pub fn sack_blocks(&self) -> SackBlocks<'_> {
        SackBlocks { bytes: self.find(kind::SACK).unwrap_or(&[]) }
    }
}

impl fmt::Debug for OptionList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|o| (o.kind, o.data))).finish()
    }
}

/// One option: its kind and the bytes after kind and length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpOption<'a> {
    /// The kind.
    pub kind: u8,
    /// The data.
    pub data: &'a [u8],
}

/// Iterator over the options of a list.
#[derive(Clone, Debug)]
pub struct TcpOptions<'a> {
    bytes: &'a [u8],
}

impl<'a> TcpOptions<'a> {
    /// Walk the options in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        TcpOptions { bytes }
    }
    /// What has not been walked yet: empty, padding, or a malformed rest.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<'a> Iterator for TcpOptions<'a> {
    type Item = TcpOption<'a>;
    fn next(&mut self) -> Option<TcpOption<'a>> {
        loop {
            match *self.bytes {
                [] | [kind::END, ..] => return None,
                [kind::NOP, ref rest @ ..] => self.bytes = rest,
                [kind, len, ..] if len >= 2 && len as usize <= self.bytes.len() => {
                    let (this, rest) = self.bytes.split_at(len as usize);
                    self.bytes = rest;
                    return Some(TcpOption { kind, data: &this[2..] });
                }
                _ => return None,
            }
        }
    }
}

/// A range of sequence numbers that the receiver holds: `start` inclusive, `end` exclusive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub start: u32,
    /// The sequence number after the last of the block.
    pub end: u32,
}

/// Iterator over SACK blocks.
#[derive(Clone, Debug)]
pub struct SackBlocks<'a> {
    bytes: &'a [u8],
}

impl Iterator for SackBlocks<'_> {
    type Item = SackBlock;
    fn next(&mut self) -> Option<SackBlock> {
        let (block, rest) = self.bytes.split_first_chunk::<8>()?;
        self.bytes = rest;
        let word = |at: usize| {
            u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
        };
        Some(SackBlock { start: word(0), end: word(4) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_and_never_overflow() {
        let mut list = OptionList::EMPTY;
        list.push(kind::MSS, &1448u16.to_be_bytes()).unwrap();
        list.push_experiment(0x1234, &[9, 9]).unwrap();
        let mut sack = [0u8; 24];
        sack[3] = 1;
        sack[7] = 5;
        list.push(kind::SACK, &sack).unwrap();
        assert_eq!(list.len(), 4 + 6 + 26);
        assert_eq!(list.push(kind::SACK, &sack), Err(OptionError));
        assert_eq!(list.find_experiment(0x1234), Some(&[9u8, 9][..]));
        assert_eq!(list.find_experiment(0x1235), None);
        assert_eq!(list.sack_blocks().next(), Some(SackBlock { start: 1, end: 5 }));
        assert_eq!(list.sack_blocks().count(), 3);
    }

    #[test]
    fn malformed_lengths_stop_the_walk() {
        for bad in [&[5u8, 0][..], &[5, 1], &[5, 9, 0], &[5]] {
            assert_eq!(OptionList::from_bytes(bad).unwrap().iter().count(), 0, "{bad:?}");
        }
        assert!(OptionList::from_bytes(&[1; 41]).is_err());
    }
}
