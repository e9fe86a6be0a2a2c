//! How the paths of a stream come together (RFC 8684 sections 3.1 and 3.2).
//!
//! One path exchanges keys (MP_CAPABLE): the first, or the next one where that has not answered two
//! SYNs. Once the peer has shown that it has both, the client opens the others, each with the token
//! of the server and a proof of both keys (MP_JOIN). A path
//! that joins carries the client's data when the peer has acknowledged that proof, which is
//! repeated until then.
//!
//! Both ends know all addresses from the start, so none is announced (ADD_ADDR).

use super::Role;
use crate::mptcp::{self, Opening};
use crate::path::State;
use alloc::vec::Vec;
use forebay_base::{OptionList, Span, TcpFlags, Time, kind};

/// SYNs with keys that go unanswered on a path before the next one is tried as well.
const MAX_SILENT: u8 = 2;
/// How often an ACK that ends a handshake is repeated before its path is given up.
const MAX_REPEATS: u8 = 6;

#[derive(Debug)]
pub(super) struct Subflows {
    role: Role,
    key: u64,
    peer_key: Option<u64>,
    /// The path on which keys were exchanged.
    first: Option<usize>,
    /// An option of the peer has come on an established path.
    heard: bool,
    each: Vec<Subflow>,
}

#[derive(Debug)]
struct Subflow {
    nonce: u32,
    peer_nonce: u32,
    /// What its SYN, SYN-ACK or ACK carries, until the peer is known to have it.
    opening: Option<OptionList>,
    /// It may carry data.
    open: bool,
    /// When the ACK that ends its handshake is repeated; [`Time::MAX`]: it is not waited for.
    repeat_at: Time,
    repeats: u8,
    /// Timeouts of its SYN.
    silent: u8,
}

/// What to do with a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The path takes it.
    Take,
    /// The same, and answers it at once.
    Answer,
    /// The same, and the other paths may be opened.
    OpenOthers,
    /// Nothing: what it needs has not come yet.
    Ignore,
    /// It is not for this connection: reset its path.
    Refuse,
    /// The peer, or something on the way, does not let MPTCP through: go on without.
    FallBack,
}

/// What of a segment matters here.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub path: usize,
    /// Of the path, before the segment.
    pub state: State,
    pub flags: TcpFlags,
    /// It has no payload.
    pub is_empty: bool,
    pub options: Option<&'a OptionList>,
}

impl Subflows {
    /// One path for each of `nonces`.
    pub(super) fn new(role: Role, key: u64, nonces: impl Iterator<Item = u32>) -> Subflows {
        let subflow = |nonce| Subflow {
            nonce,
            peer_nonce: 0,
            opening: None,
            open: false,
            repeat_at: Time::MAX,
            repeats: 0,
            silent: 0,
        };
        let mut each: Vec<Subflow> = nonces.map(subflow).collect();
        if role == Role::Client {
            each[0].opening = Some(Opening::Capable { keys: [None, None] }.write());
        }
        Subflows { role, key, peer_key: None, first: None, heard: false, each }
    }
    /// What the SYN, SYN-ACK or ACK of a path carries.
    pub(super) fn opening(&self, path: usize) -> Option<&OptionList> {
        self.each[path].opening.as_ref()
    }
    /// The path may carry data.
    pub(super) fn is_open(&self, path: usize) -> bool {
        self.each[path].open
    }
    /// The numbers of the first byte of this end and of the peer.
    pub(super) fn first_numbers(&self) -> [u32; 2] {
        [mptcp::first_number(self.key), self.peer_key.map_or(0, mptcp::first_number)]
    }

    /// The client is about to open the paths that join.
    pub(super) fn join(&mut self) {
        let Some(peer_key) = self.peer_key else { return };
        let others =
            self.each.iter_mut().enumerate().filter(|&(index, _)| Some(index) != self.first);
        for (index, subflow) in others {
            let (token, nonce) = (mptcp::token(peer_key), subflow.nonce);
            let join = Opening::Join { address: index as u8, token, nonce };
            subflow.opening = Some(join.write());
        }
    }

