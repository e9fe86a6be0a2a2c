//! The keys of a scenario file. The doc comments are the descriptions of the JSON Schema.

use crate::format::csv::ExtraColumns;
use crate::format::fault::{Fault, Problem};
use crate::format::faults::all;
use crate::format::fields::{
    Field, Fields, Section, Spanned, choices, property, read_section, section_schema, sections,
};
use crate::format::item::{Entry, Item, Value, join};
use crate::format::set::Alone;
use crate::format::units::{Bytes, Number, Probability, Seconds};
use crate::keys::arrivals::{ArrivalsTable, Pairs};
use crate::keys::attacks::AttackEntry;
use crate::keys::expect::ExpectEntry;
use crate::keys::inrpp::InrppTable;
use crate::keys::kinds::{Routers, Schemes, Word};
use crate::keys::life::{Before, LawOf, Rounds, WriteTable};
use crate::keys::links::LinkParams;
use crate::keys::named::{Named, Param, param};
use crate::keys::paths::{Homes, PathsOf};
use crate::keys::reassembly::ReassemblyTable;
use crate::keys::routes::{Prefixes, RoutesTable, Weight};
use crate::keys::sizes::SizeOf;
use crate::keys::sweep::SweepEntry;
use crate::keys::tcp::{Tcp, TcpOf};
use crate::keys::topology::TopologyTable;
use forebay_base::{IpVersion, Rate, Span};
use forebay_topology::Role;
use serde_json::{Value as Json, json};
use std::ops::Deref;

/// Where a value may stand for a whole table.
pub(crate) const ALONE: Alone = Alone {
    keys: &[("queue", "limit"), ("port", Schemes::KEY), ("router", Routers::KEY)],
    named_lists: &["routers", "hosts"],
};

choices! {
    /// When the clock of a flow completion time starts.
    pub enum FctClock {
        /// When the SYN is sent.
        Syn = "syn",
        /// When the connection is established at the sender.
        Established = "established",
    }
    /// The direction of a link, as its ends are written.
    pub(crate) enum Direction {
        /// From a to b.
        Forward = "forward",
        /// From b to a.
        Reverse = "reverse",
        /// Both.
        Both = "both",
    }
    /// Whether a link works.
    pub(crate) enum LinkState {
        /// It fails: what is on the wire is lost, what is queued waits.
        Down = "down",
        /// It works again.
        Up = "up",
    }
}

