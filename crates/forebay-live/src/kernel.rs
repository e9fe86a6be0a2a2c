//! Hosts whose TCP is the kernel's: the flows of a scenario there, a thread for each end.
//!
//! An end is a socket that sends or reads as fast as it can. What the kernel tells of it
//! (`TCP_INFO`, tcp(7)) is kept each 20 ms.

mod info;

use crate::clock::Clock;
use crate::isolate::seal;
use crate::lab::{Lab, LabError};
use crate::node::End;
use crate::plan::{KernelHost, LivePlan, ip_address};
use crate::scheduling::wait;
use forebay_base::{Endpoint, FlowId, NodeId, Span, Time};
use forebay_net::{FlowSpec, Network};
use forebay_sim::{EndCause, ForeignEnd, Role};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, connect, listen, setsockopt,
    socket, sockopt,
};
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Time between two samples; they are of its multiples.
const SAMPLE_INTERVAL: Span = Span::from_millis(20);
/// Bytes that are written or read at a time, and how often between two looks at the clock.
const CHUNK: usize = 1 << 16;
const CHUNKS_AT_ONCE: usize = 64;

/// Why there are no flows at a host of the kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The namespace of a host cannot be entered.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A flow that only Forebay's hosts have.
    #[error("flow {flow} is at a host of the kernel, and {why}")]
    Flow {
        /// Its number in results, from 1.
        flow: u32,
        /// What the kernel cannot do, or this crate with it.
        why: &'static str,
    },
    /// The kernel has no such congestion control, or does not allow it.
    #[error(
        "the kernel refuses congestion control `{name}` ({errno}): it has {}, and allows {}\n\
         hint: `sudo modprobe tcp_{name}`, or add it to \
         /proc/sys/net/ipv4/tcp_allowed_congestion_control",
        setting("available"),
        setting("allowed")
    )]
    Congestion {
        /// Its name.
        name: String,
        /// What the kernel answered.
        errno: Errno,
    },
    /// A socket cannot be made.
    #[error("{what} of node {} at {address}: {errno}", .node.0)]
    Socket {
        /// What was tried.
        what: &'static str,
        /// The host.
        node: NodeId,
        /// The address of its end.
        address: SocketAddr,
        /// What the kernel answered.
        errno: Errno,
    },
}

/// Names of congestion controls, as the kernel tells them.
fn setting(which: &str) -> String {
    let path = format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control");
    fs::read_to_string(&path).map_or_else(|_| "unknown ones".into(), |text| text.trim().into())
}

/// An end of a flow before the run.
pub(crate) struct KernelEnd {
    pub(crate) node: NodeId,
    seen: ForeignEnd,
    work: Work,
}

enum Work {
    Send { socket: OwnedFd, to: SocketAddr, start: Time, left: Outgoing },
    Receive(TcpListener),
}

/// The ends of all flows at hosts of the kernel, with their sockets.
pub(crate) fn open_ends(
    plan: &LivePlan<'_>,
    lab: &Lab,
    network: &Network,
) -> Result<Vec<KernelEnd>, KernelError> {
    let mut ends = Vec::new();
    for (id, flow) in (0..).map(FlowId).zip(&plan.spec.flows) {
        for (role, node) in [(Role::Client, flow.src), (Role::Server, flow.dst)] {
            let Some(KernelHost::Flows(congestion)) = plan.kernel_hosts.get(&node) else {
                continue;
            };
            let refused = |why| KernelError::Flow { flow: id.0 + 1, why };
            let is_followed = !network.workload.followers(id).is_empty();
            unsupported(flow, is_followed).map_or(Ok(()), |why| Err(refused(why)))?;
            let path = &network.workload.paths(id)[0];
            let mut sockets = [path.src.0, path.dst.0];
            if role == Role::Server {
                sockets.reverse();
            }
            if network.addresses[node.index()].first() != Some(&sockets[0].addr) {
                return Err(refused("its host has more flows than one address has ports"));
            }
            let [here, there] = sockets.map(|Endpoint { addr, port }| {
                SocketAddr::new(ip_address(network, plan.spec.version, addr), port)
            });
            let make = || open_socket(node, here, congestion, role);
            let socket = lab.inside(node.index(), make)??;
            let work = match role {
                Role::Server => Work::Receive(TcpListener::from(socket)),
                Role::Client => {
                    let left = Outgoing { bytes: flow.bytes, stop: flow.stop() };
                    Work::Send { socket, to: there, start: flow.start, left }
                }
            };
            let seen = ForeignEnd::new(id, role, format!("kernel {congestion}"));
            ends.push(KernelEnd { node, seen, work });
        }
    }
    Ok(ends)
}

