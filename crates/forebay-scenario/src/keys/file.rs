//! The keys of a scenario file. The doc comments are the descriptions of the JSON Schema.

use crate::format::csv::ExtraColumns;
use crate::format::error::Problem;
use crate::format::fault::Fault;
use crate::format::faults::all;
use crate::format::fields::{
    At, Field, Fields, Section, choices, property, read_section, section_schema, sections,
};
use crate::format::item::join;
use crate::format::item::{Entry, Item, Value};
use crate::format::set::Alone;
use crate::format::units::{Bytes, GivenLimit, Probability, Seconds};
use crate::keys::attacks::AttackEntry;
use crate::keys::channels::{BucketTable, GeneratorKey, TraceKey};
use crate::keys::expect::ExpectEntry;
use crate::keys::inrpp::InrppTable;
use crate::keys::kinds::{Disciplines, Routers, Schemes, Word};
use crate::keys::life::{Before, LawOf, Rounds, WriteTable};
use crate::keys::losses::LossKey;
use crate::keys::middleboxes::MiddleboxTable;
use crate::keys::named::{Named, Param, forms, param, read_own, write_own};
use crate::keys::reassembly::ReassemblyTable;
use crate::keys::schedules::ScheduleKey;
use crate::keys::sizes::SizeOf;
use forebay_base::{IpVersion, Rate, Span};
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
    /// How losses are found.
    pub(crate) enum LossPolicyName {
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
    pub(crate) enum RtoRuleName {
        /// The larger of SRTT + 4 RTTVAR and min_rto (RFC 6298).
        Rfc6298 = "rfc6298",
        /// SRTT + the larger of 4 RTTVAR and min_rto (Linux).
        Linux = "linux",
    }
    /// How recovery is limited.
    pub(crate) enum RecoveryName {
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
            /// What the scenario shows, for readers of its results. Example: "two flows on one
            /// bottleneck".
            description: String,
            /// Protocols to compare, each in a run of its own. Default: ["cubic"]. Example:
            /// ["cubic", "bbr"].
            protocols: Vec<At<String>>,
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
            /// Parameters of congestion control algorithms, one table per protocol; a table with
            /// `of` declares a variant.
            protocol: Protocols,
            /// Link parameters that apply wherever a link, a host's access link or a CSV access
            /// link sets none.
            link_defaults: LinkParams,
            /// Kind of all routers, by name or as a table with `kind` and its parameters. Default:
            /// what the protocols of the run need.
            router: Named<Routers>,
            /// The routers: names, or tables. Example: ["r0", "r1"].
            routers: Vec<At<RouterEntry>>,
            /// Hosts, or groups of hosts: tables, or the names of hosts whose links are declared
            /// under `links`.
            hosts: Vec<At<HostEntry>>,
            /// The links.
            links: Vec<At<LinkEntry>>,
            /// Flows, or groups of flows.
            flows: Vec<At<FlowGroup>>,
            /// Changes of the network during a run.
            events: Vec<At<EventEntry>>,
            /// Spoofed fragments that an attacker sends.
            attacks: Vec<At<AttackEntry>>,
            /// Links, hosts and flows from CSV files.
            csv: CsvFiles,
            /// Expectations of the results.
            expect: Vec<At<ExpectEntry>>,
        }
    }
    /// Parameters of one direction of a link.
    pub struct LinkParams {
        required {}
        optional {
            /// Transmission rate. Range: 1kbit/s to 400Gbit/s.
            rate: Rate,
            /// Replaces `rate`: a file of delivery opportunities in mahimahi's format, relative to
            /// the scenario file, or a table with `file` and `offset`. Example: "lte.down".
            trace: TraceKey,
            /// Replaces `rate`: a model of a cellular channel by name, such as "city-driving", or a
            /// table with `name`, `length`, `scale`, `seed` and `offset`.
            generator: GeneratorKey,
            /// A token bucket that fills at `rate`: bursts of at most `burst` leave at the rate
            /// `peak`, all other packets at `rate`.
            bucket: BucketTable,
            /// Changes of rate, delay and loss over time: a list of steps `{ at, rate, delay, loss
            /// }`, or a CSV file with the columns at_s, rate_bps, delay_ns and loss. Example: [{ at
            /// = "10s", rate = "5Mbit/s" }].
            schedule: ScheduleKey,
            /// Propagation delay. Range: 0s to 1000s. Example: "10ms".
            delay: Span,
            /// Extra delay of each packet, drawn uniformly from 0 to this; it reorders packets.
            /// Range: 0s to 1000s. Default: "0s". Example: "2ms".
            jitter: Span,
            /// If true, packets may overtake others when an event lowers the delay. Default: false.
            reorder: bool,
            /// Probability that a packet is lost on the wire. Or a table: bursts of losses with
            /// `enter` and `leave`, or the numbers of the `packets` that are lost. Default: 0.
            /// Example: 0.001.
            loss: LossKey,
            /// A middlebox between transmitter and wire: which TCP options it strips, whether it
            /// sets DF, and what it does with fragments. An empty table is no middlebox.
            middlebox: MiddleboxTable,
            /// Longest IP packet that the link carries. Default: 1500. Example: 9000.
            mtu_bytes: u16,
            /// Bytes that each packet costs on the wire besides its own (PPP 2, Ethernet 38).
            /// Default: 0; 4 on a link that follows a trace, as in mahimahi. Example: 38.
            overhead_bytes: u16,
            /// The queue in front of the link: a table, or only its limit.
            queue: Queue,
            /// Port scheme: how the port computes and signals a rate, where a router feeds it. A
            /// name, or a table with `scheme` and its parameters. Default: what the protocols of
            /// the run need.
            port: Named<Schemes>,
        }
    }
    /// A queue.
    pub struct QueueTable {
        required {}
        optional {
            /// Queue discipline; its parameters stand in the same table. Default: "droptail".
            discipline: String,
            /// Queue limit, without the packet in service: bytes ("64kB"), packets ("100packets"),
            /// time at the link's rate ("50ms"), or a multiple of rate x rtt ("1.5BDP").
            limit: GivenLimit,
            /// Round-trip time of a limit that is given in BDP.
            rtt: Span,
        }
    }
    /// A router with a kind of its own.
    pub struct RouterTable {
        required {
            /// Name of the router. Example: "r0".
            name: String,
        }
        optional {
            /// Kind of this router, whatever the others are; as `router` at the top level.
            router: Named<Routers>,
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
            /// Router at the other endpoint of the access link, whose name is then "host-router".
            /// In a group "{}" stands for the number of the host. Without `attach`, declare the
            /// links of the host under `links`. Example: "r0".
            attach: String,
            /// What differs in the direction from router to host.
            reverse: LinkParams,
            /// Access delay added per successive host of the group, in both directions. Default:
            /// "0s". Example: "1ms".
            delay_step: Span,
            /// What differs from `reassembly` at the top level.
            reassembly: ReassemblyTable,
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
            /// Bytes to send, or a distribution sampled per flow: `{ exponential = "1MB", most =
            /// "20MB" }`. Example: "10MB".
            bytes: SizeOf<Bytes>,
            /// Full-sized packets to send, or a distribution sampled per flow: `{ pareto = 1.8,
            /// mean = 100, most = 2000 }`. Example: 100.
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
            /// File of hosts, with the columns host, router. Example: "hosts.csv".
            hosts: String,
            /// File of flows, with the columns start_s (seconds, or "5ms"), src_host, dst_host,
            /// packets; or src, dst for full names, bytes (or "10kB") for packets. And, where a
            /// cell is not empty: stop_s; rate_bps, at which it writes; after, the row (from 1 on)
            /// of an earlier flow that it follows, think_s after it ends.
            flows: String,
            /// What becomes of columns that are not known: "refuse" or "ignore". Default: "refuse".
            extra_columns: ExtraColumns,
            /// Prefix of the values in the columns host, src_host and dst_host. Default: "h".
            host_prefix: String,
            /// Prefix of the values in the columns a, b and router. Default: "". Example: "r".
            router_prefix: String,
            /// The access links of the hosts.
            access: LinkParams,
        }
    }
    /// Transport configuration: a preset, and what differs from it.
    pub struct Tcp {
        required {}
        optional {
            /// Named configuration to start from. Default: "modern". Example: "linux-6.18".
            preset: String,
            /// Payload of a full-sized packet, timestamps not counted. The MSS of a protocol that
            /// adds options of its own to all data is smaller by their length, unless `tcp_of` sets
            /// it. Range: 64 to 65535.
            mss_bytes: u16,
            /// Initial cwnd. Range: 1 or more.
            initial_window_segments: u32,
            /// Initial slow start threshold: a number of bytes, or "none".
            initial_ssthresh_bytes: Threshold,
            /// RTO before the first RTT sample. Range: more than 0s.
            initial_rto: Span,
            /// How the RTO follows from RTT samples: "rfc6298" is max(SRTT + 4 RTTVAR, min_rto),
            /// "linux" is SRTT + max(4 RTTVAR, min_rto). A tail loss probe waits for 2 SRTT and,
            /// with one segment in flight, for the longest delay of an ACK ("rfc6298") or min_rto
            /// ("linux", which else adds 2 ms).
            rto_rule: RtoRuleName,
            /// Smallest RTO; with `rto_rule = "linux"` the smallest 4 RTTVAR. Range: more than 0s,
            /// at most max_rto.
            min_rto: Span,
            /// Largest RTO. Range: min_rto or more.
            max_rto: Span,
            /// Number of consecutive timeouts after which a connection gives up.
            max_retries: u32,
            /// When ACKs are sent: "every-packet", or a table of delayed ACKs. A protocol that
            /// needs an ACK for each packet gets one, whatever this key is.
            ack_policy: AckRule,
            /// With delayed ACKs: acknowledge each packet for as long as Linux would open its
            /// window, which is nearly all of slow start.
            quick_while_growing: bool,
            /// How losses are detected: a name, or a table of a timer per packet.
            loss_policy: LossRule,
            /// How sending is limited during loss recovery: "prr" (RFC 9937), "pipe" (RFC 6675) or
            /// "newreno" (RFC 6582).
            recovery: RecoveryName,
            /// Offer and accept selective acknowledgments (SACK).
            sack: bool,
            /// Offer and accept timestamps.
            timestamps: bool,
            /// Offer and accept window scaling.
            window_scaling: bool,
            /// Receive buffer. Without this key, and with the preset "modern", it follows the
            /// paths: twice what a flow's path holds at the start (BDP, and the queues that can
            /// fill, each for a second at most), or the length of the flow if that is less; the
            /// maximum over all flows, 4 MiB to 2^30 bytes. Range: one segment or more. Example:
            /// "8MiB".
            receive_buffer_bytes: Bytes,
            /// Send buffer. Without this key, and with the preset "modern", it is as large as a
            /// receive buffer that follows the paths. Range: one segment to 2^30 bytes. Example:
            /// "8MiB".
            send_buffer_bytes: Bytes,
            /// Limited transmit (RFC 3042).
            limited_transmit: bool,
            /// Negotiate ECN (RFC 3168).
            ecn: bool,
            /// Pacing of controllers that set a window: "off" or a table.
            pacing: PacingRule,
            /// Set DF on every packet.
            dont_fragment: bool,
        }
    }
    /// Delayed ACKs.
    pub struct DelayedAck {
        required {
            /// Full-sized packets per ACK. Range: 1 to 255. Example: 2.
            packets: u8,
            /// Longest time for which an ACK waits. Example: "40ms".
            timeout: Span,
        }
        optional {
            /// Packets at the start of a connection that are acknowledged one by one. Default: 0.
            quick: u16,
        }
    }
    /// A timer for each packet, of srtt x num / den.
    pub struct PacketTimer {
        required {
            /// Numerator. Range: 1 or more.
            num: u32,
            /// Denominator. Range: 1 or more.
            den: u32,
        }
        optional {}
    }
    /// Pacing at a percentage of cwnd / srtt.
    pub struct WindowedPacing {
        required {
            /// Pacing rate in slow start, as a percentage of cwnd / srtt. Range: 1 or more.
            /// Example: 200.
            slow_start_percent: u32,
            /// Pacing rate in congestion avoidance, as a percentage of cwnd / srtt. Range: 1 or
            /// more. Example: 120.
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
        pub(crate) enum $name { $first($a), $second($b) }
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
    pub(crate) enum NoThreshold {
        /// No threshold.
        None = "none",
    }
    /// The one name beside the table of delayed ACKs.
    pub(crate) enum EveryPacket {
        /// An ACK at once for each packet.
        EveryPacket = "every-packet",
    }
    /// The one name beside the table of pacing.
    pub(crate) enum NoPacing {
        /// As the window allows.
        Off = "off",
    }
}

/// A queue: its table with the parameters of its discipline. The limit may stand alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    pub table: QueueTable,
    pub params: Vec<Param>,
}