sections! {
    /// A scenario: a network, its flows, what happens to it, and the protocols that are compared on
    /// it.
    pub struct File {
        required {}
        optional {
            /// The earliest version of Forebay that reads the file as it is meant. An earlier one
            /// refuses it by that name. Example: "0.2".
            forebay: String,
            /// What the scenario shows, for readers of its results. Example: "two flows on one
            /// bottleneck".
            description: String,
            /// Protocols to compare, each in a run of its own. Default: ["cubic"]. Example:
            /// ["cubic", "bbr"].
            protocols: Vec<Spanned<String>>,
            /// Time at which a run ends. Without it, a run ends when all its flows have ended.
            /// Example: 60.
            until_s: Seconds,
            /// Start of the measurement window: metrics count from here on. Default: 0. Example:
            /// 10.
            measure_from_s: Seconds,
            /// Time between two samples of the series. Range: more than 0; as short as the run can
            /// afford, which the error message states. Default: 0.01.
            sample_s: Seconds,
            /// Start of flow completion times: "syn", when the SYN is sent, or "established", when
            /// the connection is established at the sender. Default: "syn".
            fct: FctClock,
            /// Each flow starts later by a time drawn uniformly from 0 to this. "0s" turns it off.
            /// Default: "1ms".
            start_jitter: Span,
            /// IP version of the address plan. Default: 4.
            ip_version: IpVersion,
            /// Transport configuration of all protocols.
            tcp: Tcp,
            /// Transport configuration of single protocols, one table per protocol: what differs
            /// from `tcp`. With a preset the table starts from that preset instead.
            tcp_of: TcpOf,
            /// Which routers run INRPP, and their parameters.
            inrpp: InrppTable,
            /// How hosts reassemble fragmented datagrams.
            reassembly: ReassemblyTable,
            /// How routes are chosen.
            routes: RoutesTable,
            /// Parameters of congestion control algorithms, one table per protocol; a table with
            /// `of` declares a variant.
            protocol: Protocols,
            /// Link parameters that apply wherever a link, a host's access link or a CSV access
            /// link sets none.
            link_defaults: LinkParams,
            /// Kind of all routers, by name or as a table with `kind` and its parameters. Default:
            /// what the protocols of the run need.
            router: Named<Routers>,
            /// Routers, links and hosts from a map file or a generator, besides those below. Link
            /// parameters in this table hold for all links of the map, whatever the file says;
            /// what neither says comes from `link_defaults`.
            topology: TopologyTable,
            /// The routers: names, or tables. Example: ["r0", "r1"].
            routers: Vec<Spanned<RouterEntry>>,
            /// Hosts, or groups of hosts: tables, or the names of hosts whose links are declared
            /// under `links`.
            hosts: Vec<Spanned<HostEntry>>,
            /// The links.
            links: Vec<Spanned<LinkEntry>>,
            /// Flows, or groups of flows.
            flows: Vec<Spanned<FlowGroup>>,
            /// Changes of the network during a run.
            events: Vec<Spanned<EventEntry>>,
            /// Spoofed fragments that an attacker sends.
            attacks: Vec<Spanned<AttackEntry>>,
            /// Links, hosts and flows from CSV files.
            csv: CsvFiles,
            /// Expectations of the results.
            expect: Vec<Spanned<ExpectEntry>>,
            /// Keys that `forebay run` changes from point to point.
            sweep: Vec<Spanned<SweepEntry>>,
        }
    }
    /// A router with a kind of its own, or a place in drawings.
    pub struct RouterTable {
        required {
            /// Name of the router. Example: "r0".
            name: String,
        }
        optional {
            /// Kind of this router, whatever the others are; as `router` at the top level.
            router: Named<Routers>,
            /// Position in drawings: to the right, and up, in any unit. Example: [8.5, 47.4].
            at: Vec<Number>,
            /// Its role on a map: "backbone", "gateway", "edge", "transit", "stub", "core" or
            /// "aggregation". Example: "edge".
            role: RoleKey,
        }
    }
    /// A link between two nodes, both directions.
    pub struct LinkEntry {
        required {
            /// One endpoint: a router or a host. Example: "r0".
            a: String,
            /// The other endpoint. Example: "r1".
            b: String,
        }
        optional {
            /// Name in results and events. Default: the names of its endpoints, "a-b". Example:
            /// "bottleneck".
            name: String,
            /// What differs in the direction from b to a.
            reverse: LinkParams,
            /// Cost of the link in routes, in both directions: packets take the path with the least
            /// sum. Range: 1 to 65535. Default: 1. Example: 10.
            weight: Weight,
            /// Key with which its two INRPP routers authenticate notices, at least 16 bytes.
            /// Default: inrpp.key. Example: "not known elsewhere".
            inrpp_key: String,
        }
        flatten params: LinkParams,
    }
    /// A host, or `count` hosts, with one access link each.
    pub struct HostGroup {
        required {
            /// Name. In a group "{}" in it stands for the number of the host. Example: "s{}".
            name: String,
        }
        optional {
            /// Number of hosts. Without it the table is one host, without a number. Example: 10.
            count: u32,
            /// Number of the first host of the group. Default: 0. Example: 1.
            first: u32,
            /// Router at the other endpoint of the access link, whose name is then "host-router";
            /// or an array of routers, with a link to each. In a group "{}" stands for the number
            /// of the host. Without `attach`, declare the links of the host under `links`. Example:
            /// "r0".
            attach: Homes,
            /// What differs in the direction from router to host.
            reverse: LinkParams,
            /// Access delay added per successive host of the group, in both directions. Default:
            /// "0s". Example: "1ms".
            delay_step: Span,
            /// What differs from `reassembly` at the top level.
            reassembly: ReassemblyTable,
            /// Networks outside the address plan that are reached over this host; packets have the
            /// route of the longest prefix. For live runs: simulated hosts send to none of their
            /// addresses. Not of a group. Example: ["192.0.2.0/24"].
            prefixes: Prefixes,
        }
        flatten params: LinkParams,
    }
    /// A flow, or `count` flows. One of `bytes`, `packets` and `endless` sets how much it sends; a
    /// flow with `stop` needs none of them.
    pub struct FlowGroup {
        required {
            /// Host that opens the connection and sends. In a group "{}" stands for the number of
            /// the flow. Example: "s{}".
            src: String,
            /// Host that receives. In a group "{}" stands for the number of the flow. Example:
            /// "d{}".
            dst: String,
        }
        optional {
            /// Name of the flow or group, for `after`. Example: "page".
            name: String,
            /// Number of flows. Without it the table is one flow, without a number.
            count: u32,
            /// Number of the first flow of the group. Default: 0. Example: 1.
            first: u32,
            /// Time at which the SYN is sent, or a distribution sampled per flow. Default: "0s".
            /// Example: "2s".
            start: LawOf,
            /// Start delay added per successive flow of the group. Default: "0s". Example: "100ms".
            every: Span,
            /// Random process by which the flows of the group arrive, the first after `start`; in
            /// place of `every`. Example: { load = 0.8, link = "left-right" }.
            arrivals: ArrivalsTable,
            /// Hosts of each flow of a group whose `src` and `dst` have a "{}". "numbered": those
            /// with the number of the flow. "permuted": the sender with the number of the flow,
            /// receivers of these numbers in random order. "random": a random sender and a random
            /// receiver of all hosts whose names match. All seeds have the same pairs. Default:
            /// "numbered".
            pairs: Pairs,
            /// Number of the random pairs: another one gives other pairs. Default: 1.
            pairing: u32,
            /// Bytes to send, or a distribution sampled per flow: `{ exponential = "1MB", max =
            /// "20MB" }`. Example: "10MB".
            bytes: SizeOf<Bytes>,
            /// Full-sized packets to send, or a distribution sampled per flow: `{ pareto = 1.8,
            /// mean = 100, max = 2000 }`. Example: 100.
            packets: SizeOf<u32>,
            /// If true, the flow is unbounded: it sends until the run ends, or until `stop`.
            /// Default: false.
            endless: bool,
            /// Time at which the application stops writing: what it has written is delivered, and
            /// the flow ends. A flow that would start at that time or later does not start.
            /// Example: "30s".
            stop: Span,
            /// How the application writes over time, counted from the SYN. Without it, the
            /// application writes everything at once.
            write: WriteTable,
            /// The flow starts when this one has ended at its sender, which must be the same host:
            /// a name, or a flow number in results. If the name is that of a group, flow follows
            /// flow; a single flow follows the whole group. Example: "page".
            after: Before,
            /// Time from the end of the flow in `after`, or of the round before, to the start; or a
            /// distribution sampled per flow. Default: "0s". Example: "500ms".
            think: LawOf,
            /// Number of consecutive flows that replace each flow, with `think` between them;
            /// "until-end" repeats them for as long as the run lasts. Default: 1. Example: 20.
            rounds: Rounds,
            /// If true, the flow counts as complete even if it has not started when the run ends.
            /// Default: false; true from the second flow on with `rounds = "until-end"`.
            spare: bool,
            /// Protocol of the flow, whatever the run compares. Default: the protocol of the run.
            /// Example: "cubic".
            protocol: String,
            /// Paths of a protocol that uses several (MPTCP): how many, over the links of each host
            /// in turn; or for each path the link of `src` and that of `dst`, `[["s-r0", "d-r2"],
            /// ["s-r1", "d-r2"]]`. Other protocols use the first link of each host. Range: 1 to 8.
            /// Default: as many as the host with more links has. Example: 2.
            paths: PathsOf,
            /// Class of the flow: results then have all metrics of flows for each class, too.
            /// Default: the protocol of the flow. Example: "web".
            class: String,
            /// Classes by size: the largest size of each class but the last, in full-sized packets.
            /// [10, 100] makes the classes "1-10", "11-100" and "over-100", after `class` and a
            /// hyphen if `class` is given. Range: each larger than the one before. Example: [10,
            /// 100].
            size_classes: Vec<u32>,
        }
    }
    /// A change of a link (`link` with `rate`, `delay`, `loss` or `state`), of a router (`restart`)
    /// or of a route (`route`).
    pub struct EventEntry {
        required {
            /// Time of the change. Example: "10s".
            at: Span,
        }
        optional {
            /// Link that changes. Example: "r0-r1".
            link: String,
            /// Direction of the link that changes: "forward" (a to b), "reverse" or "both".
            /// Default: "both".
            direction: Direction,
            /// New rate. Range: 1kbit/s to 400Gbit/s. Example: "5Mbit/s".
            rate: Rate,
            /// New propagation delay. Range: 0s to 1000s. Example: "20ms".
            delay: Span,
            /// New loss probability.
            loss: Probability,
            /// "down": packets on the wire are lost, packets in the queue wait. "up": the link
            /// works again. Example: "down".
            state: LinkState,
            /// Router that restarts and loses all that it holds. Example: "r0".
            restart: String,
            /// Route that changes.
            route: RouteEntry,
        }
    }
    /// A change of the route to a host.
    pub struct RouteEntry {
        required {
            /// Node whose routing table changes. Example: "r0".
            node: String,
            /// Destination host. Example: "d".
            dst: String,
        }
        optional {
            /// Link over which the node sends to that host from now on. Without it, the node has no
            /// route to the host. Example: "r0-r1".
            via: String,
        }
    }
    /// Links, hosts and flows in CSV files; paths are relative to the scenario file.
    pub struct CsvFiles {
        required {}
        optional {
            /// File of links between routers, with the columns a, b, rate_bps (bit/s, or
            /// "10Mbit/s"), delay_ns (nanoseconds, or "5ms"); routers that are not declared are
            /// made.
            links: String,
            /// File of hosts, with the columns host, router; and, where a cell is not empty,
            /// rate_bps and delay_ns of the access link in place of those of `access`. A host with
            /// several rows has a link to each of their routers, in this order. Example:
            /// "hosts.csv".
            hosts: String,
            /// File of flows, with the columns start_s (seconds, or "5ms"), src_host, dst_host,
            /// packets; or src, dst for full names, bytes (or "10kB") for packets. And, where a
            /// cell is not empty: stop_s; rate_bps, at which it writes; after, the row (from 1 on)
            /// of an earlier flow that it follows, think_s after it ends.
            flows: String,
            /// Treatment of unknown columns: "refuse" or "ignore". Default: "refuse".
            extra_columns: ExtraColumns,
            /// Prefix of the values in the columns host, src_host and dst_host. Default: "h".
            host_prefix: String,
            /// Prefix of the values in the columns a, b and router. Default: "". Example: "r".
            router_prefix: String,
            /// The access links of the hosts.
            access: LinkParams,
        }
    }
}

