//! Notices that neighbours authenticate (paper, section V-C): a code after the signal, which each
//! router checks with the key of the link that the packet came over, and writes anew with the key
//! of the link that it leaves on.
//!
//! ```text
//! back-pressure, notice   253 17  ExID(2)  signal(6) epoch(1) code(6)
//! on a SYN-ACK            253 21  ExID(2)  signal(6) epoch(1) code(6) path digest(4)
//! void                    253 17  F0B0     what it was
//! ```
//!
//! The code is SipHash-2-4, cut to 48 bits, over the addresses, the ports, the acknowledgement
//! number (with a notice on data: the sequence number), the signal, which option it is, and the
//! digest. The key is one of the epoch. Six bytes are what timestamps and the other options of a
//! SYN-ACK leave (40 in all). Four would make room for no more SACK blocks.
//!
//! Beside timestamps (10 bytes) and MPTCP's data sequence signal (DSS), in 40:
//!
//! ```text
//!                                      without a code     with one
//! ACK                                  3 SACK blocks      2
//! ACK, timestamps                      2                  1
//! ACK, timestamps, DSS of 8, of 12     1, 0               0, 0
//! ACK, timestamps, DSS of 20           0                  no room
//! data, timestamps, DSS of 20          echo or notice     echo; no room for a notice
//! data, DSS of 28                      echo or notice     echo; no room for a notice
//! data, timestamps, DSS of 28          no room            no room
//! SYN-ACK, timestamps                  37 bytes           40 bytes
//! SYN-ACK, timestamps, MP_CAPABLE      no room            no room
//! ```
//!
//! An ACK without room goes without the option, and its sender keeps to the last word.
//!
//! Who attacks, and what for:
//!
//! * A host off the path, or a bot net, sends ACKs or data in the name of others: to slow them
//!   down, to free what a router holds, to fill tables with nonces. It has no key, and no address
//!   behind the port where its packets come in.
//! * A receiver invents nonces and a count of routers, or acknowledges in many parts: to make its
//!   sender faster than others. Hosts have no key either, and no host originates a notice.
//! * A sender does not listen. No code helps against that; turns and shares of the cache must.
//! * Somebody on a link between routers drops, repeats, changes or adds packets. The code stops
//!   changes and additions, the epoch old packets, the order of acknowledgement numbers what is
//!   repeated within an epoch. Dropping is no worse than without INRPP: all that routers keep for
//!   neighbours expires.
//! * A router that has the key is trusted.

use super::{BACK_PRESSURE_EX_ID, NOTICE_EX_ID, PATH_DIGEST_BYTES, RouterId};
use alloc::sync::Arc;
use alloc::vec::Vec;
use forebay_base::{OptionList, Packet, Span, Time, kind};
use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128, SipHasher24 as Derive};

/// Length on the wire of a back-pressure option, or a notice, with a code, in bytes.
pub const GUARDED_BYTES: u16 = 17;
/// The same on a SYN-ACK, where it holds the path digest.
pub const GUARDED_SYN_BYTES: u16 = GUARDED_BYTES + PATH_DIGEST_BYTES - 4;
/// ExID of an option whose code was wrong: no one reads it. An echo that does not ask for an ACK
/// of each packet has it too.
pub const VOID_EX_ID: u16 = 0xF0B0;
/// Time for which a code is made with one key: two of them are shorter than a flow takes, at 800
/// Mbit/s, for half of all sequence numbers.
pub const EPOCH: Span = Span::from_secs(10);

/// Bytes of data of an option before the code: the signal and the epoch.
const SIGNED_BYTES: usize = 7;
const CODE_BYTES: usize = 6;
/// Where the digest begins.
const DIGEST_AT: usize = SIGNED_BYTES + CODE_BYTES;

/// What routers of both ends of a link know, and no one else: 16 bytes or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSecret(Arc<[u8]>);

/// A secret of fewer than 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortSecret(pub usize);

impl LinkSecret {
    /// Fewest bytes of a secret: those of a key of SipHash.
    pub const MIN_BYTES: usize = 16;

