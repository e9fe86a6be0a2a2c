//! A network of namespaces: one for each node, joined by pairs of virtual Ethernet interfaces.
//!
//! Namespaces are held by descriptors and have no names, so they go with this process. A node that
//! runs Forebay's machines has interfaces without addresses. Packets to it go to an Ethernet
//! address that no interface has, so that its kernel drops them at once, and only the packet
//! sockets see them. A node that is a host of the kernel has addresses and a default route. No
//! node resolves addresses: neither ARP nor neighbour discovery adds packets to a run.

use crate::netlink::{CREATE, Requests};
use crate::os::{self, Mac};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoData, InfoKind, InfoVeth, LinkAttribute,
    LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{AddressFamily as Family, SockFlag, SockType, socket};
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

/// What runs in a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// Forebay's machines.
    Forebay,
    /// The kernel's own protocols, with these addresses on its one interface.
    Kernel(Vec<IpAddr>),
}

/// A pair of interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cable {
    /// The longest IP packet, bytes: 68 to 65 535.
    pub mtu_bytes: u32,
    /// Its ends.
    pub ends: [CableEnd; 2],
}

/// One interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CableEnd {
    /// The node, by its place in the list.
    pub node: usize,
    /// Its name there: at most 15 bytes, unique in the node.
    pub interface: String,
}

/// Why a laboratory cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A namespace cannot be made or entered.
    #[error("no network namespace for node {node} ({errno}): {}", namespace_hint(*.errno))]
    Namespace {
        /// The node, by its place in the list.
        node: usize,
        /// What the kernel answered.
        errno: Errno,
    },
    /// A plan that cannot be built.
    #[error("interface `{interface}` of node {node}: {expected}")]
    Plan {
        /// The node.
        node: usize,
        /// The interface.
        interface: String,
        /// What it must be.
        expected: &'static str,
    },
    /// The kernel refused a request.
    #[error("{what} ({source}): {}", hint(.source))]
    Refused {
        /// What was to be done.
        what: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// Interfaces that are up have no carrier.
    #[error("interface `{interface}` of node {node} has no carrier after {NO_CARRIER:?}")]
    NoCarrier {
        /// The node.
        node: usize,
        /// The interface.
        interface: String,
    },
}

/// What to do where there is no namespace.
fn namespace_hint(errno: Errno) -> &'static str {
    match errno {
        Errno::EPERM | Errno::EACCES => {
            "needs CAP_SYS_ADMIN, which a container may keep from root: run as root, or allow user \
             namespaces"
        }
        Errno::EMFILE => "too many nodes for the limit of open files: raise it by `ulimit -n`",
        Errno::ENFILE => "too many files are open on this machine: see `sysctl fs.file-max`",
        Errno::ENOSPC => {
            "more than this user may have: `sudo sysctl -w user.max_net_namespaces=10000`"
        }
        Errno::ENOENT => "`/proc` is not mounted: `mount -t proc proc /proc`",
        Errno::ENOMEM => "too little memory",
        _ => "an unexpected answer of the kernel",
    }
}

/// What to do where the kernel refuses.
fn hint(source: &io::Error) -> &'static str {
    match source.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EPERM | Errno::EACCES) => {
            "needs CAP_NET_ADMIN, which a container may keep from root: run as root"
        }
        Some(Errno::EOPNOTSUPP | Errno::ENODEV) => {
            "this kernel has no `veth`: `sudo modprobe veth`, or a kernel with CONFIG_VETH"
        }
        Some(Errno::ENOMEM | Errno::ENOSPC | Errno::EMFILE | Errno::ENFILE) => {
            "too many nodes for the limits of this machine: see `ulimit -n`"
        }
        _ => "an unexpected answer of the kernel",
    }
}

/// How long interfaces may take until they have a carrier.
const NO_CARRIER: Duration = Duration::from_secs(2);

/// The Ethernet address of Forebay's nodes. No interface has it.
pub const NODE_MAC: Mac = [0x02, 0xfb, 0xff, 0xff, 0xff, 0xff];

/// The Ethernet address of an interface.
fn interface_mac(cable: usize, end: usize) -> Mac {
    let [a, b, c] = [cable >> 16, cable >> 8, cable].map(|byte| byte as u8);
    [0x02, 0xfb, a, b, c, end as u8]
}