    /// Client: the SYN of `path` timed out. The path that is to be opened now.
    pub(super) fn on_silence(&mut self, path: usize) -> Option<usize> {
        self.each[path].silent = self.each[path].silent.saturating_add(1);
        if self.first.is_some() || self.each[path].silent != MAX_SILENT {
            return None;
        }
        let next = self.each.iter().position(|subflow| subflow.opening.is_none())?;
        self.each[next].opening = Some(Opening::Capable { keys: [None, None] }.write());
        Some(next)
    }

    /// What the peer of path `path` proves itself with, or this end.
    fn proof(&self, path: usize, of_peer: bool) -> Option<[u8; 32]> {
        let Subflow { nonce, peer_nonce, .. } = self.each[path];
        let (mut keys, mut nonces) = ([self.key, self.peer_key?], [nonce, peer_nonce]);
        if of_peer {
            keys.reverse();
            nonces.reverse();
        }
        Some(mptcp::authentication(keys, nonces))
    }

    /// A segment came, and its path has not looked at it.
    pub(super) fn on_segment(&mut self, seen: Seen<'_>) -> Verdict {
        let (syn, ack) = (seen.flags.has(TcpFlags::SYN), seen.flags.has(TcpFlags::ACK));
        if seen.flags.has(TcpFlags::RST) {
            return Verdict::Take;
        }
        match (seen.state, self.role) {
            (State::Listen, _) if syn && !ack => self.on_syn(seen),
            (State::SynSent, _) if syn && ack => self.on_syn_ack(seen),
            // It asked for keys before, which others have exchanged meanwhile, or asks again.
            (State::SynReceived, Role::Server) if syn && !ack && self.joins(seen) => {
                self.on_syn(seen)
            }
            (State::SynReceived, _) if !syn && ack => self.on_last_ack(seen),
            (State::Established, _) if !syn => match self.on_unsignalled(&seen) {
                Verdict::Take if self.role == Role::Client => self.on_answer(seen.path),
                Verdict::Take => self.on_repeated_ack(seen),
                other => other,
            },
            _ => Verdict::Take,
        }
    }

    /// A segment on an established path that says nothing of the stream: something on the way takes
    /// its option away (section 3.7). Data that no signal maps, or an answer to the first data that
    /// acknowledges none of the stream, end MPTCP if no other path has joined; else data end their
    /// path.
    fn on_unsignalled(&mut self, seen: &Seen<'_>) -> Verdict {
        if seen.options.is_some_and(|options| options.find(kind::MPTCP).is_some()) {
            self.heard = true;
            return Verdict::Take;
        }
        let alone = seen.path == 0 && self.each[1..].iter().all(|subflow| !subflow.open);
        let answers = self.role == Role::Client && !self.heard;
        if alone && (!seen.is_empty || answers) {
            Verdict::FallBack
        } else if seen.is_empty {
            Verdict::Take
        } else {
            Verdict::Refuse
        }
    }

    fn joins(&self, seen: Seen<'_>) -> bool {
        self.first.is_some() && matches!(Opening::read(seen.options), Some(Opening::Join { .. }))
    }
    /// Server: the peer opens a path.
    fn on_syn(&mut self, seen: Seen<'_>) -> Verdict {
        let address = seen.path as u8;
        let opening = match Opening::read(seen.options) {
            Some(Opening::Capable { .. }) if self.first.is_none() => {
                Opening::Capable { keys: [Some(self.key), None] }
            }
            _ if seen.path == 0 && self.first.is_none() => return Verdict::FallBack,
            Some(Opening::Join { token, nonce, .. }) if token == mptcp::token(self.key) => {
                self.each[seen.path].peer_nonce = nonce;
                let Some(proof) = self.proof(seen.path, false) else { return Verdict::Refuse };
                let proof = *proof.first_chunk().expect("32 bytes");
                Opening::JoinReply { address, proof, nonce: self.each[seen.path].nonce }
            }
            _ => return Verdict::Refuse,
        };
        self.each[seen.path].opening = Some(opening.write());
        Verdict::Take
    }

