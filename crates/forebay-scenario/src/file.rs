//! The keys of a scenario file. The doc comments are the descriptions of the JSON Schema.

use super::attacks::AttackEntry;
use super::channels::{BucketTable, GeneratorKey, TraceKey};
use super::error::{Fault, Problem};
use super::expect::ExpectEntry;
use super::faults::all;
use super::fields::{
    At, Field, Fields, Section, choices, join, property, read_section, section_schema, sections,
};
use super::inrpp::InrppTable;
use super::item::{Entry, Item, Value};
use super::kickass::KickAssTable;
use super::life::{Before, LawOf, Rounds, WriteTable};
use super::losses::LossKey;
use super::middleboxes::MiddleboxTable;
use super::named::{self, Named};
use super::rcp::RcpTable;
use super::reassembly::ReassemblyTable;
use super::registry::{Disciplines, Kind, Routers, Schemes};
use super::schedules::ScheduleKey;
use super::sizes::SizeOf;
use super::source::Loc;
use super::tcp_of::TcpOf;
use super::units::{Bytes, GivenLimit, Probability, Seconds};
use forebay_base::{IpVersion, Rate, Span};
use serde_json::{Value as Json, json};
use std::ops::Deref;

choices! {
    /// When the clock of a flow completion time starts.
    pub enum FctClock {
        /// When the SYN is sent.
        Syn = "syn",
        /// When the connection is established at the sender.
        Established = "established",
    }
    /// The direction of a link, as its ends are written.
    pub(super) enum Direction {
        /// From a to b.
        Forward = "forward",
        /// From b to a.
        Reverse = "reverse",
        /// Both.
        Both = "both",
    }
    /// Whether a link works.
    pub(super) enum LinkState {
        /// It fails: what is on the wire is lost, what is queued waits.
        Down = "down",
        /// It works again.
        Up = "up",
    }
    /// How losses are found.
    pub(super) enum LossPolicyName {
        /// Three duplicate ACKs, or RFC 6675 with SACK.
        DupThresh = "dup-thresh",
        /// RACK with tail loss probe (RFC 8985).
        RackTlp = "rack-tlp",
        /// The retransmission timer alone.
        TimeoutOnly = "timeout-only",
        /// RACK with a window of seconds and no probe, for paths that hold and reorder packets
        /// (INRPP).
        Patient = "patient",
    }
    /// How the RTO follows from RTT samples.
    pub(super) enum RtoRuleName {
        /// The larger of SRTT + 4 RTTVAR and min_rto (RFC 6298).
        Rfc6298 = "rfc6298",
        /// SRTT + the larger of 4 RTTVAR and min_rto (Linux).
        Linux = "linux",
    }
    /// How recovery is limited.
    pub(super) enum RecoveryName {
        /// Proportional rate reduction (RFC 9937).
        Prr = "prr",
        /// The pipe of RFC 6675.
        Pipe = "pipe",
        /// Window inflation of RFC 6582.
        NewReno = "newreno",
    }
}

