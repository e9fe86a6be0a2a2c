//! An interface: a packet socket with a receive ring.

use super::checksum::complete;
use super::{Backlog, Count, Counters, Packets, Wire, ip_len};
use crate::clock::{Clock, Stamps};
use crate::lab::interface_flags;
use crate::os::{self, BATCH, Frame, Mac, NextHop, Ring};
use forebay_base::{Span, Time};
use nix::errno::Errno;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, getsockopt, socket, sockopt::SocketError,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Why an interface cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum PacketWireError {
    /// There is none of this name in the namespace.
    #[error("there is no interface `{0}` here: see `ip link`")]
    NoInterface(String),
    /// Packet sockets are refused.
    #[error("no packet socket ({errno}): {}", socket_hint(*.errno))]
    NoSocket {
        /// What the kernel answered.
        errno: Errno,
    },
    /// The ring was refused.
    #[error("no receive ring of {kib} KiB for `{interface}` ({errno}): too little memory?")]
    NoRing {
        /// The interface.
        interface: String,
        /// Size of the ring.
        kib: usize,
        /// What the kernel answered.
        errno: Errno,
    },
    /// The socket cannot be bound.
    #[error("a packet socket cannot be bound to `{interface}` ({errno})")]
    NotBound {
        /// The interface.
        interface: String,
        /// What the kernel answered.
        errno: Errno,
    },
}

/// What to do where there is no packet socket.
fn socket_hint(errno: Errno) -> &'static str {
    match errno {
        Errno::EPERM | Errno::EACCES => {
            "needs CAP_NET_RAW, which a container may keep from root: run as root, or allow user \
             namespaces"
        }
        Errno::EMFILE => "too many nodes for the limit of open files: raise it by `ulimit -n`",
        Errno::EAFNOSUPPORT => "this kernel has none: it needs CONFIG_PACKET",
        _ => "an unexpected answer of the kernel",
    }
}

/// Bytes of a frame before the packet: header, address, alignment.
const FRAME_OVERHEAD_BYTES: usize = 128;

/// An interface of the namespace in which it was opened. It may go and come back.
pub struct PacketWire {
    interface: String,
    far: Mac,
    mtu_bytes: usize,
    socket: OwnedFd,
    ring: Ring,
    stamps: Stamps,
    index: u32,
    next_hop: NextHop,
    carrier: bool,
    counters: Counters,
}

impl PacketWire {
    /// Open `interface` for IP packets of at most `mtu_bytes`, sent to the Ethernet address `far`.
    /// The ring holds `frames` packets, a power of two. Times count from now, or from
    /// [`PacketWire::begin`].
    pub fn open(
        interface: &str,
        far: Mac,
        mtu_bytes: usize,
        frames: usize,
    ) -> Result<PacketWire, PacketWireError> {
        let index = if_nametoindex(interface)
            .map_err(|_| PacketWireError::NoInterface(interface.to_string()))?;
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Packet, SockType::Datagram, flags, None)
            .map_err(|errno| PacketWireError::NoSocket { errno })?;
        let frame_bytes = (mtu_bytes + FRAME_OVERHEAD_BYTES).next_power_of_two();
        let ring = Ring::map(&socket, frame_bytes, frames).map_err(|errno| {
            let (interface, kib) = (interface.to_string(), frame_bytes * frames / 1024);
            PacketWireError::NoRing { interface, kib, errno }
        })?;
        // What this side sends is not for its own ring, and is queued by its own machines.
        let options = [libc::PACKET_IGNORE_OUTGOING, libc::PACKET_QDISC_BYPASS];
        options
            .into_iter()
            .try_for_each(|option| os::set_packet_option(&socket, option, 1))
            .and_then(|()| os::bind_packet_socket(&socket, index))
            .map_err(|errno| PacketWireError::NotBound {
                interface: interface.to_string(),
                errno,
            })?;
        let mut wire = PacketWire {
            interface: interface.to_string(),
            far,
            mtu_bytes,
            socket,
            ring,
            stamps: Stamps::new(Clock::starting_in(Span::ZERO)),
            index,
            next_hop: NextHop::new(index, far),
            carrier: true,
            counters: Counters::default(),
        };
        wire.refresh();
        Ok(wire)
    }
    /// A run begins: times are those of its clock, and what came before is forgotten.
    pub fn begin(&mut self, clock: Clock) {
        while self.receive(self.ring.frames(), |_, _| {}) != Backlog::Empty {}
        self.counters();
        self.counters = Counters::default();
        self.stamps = Stamps::new(clock);
    }
    /// The name of the interface.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// An error while packets were sent: the first of those from `first` on is lost. Returns the
    /// number of packets that are.
    fn not_sent(&mut self, errno: Errno, left: usize) -> usize {
        let (count, lost) = match errno {
            Errno::EINTR => return 0,
            Errno::EMSGSIZE => (Count::TooBig, 1),
            Errno::ENOBUFS | Errno::EAGAIN => (Count::NoBuffer, 1),
            Errno::ENETDOWN | Errno::ENXIO | Errno::ENODEV => {
                self.set_carrier(false);
                (Count::InterfaceDown, left)
            }
            _ => (Count::SendFailed, 1),
        };
        self.counters[count] += lost as u64;
        lost
    }
    fn set_carrier(&mut self, carrier: bool) {
        self.counters[Count::CarrierLost] += u64::from(self.carrier && !carrier);
        self.carrier = carrier;
    }
}