/// What of a flow a host of the kernel cannot do.
fn unsupported(flow: &FlowSpec, is_followed: bool) -> Option<&'static str> {
    if flow.paths.len() > 1 {
        Some("has several paths")
    } else if flow.write().is_some() {
        Some("its application writes at a rate: there, flows write all that they have at once")
    } else if flow.after().is_some() || flow.is_spare() {
        Some("follows another flow: there, flows start at a time")
    } else if is_followed {
        Some("another flow follows it: there, nothing is known of its end")
    } else {
        None
    }
}

/// A socket at an address of the namespace that the thread is in; of a server, it listens.
fn open_socket(
    node: NodeId,
    address: SocketAddr,
    congestion: &str,
    role: Role,
) -> Result<OwnedFd, KernelError> {
    let failed = |what| move |errno| KernelError::Socket { what, node, address, errno };
    let family = if address.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let made = socket(family, SockType::Stream, flags, None).map_err(failed("a socket"))?;
    let refused = |errno| KernelError::Congestion { name: congestion.to_string(), errno };
    setsockopt(&made, sockopt::TcpCongestion, &OsString::from(congestion)).map_err(refused)?;
    bind(made.as_raw_fd(), &SockaddrStorage::from(address)).map_err(failed("the address"))?;
    if role == Role::Server {
        listen(&made, Backlog::MAXCONN).map_err(failed("the listener"))?;
    }
    Ok(made)
}

impl KernelEnd {
    /// Run in this thread until the end of the flow, or of the run. What the kernel told.
    pub(crate) fn run(self, clock: Clock, end: &End<'_>) -> ForeignEnd {
        // The socket is there: no rights are needed.
        let sealed = seal();
        debug_assert!(sealed.is_ok(), "{sealed:?}");
        let KernelEnd { seen, work, .. } = self;
        let (next, buffer) = (Time::ZERO + SAMPLE_INTERVAL, vec![0; CHUNK]);
        let mut watch = Watch { seen, clock, end, next, buffer };
        let cause = match work {
            Work::Send { socket, to, start, left } => watch.send(socket, to, start, left),
            Work::Receive(listener) => watch.receive(listener),
        };
        let now = clock.now();
        if let Some(cause) = cause {
            watch.seen.ended = Some((cause, now));
            end.closed(1, now);
        }
        watch.seen
    }
}

/// What is still to be written, and until when.
struct Outgoing {
    bytes: Option<u64>,
    stop: Option<Time>,
}

enum Phase {
    Connecting,
    Writing,
    Closing,
}

/// An end that runs.
struct Watch<'a> {
    seen: ForeignEnd,
    clock: Clock,
    end: &'a End<'a>,
    /// When the next sample is due.
    next: Time,
    /// For what is read.
    buffer: Vec<u8>,
}