sections! {
    /// A scenario: a network, its flows, what happens to it, and the protocols that are compared on
    /// it.
    pub struct File {
        required {}
        optional {
            /// What the scenario shows, for people.
            description: String,
            /// Protocols to compare, each in a run of its own; default ["cubic"].
            protocols: Vec<At<String>>,
            /// Time at which a run ends, in seconds; without it, when all flows end.
            until_s: Seconds,
            /// Time from which metrics count, in seconds; default 0.
            measure_from_s: Seconds,
            /// Distance of samples in series, in seconds; default 0.01.
            sample_s: Seconds,
            /// When the clock of a flow completion time starts: "syn" (default) or "established".
            fct: FctClock,
            /// Each flow starts later by a time drawn uniformly from 0 to this, with unit; default
            /// "1ms", "0s" turns it off.
            start_jitter: Span,
            /// IP version of the address plan; default 4.
            ip_version: IpVersion,
            /// Transport configuration.
            tcp: Tcp,
            /// Transport configuration of single protocols, one table per protocol: what differs
            /// from `tcp`. With a preset it starts from that instead.
            tcp_of: TcpOf,
            /// Routers of INRPP.
            inrpp: InrppTable,
            /// Ports of routers under RCP.
            rcp: RcpTable,
            /// Ports of routers under Kick-Ass.
            kickass: KickAssTable,
            /// How hosts put pieces of datagrams together again.
            reassembly: ReassemblyTable,
            /// Parameters of algorithms, one table per protocol.
            protocol: Protocols,
            /// Link parameters where a link, a host or the CSV access links give none.
            link_defaults: LinkParams,
            /// The kind of router that they are, by name or as a table with `kind` and its
            /// parameters; default: what the protocols of a run need.
            router: Named<Routers>,
            /// The routers: names, or tables.
            routers: Vec<At<RouterEntry>>,
            /// Hosts, or groups of hosts: tables, or the names of hosts whose links are declared
            /// under `links`.
            hosts: Vec<At<HostEntry>>,
            /// Links.
            links: Vec<At<LinkEntry>>,
            /// Flows, or groups of flows.
            flows: Vec<At<FlowGroup>>,
            /// What happens to the network.
            events: Vec<At<EventEntry>>,
            /// Packets that somebody forges.
            attacks: Vec<At<AttackEntry>>,
            /// Links, hosts and flows in CSV files.
            csv: CsvFiles,
            /// What is expected of the results.
            expect: Vec<At<ExpectEntry>>,
        }
    }
    /// What one direction of a link is like.
    pub struct LinkParams {
        required {}
        optional {
            /// Rate with unit, such as "10Mbit/s"; 1kbit/s to 400Gbit/s.
            rate: Rate,
            /// In place of a rate: a file of delivery opportunities in mahimahi's format, relative
            /// to the scenario file, or a table with `file` and `offset`.
            trace: TraceKey,
            /// In place of a rate: a model of a cellular channel by name, such as "city-driving",
            /// or a table with `name`, `length`, `scale`, `seed` and `offset`.
            generator: GeneratorKey,
            /// A token bucket that the rate fills: bursts of at most `burst` leave at the rate
            /// `peak`, all else at the rate.
            bucket: BucketTable,
            /// How rate, delay and loss change over time: a list of steps `{ at, rate, delay,
            /// loss }`, or a CSV file with the columns at_s, rate_bps, delay_ns, loss.
            schedule: ScheduleKey,
            /// Propagation delay with unit, such as "5ms"; at most "1000s".
            delay: Span,
            /// Extra delay of each packet, uniform from 0 to this, with unit, at most "1000s":
            /// reorders; default "0s".
            jitter: Span,
            /// True: packets overtake others where an event lowers the delay; default false.
            reorder: bool,
            /// Probability that a packet is lost on the wire, 0.0 to 1.0; default 0. Or a table:
            /// losses in bursts with `enter` and `leave`, or of `packets` by their numbers.
            loss: LossKey,
            /// A middlebox between transmitter and wire: which TCP options it strips, whether it
            /// sets DF, and what it does with fragments. An empty table: none.
            middlebox: MiddleboxTable,
            /// Longest IP packet in bytes; default 1500.
            mtu_bytes: u16,
            /// Bytes that each packet costs beside its own (PPP 2, Ethernet 38); default 0, of a
            /// link that follows a trace 4, as in mahimahi.
            overhead_bytes: u16,
            /// The queue in front of the link: a table, or its limit alone.
            queue: Queue,
            /// What the port does beside queueing where a router feeds it: a scheme by name, or a
            /// table with `scheme` and its parameters; default: what the protocols of a run need.
            port: Named<Schemes>,
        }
    }
    /// A queue.
    pub struct QueueTable {
        required {}
        optional {
            /// Discipline; default "droptail". Its parameters stand beside it.
            discipline: String,
            /// GivenLimit with unit, the packet in service not counted: bytes ("64kB"), packets
            /// ("100packets"), time at the link's rate ("50ms"), or a multiple of rate x rtt
            /// ("1.5BDP").
            limit: GivenLimit,
            /// Round-trip time for a limit in BDP, with unit.
            rtt: Span,
        }
    }
    /// A router that says more than its name.
    pub struct RouterTable {
        required {
            /// Name of the router.
            name: String,
        }
        optional {
            /// The kind of router that it is, whatever the others are: as `router` at the top.
            router: Named<Routers>,
        }
    }
    /// A link between two nodes, both directions.
    pub struct LinkEntry {
        required {
            /// One end: a router or a host.
            a: String,
            /// The other end.
            b: String,
        }
        optional {
            /// Name in results and events; default "a-b".
            name: String,
            /// What differs in the direction from b to a.
            reverse: LinkParams,
        }
        flatten params: LinkParams,
    }
    /// A host, or `count` hosts, with an access link each.
    pub struct HostGroup {
        required {
            /// Name; of a group it holds "{}", which stands for the number of the host.
            name: String,
        }
        optional {
            /// Number of hosts; without it one, with no number.
            count: u32,
            /// Number of the first host of the group; default 0.
            first: u32,
            /// Router at the other end of the access link, which is called "host-router"; of a
            /// group it may hold "{}", which stands for the number of the host. Without it, links
            /// are declared under `links`.
            attach: String,
            /// What differs in the direction from router to host.
            reverse: LinkParams,
            /// Each next host of the group has so much more delay on its access link, in both
            /// directions, with unit; default "0s".
            delay_step: Span,
            /// What differs from `reassembly` at the top.
            reassembly: ReassemblyTable,
        }
        flatten params: LinkParams,
    }
    /// A flow, or `count` flows. One of `bytes`, `packets` and `endless` says how much it sends;
    /// with `stop` none need be there.
    pub struct FlowGroup {
        required {
            /// Host that opens and sends; of a group it may hold "{}", which stands for the number
            /// of the flow.
            src: String,
            /// Host that receives; of a group it may hold "{}".
            dst: String,
        }
        optional {
            /// Name of the flow or group, for `after`.
            name: String,
            /// Number of flows; without it one, with no number.
            count: u32,
            /// Number of the first flow of the group; default 0.
            first: u32,
            /// When the SYN is sent, with unit or as a law that is drawn for each flow; default
            /// "0s".
            start: LawOf,
            /// Each next flow of the group starts later by this, with unit; default "0s".
            every: Span,
            /// Bytes to send: a number, a string with unit, or a law that is drawn for each flow:
            /// `{ exponential = "1MB", most = "20MB" }`.
            bytes: SizeOf<Bytes>,
            /// Full-sized packets to send, or a law that is drawn for each flow: `{ pareto = 1.8,
            /// mean = 100, most = 2000 }`.
            packets: SizeOf<u32>,
            /// True: sends until the end of the run, or until it stops.
            endless: bool,
            /// When the application writes no more, with unit: what it has written is delivered,
            /// and the flow ends. A flow that would start then or later does not start.
            stop: Span,
            /// How the application writes over time, from the SYN on; without it, all it has at
            /// once.
            write: WriteTable,
            /// Starts when this flow has ended at its sender, which is that of this flow: its name,
            /// or its number in results. Where a group has that name, flow by flow, or all after
            /// one.
            after: Before,
            /// Time from that end to the start, with unit or as a law that is drawn for each flow;
            /// default "0s".
            think: LawOf,
            /// So many flows one after the other, with `think` between them, in place of each;
            /// default 1. Or "until-end": as many as there is time for.
            rounds: Rounds,
            /// True: the flow is no less complete for not having started at the end of the run;
            /// flows of `rounds = "until-end"` are so from the second on.
            spare: bool,
            /// Protocol of the flow, whatever the run compares; default the protocol of the run.
            protocol: String,
            /// Class of the flow: results have all metrics of flows for each class, too. Default:
            /// its protocol.
            class: String,
            /// Classes by size: the largest size of each class but the last, in full-sized packets.
            /// [10, 100] makes the classes "1-10", "11-100" and "over-100", behind `class` and a
            /// hyphen if that is given.
            size_classes: Vec<u32>,
        }
    }
    /// Something that happens to a link (`link` with `rate`, `delay`, `loss` or `state`), to a
    /// router (`restart`) or to a route.
    pub struct EventEntry {
        required {
            /// When, with unit.
            at: Span,
        }
        optional {
            /// Link that changes.
            link: String,
            /// Direction of the link: "forward" (a to b), "reverse" or "both" (default).
            direction: Direction,
            /// New rate, with unit.
            rate: Rate,
            /// New propagation delay, with unit; at most "1000s".
            delay: Span,
            /// New loss probability, 0.0 to 1.0.
            loss: Probability,
            /// "down" or "up".
            state: LinkState,
            /// Router that loses all it holds.
            restart: String,
            /// Route that changes.
            route: RouteEntry,
        }
    }
    /// A change of the route to a host.
    pub struct RouteEntry {
        required {
            /// Node whose table changes.
            node: String,
            /// Destination host.
            dst: String,
        }
        optional {
            /// Link through which the node sends to it from now on; without it, it has no route.
            via: String,
        }
    }
    /// Links, hosts and flows in CSV files; paths are relative to the scenario file.
    pub struct CsvFiles {
        required {}
        optional {
            /// File of links between routers, with the columns a, b, rate_bps (bit/s, or
            /// "10Mbit/s"), delay_ns (nanoseconds, or "5ms"); routers that are not declared are
            /// made. Other columns are not used.
            links: String,
            /// File of hosts, with the columns host, router.
            hosts: String,
            /// File of flows, with the columns start_s (seconds, or "5ms"), src_host, dst_host,
            /// packets; or src, dst for full names, bytes (or "10kB") for packets. And, where a
            /// cell is not empty: stop_s; rate_bps, at which it writes; after, the row (from 1 on)
            /// of an earlier flow that it follows, think_s behind its end. Other columns are not
            /// used.
            flows: String,
            /// Put before the values of the columns host, src_host and dst_host; default "h".
            host_prefix: String,
            /// Put before the values of the columns a, b and router; default "".
            router_prefix: String,
            /// The access links of the hosts.
            access: LinkParams,
        }
    }
    /// Transport configuration: a preset, and what differs from it.
    pub struct Tcp {
        required {}
        optional {
            /// Named configuration to start from; default "modern".
            preset: String,
            /// Payload of a full-sized packet in bytes, timestamps not counted. A protocol that
            /// puts options of its own on all data has as many bytes less, unless `tcp_of` says
            /// otherwise.
            mss_bytes: u16,
            /// Initial window in segments.
            initial_window_segments: u32,
            /// Initial slow start threshold: a number of bytes, or "none".
            initial_ssthresh_bytes: Threshold,
            /// RTO before the first sample, with unit.
            initial_rto: Span,
            /// How the RTO follows from RTT samples: "rfc6298", max(SRTT + 4 RTTVAR, min_rto), or
            /// "linux", SRTT + max(4 RTTVAR, min_rto); and the wait for a tail loss probe beside 2
            /// SRTT: the longest delay of an ACK where one segment is in flight, or min_rto there
            /// and else 2 ms.
            rto_rule: RtoRuleName,
            /// Smallest RTO, with unit; with rto_rule = "linux" the smallest 4 RTTVAR.
            min_rto: Span,
            /// Largest RTO, with unit.
            max_rto: Span,
            /// Timeouts in a row after which a connection gives up.
            max_retries: u32,
            /// When ACKs are sent: "every-packet" or a table. Protocols that need an ACK for each
            /// packet have it whatever this says.
            ack_policy: AckRule,
            /// With delayed ACKs: acknowledge each packet while Linux would open its window, nearly
            /// all of slow start.
            quick_while_growing: bool,
            /// How losses are found: a name, or a table of a timer per packet.
            loss_policy: LossRule,
            /// How recovery is limited.
            recovery: RecoveryName,
            /// Offer and accept selective acknowledgment.
            sack: bool,
            /// Offer and accept timestamps.
            timestamps: bool,
            /// Offer and accept window scaling.
            window_scaling: bool,
            /// Receive buffer: bytes or a size with unit. Without this key and with preset "modern"
            /// it follows the paths: twice what a flow's path holds at the start (BDP, and the
            /// queues that can fill, each for a second at most), or the length of the flow if that
            /// is less; the largest of all flows, 4 MiB to 2^30 bytes.
            receive_buffer_bytes: Bytes,
            /// Send buffer: bytes or a size with unit, at most 2^30. Without this key and with
            /// preset "modern" it is as large as a receive buffer that follows the paths.
            send_buffer_bytes: Bytes,
            /// Limited transmit (RFC 3042).
            limited_transmit: bool,
            /// Negotiate ECN (RFC 3168).
            ecn: bool,
            /// Pacing of window controllers: "off" or a table.
            pacing: PacingRule,
            /// Set DF on every packet.
            dont_fragment: bool,
        }
    }
    /// Delayed ACKs.
    pub struct DelayedAck {
        required {
            /// Full-sized packets per ACK, at least 1.
            packets: u8,
            /// The longest that an ACK waits, with unit.
            timeout: Span,
        }
        optional {
            /// Packets at the start of a connection that are acknowledged one by one; default 0.
            quick: u16,
        }
    }
    /// A timer for each packet, of srtt x num / den.
    pub struct PacketTimer {
        required {
            /// Numerator.
            num: u32,
            /// Denominator, not 0.
            den: u32,
        }
        optional {}
    }
    /// Pacing at a percentage of cwnd / srtt.
    pub struct WindowedPacing {
        required {
            /// Percent in slow start.
            slow_start_percent: u32,
            /// Percent in congestion avoidance.
            avoidance_percent: u32,
        }
        optional {}
    }
}