/// Nodes and cables that exist. They end with it, or with the process.
#[derive(Debug)]
pub struct Lab {
    nodes: Vec<Occupant>,
    cables: Vec<Cable>,
    /// One for each node.
    namespaces: Vec<File>,
    /// Where the thread that built it was.
    home: File,
}

/// The namespace that the thread is in.
fn current_namespace() -> io::Result<File> {
    File::open("/proc/thread-self/ns/net")
}

impl Lab {
    /// Make a namespace for each of `nodes` and join them by `cables`, ready to carry packets.
    pub fn build(nodes: Vec<Occupant>, cables: Vec<Cable>) -> Result<Lab, LabError> {
        check(&nodes, &cables)?;
        let opened = |node| {
            move |error: io::Error| LabError::Namespace {
                node,
                errno: Errno::from_raw(error.raw_os_error().unwrap_or_default()),
            }
        };
        let home = current_namespace().map_err(opened(0))?;
        let mut lab = Lab { nodes, cables, namespaces: Vec::new(), home };
        for node in 0..lab.nodes.len() {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|errno| LabError::Namespace { node, errno })?;
            lab.namespaces.push(current_namespace().map_err(opened(node))?);
        }
        lab.enter(&lab.home, 0)?;
        for cable in 0..lab.cables.len() {
            lab.plug(cable)?;
        }
        for end in lab.cables.iter().flat_map(|cable| &cable.ends) {
            lab.inside(end.node, || await_carrier(end))??;
        }
        Ok(lab)
    }

    fn enter(&self, namespace: &File, node: usize) -> Result<(), LabError> {
        setns(namespace, CloneFlags::CLONE_NEWNET)
            .map_err(|errno| LabError::Namespace { node, errno })
    }
    /// Do `work` in the namespace of a node. A thread that it starts stays there, and so does a
    /// socket.
    pub fn inside<T>(&self, node: usize, work: impl FnOnce() -> T) -> Result<T, LabError> {
        self.enter(&self.namespaces[node], node)?;
        let result = work();
        self.enter(&self.home, node)?;
        Ok(result)
    }

    /// Make the interfaces of a cable, and set them up.
    pub fn plug(&self, cable: usize) -> Result<(), LabError> {
        let ends = &self.cables[cable].ends;
        let request = self.new_pair(cable);
        let what = format!("the cable of `{}` and `{}`", ends[0].interface, ends[1].interface);
        requests()?.make(request, CREATE).map_err(refused(what))?;
        ends.iter().try_for_each(|end| {
            self.inside(end.node, || set_up(&end.interface, &self.nodes[end.node]))?
        })
    }
    /// Remove the interfaces of a cable.
    pub fn unplug(&self, cable: usize) -> Result<(), LabError> {
        let end = &self.cables[cable].ends[0];
        self.inside(end.node, || {
            let request = RouteNetlinkMessage::DelLink(link(&end.interface)?);
            requests()?.make(request, 0).map_err(refused(of("the removal", &end.interface)))
        })?
    }
    /// Switch an interface up or down.
    pub fn switch(&self, node: usize, interface: &str, up: bool) -> Result<(), LabError> {
        let flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
        self.inside(node, || set_flags(interface, flags, LinkFlags::Up))?
    }
    /// The Ethernet address to which packets go that are sent over an end of a cable.
    pub fn far_mac(&self, cable: usize, end: usize) -> Mac {
        match self.nodes[self.cables[cable].ends[1 - end].node] {
            Occupant::Forebay => NODE_MAC,
            Occupant::Kernel(_) => interface_mac(cable, 1 - end),
        }
    }

    /// The request for the two interfaces of a cable, each in its namespace.
    fn new_pair(&self, number: usize) -> RouteNetlinkMessage {
        let cable = &self.cables[number];
        let [mut near, far] = [0, 1].map(|end| {
            let CableEnd { node, interface } = &cable.ends[end];
            let mut message = LinkMessage::default();
            message.attributes = vec![
                LinkAttribute::IfName(interface.clone()),
                LinkAttribute::Mtu(cable.mtu_bytes),
                LinkAttribute::Address(interface_mac(number, end).to_vec()),
                LinkAttribute::NetNsFd(self.namespaces[*node].as_raw_fd()),
            ];
            message
        });
        let peer = LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(far)));
        let info = LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth), peer]);
        near.attributes.push(info);
        RouteNetlinkMessage::NewLink(near)
    }
}

