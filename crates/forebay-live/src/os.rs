//! The system calls that have no safe form: the only `unsafe` code of the workspace.
//!
//! `packet(7)` and Documentation/networking/packet_mmap.rst of Linux describe packet sockets and
//! their rings.
#![allow(unsafe_code)]

use libc::{c_int, c_uint, sockaddr_ll, socklen_t};
use nix::errno::Errno;
use nix::unistd::{ForkResult, Pid};
use std::mem::{self, size_of, size_of_val};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// `SIOCETHTOOL` of `linux/sockios.h`.
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// Packets in one call of `sendmmsg`.
pub const BATCH: usize = 64;

/// Bytes of `TCP_INFO` that are asked for: up to `tcpi_total_rto_time`.
pub const TCP_INFO_BYTES: usize = 248;

/// An Ethernet address.
pub type Mac = [u8; 6];

/// Where an IPv4 or IPv6 packet leaves: an interface, and the address of the next hop there.
pub struct NextHop {
    v4: sockaddr_ll,
    v6: sockaddr_ll,
}

impl NextHop {
    /// Over the interface with this index to `to`.
    pub fn new(interface: u32, to: Mac) -> NextHop {
        let [v4, v6] = [libc::ETH_P_IP, libc::ETH_P_IPV6].map(|p| link_address(interface, p, to));
        NextHop { v4, v6 }
    }
}

fn link_address(interface: u32, ethertype: c_int, mac: Mac) -> sockaddr_ll {
    let mut sll_addr = [0; 8];
    sll_addr[..6].copy_from_slice(&mac);
    sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (ethertype as u16).to_be(),
        sll_ifindex: interface as c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 6,
        sll_addr,
    }
}

/// Bind a packet socket to an interface, for packets of all ethertypes.
pub fn bind_packet_socket(socket: &impl AsFd, interface: u32) -> nix::Result<()> {
    let address = link_address(interface, libc::ETH_P_ALL, [0; 6]);
    let len = size_of_val(&address) as socklen_t;
    // SAFETY: the pointer and the length are those of a live `sockaddr_ll`.
    let result = unsafe { libc::bind(raw(socket), ptr::from_ref(&address).cast(), len) };
    Errno::result(result).map(drop)
}

/// Set an option of level `SOL_PACKET` that takes a number.
pub fn set_packet_option(socket: &impl AsFd, option: c_int, value: c_int) -> nix::Result<()> {
    set_option(socket, option, &value)
}

/// `T` is the type that the kernel documents for `option`.
fn set_option<T: Copy>(socket: &impl AsFd, option: c_int, value: &T) -> nix::Result<()> {
    let (value, len) = (ptr::from_ref(value).cast(), size_of::<T>() as socklen_t);
    // SAFETY: the pointer and the length are those of a live value, which the kernel only reads.
    let result = unsafe { libc::setsockopt(raw(socket), libc::SOL_PACKET, option, value, len) };
    Errno::result(result).map(drop)
}

/// Packets that a full ring has dropped since the last call.
pub fn take_ring_drops(socket: &impl AsFd) -> nix::Result<u64> {
    // SAFETY: an all-zero `tpacket_stats` is valid: two numbers.
    let mut stats: libc::tpacket_stats = unsafe { mem::zeroed() };
    get_option(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut stats)?;
    Ok(u64::from(stats.tp_drops))
}

/// `TCP_INFO` of a TCP socket, as the kernel lays it out; fields that it does not have are 0.
pub fn tcp_info(socket: &impl AsFd) -> nix::Result<[u8; TCP_INFO_BYTES]> {
    let mut info = [0; TCP_INFO_BYTES];
    get_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info).map(|()| info)
}

/// `T` is the type that the kernel documents for `option`: numbers.
fn get_option<T: Copy>(
    socket: &impl AsFd,
    level: c_int,
    option: c_int,
    value: &mut T,
) -> nix::Result<()> {
    let (place, mut len) = (ptr::from_mut(value).cast(), size_of::<T>() as socklen_t);
    // SAFETY: the kernel writes at most `len` bytes to a live value, which has as many.
    let result = unsafe { libc::getsockopt(raw(socket), level, option, place, &mut len) };
    Errno::result(result).map(drop)
}