/// A router: its name, or a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouterEntry(pub RouterTable);

impl Field for RouterEntry {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::Table(_) => RouterTable::read(item, key).map(RouterEntry),
            _ => {
                let name = Spanned::<String>::read(item, key);
                let name = name.map_err(|fault| {
                    fault.or_also(key, "a table such as { name = \"r\", router = \"ip\" }")
                })?;
                Ok(RouterEntry(RouterTable { name, ..RouterTable::default() }))
            }
        }
    }
    fn write(&self) -> toml::Value {
        let RouterTable { name, router, at, role } = &self.0;
        let alone = router.is_none() && at.is_none() && role.is_none();
        if alone { name.write() } else { self.0.write() }
    }
    fn schema() -> Json {
        json!({ "anyOf": [String::schema(), RouterTable::schema()] })
    }
}

/// A host or a group of hosts: a table, or the name of a host alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostEntry(pub HostGroup);

impl Deref for HostEntry {
    type Target = HostGroup;
    fn deref(&self) -> &HostGroup {
        &self.0
    }
}

impl Field for HostEntry {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::Table(_) => HostGroup::read(item, key).map(HostEntry),
            _ => {
                let name = Spanned::<String>::read(item, key);
                let name = name.map_err(|fault| {
                    fault.or_also(key, "a table such as { name = \"h\", attach = \"r\" }")
                })?;
                Ok(HostEntry(HostGroup { name, ..HostGroup::default() }))
            }
        }
    }
    fn write(&self) -> toml::Value {
        self.0.write()
    }
    fn schema() -> Json {
        json!({ "anyOf": [String::schema(), HostGroup::schema()] })
    }
}

