//! The receiver half of INRPP.

use super::{Misbehaviour, Params};
use crate::feedback::{AckDemand, DatagramView, Feedback};
use alloc::boxed::Box;
use forebay_base::{MAX_OPTION_BYTES, OptionList, Time};
use forebay_signal::inrpp::guard::{GUARDED_BYTES, GUARDED_SYN_BYTES};
use forebay_signal::inrpp::{
    BACK_PRESSURE_BYTES, BackPressure, Echo, Notice, PATH_DIGEST_BYTES, PathDigest, Returned,
};

/// What the packets of the peer have shown.
#[derive(Clone, Copy, Debug)]
enum Peer {
    /// Nothing: it may speak plain TCP.
    Silent,
    /// Its SYN came, which brought this.
    Opening(PathDigest),
    /// It speaks INRPP. Its data have not come yet.
    Opened,
    /// Its data carry the echo.
    Echoes,
    /// The same, and not every packet needs an ACK: it sends as TCP does, or has many in flight
    /// beside a router without INRPP.
    Delays,
    /// Its data carry notices; what the last one says.
    Notices(BackPressure),
}

/// The receiver of one path: an empty back-pressure option on every ACK of a sender that speaks
/// INRPP, for routers to overwrite. Next to timestamps (10 bytes of 40) and this (10) an ACK has
/// room for two SACK blocks (18); a SYN-ACK holds 9 of its own, 8 of the digest of its path and
/// both of these: 37. A sender whose data carry notices has the last of them on each ACK instead:
/// as long, and 39 on a SYN-ACK with a notice in place of the digest. Room for a code makes it 17
/// bytes, beside which one SACK block fits, and 21 with the digest: 40 on a SYN-ACK. What is
/// returned has no code.
#[derive(Clone, Debug)]
pub struct InrppReceiver {
    peer: Peer,
    guarded: bool,
    /// None, if it behaves. On the heap: nearly all do.
    misbehaves: Option<Box<Misbehaviour>>,
}

impl InrppReceiver {
    /// A receiver that has seen no packet yet.
    pub fn new(params: &Params) -> InrppReceiver {
        let misbehaves = match params.misbehaves {
            Misbehaviour::None | Misbehaviour::GreedySender => None,
            of_receiver => Some(Box::new(of_receiver)),
        };
        InrppReceiver { peer: Peer::Silent, guarded: params.guarded, misbehaves }
    }
    /// What its ACKs say instead of what they should.
    fn forged(&self) -> Option<BackPressure> {
        match self.misbehaves.as_deref() {
            Some(Misbehaviour::ForgingReceiver(signal)) => Some(*signal),
            _ => None,
        }
    }
    /// A packet came that may change what is known.
    fn learn(&mut self, options: Option<&OptionList>) {
        if let Peer::Opening(_) = self.peer {
            self.peer = Peer::Opened;
        }
        let Some(options) = options else { return };
        if let Some(digest) = PathDigest::find(options) {
            // That of a SYN-ACK has back-pressure beside it; the data of a server carry the echo.
            let answers = BackPressure::find(options).is_some();
            self.peer = if answers { Peer::Echoes } else { Peer::Opening(digest) };
        } else if let Some(Notice(last)) = Notice::find(options) {
            // Pure ACKs carry none: the last word stands.
            self.peer = Peer::Notices(last);
        } else if Echo::find(options).is_some() {
            self.peer = Peer::Echoes;
        } else if Echo::is_delayed(options) {
            self.peer = Peer::Delays;
        }
    }
}

impl Feedback for InrppReceiver {
    fn wants_pieces(&self) -> bool {
        false
    }
    fn ack_parts(&self) -> u8 {
        match self.misbehaves.as_deref() {
            Some(Misbehaviour::SplitAcks(parts)) => *parts,
            _ => 1,
        }
    }
    fn demands_acks(&self) -> bool {
        true
    }
    fn widens_window(&self) -> bool {
        match self.peer {
            Peer::Silent => false,
            // Its SYN has passed no router that could allow it a long first flight.
            Peer::Opening(digest) => digest != PathDigest::default(),
            _ => true,
        }
    }
    fn on_datagram(&mut self, _now: Time, datagram: &DatagramView<'_>) -> AckDemand {
        let known = matches!(self.peer, Peer::Echoes);
        if !known || datagram.options.is_some_and(Echo::is_delayed) {
            self.learn(datagram.options);
        }
        // What sends as TCP does must not gain by its receiver.
        let each = !matches!(self.peer, Peer::Silent | Peer::Delays);
        if each && datagram.payload_bytes > 0 { AckDemand::Now } else { AckDemand::Policy }
    }

    /// A cache keeps a flow's packets in order, except retransmissions: no duplicate waits
    /// there until sequence numbers come round.
    fn wants_paws(&self) -> bool {
        matches!(self.peer, Peer::Silent)
    }

    fn fill(&mut self, _now: Time, options: &mut OptionList) {
        // Where other options leave no room the ACK goes without: the sender keeps to the last
        // word.
        let room = (MAX_OPTION_BYTES - options.len()) as u16;
        let forged = self.forged();
        let empty = forged.unwrap_or_default();
        let pushed = match (self.peer, self.guarded) {
            (Peer::Silent, _) => Ok(()),
            (Peer::Opening(digest), true) if room >= GUARDED_SYN_BYTES => {
                empty.push_guarded_on_syn(digest, options)
            }
            (Peer::Opening(digest), false) if room >= BACK_PRESSURE_BYTES + PATH_DIGEST_BYTES => {
                empty.push(options).and_then(|()| digest.push(options))
            }
            (Peer::Notices(last), _) if room >= BACK_PRESSURE_BYTES => {
                Returned(forged.unwrap_or(last)).push(options)
            }
            (Peer::Notices(_), _) => Ok(()),
            (_, true) if room >= GUARDED_BYTES => empty.push_guarded(options),
            (_, false) if room >= BACK_PRESSURE_BYTES => empty.push(options),
            _ => Ok(()),
        };
        pushed.expect("the room was computed");
    }
}