/// A value that is either of one form or of another.
macro_rules! either {
    ($(
        $name:ident { $first:ident($a:ty) by $test:pat, $second:ident($b:ty), or $other:literal }
    )*) => { $(
        #[derive(Clone, Debug)]
        pub(super) enum $name { $first($a), $second($b) }
        impl Field for $name {
            fn read(item: &Item, key: &str) -> Result<Self, Fault> {
                let read = match &item.value {
                    $test => <$a>::read(item, key).map($name::$first),
                    _ => <$b>::read(item, key).map($name::$second),
                };
                read.map_err(|fault| or_also(fault, key, $other))
            }
            fn write(&self) -> toml::Value {
                match self {
                    $name::$first(a) => a.write(),
                    $name::$second(b) => b.write(),
                }
            }
            fn schema() -> Json {
                json!({ "anyOf": [<$a>::schema(), <$b>::schema()] })
            }
        }
    )* };
}

/// Say the other form too where a value of `key` is neither.
fn or_also(mut fault: Fault, key: &str, other: &str) -> Fault {
    if let (Problem::WrongType { expected, .. }, true) = (fault.problem.as_mut(), fault.key == key)
    {
        expected.push_str(", or ");
        expected.push_str(other);
    }
    fault
}

either! {
    Threshold {
        Unset(NoThreshold) by Value::String(_), At(Bytes),
        or "a number of bytes or \"none\""
    }
    AckRule {
        Delayed(DelayedAck) by Value::Table(_), Every(EveryPacket),
        or "a table such as { packets = 2, timeout = \"40ms\" }"
    }
    LossRule {
        Timer(PacketTimer) by Value::Table(_), Named(LossPolicyName),
        or "a table such as { num = 2, den = 1 }"
    }
    PacingRule {
        Windowed(WindowedPacing) by Value::Table(_), Off(NoPacing),
        or "a table such as { slow_start_percent = 200, avoidance_percent = 120 }"
    }
}