/// Send up to [`BATCH`] IP packets in one call, each as one frame. Returns the number of packets
/// that the kernel took; an error is that of the first packet.
pub fn send_packets<'a>(
    socket: &impl AsFd,
    to: &NextHop,
    packets: impl Iterator<Item = &'a [u8]>,
) -> nix::Result<usize> {
    // SAFETY: all-zero values of these C structs are valid: numbers and null pointers.
    let mut parts: [libc::iovec; BATCH] = unsafe { mem::zeroed() };
    // SAFETY: as above.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
    let mut count = 0;
    for (packet, (part, message)) in packets.zip(parts.iter_mut().zip(&mut messages)) {
        let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
        let name = ptr::from_ref(if is_v6 { &to.v6 } else { &to.v4 });
        part.iov_base = packet.as_ptr().cast_mut().cast();
        part.iov_len = packet.len();
        message.msg_hdr.msg_name = name.cast_mut().cast();
        message.msg_hdr.msg_namelen = size_of::<sockaddr_ll>() as socklen_t;
        message.msg_hdr.msg_iov = part;
        message.msg_hdr.msg_iovlen = 1;
        count += 1;
    }
    let vector = messages.as_mut_ptr();
    // SAFETY: the first `count` messages point to names, vectors and packets that outlive the
    // call, which only reads through those pointers.
    let sent = unsafe { libc::sendmmsg(raw(socket), vector, count as c_uint, 0) };
    Errno::result(sent).map(|sent| sent as usize)
}

/// A receive ring (`PACKET_RX_RING`, version 2) of a packet socket of type `SOCK_DGRAM`.
///
/// Frames have a fixed size. Each belongs either to the kernel or to this process, by the status
/// word at its start; both sides go through the frames in the same order.
pub struct Ring {
    start: NonNull<u8>,
    frame_bytes: usize,
    frames: usize,
    /// The oldest frame that has not been given back.
    next: usize,
}

// SAFETY: the mapping belongs to this value alone, and no thread has an affinity to it.
unsafe impl Send for Ring {}

/// A packet in a ring.
pub struct Frame<'a> {
    /// `TP_STATUS_*`.
    pub status: u32,
    /// Length of the packet on the wire, from the network header on.
    pub len: usize,
    /// `CLOCK_REALTIME` at arrival, nanoseconds since 1970.
    pub real_ns: u64,
    /// The ethertype.
    pub ethertype: u16,
    /// The packet from the network header on; shorter than `len` if the frame was too small.
    pub bytes: &'a mut [u8],
}

