//! Next-hop tables that do not grow with hosts.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::{Addr, Endpoint, Kind, NodeId, Packet, PortId, mix64};

const NONE: u16 = u16::MAX;
/// In the place of a row: the node has none.
const NO_ROW: u32 = u32::MAX;
/// Set in the place of a row: some addresses of this node are redirected, or there are several
/// trees. One comparison finds the usual row.
const UNUSUAL: u32 = 1 << 31;

/// What a route is looked up for.
pub trait RouteKey: Copy {
    /// The destination.
    fn dst(self) -> Addr;
    /// A number that is the same for all packets of a flow, in both directions. Fragments show no
    /// ports, nor does the first of them count with its own: those between two addresses have one.
    fn spread(self) -> u64;
}

impl RouteKey for &Packet {
    #[inline]
    fn dst(self) -> Addr {
        Packet::dst(self)
    }
    fn spread(self) -> u64 {
        let (src, dst) = self.ports().filter(|_| self.kind() == Kind::Tcp).unwrap_or_default();
        let end = |addr, port| Endpoint { addr, port };
        [end(self.src(), src), end(Packet::dst(self), dst)].spread()
    }
}

/// From one end to the other.
impl RouteKey for [Endpoint; 2] {
    fn dst(self) -> Addr {
        self[1].addr
    }
    fn spread(self) -> u64 {
        let [a, b] = self.map(|end| mix64(u64::from(end.addr.0) << 16 | u64::from(end.port)));
        mix64(a.wrapping_add(b))
    }
}

/// Without ports and source: in the first tree. For routes that depend on nothing else.
impl RouteKey for Addr {
    #[inline]
    fn dst(self) -> Addr {
        self
    }
    fn spread(self) -> u64 {
        0
    }
}

/// For each node the port that leads to each *attachment*: the node through which an address is
/// reached, which is its only router for a host with one port, and the host itself otherwise. Hosts
/// with one port are in no table.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// Per address: (column of its attachment, port of the attachment that leads to it or NONE if
    /// it is the attachment).
    addresses: Vec<(u32, u16)>,
    /// Per node.
    places: Vec<Place>,
    columns: usize,
    /// Of each place: a row for each tree has one port for each column.
    trees: u8,
    next: Vec<u16>,
    /// What [`Routes::redirect`] says of single addresses; empty in most runs.
    redirected: BTreeMap<(NodeId, Addr), u16>,
}

/// The place of a node in the table.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its own column, if it is an attachment.
    own_column: u32,
    /// Where its first row begins in `next`, with [`UNUSUAL`] where that is so; [`NO_ROW`] for
    /// hosts with one port, which send everything to port 0.
    row_start: u32,
}

impl Place {
    /// Where its first row begins, if it has one.
    fn row(self) -> Option<usize> {
        (self.row_start != NO_ROW).then_some((self.row_start & !UNUSUAL) as usize)
    }
}