    /// Client: the answer to the SYN of a path.
    fn on_syn_ack(&mut self, seen: Seen<'_>) -> Verdict {
        let opening = match Opening::read(seen.options) {
            // What this answers went before the keys were exchanged: the SYN goes again, to join.
            Some(Opening::Capable { .. }) if self.first.is_some() => return Verdict::Ignore,
            Some(Opening::Capable { keys: [Some(peer_key), _] }) => {
                (self.peer_key, self.first) = (Some(peer_key), Some(seen.path));
                self.each[seen.path].open = true;
                Opening::Capable { keys: [Some(self.key), Some(peer_key)] }
            }
            _ if seen.path == 0 && self.first.is_none() => return Verdict::FallBack,
            Some(Opening::JoinReply { proof, nonce, .. }) => {
                self.each[seen.path].peer_nonce = nonce;
                let proven = self.proof(seen.path, true);
                if proven.is_none_or(|proven| proven[..8] != proof) {
                    return Verdict::Refuse;
                }
                let own = self.proof(seen.path, false).expect("there was one of the peer");
                Opening::JoinAck { proof: *own.first_chunk().expect("32 bytes") }
            }
            _ => return Verdict::Refuse,
        };
        self.each[seen.path].opening = Some(opening.write());
        Verdict::Take
    }

    /// Server: the ACK that ends the handshake of a path, or a segment that overtook it.
    fn on_last_ack(&mut self, seen: Seen<'_>) -> Verdict {
        let (proven, verdict) = match Opening::read(seen.options) {
            Some(Opening::Capable { keys: [Some(peer_key), Some(key)] })
                if self.first.is_none() =>
            {
                (self.peer_key, self.first) = (Some(peer_key), Some(seen.path));
                (key == self.key, Verdict::Take)
            }
            Some(Opening::JoinAck { proof }) => {
                let proven = self.proof(seen.path, true);
                (proven.is_some_and(|proven| proven[..20] == proof), Verdict::Answer)
            }
            _ if mptcp::Signal::read(seen.options, 0).is_some() => return Verdict::Ignore,
            _ if seen.path == 0 && self.first.is_none() => return Verdict::FallBack,
            _ => return Verdict::Ignore,
        };
        if !proven {
            return Verdict::Refuse;
        }
        self.each[seen.path].opening = None;
        self.each[seen.path].open = true;
        verdict
    }

    /// Client: the peer has sent something on an established path: it has what the ACK carried.
    fn on_answer(&mut self, path: usize) -> Verdict {
        let subflow = &mut self.each[path];
        (subflow.open, subflow.repeat_at) = (true, Time::MAX);
        match subflow.opening.take() {
            Some(_) if self.first == Some(path) => Verdict::OpenOthers,
            _ => Verdict::Take,
        }
    }

    /// Server: the client may not know yet that its proof or its keys have come.
    fn on_repeated_ack(&self, seen: Seen<'_>) -> Verdict {
        match Opening::read(seen.options) {
            Some(Opening::JoinAck { .. } | Opening::Capable { .. }) if seen.is_empty => {
                Verdict::Answer
            }
            _ => Verdict::Take,
        }
    }

    /// Client: the handshake of a path is over at this end. Its last ACK is repeated after `rto`.
    pub(super) fn on_established(&mut self, path: usize, now: Time, rto: Span) {
        let subflow = &mut self.each[path];
        if self.role == Role::Client && self.first != Some(path) && subflow.opening.is_some() {
            subflow.repeat_at = now + rto;
        }
    }
    /// When an ACK is to be repeated; [`Time::MAX`]: none is.
    pub(super) fn deadline(&self) -> Time {
        self.each.iter().map(|subflow| subflow.repeat_at).min().unwrap_or(Time::MAX)
    }
    /// The next path whose ACK is to be repeated, and whether that was one time too many.
    pub(super) fn take_repeat(&mut self, now: Time, rto: Span) -> Option<(usize, bool)> {
        let due = |subflow: &Subflow| subflow.repeat_at <= now;
        let path = self.each.iter().position(due)?;
        let subflow = &mut self.each[path];
        subflow.repeats += 1;
        let lost = subflow.repeats > MAX_REPEATS;
        let wait = rto * (1 << subflow.repeats);
        subflow.repeat_at = if lost { Time::MAX } else { now + wait };
        Some((path, lost))
    }
}