    /// Errors if it is too short.
    pub fn new(bytes: &[u8]) -> Result<LinkSecret, ShortSecret> {
        if bytes.len() < LinkSecret::MIN_BYTES {
            return Err(ShortSecret(bytes.len()));
        }
        Ok(LinkSecret(bytes.into()))
    }
    /// The key of one epoch for what `from` sends to `to`: what is repeated the other way round is
    /// wrong there.
    fn key(&self, epoch: u64, from: RouterId, to: RouterId) -> SipHasher24 {
        let (first, rest) = self.0.split_first_chunk().expect("it has been checked");
        let mut message: Vec<u8> = rest.to_vec();
        message.extend_from_slice(&epoch.to_be_bytes());
        message.extend_from_slice(&from.0.to_be_bytes());
        message.extend_from_slice(&to.0.to_be_bytes());
        let derived = {
            use core::hash::Hasher as _;
            let mut derive = Derive::new_with_key(first);
            derive.write(&message);
            derive.finish128()
        };
        SipHasher24::new_with_keys(derived.h1, derived.h2)
    }
}

/// Keys of a router for one link, of this epoch, the one before, and the other direction.
#[derive(Clone, Debug)]
pub struct LinkKeys {
    secret: LinkSecret,
    me: RouterId,
    neighbour: RouterId,
    epoch: u64,
    inbound: [SipHasher24; 2],
    outbound: SipHasher24,
}

impl LinkKeys {
    /// The keys of `me` for the link to `neighbour`, in the first epoch.
    pub fn new(secret: LinkSecret, me: RouterId, neighbour: RouterId) -> LinkKeys {
        let inbound = [0, 0].map(|epoch: u64| secret.key(epoch, neighbour, me));
        let outbound = secret.key(0, me, neighbour);
        LinkKeys { secret, me, neighbour, epoch: 0, inbound, outbound }
    }
    #[inline]
    fn bring_up_to(&mut self, now: Time) {
        if now >= Time::ZERO + EPOCH * (self.epoch + 1) {
            self.derive(now);
        }
    }
    #[cold]
    fn derive(&mut self, now: Time) {
        let LinkKeys { secret, me, neighbour, .. } = &*self;
        let epoch = now.as_nanos() / EPOCH.as_nanos();
        let inbound = [epoch, epoch - 1].map(|epoch| secret.key(epoch, *neighbour, *me));
        let outbound = secret.key(epoch, *me, *neighbour);
        (self.epoch, self.inbound, self.outbound) = (epoch, inbound, outbound);
    }
    /// True if `neighbour` has made the code of this option, which came with `packet`, in this
    /// epoch or the last.
    pub fn confirms(&mut self, now: Time, option: &Guarded<'_>, packet: &Packet) -> bool {
        self.bring_up_to(now);
        let age = (self.epoch as u8).wrapping_sub(option.data[SIGNED_BYTES - 1]);
        let Some(key) = self.inbound.get(usize::from(age)) else { return false };
        option.data[SIGNED_BYTES..DIGEST_AT] == code(key, option.carrier, option.data, packet)
    }
    /// Write epoch and code into this option, which leaves with `packet`.
    pub fn sign(&mut self, now: Time, option: GuardedMut<'_>, packet: &Packet) {
        self.bring_up_to(now);
        let GuardedMut { carrier, data } = option;
        data[SIGNED_BYTES - 1] = self.epoch as u8;
        let code = code(&self.outbound, carrier, data, packet);
        data[SIGNED_BYTES..DIGEST_AT].copy_from_slice(&code);
    }
}

/// What carries a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// An ACK: the back-pressure option.
    Ack,
    /// Data: a notice.
    Data,
}

/// An option with a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guarded<'a> {
    carrier: Carrier,
    data: &'a [u8],
}

/// The same, to sign.
#[derive(Debug, PartialEq, Eq)]
pub struct GuardedMut<'a> {
    carrier: Carrier,
    data: &'a mut [u8],
}

/// The option with a code, if there is one.
#[inline]
pub fn guarded(options: &OptionList) -> Option<Guarded<'_>> {
    let (carrier, from, to) = place(options)?;
    Some(Guarded { carrier, data: &options.as_bytes()[from..to] })
}