impl Watch<'_> {
    /// Sleep until something is ready, the next sample, or `until`. None: the run is over.
    fn ready(&mut self, file: Option<(&impl AsFd, PollFlags)>, until: Time) -> Option<bool> {
        let now = self.clock.now();
        if now >= self.end.at() {
            return None;
        }
        // A run may end earlier than it is known now.
        let until = until.min(now + SAMPLE_INTERVAL);
        let mut file = file.map(|(file, events)| PollFd::new(file.as_fd(), events));
        Some(wait(self.clock, until, file.as_mut_slice()).unwrap_or(false))
    }
    /// Take the sample that is due, if one is.
    fn look(&mut self, stream: &TcpStream, received_bytes: u64) {
        let now = self.clock.now();
        if now >= self.next {
            let at = now.as_nanos() / SAMPLE_INTERVAL.as_nanos() * SAMPLE_INTERVAL.as_nanos();
            self.sample(stream, received_bytes, Time::from_nanos(at));
            self.next = Time::from_nanos(at) + SAMPLE_INTERVAL;
        }
    }
    fn sample(&mut self, stream: &TcpStream, received_bytes: u64, at: Time) {
        let Some(mut sample) = info::sample(stream, at) else { return };
        if self.seen.role == Role::Server {
            sample.stream_bytes = received_bytes;
        }
        self.seen.samples.push(sample);
    }

    /// Open, write, close. Why it ended, if it did.
    fn send(
        &mut self,
        socket: OwnedFd,
        to: SocketAddr,
        start: Time,
        mut left: Outgoing,
    ) -> Option<EndCause> {
        while self.clock.now() < start {
            self.ready(None::<(&OwnedFd, _)>, start)?;
        }
        self.seen.opened_at = Some(self.clock.now());
        match connect(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(errno) => return Some(cause(&errno.into())),
        }
        let (mut stream, mut phase) = (TcpStream::from(socket), Phase::Connecting);
        let ended = loop {
            self.look(&stream, 0);
            let events = match phase {
                Phase::Connecting | Phase::Writing => PollFlags::POLLOUT,
                Phase::Closing => PollFlags::POLLIN,
            };
            let until = self.next.min(left.stop.unwrap_or(Time::MAX).max(self.clock.now()));
            let Some(ready) = self.ready(Some((&stream, events)), until) else { break None };
            match self.advance(&mut stream, &mut phase, &mut left, ready) {
                Ok(true) => break Some(EndCause::Finished),
                Ok(false) => {}
                Err(error) => break Some(cause(&error)),
            }
        };
        self.sample(&stream, 0, self.clock.now());
        ended
    }
    /// One step of a sender. True once the other side has closed as well.
    fn advance(
        &mut self,
        stream: &mut TcpStream,
        phase: &mut Phase,
        left: &mut Outgoing,
        ready: bool,
    ) -> io::Result<bool> {
        let now = self.clock.now();
        match phase {
            Phase::Connecting if ready => {
                stream.take_error()?.map_or(Ok(()), Err)?;
                self.seen.established_at = Some(now);
                *phase = Phase::Writing;
            }
            Phase::Writing if left.bytes == Some(0) || left.stop.is_some_and(|at| at <= now) => {
                stream.shutdown(Shutdown::Write)?;
                *phase = Phase::Closing;
            }
            Phase::Writing if ready => write_some(stream, &mut left.bytes)?,
            Phase::Closing if ready => return Ok(read_some(stream, &mut self.buffer)?.1),
            Phase::Connecting | Phase::Writing | Phase::Closing => {}
        }
        Ok(false)
    }

    /// Accept, read, close. Why it ended, if it did.
    fn receive(&mut self, listener: TcpListener) -> Option<EndCause> {
        let mut stream = loop {
            if !self.ready(Some((&listener, PollFlags::POLLIN)), Time::MAX)? {
                continue;
            }
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if is_transient(&error) => {}
                Err(error) => return Some(cause(&error)),
            }
        };
        if let Err(error) = stream.set_nonblocking(true) {
            return Some(cause(&error));
        }
        self.seen.established_at = Some(self.clock.now());
        let mut received_bytes = 0;
        let ended = loop {
            self.look(&stream, received_bytes);
            let Some(ready) = self.ready(Some((&stream, PollFlags::POLLIN)), self.next) else {
                break None;
            };
            let (read, closed) = match ready.then(|| read_some(&mut stream, &mut self.buffer)) {
                None => continue,
                Some(Ok(read)) => read,
                Some(Err(error)) => break Some(cause(&error)),
            };
            if read > 0 {
                received_bytes += read;
                self.seen.last_byte_at = Some(self.clock.now());
            }
            if closed {
                break Some(EndCause::Finished);
            }
        };
        self.sample(&stream, received_bytes, self.clock.now());
        ended
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn cause(error: &io::Error) -> EndCause {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            EndCause::TimedOut
        }
        _ => EndCause::Reset,
    }
}

/// Write zeros, as many as the kernel takes at once.
fn write_some(stream: &mut TcpStream, left: &mut Option<u64>) -> io::Result<()> {
    static ZEROS: [u8; CHUNK] = [0; CHUNK];
    for _ in 0..CHUNKS_AT_ONCE {
        let len = left.map_or(CHUNK, |left| left.min(CHUNK as u64) as usize);
        if len == 0 {
            break;
        }
        match stream.write(&ZEROS[..len]) {
            Ok(written) => *left = left.map(|left| left - written as u64),
            Err(error) if is_transient(&error) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Read what is there: how much, and whether the other side has closed.
fn read_some(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<(u64, bool)> {
    let mut bytes = 0;
    for _ in 0..CHUNKS_AT_ONCE {
        match stream.read(buffer) {
            Ok(0) => return Ok((bytes, true)),
            Ok(read) => bytes += read as u64,
            Err(error) if is_transient(&error) => break,
            Err(error) => return Err(error),
        }
    }
    Ok((bytes, false))
}