choices! {
    /// The one name for a connection without a threshold.
    pub(super) enum NoThreshold {
        /// No threshold.
        None = "none",
    }
    /// The one name beside the table of delayed ACKs.
    pub(super) enum EveryPacket {
        /// An ACK at once for each packet.
        EveryPacket = "every-packet",
    }
    /// The one name beside the table of pacing.
    pub(super) enum NoPacing {
        /// As the window allows.
        Off = "off",
    }
}

/// A queue: its table with the parameters of its discipline. The limit may stand alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    pub table: QueueTable,
    pub params: Vec<Param>,
}

impl Field for Queue {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let Value::Table(entries) = &item.value else {
            let limit = Some(At::<GivenLimit>::read(item, key)?);
            let table = QueueTable { limit, ..QueueTable::default() };
            return Ok(Queue { table, params: Vec::new() });
        };
        let mut known = Vec::new();
        QueueTable::keys(&mut known);
        let own = |entry: &&Entry| known.contains(&entry.key.as_str());
        let (own, params): (Vec<&Entry>, Vec<&Entry>) = entries.iter().partition(own);
        let own = Item { value: Value::Table(own.into_iter().cloned().collect()), loc: item.loc };
        let params = params.into_iter().map(|entry| param(entry, key)).collect();
        let queue = Queue { table: QueueTable::read(&own, key)?, params };
        named::check_keys::<Disciplines>(
            queue.table.discipline.as_ref(),
            &queue.params,
            key,
            Disciplines::OWN_KEYS,
        )?;
        Ok(queue)
    }
    fn write(&self) -> toml::Value {
        let mut table = match self.table.write() {
            toml::Value::Table(table) => table,
            _ => toml::Table::new(),
        };
        let params = self.params.iter().map(|p| (p.key.clone(), p.value.value.clone()));
        table.extend(params);
        toml::Value::Table(table)
    }
    fn schema() -> Json {
        let mut forms = named::schemas::<Disciplines>(&QueueTable::schema());
        forms.push(GivenLimit::schema());
        json!({ "anyOf": forms })
    }
    fn stand_in() -> Option<Self> {
        let limit = GivenLimit::stand_in().map(At::new);
        Some(Queue { table: QueueTable { limit, ..QueueTable::default() }, params: Vec::new() })
    }
}