/// The role of a router.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoleKey(pub Role);

impl Field for RoleKey {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let names = Role::ALL.map(Role::name);
        let expected = || item.expected(key, format!("one of \"{}\"", names.join("\", \"")));
        let Value::String(name) = &item.value else { return Err(expected()) };
        let role = Role::ALL.into_iter().find(|role| role.name() == name);
        role.map(RoleKey).ok_or_else(|| expected().suggest(name, names))
    }
    fn write(&self) -> toml::Value {
        toml::Value::String(self.0.name().into())
    }
    fn schema() -> Json {
        json!({ "enum": Role::ALL.map(Role::name) })
    }
}

/// Parameters of algorithms, by protocol; what they hold is the algorithm's business.
#[derive(Clone, Debug, Default)]
pub(crate) struct Protocols(pub Vec<ProtocolTable>);

/// The parameters of one algorithm.
#[derive(Clone, Debug)]
pub(crate) struct ProtocolTable {
    pub name: Spanned<String>,
    /// The algorithm that it is a variant of.
    pub of: Option<Spanned<String>>,
    /// What text calls it.
    pub title: Option<Spanned<String>>,
    pub params: Vec<Param>,
}

impl Field for Protocols {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let Value::Table(entries) = &item.value else {
            return Err(item.expected(key, "a table of tables, one per protocol"));
        };
        all(entries.iter().map(|entry| protocol_table(entry, key))).map(Protocols)
    }
    fn write(&self) -> toml::Value {
        let tables = self.0.iter().map(|table| {
            let text = |at: &Spanned<String>| toml::Value::String(at.value.clone());
            let own = [("of", &table.of), ("title", &table.title)];
            let own = own.map(|(key, at)| Some((key.to_string(), text(at.as_ref()?))));
            let params = table.params.iter().map(|p| (p.key.clone(), p.value.value.clone()));
            let params = own.into_iter().flatten().chain(params);
            (table.name.value.clone(), toml::Value::Table(params.collect()))
        });
        toml::Value::Table(tables.collect())
    }
    fn schema() -> Json {
        json!({ "type": "object", "additionalProperties": { "type": "object" } })
    }
}