/// The packet in a frame, whole and with its checksum; else what is wrong with it.
fn packet_in<'a>(
    frame: Frame<'a>,
    mtu_bytes: usize,
    counters: &mut Counters,
) -> Result<&'a [u8], Count> {
    if frame.status & libc::TP_STATUS_VLAN_VALID != 0 {
        return Err(Count::Vlan);
    }
    let version = match i32::from(frame.ethertype) {
        libc::ETH_P_IP => 4,
        libc::ETH_P_IPV6 => 6,
        libc::ETH_P_8021Q | libc::ETH_P_8021AD => return Err(Count::Vlan),
        _ => return Err(Count::Ethertype),
    };
    let unfinished = frame.status & libc::TP_STATUS_CSUMNOTREADY != 0;
    if frame.len > mtu_bytes {
        // Segments that are to be cut apart have checksums that are to be completed.
        return Err(if unfinished { Count::SuperPacket } else { Count::Oversized });
    }
    let len = ip_len(frame.bytes).ok_or(Count::Truncated)?;
    let packet = &mut frame.bytes[..len];
    if packet.first().is_none_or(|first| first >> 4 != version) {
        return Err(Count::Ethertype);
    }
    if unfinished {
        if !complete(packet) {
            return Err(Count::ChecksumMissing);
        }
        counters[Count::ChecksumCompleted] += 1;
    }
    Ok(packet)
}

impl Wire for PacketWire {
    fn receive(&mut self, limit: usize, mut take: impl FnMut(Time, &[u8])) -> Backlog {
        self.stamps.begin();
        let mut last = Time::ZERO;
        for _ in 0..limit {
            let Some(frame) = self.ring.frame() else {
                self.stamps.emptied();
                return Backlog::Empty;
            };
            last = self.stamps.arrival(frame.real_ns);
            match packet_in(frame, self.mtu_bytes, &mut self.counters) {
                Ok(packet) => {
                    self.counters[Count::Received] += 1;
                    take(last, packet);
                }
                Err(count) => self.counters[count] += 1,
            }
            self.ring.release();
        }
        // The next packet has not been looked at; it came after this one.
        Backlog::Since(last)
    }

    fn send(&mut self, packets: &Packets) {
        let mut done = 0;
        while done < packets.len() {
            let batch = packets.from(done).take(BATCH);
            done += match os::send_packets(&self.socket, &self.next_hop, batch) {
                Ok(sent) => {
                    self.counters[Count::Sent] += sent as u64;
                    sent
                }
                Err(errno) => self.not_sent(errno, packets.len() - done),
            };
        }
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn carrier(&self) -> bool {
        self.carrier
    }

    /// An interface that was removed and made again is another one, with the same name.
    fn refresh(&mut self) {
        // Reading the error of the socket clears it; else `poll` would return at once, for ever.
        let _ = getsockopt(&self.socket, SocketError);
        if let Ok(index) = if_nametoindex(self.interface.as_str())
            && index != self.index
            && os::bind_packet_socket(&self.socket, index).is_ok()
        {
            self.index = index;
            self.next_hop = NextHop::new(index, self.far);
        }
        let flags = interface_flags(&self.interface).ok().flatten();
        let up = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
        self.set_carrier(flags.is_some_and(|flags| flags.contains(up)));
    }

    fn counters(&mut self) -> Counters {
        self.counters[Count::RingFull] += os::take_ring_drops(&self.socket).unwrap_or(0);
        self.counters[Count::ClockStepped] = self.stamps.steps();
        self.counters
    }
}