/// A router: its name, or a table.
#[derive(Clone, Debug, Default)]
pub(super) struct RouterEntry(pub RouterTable);

impl Field for RouterEntry {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::Table(_) => RouterTable::read(item, key).map(RouterEntry),
            _ => {
                let name = At::<String>::read(item, key);
                let name = name.map_err(|fault| {
                    or_also(fault, key, "a table such as { name = \"r\", router = \"ip\" }")
                })?;
                Ok(RouterEntry(RouterTable { name, router: None }))
            }
        }
    }
    fn write(&self) -> toml::Value {
        if self.0.router.is_none() { self.0.name.write() } else { self.0.write() }
    }
    fn schema() -> Json {
        json!({ "anyOf": [String::schema(), RouterTable::schema()] })
    }
}

/// A host or a group of hosts: a table, or the name of a host alone.
#[derive(Clone, Debug, Default)]
pub(super) struct HostEntry(pub HostGroup);

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
                let name = At::<String>::read(item, key);
                let name = name.map_err(|fault| {
                    or_also(fault, key, "a table such as { name = \"h\", attach = \"r\" }")
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

/// Parameters of algorithms, by protocol; what they hold is the algorithm's business.
#[derive(Clone, Debug, Default)]
pub(super) struct Protocols(pub Vec<ProtocolTable>);

/// The parameters of one algorithm.
#[derive(Clone, Debug)]
pub(super) struct ProtocolTable {
    pub name: At<String>,
    /// The algorithm that it is a variant of.
    pub of: Option<At<String>>,
    /// What text calls it.
    pub title: Option<At<String>>,
    pub params: Vec<Param>,
}

/// One parameter of an algorithm or of a discipline.
#[derive(Clone, Debug)]
pub(super) struct Param {
    pub key: String,
    pub key_loc: Loc,
    pub value: At<toml::Value>,
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
            let text = |at: &At<String>| toml::Value::String(at.value.clone());
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
    let named = |name: &str| -> Result<Option<At<String>>, Fault> {
        let found = params.iter().find(|p| p.key == name);
        found.map(|p| At::<String>::read(&p.item, &join(&key, name))).transpose()
    };
    let (of, title) = (named("of")?, named("title")?);
    let params = params.iter().filter(|p| !matches!(p.key.as_str(), "of" | "title"));
    let params = params.map(|entry| param(entry, &key));
    let params = params.collect();
    let name = At { value: entry.key.clone(), loc: entry.key_loc, key };
    Ok(ProtocolTable { name, of, title, params })
}

/// One parameter of the table that is called `key`.
pub(super) fn param(entry: &Entry, key: &str) -> Param {
    let (value, key) = (entry.item.to_toml(), join(key, &entry.key));
    let value = At { value, loc: entry.item.loc, key };
    Param { key: entry.key.clone(), key_loc: entry.key_loc, value }
}

impl Queue {
    /// What is said here, and what `other` says beside it; its parameters only if the discipline is
    /// the same.
    fn or(&self, other: &Queue) -> Queue {
        let (mine, others) = (&self.table, &other.table);
        let name = |table: &QueueTable| table.discipline.as_ref().map(|at| at.value.clone());
        let mut params = self.params.clone();
        if mine.discipline.is_none() || name(mine) == name(others) {
            let missing = |param: &&Param| self.params.iter().all(|p| p.key != param.key);
            params.extend(other.params.iter().filter(missing).cloned());
        }
        let table = QueueTable {
            discipline: mine.discipline.clone().or_else(|| others.discipline.clone()),
            limit: mine.limit.clone().or_else(|| others.limit.clone()),
            rtt: mine.rtt.clone().or_else(|| others.rtt.clone()),
        };
        Queue { table, params }
    }
}

impl LinkParams {
    /// What is said here, and what `other` says beside it.
    pub fn or(&self, other: &LinkParams) -> LinkParams {
        let queue = match (&self.queue, &other.queue) {
            (Some(mine), Some(other)) => {
                let merged = mine.value.or(&other.value);
                Some(At { value: merged, loc: mine.loc, key: mine.key.clone() })
            }
            (mine, other) => mine.clone().or_else(|| other.clone()),
        };
        // A rate or a trace of its own stands for all of the other.
        let paced = self.rate.is_some() || self.trace.is_some() || self.generator.is_some();
        let pace = if paced { self } else { other };
        LinkParams {
            rate: pace.rate.clone(),
            trace: pace.trace.clone(),
            generator: pace.generator.clone(),
            // The bucket of another goes with a rate, not with a trace.
            bucket: match self.trace.is_some() || self.generator.is_some() {
                true => self.bucket.clone(),
                false => self.bucket.clone().or_else(|| other.bucket.clone()),
            },
            schedule: self.schedule.clone().or_else(|| other.schedule.clone()),
            delay: self.delay.clone().or_else(|| other.delay.clone()),
            jitter: self.jitter.clone().or_else(|| other.jitter.clone()),
            reorder: self.reorder.clone().or_else(|| other.reorder.clone()),
            loss: self.loss.clone().or_else(|| other.loss.clone()),
            middlebox: self.middlebox.clone().or_else(|| other.middlebox.clone()),
            mtu_bytes: self.mtu_bytes.clone().or_else(|| other.mtu_bytes.clone()),
            overhead_bytes: self.overhead_bytes.clone().or_else(|| other.overhead_bytes.clone()),
            queue,
            port: self.port.clone().or_else(|| other.port.clone()),
        }
    }
}

/// Expand "{}" in a name of a group.
pub(super) fn numbered(name: &At<String>, number: Option<u32>) -> Result<String, Fault> {
    match number {
        Some(number) => Ok(name.value.replace("{}", &number.to_string())),
        None if name.value.contains("{}") => {
            let text = "\"{}\" stands for a number, but there is no `count`";
            Err(name.fault(Problem::Conflict(text.into())))
        }
        None => Ok(name.value.clone()),
    }
}