impl Field for Queue {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let Value::Table(_) = &item.value else {
            let limit = Some(At::<GivenLimit>::read(item, key)?);
            let table = QueueTable { limit, ..QueueTable::default() };
            return Ok(Queue { table, params: Vec::new() });
        };
        let (table, params) = read_own(item, key)?;
        Ok(Queue { table, params })
    }
    fn write(&self) -> toml::Value {
        write_own(&self.table, &self.params)
    }
    fn schema() -> Json {
        json!({ "anyOf": [forms::<Disciplines>(&QueueTable::schema()), GivenLimit::schema()] })
    }
    fn stand_in() -> Option<Self> {
        let limit = GivenLimit::stand_in().map(At::new);
        Some(Queue { table: QueueTable { limit, ..QueueTable::default() }, params: Vec::new() })
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
pub(crate) struct Protocols(pub Vec<ProtocolTable>);

/// The parameters of one algorithm.
#[derive(Clone, Debug)]
pub(crate) struct ProtocolTable {
    pub name: At<String>,
    /// The algorithm that it is a variant of.
    pub of: Option<At<String>>,
    /// What text calls it.
    pub title: Option<At<String>>,
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

/// Tables of transport keys, by protocol.
#[derive(Clone, Debug, Default)]
pub(crate) struct TcpOf(pub Vec<(At<String>, Tcp)>);

impl Field for TcpOf {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let Value::Table(entries) = &item.value else {
            return Err(item.expected(key, "a table of tables, one per protocol"));
        };
        let tables = entries.iter().map(|entry| {
            let key = join(key, &entry.key);
            let table = Tcp::read(&entry.item, &key)?;
            Ok((At { value: entry.key.clone(), loc: entry.key_loc, key }, table))
        });
        all(tables).map(TcpOf)
    }
    fn write(&self) -> toml::Value {
        let tables = self.0.iter().map(|(name, tcp)| (name.value.clone(), tcp.write()));
        toml::Value::Table(tables.collect())
    }
    fn schema() -> Json {
        // Its properties are the names of protocols.
        json!({ "type": "object", "properties": {}, "additionalProperties": Tcp::schema() })
    }
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
pub(crate) fn numbered(name: &At<String>, number: Option<u32>) -> Result<String, Fault> {
    match number {
        Some(number) => Ok(name.value.replace("{}", &number.to_string())),
        None if name.value.contains("{}") => {
            let text = "\"{}\" stands for a number, but there is no `count`";
            Err(name.fault(Problem::Conflict(text.into())))
        }
        None => Ok(name.value.clone()),
    }
}