impl Routes {
    /// No routes: `nodes` nodes, of which those in `rows` get a table, in that order, and those in
    /// `columns` can be attachments. In each of `trees`, 1 or more, there will be a route.
    pub fn new(nodes: usize, rows: &[NodeId], columns: &[NodeId], trees: u8) -> Routes {
        let per_row = columns.len() * usize::from(trees);
        let mut routes = Routes {
            addresses: Vec::new(),
            places: vec![Place { own_column: u32::MAX, row_start: NO_ROW }; nodes],
            columns: columns.len(),
            trees,
            next: vec![NONE; rows.len() * per_row],
            redirected: BTreeMap::new(),
        };
        assert!(routes.next.len() < UNUSUAL as usize, "a table of 2^31 routes");
        for (i, node) in rows.iter().enumerate() {
            let flag = if trees > 1 { UNUSUAL } else { 0 };
            routes.places[node.index()].row_start = (i * per_row) as u32 | flag;
        }
        for (i, node) in columns.iter().enumerate() {
            routes.places[node.index()].own_column = i as u32;
        }
        routes
    }
    /// The same with the rows of those nodes alone that are `here`: no other may ask.
    pub fn of_nodes(&self, here: impl Fn(NodeId) -> bool) -> Routes {
        let mut next = Vec::new();
        let mut place = |(i, &place): (usize, &Place)| {
            let row_start = match place.row().filter(|_| here(NodeId(i as u32))) {
                Some(row) => {
                    let start = next.len() as u32;
                    let rows = self.columns * usize::from(self.trees);
                    next.extend_from_slice(&self.next[row..][..rows]);
                    start | place.row_start & UNUSUAL
                }
                None => NO_ROW,
            };
            Place { row_start, ..place }
        };
        let places = self.places.iter().enumerate().map(&mut place).collect();
        let (addresses, redirected) = (self.addresses.clone(), self.redirected.clone());
        Routes { addresses, places, next, redirected, ..*self }
    }
    /// Append the next address: reached at `attachment`, from there by `last_hop`, None if the
    /// attachment itself has it.
    pub fn push_address(&mut self, attachment: NodeId, last_hop: Option<PortId>) -> Addr {
        let column = self.places[attachment.index()].own_column;
        assert_ne!(column, u32::MAX, "an attachment needs a column");
        self.addresses.push((column, last_hop.map_or(NONE, |p| p.0)));
        Addr((self.addresses.len() - 1) as u32)
    }
    /// Number of addresses.
    pub fn addresses(&self) -> usize {
        self.addresses.len()
    }
    /// Set or clear the port by which `node` reaches `attachment` in one of the trees. Panics if
    /// any of them has no place in the table.
    pub fn set(&mut self, node: NodeId, attachment: NodeId, tree: u8, port: Option<PortId>) {
        let row_start = self.places[node.index()].row().expect("the node needs a row");
        let column = self.places[attachment.index()].own_column as usize;
        assert!(column < self.columns, "an attachment needs a column");
        assert!(tree < self.trees, "a tree needs a row");
        self.next[row_start + usize::from(tree) * self.columns + column] =
            port.map_or(NONE, |p| p.0);
    }
    /// `node` sends what is for `dst`, and for no other address, through `port` from now on; None:
    /// it has no route there. In all trees.
    pub fn redirect(&mut self, node: NodeId, dst: Addr, port: Option<PortId>) {
        self.redirected.insert((node, dst), port.map_or(NONE, |p| p.0));
        self.places[node.index()].row_start |= UNUSUAL;
    }
    /// The port by which `node` sends what is `to` a destination; None if there is no route, or it
    /// is its own.
    #[inline]
    pub fn port(&self, node: NodeId, to: impl RouteKey) -> Option<PortId> {
        let dst = to.dst();
        let &(column, last_hop) = self.addresses.get(dst.index())?;
        let place = self.places[node.index()];
        let port = if place.row_start < UNUSUAL {
            self.next_hop(place.own_column, place.row_start as usize, column, last_hop)
        } else {
            self.unusual_port(node, to)
        };
        (port != NONE).then_some(PortId(port))
    }
    #[inline(always)]
    fn next_hop(&self, own_column: u32, row: usize, column: u32, last_hop: u16) -> u16 {
        // Read either way, then chosen: which it is cannot be guessed.
        let onward = self.next[row + column as usize];
        if own_column == column { last_hop } else { onward }
    }
    /// The port of a node without a row, or of one that has redirected addresses or several trees.
    #[cold]
    #[inline(never)]
    fn unusual_port(&self, node: NodeId, to: impl RouteKey) -> u16 {
        let dst = to.dst();
        let place = self.places[node.index()];
        let Some(row) = place.row() else { return 0 };
        match self.redirected.get(&(node, dst)) {
            Some(&port) => port,
            None => {
                let (column, last_hop) = self.addresses[dst.index()];
                // The product of a fraction in 32 bits and the number of trees, without its part
                // after the point.
                let tree = ((to.spread() >> 32) * u64::from(self.trees)) >> 32;
                let row = row + tree as usize * self.columns;
                self.next_hop(place.own_column, row, column, last_hop)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::{IpVersion, TcpFields};

    #[test]
    fn a_host_behind_its_router_needs_no_row() {
        // host 0 - router 1 - router 2 - host 3
        let (h0, r1, r2) = (NodeId(0), NodeId(1), NodeId(2));
        let mut routes = Routes::new(4, &[r1, r2], &[r1, r2], 1);
        let a = routes.push_address(r1, Some(PortId(0)));
        let b = routes.push_address(r2, Some(PortId(1)));
        routes.set(r1, r2, 0, Some(PortId(1)));
        assert_eq!(routes.port(h0, b), Some(PortId(0)));
        assert_eq!(routes.port(r1, b), Some(PortId(1)));
        assert_eq!(routes.port(r2, b), Some(PortId(1)));
        assert_eq!(routes.port(r1, a), Some(PortId(0)));
        assert_eq!(routes.port(r2, a), None);
        assert_eq!(routes.port(r1, Addr(9)), None);
    }

    #[test]
    fn some_rows_say_what_all_rows_say() {
        let nodes: Vec<NodeId> = (0..5).map(NodeId).collect();
        let mut routes = Routes::new(6, &nodes, &nodes[1..4], 1);
        let addresses: Vec<Addr> =
            (1..4).map(|at| routes.push_address(nodes[at], Some(PortId(10 + at as u16)))).collect();
        for (n, &node) in nodes.iter().enumerate() {
            for &to in nodes[1..4].iter().filter(|&&to| to != node && to.0 + node.0 != 4) {
                routes.set(node, to, 0, Some(PortId(n as u16 * 5 + to.0 as u16)));
            }
        }
        routes.redirect(nodes[3], addresses[0], Some(PortId(99)));
        let some = routes.of_nodes(|node| node.0 % 2 == 1);
        for node in [1, 3, 5].map(NodeId) {
            for &address in &addresses {
                assert_eq!(some.port(node, address), routes.port(node, address), "{node:?}");
            }
        }
        assert_eq!((some.next.len(), routes.next.len()), (2 * 3, 5 * 3));
    }

    #[test]
    fn a_redirected_address_moves_alone() {
        let (r0, r1) = (NodeId(0), NodeId(1));
        let mut routes = Routes::new(2, &[r0, r1], &[r1], 1);
        let [a, b] = [0, 1].map(|p| routes.push_address(r1, Some(PortId(p))));
        routes.set(r0, r1, 0, Some(PortId(4)));
        routes.redirect(r0, a, Some(PortId(7)));
        routes.redirect(r1, b, None);
        let ports = [(r0, a), (r0, b), (r1, a), (r1, b)].map(|(n, d)| routes.port(n, d));
        assert_eq!(ports, [Some(PortId(7)), Some(PortId(4)), Some(PortId(0)), None]);
    }

    /// Two trees, over the ports 0 and 1: a flow keeps to one of them in both directions, and both
    /// are taken. The fragments between two hosts take one as well.
    #[test]
    fn a_flow_keeps_to_its_tree_in_both_directions() {
        let (r0, r1) = (NodeId(0), NodeId(1));
        let mut routes = Routes::new(2, &[r0, r1], &[r0, r1], 2);
        let [here, there] = [r0, r1].map(|router| routes.push_address(router, Some(PortId(9))));
        for (from, to) in [(r0, r1), (r1, r0)] {
            (0..2).for_each(|tree| routes.set(from, to, tree, Some(PortId(tree.into()))));
        }
        let some = routes.of_nodes(|node| node == r1);
        let mut taken = [0; 2];
        for port in 1..=64 {
            let ends = [(here, port), (there, 80)].map(|(addr, port)| Endpoint { addr, port });
            let back = [ends[1], ends[0]];
            let way = routes.port(r0, ends).unwrap();
            assert_eq!(routes.port(r1, back), Some(way));
            assert_eq!((some.port(r1, back), some.port(r1, ends)), (Some(way), Some(PortId(9))));
            taken[way.index()] += 1;
            let fields = TcpFields::default();
            let packet = Packet::tcp(IpVersion::V4, ends[0], ends[1], fields, 100);
            assert_eq!(routes.port(r0, &packet), Some(way));
        }
        assert!(taken.iter().all(|&flows| flows > 16), "{taken:?}");
        routes.redirect(r0, there, Some(PortId(5)));
        assert_eq!(routes.port(r0, there), Some(PortId(5)));
    }
}