impl Ring {
    /// A ring of `frames` frames of `frame_bytes`, both powers of two; a frame is at least 128
    /// bytes and a ring at least a page. The socket must not be bound yet.
    pub fn map(socket: &impl AsFd, frame_bytes: usize, frames: usize) -> nix::Result<Ring> {
        assert!(frame_bytes.is_power_of_two() && frame_bytes >= 128 && frames.is_power_of_two());
        set_packet_option(
            socket,
            libc::PACKET_VERSION,
            libc::tpacket_versions::TPACKET_V2 as c_int,
        )?;
        let bytes = frame_bytes * frames;
        // Larger blocks than this are hard to get on a machine with fragmented memory.
        let block_bytes = frame_bytes.max(1 << 16).min(bytes);
        let request = libc::tpacket_req {
            tp_block_size: block_bytes as c_uint,
            tp_block_nr: (bytes / block_bytes) as c_uint,
            tp_frame_size: frame_bytes as c_uint,
            tp_frame_nr: frames as c_uint,
        };
        set_option(socket, libc::PACKET_RX_RING, &request)?;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at a place that the kernel chooses overlaps nothing.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, raw(socket), 0) };
        if start == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let start = NonNull::new(start.cast()).expect("no mapping lies at 0");
        Ok(Ring { start, frame_bytes, frames, next: 0 })
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.frames
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: `next` is below the number of frames; each begins with an aligned status word,
        // which both sides access as one.
        unsafe { AtomicU32::from_ptr(self.start.add(self.next * self.frame_bytes).as_ptr().cast()) }
    }

    /// The oldest packet in the ring, until [`Ring::release`]; None if it is empty.
    pub fn frame(&mut self) -> Option<Frame<'_>> {
        let status = self.status().load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: as in `status`. The frame belongs to this process now.
        let frame = unsafe { self.start.add(self.next * self.frame_bytes) };
        // SAFETY: a frame begins with this header, aligned to 16 bytes.
        let header = unsafe { frame.cast::<libc::tpacket2_hdr>().read() };
        let address_at = size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);
        // SAFETY: the address of the sender follows the header, within 128 bytes.
        let address = unsafe { frame.add(address_at).cast::<sockaddr_ll>().read() };
        let start = usize::from(header.tp_net).min(self.frame_bytes);
        let len = (header.tp_snaplen as usize).min(self.frame_bytes - start);
        // SAFETY: `start + len` is within the frame, which nobody else writes until `release`;
        // that takes `self`, which the slice borrows.
        let bytes = unsafe { std::slice::from_raw_parts_mut(frame.add(start).as_ptr(), len) };
        Some(Frame {
            status,
            len: header.tp_len as usize,
            real_ns: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
            ethertype: u16::from_be(address.sll_protocol),
            bytes,
        })
    }

    /// Give the oldest packet, which [`Ring::frame`] has returned, back to the kernel.
    pub fn release(&mut self) {
        let status = self.status();
        debug_assert!(status.load(Ordering::Relaxed) & libc::TP_STATUS_USER != 0);
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) & (self.frames - 1);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this mapping was made by `map`, and no frame is borrowed any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.frame_bytes * self.frames) };
    }
}

/// Switch an offload of an interface by an `ETHTOOL_S*` command of `linux/ethtool.h` that takes a
/// switch. `socket` is any socket of its namespace.
pub fn switch_offload(
    socket: &impl AsFd,
    interface: &str,
    command: u32,
    on: bool,
) -> nix::Result<()> {
    // `struct ethtool_value`: command, value.
    let mut value: [u32; 2] = [command, u32::from(on)];
    // SAFETY: an all-zero `ifreq` is valid: a name and a union of numbers and pointers.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    assert!(interface.len() < libc::IFNAMSIZ, "names of interfaces have at most 15 bytes");
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = ptr::from_mut(&mut value).cast();
    // SAFETY: SIOCETHTOOL takes an `ifreq` whose data is, for these commands, an `ethtool_value`;
    // both outlive the call.
    Errno::result(unsafe { libc::ioctl(raw(socket), SIOCETHTOOL, &mut request) }).map(drop)
}

/// Fork: None in the child. The process must have one thread.
pub fn fork() -> nix::Result<Option<Pid>> {
    // SAFETY: with one thread, no lock is held by a thread that the child lacks.
    Ok(match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => Some(child),
        ForkResult::Child => None,
    })
}

/// Schedule the calling thread before all ordinary ones (`SCHED_FIFO`, priority 1 to 99).
pub fn schedule_fifo(priority: i32) -> nix::Result<()> {
    // SAFETY: an all-zero `sched_param` is valid: numbers.
    let mut parameters: libc::sched_param = unsafe { mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the kernel reads a live `sched_param`.
    Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) }).map(drop)
}

/// Give up all capabilities of the calling thread.
pub fn drop_capabilities() -> nix::Result<()> {
    // `_LINUX_CAPABILITY_VERSION_3`, for the calling thread; two sets of three masks.
    let header: [u32; 2] = [0x2008_0522, 0];
    let none = [0u32; 6];
    // SAFETY: the kernel reads a header and, for this version, two `__user_cap_data_struct`.
    let result = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    Errno::result(result).map(drop)
}

fn raw(file: &impl AsFd) -> c_int {
    file.as_fd().as_raw_fd()
}