fn check(nodes: &[Occupant], cables: &[Cable]) -> Result<(), LabError> {
    let is_kernel = |end: &CableEnd| matches!(nodes.get(end.node), Some(Occupant::Kernel(_)));
    let mut seen: Vec<(usize, &str)> = Vec::new();
    for (cable, end) in cables.iter().flat_map(|cable| cable.ends.iter().map(move |e| (cable, e))) {
        let (node, interface) = (end.node, end.interface.clone());
        let wrong = |expected| LabError::Plan { node, interface, expected };
        if node >= nodes.len() {
            return Err(wrong("there is no such node"));
        }
        let is_name = (1..libc::IFNAMSIZ).contains(&end.interface.len())
            && end.interface.bytes().all(|b| b.is_ascii_graphic() && !b"/:%".contains(&b));
        if !is_name || matches!(end.interface.as_str(), "." | ".." | "lo") {
            return Err(wrong("a name is 1 to 15 printable characters without `/`, `:`, `%`"));
        }
        if seen.contains(&(node, &end.interface)) {
            return Err(wrong("names are unique in a node"));
        }
        if cable.ends.iter().all(is_kernel) {
            return Err(wrong("one end of a cable is a node of Forebay"));
        }
        if is_kernel(end) && seen.iter().any(|s| s.0 == node) {
            return Err(wrong("a host of the kernel has one interface"));
        }
        seen.push((node, &end.interface));
    }
    Ok(())
}

fn refused(what: String) -> impl FnOnce(io::Error) -> LabError {
    move |source| LabError::Refused { what, source }
}

fn of(what: &str, interface: &str) -> String {
    format!("{what} of interface `{interface}`")
}

fn requests() -> Result<Requests, LabError> {
    Requests::open().map_err(refused("a netlink socket".to_string()))
}

/// A message about an interface of the namespace that the thread is in.
fn link(interface: &str) -> Result<LinkMessage, LabError> {
    let index = if_nametoindex(interface);
    let mut message = LinkMessage::default();
    message.header.index =
        index.map_err(|errno| refused(of("the index", interface))(errno.into()))?;
    Ok(message)
}

fn set_flags(interface: &str, flags: LinkFlags, among: LinkFlags) -> Result<(), LabError> {
    let mut message = link(interface)?;
    message.header.flags = flags;
    message.header.change_mask = among;
    let request = RouteNetlinkMessage::SetLink(message);
    requests()?.make(request, 0).map_err(refused(of("the state", interface)))
}

/// `ETHTOOL_S*` commands of `linux/ethtool.h` that switch one offload of an interface.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
enum Offload {
    /// `ETHTOOL_STXCSUM`: checksums are left to the device.
    TxChecksum = 0x17,
    /// `ETHTOOL_STSO`: segmentation is left to the device.
    TcpSegmentation = 0x1f,
    /// `ETHTOOL_SGSO`: packets are segmented late.
    GenericSegmentation = 0x24,
    /// `ETHTOOL_SGRO`: packets are merged on arrival.
    GenericReceive = 0x2c,
}

