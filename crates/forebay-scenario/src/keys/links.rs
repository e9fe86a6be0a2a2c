//! The keys of one direction of a link and of its queue, and the wire that they describe.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::{all, both};
use crate::format::fields::{
    Field, Fields, Section, Spanned, property, read_section, section_schema, sections, shown,
    value_or,
};
use crate::format::item::{Item, Value};
use crate::format::traces::OPPORTUNITY_OVERHEAD_BYTES;
use crate::format::units::{GivenLimit, MAX_DELAY};
use crate::keys::channels::{BucketTable, GeneratorKey, TraceKey};
use crate::keys::kinds::{Disciplines, Schemes};
use crate::keys::losses::LossKey;
use crate::keys::middleboxes::MiddleboxTable;
use crate::keys::named::{Named, Param, forms, read_own, write_own};
use crate::keys::schedules::ScheduleKey;
use forebay_base::{Rate, Span};
use forebay_net::WireSpec;
use serde_json::{Value as Json, json};

/// IP packets of this length must pass every link (RFC 791), in bytes.
const MIN_MTU_BYTES: u16 = 68;

sections! {
    /// Parameters of one direction of a link.
    pub struct LinkParams {
        required {}
        optional {
            /// Transmission rate. Range: 1kbit/s to 400Gbit/s.
            rate: Rate,
            /// Replaces `rate`: a file of delivery opportunities in mahimahi's format, relative to
            /// the scenario file, or a table with `file` and `offset`. Example: "lte.down".
            trace: TraceKey,
            /// Replaces `rate`: a model of a cellular or Wi-Fi channel by name, such as
            /// "city-driving", or a table with `name`, `length`, `scale`, `seed` and `offset`.
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
            /// Queue limit, without the packet in service: bytes ("64kB"; on a trace or a generated
            /// channel each packet takes 4 more), packets ("100packets"), time at the link's rate
            /// ("50ms"), or a multiple of rate x rtt ("1.5BDP").
            limit: GivenLimit,
            /// Round-trip time of a limit that is given in BDP.
            rtt: Span,
        }
    }
}

impl LinkParams {
    /// What is said here, and what `other` says beside it.
    pub fn or(&self, other: &LinkParams) -> LinkParams {
        let mut all = self.over(other);
        if let (Some(mine), Some(others)) = (&self.queue, &other.queue) {
            let value = mine.value.or(&others.value);
            all.queue = Some(Spanned { value, loc: mine.loc, key: mine.key.clone() });
        }
        // A rate or a trace of its own stands for all of the other.
        let traced = self.trace.is_some() || self.generator.is_some();
        if traced || self.rate.is_some() {
            all.rate = self.rate.clone();
            all.trace = self.trace.clone();
            all.generator = self.generator.clone();
        }
        // The bucket of another goes with a rate, not with a trace.
        if traced {
            all.bucket = self.bucket.clone();
        }
        all
    }

    /// The wire that they describe.
    pub fn wire(&self, missing: &impl Fn(&'static str, &str) -> Fault) -> Result<WireSpec, Fault> {
        let default = WireSpec::default();
        let delay = self.delay.as_ref().ok_or_else(|| missing("delay", "propagation delay"));
        let delays = all([&self.delay, &self.jitter].into_iter().flatten().map(check_delay));
        let ((delay, _), ()) = both(both(delay, delays), check_mtu(self.mtu_bytes.as_ref()))?;
        let (loss, loss_model) = self.loss.as_ref().map_or((0.0, None), |at| at.value.resolve());
        // As in mahimahi.
        let traced = self.trace.is_some() || self.generator.is_some();
        let overhead_bytes =
            if traced { OPPORTUNITY_OVERHEAD_BYTES } else { default.overhead_bytes };
        Ok(WireSpec {
            delay: delay.value,
            jitter: value_or(&self.jitter, default.jitter),
            reorder: value_or(&self.reorder, default.reorder),
            loss,
            loss_model,
            // Of a machine, not of the network: only `forebay run --late` has it.
            late: None,
            middlebox: self.middlebox.as_ref().and_then(|at| at.value.resolve()),
            mtu_bytes: value_or(&self.mtu_bytes, default.mtu_bytes),
            overhead_bytes: value_or(&self.overhead_bytes, overhead_bytes),
        })
    }

    /// The keys that describe a wire. One without a middlebox says so if `boxed`.
    pub fn of_wire(wire: &WireSpec, boxed: bool) -> LinkParams {
        let middlebox = boxed.then(|| MiddleboxTable::describe(wire.middlebox.as_ref()));
        LinkParams {
            delay: Spanned::some(wire.delay),
            jitter: Spanned::some(wire.jitter),
            reorder: Spanned::some(wire.reorder),
            loss: Spanned::some(LossKey::of(wire.loss, wire.loss_model.as_ref())),
            middlebox: middlebox.map(Spanned::new),
            mtu_bytes: Spanned::some(wire.mtu_bytes),
            overhead_bytes: Spanned::some(wire.overhead_bytes),
            ..LinkParams::default()
        }
    }
}

fn check_mtu(mtu: Option<&Spanned<u16>>) -> Result<(), Fault> {
    let Some(mtu) = mtu.filter(|mtu| mtu.value < MIN_MTU_BYTES) else { return Ok(()) };
    let expected = format!("{MIN_MTU_BYTES} to 65535 bytes (RFC 791)");
    Err(mtu.fault(Problem::OutOfRange { found: mtu.value.to_string(), expected }))
}

/// A delay that a link can have.
pub(crate) fn check_delay(delay: &Spanned<Span>) -> Result<(), Fault> {
    if delay.value <= MAX_DELAY {
        return Ok(());
    }
    let (found, expected) = (shown(&delay.value), "at most 1000s on a link".to_string());
    Err(delay.fault(Problem::OutOfRange { found, expected }))
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
            let limit = Some(Spanned::<GivenLimit>::read(item, key)?);
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
        let limit = GivenLimit::stand_in().map(Spanned::new);
        Some(Queue { table: QueueTable { limit, ..QueueTable::default() }, params: Vec::new() })
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
        Queue { table: mine.over(others), params }
    }
}