/// The same, to sign.
#[inline]
pub fn guarded_mut(options: &mut OptionList) -> Option<GuardedMut<'_>> {
    let (carrier, from, to) = place(options)?;
    Some(GuardedMut { carrier, data: &mut options.as_bytes_mut()[from..to] })
}

/// What it is, and where its data begin and end.
#[inline]
fn place(options: &OptionList) -> Option<(Carrier, usize, usize)> {
    // Most lists begin with it, or with an echo.
    match *options.as_bytes() {
        [kind::EXPERIMENT, 8, _, _, _, _, _, _] | [] => return None,
        [kind::EXPERIMENT, 17, 0xF0, 0xB1, ..] if options.len() >= 17 => {
            return Some((Carrier::Ack, 4, 17));
        }
        _ => {}
    }
    search(options)
}

#[inline(never)]
fn search(options: &OptionList) -> Option<(Carrier, usize, usize)> {
    let carriers = [(BACK_PRESSURE_EX_ID, Carrier::Ack), (NOTICE_EX_ID, Carrier::Data)];
    carriers.into_iter().find_map(|(ex_id, carrier)| {
        let data = options.find_experiment(ex_id)?;
        let from = data.as_ptr().addr() - options.as_bytes().as_ptr().addr();
        is_guarded(data).then_some((carrier, from, from + data.len()))
    })
}

/// True if an option with this data has a code.
#[inline]
pub(super) fn is_guarded(data: &[u8]) -> bool {
    data.len() == usize::from(GUARDED_BYTES) - 4 || data.len() == usize::from(GUARDED_SYN_BYTES) - 4
}

/// The digest in the data of an option, if that has a code and a digest.
pub(super) fn digest_of(data: &[u8]) -> Option<[u8; 4]> {
    data.get(DIGEST_AT..)?.try_into().ok()
}

/// Overwrite that digest. False, and nothing changes, if there is none.
pub(super) fn set_digest(options: &mut OptionList, digest: [u8; 4]) -> bool {
    let Some(GuardedMut { data, .. }) = guarded_mut(options) else { return false };
    data.get_mut(DIGEST_AT..).filter(|place| place.len() == 4).is_some_and(|place| {
        place.copy_from_slice(&digest);
        true
    })
}

/// The option that carries a signal is void from here on. False if there is none.
pub fn make_void(options: &mut OptionList) -> bool {
    let found = [BACK_PRESSURE_EX_ID, NOTICE_EX_ID].into_iter().find_map(|ex_id| {
        let data = options.find_experiment(ex_id)?;
        Some(data.as_ptr().addr() - options.as_bytes().as_ptr().addr())
    });
    if let Some(at) = found {
        options.as_bytes_mut()[at - 2..at].copy_from_slice(&VOID_EX_ID.to_be_bytes());
    }
    found.is_some()
}

/// SipHash-2-4 of what is protected: its first 48 bits. The key is that of the epoch. Without a
/// digest it is 23 bytes, the most that SipHash takes in with three words.
#[inline]
fn code(key: &SipHasher24, carrier: Carrier, data: &[u8], packet: &Packet) -> [u8; CODE_BYTES] {
    let (ports, fields) = (packet.ports().unwrap_or_default(), packet.tcp_fields());
    let number = fields.map_or(0, |tcp| match carrier {
        Carrier::Ack => tcp.ack,
        Carrier::Data => tcp.seq,
    });
    let addresses = u64::from(packet.src().0) << 32 | u64::from(packet.dst().0);
    let ports = u64::from(ports.0) << 48 | u64::from(ports.1) << 32;
    let mut message = [0; 27];
    message[..8].copy_from_slice(&addresses.to_be_bytes());
    message[8..16].copy_from_slice(&(ports | u64::from(number)).to_be_bytes());
    message[16..22].copy_from_slice(&data[..SIGNED_BYTES - 1]);
    message[22] = carrier as u8;
    let hash = match digest_of(data) {
        None => key.hash(&message[..23]),
        Some(digest) => {
            message[23..].copy_from_slice(&digest);
            key.hash(&message)
        }
    };
    let [code @ .., _, _] = hash.to_be_bytes();
    code
}

#[cfg(test)]
mod tests;