fn protocol_table(entry: &Entry, key: &str) -> Result<ProtocolTable, Fault> {
    let key = join(key, &entry.key);
    let Value::Table(params) = &entry.item.value else {
        return Err(entry.item.expected(&key, "a table of parameters"));
    };
    let named = |name: &str| -> Result<Option<Spanned<String>>, Fault> {
        let found = params.iter().find(|p| p.key == name);
        found.map(|p| Spanned::<String>::read(&p.item, &join(&key, name))).transpose()
    };
    let (of, title) = (named("of")?, named("title")?);
    let params = params.iter().filter(|p| !matches!(p.key.as_str(), "of" | "title"));
    let params = params.map(|entry| param(entry, &key));
    let params = params.collect();
    let name = Spanned { value: entry.key.clone(), loc: entry.key_loc, key };
    Ok(ProtocolTable { name, of, title, params })
}

/// Expand "{}" in a name of a group.
pub(crate) fn numbered(name: &Spanned<String>, number: Option<u32>) -> Result<String, Fault> {
    match number {
        Some(number) => Ok(name.value.replace("{}", &number.to_string())),
        None if name.value.contains("{}") => {
            let text = "\"{}\" stands for a number, but there is no `count`";
            Err(name.fault(Problem::Conflict(text.into())))
        }
        None => Ok(name.value.clone()),
    }
}