/// Switch all offloads of an interface of the namespace that the thread is in. Segments and
/// checksums that no device computes reach packet sockets incomplete.
pub fn switch_offloads(interface: &str, on: bool) -> Result<(), LabError> {
    let any = socket(Family::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
        .map_err(|errno| refused("a socket".to_string())(errno.into()))?;
    // Segmentation needs checksums: they go off last, and on first.
    let mut offloads = [
        Offload::GenericReceive,
        Offload::GenericSegmentation,
        Offload::TcpSegmentation,
        Offload::TxChecksum,
    ];
    if on {
        offloads.reverse();
    }
    offloads.into_iter().try_for_each(|offload| {
        let what = || of(&format!("the offload {offload:?}"), interface);
        os::switch_offload(&any, interface, offload as u32, on)
            .map_err(|errno| refused(what())(errno.into()))
    })
}

/// In the namespace of the node: quiet, without offloads, with its addresses, up.
fn set_up(interface: &str, occupant: &Occupant) -> Result<(), LabError> {
    switch_offloads(interface, false)?;
    let index = link(interface)?.header.index;
    let requests = requests()?;
    // No link-local address: no duplicate address detection, no router solicitation.
    let mode = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
    let mut quiet = link(interface)?;
    let families = vec![AfSpecUnspec::Inet6(vec![mode])];
    quiet.attributes.push(LinkAttribute::AfSpecUnspec(families));
    match requests.make(RouteNetlinkMessage::SetLink(quiet), 0) {
        // A kernel without IPv6, or an MTU below 1280 bytes: it is quiet.
        Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => {}
        result => result.map_err(refused(of("IPv6", interface)))?,
    }
    let flags = LinkFlags::Up | LinkFlags::Noarp;
    set_flags(interface, flags, flags)?;
    let Occupant::Kernel(addresses) = occupant else { return Ok(()) };
    set_flags("lo", LinkFlags::Up, LinkFlags::Up)?;
    for address in addresses {
        let request = RouteNetlinkMessage::NewAddress(new_address(index, *address));
        let what = format!("address {address}");
        requests.make(request, CREATE).map_err(refused(of(&what, interface)))?;
    }
    let has = |v6: bool| addresses.iter().any(|address| address.is_ipv6() == v6);
    let families = [(false, AddressFamily::Inet), (true, AddressFamily::Inet6)];
    for (_, family) in families.into_iter().filter(|(v6, _)| has(*v6)) {
        let request = RouteNetlinkMessage::NewRoute(default_route(index, family));
        requests.make(request, CREATE).map_err(refused(of("the default route", interface)))?;
    }
    Ok(())
}

fn new_address(index: u32, address: IpAddr) -> AddressMessage {
    let (family, prefix_len) = match address {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    };
    let mut message = AddressMessage::default();
    message.header.family = family;
    message.header.prefix_len = prefix_len;
    message.header.scope = AddressScope::Universe;
    message.header.index = index;
    message.attributes = vec![
        AddressAttribute::Local(address),
        AddressAttribute::Address(address),
        AddressAttribute::Flags(AddressFlags::Nodad),
    ];
    message
}

/// All packets leave over one interface, without a gateway: it has no ARP.
fn default_route(index: u32, family: AddressFamily) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Link;
    message.header.kind = RouteType::Unicast;
    message.attributes = vec![RouteAttribute::Oif(index)];
    message
}

/// The flags of an interface of the namespace that the thread is in; None if there is none of
/// this name.
pub(crate) fn interface_flags(interface: &str) -> nix::Result<Option<InterfaceFlags>> {
    Ok(getifaddrs()?.find(|found| found.interface_name == interface).map(|found| found.flags))
}

fn await_carrier(end: &CableEnd) -> Result<(), LabError> {
    let (node, interface) = (end.node, end.interface.clone());
    const STEP: Duration = Duration::from_millis(1);
    for _ in 0..NO_CARRIER.as_millis() {
        let flags = interface_flags(&interface)
            .map_err(|e| refused(format!("the state of `{interface}`"))(e.into()))?;
        if flags.is_some_and(|flags| flags.contains(InterfaceFlags::IFF_RUNNING)) {
            return Ok(());
        }
        #[expect(clippy::disallowed_methods, reason = "before a run has a clock")]
        thread::sleep(STEP);
    }
    Err(LabError::NoCarrier { node, interface })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The advice is for what the kernel answered.
    #[test]
    fn each_refusal_of_a_namespace_has_its_own_advice() {
        let told = |errno| LabError::Namespace { node: 1, errno }.to_string();
        for (errno, advice) in [
            (Errno::EPERM, "CAP_SYS_ADMIN"),
            (Errno::EMFILE, "ulimit -n"),
            (Errno::ENOSPC, "user.max_net_namespaces"),
            (Errno::ENOENT, "/proc"),
        ] {
            let text = told(errno);
            assert!(text.contains(advice), "{text}");
            assert_eq!(text.contains("CAP_"), errno == Errno::EPERM, "{text}");
        }
    }
}
