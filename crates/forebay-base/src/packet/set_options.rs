//! Options of a packet in canonical form, and the header length that follows from them.

use super::arena::{Arena, Handle};
use super::packed_fields::TIMESTAMPS;
use super::{FRAGMENT_HEADER_BYTES, Kind, Packet};
use crate::ids::IpVersion;
use crate::options::{MAX_OPTION_BYTES, OptionError, OptionList, TcpOptions, kind};

const TCP_HEADER_BYTES: usize = 20;
const TIMESTAMP_OPTION_BYTES: usize = 10;

/// Length of IP and TCP header together, in bytes.
#[inline]
pub(super) const fn tcp_header_len(version: IpVersion, timestamps: bool, options: usize) -> usize {
    let ip = match version {
        IpVersion::V4 => 20,
        IpVersion::V6 => 40,
    };
    let options = if timestamps { TIMESTAMP_OPTION_BYTES + options } else { options };
    ip + TCP_HEADER_BYTES + options.next_multiple_of(4)
}

/// Of all lists with the same header bytes, make this the one that a parser finds. A header pads
/// its options with zeros to a multiple of 4; `before` option bytes precede the list. Zeros after
/// the last option are dropped if padding restores them. Zeros that belong to an option stay.
#[inline]
fn drop_padding(list: &mut OptionList, before: usize) {
    match *list.as_bytes() {
        [] => {}
        // One option and nothing else: the tags and echoes of most packets.
        [first, len, ..] if first > kind::NOP && len >= 2 && len as usize == list.len() => {}
        _ => drop_padding_of_many(list, before),
    }
}

fn drop_padding_of_many(list: &mut OptionList, before: usize) {
    let mut walk = TcpOptions::new(list.as_bytes());
    walk.by_ref().for_each(drop);
    if walk.rest().is_empty() {
        return; // nothing but whole options
    }
    let padded_len = (before + list.len()).next_multiple_of(4) - before;
    let mut region = [0u8; MAX_OPTION_BYTES + 4];
    region[..list.len()].copy_from_slice(list.as_bytes());
    let region = &region[..padded_len];
    let mut walk = TcpOptions::new(region);
    walk.by_ref().for_each(drop);
    let listed = padded_len - walk.rest().len();
    let written = region.iter().rposition(|&b| b != 0).map_or(0, |at| at + 1);
    let kept = listed.max(written).max(padded_len.saturating_sub(3));
    *list = OptionList::from_bytes(&region[..kept]).expect("rounding stays within 40 bytes");
}

impl Packet {
    /// Replace the TCP options other than timestamps. Final padding is dropped. Err if they do not
    /// fit into 40 bytes together with timestamps, or if they begin with timestamps that
    /// [`TcpFields`](crate::TcpFields) lacks.
    pub fn set_tcp_options(
        &mut self,
        mut options: OptionList,
        arena: &mut Arena,
    ) -> Result<(), OptionError> {
        assert_eq!(self.kind(), Kind::Tcp);
        let stamps = self.small.bits() & TIMESTAMPS != 0;
        let before = if stamps { TIMESTAMP_OPTION_BYTES } else { 0 };
        if options.len() + before > MAX_OPTION_BYTES {
            return Err(OptionError);
        }
        drop_padding(&mut options, before);
        let leading_stamps = [kind::TIMESTAMPS, TIMESTAMP_OPTION_BYTES as u8];
        if !stamps
            && options.len() >= TIMESTAMP_OPTION_BYTES
            && options.as_bytes().starts_with(&leading_stamps)
        {
            return Err(OptionError);
        }
        if options.is_empty() && self.cold == Handle::NONE {
            return Ok(());
        }
        self.cold_mut(arena).tcp_options = options;
        self.fix_header_len(arena);
        Ok(())
    }
    /// Replace the IPv4 options. Final padding is dropped. Err for IPv6, which has none, and for
    /// opaque packets, whose bytes are fixed.
    pub fn set_ip_options(
        &mut self,
        mut options: OptionList,
        arena: &mut Arena,
    ) -> Result<(), OptionError> {
        if self.version() == IpVersion::V6 || self.kind() == Kind::Opaque {
            return Err(OptionError);
        }
        drop_padding(&mut options, 0);
        self.cold_mut(arena).ip_options = options;
        self.fix_header_len(arena);
        Ok(())
    }
    fn fix_header_len(&mut self, arena: &Arena) {
        let cold = arena.cold(self.cold);
        let has_fragment_header = self.version() == IpVersion::V6 && !self.dont_fragment();
        let fragment_header = if has_fragment_header { FRAGMENT_HEADER_BYTES } else { 0 };
        let ip_options = cold.ip_options.len().next_multiple_of(4);
        let header_len = ip_options
            + usize::from(fragment_header)
            + match self.kind() {
                Kind::Tcp => tcp_header_len(
                    self.version(),
                    self.small.bits() & TIMESTAMPS != 0,
                    cold.tcp_options.len(),
                ),
                _ if self.version() == IpVersion::V6 => 40,
                _ => 20,
            };
        let payload = self.payload_len();
        self.small = self.small.with_header_len(header_len as u8);
        let len = payload.checked_add(header_len as u16).expect("packet longer than 65535 bytes");
        self.set_len(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::segment;

    #[test]
    fn options_lengthen_the_header_and_are_bounded_by_40() {
        let mut arena = Arena::default();
        let mut packet = segment(100, Some((7, 8)));
        let mut options = OptionList::EMPTY;
        options.push(kind::SACK, &[0; 24]).unwrap();
        packet.set_tcp_options(options, &mut arena).unwrap();
        assert_eq!((packet.header_len(), packet.payload_len()), (20 + 20 + 36, 100));
        options.push(kind::WINDOW_SCALE, &[1, 2, 3]).unwrap();
        assert!(packet.set_tcp_options(options, &mut arena).is_err());
        packet.set_ip_options(OptionList::from_bytes(&[1; 8]).unwrap(), &mut arena).unwrap();
        assert_eq!((packet.header_len(), packet.payload_len()), (84, 100));
        arena.free(packet);
        assert_eq!(arena.live(), 0);
    }

    #[test]
    fn padding_that_rounding_brings_back_is_dropped_and_nothing_else() {
        // By hand: (list, bytes before it, what stays).
        let cases: [(&[u8], usize, &[u8]); 9] = [
            (&[2, 4, 5, 0], 0, &[2, 4, 5, 0]),
            (&[1, 1, 0], 0, &[1, 1]),
            (&[1, 1, 0, 0, 0, 0, 0], 0, &[1, 1, 0, 0, 0]),
            (&[0, 0, 0, 0], 0, &[0]),
            (&[0, 0], 10, &[]),
            (&[0, 0, 0], 10, &[0, 0, 0]),
            (&[5, 4, 9], 0, &[5, 4, 9, 0]),
            (&[5, 0, 7, 0], 0, &[5, 0, 7]),
            (&[0, 9, 0, 0], 0, &[0, 9]),
        ];
        for (list, before, expected) in cases {
            let mut kept = OptionList::from_bytes(list).unwrap();
            drop_padding(&mut kept, before);
            assert_eq!(kept.as_bytes(), expected, "{list:?} behind {before}");
        }
    }

    #[test]
    fn timestamps_have_one_place() {
        let mut arena = Arena::default();
        let mut stamps = OptionList::EMPTY;
        stamps.push(kind::TIMESTAMPS, &[0; 8]).unwrap();
        assert!(segment(1, None).set_tcp_options(stamps, &mut arena).is_err());
        let mut twice = segment(1, Some((1, 2)));
        twice.set_tcp_options(stamps, &mut arena).unwrap();
        assert_eq!(twice.header_len(), 20 + 20 + 20);
    }
}
